"""`merganser fmu`: a diagram of a program as a Functional Mock-up Unit."""

from __future__ import annotations

import argparse
import importlib
import runpy
from pathlib import Path
from typing import Any


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
