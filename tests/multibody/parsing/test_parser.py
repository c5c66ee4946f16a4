"""The parser's own behaviour: ways to name a file, names of model instances, strictness."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from merganser.multibody.parsing import Parser, ParsingError
from recording_plant import RecordingPlant

BOX = Path(__file__).parents[3] / "examples" / "models" / "free_box.sdf"
NESTED = """<sdf version="1.7"><model name="outer"><link name="a"/>
<model name="inner"><link name="a"/></model></model></sdf>"""
MIMIC = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><mimic joint="k"/></joint></robot>"""


def test_file_url_and_string_give_the_same_model():
    plants = [RecordingPlant() for _ in range(4)]
    parsers = [Parser(plant) for plant in plants]
    parsers[1].package_map().Add("examples", BOX.parent)
    assert parsers[0].AddModels(str(BOX)) == [2]
    assert parsers[1].AddModels(url="package://examples/free_box.sdf") == [2]
    assert parsers[2].AddModels(file_contents=BOX.read_text(), file_type="sdf") == [2]
    assert parsers[3].AddModelsFromUrl(BOX.as_uri()) == [2]
    assert [plant.instance_names[2:] for plant in plants] == [["free_box"]] * 4


@pytest.mark.parametrize("arguments", [{}, {"url": "x", "file_name": "y"}, {"file_contents": "<robot/>"}])
def test_mixed_forms_of_AddModels_are_refused(arguments):
    with pytest.raises(TypeError, match="file_name"):
        Parser(RecordingPlant()).AddModels(**arguments)


def test_indices_cover_nested_models():
    plant = RecordingPlant()
    assert Parser(plant).AddModelsFromString(NESTED, "sdf") == [2, 3]
    assert plant.instance_names[2:] == ["outer", "outer::inner"]


def test_prefix_is_a_scope_around_every_model():
    plant = RecordingPlant()
    Parser(plant, "left").AddModelsFromString(NESTED, "sdf")
    Parser(plant, model_name_prefix="right").AddModelsFromString(NESTED, "sdf")
    expected = [f"{side}::{name}" for side in ("left", "right") for name in ("outer", "outer::inner")]
    assert plant.instance_names[2:] == expected


def test_taken_name_is_refused_unless_auto_renaming():
    plant = RecordingPlant()
    parser = Parser(plant)
    assert not parser.GetAutoRenaming()
    parser.AddModelsFromString(NESTED, "sdf")
    calls = plant.num_calls
    with pytest.raises(ParsingError, match=r"named 'outer'.*SetAutoRenaming"):
        parser.AddModelsFromString(NESTED, "sdf")
    assert plant.num_calls == calls
    parser.SetAutoRenaming(True)
    parser.AddModelsFromString(NESTED, "sdf")
    parser.AddModelsFromString(NESTED, "sdf")
    assert plant.instance_names[4:] == ["outer_1", "outer_1::inner", "outer_2", "outer_2::inner"]


def test_warning_is_logged_and_strict_parsing_raises_it(caplog):
    plant = RecordingPlant()
    parser = Parser(plant)
    parser.AddModelsFromString(MIMIC, "urdf")
    assert "<literal-string>.urdf:2: joint 'j' mimics another" in caplog.text
    calls = plant.num_calls
    parser.SetStrictParsing()
    parser.SetAutoRenaming(True)
    with pytest.raises(ParsingError, match="mimics another"):
        parser.AddModelsFromString(MIMIC, "urdf")
    assert plant.num_calls == calls


def test_finalized_plant_is_refused():
    plant = RecordingPlant()
    plant.finalized = True
    with pytest.raises(RuntimeError, match="finalized"):
        Parser(plant).AddModels(BOX)


def test_plant_without_geometry_gets_bodies_only():
    plant = RecordingPlant(with_geometry=False)
    Parser(plant).AddModels(BOX)
    assert len(plant.bodies) == 2
    assert not plant.visuals and not plant.collisions


def test_builder_finds_its_plant_and_scene_graph():
    plant, scene_graph = RecordingPlant(), object()
    named = [SimpleNamespace(get_name=lambda: "other")]
    builder = SimpleNamespace(GetSystems=lambda: named)
    with pytest.raises(RuntimeError, match=r"no system named 'plant'.*'other'"):
        Parser(builder)
    parser = Parser(builder, plant=plant, scene_graph=scene_graph)
    assert parser.builder() is builder
    assert parser.plant() is plant
    assert parser.scene_graph() is scene_graph


def test_collision_filter_groups_are_kept_under_scoped_names(caplog):
    parser = Parser(RecordingPlant(), "p")
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
    assert "no effect" in caplog.text
