"""YAML files and settings that may be random give what they give in pydrake: objects, texts and numbers.

Annotations of schemas are no texts here, which pydrake does not read.
"""

import dataclasses
import math
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import merganser.all
import merganser.framework.schema
import merganser.framework.yaml

drake: Any = pytest.importorskip("pydrake.all")
drake_schema: Any = pytest.importorskip("pydrake.common.schema")
drake_yaml: Any = pytest.importorskip("pydrake.common.yaml")

pytestmark = pytest.mark.reference

BOTH = {
    "ours": SimpleNamespace(s=merganser.framework.schema, y=merganser.framework.yaml, all=merganser.all),
    "theirs": SimpleNamespace(s=drake_schema, y=drake_yaml, all=drake),
}


def both(function: Any) -> tuple[Any, Any]:
    return function(BOTH["ours"]), function(BOTH["theirs"])


# -- distributions --------------------------------------------------------------------------------------------

DISTRIBUTIONS = {
    "Deterministic": lambda s: s.Deterministic(4.0),
    "Gaussian": lambda s: s.Gaussian(mean=1, stddev=2),
    "Uniform": lambda s: s.Uniform(min=1.0, max=3.0),
    "UniformDiscrete": lambda s: s.UniformDiscrete(values=[1.0, 5.0, 7.0]),
    "DeterministicVector": lambda s: s.DeterministicVector[2]([1, 2]),
    "GaussianVector": lambda s: s.GaussianVector[2]([1, 2], [3, 4]),
    "GaussianVectorX": lambda s: s.GaussianVectorX([1, 2, 3], [3]),
    "UniformVectorX": lambda s: s.UniformVectorX([1, 2, 3], [0, 1, 4]),
}
POSES = {
    "translation and any rotation": lambda s: s.Transform(
        translation=s.UniformVector[3]([0, 0, 0], [1, 2, 3]), rotation=s.Rotation.Uniform()
    ),
    "angle": lambda s: s.Transform(rotation=s.Rotation.AngleAxis(angle_deg=s.Uniform(0, 90), axis=[1, 2, 3])),
    "roll, pitch and yaw": lambda s: s.Transform(rotation=s.Rotation.Rpy(deg=s.UniformVector[3]([0, 1, 2], [9, 8, 7]))),
    "in part of one value": lambda s: s.Transform(
        translation=s.UniformVector[3]([1, 2, 3], [1, 4, 3]),
        rotation=s.Rotation.Rpy(deg=s.UniformVector[3]([0, 1, 2], [0, 8, 2])),
    ),
    "one": lambda s: s.Transform(base_frame="world", translation=[1, 2, 3], rotation=s.Rotation.Rpy(deg=[10, 20, 30])),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_same_numbers_are_drawn(name: str) -> None:
    def draw(m: SimpleNamespace) -> Any:
        distribution, generator = DISTRIBUTIONS[name](m.s), m.all.RandomGenerator(5)
        return np.array([distribution.Sample(generator) for _ in range(20)]), distribution.Mean()

    ours, theirs = both(draw)
    for mine, reference in zip(ours, theirs):
        np.testing.assert_array_equal(mine, reference)


@pytest.mark.parametrize("name", POSES)
def test_the_same_poses_are_drawn(name: str) -> None:
    def draw(m: SimpleNamespace) -> Any:
        pose, generator = POSES[name](m.s), m.all.RandomGenerator(5)
        drawn = [pose.Sample(generator).GetAsMatrix34() for _ in range(5)]
        return np.array([*drawn, pose.Mean().GetAsMatrix34()]), pose.IsDeterministic()

    (mine, is_one), (reference, reference_is_one) = both(draw)
    np.testing.assert_allclose(mine, reference, atol=1e-15)
    assert is_one == reference_is_one


def test_the_same_settings_count_as_deterministic() -> None:
    def answers(m: SimpleNamespace) -> list[bool]:
        s = m.s
        cases = (
            3.0, [1.0, 2.0], s.Gaussian(1, 0), s.Gaussian(1, 1), s.Uniform(2, 2), s.Uniform(1, 2),
            s.UniformDiscrete([1]), s.UniformDiscrete([1, 1]), s.UniformDiscrete([]), s.GaussianVectorX([1, 2], [0, 0]),
            s.GaussianVectorX([1, 2], [0, 1]), s.UniformVectorX([1, 2], [1, 2]), s.UniformVectorX([1, 2], [1, 3]),
        )  # fmt: skip
        return [s.IsDeterministic(case) for case in cases]

    ours, theirs = both(answers)
    assert ours == theirs


# -- YAML -----------------------------------------------------------------------------------------------------

SETTINGS = (
    "AddCollisionFilterGroup", "AddDirectives", "AddFrame", "AddModel", "AddModelInstance", "AddWeld",
    "DefaultProximityProperties", "Deterministic", "DeterministicVectorX", "DoorHingeConfig", "Gaussian",
    "InitializeParams", "MemoryFile", "ModelDirective", "ModelDirectives", "MultibodyPlantConfig", "Rgba", "Rotation",
    "SceneGraphConfig", "SelectorParams", "SimulatorConfig", "Transform", "UniformDiscrete",
)  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_written_as_pydrake_writes_them_and_read_back(name: str) -> None:
    def write(m: SimpleNamespace) -> str:
        cls = getattr(m.all, name, None) or getattr(m.s, name)
        text = m.y.yaml_dump_typed(cls())
        assert m.y.yaml_dump_typed(m.y.yaml_load_typed(schema=cls, data=text)) == text
        return text

    ours, theirs = both(write)
    assert ours == theirs


def schemas_of(m: SimpleNamespace) -> tuple[type, type]:
    s = m.s

    @dataclasses.dataclass
    class Inner:
        a: float = 1.0
        b: list[int] = dataclasses.field(default_factory=lambda: [1, 2])

    field, as_list = dataclasses.field, typing.List  # noqa: UP006
    fields = (
        ("s", str, "x"), ("n", float | None, None), ("i", Inner, field(default_factory=Inner)),
        ("m", dict[str, Inner], field(default_factory=lambda: {"z": Inner(), "y": Inner(4.0)})),
        ("u", float | s.Gaussian | s.Uniform, 3.0),
        ("v", np.ndarray | s.GaussianVector[3] | s.UniformVector[3], field(default_factory=lambda: np.zeros(3))),
        ("w", str | float | int, "t"), ("p", Path, Path("/a/b")),
        ("e", np.ndarray, field(default_factory=lambda: np.eye(2))),
        ("t", s.Transform, field(default_factory=s.Transform)), ("l", as_list[Inner], field(default_factory=list)),
        ("o", Inner | None, None), ("bb", bytes, b"abc"), ("q", bool, True),
        ("c", m.all.MultibodyPlantConfig, field(default_factory=m.all.MultibodyPlantConfig)),
    )  # fmt: skip
    return dataclasses.make_dataclass("Outer", fields), Inner


def full(m: SimpleNamespace, Outer: Any, Inner: Any) -> Any:
    s = m.s
    pose = s.Transform(base_frame="f", translation=s.GaussianVector[3]([1, 2, 3], [1, 2, 3]))
    pose.rotation = s.Rotation.AngleAxis(angle_deg=s.Uniform(1, 2), axis=[0, 0, 1])
    return Outer(
        s="true", n=1e-300, w=5, u=s.Gaussian(1, 2), v=s.UniformVector[3]([1, 2, 3], [4, 5, 6]), o=Inner(b=[]), t=pose,
        l=[Inner(), Inner(a=math.nan)], e=np.arange(8.0).reshape(2, 2, 2), p=Path("rel"), bb=b"\x00", q=False,
    )  # fmt: skip


def test_nested_records_are_written_as_pydrake_writes_them() -> None:
    def write(m: SimpleNamespace) -> list[str]:
        Outer, Inner = schemas_of(m)
        record = full(m, Outer, Inner)
        other = Outer(u=m.s.Uniform(1, 2), v=record.v, m={"z": Inner(2.0)}, t=record.t)
        many = {"b": Inner(), "a": Inner(b=list(range(60)))}
        return [
            m.y.yaml_dump_typed(Outer()),
            m.y.yaml_dump_typed(record),
            m.y.yaml_dump_typed(record, defaults=other, child_name="kid"),
            m.y.yaml_dump_typed(many, schema=dict[str, Inner]),
            m.y.yaml_dump({"z": 1, "a": [1, {"q": 2, "_tag": "!X"}], "t": "long text " * 20}),
        ]

    ours, theirs = both(write)
    assert ours == theirs


DOCUMENTS = [
    "s: '3'", "n: 5", "n: null", "i: {a: 3}", "i: {c: 3}", "m: {q: {a: 7}}", "u: 4", "u: !Uniform {min: 1, max: 2}",
    "u: !Foo {min: 1, max: 2}", "v: [1,2,3]", "v: !GaussianVector {mean: [1,2,3], stddev: [1]}", "w: 3", "w: 3.5",
    "w: foo", "p: /x", "e: [[1,2],[3,4],[5,6]]", "e: [1,2]", "t: {rotation: !Rpy {deg: [1,2,3]}}",
    "t: {rotation: !AngleAxis {angle_deg: !Uniform {min: 1, max: 2}, axis: [0,0,1]}}",
    "l: [{a: 1},{b: [3]}]", "l: {a: 1}",
    "o: {}", "o: null", "bb: !!binary YWJj", "q: 'true'", "q: yes", "q: 1", "i: {a: 1e3}", "i: {a: '1e3'}",
    "i: {b: [1.0, 2]}", "i: {b: [1.5]}", "i: null", "_x: 3", "zz: 3", "c: {time_step: 3}", "c: {time_stp: 3}",
    "i: {a: foo}", "s: {a: 1}", "[1,2]", "", "i: {a: .inf}", "i: {a: nan}", "s: null", "i: {<<: {a: 5}, b: [7]}",
    "t: {rotation: !Uniform {}}", "t: {base_frame: abc}",
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"retain_map_defaults": False}, {"allow_yaml_with_no_schema": True}])
def test_documents_are_read_or_refused_as_in_pydrake(options: dict[str, bool]) -> None:
    def read(m: SimpleNamespace) -> list[str | None]:
        Outer, _ = schemas_of(m)
        found: list[str | None] = []
        for document in DOCUMENTS:
            try:
                record = m.y.yaml_load_typed(schema=Outer, data=document, **options)
            except Exception:
                found.append(None)
            else:
                found.append(m.y.yaml_dump_typed(record))
        return found

    ours, theirs = both(read)
    assert dict(zip(DOCUMENTS, ours)) == dict(zip(DOCUMENTS, theirs))


def test_documents_without_a_schema_are_the_same() -> None:
    text = "b: !Kind {c: 1.5, d: [1, {e: !K2 {}}]}\n_p: 3\nq: 2024-01-01\n"
    ours, theirs = both(lambda m: (m.y.yaml_load(data=text), m.y.yaml_load(data=text, private=True)))
    assert ours == theirs
