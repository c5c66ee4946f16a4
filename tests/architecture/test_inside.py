"""Folders use only public names of each other."""

from __future__ import annotations

import ast
import collections
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("framework", "geometry", "analysis", "multibody", "examples/plants")

# Rooms of framework are apart from each other; geometry, analysis and multibody are one room each.
ROOMS_OF_FRAMEWORK = (
    "common", "core", "native", "primitives", "math", "symbolic", "autodiff", "trajectories", "schema", "yaml", "_root",
    "_compat",
)  # fmt: skip

# Private names of other rooms that are reached all the same, by file or folder, and why. It may only shrink.
LEFT: dict[str, tuple[str, str]] = {
    "multibody/plant/kinematics.py": (
        "_R_AB _p_AoBo_A",
        "EvalBodyPoseInWorld takes 560 ns instead of 650 ns",
    ),
}

# `_sys_` names are those of Systems that all rooms use, see framework/core/inside.py.
OF_PYTHON = frozenset({"_fields", "_replace"})  # of named tuples


def _room(file: str) -> str:
    top, *rest = file.split("/")
    return f"{top}/{rest[0]}" if top == "framework" and rest[0] in ROOMS_OF_FRAMEWORK else top


def _names_in(tree: ast.Module) -> tuple[set[str], dict[str, list[int]]]:
    """The private names that a file defines, of functions, classes, variables and attributes; attributes it reads."""
    names: set[str] = set()
    attributes: dict[str, list[int]] = collections.defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if _is_private(node.attr):
                attributes[node.attr].append(node.lineno)
                if isinstance(node.ctx, ast.Store) and _is_own(node.value):
                    names.add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__slots__"]:
            names.update(ast.literal_eval(node.value))
    return set(filter(_is_private, names)), attributes


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith(("__", "_sys_")) and name not in OF_PYTHON


def _is_own(receiver: ast.expr) -> bool:
    return isinstance(receiver, ast.Name) and receiver.id in ("self", "cls")


@functools.cache
def _reached() -> dict[str, dict[str, list[int]]]:
    """For each file the private names of other rooms that it reaches for, and in which lines.

    A name belongs to the rooms that define it; one that none defines is another library's.
    """
    rooms_of: dict[str, set[str]] = collections.defaultdict(set)
    attributes_of: dict[str, dict[str, list[int]]] = {}
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        names, attributes_of[file] = _names_in(ast.parse(path.read_text()))
        for name in names:
            rooms_of[name].add(_room(file))
    found: dict[str, dict[str, list[int]]] = {}
    for file, attributes in attributes_of.items():
        for name, lines in attributes.items():
            if rooms_of[name] and _room(file) not in rooms_of[name]:
                found.setdefault(file, {})[name] = lines
    return found


def test_nothing_reaches_for_private_names_of_another_room():
    unknown = [
        f"{file}:{lines[0]}: {name}"
        for file, names in _reached().items()
        for name, lines in names.items()
        if not any(file.startswith(where) and name in left.split() for where, (left, _) in LEFT.items())
    ]
    assert not unknown, (
        "These names are private to another room. Use what it offers (framework/core/inside.py for core), or add there "
        f"what is missing: {unknown}"
    )


def test_the_table_of_private_names_that_are_reached_names_no_others():
    unused = [
        f"{where}: {name}"
        for where, (names, _) in LEFT.items()
        for name in names.split()
        if not any(file.startswith(where) and name in found for file, found in _reached().items())
    ]
    assert not unused, f"Nothing reaches for these any more; take them out of the table: {unused}"
