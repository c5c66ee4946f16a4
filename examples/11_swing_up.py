"""Swing an acrobot up: optimize a trajectory, track it with a time-varying regulator, see what tracking is worth.

    python examples/11_swing_up.py [--output FOLDER]

An acrobot is a double pendulum with a motor at its elbow only. Direct collocation finds a motion from hanging to
upright that takes little effort. Played back as it is, the torque misses: splines are not quite the motion, and the
start is 0.02 rad off. A finite-horizon linear quadratic regulator about the trajectory brings it there.

Writes swing_up.png (angles and torque over time) and swing_up_poses.png (the motion) into the output folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from merganser.analysis import Simulator
from merganser.analysis.controllers import (
    FiniteHorizonLinearQuadraticRegulatorOptions,
    MakeFiniteHorizonLinearQuadraticRegulator,
)
from merganser.analysis.trajectory_optimization import DirectCollocation
from merganser.examples.pendulums import AcrobotPlant
from merganser.framework import DiagramBuilder
from merganser.framework.optimization import Solve
from merganser.framework.primitives import LogVectorOutput, TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial

HANGING, UPRIGHT = np.zeros(4), np.array([np.pi, 0.0, 0.0, 0.0])  # angles of shoulder and elbow, and their rates
MOST_TORQUE = 12.0  # N m
OFF = np.array([0.02, 0.0, 0.0, 0.0])  # of the start in the simulations
Q, QF, R = np.diag([10.0, 10.0, 1.0, 1.0]), np.diag([100.0, 100.0, 10.0, 10.0]), [[0.1]]


# 1. The program: states and torques at 41 break points, the dynamics between them as constraints, and a cost.
def optimize():
    acrobot = AcrobotPlant()
    trajopt = DirectCollocation(
        acrobot, acrobot.CreateDefaultContext(), num_time_samples=41, minimum_time_step=0.02, maximum_time_step=0.15
    )
    prog, torque = trajopt.prog(), trajopt.input()[0]
    prog.AddBoundingBoxConstraint(HANGING, HANGING, trajopt.initial_state())
    prog.AddBoundingBoxConstraint(UPRIGHT, UPRIGHT, trajopt.final_state())
    trajopt.AddEqualTimeIntervalsConstraints()
    trajopt.AddConstraintToAllKnotPoints(torque <= MOST_TORQUE)
    trajopt.AddConstraintToAllKnotPoints(torque >= -MOST_TORQUE)
    trajopt.AddRunningCost(torque**2)
    guess = PiecewisePolynomial.FirstOrderHold([0.0, 5.0], np.transpose([HANGING, UPRIGHT]))
    trajopt.SetInitialTrajectory(PiecewisePolynomial(), guess)
    result = Solve(prog)
    if not result.is_success():
        raise SystemExit(f"No trajectory was found: {result.get_solution_result()}.")
    states, torques = trajopt.ReconstructStateTrajectory(result), trajopt.ReconstructInputTrajectory(result)
    return states, torques, result.get_optimal_cost()


# 2. The torque alone, or a regulator about the trajectory, in a diagram with the acrobot.
def build_diagram(states, torques, is_tracked):
    builder = DiagramBuilder()
    acrobot = builder.AddNamedSystem("acrobot", AcrobotPlant())
    if is_tracked:
        model = AcrobotPlant()
        options = FiniteHorizonLinearQuadraticRegulatorOptions(Qf=QF, x0=states, u0=torques)
        regulator = MakeFiniteHorizonLinearQuadraticRegulator(
            model, model.CreateDefaultContext(), 0.0, states.end_time(), Q, R, options
        )
        source = builder.AddNamedSystem("regulator", regulator)
        builder.Connect(acrobot.get_output_port(), source.get_input_port())
    else:
        source = builder.AddNamedSystem("torque", TrajectorySource(torques))
    builder.Connect(source.get_output_port(), acrobot.get_input_port())
    logs = [
        LogVectorOutput(port, builder, publish_period=0.02)
        for port in (acrobot.get_output_port(), source.get_output_port())
    ]
    return builder.Build(), logs


# 3. Both are simulated from a start that is a little off.
def simulate(states, torques, is_tracked):
    diagram, logs = build_diagram(states, torques, is_tracked)
    simulator = Simulator(diagram)
    simulator.get_mutable_context().SetContinuousState(HANGING + OFF)
    simulator.AdvanceTo(states.end_time())
    found = [log.FindLog(simulator.get_context()) for log in logs]
    return found[0].sample_times(), found[0].data(), found[1].data()


def plot_motion(states, torques, runs, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    times = np.linspace(0.0, states.end_time(), 400)
    planned = np.vstack([states.vector_values(times)[:2], torques.vector_values(times)])
    for each, values in zip(axes, planned):
        each.plot(times, values, "k", linewidth=3, alpha=0.3, label="planned")
    for name, (times, x, u) in runs.items():
        for each, values in zip(axes, np.vstack([x[:2], u])):
            each.plot(times, values, label=name)
    axes[0].set(title="Acrobot: swing-up by direct collocation, start 0.02 rad off", ylabel="shoulder [rad]")
    axes[1].set(ylabel="elbow [rad]")
    axes[2].set(ylabel="torque [N m]", xlabel="time [s]")
    for each in axes:
        each.grid(alpha=0.3)
        each.legend()
    figure.savefig(path, dpi=130)


def plot_poses(x, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 6.0), layout="constrained")
    axes = figure.subplots()
    shoulder, forearm = x[0], x[0] + x[1]
    elbows = np.array([np.sin(shoulder), -np.cos(shoulder)])
    hands = elbows + 2.0 * np.array([np.sin(forearm), -np.cos(forearm)])
    for k in range(0, x.shape[1], 6):
        shade = 0.15 + 0.85 * k / x.shape[1]
        axes.plot([0.0, elbows[0, k], hands[0, k]], [0.0, elbows[1, k], hands[1, k]], "o-", color="C0", alpha=shade)
    axes.set(title="The tracked motion, later poses darker", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the pictures")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    states, torques, cost = optimize()
    print(
        f"A swing-up of {states.end_time():.2f} s with a cost of {cost:.1f} N²m²s was found in "
        f"{time.perf_counter() - start:.1f} s."
    )
    runs = {}
    for name, is_tracked in (("torque alone", False), ("tracked", True)):
        runs[name] = simulate(states, torques, is_tracked)
        error = np.abs(runs[name][1][:, -1] - UPRIGHT).max()
        print(f"{name:12s} ends {error:.3f} from upright")
    if not error < 0.05:
        raise SystemExit("The acrobot did not get there.")
    plot_motion(states, torques, runs, output / "swing_up.png")
    plot_poses(runs["tracked"][1], output / "swing_up_poses.png")
    print(f"Pictures: {output / 'swing_up.png'}, {output / 'swing_up_poses.png'}")


if __name__ == "__main__":
    main()
