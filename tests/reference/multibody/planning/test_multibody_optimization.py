"""Constraints of multibody.optimization against pydrake's: values, derivatives and equilibria."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")

import pydrake.all as drake
import pydrake.multibody.optimization as drake_optimization
from plants import EXAMPLE_MODELS, MODELS

import merganser.all as merganser
import merganser.multibody.optimization as merganser_optimization

pytestmark = pytest.mark.reference

_BOX = """
<robot name='{name}'><link name='base'><inertial><mass value='2'/>
<inertia ixx='0.02' iyy='0.03' izz='0.04' ixy='0.001' ixz='0' iyz='0'/></inertial>
<collision name='shape'><geometry>{shape}</geometry>
<drake:proximity_properties><drake:mu_static value='{mu}'/><drake:mu_dynamic value='0.3'/></drake:proximity_properties>
</collision></link></robot>
"""
_MODULES = [(drake, drake_optimization), (merganser, merganser_optimization)]


def _robots(add: Any) -> list[SimpleNamespace]:
    """The same robot, of AutoDiffXd, in pydrake and here."""
    return [_robot(all, optimization, add) for all, optimization in _MODULES]


def _robot(all: Any, optimization: Any, add: Any) -> SimpleNamespace:
    builder = all.DiagramBuilder()
    plant, _ = all.AddMultibodyPlantSceneGraph(builder, 0.0)
    add(all, plant)
    plant.Finalize()
    floats = builder.Build()
    diagram = floats.ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    copy = diagram.GetSubsystemByName(plant.get_name())
    return SimpleNamespace(
        all=all, optimization=optimization, floats=floats, diagram=diagram, root=context, plant=copy,
        context=copy.GetMyMutableContextFromRoot(context),
    )  # fmt: skip


def _arm_with_a_load(all: Any, plant: Any) -> None:
    file = MODELS / "iiwa_description/urdf/iiwa14_spheres_collision.urdf"
    if not file.is_file():
        pytest.skip(f"model file {file} is missing; set MERGANSER_MODELS to the folder of the robots")
    parser = all.Parser(plant)
    if parser.package_map().Contains("drake_models"):
        parser.package_map().Remove("drake_models")
    parser.package_map().Add("drake_models", str(MODELS))
    parser.AddModels(str(file))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base", plant.GetModelInstanceByName("iiwa14")))
    parser.AddModelsFromString(_BOX.format(name="load", shape="<box size='0.1 0.2 0.3'/>", mu=0.5), "urdf")


def _state(plant: Any, seed: int) -> np.ndarray:
    """A random state of the arm and the load."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, plant.num_multibody_states())
    quaternion = x[plant.GetBodyByName("base", plant.GetModelInstanceByName("load")).floating_positions_start() :][:4]
    quaternion /= np.linalg.norm(quaternion)
    return x


