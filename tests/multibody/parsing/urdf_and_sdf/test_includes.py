"""Models in models: nested, included, merged, and found by the addresses that such files use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merganser.multibody.parsing import Parser, ParsingError, ProcessModelDirectives
from merganser.multibody.parsing.model_directives import LoadModelDirectivesFromString
from merganser.multibody.plant import MultibodyPlant
from tests.support.odd_models import INCLUDES, ODD_DOCUMENTS, write_included_models


@pytest.fixture
def folder(tmp_path) -> Path:
    write_included_models(tmp_path)
    return tmp_path


def read(folder: Path, text: str) -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("models", folder)
    parser.AddModelsFromString(text, "sdf")
    return plant


def instance_names(plant: MultibodyPlant) -> list[str]:
    return [plant.GetModelInstanceName(i) for i in range(2, plant.num_model_instances())]


def X_WF(plant: MultibodyPlant, name: str) -> np.ndarray:
    context = plant.CreateDefaultContext()
    return plant.GetFrameByName(name).CalcPoseInWorld(context).GetAsMatrix4()


def test_frame_of_a_model_without_links_is_its_own(folder):
    plant = read(folder, ODD_DOCUMENTS["model of a nested model only"][0])
    outer, inner = (plant.GetModelInstanceByName(name) for name in ("m", "m::n"))
    frames = [plant.GetFrameByName("__model__", instance) for instance in (outer, inner)]
    assert [frame.model_instance() for frame in frames] == [outer, inner]
    assert {frame.body().name() for frame in frames} == {"a"}


def test_static_nested_model_stays_where_it_is(folder):
    plant = read(folder, ODD_DOCUMENTS["static nested model"][0])
    plant.Finalize()
    assert plant.num_positions() == 7  # of the link of the outer model
    np.testing.assert_allclose(X_WF(plant, "b")[:3, 3], [0, 0, 1])


def test_merged_model_is_part_of_the_model_around_it_and_placed_as_a_whole(folder):
    merged, nested = (read(folder, INCLUDES["merged by a frame of its own"].replace('merge="true"', form)) for form in (
        'merge="true"', 'merge="false"'
    ))  # fmt: skip
    assert instance_names(merged) == ["m", "m::n"]
    assert instance_names(nested) == ["m", "m::rich", "m::rich::n"]
    for plant in (merged, nested):
        plant.Finalize()
    for name in ("l1", "l2", "f1", "f2", "f3", "nl"):
        np.testing.assert_allclose(X_WF(merged, name), X_WF(nested, name), atol=1e-14)
    axes = [plant.GetJointByName("j").revolute_axis() for plant in (merged, nested)]
    np.testing.assert_allclose(*axes, atol=1e-14)


def test_filter_groups_of_a_merged_model_stay(folder):
    group = """<drake:collision_filter_group name="g"><drake:member>l1</drake:member>
<drake:ignored_collision_filter_group>g</drake:ignored_collision_filter_group></drake:collision_filter_group>"""
    path = folder / "rich.sdf"
    path.write_text(path.read_text().replace("</model></sdf>", f"{group}</model></sdf>"))
    parser = Parser(MultibodyPlant(0.0))
    parser.package_map().Add("models", folder)
    parser.AddModelsFromString(INCLUDES["merged"], "sdf")
    assert parser.GetCollisionFilterGroups().groups() == {"m::g": {"m::l1"}}


def test_merged_link_that_is_there_already_is_refused(folder):
    with pytest.raises(ParsingError, match=r"rich\.sdf.*shares its name|shares its name.*rich\.sdf"):
        read(folder, INCLUDES["merged"].replace('"y"', '"l1"'))


def test_parts_of_visuals_follow_the_frame_of_the_merged_model(folder):
    text = """<sdf version="1.4"><model name="old"><link name="a"><pose>1 0 0 0 0 0</pose></link><link name="b"/>
