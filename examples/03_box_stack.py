"""Stack ten boxes on the ground and drop one more on top.

    python examples/03_box_stack.py [--boxes 10] [--duration 2] [--output FOLDER]

Boxes of 10 cm and 1 kg stand on each other; contact is between the corners of their faces, with friction. A last box
falls from 5 cm above the others. In steps of 2 ms, the SAP solver finds the forces of all contacts at once. When all is
still, the contact below each box carries the weight of all boxes above it, which the program checks.

Writes box_stack.png (heights, and the force in each contact plane, over time) into the output folder.
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


# 1. Bodies without joints are free. Their collision geometries have a material: here friction, and the rest by default.
def build(num_boxes):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.5, 0.5), properties=material)
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


# 3. After each step, the contact results tell every contact: which bodies, where, and with what force.
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
    times, heights, forces, wall_time = [], [], [], 0.0
    for i in range(2, round(duration / TIME_STEP) + 1):
        wall_start = time.perf_counter()
        simulator.AdvanceTo(i * TIME_STEP)
        wall_time += time.perf_counter() - wall_start
        times.append(i * TIME_STEP)
        heights.append([plant.EvalBodyPoseInWorld(context, body).translation()[2] for body in bodies])
        forces.append(forces_below(plant, context, num_boxes))
    return np.array(times), np.array(heights), np.array(forces), wall_time


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=10, help="number of boxes")
    parser.add_argument("--duration", type=float, default=2.0, help="simulated time [s]")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    times, heights, forces, wall_time = simulate(options.boxes, options.duration)
    weights = MASS * GRAVITY * np.arange(options.boxes, 0, -1)
    error = np.abs(forces[-1] / weights - 1.0).max()
    print(
        f"{options.boxes} boxes, {options.duration:g} s in {wall_time:.3f} s, real-time factor "
        f"{options.duration / wall_time:.1f}"
    )
    print(f"top box at {heights[-1, -1]:.5f} m; contact forces differ from the weights above by {100 * error:.2g} %")
    plot(times, heights, forces, options.output / "box_stack.png")
    print(f"Picture: {options.output / 'box_stack.png'}")
    if not error < 0.01 or abs(heights[-1, -1] - SIDE * (options.boxes - 0.5)) > 1e-3:
        raise SystemExit("The stack did not come to rest.")


if __name__ == "__main__":
    main()
