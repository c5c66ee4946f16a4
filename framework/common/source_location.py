"""Files of text: their encoding, where in them something went wrong, and the exception and the warning that say so."""

from __future__ import annotations

import codecs
import functools
import logging
import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Encodings of plain text that have ASCII in them; Python knows stranger ones.
_ENCODING_OF_TEXT = re.compile(
    r"(us-?)?ascii|iso-?8859-?\d+|latin-?\d+|(windows-?|cp)125\d|koi8-[ru]|gb(2312|k|18030)|big5|shift_jis|euc-(jp|kr)"
)


def decode(data: bytes, declared: str = "") -> str:
    """Returns the text of a file, which is in UTF-8, mostly.

    Args:
        data: what is in the file. A byte-order mark identifies UTF-16.
        declared: the encoding that the file names; it counts where the file is not in UTF-8. If it does not fit,
            either, the file is taken for Latin-1, in which every byte is a character.
    """
    encodings = ["utf-8-sig"]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings.insert(0, "utf-16")
    if _ENCODING_OF_TEXT.fullmatch(declared.lower()):
        encodings.append(declared)
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            pass
    return data.decode("latin-1")


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