def _compare(ours: Any, theirs: Any, x: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(ours.Eval(x), theirs.Eval(x), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        merganser.ExtractGradient(ours.Eval(merganser.InitializeAutoDiff(x).ravel())),
        drake.ExtractGradient(theirs.Eval(drake.InitializeAutoDiff(x).ravel())),
        rtol=tolerance,
        atol=tolerance,
    )


def _compare_bounds(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.lower_bound(), theirs.lower_bound(), atol=1e-15)
    np.testing.assert_allclose(ours.upper_bound(), theirs.upper_bound(), atol=1e-15)
    assert ours.num_vars() == theirs.num_vars()


@pytest.fixture(scope="module")
def arms() -> list[SimpleNamespace]:
    return _robots(_arm_with_a_load)


@pytest.mark.parametrize("angular_only", [False, True])
@pytest.mark.parametrize("model", [None, "iiwa14", "load"])
def test_centroidal_momentum(arms: list[SimpleNamespace], angular_only: bool, model: str | None) -> None:
    theirs, ours = (
        r.optimization.CentroidalMomentumConstraint(
            r.plant, model and [r.plant.GetModelInstanceByName(model)], r.context, angular_only
        )
        for r in arms
    )
    _compare_bounds(ours, theirs)
    for seed in range(3):
        momentum = np.random.default_rng(seed).normal(size=3 if angular_only else 6)
        _compare(ours, theirs, np.concatenate((_state(arms[1].plant, seed), momentum)))


@pytest.mark.parametrize("has_bounds", [False, True])
def test_spatial_velocity(arms: list[SimpleNamespace], has_bounds: bool) -> None:
    constraints = []
    for r in arms:
        bounds = None
        if has_bounds:
            bounds = r.optimization.SpatialVelocityConstraint.AngularVelocityBounds()
            bounds.magnitude_lower, bounds.magnitude_upper, bounds.theta_bound = 0.5, 2.0, 0.3
            bounds.reference_direction = np.array([1.0, 2.0, -2.0])
        frame_A = r.plant.GetFrameByName("iiwa_link_3")
        frame_B = r.plant.GetFrameByName("base", r.plant.GetModelInstanceByName("load"))
        constraints.append(
            r.optimization.SpatialVelocityConstraint(
                r.plant, frame_A, [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0], frame_B, [0.1, 0.2, 0.3], r.context, bounds
            )
        )
    theirs, ours = constraints
    _compare_bounds(ours, theirs)
    for seed in range(3):
        _compare(ours, theirs, _state(arms[1].plant, seed))


def test_spatial_velocity_of_a_frame_at_rest(arms: list[SimpleNamespace]) -> None:
    constraints = []
    for r in arms:
        bounds = r.optimization.SpatialVelocityConstraint.AngularVelocityBounds()
        hand = r.plant.GetFrameByName("iiwa_link_7")
        one = np.ones(3)
        constraints.append(
            r.optimization.SpatialVelocityConstraint(
                r.plant, r.plant.world_frame(), -one, one, hand, np.zeros(3), r.context, bounds
            )
        )
    x = _state(arms[1].plant, 0)
    x[arms[1].plant.num_positions() :] = 0.0
    _compare(constraints[1], constraints[0], x)


@pytest.mark.parametrize("allow_negation", [False, True])
def test_quaternion_integration(allow_negation: bool) -> None:
    theirs, ours = (o.QuaternionEulerIntegrationConstraint(allow_negation) for _, o in _MODULES)
    assert ours.allow_quaternion_negation() == theirs.allow_quaternion_negation()
    _compare_bounds(ours, theirs)
    rng = np.random.default_rng(0)
    for scale in (1.0, 10.0, 1e-2, 1e-4):
        z1, z2 = (z / np.linalg.norm(z) for z in rng.normal(size=(2, 4)))
        x = ours.ComposeVariable(z1, z2, scale * rng.normal(size=3), 0.3)
        np.testing.assert_array_equal(x, theirs.ComposeVariable(z1, z2, x[8:11], 0.3))
        _compare(ours, theirs, x)


def _one_ball(all: Any, plant: Any) -> None:
    _balls(all, plant, {"small": 0.1})


def _two_balls(all: Any, plant: Any) -> None:
    _balls(all, plant, {"small": 0.1, "big": 0.3})


def _balls(all: Any, plant: Any, radii: dict[str, float]) -> None:
    for name, radius in radii.items():
        model = _BOX.format(name=name, shape=f"<sphere radius='{radius}'/>", mu=0.5 + radius)
        all.Parser(plant).AddModelsFromString(model, "urdf")
    ground = all.RigidTransform([0.0, 0.0, -1.0])
    friction = all.CoulombFriction(0.8, 0.7)
    plant.RegisterCollisionGeometry(plant.world_body(), ground, all.Box(10.0, 10.0, 2.0), "ground", friction)


_LEG = """
<robot name='leg'><link name='rail'><inertial><mass value='1'/>
<inertia ixx='0.02' iyy='0.03' izz='0.04' ixy='0' ixz='0' iyz='0'/></inertial></link>
<link name='foot'><inertial><origin xyz='0.1 0 0'/><mass value='0.5'/>
<inertia ixx='0.02' iyy='0.03' izz='0.04' ixy='0' ixz='0' iyz='0'/></inertial>
<collision name='toe'><origin xyz='0.5 0 0'/><geometry><sphere radius='0.1'/></geometry></collision></link>
<joint name='slide' type='prismatic'><parent link='world'/><child link='rail'/><axis xyz='0 0 1'/>
<limit lower='0' upper='2' effort='100'/></joint>
<joint name='turn' type='revolute'><parent link='rail'/><child link='foot'/><axis xyz='0 1 0'/>
<limit lower='-2' upper='2' effort='100'/><dynamics damping='0.3'/></joint>
<transmission><type>transmission_interface/SimpleTransmission</type><joint name='turn'/>
<actuator name='motor'><mechanicalReduction>3</mechanicalReduction></actuator></transmission></robot>
"""


def _leg(all: Any, plant: Any) -> None:
    """A leg with a motor above the ground, and a spring, which is not part of the balance."""
    all.Parser(plant).AddModelsFromString(_LEG, "urdf")
    friction = all.CoulombFriction(0.8, 0.7)
    ground = all.RigidTransform([0.0, 0.0, -1.0])
    plant.RegisterCollisionGeometry(plant.world_body(), ground, all.Box(10.0, 10.0, 2.0), "ground", friction)
    plant.AddForceElement(all.RevoluteSpring(plant.GetJointByName("turn"), 0.3, 7.0))


def _x_of_balls(size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    for start in (0, 7):
        x[start : start + 4] /= np.linalg.norm(x[start : start + 4])
        x[start + 6] = rng.uniform(0.5, 1.0)
    x[11:13] += 2.0
    return x


def _x_of_leg(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 1.5, size)


@pytest.mark.parametrize(("add", "make_x"), [(_two_balls, _x_of_balls), (_leg, _x_of_leg)])
def test_every_constraint_of_an_equilibrium(add: Any, make_x: Any) -> None:
    theirs, ours = (r.optimization.StaticEquilibriumProblem(r.plant, r.context, set()) for r in _robots(add))
    assert ours.prog().num_vars() == theirs.prog().num_vars()
    assert (ours.q_vars().shape, ours.u_vars().shape) == (theirs.q_vars().shape, theirs.u_vars().shape)
    for problem in (ours, theirs):
        problem.UpdateComplementarityTolerance(0.02)
    mine, yours = (_constraints_by_size(p.prog()) for p in (ours, theirs))
    assert [len(group) for group in mine] == [len(group) for group in yours]
    for seed in range(3):
        x = make_x(ours.prog().num_vars(), seed)
        for group, other in zip(mine, yours):
            for one, two in zip(group, other):
                _compare_bounds(one, two)
                _compare(one, two, x[: one.num_vars()])


def _constraints_by_size(prog: Any) -> tuple[list[Any], list[Any]]:
    """The balance of forces, and the rules of contacts."""
    evaluators = [binding.evaluator() for binding in prog.generic_constraints()]
    contacts = [each for each in evaluators if each.num_constraints() == 4]
    return [each for each in evaluators if each not in contacts], contacts


@pytest.mark.parametrize(
    ("add", "guess", "fixed"),
    [(_one_ball, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3], [*range(6)]), (_leg, [0.5, 1.0], [1])],
)
def test_equilibria(add: Any, guess: list[float], fixed: list[int]) -> None:
    """Where all but heights is given and forces are the least, there is one equilibrium."""
    found = []
    for r in _robots(add):
        problem = r.optimization.StaticEquilibriumProblem(r.plant, r.context, set())
        prog, q = problem.get_mutable_prog(), problem.q_vars()
        prog.AddBoundingBoxConstraint(np.array(guess)[fixed], np.array(guess)[fixed], q[fixed])
        others = prog.decision_variables()[len(guess) :]
        prog.AddQuadraticErrorCost(1e-3 * np.eye(len(others)), np.zeros(len(others)), others)
        x = np.full(prog.num_vars(), 0.1)
        x[: len(guess)] = guess
        for tolerance in (1e-1, 1e-3, 1e-6):
            problem.UpdateComplementarityTolerance(tolerance)
            result = r.all.Solve(prog, x)
            assert result.is_success()
            x = result.get_x_val()
        wrenches = problem.GetContactWrenchSolution(result)
        forces = np.array([np.concatenate((w.p_WCb_W, w.F_Cb_W.get_coeffs())) for w in wrenches])
        bodies = [(int(w.bodyA_index), int(w.bodyB_index)) for w in wrenches]
        found.append((result.GetSolution(q), result.GetSolution(problem.u_vars()), forces, bodies))
    theirs, ours = found
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-3)
    np.testing.assert_allclose(ours[2], theirs[2], atol=1e-3)
    assert ours[3] == theirs[3]


