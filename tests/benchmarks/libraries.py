"""The two packages under the same names, and what a line of the table is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("MERGANSER_MODELS", ROOT.parent / "shared" / "models"))


class Row(NamedTuple):
    """One line of the table: the same work for both packages, `calls` times a run."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None
    calls: int
    tolerance: float = 1e-8  # to which both must agree


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
    """Parses a file into a plant of either package; the model files at hand are their own package."""
    parser = library.parsing.Parser(plant)
    packages = parser.package_map()
    if MODELS.exists():
        if packages.Contains("drake_models"):
            packages.Remove("drake_models")
        packages.Add("drake_models", str(MODELS))
    parser.AddModels(str(path))
