"""Switches, buses and densities run compiled, with the results of Python to the last bit and its errors."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import (
    DiagramBuilder,
    InputPortIndex,
    LeafSystem,
    RandomDistribution,
    Value,
)
from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import (
    BusCreator,
    BusSelector,
    ConstantValueSource,
    ConstantVectorSource,
    Integrator,
    LinearTransformDensity,
    LogVectorOutput,
    PortSwitch,
    Sine,
)


class Chooser(LeafSystem):
    """Chooses port 1 before 0.5 s, and another one from then on."""

    def __init__(self, other=2):
        super().__init__()
        self.other = other
        make = Value(InputPortIndex(1)).Clone
        self.DeclareAbstractOutputPort("choice", make, self.choose, {self.time_ticket()})

    def choose(self, context, output):
        output.set_value(InputPortIndex(1 if context.get_time() < 0.5 else self.other))


class Callback(LeafSystem):
    """Gives the time, in Python, and counts how often."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.DeclareVectorOutputPort("y", 1, self.calc, {self.time_ticket()})

    def calc(self, context, output):
        self.calls += 1
        output.SetAtIndex(0, context.get_time())


def switched(chooser, *sources):
    """An integrator behind a switch with one port more than there are sources."""
    builder = DiagramBuilder()
    switch, integrator = builder.AddSystem(PortSwitch(1)), builder.AddSystem(Integrator(1))
    for number, source in enumerate(sources):
        builder.Connect(builder.AddSystem(source).get_output_port(0), switch.DeclareInputPort(f"u{number}"))
    switch.DeclareInputPort("open")
    builder.Connect(builder.AddSystem(chooser).get_output_port(), switch.get_port_selector_input_port())
    builder.Connect(switch.get_output_port(), integrator.get_input_port())
    LogVectorOutput(integrator.get_output_port(), builder, 0.1).set_name("log")
    return builder.Build()


def simulator_of(diagram, uses_plan):
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(uses_plan, at_once=True)
    return simulator


def logged(diagram, uses_plan):
    simulator = simulator_of(diagram, uses_plan)
    simulator.AdvanceTo(1.0)
    return diagram.GetSubsystemByName("log").FindLog(simulator.get_context()).data()


def derivatives_tape(diagram):
    context = diagram.CreateDefaultContext()
    return Tape(context, [slot for slot in context.derivative_slots if slot.entry.vector_size])


def test_a_switch_follows_its_selector_and_leaves_open_ports_alone():
    made = [switched(Chooser(), ConstantVectorSource([2.0]), Sine(1.0, 3.0, 0.1, 1)) for _ in range(2)]
    compiled, interpreted = (logged(diagram, uses_plan) for diagram, uses_plan in zip(made, (True, False)))
    np.testing.assert_array_equal(compiled, interpreted)
    assert compiled[0, 4] == pytest.approx(0.8) and abs(compiled[0, -1] - 2.0) > 0.1
    assert derivatives_tape(made[0]).num_operations() >= 3  # Python only says which port


def test_a_switch_does_not_ask_callbacks_that_are_not_selected():
    counts = []
    for uses_plan in (True, False):
        callback = Callback()
        logged(switched(Chooser(), ConstantVectorSource([2.0]), callback), uses_plan)
        counts.append(callback.calls)
        unused = Callback()
        logged(switched(ConstantValueSource(Value(InputPortIndex(1))), ConstantVectorSource([2.0]), unused), uses_plan)
        assert unused.calls == 0
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    ("port", "words"), [(2, "Input port 'open' .* of system '.*::PortSwitch' is not connected"), (7, "selects input 7")]
)
@pytest.mark.parametrize("uses_plan", [True, False])
def test_a_selected_port_that_is_open_or_missing_is_refused(port, words, uses_plan):
    simulator = simulator_of(switched(Chooser(port), ConstantVectorSource([2.0])), uses_plan)
    with pytest.raises(RuntimeError, match=words):
        simulator.AdvanceTo(1.0)
    assert simulator.get_context().get_time() == pytest.approx(0.5, abs=0.11)


