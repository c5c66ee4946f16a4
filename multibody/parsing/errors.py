"""Where in a file something went wrong, and the one exception and the one warning channel that say so."""

from __future__ import annotations

__all__ = ["Diagnostics", "ParsingError", "SourceLocation", "located"]

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_logger = logging.getLogger("merganser.multibody.parsing")


@dataclass(frozen=True)
class SourceLocation:
    """A line of a model file; line 0 means the file as a whole."""

    file: str
    line: int = 0

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for a model given as a string, whose file reads `<...>`."""
        return None if self.file.startswith("<") else Path(self.file).parent

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ParsingError(RuntimeError):
    """A model file does not describe a model; the message starts with `file:line`.

    Attributes:
        location: the file and line of the offending element.
    """

    def __init__(self, location: SourceLocation, message: str):
        super().__init__(f"{location}: {message}")
        self.location = location


@contextmanager
def located(location: SourceLocation) -> Iterator[None]:
    """Turns what goes wrong inside, because of what a file says, into a ParsingError at a place in that file.

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


@dataclass
class Diagnostics:
    """Collects what a parser understood but will not honour.

    Attributes:
        strict: raise a ParsingError in place of every warning.
        warnings: the messages issued so far, each starting with `file:line`.
    """

    strict: bool = False
    warnings: list[str] = field(default_factory=list)

    def warn(self, location: SourceLocation, message: str) -> None:
        """Logs `message` to the logger `merganser.multibody.parsing`.

        Raises:
            ParsingError: parsing is strict.
        """
        if self.strict:
            raise ParsingError(location, f"{message} (strict parsing treats this warning as an error)")
        self.warnings.append(f"{location}: {message}")
        _logger.warning("%s: %s", location, message)
