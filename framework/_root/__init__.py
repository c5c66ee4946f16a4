"""merganser: block diagrams, simulation and multibody dynamics for robotics and control.

Import what you use from the four packages:

    from merganser.framework import DiagramBuilder, LeafSystem
    from merganser.analysis import Simulator
    from merganser.geometry import SceneGraph
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

This root module imports nothing heavy: the packages are loaded when `merganser.framework` and so on are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser import analysis as analysis
    from merganser import framework as framework
    from merganser import geometry as geometry
    from merganser import multibody as multibody

_PACKAGES = ("analysis", "framework", "geometry", "multibody")

__version__ = "0.1.0"


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return importlib.import_module(f"merganser.{name}")
        packages = ", ".join(_PACKAGES)
        raise AttributeError(f"module 'merganser' has no attribute '{name}'; its packages are {packages}.")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES})
