"""Delays that are an input: smooth signals, jumps that come out when they are due, copies, and what is refused."""

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import (
    ConstantVectorSource,
    Integrator,
    LogVectorOutput,
    Ramp,
    Sine,
    Step,
    TransportDelay,
    VariableTransportDelay,
)


def delayed(source, length, **options):
    """A source behind a delay of some length, and the integral of what comes out."""
    builder = DiagramBuilder()
    delay = options.pop("block", None) or VariableTransportDelay(0.1, 2.0, **options)
    builder.AddNamedSystem("source", source)
    builder.AddNamedSystem("delay", delay)
    builder.AddNamedSystem("integral", Integrator(1))
    builder.Connect(source.get_output_port(0), delay.get_input_port(0))
    if length is not None:
        builder.AddNamedSystem("length", length)
        builder.Connect(length.get_output_port(0), delay.get_input_port(1))
    builder.Connect("delay", "integral")
    log = LogVectorOutput(delay.get_output_port(), builder)
    return builder.Build(), log


def run(diagram, end=4.0, step=0.05):
    simulator = Simulator(diagram)
    ApplySimulatorConfig(SimulatorConfig(use_error_control=False, max_step_size=step), simulator)
    simulator.AdvanceTo(end)
    return simulator


def integral(simulator):
    return simulator.get_context().get_continuous_state_vector().GetAtIndex(0)


def test_a_smooth_signal_behind_a_delay_that_swings():
    diagram, log = delayed(Sine(1.0, 2.0, 0.0, 1), Sine(0.4, 1.3, 0.0, 1))
    samples = log.FindLog(run(diagram).get_context())
    t = samples.sample_times()
    then = t - np.clip(0.4 * np.sin(1.3 * t), 0.1, 2.0)
    np.testing.assert_allclose(samples.data()[0], np.where(then > 0.0, np.sin(2.0 * then), 0.0), atol=2e-5)


def test_a_constant_delay_is_a_transport_delay():
    values = []
    for block, length in ((TransportDelay(0.7), None), (VariableTransportDelay(0.7, 0.7), ConstantVectorSource([0.7]))):
        diagram, log = delayed(Sine(1.0, 2.0, 0.3, 1), length, block=block)
        samples = log.FindLog(run(diagram).get_context())
        values.append(np.interp([1.0, 2.0, 3.0, 4.0], samples.sample_times(), samples.data()[0]))
    np.testing.assert_allclose(values[0], values[1], atol=1e-4)


def test_a_jump_comes_out_when_it_is_due():
    diagram, _ = delayed(Step(1.0), Ramp(0.3, 0.0, 0.5))  # t - (0.5 + 0.3 t) = 1 at t = 1.5 / 0.7
    assert integral(run(diagram)) == pytest.approx(4.0 - 1.5 / 0.7, abs=1e-11)


def test_a_delay_that_grows_faster_than_time_takes_a_jump_back():
    diagram, _ = delayed(Step(1.0), Sine(1.9, 3.0, 0.0, 1))

    def passes(t):  # of t - delay(t) through 1
        return t - np.clip(1.9 * np.sin(3.0 * t), 0.1, 2.0) - 1.0

    from scipy.optimize import brentq

    back, again = brentq(passes, 2.2, 2.5), brentq(passes, 2.6, 3.0)
    assert integral(run(diagram)) == pytest.approx((back - 1.1) + (4.0 - again), abs=1e-9)


def test_a_delay_outside_of_its_limits_is_the_nearest_one():
    for length, used in ((-3.0, 0.1), (0.0, 0.1), (7.0, 2.0)):
        diagram, _ = delayed(Step(0.5), ConstantVectorSource([length]))
        assert integral(run(diagram)) == pytest.approx(4.0 - 0.5 - used, abs=1e-11)


def test_a_saved_context_goes_on_to_the_bit():
    diagram, _ = delayed(Step(1.0), Ramp(0.3, 0.0, 0.5))
    part = run(diagram, 1.0, 0.0625)
    other = Simulator(diagram, part.get_context().Clone())
    ApplySimulatorConfig(SimulatorConfig(use_error_control=False, max_step_size=0.0625), other)
    for simulator in (part, other):
        simulator.AdvanceTo(3.0)
    assert integral(part) == integral(other)


def test_samples_are_no_more_than_fit():
    diagram, _ = delayed(Sine(1.0, 2.0, 0.0, 1), ConstantVectorSource([0.3]), capacity=10)
    with pytest.raises(RuntimeError, match=r"::delay': more than 10 ends of steps fall into the delay of 2.0 s"):
        run(diagram)


@pytest.mark.parametrize(
    ("limits", "message"),
    [((0.0, 1.0), "shortest: expected a finite, positive time"), ((2.0, 1.0), "must not be above longest")],
)
def test_limits_that_are_wrong_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        VariableTransportDelay(*limits)
