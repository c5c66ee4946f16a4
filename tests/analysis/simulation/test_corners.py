"""Blocks with corners and jumps in simulations: steps end at corners, and integrators keep their order across them."""

import copy
import pickle

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import (
    Abs,
    Adder,
    Backlash,
    CompareToConstant,
    CoulombViscousFriction,
    DeadZone,
    Gain,
    Hysteresis,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    LookupTable1D,
    MinMax,
    Pulse,
    Quantizer,
    Ramp,
    RateLimiter,
    Relay,
    Sawtooth,
    Sign,
    SignalGenerator,
    Step,
    Switch,
    ZeroOrderHold,
)

END = 7.0
AT = np.arcsin  # time at which sin(t) first has a value


def wave():
    """sin(t) as a state, so that its corners are where the state says."""
    return LinearSystem([[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 0)), [[1.0, 0.0]], np.zeros((1, 0)))


def integral_of(block, step=0.5, accuracy=1e-9, end=END, is_fixed=False, source=None, start=(0.0, 1.0)):
    """The integral of a block's output for the input sin(t); returns it with the simulator and the log."""
    builder = DiagramBuilder()
    source = builder.AddSystem(source or wave())
    block, integrator = builder.AddNamedSystem("block", block), builder.AddSystem(Integrator(1))
    builder.Cascade(source, block)
    builder.Cascade(block, integrator)
    log = LogVectorOutput(block.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    config = SimulatorConfig(
        integration_scheme="runge_kutta3", max_step_size=step, accuracy=accuracy, use_error_control=not is_fixed
    )
    ApplySimulatorConfig(config, simulator)
    if source.num_continuous_states():
        simulator.get_mutable_context().SetContinuousState([*start, 0.0])
    simulator.AdvanceTo(end)
    value = simulator.get_context().get_continuous_state_vector().CopyToVector()[-1]
    return value, simulator, log.FindLog(simulator.get_context())


def primitive(pieces):
    """The sum of integrals of a sin(t) + b over (from, to): pieces of (from, to, a, b)."""
    return sum(a * (np.cos(p) - np.cos(q)) + b * (q - p) for p, q, a, b in pieces)


def above(limit):
    """Where sin(t) > limit >= 0 in (0, 7)."""
    first = AT(limit)
    return [(first, np.pi - first), *([(2 * np.pi + first, END)] if 2 * np.pi + first < END else [])]


def below(limit):
    """Where sin(t) < -limit <= 0 in (0, 7)."""
    return [(np.pi + AT(limit), 2 * np.pi - AT(limit))]


def levels(q):
    """The integral of the quantizer: each level counts while sin(t) is beyond its border."""
    borders = np.arange(0.5 * q, 1.0, q)
    return q * sum(sum(b - a for a, b in above(v)) - sum(b - a for a, b in below(v)) for v in borders)


CASES = {
    "dead zone": (
        lambda: DeadZone(-0.5, 0.3),
        primitive([(*p, 1.0, -0.3) for p in above(0.3)] + [(*p, 1.0, 0.5) for p in below(0.5)]),
    ),
    "absolute value": (lambda: Abs(), 4.0 + 1.0 - np.cos(END - 2 * np.pi)),
    "sign": (lambda: Sign(), END - 2 * np.pi),
    "friction": (lambda: CoulombViscousFriction(0.3, 2.0), 0.3 * (END - 2 * np.pi) + 2.0 * (1.0 - np.cos(END))),
    "comparison": (lambda: CompareToConstant(0.4, "<"), END - sum(b - a for a, b in above(0.4))),
    "quantizer": (lambda: Quantizer(0.25), levels(0.25)),
    "linear table": (
        lambda: LookupTable1D([-1.0, 0.0, 1.0], [0.0, 0.0, 3.0]),
        3.0 * (2.0 + 1.0 - np.cos(END - 2 * np.pi)),
    ),
    "nearest table": (
        lambda: LookupTable1D([0.0, 1.0], [0.0, 3.0], "nearest"),
        3.0 * sum(b - a for a, b in above(0.5)),
    ),
    "hysteresis": (lambda: Hysteresis(-0.6, 0.6), np.pi + 2 * AT(0.6) - 2 * AT(0.6) + (END - 2 * np.pi - AT(0.6))),
    # Engaged upwards to the top at pi/2, at rest until sin(t) has fallen by 0.4, and so on.
    "backlash": (
        lambda: Backlash(0.4),
        primitive(
            [
                (AT(0.2), np.pi / 2, 1.0, -0.2),
                (np.pi / 2, np.pi - AT(0.6), 0.0, 0.8),
                (np.pi - AT(0.6), 1.5 * np.pi, 1.0, 0.2),
                (1.5 * np.pi, 2 * np.pi - AT(0.6), 0.0, -0.8),
                (2 * np.pi - AT(0.6), END, 1.0, -0.2),
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_integrals_over_corners_are_those_in_closed_form(name):
    make, expected = CASES[name]
    assert integral_of(make())[0] == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize("name", CASES)
def test_an_integrator_keeps_its_order_across_corners_and_jumps(name):
    make, expected = CASES[name]
    errors = [abs(integral_of(make(), step, is_fixed=True)[0] - expected) for step in (0.2, 0.1, 0.05)]
    assert errors[1] < errors[0] / 6.0 and errors[2] < errors[1] / 6.0


def test_a_rate_limiter_slews_and_follows():
    # u = sin(t) rises at up to 1 > 0.5; y = t / 2 meets it again where sin(t) = t / 2.
    meets = 1.8954942670339809
    assert np.sin(meets) == pytest.approx(0.5 * meets, abs=1e-15)
    expected = 0.25 * meets**2 + np.cos(meets) - np.cos(2.5)
    assert integral_of(RateLimiter(0.5, 0.9), end=2.5)[0] == pytest.approx(expected, abs=1e-8)


def test_a_relay_oscillates_with_the_period_in_closed_form():
    builder = DiagramBuilder()
    plant = builder.AddSystem(LinearSystem([[-1.0]], [[1.0]], [[1.0]], [[0.0]]))
    minus, relay = builder.AddSystem(Gain(-1.0, 1)), builder.AddSystem(Relay(0.2, -0.2, 1.0, -1.0))
    builder.Cascade(plant, minus)
    builder.Cascade(minus, relay)
    builder.Cascade(relay, plant)
    log = LogVectorOutput(plant.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", accuracy=1e-8), simulator)
    simulator.AdvanceTo(8.0)
    samples = log.FindLog(simulator.get_context())
    x, t = samples.data()[0], samples.sample_times()
    turns = t[np.flatnonzero(np.abs(np.abs(x) - 0.2) < 1e-10)]
    assert np.abs(x).max() == pytest.approx(0.2, abs=1e-10)
    assert len(turns) > 8
    np.testing.assert_allclose(np.diff(turns[1:-1]), np.log(1.2 / 0.8), rtol=1e-6)


def test_minimum_maximum_and_switch_change_over_where_signals_cross():
    for make, expected in (
        (lambda: MinMax("max", 2), primitive([(0.0, np.pi / 4, 0.0, 0.0)]) + np.sin(np.pi / 4) + 1 + np.cos(np.pi / 4)),
        (lambda: MinMax("min", 2), 1 - np.cos(np.pi / 4) - np.sin(np.pi / 4)),
    ):
        builder = DiagramBuilder()
        matrices = [[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0))
        source, block = builder.AddSystem(LinearSystem(*matrices)), builder.AddSystem(make())
        parts = [builder.AddSystem(LinearSystem(D=[row])) for row in ([1.0, 0.0], [0.0, 1.0])]
        for number, part in enumerate(parts):
            builder.Cascade(source, part)
            builder.Connect(part.get_output_port(), block.get_input_port(number))
        integrator = builder.AddSystem(Integrator(1))
        builder.Cascade(block, integrator)
        simulator = Simulator(builder.Build())
        ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", accuracy=1e-9), simulator)
        simulator.get_mutable_context().SetContinuousState([0.0, 1.0, 0.0])
        simulator.AdvanceTo(np.pi)
        value = simulator.get_context().get_continuous_state_vector().GetAtIndex(2)
        assert value == pytest.approx(expected, abs=1e-8)


def test_a_simulation_may_begin_exactly_at_a_corner():
    # sin(t) leaves 0 upwards; from pi on downwards, with the state at 0 but for rounding.
    assert integral_of(Sign(), end=1.0)[0] == pytest.approx(1.0, abs=1e-9)
    assert integral_of(Sign(), end=1.0, start=(0.0, -1.0))[0] == pytest.approx(-1.0, abs=1e-9)
    for start, expected in (((0.3, 1.0), 1.0), ((0.3, -1.0), 0.0)):
        block = DeadZone(-5.0, 0.3)
        first = integral_of(block, end=0.1, start=start)[0]
        exact = 0.3 * np.sin(0.1) + start[1] * (1.0 - np.cos(0.1)) - 0.03
        assert first == pytest.approx(expected * exact, abs=1e-10)


def test_a_signal_that_rests_at_a_corner_stays_there():
    for block in (Sign(), Abs(), DeadZone(0.0, 1.0), Backlash(0.4), RateLimiter(1.0, 1.0)):
        assert integral_of(block, end=1.0, start=(0.0, 0.0))[0] == 0.0


def test_a_memory_follows_inputs_that_jump():
    """Relay and rate limiter behind a sampler: 1, -1, 1, ... held for 0.5 s each."""
    for make, expected in (
        (lambda: Relay(0.5, -0.5, 2.0, 0.0), 2.0 * 2.0),
        (lambda: RateLimiter(4.0, 4.0, 1.0), 0.0),
    ):
        builder = DiagramBuilder()
        source = builder.AddSystem(Pulse(1.0, 0.5, 1.0, -1.0))
        hold, block = builder.AddSystem(ZeroOrderHold(0.5, 1)), builder.AddSystem(make())
        integrator = builder.AddSystem(Integrator(1))
        builder.Cascade(source, hold)
        builder.Cascade(hold, block)
        builder.Cascade(block, integrator)
        simulator = Simulator(builder.Build())
        ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", use_error_control=False), simulator)
        simulator.AdvanceTo(1.0)
        before = simulator.get_context().get_continuous_state_vector().GetAtIndex(0)
        simulator.AdvanceTo(5.0)
        after = simulator.get_context().get_continuous_state_vector().GetAtIndex(0)
        assert after - before == pytest.approx(expected, abs=1e-9)


def test_signals_of_time_are_integrated_exactly():
    def integrated(source, end):
        return integral_of(Gain(1.0, 1), step=0.3, is_fixed=True, source=source, end=end)[0]

    assert integrated(Step(1.05), 2.0) == pytest.approx(0.95, abs=1e-13)
    assert integrated(Ramp(2.0, 0.77), 2.0) == pytest.approx(1.23**2, abs=1e-13)
    assert integrated(Pulse(0.5, 0.3, 3.0, -1.0, delay=0.2), 2.0) == pytest.approx(0.4, abs=1e-13)
    assert integrated(Sawtooth(0.7, 2.0), 1.75) == pytest.approx(-0.35, abs=1e-13)


FORMS = {  # one period of each wave, by formulas of its angle
    "sine": np.sin,
    "square": lambda a: np.where(a % (2.0 * np.pi) < np.pi, 1.0, -1.0),
    "sawtooth": lambda a: (a / np.pi) % 2.0 - 1.0,
    "triangle": lambda a: 1.0 - 2.0 * np.abs((a / np.pi) % 2.0 - 1.0),
}


@pytest.mark.parametrize("waveform", FORMS)
def test_a_signal_generator_gives_its_wave_and_is_integrated_exactly(waveform):
    amplitude, frequency, phase = np.array([2.0, -0.5, 1.0]), np.array([3.1, 7.7, 3.1]), np.array([0.4, -9.0, 50.0])
    builder = DiagramBuilder()
    source = builder.AddNamedSystem("source", SignalGenerator(waveform, amplitude, frequency, phase, 0.3))
    builder.AddNamedSystem("sum", Integrator(3))
    builder.Connect("source", "sum")
    log = LogVectorOutput(source.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", max_step_size=0.01), simulator)
    simulator.AdvanceTo(5.0)
    samples = log.FindLog(simulator.get_context())
    angle = np.outer(frequency, samples.sample_times()) + phase[:, np.newaxis]
    expected = 0.3 + amplitude[:, np.newaxis] * FORMS[waveform](angle)
    inside = np.abs((angle / np.pi + 0.5) % 1.0 - 0.5) > 1e-9  # at its jumps a sample still has the value from before
    assert inside.mean() > 0.9
    np.testing.assert_allclose(samples.data()[inside], expected[inside], rtol=0.0, atol=1e-11)
    fine = np.linspace(0.0, 5.0, 500_001)
    middle = 0.5 * (fine[:-1] + fine[1:])
    for k, found in enumerate(simulator.get_context().get_continuous_state_vector().CopyToVector()):
        wave = 0.3 + amplitude[k] * FORMS[waveform](frequency[k] * middle + phase[k])
        assert found == pytest.approx(wave.mean() * 5.0, abs=1e-4)


WAVES = {
    "pulse": lambda: Pulse(0.5, 0.3, [3.0], -1.0, delay=0.2),
    "sawtooth": lambda: Sawtooth(0.7, [2.0]),
    "square": lambda: SignalGenerator("square", [2.0, 1.0], [3.1, 7.0], [0.4, -50.0]),
    "triangle": lambda: SignalGenerator("triangle", [2.0, 1.0], [3.1, np.pi], [0.4, 0.0]),
}


@pytest.mark.parametrize("start", [0.77, 0.97, 12.35, 21.0])
@pytest.mark.parametrize("wave", WAVES)
def test_waves_begin_at_any_time(wave, start):
    """They give what those that began long before give."""
    samples = []
    for begin in (start - 0.77, start):
        builder = DiagramBuilder()
        source = builder.AddSystem(WAVES[wave]())
        simulator = Simulator(builder.Build())
        simulator.get_mutable_context().SetTime(begin)
        simulator.Initialize()
        context = source.GetMyContextFromRoot(simulator.get_context())
        samples.append([])
        for time in start + 0.123 * np.arange(1, 20):
            simulator.AdvanceTo(time)
            samples[-1].append(source.get_output_port().Eval(context).tolist())
    np.testing.assert_allclose(samples[1], samples[0], rtol=0.0, atol=1e-12)
    assert np.ptp(samples[0]) > 1.5


def test_a_triangle_and_a_square_are_integrated_exactly_by_long_steps():
    def integrated(waveform, frequency, phase, end):
        source = SignalGenerator(waveform, 2.0, frequency, phase)
        return integral_of(Gain(1.0, 1), step=0.3, is_fixed=True, source=source, end=end)[0]

    assert integrated("square", np.pi, 0.0, 3.25) == pytest.approx(1.5, abs=1e-13)
    assert integrated("square", np.pi, -np.pi / 4.0, 1.0) == pytest.approx(1.0, abs=1e-13)
    assert integrated("triangle", np.pi, 0.0, 0.5) == pytest.approx(-0.5, abs=1e-13)
    assert integrated("triangle", np.pi, np.pi / 2.0, 3.0) == pytest.approx(1.0, abs=1e-13)
    assert integrated("sawtooth", np.pi, 0.0, 3.0) == pytest.approx(-1.0, abs=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"waveform": "cosine"}, "waveform must be one of.*got 'cosine'"),
        ({"frequency": 0.0}, "frequency must be positive"),
        ({"frequency": np.inf}, "frequency must be positive and finite"),
        ({"phase": np.inf}, "phase must be finite"),
        ({"amplitude": np.nan}, "SignalGenerator: amplitude: an element is not a number"),
        ({"amplitude": [1.0, 2.0], "offset": [1.0, 2.0, 3.0]}, "amplitude has 2 elements, expected 3"),
    ],
)
def test_wrong_arguments_of_a_signal_generator_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        SignalGenerator(**{"waveform": "square", **arguments})


def test_chattering_ends_the_simulation_with_the_name_of_the_block():
    builder = DiagramBuilder()
    integrator, sign = builder.AddSystem(Integrator([0.5])), builder.AddNamedSystem("stick", Sign())
    minus = builder.AddSystem(Gain(-1.0, 1))
    builder.Cascade(integrator, sign)
    builder.Cascade(sign, minus)
    builder.Cascade(minus, integrator)
    simulator = Simulator(builder.Build())
    status = simulator.AdvanceTo(1.0)
    assert status.reason() is status.ReturnReason.kZenoBehavior and status.system() is sign
    assert "inputs of system '::Diagram::stick' would pass the same threshold to and fro" in status.FormatMessage()
    assert simulator.get_context().get_time() == pytest.approx(0.5, abs=1e-9)
    assert abs(simulator.get_context().get_continuous_state_vector().GetAtIndex(0)) < 1e-9


@pytest.mark.parametrize("make", [lambda: Relay(0.5, -0.2), lambda: Backlash(0.4), lambda: RateLimiter(0.5, 0.7)])
def test_copies_of_a_simulation_go_on_bit_for_bit(make):
    _, simulator, _ = integral_of(make(), accuracy=1e-6, end=3.0)
    copies = copy.deepcopy(simulator), pickle.loads(pickle.dumps(simulator))
    ends = []
    for each in (simulator, *copies):
        each.AdvanceTo(5.0)
        ends.append(each.get_context().get_continuous_state_vector().CopyToVector())
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])


@pytest.mark.parametrize("make", [lambda: DeadZone(-0.5, 0.3), lambda: Relay(0.5, -0.2), lambda: Backlash(0.4)])
def test_compiled_and_interpreted_simulations_agree_to_the_bit(make, monkeypatch):
    ends = []
    for mode in ("never", "always"):
        monkeypatch.setenv("MERGANSER_PLAN", mode)
        value, simulator, log = integral_of(make(), accuracy=1e-6, end=5.0)
        ends.append((value, simulator.get_num_steps_taken(), log.data().tobytes()))
    assert ends[0] == ends[1]


def test_derivatives_of_the_motion_cross_corners_that_are_continuous():
    """d/da of the integral of the dead zone of a sin(t)."""
    from merganser.framework.autodiff import AutoDiffXd

    _, simulator, _ = integral_of(DeadZone(-2.0, 0.3), end=2.0, accuracy=1e-9)
    system = simulator.get_system().ToAutoDiffXd()
    differentiated = Simulator(system)
    ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", accuracy=1e-9), differentiated)
    differentiated.get_mutable_context().SetContinuousState(
        [AutoDiffXd(0.0, [0.0]), AutoDiffXd(1.0, [1.0]), AutoDiffXd(0.0, [0.0])]
    )
    differentiated.AdvanceTo(2.0)
    slope = differentiated.get_context().get_continuous_state_vector().GetAtIndex(2).derivatives()[0]
    assert slope == pytest.approx(np.cos(AT(0.3)) - np.cos(2.0), abs=1e-8)


def test_a_switch_changes_over_at_its_threshold():
    builder = DiagramBuilder()
    source, switch = builder.AddSystem(wave()), builder.AddSystem(Switch(0.5))
    ramp, total = builder.AddSystem(Ramp(1.0)), builder.AddSystem(Adder(1, 1))
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), switch.GetInputPort("control"))
    builder.Connect(ramp.get_output_port(), switch.GetInputPort("u0"))
    builder.Connect(source.get_output_port(), switch.GetInputPort("u1"))
    builder.Cascade(switch, total)
    builder.Cascade(total, integrator)
    simulator = Simulator(builder.Build())
    ApplySimulatorConfig(SimulatorConfig(integration_scheme="runge_kutta3", accuracy=1e-9), simulator)
    simulator.get_mutable_context().SetContinuousState([0.0, 1.0, 0.0])
    simulator.AdvanceTo(2.0)
    at = AT(0.5)
    expected = 1.0 - np.cos(at) + 0.5 * (4.0 - at**2)
    assert simulator.get_context().get_continuous_state_vector().GetAtIndex(2) == pytest.approx(expected, abs=1e-8)
