"""DrakeLcm within a program: subscriptions, order, threads, arguments."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from typing import Any

import pytest

from merganser.framework.lcm import DrakeLcm, DrakeLcmInterface, DrakeLcmParams, Subscriber
from merganser.framework.lcm.messages import lcmt_drake_signal, lcmt_scope


def scope(*values: float, utime: int = 0) -> bytes:
    message = lcmt_scope()
    message.utime, message.size, message.value = utime, len(values), values
    return message.encode()


def test_messages_reach_subscribers_in_order_when_they_are_handled() -> None:
    lcm, got = DrakeLcm("memq://"), []
    lcm.Publish("A", b"before any subscription")
    lcm.Subscribe("A", got.append)
    lcm.SubscribeMultichannel("A|B", lambda channel, data: got.append((channel, data)))
    for channel, data in (("A", b"1"), ("B", b"2"), ("C", b"3"), ("A.", b"4")):
        lcm.Publish(channel, data, time_sec=0.5)
    assert got == []
    assert lcm.HandleSubscriptions(0) == 2 and lcm.HandleSubscriptions(0) == 0
    assert got == [b"1", ("A", b"1"), ("B", b"2")]


def test_all_channels_and_suffixes() -> None:
    lcm, got = DrakeLcm(DrakeLcmParams(lcm_url="memq://", channel_suffix=".x")), []
    lcm.SubscribeAllChannels(lambda channel, data: got.append(channel))
    lcm.Subscribe("A", got.append)
    lcm.Publish("A", b"1")
    assert lcm.HandleSubscriptions(0) == 1 and got == ["A", b"1"]
    assert lcm.get_lcm_url() == "memq://"


def test_deferred_reception_begins_with_the_first_handling() -> None:
    lcm, got = DrakeLcm(params=DrakeLcmParams(lcm_url="memq://", defer_initialization=True)), []
    lcm.Subscribe("A", got.append)
    lcm.Publish("A", b"early")
    assert lcm.HandleSubscriptions(0) == 0
    lcm.Publish("A", b"late")
    assert lcm.HandleSubscriptions(0) == 1 and got == [b"late"]


def test_messages_after_one_whose_handler_fails_wait() -> None:
    lcm, got = DrakeLcm("memq://"), []

    def handle(data: bytes) -> None:
        got.append(data)
        if data == b"bad":
            raise KeyError("as expected")

    lcm.Subscribe("A", handle)
    lcm.Publish("A", b"bad")
    lcm.Publish("A", b"good")
    with pytest.raises(KeyError):
        lcm.HandleSubscriptions(0)
    assert lcm.HandleSubscriptions(0) == 1 and got == [b"bad", b"good"]


def test_messages_published_by_handlers_are_handled_too() -> None:
    lcm, got = DrakeLcm("memq://"), []
    lcm.Subscribe("A", lambda data: lcm.Publish("B", data + b"!"))
    lcm.Subscribe("B", got.append)
    lcm.Publish("A", b"1")
    assert lcm.HandleSubscriptions(0) == 2 and got == [b"1!"]


def test_handling_waits_for_a_message_of_another_thread() -> None:
    lcm, got = DrakeLcm("memq://"), []
    lcm.Subscribe("A", got.append)
    begin = time.monotonic()
    assert lcm.HandleSubscriptions(20) == 0 and time.monotonic() - begin >= 0.019
    thread = threading.Timer(0.02, lcm.Publish, ("A", b"1"))
    thread.start()
    assert lcm.HandleSubscriptions(20_000) == 1
    assert time.monotonic() - begin < 10.0
    thread.join()


def test_no_message_of_many_threads_is_lost() -> None:
    lcm, got = DrakeLcm("memq://"), []
    lcm.Subscribe("A", got.append)
    threads = [
        threading.Thread(target=lambda k=k: [lcm.Publish("A", bytes([k, i])) for i in range(200)]) for k in range(8)
    ]
    for thread in threads:
        thread.start()
    count, end = 0, time.monotonic() + 30.0
    while count < 1600 and time.monotonic() < end:
        count += lcm.HandleSubscriptions(10)
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(bytes([k, i]) for k in range(8) for i in range(200))
    assert all([d[1] for d in got if d[0] == k] == list(range(200)) for k in range(8))


def test_a_subscriber_keeps_the_last_message() -> None:
    lcm = DrakeLcm("memq://")
    subscriber = Subscriber(lcm=lcm, channel="A", lcm_type=lcmt_scope)
    assert subscriber.count == 0 and subscriber.message.size == 0
    lcm.Publish("A", scope(1.0))
    lcm.Publish("A", scope(2.0, 3.0))
    lcm.HandleSubscriptions(0)
    assert subscriber.count == 2 and subscriber.message.value == (2.0, 3.0) and subscriber.raw == scope(2.0, 3.0)
    subscriber.clear()
    assert subscriber.count == 0 and subscriber.raw == []
    lcm.Publish("A", lcmt_drake_signal().encode())
    with pytest.raises(ValueError, match="no lcmt_scope"):
        lcm.HandleSubscriptions(0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda lcm: lcm.Publish("", b""), RuntimeError, "channel must not be empty"),
        (lambda lcm: lcm.Publish(1, b""), TypeError, "channel must be a str"),
        (lambda lcm: lcm.Publish("A", "text"), TypeError, "must be bytes; given str"),
        (lambda lcm: lcm.Subscribe("A", None), TypeError, "handler must be callable"),
        (lambda lcm: lcm.Subscribe("", print), RuntimeError, "must not be empty"),
        (lambda lcm: lcm.SubscribeMultichannel("(", print), RuntimeError, r"'\(' is not a regular expression"),
        (lambda lcm: DrakeLcm(3), TypeError, "takes a URL or DrakeLcmParams"),
        (lambda lcm: DrakeLcm("memq://", params=DrakeLcmParams()), TypeError, "not both"),
        (lambda lcm: Subscriber(3, "A", lcmt_scope), TypeError, "lcm must be a DrakeLcm"),
        (lambda lcm: DrakeLcmInterface(), TypeError, "abstract"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(DrakeLcm("memq://"))


def test_without_the_package_lcm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lcm", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[lcm\]'"):
        DrakeLcm("udpm://239.255.76.67:7667?ttl=0")
    assert DrakeLcm("memq://").get_lcm_url() == "memq://"


def test_the_environment_chooses_and_forbids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCM_DEFAULT_URL", "memq://from-outside")
    assert DrakeLcm().get_lcm_url() == "memq://from-outside"
    monkeypatch.setenv("DRAKE_ALLOW_NETWORK", "meshcat:package_map")
    with pytest.raises(RuntimeError, match="DRAKE_ALLOW_NETWORK"):
        DrakeLcm("udpm://239.255.76.67:7667?ttl=0")


def test_the_package_lcm_is_not_imported_before_it_is_needed() -> None:
    assert "lcm" not in vars(importlib.import_module("merganser.framework.lcm.drake_lcm"))
