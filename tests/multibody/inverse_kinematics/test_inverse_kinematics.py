"""Inverse kinematics: postures that keep what is asked of them, and errors that say what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.optimization import InteriorPointSolver, MathematicalProgram, SolutionResult, Solve
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator, curvature_by_differences
from merganser.geometry import Box, Sphere
from merganser.multibody.inverse_kinematics import (
    AddMultibodyPlantConstraints,
    AngleBetweenVectorsConstraint,
    ComPositionConstraint,
    DistanceConstraint,
    GazeTargetConstraint,
    InverseKinematics,
    MinimumDistanceLowerBoundConstraint,
    OrientationConstraint,
    PointToLineDistanceConstraint,
    PointToPointDistanceConstraint,
    PositionConstraint,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia

ARM = str(Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf")


def test_a_joint_that_is_locked_beyond_its_limit_has_no_posture() -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    joint = plant.AddJoint(
        RevoluteJoint("joint", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0], -1.0, 1.0, 0.0)
    )
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joint.set_angle(context, 1.2)
    joint.Lock(context)
    problem = InverseKinematics(plant, context)
    problem.AddPositionConstraint(
        body.body_frame(), [1.0, 0.0, 0.0], plant.world_frame(), [-9.0, -9.0, -9.0], [9.0, 9.0, 9.0]
    )
    result = Solve(problem.prog())
    assert result.get_solution_result() is SolutionResult.kInfeasibleConstraints
    joint.Unlock(context)


def arm() -> Any:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(ARM)
    plant.Finalize()
    return plant


def hand_of(plant: Any) -> Any:
    return plant.get_body(plant.GetBodyIndices(plant.GetModelInstanceByName("arm7"))[-1]).body_frame()


def reach(ik: InverseKinematics, plant: Any, p_WH: Any, margin: float = 1e-3) -> None:
    p_WH = np.asarray(p_WH)
    ik.AddPositionConstraint(hand_of(plant), [0.0] * 3, plant.world_frame(), p_WH - margin, p_WH + margin)


def test_every_pose_that_an_arm_can_take_is_found_from_one_guess() -> None:
    plant = arm()
    context, hand, rng = plant.CreateDefaultContext(), hand_of(plant), np.random.default_rng(0)
    starts = 0
    for _ in range(20):
        plant.SetPositions(context, rng.uniform(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()))
        X_WH = plant.CalcRelativeTransform(context, plant.world_frame(), hand)
        ik = InverseKinematics(plant)
        reach(ik, plant, X_WH.translation())
        ik.AddOrientationConstraint(plant.world_frame(), X_WH.rotation(), hand, RotationMatrix(), 1e-2)
        ik.prog().SetInitialGuess(ik.q(), np.zeros(plant.num_positions()))
        result = Solve(ik.prog())
        assert result.is_success()
        q = result.GetSolution(ik.q())
        assert (q >= plant.GetPositionLowerLimits() - 1e-6).all() and (q <= plant.GetPositionUpperLimits() + 1e-6).all()
        plant.SetPositions(context, q)
        X = plant.CalcRelativeTransform(context, plant.world_frame(), hand)
        np.testing.assert_allclose(X.translation(), X_WH.translation(), atol=1.1e-3)
        assert X_WH.rotation().InvertAndCompose(X.rotation()).ToAngleAxis().angle() < 1.1e-2
        starts += result.get_solver_details().num_starts
    assert starts <= 25  # other guesses are seldom needed


def test_what_is_out_of_reach_is_infeasible_and_the_constraint_is_named() -> None:
    plant = arm()
    ik = InverseKinematics(plant)
    reach(ik, plant, [5.0, 0.0, 0.0])
    ik.prog().generic_constraints()[-1].evaluator().set_description("hand on the moon")
    result = Solve(ik.prog())
    assert not result.is_success()
    assert any("hand on the moon" in name for name in result.GetInfeasibleConstraintNames(ik.prog()))


def test_where_many_starts_find_no_posture_no_slower_method_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the interior-point method was tried")

    monkeypatch.setattr(InteriorPointSolver, "_solve", refuse)
    plant = arm()
    ik = InverseKinematics(plant)
    reach(ik, plant, [0.0, 0.0, 5.0], 0.01)
    ik.prog().AddQuadraticErrorCost(1.0, np.zeros(7), ik.q())
    result = Solve(ik.prog(), np.full(7, 0.3))
    assert result.get_solution_result() is SolutionResult.kInfeasibleConstraints
    assert result.get_solver_details().num_starts == 20


def test_locked_joints_stay_where_they_are() -> None:
    plant = arm()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, np.full(7, 0.3))
    joint = plant.get_joint(plant.GetJointIndices()[1])
    assert joint.num_positions() == 1
    joint.Lock(context)
    ik = InverseKinematics(plant, context)
    reach(ik, plant, [0.3, 0.3, 0.6], 0.01)
    result = Solve(ik.prog())
    assert result.is_success()
    assert result.GetSolution(ik.q())[joint.position_start()] == pytest.approx(0.3, abs=1e-9)


def measures_of(plant: Any, context: Any) -> list[Any]:
    """A constraint of each kind, between the hand and a frame that is fixed at an offset."""
    hand, ring = hand_of(plant), plant.GetFrameByName("ring")
    X, R, axis = RigidTransform([0.1, 0.2, 0.3]), RotationMatrix.MakeXRotation(0.4), [0.0, 0.6, 0.8]
    low, high = -np.ones(3), np.ones(3)
    return [
        PositionConstraint(plant, ring, X, low, high, hand, [0.1, 0.0, 0.2], context),
        OrientationConstraint(plant, ring, R, hand, R, 1e-3, context),
        AngleBetweenVectorsConstraint(plant, ring, axis, hand, axis, 0.1, 2.0, context),
        GazeTargetConstraint(plant, hand, low, axis, ring, high, 0.5, context),
        PointToPointDistanceConstraint(plant, ring, low, hand, high, 0.1, 2.0, context),
        PointToLineDistanceConstraint(plant, hand, low, ring, high, axis, 0.1, 2.0, context),
    ]


def ringed(*, flies: bool) -> Any:
    """An arm, on the ground or on a body that flies, with a frame on its first link."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(ARM)
    if flies:
        plant.AddRigidBody("satellite", plant.AddModelInstance("space"), SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    X = RigidTransform(RotationMatrix.MakeZRotation(0.7), [0.1, 0.0, 0.2])
    link = plant.GetBodyByName("satellite") if flies else plant.get_body(plant.GetBodyIndices(hand_instance(plant))[2])
    plant.AddFrame(FixedOffsetFrame("ring", link.body_frame(), X))
    plant.Finalize()
    return plant


def hand_instance(plant: Any) -> Any:
    return plant.GetModelInstanceByName("arm7")


@pytest.mark.parametrize("flies", [False, True])
def test_measures_are_those_of_poses_and_their_derivatives_differences(flies: bool) -> None:
    plant = ringed(flies=flies)
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(5)
    hand, ring = hand_of(plant), plant.GetFrameByName("ring")
    constraints = measures_of(plant, context)
    together = constraints[0]._merged(constraints)
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, plant.num_positions())
        value, J = together._value_and_jacobian(q)
        np.testing.assert_array_equal(value, np.concatenate([each.Eval(q) for each in constraints]))
        X_RH = plant.CalcRelativeTransform(context, ring, hand)
        p_AQ = X_RH.multiply([0.1, 0.0, 0.2]) - [0.1, 0.2, 0.3]
        R = RotationMatrix.MakeXRotation(0.4)
        np.testing.assert_allclose(value[:3], p_AQ, atol=1e-12)
        assert value[3] == pytest.approx(np.trace((R.inverse() @ X_RH.rotation() @ R).matrix()))
        columns = [(together.Eval(q + 1e-6 * e) - together.Eval(q - 1e-6 * e)) / 2e-6 for e in np.eye(q.size)]
        np.testing.assert_allclose(J, np.transpose(columns), atol=1e-7)
        weights = rng.normal(size=(1, value.size))
        by_slopes = ClosedFormEvaluator._curvature(together, q[np.newaxis], weights)
        np.testing.assert_allclose(together._curvature(q[np.newaxis], weights), by_slopes, rtol=1e-6, atol=1e-6)
        gaps = together._gaps(q)
        of_gaps, zeros = rng.normal(size=(1, 3)), np.zeros((1, value.size))
        by_slopes = curvature_by_differences(
            lambda points: np.array([together._gaps(each)[1] for each in points]), q[np.newaxis], of_gaps
        )
        weights = np.hstack((zeros, of_gaps))
        np.testing.assert_allclose(together._curvature(q[np.newaxis], weights), by_slopes, rtol=1e-6, atol=1e-6)
        turned = (R.inverse() @ X_RH.rotation() @ R).ToAngleAxis()
        np.testing.assert_allclose(gaps[0], turned.angle() * turned.axis(), atol=1e-12)


