"""MultibodyPlant is composed of parts: its faces have one line for each public function, and nothing else.

Most are `Name = from_part(Part.name)`, with signature and docstring of the part; a few combine.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from merganser.multibody import plant as package
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.face.model import from_part
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import SpatialInertia

FOLDER = Path(package.__file__).parent
FILES = sorted(path for path in (FOLDER / "face").glob("*.py") if path.name != "__init__.py")


class Method(NamedTuple):
    """A function of a face, but not its overloads."""

    place: str
    node: ast.FunctionDef


def faces() -> Iterator[ast.ClassDef]:
    for path in FILES:
        yield from (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))


def methods() -> list[Method]:
    return [
        Method(f"{face.name}.{node.name}", node)
        for face in faces()
        for node in face.body
        if isinstance(node, ast.FunctionDef) and not any("overload" in ast.unparse(d) for d in node.decorator_list)
    ]


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.place)
def test_a_function_of_a_face_is_documented_and_calls_a_part(method: Method) -> None:
    assert ast.get_docstring(method.node)
    _, *statements = method.node.body
    (statement,) = statements
    assert isinstance(statement, (ast.Return, ast.Expr)) and isinstance(statement.value, (ast.Call, ast.BinOp))


def test_faces_have_no_state_and_no_base() -> None:
    for face in faces():
        assert not face.bases, face.name
        for node in face.body:
            is_plain = isinstance(node, (ast.FunctionDef, ast.AnnAssign, ast.Expr))
            assert is_plain or (isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.Name))), (
                face.name
            )
            assert not (isinstance(node, ast.AnnAssign) and node.value), f"{face.name} only says what it needs"


def test_parts_do_not_know_the_faces() -> None:
    for path in FOLDER.glob("*.py"):
        if path.name != "multibody_plant.py":
            assert "plant.face" not in path.read_text(), path.name


def test_every_part_that_a_face_names_is_there_before_finalize_and_after() -> None:
    plant = MultibodyPlant(0.0)
    names = {node.target.id for face in faces() for node in face.body if isinstance(node, ast.AnnAssign)}
    assert all(hasattr(plant, name) for name in names)
    plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 1.0))
    plant.Finalize()
    assert all(hasattr(plant, name) for name in names)


def test_nothing_of_a_workspace_is_looked_up_by_name() -> None:
    assert not hasattr(Workspace, "__getattr__")


PLANT = MultibodyPlant(0.0)


def delegated() -> list[str]:
    """Names of the functions that faces take from parts or the tree."""
    return [
        node.targets[0].id
        for face in faces()
        for node in face.body
        if isinstance(node, ast.Assign) and "from_" in ast.unparse(node.value) and isinstance(node.targets[0], ast.Name)
    ]


@pytest.mark.parametrize("name", delegated())
def test_a_function_of_a_part_is_public_under_its_name_with_its_words(name: str) -> None:
    function = getattr(MultibodyPlant, name)
    assert inspect.isfunction(function) and inspect.getdoc(function)
    assert (function.__name__, function.__qualname__) == (name, f"MultibodyPlant.{name}")


def test_public_functions_show_their_arguments() -> None:
    signature = inspect.signature(MultibodyPlant.CalcJacobianSpatialVelocity)
    assert list(signature.parameters)[1:] == [
        "context", "with_respect_to", "frame_B", "p_BoBp_B", "frame_A", "frame_E",
    ]  # fmt: skip
    assert str(inspect.signature(MultibodyPlant.CalcMassMatrix)) == "(self, context: 'Context') -> 'Array'"
    assert inspect.signature(MultibodyPlant.num_positions).parameters["model_instance"].default is None


def test_a_missing_argument_names_the_public_function() -> None:
    with pytest.raises(TypeError, match=r"MultibodyPlant\.CalcMassMatrix\(\) missing 1 required .* 'context'"):
        PLANT.CalcMassMatrix()


def test_arguments_of_all_kinds_reach_the_part() -> None:
    class Part:
        def all_kinds(self, a: Any, b: int = 2, *more: int, c: int, d: int = 4, **rest: int) -> tuple[Any, ...]:
            """Returns what it gets."""
            return a, b, more, c, d, rest

        def only_by_name(self, *, a: int = 1) -> int:
            return a

    class Face:
        _part: Part

        AllKinds = from_part(Part.all_kinds)
        Other = AllKinds
        OnlyByName = from_part(Part.only_by_name)

    face = Face()
    face._part = Part()
    assert face.AllKinds(1, c=3) == face.Other(1, c=3) == (1, 2, (), 3, 4, {})
    assert face.AllKinds(0, 1, 2, 3, c=5, d=6, e=7) == (0, 1, (2, 3), 5, 6, {"e": 7})
    assert face.OnlyByName(a=5) == 5 and face.OnlyByName() == 1
    assert inspect.signature(face.Other) == inspect.signature(face._part.all_kinds)
