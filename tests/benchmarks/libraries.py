"""The two packages under the same names, and what a line of the table is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("MERGANSER_MODELS", ROOT.parent / "shared" / "models"))


Call: TypeAlias = Callable[[], Any]


class Row(NamedTuple):
    """One line of the table: the same work for this package and another one.

    Attributes:
        name: what the work is.
        ours: builds what is needed, outside the timed region, and returns the work to time.
        theirs: the same for the other package, None if it is not installed or cannot do it.
        calls: how often a run does the work.
        tolerance: to which both must agree.
        calls_inside: how often one call of `ours` does the work itself, in compiled code.
        compared: makes what is compared of what `ours` returns, if that is not the same.
        theirs_compared: the same for `theirs`.
    """

    name: str
    ours: Callable[[], Call]
    theirs: Callable[[], Call] | None
    calls: int
    tolerance: float = 1e-8
    calls_inside: int = 1
    compared: Callable[[Any], Any] | None = None
    theirs_compared: Callable[[Any], Any] | None = None


class Library(NamedTuple):
    """The modules of one of the two packages, under the same names."""

    plant: Any
    parsing: Any
    tree: Any
    framework: Any
    primitives: Any
    analysis: Any
    controllers: Any


def merganser_library() -> Library:
    from merganser import analysis, framework
    from merganser.analysis import controllers
    from merganser.framework import primitives
    from merganser.multibody import parsing, plant, tree

    return Library(plant, parsing, tree, framework, primitives, analysis, controllers)


def pydrake_library() -> Library | None:
    try:
        from pydrake.multibody import parsing, plant, tree
        from pydrake.systems import analysis, controllers, framework, primitives
    except ImportError:
        return None
    return Library(plant, parsing, tree, framework, primitives, analysis, controllers)


def load(library: Library, plant: Any, path: Path) -> None:
    """Parses a file into a plant of either package."""
    make_parser(library, plant).AddModels(str(path))


def make_parser(library: Library, plant: Any) -> Any:
    """A parser that finds the robots' model files, which are their own package; velocity products are pydrake's."""
    if hasattr(plant, "SetUseExplicitVelocityProducts"):
        plant.SetUseExplicitVelocityProducts(True)
    parser = library.parsing.Parser(plant)
    packages = parser.package_map()
    if MODELS.exists():
        if packages.Contains("drake_models"):
            packages.Remove("drake_models")
        packages.Add("drake_models", str(MODELS))
    return parser
