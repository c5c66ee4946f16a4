"""Random sources, densities, and networks: what they do beyond the laws that hold for all blocks."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomDistribution, RandomGenerator
from merganser.framework.primitives import (
    AddRandomInputs,
    AffineSystem,
    LinearTransformDensity,
    MultilayerPerceptron,
    PerceptronActivationType,
    RandomSource,
)


def samples(source, seed=None):
    """The outputs of a source in the first steps of a simulation."""
    context = source.CreateDefaultContext()
    if seed is not None:
        source.SetRandomContext(context, RandomGenerator(seed))
    simulator = Simulator(source, context)
    found = []
    for time in (0.0, 0.05, 0.15, 0.25):
        simulator.AdvanceTo(time)
        found.append(source.get_output_port().Eval(context).tolist())
    return found


def test_random_sources_repeat_themselves_and_differ_from_others():
    one, other = (RandomSource(RandomDistribution.kGaussian, 3, 0.1) for _ in range(2))
    first = samples(one)
    assert first == samples(one) != samples(other)
    assert first[0] == first[1] != first[2] != first[3]
    assert samples(one, seed=1) == samples(one, seed=1) != samples(one, seed=2)
    for source in (one, other):
        source.set_fixed_seed(7)
    assert samples(one) == samples(other) == samples(one, seed=1) and one.get_fixed_seed() == 7
    one.set_fixed_seed(None)
    assert samples(one) == first
    with pytest.raises(ValueError, match="seed"):
        one.set_fixed_seed(-1)


def test_context_of_a_random_source_can_be_cloned():
    source = RandomSource(RandomDistribution.kUniform, 2, 0.1)
    context = source.CreateDefaultContext()
    clone, ends = context.Clone(), []
    for each in (context, clone):
        simulator = Simulator(source, each)
        simulator.AdvanceTo(0.35)
        ends.append(source.get_output_port().Eval(each).tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("distribution", RandomDistribution)
def test_density_is_that_of_the_input_divided_by_the_determinant(distribution):
    """By the change of variables: the densities of w and A w + b differ by |det A|."""
    A, b, w = np.array([[1.0, 2.0], [-0.5, 3.0]]), np.array([4.0, 5.0]), np.array([0.3, 0.8])
    densities = []
    for matrix in (np.eye(2), A):
        system = LinearTransformDensity(distribution, 2, 2)
        context = system.CreateDefaultContext()
        system.get_input_port_w_in().FixValue(context, w)
        system.FixConstantA(context, matrix)
        assert system.get_output_port_w_out().Eval(context) == pytest.approx(matrix @ w)
        system.FixConstantB(context, b)
        assert system.get_output_port_w_out().Eval(context) == pytest.approx(matrix @ w + b)
        densities.append(system.CalcDensity(context))
    assert densities[0] == pytest.approx(densities[1] * np.linalg.det(A))
    system.FixConstantA(context, np.ones((2, 2)))
    with pytest.raises(RuntimeError, match=r"'::LinearTransformDensity': .* a matrix A that has an inverse"):
        system.get_output_port_w_out_density().Eval(context)
    with pytest.raises(ValueError, match=r"A must have shape \(2, 2\), got \(3, 3\)"):
        system.FixConstantA(context, np.eye(3))


def test_only_open_random_inputs_get_a_source():
    builder = DiagramBuilder()
    system = builder.AddSystem(LinearTransformDensity(RandomDistribution.kUniform, 2, 2))
    builder.ExportInput(system.get_input_port_A())
    assert AddRandomInputs(0.1, builder) == 1 and AddRandomInputs(0.1, builder) == 0
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, np.eye(2).ravel())
    w = system.get_output_port_w_out().Eval(system.GetMyContextFromRoot(context))
    assert ((w >= 0.0) & (w < 1.0)).all()


def test_covariance_must_be_one():
    system = AffineSystem(A=np.eye(2), C=np.eye(2))
    for covariance, words in ((np.eye(3), r"expected shape \(2, 2\)"), ([[1, 2], [2, 1]], "positive semi-definite")):
        with pytest.raises(ValueError, match=words):
            system.configure_random_state(covariance)
    context = system.CreateDefaultContext()
    system.SetRandomContext(context, RandomGenerator(1))
    assert context.get_continuous_state_vector().value().tolist() == [0.0, 0.0]


# ---------------------------------------------------------------------- networks


def network():
    kinds = PerceptronActivationType
    result = MultilayerPerceptron([False, True], [3, 2, 1], [kinds.kTanh, kinds.kReLU, kinds.kTanh])
    context = result.CreateDefaultContext()
    result.SetRandomContext(context, RandomGenerator(5))
    result.SetBiases(context, 1, [0.5, 0.7])
    return result, context


def test_a_batch_is_many_single_inputs():
    system, context = network()
    X = np.random.default_rng(1).normal(size=(2, 4))
    Y, slopes = np.zeros((1, 4)), np.zeros((2, 4))
    assert system.BatchOutput(context, X, Y, slopes) is None
    for x, y, slope in zip(X.T, Y.T, slopes.T):
        system.get_input_port().FixValue(context, x)
        assert system.get_output_port().Eval(context) == pytest.approx(y, rel=1e-14)
        later, earlier = (system.BatchOutput(context, (x + h * np.eye(2)).T)[0] for h in (1e-6, -1e-6))
        np.testing.assert_allclose(slope, (later - earlier) / 2e-6, atol=1e-8)


def test_backpropagation_gives_the_gradient():
    """Against central differences."""
    system, context = network()
    X, desired = np.random.default_rng(2).normal(size=(2, 6)), np.ones((1, 6))
    gradient, unused = np.zeros(system.num_parameters()), np.zeros(system.num_parameters())
    system.BackpropagationMeanSquaredError(context, X, desired, gradient)
    params = system.GetParameters(context).copy()
    for i, slope in enumerate(gradient):
        losses = []
        for h in (1e-6, -1e-6):
            system.SetParameters(context, params + h * np.eye(len(params))[i])
            losses.append(system.BackpropagationMeanSquaredError(context, X, desired, unused))
        assert slope == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-8)


def test_weights_are_parts_of_the_parameters():
    system, context = network()
    W = np.arange(6.0).reshape(2, 3)
    system.SetWeights(context, 1, W)
    assert system.GetWeights(context, 1).tolist() == W.tolist()
    params = system.GetParameters(context).copy()
    system.SetBiases(params=params, layer=2, b=[9.0])
    assert system.GetBiases(params=params, layer=2).tolist() == [9.0] != system.GetBiases(context, 2).tolist()
    assert system.layers() == [3, 3, 2, 1] and system.num_parameters() == 12 + 8 + 3
    assert system.activation_type(1) is PerceptronActivationType.kReLU
    for call, error, words in (
        (lambda: system.SetWeights(context, 1, W.T), ValueError, r"weights of layer 1 have shape \(2, 3\)"),
        (lambda: system.GetWeights(context, 3), IndexError, "there is no layer 3"),
        (lambda: system.SetParameters(context, [1.0]), ValueError, "has 23 parameters; got 1"),
        (lambda: system.BatchOutput(context, np.eye(3)), ValueError, "X must have 2 rows"),
        (lambda: MultilayerPerceptron([2]), ValueError, "at least two layers"),
        (lambda: MultilayerPerceptron([2, 0]), ValueError, "at least 1"),
        (lambda: MultilayerPerceptron([2, 3, 1], [PerceptronActivationType.kTanh]), ValueError, "for each of 2 layers"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert system.GetWeights(context, 1).tolist() == W.tolist()
