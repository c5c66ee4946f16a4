"""Where in a file something went wrong, and the exception and the warning that say so."""

from __future__ import annotations

import functools
import logging
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SourceLocation:
    """A line of a file; line 0 means the file as a whole."""

    file: str
    line: int = 0

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for a text given as a string, whose file reads `<...>`."""
        return None if self.file.startswith("<") else Path(self.file).parent

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ParsingError(RuntimeError):
    """A file is wrong; the message starts with `file:line`.

    Attributes:
        location: the file and line of the offending element.
    """

    def __init__(self, location: SourceLocation, message: str):
        super().__init__(f"{location}: {message}")
        self.location = location


_have_said_how: set[str] = set()  # loggers that have said how


@functools.lru_cache(maxsize=10_000)
def warn_of_file(logger: logging.Logger, message: str, contents: Hashable = None) -> None:
    """Logs a warning about a file, once in a process: programs may read the same file for each of a thousand runs.

    The first warning of each logger says how to silence them.

    Args:
        logger: that of the reader.
        message: names the file.
        contents: what is in it: of a file that has changed there is a new warning.
    """
    if logger.name not in _have_said_how:
        _have_said_how.add(logger.name)
        silence = f"logging.getLogger({logger.name!r}).setLevel(logging.ERROR)"
        message = f"{message} (Such a warning comes once for each file and line. {silence} silences them.)"
    logger.warning("%s", message)


@contextmanager
def located(location: SourceLocation) -> Iterator[None]:
    """Turns errors inside into a ParsingError at a location in a file.

    Numbers may be too large to compute with, names too long for the file system, chains of references too long for the
    stack. A ParsingError, which knows a better place, passes.
    """
    try:
        yield
    except ParsingError:
        raise
    except RecursionError as cause:
        raise ParsingError(location, "elements are nested, or refer to each other, too deeply to follow.") from cause
    except (RuntimeError, ValueError, ArithmeticError, OSError) as cause:
        raise ParsingError(location, str(cause)) from cause
