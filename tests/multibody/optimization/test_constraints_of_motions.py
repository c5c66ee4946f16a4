"""Momenta, velocities, rotations and contact forces as constraints: laws, derivatives and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import Context, DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.framework.optimization import Solve
from merganser.framework.symbolic import MakeVectorVariable, Variable
from merganser.geometry import Box, Sphere
from merganser.multibody.inverse_kinematics import UnitQuaternionConstraint
from merganser.multibody.optimization import (
    CentroidalMomentumConstraint,
    ContactWrenchFromForceInWorldFrameEvaluator,
    QuaternionEulerIntegrationConstraint,
    SpatialVelocityConstraint,
    StaticEquilibriumProblem,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia

RADIUS, MASS = 0.2, 2.0


def two_links(to_autodiff: bool = True) -> tuple[MultibodyPlant, Context]:
    """A turning link with a sliding one, and a free body."""
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia.SolidBoxWithMass(MASS, 0.1, 0.2, 0.3)
    first, second = plant.AddRigidBody("first", inertia), plant.AddRigidBody("second", inertia)
    plant.AddRigidBody("free", inertia)
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), first.body_frame(), [0.0, 0.6, 0.8]))
    plant.AddJoint(PrismaticJoint("slide", first.body_frame(), second.body_frame(), [1.0, 0.0, 0.0]))
    plant.Finalize()
    made: Any = plant.ToAutoDiffXd() if to_autodiff else plant
    return made, made.CreateDefaultContext()


def random_state(plant: MultibodyPlant, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=plant.num_multibody_states())
    quaternion = x[plant.GetBodyByName("free").floating_positions_start() :][:4]
    quaternion /= np.linalg.norm(quaternion)
    return x


def check_derivatives(constraint: Any, x: np.ndarray, tolerance: float = 1e-7) -> None:
    """Against differences."""
    by_rule = ExtractGradient(constraint.Eval(InitializeAutoDiff(x).ravel()))
    step = 1e-6
    moves = step * np.eye(x.size)
    by_differences = np.column_stack([(constraint.Eval(x + e) - constraint.Eval(x - e)) / (2.0 * step) for e in moves])
    np.testing.assert_allclose(by_rule, by_differences, atol=tolerance)


# ------------------------------------------------------------------------------------ momenta and velocities


@pytest.mark.parametrize("angular_only", [False, True])
def test_momentum_is_mass_times_velocity_of_the_centre(angular_only: bool) -> None:
    plant, context = two_links()
    constraint = CentroidalMomentumConstraint(plant, None, context, angular_only)
    size = 3 if angular_only else 6
    x = np.concatenate((random_state(plant), np.zeros(size)))
    if not angular_only:
        v = plant.CalcCenterOfMassTranslationalVelocityInWorld(_moved(plant, x[:-6]))
        np.testing.assert_allclose(constraint.Eval(x)[3:], [3.0 * MASS * each.value() for each in v], atol=1e-12)
    x[-size:] = constraint.Eval(x)
    np.testing.assert_allclose(constraint.Eval(x), 0.0, atol=1e-12)
    assert constraint.CheckSatisfied(x)
    check_derivatives(constraint, x)


def _moved(plant: MultibodyPlant, state: np.ndarray) -> Context:
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(state).ravel())
    return context


def test_a_plant_of_floats_is_copied_and_its_context_stays() -> None:
    floats, context = two_links(to_autodiff=False)
    x = random_state(floats)
    bodies = floats.GetFrameByName("first"), floats.GetFrameByName("free")
    before = floats.GetPositionsAndVelocities(context)
    ours = SpatialVelocityConstraint(floats, bodies[0], -np.ones(3), np.ones(3), bodies[1], [0.1, 0.2, 0.3], context)
    np.testing.assert_array_equal(floats.GetPositionsAndVelocities(context), before)
    floats.SetPositionsAndVelocities(context, x)
    point = floats.CalcPointsPositions(context, bodies[1], [0.1, 0.2, 0.3], bodies[0]).ravel()
    V_AB = bodies[1].CalcSpatialVelocity(context, bodies[0], bodies[0])
    arm = point - floats.CalcPointsPositions(context, bodies[1], np.zeros(3), bodies[0]).ravel()
    np.testing.assert_allclose(ours.Eval(x), V_AB.Shift(arm).translational(), atol=1e-12)
    check_derivatives(ours, x)


def test_bounds_of_angular_velocities_are_of_squares_and_cosines() -> None:
    plant, context = two_links()
    Bounds = SpatialVelocityConstraint.AngularVelocityBounds
    bounds = Bounds(magnitude_lower=1.0, magnitude_upper=2.0, reference_direction=[0.0, 6.0, 8.0], theta_bound=0.1)
    world, link = plant.world_frame(), plant.GetFrameByName("first")
    constraint = SpatialVelocityConstraint(plant, world, -np.ones(3), np.ones(3), link, np.zeros(3), context, bounds)
    np.testing.assert_allclose(constraint.lower_bound()[3:], [1.0, np.cos(0.1)])
    np.testing.assert_allclose(constraint.upper_bound()[3:], [4.0, 1.0])
    x = random_state(plant)
    speed = plant.num_positions() + plant.GetJointByName("turn").velocity_start()
    for value in (1.5, -1.5, 0.0):
        x[speed] = value
        np.testing.assert_allclose(constraint.Eval(x)[3:], [value**2, np.sign(value)], atol=1e-12)
    x[speed] = 1.5
    assert constraint.CheckSatisfied(x)
    check_derivatives(constraint, x)


@pytest.mark.parametrize(
    "bounds",
    [
        {"magnitude_lower": -1.0},
        {"magnitude_lower": 2.0, "magnitude_upper": 1.0},
        {"theta_bound": -0.1},
        {"theta_bound": 4.0},
        {"theta_bound": np.nan},
        {"reference_direction": np.zeros(3)},
        {"reference_direction": [np.nan, 0.0, 0.0]},
    ],
)
def test_bounds_out_of_range_are_an_error(bounds: dict[str, Any]) -> None:
    plant, context = two_links()
    given = SpatialVelocityConstraint.AngularVelocityBounds(**bounds)
    world, one, zero = plant.world_frame(), np.ones(3), np.zeros(3)
    with pytest.raises(ValueError, match="w_AC_bounds"):
        SpatialVelocityConstraint(plant, world, -one, one, plant.GetFrameByName("first"), zero, context, given)


def test_wrong_plants_contexts_frames_and_states_are_errors() -> None:
    plant, context = two_links()
    other, _ = two_links()
    world, link, one, zero = plant.world_frame(), other.GetFrameByName("first"), np.ones(3), np.zeros(3)
    with pytest.raises(RuntimeError, match="frameB, 'first', is not of plant"):
        SpatialVelocityConstraint(plant, world, -one, one, link, zero, context)
    with pytest.raises(ValueError, match="v_AC_lower <= v_AC_upper"):
        SpatialVelocityConstraint(plant, world, one, -one, world, zero, context)
    with pytest.raises(TypeError, match="must be a Context"):
        CentroidalMomentumConstraint(plant, None, None, False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a MultibodyPlant"):
        CentroidalMomentumConstraint("plant", None, context, False)  # type: ignore[arg-type]
    constraint = CentroidalMomentumConstraint(plant, None, context, True)
    with pytest.raises(ValueError, match="must be finite"):
        constraint.Eval(np.full(constraint.num_vars(), np.nan))
    with pytest.raises(TypeError, match="no symbolic form"):
        constraint.Eval(MakeVectorVariable(constraint.num_vars(), "x"))


# ------------------------------------------------------------------------------------------------- rotations


@pytest.mark.parametrize("speed", [2.0, 1e-2, 1e-6, 0.0])
@pytest.mark.parametrize("allow_negation", [False, True])
def test_a_rotation_of_constant_velocity_is_allowed(speed: float, allow_negation: bool) -> None:
    constraint = QuaternionEulerIntegrationConstraint(allow_negation)
    z1, w, h = np.array([0.5, -0.5, 0.5, 0.5]), speed * np.array([0.6, 0.0, 0.8]), 0.7
    half = 0.5 * speed * h
    d = np.array([np.cos(half), *(np.sin(half) * np.array([0.6, 0.0, 0.8]))])
    z2 = np.array([d[0] * z1[0] - d[1:] @ z1[1:], *(d[0] * z1[1:] + z1[0] * d[1:] + np.cross(d[1:], z1[1:]))])
    assert constraint.CheckSatisfied(constraint.ComposeVariable(z1, z2, w, h), tol=1e-12)
    assert constraint.CheckSatisfied(constraint.ComposeVariable(z1, -z2, w, h), tol=1e-12) is allow_negation
    other = np.random.default_rng(0).normal(size=4)
    check_derivatives(constraint, constraint.ComposeVariable(z1, other, w, h))


def test_variables_are_composed_of_numbers_variables_and_expressions() -> None:
    constraint = QuaternionEulerIntegrationConstraint(allow_quaternion_negation=True)
    z1, z2, w, h = MakeVectorVariable(4, "a"), MakeVectorVariable(4, "b"), MakeVectorVariable(3, "w"), Variable("h")
    assert [str(each) for each in constraint.ComposeVariable(z1, z2, w, h)][3:5] == ["a(3)", "b(0)"]
    assert constraint.ComposeVariable(quat1=z1, quat2=z2, angular_vel=w, h=2.0 * h).shape == (12,)
    with pytest.raises(ValueError, match="angular_vel must have size 3, got 2"):
        constraint.ComposeVariable(z1, z2, w[:2], h)


# ------------------------------------------------------------------------------------------------ equilibria


def scene() -> tuple[Any, MultibodyPlant, Context]:
    """A ball, and a box under it whose top is at height 0; the first is the Context of the diagram."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(MASS, RADIUS))
    material = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(RADIUS), "ball", material)
    X_WG = RigidTransform([0.0, 0.0, -1.0])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WG, Box(9.0, 9.0, 2.0), "ground", material)
    plant.Finalize()
    diagram: Any = builder.Build().ToAutoDiffXd()
    copy = diagram.GetSubsystemByName(plant.get_name())
    root = diagram.CreateDefaultContext()
    return root, copy, copy.GetMyMutableContextFromRoot(root)