# ---------------------------------------------------------------------------------------------------- ZmpPlanner


@pytest.mark.parametrize("kind", ["zero_order", "first_order", "cubic"])
def test_zmp_planner(kind: str) -> None:
    rng = np.random.default_rng(0)
    times = np.concatenate(([0.5], 0.5 + np.cumsum(rng.uniform(0.2, 1.0, 6))))
    samples, x0 = rng.normal(size=(2, 7)), rng.normal(size=4)
    Qy, R = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[0.2, 0.01], [0.01, 0.1]])
    planners = []
    for all, _ in _MODULES:
        make = {
            "zero_order": all.PiecewisePolynomial.ZeroOrderHold,
            "first_order": all.PiecewisePolynomial.FirstOrderHold,
            "cubic": all.PiecewisePolynomial.CubicWithContinuousSecondDerivatives,
        }[kind]
        planner = all.ZmpPlanner()
        assert not planner.has_planned()
        planner.Plan(make(times, samples), x0, 0.9, 9.7, Qy, R)
        assert planner.has_planned()
        planners.append(planner)
    theirs, ours = planners
    for name in ("A", "B", "C", "D", "Qy", "R", "Vxx", "final_desired_zmp"):
        mine, other = (np.asarray(getattr(p, f"get_{name}")()) for p in (ours, theirs))
        np.testing.assert_allclose(mine.ravel(), other.ravel(), atol=1e-9)
    for name in ("desired_zmp", "nominal_com", "nominal_comd", "nominal_comdd", "Vx"):
        for t in (times[0], *rng.uniform(times[0], times[-1], 9), times[3], times[-1], times[-1] + 0.5):
            mine, other = (getattr(p, f"get_{name}")(t) for p in (ours, theirs))
            assert mine.shape == other.shape
            np.testing.assert_allclose(mine, other, atol=1e-8, err_msg=f"{name} at {t}")
            mine, other = (getattr(p, f"get_{name}")().value(t) for p in (ours, theirs))
            np.testing.assert_allclose(mine, other, atol=1e-8)
    for t in rng.uniform(times[0], times[-1], 5):
        x, u = rng.normal(size=4), rng.normal(size=2)
        np.testing.assert_allclose(ours.ComputeOptimalCoMdd(t, x), theirs.ComputeOptimalCoMdd(t, x), atol=1e-8)
        np.testing.assert_allclose(ours.comdd_to_cop(x, u), theirs.comdd_to_cop(x, u), atol=1e-12)


