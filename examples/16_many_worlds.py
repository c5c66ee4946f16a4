"""Which pushes does a quadruped stand? Thousands of worlds side by side, on this machine or on a cluster.

    python examples/16_many_worlds.py [--output FOLDER] [--worlds NUMBER] [--engine here|processes|dask|ray]

Each world has the same quadruped, held in its stance by PD controllers, with a load of its own on its back and a push
of its own: a velocity of the trunk. A BatchSimulator advances all worlds of a process in compiled code, in threads. An
engine gets shards of 256 worlds; as each world draws its numbers from a generator of its own, results are the same to
the last bit, whichever engine computes them.

Writes many_worlds.png into the output folder.
"""

import argparse
import concurrent.futures
import time
from pathlib import Path

import numpy as np

from merganser.analysis import BatchSimulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import JointActuatorIndex, PdControllerGains, SpatialInertia

MODEL = Path(__file__).parent / "models" / "quadruped.urdf"
STANCE = np.tile([0.0, 0.8, -1.6], 4)  # hip roll, hip pitch and knee of each leg [rad]
STANDING = np.concatenate([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.02 + 0.4 * np.cos(0.8)], STANCE])
FASTEST, HEAVIEST = 2.0, 6.0  # [m/s], [kg]
DURATION = 1.5  # [s]
SHARD = 256  # worlds


# 1. The system that all worlds are copies of.
def build():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    plant.SetUseSampledOutputPorts(False)
    Parser(plant).AddModels(str(MODEL))
    ground = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), properties=ground)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", ground)
    for n in range(plant.num_actuators()):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=100.0, d=3.0))
    plant.Finalize()
    return builder.Build(), plant


# 2. What is different in each world.
def draw(index):
    """Load [kg] and push [m/s], along x and y."""
    random = np.random.default_rng(index)
    return random.uniform(0.0, HEAVIEST), random.uniform(-FASTEST, FASTEST, size=2)


# 3. A shard of the study: a number of worlds, from a first one on. It needs only these numbers.
def study(shard):
    first, count = shard
    diagram, plant = build()
    trunk = plant.GetBodyByName("trunk")
    port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("quadruped"))

    def set_up(context, index):
        load, push = draw(first + index)
        mine = plant.GetMyContextFromRoot(context)
        carried = SpatialInertia.SolidBoxWithMass(load, 0.2, 0.2, 0.1).Shift([0.0, 0.0, -0.1])
        trunk.SetSpatialInertiaInBodyFrame(mine, trunk.default_spatial_inertia() + carried)
        plant.SetPositions(mine, STANDING)
        plant.SetVelocities(mine, [0.0, 0.0, 0.0, *push, 0.0, *np.zeros(len(STANCE))])
        port.FixValue(mine, np.concatenate([STANCE, np.zeros_like(STANCE)]))

    batch = BatchSimulator(diagram)
    worlds = batch.make_worlds(count, set_up)
    batch.advance(worlds, DURATION)
    w, x, y, z = worlds.states[:4]  # the quaternion of the trunk
    return (w**2 - x**2 - y**2 + z**2) / (w**2 + x**2 + y**2 + z**2)  # how far up its z axis points


# 4. Shards go to processes of this machine, or to workers of Dask or Ray.
def run(engine, shards):
    if engine == "here":
        return [study(shard) for shard in shards]
    if engine == "processes":
        with concurrent.futures.ProcessPoolExecutor() as pool:
            return list(pool.map(study, shards))
    if engine == "dask":
        from distributed import Client  # Client("tcp://scheduler:8786") for a cluster

        with Client() as client:
            return list(client.get_executor().map(study, shards))
    from ray.util.multiprocessing import Pool  # on the cluster that RAY_ADDRESS names

    with Pool() as pool:
        return pool.map(study, shards)


def plot(loads, speeds, stands, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.5), layout="constrained")
    axes = figure.subplots()
    for is_standing, marker, name in ((True, "o", "stands"), (False, "x", "has fallen")):
        chosen = stands == is_standing
        points = axes.scatter(*speeds[chosen].T, c=loads[chosen], s=16, marker=marker, vmin=0.0, vmax=HEAVIEST)
        points.set_label(f"{name} ({chosen.sum()})")
    figure.colorbar(points, label="load [kg]")
    axes.set(title="Which pushes the quadruped stands", xlabel="forward [m/s]", ylabel="to the left [m/s]")
    axes.set_aspect("equal")
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    parser.add_argument("--worlds", type=int, default=512, help="number of worlds")
    parser.add_argument("--engine", choices=["here", "processes", "dask", "ray"], default="here")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    shards = [(first, min(SHARD, arguments.worlds - first)) for first in range(0, arguments.worlds, SHARD)]
    wall_start = time.perf_counter()
    upright = np.concatenate(run(arguments.engine, shards))
    wall_time = time.perf_counter() - wall_start
    stands = upright > 0.8
    rate = arguments.worlds * DURATION / wall_time
    print(f"{len(stands)} worlds in {wall_time:.1f} s, {rate:.0f} simulated seconds a second")
    print(f"{stands.sum()} stand, {(~stands).sum()} have fallen")
    drawn = [draw(index) for index in range(len(stands))]
    loads, speeds = np.array([load for load, _ in drawn]), np.array([push for _, push in drawn])
    plot(loads, speeds, stands, arguments.output / "many_worlds.png")
    print(f"Picture: {arguments.output / 'many_worlds.png'}")


if __name__ == "__main__":
    main()
