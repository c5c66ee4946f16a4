"""Bad input: an error at the call that caused it says what, where and what to do; the Context stays as it was."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.math import SpatialForce, SpatialVelocity
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    ExternallyAppliedSpatialForce,
    MultibodyPlant,
)
from merganser.multibody.tree import (
    BallRpyJoint,
    BodyIndex,
    FixedOffsetFrame,
    Frame,
    JacobianWrtVariable,
    Joint,
    MultibodyForces,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RevoluteSpring,
    RigidBody,
    RpyFloatingJoint,
    ScrewJoint,
    SpatialInertia,
    UniversalJoint,
)

NAN, INF = np.nan, np.inf
KV = JacobianWrtVariable.kV
X = RigidTransform()


def robot(name: str, is_final: bool = True) -> SimpleNamespace:
    """Model instance "arm" (index 2): joints "shoulder" and "elbow", actuator "motor", a free body "box"; a Context."""
    plant = MultibodyPlant(0.0)
    plant.set_name(name)
    arm = plant.AddModelInstance("arm")
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3)
    upper, lower, box = (plant.AddRigidBody(body, arm, inertia) for body in ("upper", "lower", "box"))
    tip = plant.AddFrame(FixedOffsetFrame("tip", upper.body_frame(), RigidTransform([0.0, 0.0, -0.3])))
    shoulder = plant.AddJoint(RevoluteJoint("shoulder", plant.world_frame(), upper.body_frame(), [0, 1, 0]))
    elbow = plant.AddJoint(RevoluteJoint("elbow", tip, lower.body_frame(), [0, 1, 0], damping=0.1))
    motor = plant.AddJointActuator("motor", shoulder)
    spring = plant.AddForceElement(RevoluteSpring(elbow, 0.0, 3.0))
    context = None
    if is_final:
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.get_actuation_input_port().FixValue(context, [0.0])
    return SimpleNamespace(plant=plant, context=context, arm=arm, lower=lower, box=box, tip=tip, elbow=elbow,
                           motor=motor, spring=spring, shoulder=shoulder, W=plant.world_frame())  # fmt: skip


@pytest.fixture(scope="module")
def r() -> SimpleNamespace:
    return robot("robot")


@pytest.fixture(scope="module")
def other() -> SimpleNamespace:
    return robot("other")


def refused(r: SimpleNamespace, call: Any, kind: Any, *parts: str) -> None:
    """The call raises an error whose message has all parts, and changes no number of the Context."""
    before = r.context.store.flat.copy()
    with pytest.raises(kind) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), f"{part!r} is not in {str(caught.value)!r}"
    np.testing.assert_array_equal(r.context.store.flat, before)


# -- singular mass matrices ------------------------------------------------------------------------


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize(
    "make, described",
    [
        (lambda F, M: RevoluteJoint("j", F, M, [0, 1, 0]), "joint 'j' (revolute)"),
        (lambda F, M: PrismaticJoint("j", F, M, [0, 1, 0]), "joint 'j' (prismatic)"),
        (lambda F, M: ScrewJoint("j", F, M, [0, 1, 0], 0.1, 0.0), "joint 'j' (screw)"),
        (lambda F, M: UniversalJoint("j", F, M), "joint 'j' (universal)"),
        (lambda F, M: PlanarJoint("j", F, M), "joint 'j' (planar)"),
        (lambda F, M: BallRpyJoint("j", F, M), "joint 'j' (ball_rpy)"),
        (lambda F, M: RpyFloatingJoint("j", F, M), "joint 'j' (rpy_floating)"),
        (lambda F, M: QuaternionFloatingJoint("j", F, M), "joint 'j' (quaternion_floating)"),
    ],
)
def test_massless_last_body_names_body_and_joint_where_dynamics_are_asked_for(time_step, make, described):
    plant = MultibodyPlant(time_step)
    plant.set_name("robot")
    base = plant.AddRigidBody("base", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    leaf = plant.AddRigidBody("leaf", SpatialInertia.Zero())
    plant.AddJoint(make(base.body_frame(), leaf.body_frame()))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.CalcMassMatrix(context)
    with pytest.raises(RuntimeError, match=r"mass matrix of plant '::robot' is singular") as caught:
        plant.EvalTimeDerivatives(context) if time_step == 0.0 else plant.ExecuteForcedEvents(context)
    for part in ("body 'leaf'", described, "Give the body mass and inertia"):
        assert part in str(caught.value)


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_inertia_of_nan_is_for_contexts_to_give_and_dynamics_refuse_it_until_then(time_step):
    plant = MultibodyPlant(time_step)
    plant.set_name("robot")
    arm = plant.AddRigidBody("arm", SpatialInertia.NaN())
    plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), arm.body_frame(), [0, 1, 0]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    assert np.isnan(plant.CalcMassMatrix(context)).all()
    assert plant.EvalBodyPoseInWorld(context, arm).IsExactlyIdentity()
    with pytest.raises(RuntimeError, match=r"'::robot' has no dynamics at time 0.0 s: .* 'arm' holds NaN"):
        plant.EvalTimeDerivatives(context) if time_step == 0.0 else plant.ExecuteForcedEvents(context)
    arm.SetSpatialInertiaInBodyFrame(context, SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.EvalTimeDerivatives(context) if time_step == 0.0 else plant.ExecuteForcedEvents(context)


@pytest.mark.parametrize("approximation", list(DiscreteContactApproximation.__members__))
def test_a_massless_body_is_an_error_with_and_without_contact(approximation):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    plant.set_name("robot")
    plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    base = plant.AddRigidBody("base", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    leaf = plant.AddRigidBody("leaf", SpatialInertia.Zero())
    plant.AddJoint(RevoluteJoint("j", base.body_frame(), leaf.body_frame(), [0, 1, 0]))
    friction = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(plant.world_body(), X, HalfSpace(), "ground", friction)
    plant.RegisterCollisionGeometry(leaf, RigidTransform([0.2, 0.0, 0.0]), Sphere(0.1), "foot", friction)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    plant.SetFreeBodyPose(plant.GetMyMutableContextFromRoot(context), base, RigidTransform([0.0, 0.0, 0.09]))
    with pytest.raises(RuntimeError, match=r"'::Diagram::robot' is singular.*body 'leaf'.*joint 'j'"):
        diagram.ExecuteForcedEvents(context)


def test_point_mass_that_turns_about_itself_is_refused_and_massless_weld_is_not():
    plant = MultibodyPlant(0.0)
    point = plant.AddRigidBody("point", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), point.body_frame(), [0, 1, 0]))
    plant.Finalize()
    with pytest.raises(RuntimeError, match=r"body 'point'.*joint 'pin'"):
        plant.EvalTimeDerivatives(plant.CreateDefaultContext())
    plant = MultibodyPlant(0.0)
    base = plant.AddRigidBody("base", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    plant.WeldFrames(base.body_frame(), plant.AddRigidBody("leaf").body_frame())
    plant.Finalize()
    plant.EvalTimeDerivatives(plant.CreateDefaultContext())


# -- after Finalize() ------------------------------------------------------------------------------


LATE = {
    "AddModelInstance": lambda r: r.plant.AddModelInstance("late"),
    "AddRigidBody": lambda r: r.plant.AddRigidBody("late", r.arm, SpatialInertia.Zero()),
    "AddFrame": lambda r: r.plant.AddFrame(FixedOffsetFrame("late", r.W, X)),
    "AddJoint": lambda r: r.plant.AddJoint(RevoluteJoint("late", r.W, r.box.body_frame(), [0, 1, 0])),
    "WeldFrames": lambda r: r.plant.WeldFrames(r.W, r.box.body_frame()),
    "AddJointActuator": lambda r: r.plant.AddJointActuator("late", r.elbow),
    "AddForceElement": lambda r: r.plant.AddForceElement(RevoluteSpring(r.elbow, 0.0, 1.0)),
    "SetSurfaceVelocityAxis": lambda r: r.plant.SetSurfaceVelocityAxis(r.box, [0, 1, 0]),
    "RemoveJoint": lambda r: r.plant.RemoveJoint(r.elbow),
    "RemoveJointActuator": lambda r: r.plant.RemoveJointActuator(r.motor),
    "set_gravity_enabled": lambda r: r.plant.set_gravity_enabled(r.arm, False),
    "Finalize": lambda r: r.plant.Finalize(),
}


@pytest.mark.parametrize("caller", LATE)
def test_changes_after_finalize_name_the_function_and_the_plant(r, caller):
    refused(r, lambda: LATE[caller](r), RuntimeError, f"{caller}()", "plant '::robot' is finalized", "Finalize()")
    assert r.plant.num_joints() == 3


def test_late_joint_is_named(r):
    refused(r, lambda: LATE["AddJoint"](r), RuntimeError, "RevoluteJoint name='late'")


@pytest.mark.parametrize("function", ["num_positions", "num_velocities", "num_actuated_dofs"])
def test_sizes_before_finalize_name_the_function_and_the_plant(function):
    plant = robot("robot", is_final=False).plant
    with pytest.raises(RuntimeError, match=rf"{function}\(\): call Finalize\(\) of plant '::robot' first"):
        getattr(plant, function)()


# -- elements of another plant ---------------------------------------------------------------------


WITH_ELEMENTS = {  # of p or of o: calls with one argument from another plant
    "EvalBodyPoseInWorld": lambda r, o: r.plant.EvalBodyPoseInWorld(r.context, o.box),
    "EvalBodySpatialVelocityInWorld": lambda r, o: r.plant.EvalBodySpatialVelocityInWorld(r.context, o.box),
    "EvalBodySpatialAccelerationInWorld": lambda r, o: r.plant.EvalBodySpatialAccelerationInWorld(r.context, o.box),
    "GetSurfaceVelocityAxis": lambda r, o: r.plant.GetSurfaceVelocityAxis(o.box),
    "CalcRelativeTransform": lambda r, o: r.plant.CalcRelativeTransform(r.context, r.W, o.tip),
    "CalcRelativeRotationMatrix": lambda r, o: r.plant.CalcRelativeRotationMatrix(r.context, o.tip, r.W),
    "CalcPointsPositions": lambda r, o: r.plant.CalcPointsPositions(r.context, o.tip, [0, 0, 0], r.W),
    "CalcPointsVelocities": lambda r, o: r.plant.CalcPointsVelocities(r.context, r.tip, [0, 0, 0], o.W, r.W),
    "CalcJacobianSpatialVelocity": lambda r, o: r.plant.CalcJacobianSpatialVelocity(
        r.context, KV, o.tip, [0, 0, 0], r.W, r.W
    ),
    "CalcJacobianAngularVelocity": lambda r, o: r.plant.CalcJacobianAngularVelocity(r.context, KV, r.tip, o.W, r.W),
    "CalcJacobianTranslationalVelocity": lambda r, o: r.plant.CalcJacobianTranslationalVelocity(
        r.context, KV, r.tip, [0, 0, 0], r.W, o.W
    ),
    "CalcJacobianPositionVector": lambda r, o: r.plant.CalcJacobianPositionVector(
        r.context, o.tip, [0, 0, 0], r.W, r.W
    ),
    "CalcBiasSpatialAcceleration": lambda r, o: r.plant.CalcBiasSpatialAcceleration(
        r.context, KV, o.tip, [0, 0, 0], r.W, r.W
    ),
    "CalcBiasTranslationalAcceleration": lambda r, o: r.plant.CalcBiasTranslationalAcceleration(
        r.context, KV, r.tip, [0, 0, 0], r.W, o.W
    ),
    "CalcJacobianCenterOfMassTranslationalVelocity": (
        lambda r, o: r.plant.CalcJacobianCenterOfMassTranslationalVelocity(r.context, KV, o.W, r.W)
    ),
    "CalcBiasCenterOfMassTranslationalAcceleration": (
        lambda r, o: r.plant.CalcBiasCenterOfMassTranslationalAcceleration(r.context, KV, r.W, o.W)
    ),
    "CalcSpatialInertia": lambda r, o: r.plant.CalcSpatialInertia(r.context, o.W, [BodyIndex(1)]),
    "SetFreeBodyPose": lambda r, o: r.plant.SetFreeBodyPose(r.context, o.box, X),
    "GetFreeBodyPose": lambda r, o: r.plant.GetFreeBodyPose(r.context, o.box),
    "SetFreeBodySpatialVelocity": lambda r, o: r.plant.SetFreeBodySpatialVelocity(
        r.context, o.box, SpatialVelocity.Zero()
    ),
    "SetDefaultFloatingBaseBodyDamping": lambda r, o: r.plant.SetDefaultFloatingBaseBodyDamping(o.box, 1.0),
    "SetDefaultFloatingBaseBodyArmature": lambda r, o: r.plant.SetDefaultFloatingBaseBodyArmature(o.box, 1.0),
    "SetDefaultFloatingBaseBodyPose": lambda r, o: r.plant.SetDefaultFloatingBaseBodyPose(o.box, X),
    "GetDefaultFloatingBaseBodyPose": lambda r, o: r.plant.GetDefaultFloatingBaseBodyPose(o.box),
    "GetBodiesWeldedTo": lambda r, o: r.plant.GetBodiesWeldedTo(o.box),
    "IsAnchored": lambda r, o: r.plant.IsAnchored(o.box),
}


@pytest.mark.parametrize("caller", WITH_ELEMENTS)
def test_elements_of_another_plant_are_refused_with_both_plants(r, other, caller):
    parts = (f"{caller}()", "name='", "to plant '::other'", "not to plant '::robot'")
    refused(r, lambda: WITH_ELEMENTS[caller](r, other), RuntimeError, *parts)


def test_every_function_of_bodies_and_frames_is_in_that_list():
    """Functions of a plant are found by their annotations. Others build the plant, or call one of the list."""
    others = {
        "SetDefaultFreeBodyPose", "GetDefaultFreeBodyPose", "SetFloatingBaseBodyPoseInWorldFrame",
        "SetFloatingBaseBodyPoseInAnchoredFrame", "WeldFrames", "SetSurfaceVelocityAxis",
    }  # fmt: skip
    kinds = {kind.__name__ for kind in (RigidBody, Frame)}
    found = set()
    for name, function in inspect.getmembers(MultibodyPlant, inspect.isfunction):
        if name[0].isupper() and not name.startswith("Add") and "Geometr" not in name:
            annotations = {str(p.annotation) for p in inspect.signature(function).parameters.values()}
            if kinds & annotations:
                found.add(name)
    assert found - others <= set(WITH_ELEMENTS)


BUILDING = {
    "AddFrame": lambda p, r: p.AddFrame(FixedOffsetFrame("x", r.W, X)),
    "AddJoint": lambda p, r: p.AddJoint(RevoluteJoint("x", p.world_frame(), r.box.body_frame(), [0, 1, 0])),
    "AddJointActuator": lambda p, r: p.AddJointActuator("x", r.elbow),
    "AddForceElement": lambda p, r: p.AddForceElement(RevoluteSpring(r.elbow, 0.0, 1.0)),
    "SetSurfaceVelocityAxis": lambda p, r: p.SetSurfaceVelocityAxis(r.box, [0, 1, 0]),
    "RemoveJoint": lambda p, r: p.RemoveJoint(r.elbow),
    "RemoveJointActuator": lambda p, r: p.RemoveJointActuator(r.motor),
}


@pytest.mark.parametrize("caller", BUILDING)
def test_building_with_elements_of_another_plant_is_refused(r, caller):
    plant = robot("new", is_final=False).plant
    counts = plant.num_joints(), plant.num_frames(), plant.num_actuators(), plant.num_force_elements()
    refused(r, lambda: BUILDING[caller](plant, r), RuntimeError, f"{caller}()", "::robot", "::new")
    assert counts == (plant.num_joints(), plant.num_frames(), plant.num_actuators(), plant.num_force_elements())


WITH_CONTEXT = {
    "plant": lambda r, c: r.plant.CalcMassMatrix(c),
    "SetPositions": lambda r, c: r.plant.SetPositions(c, np.zeros(9)),
    "body": lambda r, c: r.box.EvalPoseInWorld(c),
    "mass": lambda r, c: r.box.SetMass(c, 2.0),
    "frame": lambda r, c: r.tip.CalcPoseInWorld(c),
    "frame pose": lambda r, c: r.tip.SetPoseInParentFrame(c, X),
    "joint": lambda r, c: r.elbow.get_angle(c),
    "set joint": lambda r, c: r.elbow.set_angle(c, 0.3),
    "lock": lambda r, c: r.elbow.Lock(c),
    "damping": lambda r, c: r.elbow.SetDamping(c, 0.3),
    "actuator": lambda r, c: r.motor.SetGearRatio(c, 2.0),
    "spring": lambda r, c: r.spring.SetStiffness(c, 2.0),
    "gravity": lambda r, c: r.plant.gravity_field().SetGravityVector(c, [0, 0, 1]),
}


@pytest.mark.parametrize("what", WITH_CONTEXT)
def test_context_of_another_plant_is_refused(r, other, what):
    refused(other, lambda: WITH_CONTEXT[what](r, other.context), ValueError, "'::robot'", "'::other'", "GetMyContext")


# -- indices and names -----------------------------------------------------------------------------


INDICES = {
    "body": (lambda p: p.get_body, 4),
    "frame": (lambda p: p.get_frame, 5),
    "joint": (lambda p: p.get_joint, 3),
    "joint actuator": (lambda p: p.get_joint_actuator, 1),
    "force element": (lambda p: p.get_force_element, 2),
    "model instance": (lambda p: p.GetModelInstanceName, 3),
}


@pytest.mark.parametrize("index", [99, -1])
@pytest.mark.parametrize("what", INDICES)
def test_index_out_of_range_says_how_many_there_are(r, what, index):
    get, count = INDICES[what]
    parts = (f"no {what} with index {index} in plant '::robot'", f"it has {count}")
    refused(r, lambda: get(r.plant)(index), RuntimeError, *parts)


OF_INSTANCES = {
    "GetPositions": lambda r: r.plant.GetPositions(r.context, 99),
    "SetPositions": lambda r: r.plant.SetPositions(r.context, 99, [0.0]),
    "SetVelocities": lambda r: r.plant.SetVelocities(r.context, 99, [0.0]),
    "get_actuation_input_port": lambda r: r.plant.get_actuation_input_port(99),
    "get_desired_state_input_port": lambda r: r.plant.get_desired_state_input_port(99),
    "get_state_output_port": lambda r: r.plant.get_state_output_port(99),
    "GetBodyIndices": lambda r: r.plant.GetBodyIndices(99),
    "GetJointIndices": lambda r: r.plant.GetJointIndices(99),
    "num_positions": lambda r: r.plant.num_positions(99),
    "HasBodyNamed": lambda r: r.plant.HasBodyNamed("x", 99),
    "GetPositionNames": lambda r: r.plant.GetPositionNames(99),
    "CalcTotalMass": lambda r: r.plant.CalcTotalMass(r.context, [99]),
    "is_gravity_enabled": lambda r: r.plant.is_gravity_enabled(99),
    "GetActuationFromArray": lambda r: r.plant.GetActuationFromArray(99, [0.0]),
    "HasUniqueFloatingBaseBody": lambda r: r.plant.HasUniqueFloatingBaseBody(99),
}


@pytest.mark.parametrize("function", OF_INSTANCES)
def test_model_instance_out_of_range_is_refused_everywhere(r, function):
    parts = "no model instance with index 99", "::robot", "it has 3"
    refused(r, lambda: OF_INSTANCES[function](r), RuntimeError, *parts)


def test_joints_out_of_range_are_refused_in_lists(r):
    for call in (r.plant.MakeStateSelectorMatrix, r.plant.GetBodiesKinematicallyAffectedBy):
        refused(r, lambda call=call: call([99]), RuntimeError, "no joint with index 99", "::robot")


def test_names_that_do_not_exist_bring_near_ones(r):
    p = r.plant
    for get, wrong, near in (
        (p.GetBodyByName, "boxx", "'box'"),
        (p.GetFrameByName, "tipp", "'tip'"),
        (p.GetJointByName, "elbo", "'elbow'"),
        (p.GetJointActuatorByName, "moto", "'motor'"),
        (p.GetModelInstanceByName, "arn", "'arm'"),
    ):
        refused(r, lambda get=get, wrong=wrong: get(wrong), RuntimeError, f"'{wrong}'", "Did you mean", near)


# -- values that are not finite --------------------------------------------------------------------


@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize(
    "call",
    [
        lambda r, bad: r.plant.SetPositions(r.context, np.full(9, bad)),
        lambda r, bad: r.plant.SetPositions(r.context, r.arm, np.full(9, bad)),
        lambda r, bad: r.plant.SetVelocities(r.context, np.full(8, bad)),
        lambda r, bad: r.plant.SetPositionsAndVelocities(r.context, np.full(17, bad)),
        lambda r, bad: r.plant.SetFreeBodySpatialVelocity(r.context, r.box, SpatialVelocity(np.full(6, bad))),
        lambda r, bad: r.plant.CalcInverseDynamics(r.context, np.full(8, bad), MultibodyForces(r.plant)),
        lambda r, bad: r.plant.CalcSpatialAccelerationsFromVdot(r.context, np.full(8, bad)),
        lambda r, bad: r.plant.MapVelocityToQDot(r.context, np.full(8, bad)),
        lambda r, bad: r.plant.MapQDotToVelocity(r.context, np.full(9, bad)),
        lambda r, bad: r.elbow.set_angle(r.context, bad),
        lambda r, bad: r.elbow.set_angular_rate(r.context, bad),
    ],
)
def test_states_and_accelerations_must_be_finite(r, call, bad):
    refused(r, lambda: call(r, bad), ValueError, "'::robot'", "must be finite", str(bad))


@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize("port", ["actuation", "arm_actuation", "applied_generalized_force"])
def test_inputs_that_are_not_finite_are_named_by_port(r, port, bad):
    context = r.plant.CreateDefaultContext()
    r.plant.get_actuation_input_port().FixValue(context, [0.0])
    r.plant.GetInputPort(port).FixValue(context, np.full(r.plant.GetInputPort(port).size(), bad))
    with pytest.raises(RuntimeError, match=rf"Input port '{port}' .* of system '::robot' .*{bad}"):
        r.plant.EvalTimeDerivatives(context)


@pytest.mark.parametrize(
    "body_index, F, expected",
    [
        (3, SpatialForce(np.full(6, NAN)), "body 'box' that is not finite"),
        (33, SpatialForce(np.zeros(6)), "a force on body 33, but the plant has 4 bodies"),
        (-1, SpatialForce(np.zeros(6)), "a force on body -1"),
    ],
)
def test_applied_forces_that_make_no_sense_are_named(r, body_index, F, expected):
    context = r.plant.CreateDefaultContext()
    r.plant.get_actuation_input_port().FixValue(context, [0.0])
    force = ExternallyAppliedSpatialForce(BodyIndex(body_index) if body_index >= 0 else BodyIndex(), np.zeros(3), F)
    r.plant.get_applied_spatial_force_input_port().FixValue(context, [force])
    with pytest.raises(RuntimeError, match=rf"'applied_spatial_force' .*'::robot'.*{re.escape(expected)}"):
        r.plant.EvalTimeDerivatives(context)


def test_parameters_must_make_sense(r):
    c = r.context
    for call, name in (
        (lambda: r.box.SetMass(c, NAN), "body 'box'"),
        (lambda: r.box.SetMass(c, -1.0), "body 'box'"),
        (lambda: r.box.SetCenterOfMassInBodyFrame(c, [NAN, 0, 0]), "body 'box'"),
        (lambda: r.elbow.SetDampingVector(c, [NAN]), "joint 'elbow'"),
        (lambda: r.elbow.SetDampingVector(c, [-1.0]), "joint 'elbow'"),
        (lambda: r.motor.SetGearRatio(c, NAN), "'motor'"),
        (lambda: r.motor.SetRotorInertia(c, NAN), "'motor'"),
        (lambda: r.plant.gravity_field().SetGravityVector(c, [NAN, 0, 0]), "finite"),
    ):
        refused(r, call, (ValueError, RuntimeError), name)


# -- wrong sizes -----------------------------------------------------------------------------------


SIZES = {
    "SetPositions": (lambda r: r.plant.SetPositions(r.context, np.zeros(4)), "size 9", "(4,)"),
    "SetPositions of arm": (lambda r: r.plant.SetPositions(r.context, r.arm, np.zeros(4)), "size 9", "(4,)"),
    "SetVelocities": (lambda r: r.plant.SetVelocities(r.context, np.zeros(4)), "size 8", "(4,)"),
    "SetPositionsAndVelocities": (lambda r: r.plant.SetPositionsAndVelocities(r.context, [0]), "size 17", "(1,)"),
    "CalcInverseDynamics": (
        lambda r: r.plant.CalcInverseDynamics(r.context, np.zeros(3), MultibodyForces(r.plant)), "size 8", "(3,)"
    ),
    "MapVelocityToQDot": (lambda r: r.plant.MapVelocityToQDot(r.context, np.zeros(3)), "size 8", "(3,)"),
    "MapQDotToVelocity": (lambda r: r.plant.MapQDotToVelocity(r.context, np.zeros(3)), "size 9", "(3,)"),
    "GetPositionsFromArray": (lambda r: r.plant.GetPositionsFromArray(r.arm, np.zeros(3)), "size 9", "(3,)"),
    "FixValue": (lambda r: r.plant.get_actuation_input_port().FixValue(r.context, [1, 2]), "size 1", "(2,)"),
    "set_angle": (lambda r: r.elbow.set_angle(r.context, [1.0, 2.0]), "joint 'elbow'", "(2,)"),
    "set_angular_rate": (lambda r: r.shoulder.set_angular_rate(r.context, [1.0, 2.0]), "joint 'shoulder'", "(2,)"),
}  # fmt: skip


@pytest.mark.parametrize("what", SIZES)
def test_wrong_sizes_say_what_was_expected_and_given(r, what):
    call, *parts = SIZES[what]
    refused(r, lambda: call(r), ValueError, "'::robot'", *parts)


TOO_SMALL = MultibodyForces(2, 3)
WITH_FORCES = {
    "CalcInverseDynamics": lambda r: r.plant.CalcInverseDynamics(r.context, np.zeros(8), TOO_SMALL),
    "CalcGeneralizedForces": lambda r: r.plant.CalcGeneralizedForces(r.context, TOO_SMALL),
    "CalcForceElementsContribution": lambda r: r.plant.CalcForceElementsContribution(r.context, TOO_SMALL),
    "AddInForceInWorld": lambda r: r.box.AddInForceInWorld(r.context, SpatialForce.Zero(), TOO_SMALL),
    "GetForceInWorld": lambda r: r.box.GetForceInWorld(r.context, TOO_SMALL),
    "AddInOneForce": lambda r: r.elbow.AddInOneForce(r.context, 0, 1.0, TOO_SMALL),
    "AddInDamping": lambda r: r.elbow.AddInDamping(r.context, TOO_SMALL),
}


@pytest.mark.parametrize("caller", WITH_FORCES)
def test_forces_for_a_plant_of_other_size_are_refused_untouched(r, caller):
    parts = (f"{caller}()", "for 2 bodies and 3 velocities", "'::robot' has 4 and 8", "MultibodyForces(plant)")
    refused(r, lambda: WITH_FORCES[caller](r), ValueError, *parts)
    assert not TOO_SMALL._F_Bo_W.any() and not TOO_SMALL._tau.any()


@pytest.mark.parametrize("make", [PlanarJoint, UniversalJoint, BallRpyJoint, RpyFloatingJoint, QuaternionFloatingJoint])
def test_setters_of_joints_refuse_wrong_sizes_and_nan(make):
    """Every set_ function of one vector: with one number too many, and with NaN."""
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
    joint: Joint = plant.AddJoint(make("joint", plant.world_frame(), body.body_frame()))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    robot_of_joint = SimpleNamespace(context=context)
    setters = [n for n in dir(joint) if re.fullmatch(r"set_(angles|angular_rates|rotation|\w+_velocity)", n)]
    assert setters
    for name in setters:
        function = getattr(joint, name)
        for value in (np.ones(7), np.nan if name in ("set_rotation",) else np.full(7, np.nan)):
            refused(robot_of_joint, lambda f=function, v=value: f(context, v), ValueError)
        for size in (1, 2, 3):  # the right one of these is refused for NaN alone
            refused(robot_of_joint, lambda f=function, n=size: f(context, np.full(n, np.nan)), ValueError)