def test_measures_follow_frames_that_are_moved_in_the_context() -> None:
    plant = ringed(flies=False)
    context, q = plant.CreateDefaultContext(), np.full(plant.num_positions(), 0.2)
    position = measures_of(plant, context)[0]
    before = position.Eval(q)
    X = RigidTransform([0.5, 0.0, 0.0])
    plant.GetFrameByName("ring").SetPoseInParentFrame(context, X)
    after = position.Eval(q)
    assert np.abs(after - before).max() > 0.1
    X_RH = plant.CalcRelativeTransform(context, plant.GetFrameByName("ring"), hand_of(plant))
    np.testing.assert_allclose(after, X_RH.multiply([0.1, 0.0, 0.2]) - [0.1, 0.2, 0.3], atol=1e-12)


def test_a_posture_near_a_wished_one_turns_its_hand_as_far_as_it_may() -> None:
    """The bound of a small angle is active, where the derivatives of its cosine all but vanish."""
    plant, rng = arm(), np.random.default_rng(6)
    lower, upper = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    context, hand, world = plant.CreateDefaultContext(), hand_of(plant), plant.world_frame()
    for bound in (1e-3, 1e-2, 0.2):
        plant.SetPositions(context, rng.uniform(0.5 * lower, 0.5 * upper))
        X = plant.CalcRelativeTransform(context, world, hand)
        ik = InverseKinematics(plant)
        ik.AddPositionConstraint(hand, np.zeros(3), world, X.translation() - 1e-3, X.translation() + 1e-3)
        ik.AddOrientationConstraint(world, X.rotation(), hand, RotationMatrix(), bound)
        wished = rng.uniform(0.5 * lower, 0.5 * upper)
        ik.prog().AddQuadraticErrorCost(np.eye(plant.num_positions()), wished, ik.q())
        result = Solve(ik.prog(), wished)
        assert result.is_success()
        assert result.get_solver_details().residual <= 1e-5
        assert result.get_solver_details().iterations <= 20
        plant.SetPositions(context, result.get_x_val())
        turned = plant.CalcRelativeTransform(context, world, hand).rotation().inverse() @ X.rotation()
        assert turned.ToAngleAxis().angle() == pytest.approx(bound, rel=1e-3)


