"""Programs written for pydrake run with merganser in its place, as Python runs them.

Programs as they lie on the disk: files of Python, folders with a `__main__.py`, and notebooks.
"""

from __future__ import annotations

import ast
import builtins
import json
import linecache
import logging
import os
import re
import runpy
import sys
import tokenize
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import merganser
from merganser.drake.modules import install

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
        OSError: the file is missing or cannot be read.
        SyntaxError: the file is not valid Python.
    """
    if path.is_dir():
        path = path / "__main__.py"
    if path.suffix == ".ipynb":
        return _cells(path)
    try:
        with tokenize.open(path) as file:
            return [Part(file.read(), str(path))]
    except UnicodeDecodeError as error:
        raise SyntaxError(f"'{path}' is not text: {error}.") from error


def _cells(path: Path) -> list[Part]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise SyntaxError(f"'{path}' is not a notebook (of format 4): {error!r}.") from error
    return [_plain(Part(text, f"{path}, cell {number}")) for number, text in enumerate(texts, 1)]


def _plain(cell: Part) -> Part:
    """A cell as Python: lines for IPython do nothing; a warning names those that would matter."""
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


def run_program(program: str, arguments: Sequence[str] = ()) -> None:
    """Runs a file of Python, a folder with a `__main__.py`, or a notebook, as `__main__`.

    Args:
        program: its path.
        arguments: what it finds in sys.argv behind its path.

    Raises:
        OSError: the file is missing or cannot be read.
        BaseException: whatever the program raises; tracebacks that Python prints begin at the program's own lines.
    """
    path = Path(os.path.abspath(program))
    parts = parts_of(path)
    _begin(program, arguments, path if path.is_dir() else path.parent)
    main = types.ModuleType("__main__")
    main.__file__ = str(path / "__main__.py" if path.is_dir() else path)
    main.__dict__.update(__builtins__=builtins, __spec__=None)
    sys.modules["__main__"] = main
    if path.suffix == ".ipynb":
        main.__dict__["display"] = _display()
    for part in parts:
        linecache.cache[part.name] = (len(part.text), None, part.text.splitlines(keepends=True), part.name)
        exec(compile(part.text, part.name, "exec", dont_inherit=True), main.__dict__)


def run_module(module: str, arguments: Sequence[str] = ()) -> None:
    """Runs a module, or the `__main__` of a package, as `python -m` does.

    Args:
        module: its name; it is found from the working directory.
        arguments: what it finds in sys.argv behind its path.

    Raises:
        ImportError: there is no such module.
        BaseException: whatever the program raises; tracebacks that Python prints begin at the program's own lines.
    """
    _begin(module, arguments, Path.cwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _begin(program: str, arguments: Sequence[str], folder: Path) -> None:
    install(shadow=True)
    sys.argv = [program, *arguments]
    if sys.path and sys.path[0] in ("", os.getcwd()):  # from where `python -m merganser` was started
        del sys.path[0]
    sys.path.insert(0, str(folder))
    sys.excepthook = _print_from_the_program_on


def _display() -> Any:
    """The function that shows objects in notebooks."""
    try:
        from IPython.display import display
    except ImportError:
        return print
    return display


def _print_from_the_program_on(
    kind: type[BaseException], error: BaseException, calls: types.TracebackType | None
) -> None:
    """Prints an exception without the calls that have started the program."""
    ours = {__file__, runpy.__file__, "<frozen runpy>"}
    ours |= {str(Path(str(merganser.__file__)).with_name(name)) for name in ("__main__.py", "cli.py")}
    while calls is not None and calls.tb_frame.f_code.co_filename in ours:
        calls = calls.tb_next
    traceback.print_exception(error.with_traceback(calls))
