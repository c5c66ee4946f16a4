"""Modules `pydrake...` whose names are those of merganser, found by Python's import."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import types
from collections.abc import Sequence
from typing import Any

from merganser.drake.addresses import ADDRESSES, WITHOUT_COUNTERPART

__all__ = ["NotInMerganserError", "Unavailable", "install", "look_up", "names_of", "uninstall"]

_ROOT = "pydrake"
_logger = logging.getLogger("merganser.drake")


class NotInMerganserError(NotImplementedError):
    """A program uses something of pydrake that merganser does not have."""


class Unavailable:
    """Stands for a name of pydrake that merganser lacks: it can be imported and handed on, and raises when used.

    Args:
        module: where the name was looked for, such as 'pydrake.solvers'.
        name: of the class or function.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _refuse(self) -> NotInMerganserError:
        from merganser.drake.report import describe_program

        return NotInMerganserError(f"merganser has no {self._module}.{self._name}.{describe_program(self._name)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refuse()

    def __getitem__(self, parameters: Any) -> Any:
        raise self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any], ...]:
        raise self._refuse()

    def __instancecheck__(self, instance: Any) -> bool:
        return False  # nothing can be one

    def __repr__(self) -> str:
        return f"<{self._module}.{self._name}, which merganser lacks>"


def look_up(module: str, name: str) -> Any:
    """What a public name of a module of pydrake stands for.

    Args:
        module: without "pydrake.", such as "systems.framework".
        name: of a class, function or constant.

    Raises:
        AttributeError: merganser has none of this name.
    """
    for address in ADDRESSES.get(module, ()):
        home = importlib.import_module(f"merganser.{address}")
        with contextlib.suppress(AttributeError):
            return getattr(home, name)
    raise AttributeError(f"merganser has no {_ROOT}.{module}.{name}")


@functools.cache
def names_of(module: str) -> tuple[str, ...]:
    """All names that a module of pydrake has here."""
    homes = [importlib.import_module(f"merganser.{address}") for address in ADDRESSES.get(module, ())]
    return tuple(sorted({name for home in homes for name in home.__all__}))


class _Module(types.ModuleType):
    """A module of pydrake: it asks those of merganser when it is asked."""

    def __getattr__(self, name: str) -> Any:
        module = self.__name__.removeprefix(_ROOT).removeprefix(".")
        if name == "__all__":
            return list(names_of(module))
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        try:
            found = look_up(module, name)
        except AttributeError:
            if _is_module(f"{module}.{name}".removeprefix(".")):
                raise  # Python's import goes on to look for a module of this name
            found = Unavailable(self.__name__, name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *names_of(self.__name__.removeprefix(_ROOT).removeprefix("."))]


def _is_module(name: str) -> bool:
    return name in ADDRESSES or name in WITHOUT_COUNTERPART


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes the modules of pydrake.

    Attributes:
        shadows: whether it does so where pydrake itself is installed.
    """

    shadows = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(_ROOT + "."):
            return None
        if fullname == _ROOT and not self.shadows and importlib.machinery.PathFinder.find_spec(_ROOT) is not None:
            _logger.warning(
                "pydrake is installed, so this program goes on with it. To have it run with merganser, call "
                "merganser.drake.install(shadow=True) first, or start it by `python -m merganser run`."
            )
            uninstall()
            return None
        if not _is_module(fullname.removeprefix(_ROOT).removeprefix(".")):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="merganser", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name, f"The names of {spec.name} that merganser has.")

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run: names are looked up when they are asked for."""


_finder = _Finder()


def install(shadow: bool = False) -> None:
    """From now on, modules of pydrake are those of merganser.

    Args:
        shadow: whether that is so even if pydrake itself is installed; otherwise programs get pydrake itself then.

    Raises:
        RuntimeError: pydrake itself has been imported, and is to be shadowed.
    """
    loaded = sys.modules.get(_ROOT)
    if loaded is not None and not isinstance(loaded, _Module):
        if shadow:
            raise RuntimeError(
                "pydrake itself has been imported already. Call merganser.drake.install(shadow=True) before the first "
                "import of pydrake, or start the program by `python -m merganser run`."
            )
        _logger.warning("pydrake itself has been imported already: programs go on with it.")
        return
    uninstall()
    _finder.shadows = shadow
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Modules of pydrake are no longer those of merganser; programs keep what they have imported."""
    with contextlib.suppress(ValueError):
        sys.meta_path.remove(_finder)
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
        del sys.modules[name]
