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
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser import analysis as analysis
    from merganser import framework as framework
    from merganser import geometry as geometry
    from merganser import multibody as multibody

PACKAGES = ("analysis", "framework", "geometry", "multibody")

__version__ = "0.1.0"


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        if name in PACKAGES:
            return importlib.import_module(f"merganser.{name}")
        packages = ", ".join(PACKAGES)
        raise AttributeError(f"module 'merganser' has no attribute '{name}'; its packages are {packages}.")


class _Addresses:
    """Names the modules that programs look for at addresses of pydrake: merganser.math is merganser.framework.math."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Called by Python for modules that no other finder knows."""
        package, _, module = fullname.partition(".")
        if package == "merganser" and module and module.partition(".")[0] not in PACKAGES:
            from merganser.drake.addresses import ADDRESSES

            known = {**_ADDRESSES, **{key.removeprefix("systems."): value for key, value in ADDRESSES.items()}}
            homes = [f"merganser.{home}" for home in known.get(module, ()) if not home.startswith("drake.")]
            if homes:
                raise ModuleNotFoundError(f"There is no module '{fullname}'; import {' or '.join(homes)}.")


_ADDRESSES = {"core": ("framework",), "systems": ("framework",), "plant": ("multibody.plant",)}
sys.meta_path.append(_Addresses())


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name.startswith("__")} | {*PACKAGES, "all"})
