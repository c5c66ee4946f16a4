"""Jacobians, bias accelerations, sums over bodies and selectors equal pydrake's, for real robots and all joints."""

from __future__ import annotations

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

import pydrake.multibody.tree as their_tree  # noqa: E402
from joint_mechanisms import library, mechanism  # noqa: E402
from plants import EXAMPLE_MODELS  # noqa: E402
from pydrake.multibody.math import SpatialForce as TheirForce  # noqa: E402
from reference_plants import Pair, load_both  # noqa: E402

from merganser.multibody.math import SpatialForce  # noqa: E402
from merganser.multibody.tree import (  # noqa: E402
    JacobianWrtVariable,
    JointActuatorIndex,
    JointIndex,
    ModelInstanceIndex,
    MultibodyForces,
)

pytestmark = pytest.mark.reference

IIWA = "iiwa_description/urdf/iiwa14_no_collision.urdf"
WSG = "wsg_50_description/sdf/schunk_wsg_50_no_tip.sdf"
MODELS = {
    "iiwa": ([IIWA], ("base",)),
    "iiwa and gripper and box": ([IIWA, WSG, EXAMPLE_MODELS / "free_box.sdf"], ("base",)),
    "cart pole": ([EXAMPLE_MODELS / "cart_pole.sdf"], ()),
}
SPEEDS = [
    (getattr(JacobianWrtVariable, name), getattr(their_tree.JacobianWrtVariable, name)) for name in ("kV", "kQDot")
]
V, THEIR_V = SPEEDS[0]
NUM_STATES = 6


@pytest.fixture(params=[*MODELS, "all joints 0", "all joints 1"], scope="module")
def pair(request):
    if request.param in MODELS:
        return load_both(*MODELS[request.param])
    return Pair(*(mechanism(library(name), int(request.param[-1]), 0.0) for name in ("ours", "theirs")))


def states(pair):
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        pair.set_state(rng.uniform(-1.2, 1.2, pair.ours.num_positions()), rng.normal(size=pair.ours.num_velocities()))
        yield rng


def random_frames(pair, rng, count=3):
    """Some frames, in both plants."""
    indices = rng.integers(pair.ours.num_frames(), size=count)
    frames = [pair.ours.get_frame(int(i)) for i in indices]
    theirs = [
        pair.theirs.GetFrameByName(frame.name(), their_tree.ModelInstanceIndex(frame.model_instance()))
        for frame in frames
    ]
    return frames, theirs


