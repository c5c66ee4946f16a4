"""Walk over rubble and up stairs on six legs: a height field of 200 x 200 cells.

    python examples/17_rough_terrain.py [--output FOLDER] [--duration 10] [--seed S]

A HeightField is terrain given by heights on a grid. Feet touch its true surface: its faces, and the edges and peaks
that stick out, but not the edges inside of flat ground. A step looks at the cells under each foot only, so that a field
may have a million of them.

A machine of six legs with three motors each carries itself over random blocks, and then up a flight of stairs. Three
legs carry it while the other three swing forward, as insects do; it knows its heading, but not the ground.

Writes rough_terrain.png (the machine on the terrain, and how high it was) into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import AddContactMaterial, Box, Capsule, HeightField, ProximityProperties, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import CalcSpatialInertia, FixedOffsetFrame, PdControllerGains, RevoluteJoint

SIZE, CELLS = 10.0, 200  # of the field [m], and in each direction
BLOCK = 0.06  # height of the highest block [m]
STAIRS, RISE, RUN = 0.5, 0.05, 0.4  # where they begin, and how high and deep each step is [m]
START = [-3.5, 0.0]  # [m]

TRUNK = Box(0.6, 0.2, 0.1)
HIPS = [(x, y) for x in (0.27, 0.0, -0.27) for y in (0.1, -0.1)]  # where the legs are on the trunk [m]
LINKS = 0.06, 0.2, 0.26  # lengths of a leg's links [m]
FOOT = 0.025  # radius [m]
REACH, HEIGHT = 0.24, 0.2  # of a foot beside its hip, and of the hip above it [m]
PERIOD, SPEED, LIFT = 0.5, 0.65, 0.12  # of a gait [s], forward [m/s], and of a foot that swings [m]
GAINS = PdControllerGains(p=300.0, d=8.0)
SAMPLE = 0.01  # of the controller [s]


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
    is_stair = x >= STAIRS
    heights[:, is_stair] = RISE * np.ceil((x[is_stair] - STAIRS) / RUN)
    return HeightField(heights, SIZE, SIZE, base=0.5)


# 2. The machine: each leg turns about z at its hip, and about y there and at its knee.
def add_machine(plant, material):
    def add_part(name, shape, density, color, X_BG=None):
        X_BG = X_BG or RigidTransform()
        M = CalcSpatialInertia(shape, density).ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
        body = plant.AddRigidBody(name, M)
        plant.RegisterVisualGeometry(body, X_BG, shape, name, color)
        return body

    trunk = add_part("trunk", TRUNK, 600.0, [0.85, 0.3, 0.2, 1.0])
    plant.RegisterCollisionGeometry(trunk, RigidTransform(), TRUNK, "trunk", material)
    for n, (x, y) in enumerate(HIPS):
        R_TH = RotationMatrix.MakeZRotation(np.sign(y) * np.pi / 2)  # x of a leg points outwards
        parent = plant.AddFrame(FixedOffsetFrame(f"hip{n}", trunk, RigidTransform(R_TH, [x, y, 0.0])))
        for k, (length, axis) in enumerate(zip(LINKS, np.eye(3)[[2, 1, 1]])):
            X_LG = RigidTransform(RotationMatrix.MakeYRotation(np.pi / 2), [length / 2, 0.0, 0.0])
            link = add_part(f"link{n}{k}", Capsule(0.02, length), 700.0, [0.2, 0.2, 0.22, 1.0], X_LG)
            joint = plant.AddJoint(RevoluteJoint(f"joint{n}{k}", parent, link.body_frame(), axis))
            plant.AddJointActuator(f"motor{n}{k}", joint).set_controller_gains(GAINS)
            parent = plant.AddFrame(FixedOffsetFrame(f"end{n}{k}", link, RigidTransform([length, 0.0, 0.0])))
        X_LF = RigidTransform([LINKS[-1], 0.0, 0.0])
        plant.RegisterVisualGeometry(link, X_LF, Sphere(FOOT), f"foot{n}", [0.9, 0.6, 0.1, 1.0])
        plant.RegisterCollisionGeometry(link, X_LF, Sphere(FOOT), f"foot{n}", material)
    return trunk


# 3. The gait: where the feet are, and which angles put them there.
def leg_angles(p_HF):
    """Angles of a leg whose foot is at p_HF in the frame of its hip, by the law of cosines; shape [3]."""
    upper, lower = LINKS[1:]
    x, down = np.hypot(p_HF[0], p_HF[1]) - LINKS[0], -p_HF[2]
    knee = np.arccos(np.clip((x**2 + down**2 - upper**2 - lower**2) / (2.0 * upper * lower), -1.0, 1.0))
    lift = np.arctan2(down, x) - np.arctan2(lower * np.sin(knee), upper + lower * np.cos(knee))
    return np.array([np.arctan2(p_HF[1], p_HF[0]), lift, knee])


def gait(t, turn):
    """Angles of all legs at a time, while the trunk goes forward and turns so fast [rad/s]; shape [18]."""
    angles = []
    for n, (x, y) in enumerate(HIPS):
        side, phase = np.sign(y), (t / PERIOD + 0.5 * ((n // 2 + n) % 2)) % 1.0
        foot = np.array([x, y + side * REACH])
        step = 0.5 * PERIOD * np.array([SPEED - turn * foot[1], turn * foot[0]])  # of the trunk, while a foot stands
        swing = 2.0 * phase - 1.0
        if swing < 0.0:
            p_TF = *(foot - (swing + 0.5) * step), -HEIGHT
        else:
            p_TF = *(foot - 0.5 * np.cos(np.pi * swing) * step), LIFT * np.sin(np.pi * swing) - HEIGHT
        ahead, aside, up = p_TF[0] - x, side * (p_TF[1] - y), p_TF[2]
        angles.append(leg_angles(np.array([aside, -side * ahead, up])))
    return np.concatenate(angles)


class Gait(LeafSystem):
    """Desired angles and rates of all motors; turns the machine back to its way along x."""

    def __init__(self, num_states):
        super().__init__()
        self.DeclareVectorInputPort("state", num_states)
        held = self.DeclareDiscreteState(np.r_[gait(0.0, 0.0), np.zeros(18)])
        self.DeclareStateOutputPort("desired", held)
        self.DeclarePeriodicDiscreteUpdateEvent(SAMPLE, 0.0, self.sample)

    def sample(self, context, discrete_state):
        w, x, y, z, _, aside, _ = self.get_input_port().Eval(context)[:7]
        heading = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        turn = np.clip(-2.0 * heading - 2.0 * aside, -0.6, 0.6)
        now, then = (gait(context.get_time() + late, turn) for late in (0.0, SAMPLE))
        discrete_state.set_value(np.r_[now, (then - now) / SAMPLE])


# 4. The world.
def build(terrain):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    material = ProximityProperties()
    AddContactMaterial(dissipation=5.0, friction=CoulombFriction(0.9, 0.9), properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), terrain, "terrain", material)
    plant.RegisterVisualGeometry(plant.world_body(), RigidTransform(), terrain, "terrain", [0.6, 0.55, 0.45, 1.0])
    trunk = add_machine(plant, material)
    plant.Finalize()
    controller = builder.AddSystem(Gait(plant.num_multibody_states()))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_desired_state_input_port(trunk.model_instance()))
    return builder.Build(), plant, trunk


# 5. The walk, with the poses of the trunk and the feet twenty times a second.
def walk(diagram, plant, trunk, duration):
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, trunk, RigidTransform([*START, HEIGHT + FOOT]))
    q = plant.GetPositions(context)
    q[7:] = gait(0.0, 0.0)
    plant.SetPositions(context, q)
    frames = [plant.GetFrameByName(name) for name in ("trunk", *(f"end{n}2" for n in range(len(HIPS))))]
    begin, poses = time.perf_counter(), []
    for t in np.arange(0.0, duration + 1e-9, 0.05):
        simulator.AdvanceTo(t)
        poses.append([frame.CalcPoseInWorld(context) for frame in frames])
    return poses, time.perf_counter() - begin


# 6. The picture: the terrain from above and beside, and the height of the machine along its way.
def plot(terrain, poses, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 7.5), layout="constrained")
    above, beside = figure.subplots(2, 1, height_ratios=[2.0, 1.0])
    x = np.linspace(-SIZE / 2, SIZE / 2, CELLS + 1)
    heights = above.pcolormesh(x, x, terrain.heights(), cmap="YlGn_r", shading="nearest")
    figure.colorbar(heights, ax=above, shrink=0.7, label="height [m]")
    ways = np.array([[X.translation() for X in row] for row in poses])  # [times, trunk and feet, 3]
    trunk, foot = ways[:, 0], ways[:, 1]
    above.plot(*ways[:, 1:, :2].reshape(-1, 2).T, "k.", markersize=1.5, label="feet")
    above.plot(*trunk[:, :2].T, "C3", linewidth=2.0, label="trunk")
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", ylim=(-2.0, 2.0), title="Six legs on a height field")
    above.legend(loc="upper left")
    ground = [terrain.CalcHeight(*np.clip(p[:2], -SIZE / 2, SIZE / 2)) for p in foot]
    beside.plot(foot[:, 0], ground, "k", label="ground under the left front foot")
    beside.plot(foot[:, 0], foot[:, 2] - FOOT, "C0", label="lowest point of that foot")
    beside.plot(trunk[:, 0], trunk[:, 2], "C3", label="middle of the trunk")
    beside.set(xlabel="x [m]", ylabel="z [m]")
    beside.set_ylim(top=1.5 * trunk[:, 2].max())
    beside.legend(loc="upper left")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    parser.add_argument("--duration", type=float, default=10.0, help="of the walk [s]")
    parser.add_argument("--seed", type=int, default=1, help="of the terrain")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    terrain = make_terrain(arguments.seed)
    poses, taken = walk(*build(terrain), arguments.duration)
    first, last = poses[0][0].translation(), poses[-1][0].translation()
    tilt = max(np.degrees(np.arccos(X_WT.rotation().matrix()[2, 2])) for X_WT, *_ in poses)
    print(f"{CELLS} x {CELLS} cells: {arguments.duration:g} s took {taken:.1f} s")
    print(f"The machine went {np.linalg.norm((last - first)[:2]):.2f} m, and {last[2] - first[2]:.2f} m up.")
    print(f"It never leaned by more than {tilt:.0f} degrees.")
    plot(terrain, poses, arguments.output / "rough_terrain.png")


if __name__ == "__main__":
    main()
