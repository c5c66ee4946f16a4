"""Names of pydrake that are on their way out: they work, and warn."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class DrakeDeprecationWarning(DeprecationWarning):
    """A program uses what a later version of pydrake will not have; shown once by default, unlike its base."""


warnings.simplefilter("once", DrakeDeprecationWarning)


def warn_deprecated(message: str, stacklevel: int = 2) -> None:
    """Warns the caller of the caller, or further up."""
    warnings.warn(message, DrakeDeprecationWarning, stacklevel=stacklevel + 1)


def deprecated_method(name: str, instead: str, until: str) -> Callable[[_Function], _Function]:
    """Makes a method warn when it is called.

    Args:
        name: what the warning calls it: Class.Method.
        instead: what to use, as a sentence.
        until: the date, YYYY-MM-DD, from which pydrake may not have it.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def warn(*args: Any, **kwargs: Any) -> Any:
            warn_deprecated(f"{name}() is deprecated, and leaves pydrake after {until}. {instead}")
            return function(*args, **kwargs)

        warn.__name__ = name.rpartition(".")[2]
        warn.__qualname__ = name
        return cast(_Function, warn)

    return decorate
