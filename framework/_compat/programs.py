"""Programs written for pydrake: run with merganser in its place, and read for names that merganser lacks.

Programs are as they lie on the disk: files of Python, folders with a `__main__.py`, and notebooks.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import merganser
from merganser.drake.addresses import ALONG_WITH_ALL, MODULES_OF, ROOT, TAKEN_AWAY, inner, is_module, names_of
from merganser.drake.modules import install, look_up

_logger = logging.getLogger("merganser.drake")
# Lines that only IPython understands, and those of them that programs do as well without.
_OF_IPYTHON = re.compile(r"^(\s*)([%!].*|\S+\?{1,2}\s*)$")
_IDLE = re.compile(r"\s*%+(matplotlib|load_ext|autoreload|time|timeit|capture|config)\b")
_METHOD = re.compile(r"[A-Z]|(get|set|num|has|is)_")  # names of Drake's methods begin so


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


class Missing(NamedTuple):
    """A name of pydrake that a program uses and merganser lacks.

    Attributes:
        file: of the program, or of a module beside it that it imports.
        line: where the name is imported or used first; in a notebook, in its cell.
        name: with its module, such as 'pydrake.solvers.Solve'.
        cell: of a notebook, counting those of code from 1; None elsewhere.
        in_pydrake: whether pydrake 1.51 has it.
    """

    file: Path
    line: int
    name: str
    cell: int | None = None
    in_pydrake: bool = True

    def __str__(self) -> str:
        place = self.file.name if self.cell is None else f"{self.file.name}, cell {self.cell}"
        return f"{place}:{self.line}: {self.name}{'' if self.in_pydrake else ' (nor has pydrake 1.51)'}"


class TakenAway(NamedTuple):
    """A name in a program that merganser and pydrake 1.51 have, and Drake 1.58 has not.

    Attributes:
        file, line, name, cell: as of `Missing`.
        instead: what does the same in 1.58.
    """

    file: Path
    line: int
    name: str
    cell: int | None
    instead: str

    def __str__(self) -> str:
        place = self.file.name if self.cell is None else f"{self.file.name}, cell {self.cell}"
        return f"{place}:{self.line}: {self.name} is not in Drake 1.58; there: {self.instead}"


def missing_names(program: str | Path) -> list[Missing]:
    """The names of pydrake that a program and the modules beside it use, as far as merganser lacks them.

    It reads imports, attributes of imported modules, and, where everything of a module is imported, names that nothing
    in the file defines; and methods of what is always an object of one class, by an annotation or where it is made. It
    does not see what is looked up while the program runs.

    Args:
        program: a file of Python, a folder with a `__main__.py`, or a notebook.

    Raises:
        OSError: a file cannot be read.
        SyntaxError: a file is no Python program.
    """
    return [entry for file, trees in _files_and_trees(program) for entry in _missing_in(file, trees)]


def names_taken_away(program: str | Path) -> list[TakenAway]:
    """The names in a program, and the modules beside it, that pydrake 1.51 has and 1.58 has not."""
    found: dict[str, TakenAway] = {}
    for file, trees in _files_and_trees(program):
        scope = _Scope()
        for tree in trees:
            scope.read(tree)
        for number, tree in enumerate(trees, 1):
            for line, module, name in [*scope.uses(tree), *scope.members(tree)]:
                if name in TAKEN_AWAY:
                    cell = number if file.suffix == ".ipynb" else None
                    full = f"{ROOT}.{module}.{name}".replace("..", ".")
                    found.setdefault(full, TakenAway(file, line, full, cell, TAKEN_AWAY[name]))
    return sorted(found.values(), key=lambda entry: (entry.file, entry.cell or 0, entry.line))


def _files_and_trees(program: str | Path) -> Iterator[tuple[Path, list[ast.Module]]]:
    """The files of a program, and what is in their cells."""
    start = Path(program).resolve()
    start = start / "__main__.py" if start.is_dir() else start
    root = start.parent
    waiting, seen = [start], {start}
    while waiting:
        file = waiting.pop()
        trees = [ast.parse(part.text, part.name) for part in parts_of(file)]
        yield file, trees
        for neighbor in (path for tree in trees for path in _neighbors(tree, file, root)):
            if neighbor not in seen:
                seen.add(neighbor)
                waiting.append(neighbor)


def describe_program(name: str) -> str:
    """For errors: what else the running program would miss, beside one name; empty if nothing or unknown."""
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        missing = missing_names(program) if program else []
    except (OSError, SyntaxError):
        return ""
    others = sorted({entry.name for entry in missing if entry.name.rpartition(".")[2] != name})
    return f" {Path(str(program)).name} would also miss: {', '.join(others)}." if others else ""


def _neighbors(tree: ast.Module, file: Path, root: Path) -> Iterator[Path]:
    """Files of the modules in the folder of a program, and below it, that one of its files imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(root, alias.name)
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if node.level else root
            module = node.module or ""
            yield from _files_of(folder, module)
            for alias in node.names:
                yield from _files_of(folder, f"{module}.{alias.name}".removeprefix("."))


