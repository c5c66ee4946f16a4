"""DrakeLcm with the package lcm, over UDP multicast within this machine, and into log files."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm, DrakeLcmParams, LcmInterfaceSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages import lcmt_scope

lcm_package = pytest.importorskip("lcm", reason="extra `lcm`")

URL = "udpm://239.255.76.67:{port}?ttl=0"


@pytest.fixture
def url() -> str:
    """Of a port where messages come back; skips if the machine has no multicast."""
    url = URL.format(port=17600 + time.monotonic_ns() % 4000)
    try:
        receiver, sender = DrakeLcm(url), DrakeLcm(url)
    except RuntimeError as error:
        pytest.skip(f"no UDP multicast on this machine: {error}")
    receiver.Subscribe("PROBE", lambda data: None)
    sender.Publish("PROBE", b"")
    if not receiver.HandleSubscriptions(2000):
        pytest.skip("UDP multicast does not come back on this machine")
    return url


def scope(*values: float) -> Any:
    message = lcmt_scope()
    message.size, message.value = len(values), values
    return message


def handle(lcm: DrakeLcm, count: int) -> int:
    done, end = 0, time.monotonic() + 10.0
    while done < count and time.monotonic() < end:
        done += lcm.HandleSubscriptions(100)
    return done


def test_messages_go_to_others_and_are_those_of_the_package(url: str) -> None:
    ours, theirs, got = DrakeLcm(url), lcm_package.LCM(url), []
    subscription = theirs.subscribe("A", lambda channel, data: got.append((channel, data)))
    ours.Subscribe("B", got.append)
    ours.SubscribeMultichannel("B|C", lambda channel, data: got.append((channel, data)))
    ours.Publish("A", scope(1.0).encode())
    assert theirs.handle_timeout(5000)
    assert got == [("A", scope(1.0).encode())]
    theirs.publish("B", b"1")
    theirs.publish("BC", b"2")
    theirs.publish("C", b"3")
    handle(ours, 2)
    assert got[1:] == [b"1", ("B", b"1"), ("C", b"3")]
    theirs.unsubscribe(subscription)


def test_suffixes_are_on_the_wire(url: str) -> None:
    ours, got = DrakeLcm(DrakeLcmParams(lcm_url=url, channel_suffix=".left")), []
    plain = DrakeLcm(url)
    plain.SubscribeMultichannel("A.*", lambda channel, data: got.append(channel))
    ours.SubscribeAllChannels(lambda channel, data: got.append(channel))
    ours.Publish("A", b"1")
    assert handle(plain, 1) == 1 and handle(ours, 1) == 1
    assert got == ["A.left", "A"]


def test_a_large_message_arrives_whole(url: str) -> None:
    ours, other, got = DrakeLcm(url), DrakeLcm(url), []
    other.Subscribe("A", got.append)
    data = bytes(range(256)) * 400  # in parts, as a datagram has at most 64 kB
    ours.Publish("A", data)
    assert handle(other, 1) == 1 and got == [data]


def test_names_of_channels_that_are_too_long_are_refused(url: str) -> None:
    with pytest.raises(RuntimeError, match="at most 63 bytes"):
        DrakeLcm(url).Publish("A" * 64, b"")


def test_a_url_without_provider_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no way to send messages at 'nowhere://'"):
        DrakeLcm("nowhere://")


@pytest.mark.parametrize("mode", ["never", "always"])
def test_a_simulation_takes_in_what_other_programs_send(url: str, mode: str) -> None:
    lcm, builder = DrakeLcm(url), DiagramBuilder()
    builder.AddSystem(LcmInterfaceSystem(lcm))
    subscriber = builder.AddSystem(LcmSubscriberSystem.Make("A", lcmt_scope, lcm))
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.set_target_realtime_rate(1.0)
    simulator.get_mutable_integrator().set_maximum_step_size(0.01)
    simulator.Initialize()
    DrakeLcm(url).Publish("A", scope(5.0).encode())
    context, port, end = simulator.get_context(), subscriber.get_output_port(), time.monotonic() + 10.0
    value: Any = None
    while value is None or (value.size == 0 and time.monotonic() < end):
        simulator.AdvanceTo(context.get_time() + 0.05)
        value = port.Eval(subscriber.GetMyContextFromRoot(context))
    assert value.value == (5.0,)


def test_a_simulation_waits_for_its_first_message(url: str) -> None:
    lcm, builder = DrakeLcm(url), DiagramBuilder()
    make = LcmSubscriberSystem.Make
    subscriber = builder.AddSystem(make("A", lcmt_scope, lcm, wait_for_message_on_initialization_timeout=10.0))
    simulator = Simulator(builder.Build())
    thread = threading.Timer(0.05, DrakeLcm(url).Publish, ("A", scope(2.0).encode()))
    thread.start()
    simulator.Initialize()
    thread.join()
    context = subscriber.GetMyContextFromRoot(simulator.get_context())
    assert subscriber.get_output_port().Eval(context).value == (2.0,)


def test_subscriptions_end_with_their_system(url: str) -> None:
    lcm = DrakeLcm(url)
    subscriber = LcmSubscriberSystem.Make("A", lcmt_scope, lcm)
    assert len(lcm._transport._lcm_subscriptions) == 1
    del subscriber
    gc.collect()
    assert len(lcm._transport._lcm_subscriptions) == 0
    lcm.Publish("A", scope(1.0).encode())
    lcm.HandleSubscriptions(50)


def test_a_handler_that_fails_and_threads_that_send_do_no_harm(url: str) -> None:
    lcm, got = DrakeLcm(url), []

    def fail(data: bytes) -> None:
        got.append(data)
        raise KeyError("as expected")

    lcm.Subscribe("A", fail)
    sender = DrakeLcm(url)
    threads = [
        threading.Thread(target=lambda: [sender.Publish("A", b"x") or time.sleep(1e-3) for _ in range(10)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 10.0
    while len(got) < 30 and time.monotonic() < end:
        try:
            lcm.HandleSubscriptions(10)
        except KeyError:
            continue
    for thread in threads:
        thread.join()
    assert len(got) == 30


def test_two_threads_may_handle_messages(url: str) -> None:
    lcm, sender, got = DrakeLcm(url), DrakeLcm(url), []
    lcm.Subscribe("A", got.append)
    is_over = threading.Event()

    def keep_handling() -> None:
        while not is_over.is_set():
            lcm.HandleSubscriptions(5)

    thread = threading.Thread(target=keep_handling)
    thread.start()
    end = time.monotonic() + 10.0
    for number in range(50):
        sender.Publish("A", bytes([number]))
        subscription = lcm._subscribe_to("B", got.append)
        lcm.HandleSubscriptions(1)
        subscription()
    while len(got) < 50 and time.monotonic() < end:
        lcm.HandleSubscriptions(1)
    is_over.set()
    thread.join()
    assert got == [bytes([number]) for number in range(50)]


def test_an_error_of_a_handler_is_not_the_end_of_a_log(url: str) -> None:
    lcm = DrakeLcm(url)

    def fail(data: bytes) -> None:
        raise OSError("disk full")

    lcm.Subscribe("A", fail)
    DrakeLcm(url).Publish("A", b"")
    with pytest.raises(OSError, match="disk full"):
        lcm.HandleSubscriptions(5000)


def test_logs_are_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    writer = DrakeLcm(f"file://{path}?mode=w")
    for value in range(3):
        writer.Publish("A", scope(value).encode())
    del writer
    reader, got = DrakeLcm(f"file://{path}?mode=r&speed=0"), []
    reader.Subscribe("A", got.append)
    for _ in range(3):
        reader.HandleSubscriptions(200)
    assert [lcmt_scope.decode(data).value for data in got] == [(0.0,), (1.0,), (2.0,)]
