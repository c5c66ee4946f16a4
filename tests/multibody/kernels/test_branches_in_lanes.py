"""Kernels that run in lanes choose between values by `select`: where lanes part at a branch, all are computed again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from merganser import multibody

ROOT = Path(multibody.__file__).parent
# Kernels of steps, derivatives and poses of plants without contact, but for those that are compiled for numbers alone.
FOLDERS = "kernels", "kernels/elements", "kernels/mobilizers"
OTHERS = "contact/penalty.py", "dynamics/step.py"
MAY_BRANCH = {
    "apply_actuation",  # whether a torque is the first on its joint, as in all lanes; sums make new objects
    "_force_of_damper",  # whether a plant has quadratic damping; without it, objects are not compared
    "num_free",  # integers: joints that are locked in some lanes only part them
    "_find_segment",  # integers: so do curves with carts in different segments
    "_orthogonalize",  # integers: which rows of constraints depend on others
    "calc_center_of_mass",  # against a division by zero
}
DECISIONS = "exceeds", "equals", "is_set"


def sources() -> list[Path]:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).glob("*.py")) if file.stem != "scalars"]
    return [*files, *(ROOT / other for other in OTHERS)]


def is_decision(test: ast.expr) -> bool:
    """Whether a condition compares values of scalars: by a function of scalars.py, or by real parts."""
    nodes = list(ast.walk(test))
    calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    compares = any(isinstance(node, ast.Compare) for node in nodes)
    has_parts = "real_part" in calls or any(isinstance(node, ast.Attribute) and node.attr == "real" for node in nodes)
    return bool(calls & {*DECISIONS}) or (compares and has_parts)


def selects_in_disguise(text: str) -> Iterator[str]:
    """Branches on values that do no more than choose one, by the functions in which they are."""
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.IfExp):
                chooses = True
            elif isinstance(node, ast.If):
                bodies = [node.body, node.orelse] if node.orelse else [node.body]
                chooses = all(len(body) == 1 and isinstance(body[0], ast.Assign | ast.AugAssign) for body in bodies)
            else:
                continue
            if chooses and is_decision(node.test) and function.name not in MAY_BRANCH:
                yield f"{function.name}: {ast.unparse(node)}"


@pytest.mark.parametrize("file", sources(), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_values_are_chosen_by_select(file: Path) -> None:
    found = list(selects_in_disguise(file.read_text()))
    assert not found, f"{file.name}: write select(...) of framework/native/memory/by_value.py in place of {found}."


@pytest.mark.parametrize(
    "text",
    [
        "if exceeds(x, largest):\n        largest = x",
        "if not x.real > 0.0:\n        x = -x",
        "size = v if real_part(v) > 0.0 else -v",
        "if x.real > y.real:\n        x -= y\n    else:\n        x += y",
    ],
)
def test_selects_in_disguise_are_found(text: str) -> None:
    assert list(selects_in_disguise(f"def kernel(x, y, v, largest):\n    {text}\n"))
    assert not list(selects_in_disguise("def kernel(x, n):\n    if n > 0:\n        x = n\n"))
