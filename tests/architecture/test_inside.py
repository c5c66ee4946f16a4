"""What one room takes from another has a name that the other offers: nothing reaches for its private ones."""

from __future__ import annotations

import ast
import collections
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("framework", "geometry", "analysis", "multibody")

# Rooms of framework are apart from each other; geometry, analysis and multibody are one room each.
ROOMS_OF_FRAMEWORK = (
    "core", "native", "primitives", "math", "symbolic", "autodiff", "trajectories", "schema", "yaml", "_root",
)  # fmt: skip

# Private names of other rooms that are reached all the same, by file or folder, and why. It may only shrink.
LEFT: dict[str, tuple[str, str]] = {
    "multibody/plant/kinematics.py": (
        "_R_AB _p_AoBo_A",
        "EvalBodyPoseInWorld takes 560 ns instead of 650 ns",
    ),
}

OF_PYTHON = frozenset({"_replace"})  # of named tuples


@functools.cache
def _trees() -> dict[str, ast.Module]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def _room(file: str) -> str:
    top, *rest = file.split("/")
    return f"{top}/{rest[0]}" if top == "framework" and rest[0] in ROOMS_OF_FRAMEWORK else top


def _defined(tree: ast.Module) -> set[str]:
    """The private names that a file defines: of functions, classes, variables and attributes."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__slots__"]:
            names.update(ast.literal_eval(node.value))
    return set(filter(_is_private, names))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_PYTHON


def _is_own(receiver: ast.expr) -> bool:
    return isinstance(receiver, ast.Name) and receiver.id in ("self", "cls")


@functools.cache
def _reached() -> dict[str, dict[str, list[int]]]:
    """For each file the private names of other rooms that it reaches for, and in which lines.

    A name belongs to the rooms that define it; one that none defines is another library's.
    """
    rooms_of: dict[str, set[str]] = collections.defaultdict(set)
    for file, tree in _trees().items():
        for name in _defined(tree):
            rooms_of[name].add(_room(file))
    found: dict[str, dict[str, list[int]]] = {}
    for file, tree in _trees().items():
        for node in ast.walk(tree):
            rooms = rooms_of[node.attr] if isinstance(node, ast.Attribute) and _is_private(node.attr) else ()
            if rooms and _room(file) not in rooms:
                found.setdefault(file, {}).setdefault(node.attr, []).append(node.lineno)
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
