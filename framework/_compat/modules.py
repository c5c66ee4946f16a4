"""Modules `pydrake...` whose names are those of merganser, found by Python's import.

The module `drake`, whose names are types of messages: `from drake import lcmt_iiwa_status`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from merganser.drake.addresses import (
    ADDRESSES,
    ALONG_WITH_ALL,
    MODULES_OF,
    ROOT,
    inner,
    is_module,
    modules_with,
    names_of,
)

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
            # The module that is installed is pydrake's, or another of this name.
            origin = found.origin if found is not None else None
            if origin and not (self.shadows and (Path(origin).parent / f"{_PREFIX}header.py").is_file()):
                return None
        elif not (fullname.startswith(f"{_ROOT}.{_PREFIX}") and _is_below(fullname.removeprefix(f"{_ROOT}."))):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="merganser", is_package=fullname == _ROOT)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return MessageModule(spec.name, "Types of messages.")

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs nothing: types are looked up on first use."""


def _is_below(name: str) -> bool:
    """Whether there is a module of this name below `drake`."""
    is_ours = type(sys.modules.get(_ROOT)) is MessageModule
    return is_ours and name in importlib.import_module(_MESSAGES).__all__


_logger = logging.getLogger("merganser.drake")


class NotInMerganserError(NotImplementedError):
    """A program uses something of pydrake that merganser does not have."""


class Unavailable:
    """Placeholder for a name of pydrake that merganser lacks: can be imported and passed on, raises when used.

    Args:
        module: where the name was looked for, such as 'pydrake.solvers'.
        name: of the class or function.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _refuse(self) -> NotInMerganserError:
        from merganser.drake.programs import describe_program

        return NotInMerganserError(f"merganser has no {self._module}.{self._name}.{describe_program(self._name)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refuse()

    def __getitem__(self, parameters: Any) -> Any:
        """The class for a scalar type, or the like, which can be handed on, too."""
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        names = ", ".join(getattr(parameter, "__name__", str(parameter)) for parameter in given)
        return Unavailable(self._module, f"{self._name}[{names}]")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any], ...]:
        raise self._refuse()

    def __instancecheck__(self, instance: Any) -> bool:
        return False  # nothing can be one

    __subclasscheck__ = __instancecheck__

    def __or__(self, other: Any) -> Any:
        return Any  # in type hints

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<{self._module}.{self._name}, which merganser lacks>"


def look_up(module: str, name: str) -> Any:
    """The object under a public name of a module of pydrake.

    Args:
        module: without "pydrake.", such as "systems.framework".
        name: of a class, function or constant.

    Raises:
        AttributeError: merganser has none of this name.
    """
    for defining in modules_with(module, name):
        for address in ADDRESSES.get(defining, ()):
            home = importlib.import_module(f"merganser.{address}")
            with contextlib.suppress(AttributeError):
                return getattr(home, name)
    raise AttributeError(f"merganser has no {ROOT}.{module}.{name}")


class _Module(types.ModuleType):
    """A module of pydrake, whose names are looked up in modules of merganser on first use."""

    def __getattr__(self, name: str) -> Any:
        module = inner(self.__name__)
        if name == "__all__":
            return [*sorted(names_of(module)), *(ALONG_WITH_ALL if module in MODULES_OF else ())]
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        found = self._found(module, name)
        setattr(self, name, found)
        return found

    def _found(self, module: str, name: str) -> Any:
        with contextlib.suppress(AttributeError):
            return look_up(module, name)
        if is_module(f"{module}.{name}".removeprefix(".")):
            return importlib.import_module(f"{self.__name__}.{name}")
        if module in MODULES_OF and name in ALONG_WITH_ALL:
            return importlib.import_module(ALONG_WITH_ALL[name])
        if name in names_of(module):
            return Unavailable(self.__name__, name)
        raise AttributeError(f"{self.__name__} has no '{name}', neither in merganser nor in pydrake 1.51.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *names_of(inner(self.__name__))]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes the modules of pydrake.

    Attributes:
        shadows: whether it does so where pydrake itself is installed.
    """

    shadows = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        if fullname == ROOT and not self.shadows and importlib.machinery.PathFinder.find_spec(ROOT) is not None:
            _logger.warning(
                "pydrake is installed, so this program goes on with it. To have it run with merganser, call "
                "merganser.drake.install(shadow=True) first, or start it by `python -m merganser run`."
            )
            uninstall()
            return None
        if not is_module(inner(fullname)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="merganser", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name, f"The names of {spec.name} that merganser has.")

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs nothing: names are looked up on first use."""


_finder, _message_finder = _Finder(), MessageFinder()


def install(shadow: bool = False) -> None:
    """From now on, modules of pydrake are those of merganser, and so is the module `drake` with types of messages.

    Args:
        shadow: whether that is so even if pydrake itself is installed; otherwise programs get pydrake itself then.

    Raises:
        RuntimeError: pydrake itself has been imported, and is to be shadowed.
    """
    loaded = sys.modules.get(ROOT)
    if loaded is not None and not isinstance(loaded, _Module):
        if shadow:
            raise RuntimeError(
                "pydrake itself has been imported already. Call merganser.drake.install(shadow=True) before the first "
                "import of pydrake, or start the program by `python -m merganser run`."
            )
        _logger.warning("pydrake itself has been imported already: programs go on with it.")
        return
    uninstall()
    _finder.shadows = _message_finder.shadows = shadow
    sys.meta_path[:0] = (_finder, _message_finder)


def uninstall() -> None:
    """Modules of pydrake are no longer those of merganser; programs keep what they have imported."""
    for finder in (_finder, _message_finder):
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(finder)
    for name in [name for name, module in sys.modules.items() if isinstance(module, (_Module, MessageModule))]:
        del sys.modules[name]
