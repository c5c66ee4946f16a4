"""Arrivals from outside during a simulation, in Python and in the compiled loop."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, EventStatus, LeafSystem, Value, WitnessFunctionDirection
from merganser.framework.core.declarations.events import (
    Arrivals,
    DiscreteUpdateEvent,
    Event,
    Notification,
    PublishEvent,
)
from merganser.framework.core.inside import declare_arrivals
from merganser.framework.lcm import (
    DrakeLcm,
    LcmInterfaceSystem,
    LcmPublisherSystem,
    LcmScopeSystem,
    LcmSubscriberSystem,
)
from merganser.framework.lcm.messages import lcmt_scope
from merganser.framework.primitives import DiscreteTimeDelay, Integrator, LogVectorOutput, Sine

MODES = ["never", "always"]


class Inbox(LeafSystem):
    """Its state is the sum of what has been put in; with or without a notification."""

    def __init__(self, has_notification: bool = True, kind: type[Event] = DiscreteUpdateEvent) -> None:
        super().__init__()
        self.notification, self.items, self.seen = Notification(), [], []
        self.DeclareDiscreteState(1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        notification = self.notification if has_notification else None
        arrivals = Arrivals(lambda _: bool(self.items), lambda _: bool(self.items), notification)
        handlers = {DiscreteUpdateEvent: self._update, PublishEvent: self._publish}
        declare_arrivals(self, kind, handlers[kind], arrivals)

    def put(self, item: float) -> None:
        self.items.append(item)
        self.notification.send()

    def _update(self, context: Any, values: Any) -> None:
        self.seen.append(context.get_time())
        values.get_mutable_vector(0)[0] += self.items.pop(0)

    def _publish(self, context: Any) -> None:
        self.seen.append((context.get_time(), self.items.pop(0)))

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_discrete_state(0).get_value())


class Sender(LeafSystem):
    """Puts the time into an inbox, periodically."""

    def __init__(self, inbox: Any, period: float) -> None:
        super().__init__()
        self._inbox = inbox
        self.DeclarePeriodicPublishEvent(period, 0.03, self._send)

    def _send(self, context: Any) -> None:
        self._inbox.put(1.0 + context.get_time())


class Crossing(LeafSystem):
    """Counts how often its input passes zero."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.times: list[float] = []
        direction = WitnessFunctionDirection.kCrossesZero
        self._witness = self.MakeWitnessFunction("zero", direction, self._value, PublishEvent(self._note))

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness]

    def _value(self, context: Any) -> float:
        return float(self.get_input_port().Eval(context)[0])

    def _note(self, context: Any, event: Any) -> EventStatus:
        self.times.append(context.get_time())
        return EventStatus.Succeeded()


