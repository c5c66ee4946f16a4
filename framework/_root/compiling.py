"""`python -m merganser compile`: compiles kernels beforehand, for images of machines and for classrooms.

And `merganser fmu`: a diagram of a program as a Functional Mock-up Unit.

Each topic is a list of small programs that do what its users do: what they call is compiled and kept. Which kernels
that are is nowhere written down.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from merganser import compiled_programs as programs
from merganser import compiled_studies as studies


def compile_topics(topics: Sequence[str]) -> int:
    """Compiles what belongs to some topics, all of them if none is given; returns how many programs were run.

    Raises:
        ValueError: there is no such topic.
    """
    unknown = [name for name in topics if name not in TOPICS]
    if unknown:
        raise ValueError(f"There is no topic '{unknown[0]}'. Topics are: {', '.join(TOPICS)}.")
    chosen = [program for name in topics or TOPICS for program in TOPICS[name]]
    # One bar is enough, and however short a program is, it is worth to compile.
    with _environment(MERGANSER_PROGRESS="0", MERGANSER_PLAN="always"), _shown(len(chosen)) as show:
        for program in chosen:
            show(program.__doc__ or "")
            program()
    return len(chosen)


@contextmanager
def _environment(**defaults: str) -> Iterator[None]:
    """Sets environment variables that are unset, for the duration of the context."""
    added = defaults.keys() - os.environ.keys()
    os.environ.update((name, defaults[name]) for name in added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _shown(total: int) -> Iterator[Callable[[str], None]]:
    """Shows a bar on a terminal, otherwise a line for each program."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    columns = TextColumn("compiling {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task, done = progress.add_task("", total=total), itertools.count()
        yield lambda text: progress.update(task, completed=next(done), description=text)
        progress.update(task, completed=total)


TOPICS: dict[str, tuple[Callable[[], None], ...]] = {
    "blocks": (programs.operations_of_blocks, programs.loop),
    "robots": (
        programs.discrete_arms, programs.controlled_arm, programs.continuous_arms, programs.tendons_and_muscles,
        programs.logged_ports, programs.kinematics_and_dynamics,
    ),
    "gradients": (programs.gradients, programs.gradients_of_contact),
    "contact": (
        programs.searches, programs.contact_of_boxes, programs.contact_of_meshes, programs.pressure_patches,
        programs.other_solvers, programs.contact_under_error_control,
    ),
    "deformables": (programs.soft_ball, programs.soft_material),
    "estimators": (studies.filters,),
    "studies": (studies.worlds,),
    "planning": (programs.collision_checks,),
    "optimization": (studies.nonlinear_program, studies.slopes),
}  # fmt: skip


def add_fmu_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `merganser fmu`."""
    parser.add_argument("source", metavar="PROGRAM:NAME", help="a file or module, and a System or function in it")
    parser.add_argument("-o", "--output", metavar="FILE", help="NAME.fmu by default")
    parser.add_argument("--kinds", nargs="+", default=["cs", "me"], metavar="KIND", help="cs, me or both")
    parser.add_argument("--fmi", default="3.0", metavar="VERSION", help="2.0 or 3.0")
    parser.add_argument("--platforms", nargs="+", default=["linux64"], metavar="PLATFORM")
    parser.add_argument("--step", type=float, metavar="S", help="of the integrator; by default error control")


def export_fmu(options: argparse.Namespace) -> None:
    """Writes the file, and says what is in it."""
    from merganser.analysis.fmi import ExportFmu

    program, _, name = options.source.rpartition(":")
    system = _system_of(program, name)
    path = options.output or f"{name}.fmu"
    ExportFmu(
        system, path, kinds=options.kinds, version=options.fmi, platforms=options.platforms, step=options.step
    )  # fmt: skip
    print(f"{path}: {Path(path).stat().st_size / 1e3:.0f} kB, FMI {options.fmi}, {', '.join(options.kinds)}")


def _system_of(program: str, name: str) -> Any:
    """A System that a program makes under a name, or a function of that name returns.

    Raises:
        ValueError: there is no such program, or it has no System of that name.
    """
    from merganser.framework import System

    if not program:
        raise ValueError(f"expected PROGRAM:NAME, such as robot.py:diagram, got '{name}'.")
    if program.endswith(".py"):
        if not Path(program).is_file():
            raise ValueError(f"there is no file '{program}'.")
        names = runpy.run_path(program)
    else:
        names = vars(importlib.import_module(program))
    if name not in names:
        known = [each for each, value in names.items() if isinstance(value, System)]
        raise ValueError(f"'{program}' has no '{name}'; its systems are {known}.")
    system = names[name]() if callable(names[name]) else names[name]
    if not isinstance(system, System):
        raise ValueError(f"'{name}' of '{program}' is of type {type(system).__name__}, not a System.")
    return system
