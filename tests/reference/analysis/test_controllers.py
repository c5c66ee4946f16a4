"""Controllers give pydrake's gains, costs, policies, ports and forces."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.multibody.parsing
import pydrake.multibody.plant
import pydrake.systems.analysis as drake_analysis
import pydrake.systems.controllers as drake
import pydrake.systems.primitives as drake_primitives
import pydrake.trajectories as drake_trajectories

from merganser import analysis
from merganser.analysis import controllers
from merganser.framework import primitives, trajectories
from merganser.multibody import controllers as plant_controllers
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

pytestmark = pytest.mark.reference
ARM = str(Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf")
OURS = (primitives, trajectories, controllers, analysis)
THEIRS = (drake_primitives, drake_trajectories, drake, drake_analysis)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    cost = root @ root.T + 0.1 * np.eye(6)
    return rng.standard_normal((4, 4)), rng.standard_normal((4, 2)), cost[:4, :4], cost[4:, 4:], cost[:4, 4:]


@pytest.mark.parametrize("name", ["LinearQuadraticRegulator", "DiscreteTimeLinearQuadraticRegulator"])
@pytest.mark.parametrize("seed", range(3))
def test_gains_and_costs_of_random_systems_are_the_same(name, seed):
    problem = random_problem(seed)
    for ours, theirs in zip(getattr(controllers, name)(*problem), getattr(drake, name)(*problem)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_gains_with_constraints_are_the_same():
    A, B, Q, R, N = random_problem(5)
    F = np.random.default_rng(1).standard_normal((1, 4))
    for ours, theirs in zip(
        controllers.LinearQuadraticRegulator(A, B, Q, R, N, F), drake.LinearQuadraticRegulator(A, B, Q, R, N, F)
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


def finite_horizon(modules, period, uses_root):
    """Random affine dynamics along smooth random trajectories, towards others."""
    blocks, paths, control, _ = modules
    rng = np.random.default_rng(4)
    A, B, f0 = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    if period:
        A, B, f0 = np.eye(3) + period * A, period * B, period * f0
    system = blocks.AffineSystem(A, B, f0, np.eye(3), np.zeros((3, 2)), np.zeros(3), period)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, np.zeros(2))
    options = control.FiniteHorizonLinearQuadraticRegulatorOptions()
    options.Qf, options.N, options.use_square_root_method = np.diag([1.0, 2.0, 3.0]), 0.1 * np.ones((3, 2)), uses_root
    options.simulator_config.integration_scheme = "runge_kutta5"
    options.simulator_config.accuracy = 1e-11
    options.simulator_config.max_step_size = 0.02
    times = [0.0, 0.3, 0.6, 1.0]
    for name, rows in (("x0", 3), ("u0", 2), ("xd", 3), ("ud", 2)):
        path = paths.PiecewisePolynomial.LagrangeInterpolatingPolynomial(times, rng.normal(size=(rows, 4)))
        setattr(options, name, path)
    return control.FiniteHorizonLinearQuadraticRegulator(
        system, context, 0.0, 1.0, np.eye(3), np.eye(2), options
    )


@pytest.mark.parametrize(("period", "uses_root"), [(0.0, False), (0.0, True), (0.1, False)])
def test_finite_horizon_regulators_are_the_same(period, uses_root):
    ours, theirs = finite_horizon(OURS, period, uses_root), finite_horizon(THEIRS, period, uses_root)
    times = [0.1 * i for i in range(10)]
    for name in ("x0", "u0", "K", "S", "k0", "sx", "s0"):
        for time in times:
            np.testing.assert_allclose(
                getattr(ours, name).value(time), getattr(theirs, name).value(time), atol=1e-12 if period else 2e-6
            )
    if not period:  # both interpolate by cubics; only S at the start is free of that
        np.testing.assert_allclose(ours.S.value(0.0), theirs.S.value(0.0), atol=1e-9)
        np.testing.assert_allclose(ours.sx.value(0.0), theirs.sx.value(0.0), atol=1e-9)


def dynamic_programs(modules):
    blocks, _, control, simulation = modules
    system = blocks.LinearSystem([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    simulator = simulation.Simulator(system)

    def cost(context):
        x, u = context.get_continuous_state_vector().CopyToVector(), system.get_input_port().Eval(context)
        return x @ x + u @ u

    options = control.DynamicProgrammingOptions()
    options.discount_factor, options.convergence_tol = 0.8, 1e-9
    options.periodic_boundary_conditions = [control.PeriodicBoundaryCondition(0, -1.0, 1.0)]
    seen = []
    options.visualization_callback = lambda number, mesh, J, policy: seen.append((number, J.shape, policy.shape))
    grid = [set(np.linspace(-1.0, 1.0, 5)), set(np.linspace(-2.0, 2.0, 5))]
    inputs = [set(np.linspace(-1.0, 1.0, 3))]
    policy, J = control.FittedValueIteration(simulator, cost, grid, inputs, 0.1, options)
    options.periodic_boundary_conditions = []
    samples = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 20))
    parameters = control.LinearProgrammingApproximateDynamicProgramming(
        simulator, cost, lambda x, p: p[0] * x[0] ** 2 + p[1] * x[0] * x[1] + p[2] * x[1] ** 2 + p[3], 4,
        samples, np.linspace(-1.0, 1.0, 3)[None], 0.1, options,
    )  # fmt: skip
    return J, policy.get_output_values(), parameters, seen[0], seen[-1]


def test_dynamic_programs_have_the_same_solutions():
    ours, theirs = dynamic_programs(OURS), dynamic_programs(THEIRS)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9)
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-7, atol=1e-9)
    assert ours[3:] == theirs[3:]


# ---------------------------------------------------------------------- with a plant


@pytest.fixture(scope="module")
def arms():
    made = []
    for plant, parser in (
        (MultibodyPlant(0.0), Parser),
        (pydrake.multibody.plant.MultibodyPlant(0.0), pydrake.multibody.parsing.Parser),
    ):
        parser(plant).AddModels(ARM)
        plant.Finalize()
        made.append(plant)
    return made


def ports(system):
    inputs = [system.get_input_port(i) for i in range(system.num_input_ports())]
    outputs = [system.get_output_port(i) for i in range(system.num_output_ports())]
    return [[(port.get_name(), port.size()) for port in side] for side in (inputs, outputs)]


def plant_blocks(module, plant):
    n = plant.num_positions()
    kp, ki, kd = np.random.default_rng(3).uniform(0.5, 2.0, (3, n))
    dynamics = module.InverseDynamics
    return {
        "inverse dynamics": dynamics(plant),
        "gravity": dynamics(plant=plant, mode=dynamics.kGravityCompensation),
        "controller": module.InverseDynamicsController(plant, kp, ki, kd, False),
        "controller with acceleration": module.InverseDynamicsController(plant, kp, ki, kd, True),
        "stiffness": module.JointStiffnessController(plant, kp, kd),
    }


def test_controllers_of_an_arm_have_the_same_ports_and_forces(arms):
    ours, theirs = plant_blocks(plant_controllers, arms[0]), plant_blocks(drake, arms[1])
    for name, block in ours.items():
        assert ports(block) == ports(theirs[name])
        rng, outputs = np.random.default_rng(8), []
        values = [rng.normal(size=block.get_input_port(i).size()) for i in range(block.num_input_ports())]
        for system in (block, theirs[name]):
            context = system.CreateDefaultContext()
            for i, value in enumerate(values):
                system.get_input_port(i).FixValue(context, value)
            if "controller" in name:
                system.set_integral_value(context, np.linspace(-1.0, 1.0, 7))
            outputs.append([system.get_output_port(i).Eval(context) for i in range(system.num_output_ports())])
        np.testing.assert_allclose(*outputs, rtol=1e-9, atol=1e-9)


def test_region_of_attraction_of_van_der_pol_is_the_one_that_sums_of_squares_prove():
    import pydrake.symbolic as drake_symbolic

    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="the extra `symbolic` is not installed")
    values = []
    for blocks, symbols, module in (
        (primitives, symbolic, analysis),
        (drake_primitives, drake_symbolic, drake_analysis),
    ):
        x = np.array([symbols.Variable("x0"), symbols.Variable("x1")])
        system = blocks.SymbolicVectorSystem(state=x, dynamics=[-x[1], x[0] + (x[0] ** 2 - 1.0) * x[1]])
        options = module.RegionOfAttractionOptions()
        options.state_variables = x
        V = module.RegionOfAttraction(system, system.CreateDefaultContext(), options)
        values.append([V.Evaluate(dict(zip(x, point))) for point in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)
