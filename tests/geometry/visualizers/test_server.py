"""The server behind Meshcat: who may connect, what it survives, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("tornado", reason="extra `view`")
import umsgpack
from tornado.httpclient import HTTPClientError
from viewer_clients import PageClient, as_page, commands_for_a_page, eventually, open_page

from merganser.geometry import Box, Meshcat, MeshcatParams, Rgba, Sphere, StartMeshcat


@pytest.fixture
def meshcat() -> Iterator[Meshcat]:
    yield Meshcat(port=0)


def get(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


# ------------------------------------------------------------------ where it listens


def test_only_this_machine_is_served_by_default(meshcat: Meshcat) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.2", meshcat.port()))  # would be taken if it listened everywhere
    with socket.socket() as probe, pytest.raises(OSError):
        probe.bind(("127.0.0.1", meshcat.port()))
    for host in ("*", "0.0.0.0"):
        everywhere = Meshcat(MeshcatParams(port=0, host=host))
        assert everywhere.web_url() == f"http://localhost:{everywhere.port()}"
        with socket.socket() as other, pytest.raises(OSError):
            other.bind(("127.0.0.2", everywhere.port()))
        assert get(everywhere.web_url(), Host="robot.lab")[0] == 200


def test_ports_are_the_first_free_one_any_or_the_one_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="merganser.geometry"):
        first, second = StartMeshcat(), StartMeshcat()
    assert 7000 <= first.port() < second.port() < 8000
    assert f"http://localhost:{first.port()}" in caplog.text
    assert first.web_url() == f"http://localhost:{first.port()}" and first.ws_url().startswith("ws://localhost:")
    with pytest.raises(RuntimeError, match=rf"cannot listen on port {first.port()} .*leave the port out"):
        Meshcat(first.port())
    for port in (80, 70000, -1):
        with pytest.raises(RuntimeError, match=f"from 1024 to 65535; given {port}"):
            Meshcat(port=port)
    with pytest.raises(RuntimeError, match=r"host 'nowhere\.invalid', which is not known"):
        Meshcat(MeshcatParams(host="nowhere.invalid"))


def test_the_printed_address_may_be_that_of_a_proxy() -> None:
    meshcat = Meshcat(MeshcatParams(port=0, web_url_pattern="https://lab.example/{host}/{port}"))
    assert meshcat.web_url() == f"https://lab.example/localhost/{meshcat.port()}"
    assert meshcat.ws_url().startswith("wss://lab.example/")
    with pytest.raises(RuntimeError, match=r"may hold \{host\} and \{port\}"):
        Meshcat(MeshcatParams(port=0, web_url_pattern="{foo}"))


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_addresses_of_version_6_are_in_brackets() -> None:
    try:
        meshcat = Meshcat(MeshcatParams(port=0, host="::1"))
    except RuntimeError:
        pytest.skip("this machine has no address ::1")
    assert meshcat.web_url() == f"http://[::1]:{meshcat.port()}"
    assert get(meshcat.web_url())[0] == 200


@pytest.mark.parametrize("arguments", [{"port": "7000"}, {"port": 1.5}, {"params": 3}, {"port": True}])
def test_arguments_of_other_types_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Meshcat"):
        Meshcat(**arguments)  # type: ignore[call-overload]


# ------------------------------------------------------------------ who may connect


def test_pages_and_their_parts_are_served_and_nothing_else(meshcat: Meshcat) -> None:
    url = meshcat.web_url()
    status, page = get(url + "/")
    assert status == 200 and b"main.min.js" in page and page == get(url + "/index.html")[1]
    assert get(url + "/main.min.js")[0] == get(url + "/page.js")[0] == 200
    assert get(url + "/download")[1].startswith(b"<!DOCTYPE html>")
    assert get(url + "/download.zip")[1].startswith(b"PK")
    for path in ("/nothing", "/page.py", "/..", "/../server.py", "/%2e%2e/%2e%2e/etc/passwd", "/page.js/../meshcat.py"):
        assert get(url + path)[0] in (400, 404), path


def raw(meshcat: Meshcat, text: str) -> bytes:
    """The reply to bytes that no client library would send."""
    with socket.create_connection(("127.0.0.1", meshcat.port()), timeout=5) as connection:
        answer = b""
        with contextlib.suppress(OSError):  # it need not wait for the end of what is wrong
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                answer += more
        return answer


@pytest.mark.parametrize("path", ["/../../../../etc/passwd", "//etc/passwd", "/\x00", "http://localhost/etc/passwd"])
def test_paths_never_lead_to_files(meshcat: Meshcat, path: str) -> None:
    answer = raw(meshcat, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b"200 OK" not in answer and b"root:" not in answer


def test_requests_that_mean_another_machine_are_refused(meshcat: Meshcat) -> None:
    """A page of the web may have its own name resolved to this machine."""
    status, text = get(meshcat.web_url() + "/download", Host="evil.example")
    assert status == 403 and b"html" not in text and b"MeshcatParams.host" in text
    assert get(meshcat.web_url() + "/", Host=f"127.0.0.1:{meshcat.port()}")[0] == 200
    with pytest.raises(HTTPClientError, match="403"):
        asyncio.run(open_page(meshcat.web_url(), Host="evil.example", Origin="http://evil.example"))


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "file://", "http://["])
def test_websockets_of_other_origins_are_refused(meshcat: Meshcat, origin: str) -> None:
    with pytest.raises(HTTPClientError, match=r"403|400"):
        asyncio.run(open_page(meshcat.web_url(), Origin=origin))
    assert meshcat.GetNumActiveConnections() == 0


@pytest.mark.parametrize("host", ["[::1", "[", "[]", "[not-an-address]", "a[b", "localhost]", "\xff"])
def test_damaged_hosts_are_refused_without_a_word(
    meshcat: Meshcat, host: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    answer = raw(meshcat, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert not answer or answer.split()[1] in (b"400", b"403")
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "Traceback" not in capfd.readouterr().err
    assert get(meshcat.web_url())[0] == 200


def test_websockets_of_its_own_page_are_accepted() -> None:
    meshcat = Meshcat(MeshcatParams(port=0, web_url_pattern="https://lab.example/{port}"))
    local = f"http://localhost:{meshcat.port()}"

    async def connect() -> None:
        for headers in ({}, {"Origin": local}, {"Origin": "https://lab.example"}):
            page = await open_page(local, **headers)
            await page.read(lambda commands: len(commands) > 1)

    asyncio.run(connect())


# ------------------------------------------------------------------ what it survives

GARBAGE = [
    b"", b"\xff\xfe\x00garbage", b"\xc1", b"\xdf\xff\xff\xff\xff", b"\x91" * 20000, b"\x81" * 5000,
    "", "{", "[" * 30000, "null", "3", '"text"', '{"type": 3}', '{"type": "unknown"}', '{"type": "button"}',
    '{"type": "button", "name": "none"}', '{"type": "button", "name": ["push"]}',
    '{"type": "slider", "name": "gain", "value": "1"}', '{"type": "slider", "name": "gain", "value": NaN}',
    '{"type": "slider", "name": "gain", "value": 1e999}', '{"type": "slider", "name": "gain", "value": true}',
    '{"type": "slider", "name": "gain"}', '{"type": "gamepad", "gamepad": 3}', '{"type": "gamepad"}',
    '{"type": "gamepad", "gamepad": {"index": 0, "axes": [null], "button_values": []}}',
    '{"type": "camera_pose", "camera_pose": [1, 2], "is_perspective": true}',
    json.dumps({"type": "camera_pose", "camera_pose": [0.0] * 16, "is_perspective": True}),
    json.dumps({"type": "gamepad", "gamepad": {"index": 0, "axes": [0.0] * 1000, "button_values": []}}),
]  # fmt: skip


def test_messages_that_are_wrong_change_nothing(meshcat: Meshcat, caplog: pytest.LogCaptureFixture) -> None:
    meshcat.AddButton("push")
    meshcat.AddSlider("gain", 0, 10, 0.5, 2)

    async def visit(page: PageClient) -> None:
        for message in GARBAGE:
            await page.socket.write_message(message, binary=isinstance(message, bytes))
        await page.socket.write_message('{"type": "button", "name": "push"}')
        await page.socket.write_message(umsgpack.packb({"type": "slider", "name": "gain", "value": 4.5}), binary=True)
        await page.read(lambda commands: len(commands) > 1)
        while meshcat.GetSliderValue("gain") != 4.5:
            await asyncio.sleep(0.005)

    as_page(meshcat, visit)
    assert meshcat.GetButtonClicks("push") == 1
    assert meshcat.GetGamepad() == Meshcat.Gamepad() and meshcat.GetTrackedCameraPose() is None
    assert 0 < len([record for record in caplog.records if "ignored a message" in record.message]) <= 10


def test_values_beyond_the_range_of_a_slider_are_its_ends(meshcat: Meshcat) -> None:
    meshcat.AddSlider("gain", 0, 10, 0.5, 2)
    meshcat._InjectWebsocketMessage(message=umsgpack.packb({"type": "slider", "name": "gain", "value": 1e9}))
    assert meshcat.GetSliderValue("gain") == 10


def test_large_messages_end_the_connection_and_nothing_else(meshcat: Meshcat) -> None:
    async def visit(page: PageClient) -> None:
        await page.socket.write_message("x" * (1 << 17))
        while await page.socket.read_message() is not None:
            pass

    as_page(meshcat, visit)
    assert eventually(lambda: meshcat.GetNumActiveConnections() == 0)
    assert get(meshcat.web_url())[0] == 200


def test_frames_that_are_not_by_the_book_end_the_connection_and_nothing_else(meshcat: Meshcat) -> None:
    handshake = (
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    for garbage in (b"\xff" * 50, b"\x83\x80abcd", b"\x80\xff" + b"\xff" * 8):
        with socket.create_connection(("127.0.0.1", meshcat.port()), timeout=5) as connection:
            connection.sendall(handshake.encode() + garbage)
            connection.settimeout(5)
            while connection.recv(4096):
                pass
    post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n"
    for text in ("\x16\x03\x01\x02", "GET\r\n\r\n", post):
        raw(meshcat, text)
    raw(meshcat, "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "x" * 100000 + "\r\n\r\n")
    assert get(meshcat.web_url())[0] == 200


def test_connections_that_are_silent_or_vanish_do_not_block_others(meshcat: Meshcat) -> None:
    silent = [socket.create_connection(("127.0.0.1", meshcat.port())) for _ in range(50)]
    for connection in silent[::2]:
        connection.sendall(b"GET / HT")
    assert get(meshcat.web_url())[0] == 200
    for connection in silent:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset, no farewell
        connection.close()
    assert get(meshcat.web_url())[0] == 200


def test_a_hundred_quick_connections(meshcat: Meshcat) -> None:
    meshcat.SetObject("ball", Sphere(0.1))

    async def come_and_go() -> None:
        for _ in range(10):
            pages = await asyncio.gather(*[open_page(meshcat.web_url()) for _ in range(10)])
            await pages[0].read(lambda commands: any(command["type"] == "set_object" for command in commands))
            for page in pages:
                page.socket.close()

    asyncio.run(come_and_go())
    assert eventually(lambda: meshcat.GetNumActiveConnections() == 0)
    assert not meshcat._scene._clients


def test_a_client_that_does_not_read_neither_holds_up_nor_fills_memory(meshcat: Meshcat) -> None:
    """Missed changes are not kept: it gets the current state in one batch when it reads again."""

    async def visit(page: PageClient) -> int:
        await page.read(lambda commands: bool(commands))
        await asyncio.to_thread(draw)
        await page.read(lambda commands: "last" in str(commands[-1]))
        return len(page.commands)

    def draw() -> None:
        vertices = np.zeros((3, 3000))
        start = time.perf_counter()
        for i in range(300):  # 11 MB, more than connections hold
            meshcat.SetLine("line", vertices + i)
            meshcat.SetTransform("line", np.eye(4))
        meshcat.SetObject("last", Box(1, 1, 1))
        assert time.perf_counter() - start < 5.0

    assert as_page(meshcat, visit) < 200
    assert sum(len(entry.message().data) for entry in meshcat._scene._log) < 200_000


def stalled(meshcat: Meshcat, request: str = "GET /") -> socket.socket:
    """A connection that asks for something, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", meshcat.port()))
    key = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    upgrade = key if request == "GET /" else ""
    connection.sendall(f"{request} HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n".encode())
    return connection


