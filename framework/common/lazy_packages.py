"""Packages inside a package that are loaded when they are first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

__all__ = ["lazy_packages"]


def lazy_packages(parent: str, *names: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for the package `parent`: `parent.name` imports the package `name` inside it.

    Define it under `if not TYPE_CHECKING:`; type checkers would take it for a promise that every name is there.
    """

    def load(name: str) -> ModuleType:
        if name in names:
            return importlib.import_module(f"{parent}.{name}")
        raise AttributeError(f"module '{parent}' has no attribute '{name}'")

    return load
