"""Describing functions against closed forms, and limit cycles against simulations."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.frequency import DescribingFunction, OpenLoopAt, PredictLimitCycles
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import (
    Adder,
    Backlash,
    CoulombViscousFriction,
    DeadZone,
    Gain,
    Integrator,
    LogVectorOutput,
    Quantizer,
    RateLimiter,
    Relay,
    Saturation,
    Sign,
    TransferFunction,
    TransportDelay,
)


def f(x):
    """2/pi (arcsin x + x sqrt(1 - x^2)): the share of a sine wave that a saturation lets pass; 1 for x >= 1."""
    x = np.minimum(x, 1.0)
    return 2.0 / np.pi * (np.arcsin(x) + x * np.sqrt(1.0 - x * x))


def of_backlash(gap, A):
    """Gelb and Vander Velde (1968), appendix B, of a gap of width 2 b: with x = 1 - 2 b / A."""
    x = 1.0 - gap / A
    real = 0.5 + (np.arcsin(x) + x * np.sqrt(1.0 - x * x)) / np.pi
    return np.where(0.5 * gap < A, real - 1j * (1.0 - x * x) / np.pi, 0.0)


def of_steps(q, A):
    """A quantizer: jumps of q at q / 2, 3 q / 2, ..."""
    jumps = q * (np.arange(50) + 0.5)
    return np.array([sum(4.0 * q / (np.pi * a) * np.sqrt(1.0 - (j / a) ** 2) for j in jumps if j < a) for a in A])


AMPLITUDES = np.array([0.2, 0.51, 0.7, 1.3, 4.0])
CASES = {
    "Sign": (Sign(), lambda A: 4.0 / (np.pi * A)),
    "CoulombViscousFriction": (CoulombViscousFriction(0.5, 0.3), lambda A: 0.3 + 2.0 / (np.pi * A)),
    "Saturation": (Saturation([-0.5], [0.5]), lambda A: f(0.5 / A)),
    "DeadZone": (DeadZone(-0.5, 0.5), lambda A: 1.0 - f(0.5 / A)),
    "Quantizer": (Quantizer(0.5), lambda A: of_steps(0.5, A)),
    "Relay": (
        Relay(0.5, -0.5, 1.0, -1.0),
        lambda A: np.where(A > 0.5, 4.0 / (np.pi * A) * np.exp(-1j * np.arcsin(np.minimum(0.5 / A, 1.0))), 0.0),
    ),
    "Backlash": (Backlash(0.5), lambda A: np.where(A > 0.25, of_backlash(0.5, np.maximum(A, 0.26)), 0.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_describing_function_is_the_closed_form(name):
    block, exact = CASES[name]
    found = DescribingFunction(block, AMPLITUDES)
    np.testing.assert_allclose(found, exact(AMPLITUDES), atol=1e-8)


def test_a_diagram_of_blocks_has_one_too():
    builder = DiagramBuilder()
    builder.AddNamedSystem("zone", DeadZone(-0.5, 0.5))
    builder.AddNamedSystem("relay", Relay(0.1, -0.1, 1.0, -1.0))
    builder.Connect("zone", "relay")
    builder.ExportInput("zone")
    builder.ExportOutput("relay")
    exact = CASES["Relay"][1](1.3 / 0.6 * 0.5) * (1.3 / 0.6 * 0.5) / 1.3  # switches where u is 0.6 and -0.6
    assert DescribingFunction(builder.Build(), 1.3) == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("block", [RateLimiter(1.0, 1.0), TransportDelay(0.1), Integrator(1)])
def test_blocks_that_depend_on_time_are_refused_by_name(block):
    block.set_name("odd")
    with pytest.raises(RuntimeError, match="'::odd' depends on time"):
        DescribingFunction(block, 1.0)


def test_amplitudes_must_be_positive():
    with pytest.raises(ValueError, match="positive"):
        DescribingFunction(Sign(), [1.0, 0.0])


THIRD_ORDER = [4.0], np.polymul([1.0, 0.0], np.polymul([1.0, 1.0], [1.0, 2.0]))


def test_the_limit_cycle_of_a_relay_is_where_the_phase_is_half_a_turn():
    (cycle,) = PredictLimitCycles(TransferFunction(*THIRD_ORDER), Sign(), np.geomspace(0.01, 10.0, 15))
    assert cycle.frequency == pytest.approx(np.sqrt(2.0), rel=1e-8)  # of 4 / (s (s + 1) (s + 2)), which is -2/3 there
    assert cycle.amplitude == pytest.approx(4.0 / np.pi * 2.0 / 3.0, rel=1e-8)
    assert cycle.is_stable


def test_a_relay_with_a_dead_zone_has_a_stable_and_an_unstable_cycle():
    builder = DiagramBuilder()  # 1 above 0.2, -1 below -0.2, 0 in between
    for name, block in (("up", Relay(0.2, 0.1999999, 0.5, -0.5)), ("down", Relay(-0.1999999, -0.2, 0.5, -0.5))):
        builder.AddNamedSystem(name, block)
    builder.AddNamedSystem("total", Adder(2, 1))
    builder.Connect("up", "total.u0")
    builder.Connect("down", "total.u1")
    builder.ExportInput("up", "u")
    builder.ConnectInput("u", builder.GetSubsystemByName("down").get_input_port())
    builder.ExportOutput("total")
    small, large = PredictLimitCycles(TransferFunction(*THIRD_ORDER), builder.Build(), np.geomspace(0.205, 5.0, 12))
    assert not small.is_stable and large.is_stable
    for cycle in (small, large):  # N = 4 / (pi A) sqrt(1 - (0.2 / A)^2) = 3/2
        A = cycle.amplitude
        assert 4.0 / (np.pi * A) * np.sqrt(1.0 - (0.2 / A) ** 2) == pytest.approx(1.5, rel=1e-5)


def test_a_relay_with_hysteresis_oscillates_as_predicted():
    builder = DiagramBuilder()
    builder.AddNamedSystem("plant", TransferFunction(*THIRD_ORDER))
    builder.AddNamedSystem("minus", Gain(-1.0, 1))
    builder.AddNamedSystem("relay", Relay(0.1, -0.1, 1.0, -1.0))
    builder.Connect("plant", "minus")
    builder.Connect("minus", "relay")
    builder.Connect("relay", "plant")
    log = LogVectorOutput(builder.GetSubsystemByName("plant").get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_maximum_step_size(0.1)
    simulator.AdvanceTo(40.0)
    samples = log.FindLog(simulator.get_context())
    t, y = samples.sample_times(), samples.data()[0]
    relay, amplitudes = Relay(0.1, -0.1, 1.0, -1.0), np.geomspace(0.11, 5.0, 15)
    (cycle,) = PredictLimitCycles(TransferFunction(*THIRD_ORDER), relay, amplitudes)
    ups = np.flatnonzero((t[1:] > 25.0) & (y[:-1] < 0.0) & (y[1:] >= 0.0))
    times = t[ups] - y[ups] * (t[ups + 1] - t[ups]) / (y[ups + 1] - y[ups])
    assert cycle.is_stable
    assert np.abs(y[t > 25.0]).max() == pytest.approx(cycle.amplitude, rel=0.05)
    assert 2.0 * np.pi / np.diff(times).mean() == pytest.approx(cycle.frequency, rel=0.03)


def test_a_loop_that_does_not_oscillate_has_no_cycle():
    assert PredictLimitCycles(TransferFunction([1.0], [1.0, 1.0]), Sign(), np.geomspace(0.01, 10.0, 10)) == []


def test_a_delay_in_the_loop_counts_exactly():
    builder = DiagramBuilder()
    builder.AddNamedSystem("integral", Integrator(1))
    builder.AddNamedSystem("delay", TransportDelay(0.5))
    builder.AddNamedSystem("minus", Gain(-1.0, 1))
    builder.Connect("integral", "delay")
    builder.Connect("delay", "minus")
    builder.Connect("minus", "integral")
    diagram = builder.Build()
    loop = OpenLoopAt(diagram, diagram.CreateDefaultContext(), diagram.GetSubsystemByName("integral").get_input_port())
    cycle = PredictLimitCycles(loop, Sign(), np.geomspace(0.05, 2.0, 12))[-1]
    assert cycle.frequency == pytest.approx(np.pi, rel=1e-8)  # exp(-0.5 j w) / (j w) is real and negative
    assert cycle.amplitude == pytest.approx(4.0 / np.pi / np.pi, rel=1e-8)


def test_a_limit_cycle_does_not_depend_on_the_grid_of_amplitudes() -> None:
    loop = TransferFunction([10.0, 20.0], [0.05, 1.0, 0.0, 0.0])
    found = [PredictLimitCycles(loop, Backlash(1.0), np.geomspace(0.51, 20.0, number)) for number in (40, 73)]
    for (cycle,) in found:
        assert cycle[:2] == pytest.approx(found[-1][0][:2], rel=1e-9)
        value = DescribingFunction(Backlash(1.0), cycle.amplitude)
        s = 1j * cycle.frequency
        assert abs(1.0 + value * (10.0 * s + 20.0) / (s**2 * (0.05 * s + 1.0))) < 1e-7
