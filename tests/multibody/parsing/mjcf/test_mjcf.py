"""MJCF documents: bodies, joints, classes, replicas, actuators, constraints, contact, reports and errors."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RollPitchYaw
from merganser.geometry import SceneGraph
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import ForceElementIndex, MultibodyForces
from tests.support.mjcf_documents import DOCUMENTS, write_files

GRIPPER = Path(__file__).parents[4] / "examples" / "models" / "gripper.xml"


def read_scene(text: str, prefix: str = "") -> tuple[MultibodyPlant, SceneGraph]:
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant, prefix).AddModelsFromString(text, "xml")
    return plant, scene_graph


def read(text: str, prefix: str = "") -> MultibodyPlant:
    return read_scene(text, prefix)[0]


def names(elements) -> list[str]:
    return [element.name() for element in elements]


def bodies(plant: MultibodyPlant) -> list:
    return [plant.get_body(i) for i in range(1, plant.num_bodies())]


def joints(plant: MultibodyPlant) -> list:
    return [plant.get_joint(i) for i in plant.GetJointIndices()]


def actuators(plant: MultibodyPlant) -> list:
    return [plant.get_joint_actuator(i) for i in plant.GetJointActuatorIndices()]


def world(inside: str, before: str = "", after: str = "") -> str:
    return f'<mujoco model="m">\n{before}\n<worldbody>\n{inside}\n</worldbody>\n{after}\n</mujoco>'


ONE = '<body name="a"><joint name="j"/><geom size="0.1" pos="1 0 0"/></body>'


# ---------------------------------------------------------------------- bodies and joints


def test_bodies_and_joints_have_the_names_that_pydrake_gives_them():
    plant, scene_graph = read_scene(DOCUMENTS["joints"])
    assert names(bodies(plant)) == ["a", "a0", "a1", "body4", "w", "f", "d", "body8"]
    assert names(joints(plant)) == ["s1", "a0-a1", "h", "ball", "body4_welds_to_w", "world_welds_to_body8"]
    assert [j.type_name() for j in joints(plant)][:4] == ["prismatic", "revolute", "revolute", "ball_quaternion"]
    assert [(j.parent_body().name(), j.child_body().name()) for j in joints(plant)[:3]] == [
        ("world", "a0"), ("a0", "a1"), ("a1", "a")
    ]  # fmt: skip
    inspector = scene_graph.model_inspector()
    shapes = [inspector.GetName(g) for g in plant.GetVisualGeometriesForBody(plant.GetBodyByName("a"))]
    assert shapes == ["joints::geom0", "joints::geom1"]
    assert len(plant.GetVisualGeometriesForBody(plant.world_body())) == 1  # group 4 is not drawn
    assert len(plant.GetCollisionGeometriesForBody(plant.world_body())) == 2


def test_a_joint_at_its_reference_is_as_the_file_puts_it():
    plant = read(DOCUMENTS["joints"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    np.testing.assert_array_equal(plant.GetJointByName("s1").default_positions(), [0.5])
    X_WA = plant.GetBodyByName("a").EvalPoseInWorld(context)
    np.testing.assert_allclose(X_WA.translation(), [1.0, 0.0, 0.0], atol=1e-15)
    # Intrinsic turns about x, y, z.
    turns = [RollPitchYaw(*angles).ToRotationMatrix() for angles in ((0.1, 0, 0), (0, 0.2, 0), (0, 0, 0.3))]
    np.testing.assert_allclose(X_WA.rotation().matrix(), (turns[0] @ turns[1] @ turns[2]).matrix(), atol=1e-15)


def test_spring_limits_and_armature_of_a_joint_are_its_own():
    plant = read(DOCUMENTS["joints"])
    hinge = plant.GetJointByName("h")
    assert hinge.default_armature() == 0.3
    np.testing.assert_array_equal(plant.GetJointByName("a0-a1").position_lower_limits(), [-1.0])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    hinge.set_angle(context, 0.7)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    assert forces.generalized_forces()[hinge.velocity_start()] == pytest.approx(-3.0 * (0.7 - 0.3))
    with_armature = plant.CalcMassMatrix(context)[hinge.velocity_start(), hinge.velocity_start()]
    hinge.set_default_armature(0.0)
    other = plant.CreateDefaultContext()
    hinge.set_angle(other, 0.7)
    without = plant.CalcMassMatrix(other)[hinge.velocity_start(), hinge.velocity_start()]
    assert with_armature - without == pytest.approx(0.3)


BALL = '<body name="a"><joint name="j" type="ball" {}/><geom size="0.1" pos="1 0 0"/></body>'


def test_a_ball_has_a_limit_a_spring_and_armature():
    plant = read(world(BALL.format('range="0 50" stiffness="3" armature="0.2" damping="0.1" frictionloss="0.4"')))
    joint = plant.GetJointByName("j")
    assert joint.rotation_limit() == pytest.approx(np.radians(50.0))
    assert (joint.default_armature(), joint.default_damping()) == (0.2, 0.1)
    np.testing.assert_array_equal(joint.default_friction_vector(), [0.4] * 3)
    spring = plant.get_force_element(ForceElementIndex(1))
    assert spring.joint() is joint and spring.stiffness() == 3.0
    free = read(world(BALL.format('range="0 50" limited="false"'))).GetJointByName("j")
    assert free.rotation_limit() == np.inf and free.default_armature() == 0.0


def test_the_range_of_a_ball_begins_with_zero():
    with pytest.raises(ParsingError, match="which is a ball, is '10 50', but has to begin with 0"):
        read(world(BALL.format('range="10 50"')))


def test_a_camera_that_looks_at_no_body_is_refused():
    camera = '<camera name="c" mode="targetbody" target="bb"/><body name="b"><geom size=".1"/></body>'
    with pytest.raises(ParsingError, match=r"names the target 'bb', which is not a body\. Did you mean 'b'"):
        read(world(camera))


def test_a_camera_in_a_replica_looks_at_the_body_in_it():
    inside = '<body name="b"><geom size=".1"/><camera name="c" mode="targetbody" target="b" pos="1 0 0"/></body>'
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(world(f'<replicate count="2" offset="3 0 0">{inside}</replicate>'), "xml")
    cameras = parser._instruments[instance].cameras
    assert [camera.motion.bodies[0].body for camera in cameras] == ["b0", "b1"]


def test_armature_that_no_joint_can_have_is_refused():
    joint = read(world(ONE)).GetJointByName("j")
    with pytest.raises(RuntimeError, match="armature of joint 'j' must be finite and not negative, but is -1"):
        joint.set_default_armature(-1.0)


def test_a_rotor_that_changes_in_a_context_leaves_the_armature_of_the_joint():
    plant = read(world('<body name="a"><joint name="j" armature="0.2"/><geom size="0.1" pos="1 0 0"/></body>'))
    actuator = plant.AddJointActuator("own", plant.GetJointByName("j"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    before = plant.CalcMassMatrix(context)[0, 0]
    actuator.SetRotorInertia(context, 0.5)
    assert plant.CalcMassMatrix(context)[0, 0] - before == pytest.approx(0.5)


def test_free_bodies_float_where_the_file_puts_them_with_the_damping_of_their_joints():
    plant = read(DOCUMENTS["joints"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for name, height in (("f", 3.0), ("d", 5.0)):
        body = plant.GetBodyByName(name)
        assert body.is_floating_base_body()
        np.testing.assert_allclose(body.EvalPoseInWorld(context).translation(), [0.0, 0.0, height])
    np.testing.assert_array_equal(plant.GetJointByName("d").default_damping_vector(), np.full(6, 3.0))
    np.testing.assert_array_equal(plant.GetJointByName("f").default_damping_vector(), np.zeros(6))
    plant.SetDefaultFloatingBaseBodyDamping(plant.GetBodyByName("f"), 0.5)
    np.testing.assert_array_equal(plant.GetJointByName("f").default_damping_vector(), np.full(6, 0.5))
    with pytest.raises(RuntimeError, match="damping of body 'f' must be finite and not negative, but is -1"):
        plant.SetDefaultFloatingBaseBodyDamping(plant.GetBodyByName("f"), -1.0)


def test_home_key_gives_default_positions():
    plant = read(DOCUMENTS["keyframes"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    assert plant.GetJointByName("j").get_translation(context) == 0.7
    np.testing.assert_allclose(plant.GetJointByName("ball").get_quaternion(context).wxyz(), [0.6, 0.8, 0, 0])
    X_WF = plant.GetBodyByName("f").EvalPoseInWorld(context)
    np.testing.assert_allclose(X_WF.translation(), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(X_WF.rotation().matrix(), np.diag([-1.0, -1.0, 1.0]), atol=1e-15)


def test_gravity_is_that_of_the_file_if_it_is_alone_in_the_plant(caplog):
    plant = read(DOCUMENTS["joints"])
    np.testing.assert_array_equal(plant.gravity_field().gravity_vector(), [0.0, 0.0, -5.0])
    Parser(plant).AddModelsFromString(world(ONE, '<option gravity="0 0 1"/>'), "xml")
    np.testing.assert_array_equal(plant.gravity_field().gravity_vector(), [0.0, 0.0, -5.0])
    assert "gravity [0.0, 0.0, 1.0] of model 'm' is not used: the plant has other models" in caplog.text


def test_gravity_may_be_switched_off():
    plant = read(world(ONE, '<option gravity="0 0 -3"><flag gravity="disable"/></option>'))
    np.testing.assert_array_equal(plant.gravity_field().gravity_vector(), np.zeros(3))


# ---------------------------------------------------------------------- classes, replicas, other files


def test_elements_have_what_their_classes_say_unless_they_say_otherwise():
    plant = read(DOCUMENTS["classes"])
    j, k, l = (plant.GetJointByName(name) for name in "jkl")
    assert [joint.type_name() for joint in (j, k, l)] == ["prismatic", "revolute", "prismatic"]
    assert [joint.default_damping_vector()[0] for joint in (j, k, l)] == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(j.position_upper_limits(), [1.0])
    np.testing.assert_allclose(k.revolute_axis(), np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0))
    assert plant.GetBodyByName("a").default_mass() == pytest.approx(500.0 * 8.0 * 0.3 * 0.2 * 0.1)
    gains = plant.GetJointActuatorByName("p").get_controller_gains()
    assert (gains.p, gains.d) == (7.0, 2.0)


def test_replicas_and_what_refers_to_them_get_suffixes_the_innermost_first():
    plant = read(DOCUMENTS["replicas"])
    assert names(bodies(plant)) == ["b0", "c_00", "c_10", "b1", "c_01", "c_11", "q", "r", "s", "again-r"]
    assert names(actuators(plant)) == ["m0", "m1", "n_00", "n_10", "n_01", "n_11", "one"]
    assert plant.GetJointActuatorByName("one").joint().name() == "k_01"
    assert plant.GetJointActuatorByName("n_01").joint().name() == "k_01"


def test_models_in_other_files_are_attached_with_prefixes(tmp_path):
    write_files(tmp_path)
    plant = MultibodyPlant(0.0)
    assert len(Parser(plant).AddModels(tmp_path / "parent.xml")) == 1
    assert names(bodies(plant)) == [
        "extra", "base", "L-arm", "L-hand", "R-arm0", "R-hand0", "R-arm1", "R-hand1", "all-arm", "all-hand", "all-other"
    ]  # fmt: skip
    assert plant.GetJointByName("R-j1").position_upper_limits()[0] == 1.0  # radians in that file
    assert names(actuators(plant)) == ["own", "L-m", "R-m0", "R-m1", "all-m", "all-p"]
    assert plant.GetJointActuatorByName("own").joint().name() == "L-j"
    assert plant.num_coupler_constraints() == 5
    assert plant.HasFrameNamed("all-w")


def test_an_attached_model_without_a_name_of_its_own_has_that_in_its_file(tmp_path):
    write_files(tmp_path)
    attach = '<asset><model file="child.xml"/></asset><worldbody><attach model="{}" prefix="p-"/></worldbody>'
    text = (tmp_path / "child.xml").read_text()
    for name in ("child", "kid"):
        (tmp_path / "child.xml").write_text(text.replace('model="child"', f'model="{name}"'))
        (tmp_path / "m.xml").write_text(f"<mujoco>{attach.format(name)}</mujoco>")
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModels(tmp_path / "m.xml")
        assert plant.HasBodyNamed("p-arm")


def test_static_bodies_are_fused_where_the_file_asks_for_it():
    plant = read(DOCUMENTS["fused"])
    assert names(bodies(plant)) == ["a", "c", "kept"]
    water = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    assert plant.GetBodyByName("a").default_mass() == pytest.approx(water + 2.0)
    frame = plant.GetFrameByName("t")
    assert frame.body() is plant.world_body()
    np.testing.assert_allclose(frame.GetFixedPoseInBodyFrame().translation(), [0.0, 0.0, 1.0])


def test_sites_are_frames_and_give_way_to_bodies_of_their_name(caplog):
    inside = '<body name="a" pos="1 0 0"><site name="a" pos="0 0 1"/><site name="tip" euler="90 0 0"/><site/></body>'
    plant = read(world(inside))
    assert plant.GetFrameByName("a_1").GetFixedPoseInBodyFrame().translation().tolist() == [0.0, 0.0, 1.0]
    R = plant.GetFrameByName("tip").GetFixedPoseInBodyFrame().rotation().matrix()
    np.testing.assert_allclose(R, [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)
    assert "line 4: <site> has the name of another frame" in caplog.text


def test_a_model_is_added_beside_others_under_prefixes_and_in_directives(tmp_path):
    plant = read(DOCUMENTS["actuators"], prefix="left")
    Parser(plant, "right").AddModelsFromString(DOCUMENTS["actuators"], "xml")
    (tmp_path / "m.xml").write_text(world(ONE))
    (tmp_path / "all.dmd.yaml").write_text(
        "directives:\n- add_model: { name: third, file: m.xml, default_joint_positions: { j: [0.4] } }\n"
    )
    Parser(plant).AddModels(tmp_path / "all.dmd.yaml")
    for name in ("left::actuators", "right::actuators"):
        assert plant.GetJointByName("k", plant.GetModelInstanceByName(name)).type_name() == "prismatic"
    third = plant.GetModelInstanceByName("third")
    np.testing.assert_array_equal(plant.GetJointByName("j", third).default_positions(), [0.4])


def test_a_model_without_a_name_has_that_of_its_file(tmp_path):
    (tmp_path / "crane.xml").write_text("<mujoco/>")
    plant = MultibodyPlant(0.0)
    (instance,) = Parser(plant).AddModels(tmp_path / "crane.xml")
    assert plant.GetModelInstanceName(instance) == "crane"


# ---------------------------------------------------------------------- actuators and constraints


def test_actuators_are_motors_and_pd_controllers_in_terms_of_the_joint():
    plant = read(DOCUMENTS["actuators"])
    by_name = {actuator.name(): actuator for actuator in actuators(plant)}
    numbered = ["motor9", "motor10", "q_x", "q_y", "q_z", *(f"motor{n}" for n in range(14, 18))]
    assert list(by_name) == [*"mwtpvgoud", *numbered]
    m, p, v, g = (by_name[name] for name in "mpvg")
    assert m.effort_limit() == 3.0 and not m.has_controller()  # gear 3, control 1
    assert m.default_reflected_inertia() == pytest.approx(0.2) and m.default_gear_ratio() == 3.0
    assert p.get_controller_gains().p == pytest.approx(16.0)  # kp gear^2
    assert (v.get_controller_gains().p, v.get_controller_gains().d) == (0.0, 18.0)
    assert v.effort_limit() == 9.0  # of the joint, less than 5 times gear 3
    assert (g.get_controller_gains().p, g.get_controller_gains().d) == (2.0 * 9.0, 1.0 * 9.0)
    assert plant.GetJointByName("j").default_armature() == 0.0  # it is the rotor of m


def test_damping_ratio_is_that_of_the_mass_that_the_actuator_moves():
    inside = '<body><joint name="j" type="slide"/><geom size="0.1" mass="3"/></body>'
    position = '<actuator><position name="p" joint="j" kp="{}" dampratio="0.5" gear="2"/></actuator>'
    gains = read(world(inside, after=position.format(4))).GetJointActuatorByName("p").get_controller_gains()
    # 3 xdd = -p x - d xd oscillates with the damping ratio d / (2 sqrt(p m)).
    assert gains.d / (2.0 * np.sqrt(gains.p * 3.0)) == pytest.approx(0.5)


def test_equalities_become_constraints_that_hold_in_the_default_configuration():
    plant = read(DOCUMENTS["equalities"])
    counts = [getattr(plant, f"num_{kind}_constraints")() for kind in ("ball", "weld", "coupler")]
    assert [*counts, plant.num_constraints()] == [2, 3, 3, 10]  # and one that locks j, and one that is no line
    plant.Finalize()
    context = plant.CreateDefaultContext()
    j, k = (plant.GetJointByName(name).get_angle(context) for name in "jk")
    assert (j, k) == (pytest.approx(np.deg2rad(10.0)), 0.0)


@pytest.mark.parametrize(
    ("equality", "k"),
    [
        ('<joint joint1="j" joint2="k" polycoef="0.1 2 0 0 0"/>', (0.5 - 0.1) / 2.0),
        ('<tendon tendon1="x" polycoef="0.2 0 0 0 0"/>', (2.0 * 0.5 - 0.2) / 3.0),
        ('<tendon tendon1="y" tendon2="z" polycoef="0.3 0.5 0 0 0"/>', (0.5 - 0.3) / 0.5 / 4.0),
    ],
)
def test_couplers_of_joints_and_tendons_hold_what_the_polynomial_says(equality, k):
    inside = """<body><joint name="j" type="slide" axis="1 0 0"/><geom size="0.1"/>