def _files_of(folder: Path, module: str) -> Iterator[Path]:
    """Those of a module and of the packages that it is in."""
    path = folder
    for part in filter(None, module.split(".")):
        path = path / part
        yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())


def _missing_in(file: Path, trees: list[ast.Module]) -> list[Missing]:
    """Missing names, each once."""
    found: dict[str, Missing] = {}
    scope = _Scope()
    for tree in trees:
        scope.read(tree)
    for number, tree in enumerate(trees, 1):
        for line, module, name in scope.uses(tree):
            full = f"{ROOT}.{module}.{name}".replace("..", ".")
            if full not in found and not _is_there(module, name):
                cell = number if file.suffix == ".ipynb" else None
                # A method of a class that pydrake has may be its, too.
                there = name.partition(".")[0] in names_of(module) or is_module(f"{module}.{name}".removeprefix("."))
                found[full] = Missing(file, line, full, cell, there)
    return sorted(found.values(), key=lambda entry: (entry.cell or 0, entry.line, entry.name))


def _is_there(module: str, name: str) -> bool:
    if _is_known_module(f"{module}.{name}".removeprefix(".")):
        return True
    name, _, method = name.partition(".")
    try:
        found = look_up(module, name)
    except AttributeError:
        return False
    return not method or hasattr(found, method) or hasattr(found, "__getattr__")


def _is_known_module(name: str) -> bool:
    """Whether merganser has something of a module of pydrake, or pydrake has nothing in it, either."""
    if not is_module(name):
        return False
    names = names_of(name)
    return not names or any(_is_there(name, each) for each in names)


def _is_pydrake(module: str) -> bool:
    return module == ROOT or module.startswith(ROOT + ".")


