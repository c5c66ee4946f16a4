"""What a program uses of pydrake that merganser lacks, found by reading it."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from merganser.drake.addresses import ADDRESSES, WITHOUT_COUNTERPART
from merganser.drake.modules import look_up, names_of

__all__ = ["Missing", "describe_program", "missing_names"]

_ROOT = "pydrake"


class Missing(NamedTuple):
    """A name of pydrake that a program uses and merganser lacks.

    Attributes:
        file: of the program, or of a module beside it that it imports.
        line: where the name is imported or used first.
        name: with its module, such as 'pydrake.solvers.Solve'.
    """

    file: Path
    line: int
    name: str


def missing_names(program: str | Path) -> list[Missing]:
    """The names of pydrake that a program and the modules beside it use, as far as merganser lacks them.

    It reads imports, attributes of imported modules, and, where everything of a module is imported, names that nothing
    in the file defines. It does not see what is looked up while the program runs.

    Raises:
        OSError: a file cannot be read.
        SyntaxError: a file is no Python program.
    """
    start = Path(program).resolve()
    waiting, seen, found = [start], {start}, []
    while waiting:
        file = waiting.pop()
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        found += [Missing(file, line, name) for line, name in _missing_in(tree)]
        for neighbor in _neighbors(tree, file.parent):
            if neighbor not in seen:
                seen.add(neighbor)
                waiting.append(neighbor)
    return found


def describe_program(name: str) -> str:
    """For errors: what else the running program would miss, beside one name; empty if nothing or unknown."""
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        missing = missing_names(program) if program else []
    except (OSError, SyntaxError):
        return ""
    others = sorted({entry.name for entry in missing if entry.name.rpartition(".")[2] != name})
    return f" {Path(str(program)).name} would also miss: {', '.join(others)}." if others else ""


def _neighbors(tree: ast.Module, folder: Path) -> Iterator[Path]:
    """Modules in the folder of a program that it imports."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            path = folder.joinpath(*name.split(".")).with_suffix(".py")
            if path.is_file():
                yield path


def _missing_in(tree: ast.Module) -> list[tuple[int, str]]:
    """Lines and names, each name once."""
    found: dict[str, int] = {}
    for line, module, name in _uses(tree):
        full = f"{_ROOT}.{module}.{name}".replace("..", ".")
        if not _is_there(module, name):
            found.setdefault(full, line)
    return sorted((line, name) for name, line in found.items())


def _is_there(module: str, name: str) -> bool:
    if f"{module}.{name}".removeprefix(".") in ADDRESSES:
        return True
    try:
        look_up(module, name)
    except AttributeError:
        return False
    return True


def _uses(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, module of pydrake (without its first part) and name of all that a program uses of pydrake."""
    modules: dict[str, str] = {}  # names in the program that stand for modules of pydrake
    everything: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name):
                    modules[alias.asname or _ROOT] = _inner(alias.name) if alias.asname else ""
                    if _inner(alias.name) in WITHOUT_COUNTERPART:
                        yield node.lineno, "", _inner(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            module = _inner(node.module or "")
            for alias in node.names:
                inner = f"{module}.{alias.name}".removeprefix(".")
                if alias.name == "*":
                    everything.append(module)
                elif inner in ADDRESSES:
                    modules[alias.asname or alias.name] = inner
                else:
                    yield node.lineno, module, alias.name
    yield from _attributes(tree, modules)
    if everything:
        yield from _undefined(tree, everything)


def _is_ours(module: str) -> bool:
    return module == _ROOT or module.startswith(_ROOT + ".")


def _inner(module: str) -> str:
    return module.removeprefix(_ROOT).removeprefix(".")


def _attributes(tree: ast.Module, modules: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Uses like `pydrake.math.inv` or `symbolic.sin`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if not (isinstance(inner, ast.Name) and inner.id in modules):
            continue
        module = modules[inner.id]
        names = chain[::-1]
        while names and f"{module}.{names[0]}".removeprefix(".") in ADDRESSES:
            module = f"{module}.{names.pop(0)}".removeprefix(".")
        if names and not names[0].startswith("_"):
            yield node.lineno, module, names[0]


def _undefined(tree: ast.Module, everything: list[str]) -> Iterator[tuple[int, str, str]]:
    """Names that a program reads and nothing in it defines: they are to come from `from pydrake... import *`."""
    defined = set(dir(builtins)) | {name for module in everything for name in names_of(module)}
    defined |= {"__file__", "__doc__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            defined.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in defined:
            yield node.lineno, everything[0], node.id
