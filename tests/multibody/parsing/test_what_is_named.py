"""Nothing that a model file says is dropped without a word."""

from __future__ import annotations

import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import Role
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from tests.support.model_corners import chain, in_link, sdf, urdf

BOX = '<geometry><box size="1 1 1"/></geometry>'
SDF_BOX = "<geometry><box/></geometry>"


def warnings_of(text: str, file_type: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModelsFromString(text, file_type)
    return [record.getMessage().partition(f"<literal-string>.{file_type}:")[2] for record in caplog.records]


URDF_CASES = {
    "in robot": (
        urdf('\n<link name="a"/>\n<sensor/>\n<sensor/>'), "3: <sensor> in <robot> {} (nor have 1 others below)."
    ),
    "in a link": (urdf('<link name="a"><contact/></link>'), "1: <contact> in <link> {}."),
    "in a collision": (
        urdf(f'<link name="a"><collision group="g">{BOX}</collision></link>'), "1: attribute 'group' of <collision> {}."
    ),
    "of Drake, at the wrong place": (
        urdf(f'<link name="a"><collision>{BOX}<drake:mu_dynamic value="1"/></collision></link>'),
        "1: <drake:mu_dynamic> {}.",
    ),
    "of Drake, misspelt": (
        urdf(f'<link name="a"><visual>{BOX}<drake:acepting_renderer name="x"/></visual></link>'),
        "1: <drake:acepting_renderer> {}.",
    ),
    "an attribute of Drake": (urdf('<link name="a" drake:mood="good"/>'), "1: attribute 'drake:mood' {}."),
    "in a transmission": (
        urdf('<link name="a"/><transmission><type>SimpleTransmission</type><joint name="q"/><actuator name="m"/>'
             "<leftActuator/></transmission>"),
        "1: no actuator: there is no joint 'q'.|1: <leftActuator> in <transmission> {}.",
    ),
}  # fmt: skip
SDF_CASES = {
    "in a model": (sdf('<link name="a"/><self_collide>1</self_collide>'), "1: <self_collide> in <model> {}."),
    "in a link": (
        in_link("\n<sensor/>\n<velocity_decay/>"), "2: <sensor> in <link> {}.|3: <velocity_decay> in <link> {}."
    ),
    "a surface": (
        in_link(
            f'<collision name="c">{SDF_BOX}<surface><bounce/><friction><torsional/></friction></surface></collision>'
        ),
        "1: <bounce> in <surface> {}.|1: <torsional> in <friction> {}.",
    ),
    "a material": (
        in_link(f'<visual name="v">{SDF_BOX}<material><shininess>3</shininess></material></visual>'),
        "1: <shininess> in <material> {}.",
    ),
    "the specular colour is none of a physical material": (
        in_link(f'<visual name="v">{SDF_BOX}<material><specular>1 0 0 1</specular></material></visual>'), ""
    ),
    "a joint": (chain("", "<physics/>"), "1: <physics> in <joint> {}."),
    "an axis": (chain("<initial_position>1</initial_position>"), "1: <initial_position> in <axis> {}."),
    "a visual of Drake": (
        in_link("<drake:visual name='v'><drake:geometry><drake:box/></drake:geometry></drake:visual>"), ""
    ),
    "deformable bodies": (
        in_link('<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision>'
                "<drake:deformable_properties><drake:colour>1</drake:colour></drake:deformable_properties>"),
        "1: <drake:colour> {}.",
    ),
    "a shape": (
        in_link('<collision name="c"><geometry><polyline/></geometry></collision>'),
        "1: a geometry of <polyline> is left out; it has no counterpart.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "file_type"),
    [(*case, "urdf") for case in URDF_CASES.values()] + [(*case, "sdf") for case in SDF_CASES.values()],
    ids=[f"urdf {name}" for name in URDF_CASES] + [f"sdf {name}" for name in SDF_CASES],
)
def test_what_has_no_effect_is_named_with_its_line(text, expected, file_type, caplog):
    no_effect = "is not supported; it has no effect"
    wanted = [line.format(no_effect) for line in expected.split("|")] if expected else []
    found = warnings_of(text, file_type, caplog)
    assert [line[: len(start)] for line, start in zip(found, wanted)] == wanted
    assert len(found) == len(wanted)


def test_what_is_for_other_programs_only_is_passed_over(caplog):
    text = urdf(
        '<link name="a"/><gazebo reference="a"><material>Gazebo/Red</material></gazebo>'
        "<transmission><type>other/DifferentialTransmission</type></transmission>"
    )
    assert warnings_of(text, "urdf", caplog) == ["1: transmission type 'other/DifferentialTransmission' is ignored."]


def test_included_models_are_looked_through(tmp_path, caplog):
    (tmp_path / "robot.urdf").write_text('<robot name="r"><link name="a"/>\n<camera/></robot>')
    (tmp_path / "inner.sdf").write_text(sdf('\n\n<plugin/><link name="a"/>'))
    for file in ("robot.urdf", "inner.sdf"):
        caplog.clear()
        text = sdf(f'<link name="b"/><include><uri>file://{tmp_path}/{file}</uri></include>')
        warnings_of(text, "sdf", caplog)
        (message,) = [record.getMessage() for record in caplog.records]
        assert message.startswith(f"{tmp_path}/{file}:{2 if file == 'robot.urdf' else 3}: <")


# ---------------------------------------------------------------------- what used to be refused


def test_a_second_colour_of_a_material_is_used_with_a_warning(caplog):
    visuals = "".join(f'<visual>{BOX}<material name="m">{c}</material></visual>' for c in (
        '<color rgba="1 0 0 1"/>', '<color rgba="0 1 0 1"/>', "", '<texture filename=""/>',
    ))  # fmt: skip
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModelsFromString(urdf(f'<link name="a">{visuals}</link>'), "urdf")
    inspector = scene_graph.model_inspector()
    colors = [
        inspector.GetIllustrationProperties(g).GetProperty("phong", "diffuse").rgba.tolist()
        for g in inspector.GetAllGeometryIds(Role.kIllustration)
    ]
    assert colors == [[1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]]
    assert "material 'm' had another colour or texture" in caplog.text


def test_material_without_a_meaning_is_left_to_the_viewer(caplog):
    text = urdf(f'<link name="a"><visual>{BOX}<material name="red"/></visual></link>')
    (message,) = warnings_of(text, "urdf", caplog)
    assert "material 'red' has no <color>" in message


def test_robot_without_a_name_is_called_after_its_file(tmp_path, caplog):
    path = tmp_path / "nameless.urdf"
    path.write_text('<robot><link name="a"/></robot>')
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(path)
    assert plant.HasModelInstanceNamed("nameless")
    assert "the robot has no name; it is called 'nameless'" in caplog.text
    with pytest.raises(ParsingError, match="'name'"):
        Parser(plant).AddModelsFromString('<robot><link name="a"/></robot>', "urdf")


def test_quaternion_without_direction_is_refused():
    text = in_link('<pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose>')
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    with pytest.raises(ParsingError, match="no direction"):
        Parser(plant).AddModelsFromString(text, "sdf")


def test_each_of_several_included_robots_counts(tmp_path, caplog):
    for name in ("one", "two"):
        (tmp_path / f"{name}.urdf").write_text(f'<robot name="{name}"><link name="a"><contact/></link></robot>')
    include = "".join(f"<include><uri>{name}.urdf</uri></include>" for name in ("one", "two"))
    path = tmp_path / "both.sdf"
    path.write_text(f'<sdf version="1.9"><model name="m">{include}</model></sdf>')
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(path)
    assert "one.urdf:1: <contact> in <link>" in caplog.text
    assert "(nor have 1 others below)" in caplog.text
