"""Exact delays in frequency responses and margins: closed forms."""

import numpy as np
import pytest

from merganser.analysis.frequency import (
    Damp,
    FrequencyResponse,
    LinearizeBetween,
    LinearSystemWithDelays,
    Margins,
    NyquistPlot,
    OpenLoopAt,
    RootLocusPlot,
)
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import (
    Adder,
    ConstantVectorSource,
    Gain,
    TransferFunction,
    TransportDelay,
    VariableTransportDelay,
    ZeroOrderHold,
)

OMEGA = np.geomspace(1e-2, 1e2, 80)
S = 1j * OMEGA


def lag(s):
    return 2.0 / (s + 1.0)


def loop_with_delays(gain=1.0, sampled=False):
    """A lag in a loop with a gain, a delay of 0.3 s before the lag and one of 0.2 s in the feedback."""
    builder = DiagramBuilder()
    builder.AddNamedSystem("lag", TransferFunction([2.0], [1.0, 1.0]))
    builder.AddNamedSystem("forward", TransportDelay(0.3))
    builder.AddNamedSystem("back", TransportDelay(0.2))
    builder.AddNamedSystem("minus", Gain(-gain, 1))
    error = builder.AddNamedSystem("error", Adder(2, 1))
    builder.Connect("error", "forward")
    builder.Connect("forward", "lag")
    if sampled:
        builder.AddNamedSystem("sampler", ZeroOrderHold(0.1, 1))
        builder.Connect("lag", "sampler")
        builder.Connect("sampler", "back")
    else:
        builder.Connect("lag", "back")
    builder.Connect("back", "minus")
    builder.Connect(builder.GetSubsystemByName("minus").get_output_port(), error.get_input_port(1))
    builder.ExportInput(error.get_input_port(0))
    builder.ExportOutput("lag")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    return diagram, context


def test_the_closed_loop_with_two_delays():
    diagram, context = loop_with_delays()
    found = FrequencyResponse(diagram, context, OMEGA)
    exact = lag(S) * np.exp(-0.3 * S) / (1.0 + lag(S) * np.exp(-0.5 * S))
    np.testing.assert_allclose(found.response[0, 0], exact, rtol=1e-9)


def test_the_loop_gain_at_each_port_has_both_delays():
    diagram, context = loop_with_delays()
    for name, index in (("lag", 0), ("forward", 0), ("back", 0), ("minus", 0), ("error", 1)):
        loop = OpenLoopAt(diagram, context, diagram.GetSubsystemByName(name).get_input_port(index))
        assert isinstance(loop, LinearSystemWithDelays)
        found = FrequencyResponse(loop, omega=OMEGA).response[0, 0]
        np.testing.assert_allclose(found, lag(S) * np.exp(-0.5 * S), rtol=1e-9)


def test_responses_to_and_from_the_ports_of_a_delay():
    diagram, context = loop_with_delays()
    forward, back = diagram.GetSubsystemByName("forward"), diagram.GetSubsystemByName("back")
    closed = 1.0 + lag(S) * np.exp(-0.5 * S)
    for ports, exact in (
        ((None, forward.get_output_port()), np.exp(-0.3 * S) / closed),
        ((forward.get_input_port(), forward.get_output_port()), np.exp(-0.3 * S) / closed),
        ((None, back.get_output_port()), lag(S) * np.exp(-0.5 * S) / closed),
        ((diagram.GetSubsystemByName("lag").get_input_port(), forward.get_output_port()), 1.0 / closed - 1.0),
    ):
        np.testing.assert_allclose(FrequencyResponse(diagram, context, OMEGA, *ports).response[0, 0], exact, rtol=1e-9)


def test_margins_of_a_lag_with_a_delay():
    diagram, context = loop_with_delays()
    margins = Margins(OpenLoopAt(diagram, context, diagram.GetSubsystemByName("minus").get_input_port()))
    crossover = np.sqrt(3.0)  # |2 / (s + 1)| = 1
    phase = np.pi - np.arctan(crossover) - 0.5 * crossover
    assert margins.gain_crossover == pytest.approx(crossover, rel=1e-9)
    assert margins.phase_margin == pytest.approx(phase, rel=1e-9)
    assert margins.delay_margin == pytest.approx(phase / crossover, rel=1e-9)
    w = margins.phase_crossover
    assert np.arctan(w) + 0.5 * w == pytest.approx(np.pi, rel=1e-9)
    assert margins.gain_margin == pytest.approx(np.hypot(1.0, w) / 2.0, rel=1e-9)


def test_a_delay_alone_and_one_that_feeds_two_blocks():
    builder = DiagramBuilder()
    builder.AddNamedSystem("delay", TransportDelay(0.7))
    builder.AddNamedSystem("sum", Adder(2, 1))
    for k in range(2):
        builder.AddNamedSystem(f"gain{k}", Gain(1.0 + k, 1))
        builder.Connect("delay", f"gain{k}")
        builder.Connect(f"gain{k}.y0", f"sum.u{k}")
    builder.ExportInput("delay")
    builder.ExportOutput("sum")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    found = FrequencyResponse(diagram, context, OMEGA)
    np.testing.assert_allclose(found.response[0, 0], 3.0 * np.exp(-0.7 * S), rtol=1e-12)
    assert len(FrequencyResponse(diagram, context).omega) > 100
    NyquistPlot(found)


def test_a_variable_delay_counts_with_its_present_value():
    builder = DiagramBuilder()
    builder.AddNamedSystem("delay", VariableTransportDelay(0.1, 1.0))
    builder.AddNamedSystem("length", ConstantVectorSource([0.4]))
    builder.Connect("length", "delay.delay")
    builder.ExportInput("delay.u0")
    builder.ExportOutput("delay")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])
    found = FrequencyResponse(diagram, context, OMEGA)
    np.testing.assert_allclose(found.response[0, 0], np.exp(-0.4 * S), rtol=1e-12)


def test_what_takes_a_finite_number_of_poles_refuses_delays_by_name():
    diagram, context = loop_with_delays()
    with pytest.raises(RuntimeError, match=r"forward' is a delay.*PadeDelay\(0.3\)"):
        LinearizeBetween(diagram, context)
    loop = OpenLoopAt(diagram, context, diagram.GetSubsystemByName("lag").get_input_port())
    for function in (Damp, RootLocusPlot):
        with pytest.raises(TypeError, match="exact delays"):
            function(loop)


def test_delays_and_samplers_together_are_refused_by_name():
    with pytest.raises(RuntimeError, match="forward' is a delay in continuous time"):
        FrequencyResponse(*loop_with_delays(sampled=True))
