"""Postures by mixed-integer programs, without a guess."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.optimization import (
    MixedIntegerRotationConstraintGenerator,
    Solve,
)
from merganser.multibody.inverse_kinematics import GlobalInverseKinematics
from merganser.multibody.inverse_kinematics.reconstructed_postures import reconstructed_positions
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BodyIndex,
    FixedOffsetFrame,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    SpatialInertia,
)

TIP = np.array([0.5, 0.0, 0.0])
LIMIT = 1.2
INERTIA = SpatialInertia.SolidCubeWithMass(mass=1.0, length=0.1)


def arm(axes: list[list[float]]) -> MultibodyPlant:
    """Links of half a metre on a base that is welded to the world, tilted."""
    plant = MultibodyPlant(0.0)
    parent = plant.AddRigidBody("base", INERTIA)
    plant.WeldFrames(
        plant.world_frame(), parent.body_frame(), RigidTransform(RollPitchYaw(0.1, -0.2, 0.3), [0, 0, 1.0])
    )
    for k, axis in enumerate(axes):
        body = plant.AddRigidBody(f"link{k}", INERTIA)
        X_PF = RigidTransform(RollPitchYaw(0.2, 0.1, 0.0), TIP if k else np.zeros(3))
        frame = plant.AddFrame(FixedOffsetFrame(f"end{k}", parent.body_frame(), X_PF))
        plant.AddJoint(RevoluteJoint(f"joint{k}", frame, body.body_frame(), axis, -LIMIT, LIMIT))
        parent = body
    plant.Finalize()
    return plant


def options(approach: int = 1, is_linear: bool = True) -> Any:
    chosen = GlobalInverseKinematics.Options()
    assert "approach=Approach.kBilinearMcCormick, interval_binning=IntervalBinning.kLogarithmic" in repr(chosen)
    chosen.num_intervals_per_half_axis = 1
    chosen.approach = MixedIntegerRotationConstraintGenerator.Approach(approach)
    chosen.linear_constraint_only = is_linear
    return chosen


def tip_of(plant: MultibodyPlant, q: Any) -> Any:
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    last = plant.get_body(BodyIndex(plant.num_bodies() - 1)).body_frame()
    return plant.CalcPointsPositions(context, last, TIP, plant.world_frame()).ravel()


AXES = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def test_postures_satisfy_the_relaxed_program_and_come_back_from_it() -> None:
    plant = arm(AXES)
    for seed, is_linear in ((0, True), (1, False)):
        q = np.random.default_rng(seed).uniform(-LIMIT, LIMIT, 3)
        ik = GlobalInverseKinematics(plant, options(is_linear=is_linear))
        for index in map(BodyIndex, range(2, plant.num_bodies())):
            context = plant.CreateDefaultContext()
            plant.SetPositions(context, q)
            X = plant.EvalBodyPoseInWorld(context, plant.get_body(index))
            margin = 1e-8
            R = X.rotation().matrix()
            ik.get_mutable_prog().AddBoundingBoxConstraint(R - margin, R + margin, ik.body_rotation_matrix(index))
        binary = [each for each in ik.prog().decision_variables() if each.get_type().name == "BINARY"]
        assert len(binary) == 27
        if is_linear:
            result = Solve(ik.prog())
            assert result.is_success()
            np.testing.assert_allclose(ik.ReconstructGeneralizedPositionSolution(result), q, atol=1e-6)
            p = result.GetSolution(ik.body_position(BodyIndex(plant.num_bodies() - 1)))
            np.testing.assert_allclose(p, X.translation(), atol=1e-6)


def test_a_body_that_floats_from_another_body_comes_back_where_it_was() -> None:
    plant = MultibodyPlant(0.0)
    base, body = plant.AddRigidBody("base", INERTIA), plant.AddRigidBody("body", INERTIA)
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), base.body_frame(), [0.0, 0.0, 1.0], -LIMIT, LIMIT))
    offset = RigidTransform(RollPitchYaw(0.3, -0.2, 0.1), [0.2, 0.1, -0.3])
    frame = plant.AddFrame(FixedOffsetFrame("offset", base.body_frame(), offset))
    plant.AddJoint(QuaternionFloatingJoint("free", frame, body.body_frame()))
    plant.Finalize()
    q, context = plant.GetPositions(plant.CreateDefaultContext()), plant.CreateDefaultContext()
    turn, free = (plant.GetJointByName(name).position_start() for name in ("turn", "free"))
    q[turn], q[free + 4 : free + 7] = 0.7, [0.3, -0.2, 0.1]
    q[free : free + 4] = RollPitchYaw(0.2, 0.3, 0.4).ToQuaternion().wxyz()
    plant.SetPositions(context, q)
    X = {i: plant.EvalBodyPoseInWorld(context, plant.get_body(BodyIndex(i))) for i in range(3)}
    joints = {int(j.child_body().index()): j for j in map(plant.get_joint, plant.GetJointIndices())}
    R_WB = {i: X_WB.rotation().matrix() for i, X_WB in X.items()}
    found = reconstructed_positions(plant, joints, R_WB, {i: X_WB.translation() for i, X_WB in X.items() if i})
    np.testing.assert_allclose(found, q, atol=1e-9)


def test_a_point_is_reached_and_one_that_is_too_far_is_not() -> None:
    plant = arm(AXES[:2])
    last = BodyIndex(plant.num_bodies() - 1)
    wanted = tip_of(plant, [0.4, -0.7])
    ik = GlobalInverseKinematics(plant, options())
    ik.AddWorldPositionConstraint(last, TIP, wanted - 0.01, wanted + 0.01)
    result = Solve(ik.prog())
    assert result.is_success()
    assert np.linalg.norm(tip_of(plant, ik.ReconstructGeneralizedPositionSolution(result)) - wanted) < 0.3
    far = GlobalInverseKinematics(plant, options())
    far.AddWorldPositionConstraint(last, TIP, np.array([0.0, 0.0, 4.0]), np.array([0.1, 0.1, 5.0]))
    assert not Solve(far.prog()).is_success()  # which is a proof: no posture does it


def test_at_default_intervals_a_posture_is_found_that_is_exact() -> None:
    plant = arm([*AXES, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    last = BodyIndex(plant.num_bodies() - 1)
    q = np.array([0.4, -0.7, 0.9, 0.3, -0.5])
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    X = plant.EvalBodyPoseInWorld(context, plant.get_body(last))
    ik = GlobalInverseKinematics(plant)
    ik.AddWorldPositionConstraint(last, TIP, tip_of(plant, q) - 1e-3, tip_of(plant, q) + 1e-3)
    ik.AddWorldOrientationConstraint(last, X.rotation().ToQuaternion(), 0.02)
    ik.AddJointLimitConstraint(BodyIndex(2), 0.3, 0.5)
    assert np.isnan(ik.prog().initial_guess()).all()
    result = Solve(ik.prog())
    assert result.is_success()
    found = ik.ReconstructGeneralizedPositionSolution(result)
    np.testing.assert_allclose(tip_of(plant, found), tip_of(plant, q), atol=1.01e-3)
    assert 0.3 - 1e-6 <= found[0] <= 0.5 + 1e-6
    plant.SetPositions(context, found)
    turned = plant.EvalBodyPoseInWorld(context, plant.get_body(last)).rotation().inverse() @ X.rotation()
    assert turned.ToAngleAxis().angle() <= 0.02 + 1e-5
    assert np.isnan(ik.prog().initial_guess()).all()  # the program is as it was


def test_what_is_added_to_the_program_counts_for_postures_that_are_tried() -> None:
    plant = arm(AXES[:2])
    last = BodyIndex(plant.num_bodies() - 1)
    ik = GlobalInverseKinematics(plant, options())
    wanted = tip_of(plant, [0.4, -0.7])
    ik.AddWorldPositionConstraint(last, TIP, wanted - 1e-3, wanted + 1e-3)
    ik.get_mutable_prog().AddBoundingBoxConstraint(-0.5, -0.4, ik.body_position(last)[0])  # it is elsewhere
    assert not Solve(ik.prog()).is_success()


def test_limits_of_joints_are_kept() -> None:
    plant = arm(AXES[:1])
    last = BodyIndex(2)
    for is_linear in (True, False):
        ik = GlobalInverseKinematics(plant, options(is_linear=is_linear))
        context = plant.CreateDefaultContext()
        plant.SetPositions(context, [LIMIT + 0.3])
        behind = plant.EvalBodyPoseInWorld(context, plant.get_body(last)).rotation()
        ik.AddWorldOrientationConstraint(last, behind.ToQuaternion(), 0.05)
        constraints = [
            each
            for each in ik.prog().GetAllConstraints()
            if is_linear or not type(each.evaluator()).__name__.startswith("Lorentz")
        ]
        assert len(constraints) > 100
        at_limit = ik.prog().Clone()
        R = behind.matrix()
        at_limit.AddBoundingBoxConstraint(R - 1e-8, R + 1e-8, ik.body_rotation_matrix(last))
        if is_linear:
            assert not Solve(at_limit).is_success()
        else:
            cones = at_limit.lorentz_cone_constraints()
            x = {id(v): value for v, value in zip(ik.body_rotation_matrix(last).ravel(), R.ravel())}
            fixed = ik.body_rotation_matrix(BodyIndex(1))
            base = plant.EvalBodyPoseInWorld(context, plant.get_body(BodyIndex(1))).rotation().matrix()
            x |= {id(v): value for v, value in zip(fixed.ravel(), base.ravel())}
            kept = [c.evaluator().CheckSatisfied([x[id(v)] for v in c.variables()]) for c in cones]
            assert not all(kept) and any(kept)


def test_a_point_or_a_sphere_is_in_one_of_several_regions() -> None:
    plant = arm(AXES[:1])
    last = BodyIndex(2)
    here, away = tip_of(plant, [0.5]), tip_of(plant, [0.5]) + 5.0
    corners = np.array(np.meshgrid(*[[-0.05, 0.05]] * 3)).reshape(3, -1)
    ik = GlobalInverseKinematics(plant, options())
    z = ik.BodyPointInOneOfRegions(last, TIP, [away[:, np.newaxis] + corners, here[:, np.newaxis] + corners])
    faces = np.vstack((np.eye(3), -np.eye(3)))
    boxes = [
        GlobalInverseKinematics.Polytope3D(faces, np.concatenate((center + 0.1, 0.1 - center)))
        for center in (here, away)
    ]
    in_box = ik.BodySphereInOneOfPolytopes(last, TIP, 0.04, boxes)
    result = Solve(ik.prog())
    np.testing.assert_allclose(result.GetSolution(z), [0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(result.GetSolution(in_box), [1.0, 0.0], atol=1e-6)
    place = result.GetSolution(ik.body_position(last)) + result.GetSolution(ik.body_rotation_matrix(last)) @ TIP
    assert np.abs(place - here).max() <= 0.05 + 1e-6
    ik.BodySphereInOneOfPolytopes(last, TIP, 0.2, boxes)  # which is too large
    assert not Solve(ik.prog()).is_success()


def test_costs_lead_to_a_posture_and_guesses_have_all_variables() -> None:
    plant = arm(AXES[:1])
    q = np.array([0.3])
    ik = GlobalInverseKinematics(plant, options(is_linear=False))
    ik.SetInitialGuess(q)
    guess = ik.prog().initial_guess()
    assert np.isfinite(guess).all()
    for binding in ik.prog().GetAllConstraints():
        assert ik.prog().CheckSatisfied(binding, guess, 1e-5)
    with pytest.raises(RuntimeError, match="does not satisfy the constraints"):
        ik.SetInitialGuess([3.0])
    ik.AddPostureCost(q, np.ones(3), np.full(3, 0.5))
    result = Solve(ik.prog())
    assert result.get_optimal_cost() == pytest.approx(0.0, abs=0.1)  # by what is left of a rotation; at least 0 if none
    np.testing.assert_allclose(ik.ReconstructGeneralizedPositionSolution(result), q, atol=0.3)


def test_relative_positions_are_bounded_in_any_frame() -> None:
    plant = arm(AXES[:2])
    ik = GlobalInverseKinematics(plant, options())
    X_WF = RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [1.0, 2.0, 3.0])
    B, A = BodyIndex(3), BodyIndex(1)
    low, high = np.full(3, -0.1), np.full(3, 0.1)
    absolute = ik.AddWorldPositionConstraint(B, TIP, low, high, X_WF)
    relative = ik.AddWorldRelativePositionConstraint(B, TIP, A, np.zeros(3), low, high, X_WF)
    rng = np.random.default_rng(0)
    values = {id(v): rng.normal() for v in ik.prog().decision_variables()}
    R, p = (np.vectorize(lambda v: values[id(v)])(each) for each in (ik.body_rotation_matrix(B), ik.body_position(B)))
    p_A = np.vectorize(lambda v: values[id(v)])(ik.body_position(A))
    R_FW = X_WF.rotation().matrix().T
    for binding, origin in ((absolute, X_WF.translation()), (relative, p_A)):
        y = binding.evaluator().Eval(np.array([values[id(v)] for v in binding.variables()]))
        np.testing.assert_allclose(y - binding.evaluator().lower_bound(), R_FW @ (p + R @ TIP - origin) - low)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RuntimeError, match="not finalized"):
        GlobalInverseKinematics(MultibodyPlant(0.0))
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("slider", INERTIA)
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    plant.Finalize()
    with pytest.raises(RuntimeError, match="joint 'rail' is of the type prismatic"):
        GlobalInverseKinematics(plant)
    ik = GlobalInverseKinematics(arm(AXES[:1]), options())
    for index in (0, 7):
        with pytest.raises(RuntimeError, match="expected a body index from 1 to 2"):
            ik.body_position(BodyIndex(index))
    with pytest.raises(RuntimeError, match="must not be above"):
        ik.AddJointLimitConstraint(BodyIndex(2), 1.0, -1.0)
    with pytest.raises(RuntimeError, match="not revolute"):
        ik.AddJointLimitConstraint(BodyIndex(1), -1.0, 1.0)
    with pytest.raises(RuntimeError, match="expected 3 numbers in body_position_cost"):
        ik.AddPostureCost([0.0], [1.0, -1.0, 1.0], np.ones(3))
    with pytest.raises(RuntimeError, match=r"expected region_vertices\[0\]"):
        ik.BodyPointInOneOfRegions(BodyIndex(2), TIP, [np.zeros((3, 2))])
    with pytest.raises(ValueError, match="finite numbers"):
        ik.AddWorldPositionConstraint(BodyIndex(2), [np.nan, 0.0, 0.0], np.zeros(3), np.ones(3))
