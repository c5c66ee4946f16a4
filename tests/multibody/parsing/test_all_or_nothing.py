"""A file that is refused, at whatever point, leaves the plant, its SceneGraph and the parser as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import CollisionFilterDeclaration, GeometrySet
from merganser.multibody.parsing import (
    LoadModelDirectivesFromString,
    Parser,
    ParsingError,
    ProcessModelDirectives,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, SpatialInertia
from tests.support.plant_pictures import picture_of

ARM = Path(__file__).parents[3] / "examples" / "models" / "arm7.urdf"
GROUP = (
    '<drake:collision_filter_group name="{}"><drake:member link="ball"/><drake:ignored_collision_filter_group '
    'name="{}"/></drake:collision_filter_group>'
)
BALL = (
    '<robot name="{}" xmlns:drake="d"><link name="ball"><inertial><mass value="1"/></inertial><collision><geometry>'
    "<sphere radius=\"1\"/></geometry></collision></link>{}</robot>"
)
# What only building, or what comes after it, finds.
REFUSED_LATE = {
    "name of a geometry in MJCF": (
        '<mujoco><worldbody><body><geom size=".1" name=" "/></body></worldbody></mujoco>', "xml",
    ),
    "name of a geometry in URDF": (
        '<robot name="r"><link name="a"/><link name="b"><collision name=" "><geometry><sphere radius="1"/></geometry>'
        "</collision></link></robot>", "urdf",
    ),
    "second model of directives": (
        f"directives:\n- add_model: {{ name: one, file: {ARM} }}\n- add_model_instance: {{ name: two }}\n"
        f"- add_model: {{ name: one, file: {ARM} }}\n", "dmd.yaml",
    ),
    "group of directives": (
        f"directives:\n- add_model: {{ name: one, file: {ARM} }}\n- add_collision_filter_group:\n    name: g\n"
        "    members: [one::base, was_there::ball]\n    ignored_collision_filter_groups: [g, nowhere]\n", "dmd.yaml",
    ),
}  # fmt: skip


def plant_with_a_ball() -> tuple[MultibodyPlant, Parser]:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    parser = Parser(plant)
    parser.AddModelsFromString(BALL.format("was_there", GROUP.format("g", "g")), "urdf")
    return plant, parser


@pytest.mark.parametrize("case", REFUSED_LATE)
def test_what_was_added_before_the_error_is_taken_back(case):
    plant, parser = plant_with_a_ball()
    before = picture_of(plant, parser)
    with pytest.raises(RuntimeError):
        parser.AddModelsFromString(*REFUSED_LATE[case])
    assert picture_of(plant, parser) == before
    parser.AddModelsFromString(BALL.format("next", ""), "urdf")  # names and indices are free again
    plant.Finalize()
    assert plant.num_bodies() == 3 and plant.num_velocities() == 12


def test_directives_that_fail_leave_nothing_without_a_parser_either():
    plant, _ = plant_with_a_ball()
    before = picture_of(plant)
    directives = LoadModelDirectivesFromString(REFUSED_LATE["second model of directives"][0])
    with pytest.raises(ParsingError, match="one"):
        ProcessModelDirectives(directives, plant)
    assert picture_of(plant) == before


def test_filters_that_cannot_be_declared_leave_nothing():
    plant, parser = plant_with_a_ball()
    graph = plant._geometry.scene_graph
    everything = GeometrySet(graph.model_inspector().GetAllGeometryIds())
    manager = graph.collision_filter_manager()
    transient = manager.ApplyTransient(CollisionFilterDeclaration().ExcludeWithin(everything))
    before = picture_of(plant, parser)
    with pytest.raises(RuntimeError, match="transient"):
        parser.AddModelsFromString(BALL.format("new", GROUP.format("g", "g")), "urdf")
    assert picture_of(plant, parser) == before
    manager.RemoveDeclaration(transient)
    parser.AddModelsFromString(BALL.format("new", GROUP.format("g", "g")), "urdf")


@pytest.mark.parametrize("at", [1, 10, 20])
def test_an_interrupt_leaves_nothing(monkeypatch, at):
    plant, parser = plant_with_a_ball()
    before = picture_of(plant, parser)
    add_joint, calls = plant.AddFrame, []

    def interrupted(frame):
        calls.append(frame)
        if len(calls) == min(at, 3):
            raise KeyboardInterrupt
        return add_joint(frame)

    monkeypatch.setattr(plant, "AddFrame", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parser.AddModels(ARM)
    assert picture_of(plant, parser) == before


def test_what_was_there_is_still_of_the_plant():
    plant, parser = plant_with_a_ball()
    ball = plant.GetBodyByName("ball")
    with pytest.raises(RuntimeError):
        parser.AddModelsFromString(*REFUSED_LATE["name of a geometry in URDF"])
    other = plant.AddRigidBody("other", ball.model_instance(), SpatialInertia.SolidSphereWithMass(1.0, 1.0))
    plant.AddJoint(RevoluteJoint("turn", ball.body_frame(), other.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    assert plant.num_velocities() == 7


def test_a_package_found_near_a_refused_file_is_unknown_again(tmp_path):
    (tmp_path / "package.xml").write_text("<package><name>here</name></package>")
    (tmp_path / "cube.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    shape = '<geometry><mesh filename="package://here/{}"/></geometry>'
    names = {"a": "cube.obj", "b": "missing.obj"}
    links = "".join(f'<link name="{n}"><visual>{shape.format(file)}</visual></link>' for n, file in names.items())
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}</robot>')
    _, parser = plant_with_a_ball()
    with pytest.raises(ParsingError, match="does not exist"):
        parser.AddModels(tmp_path / "r.urdf")
    assert not parser.package_map().Contains("here")
