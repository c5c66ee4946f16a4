"""The tape: the same results, to the last bit, as evaluating port by port."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merganser.analysis import (
    BogackiShampine3Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    Simulator,
)
from merganser.framework import DiagramBuilder, InputPortIndex, LeafSystem, Value
from merganser.framework.native.compiler import when_to_compile
from merganser.framework.native.compiler.when_to_compile import OptionalCode
from merganser.framework.native.operations.operations import OPERATIONS, CompiledOperation, address_of, has_complex_form
from merganser.framework.primitives import (
    Adder,
    ConstantValueSource,
    ConstantVectorSource,
    Demultiplexer,
    Gain,
    Integrator,
    Multiplexer,
    PassThrough,
    PortSwitch,
)

SIZE = 2


class PythonBlock(LeafSystem):
    """A block that is not an operation: y = sin(u) + t."""

    def __init__(self):
        super().__init__()
        self.num_calls = 0
        self.DeclareVectorInputPort("u", SIZE)
        self.DeclareVectorOutputPort("y", SIZE, self.calc)

    def calc(self, context, output):
        self.num_calls += 1
        output.SetFromVector(np.sin(self.GetInputPort("u").Eval(context)) + context.get_time())


def random_diagram(seed, num_blocks, nested=False):
    """Integrators fed by a random feedforward network of all block kinds on their outputs."""
    rng = np.random.default_rng(seed)
    builder = DiagramBuilder()
    integrators = [builder.AddSystem(Integrator(rng.normal(size=SIZE))) for _ in range(3)]
    signals = [integrator.get_output_port() for integrator in integrators]
    signals.append(builder.AddSystem(ConstantVectorSource(rng.normal(size=SIZE))).get_output_port())
    free_inputs = []
    for _ in range(num_blocks):
        kind = rng.integers(6)
        pick = lambda: signals[rng.integers(len(signals))]  # noqa: E731
        if kind == 0:
            block = builder.AddSystem(Gain(rng.normal(size=SIZE)))
            builder.Connect(pick(), block.get_input_port())
        elif kind == 1:
            block = builder.AddSystem(Adder(3, SIZE))
            for i in range(3):
                builder.Connect(pick(), block.get_input_port(i))
        elif kind == 2:
            block = builder.AddSystem(PythonBlock())
            builder.Connect(pick(), block.get_input_port())
        elif kind == 3:
            block = builder.AddSystem(PassThrough(SIZE))
            if rng.integers(2):
                builder.Connect(pick(), block.get_input_port())
            else:
                free_inputs.append(builder.ExportInput(block.get_input_port()))
        elif kind == 4:
            split = builder.AddSystem(Demultiplexer(SIZE, 1))
            builder.Connect(pick(), split.get_input_port())
            block = builder.AddSystem(Multiplexer([1, 1]))
            for i in range(2):
                builder.Connect(split.get_output_port(1 - i), block.get_input_port(i))
        else:
            block = builder.AddSystem(Gain(k=-0.5, size=SIZE))
            builder.Connect(pick(), block.get_input_port())
        signals.append(block.get_output_port())
    for integrator in integrators:
        builder.Connect(signals[rng.integers(3, len(signals))], integrator.get_input_port())
    inner = builder.Build()
    if not nested:
        return inner
    outer = DiagramBuilder()
    outer.AddNamedSystem("inner", inner)
    for i in range(inner.num_input_ports()):
        outer.ExportInput(inner.get_input_port(i), f"u{i}")
    return outer.Build()


def contexts(diagram):
    """Two equal contexts, one of which runs on the tape from the start."""
    by_port, by_tape = diagram.CreateDefaultContext(), diagram.CreateDefaultContext()
    by_port.derivative_evaluator().uses_tape = False
    by_tape.derivative_evaluator().lower()
    return by_port, by_tape


def derivatives(diagram, context):
    return diagram.EvalTimeDerivatives(context).CopyToVector()


def values_of_all_ports(diagram, context):
    return np.concatenate([slot.value.value() for slot in context.store.slots])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), num_blocks=st.integers(1, 12), nested=st.booleans())
def test_tape_equals_evaluation_port_by_port_bit_for_bit(seed, num_blocks, nested):
    diagram = random_diagram(seed, num_blocks, nested)
    by_port, by_tape = contexts(diagram)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        x, t = rng.normal(size=6), rng.uniform()
        for context in (by_port, by_tape):
            context.SetTimeAndContinuousState(t, x)
        assert np.array_equal(derivatives(diagram, by_port), derivatives(diagram, by_tape))
        if diagram.num_input_ports():  # an input fixed after the tape was made
            u = rng.normal(size=SIZE)
            port = diagram.get_input_port(int(rng.integers(diagram.num_input_ports())))
            for context in (by_port, by_tape):
                port.FixValue(context, u)
            assert np.array_equal(derivatives(diagram, by_port), derivatives(diagram, by_tape))
    assert by_tape.store.invalid & by_tape.derivative_evaluator()._tape._mask == 0


def loop_with(block):
    builder = DiagramBuilder()
    integrator = builder.AddNamedSystem("integrator", Integrator(SIZE))
    gain = builder.AddNamedSystem("gain", Gain(k=-2.0, size=SIZE))
    block = builder.AddNamedSystem("block", block)
    builder.Connect(integrator.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), block.get_input_port())
    builder.Connect(block.get_output_port(), integrator.get_input_port())
    return builder.Build(), block


def test_python_block_is_computed_only_when_out_of_date():
    diagram, block = loop_with(PythonBlock())
    _, context = contexts(diagram)
    before = block.num_calls
    for _ in range(3):
        derivatives(diagram, context)
    assert block.num_calls == before + 1
    context.SetTime(1.0)
    derivatives(diagram, context)
    assert block.num_calls == before + 2


def test_trajectories_are_equal_bit_for_bit():
    diagram, _ = loop_with(PythonBlock())
    states = []
    for context in contexts(diagram):
        context.SetContinuousState([1.0, -0.5])
        Simulator(diagram, context).AdvanceTo(2.0)
        states.append(context.get_continuous_state_vector().CopyToVector())
    assert np.array_equal(*states)


def test_overridden_connection_is_heeded():
    diagram, block = loop_with(PassThrough(SIZE))
    _, context = contexts(diagram)
    context.SetContinuousState([1.0, 2.0])
    assert derivatives(diagram, context).tolist() == [-2.0, -4.0]
    block.get_input_port().FixValue(block.GetMyContextFromRoot(context), [7.0, 8.0])
    assert derivatives(diagram, context).tolist() == [7.0, 8.0]


def test_fixing_an_input_again_keeps_the_tape():
    builder = DiagramBuilder()
    integrator = builder.AddSystem(Integrator(1))
    builder.ExportInput(integrator.get_input_port(), "u")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [1.0])
    evaluator = context.derivative_evaluator()
    evaluator.lower()
    routing = context.store.routing
    for u in (2.0, 3.0):
        diagram.get_input_port().FixValue(context, [u])
        assert derivatives(diagram, context).tolist() == [u]
    assert context.store.routing == routing


def test_changed_parameter_is_heeded():
    builder = DiagramBuilder()
    source = builder.AddSystem(ConstantVectorSource([1.0]))
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    diagram = builder.Build()
    _, context = contexts(diagram)
    assert derivatives(diagram, context).tolist() == [1.0]
    source.get_mutable_source_value(source.GetMyContextFromRoot(context)).SetFromVector([3.0])
    assert derivatives(diagram, context).tolist() == [3.0]


@pytest.mark.parametrize("integrator", [RungeKutta3Integrator, RungeKutta5Integrator, BogackiShampine3Integrator])
@pytest.mark.parametrize("is_fixed_step", [True, False])
def test_compiled_steps_equal_python_steps_bit_for_bit(integrator, is_fixed_step):
    builder = DiagramBuilder()
    rng = np.random.default_rng(3)
    for i in range(5):
        integral = builder.AddNamedSystem(f"i{i}", Integrator(rng.normal(size=SIZE)))
        gain = builder.AddNamedSystem(f"g{i}", Gain(rng.uniform(-3.0, 0.0, size=SIZE)))
        builder.Connect(integral.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), integral.get_input_port())
    diagram = builder.Build()
    results = []
    for context in contexts(diagram):
        simulator = Simulator(diagram, context)
        method = simulator.reset_integrator(integrator(diagram, context))
        method.set_maximum_step_size(0.05)
        method.set_fixed_step_mode(is_fixed_step)
        for end in (0.31, 1.0):
            simulator.AdvanceTo(end)
            counts = method.get_num_steps_taken(), method.get_num_derivative_evaluations()
            state = context.get_continuous_state_vector().CopyToVector()
            results.append([*state, context.get_time(), *counts])
    assert results[:2] == results[2:]


def test_unconnected_input_is_still_an_error_that_names_the_port():
    diagram, _ = Integrator(1), None
    context = diagram.CreateDefaultContext()
    context.derivative_evaluator().lower()
    with pytest.raises(RuntimeError, match=r"Input port 'u0' .* is not connected"):
        derivatives(diagram, context)


def test_error_in_a_python_block_names_it():
    class Failing(PythonBlock):
        def calc(self, context, output):
            if context.get_time() > 0.0:
                raise ArithmeticError("no")
            super().calc(context, output)

    diagram, _ = loop_with(Failing())
    _, context = contexts(diagram)
    derivatives(diagram, context)
    context.SetTime(1.0)
    with pytest.raises(ArithmeticError) as error:
        derivatives(diagram, context)
    assert any("'::Diagram::block'" in note for note in error.value.__notes__)


def test_frozen_cache_refuses_what_is_out_of_date():
    diagram, _ = loop_with(PassThrough(SIZE))
    _, context = contexts(diagram)
    context.FreezeCache()
    with pytest.raises(RuntimeError, match="frozen"):
        derivatives(diagram, context)
    context.UnfreezeCache()
    assert derivatives(diagram, context).tolist() == [0.0, 0.0]


def test_disabled_caching_computes_every_time():
    diagram, block = loop_with(PythonBlock())
    _, context = contexts(diagram)
    derivatives(diagram, context)
    context.DisableCaching()
    before = block.num_calls
    for _ in range(3):
        derivatives(diagram, context)
    assert block.num_calls == before + 3
    context.EnableCaching()
    for _ in range(3):
        derivatives(diagram, context)
    assert block.num_calls == before + 4


def test_complex_context_is_evaluated_port_by_port():
    diagram, _ = loop_with(PassThrough(SIZE))
    context = diagram._make_context(np.complex128)
    diagram.SetDefaultContext(context)
    context.SetContinuousState([1.0 + 1e-100j, 0.0])
    assert derivatives(diagram, context)[0].imag == -2e-100
    assert context.derivative_evaluator()._tape is None


def test_clone_has_a_tape_of_its_own():
    diagram, _ = loop_with(PassThrough(SIZE))
    _, context = contexts(diagram)
    context.SetContinuousState([1.0, 2.0])
    derivatives(diagram, context)
    clone = context.Clone()
    clone.derivative_evaluator().lower()
    clone.SetContinuousState([5.0, 6.0])
    assert derivatives(diagram, clone).tolist() == [-10.0, -12.0]
    assert derivatives(diagram, context).tolist() == [-2.0, -4.0]


@pytest.mark.parametrize("are_there", [True, False])
def test_loops_of_users_use_the_tape_from_the_second_evaluation_if_compiled(are_there, monkeypatch):
    monkeypatch.setattr(OptionalCode, "is_usable", lambda _code: are_there)
    monkeypatch.setattr(when_to_compile, "_has_loaded_code", lambda: True)
    monkeypatch.setattr(when_to_compile, "_usable", set())
    diagram, _ = loop_with(PassThrough(SIZE))
    context = diagram.CreateDefaultContext()

    def evaluate(time):
        context.SetTime(time)
        context.SetContinuousState([1.0, 1.0])
        for _ in range(2):  # the second finds it up to date
            diagram.EvalTimeDerivatives(context)

    evaluate(0.0)
    assert context.derivative_evaluator()._tape is None
    evaluate(1.0)
    assert (context.derivative_evaluator()._tape is not None) == are_there


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_compiles(name):
    assert address_of(name) != 0


@pytest.mark.parametrize("name", [name for name in OPERATIONS if has_complex_form(name)])
def test_operations_for_complex_numbers_compile(name):
    assert address_of(name, is_complex=True) not in (0, address_of(name))


class Failing(LeafSystem):
    """Raises whenever it is asked."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorOutputPort("y", 1, self.calc, {self.time_ticket()})

    def calc(self, context, output):
        raise RuntimeError("this must not be called")