def bused(*sources, wanted="s0"):
    """An integrator behind a bus of signals s0, s1, ... and one that is not connected."""
    builder = DiagramBuilder()
    creator, selector = builder.AddSystem(BusCreator()), builder.AddSystem(BusSelector())
    integrator = builder.AddSystem(Integrator(1))
    for number, source in enumerate(sources):
        size = source.get_output_port(0).size()
        port = creator.DeclareVectorInputPort(f"s{number}", size)
        builder.Connect(builder.AddSystem(source).get_output_port(0), port)
    creator.DeclareVectorInputPort("open", 1)
    builder.Connect(creator.get_output_port(), selector.get_input_port())
    builder.Connect(selector.DeclareVectorOutputPort(wanted, 1), integrator.get_input_port())
    LogVectorOutput(integrator.get_output_port(), builder, 0.1).set_name("log")
    return builder.Build()


def test_signals_are_read_past_the_bus():
    sources = lambda: (TimeOf(), ConstantVectorSource([1.0, 2.0]))  # noqa: E731
    compiled, interpreted = (logged(bused(*sources()), uses_plan) for uses_plan in (True, False))
    np.testing.assert_array_equal(compiled, interpreted)
    assert compiled[0, -1] == pytest.approx(np.sin(1.0))
    tape = derivatives_tape(bused(*sources()))
    assert tape.operations() is not None  # no part of it is left to Python


class TimeOf(Sine):
    """cos t."""

    def __init__(self):
        super().__init__(1.0, 1.0, np.pi / 2.0, 1)


def test_a_bus_with_a_signal_in_python_is_left_to_python():
    counts = []
    for uses_plan in (True, False):
        callback = Callback()
        logged(bused(TimeOf(), callback), uses_plan)
        counts.append(callback.calls)
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    ("wanted", "words"), [("open", "no signal of that name"), ("s1", "expected a vector of size 1")]
)
@pytest.mark.parametrize("uses_plan", [True, False])
def test_signals_that_are_missing_or_wrong_are_refused(wanted, words, uses_plan):
    simulator = simulator_of(bused(TimeOf(), ConstantVectorSource([1.0, 2.0]), wanted=wanted), uses_plan)
    with pytest.raises(RuntimeError, match=words):
        simulator.AdvanceTo(1.0)


DENSITIES = {
    RandomDistribution.kUniform: lambda w: (w >= 0.0) & (w < 1.0),
    RandomDistribution.kGaussian: lambda w: np.exp(-0.5 * w * w) / np.sqrt(2.0 * np.pi),
    RandomDistribution.kExponential: lambda w: (w >= 0.0) * np.exp(-w),
}


def density_of(distribution, A, w, b=None):
    system = LinearTransformDensity(distribution, len(A), len(A))
    context = system.CreateDefaultContext()
    system.get_input_port_w_in().FixValue(context, w)
    system.FixConstantA(context, A)
    if b is not None:
        system.FixConstantB(context, b)
    return system, context


def outputs_of(system, context):
    return [system.get_output_port(i).Eval(context).tolist() for i in range(2)]


@pytest.mark.parametrize("distribution", RandomDistribution)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("has_b", [False, True])
def test_densities_are_equal_to_the_last_bit(distribution, n, has_b):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A, w, b = rng.normal(size=(n, n)), rng.uniform(-0.1, 1.0, size=n), rng.normal(size=n)
        system, context = density_of(distribution, A, w, b if has_b else None)
        tape = Tape(context, [slot_of(system.get_output_port(i), context) for i in range(2)])
        assert tape.num_operations() == 3  # one of them the elimination
        tape.run()
        assert not context.store.invalid & tape._mask and not tape._operations.failure[0]
        assert outputs_of(system, context) == outputs_of(*density_of(distribution, A, w, b if has_b else None))
        expected = np.prod(DENSITIES[distribution](w)) / abs(np.linalg.det(A))
        assert system.CalcDensity(context) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_compiled_densities_need_an_inverse_as_those_in_python_do(scale):
    A = scale * np.array([[1.0, 2.0], [2.0, 4.0]])
    system, context = density_of(RandomDistribution.kGaussian, A, [0.3, 0.4])
    with pytest.raises(RuntimeError, match="a matrix A that has an inverse"):
        Tape(context, [slot_of(system.get_output_port(1), context)]).run()


def test_matrices_that_nearly_have_no_inverse_have_one():
    A = np.diag([1.0, 1e-15])
    system, context = density_of(RandomDistribution.kGaussian, A, [0.3, 0.4])
    slot = slot_of(system.get_output_port(1), context)
    Tape(context, [slot]).run()
    assert slot.value.value().item() == system.CalcDensity(context) > 1e14
