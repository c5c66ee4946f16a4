"""A pendulum on a cart with viewers of all kinds around it, as the first lines of notebooks have them."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
from pydrake.geometry import Meshcat, MeshcatParams, Role
from pydrake.math import RigidTransform
from pydrake.multibody.meshcat import ContactVisualizer, ContactVisualizerParams, JointSliders
from pydrake.planning import RobotDiagramBuilder
from pydrake.systems.analysis import Simulator
from pydrake.systems.planar_scenegraph_visualizer import ConnectPlanarSceneGraphVisualizer
from pydrake.visualization import (
    AddFrameTriadIllustration,
    ApplyVisualizationConfig,
    MeshcatPoseSliders,
    VisualizationConfig,
)

MODEL = """
<robot name="swing">
  <link name="cart"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.4 0.2 0.1"/></geometry><material name="m"><color rgba="0 0 1 1"/></material></visual>
  </link>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 1.0"/></geometry></visual></link>
  <joint name="slide" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1.5" upper="1.5"/></joint>
  <joint name="pin" type="continuous"><parent link="cart"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>
"""

meshcat = Meshcat(MeshcatParams(host="localhost"))
robot = RobotDiagramBuilder(time_step=0.0)
robot.parser().AddModelsFromString(MODEL, "urdf")
plant, scene_graph, builder = robot.plant(), robot.scene_graph(), robot.builder()
AddFrameTriadIllustration(scene_graph=scene_graph, body=plant.GetBodyByName("rod"), length=0.2)
plant.Finalize()
planar = ConnectPlanarSceneGraphVisualizer(builder, scene_graph, xlim=[-2, 2], ylim=[-1.5, 1], show=False)
config = VisualizationConfig(enable_alpha_sliders=True, publish_contacts=False)
ApplyVisualizationConfig(config, builder, meshcat=meshcat)
ContactVisualizer.AddToBuilder(builder, plant, meshcat, ContactVisualizerParams(radius=0.005))
sliders = builder.AddSystem(JointSliders(meshcat, plant, initial_value=[0.3, -1.2], step=[0.1, 0.05]))
diagram = robot.Build()
numbers = [meshcat.GetSliderValue(name) for name in sorted(meshcat.GetSliderNames())]
numbers += [meshcat.SetSliderValue("slide", 9.0), *sliders.Run(diagram, timeout=0.1)]

simulator = Simulator(diagram)
context = diagram.mutable_plant_context(simulator.get_mutable_context())
plant.SetPositions(context, [0.1, 2.0])
planar.start_recording()
simulator.AdvanceTo(0.5)
planar.get_recording_as_animation().to_jshtml()
for patch in planar.ax.patches:
    numbers += list(patch.get_path().get_extents().extents)
inspector = scene_graph.model_inspector()
numbers += [inspector.NumGeometriesWithRole(Role.kIllustration), meshcat.HasPath("/drake/illustration/swing/rod")]
pose = MeshcatPoseSliders(meshcat, RigidTransform([0.1, 0.2, 0.3]), prefix="tool")
numbers += [meshcat.SetSliderValue("tool_yaw", 0.123), *pose.Run(pose, pose.CreateDefaultContext(), 0.1).translation()]
np.savetxt("result.txt", np.array(numbers, dtype=float))