def scene(distance: float) -> Any:
    """A ball on an arm of two links in a plane, and a post in its way."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parent, friction = plant.world_body(), CoulombFriction(0.5, 0.5)
    for i in range(2):
        body = plant.AddRigidBody(f"link{i}", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        end = plant.AddFrame(FixedOffsetFrame(f"end{i}", parent.body_frame(), RigidTransform([0.5 * i, 0.0, 0.0])))
        plant.AddJoint(RevoluteJoint(f"joint{i}", end, body.body_frame(), [0.0, 0.0, 1.0]))
        parent = body
    X_BG = RigidTransform([0.5, 0.0, 0.0])
    ball = plant.RegisterCollisionGeometry(parent, X_BG, Sphere(0.05), "ball", friction)
    X_WG = RigidTransform([distance, 0.0, 0.0])
    post = plant.RegisterCollisionGeometry(plant.world_body(), X_WG, Box(0.1, 0.1, 1.0), "post", friction)
    plant.Finalize()
    context = builder.Build().CreateDefaultContext()
    return plant, plant.GetMyMutableContextFromRoot(context), (ball, post), context


def test_distances_are_kept() -> None:
    plant, context, pair, _root = scene(0.9)
    ik = InverseKinematics(plant, context)
    ik.AddDistanceConstraint(pair, 0.02, 0.03)
    ik.prog().SetInitialGuess(ik.q(), [0.4, 0.3])
    result = Solve(ik.prog())
    assert result.is_success()
    plant.SetPositions(context, result.GetSolution(ik.q()))
    query = plant.get_geometry_query_input_port().Eval(context)
    assert 0.02 - 1e-6 <= query.ComputeSignedDistancePairClosestPoints(*pair).distance <= 0.03 + 1e-6


def test_a_hand_comes_as_near_as_it_may_without_touching() -> None:
    plant, context, pair, _root = scene(0.9)
    ik = InverseKinematics(plant, context)
    ik.AddMinimumDistanceLowerBoundConstraint(0.05, influence_distance_offset=0.1)
    hand = plant.GetFrameByName("link1")
    ik.AddPositionCost(plant.world_frame(), [0.9, 0.0, 0.0], hand, [0.5, 0.0, 0.0], np.eye(3))
    ik.prog().SetInitialGuess(ik.q(), [0.4, 0.3])
    result = Solve(ik.prog())
    assert result.is_success()
    plant.SetPositions(context, result.GetSolution(ik.q()))
    query = plant.get_geometry_query_input_port().Eval(context)
    distance = query.ComputeSignedDistancePairClosestPoints(*pair).distance
    assert distance == pytest.approx(0.05, abs=2e-3)
    assert distance > 0.05 - 1e-6


def test_no_pair_within_the_influence_distance_satisfies_the_lower_bound() -> None:
    plant, context, _pair, _root = scene(3.0)
    constraint = MinimumDistanceLowerBoundConstraint(plant, 0.01, context)
    assert constraint.Eval(np.zeros(2))[0] == 0.0
    assert constraint.CheckSatisfied(np.zeros(2))
    assert (constraint.distance_bound(), constraint.influence_distance()) == (0.01, 0.02)


def test_derivatives_reach_autodiff() -> None:
    plant = arm()
    context, hand = plant.CreateDefaultContext(), hand_of(plant)
    world = plant.world_frame()
    constraint = PositionConstraint(plant, world, [-1.0] * 3, [1.0] * 3, hand, [0.1, 0.0, 0.0], context)
    q = np.linspace(-0.5, 0.7, 7)
    values = constraint.Eval(InitializeAutoDiff(q).ravel())
    plant.SetPositions(context, q)
    J = plant.CalcJacobianPositionVector(context, hand, [0.1, 0.0, 0.0], world, world)
    np.testing.assert_allclose([value.derivatives() for value in values], J, rtol=1e-12, atol=1e-12)


def test_functions_of_a_plant_of_autodiff_are_those_of_the_plant_of_floats() -> None:
    plant, context, pair, root = scene(0.9)
    plant.GetBodyByName("link1").SetMass(context, 3.0)
    of_autodiff = root.system.ToAutoDiffXd()
    its_root = of_autodiff.CreateDefaultContext()
    its_root.SetTimeStateAndParametersFrom(root)
    its_plant = of_autodiff.GetSubsystemByName(plant.get_name())
    x = InitializeAutoDiff([0.4, 0.3]).ravel()
    made = []
    for each, its in ((plant, context), (its_plant, its_plant.GetMyContextFromRoot(its_root))):
        world, hand = each.world_frame(), each.GetFrameByName("link1")
        made.append([
            PositionConstraint(each, world, [-1.0] * 3, [1.0] * 3, hand, [0.1, 0.0, 0.0], its),
            OrientationConstraint(each, world, RotationMatrix(), hand, RotationMatrix(), 0.1, its),
            DistanceConstraint(each, pair, its, 0.0, 1.0),
            ComPositionConstraint(each, None, world, its),
        ])  # fmt: skip
    for mine, theirs in zip(*made):
        values = [each.Eval(np.concatenate([x, np.zeros(each.num_vars() - 2)])) for each in (mine, theirs)]
        np.testing.assert_array_equal(*[ExtractValue(each) for each in values])
        np.testing.assert_array_equal(*[ExtractGradient(each) for each in values])


def test_what_a_plant_keeps_to_is_kept() -> None:
    """Limits, a unit quaternion, and a ball that ties a floating body to the hand."""
    plant = MultibodyPlant(0.001)
    Parser(plant).AddModels(ARM)
    body = plant.AddRigidBody("weight", plant.AddModelInstance("weight"), SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    hand = hand_of(plant).body()
    plant.AddBallConstraint(hand, [0.1, 0.0, 0.0], body, [0.0, 0.0, 0.05])
    plant.Finalize()
    prog, context = MathematicalProgram(), plant.CreateDefaultContext()
    q = prog.NewContinuousVariables(plant.num_positions(), "q")
    assert len(AddMultibodyPlantConstraints(plant, q, prog, context)) == 3  # limits, length, ball
    rng = np.random.default_rng(3)
    guess = rng.uniform(-0.5, 0.5, len(q))
    guess[7:11] = [1.0, 0.2, 0.0, 0.0]
    prog.SetInitialGuess(q, guess)
    result = Solve(prog)
    assert result.is_success()
    plant.SetPositions(context, result.GetSolution(q))
    P = plant.CalcPointsPositions(context, hand.body_frame(), [0.1, 0.0, 0.0], plant.world_frame())
    Q = plant.CalcPointsPositions(context, body.body_frame(), [0.0, 0.0, 0.05], plant.world_frame())
    np.testing.assert_allclose(P, Q, atol=1e-6)
    start = body.floating_positions_start()
    assert np.linalg.norm(result.GetSolution(q)[start : start + 4]) == pytest.approx(1.0, abs=1e-6)


def chain(lengths: list[float]) -> Any:
    """Links that turn about z, each at the end of the one before; not finalized. With its links."""
    plant, links = MultibodyPlant(0.0), []
    frame = plant.world_frame()
    for number, length in enumerate(lengths):
        links.append(plant.AddRigidBody(f"link{number}", SpatialInertia.SolidCubeWithMass(1.0, 0.1)))
        plant.AddJoint(RevoluteJoint(f"joint{number}", frame, links[-1].body_frame(), [0.0, 0.0, 1.0]))
        frame = plant.AddFrame(
            FixedOffsetFrame(f"end{number}", links[-1].body_frame(), RigidTransform([length, 0.0, 0.0]))
        )
    return plant, links


def solve_for_postures(plant: Any, guess: list[float]) -> Any:
    """The plant's constraints seen from its default posture; positions from a guess."""
    prog = MathematicalProgram()
    q = prog.NewContinuousVariables(plant.num_positions(), "q")
    AddMultibodyPlantConstraints(plant, q, prog, plant.CreateDefaultContext())
    result = Solve(prog, guess)
    assert result.is_success()
    return result.GetSolution(q)


