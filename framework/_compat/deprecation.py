"""pydrake.common.deprecation: warnings for deprecated names."""

from __future__ import annotations

import functools
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from merganser.framework.common.errors import DrakeDeprecationWarning, warn_deprecated

__all__ = [
    "DrakeDeprecationWarning",
    "ModuleShim",
    "deprecated",
    "deprecated_callable",
    "install_numpy_warning_filters",
]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def deprecated(message: str, *, date: str | None = None) -> Callable[[Any], Any]:
    """Makes a member of a class (a function or a property) warn when it is read.

    Args:
        message: what to use instead.
        date: YYYY-MM-DD, after which it will not be there; the message has one otherwise.

    Raises:
        ValueError: there is no date.
    """
    text = _with_date(message, date)
    return lambda member: _WarningMember(member, text)


def deprecated_callable(message: str, *, date: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function, or a class, warn when it is called.

    Args:
        message: what to use instead.
        date: YYYY-MM-DD, after which it will not be there; the message has one otherwise.

    Raises:
        ValueError: there is no date.
    """
    text = _with_date(message, date)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def warn(*args: Any, **kwargs: Any) -> Any:
            warn_deprecated(text)
            return function(*args, **kwargs)

        warn.__doc__ = f"Deprecated: {text}"
        return warn

    return decorate


def install_numpy_warning_filters(force: bool = False) -> None:
    """Makes failed comparisons of arrays errors, instead of a warning and a wrong result."""
    for message in ("numpy equal will not", "elementwise (== |!= )?comparison failed"):
        warnings.filterwarnings("error", category=DeprecationWarning, message=message)


class ModuleShim:
    """A module that calls a function for the names that it lacks.

    Args:
        orig_module: the module.
        handler: called with a name; returns its value, or raises AttributeError.
    """

    def __init__(self, orig_module: types.ModuleType, handler: Callable[[str], Any]) -> None:
        self.__dict__.update(_orig_module=orig_module, _name_handler=handler, __doc__=orig_module.__doc__)

    def __getattr__(self, name: str) -> Any:
        module = self._orig_module
        if not hasattr(module, name):
            try:
                setattr(module, name, self._name_handler(name))
            except AttributeError as error:
                raise AttributeError(str(error) or f"module '{module.__name__}' has no attribute '{name}'") from None
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_module, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_module, name)

    def __dir__(self) -> list[str]:
        return list(self._orig_module.__all__)

    def __repr__(self) -> str:
        return repr(self._orig_module)

    @classmethod
    def _install(cls, name: str, handler: Callable[[str], Any], *, auto_all: bool = False) -> None:
        """Puts a module in the place of the one of this name; its __all__ may be made of its public names."""
        modules: dict[str, Any] = sys.modules
        module = modules[name]
        if auto_all:
            module.__all__ = [each for each in vars(module) if not each.startswith("_")]
        modules[name] = cls(module, handler)


class _WarningMember:
    def __init__(self, member: Any, text: str) -> None:
        self._member, self._text = member, text
        self.__doc__ = member.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        warn_deprecated(self._text)
        return self._member.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        warn_deprecated(self._text)
        self._member.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        warn_deprecated(self._text)
        self._member.__delete__(instance)


def _with_date(message: str, date: str | None) -> str:
    text = message if date is None else f"{message} It will not be there after {date}."
    if _DATE.search(text) is None:
        raise ValueError(f"A deprecation needs a date, as YYYY-MM-DD; '{text}' has none.")
    return text
