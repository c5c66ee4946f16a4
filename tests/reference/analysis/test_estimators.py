"""Observers have pydrake's gains, ports and dynamics."""

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.systems.estimators as drake
import pydrake.systems.primitives as drake_primitives

from merganser.analysis import estimators
from merganser.framework import primitives

pytestmark = pytest.mark.reference
W, V = np.diag([0.1, 0.2, 0.3]), np.array([[0.5, 0.1], [0.1, 0.4]])
PAIRS = ((primitives, estimators), (drake_primitives, drake))


@pytest.mark.parametrize("name", ["SteadyStateKalmanFilter", "DiscreteTimeSteadyStateKalmanFilter"])
@pytest.mark.parametrize("seed", range(3))
def test_gains_of_random_systems_are_the_same(name, seed):
    rng = np.random.default_rng(seed)
    A, C = rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    ours, theirs = (getattr(module, name)(A, C, W, V) for _, module in PAIRS)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("period", [0.0, 0.1])
@pytest.mark.parametrize("has_input", [True, False])
def test_observers_have_the_same_ports_and_dynamics(period, has_input):
    results = []
    for blocks, module in PAIRS:
        rng = np.random.default_rng(2)
        A, B = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=(3, int(has_input)))
        C, D = rng.normal(size=(2, 3)), rng.normal(size=(2, int(has_input)))
        system = blocks.LinearSystem(A, B, C, D, period)
        observer = module.SteadyStateKalmanFilter(system, W, V)
        ports = [observer.get_input_port(i) for i in range(observer.num_input_ports())]
        output = observer.get_estimated_state_output_port()
        context = observer.CreateDefaultContext()
        for port in ports:
            port.FixValue(context, rng.normal(size=port.size()))
        x = rng.normal(size=3)
        if period:
            before = context.get_discrete_state_vector().CopyToVector()
            context.SetDiscreteState(x)
            rate = observer.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()
        else:
            before = context.get_continuous_state_vector().CopyToVector()
            context.SetContinuousState(x)
            rate = observer.EvalTimeDerivatives(context).CopyToVector()
        names = [(port.get_name(), port.size()) for port in (*ports, output)]
        results.append((names, [before, rate, output.Eval(context), *observer.L().T]))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-9)
