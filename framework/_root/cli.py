"""The command line: look at, read and make models, let them drop and swing, compile kernels, run programs for pydrake.

python -m merganser info MODEL
python -m merganser simulate MODEL [--duration 5] [--time-step 0.001] [--fix-base] [--plot out.png]
python -m merganser view MODEL ... [-w] [--visualize_frames] [-q Q ...]
python -m merganser mesh_to_model MESH [--scale FACTOR] [--mass KG | --density KG/M3] [-o FILE] ...
python -m merganser fix_inertia MODEL [OUTPUT] [--in_place] ...
python -m merganser compile [TOPIC ...]
python -m merganser run PROGRAM [ARGUMENT ...]
python -m merganser run -m MODULE [ARGUMENT ...]
python -m merganser check PROGRAM [PROGRAM ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.compiling import TOPICS, compile_topics
from merganser.multibody import fix_inertia, mesh_to_model
from merganser.view_command import add_view_arguments, view_models

if TYPE_CHECKING:
    from merganser.multibody.plant import MultibodyPlant

__all__ = ["main"]

_PROGRAM = "a file of Python, a folder with a __main__.py, or a notebook"
_OFFSET = 0.3  # of every hinge from its default angle at the start of a simulation [rad]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m merganser", description="Look into model files and simulate them.")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="tell what a model has, and what was approximated or left out")
    simulate = commands.add_parser("simulate", help="let a model drop and swing under gravity, without actuation")
    for command in (info, simulate):
        command.add_argument("model", metavar="MODEL", help="URDF, SDFormat, MJCF or mesh file")
        command.add_argument("--fix-base", action="store_true", help="weld bodies that would float to the world")
    simulate.add_argument("--duration", type=float, default=5.0, metavar="S", help="simulated time [s], default 5")
    simulate.add_argument(
        "--time-step", type=float, default=0.001, metavar="S",
        help="period of the discrete plant [s], default 0.001; 0 for a continuous one",
    )  # fmt: skip
    simulate.add_argument("--plot", metavar="FILE", help="save positions and energy over time as a picture")
    mesh_to_model.add_arguments(commands.add_parser("mesh_to_model", help="make an SDFormat file from a mesh"))
    fix_inertia.add_arguments(
        commands.add_parser("fix_inertia", help="put mass properties into a model file that its geometry has")
    )
    add_view_arguments(commands.add_parser("view", help="show models in the browser, with sliders for their joints"))
    compile_ = commands.add_parser("compile", help="compile kernels beforehand, for images and classrooms")
    compile_.add_argument("topics", metavar="TOPIC", nargs="*", help=f"{', '.join(TOPICS)}; by default all")
    run = commands.add_parser("run", help="run a program written for pydrake with merganser in its place")
    run.add_argument("-m", dest="module", metavar="MODULE", help="a module, or the __main__ of a package, by its name")
    run.add_argument("program", metavar="PROGRAM", nargs="?", help=f"{_PROGRAM}, followed by its own arguments")
    check = commands.add_parser("check", help="list what programs use of pydrake that merganser lacks")
    check.add_argument("programs", nargs="+", metavar="PROGRAM", help=_PROGRAM)
    given, of_program = _divided(list(sys.argv[1:] if arguments is None else arguments))
    options = parser.parse_args(given)
    if options.command == "run":
        if not (options.program or options.module):
            run.error("give a program, or -m and a module")
        return _run(options, of_program)
    try:
        if options.command == "check":
            return _check(options)
        if options.command == "compile":
            return _compile(options)
        if options.command == "view":
            view_models(options)
            return 0
        if options.command in ("mesh_to_model", "fix_inertia"):
            return (mesh_to_model if options.command == "mesh_to_model" else fix_inertia).run(options)
        return _info(options) if options.command == "info" else _simulate(options)
    except (RuntimeError, ValueError, ImportError, OSError, SyntaxError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _compile(options: argparse.Namespace) -> int:
    from merganser.framework.native import cache_directory

    start = time.perf_counter()
    compile_topics(options.topics)
    print(f"compiled in {time.perf_counter() - start:.0f} s; kept in {cache_directory().parent}")
    return 0


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and those of a program that is to be run."""
    if arguments[:1] != ["run"]:
        return arguments, []
    end = 3 if arguments[1:2] == ["-m"] else 2
    return arguments[:end], arguments[end:]


def _run(options: argparse.Namespace, arguments: list[str]) -> int:
    """Runs a program as Python does; what it raises is its own."""
    from merganser.drake.running import run_module, run_program

    if options.module:
        run_module(options.module, arguments)
    elif not Path(options.program).exists():
        print(f"error: there is no file '{options.program}'.", file=sys.stderr)
        return 1
    else:
        run_program(options.program, arguments)
    return 0


def _check(options: argparse.Namespace) -> int:
    from merganser.drake import missing_names

    is_complete = True
    for program in options.programs:
        missing = missing_names(program)
        for entry in missing:
            print(entry)
        print(f"{program}: {len(missing) or 'no'} name{'' if len(missing) == 1 else 's'} of pydrake missing")
        is_complete = is_complete and not missing
    return 0 if is_complete else 1


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
