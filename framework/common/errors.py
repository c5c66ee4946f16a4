"""Exceptions that the framework raises beside the built-in ones; and names of pydrake on their way out, which warn."""

from __future__ import annotations

import difflib
import functools
import logging
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

_MOST_NOTES = 8  # of an exception that passes through a long chain of blocks
_Function = TypeVar("_Function", bound=Callable[..., Any])


class AlgebraicLoopError(RuntimeError):
    """A value would have to be known in order to be computed."""


class DiagramError(ValueError, RuntimeError):
    """Systems cannot be added to a diagram, or wired, in this way; programs for Drake catch a RuntimeError."""


class UnconnectedInputError(RuntimeError):
    """An input port was read that is neither connected nor fixed."""


class Where:
    """The beginning of a message, put together only if there is one: paths of systems take time.

    Args:
        pattern: the text, as for `str.format` with the path of the system and the values.
        system: where it is.
        values: what else it says.
    """

    __slots__ = ("_pattern", "_system", "_values")

    def __init__(self, pattern: str, system: Any, *values: Any) -> None:
        self._pattern, self._system, self._values = pattern, system, values

    def __str__(self) -> str:
        return self._pattern.format(self._system.GetSystemPathname(), *self._values)


def name_owner(context: Any, system: Any) -> str:
    """Names the owner of a context, which is not `system` but may have the same path."""
    path = context.system.GetSystemPathname()
    twin = ", another one of the same path" if path == system.GetSystemPathname() else ""
    return f"system '{path}'{twin}"


@functools.lru_cache(maxsize=1000)
def log_once(logger: logging.Logger, message: str) -> None:
    """Logs a warning unless it was logged before in this process."""
    logger.warning(message)


def nearest_names(name: str, known: Iterable[str]) -> str:
    """A sentence for a mistyped `name`: similar names, or all names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    if near:
        return "Did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    if not names:
        return "None is defined."
    shown = ", ".join(f"'{n}'" for n in names[:20])
    return f"There are: {shown}{', ...' if len(names) > 20 else ''}."


def describe_function(function: Any) -> str:
    """Names a function of the user, with file and line."""
    while isinstance(function, functools.partial):
        function = function.func
    event = getattr(function, "__self__", None)  # an Event calls the user's function for the framework
    function = getattr(event, "_system_callback", None) or getattr(event, "_callback", None) or function
    name = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def call_to_write(where: Any, function: Callable[..., Any], *arguments: Any) -> None:
    """Calls a function of the user that writes its result into the last argument, and refuses one that returns it.

    Args:
        where: the beginning of a message.
        function: called with the arguments.
        arguments: the last one takes the result.
    """
    result = function(*arguments)
    if result is not None:
        refuse_result(where, function, result, arguments[-1])


def refuse_result(where: Any, function: Any, result: Any, target: Any) -> None:
    """Raises an error about a function of the user that returned its result and did not write it where it should.

    Whatever else it returns, such as the tuple that a lambda makes to do two things, means nothing.

    Args:
        where: the beginning of the message.
        function: of the user.
        result: what it returned.
        target: what it was to write into.
    """
    written, returned = _content_of(target), _content_of(result)
    takes_numbers = written is target or _are_numbers(written)  # an array, a State, Parameters; or what is in a box
    is_like_it = isinstance(returned, type(written)) or (takes_numbers and _are_numbers(returned))
    if not is_like_it or result is target or returned is written or _are_equal(returned, written):
        return
    if hasattr(target, "SetFromVector"):
        remedy = ", as in output.SetFromVector(...)"
    elif isinstance(target, np.ndarray):
        remedy = ", as in output[:] = ..."
    else:
        remedy = ", as in output.set_value(...)" if hasattr(target, "set_value") else f", a {type(target).__name__}"
    raise TypeError(
        f"{where}: {describe_function(function)} returned {_short(returned)}, which is not used; what it was to fill "
        f"in is {_short(written)}. Write the result into its argument{remedy}, and return None."
    )


def _content_of(value: Any) -> Any:
    """The numbers of a vector, or what is in a box; other values themselves."""
    for name in ("CopyToVector", "get_value"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _are_numbers(value: Any) -> bool:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    return array.dtype.kind in "iufc" or (array.dtype == object and all(hasattr(x, "__sub__") for x in array.flat))


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(np.array_equal(np.ravel(one), np.ravel(other)))
    except Exception:  # objects that cannot be compared
        return False


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def note_place(error: Exception, place: str) -> None:
    """Adds where an exception of a user's callback came from, once for each place it passes."""
    notes = getattr(error, "__notes__", ())
    if place not in notes and len(notes) < _MOST_NOTES:
        error.add_note(place)


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
