"""Random contexts: the same seed gives the same values, and the generator has the right distributions."""

import numpy as np
import pytest
from framework_blocks import Scaled

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, RandomDistribution, RandomGenerator
from merganser.framework.core.system.random_values import draw


class Uncertain(LeafSystem):
    """State and parameter are random; a second state variable keeps its default."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(BasicVector([0.0, 7.0]))
        self.DeclareNumericParameter(BasicVector([0.0]))

    def SetRandomState(self, context, state, generator):
        state.get_mutable_continuous_state()[0] = draw(RandomDistribution.kGaussian, 1, generator)[0]

    def SetRandomParameters(self, context, parameters, generator):
        parameters.get_mutable_numeric_parameter(0).SetFromVector(draw(RandomDistribution.kUniform, 1, generator))


def random_values(seed):
    builder = DiagramBuilder()
    for name in "abc":
        builder.AddNamedSystem(name, Uncertain())
    builder.AddSystem(Scaled())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.SetRandomContext(context, RandomGenerator(seed))
    parameters = [context.get_numeric_parameter(i)[0] for i in range(3)]
    return np.append(context.get_continuous_state_vector().CopyToVector(), parameters)


def test_the_same_seed_gives_the_same_context():
    first, second, other = random_values(7), random_values(7), random_values(8)
    np.testing.assert_array_equal(first, second)
    assert len(set(first[[0, 2, 4, 6, 7, 8]])) == 6, "subsystems draw one after the other from one generator"
    assert not np.any(first[[0, 2, 4, 6, 7, 8]] == other[[0, 2, 4, 6, 7, 8]])
    np.testing.assert_array_equal(first[[1, 3, 5]], 7.0)


def test_default_seed_gives_the_published_first_word_of_the_mersenne_twister():
    assert RandomGenerator()() == 3499211612


@pytest.mark.parametrize(
    ("distribution", "mean", "variance"),
    [
        (RandomDistribution.kUniform, 0.5, 1 / 12),
        (RandomDistribution.kGaussian, 0.0, 1.0),
        (RandomDistribution.kExponential, 1.0, 1.0),
    ],
)
def test_distributions_have_their_mean_and_variance(distribution, mean, variance):
    sample = draw(distribution, 4001, RandomGenerator(1))
    assert sample.shape == (4001,)
    assert abs(sample.mean() - mean) < 5 * np.sqrt(variance / 4001)  # five standard errors
    assert abs(sample.var() / variance - 1.0) < 0.2


def test_random_type_of_an_input_port_is_kept():
    system = LeafSystem()
    port = system.DeclareVectorInputPort("w", 2, RandomDistribution.kGaussian)
    assert port.get_random_type() is RandomDistribution.kGaussian


def test_bad_seeds_and_generators_are_refused():
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        RandomGenerator(-1)
    with pytest.raises(TypeError, match="'::Scaled', SetRandomContext: expected a RandomGenerator, got int"):
        (system := Scaled()).SetRandomContext(system.CreateDefaultContext(), 3)
