"""The state between the ends of steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from differential_equations import PROBLEMS, Problem, make_integrator, state

import merganser.analysis as analysis
from merganser.analysis.integrators.dense_output import DenseOutput
from merganser.framework.primitives import Gain, LinearSystem
from merganser.framework.trajectories import PiecewisePolynomial

OSCILLATOR = Problem(lambda t, x: [x[1], -x[0]], (1.0, 0.0), 1, 3.0)
METHODS = [
    analysis.RungeKutta3Integrator,
    analysis.BogackiShampine3Integrator,
    analysis.RungeKutta5Integrator,
    analysis.Radau3Integrator,
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("accuracy", [1e-4, 1e-7])
def test_values_between_steps_are_about_as_accurate_as_those_at_their_ends(method: type, accuracy: float) -> None:
    integrator = make_integrator(method, OSCILLATOR)
    integrator.set_maximum_step_size(0.05)
    integrator.set_target_accuracy(accuracy)
    integrator.Initialize()
    integrator.StartDenseIntegration()
    integrator.IntegrateWithMultipleStepsToTime(3.0)
    output = integrator.StopDenseIntegration()
    assert integrator.get_dense_output() is None
    assert (output.start_time(), output.end_time(), output.rows(), output.cols()) == (0.0, 3.0, 2, 1)
    assert output.get_number_of_segments() == integrator.get_num_steps_taken()
    for t in np.linspace(0.0, 3.0, 200):
        # h^4 / 384 is the error of a cubic
        exact = np.array([[math.cos(t)], [-math.sin(t)]])
        np.testing.assert_allclose(output.value(t), exact, atol=20.0 * accuracy + 0.05**4 / 384)
    np.testing.assert_array_equal(output.value(3.0)[:, 0], state(integrator))
    assert isinstance(output, PiecewisePolynomial)
    np.testing.assert_allclose(output.vector_values([0.0, 3.0])[1], [0.0, -math.sin(3.0)], atol=1e-2)
    np.testing.assert_allclose(output.EvalDerivative(1.0)[:, 0], [-math.sin(1.0), -math.cos(1.0)], atol=1e-2)


def test_a_cubic_in_time_is_reproduced() -> None:
    integrator = make_integrator(
        analysis.Radau3Integrator, Problem(lambda t, x: [3.0 * t * t - 4.0 * t], (5.0,), 0, 2.0)
    )
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.5)
    integrator.Initialize()
    integrator.StartDenseIntegration()
    integrator.IntegrateWithMultipleStepsToTime(2.0)
    for t in np.linspace(0.0, 2.0, 21):
        assert integrator.get_dense_output().value(t)[0, 0] == pytest.approx(t**3 - 2.0 * t**2 + 5.0, abs=1e-12)


def test_recording_changes_nothing_else() -> None:
    ends = []
    for records in (False, True):
        integrator = make_integrator(analysis.BogackiShampine3Integrator, PROBLEMS["van der Pol"])
        integrator.set_maximum_step_size(1.0)
        integrator.Initialize()
        if records:
            integrator.StartDenseIntegration()
        integrator.IntegrateWithMultipleStepsToTime(4.0)
        ends.append(state(integrator))
    np.testing.assert_array_equal(ends[0], ends[1])


def test_a_jump_between_steps_stays_a_jump() -> None:
    integrator = make_integrator(analysis.RungeKutta3Integrator, Problem(lambda t, x: [1.0], (0.0,), 0, 2.0))
    integrator.Initialize()
    integrator.StartDenseIntegration()
    assert integrator.get_dense_output().value(7.0)[0, 0] == 0.0  # nothing recorded yet
    integrator.IntegrateWithMultipleStepsToTime(1.0)
    integrator.get_mutable_context().SetContinuousState([10.0])
    integrator.IntegrateWithMultipleStepsToTime(2.0)
    output = integrator.get_dense_output()
    values = [output.value(t)[0, 0] for t in (-1.0, 0.5, np.nextafter(1.0, 0.0), 1.0, 1.5, 2.0, 9.0)]
    assert values == pytest.approx([0.0, 0.5, 1.0, 10.0, 10.5, 11.0, 11.0])


@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_interrupt_that_undoes_a_step_leaves_no_record_of_it(
    is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = LinearSystem([[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0)))
    simulator = analysis.Simulator(system)
    simulator.set_use_native_plan(is_compiled, at_once=True)
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    simulator.Initialize()
    integrator = simulator.get_mutable_integrator()
    integrator.StartDenseIntegration()
    append, signals = DenseOutput._append, [None, None, KeyboardInterrupt]

    def append_and_look(self: DenseOutput, *step: Any) -> None:
        append(self, *step)
        signal = signals.pop(0) if signals else None
        if signal is not None:
            raise signal

    monkeypatch.setattr(DenseOutput, "_append", append_and_look)
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    output = integrator.get_dense_output()
    assert output.end_time() == simulator.get_context().get_time() == output.get_segment_times()[2]
    simulator.AdvanceTo(1.0)
    assert output.get_number_of_segments() == integrator.get_num_steps_taken()
    assert output.value(0.7)[:, 0] == pytest.approx([math.cos(0.7), -math.sin(0.7)], abs=1e-4)


def test_recording_at_the_wrong_moment_is_refused() -> None:
    integrator = make_integrator(analysis.RungeKutta3Integrator, OSCILLATOR)
    with pytest.raises(RuntimeError, match="not recording"):
        integrator.StopDenseIntegration()
    integrator.Initialize()
    integrator.StartDenseIntegration()
    with pytest.raises(RuntimeError, match="already recording"):
        integrator.StartDenseIntegration()
    with pytest.raises(ValueError, match="nan"):
        integrator.get_dense_output().value(math.nan)
    integrator.IntegrateWithMultipleStepsToTime(0.25)
    integrator.get_mutable_context().SetTime(1.0)
    with pytest.raises(RuntimeError, match=r"ends at time 0.25 s, but the next step begins at 1.0 s"):
        integrator.IntegrateWithMultipleStepsToTime(2.0)
    assert integrator.get_context().get_time() == 1.0
    system = Gain(1.0, 1)
    empty = analysis.RungeKutta3Integrator(system, system.CreateDefaultContext())
    empty.Initialize()
    with pytest.raises(RuntimeError, match="no continuous state"):
        empty.StartDenseIntegration()
