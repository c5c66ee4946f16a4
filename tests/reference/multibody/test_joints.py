"""Joints of every type, in one mechanism: a plant computes what pydrake's plant computes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from explicit_products import as_pydrake

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

import pydrake.multibody.tree as their_tree  # noqa: E402
from joint_mechanisms import MULTI_DOF, forget_limits, library, mechanism  # noqa: E402
from reference_plants import Pair  # noqa: E402

from merganser.multibody.tree import ModelInstanceIndex  # noqa: E402

pytestmark = pytest.mark.reference
NUM_STATES = 10
PATH = (
    '<link name="rail"/><link name="cart"><inertial><origin xyz="0.1 0.2 -0.1"/><mass value="2"/><inertia ixx="0.5" '
    'iyy="0.6" izz="0.7" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link><joint name="fix" type="fixed"><parent '
    'link="world"/><child link="rail"/></joint><drake:joint name="path" type="curvilinear"><parent link="rail"/><child '
    'link="cart"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><dynamics damping="0.4"/><drake:plane_normal xyz="0 1 1"/>'
    "<drake:curves>{curves}</drake:curves>{periodic}</drake:joint>"
)
CURVES = (
    '<drake:line_segment length="0.6"/><drake:circular_arc radius="0.5" angle="-1.2"/>'
    '<drake:circular_arc radius="0.8" angle="2"/>'
)
CIRCLE = '<drake:circular_arc radius="0.5" angle="6.283185307179586"/>'


def path(lib: SimpleNamespace, curves: str, periodic: str, time_step: float = 0.0):
    plant = as_pydrake(lib.MultibodyPlant(time_step))
    text = f'<robot name="r" xmlns:drake="d">{PATH.format(curves=curves, periodic=periodic)}</robot>'
    lib.Parser(plant).AddModelsFromString(text, "urdf")
    forget_limits(plant)
    plant.Finalize()
    return plant


OURS, THEIRS = library("ours"), library("theirs")


@pytest.fixture(params=["seed 0", "seed 1", "seed 2", "path", "circle"])
def pair(request):
    if request.param.startswith("seed"):
        return Pair(*(mechanism(lib, int(request.param[-1]), 0.0) for lib in (OURS, THEIRS)))
    curves, periodic = (CURVES, "") if request.param == "path" else (CIRCLE, '<drake:is_periodic value="true"/>')
    return Pair(*(path(lib, curves, periodic) for lib in (OURS, THEIRS)))


def states(pair):
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        pair.set_state(rng.uniform(-1.2, 1.2, pair.ours.num_positions()), rng.normal(size=pair.ours.num_velocities()))
        yield rng


def assert_equal(ours, theirs, tolerance=1e-10):
    """Relative to the largest element, or to 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance)


def test_matrices_and_energies(pair):
    for _ in states(pair):
        for function in (
            "CalcMassMatrix", "CalcBiasTerm", "CalcGravityGeneralizedForces", "CalcKineticEnergy",
            "CalcPotentialEnergy",
        ):  # fmt: skip
            ours = getattr(pair.ours, function)(pair.context)
            assert_equal(ours, getattr(pair.theirs, function)(pair.their_context))


def test_motion_of_bodies(pair):
    for rng in states(pair):
        pair.fix_actuation(rng.normal(size=pair.ours.num_actuators()))
        for index in range(1, pair.ours.num_bodies()):
            mine, other = pair.ours.get_body(index), pair.theirs.get_body(their_tree.BodyIndex(index))
            X_WB = mine.EvalPoseInWorld(pair.context).GetAsMatrix4()
            assert_equal(X_WB, other.EvalPoseInWorld(pair.their_context).GetAsMatrix4())
            for function in ("EvalSpatialVelocityInWorld", "EvalSpatialAccelerationInWorld"):
                ours, theirs = getattr(mine, function)(pair.context), getattr(other, function)(pair.their_context)
                assert_equal(ours.get_coeffs(), theirs.get_coeffs(), 1e-9)


def test_dynamics_and_kinematic_map(pair):
    for rng in states(pair):
        pair.fix_actuation(rng.normal(size=pair.ours.num_actuators()))
        ours = pair.ours.EvalTimeDerivatives(pair.context).CopyToVector()
        assert_equal(ours, pair.theirs.EvalTimeDerivatives(pair.their_context).CopyToVector(), 1e-9)
        v, qdot = rng.normal(size=pair.ours.num_velocities()), rng.normal(size=pair.ours.num_positions())
        assert_equal(pair.ours.MapVelocityToQDot(pair.context, v), pair.theirs.MapVelocityToQDot(pair.their_context, v))
        ours = pair.ours.MapQDotToVelocity(pair.context, qdot)
        assert_equal(ours, pair.theirs.MapQDotToVelocity(pair.their_context, qdot))
    assert pair.ours.IsVelocityEqualToQDot() == pair.theirs.IsVelocityEqualToQDot()


