"""Bricks fall into a bin: a scene of model directives; hydroelastic contact, and points where that is not possible.

No brick lies flat or is turned about one axis only: faces whose pressure does not change along the normal then push or
do not, by the rounding of numbers.
"""

import os

import numpy as np
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    DiagramBuilder,
    LoadModelDirectives,
    LogVectorOutput,
    Parser,
    ProcessModelDirectives,
    RigidTransform,
    RollPitchYaw,
    Simulator,
    temp_directory,
)

BRICK = """<sdf version="1.9" xmlns:drake="https://drake.mit.edu"><model name="brick"><link name="base_link">
<inertial><mass>0.15</mass><inertia><ixx>6e-5</ixx><iyy>1.1e-4</iyy><izz>1.4e-4</izz><ixy>0</ixy><ixz>0</ixz>
<iyz>0</iyz></inertia></inertial>
<collision name="soft"><geometry><box><size>0.1 0.06 0.05</size></box></geometry><drake:proximity_properties>
<drake:compliant_hydroelastic/><drake:hydroelastic_modulus>2e5</drake:hydroelastic_modulus>
<drake:mesh_resolution_hint>0.1</drake:mesh_resolution_hint><drake:hunt_crossley_dissipation>2
</drake:hunt_crossley_dissipation><drake:mu_dynamic>0.5</drake:mu_dynamic></drake:proximity_properties></collision>
</link></model></sdf>"""
WALL = """<collision name="{name}"><pose>{pose} 0 0 0</pose><geometry><box><size>{size}</size></box></geometry>
<drake:proximity_properties>{kind}<drake:mu_dynamic>0.6</drake:mu_dynamic>
</drake:proximity_properties></collision>"""
RIGID = "<drake:rigid_hydroelastic/><drake:mesh_resolution_hint>1</drake:mesh_resolution_hint>"
WALLS = "".join(
    WALL.format(name=name, pose=pose, size=size, kind=kind)
    for name, pose, size, kind in (
        ("floor", "0 0 -0.05", "0.5 0.5 0.1", RIGID),
        ("left", "-0.16 0 0.1", "0.02 0.3 0.2", RIGID),
        ("right", "0.16 0 0.1", "0.02 0.3 0.2", RIGID),
        ("front", "0 -0.16 0.1", "0.3 0.02 0.2", ""),
        ("back", "0 0.16 0.1", "0.3 0.02 0.2", ""),
    )
)
BIN = f"""<sdf version="1.9" xmlns:drake="https://drake.mit.edu"><model name="bin"><link name="bin_base">{WALLS}
<inertial><mass>5</mass></inertial></link></model></sdf>"""
NUM_BRICKS = 4


def add_models(parser):
    folder = temp_directory()
    for name, text in (("bin.sdf", BIN), ("brick.sdf", BRICK)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    directives = f"""directives:
- add_frame:
    name: bin_origin
    X_PF: {{base_frame: world, translation: [0.4, 0.1, 0], rotation: !Rpy {{deg: [0, 0, 30]}}}}
- add_model: {{name: bin, file: "file://{folder}/bin.sdf"}}
- add_weld: {{parent: bin_origin, child: bin::bin_base}}
"""
    for i in range(NUM_BRICKS):
        directives += f"- add_model: {{name: brick{i}, file: 'file://{folder}/brick.sdf'}}\n"
    with open(os.path.join(folder, "clutter.dmd.yaml"), "w") as file:
        file.write(directives)
    return ProcessModelDirectives(LoadModelDirectives(os.path.join(folder, "clutter.dmd.yaml")), parser)


builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
models = add_models(Parser(plant))
plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
plant.Finalize()
logger = LogVectorOutput(plant.get_state_output_port(), builder, 0.02)
diagram = builder.Build()
simulator = Simulator(diagram)
context = simulator.get_mutable_context()
plant_context = plant.GetMyMutableContextFromRoot(context)
X_WBin = plant.GetFrameByName("bin_origin").CalcPoseInWorld(plant_context)
for i, info in enumerate(models[1:]):
    R_BinBrick = RollPitchYaw(0.1 + 0.1 * i, 0.07 - 0.1 * i, 0.5 * i).ToRotationMatrix()
    X_BinBrick = RigidTransform(R_BinBrick, [0.03 * i - 0.05, 0.01, 0.04 + 0.08 * i])
    brick = plant.GetBodyByName("base_link", info.model_instance)
    plant.SetFreeBodyPose(plant_context, brick, X_WBin @ X_BinBrick)
simulator.AdvanceTo(0.3)
results = plant.get_contact_results_output_port().Eval(plant_context)
depths = [results.point_pair_contact_info(i).point_pair().depth for i in range(results.num_point_pair_contacts())]
forces = [
    results.hydroelastic_contact_info(i).F_Ac_W().translational() for i in range(results.num_hydroelastic_contacts())
]
total = np.sum([abs(force) for force in forces], axis=0)
contacts = [results.num_hydroelastic_contacts(), results.num_point_pair_contacts(), sum(depths), *total]
states = logger.FindLog(context).data()
np.savetxt("result.txt", np.hstack([states, np.resize(contacts, (len(states), 1))]))
