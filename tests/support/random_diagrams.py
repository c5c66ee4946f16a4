"""Random diagrams of all kinds of blocks, native and Python, with events at periods that have little in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.analysis.controllers import PidController
from merganser.framework import BasicVector, Diagram, DiagramBuilder, LeafSystem, System
from merganser.framework.native import native
from merganser.framework.primitives import (
    Adder,
    AffineSystem,
    ConstantVectorSource,
    Demultiplexer,
    Gain,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    Multiplexer,
    PassThrough,
    Saturation,
    Sine,
    ZeroOrderHold,
)

SIZE = 2
PERIODS = (0.03, 0.05, 0.07, 0.11)


class PythonFunction(LeafSystem):
    """y = sin(u) + t, as an ordinary callback."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", SIZE)
        self.DeclareVectorOutputPort("y", SIZE, self.calc)

    def calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(np.sin(self.GetInputPort("u").Eval(context)) + context.get_time())


class PythonOscillator(LeafSystem):
    """Continuous state in an ordinary block: d2q/dt2 = u - q."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", SIZE)
        state = self.DeclareContinuousState(SIZE, SIZE, 0)
        self.DeclareVectorOutputPort("q", SIZE, self.calc, {self.xc_ticket()})
        assert state is not None

    def calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_continuous_state_vector().value()[:SIZE])

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().value()
        u = self.GetInputPort("u").Eval(context)
        derivatives.SetFromVector(np.concatenate([x[SIZE:], u - x[:SIZE]]))


class PythonCounter(LeafSystem):
    """Discrete state in an ordinary block, updated periodically and, if asked for, in every step."""

    def __init__(self, period: float, is_per_step: bool) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", SIZE)
        group = self.DeclareDiscreteState(SIZE)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.25 * period, self.update)
        if is_per_step:
            self.DeclarePerStepDiscreteUpdateEvent(self.update)
        self.DeclareStateOutputPort("y", group)

    def update(self, context: Any, discrete_state: Any) -> None:
        u = self.GetInputPort("u").Eval(context)
        discrete_state.set_value(0, 0.5 * discrete_state.value(0) + u + 0.125)


class Switch(LeafSystem):
    """An unrestricted update in an ordinary block: changes sign periodically."""

    def __init__(self, period: float) -> None:
        super().__init__()
        group = self.DeclareDiscreteState(np.ones(SIZE))
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self.update)
        self.DeclareStateOutputPort("y", group)

    def update(self, context: Any, state: Any) -> None:
        state.get_mutable_discrete_state().set_value(0, -1.01 * context.get_discrete_state(0).value())


class Recorder(LeafSystem):
    """Writes down when it is called and what it sees."""

    def __init__(self, period: float, name: str, history: list[Any]) -> None:
        super().__init__()
        self._label, self._history = name, history
        self.DeclareVectorInputPort("u", SIZE)
        if period > 0.0:
            self.DeclarePeriodicPublishEvent(period, 0.0, self.record)
        else:
            self.DeclarePerStepPublishEvent(self.record)

    def record(self, context: Any) -> None:
        u = self.GetInputPort("u").Eval(context)
        self._history.append((self._label, context.get_time(), *u))


@native
def _spring(xc, u, k, xdot):  # type: ignore[no-untyped-def]
    for i in range(u.shape[0]):
        xdot[i] = u[i] - k[i] * xc[i] * xc[i] * xc[i]


@native
def _blend(t, u, xc, y):  # type: ignore[no-untyped-def]
    for i in range(u.shape[0]):
        y[i] = u[i] * np.cos(t) + xc[i]


@native
def _filter(xd, xc, next_xd):  # type: ignore[no-untyped-def]
    for i in range(xd.shape[0]):
        next_xd[i] = 0.9 * xd[i] + 0.1 * np.sin(xc[i])


class NativeBlock(LeafSystem):
    """A user's block of native functions, with continuous and discrete state, a parameter and feedthrough."""

    def __init__(self, period: float) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", SIZE)
        self.DeclareNumericParameter(BasicVector([0.5, 0.25]), name="k")
        self.DeclareContinuousState(SIZE)
        self.DeclareDiscreteState([0.1, 0.2])
        self.DeclareTimeDerivatives(_spring)
        self.DeclareVectorOutputPort("y", SIZE, _blend)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, _filter)