def draw_much(meshcat: Meshcat) -> int:
    """Draws 20 lines of 1 MB, all different; returns how many bytes they have."""
    noise = np.random.default_rng(0).normal(size=(3, 87000))
    for i in range(20):
        meshcat.SetLine(f"line{i}", noise + i)
    return 20 * noise.size * 4


@pytest.mark.parametrize("request_line", ["GET /", "GET /download"])
def test_what_waits_for_pages_that_do_not_read_is_bounded_for_each(meshcat: Meshcat, request_line: str) -> None:
    size = draw_much(meshcat)
    meshcat.StaticHtml()
    gc.collect()
    tracemalloc.start()
    pages = [stalled(meshcat, request_line) for _ in range(30)]
    try:
        assert request_line != "GET /" or eventually(lambda: meshcat.GetNumActiveConnections() == 30)
        time.sleep(0.5)
        assert get(meshcat.web_url())[0] == 200  # requests come in turn
        waiting = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        for page in pages:
            page.close()
    shared = 4 * size if request_line == "GET /download" else 0  # the page, which is made once
    assert waiting < shared + 30 * 700_000


def test_pages_that_take_nothing_are_let_go_and_may_come_again(
    meshcat: Meshcat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("merganser.geometry.visualizers.server._STALLED", 0.2)
    draw_much(meshcat)
    with stalled(meshcat):
        assert eventually(lambda: meshcat.GetNumActiveConnections() == 1)
        assert eventually(lambda: meshcat.GetNumActiveConnections() == 0)
    assert [each.message for each in caplog.records] == [
        "Meshcat closed the connection to a page that has taken nothing for 0.2 s. The page connects again when it can."
    ]
    assert sum(command["type"] == "set_object" for command in commands_for_a_page(meshcat)) == 20


# ------------------------------------------------------------------ what clients are sent


def test_clients_that_come_later_see_all(meshcat: Meshcat) -> None:
    meshcat.SetObject("ball", Sphere(0.1), Rgba(1, 0, 0))
    meshcat.SetProperty("ball", "visible", False)
    meshcat.AddButton("push")
    commands = commands_for_a_page(meshcat)
    assert [c["path"] for c in commands if c["type"] == "set_object"] == ["/drake/ball"]
    assert {"type": "set_property", "path": "/drake/ball", "property": "visible", "value": False} in commands
    assert any(c["type"] == "set_control" and c["name"] == "push" for c in commands)


def test_flush_waits_until_all_has_left_for_the_clients(meshcat: Meshcat) -> None:
    meshcat.Flush()  # no page is open

    async def visit(page: PageClient) -> None:
        await page.read(lambda commands: bool(commands))
        meshcat.SetObject("ball", Sphere(0.1))
        await asyncio.to_thread(meshcat.Flush)
        assert all(client.sent == meshcat._scene._version for client in meshcat._scene._clients)
        await page.read(lambda commands: "ball" in str(commands[-1]))

    as_page(meshcat, visit)


def test_flush_waits_for_a_page_that_sleeps_once_and_for_a_while(
    meshcat: Meshcat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("merganser.geometry.visualizers.meshcat._LONGEST_FLUSH", 0.5)

    def draw_and_flush(name: str) -> float:
        for i in range(60):  # 22 MB, more than connections hold, as assets do not replace each other
            vertices = np.full((3, 30000), float(i))
            meshcat.SetLine(f"{name}/{i}", vertices)
        start = time.perf_counter()
        meshcat.Flush()
        return time.perf_counter() - start

    with socket.create_connection(("127.0.0.1", meshcat.port())) as sleeper:  # and reads nothing
        key = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
        sleeper.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\n{key}\r\n".encode())
        assert eventually(lambda: meshcat.GetNumActiveConnections() == 1)
        assert draw_and_flush("first") >= 0.5
        assert draw_and_flush("second") < 0.4
        assert [each.message for each in caplog.records] == [
            "Meshcat.Flush(): a page has taken nothing for 0.5 s, and is not waited for any longer."
        ]

        async def visit(page: PageClient) -> None:  # it delays no other page
            await page.read(lambda commands: "second/59" in str(commands[-1:]), seconds=20.0)

        as_page(meshcat, visit)


def test_a_slider_moved_in_one_page_moves_in_the_others(meshcat: Meshcat) -> None:
    meshcat.AddSlider("gain", 0, 10, 0.5, 2)

    async def visit(page: PageClient) -> list[dict[str, object]]:
        other = await open_page(meshcat.web_url())
        await other.read(lambda commands: bool(commands))
        await page.read(lambda commands: bool(commands))
        before = len(page.commands)
        await page.socket.write_message('{"type": "slider", "name": "gain", "value": 3}')
        await other.read(lambda commands: commands[-1]["type"] == "set_control_value")
        assert other.commands[-1]["value"] == 3
        meshcat.AddButton("end")
        await page.read(lambda commands: commands[-1].get("name") == "end")
        return page.commands[before:]

    assert [command["type"] for command in as_page(meshcat, visit)] == ["set_control"]


def test_gamepads_and_cameras_of_pages_are_known_until_they_leave(meshcat: Meshcat) -> None:
    pose = np.eye(4)
    pose[:3, 3] = [1, 2, 3]

    async def visit(page: PageClient) -> None:
        gamepad = {"index": 1, "button_values": [0, 0.5], "axes": [-1, 0.25]}
        await page.socket.write_message(json.dumps({"type": "gamepad", "gamepad": gamepad}))
        camera = {"type": "camera_pose", "camera_pose": pose.T.ravel().tolist(), "is_perspective": True}
        await page.socket.write_message(json.dumps(camera))
        await page.read(lambda commands: bool(commands))
        await asyncio.sleep(0.05)
        assert meshcat.GetGamepad() == Meshcat.Gamepad(index=1, button_values=[0, 0.5], axes=[-1, 0.25])
        X_WC = meshcat.GetTrackedCameraPose()
        np.testing.assert_allclose(X_WC.translation(), [1, -3, 2])  # y is upwards in three.js
        np.testing.assert_allclose(X_WC.rotation().matrix()[:, 2], [0, 1, 0], atol=1e-12)  # it looks along -z there

    as_page(meshcat, visit)
    assert eventually(lambda: meshcat.GetTrackedCameraPose() is None)


# ------------------------------------------------------------------ how it ends


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "meshcat"]


def test_servers_end_with_their_meshcat_and_free_port_and_thread() -> None:
    gc.collect()
    before = len(names_of_threads())
    port = Meshcat(port=0).port()
    gc.collect()
    for _ in range(8):
        meshcat = Meshcat(port)  # the same one each time
        meshcat.SetObject("ball", Sphere(0.1))
        del meshcat
        gc.collect()
    assert len(names_of_threads()) == before
    several = [Meshcat(port=0) for _ in range(5)]
    assert len(names_of_threads()) == before + 5 and len({each.port() for each in several}) == 5
    for i, each in enumerate(several):
        each.SetObject(f"ball{i}", Sphere(0.1))
    assert [each.HasPath("ball3") for each in several] == [False, False, False, True, False]


def test_connections_are_closed_when_a_meshcat_is_dropped() -> None:
    meshcats = [Meshcat(port=0)]

    async def visit() -> object:
        page = await open_page(meshcats[0].web_url())
        await page.read(lambda commands: bool(commands))
        await asyncio.to_thread(meshcats.clear)
        gc.collect()
        return await asyncio.wait_for(page.socket.read_message(), 5)

    assert asyncio.run(visit()) is None


def test_it_works_where_an_event_loop_is_running_already() -> None:
    async def cell() -> int:
        meshcat = Meshcat(port=0)
        meshcat.SetObject("ball", Sphere(0.1))
        page = await open_page(meshcat.web_url())
        await page.read(lambda commands: any(c["type"] == "set_object" for c in commands))
        return meshcat.GetNumActiveConnections()

    assert asyncio.run(cell()) == 1


PROGRAM = """
import sys, time
from merganser.geometry import Meshcat, Sphere
meshcat = Meshcat(port=0)
meshcat.SetObject("ball", Sphere(1))
print(meshcat.web_url(), flush=True)
sys.stdin.readline()
{}
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0", "import os; os.fork() or os._exit(0)"])
def test_processes_end_cleanly_while_a_client_is_connected(end: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(end)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    url = process.stdout.readline().strip()

    async def visit() -> None:
        page = await open_page(url)
        await page.read(lambda commands: any(c["type"] == "set_object" for c in commands))
        process.stdin.write("\n")
        process.stdin.flush()
        while await asyncio.wait_for(page.socket.read_message(), 10) is not None:
            pass

    asyncio.run(visit())
    _, errors = process.communicate(timeout=10)
    assert process.returncode == {"": 0, "raise SystemExit(3)": 3, "1 / 0": 1}.get(end, 0)
    unexpected = [line for line in errors.splitlines() if "listening for connections" not in line]
    assert (unexpected == []) == (end != "1 / 0"), errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_keep_the_port() -> None:
    meshcat = Meshcat(port=0)
    port = meshcat.port()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)  # until the parent is done
        os._exit(0)
    try:
        del meshcat
        gc.collect()
        assert Meshcat(port).port() == port
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_without_the_extra_the_error_says_what_to_install(tmp_path: object) -> None:
    code = """
import sys
sys.modules["tornado"] = sys.modules["tornado.netutil"] = None
from merganser.geometry import Meshcat
try:
    Meshcat(port=0)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'merganser[view]'" in done.stdout and "tornado" in done.stdout
