"""Stack ten boxes on the ground and drop one more on top.

    python examples/03_box_stack.py [--boxes 10] [--duration 2] [--output FOLDER]

Boxes of 10 cm and 1 kg stand on each other; contact is between the corners of their faces, with friction. A last box
falls from 5 cm above the others. In steps of 2 ms, the SAP solver finds the forces of all contacts at once. When all is
still, the contact below each box carries the weight of all boxes above it, and gives way by that weight over its
stiffness, which the program checks.

Writes box_stack.png (heights, and the force in each contact plane, over time) and box_stack.gif (the motion, which any
browser shows) into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia

TIME_STEP = 0.002  # s
SIDE, MASS = 0.1, 1.0  # m, kg
DROP = 0.05  # m
GRAVITY = 9.81
STIFFNESS = 1e6  # of the material of each [N/m]; two of them in contact have half of it


# 1. Bodies without joints are free. Their collision geometries have a material: stiffness and friction, the rest by
# default.
def build(num_boxes):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    material = ProximityProperties()
    AddContactMaterial(point_stiffness=STIFFNESS, friction=CoulombFriction(0.5, 0.5), properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    for i in range(num_boxes):
        box = plant.AddRigidBody(f"box{i}", SpatialInertia.SolidCubeWithMass(MASS, SIDE))
        plant.RegisterCollisionGeometry(box, RigidTransform(), Box(SIDE, SIDE, SIDE), f"box{i}", material)
    plant.Finalize()
    return builder.Build(), plant


# 2. They start on top of each other, the last one in the air.
def stack(plant, context, num_boxes):
    for i in range(num_boxes):
        height = SIDE * (i + 0.5) + (DROP if i == num_boxes - 1 else 0.0)
        plant.SetFreeBodyPose(context, plant.GetBodyByName(f"box{i}"), RigidTransform([0.0, 0.0, height]))


# 3. After each step, the contact results list every contact: which bodies, where, and with what force.
def forces_below(plant, context, num_boxes):
    """The vertical force in each contact plane, from the ground upwards [N]."""
    results = plant.get_contact_results_output_port().Eval(context)
    below = np.zeros(num_boxes)
    for i in range(results.num_point_pair_contacts()):
        contact = results.point_pair_contact_info(i)
        upper = max(int(contact.bodyA_index()), int(contact.bodyB_index()))  # the world is body 0
        below[upper - 1] += abs(contact.contact_force()[2])
    return below


def simulate(num_boxes, duration):
    diagram, plant = build(num_boxes)
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    stack(plant, context, num_boxes)
    bodies = [plant.GetBodyByName(f"box{i}") for i in range(num_boxes)]
    simulator.AdvanceTo(TIME_STEP)  # compiles what is not in the cache yet
    times, poses, forces, wall_time = [], [], [], 0.0
    for i in range(2, round(duration / TIME_STEP) + 1):
        wall_start = time.perf_counter()
        simulator.AdvanceTo(i * TIME_STEP)
        wall_time += time.perf_counter() - wall_start
        times.append(i * TIME_STEP)
        poses.append([plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4() for body in bodies])
        forces.append(forces_below(plant, context, num_boxes))
    return np.array(times), np.array(poses), np.array(forces), wall_time


def plot(times, heights, forces, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    height, force = figure.subplots(2, 1, sharex=True)
    num_boxes = heights.shape[1]
    height.plot(times, heights)
    force.plot(times, np.minimum(forces, 3.0 * num_boxes * MASS * GRAVITY), linewidth=1.0)
    for i in range(num_boxes):
        force.axhline((num_boxes - i) * MASS * GRAVITY, color="black", linewidth=0.5, linestyle=":")
    height.set(title=f"{num_boxes} boxes, the last of which falls on the others", ylabel="height of centres [m]")
    force.set(ylabel="force below each box [N]", xlabel="time [s]", xlim=(0.0, times[-1]))
    force.set_title("dotted: weight above", fontsize=9, loc="right")
    for axes in (height, force):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


# 4. The recorded poses as a film, seen from the side: the fuller its colour, the more a box carries.
def animate(times, poses, forces, path, frame_time=0.04):
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

    figure = Figure(figsize=(3.2, 6.0), layout="constrained")
    axes = figure.subplots()
    corners_B = SIDE / 2 * np.array([[-1, 0, -1, 0], [1, 0, -1, 0], [1, 0, 1, 0], [-1, 0, 1, 0]]) + [0, 0, 0, 1]
    boxes = [axes.add_patch(Polygon(corners_B[:, :2], edgecolor="black", facecolor="C0")) for _ in poses[0]]
    axes.axhspan(-0.05, 0.0, color="0.6")
    clock = axes.set_title("")
    axes.set(aspect="equal", xlim=(-0.25, 0.25), ylim=(-0.05, SIDE * len(boxes) + 0.1), xlabel="x [m]", ylabel="z [m]")

    def draw(frame):
        i = min(round(frame * frame_time / TIME_STEP), len(times) - 1)
        clock.set_text(f"t = {times[i]:.2f} s")
        for box, X_WB, force in zip(boxes, poses[i], forces[i]):
            box.set_xy((corners_B @ X_WB.T)[:, [0, 2]])
            box.set_alpha(0.15 + 0.85 * min(1.0, force / (len(boxes) * MASS * GRAVITY)))

    num_frames = round(times[-1] / frame_time) + 1
    draw(0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # as it is now for all pictures: half the time
    animation = FuncAnimation(figure, draw, num_frames, init_func=lambda: None)
    animation.save(path, writer=PillowWriter(fps=1.0 / frame_time), dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=10, help="number of boxes")
    parser.add_argument("--duration", type=float, default=2.0, help="simulated time [s]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    times, poses, forces, wall_time = simulate(options.boxes, options.duration)
    heights = poses[:, :, 2, 3]
    weights = MASS * GRAVITY * np.arange(options.boxes, 0, -1)
    error = np.abs(forces[-1] / weights - 1.0).max()
    print(
        f"{options.boxes} boxes, {options.duration:g} s in {wall_time:.3f} s, real-time factor "
        f"{options.duration / wall_time:.1f}"
    )
    sunk = weights.sum() / (STIFFNESS / 2.0)
    print(f"top box at {heights[-1, -1]:.5f} m; contact forces differ from the weights above by {100 * error:.2g} %")
    plot(times, heights, forces, options.output / "box_stack.png")
    animate(times, poses, forces, options.output / "box_stack.gif")
    print(f"Picture: {options.output / 'box_stack.png'}, motion: {options.output / 'box_stack.gif'}")
    if not error < 0.01 or abs(heights[-1, -1] + sunk - SIDE * (options.boxes - 0.5)) > 1e-4:
        raise SystemExit("The stack did not come to rest.")


if __name__ == "__main__":
    main()
