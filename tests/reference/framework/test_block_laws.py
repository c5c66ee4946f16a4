"""Each block of block_cases.py and system_cases.py is pydrake's block: ports, state, numbers, derivatives."""

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.common
import pydrake.common.value
import pydrake.manipulation
import pydrake.math
import pydrake.multibody.plant
import pydrake.multibody.tree
import pydrake.polynomial
import pydrake.symbolic
import pydrake.systems.controllers
import pydrake.systems.estimators
import pydrake.systems.framework
import pydrake.systems.primitives
import pydrake.systems.sensors
import pydrake.trajectories
from block_cases import names_of, split
from pydrake.autodiffutils import AutoDiffXd as DrakeAutoDiffXd
from system_cases import BLOCKS, CASES, OURS_ALONE

from merganser.framework import primitives
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.trajectories import PiecewisePolynomial

pytestmark = pytest.mark.reference

DRAKE = names_of(
    pydrake.systems.primitives,
    pydrake.trajectories,
    pydrake.polynomial,
    pydrake.symbolic,
    pydrake.math,
    pydrake.systems.framework,
    pydrake.systems.controllers,
    pydrake.systems.estimators,
    pydrake.systems.sensors,
    pydrake.manipulation,
    pydrake.multibody.plant,
    pydrake.multibody.tree,
    pydrake.common,
    pydrake.common.value,
)


@pytest.fixture(params=[name for name in CASES if name not in OURS_ALONE], ids=lambda name: name.replace(" ", "-"))
def case(request):
    return CASES[request.param]


def ports(system):
    inputs = [system.get_input_port(i) for i in range(system.num_input_ports())]
    outputs = [system.get_output_port(i) for i in range(system.num_output_ports())]
    return [[(port.get_name(), port.size()) for port in side] for side in (inputs, outputs)]


def structure(system):
    """Ports, state, parameters, timing and direct feedthrough."""
    context = system.CreateDefaultContext()
    timing = system.GetUniquePeriodicDiscreteUpdateAttribute()
    direct = [
        system.HasDirectFeedthrough(i, o)
        for i in range(system.num_input_ports())
        for o in range(system.num_output_ports())
        if system.get_input_port(i).size()
    ]
    return (
        ports(system),
        direct,
        context.num_continuous_states(),
        [context.get_discrete_state(i).size() for i in range(context.num_discrete_state_groups())],
        [context.get_numeric_parameter(i).size() for i in range(context.num_numeric_parameter_groups())],
        context.num_abstract_states(),
        timing and (timing.period_sec(), timing.offset_sec()),
    )


def test_structure(case):
    assert structure(case.make(BLOCKS)) == structure(case.make(DRAKE))


def filled(case, system, seed, scalar=float):
    """A context with the case's time and parameters, and random inputs and state."""
    rng = np.random.default_rng(seed)
    context = system.CreateDefaultContext()
    context.SetTime(case.time)
    if case.parameters is not None:
        context.get_mutable_numeric_parameter(0).SetFromVector([scalar(p) for p in case.parameters])
    for i, size in enumerate(case.inputs.values()):
        system.get_input_port(i).FixValue(context, rng.normal(size=size))
    x = rng.normal(size=case.num_continuous + case.num_discrete)
    for i, part in enumerate(split(context, x)):
        context.SetDiscreteState(i, part)
    if case.num_continuous:
        context.SetContinuousState(x)
    return context


def numbers_of(case, system, context):
    """Outputs, derivatives, periodic and forced updates."""
    found = [system.get_output_port(i).Eval(context) for i in range(system.num_output_ports())]
    if case.num_continuous:
        found.append(system.EvalTimeDerivatives(context).CopyToVector())
    if case.update or case.periodic:
        forced = system.AllocateDiscreteVariables()
        forced.SetFrom(context.get_discrete_state())
        system.CalcForcedDiscreteVariableUpdate(context, forced)
        for update in (forced, system.EvalUniquePeriodicDiscreteUpdate(context)):
            found += [update.get_vector(i).CopyToVector() for i in range(update.num_groups())]
    return np.concatenate([*found, []])


