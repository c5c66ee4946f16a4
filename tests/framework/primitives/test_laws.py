"""What holds for every block: one line of the table each.

A case says how to make a block, what ports it has, and what it gives for given inputs and state, in plain
numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, Value
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.primitives import (
    Adder,
    AffineSystem,
    ConstantValueSource,
    ConstantVectorSource,
    Demultiplexer,
    DiscreteTimeDelay,
    DiscreteTimeIntegrator,
    FirstOrderLowPassFilter,
    Gain,
    Integrator,
    LinearSystem,
    MatrixGain,
    Multiplexer,
    PassThrough,
    Saturation,
    Selector,
    SelectorParams,
    Sine,
    SparseMatrixGain,
    VectorLogSink,
    WrapToSystem,
    ZeroOrderHold,
)

_random = np.random.default_rng(7)
A, B, C, D = (_random.normal(size=shape) for shape in ((3, 3), (3, 2), (4, 3), (4, 2)))
f0, y0 = _random.normal(size=3), _random.normal(size=4)


@dataclass
class Case:
    """A block, its ports, and its law.

    Attributes:
        make: makes the block.
        inputs, outputs: {name: size}.
        feedthrough: pairs (input, output).
        calc: calc(u, x) -> list of outputs, with u the list of inputs and x the state.
        num_continuous, num_discrete: number of state variables.
        derivatives, update: f(u, x) -> dx/dt, or the next discrete state on a forced update.
        periodic: f(u, x) -> the next discrete state on a periodic update.
    """

    make: Callable[[], LeafSystem]
    inputs: dict[str, int]
    outputs: dict[str, int]
    feedthrough: list[tuple[int, int]]
    calc: Callable[[list[Any], Any], list[Any]]
    num_continuous: int = 0
    num_discrete: int = 0
    derivatives: Callable[[list[Any], Any], Any] | None = None
    update: Callable[[list[Any], Any], Any] | None = None
    periodic: Callable[[list[Any], Any], Any] | None = None
    defaults: list[float] = field(default_factory=list)


def source(value):
    return {}, {"y0": len(value)}, [], lambda u, x: [value]


def affine(make, has_offsets, **more):
    f, y = (f0, y0) if has_offsets else (0.0, 0.0)
    rule = {more.pop("rule"): lambda u, x: A @ x + B @ u[0] + f}
    return Case(make, {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [C @ x + D @ u[0] + y], **rule, **more)


def sine_of(u, x):
    a, f, p = np.array([[2.0, -1.0], [0.5, 3.0], [0.1, -2.0]])
    angle = f * u[0] + p
    return [a * np.sin(angle), a * f * np.cos(angle), -a * f**2 * np.sin(angle)]


def saturated(u, x, low=(-0.3, -0.5), high=(0.4, 0.2)):
    return [np.array([a if v.real < a else b if v.real > b else v for v, a, b in zip(u[0], low, high)])]


def wrapping():
    system = WrapToSystem(2)
    system.set_interval(1, -0.1, 0.2)
    return system


def selecting():
    from_last = SelectorParams.OutputSelection(input_port_index=1, input_offset=2)
    from_first = SelectorParams.OutputSelection(input_port_index=0, input_offset=0)
    inputs = [SelectorParams.InputPortParams(name="few", size=1), SelectorParams.InputPortParams(size=3)]
    outputs = [
        SelectorParams.OutputPortParams(selections=[from_last, from_first, from_last]),
        SelectorParams.OutputPortParams(name="one", selections=[from_last]),
        SelectorParams.OutputPortParams(),
    ]
    return Selector(SelectorParams(inputs=inputs, outputs=outputs))


CASES = {
    "ConstantVectorSource": Case(lambda: ConstantVectorSource([1.0, -2.0]), *source([1.0, -2.0])),
    "ConstantVectorSource of a BasicVector": Case(
        lambda: ConstantVectorSource(BasicVector([3.0])), *source([3.0])
    ),
    "Gain by one factor": Case(
        lambda: Gain(-2.0, 3), {"u0": 3}, {"y0": 3}, [(0, 0)], lambda u, x: [-2.0 * u[0]]
    ),
    "Gain by a vector": Case(
        lambda: Gain(k=[1.0, 10.0]),
        {"u0": 2},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [np.array([1.0, 10.0]) * u[0]],
    ),
    "Adder": Case(
        lambda: Adder(3, 2),
        {"u0": 2, "u1": 2, "u2": 2},
        {"sum": 2},
        [(0, 0), (1, 0), (2, 0)],
        lambda u, x: [sum(u)],
    ),
    "Integrator": Case(
        lambda: Integrator(2),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: u[0],
        defaults=[0.0, 0.0],
    ),
    "Integrator with a start": Case(
        lambda: Integrator([1.0, 2.0]),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: u[0],
        defaults=[1.0, 2.0],
    ),
    "PassThrough": Case(lambda: PassThrough(2), {"u": 2}, {"y": 2}, [(0, 0)], lambda u, x: u),
    "PassThrough with a default": Case(
        lambda: PassThrough(value=[1.0, 2.0]), {"u": 2}, {"y": 2}, [(0, 0)], lambda u, x: u
    ),
    "ZeroOrderHold": Case(
        lambda: ZeroOrderHold(0.1, 2),
        {"u": 2},
        {"y": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        defaults=[0.0, 0.0],
    ),
    "Multiplexer of numbers": Case(
        lambda: Multiplexer(2),
        {"u0": 1, "u1": 1},
        {"y0": 2},
        [(0, 0), (1, 0)],
        lambda u, x: [np.concatenate(u)],
    ),
    "Multiplexer of vectors": Case(
        lambda: Multiplexer(input_sizes=[2, 0, 3]),
        {"u0": 2, "u1": 0, "u2": 3},
        {"y0": 5},
        [(0, 0), (1, 0), (2, 0)],
        lambda u, x: [np.concatenate(u)],
    ),
    "Demultiplexer into equal parts": Case(
        lambda: Demultiplexer(4, 2),
        {"u0": 4},
        {"y0": 2, "y1": 2},
        [(0, 0), (0, 1)],
        lambda u, x: [u[0][:2], u[0][2:]],
    ),
    "Demultiplexer into given parts": Case(
        lambda: Demultiplexer([1, 3]),
        {"u0": 4},
        {"y0": 1, "y1": 3},
        [(0, 0), (0, 1)],
        lambda u, x: [u[0][:1], u[0][1:]],
    ),
    "AffineSystem": affine(
        lambda: AffineSystem(A, B, f0, C, D, y0),
        True,
        rule="derivatives",
        num_continuous=3,
        defaults=[0.0] * 3,
    ),
    "AffineSystem in discrete time": affine(
        lambda: AffineSystem(A, B, f0, C, D, y0, time_period=0.1),
        True,
        rule="update",
        num_discrete=3,
        defaults=[0.0] * 3,
    ),
    "LinearSystem": affine(
        lambda: LinearSystem(A, B, C, D), False, rule="derivatives", num_continuous=3, defaults=[0.0] * 3
    ),
    "LinearSystem in discrete time": affine(
        lambda: LinearSystem(A, B, C, D, 0.1), False, rule="update", num_discrete=3, defaults=[0.0] * 3
    ),
    "AffineSystem without D": Case(
        lambda: AffineSystem(A=A, B=B, C=C, D=0.0 * D),
        {"u0": 2},
        {"y0": 4},
        [],
        lambda u, x: [C @ x],
        num_continuous=3,
        derivatives=lambda u, x: A @ x + B @ u[0],
        defaults=[0.0] * 3,
    ),
    "AffineSystem without state": Case(
        lambda: AffineSystem(D=D, y0=y0), {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [D @ u[0] + y0]
    ),
    "AffineSystem without input": Case(
        lambda: AffineSystem(A=A, f0=f0, C=C),
        {},
        {"y0": 4},
        [],
        lambda u, x: [C @ x],
        num_continuous=3,
        derivatives=lambda u, x: A @ x + f0,
        defaults=[0.0] * 3,
    ),
    "MatrixGain": Case(lambda: MatrixGain(D), {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [D @ u[0]]),
    "SparseMatrixGain": Case(
        lambda: SparseMatrixGain(scipy.sparse.csc_matrix(D)),
        {"u": 2},
        {"y": 4},
        [(0, 0)],
        lambda u, x: [D @ u[0]],
    ),
    "Sine of an input": Case(
        lambda: Sine([2.0, -1.0], [0.5, 3.0], [0.1, -2.0], is_time_based=False),
        {"u0": 2},
        {"y0": 2, "y1": 2, "y2": 2},
        [(0, 0), (0, 1), (0, 2)],
        sine_of,
    ),
    "Sine of time": Case(
        lambda: Sine(amplitude=2.0, frequency=3.0, phase=0.5, size=2),
        {},
        {"y0": 2, "y1": 2, "y2": 2},
        [],
        lambda u, x: [[2 * np.sin(0.5)] * 2, [6 * np.cos(0.5)] * 2, [-18 * np.sin(0.5)] * 2],
    ),
    "Saturation": Case(
        lambda: Saturation([-0.3, -0.5], [0.4, 0.2]), {"u0": 2}, {"y0": 2}, [(0, 0)], saturated
    ),
    "WrapToSystem": Case(
        wrapping,
        {"u0": 2},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [u[0] - np.array([0.0, 0.3 * np.floor((u[0][1].real + 0.1) / 0.3)])],
    ),
    "Selector": Case(
        selecting,
        {"few": 1, "u1": 3},
        {"y0": 3, "one": 1, "y2": 0},
        [(0, 0), (1, 0), (1, 1)],
        lambda u, x: [[u[1][2], u[0][0], u[1][2]], [u[1][2]], []],
    ),
    "FirstOrderLowPassFilter": Case(
        lambda: FirstOrderLowPassFilter([0.5, 2.0]),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: (u[0] - x) / np.array([0.5, 2.0]),
        defaults=[0.0, 0.0],
    ),
    "DiscreteTimeIntegrator": Case(
        lambda: DiscreteTimeIntegrator(2, 0.1),
        {"u": 2},
        {"y": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        periodic=lambda u, x: x + 0.1 * u[0],
        defaults=[0.0, 0.0],
    ),
    "DiscreteTimeDelay": Case(
        lambda: DiscreteTimeDelay(0.1, 2, 2),
        {"u": 2},
        {"delayed_u": 2},
        [],
        lambda u, x: [x[:2]],
        num_discrete=6,
        periodic=lambda u, x: np.concatenate([x[2:], u[0]]),
        defaults=[0.0] * 6,
    ),
    "DiscreteTimeDelay by no step": Case(
        lambda: DiscreteTimeDelay(0.1, 0, 2),
        {"u": 2},
        {"delayed_u": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        periodic=lambda u, x: u[0],
        defaults=[0.0] * 2,
    ),
    "VectorLogSink": Case(lambda: VectorLogSink(3), {"data": 3}, {}, [], lambda u, x: []),
}

ABSTRACT = {
    "ConstantValueSource": (lambda: ConstantValueSource(Value("a")), [], ["y0"], []),
    "PassThrough": (lambda: PassThrough(Value("a")), ["u"], ["y"], [(0, 0)]),
    "ZeroOrderHold": (lambda: ZeroOrderHold(0.1, Value("a")), ["u"], ["y"], []),
    "DiscreteTimeDelay": (lambda: DiscreteTimeDelay(0.1, 2, Value("a")), ["u"], ["delayed_u"], []),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    return CASES[request.param]


def numbers(rng, size, dtype):
    values = rng.normal(size=size)
    return values + 1j * rng.normal(size=size) if dtype is np.complex128 else values


def filled(case, system, rng, dtype=np.float64):
    """A context with random inputs and state; returns it with both, output values poisoned."""
    context = system._make_context(dtype)
    system.SetDefaultContext(context)
    u = [numbers(rng, size, dtype) for size in case.inputs.values()]
    for port, value in zip(system._input_ports, u):
        port.FixValue(context, value)
    x = numbers(rng, case.num_continuous + case.num_discrete, dtype)
    if case.num_continuous:
        context.SetContinuousState(x)
    if case.num_discrete:
        context.SetDiscreteState(x)
    for index in range(system.num_output_ports()):
        context._slots[system.get_output_port(index)._entry_number].value.SetFromVector(
            np.full(system.get_output_port(index).size(), np.nan)
        )
    return context, u, x


def test_ports_state_and_defaults(case):
    system = case.make()
    assert {p.get_name(): p.size() for p in system._input_ports} == case.inputs
    assert {p.get_name(): p.size() for p in system._output_ports} == case.outputs
    context = system.CreateDefaultContext()
    assert context.num_continuous_states() == case.num_continuous
    assert sum(group.size() for group in context.get_discrete_state()._items) == case.num_discrete
    state = (
        context.get_continuous_state_vector()
        if case.num_continuous
        else context.get_state().get_discrete_state()
    )
    if case.defaults:
        assert state.value().tolist() == case.defaults


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_outputs_are_those_of_plain_numpy(case, dtype):
    system = case.make()
    context, u, x = filled(case, system, np.random.default_rng(1), dtype)
    for port, expected in zip(system._output_ports, case.calc(u, x), strict=True):
        values = port.Eval(context)
        assert values.dtype == dtype
        np.testing.assert_allclose(values, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_dynamics_are_those_of_plain_numpy(case, dtype):
    system = case.make()
    context, u, x = filled(case, system, np.random.default_rng(2), dtype)
    if case.derivatives is not None:
        np.testing.assert_allclose(
            system.EvalTimeDerivatives(context).CopyToVector(), case.derivatives(u, x), rtol=1e-14, atol=1e-14
        )
    if case.periodic is not None:
        after = system.EvalUniquePeriodicDiscreteUpdate(context).value()
        np.testing.assert_allclose(after, case.periodic(u, x), rtol=1e-14, atol=1e-14)
    system.ExecuteForcedEvents(context, publish=False)
    if case.num_discrete:
        expected = x if case.update is None else case.update(u, x)
        np.testing.assert_allclose(context.get_discrete_state(0).value(), expected, rtol=1e-14, atol=1e-14)


def test_direct_feedthrough(case):
    assert sorted(case.make().GetDirectFeedthroughs()) == sorted(case.feedthrough)


def test_outputs_change_only_with_inputs_that_feed_through(case):
    """The declared prerequisites tell the truth."""
    system = case.make()
    rng = np.random.default_rng(3)
    context, u, x = filled(case, system, rng)
    for index, port in enumerate(system._input_ports):
        before = [y.Eval(context) for y in system._output_ports]
        u[index] = numbers(rng, port.size(), np.float64)
        port.FixValue(context, u[index])
        for number, (y, expected) in enumerate(zip(system._output_ports, case.calc(u, x))):
            np.testing.assert_allclose(y.Eval(context), expected, rtol=1e-14, atol=1e-14)
            if (index, number) not in case.feedthrough:
                assert (y.Eval(context) == before[number]).all()


def test_inputs_of_the_wrong_size_are_refused_by_name(case):
    system = case.make()
    system.set_name("block")
    context = system.CreateDefaultContext()
    for index, (name, size) in enumerate(case.inputs.items()):
        with pytest.raises(
            ValueError, match=rf"Input port '{name}' \(index {index}\) of system '::block' has size {size}"
        ):
            system.get_input_port(index).FixValue(context, np.zeros(size + 1))
        builder = DiagramBuilder()
        builder.AddSystem(case.make())
        wrong = builder.AddNamedSystem("wrong", ConstantVectorSource(np.zeros(size + 1)))
        with pytest.raises(
            ValueError, match=rf"'::wrong' \(vector of size {size + 1}\) to Input port '{name}'"
        ):
            builder.Connect(wrong.get_output_port(), builder.GetSystems()[0].get_input_port(index))


def test_unconnected_inputs_are_named(case):
    system = case.make()
    system.set_name("block")
    context = system.CreateDefaultContext()
    for i, o in case.feedthrough[:1]:
        if isinstance(system, PassThrough):
            assert system.get_output_port(o).Eval(context) is not None
        elif system.get_input_port(i).size():
            with pytest.raises(RuntimeError, match=r"Input port .* of system '::block' is not connected"):
                system.get_output_port(o).Eval(context)


def test_clone_of_the_context_is_equal_and_independent(case):
    system = case.make()
    rng = np.random.default_rng(4)
    context, u, x = filled(case, system, rng)
    clone = context.Clone()
    for port, expected in zip(system._output_ports, case.calc(u, x)):
        np.testing.assert_allclose(port.Eval(clone), expected, rtol=1e-14, atol=1e-14)
    for port in system._input_ports:
        port.FixValue(clone, numbers(rng, port.size(), np.float64))
    if case.num_continuous:
        clone.SetContinuousState(x + 1.0)
    for port, expected in zip(system._output_ports, case.calc(u, x)):
        np.testing.assert_allclose(port.Eval(context), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ABSTRACT)
def test_abstract_blocks(name):
    make, inputs, outputs, feedthrough = ABSTRACT[name]
    system = make()
    assert [p.get_name() for p in system._input_ports] == inputs
    assert [p.get_name() for p in system._output_ports] == outputs
    assert system.GetDirectFeedthroughs() == feedthrough
    context = system.CreateDefaultContext()
    assert system.get_output_port().Eval(context) == "a"
    for port in system._input_ports:
        port.FixValue(context, "b")
        with pytest.raises(TypeError, match="takes values of type str; got float"):
            port.FixValue(context, 1.0)
    assert system.get_output_port().Eval(context.Clone()) == ("b" if feedthrough else "a")


def stacked(case, system, context, z):
    """Outputs, derivatives and update as one vector, for inputs and state z; shape [m]."""
    sizes = list(case.inputs.values())
    *inputs, x = np.split(z, np.cumsum(sizes, dtype=int))
    for port, value in zip(system._input_ports, inputs):
        port.FixValue(context, value)
    if case.num_continuous:
        context.SetContinuousState(x)
    if case.num_discrete:
        context.SetDiscreteState(x)
    parts = [port.Eval(context) for port in system._output_ports]
    parts += [system.EvalTimeDerivatives(context).CopyToVector()] if case.num_continuous else []
    parts += [system.EvalUniquePeriodicDiscreteUpdate(context).value()] if case.num_discrete else []
    return np.concatenate([np.asarray(part) for part in (*parts, [])])


def test_converted_block_has_the_derivatives_that_the_complex_step_gives(case):
    system = case.make()
    z = np.random.default_rng(5).normal(size=sum(case.inputs.values()) + case.num_continuous + case.num_discrete)
    expected = stacked(case, system, system.CreateDefaultContext(), z)
    converted = system.ToAutoDiffXd()
    assert isinstance(converted, type(system)) and type(converted.ToScalarType[float]()) is type(system)
    variables = InitializeAutoDiff(z).ravel()
    result = stacked(case, converted, converted.CreateDefaultContext(), variables)
    assert all(type(element) is AutoDiffXd for element in result)
    if len(result) == 0:
        return
    np.testing.assert_array_equal(ExtractValue(result).ravel(), expected)
    complex_context = system._make_context(np.complex128)
    system.SetDefaultContext(complex_context)
    for j in range(z.size):
        step = z + 1e-100j * np.eye(z.size)[j]
        slopes = stacked(case, system, complex_context, step).imag / 1e-100
        np.testing.assert_allclose(ExtractGradient(result)[:, j], slopes, rtol=1e-13, atol=1e-14)


def test_converted_block_has_the_expressions_whose_values_are_its_results(case):
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    system = case.make()
    converted = system.ToSymbolic()
    z = np.random.default_rng(6).normal(size=sum(case.inputs.values()) + case.num_continuous + case.num_discrete)
    variables = [symbolic.Variable(f"z{i}") for i in range(z.size)]
    result = stacked(case, converted, converted.CreateDefaultContext(), np.array(variables, dtype=object))
    values = [expression.Evaluate(dict(zip(variables, z))) for expression in result]
    expected = stacked(case, system, system.CreateDefaultContext(), z)
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ABSTRACT)
def test_abstract_blocks_convert_too(name):
    make, inputs, outputs, _ = ABSTRACT[name]
    system = make().ToAutoDiffXd()
    context = system.CreateDefaultContext()
    for index in range(len(inputs)):
        system.get_input_port(index).FixValue(context, "b")
    assert all(system.get_output_port(i).Eval(context) in ("a", "b") for i in range(len(outputs)))
