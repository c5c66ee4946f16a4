"""A bad file is refused with its name and line, before the plant is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

ARM = Path(__file__).parents[3] / "examples" / "models" / "arm7.urdf"


def urdf(body: str) -> str:
    return f'<robot name="r" xmlns:drake="d">\n<link name="a"/><link name="b"/>\n{body}\n</robot>'


def sdf(body: str) -> str:
    return f'<sdf version="1.7"><model name="m">\n<link name="a"/><link name="b"/>\n{body}\n</model></sdf>'


def urdf_joint(inside: str, kind: str = "revolute") -> str:
    return urdf(f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</joint>')


def sdf_joint(inside: str, kind: str = "revolute") -> str:
    return sdf(f'<joint name="j" type="{kind}"><parent>a</parent><child>b</child>{inside}</joint>')


def urdf_visual(inside: str) -> str:
    return urdf(f'<link name="c"><visual>{inside}</visual></link>')


def urdf_fixed(parent: str, child: str) -> str:
    return urdf(f'<joint name="j" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>')


def urdf_mesh(file: str) -> str:
    return urdf_visual(f'<geometry><mesh filename="{file}"/></geometry>')


def sdf_fixed(parent: str, child: str) -> str:
    return sdf(f'<joint name="j" type="fixed"><parent>{parent}</parent><child>{child}</child></joint>')


JOINT = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
SPHERE = '<geometry><sphere radius="1"/></geometry>'
DRIVEN = '<transmission><type>SimpleTransmission</type><joint name="k"/><actuator name="m"/></transmission>'


def drake_joint(inside: str, kind: str, outside: str = "") -> str:
    links = '<parent link="a"/><child link="b"/>'
    return urdf(f'<drake:joint name="j" type="{kind}">{links}{inside}</drake:joint>{outside}')


def curves(inside: str) -> str:
    return drake_joint(f"<drake:curves>{inside}</drake:curves>", "curvilinear")


FRICTION = (
    '<drake:proximity_properties><drake:mu_static value="0.1"/><drake:mu_dynamic value="0.2"/>'
    "</drake:proximity_properties>"
)
EMPTY_VISUAL = '<visual name="v"><geometry><empty/></geometry></visual>'

# Each document is wrong in its line 3; the message has to have all the words.
BAD_URDF = {
    "unknown child": (urdf_fixed("a", "c"), ["joint 'j'", "child link 'c'", "'a'", "'b'"]),
    "mistyped parent": (urdf_fixed("aa", "b"), ["parent link 'aa'", "Did you mean 'a'"]),
    "joined to itself": (urdf_fixed("a", "a"), ["'r::a' to itself"]),
    "world as child": (urdf_fixed("a", "world"), ["world as its child"]),
    "second link": (urdf('<link name="a"/>'), ["second link", "'a'", ":2"]),
    "second joint": (urdf(JOINT + JOINT), ["second joint", "r::j"]),
    "joint of unknown type": (urdf_joint("", "gearbox"), ["unsupported type 'gearbox'", "revolute, continuous"]),
    "ball in <joint>": (urdf_joint("", "ball"), ["unsupported type 'ball' in a <joint>", "in <drake:joint>: ball"]),
    "planar damping": (urdf_joint('<dynamics damping="1"/>', "planar"), ["damping", "1 values", "expected 3"]),
    "screw without pitch": (drake_joint("", "screw"), ["drake:screw_thread_pitch"]),
    "path without curves": (drake_joint("", "curvilinear"), ["drake:curves"]),
    "path without length": (curves('<drake:line_segment length="0"/>'), ["length 0", "positive"]),
    "path with a point": (curves('<drake:circular_arc radius="0" angle="1"/>'), ["radius 0"]),
    "path of splines": (curves("<drake:spline/>"), ["<drake:spline>", "drake:line_segment"]),
    "driven ball": (
        drake_joint("", "ball", DRIVEN.replace('"k"', '"j"')), ["'j', which is ball", "one degree of freedom"],
    ),
    "joint without type": (urdf('<joint name="j"/>'), ["'type'"]),
    "joint without child": (urdf('<joint name="j" type="fixed"/>'), ["<child>"]),
    "zero axis": (urdf_joint('<axis xyz="0 0 0"/>'), ["joint 'j'", "axis", "direction"]),
    "axis of two": (urdf_joint('<axis xyz="0 1"/>'), ["2 values", "expected 3", "'0 1'"]),
    "axis of NaN": (urdf_joint('<axis xyz="0 nan 1"/>'), ["finite"]),
    "axis of words": (urdf_joint('<axis xyz="0 up 1"/>'), ["'up'", "number"]),
    "crossed limits": (urdf_joint('<limit lower="1" upper="-1"/>'), ["lower limit 1", "upper limit -1"]),
    "negative damping": (urdf_joint('<dynamics damping="-1"/>'), ["damping -1"]),
    "infinite limit": (urdf_joint('<limit velocity="inf"/>'), ["velocity", "finite"]),
    "no geometry": (urdf_visual(""), ["<visual>", "<geometry>"]),
    "unknown shape": (urdf_visual("<geometry><cone/></geometry>"), ["<cone>", "cylinder"]),
    "negative size": (urdf_visual('<geometry><box size="1 -1 1"/></geometry>'), ["box", "-1", "positive"]),
    "unknown package": (urdf_mesh("package://nowhere/a.obj"), ["package 'nowhere'", "package_map().Add"]),
    "unknown scheme": (urdf_mesh("http://x/a.obj"), ["package://"]),
    "missing mesh": (urdf_mesh("/nowhere/a.obj"), ["/nowhere/a.obj"]),
    "relative mesh in a string": (urdf_mesh("a.obj"), ["relative"]),
    "friction": (
        urdf(f'<link name="c"><collision>{SPHERE}{FRICTION}</collision></link>'),
        ["0.1 (static)", "0.2 (dynamic)"],
    ),
    "name of a joint's frame": (
        urdf(JOINT + '<link name="j_parent"/>'),
        ["second frame", "r::j_parent"],
    ),
    "mass centre beyond numbers": (
        urdf('<link name="c"><inertial><origin xyz="1e300 0 0"/><mass value="1"/></inertial></link>'),
        ["link 'c'"],
    ),
    "frame on nothing": (urdf('<frame name="f" link="c"/>'), ["frame 'f'", "link 'c'"]),
}
BAD_SDF = {
    "unknown child": (sdf_fixed("a", "c"), ["'c'", "'b'"]),
    "unknown nested": (sdf_fixed("n::a", "b"), ["'n'"]),
    "second name": (sdf('<frame name="a"/>'), ["shares its name", "<link", ":2"]),
    "reserved name": (sdf('<link name="__a"/>'), ["reserved"]),
    "revolute2 joint": (sdf_joint("", "revolute2"), ["unsupported type 'revolute2'"]),
    "no axis": (sdf_joint(""), ["<axis>"]),
    "no second axis": (sdf_joint("<axis/>", "universal"), ["<axis2>"]),
    "skew axes": (
        sdf_joint("<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 1</xyz></axis2>", "universal"), ["right angle"],
    ),
    "zero axis": (sdf_joint("<axis><xyz>0 0 0</xyz></axis>"), ["direction"]),
    "unknown axis frame": (sdf_joint('<axis><xyz expressed_in="f">1 0 0</xyz></axis>'), ["'f'"]),
    "spring": (
        sdf_joint("<axis><dynamics><spring_stiffness>-2</spring_stiffness></dynamics></axis>"),
        ["spring stiffness", "-2"],
    ),
    "pose of five": (sdf('<frame name="f"><pose>1 2 3 4 5</pose></frame>'), ["5 values", "expected 6"]),
    "circle of poses": (
        sdf('<frame name="f"><pose relative_to="g"/></frame><frame name="g"><pose relative_to="f"/></frame>'),
        ["circle", "f -> g -> f"],
    ),
    "circle of frames": (
        sdf('<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
        ["circle"],
    ),
    "no geometry": (sdf('<link name="c"><visual name="v"/></link>'), ["<geometry>"]),
    "visual twice": (sdf(f'<link name="c">{EMPTY_VISUAL * 2}</link>'), ["already has a visual 'v'"]),
    "moving joint of a static model": (
        sdf_joint("<axis/>").replace("</model>", "<static>true</static></model>"), ["static", "'j'", "revolute"]
    ),
    "model without link": (sdf('<model name="n"/>'), ["no link"]),
    "include of nothing": (sdf("<include><uri>package://nowhere</uri></include>"), ["'nowhere'"]),
}


def description_of(plant: MultibodyPlant) -> tuple[int, ...]:
    """How many elements of every kind a plant has."""
    kinds = ("model_instances", "bodies", "frames", "joints", "actuators")
    return tuple(getattr(plant, f"num_{kind}")() for kind in kinds)


def refused(text: str | bytes, file_type: str = "urdf") -> ParsingError:
    """The error that a document causes in a parser whose plant is then still empty."""
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    untouched = description_of(plant)
    with pytest.raises(ParsingError) as info:
        Parser(plant).AddModelsFromString(text, file_type)
    assert description_of(plant) == untouched
    return info.value


@pytest.mark.parametrize("case", BAD_URDF)
def test_bad_urdf_is_refused_with_its_line(case):
    text, words = BAD_URDF[case]
    message = str(refused(text))
    assert message.startswith("<literal-string>.urdf:3: ")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("case", BAD_SDF)
def test_bad_sdf_is_refused_with_its_line(case):
    text, words = BAD_SDF[case]
    message = str(refused(text, "sdf"))
    assert message.startswith("<literal-string>.sdf:3: ")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("text", "file_type", "words"),
    [
        ("<robot/>", "urdf", ["needs a non-empty attribute 'name'"]),
        ("<sdf version='1.7'/>", "urdf", ["starts with <robot>"]),
        ("<robot name='r'/>", "sdf", ["starts with <sdf>"]),
        ("<sdf version='2.0'><model name='m'/></sdf>", "sdf", ["version '2.0'"]),
        ("<sdf version='1.7'><model name='m'/></sdf>", "sdf", ["no link"]),
        ("<sdf version='1.7'><model name='m'/><model name='n'/></sdf>", "sdf", ["2 models"]),
        ("", "urdf", ["not well-formed"]),
        ("#step", "step", ["'step' is not supported", ".urdf, .sdf"]),
        ("#usda", "usda", ["a stage of USD cannot be given as a string", "write it to a file"]),
    ],
)
def test_document_that_is_no_model_is_refused(text, file_type, words):
    message = str(refused(text, file_type))
    assert [word for word in words if word not in message] == []


def test_entity_bomb_is_refused_without_being_expanded():
    entities = "\n".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    bomb = f'<?xml version="1.0"?>\n<!DOCTYPE robot [\n<!ENTITY e0 "ha">\n{entities}]>\n<robot name="&e9;"/>'
    error = refused(bomb)
    assert error.location.line == 3
    assert "entity" in str(error)


def test_external_entity_is_refused_without_being_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    error = refused(
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "file://{secret}">]>\n<robot name="r"><link name="&x;"/></robot>'
    )
    assert error.location.line == 1
    assert "entity" in str(error)


def test_entity_in_a_utf16_file_is_refused(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes('<!DOCTYPE r [<!ENTITY x "y">]><robot name="&x;"/>'.encode("utf-16"))
    with pytest.raises(ParsingError, match=r"r\.urdf:1: .*entity"):
        Parser(MultibodyPlant(0.0)).AddModels(path)


def test_undeclared_entity_is_refused():
    assert "not well-formed" in str(refused('<robot name="r">\n<link name="&x;"/></robot>'))


def test_document_type_in_a_comment_is_no_document_type():
    assert Parser(MultibodyPlant(0.0)).AddModelsFromString(
        "<robot name='r'><!-- <!DOCTYPE x> --></robot>", "urdf"
    )


def test_binary_file_is_refused(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ParsingError, match="not well-formed"):
        Parser(MultibodyPlant(0.0)).AddModels(path)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(0, 1, exclude_max=True))
def test_file_cut_anywhere_is_refused_with_file_and_line(fraction):
    text = ARM.read_text().rstrip()
    error = refused(text[: int(fraction * len(text))])
    assert error.location.file == "<literal-string>.urdf"


def test_file_cut_in_half_names_the_line_of_the_cut(tmp_path):
    text = ARM.read_text()
    path = tmp_path / "half.urdf"
    path.write_text(text[: len(text) // 2])
    with pytest.raises(ParsingError, match=r"half\.urdf:\d+: not well-formed XML") as info:
        Parser(MultibodyPlant(0.0)).AddModels(path)
    assert abs(info.value.location.line - (text[: len(text) // 2].count("\n") + 1)) <= 1


def test_missing_file_names_its_near_misses():
    with pytest.raises(ParsingError, match=r"arm8\.urdf: the model file does not exist.*'arm7\.urdf'"):
        Parser(MultibodyPlant(0.0)).AddModels(ARM.with_name("arm8.urdf"))


def test_missing_folder_is_named():
    with pytest.raises(ParsingError, match=r"folder '.*/nowhere' does not exist either"):
        Parser(MultibodyPlant(0.0)).AddModels(ARM.parent / "nowhere" / "arm7.urdf")


def test_unknown_extension_names_those_there_are(tmp_path):
    path = tmp_path / "arm.step"
    path.write_text("ISO-10303-21;")
    with pytest.raises(ParsingError, match=r"'\.step' is not supported; the parser reads \.urdf, \.sdf"):
        Parser(MultibodyPlant(0.0)).AddModels(path)
