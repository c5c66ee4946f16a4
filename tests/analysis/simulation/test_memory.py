"""Long simulations take no more memory than short ones, and simulators that are dropped leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import math
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, PublishEvent, WitnessFunction, WitnessFunctionDirection
from merganser.framework.primitives import Gain, Integrator, LogOutput

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compiled_loop")  # all is compiled in the first advance, and none of it counted
_ALLOWED = 20_000  # bytes: caches of Python and NumPy; one reference kept a step would be a hundred times that


class Busy(LeafSystem):
    """Callbacks of all kinds in Python: derivatives, an output, updates, publishing and, if asked for, a witness."""

    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.num_events = 0
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.DeclarePerStepPublishEvent(self._publish)
        self.DeclarePeriodicDiscreteUpdateEvent(0.01, 0.0, self._update)
        self.DeclarePeriodicUnrestrictedUpdateEvent(0.05, 0.0, lambda context, state: None)
        event = PublishEvent(lambda context, event: self._publish(context))
        direction = WitnessFunctionDirection.kCrossesZero
        witness = self.MakeWitnessFunction("w", direction, lambda c: math.sin(100.0 * c.get_time()), event)
        self._witnesses = [witness] if watched else []

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_continuous_state_vector().value())

    def _publish(self, context: Any) -> None:
        self.num_events += 1

    def _update(self, context: Any, values: Any) -> None:
        values.set_value(0, context.get_discrete_state_vector().value() + 1.0)

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        return self._witnesses

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(self.get_input_port().Eval(context))


def loop_with(block: Any, step: float) -> Simulator:
    builder = DiagramBuilder()
    builder.AddSystem(block)
    gain = builder.AddSystem(Gain(-1.0, 1))
    builder.Connect(block.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), block.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(step)
    return simulator


@contextlib.contextmanager
def tracing() -> Iterator[Callable[[], int]]:
    """Gives a function that returns how much of what was allocated since then is still in use [bytes]."""

    def in_use() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    gc.collect()
    tracemalloc.start()
    try:
        yield in_use
    finally:
        tracemalloc.stop()


def test_a_million_compiled_steps_take_no_memory() -> None:
    simulator = loop_with(Integrator(1), 1e-3)
    simulator.AdvanceTo(1.0)
    with tracing() as in_use:
        simulator.AdvanceTo(1001.0)
        assert in_use() < _ALLOWED
    assert simulator.get_num_steps_taken() == pytest.approx(1_001_000, abs=10)


@pytest.mark.parametrize(("watched", "steps"), [(False, 5_000), (True, 500)])
def test_steps_with_callbacks_in_python_take_no_memory(watched: bool, steps: int) -> None:
    block = Busy(watched)
    simulator = loop_with(block, 1e-3)
    simulator.AdvanceTo(1.0)
    num_objects = len(gc.get_objects())
    with tracing() as in_use:
        simulator.AdvanceTo(1.0 + steps * 1e-3)
        assert in_use() < _ALLOWED
    assert block.num_events > steps and len(gc.get_objects()) - num_objects < 100


def test_simulators_that_are_dropped_are_freed_with_all_they_used() -> None:
    def simulate() -> list[Any]:
        builder = DiagramBuilder()
        block = builder.AddSystem(Busy(watched=True))
        gain = builder.AddSystem(Gain(-1.0, 1))
        builder.Connect(block.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), block.get_input_port())
        LogOutput(gain.get_output_port(), builder)
        simulator = Simulator(builder.Build())
        simulator.set_monitor(lambda context: simulator.clear_monitor())
        simulator.AdvanceTo(0.2)
        parts = simulator, simulator.get_context(), simulator.get_system(), block, simulator.get_integrator()
        return [weakref.ref(part) for part in parts]

    references = [reference for _ in range(3) for reference in simulate()]
    with tracing() as in_use:
        references += [reference for _ in range(10) for reference in simulate()]
        assert in_use() < 10 * 5_000  # each of them takes several times that
    assert [reference() for reference in references if reference() is not None] == []