def assert_equal(ours, theirs, tolerance=1e-10):
    """Relative to the largest element, or to 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance)


def test_jacobians_of_frames_and_points(pair):
    for rng in states(pair):
        (B, A, E), (B_, A_, E_) = random_frames(pair, rng)
        points = rng.normal(size=(3, 4))
        c, c_ = pair.context, pair.their_context
        for s, s_ in SPEEDS:
            ours = pair.ours.CalcJacobianSpatialVelocity(c, s, B, points[:, 0], A, E)
            assert_equal(ours, pair.theirs.CalcJacobianSpatialVelocity(c_, s_, B_, points[:, 0], A_, E_))
            ours = pair.ours.CalcJacobianAngularVelocity(c, s, B, A, E)
            assert_equal(ours, pair.theirs.CalcJacobianAngularVelocity(c_, s_, B_, A_, E_))
            ours = pair.ours.CalcJacobianTranslationalVelocity(c, s, B, points, A, E)
            assert_equal(ours, pair.theirs.CalcJacobianTranslationalVelocity(c_, s_, B_, points, A_, E_))
        ours = pair.ours.CalcJacobianPositionVector(c, B, points, A, E)
        assert_equal(ours, pair.theirs.CalcJacobianPositionVector(c_, B_, points, A_, E_))


def test_velocities_and_bias_accelerations_of_points(pair):
    for rng in states(pair):
        (B, A, E), (B_, A_, E_) = random_frames(pair, rng)
        points = rng.normal(size=(3, 4))
        c, c_ = pair.context, pair.their_context
        assert_equal(
            pair.ours.CalcPointsVelocities(c, B, points, A, E), pair.theirs.CalcPointsVelocities(c_, B_, points, A_, E_)
        )
        ours = pair.ours.CalcBiasTranslationalAcceleration(c, V, B, points, A, E)
        assert_equal(ours, pair.theirs.CalcBiasTranslationalAcceleration(c_, THEIR_V, B_, points, A_, E_), 1e-9)
        ours = pair.ours.CalcBiasSpatialAcceleration(c, V, B, points[:, 0], A, E)
        theirs = pair.theirs.CalcBiasSpatialAcceleration(c_, THEIR_V, B_, points[:, 0], A_, E_)
        assert_equal(ours.get_coeffs(), theirs.get_coeffs(), 1e-9)
        R_AB, R_AB_ = pair.ours.CalcRelativeRotationMatrix(c, A, B), pair.theirs.CalcRelativeRotationMatrix(c_, A_, B_)
        assert_equal(R_AB.matrix(), R_AB_.matrix())


def test_accelerations_from_vdot(pair):
    for rng in states(pair):
        vdot = rng.normal(size=pair.ours.num_velocities())
        ours = pair.ours.CalcSpatialAccelerationsFromVdot(pair.context, vdot)
        theirs = pair.theirs.CalcSpatialAccelerationsFromVdot(pair.their_context, vdot)
        assert_equal([A.get_coeffs() for A in ours], [A.get_coeffs() for A in theirs], 1e-9)


def test_centre_of_mass_and_momentum(pair):
    instances = [i for i in range(2, pair.ours.num_model_instances()) if pair.ours.GetBodyIndices(i)] or [1]
    ours_of = [ModelInstanceIndex(i) for i in instances[-2:]]
    theirs_of = [their_tree.ModelInstanceIndex(i) for i in instances[-2:]]
    for rng in states(pair):
        pair.fix_actuation(0.1 * rng.normal(size=pair.ours.num_actuated_dofs()))
        (A, E), (A_, E_) = random_frames(pair, rng, 2)
        p = rng.normal(size=3)
        for chosen, their_chosen in (((), ()), ((ours_of,), (theirs_of,))):
            ours, theirs = (pair.ours, pair.context, *chosen), (pair.theirs, pair.their_context, *their_chosen)
            for kind in ("PositionInWorld", "TranslationalVelocityInWorld", "TranslationalAccelerationInWorld"):
                compare(f"CalcCenterOfMass{kind}", ours, theirs, 1e-9)
            for s, s_ in SPEEDS:
                name = "CalcJacobianCenterOfMassTranslationalVelocity"
                compare(name, (*ours, s, A, E), (*theirs, s_, A_, E_))
            name = "CalcBiasCenterOfMassTranslationalAcceleration"
            compare(name, (*ours, V, A, E), (*theirs, THEIR_V, A_, E_), 1e-9)
            compare("CalcSpatialMomentumInWorldAboutPoint", (*ours, p), (*theirs, p))


def compare(name, ours, theirs, tolerance=1e-10):
    """Calls a function of both plants, given before the arguments, and compares what they return."""
    results = [getattr(plant, name)(*arguments) for plant, *arguments in (ours, theirs)]
    assert_equal(*(r.get_coeffs() if hasattr(r, "get_coeffs") else r for r in results), tolerance)


def test_inertia_of_bodies_about_frames(pair):
    for rng in states(pair):
        (F,), (F_,) = random_frames(pair, rng, 1)
        bodies = np.flatnonzero(rng.random(pair.ours.num_bodies()) < 0.6)
        ours = pair.ours.CalcSpatialInertia(pair.context, F, bodies.tolist())
        theirs = pair.theirs.CalcSpatialInertia(pair.their_context, F_, [their_tree.BodyIndex(i) for i in bodies])
        assert_equal(ours.CopyToFullMatrix6(), theirs.CopyToFullMatrix6())


def test_matrices_of_the_state(pair):
    for _ in states(pair):
        ours = pair.ours.CalcMassMatrixViaInverseDynamics(pair.context)
        assert_equal(ours, pair.theirs.CalcMassMatrixViaInverseDynamics(pair.their_context))
        for function in ("MakeVelocityToQDotMap", "MakeQDotToVelocityMap"):
            ours = getattr(pair.ours, function)(pair.context)
            assert_equal(ours.toarray(), getattr(pair.theirs, function)(pair.their_context).toarray())


def test_generalized_forces(pair):
    for rng in states(pair):
        forces, their_forces = MultibodyForces(pair.ours), their_tree.MultibodyForces(pair.theirs)
        for index in range(1, pair.ours.num_bodies()):
            F = rng.normal(size=6)
            body, theirs = pair.ours.get_body(index), pair.theirs.get_body(their_tree.BodyIndex(index))
            body.AddInForceInWorld(pair.context, SpatialForce(F), forces)
            theirs.AddInForceInWorld(pair.their_context, TheirForce(F), their_forces)
        tau = rng.normal(size=pair.ours.num_velocities())
        forces.mutable_generalized_forces()[:] = tau
        their_forces.mutable_generalized_forces()[:] = tau
        ours = pair.ours.CalcGeneralizedForces(pair.context, forces)
        assert_equal(ours, pair.theirs.CalcGeneralizedForces(pair.their_context, their_forces))


def test_selectors_and_topology(pair):
    ours, theirs = pair.ours, pair.theirs
    rng = np.random.default_rng(0)
    joints = rng.permutation(ours.num_joints())[:5].tolist()
    actuators = rng.permutation(ours.num_actuators())[:3].tolist()
    their_joints = [their_tree.JointIndex(i) for i in joints]
    S = ours.MakeStateSelectorMatrix([JointIndex(i) for i in joints])
    np.testing.assert_array_equal(S, theirs.MakeStateSelectorMatrix(their_joints))
    S = ours.MakeActuatorSelectorMatrix([JointActuatorIndex(i) for i in actuators])
    np.testing.assert_array_equal(
        S, theirs.MakeActuatorSelectorMatrix([their_tree.JointActuatorIndex(i) for i in actuators])
    )
    driven = [ours.get_joint_actuator(i).joint().index() for i in actuators]
    by_joints = ours.MakeActuatorSelectorMatrix(driven)
    np.testing.assert_array_equal(by_joints, S)
    B_plus = ours.MakeActuationMatrixPseudoinverse().toarray()
    np.testing.assert_array_equal(B_plus, theirs.MakeActuationMatrixPseudoinverse().toarray())
    for i, their_i in zip(joints, their_joints):
        affected = ours.GetBodiesKinematicallyAffectedBy([JointIndex(i)])
        assert [int(b) for b in affected] == [int(b) for b in theirs.GetBodiesKinematicallyAffectedBy([their_i])]
    assert ours.GetTopologyGraphvizString() == theirs.GetTopologyGraphvizString()