def test_input_that_a_callback_does_not_read_is_not_computed():
    builder = DiagramBuilder()
    switch = builder.AddSystem(PortSwitch(1))
    read, unread = switch.DeclareInputPort("read"), switch.DeclareInputPort("unread")
    selector = builder.AddSystem(ConstantValueSource(Value(InputPortIndex(1))))
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(builder.AddSystem(ConstantVectorSource([2.0])).get_output_port(), read)
    builder.Connect(builder.AddSystem(Failing()).get_output_port(), unread)
    builder.Connect(selector.get_output_port(), switch.get_port_selector_input_port())
    builder.Connect(switch.get_output_port(), integrator.get_input_port())
    diagram = builder.Build()
    _, context = contexts(diagram)
    context.SetTime(1.0)
    assert derivatives(diagram, context).tolist() == [2.0]


def _quotient(values, numbers, integers):
    values[0] = values[1] / values[2]


def test_operations_divide_as_numpy_does():
    """Not as Python does: an exception could not leave the operation, whose result would stay unwritten."""
    values = np.array([7.0, 1.0, 0.0])
    numbers, integers = np.zeros(1), np.zeros(1, dtype=np.int64)
    arguments = (ctypes.c_void_p(array.ctypes.data) for array in (values, numbers, integers))
    operation = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    operation(CompiledOperation(_quotient).address())(*arguments)
    assert values[0] == np.inf


