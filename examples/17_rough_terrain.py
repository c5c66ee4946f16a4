"""Drive a cart over rubble and up stairs: a height field of 200 x 200 cells.

    python examples/17_rough_terrain.py [--output FOLDER] [--duration 10] [--seed S]

A HeightField is terrain given by heights on a grid. Wheels touch its true surface: its faces, and the edges and peaks
that stick out, but not the edges inside of flat ground. A step looks at the cells under each wheel only, so that a
field may have a million of them.

Four wheels, each driven by one torque and slowed by the damping of its axle, carry a cart over random blocks and then
up a flight of stairs.

Writes rough_terrain.png (the cart on the terrain, and how high it was) into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import AddContactMaterial, Box, Cylinder, HeightField, ProximityProperties
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import CalcSpatialInertia, FixedOffsetFrame, RevoluteJoint

SIZE, CELLS = 10.0, 200  # of the field [m], and in each direction
BLOCK = 0.06  # height of the highest block [m]
STAIRS, RISE, RUN = 3.0, 0.05, 0.4  # where they begin, and how high and deep each step is [m]
RADIUS, WIDTH = 0.15, 0.1  # of a wheel [m]
CHASSIS = Box(0.6, 0.3, 0.1)
AXLES = [(x, y) for x in (0.25, -0.25) for y in (0.22, -0.22)]  # where the wheels are on the chassis [m]
TORQUE, DAMPING = 4.0, 0.7  # of a wheel [N m, N m s]: it turns at 5.7 rad/s on flat ground
START = [-3.5, 0.0]  # [m]


# 1. The terrain: blocks of random size on flat ground, and stairs along x.
def make_terrain(seed):
    rng = np.random.default_rng(seed)
    heights = np.zeros((CELLS + 1, CELLS + 1))
    for _ in range(1000):
        i, j = rng.integers(0, CELLS, 2)
        rows, columns = rng.integers(2, 9, 2)
        heights[i : i + rows, j : j + columns] = rng.uniform(0.0, BLOCK)
    x = np.linspace(-SIZE / 2, SIZE / 2, CELLS + 1)
    heights[:, x < START[0] + 0.6] = 0.0
    is_stair = x >= STAIRS - 1.0
    heights[:, is_stair] = RISE * np.ceil(np.maximum(x[is_stair] - STAIRS + 1.0, 0.0) / RUN)
    return HeightField(heights, SIZE, SIZE, base=0.5)


# 2. The cart.
def add_cart(plant, material):
    chassis = plant.AddRigidBody("chassis", CalcSpatialInertia(CHASSIS, 400.0))
    plant.RegisterVisualGeometry(chassis, RigidTransform(), CHASSIS, "chassis", [0.85, 0.3, 0.2, 1.0])
    plant.RegisterCollisionGeometry(chassis, RigidTransform(), CHASSIS, "chassis", material)
    shape, X_BW = Cylinder(RADIUS, WIDTH), RigidTransform(RollPitchYaw(np.pi / 2, 0.0, 0.0), np.zeros(3))
    M_W = CalcSpatialInertia(shape, 300.0).ReExpress(X_BW.rotation())
    for n, (x, y) in enumerate(AXLES):
        wheel = plant.AddRigidBody(f"wheel{n}", M_W)
        plant.RegisterVisualGeometry(wheel, X_BW, shape, f"wheel{n}", [0.15, 0.15, 0.17, 1.0])
        plant.RegisterCollisionGeometry(wheel, X_BW, shape, f"wheel{n}", material)
        hub = plant.AddFrame(FixedOffsetFrame(f"hub{n}", chassis, RigidTransform([x, y, 0.0])))
        axle = plant.AddJoint(RevoluteJoint(f"axle{n}", hub, wheel.body_frame(), [0.0, 1.0, 0.0], DAMPING))
        plant.AddJointActuator(f"motor{n}", axle)
    return chassis


# 3. The world.
def build(terrain):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    material = ProximityProperties()
    AddContactMaterial(dissipation=5.0, friction=CoulombFriction(0.9, 0.9), properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), terrain, "terrain", material)
    plant.RegisterVisualGeometry(plant.world_body(), RigidTransform(), terrain, "terrain", [0.6, 0.55, 0.45, 1.0])
    chassis = add_cart(plant, material)
    plant.Finalize()
    return builder.Build(), plant, chassis


BODIES = ["chassis", *(f"wheel{n}" for n in range(len(AXLES)))]


# 4. The drive, with the pose of the cart ten times a second.
def drive(diagram, plant, chassis, duration):
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, chassis, RigidTransform([*START, RADIUS + 0.01]))
    plant.get_actuation_input_port().FixValue(context, np.full(len(AXLES), TORQUE))
    begin, poses = time.perf_counter(), []
    for t in np.arange(0.0, duration + 1e-9, 0.1):
        simulator.AdvanceTo(t)
        poses.append([plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(name)) for name in BODIES])
    return poses, time.perf_counter() - begin


# 5. The picture: the terrain from above and beside, and the height of the cart along its way.
def plot(terrain, poses, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 7.5), layout="constrained")
    above, beside = figure.subplots(2, 1, height_ratios=[2.0, 1.0])
    x = np.linspace(-SIZE / 2, SIZE / 2, CELLS + 1)
    heights = above.pcolormesh(x, x, terrain.heights(), cmap="YlGn_r", shading="nearest")
    figure.colorbar(heights, ax=above, shrink=0.7, label="height [m]")
    way = np.array([pose[0].translation() for pose in poses])
    above.plot(way[:, 0], way[:, 1], "C3", linewidth=2.0, label="chassis")
    for n in range(1, len(BODIES)):
        wheel = np.array([pose[n].translation() for pose in poses])
        above.plot(wheel[:, 0], wheel[:, 1], "k", linewidth=0.6, label="wheels" if n == 1 else None)
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", ylim=(-2.0, 2.0), title="A cart on a height field")
    above.legend(loc="upper left")
    wheel = np.array([pose[1].translation() for pose in poses])
    ground = [terrain.CalcHeight(*np.clip(p[:2], -SIZE / 2, SIZE / 2)) for p in wheel]
    beside.plot(wheel[:, 0], np.array(ground), "k", label="ground under the wheel's middle")
    beside.plot(wheel[:, 0], wheel[:, 2] - RADIUS, "C0", label="lowest point of the left front wheel")
    beside.plot(way[:, 0], way[:, 2], "C3", label="middle of the chassis")
    beside.set(xlabel="x [m]", ylabel="z [m]")
    beside.set_ylim(top=1.5 * way[:, 2].max())
    beside.legend(loc="upper left")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    parser.add_argument("--duration", type=float, default=10.0, help="of the drive [s]")
    parser.add_argument("--seed", type=int, default=1, help="of the terrain")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    terrain = make_terrain(arguments.seed)
    poses, taken = drive(*build(terrain), arguments.duration)
    first, last = poses[0][0].translation(), poses[-1][0].translation()
    print(f"{CELLS} x {CELLS} cells: {arguments.duration:g} s took {taken:.1f} s")
    print(f"The cart went {np.linalg.norm((last - first)[:2]):.2f} m, and {last[2] - first[2]:.2f} m up.")
    plot(terrain, poses, arguments.output / "rough_terrain.png")


if __name__ == "__main__":
    main()