def test_numbers(case):
    for seed in range(4):
        ours, theirs = (
            numbers_of(case, system, filled(case, system, seed)) for system in (case.make(BLOCKS), case.make(DRAKE))
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_derivatives_by_the_inputs(case):
    """Blocks converted to AutoDiffXd give the same partial derivatives of outputs by inputs."""
    if "AutoDiffXd" in case.without or not case.inputs or case.make(DRAKE).ToScalarTypeMaybe[DrakeAutoDiffXd]() is None:
        pytest.skip("no inputs, or no such conversion")
    jacobians = []
    for blocks, scalar in ((BLOCKS, AutoDiffXd), (DRAKE, DrakeAutoDiffXd)):
        system = case.make(blocks).ToAutoDiffXd()
        context, rng, place = filled(case, system, 3, scalar), np.random.default_rng(5), 0
        total = sum(case.inputs.values())
        for i, size in enumerate(case.inputs.values()):
            values = rng.normal(size=size)
            entries = [scalar(v, np.eye(total)[place + k]) for k, v in enumerate(values)]
            system.get_input_port(i).FixValue(context, np.array(entries, dtype=object))
            place += size
        outputs = [y for o in range(system.num_output_ports()) for y in system.get_output_port(o).Eval(context)]
        slopes = [y.derivatives() if len(y.derivatives()) else np.zeros(total) for y in outputs]
        jacobians.append(np.array(slopes))
    np.testing.assert_allclose(*jacobians, rtol=1e-12, atol=1e-12)


BOTH = pytest.mark.parametrize("b", [BLOCKS, DRAKE], ids=["merganser", "pydrake"])


def test_backpropagation_and_batches_of_networks():
    found = []
    for b in (BLOCKS, DRAKE):
        kinds = b.PerceptronActivationType
        network = b.MultilayerPerceptron([True, False], [3, 2, 1], [kinds.kTanh, kinds.kReLU, kinds.kIdentity])
        context, rng = network.CreateDefaultContext(), np.random.default_rng(2)
        network.SetParameters(context, rng.normal(size=network.num_parameters()))
        X, desired = np.asfortranarray(rng.normal(size=(2, 5))), np.asfortranarray(rng.normal(size=(1, 5)))
        gradient = np.zeros(network.num_parameters())
        loss = network.BackpropagationMeanSquaredError(context, X, desired, gradient)
        Y, dYdX = np.asfortranarray(np.zeros((1, 5))), np.asfortranarray(np.zeros((2, 5)))
        network.BatchOutput(context, X, Y, dYdX)
        np.testing.assert_array_equal(network.BatchOutput(context, X), Y)
        parts = [gradient, Y.ravel(), dYdX.ravel(), network.GetWeights(context, 1).ravel()]
        found.append(np.concatenate([[loss], *parts, network.GetBiases(context, 2)]))
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("distribution", ["kGaussian", "kUniform", "kExponential"])
def test_gradient_of_a_probability_density(distribution):
    gradients = []
    for b, scalar in ((BLOCKS, AutoDiffXd), (DRAKE, DrakeAutoDiffXd)):
        system = b.LinearTransformDensity_[scalar](getattr(b.RandomDistribution, distribution), 2, 2)
        context = system.CreateDefaultContext()
        variables = [scalar(v, np.eye(6)[i]) for i, v in enumerate([1.0, 0.3, 2.0, -1.5, 0.4, 0.6])]
        system.get_input_port_w_in().FixValue(context, np.array([scalar(0.2), scalar(0.7)]))
        system.FixConstantA(context, np.array(variables[:4]).reshape(2, 2))
        system.FixConstantB(context, np.array(variables[4:]))
        density = system.CalcDensity(context)
        gradients.append([density.value(), *density.derivatives()])
    np.testing.assert_allclose(*gradients, rtol=1e-12)


def test_random_states_have_the_same_distribution():
    """Mean and covariance of many draws; 5 % is 3.5 standard deviations of a variance of 10000 draws."""
    S = np.array([[4.0, 1.0], [1.0, 2.0]])
    for b, generator in ((BLOCKS, BLOCKS.RandomGenerator(1)), (DRAKE, DRAKE.RandomGenerator(1))):
        system = b.LinearSystem(A=np.eye(2), C=np.eye(2))
        system.configure_default_state([1.0, -2.0])
        system.configure_random_state(S)
        context, draws = system.CreateDefaultContext(), []
        for _ in range(10000 if b is DRAKE else 3000):
            system.SetRandomContext(context, generator)
            draws.append(context.get_continuous_state_vector().CopyToVector())
        np.testing.assert_allclose(np.mean(draws, axis=0), [1.0, -2.0], atol=0.12)
        np.testing.assert_allclose(np.cov(np.transpose(draws)), S, atol=0.3)


@BOTH
def test_random_inputs_are_wired_up(b):
    builder = b.DiagramBuilder()
    for _ in range(2):
        builder.AddSystem(b.LinearTransformDensity(b.RandomDistribution.kUniform, 3, 3))
    connected, exported = (
        builder.AddSystem(b.LinearTransformDensity(b.RandomDistribution.kUniform, 2, 2)) for _ in range(2)
    )
    source = builder.AddSystem(b.ConstantVectorSource([1.0, 2.0]))
    builder.Connect(source.get_output_port(), connected.get_input_port_w_in())
    builder.ExportInput(exported.get_input_port_w_in())
    assert b.AddRandomInputs(0.1, builder) == 2
    assert b.AddRandomInputs(0.1, builder) == 0


@BOTH
def test_coefficients_are_replaced(b):
    system = b.AffineSystem(A=np.eye(2), B=np.ones((2, 1)), C=np.eye(2))
    new = {"A": 2.0 * np.eye(2), "B": 3.0 * np.ones((2, 1)), "f0": [1.0, 2.0], "C": 4.0 * np.eye(2)}
    with pytest.raises(RuntimeError):
        system.UpdateCoefficients(A=np.eye(2))
    with pytest.raises(RuntimeError):
        system.UpdateCoefficients(**new, D=np.ones((2, 1)), y0=[0.0, 0.0])
    assert system.A().tolist() == np.eye(2).tolist()
    system.UpdateCoefficients(**new, D=np.zeros((2, 1)), y0=[5.0, 6.0])
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [1.0])
    context.SetContinuousState([1.0, 1.0])
    assert system.EvalTimeDerivatives(context).CopyToVector().tolist() == [6.0, 7.0]
    assert system.get_output_port().Eval(context).tolist() == [9.0, 10.0]


def test_source_of_a_trajectory_of_derivatives():
    """A trajectory of floats has derivatives by time too, for which pydrake needs one of AutoDiffXd."""
    ours = BLOCKS.PiecewisePolynomial.CubicShapePreserving([0, 1, 3], [[0, 1, 9]])
    theirs = DRAKE.PiecewisePolynomial_[DrakeAutoDiffXd].CubicShapePreserving([0, 1, 3], [[0, 1, 9]])
    found = []
    for b, scalar, trajectory in ((BLOCKS, AutoDiffXd, ours), (DRAKE, DrakeAutoDiffXd, theirs)):
        system = b.TrajectorySource_[scalar](trajectory, 1)
        context = system.CreateDefaultContext()
        context.SetTime(scalar(1.5, [2.0]))
        found.append([[y.value(), *y.derivatives()] for y in system.get_output_port().Eval(context)])
    np.testing.assert_allclose(*found, rtol=1e-12)
    assert isinstance(ours, PiecewisePolynomial) and primitives.TrajectorySource_[float] is BLOCKS.TrajectorySource
