"""The command line: look at, read and make models, let them drop and swing, export, compile, run programs for pydrake.

merganser info MODEL
merganser simulate MODEL [--duration 5] [--time-step S] [--fix-base] [--tilt RAD] [--plot out.png] [--html out.html]
merganser simulate MODEL --video out.mp4
merganser simulate MODEL --view [-w]
merganser view MODEL ... [-w] [--visualize_frames] [-q Q ...]
merganser mesh_to_model MESH [--scale FACTOR] [--mass KG | --density KG/M3] [-o FILE] ...
merganser fix_inertia MODEL [OUTPUT] [--in_place] ...
merganser fmu PROGRAM:NAME [-o FILE.fmu] [--kinds cs me] [--fmi 3.0] [--platforms linux64 win64 ...] [--step S]
merganser compile [TOPIC ...]
merganser run PROGRAM [ARGUMENT ...]
merganser run -m MODULE [ARGUMENT ...]
merganser check PROGRAM [PROGRAM ...]
merganser --version

`python -m merganser` does the same.

`python -m merganser view`: model files in the browser; its options are those of pydrake's model_visualizer.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from merganser import __version__
from merganser.compiling import TOPICS, add_fmu_arguments, compile_topics, export_fmu
from merganser.multibody import fix_inertia, mesh_to_model
from merganser.simulate_command import add_simulate_arguments, simulate_model


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument(
        "models", metavar="MODEL", nargs="+",
        help="URDF, SDFormat, MJCF, model directives, .obj or glTF file, or its package:// address",
    )  # fmt: skip
    add = parser.add_argument
    add("-w", "--open-window", dest="browser_new", action="store_true", help="open a window of the browser")
    add("-q", "--position", type=float, nargs="+", default=[], metavar="Q", help="where joints are at first")
    add("--visualize_frames", action="store_true", help="show all frames at first, as triads")
    add("--triad_length", type=float, metavar="M", help="of their axes [m], default 0.3, or what fits the model")
    add("--triad_radius", type=float, metavar="M", help="of their axes [m], default 1/60 of the length")
    add("--triad_opacity", type=float, default=0.9, metavar="A", help="from 0 to 1, default 0.9")
    add("--compliance_type", default="undefined", choices=("undefined", "rigid", "compliant"),
        help="hydroelastic contact of geometries whose files do not say: rigid or compliant")  # fmt: skip
    add("--environment_map", type=Path, default=Path(), metavar="FILE", help="picture that shiny surfaces reflect")
    add("--no_lights", action="store_true", help="without lights, to see the environment map alone")
    add("--pyplot", action="store_true", help="show a figure of matplotlib, too")
    add("--show_rgbd_sensor", action="store_true", help="show what a camera sees from where the page's is")
    add("--loop_once", action="store_true", help="end as soon as all is shown")


def view_models(options: argparse.Namespace) -> None:
    """Shows models until a button in the page, its Escape key or Ctrl-C ends it.

    Raises:
        RuntimeError: a model cannot be read.
        ValueError: there are not as many positions as joints have.
    """
    from merganser.multibody.visualization import ModelVisualizer

    logging.basicConfig(format="%(message)s")
    logging.getLogger("merganser").setLevel(logging.INFO)
    names = (
        "browser_new", "visualize_frames", "triad_length", "triad_radius", "triad_opacity", "compliance_type",
        "environment_map", "no_lights", "pyplot", "show_rgbd_sensor",
    )  # fmt: skip
    visualizer = ModelVisualizer(**{name: getattr(options, name) for name in names})
    visualizer.package_map().PopulateFromRosPackagePath()
    for model in options.models:
        if model.startswith(("package://", "model://")):
            visualizer.AddModels(url=model)
        else:
            visualizer.AddModels(model)
    visualizer.Run(position=options.position, loop_once=options.loop_once)


_PROGRAM = "a file of Python, a folder with a __main__.py, or a notebook"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="merganser", description="Look into model files and simulate them.")
    parser.add_argument("--version", action="version", version=f"merganser {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="print what a model has, and what was approximated or left out")
    simulate = commands.add_parser(
        "simulate", help="let a model drop and swing under gravity; with --view live in the browser"
    )
    for command in (info, simulate):
        command.add_argument("model", metavar="MODEL", help="URDF, SDFormat, MJCF or mesh file")
        command.add_argument("--fix-base", action="store_true", help="weld bodies that would float to the world")
    add_simulate_arguments(simulate)
    mesh_to_model.add_arguments(commands.add_parser("mesh_to_model", help="make an SDFormat file from a mesh"))
    fix_inertia.add_arguments(
        commands.add_parser("fix_inertia", help="put mass properties into a model file that its geometry has")
    )
    add_view_arguments(commands.add_parser("view", help="show models in the browser, with sliders for their joints"))
    add_fmu_arguments(commands.add_parser("fmu", help="write a diagram of a program as a Functional Mock-up Unit"))
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
        actions = {"view": view_models, "simulate": simulate_model, "fmu": export_fmu}
        if options.command in actions:
            actions[options.command](options)
            return 0
        if options.command in ("mesh_to_model", "fix_inertia"):
            return (mesh_to_model if options.command == "mesh_to_model" else fix_inertia).run(options)
        return _info(options)
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
    """Splits our arguments from those of a program to run."""
    if arguments[:1] != ["run"]:
        return arguments, []
    end = 3 if arguments[1:2] == ["-m"] else 2
    return arguments[:end], arguments[end:]


def _run(options: argparse.Namespace, arguments: list[str]) -> int:
    """Runs a program as Python does; its exceptions are passed on."""
    from merganser.drake.programs import run_module, run_program

    if options.module:
        run_module(options.module, arguments)
    elif not Path(options.program).exists():
        print(f"error: there is no file '{options.program}'.", file=sys.stderr)
        return 1
    else:
        run_program(options.program, arguments)
    return 0


def _check(options: argparse.Namespace) -> int:
    from merganser.drake import missing_names, names_taken_away

    is_complete = True
    for program in options.programs:
        missing = missing_names(program)
        for entry in [*missing, *names_taken_away(program)]:
            print(entry)
        print(f"{program}: {len(missing) or 'no'} name{'' if len(missing) == 1 else 's'} of pydrake missing")
        is_complete = is_complete and not missing
    return 0 if is_complete else 1


def _info(options: argparse.Namespace) -> int:
    from merganser.model_info import print_model_info

    print_model_info(options.model, fix_base=options.fix_base)
    return 0
