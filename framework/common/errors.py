"""Exceptions that the framework raises beside the built-in ones."""

from __future__ import annotations

__all__ = [
    "AlgebraicLoopError",
    "UnconnectedInputError",
    "Where",
    "log_once",
    "name_owner",
    "nearest_names",
    "note_place",
]

import difflib
import functools
import logging
from collections.abc import Iterable
from typing import Any

_MOST_NOTES = 8  # of an exception that passes through a long chain of blocks


class AlgebraicLoopError(RuntimeError):
    """A value would have to be known in order to be computed."""


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
    """Whose context this is, for a message that it is not that of `system`, which may have a twin of the same path."""
    path = context.system.GetSystemPathname()
    twin = ", another one of the same path" if path == system.GetSystemPathname() else ""
    return f"system '{path}'{twin}"


@functools.lru_cache(maxsize=1000)
def log_once(logger: logging.Logger, message: str) -> None:
    """Logs a warning unless it was logged before in this process."""
    logger.warning(message)


def nearest_names(name: str, known: Iterable[str]) -> str:
    """A sentence that helps somebody who mistyped `name`: the near misses, or all names there are."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    if near:
        return "Did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    if not names:
        return "There are none."
    shown = ", ".join(f"'{n}'" for n in names[:20])
    return f"There are: {shown}{', ...' if len(names) > 20 else ''}."


def note_place(error: Exception, place: str) -> None:
    """Adds where an exception of a user's callback came from, once for each place it passes."""
    notes = getattr(error, "__notes__", ())
    if place not in notes and len(notes) < _MOST_NOTES:
        error.add_note(place)
