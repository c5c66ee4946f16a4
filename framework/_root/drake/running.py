"""Programs written for pydrake run with merganser in its place, as Python runs them."""

from __future__ import annotations

import builtins
import linecache
import os
import runpy
import sys
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from merganser.drake.modules import install
from merganser.drake.programs import parts_of

__all__ = ["run_module", "run_program"]


def run_program(program: str, arguments: Sequence[str] = ()) -> None:
    """Runs a file of Python, a folder with a `__main__.py`, or a notebook, as `__main__`.

    Args:
        program: its path.
        arguments: what it finds in sys.argv behind its path.

    Raises:
        OSError: the file cannot be read, or there is none.
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
    sys.excepthook = _tell_from_the_program_on


def _display() -> Any:
    """What notebooks show objects with."""
    try:
        from IPython.display import display
    except ImportError:
        return print
    return display


def _tell_from_the_program_on(
    kind: type[BaseException], error: BaseException, calls: types.TracebackType | None
) -> None:
    """Prints an exception without the calls that have started the program."""
    ours = {__file__, runpy.__file__, "<frozen runpy>"}
    ours |= {str(Path(__file__).parents[1] / name) for name in ("__main__.py", "cli.py")}
    while calls is not None and calls.tb_frame.f_code.co_filename in ours:
        calls = calls.tb_next
    traceback.print_exception(error.with_traceback(calls))
