"""Delays in simulations: equations with delays in closed form, jumps handed on, copies, and what is refused."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from merganser.analysis.frequency import FrequencyResponse, LinearizeBetween
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import (
    Gain,
    Integrator,
    LogVectorOutput,
    PadeDelay,
    Pulse,
    RandomSource,
    Sine,
    Step,
    TransportDelay,
)


def configured(diagram, step=0.3, is_fixed=True, accuracy=1e-8):
    simulator = Simulator(diagram)
    config = SimulatorConfig(
        integration_scheme="runge_kutta3", use_error_control=not is_fixed, max_step_size=step, accuracy=accuracy
    )
    ApplySimulatorConfig(config, simulator)
    return simulator


def feedback(delay, gain=1.0):
    """xdot(t) = -gain x(t - delay), with x = 1 before the start."""
    builder = DiagramBuilder()
    integrator, past = builder.AddSystem(Integrator([1.0])), builder.AddNamedSystem("past", TransportDelay(delay, 1.0))
    minus = builder.AddSystem(Gain(-gain, 1))
    builder.Cascade(integrator, past)
    builder.Cascade(past, minus)
    builder.Cascade(minus, integrator)
    return builder.Build()


def chain(source, *delays):
    """The integral of a source behind delays."""
    builder = DiagramBuilder()
    system = builder.AddSystem(source)
    for delay in delays:
        following = builder.AddSystem(TransportDelay(delay))
        builder.Connect(system.get_output_port(0), following.get_input_port())
        system = following
    integrator = builder.AddSystem(Integrator(1))
    log = LogVectorOutput(system.get_output_port(), builder)
    builder.Connect(system.get_output_port(), integrator.get_input_port())
    return builder.Build(), log


def value(simulator):
    return simulator.get_context().get_continuous_state_vector().GetAtIndex(0)


@pytest.mark.parametrize("step", [0.3, 0.17, 5.0])
def test_an_equation_with_a_delay_by_the_method_of_steps(step):
    # 1 - t, then + (t - 1)^2 / 2, then - (t - 2)^3 / 6: polynomials that cubic interpolation has exactly.
    simulator = configured(feedback(1.0), step)
    for end, exact in ((1.0, 0.0), (1.5, 1 - 1.5 + 0.125), (3.0, 1 - 3 + 2 - 1 / 6)):
        simulator.AdvanceTo(end)
        assert value(simulator) == pytest.approx(exact, abs=1e-11)


def test_a_delayed_oscillator_decays_as_its_characteristic_root_says():
    """xdot = -x(t - 1): s = -exp(-s), s = -0.3181315 + 1.3372357 i."""
    root = -0.31813150520476413 + 1.3372357014306895j
    assert abs(root + np.exp(-root)) < 1e-12
    simulator = configured(feedback(1.0), 0.05, accuracy=1e-9, is_fixed=False)
    values, period = [], 2.0 * np.pi / root.imag
    for k in (4, 5, 6):
        simulator.AdvanceTo(k * period)
        values.append(value(simulator))
    for before, after in itertools.pairwise(values):
        assert after / before == pytest.approx(np.exp(root.real * period), rel=1e-4)


def test_errors_shrink_with_the_third_power_of_the_step():
    def error(step):
        builder = DiagramBuilder()
        sine, past = builder.AddSystem(Sine(1.0, 2.0, 0.0, 1)), builder.AddSystem(TransportDelay(0.4))
        integrator = builder.AddSystem(Integrator(1))
        builder.Connect(sine.get_output_port(0), past.get_input_port())
        builder.Cascade(past, integrator)
        simulator = configured(builder.Build(), step)
        simulator.AdvanceTo(2.0)
        return abs(value(simulator) - 0.5 * (1.0 - np.cos(3.2)))

    errors = [error(step) for step in (0.2, 0.1, 0.05)]
    assert errors[1] < errors[0] / 7.0 and errors[2] < errors[1] / 7.0


def test_jumps_are_handed_on_exactly_through_several_delays():
    diagram, _ = chain(Step(0.35), 0.4, 0.77)
    simulator = configured(diagram)
    simulator.AdvanceTo(2.0)
    assert value(simulator) == pytest.approx(2.0 - 0.35 - 0.4 - 0.77, abs=1e-13)
    diagram, log = chain(Pulse(0.5, 0.3, 3.0, -1.0), 0.23)
    simulator = configured(diagram)
    simulator.AdvanceTo(2.23)
    assert value(simulator) == pytest.approx(4 * (0.15 * 3.0 - 0.35), abs=1e-13)
    assert set(np.round(log.FindLog(simulator.get_context()).data()[0], 12)) == {0.0, 3.0, -1.0}


def test_samples_of_a_generator_pass_unchanged():
    from merganser.framework import RandomDistribution

    source = RandomSource(RandomDistribution.kUniform, 1, 0.1)
    builder = DiagramBuilder()
    source, past = builder.AddSystem(source), builder.AddSystem(TransportDelay(0.3))
    builder.Cascade(source, past)
    logs = [LogVectorOutput(system.get_output_port(), builder, 0.1) for system in (source, past)]
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(2.0)
    before, after = (log.FindLog(simulator.get_context()).data()[0] for log in logs)
    # Logs have a sample from before it changes; what comes out of the delay at that time has changed already.
    np.testing.assert_allclose(after[4:], before[2:-2], rtol=1e-12)


def test_the_oldest_samples_make_room_and_too_many_are_refused_by_name():
    simulator = configured(feedback(0.1), 0.01)
    simulator.AdvanceTo(30.0)  # 3,000 steps, of which ten count
    assert abs(value(simulator)) < 1e-12
    builder = DiagramBuilder()
    integrator = builder.AddSystem(Integrator(1))
    past = builder.AddNamedSystem("pipe", TransportDelay(1.0, capacity=20))
    builder.Cascade(past, integrator)
    builder.Cascade(integrator, past)
    simulator = configured(builder.Build(), 0.01)
    with pytest.raises(RuntimeError, match=r"'::Diagram::pipe': more than 20 ends of steps fall into the delay"):
        simulator.AdvanceTo(1.0)


def test_copies_of_a_simulation_go_on_bit_for_bit():
    simulator = configured(feedback(1.0, 1.4), is_fixed=False, accuracy=1e-6)
    simulator.AdvanceTo(2.5)
    copies = copy.deepcopy(simulator), pickle.loads(pickle.dumps(simulator))
    for each in (simulator, *copies):
        each.AdvanceTo(5.0)
    assert value(copies[0]) == value(copies[1]) == value(simulator)


def test_compiled_and_interpreted_simulations_agree_to_the_bit(monkeypatch):
    ends = []
    for mode in ("never", "always"):
        monkeypatch.setenv("MERGANSER_PLAN", mode)
        simulator = configured(feedback(1.0, 1.4), is_fixed=False, accuracy=1e-6)
        simulator.AdvanceTo(2.0)
        ends.append((value(simulator), simulator.get_num_steps_taken()))
    assert ends[0] == ends[1]


def test_a_rational_approximation_has_the_phase_of_the_delay():
    omega = np.geomspace(0.1, 3.0, 10)
    for order, error in ((1, 1.0), (3, 2e-2), (5, 2e-5)):
        found = FrequencyResponse(PadeDelay(1.0, order), omega=omega).response[0, 0]
        np.testing.assert_allclose(np.abs(found), 1.0, rtol=1e-12)
        np.testing.assert_allclose(found, np.exp(-1j * omega), atol=error)


def test_linear_analysis_refuses_a_delay_by_name():
    diagram = feedback(1.0)
    past = diagram.GetSubsystemByName("past")
    with pytest.raises(RuntimeError, match=r"'::Diagram::past' is a delay.*PadeDelay\(1\)"):
        LinearizeBetween(diagram, diagram.CreateDefaultContext(), past.get_input_port(), past.get_output_port())
