"""The parser's own behaviour: ways to name a file, names of model instances, strictness."""

from __future__ import annotations

from pathlib import Path

import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.common import source_location
from merganser.geometry import SceneGraph
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.parsing import parser as parser_module
from merganser.multibody.parsing.xml_reader import read_xml
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

BOX = Path(__file__).parents[3] / "examples" / "models" / "free_box.sdf"
NESTED = """<sdf version="1.7"><model name="outer"><link name="a"/>
<model name="inner"><link name="a"/></model></model></sdf>"""
FLOATING = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint></robot>"""


def instance_names(plant: MultibodyPlant) -> list[str]:
    """Names of the model instances beside the two that every plant has."""
    return [plant.GetModelInstanceName(i) for i in range(2, plant.num_model_instances())]


def test_file_url_and_string_give_the_same_model():
    plants = [MultibodyPlant(0.0) for _ in range(4)]
    parsers = [Parser(plant) for plant in plants]
    parsers[1].package_map().Add("examples", BOX.parent)
    assert parsers[0].AddModels(str(BOX)) == [2]
    assert parsers[1].AddModels(url="package://examples/free_box.sdf") == [2]
    assert parsers[2].AddModels(file_contents=BOX.read_text(), file_type="sdf") == [2]
    assert parsers[3].AddModelsFromUrl(BOX.as_uri()) == [2]
    assert [instance_names(plant) for plant in plants] == [["free_box"]] * 4


def test_a_file_is_read_once_for_many_plants_and_again_when_it_has_changed(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(parser_module, "read_xml", lambda *arguments: calls.append(1) or read_xml(*arguments))
    file, plants = tmp_path / "robot.urdf", []
    for mass in (1.0, 1.0, 2.0):
        inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        file.write_text(
            f'<robot name="r"><link name="a"><inertial><mass value="{mass}"/>{inertia}</inertial></link></robot>'
        )
        plants.append(MultibodyPlant(0.0))
        Parser(plants[-1]).AddModels(str(file))
    assert len(calls) == 2
    assert [plant.GetBodyByName("a").default_mass() for plant in plants] == [1.0, 1.0, 2.0]


def test_a_description_that_is_kept_is_not_changed_by_the_plants_made_of_it():
    contents = Path(BOX.parent, "arm7.urdf").read_text()
    frames = []
    for _ in range(3):
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModels(file_contents=contents, file_type="urdf")
        joint, body = plant.GetJointByName("joint_2"), plant.GetBodyByName("link_3")
        M_BBo_B = body.default_spatial_inertia()
        frames.append((M_BBo_B.get_mass(), joint.position_lower_limits()[0], joint.revolute_axis().tolist()))
        M_BBo_B.SetNaN()
        joint.set_position_limits([-0.5], [0.5])
    assert frames[0] == frames[1] == frames[2] and frames[0][1] != -0.5


def test_files_that_a_kept_document_names_are_looked_for_each_time(tmp_path):
    text = """<robot name="r"><link name="a">
        <visual><geometry><mesh filename="package://shapes/box.obj"/></geometry></visual></link></robot>"""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "box.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\n")

    def mesh_in(folder: str) -> str:
        builder = DiagramBuilder()
        plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
        parser = Parser(plant)
        parser.package_map().Add("shapes", tmp_path / folder)
        parser.AddModels(file_contents=text, file_type="urdf")
        inspector = scene_graph.model_inspector()
        (geometry_id,) = plant.GetVisualGeometriesForBody(plant.GetBodyByName("a"))
        return Path(str(inspector.GetShape(geometry_id).source().path())).parent.name

    assert [mesh_in(folder) for folder in ("one", "one", "two", "one")] == ["one", "one", "two", "one"]
    (tmp_path / "one" / "box.obj").unlink()
    with pytest.raises(ParsingError, match="box"):
        mesh_in("one")


WARNED = '<robot name="warned"><link name="a"/><sensor{}/></robot>'


def test_a_warning_about_a_document_comes_once_and_says_how_to_silence_it(caplog, monkeypatch):
    monkeypatch.setattr(source_location, "_have_said_how", set())
    for _ in range(3):
        parser = Parser(MultibodyPlant(0.0))
        parser.AddModelsFromString(WARNED.format(""), "urdf")
        assert len(parser._diagnostics.warnings) == 1
    (message,) = caplog.messages
    assert "<sensor>" in message
    assert "logging.getLogger('merganser.multibody.parsing').setLevel(logging.ERROR)" in message
    parser = Parser(MultibodyPlant(0.0))
    parser.AddModelsFromString(WARNED.format(' name="other"'), "urdf")
    assert len(caplog.messages) == 2 and "setLevel" not in caplog.messages[-1]


def test_strict_parsing_refuses_a_document_that_was_read_with_a_warning():
    Parser(MultibodyPlant(0.0)).AddModelsFromString(WARNED.format(""), "urdf")
    parser = Parser(MultibodyPlant(0.0))
    parser.SetStrictParsing()
    with pytest.raises(ParsingError, match="strict"):
        parser.AddModelsFromString(WARNED.format(""), "urdf")


def test_a_document_that_includes_is_read_each_time(tmp_path):
    inner, outer = tmp_path / "inner.sdf", tmp_path / "outer.sdf"
    outer.write_text(f'<sdf version="1.7"><model name="o"><include><uri>{inner}</uri></include></model></sdf>')
    for link in ("a", "b"):
        inner.write_text(f'<sdf version="1.7"><model name="i"><link name="{link}"/></model></sdf>')
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModels(str(outer))
        assert plant.HasBodyNamed(link)


@pytest.mark.parametrize("arguments", [{}, {"url": "x", "file_name": "y"}, {"file_contents": "<robot/>"}])
def test_mixed_forms_of_AddModels_are_refused(arguments):
    with pytest.raises(TypeError, match="file_name"):
        Parser(MultibodyPlant(0.0)).AddModels(**arguments)


def test_indices_cover_nested_models():
    plant = MultibodyPlant(0.0)
    assert Parser(plant).AddModelsFromString(NESTED, "sdf") == [2, 3]
    assert instance_names(plant) == ["outer", "outer::inner"]


def test_prefix_is_a_scope_around_every_model():
    plant = MultibodyPlant(0.0)
    Parser(plant, "left").AddModelsFromString(NESTED, "sdf")
    Parser(plant, model_name_prefix="right").AddModelsFromString(NESTED, "sdf")
    expected = [f"{side}::{name}" for side in ("left", "right") for name in ("outer", "outer::inner")]
    assert instance_names(plant) == expected


def test_taken_name_is_refused_unless_auto_renaming():
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    assert not parser.GetAutoRenaming()
    parser.AddModelsFromString(NESTED, "sdf")
    num_instances = plant.num_model_instances()
    with pytest.raises(ParsingError, match=r"named 'outer'.*SetAutoRenaming"):
        parser.AddModelsFromString(NESTED, "sdf")
    assert plant.num_model_instances() == num_instances
    parser.SetAutoRenaming(True)
    parser.AddModelsFromString(NESTED, "sdf")
    parser.AddModelsFromString(NESTED, "sdf")
    assert instance_names(plant)[2:] == ["outer_1", "outer_1::inner", "outer_2", "outer_2::inner"]


def test_warning_is_logged_and_strict_parsing_raises_it(caplog):
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.AddModelsFromString(FLOATING, "urdf")
    assert "<literal-string>.urdf:2: joint 'j' is floating" in caplog.text
    num_instances = plant.num_model_instances()
    parser.SetStrictParsing()
    parser.SetAutoRenaming(True)
    with pytest.raises(ParsingError, match="is floating"):
        parser.AddModelsFromString(FLOATING, "urdf")
    assert plant.num_model_instances() == num_instances


def test_finalized_plant_is_refused():
    plant = MultibodyPlant(0.0)
    plant.Finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        Parser(plant).AddModels(BOX)


def test_plant_without_geometry_gets_bodies_only():
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(BOX)
    assert plant.HasBodyNamed("box")
    assert not plant.geometry_source_is_registered()


def test_scene_graph_given_to_the_parser_gets_the_geometry():
    plant, scene_graph = MultibodyPlant(0.0), SceneGraph()
    Parser(plant, scene_graph).AddModels(BOX)
    assert plant.geometry_source_is_registered()
    assert scene_graph.model_inspector().num_geometries() == 2


def test_parser_needs_a_plant():
    with pytest.raises(TypeError, match="neither a MultibodyPlant nor a DiagramBuilder"):
        Parser("arm7.urdf")


def test_builder_finds_its_plant_and_scene_graph():
    builder = DiagramBuilder()
    with pytest.raises(RuntimeError, match="no system named 'plant'"):
        Parser(builder)
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(builder, model_name_prefix="p")
    assert parser.builder() is builder
    assert parser.plant() is plant
    assert parser.scene_graph() is scene_graph
    parser.AddModels(BOX)
    assert instance_names(plant) == ["p::free_box"]


def test_collision_filter_groups_are_kept_under_scoped_names():
    parser = Parser(MultibodyPlant(0.0), "p")
    parser.AddModelsFromString(
        '<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>'
        '<drake:collision_filter_group name="g">'
        '<drake:member link="a"/><drake:member link="b"/><drake:ignored_collision_filter_group name="g"/>'
        "</drake:collision_filter_group></robot>",
        "urdf",
    )
    groups = parser.GetCollisionFilterGroups()
    assert groups.groups() == {"p::r::g": {"p::r::a", "p::r::b"}}
    assert groups.exclusion_pairs() == {("p::r::g", "p::r::g")}