def test_operations_not_compiled_run_in_python_for_a_while_and_are_then_compiled(monkeypatch):
    wait, module = True, "merganser.framework.native.operations.assembly"
    monkeypatch.setattr(f"{module}.is_kept", lambda _operation: False)
    monkeypatch.setattr(f"{module}.pays_to_compile", lambda _operation: not wait)
    monkeypatch.setattr(OptionalCode, "is_usable", lambda _code: True)
    monkeypatch.setattr(when_to_compile, "_has_loaded_code", lambda: True)
    diagram, _ = loop_with(PassThrough(SIZE))
    context = diagram.CreateDefaultContext()

    def derivatives():
        context.SetContinuousState([1.0, 1.0])
        return diagram.EvalTimeDerivatives(context).CopyToVector()

    expected = derivatives()
    for wait in (True, False):
        for _ in range(4):
            np.testing.assert_array_equal(derivatives(), expected)
        assert (context.derivative_evaluator()._tape is None) == wait


@pytest.mark.parametrize("num_refusals", [1, 2, 3, 4])
def test_operations_that_are_compiled_while_a_tape_is_made_read_no_old_inputs(monkeypatch, num_refusals):
    module = "merganser.framework.native.operations.assembly"
    answers = iter([False] * num_refusals)
    monkeypatch.setattr(f"{module}.is_kept", lambda _operation: next(answers, True))
    monkeypatch.setattr(f"{module}.pays_to_compile", lambda _operation: False)
    diagram, _ = loop_with(PassThrough(SIZE))
    context, other = diagram.CreateDefaultContext(), diagram.CreateDefaultContext()
    other.derivative_evaluator().uses_tape = False
    context.derivative_evaluator().lower(is_patient=True)
    for x in ([1.0, 1.0], [2.0, -1.0], [0.5, 3.0]):
        found, expected = (
            (each.SetContinuousState(x), diagram.EvalTimeDerivatives(each).CopyToVector())[1]
            for each in (context, other)
        )
        np.testing.assert_array_equal(found, expected)
