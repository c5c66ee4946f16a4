"""Squeeze a soft ball, and see the pressure on it.

    python examples/10_pressure_patches.py [--modulus 3e5] [--squeeze 10] [--output FOLDER]

Hydroelastic contact spreads a force over a patch. Inside the soft ball a pressure grows from 0 on the surface to the
hydroelastic modulus E at the center, and where something rigid cuts into the ball, they press on each other with it.
For a ball of radius R and a plane at the distance h from its center, the patch is a disk of radius a with

    a² = R² - h²,   peak pressure E (1 - h / R),   force 2 pi E (a² / 2 - (R³ - h³) / (3 R)).

A hand comes down to a ball that rests on the ground, squeezes it, and lifts it. Patches are compared with these
formulas; they hold as long as a patch does not reach the edges of a finger.

Writes patches.png (the patches at three moments, forces and areas over time) and patch.vtk (a finger's patch with
its pressures, for ParaView) into the output folder.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    DefaultProximityProperties,
    ProximityProperties,
    RoleAssign,
    SceneGraphConfig,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel

HAND = Path(__file__).parent / "models" / "gripper.xml"  # a hand with two fingers, and a ball below it
TIME_STEP = 0.002  # s
RADIUS, WEIGHT = 0.02, 0.05 * 9.81  # of the ball [m, N]
FINGER, MIDDLE = np.array([0.024, 0.01, 0.06]), np.array([0.0, -0.005, -0.03])  # size, middle from the joint [m]
TOUCHING = {"world": "ground", "finger": "left finger", "finger_2": "right finger"}  # bodies, and what we call them
MOMENTS = {"at rest": 0.4, "squeezed": 0.8, "lifted": 1.4}  # s
PLAN_TIMES = [0.0, 0.3, 0.4, 0.5, 0.8, 1.1, 1.4]  # s
PLAN = [  # desired positions of the joints: lift, close [m]
    [-0.12, -0.216, -0.216, -0.216, -0.216, -0.2, -0.2],
    [0.0, 0.0, 0.0, 0.04, 0.04, 0.04, 0.04],  # the ball is in the way: the effort limit says how hard the fingers press
]


# 1. The model. Its file says nothing of hydroelastic contact: we make the ball compliant; all else is rigid by default.
def build(modulus, squeeze):
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
    defaults = DefaultProximityProperties(compliance_type="rigid", hunt_crossley_dissipation=10.0)
    scene_graph.set_config(SceneGraphConfig(default_proximity_properties=defaults))
    (hand,) = Parser(plant).AddModels(str(HAND))
    (ball,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("ball"))
    soft = ProximityProperties(scene_graph.model_inspector().GetProximityProperties(ball))
    AddCompliantHydroelasticProperties(RADIUS / 12, modulus, soft)
    scene_graph.AssignRole(plant.get_source_id(), ball, soft, RoleAssign.kReplace)
    plant.GetJointActuatorByName("close").set_effort_limit(2.0 * squeeze)  # one motor for both fingers
    plant.Finalize()

    path = PiecewisePolynomial.FirstOrderHold(PLAN_TIMES, PLAN)
    plan = builder.AddNamedSystem("plan", TrajectorySource(path, output_derivative_order=1))
    builder.Connect(plan.get_output_port(), plant.get_desired_state_input_port(hand))
    return builder.Build(), plant, hand


# 2. The contact results: a patch for each pair of geometries that press on each other, with the force on the body of M.
def find_patches(plant, context):
    """(surface, force on the ball in the world frame) by the name of what touches the ball."""
    results = plant.get_contact_results_output_port().Eval(context)
    names = {plant.GetCollisionGeometriesForBody(plant.GetBodyByName(body))[0]: TOUCHING[body] for body in TOUCHING}
    patches = {}
    for i in range(results.num_hydroelastic_contacts()):
        info = results.hydroelastic_contact_info(i)
        surface, f_M = info.contact_surface(), info.F_Ac_W().translational()
        is_N = surface.id_M() in names  # whether the ball is N
        patches[names[surface.id_M() if is_N else surface.id_N()]] = surface, -f_M if is_N else f_M
    return patches


def normal_force(surface, f):
    return abs(f @ surface.face_normal(0))  # all faces look the same way, as what is rigid is flat here


def peak_pressure(surface):
    return max(surface.poly_e_MN().EvaluateAtVertex(v) for v in range(surface.num_vertices()))


def closed_form(force, modulus):
    """Area and peak pressure of the patch of a ball that a plane presses on [m², Pa]."""
    R = RADIUS
    h = brentq(lambda h: 2 * np.pi * modulus * ((R**2 - h**2) / 2 - (R**3 - h**3) / (3 * R)) - force, 0.0, R)
    return np.pi * (R**2 - h**2), modulus * (1 - h / R)


# 3. Simulate: forces and areas after each step, and all there is to draw at three moments.
def simulate(modulus, squeeze):
    diagram, plant, hand = build(modulus, squeeze)
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, hand, [PLAN[0][0], 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, RADIUS])
    moments = {round(MOMENTS[title] / TIME_STEP): title for title in MOMENTS}
    history, scenes = np.zeros((round(PLAN_TIMES[-1] / TIME_STEP), len(TOUCHING), 2)), {}
    for i in range(len(history)):
        simulator.AdvanceTo((i + 1) * TIME_STEP)
        patches = find_patches(plant, context)
        for k, name in enumerate(TOUCHING.values()):
            if name in patches:
                history[i, k] = normal_force(*patches[name]), patches[name][0].total_area()
        if i + 1 in moments:
            poses = [plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(b)) for b in ("ball", "finger", "finger_2")]
            scenes[moments[i + 1]] = patches, poses
    return history, scenes


# 4. The picture. The faces of a patch are polygons, whose pressures are linear: we color each by that of its centroid.
def draw_patch(axes, surface, scale):
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    mesh, pressure, faces = surface.poly_mesh_W(), surface.poly_e_MN(), range(surface.num_faces())
    polygons = [[mesh.vertex(mesh.element(f).vertex(i)) for i in range(mesh.element(f).num_vertices())] for f in faces]
    patch = Poly3DCollection([1e3 * np.array(p) for p in polygons], cmap="plasma", norm=scale, zorder=3)
    patch.set_array([1e-3 * pressure.EvaluateCartesian(f, surface.centroid(f)) for f in faces])
    return axes.add_collection3d(patch)


def draw_bodies(axes, X_WB, *X_WF):
    """Outlines of the ball and of the fingers, whose sides stay parallel to the axes [mm]."""
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.0, np.pi, 13))
    sphere = 1e3 * RADIUS * np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=2)
    x, y, z = np.moveaxis(1e3 * X_WB.translation() + sphere, 2, 0)
    axes.plot_surface(x, y, z, color="0.6", alpha=0.12, linewidth=0)
    axes.plot_wireframe(x, y, z, color="0.6", linewidth=0.3)
    for X in X_WF:
        corner = X.multiply(MIDDLE) - FINGER / 2
        axes.bar3d(*1e3 * corner, *1e3 * FINGER, color=(0, 0, 0, 0.03), edgecolor="0.25", linewidth=0.8, shade=False)


def plot(history, scenes, modulus, path):
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 7.5))
    scale = Normalize(0.0, 1e-3 * max(peak_pressure(s) for patches, _ in scenes.values() for s, _ in patches.values()))
    for i, (title, (patches, poses)) in enumerate(scenes.items()):
        axes = figure.add_axes((0.3 * i, 0.4, 0.32, 0.56), projection="3d", computed_zorder=False, zorder=-i)
        draw_bodies(axes, *poses)
        for surface, _ in patches.values():
            colored = draw_patch(axes, surface, scale)
        axes.set(title=f"{title} ({MOMENTS[title]:g} s)", xlim=(-24, 24), ylim=(-40, 40), zlim=(0, 84))
        axes.set(xticks=(-20, 0, 20), yticks=(-40, -20, 0, 20, 40), xlabel="x [mm]", ylabel="y [mm]")
        axes.set_zlabel("z [mm]", labelpad=-5)
        axes.tick_params(pad=-1, labelsize=8)
        axes.set_box_aspect((48, 80, 84), zoom=1.07)
        axes.view_init(elev=16, azim=-38)
    figure.colorbar(colored, cax=figure.add_axes((0.945, 0.48, 0.012, 0.41)), label="pressure [kPa]")

    force, area = figure.add_axes((0.07, 0.07, 0.4, 0.27)), figure.add_axes((0.57, 0.07, 0.4, 0.27))
    times = TIME_STEP * np.arange(1, len(history) + 1)
    for k, (name, style) in enumerate(zip(TOUCHING.values(), ("C2-", "C0-", "C1--"))):
        force.plot(times, history[:, k, 0], style, label=name)
        area.plot(times, 1e4 * history[:, k, 1], style)
    dotted = {"color": "black", "linewidth": 0.8, "linestyle": ":"}
    force.axhline(WEIGHT, label="weight of the ball", **dotted)
    for f in (WEIGHT, history[-1, 1, 0]):
        area.axhline(1e4 * closed_form(f, modulus)[0], **dotted)
    force.set_ylabel("normal force on the ball [N]")
    force.legend(loc="center right")
    area.set_ylabel("area of the patch [cm²]")
    area.set_title("dotted: closed form", fontsize=9, loc="right")
    for axes in (force, area):
        axes.set(xlabel="time [s]", xlim=(0.0, times[-1]))
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modulus", type=float, default=3e5, help="hydroelastic modulus of the ball [Pa]")
    parser.add_argument("--squeeze", type=float, default=10.0, help="force of each finger, up to 15 [N]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture and the patch")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    if not options.squeeze < options.modulus * np.pi * RADIUS**2 / 3.0:
        parser.error("the fingers would meet in the middle of the ball: use less force or a higher modulus")

    history, scenes = simulate(options.modulus, options.squeeze)
    for title, (patches, _) in scenes.items():
        print(f"{title}: {sum(f for _, f in patches.values())[2]:.4f} N carry the ball, which weighs {WEIGHT:.4f} N")
        for name, (surface, f) in patches.items():
            area, peak = closed_form(normal_force(surface, f), options.modulus)
            print(f"    {name}: {normal_force(surface, f):.3f} N on {1e4 * surface.total_area():.3f} cm²", end="")
            print(f" (closed form {1e4 * area:.3f}), up to {1e-3 * peak_pressure(surface):.1f} kPa ({1e-3 * peak:.1f})")
    plot(history, scenes, options.modulus, options.output / "patches.png")
    patches, _ = scenes["squeezed"]
    patches["left finger"][0].Save(options.output / "patch.vtk")
    print(f"Picture: {options.output / 'patches.png'}, a patch: {options.output / 'patch.vtk'}")
    if "ground" in scenes["lifted"][0]:
        raise SystemExit("The ball was not lifted.")


if __name__ == "__main__":
    main()
