"""Squeeze a soft ball between two fingers, lift it, and drop it on a peg.

    python examples/13_soft_grasp.py [--modulus 2e4] [--squeeze 8] [--output FOLDER]

The ball is a mesh of tetrahedra, the fingers, the table and the peg are rigid. Contact of the ball, the PD controllers
of the fingers and their effort limits are one problem in each step: the ball gives way until it presses back with what
the limit allows, and hangs between the fingers by friction alone.

Writes soft_grasp.png (the ball at four times in the colors of von Mises' stress, and the forces on it) and
soft_grasp.html (the motion in these colors, which any browser shows) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    Capsule,
    GeometryInstance,
    MakePhongIllustrationProperties,
    Meshcat,
    MeshcatVisualizer,
    ProximityProperties,
    Sphere,
)
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.multibody.fem import DeformableBodyConfig
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from merganser.multibody.tree import PdControllerGains, PrismaticJoint, SpatialInertia
from merganser.multibody.visualization import StressVisualizer, StressVisualizerParams
from merganser.multibody.visualization.plant_visualizers import colors_of_stresses

TIME_STEP = 0.01  # s
RADIUS, RESOLUTION = 0.04, 0.022  # of the ball [m]
OPEN, LIFT, PEG = 0.07, 0.14, 0.05  # open fingers from the middle, way of the palm, height of the peg [m]
FINGER = (0.02, 0.05, 0.06)
CLOSES, LIFTS, MOVES, OPENS, END = 0.1, 0.4, 0.8, 1.2, 1.7  # times [s]
SHOWN = (0.05, 0.38, 1.1, 1.68)
GREATEST = 4e3  # the stress that is red [Pa]


def material(friction=0.8, modulus=1e6):
    """Contact properties of rigid geometries: friction, and a pressure that grows inwards."""
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(friction, friction), dissipation=5.0, properties=properties)
    AddCompliantHydroelasticProperties(resolution_hint=0.02, hydroelastic_modulus=modulus, properties=properties)
    return properties


# 1. The model: the ball, a table with a peg, and a gripper on two slides.
def add_model(plant, modulus, squeeze):
    config = DeformableBodyConfig()
    config.set_youngs_modulus(modulus)
    config.set_poissons_ratio(0.4)
    config.set_mass_density(1000.0)
    config.set_stiffness_damping_coefficient(0.01)
    ball = GeometryInstance(RigidTransform([0.0, 0.0, RADIUS]), Sphere(RADIUS), "ball")
    touch = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), dissipation=5.0, properties=touch)
    ball.set_proximity_properties(touch)
    ball.set_illustration_properties(MakePhongIllustrationProperties([0.9, 0.4, 0.1, 1.0]))
    id = plant.mutable_deformable_model().RegisterDeformableBody(ball, config, RESOLUTION)

    grey, peg_color = [0.7, 0.7, 0.75, 1.0], [0.3, 0.5, 0.8, 1.0]
    add_shape(plant, plant.world_body(), Box(0.6, 0.4, 0.1), "table", [0.1, 0.0, -0.05], grey)
    add_shape(plant, plant.world_body(), Capsule(0.015, 2.0 * PEG), "peg", [0.2, 0.0, 0.0], peg_color)
    palm = plant.AddRigidBody("palm", SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.05, 0.03))
    beam = plant.AddRigidBody("beam", SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.05, 0.03))
    along = plant.AddJoint(PrismaticJoint("along", plant.world_frame(), beam.body_frame(), [1.0, 0.0, 0.0]))
    up = plant.AddJoint(PrismaticJoint("up", beam.body_frame(), palm.body_frame(), [0.0, 0.0, 1.0]))
    joints = [along, up]
    for name, side in (("left", -1.0), ("right", 1.0)):
        finger = plant.AddRigidBody(f"{name}_finger", SpatialInertia.SolidBoxWithMass(0.3, *FINGER))
        add_shape(plant, finger, Box(*FINGER), name, [0.0, 0.0, 0.0], [0.35, 0.35, 0.4, 1.0])
        joint = PrismaticJoint(f"{name}_slide", palm.body_frame(), finger.body_frame(), [side, 0.0, 0.0])
        joints.append(plant.AddJoint(joint))
    for joint, limit in zip(joints, (200.0, 200.0, squeeze, squeeze), strict=True):
        motor = plant.AddJointActuator(f"{joint.name()}_motor", joint, limit)
        gain = 2000.0 if limit > squeeze else 800.0
        motor.set_controller_gains(PdControllerGains(p=10.0 * gain, d=gain))
    plant.Finalize()
    return id, joints


def add_shape(plant, body, shape, name, p, color):
    plant.RegisterCollisionGeometry(body, RigidTransform(p), shape, name, material())
    plant.RegisterVisualGeometry(body, RigidTransform(p), shape, name, np.array(color))


# 2. What the gripper is to do: close, lift, move over the peg, open.
class Plan(LeafSystem):
    def __init__(self):
        super().__init__()
        self.DeclareVectorOutputPort("desired_state", 8, self.calc)

    def calc(self, context, output):
        def ramp(start, length):
            s = np.clip((context.get_time() - start) / length, 0.0, 1.0)
            return float(s * s * (3.0 - 2.0 * s))

        gap = OPEN - (OPEN - 0.03) * ramp(CLOSES, 0.2) + (OPEN - 0.03) * ramp(OPENS, 0.1)
        q = [0.2 * ramp(MOVES, 0.3), RADIUS + LIFT * ramp(LIFTS, 0.3), gap, gap]
        output.SetFromVector([*q, 0.0, 0.0, 0.0, 0.0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modulus", type=float, default=2e4, help="Young's modulus of the ball [Pa]")
    parser.add_argument("--squeeze", type=float, default=8.0, help="effort limit of the fingers [N]")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the pictures")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)  # at rest in long steps, too
    ball, joints = add_model(plant, arguments.modulus, arguments.squeeze)
    plan = builder.AddSystem(Plan())
    builder.Connect(plan.get_output_port(0), plant.get_desired_state_input_port(joints[0].model_instance()))
    meshcat = Meshcat()
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    StressVisualizer.AddToBuilder(builder, plant, meshcat, StressVisualizerParams(greatest=GREATEST))
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for joint, q in zip(joints, (0.0, RADIUS, OPEN, OPEN), strict=True):
        joint.set_translation(context, q)

    # 3. The motion.
    model, inspector = plant.deformable_model(), scene_graph.model_inspector()
    times, forces, shapes = np.arange(1, round(END / TIME_STEP) + 1) * TIME_STEP, [], {}
    visualizer.StartRecording()
    for t in times:
        simulator.AdvanceTo(t)
        results = plant.get_contact_results_output_port().Eval(context)
        on_ball = {}
        for i in range(results.num_deformable_contacts()):
            info = results.deformable_contact_info(i)
            on_ball[inspector.GetName(info.id_B()).split("::")[-1]] = info.F_Ac_W().translational()
        forces.append(on_ball)
        for shown in SHOWN:
            if abs(t - shown) < 0.5 * TIME_STEP:
                stresses = model.GetBody(ball).von_mises_stresses(context, at_vertices=True)
                shapes[shown] = model.GetPositions(context, ball).T, plant.GetPositions(context), stresses
    visualizer.StopRecording()
    visualizer.PublishRecording()
    (arguments.output / "soft_grasp.html").write_text(meshcat.StaticHtml())

    triangles = boundary_triangles(inspector.GetReferenceMesh(model.GetGeometryId(ball)))
    draw(arguments.output / "soft_grasp.png", times, forces, shapes, triangles)
    hanging = forces[round(1.1 / TIME_STEP)]
    weight = 9.81 * 1000.0 * inspector.GetReferenceMesh(model.GetGeometryId(ball)).CalcVolume()
    lifting = sum(f[2] for f in hanging.values())
    squeezed = np.ptp(shapes[0.38][0][:, 0]) / (2.0 * RADIUS)
    print(f"The fingers lift {lifting:.2f} N of {weight:.2f} N.")
    print(f"They press the ball to {100 * squeezed:.0f} % of its width.")


# 4. The picture.
def draw(file, times, forces, shapes, triangles):
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = plt.figure(figsize=(12.0, 7.0), layout="constrained")
    for k, (t, (p, q, stresses)) in enumerate(shapes.items()):
        axes = figure.add_subplot(2, 4, k + 1, projection="3d")
        light = np.cross(p[triangles[:, 1]] - p[triangles[:, 0]], p[triangles[:, 2]] - p[triangles[:, 0]])
        light /= np.linalg.norm(light, axis=1)[:, np.newaxis]
        colors = colors_of_stresses(stresses[triangles].mean(axis=1), GREATEST)
        shade = 0.55 + 0.45 * np.clip(light @ [0.4, -0.6, 0.7], 0.0, 1.0)
        axes.add_collection3d(Poly3DCollection(p[triangles], facecolors=shade[:, np.newaxis] * colors,
                                               edgecolors="k", linewidths=0.2))  # fmt: skip
        for side, gap in ((-1.0, q[2]), (1.0, q[3])):
            add_box(axes, np.array([q[0] + side * gap, 0.0, q[1]]), FINGER)
        add_box(axes, np.array([0.2, 0.0, 0.5 * PEG]), (0.03, 0.03, PEG), [0.3, 0.5, 0.8])
        middle = p.mean(axis=0)[0]
        axes.set(xlim=(middle - 0.1, middle + 0.1), ylim=(-0.1, 0.1), zlim=(0.0, 0.2), title=f"{t:.2f} s")
        axes.set_box_aspect((1, 1, 1))
        axes.view_init(12, -70)
        axes.set_axis_off()
    scale = LinearSegmentedColormap.from_list("stress", colors_of_stresses(np.linspace(0.0, 1.0, 33), 1.0))
    of_colors = ScalarMappable(Normalize(0.0, 1e-3 * GREATEST), scale)
    figure.colorbar(of_colors, ax=figure.axes, shrink=0.7, label="von Mises' stress [kPa]")
    axes = figure.add_subplot(2, 1, 2)
    for name in ("left", "right", "table", "peg"):
        axes.plot(times, [np.linalg.norm(f.get(name, np.zeros(3))) for f in forces], label=name)
    axes.set(xlabel="time [s]", ylabel="force on the ball [N]", ylim=(0.0, 15.0))
    axes.legend()
    figure.savefig(file, dpi=110)


def add_box(axes, middle, size, color=(0.45, 0.45, 0.5)):
    unit = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) / 2.0
    sides = [
        middle + np.insert(unit, axis, sign, axis=1) * size for axis in range(3) for sign in (-0.5, 0.5)
    ]  # fmt: skip
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.add_collection3d(Poly3DCollection(sides, facecolors=[*color, 0.35], edgecolors="k", linewidths=0.3))


if __name__ == "__main__":
    main()