def test_a_rod_is_kept_that_is_at_its_dead_centre_in_the_context() -> None:
    plant, (crank,) = chain([1.0])
    plant.AddDistanceConstraint(crank, [1.0, 0.0, 0.0], plant.world_body(), [3.0, 0.0, 0.0], 2.5)
    plant.Finalize()
    (angle,) = solve_for_postures(plant, [0.4])
    assert np.hypot(3.0 - np.cos(angle), np.sin(angle)) == pytest.approx(2.5, abs=1e-6)


@pytest.mark.parametrize("guess", [[0.5, 0.3, -1.0], [0.0, 0.0, 0.0]], ids=["bent", "stretched"])
def test_a_planar_linkage_closes_though_nothing_moves_out_of_its_plane(guess: list[float]) -> None:
    plant, links = chain([1.0, 2.0, 1.5])
    plant.AddBallConstraint(links[-1], [1.5, 0.0, 0.0], plant.world_body(), [2.0, 0.0, 0.0])
    plant.Finalize()
    angles = np.cumsum(solve_for_postures(plant, guess))
    np.testing.assert_allclose(np.exp(1j * angles) @ [1.0, 2.0, 1.5], 2.0, atol=1e-6)


@pytest.mark.parametrize("start", [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
def test_a_body_turns_to_one_orientation_from_anywhere_half_a_turn_away_too(start: list[float]) -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.Finalize()
    ik, R_WB = InverseKinematics(plant), RotationMatrix.MakeZRotation(0.5)
    ik.AddOrientationConstraint(plant.world_frame(), R_WB, body.body_frame(), RotationMatrix(), 0.0)
    result = Solve(ik.prog(), [*start, 0.0, 0.0, 0.0])
    assert result.is_success()
    R = plant.EvalBodyPoseInWorld(ik.context(), body).rotation()  # the Context is at the solution
    np.testing.assert_allclose(R.matrix(), R_WB.matrix(), atol=1e-4)


@pytest.mark.parametrize("is_one_pair", [True, False])
def test_concentric_spheres_are_moved_apart(is_one_pair: bool) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    bodies = [plant.AddRigidBody(name, SpatialInertia.SolidSphereWithMass(1.0, 0.1)) for name in "ab"]
    for body in bodies:
        plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), body.name(), CoulombFriction(1.0, 1.0))
    plant.Finalize()
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    ik = InverseKinematics(plant, plant.GetMyContextFromRoot(root))
    if is_one_pair:
        a, b = (plant.GetCollisionGeometriesForBody(body)[0] for body in bodies)
        ik.AddDistanceConstraint((a, b), 0.05, 10.0)
    else:
        ik.AddMinimumDistanceLowerBoundConstraint(0.05, 0.1)
    result = Solve(ik.prog(), [1.0, *[0.0] * 6, 1.0, *[0.0] * 6])
    assert result.is_success()
    q = result.GetSolution(ik.q())
    assert np.linalg.norm(q[4:7] - q[11:14]) >= 0.25 - 1e-6