<body><joint name="k" type="slide" axis="1 0 0"/><geom size="0.1"/></body></body>"""
    tendons = """<tendon><fixed name="x"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/></fixed>
<fixed name="y"><joint joint="j" coef="1"/></fixed><fixed name="z"><joint joint="k" coef="4"/></fixed></tendon>"""
    gravity = '<option gravity="0 0 0"/>'
    text = world(inside, gravity, f"{tendons}<equality>{equality}</equality><actuator><motor joint='j'/></actuator>")
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(context, [0.0])
    plant.GetJointByName("j").set_translation(context, 0.5)
    plant.GetJointByName("j").Lock(context)
    simulator.AdvanceTo(1.0)
    assert plant.GetJointByName("k").get_translation(context) == pytest.approx(k, abs=1e-3)


def test_gripper_of_the_examples_lifts_a_ball():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    (gripper,) = Parser(plant).AddModels(GRIPPER)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(context, np.zeros(2))
    port = plant.get_desired_state_input_port(gripper)
    for lift, close, time in ((-0.22, 0.0, 0.6), (-0.22, 0.02, 1.0), (0.0, 0.02, 1.8)):
        port.FixValue(context, [lift, close, 0.0, 0.0])
        simulator.AdvanceTo(time)
    p_WBo_W = plant.GetBodyByName("ball").EvalPoseInWorld(context).translation()
    assert p_WBo_W[2] > 0.22
    fingers = [plant.GetJointByName(name).get_translation(context) for name in ("close", "close_2")]
    assert fingers[0] == pytest.approx(fingers[1], abs=1e-4)


# ---------------------------------------------------------------------- contact


def test_geometries_touch_as_bits_neighbours_exclusions_and_pairs_say():
    plant, scene_graph = read_scene(DOCUMENTS["contacts"])
    plant.Finalize()
    inspector = scene_graph.model_inspector()
    found = {
        "-".join(sorted(inspector.GetName(g).rpartition("::")[2] for g in pair))
        for pair in inspector.GetCollisionCandidates()
    }
    # arm: g1, g2; hand and tool, welded to it: g3, g4; cup: g5, g7 and, of a pair alone, g6.
    assert found == {
        "g1-ground", "g3-ground", "g5-ground", "g6-ground",  # bits 1, and the pair
        "g0-g3", "g0-g5", "g3-g5",  # bits 1; arm and base are neighbours, arm and hand, too
        "g1-g5",  # a pair, though arm and cup exclude each other
        "g4-g7",  # bits 2; g2 and g7 are of excluded bodies
    }  # fmt: skip


def test_colours_and_friction_come_from_classes_and_materials():
    before = """<asset><material name="red" rgba="1 0 0 1"/></asset><default><geom friction="0.3"/></default>"""
    inside = '<geom name="a" size="1" material="red"/><geom name="b" size="1" rgba="0 1 0 0.5" material="red"/>'
    plant, scene_graph = read_scene(world(inside, before))
    inspector = scene_graph.model_inspector()
    colours = {
        inspector.GetName(g): inspector.GetIllustrationProperties(g).GetProperty("phong", "diffuse").rgba
        for g in plant.GetVisualGeometriesForBody(plant.world_body())
    }
    np.testing.assert_array_equal(colours["a"], [1, 0, 0, 1])
    np.testing.assert_array_equal(colours["b"], [0, 1, 0, 0.5])
    (properties, _) = (
        inspector.GetProximityProperties(g) for g in plant.GetCollisionGeometriesForBody(plant.world_body())
    )
    assert properties.GetProperty("material", "coulomb_friction").static_friction() == 0.3


# ---------------------------------------------------------------------- reports and errors


def test_one_warning_lists_all_that_has_no_counterpart_with_lines(caplog):
    with caplog.at_level(logging.WARNING, "merganser.multibody.parsing"):
        read(DOCUMENTS["actuators"])
    (record,) = caplog.records
    text = record.getMessage()
    lines = DOCUMENTS["actuators"].splitlines()
    for word, what in (
        ("<velocity", "<velocity> ctrlrange: the desired speed"),
        ("<spatial", "<spatial> tendon margin has no effect"),
        ('dyntype="user"', "dyntype user is left out"),
    ):
        number = next(i for i, line in enumerate(lines, 1) if word in line)
        assert re.search(rf"line {number}: .*{re.escape(what)}|lines .*\b{number}\b.*{re.escape(what)}", text), what


def test_muscles_that_adhere_are_left_out_by_name(caplog):
    body = '<worldbody><body name="b"><freejoint/><geom size="1"/></body></worldbody>'
    with caplog.at_level(logging.WARNING, "merganser.multibody.parsing"):
        plant = read(f'<mujoco>{body}<actuator><muscle body="b"/></actuator></mujoco>')
    assert "<muscle> of a body is left out: adhesion has no length" in caplog.text and not plant.num_actuators()


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        ('<body><joint type="free" frictionloss="1"/><geom size="1"/></body>', "what floats has no friction here"),
        ('<body><joint type="ball" limited="true"/><geom size="1"/></body>', "range of no extent: it has no effect"),
        ('<body><joint type="ball" damping="1 2"/><geom size="1"/></body>', "damping with several coefficients: only"),
        ('<body><joint type="ball" stiffness="-1"/><geom size="1"/></body>', "stiffness below 0: the spring is left"),
        ('<body><joint actuatorgravcomp="true"/><geom size="1"/></body>', "<joint> actuatorgravcomp has no effect"),
        ('<body mocap="true"><geom size="1"/></body>', 'mocap="true"> is welded to the world'),
        ('<body><inertial pos="0 0 0" mass="1"/></body>', "<inertial> has neither 'diaginertia' nor 'fullinertia'"),
        ('<geom size="1" condim="6"/>', "<geom> condim has no effect: contacts are frictional"),
        ('<geom size="1" solref="0.1 1" solimp="0.9 0.9 0.1"/>', "<geom> solimp, solref have no effect"),
        ('<geom type="sdf"/>', '<geom type="sdf"> is left out'),
        ('<geom size="1" misspelt="1"/>', "<geom> misspelt has no effect"),
        ('<flexcomp name="f"/>', "<flexcomp> is left out"),
        ('<camera orthographic="true"/>', "<camera> with an orthographic projection is left out"),
        ("<thing/>", "<thing> is unknown in <worldbody>"),
        ('<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/></body>', "no body has; it is a ball of water"),
    ],
)
def test_what_is_left_out_is_reported_and_refused_by_strict_parsers(inside, what, caplog):
    read(world(inside))
    assert f"line 4: {what}" in caplog.text.replace("lines 4", "line 4") or what in caplog.text
    parser = Parser(MultibodyPlant(0.0))
    parser.SetStrictParsing()
    with pytest.raises(ParsingError, match=re.escape(what)):
        parser.AddModelsFromString(world(inside), "xml")


@pytest.mark.parametrize("harmless", ["joints", "classes", "replicas", "masses", "shells"])
def test_nothing_is_reported_where_all_has_a_counterpart(harmless, caplog):
    text = DOCUMENTS[harmless].replace('ctrlrange="-1 1"', "").replace('ctrllimited="true"', "")
    read(text)
    assert not caplog.records


ERRORS = {
    "<geom size='0'/>": "the sphere <geom> has the size [0.0], expected positive number",
    "<geom type='box' size='1 2'/>": "expected 3 positive numbers",
    "<geom type='bax' size='1'/>": "Unknown type of <geom> 'bax'. Did you mean 'box'",
    "<geom size='1 x'/>": "has 'x' where a number is expected",
    "<geom size='1' quat='0 0 0 0'/>": "which has no direction",
    "<geom size='1' euler='0 0 1' zaxis='0 0 1'/>": "has 'zaxis' and 'euler'",
    "<geom size='1' class='nope'/>": "has the unknown class 'nope'. There are: 'main'",
    "<geom type='mesh' mesh='m'/>": "names the mesh 'm', which is not an asset",
    "<geom size='1' contype='0.5'/>": "expected an integer of 32 bits",
    "<geom type='capsule' fromto='0 0 0 0 0 0' size='1'/>": "its ends have to differ",
    "<geom size='1' friction='-1'/>": "it cannot be negative",
    "<joint/>": "is in <worldbody>, but the world does not move",
    "<inertial pos='0 0 0' mass='1'/>": "the world has no mass",
    "<body name='world'/>": "cannot be named 'world'",
    "<body name='a'/><body name='a'/>": "a second body is named 'a'",
    "<body><joint axis='0 0 0'/></body>": "it needs a direction",
    "<body><joint range='1 0'/></body>": "the lower one comes first",
    "<body><joint frictionloss='-1'/></body>": "frictionloss -1; it cannot be negative",
    "<body><joint damping='-1'/></body>": "damping -1; it cannot be negative",
    "<body><joint type='twist'/></body>": "Unknown type of <joint> 'twist'",
    "<body><body><freejoint/></body></body>": "only bodies in <worldbody> may be",
    "<body><freejoint/><joint/></body>": "has other joints, too",
    "<body><inertial mass='1' diaginertia='1 1 1'/></body>": "needs an attribute 'pos'",
    "<body><inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/></body>": "a mass cannot be negative",
    "<frame scale='2'/>": "attribute 'scale' of <frame> is not supported",
    "<body childclass='nope'/>": "has the unknown childclass 'nope'",
    "<replicate count='0'/>": "attribute 'count' of <replicate> is 0",
    "<replicate count='20000'><replicate count='20000'><geom size='1'/></replicate></replicate>": "more than 20000",
    "<body name='a'><attach body='a' prefix='p'/></body>": "attaches itself",
    "<attach model='kid' prefix='p'/>": "names the model 'kid', which is not an asset",
    "<attach prefix='p'/>": "needs an attribute 'model', 'body' or 'frame'",
    "<body><geom size='1e200'/></body>": "too large to compute with",
}  # fmt: skip


@pytest.mark.parametrize("inside", ERRORS)
def test_errors_name_line_element_and_what_was_expected(inside):
    with pytest.raises(ParsingError) as error:
        read(world(inside.replace("'", '"')))
    assert str(error.value).startswith("<literal-string>.xml:4: ")
    assert ERRORS[inside] in str(error.value)


SECTIONS = {
    "<actuator><motor joint='k'/></actuator>": "<motor> names the unknown joint 'k'. There are: 'j'.",
    "<actuator><motor/></actuator>": "names no joint, tendon, site, slider-crank or body",
    "<actuator><position joint='j' kp='-1'/></actuator>": "attribute 'kp' of <position> is -1",
    "<actuator><position joint='j' kv='1' dampratio='1'/></actuator>": "has both 'kv' and 'dampratio'",
    "<actuator><general joint='j' gaintype='odd'/></actuator>": "Unknown value of attribute 'gaintype' 'odd'",
    "<actuator><motor joint='j' ctrlrange='1 -1'/></actuator>": "the lower one comes first",
    "<equality><connect body1='a'/></equality>": "needs an attribute 'anchor'",
    "<equality><connect body1='b' anchor='0 0 0'/></equality>": "<connect> names the unknown body 'b'",
    "<equality><weld body1='a' body2='a'/></equality>": "holds body 'a' at itself",
    "<contact><exclude body1='a' body2='b'/></contact>": "<exclude> names the unknown body 'b'",
    "<contact><pair geom1='g' geom2='h'/></contact>": "<pair> names the unknown geom 'g'",
    "<tendon><fixed name='t'/></tendon>": "has no <joint>",
    "<tendon><fixed><joint joint='j' coef='x'/></fixed></tendon>": "has 'x' where a number is expected",
    "<sensor><clock delay='1'/></sensor>": "has the delay 1 and nsample 0; expected a whole number",
    "<sensor><clock nsample='2' interval='1 1'/></sensor>": "the phase is from -interval to 0",
    "<sensor><clock nsample='2' delay='-1'/></sensor>": "delay and offset must not be negative",
    "<keyframe><key name='home' qpos='1 2'/></keyframe>": "has 2 values in '1 2', expected 1",
    "<compiler angle='turns'/>": "Unknown value of attribute 'angle' of <compiler> 'turns'",
    "<compiler eulerseq='xy'/>": "expected three letters out of xyzXYZ",
    "<compiler coordinate='global'/>": "Unknown value of attribute 'coordinate' 'global'",
    "<compiler inertiafromgeom='false'/>": "has no <inertial>",
    "<default><default/></default>": "needs an attribute 'class'",
    "<asset><mesh name='m' vertex='0 0 0'/></asset>": "",
    "<asset><material/></asset>": "<material> needs an attribute 'name' or 'file'",
    "<include file='other.txt'/>": "expected one that ends in .xml or .mjcf",
    "<include file='other.xml'/>": "is relative, but a model given as a string has no folder",
}  # fmt: skip


@pytest.mark.parametrize("section", [key for key, value in SECTIONS.items() if value])
def test_errors_of_other_sections_name_line_and_element(section):
    with pytest.raises(ParsingError) as error:
        read(world(ONE, after=section.replace("'", '"')))
    assert re.match(r"<literal-string>\.xml:\d+: ", str(error.value))
    assert SECTIONS[section] in str(error.value)


def test_a_document_that_is_no_mjcf_is_refused():
    with pytest.raises(ParsingError, match="starts with <mujoco>, not with <robot>"):
        read('<robot name="r"/>')


def test_files_include_each_other_once(tmp_path):
    (tmp_path / "a.xml").write_text('<mujoco>\n<include file="b.xml"/></mujoco>')
    (tmp_path / "b.xml").write_text('<mujoco>\n\n<include file="a.xml"/></mujoco>')
    with pytest.raises(ParsingError, match=r"b\.xml:3: .*a\.xml' is included already"):
        Parser(MultibodyPlant(0.0)).AddModels(tmp_path / "a.xml")


@pytest.mark.parametrize("inside", ["<geom size='1'/>", "<frame/>", ""])
def test_replicas_of_replicas_are_counted_before_they_are_made(inside):
    start = process_time()
    nested = "<replicate count='11'>" * 120 + inside + "</replicate>" * 120
    if inside:
        with pytest.raises(ParsingError, match=r"xml:4: <replicate> and <attach> make more than 20000 elements"):
            read(world(nested))
    else:
        read(world(nested))
    assert process_time() - start < 1.0


def test_attachments_in_replicas_are_counted_though_nothing_is_in_them(tmp_path):
    """So a hundred times as many are refused as soon."""
    (tmp_path / "empty.xml").write_text("<mujoco><worldbody>" + "<frame/>" * 200 + "</worldbody></mujoco>")
    path = tmp_path / "m.xml"

    def time_to_refuse(count):
        attach = f'<replicate count="{count}"><attach model="m" prefix="p"/></replicate>'
        asset = '<asset><model name="m" file="empty.xml"/></asset>'
        path.write_text(f"<mujoco>{asset}<worldbody>{attach}</worldbody></mujoco>")
        start = process_time()
        with pytest.raises(ParsingError, match="make more than 20000 elements"):
            Parser(MultibodyPlant(0.0)).AddModels(path)
        return process_time() - start

    time_to_refuse(190)
    assert time_to_refuse(19000) < 4.0 * time_to_refuse(190)


def test_models_do_not_attach_each_other(tmp_path):
    attach = '<worldbody><attach model="m" prefix="p"/></worldbody>'
    text = f'<mujoco>\n<asset><model name="m" file="{{}}"/></asset>{attach}</mujoco>'
    (tmp_path / "a.xml").write_text(text.format("b.xml"))
    (tmp_path / "b.xml").write_text(text.format("a.xml"))
    with pytest.raises(ParsingError, match=r"b\.xml:2: models attach each other: "):
        Parser(MultibodyPlant(0.0)).AddModels(tmp_path / "a.xml")
