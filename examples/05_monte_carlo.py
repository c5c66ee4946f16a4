"""From which starts does a regulator catch the pole? Random simulations draw its region of attraction.

    python examples/05_monte_carlo.py [--output FOLDER] [--runs NUMBER]

The cart-pole of the first example under its LQR, from random positions of the cart and angles of the pole, at rest.
Runs go to all processors. Each has its own seed, so that any single one can be repeated; results are written to a file
as they come, and a study that was interrupted continues from there. The picture has the samples, and the largest
sublevel set of the LQR's cost-to-go from which none was lost.

Writes region_of_attraction.png and study.jsonl into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import MonteCarloSimulation, RandomSimulation, Simulator
from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.primitives import AffineSystem, Linearize, LogVectorOutput
from merganser.framework.symbolic import Expression, Variable
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

MODEL = Path(__file__).parent / "models" / "cart_pole.sdf"
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])  # position of the cart, angle of the pole, and their rates
WIDEST = np.array([8.0, 1.5])  # starts, off the upright: cart [m] and pole [rad]
DURATION = 8.0  # s


def make_plant(joint_offsets=(0.0, 0.0)):
    """The cart-pole; its joints start upright plus these offsets, numbers or expressions in random variables."""
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModels(str(MODEL))
    cart, pole = plant.GetJointByName("CartSlider"), plant.GetJointByName("PolePin")
    cart.set_random_translation_distribution(Expression(UPRIGHT[0] + joint_offsets[0]))
    pole.set_random_angle_distribution(Expression(UPRIGHT[1] + joint_offsets[1]))
    pole.set_default_angle(UPRIGHT[1])
    plant.Finalize()
    return plant


# 1. The regulator u = -K (x - x0) of the linearized plant, and its cost-to-go (x - x0)' S (x - x0).
def design():
    plant = make_plant()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [0.0])
    force = plant.get_actuation_input_port().get_index()
    linear = Linearize(plant, context, force, plant.get_state_output_port().get_index())
    return LinearQuadraticRegulator(linear.A(), linear.B(), Q=np.diag([10.0, 10.0, 1.0, 1.0]), R=[[0.1]])


# 2. One random simulation: the generator it is given is the only source of randomness. The diagram is made once; its
# joints draw their starts when the study calls SetRandomContext() for each run.
class RandomStart:
    """Makes simulators that start at random; a class at the top of a module can be sent to other processes."""

    def __init__(self, K):
        uniform = [Variable(name, Variable.Type.RANDOM_UNIFORM) for name in ("u1", "u2")]  # from 0 to 1
        builder = DiagramBuilder()
        plant = builder.AddNamedSystem("plant", make_plant(WIDEST * (2.0 * np.array(uniform) - 1.0)))
        regulator = builder.AddSystem(AffineSystem(D=-K, y0=K @ UPRIGHT))
        builder.Connect(plant.get_state_output_port(), regulator.get_input_port())
        builder.Connect(regulator.get_output_port(), plant.get_actuation_input_port())
        LogVectorOutput(plant.get_state_output_port(), builder, publish_period=DURATION).set_name("log")
        self.diagram = builder.Build()

    def __call__(self, generator):
        return Simulator(self.diagram)


# 3. What is kept of it: the start, and how far from the upright it ended.
def start_and_end(diagram, context):
    plant, log = diagram.GetSubsystemByName("plant"), diagram.GetSubsystemByName("log")
    start = log.FindLog(context).data()[:2, 0] - UPRIGHT[:2]
    end = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context)) - UPRIGHT
    return [*start.tolist(), float(np.abs(end).max())]


def plot(starts, caught, S, level, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(*starts[caught].T, "o", markersize=4, color="tab:blue", label=f"caught ({caught.sum()})")
    axes.plot(*starts[~caught].T, "x", markersize=5, color="tab:red", label=f"lost ({(~caught).sum()})")
    turn = np.linspace(0.0, 2.0 * np.pi, 400)
    ellipse = np.linalg.inv(np.linalg.cholesky(S[:2, :2] / level)).T @ [np.cos(turn), np.sin(turn)]
    axes.plot(*ellipse, color="black", linewidth=1.2, label="cost-to-go that no lost start falls below")
    axes.set(title="From where the LQR catches the pole", xlabel="cart [m]", ylabel="pole from upright [rad]")
    axes.set(xlim=(-WIDEST[0], WIDEST[0]), ylim=(-WIDEST[1], WIDEST[1]))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture and the results")
    parser.add_argument("--runs", type=int, default=300, help="number of simulations")
    arguments = parser.parse_args()
    if arguments.runs < 20:
        parser.error("it takes at least 20 runs to see anything")
    arguments.output.mkdir(parents=True, exist_ok=True)

    K, S = design()
    make_simulator, file = RandomStart(K), arguments.output / "study.jsonl"
    wall_start = time.perf_counter()
    results = MonteCarloSimulation(
        make_simulator,
        start_and_end,
        DURATION,
        arguments.runs,
        RandomGenerator(1),
        parallelism=True,
        file=file,
    )
    wall_time = time.perf_counter() - wall_start
    outputs = np.array([result.output for result in results])
    starts, caught = outputs[:, :2], outputs[:, 2] < 0.5
    costs = np.einsum("ni,ij,nj->n", starts, S[:2, :2], starts)
    level = costs[~caught].min()
    inside = int((costs[caught] < level).sum())
    print(f"{len(results)} runs in {wall_time:.1f} s: {caught.sum()} caught, {(~caught).sum()} lost")
    print(f"{inside} of those caught have a cost-to-go below {level:.1f}, the lowest from which one was lost")

    # Any single run can be repeated from its seed.
    again = RandomSimulation(make_simulator, start_and_end, DURATION, results[7].generator_snapshot)
    if not np.array_equal(again, outputs[7]):
        raise SystemExit("Run 7 did not repeat itself.")
    plot(starts, caught, S, level, arguments.output / "region_of_attraction.png")
    print(f"Picture: {arguments.output / 'region_of_attraction.png'}, results: {file}")


if __name__ == "__main__":
    main()