def test_names_limits_and_defaults(pair):
    for function in ("GetPositionNames", "GetVelocityNames", "GetPositionLowerLimits", "GetPositionUpperLimits",
                     "GetDefaultPositions", "MakeActuationMatrix"):  # fmt: skip
        np.testing.assert_array_equal(getattr(pair.ours, function)(), getattr(pair.theirs, function)())


@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_locked_joints(time_step):
    """Also after velocities were set once more: a locked joint then keeps those."""
    pair = Pair(*(mechanism(lib, 3, time_step) for lib in (OURS, THEIRS)))
    for rng in states(pair):
        pair.fix_actuation(rng.normal(size=pair.ours.num_actuators()))
        for index in range(pair.ours.num_joints()):
            mine, other = pair.ours.get_joint(index), pair.theirs.get_joint(their_tree.JointIndex(index))
            act = "Lock" if rng.random() < 0.5 else "Unlock"
            getattr(mine, act)(pair.context)
            getattr(other, act)(pair.their_context)
            assert mine.is_locked(pair.context) == other.is_locked(pair.their_context) == (act == "Lock")
        assert_equal(pair.ours.GetVelocities(pair.context), pair.theirs.GetVelocities(pair.their_context))
        if time_step == 0.0:
            ours = pair.ours.EvalTimeDerivatives(pair.context).CopyToVector()
            theirs = pair.theirs.EvalTimeDerivatives(pair.their_context).CopyToVector()
        else:
            updates = pair.ours.AllocateDiscreteVariables(), pair.theirs.AllocateDiscreteVariables()
            pair.ours.CalcForcedDiscreteVariableUpdate(pair.context, updates[0])
            pair.theirs.CalcForcedDiscreteVariableUpdate(pair.their_context, updates[1])
            ours, theirs = (update.get_vector(0).CopyToVector() for update in updates)
        assert_equal(ours, theirs, 1e-9)


def test_accessors_agree_on_one_state():
    """Every get_ function of every joint that takes a Context, or nothing."""
    pair = Pair(*(mechanism(lib, 4, 0.0) for lib in (OURS, THEIRS)))
    next(states(pair))
    compared = set()
    for index in range(pair.ours.num_joints()):
        mine, other = pair.ours.get_joint(index), pair.theirs.get_joint(their_tree.JointIndex(index))
        for name in dir(other):
            if name.startswith("get_default"):
                ours, theirs = getattr(mine, name)(), getattr(other, name)()
            elif name.startswith("get_"):
                ours, theirs = getattr(mine, name)(pair.context), getattr(other, name)(pair.their_context)
            else:
                continue
            if "quaternion" in name:
                ours, theirs = ours.wxyz(), theirs.wxyz() / np.linalg.norm(theirs.wxyz())  # ours is of length 1
            assert_equal(ours, theirs)
            compared.add((mine.type_name(), name))
    assert len(compared) > 30


def test_actuators_in_a_context_agree():
    pair = Pair(*(mechanism(lib, 5, 0.0) for lib in (OURS, THEIRS)))
    next(states(pair))
    for index in range(pair.ours.num_actuators()):
        mine = pair.ours.get_joint_actuator(index)
        other = pair.theirs.get_joint_actuator(their_tree.JointActuatorIndex(index))
        for actuator, context in ((mine, pair.context), (other, pair.their_context)):
            actuator.SetGearRatio(context, 2.0 + index)
            actuator.SetRotorInertia(context, 0.1 * (1 + index))
        for name in ("gear_ratio", "rotor_inertia", "calc_reflected_inertia"):
            assert getattr(mine, name)(pair.context) == pytest.approx(getattr(other, name)(pair.their_context))
    assert_equal(pair.ours.CalcMassMatrix(pair.context), pair.theirs.CalcMassMatrix(pair.their_context))


@pytest.mark.parametrize("kind", [kind for kind in MULTI_DOF if "Floating" in kind])
def test_poses_of_free_bodies_agree(kind):
    results = []
    for lib in (OURS, THEIRS):
        plant = lib.MultibodyPlant(0.0)
        body = plant.AddRigidBody("b", lib.SpatialInertia.SolidBoxWithMass(1, 1, 2, 3))
        joint = plant.AddJoint(getattr(lib, kind)("j", plant.world_frame(), body.body_frame()))
        joint.SetDefaultPose(lib.RigidTransform(lib.RollPitchYaw(0.3, -0.4, 0.5), [4, 5, 6]))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        default = plant.GetPositions(context)
        plant.SetFreeBodyPose(context, body, lib.RigidTransform(lib.RollPitchYaw(0.1, 0.2, 0.3), [1, 2, 3]))
        instance = ModelInstanceIndex(1) if lib is OURS else their_tree.ModelInstanceIndex(1)
        results.append((default, plant.GetPositions(context), plant.GetFreeBodyPose(context, body).GetAsMatrix4(),
                        joint.GetDefaultPose().GetAsMatrix4(), plant.HasUniqueFloatingBaseBody(instance)))  # fmt: skip
    for ours, theirs in zip(*results):
        assert_equal(ours, theirs, 1e-14)
