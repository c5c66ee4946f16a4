"""Systems that send and receive messages, with and without a simulation."""

from __future__ import annotations

import copy
import gc
import threading
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import AbstractValue, DiagramBuilder, LeafSystem, TriggerType, Value
from merganser.framework.lcm import (
    ApplyLcmBusConfig,
    DrakeLcm,
    DrakeLcmParams,
    LcmBuses,
    LcmInterfaceSystem,
    LcmPublisherSystem,
    LcmScopeSystem,
    LcmSubscriberSystem,
    PySerializer,
    SerializerInterface,
)
from merganser.framework.lcm.lcm_buses import find_bus
from merganser.framework.lcm.messages import lcmt_drake_signal, lcmt_scope
from merganser.framework.primitives import ConstantVectorSource, Sine


def scope(*values: float, utime: int = 0) -> Any:
    message = lcmt_scope()
    message.utime, message.size, message.value = utime, len(values), values
    return message


def memory() -> tuple[DrakeLcm, list[Any]]:
    lcm, got = DrakeLcm("memq://"), []
    lcm.Subscribe("A", lambda data: got.append(lcmt_scope.decode(data)))
    return lcm, got


# ---------------------------------------------------------------------- senders


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        ({"publish_period": 0.25}, [0.0, 0.25, 0.5]),
        ({"publish_period": 0.25, "publish_offset": 0.125}, [0.125, 0.375]),
        ({"publish_triggers": {TriggerType.kForced}}, []),
    ],
)
def test_publishers_publish_when_their_events_are_due(settings: dict[str, Any], times: list[float]) -> None:
    lcm, got = memory()
    builder = DiagramBuilder()
    source = builder.AddSystem(ConstantVectorSource([1.0, 2.0]))
    sender = builder.AddSystem(LcmScopeSystem(2))
    publisher = builder.AddSystem(LcmPublisherSystem.Make("A", lcmt_scope, lcm, **settings))
    builder.Connect(source.get_output_port(), sender.get_input_port())
    builder.Connect(sender.get_output_port(), publisher.get_input_port())
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.5)
    lcm.HandleSubscriptions(0)
    assert [message.utime / 1e6 for message in got] == times
    diagram.ForcedPublish(simulator.get_context())
    lcm.HandleSubscriptions(0)
    assert len(got) == len(times) + 1 and got[-1].value == (1.0, 2.0)


def test_a_scope_is_added_to_a_diagram_with_its_publisher() -> None:
    lcm, got = memory()
    builder = DiagramBuilder()
    sine = builder.AddSystem(Sine(1.0, 2.0, 0.0, 1))
    scope_system, publisher = LcmScopeSystem.AddToBuilder(builder, lcm, sine.get_output_port(0), "A", 0.5)
    assert isinstance(scope_system, LcmScopeSystem) and publisher.get_name() == "LcmPublisherSystem(A)"
    Simulator(builder.Build()).AdvanceTo(1.0)
    lcm.HandleSubscriptions(0)
    assert [message.value[0] for message in got] == pytest.approx([0.0, np.sin(1.0), np.sin(2.0)])
    with pytest.raises(TypeError, match="vector output port"):
        LcmScopeSystem.AddToBuilder(DiagramBuilder(), lcm, scope_system.get_output_port(), "A", 0.5)
    other = DiagramBuilder()
    with pytest.raises(Exception, match=r"Sine|sine"):
        LcmScopeSystem.AddToBuilder(other, lcm, sine.get_output_port(0), "A", 0.5)