def _stateful(rng: np.random.Generator) -> LeafSystem:
    """A block whose first output does not depend on its inputs at the same instant."""
    period = float(rng.choice(PERIODS))
    kinds = (
        lambda: Integrator(rng.normal(size=SIZE)),
        lambda: ZeroOrderHold(period, SIZE, 0.5 * period if rng.integers(2) else 0.0),
        lambda: LinearSystem(-np.eye(3) + 0.3 * rng.normal(size=(3, 3)), rng.normal(size=(3, SIZE)), np.eye(SIZE, 3)),
        lambda: AffineSystem(
            0.5 * np.eye(3), rng.normal(size=(3, SIZE)), rng.normal(size=3), np.eye(SIZE, 3), time_period=period
        ),
        PythonOscillator,
        lambda: PythonCounter(period, bool(rng.integers(2))),
    )
    return kinds[rng.integers(len(kinds))]()


def _feedthrough(rng: np.random.Generator) -> LeafSystem:
    """A block whose first output depends on its inputs."""
    kinds = (
        lambda: Gain(rng.normal(size=SIZE)),
        lambda: Adder(3, SIZE),
        lambda: PassThrough(SIZE),
        lambda: Saturation([-1.0, -0.5], [0.5, np.inf]),
        lambda: Sine(rng.normal(size=SIZE), rng.normal(size=SIZE), rng.normal(size=SIZE), False),
        lambda: Multiplexer([1, 1]),
        lambda: LinearSystem(D=rng.normal(size=(SIZE, SIZE))),
        lambda: PidController([[1.0, 0.0], [0.0, 1.0]], np.ones((SIZE, 1)), [0.5], [0.2], [0.1]),
        PythonFunction,
        lambda: NativeBlock(float(rng.choice(PERIODS))),
    )
    return kinds[rng.integers(len(kinds))]()


def random_diagram(
    rng: np.random.Generator, num_blocks: int, history: list[Any], is_nested: bool = False, has_python: bool = True
) -> tuple[Diagram, list[Any]]:
    """A diagram without inputs, and the sinks that log signals of it.

    Args:
        rng: where all choices come from.
        num_blocks: number of blocks with feedthrough; there are half as many with state.
        history: to which recorders append what they see.
        is_nested: whether all blocks are in a diagram within the diagram.
        has_python: whether there may be blocks that are not native.
    """
    builder = DiagramBuilder()
    signals = [
        builder.AddSystem(ConstantVectorSource(rng.normal(size=SIZE))).get_output_port(),
        builder.AddSystem(Sine(rng.normal(size=SIZE), [3.0, 5.0], [0.1, 0.2])).get_output_port(0),
    ]
    if has_python and rng.integers(2):
        signals.append(builder.AddSystem(Switch(0.13)).get_output_port())
    stateful = [_stateful(rng) for _ in range(2 + num_blocks // 2)]
    stateful = [block for block in stateful if has_python or _is_native(block)]
    stateful.append(Integrator(rng.normal(size=SIZE)))
    signals += [builder.AddSystem(block).get_output_port(0) for block in stateful]

    def connect_inputs(block: System) -> None:
        for index in range(block.num_input_ports()):
            port, source = block.get_input_port(index), signals[rng.integers(len(signals))]
            if port.size() == 1:
                split = builder.AddSystem(Demultiplexer(SIZE, 1))
                builder.Connect(source, split.get_input_port())
                source = split.get_output_port(int(rng.integers(SIZE)))
            builder.Connect(source, port)

    for _ in range(num_blocks):
        block = _feedthrough(rng)
        if has_python or _is_native(block):
            builder.AddSystem(block)
            connect_inputs(block)
            signals.append(block.get_output_port(0))
    for block in stateful:
        connect_inputs(block)
    sinks = []
    for period in (0.0, *PERIODS[: rng.integers(1, 4)]):
        sinks.append(LogVectorOutput(signals[rng.integers(len(signals))], builder, publish_period=period))
        if has_python:
            recorder = builder.AddSystem(Recorder(period, f"recorder{period}", history))
            builder.Connect(signals[rng.integers(len(signals))], recorder.get_input_port())
    diagram = builder.Build()
    if is_nested:
        outer = DiagramBuilder()
        outer.AddNamedSystem("inner", diagram)
        diagram = outer.Build()
    return diagram, sinks


def _is_native(block: LeafSystem) -> bool:
    return not type(block).__name__.startswith("Python")
