"""Programs as they lie on the disk: files of Python, folders with a `__main__.py`, and notebooks."""

from __future__ import annotations

import ast
import json
import logging
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Part", "parts_of"]

_logger = logging.getLogger("merganser.drake")

# Lines that only IPython understands, and those of them that programs do as well without.
_OF_IPYTHON = re.compile(r"^(\s*)([%!].*|\S+\?{1,2}\s*)$")
_IDLE = re.compile(r"\s*%+(matplotlib|load_ext|autoreload|time|timeit|capture|config)\b")


@dataclass(frozen=True)
class Part:
    """A file of Python, or one cell of a notebook.

    Attributes:
        text: the program.
        name: the path of the file, followed by the number of the cell in a notebook.
    """

    text: str
    name: str


def parts_of(path: Path) -> list[Part]:
    """The parts of a program, in their order; of a file of Python, or a folder with a `__main__.py`, there is one.

    Raises:
        OSError: the file cannot be read, or there is none.
        SyntaxError: it is no program.
    """
    if path.is_dir():
        path = path / "__main__.py"
    if path.suffix == ".ipynb":
        return _cells(path)
    try:
        with tokenize.open(path) as file:
            return [Part(file.read(), str(path))]
    except UnicodeDecodeError as error:
        raise SyntaxError(f"'{path}' is no text: {error}.") from error


def _cells(path: Path) -> list[Part]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise SyntaxError(f"'{path}' is no notebook (of format 4): {error!r}.") from error
    return [_plain(Part(text, f"{path}, cell {number}")) for number, text in enumerate(texts, 1)]


def _plain(cell: Part) -> Part:
    """A cell as Python: lines for IPython do nothing, and those that would matter are told."""
    try:
        ast.parse(cell.text)
    except SyntaxError:
        lines = cell.text.splitlines()
        if lines[0].startswith("%%") and not _IDLE.match(lines[0]):  # in another language
            kept, left_out = [], lines[:1]
        else:
            kept = [_OF_IPYTHON.sub(r"\1pass", line) for line in lines]
            left_out = [line for line, plain in zip(lines, kept) if line != plain and not _IDLE.match(line)]
        for line in left_out:
            _logger.warning("%s: '%s' is for IPython and is left out.", cell.name, line.strip())
        return Part("\n".join(kept), cell.name)
    return cell
