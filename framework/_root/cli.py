"""The command line: look at models and into their files, let them drop and swing, compile kernels, run programs written
for pydrake.

python -m merganser info MODEL
python -m merganser simulate MODEL [--duration 5] [--time-step 0.001] [--fix-base] [--plot out.png]
python -m merganser view MODEL ... [-w] [--visualize_frames] [-q Q ...]
python -m merganser compile [TOPIC ...]
python -m merganser run PROGRAM.py [ARGUMENT ...]
python -m merganser check PROGRAM.py
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.compiling import TOPICS, compile_topics
from merganser.view_command import add_view_arguments, view_models

if TYPE_CHECKING:
    from merganser.multibody.plant import MultibodyPlant

__all__ = ["main"]

_OFFSET = 0.3  # of every hinge from its default angle at the start of a simulation [rad]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m merganser", description="Look into model files and simulate them.")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="tell what a model has, and what was approximated or left out")
    simulate = commands.add_parser("simulate", help="let a model drop and swing under gravity, without actuation")
    for command in (info, simulate):
        command.add_argument("model", metavar="MODEL", help="URDF, SDFormat or MJCF file, or an .obj mesh")
        command.add_argument("--fix-base", action="store_true", help="weld bodies that would float to the world")
    simulate.add_argument("--duration", type=float, default=5.0, metavar="S", help="simulated time [s], default 5")
    simulate.add_argument(
        "--time-step", type=float, default=0.001, metavar="S",
        help="period of the discrete plant [s], default 0.001; 0 for a continuous one",
    )  # fmt: skip
    simulate.add_argument("--plot", metavar="FILE", help="save positions and energy over time as a picture")
    add_view_arguments(commands.add_parser("view", help="show models in the browser, with sliders for their joints"))
    compile_ = commands.add_parser("compile", help="compile kernels beforehand, for images and classrooms")
    compile_.add_argument("topics", metavar="TOPIC", nargs="*", help=f"{', '.join(TOPICS)}; by default all")
    for name, what in (
        ("run", "run a program written for pydrake with merganser in its place"),
        ("check", "list what a program uses of pydrake that merganser lacks"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("program", metavar="PROGRAM.py")
    commands.choices["run"].add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.command == "run":
        return _run(options)
    try:
        if options.command == "check":
            return _check(options)
        if options.command == "compile":
            return _compile(options)
        if options.command == "view":
            view_models(options)
            return 0
        return _info(options) if options.command == "info" else _simulate(options)
    except (RuntimeError, ValueError, OSError, SyntaxError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _compile(options: argparse.Namespace) -> int:
    from merganser.framework.native import cache_directory

    start = time.perf_counter()
    compile_topics(options.topics)
    print(f"compiled in {time.perf_counter() - start:.0f} s; kept in {cache_directory().parent}")
    return 0


def _run(options: argparse.Namespace) -> int:
    """Runs a program as Python does; what it raises is its own."""
    import merganser.drake

    if not Path(options.program).is_file():
        print(f"error: there is no file '{options.program}'.", file=sys.stderr)
        return 1
    merganser.drake.install(shadow=True)
    sys.argv = [options.program, *options.arguments]
    sys.path.insert(0, str(Path(options.program).resolve().parent))
    runpy.run_path(options.program, run_name="__main__")
    return 0


def _check(options: argparse.Namespace) -> int:
    from merganser.drake import missing_names

    missing = missing_names(options.program)
    for entry in missing:
        print(f"{entry.file.name}:{entry.line}: {entry.name}")
    print(f"{options.program}: {len(missing) or 'no'} name{'' if len(missing) == 1 else 's'} of pydrake missing")
    return 1 if missing else 0


def _info(options: argparse.Namespace) -> int:
    from merganser.model_info import print_model_info

    print_model_info(options.model, fix_base=options.fix_base)
    return 0


def _simulate(options: argparse.Namespace) -> int:
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder
    from merganser.framework.primitives import LogVectorOutput
    from merganser.model_info import weld_loose_bodies
    from merganser.multibody.parsing import Parser
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

    if not options.duration > 0.0:
        raise ValueError(f"--duration must be positive, got {options.duration}.")
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, options.time_step)
    Parser(plant).AddModels(options.model)
    if options.fix_base:
        weld_loose_bodies(plant)
    plant.Finalize()
    if plant.num_velocities() == 0:
        raise ValueError(f"'{options.model}' has nothing that moves: all its bodies are welded to the world.")
    log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=options.duration / 500)
    simulator = Simulator(builder.Build())
    context: Any = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))
    plant.SetPositions(context, _start_positions(plant))
    energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    wall_start = time.perf_counter()
    simulator.AdvanceTo(options.duration)
    wall_time = time.perf_counter() - wall_start
    final_energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    kind = "continuous" if options.time_step == 0.0 else f"steps of {options.time_step:g} s"
    print(
        f"{options.model}: {plant.num_velocities()} degrees of freedom, {kind}, {options.duration:g} s in "
        f"{wall_time:.3f} s (real-time factor {options.duration / wall_time:.1f})"
    )
    print(f"energy {energy:.6g} J at the start, {final_energy:.6g} J at the end")
    if options.plot:
        samples = log.FindLog(simulator.get_context())
        _plot(plant, samples.sample_times(), samples.data(), options)
        print(f"picture: {options.plot}")
    return 0


def _start_positions(plant: MultibodyPlant) -> Any:
    """Default positions, with every hinge moved off, within its limits, so that something happens."""
    q = plant.GetDefaultPositions()
    for joint in (plant.get_joint(index) for index in plant.GetJointIndices()):
        if joint.num_positions() == 1 and joint.can_rotate():
            start = joint.position_start()
            upper, lower = joint.position_upper_limits()[0], joint.position_lower_limits()[0]
            q[start] = min(max(q[start] + _OFFSET, lower), upper)
    return q


def _plot(plant: MultibodyPlant, times: Any, states: Any, options: argparse.Namespace) -> None:
    import numpy as np
    from matplotlib.figure import Figure

    context = plant.CreateDefaultContext()
    energies = []
    for state in states.T:
        plant.SetPositionsAndVelocities(context, state)
        energies.append((plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)))
    kinetic, potential = np.array(energies).T
    figure = Figure(figsize=(8.0, 6.5), layout="constrained")
    positions, energy = figure.subplots(2, 1, sharex=True)
    for name, values in zip(plant.GetPositionNames(add_model_instance_prefix=False), states):
        positions.plot(times, values, label=name)
    for values, name in ((kinetic, "kinetic"), (potential - potential[0], "potential, from the start")):
        energy.plot(times, values, label=name)
    energy.plot(times, kinetic + potential - potential[0], "k--", label="total")
    positions.set(title=str(options.model), ylabel="position [rad or m]")
    energy.set(ylabel="energy [J]", xlabel="time [s]", xlim=(0.0, options.duration))
    if plant.num_positions() <= 20:
        positions.legend(fontsize=7, ncols=2)
    energy.legend(fontsize=7)
    for axes in (positions, energy):
        axes.grid(alpha=0.3)
    figure.savefig(options.plot, dpi=130)
