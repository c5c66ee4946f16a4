"""Model directives: what they add, how they are flattened, and errors with file and line."""

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.schema import Rotation, Transform
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed
from merganser.multibody.parsing import (
    AddFrame,
    AddModel,
    AddWeld,
    FlattenModelDirectives,
    GetScopedFrameByName,
    GetScopedFrameByNameMaybe,
    LoadModelDirectives,
    LoadModelDirectivesFromString,
    ModelDirective,
    ModelDirectives,
    Parser,
    ParsingError,
    ProcessModelDirectives,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

BOX = """<sdf version="1.9"><model name="box"><link name="base"><collision name="c"><geometry><sphere><radius>1</radius>
</sphere></geometry></collision></link></model></sdf>"""
ARM = """<sdf version="1.9"><model name="arm"><link name="base"/><link name="tip"><pose>0 0 1 0 0 0</pose></link>
<joint name="j" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 0 1</xyz></axis></joint>
<frame name="tool" attached_to="tip"><pose>1 0 0 0 0 0</pose></frame></model></sdf>"""
INNER = """directives:
- add_model:
    name: box
    file: package://here/box.sdf
- add_frame:
    name: f
    X_PF:
      base_frame: box::base
      translation: [1, 2, 3]
      rotation: !Rpy { deg: [10, 20, 30] }
- add_weld:
    parent: world
    child: box::f
    X_PC:
      rotation: !AngleAxis { angle_deg: 90, axis: [0, 0, 2] }
- add_collision_filter_group:
    name: boxes
    members: [box::base]
    ignored_collision_filter_groups: [boxes]
"""
OUTER = """directives:
- add_model_instance: { name: left }
- add_directives: { file: package://here/inner.dmd.yaml, model_namespace: left }
- add_model:
    name: arm
    file: arm.sdf
    default_joint_positions: { j: [0.3] }
    default_free_body_pose:
      base: { translation: [1, 2, 3], rotation: !Rpy { deg: [0, 0, 90] } }
- add_model:
    name: free
    file: box.sdf
    default_free_body_pose:
      base: { base_frame: arm::tool, translation: [0, 0, 5] }
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (
        ("package.xml", "<package><name>here</name></package>"),
        ("box.sdf", BOX), ("arm.sdf", ARM), ("inner.dmd.yaml", INNER), ("outer.dmd.yaml", OUTER),
        ("circle.dmd.yaml", "directives: [{add_directives: {file: circle.dmd.yaml}}]"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def new_parser(folder, prefix=""):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    parser = Parser(plant, scene_graph, prefix)
    parser.package_map().Add("here", folder)
    return parser


def test_models_frames_welds_poses_and_positions_are_added(folder):
    parser = new_parser(folder)
    infos = ProcessModelDirectives(LoadModelDirectives(folder / "outer.dmd.yaml"), parser)
    plant = parser.plant()
    assert [info.model_name for info in infos] == ["left::box", "arm", "free"]
    assert (infos[0].parent_frame_name, infos[0].child_frame_name) == ("world", "f")
    assert infos[1].model_path == str(folder / "arm.sdf")
    frame = GetScopedFrameByName(plant, "left::box::f")
    expected = RigidTransform(RollPitchYaw(np.deg2rad([10, 20, 30])), [1, 2, 3])
    np.testing.assert_allclose(frame.GetFixedPoseInBodyFrame().GetAsMatrix4(), expected.GetAsMatrix4(), atol=1e-15)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    turned = RigidTransform(RollPitchYaw(0, 0, np.pi / 2), [1, 2, 3])
    poses = {
        "left::box::f": RigidTransform(RollPitchYaw(0, 0, np.pi / 2), [0, 0, 0]),
        "arm::base": turned,
        "arm::tip": turned @ RigidTransform(RollPitchYaw(0, 0, 0.3), [0, 0, 1]),
        "free::base": turned @ RigidTransform(RollPitchYaw(0, 0, 0.3), [0, 0, 1]) @ RigidTransform([1, 0, 5]),
    }
    for name, X_WF in poses.items():
        X = GetScopedFrameByName(plant, name).CalcPoseInWorld(context)
        np.testing.assert_allclose(X.GetAsMatrix4(), X_WF.GetAsMatrix4(), atol=1e-14)
    np.testing.assert_allclose(infos[0].X_PC.GetAsMatrix4(), poses["left::box::f"].GetAsMatrix4(), atol=1e-15)


def test_a_parser_reads_directives_under_its_prefix(folder):
    parser = new_parser(folder, "pre")
    instances = parser.AddModels(folder / "outer.dmd.yaml")
    names = [parser.plant().GetModelInstanceName(instance) for instance in instances]
    assert names == ["pre::left::box", "pre::arm", "pre::free"]
    groups = parser.GetCollisionFilterGroups()
    assert groups.groups() == {"pre::left::boxes": {"pre::left::box::base"}}
    assert groups.exclusion_pairs() == {("pre::left::boxes", "pre::left::boxes")}
    with pytest.raises(ParsingError, match=r"outer.dmd.yaml:2: .*'pre::left'"):
        parser.AddModels(folder / "outer.dmd.yaml")
    assert len(new_parser(folder).AddModelsFromString(INNER, "dmd.yaml")) == 1
    assert len(new_parser(folder).AddModels(url="package://here/inner.dmd.yaml")) == 1


def test_flat_directives_hold_scoped_names_and_add_the_same(folder):
    parser = new_parser(folder)
    directives = LoadModelDirectives(folder / "outer.dmd.yaml")
    flat = FlattenModelDirectives(directives, parser.package_map())
    assert [d.add_directives for d in flat.directives] == [None] * len(flat.directives)
    assert flat.directives[1].add_model.name == "left::box"
    assert flat.directives[2].add_frame.name == "left::box::f"
    assert flat.directives[2].add_frame.X_PF.base_frame == "left::box::base"
    assert (flat.directives[3].add_weld.parent, flat.directives[3].add_weld.child) == ("world", "left::box::f")
    assert flat.directives[4].add_collision_filter_group.model_namespace == "left"
    assert directives.directives[1].add_directives.model_namespace == "left"
    names = [info.model_name for info in ProcessModelDirectives(flat, parser)]
    assert names == ["left::box", "arm", "free"]


def test_flat_directives_name_files_beside_other_files_by_their_whole_paths(folder):
    (folder / "inside").mkdir()
    (folder / "inside" / "beside.dmd.yaml").write_text("directives:\n- add_model: { name: box, file: box.sdf }\n")
    (folder / "inside" / "box.sdf").write_text(BOX)
    text = f"directives:\n- add_directives: {{ file: '{folder}/inside/beside.dmd.yaml' }}\n"
    parser = new_parser(folder)
    flat = FlattenModelDirectives(LoadModelDirectivesFromString(text), parser.package_map())
    again = LoadModelDirectivesFromString(yaml_dump_typed(flat))
    assert [info.model_name for info in ProcessModelDirectives(again, parser)] == ["box"]


def test_directives_can_be_made_by_hand_and_written(folder):
    pose = Transform(base_frame="arm::base", rotation=Rotation.Rpy(deg=[90, 0, 0]))
    directives = ModelDirectives(
        directives=[
            ModelDirective(add_model=AddModel(name="arm", file="package://here/arm.sdf")),
            ModelDirective(add_frame=AddFrame(name="f", X_PF=pose)),
            ModelDirective(add_weld=AddWeld(parent="world", child="arm::f")),
        ]
    )
    text = yaml_dump_typed(directives)
    assert yaml_dump_typed(yaml_load_typed(schema=ModelDirectives, data=text)) == text
    assert "rotation: !Rpy\n        deg: [90.0, 0.0, 0.0]" in text
    for form in (directives, LoadModelDirectivesFromString(text)):
        parser = new_parser(folder)
        assert len(ProcessModelDirectives(form, parser.plant(), parser)) == 1
        assert parser.plant().HasJointNamed("world_welds_to_f")


def test_filter_groups_hold_members_of_other_groups_and_filter_collisions(folder):
    parser = new_parser(folder)
    models = "".join(f"- add_model: {{name: {n}, file: 'package://here/box.sdf'}}\n" for n in "abc")
    groups = """
- add_collision_filter_group: {name: g, members: ['a::base'], ignored_collision_filter_groups: [h]}
- add_collision_filter_group: {name: h, member_groups: [k]}
- add_collision_filter_group: {name: k, model_namespace: b, members: [base]}
"""
    with pytest.raises(ParsingError, match=r"'h' has as member the unknown group 'k'. There are: 'b::k'"):
        new_parser(folder).AddModelsFromString("directives:\n" + models + groups, "dmd.yaml")
    groups = groups.replace("[k]", "['b::k']")
    parser.AddModelsFromString("directives:\n" + models + groups, "dmd.yaml")
    assert parser.GetCollisionFilterGroups().groups()["h"] == {"b::base"}
    inspector = parser.scene_graph().model_inspector()
    pairs = {tuple(sorted(inspector.GetName(id) for id in pair)) for pair in inspector.GetCollisionCandidates()}
    assert pairs == {("a::c", "c::c"), ("b::c", "c::c")}


def test_frames_are_found_by_scoped_name(folder):
    parser = new_parser(folder)
    parser.AddModels(folder / "arm.sdf")
    plant = parser.plant()
    assert GetScopedFrameByName(plant, "arm::tip") is GetScopedFrameByName(plant, "tip")
    assert GetScopedFrameByName(plant, "::world") is plant.world_frame()
    for name in ("nope", "arm::nope", "nope::tip"):
        assert GetScopedFrameByNameMaybe(plant, name) is None
        with pytest.raises(RuntimeError, match="nope"):
            GetScopedFrameByName(plant, name)


NOT_LOADED = {
    "add_model: {name: a}": "`file` must not be empty",
    "add_model: {name: a, file: b, foo: 1}": r"directives\[0\].add_model has the unknown entry 'foo'",
    "add_modl: {}": "Did you mean 'add_model'",
    "add_model: {name: a, file: b}, add_weld: {parent: a, child: b}": "has add_model and add_weld; expected",
    "add_model: null": "a directive is empty",
    "add_model: [a]": "add_model is a list, expected a mapping",
    "add_frame: {name: f}": "`X_PF.base_frame` of frame 'f' must be given",
    "add_frame: {name: f, X_PF: {base_frame: world, rotation: !Uniform {}}}": "must not be a distribution",
    "add_frame: {name: f, X_PF: {base_frame: world, rotation: !Foo {}}}": "unknown tag '!Foo'; known are !Identity",
    "add_frame: {name: f, X_PF: {base_frame: world, rotation: !Rpy {deg: [1, 2]}}}": "deg has 2 numbers, expected 3",
    "add_frame: {name: f, X_PF: {base_frame: world, translation: [1, 2, x]}}": "'x', expected a number",
    "add_weld: {parent: world, child: b, X_PC: {base_frame: world}}": "`X_PC` must not have a `base_frame`",
    "add_collision_filter_group: {name: 'a::b', members: [c]}": "must not be scoped",
    "add_collision_filter_group: {name: g}": "needs at least one of",
    "add_model: {name: a, file: b, default_joint_positions: {j: 1}}": "j is '1', expected a list of numbers",
    "add_model: {name: a, name: b}": "more than once",
    "add_model: {": "not well-formed YAML",
}


@pytest.mark.parametrize("directive", NOT_LOADED)
def test_malformed_directive_is_refused_with_its_line(directive):
    with pytest.raises(ParsingError, match=f"^<string>:[34].*{NOT_LOADED[directive]}"):
        LoadModelDirectivesFromString(f"# first line\ndirectives:\n- {{{directive}}}\n")


NOT_DONE = {
    "add_model: {name: a, file: 'package://here/nope.sdf'}": "does not exist",
    "add_model: {name: a, file: arm.sdf}": "is relative",
    "add_model: {name: a, file: 'package://here/inner.dmd.yaml'}": "Use add_directives",
    "add_model: {name: b, file: 'package://here/box.sdf'}": "already has a model instance named 'b'",
    "add_model: {name: a, file: 'package://here/arm.sdf', default_joint_positions: {k: [1]}}": "no joint named 'k'",
    "add_model: {name: a, file: 'package://here/arm.sdf', default_joint_positions: {j: [1, 2]}}": "1 positions",
    "add_model: {name: a, file: 'package://here/arm.sdf', default_free_body_pose: {x: {}}}": "no frame named 'x'",
    "add_weld: {parent: world, child: 'nope::x'}": "no model instance named 'nope'",
    "add_frame: {name: 'nope::f', X_PF: {base_frame: world}}": "no model instance named 'nope'",
    "add_directives: {file: 'package://here/inner.dmd.yaml', model_namespace: nope}": "'nope' is not a model instance",
    "add_directives: {file: 'package://here/circle.dmd.yaml'}": "add each other",
    "add_collision_filter_group: {name: g, members: ['b::nope']}": "'b::nope', which is not a body",
    "add_collision_filter_group: {name: g, members: ['b::base'], ignored_collision_filter_groups: [x]}": "group 'x'",
}


@pytest.mark.parametrize("directive", NOT_DONE)
def test_directive_that_cannot_be_done_is_refused_with_its_file_and_line(folder, directive):
    head = "directives:\n- add_model: {name: b, file: 'package://here/box.sdf'}\n"
    directives = LoadModelDirectivesFromString(f"{head}- {{{directive}}}\n")
    with pytest.raises(ParsingError, match=rf"(<string>:3|dmd.yaml:\d).*{NOT_DONE[directive]}"):
        ProcessModelDirectives(directives, new_parser(folder))


def test_auto_renaming_numbers_model_instances(folder):
    parser = new_parser(folder)
    parser.SetAutoRenaming(True)
    text = "directives: [{add_model_instance: {name: a}}, {add_model: {name: a, file: 'package://here/box.sdf'}}]"
    for _ in range(2):
        parser.AddModelsFromString(text, "dmd.yaml")
    assert [parser.plant().GetModelInstanceName(i) for i in range(2, 6)] == ["a", "a_1", "a_2", "a_3"]