class Damaged(LeafSystem):
    """Gives a message that cannot be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareAbstractOutputPort("y", lambda: Value(lcmt_scope()), self._calc)

    def _calc(self, context: Any, output: AbstractValue) -> None:
        message = lcmt_scope()
        message.size = 5
        output.set_value(message)


@pytest.mark.parametrize("mode", ["never", "always"])
def test_a_message_that_cannot_be_sent_names_member_system_and_channel(mode: str) -> None:
    lcm, got = memory()
    builder = DiagramBuilder()
    source = builder.AddSystem(Damaged())
    publisher = builder.AddSystem(LcmPublisherSystem.Make("A", lcmt_scope, lcm, 0.1))
    builder.Connect(source.get_output_port(), publisher.get_input_port())
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    with pytest.raises(ValueError, match=r"lcmt_scope.value: it has 0 elements where its length is 5") as caught:
        simulator.AdvanceTo(1.0)
    assert "channel 'A'" in " ".join(caught.value.__notes__)
    assert lcm.HandleSubscriptions(0) == 0 and got == []


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda s, lcm: LcmPublisherSystem("", s, lcm), RuntimeError, "must have a name"),
        (lambda s, lcm: LcmPublisherSystem("A", None, lcm), TypeError, "a channel and a serializer"),
        (lambda s, lcm: LcmPublisherSystem("A", s, "lcm"), TypeError, "lcm must be a DrakeLcm"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, set()), RuntimeError, "publish_triggers must be some of"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, {TriggerType.kWitness}), RuntimeError, "kWitness"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, {TriggerType.kPeriodic}), RuntimeError, "positive"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, {TriggerType.kPerStep}, 0.1), RuntimeError, "kPeriodic"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, -0.1), RuntimeError, "-0.1"),
        (lambda s, lcm: LcmPublisherSystem("A", s, lcm, publish_period=float("nan")), Exception, "publish_period"),
        (lambda s, lcm: LcmSubscriberSystem("", s, lcm), RuntimeError, "must not be empty"),
        (lambda s, lcm: LcmSubscriberSystem("A", s, None), TypeError, "a DrakeLcm"),
        (lambda s, lcm: LcmSubscriberSystem.Make("A", int, lcm), TypeError, "must be a type of messages"),
        (lambda s, lcm: LcmInterfaceSystem(None), TypeError, "takes a DrakeLcm"),
        (lambda s, lcm: LcmInterfaceSystem(3), TypeError, "lcm must be a DrakeLcm"),
        (lambda s, lcm: LcmScopeSystem(-1), ValueError, "size"),
    ],
)
def test_bad_arguments_are_named(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(PySerializer(lcmt_scope), DrakeLcm("memq://"))


def test_values_of_another_type_are_refused_when_they_are_sent() -> None:
    with pytest.raises(TypeError, match=r"PySerializer\(lcmt_scope\) takes messages of that type"):
        PySerializer(lcmt_scope).Serialize(Value(lcmt_drake_signal()))


class Doubles(SerializerInterface):
    """Numbers as text."""

    def CreateDefaultValue(self) -> AbstractValue:
        return Value(0.0)

    def Serialize(self, abstract_value: AbstractValue) -> bytes:
        return str(abstract_value.get_value()).encode()

    def Deserialize(self, message_bytes: bytes, abstract_value: AbstractValue) -> None:
        abstract_value.set_value(float(message_bytes))


def test_users_may_write_serializers() -> None:
    lcm = DrakeLcm("memq://")
    subscriber = LcmSubscriberSystem("A", Doubles(), lcm)
    publisher = LcmPublisherSystem("A", Doubles(), lcm, {TriggerType.kForced})
    sending, receiving = publisher.CreateDefaultContext(), subscriber.CreateDefaultContext()
    publisher.get_input_port().FixValue(sending, 2.5)
    publisher.ForcedPublish(sending)
    lcm.HandleSubscriptions(0)
    subscriber.ExecuteForcedEvents(receiving, publish=False)
    assert subscriber.get_output_port().Eval(receiving) == 2.5
    with pytest.raises(NotImplementedError, match="must override Serialize"):
        SerializerInterface().Serialize(Value(1))


# ---------------------------------------------------------------------- receivers


def test_a_subscriber_takes_in_the_last_message_when_its_event_is_due() -> None:
    lcm = DrakeLcm("memq://")
    subscriber = LcmSubscriberSystem.Make("A", lcmt_scope, lcm)
    context, port = subscriber.CreateDefaultContext(), subscriber.get_output_port()
    for number in (1.0, 2.0):
        lcm.Publish("A", scope(number).encode())
    lcm.HandleSubscriptions(0)
    assert port.Eval(context).size == 0
    subscriber.ExecuteForcedEvents(context, publish=False)
    assert port.Eval(context).value == (2.0,)
    clone = context.Clone()
    lcm.Publish("A", scope(3.0).encode())
    lcm.HandleSubscriptions(0)
    subscriber.ExecuteForcedEvents(context, publish=False)
    assert port.Eval(clone).value == (2.0,) and port.Eval(context).value == (3.0,)


@pytest.mark.parametrize("mode", ["never", "always"])
@pytest.mark.parametrize("data", [b"", b"garbage", scope(1.0).encode()[:-1], lcmt_drake_signal().encode()])
def test_a_malformed_message_is_named_once_and_the_simulation_goes_on(mode: str, data: bytes) -> None:
    lcm = DrakeLcm("memq://")
    builder = DiagramBuilder()
    builder.AddSystem(LcmInterfaceSystem(lcm))
    subscriber = builder.AddSystem(LcmSubscriberSystem.Make("A", lcmt_scope, lcm))
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    context, port = subscriber.GetMyContextFromRoot(simulator.get_context()), subscriber.get_output_port()
    lcm.Publish("A", scope(1.0).encode())
    simulator.AdvanceTo(0.1)
    lcm.Publish("A", data)
    with pytest.raises(ValueError) as caught:
        simulator.AdvanceTo(0.2)
    assert "in a message on channel 'A' at memq://" in caught.value.__notes__
    assert port.Eval(context).value == (1.0,)
    simulator.AdvanceTo(0.2)
    lcm.Publish("A", scope(2.0).encode())
    simulator.AdvanceTo(0.3)
    assert port.Eval(context).value == (2.0,)


def test_the_initialization_takes_in_and_waits_no_longer_than_it_may() -> None:
    lcm = DrakeLcm("memq://")
    make = LcmSubscriberSystem.Make
    subscriber = make("A", lcmt_scope, lcm, wait_for_message_on_initialization_timeout=0.02)
    simulator = Simulator(subscriber)
    with pytest.raises(RuntimeError, match=r"has waited 0.02 s for a message on channel 'A' at memq://"):
        simulator.Initialize()
    lcm.Publish("A", scope(4.0).encode())
    simulator.Initialize()
    assert subscriber.get_output_port().Eval(simulator.get_context()).value == (4.0,)


def test_a_program_may_wait_for_messages_of_another_thread() -> None:
    lcm = DrakeLcm("memq://")
    subscriber = LcmSubscriberSystem.Make("A", lcmt_scope, lcm)
    value = AbstractValue.Make(lcmt_scope())
    assert subscriber.WaitForMessage(0, value, 0.01) == 0 and value.get_value().size == 0

    def send() -> None:
        lcm.Publish("A", scope(1.0).encode())
        lcm.HandleSubscriptions(0)

    thread = threading.Timer(0.02, send)
    thread.start()
    assert subscriber.WaitForMessage(0, value, 20.0) == 1 and value.get_value().value == (1.0,)
    assert subscriber.WaitForMessage(0, timeout=0.1) == 1
    thread.join()


def test_sender_and_receiver_are_not_converted_to_other_scalars() -> None:
    lcm = DrakeLcm("memq://")
    for system in (LcmSubscriberSystem.Make("A", lcmt_scope, lcm), LcmInterfaceSystem(lcm)):
        assert system.ToAutoDiffXdMaybe() is None


@pytest.mark.parametrize("copied", [lambda diagram: diagram.Clone(), copy.deepcopy])
def test_copies_receive_what_the_first_one_does_and_outlive_it(copied: Any) -> None:
    lcm, builder = DrakeLcm("memq://"), DiagramBuilder()
    builder.AddSystem(LcmInterfaceSystem(lcm))
    builder.ExportOutput(builder.AddSystem(LcmSubscriberSystem.Make("A", lcmt_scope, lcm)).get_output_port())
    first = builder.Build()
    second = copied(first)
    lcm.Publish("A", scope(1.0).encode())
    simulators = [Simulator(first), Simulator(second)]
    for simulator in simulators:
        simulator.AdvanceTo(0.1)
        assert simulator.get_system().get_output_port().Eval(simulator.get_context()).value == (1.0,)
    last = simulators[1]
    del first, builder, simulators, simulator
    gc.collect()
    lcm.Publish("A", scope(2.0).encode())
    last.AdvanceTo(0.2)
    assert second.get_output_port().Eval(last.get_context()).value == (2.0,)
    del second, last
    gc.collect()
    lcm.Publish("A", scope(3.0).encode())
    assert lcm.HandleSubscriptions(0) == 0


# ---------------------------------------------------------------------- buses


def test_buses_are_made_of_settings_and_found_by_name() -> None:
    builder = DiagramBuilder()
    settings = {"default": DrakeLcmParams(lcm_url="memq://"), "nowhere": None}
    buses = ApplyLcmBusConfig(lcm_buses=settings, builder=builder)
    assert buses.size() == 2 and buses.GetAllBusNames() == ["default", "nowhere"]
    assert isinstance(buses.Find("Camera 5", "default"), LcmInterfaceSystem)
    assert buses.Find("Camera 5", "nowhere").get_lcm_url() == LcmBuses.kLcmUrlMemqNull
    with pytest.raises(RuntimeError, match=r"Camera 5 requested an LCM bus 'defualt'.*default"):
        buses.Find("Camera 5", "defualt")
    with pytest.raises(RuntimeError, match="already been defined"):
        buses.Add("default", DrakeLcm("memq://"))
    with pytest.raises(TypeError, match="takes a DrakeLcm"):
        buses.Add("other", None)
    names = {system.get_name() for system in builder.GetSystems()}
    assert "LcmInterfaceSystem(bus_name=default)" in names and "LcmInterfaceSystem(bus_name=nowhere)" not in names


def test_a_bus_is_that_which_is_given_or_one_of_several() -> None:
    lcm, buses = DrakeLcm("memq://"), LcmBuses()
    buses.Add("arm", lcm)
    buses.Add("nowhere", DrakeLcm(LcmBuses.kLcmUrlMemqNull))
    assert find_bus(None, buses, "X", "arm") is lcm
    assert find_bus(None, buses, "X", "nowhere") is None and find_bus(None, None, "X", "default") is None
    other = DrakeLcm("memq://")
    assert find_bus(other, buses, "X", "arm") is other
    with pytest.raises(RuntimeError, match="non-default LCM bus 'arm'"):
        find_bus(None, None, "X", "arm")