class _Scope:
    """The meaning of a program's names, over all its cells."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}  # names bound to modules of pydrake
        self._everything: list[str] = []  # modules of which all names are imported
        self._defined = {*dir(builtins), "__file__", "__doc__", "__builtins__", "display", "get_ipython"}
        self._names: dict[str, tuple[str, str]] = {}  # names bound to names of pydrake: module and name there
        self._classes: dict[str, set[tuple[str, str] | None]] = {}  # of values of variables; None if unknown
        self._assigned: set[ast.Name] = set()  # in statements that have been read

    def read(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if _is_pydrake(alias.name):
                        self._modules[alias.asname or ROOT] = inner(alias.name) if alias.asname else ""
            elif isinstance(node, ast.ImportFrom) and not node.level and _is_pydrake(node.module or ""):
                self._read_from(inner(node.module or ""), node)
            self._defined |= _defined_by(node)
        for node in ast.walk(tree):
            # Notes of which classes the objects are that a statement or a parameter gives names to
            if isinstance(node, ast.arg):
                self._classes.setdefault(node.arg, set()).add(self._class_named(node.annotation))
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                (target,) = node.targets
                targets = target.elts if isinstance(target, ast.Tuple) else [target]
                for each, kind in zip(targets, self._classes_of(node.value, len(targets))):
                    if isinstance(each, ast.Name):
                        self._classes.setdefault(each.id, set()).add(kind)
                        self._assigned.add(each)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in self._assigned:
                self._classes.setdefault(node.id, set()).add(None)

    def _classes_of(self, value: ast.expr, number: int) -> list[tuple[str, str] | None]:
        """The classes of the objects that an expression makes."""
        if not isinstance(value, ast.Call):
            return [None] * number
        called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        if called == "AddMultibodyPlantSceneGraph" and number == 2:
            return [("multibody.plant", "MultibodyPlant"), ("geometry", "SceneGraph")]
        if called in ("AddSystem", "AddNamedSystem") and value.args:
            return self._classes_of(value.args[-1], number)
        return [self._class_named(value.func)] if number == 1 else [None] * number

    def _class_named(self, expression: ast.expr | None) -> tuple[str, str] | None:
        """The class of pydrake that an expression names, with its module, if merganser has it."""
        place: tuple[str, str] | None = None
        if isinstance(expression, ast.Name):
            everywhere = (module for module in self._everything if expression.id in names_of(module))
            place = self._names.get(expression.id) or next(((module, expression.id) for module in everywhere), None)
        elif isinstance(expression, ast.Attribute):
            place = next(((module, name) for _, module, name in self._attribute(expression)), None)
        if place is None or not _is_there(*place) or not isinstance(look_up(*place), type):
            return None
        return place

    def _read_from(self, module: str, node: ast.ImportFrom) -> None:
        for alias in node.names:
            inner = f"{module}.{alias.name}".removeprefix(".")
            if alias.name == "*":
                self._everything.append(module)
                self._defined |= {name for name in names_of(module) if _is_there(module, name)}
                self._defined |= set(ALONG_WITH_ALL) if module in MODULES_OF else set()
            elif is_module(inner):
                self._modules[alias.asname or alias.name] = inner
            else:
                self._names[alias.asname or alias.name] = module, alias.name

    def uses(self, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
        """Line, module of pydrake (without its first part) and name of all that a cell uses of pydrake."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if _is_pydrake(alias.name) and inner(alias.name):
                        yield node.lineno, "", inner(alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level and _is_pydrake(node.module or ""):
                for alias in node.names:
                    if alias.name != "*":
                        yield node.lineno, inner(node.module or ""), alias.name
            elif isinstance(node, ast.Attribute):
                yield from self._attribute(node)
                yield from self._method(node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield from self._undefined(node)

    def _attribute(self, node: ast.Attribute) -> Iterator[tuple[int, str, str]]:
        """A use like `pydrake.math.inv` or `symbolic.sin`."""
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if not (isinstance(inner, ast.Name) and inner.id in self._modules):
            return
        module, names = self._modules[inner.id], chain[::-1]
        while names and is_module(f"{module}.{names[0]}".removeprefix(".")):
            module = f"{module}.{names.pop(0)}".removeprefix(".")
        if names and not names[0].startswith("_"):
            yield node.lineno, module, names[0]

    def _method(self, node: ast.Attribute) -> Iterator[tuple[int, str, str]]:
        """A method of an object of one class, guessed by its name."""
        classes = self._classes.get(node.value.id, set()) if isinstance(node.value, ast.Name) else set()
        if len(classes) == 1 and None not in classes and _METHOD.match(node.attr) and isinstance(node.ctx, ast.Load):
            ((module, name),) = (each for each in classes if each is not None)
            yield node.lineno, module, f"{name}.{node.attr}"

    def members(self, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
        """Line, module and `Class.member` of members of classes, as in `DiscreteContactApproximation.kSap`."""
        for node in ast.walk(tree):
            place = self._class_named(node.value) if isinstance(node, ast.Attribute) else None
            if isinstance(node, ast.Attribute) and place is not None:
                yield node.lineno, place[0], f"{place[1]}.{node.attr}"
            elif isinstance(node, ast.Call) and (place := self._class_named(node.func)) is not None:
                yield from ((node.lineno, place[0], f"{place[1]}.{given.arg}") for given in node.keywords)

    def _undefined(self, node: ast.Name) -> Iterator[tuple[int, str, str]]:
        """A name that nothing in the program defines: it is to come from `from pydrake... import *`."""
        if self._everything and node.id not in self._defined:
            modules = [module for module in self._everything if node.id in names_of(module)]
            yield node.lineno, (modules or self._everything)[0], node.id


def _defined_by(node: ast.AST) -> set[str]:
    """The names that a statement or expression defines."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return {node.name} if node.name else set()
    if isinstance(node, ast.MatchMapping):
        return {node.rest} if node.rest else set()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return set()