<joint name="j" type="revolute"><parent>a</parent><child>b</child>
<axis><xyz>1 0 0</xyz><use_parent_model_frame>true</use_parent_model_frame></axis></joint></model></sdf>"""
    (folder / "rich.sdf").write_text(text)
    plant = read(folder, INCLUDES["merged with another name and pose"])
    np.testing.assert_allclose(plant.GetJointByName("j").revolute_axis(), [1, 0, 0], atol=1e-15)


def test_robot_in_an_sdf_file_is_placed_and_joined_by_its_links(folder):
    (folder / "robot.urdf").write_text(
        '<robot name="robot"><link name="base"/><link name="arm"/><frame name="tip" link="arm" xyz="0 0 1"/>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="1 0 0"/></joint>'
        "</robot>"
    )
    text = INCLUDES["robot with a name and pose"].replace(
        '<link name="y"/>',
        '<joint name="j" type="fixed"><parent>z</parent><child>other::arm</child></joint>'
        '<frame name="at_tip" attached_to="other::tip"/>',
    )
    plant = read(folder, text)
    assert instance_names(plant) == ["m::other", "m"]
    plant.Finalize()
    X = np.linalg.inv(X_WF(plant, "z")) @ X_WF(plant, "at_tip")
    c, s = np.cos(1), np.sin(1)
    np.testing.assert_allclose(X, [[c, -s, 0, 1 + c], [s, c, 0, 2 + s], [0, 0, 1, 4], [0, 0, 0, 1]], atol=1e-14)


def test_indices_of_an_included_robot_come_last(folder):
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("models", folder)
    instances = parser.AddModelsFromString(INCLUDES["robot"], "sdf")
    assert [plant.GetModelInstanceName(i) for i in instances] == ["m", "m::robot"]


def test_included_robot_is_not_static(folder):
    text = INCLUDES["robot"].replace("</include>", "<static>true</static></include>")
    with pytest.raises(ParsingError, match="include it as it is"):
        read(folder, text)


def test_merged_robot_is_part_of_the_model(folder):
    plant = read(folder, INCLUDES["merged robot with a name and pose"])
    model = plant.GetModelInstanceByName("m")
    assert [plant.get_body(i).name() for i in plant.GetBodyIndices(model)] == ["base", "arm", "z", "y"]
    assert plant.HasFrameNamed("_merged__other__model__", model)
    X_WB = plant.GetDefaultFloatingBaseBodyPose(plant.GetBodyByName("base", model))
    np.testing.assert_allclose(X_WB.translation(), [1.0, 2.0, 3.0])


def test_folder_with_a_config_is_its_newest_model(folder):
    assert instance_names(read(folder, INCLUDES["folder"])) == ["m", "m::new"]


# ---------------------------------------------------------------------- addresses beside the file


def shelf(tmp_path: Path) -> Path:
    """Two models of the same folder, of which one includes the other, and a world that includes the first."""
    for name, inside in (
        ("cup", ""), ("tray", '<model name="inner"><include><uri>model://cup</uri></include></model>')
    ):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.config").write_text("<model><sdf version='1.6'>model.sdf</sdf></model>")
        (tmp_path / name / "box.obj").write_text("v 0 0 0")
        visual = f"<visual name='v'><geometry><mesh><uri>model://{name}/box.obj</uri></mesh></geometry></visual>"
        (tmp_path / name / "model.sdf").write_text(
            f'<sdf version="1.6"><model name="{name}"><link name="l">{visual}</link>{inside}</model></sdf>'
        )
    world = '<sdf version="1.6"><world name="w"><include><uri>model://tray</uri></include></world></sdf>'
    (tmp_path / "kitchen.world.sdf").write_text(world)
    return tmp_path


@pytest.mark.parametrize("file", ["kitchen.world.sdf", "tray/model.sdf"])
def test_model_address_is_found_beside_the_file_and_beside_its_model_folder(tmp_path, file):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(shelf(tmp_path) / file)
    assert instance_names(plant) == ["tray", "tray::inner", "tray::inner::cup"]


def test_model_address_of_nothing_is_refused(tmp_path):
    path = shelf(tmp_path) / "kitchen.world.sdf"
    path.write_text(path.read_text().replace("model://tray", "model://spoon"))
    with pytest.raises(ParsingError, match=r"kitchen\.world\.sdf:1: Unknown package 'spoon'"):
        Parser(MultibodyPlant(0.0)).AddModels(path)


# ---------------------------------------------------------------------- directives


def test_default_pose_without_a_name_is_that_of_the_only_body(folder):
    plant = MultibodyPlant(0.0)
    text = f"""directives:
- add_model:
    name: m
    file: file://{folder}/versions/new.sdf
    default_free_body_pose: {{"": {{translation: [1, 2, 3]}}}}
"""
    ProcessModelDirectives(LoadModelDirectivesFromString(text), plant)
    X_WB = plant.GetDefaultFloatingBaseBodyPose(plant.GetBodyByName("l"))
    np.testing.assert_array_equal(X_WB.translation(), [1, 2, 3])
    with pytest.raises(ParsingError, match=r"<string>:3: .*it has 2; name one"):
        ProcessModelDirectives(LoadModelDirectivesFromString(text.replace("versions/new", "rich")), MultibodyPlant(0.0))


@pytest.mark.parametrize("version", ["1.4", "1.9"])
def test_a_document_may_be_one_include(version, tmp_path):
    (tmp_path / "inner.sdf").write_text('<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>')
    include = "<include><uri>inner.sdf</uri><name>other</name><pose>1 2 3 0 0 0</pose></include>"
    (tmp_path / "middle.sdf").write_text(f'<sdf version="{version}">{include}</sdf>')
    outer = f'<sdf version="{version}"><include><uri>middle.sdf</uri></include></sdf>'
    (tmp_path / "outer.sdf").write_text(outer)
    for name in ("middle", "outer"):
        plant = MultibodyPlant(0.0)
        (instance,) = Parser(plant).AddModels(tmp_path / f"{name}.sdf")
        assert plant.GetModelInstanceName(instance) == "other"
        plant.Finalize()
        X_WB = plant.GetDefaultFloatingBaseBodyPose(plant.GetBodyByName("a"))
        np.testing.assert_array_equal(X_WB.translation(), [1.0, 2.0, 3.0])
    (tmp_path / "two.sdf").write_text(outer.replace("</sdf>", "<include><uri>inner.sdf</uri></include></sdf>"))
    with pytest.raises(ParsingError, match="2 models, worlds or includes, expected one"):
        Parser(MultibodyPlant(0.0)).AddModels(tmp_path / "two.sdf")