def test_wrong_arguments_are_refused_with_their_names() -> None:
    plant, other = arm(), arm()
    context = plant.CreateDefaultContext()
    world, hand = plant.world_frame(), hand_of(plant)
    with pytest.raises(RuntimeError, match="PositionConstraint: frame 'world' is not of plant"):
        PositionConstraint(plant, other.world_frame(), [0.0] * 3, [1.0] * 3, hand, [0.0] * 3, context)
    with pytest.raises(ValueError, match="lower bounds"):
        PositionConstraint(plant, world, [1.0] * 3, [0.0] * 3, hand, [0.0] * 3, context)
    with pytest.raises(ValueError, match=r"theta_bound must not be negative, got -0.1"):
        OrientationConstraint(plant, world, RotationMatrix(), hand, RotationMatrix(), -0.1, context)
    with pytest.raises(RuntimeError, match=r"DistanceConstraint: plant .* is not registered with a SceneGraph"):
        DistanceConstraint(plant, (None, None), context, 0.0, 1.0)
    with pytest.raises(ValueError, match="was given the context of system"):
        InverseKinematics(plant, other.CreateDefaultContext())
    with pytest.raises(TypeError, match="takes a MultibodyPlant of floats"):
        InverseKinematics(plant.ToAutoDiffXd())
    unfinished = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match="not finalized"):
        InverseKinematics(unfinished)