def solved(problem: StaticEquilibriumProblem, guess: np.ndarray) -> Any:
    prog = problem.get_mutable_prog()
    prog.AddConstraint(UnitQuaternionConstraint(), problem.q_vars()[:4])
    prog.AddBoundingBoxConstraint([0.1, 0.2], [0.1, 0.2], problem.q_vars()[4:6])
    x = np.full(prog.num_vars(), 0.1)
    x[:7] = guess
    for tolerance in (1e-2, 1e-5):
        problem.UpdateComplementarityTolerance(tolerance)
        result = Solve(prog, x)
        x = result.get_x_val()
    return result


def test_a_ball_lies_on_the_ground_and_the_ground_carries_it() -> None:
    _, plant, context = scene()
    problem = StaticEquilibriumProblem(plant, context, set())
    result = solved(problem, np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.5]))
    assert result.is_success()
    assert result.GetSolution(problem.q_vars())[6] == pytest.approx(RADIUS, abs=1e-5)
    (wrench,) = problem.GetContactWrenchSolution(result)
    indices = {int(wrench.bodyA_index), int(wrench.bodyB_index)}
    assert indices == {0, int(plant.GetBodyByName("ball").index())}
    up = 1.0 if int(wrench.bodyA_index) == 0 else -1.0  # A acts on B
    np.testing.assert_allclose(wrench.F_Cb_W.translational(), [0.0, 0.0, up * MASS * 9.81], atol=1e-4)
    np.testing.assert_array_equal(wrench.F_Cb_W.rotational(), 0.0)
    np.testing.assert_allclose(wrench.p_WCb_W, [0.1, 0.2, 0.0], atol=1e-4)


def test_pairs_that_are_ignored_in_either_order_have_no_forces() -> None:
    _, plant, context = scene()
    query: Any = plant.get_geometry_query_input_port().Eval(context)
    (pair,) = query.inspector().GetCollisionCandidates()
    for ignored in ({pair}, {pair[::-1]}):
        problem = StaticEquilibriumProblem(plant, context, ignored)
        assert problem.prog().num_vars() == plant.num_positions()
        assert problem.u_vars().shape == (0,)
    evaluator = ContactWrenchFromForceInWorldFrameEvaluator(plant, context, pair)
    x = np.concatenate((plant.GetDefaultPositions(), [1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(evaluator.Eval(x), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    check_derivatives(evaluator, x)


def test_without_geometries_or_with_a_negative_tolerance_errors_say_so() -> None:
    plant, context = two_links()
    with pytest.raises(RuntimeError, match=r"AddMultibodyPlantSceneGraph"):
        StaticEquilibriumProblem(plant, context, set())
    _, plant, context = scene()
    problem = StaticEquilibriumProblem(plant, context, set())
    for tolerance in (-1.0, np.nan):
        with pytest.raises(ValueError, match="at least 0"):
            problem.UpdateComplementarityTolerance(tolerance)