# ------------------------------------------------------------------------------- LinearModelPredictiveController


def test_commands_of_a_predictive_controller_are_those_of_the_program_in_pydrake() -> None:
    """pydrake has no such controller in Python: its program is written out here, for a cart with a pole."""
    rng = np.random.default_rng(0)
    file = str(EXAMPLE_MODELS / "cart_pole.sdf")
    plant = merganser.MultibodyPlant(0.0)
    merganser.Parser(plant).AddModels(file)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.0, np.pi])
    plant.get_actuation_input_port().FixValue(context, [0.0])
    port = int(plant.get_actuation_input_port().get_index())
    Q, R, period, N = np.diag([10.0, 10.0, 1.0, 1.0]), np.array([[0.1]]), 0.05, 20
    limits = ([-8.0], [8.0]), ([-1.0, -9.0, -3.0, -9.0], [1.0, 9.0, 3.0, 9.0])
    mpc = merganser.LinearModelPredictiveController(
        plant, context, Q, R, period, N * period, input_limits=limits[0], state_limits=limits[1], input_port_index=port
    )
    their_plant = drake.MultibodyPlant(0.0)
    drake.Parser(their_plant).AddModels(file)
    their_plant.Finalize()
    their_context = their_plant.CreateDefaultContext()
    x_ref = np.array([0.0, np.pi, 0.0, 0.0])
    their_plant.SetPositionsAndVelocities(their_context, x_ref)
    their_plant.get_actuation_input_port().FixValue(their_context, [0.0])
    linear = drake.Linearize(
        their_plant,
        their_context,
        their_plant.get_actuation_input_port().get_index(),
        drake.OutputPortSelection.kNoOutput,
    )
    sampled = drake.DiscreteTimeApproximation(linear, period)
    for _ in range(4):
        x0 = x_ref + rng.uniform(-0.3, 0.3, 4)
        prog = drake.MathematicalProgram()
        x, u = prog.NewContinuousVariables(4, N + 1), prog.NewContinuousVariables(1, N)
        prog.AddLinearEqualityConstraint(np.eye(4), x0 - x_ref, x[:, 0])
        for k in range(N):
            rows = np.hstack((sampled.A(), sampled.B(), -np.eye(4)))
            prog.AddLinearEqualityConstraint(rows, np.zeros(4), np.concatenate((x[:, k], u[:, k], x[:, k + 1])))
            prog.AddQuadraticErrorCost(Q, np.zeros(4), x[:, k + 1])
            prog.AddQuadraticErrorCost(R, np.zeros(1), u[:, k])
            prog.AddBoundingBoxConstraint(*limits[0], u[:, k])
            prog.AddBoundingBoxConstraint(limits[1][0] - x_ref, limits[1][1] - x_ref, x[:, k + 1])
        result = drake.ClarabelSolver().Solve(prog)
        assert result.is_success()
        mpc_context = mpc.CreateDefaultContext()
        mpc.get_state_port().FixValue(mpc_context, x0)
        update = mpc.EvalUniquePeriodicDiscreteUpdate(mpc_context)
        np.testing.assert_allclose(update.get_vector(1).CopyToVector(), result.GetSolution(u[:, 0]), atol=1e-4)
