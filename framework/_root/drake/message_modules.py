"""The module `drake`, whose names are types of messages: `from drake import lcmt_iiwa_status`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["MessageFinder", "MessageModule"]

_ROOT = "drake"
_PREFIX = "lcmt_"
_MESSAGES = "merganser.framework.lcm.messages"


class MessageModule(types.ModuleType):
    """The module `drake`, or one of a single type below it, as LCM's compiler writes them."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(_PREFIX):
            if name == "__all__" and self.__name__ == _ROOT:
                return list(importlib.import_module(_MESSAGES).__all__)
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        value = getattr(importlib.import_module(_MESSAGES), name, None)
        if value is None:
            raise AttributeError(f"{_ROOT} has no type of messages '{name}', at least not in merganser.")
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, types.ModuleType):  # below `drake`, a name is the type, not the module
            super().__setattr__(name, value)


class MessageFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes these modules.

    Attributes:
        shadows: whether it does so where pydrake's own are installed.
    """

    shadows = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == _ROOT:
            found = importlib.machinery.PathFinder.find_spec(_ROOT)
            if found is not None and found.origin and not (self.shadows and _is_of_messages(found.origin)):
                return None
        elif not (fullname.startswith(f"{_ROOT}.{_PREFIX}") and _is_below(fullname.removeprefix(f"{_ROOT}."))):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="merganser", is_package=fullname == _ROOT)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return MessageModule(spec.name, "Types of messages.")

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run: types are looked up when they are asked for."""


def _is_below(name: str) -> bool:
    """Whether there is a module of this name below `drake`."""
    is_ours = type(sys.modules.get(_ROOT)) is MessageModule
    return is_ours and name in importlib.import_module(_MESSAGES).__all__


def _is_of_messages(origin: str) -> bool:
    """Whether an installed module is the one of pydrake, not another of this name."""
    return (Path(origin).parent / f"{_PREFIX}header.py").is_file()
