"""YAML documents as dataclasses and back, and as dictionaries."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import pytest
import yaml

if sys.version_info >= (3, 12):
    from typing import TypeAliasType
else:
    from typing_extensions import TypeAliasType

from merganser.analysis import SimulatorConfig
from merganser.framework.common.source_location import ParsingError
from merganser.framework.schema import Gaussian, GaussianVector, Rotation, Transform, Uniform, UniformVector
from merganser.framework.yaml import (
    yaml_dump,
    yaml_dump_typed,
    yaml_load,
    yaml_load_data,
    yaml_load_file,
    yaml_load_typed,
)


@dataclasses.dataclass
class Motor:
    gain: float = 1.0
    joints: list[int] = dataclasses.field(default_factory=lambda: [1, 2])


@dataclasses.dataclass
class Robot:
    name: str = "robot"
    mass: float | Gaussian | Uniform = 2.0
    gravity: np.ndarray | GaussianVector[3] | UniformVector[3] = dataclasses.field(default_factory=lambda: np.zeros(3))
    motor: Motor = dataclasses.field(default_factory=Motor)
    spare: Motor | None = None
    motors: dict[str, Motor] = dataclasses.field(default_factory=lambda: {"left": Motor(), "right": Motor(3.0)})
    stack: list[Motor] = dataclasses.field(default_factory=list)
    pose: Transform = dataclasses.field(default_factory=Transform)
    matrix: np.ndarray = dataclasses.field(default_factory=lambda: np.eye(2))
    file: Path = Path("a/b.urdf")
    label: str | int | float | bool = "none"
    data: bytes = b""
    is_fixed: bool = False
    simulator: SimulatorConfig = dataclasses.field(default_factory=SimulatorConfig)


def load(text: str, schema: Any = Robot, **options: Any) -> Any:
    return yaml_load_typed(schema=schema, data=text, **options)


FULL = Robot(
    name="arm",
    mass=Gaussian(1.0, 0.5),
    gravity=UniformVector[3]([1, 2, 3], [4, 5, 6]),
    motor=Motor(math.inf, []),
    spare=Motor(5.0),
    motors={"x": Motor(7.0, [4])},
    stack=[Motor(), Motor(2.0)],
    pose=Transform(base_frame="w", rotation=Rotation.AngleAxis(angle_deg=Uniform(1, 2), axis=[0, 1, 0])),
    matrix=np.arange(6.0).reshape(3, 2),
    file=Path("/c"),
    label=5,
    data=b"\x00\xff",
    is_fixed=True,
    simulator=SimulatorConfig(accuracy=1e-6, use_native_plan=False),
)


@pytest.mark.parametrize("robot", [Robot(), FULL, dataclasses.replace(FULL, label=True, stack=[Motor(math.nan)])])
def test_what_is_written_is_read_back(robot: Robot, tmp_path: Path) -> None:
    text = yaml_dump_typed(robot)
    again = load(text, retain_map_defaults=False)
    assert yaml_dump_typed(again) == text and type(again.label) is type(robot.label)
    assert yaml_dump_typed(robot, filename=tmp_path / "robot.yaml", child_name="robot") is None
    child = yaml_load_typed(schema=Robot, filename=tmp_path / "robot.yaml", child_name="robot", defaults=robot)
    assert yaml_dump_typed(child) == text
    changes = yaml_dump_typed(robot, defaults=Robot())
    assert yaml_dump_typed(load(changes, retain_map_defaults=False)) == text
    assert yaml_dump_typed(robot, defaults=robot) == "{}\n"


def test_tags_choose_among_classes_and_the_first_needs_none() -> None:
    assert load("mass: 3").mass == 3.0
    assert load("mass: !Uniform {min: 1, max: 2}").mass.max == 2.0
    assert isinstance(load("gravity: !GaussianVector {mean: [0, 0, 1], stddev: [1]}").gravity, GaussianVector[3])
    assert isinstance(load("pose: {rotation: !Uniform }").pose.rotation.value, Rotation.Uniform)
    assert [load(f"label: {x}").label for x in ("a", "3", "3.5", "true")] == ["a", 3, 3.5, True]
    with pytest.raises(ParsingError, match=r"mass has the unknown tag '!Exponential'; known are .*!Gaussian, !Uniform"):
        load("mass: !Exponential {mean: 1}")
    with pytest.raises(ParsingError, match="motor has the unknown tag '!Servo', expected none"):
        load("motor: !Servo {gain: 1}")


def test_records_and_dictionaries_are_merged_and_lists_replaced() -> None:
    defaults = Robot(motor=Motor(9.0, [7]), spare=Motor(8.0))
    text = "motor: {joints: [3]}\nmotors: {right: {joints: []}, new: {gain: 2}}\nspare: {joints: [1]}"
    robot = load(text, defaults=defaults)
    assert (robot.motor.gain, robot.motor.joints, robot.spare.gain) == (9.0, [3], 8.0)
    assert list(robot.motors) == ["left", "right", "new"] and robot.motors["right"] == Motor(3.0, [])
    assert defaults.motor.joints == [7] and defaults.motors["right"] == Motor(3.0)
    assert list(load("motors: {new: {}}", retain_map_defaults=False).motors) == ["new"]
    assert load("spare: null", defaults=defaults).spare is None


@dataclasses.dataclass(frozen=True)
class Fixed:
    length: float
    width: "float" = 1.0  # noqa: UP037


class Listed:
    """A class that is not a dataclass lists its fields."""

    @dataclasses.dataclass
    class _Field:
        name: str
        type: Any

    __fields__ = (_Field("speed", float), _Field("name", str))

    def __init__(self) -> None:
        self.speed, self.name = 1.0, "x"


def test_schemas_are_dataclasses_dictionaries_and_classes_with_fields() -> None:
    assert load("length: 2", Fixed) == Fixed(2.0) and load("width: 3", None, defaults=Fixed(1.0)) == Fixed(1.0, 3.0)
    assert load("a: {gain: 2}", dict[str, Motor]) == {"a": Motor(2.0)}
    assert yaml_dump_typed({"b": Fixed(1.0), "a": Fixed(2.0)}, schema=dict[str, Fixed]).startswith("a:\n  length: 2.0")
    listed = load("speed: 4", Listed)
    assert (listed.speed, listed.name) == (4.0, "x") and yaml_dump_typed(listed) == "speed: 4.0\nname: x\n"
    with pytest.raises(ParsingError, match="<string>:1: the document has no entry 'length'"):
        load("width: 3", Fixed)


def test_anchors_are_at_private_entries() -> None:
    assert load("_base: &base {gain: 4}\nmotor: {<<: *base, joints: [5]}").motor == Motor(4.0, [5])
    assert load("_robot: &r {name: a}\nchild: *r", child_name="child").name == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nam: x", "the document has the unknown entry 'nam'.*name"),
        ("motor:\n  gain: fast", "<string>:2: motor.gain is 'fast', expected a number"),
        ("motors:\n  left: {joints: [1, 2.5]}", r"motors.left.joints\[1\] is '2.5', expected a whole number"),
        ("stack: [{}, {gain: [1]}]", r"stack\[1\].gain is a list, expected a number"),
        ("stack: {}", "stack is a mapping, expected a list"),
        ("motor: 3", "motor is '3', expected a mapping"),
        ("motor:", "motor is empty, expected a mapping"),
        ("name:", "name is empty, expected a string"),
        ("is_fixed: 1", "is_fixed is '1', expected true or false"),
        ("data: abc", "data is 'abc', expected binary data"),
        ("matrix: [[1, 2], [3]]", "matrix has rows of different lengths"),
        ("matrix: [[1, x]]", r"matrix\[0\]\[1\] is 'x', expected a number"),
        ("pose: {translation: [1, 2]}", "pose.translation has 2 numbers, expected 3"),
        ("pose: {rotation: !Rpy {deg: [1, 2]}}", "pose.rotation.deg has 2 numbers"),
        ("simulator: {max_step_size: !!python/name:os.system }", "max_step_size has the unknown tag|expected a number"),
        ("label: !!int x", "label is 'x', expected a string|the document"),
        ("a: [", "not well-formed YAML"),
        ("- 1", "the document holds a list, expected a mapping"),
        ("", "the document holds nothing"),
        ("motor: &m {<<: *m}", "merges itself"),
        ("{[1]: 2}", "has a list as a key"),
        ("name: a\nname: b", "the entry 'name' more than once"),
    ],
)
def test_errors_name_line_and_path(text: str, message: str) -> None:
    with pytest.raises(ParsingError, match=message):
        load(text)


def test_documents_may_be_required_to_be_complete_or_allowed_to_have_more() -> None:
    with pytest.raises(ParsingError, match="the document has no entry 'joints'"):
        load("gain: 1", Motor, allow_schema_with_no_yaml=False)
    assert load("gain: 1\nother: {}", Motor, allow_yaml_with_no_schema=True) == Motor(1.0)
    complete = yaml_dump_typed(Robot())  # has no `spare`, which is optional, and nothing of ours
    assert load(complete, defaults=Robot(spare=Motor()), allow_schema_with_no_yaml=False).spare is None
    assert "use_native_plan" not in complete and "use_native_plan: false" in str(yaml_dump_typed(FULL))


def test_what_cannot_be_done_is_refused() -> None:
    @dataclasses.dataclass
    class Odd:
        value: complex = 0j

    with pytest.raises(TypeError, match=r"value: the type <class 'complex'> has no form in YAML"):
        load("value: 1", Odd)
    with pytest.raises(TypeError, match=r"the document.value: the type <class 'complex'>"):
        yaml_dump_typed(Odd())
    with pytest.raises(TypeError, match="texts as keys"):
        load("{}", dict[int, Motor])
    with pytest.raises(RuntimeError, match="exactly one of"):
        yaml_load_typed(schema=Motor)
    with pytest.raises(ValueError, match="takes a schema="):
        yaml_load_typed(data="{}")
    with pytest.raises(RuntimeError, match=r"document.mass is a str, and the schema takes only"):
        yaml_dump_typed(Robot(mass="heavy"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="expected a record or a dictionary, got list"):
        yaml_dump_typed([1.0], schema=list[float])


def test_short_documents_do_not_become_huge_arrays() -> None:
    lists = ["&a0 [0,0,0,0,0,0,0,0,0,0]"] + [f"&a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    text = "".join(f"_{i}: {each}\n" for i, each in enumerate(lists)) + "matrix: *a8\n"
    with pytest.raises(ParsingError, match="more than 1000000 numbers"):
        load(text)


def test_yaml_without_a_schema(tmp_path: Path) -> None:
    text = "_anchor: &a [1, 2]\nb: !Kind {c: 1.5, d: *a, e: [!Inner {}]}\n"
    plain = {"b": {"c": 1.5, "d": [1, 2], "e": [{"_tag": "!Inner"}], "_tag": "!Kind"}}
    assert yaml_load(data=text) == yaml_load_data(text) == plain
    path = tmp_path / "file.yaml"
    assert yaml_dump(yaml_load(data=text, private=True), filename=path) is None
    assert yaml_load_file(path, private=True)["_anchor"] == [1, 2]
    assert yaml_load(filename=path) == plain and yaml_load(data=yaml_dump(plain)) == plain
    with pytest.raises(RuntimeError, match="exactly one"):
        yaml_load()
    with pytest.raises(yaml.YAMLError, match=r"yaml_dump_typed\(\) writes dataclasses"):
        yaml_dump(Motor())
    with pytest.raises(yaml.YAMLError, match="the tag '!Kind' is not at a mapping"):
        yaml_load(data="b: !Kind 3")


Number = TypeVar("Number", bound=np.generic)
Meters = TypeAliasType("Meters", float)
Array = TypeAliasType("Array", np.ndarray[Any, np.dtype[Number]], type_params=(Number,))


@dataclasses.dataclass
class Aliased:
    """Of aliases, as those of `type Meters = float`, and as NDArray is one from numpy 2.5 on."""

    height: Meters = 1.0
    maybe: Meters | None = None
    heights: list[Meters] = dataclasses.field(default_factory=list)
    named: dict[str, Array[np.float64]] = dataclasses.field(default_factory=dict)
    array: Array[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(2))
    point: Annotated[Array[np.float64], 3] | GaussianVector[3] = dataclasses.field(default_factory=lambda: np.zeros(3))


def test_aliases_of_types_are_the_types_that_they_name() -> None:
    text = "{height: 2, maybe: 3, heights: [4], named: {a: [5, 6]}, array: [7], point: [8, 9, 10]}"
    read = load(text, Aliased)
    assert (read.height, read.maybe, read.heights) == (2.0, 3.0, [4.0])
    for array, numbers in ((read.named["a"], [5, 6]), (read.array, [7]), (read.point, [8, 9, 10])):
        np.testing.assert_array_equal(array, np.array(numbers, float))
    again = load(yaml_dump_typed(read), Aliased)
    np.testing.assert_array_equal(again.point, read.point)
    with pytest.raises(ParsingError, match=r"point has 2 numbers, expected 3"):
        load("point: [1, 2]", Aliased)