def run(mode: str, has_notification: bool, is_watched: bool = False, monitored: bool = False) -> tuple[Any, ...]:
    builder = DiagramBuilder()
    inbox = builder.AddSystem(Inbox(has_notification))
    builder.AddSystem(Sender(inbox, 0.125))
    integrator = builder.AddSystem(Integrator(1))
    sine = builder.AddSystem(Sine(1.0, 7.0, 0.3, 1))
    delay = builder.AddSystem(DiscreteTimeDelay(0.1, 2, 1))
    builder.Connect(inbox.get_output_port(), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), delay.get_input_port())
    crossing = builder.AddSystem(Crossing()) if is_watched else None
    if crossing is not None:
        builder.Connect(sine.get_output_port(0), crossing.get_input_port())
    log = LogVectorOutput(integrator.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.get_mutable_integrator().set_maximum_step_size(0.05)
    if monitored:
        simulator.set_monitor(lambda context: EventStatus.Succeeded())
    inbox.put(0.5)
    for boundary in (0.3, 0.3, 1.0):
        simulator.AdvanceTo(boundary)
    samples = log.FindLog(simulator.get_context())
    counts = simulator.get_num_steps_taken(), simulator.get_num_publishes(), simulator.get_num_discrete_updates()
    used = simulator._plan is not None
    return used, counts, inbox.seen, crossing and crossing.times, samples.sample_times(), samples.data()


@pytest.mark.parametrize("monitored", [False, True])
@pytest.mark.parametrize("is_watched", [False, True])
@pytest.mark.parametrize("has_notification", [True, False])
def test_compiled_simulations_see_it_at_the_same_step_as_those_in_python(
    has_notification: bool, is_watched: bool, monitored: bool
) -> None:
    python, compiled = (run(mode, has_notification, is_watched, monitored) for mode in MODES)
    assert (python[0], compiled[0]) == (False, True)
    assert python[1:4] == compiled[1:4]
    assert np.array_equal(python[4], compiled[4]) and np.array_equal(python[5], compiled[5])
    assert len(python[2]) == 9 and python[2][0] == 0.0 and python[5][0, -1] > 1.0


@pytest.mark.parametrize("mode", MODES)
def test_time_does_not_advance_for_received_messages(mode: str) -> None:
    builder = DiagramBuilder()
    inbox = builder.AddSystem(Inbox(kind=PublishEvent))
    integrator = builder.AddSystem(Integrator(1))
    sine = builder.AddSystem(Sine(1.0, 1.0, 0.0, 1))
    builder.Connect(sine.get_output_port(0), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.AdvanceTo(0.5)
    inbox.put(7.0)
    simulator.AdvancePendingEvents()
    assert inbox.seen == [(0.5, 7.0)]


@pytest.mark.parametrize("mode", MODES)
def test_what_comes_in_another_thread_is_seen_while_the_loop_runs(mode: str) -> None:
    builder = DiagramBuilder()
    inbox = builder.AddSystem(Inbox())
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(inbox.get_output_port(), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.get_mutable_integrator().set_maximum_step_size(1e-4)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.AdvanceTo(0.01)
    thread = threading.Timer(0.02, inbox.put, (2.0,))
    thread.start()
    end, boundary = time.monotonic() + 20.0, 0.01
    while not inbox.seen and time.monotonic() < end:
        boundary += 10.0 if mode == "always" else 0.05
        simulator.AdvanceTo(boundary)
    thread.join()
    assert len(inbox.seen) == 1
    expected = 2.0 * (boundary - inbox.seen[0])
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("number", [1, 3])
def test_a_handler_that_fails_leaves_what_else_has_come(number: int) -> None:
    builder = DiagramBuilder()
    inbox = builder.AddSystem(Inbox())
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = "always"
    simulator.AdvanceTo(0.1)
    for item in ["no number", *range(number)]:
        inbox.put(item)
    with pytest.raises(Exception, match=r"no number|unsupported operand|ufunc"):
        simulator.AdvanceTo(0.2)
    simulator.AdvanceTo(0.3)
    assert len(inbox.seen) == number + 1
    assert simulator.get_context().get_discrete_state(0).get_value()[0] == sum(range(number))


def send_and_receive(mode: str) -> Any:
    """A sine that goes through messages, and is integrated."""
    lcm, builder = DrakeLcm("memq://"), DiagramBuilder()
    builder.AddSystem(LcmInterfaceSystem(lcm))
    sine = builder.AddSystem(Sine(1.0, 3.0, 0.0, 1))
    LcmScopeSystem.AddToBuilder(builder, lcm, sine.get_output_port(0), "A", 0.03)
    subscriber = builder.AddSystem(LcmSubscriberSystem.Make("A", lcmt_scope, lcm))
    publisher = builder.AddSystem(LcmPublisherSystem.Make("B", lcmt_scope, lcm, 0.1))
    builder.Connect(subscriber.get_output_port(), publisher.get_input_port())
    integrator = builder.AddSystem(Integrator(1))
    first = builder.AddSystem(FirstValue())
    builder.Connect(subscriber.get_output_port(), first.get_input_port())
    builder.Connect(first.get_output_port(), integrator.get_input_port())
    log = LogVectorOutput(integrator.get_output_port(), builder)
    got: list[Any] = []
    lcm.Subscribe("B", lambda data: got.append(lcmt_scope.decode(data).utime))
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.AdvanceTo(1.0)
    samples = log.FindLog(simulator.get_context())
    return simulator._plan is not None, got, samples.sample_times(), samples.data()


class FirstValue(LeafSystem):
    """The first number of a message."""

    def __init__(self) -> None:
        super().__init__()

        self.DeclareAbstractInputPort("u", Value(lcmt_scope()))
        self.DeclareVectorOutputPort("y", 1, self._calc)

    def _calc(self, context: Any, output: Any) -> None:
        message = self.get_input_port().Eval(context)
        output.SetFromVector([message.value[0] if message.size else 0.0])


def test_messages_in_a_compiled_simulation_give_the_same() -> None:
    python, compiled = send_and_receive("never"), send_and_receive("always")
    assert (python[0], compiled[0]) == (False, True)
    assert python[1] == compiled[1] and len(python[1]) >= 10
    assert python[1][-1] == 870_000  # what comes at 0.9 s is seen later
    assert np.array_equal(python[2], compiled[2]) and np.array_equal(python[3], compiled[3])
    assert python[3][0, -1] == pytest.approx((1.0 - np.cos(3.0)) / 3.0, abs=0.02)  # up to the sampling
