"""The elements of an SDF document."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import TerrainMesh
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from tests.support.model_corners import sdf

INNER = """<sdf version="1.7"><model name="inner"><pose>0 0 5 0 0 0</pose>
<link name="a"><pose>0 1 0 0 0 0</pose></link>
<frame name="tip"><pose>0 0 1 0 0 0</pose></frame></model></sdf>"""


def read(text: str) -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    return plant


def read_model(body: str, attributes: str = "") -> MultibodyPlant:
    return read(f'<sdf version="1.9"><model name="m" {attributes}>{body}</model></sdf>')


def default_pose(plant: MultibodyPlant, name: str) -> RigidTransform:
    return plant.GetDefaultFloatingBaseBodyPose(plant.GetBodyByName(name))


def joint(inside: str, kind: str = "revolute", parent: str = "a", child: str = "b") -> str:
    return f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def test_link_pose_is_relative_to_the_model_or_to_a_named_frame():
    plant = read_model(
        '<pose>1 0 0 0 0 0</pose><link name="a"><pose>0 1 0 0 0 1.5707963267948966</pose></link>'
        '<link name="b"><pose relative_to="f">1 0 0 0 0 0</pose></link>'
        '<frame name="f" attached_to="a"><pose>0 0 1 0 0 0</pose></frame>'
    )
    np.testing.assert_allclose(default_pose(plant, "a").translation(), [1, 1, 0])
    # One metre along the x axis of a, which points along y of the world.
    np.testing.assert_allclose(default_pose(plant, "b").translation(), [1, 2, 1])


@pytest.mark.parametrize(
    "pose",
    [
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        '<pose rotation_format="quat_xyzw">1 2 3 0 0 0.7071067811865476 0.7071067811865476</pose>',
        "<pose>1 2 3 0 0 1.5707963267948966</pose>",
    ],
)
def test_pose_formats_mean_the_same(pose):
    X_WB = default_pose(read_model(f'<link name="a">{pose}</link>'), "a")
    assert X_WB.IsNearlyEqualTo(RigidTransform(RollPitchYaw([0, 0, math.pi / 2]), [1, 2, 3]), 1e-14)


def test_joint_frame_sits_where_the_file_puts_both_links():
    plant = read_model(
        '<link name="a"/><link name="b"><pose>0 0 2 0.3 0 0</pose></link>'
        + joint("<pose>0 0 0.5 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>")
    )
    pin = plant.GetJointByName("j")
    X_PF = pin.frame_on_parent().GetFixedPoseInBodyFrame()
    X_CM = pin.frame_on_child().GetFixedPoseInBodyFrame()
    X_WC = default_pose(plant, "b")
    np.testing.assert_allclose(X_CM.translation(), [0, 0, 0.5])
    assert (X_WC @ X_CM).IsNearlyEqualTo(X_PF, 1e-14)


def test_axis_expressed_in_another_frame_is_turned_into_the_joint_frame():
    plant = read_model(
        '<link name="a"/><link name="b"><pose>0 0 0 0 0 1.5707963267948966</pose></link>'
        + joint('<axis><xyz expressed_in="__model__">0 1 0</xyz></axis>')
    )
    np.testing.assert_allclose(plant.GetJointByName("j").revolute_axis(), [1, 0, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("", math.inf),
        ("<limit><effort>3</effort></limit>", 3.0),
        ("<limit><effort>-1</effort></limit>", math.inf),
        ("<limit><effort>0</effort></limit>", None),
    ],
)
def test_joint_has_an_actuator_unless_its_effort_is_zero(limit, expected):
    plant = read_model('<link name="a"/><link name="b"/>' + joint(f"<axis><xyz>1 0 0</xyz>{limit}</axis>"))
    assert plant.num_actuators() == (0 if expected is None else 1)
    if expected is not None:
        assert plant.GetJointActuatorByName("j").effort_limit() == expected


def test_link_without_inertial_has_unit_mass_and_moments():
    M_BBo_B = read_model('<link name="a"/>').GetBodyByName("a").default_spatial_inertia()
    assert M_BBo_B.get_mass() == 1
    np.testing.assert_allclose(M_BBo_B.CalcRotationalInertia().CopyToFullMatrix3(), np.eye(3))


def test_a_static_model_is_welded_to_the_world_at_its_pose():
    plant = read_model(
        '<static>true</static><pose>1 2 3 0 0 0</pose><link name="a"/><link name="b"/>' + joint("", "fixed")
    )
    plant.Finalize()
    assert plant.num_positions() == 0
    assert plant.num_joints() == 2
    weld = plant.GetJointByName("sdformat_model_static_world_welds_to_a")
    np.testing.assert_allclose(weld.X_FM().translation(), [1, 2, 3])


def test_model_frame_is_fixed_to_the_canonical_link():
    plant = read_model('<link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link>', 'canonical_link="b"')
    frame = plant.GetFrameByName("__model__")
    assert frame.body().name() == "b"
    np.testing.assert_allclose(frame.GetFixedPoseInBodyFrame().translation(), [0, 0, -1])


def test_nested_model_is_its_own_instance_and_reached_by_scoped_names():
    plant = read_model(
        '<link name="a"/><model name="n"><pose>0 0 1 0 0 0</pose><link name="b"/></model>'
        + joint("<axis><xyz>0 1 0</xyz></axis>", child="n::b")
    )
    pin = plant.GetJointByName("j")
    assert plant.GetModelInstanceName(pin.child_body().model_instance()) == "m::n"
    assert pin.model_instance() == pin.child_body().model_instance()
    np.testing.assert_allclose(pin.frame_on_parent().GetFixedPoseInBodyFrame().translation(), [0, 0, 1])


def test_include_places_a_frame_of_the_included_model(tmp_path):
    (tmp_path / "inner.sdf").write_text(INNER)
    (tmp_path / "outer.sdf").write_text(
        '<sdf version="1.7"><world name="w"><include><uri>inner.sdf</uri></include>'
        "<include><uri>inner.sdf</uri><name>again</name><placement_frame>tip</placement_frame>"
        "<pose>1 0 0 0 0 0</pose></include></world></sdf>"
    )
    plant = MultibodyPlant(0.0)
    first, again = Parser(plant).AddModels(tmp_path / "outer.sdf")
    assert [plant.GetModelInstanceName(i) for i in (first, again)] == ["inner", "again"]
    poses = [plant.GetDefaultFloatingBaseBodyPose(plant.GetBodyByName("a", i)) for i in (first, again)]
    np.testing.assert_allclose(poses[0].translation(), [0, 1, 5])
    np.testing.assert_allclose(poses[1].translation(), [1, 1, -1])


def test_error_in_an_included_file_names_that_file(tmp_path):
    (tmp_path / "inner.sdf").write_text(INNER.replace("0 1 0 0 0 0", "0 1 0"))
    (tmp_path / "outer.sdf").write_text(
        '<sdf version="1.7"><world name="w"><include><uri>inner.sdf</uri></include></world></sdf>'
    )
    with pytest.raises(ParsingError, match=r"inner\.sdf:2: .*3 values"):
        Parser(MultibodyPlant(0.0)).AddModels(tmp_path / "outer.sdf")


def test_files_that_include_each_other_are_refused(tmp_path):
    include = '<sdf version="1.7"><model name="m"><link name="a"/><include><uri>{}</uri></include></model></sdf>'
    (tmp_path / "one.sdf").write_text(include.format("two.sdf"))
    (tmp_path / "two.sdf").write_text(include.format("one.sdf"))
    with pytest.raises(ParsingError, match="include each other"):
        Parser(MultibodyPlant(0.0)).AddModels(tmp_path / "one.sdf")


def test_joints_and_frames_of_a_world_reach_into_its_models():
    plant = read(
        '<sdf version="1.7"><world name="w"><model name="m"><pose>0 0 2 0 0 0</pose><link name="a"/></model>'
        '<frame name="f" attached_to="m"><pose>1 0 0 0 0 0</pose></frame>'
        + joint("", "fixed", parent="world", child="m")
        + "</world></sdf>"
    )
    plant.Finalize()
    assert plant.num_positions() == 0
    weld = plant.GetJointByName("j")
    np.testing.assert_allclose(weld.frame_on_parent().GetFixedPoseInBodyFrame().translation(), [0, 0, 2])
    assert plant.GetFrameByName("f").body().name() == "a"


LINKS = '<link name="a"/><link name="b"/>'


def test_axes_of_a_universal_joint_are_the_first_two_of_its_frames(caplog):
    axes = "<axis><xyz>0 0 2</xyz></axis><axis2><xyz>0 3 0</xyz><dynamics><damping>1</damping></dynamics></axis2>"
    plant = read_model(LINKS + joint(axes, "universal"))
    R = plant.GetFrameByName("j_child").GetFixedPoseInBodyFrame().rotation().matrix()
    np.testing.assert_allclose(R.T, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-15)
    assert "both get the first" in caplog.text and "no actuator" in caplog.text
    assert plant.num_actuators() == 0


@pytest.mark.parametrize(
    ("inside", "pitch"),
    [
        ("", 1.0),
        ("<screw_thread_pitch>0.2</screw_thread_pitch>", 0.2),
        ("<thread_pitch>2</thread_pitch>", -math.pi),  # left-handed, in radians for each metre
    ],
)
def test_screw_pitch_in_its_new_and_old_form(inside, pitch):
    plant = read_model(LINKS + joint(f"<axis><xyz>0 0 1</xyz></axis>{inside}", "screw"))
    assert plant.GetJointByName("j").screw_pitch() == pytest.approx(pitch)
    assert plant.num_actuators() == 1


def test_drake_joint_connects_frames_of_the_model():
    plant = read_model(
        LINKS + '<frame name="f" attached_to="b"><pose>1 0 0 0 0 0</pose></frame><drake:joint name="j" type="planar">'
        "<drake:parent>f</drake:parent><drake:child>a</drake:child><drake:damping>1 2 3</drake:damping></drake:joint>"
    )
    planar = plant.GetJointByName("j")
    assert (planar.frame_on_parent().name(), planar.frame_on_child().name()) == ("f", "a")
    np.testing.assert_array_equal(planar.default_damping(), [1, 2, 3])


def test_each_axis_of_a_universal_joint_has_its_limits():
    first = "<lower>-1</lower><upper>0.5</upper><velocity>3</velocity><effort>0</effort>"
    second = "<upper>2</upper><drake:acceleration>4</drake:acceleration>"
    axes = f"<axis><xyz>1 0 0</xyz><limit>{first}</limit></axis><axis2><xyz>0 1 0</xyz><limit>{second}</limit></axis2>"
    universal = read_model(LINKS + joint(axes, "universal")).GetJointByName("j")
    np.testing.assert_array_equal(universal.position_lower_limits(), [-1.0, -np.inf])
    np.testing.assert_array_equal(universal.position_upper_limits(), [0.5, 2.0])
    np.testing.assert_array_equal(universal.velocity_upper_limits(), [3.0, np.inf])
    np.testing.assert_array_equal(universal.acceleration_lower_limits(), [-np.inf, -4.0])


def test_a_universal_joint_stops_at_its_limits():
    axes = "".join(
        f"<axis{k}><xyz>{xyz}</xyz><limit><lower>-0.3</lower><upper>0.3</upper><effort>0</effort></limit></axis{k}>"
        for k, xyz in (("", "1 0 0"), ("2", "0 1 0"))
    )
    inertial = "<inertial><pose>1 0.5 0 0 0 0</pose><mass>1</mass></inertial>"
    links = f'<link name="a"/><link name="b">{inertial}</link>'
    plant = MultibodyPlant(0.002)
    Parser(plant).AddModelsFromString(sdf(links + joint(axes, "universal")), "sdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("a"))
    plant.Finalize()
    simulator = Simulator(plant)
    simulator.AdvanceTo(1.0)
    q = plant.GetPositions(simulator.get_context())
    np.testing.assert_allclose(np.abs(q), 0.3, atol=0.01)


def test_screws_have_limits_and_second_axes_of_others_are_named(caplog):
    axis = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><velocity>5</velocity></limit></axis>"
    screw = read_model(LINKS + joint(axis, "screw")).GetJointByName("j")
    assert (screw.position_lower_limits(), screw.position_upper_limits()) == (-1.0, 2.0)
    assert screw.velocity_upper_limits() == 5.0
    assert not caplog.records
    read_model(LINKS + joint(f"{axis}<axis2><xyz>1 0 0</xyz></axis2>"))
    assert "<axis2> of revolute joint 'j' has no effect" in caplog.text
    read_model(LINKS + joint(axis, "ball"))
    assert "limits of ball joint 'j' have no effect" in caplog.text


def test_dynamic_friction_is_cut_off_at_static_friction(caplog):
    surface = "<surface><friction><ode><mu>0.3</mu><mu2>0.5</mu2></ode></friction></surface>"
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    shape = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    collision = f'<link name="a"><collision name="c">{shape}{surface}</collision></link>'
    Parser(plant).AddModelsFromString(sdf(collision), "sdf")
    (id,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("a"))
    properties = scene_graph.model_inspector().GetProximityProperties(id)
    friction = properties.GetProperty("material", "coulomb_friction")
    assert (friction.static_friction(), friction.dynamic_friction()) == (0.3, 0.3)
    assert "<mu> is 0.3 and <mu2> 0.5" in caplog.text
    with pytest.raises(ParsingError, match="expected static >= dynamic >= 0"):
        Parser(plant).AddModelsFromString(sdf(collision.replace("0.3", "-0.3"), name='name="n"'), "sdf")


def test_a_mesh_is_terrain_if_it_is_declared_so(tmp_path):
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    text = (
        '<sdf version="1.9"><model name="m"><link name="a"><collision name="c"><geometry><mesh><uri>{}</uri>'
        "<scale>1 2 3</scale><merganser:declare_terrain/></mesh></geometry></collision></link></model></sdf>"
    )
    (tmp_path / "m.sdf").write_text(text.format("m.obj"))
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(tmp_path / "m.sdf")
    (geometry,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("a"))
    assert scene_graph.model_inspector().GetShape(geometry) == TerrainMesh.FromFile(tmp_path / "m.obj", [1, 2, 3])
    (tmp_path / "broken.obj").write_text("v 0 0 0\n")
    (tmp_path / "m.sdf").write_text(text.format("broken.obj"))
    with pytest.raises(ParsingError, match=r"m\.sdf:1: .*broken\.obj"):
        Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)[0]).AddModels(tmp_path / "m.sdf")


def test_a_heightmap_is_a_height_field(tmp_path):
    from PIL import Image

    Image.fromarray(np.array([[0, 50, 100], [200, 150, 20]], np.uint8)).save(tmp_path / "hills.png")
    shape = "<heightmap><uri>{}</uri><size>4 2 0.5</size><pos>0 0 1</pos></heightmap>"
    text = (
        '<sdf version="1.9"><model name="m"><static>true</static><link name="a"><collision name="c"><geometry>'
        f"{shape}</geometry></collision></link></model></sdf>"
    )
    (tmp_path / "m.sdf").write_text(text.format("hills.png"))
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModels(tmp_path / "m.sdf")
    (geometry,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("a"))
    field = scene_graph.model_inspector().GetShape(geometry)
    np.testing.assert_allclose(field.heights(), 0.5 * np.array([[200, 150, 20], [0, 50, 100]]) / 200.0)
    assert (field.width(), field.depth()) == (4.0, 2.0)
    np.testing.assert_allclose(scene_graph.model_inspector().GetPoseInFrame(geometry).translation(), [0, 0, 1])
    (tmp_path / "m.sdf").write_text(text.format("nowhere.png"))
    with pytest.raises(ParsingError, match=r"nowhere\.png. does not exist"):
        Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)[0]).AddModels(tmp_path / "m.sdf")
