"""The server behind Meshcat: one thread with an event loop of its own, tornado's HTTP and websocket server in it.

Browsers may let any page of the web talk to a server on this machine, so it looks at where requests come from: the
header Host must name it (a foreign name that resolves to this machine is refused), and websockets are opened by its
own page only (`Origin`). Nothing that a client sends is taken for a path of a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http
import logging
import os
import socket
import threading
import urllib.parse
import weakref
from collections.abc import Callable
from typing import Any

from merganser.geometry.visualizers.client_messages import ClientMessages
from merganser.geometry.visualizers.encoding import Asset, Message, chunks, load_viewer
from merganser.geometry.visualizers.scene import Client, Scene

EVERYWHERE = ("*", "0.0.0.0", "::")  # hosts that mean all names and addresses of this machine
_LOOPBACK = "127.0.0.1"
_PORTS = range(7000, 8000)
_PAUSE = 1.0 / 70.0  # between two batches to a client [s]: what changes in between goes together
_MAX_MESSAGE = 1 << 16  # of a client: bytes
_MAX_HEADER = 1 << 14
_IDLE = 30.0  # for requests that are not finished [s]
_REFUSAL = (
    "This Meshcat does not go by that name. To reach it from other machines, or through a proxy, see "
    "MeshcatParams.host and MeshcatParams.web_url_pattern."
)
_FAREWELL = 1.0  # for connections that are to be closed [s]
_CHUNK = 1 << 18  # bytes that wait for a page at most; connection.js has the same number
_STALLED = 30.0  # after which a page is let go that takes nothing [s]
_PING = 60.0  # after which a client is looked for that is silent [s]

_logger = logging.getLogger("merganser.geometry")

Page = Callable[[], tuple[str, bytes]]  # gives content type and content


def open_sockets(host: str, port: int | None) -> tuple[list[socket.socket], int]:
    """Sockets that listen, and their port.

    Args:
        host: name or address; "*" for all of this machine, empty for this machine only.
        port: None for the first one that is free from 7000 on, 0 for any.

    Raises:
        RuntimeError: the port is taken or not allowed, or there is no such host.
    """
    netutil = load_viewer("tornado.netutil")
    if port is not None and not (port == 0 or 1024 <= port <= 65535):
        raise RuntimeError(f"Meshcat: the port must be 0 (any that is free) or from 1024 to 65535; given {port}.")
    address = {"*": "", "": _LOOPBACK, "localhost": _LOOPBACK}.get(host, host)
    problem: OSError | None = None
    for candidate in _PORTS if port is None else [port]:
        try:
            sockets = netutil.bind_sockets(candidate, address)
        except socket.gaierror as error:
            raise RuntimeError(f"Meshcat cannot listen on host '{host}', which is not known: {error}.") from error
        except OSError as error:
            problem = error
        else:
            return sockets, sockets[0].getsockname()[1]
    where = f"port {port}" if port is not None else f"any port from {_PORTS[0]} to {_PORTS[-1]}"
    raise RuntimeError(
        f"Meshcat cannot listen on {where} of host '{host or _LOOPBACK}': {problem}. Perhaps another Meshcat listens "
        "there; leave the port out to have the first one that is free."
    ) from problem


class Server:
    """Serves pages, and keeps their scenes up to date; starts at once, ends with `stop`.

    Args:
        sockets: that listen.
        scene: what clients get.
        inbox: takes what clients send.
        pages: by path; all other paths do not exist.
        hosts: names under which this machine is reached; None if any will do.
        trusted: hosts that pages may come from besides, which a proxy in front of this server has.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        scene: Scene,
        inbox: ClientMessages,
        pages: dict[str, Page],
        hosts: set[str] | None,
        trusted: set[str],
    ) -> None:
        self.scene = scene
        self.inbox = inbox
        self.hosts = hosts
        self.trusted = trusted
        self.closers: set[Callable[[], None]] = set()  # of the websockets that are open
        self._loop = asyncio.new_event_loop()
        self._sockets = sockets
        self._process = os.getpid()
        self._ending = asyncio.Event()
        run = functools.partial(self._run, _application(self, pages))
        self._thread = threading.Thread(target=run, name="meshcat", daemon=True)
        self._thread.start()
        _servers.add(self)

    def stop(self) -> None:
        """Closes all connections and frees the port."""
        if os.getpid() != self._process or self._loop.is_closed():
            return
        with contextlib.suppress(RuntimeError):  # the loop has closed in the meantime
            self._loop.call_soon_threadsafe(self._ending.set)
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    def close_sockets(self) -> None:
        """Frees the port in a process that has been forked, where there is no thread to serve it."""
        for each in self._sockets:
            each.close()

    def _run(self, application: Any) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve_pages(application))
        finally:
            self._loop.close()

    async def _serve_pages(self, application: Any) -> None:
        server = load_viewer("tornado.httpserver").HTTPServer(
            application,
            max_header_size=_MAX_HEADER,
            max_body_size=_MAX_HEADER,
            idle_connection_timeout=_IDLE,
            body_timeout=_IDLE,
        )
        server.add_sockets(self._sockets)
        await self._ending.wait()
        server.stop()
        for close in list(self.closers):
            close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.close_all_connections(), _FAREWELL)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


class _Connection(Client):
    """A client at the other end of a websocket."""

    def __init__(self, scene: Scene, loop: asyncio.AbstractEventLoop, write: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._scene = scene
        self._loop = loop
        self._write = write
        self._news = asyncio.Event()
        self._is_awake = False

    def wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            with contextlib.suppress(RuntimeError):  # the loop has closed
                self._loop.call_soon_threadsafe(self._news.set)

    async def keep_up_to_date(self) -> None:
        """Sends what is new, one chunk after the other has left; ends by an exception when the connection does.

        Raises:
            asyncio.TimeoutError: the client has taken nothing for too long.
        """
        self._news.set()
        while True:
            await self._news.wait()
            self._news.clear()
            self._is_awake = False
            pieces = self._pieces()
            version = self.seen
            if pieces:
                for chunk in chunks(pieces, _CHUNK):
                    await _unless_stalled(self._write(chunk))
            self._scene.note_sent(self, version)
            await asyncio.sleep(_PAUSE)
            self._scene.want_more()

    def _pieces(self) -> list[Message | Asset]:
        """All that is new, with the assets that the client does not have."""
        pieces: list[Message | Asset] = []
        for message in self._scene.news(self):
            for asset in message.assets:
                if asset.key not in self.assets:
                    self.assets.add(asset.key)
                    pieces.append(asset)
            pieces.append(message)
        return pieces


async def _unless_stalled(sending: Any) -> None:
    """Waits until a client has taken what was sent; asyncio.TimeoutError if it takes nothing for too long."""
    future = asyncio.ensure_future(sending)
    future.add_done_callback(lambda each: each.cancelled() or each.exception())  # it may come when the time is over
    if not (await asyncio.wait({future}, timeout=_STALLED))[0]:
        raise TimeoutError
    future.result()


def _application(server: Server, pages: dict[str, Page]) -> Any:
    """Handler of tornado for requests."""
    web, websocket = load_viewer("tornado.web"), load_viewer("tornado.websocket")
    iostream = load_viewer("tornado.iostream")

    class Guarded(web.RequestHandler):  # type: ignore[name-defined]
        """Refuses requests that do not mean this server."""

        def prepare(self) -> None:
            name, origin = _name_of(self.request.host), _place_of(self.request.headers.get("Origin", ""))
            if name is None or origin is None:
                raise web.HTTPError(400)
            if server.hosts is not None and name not in server.hosts:
                self.set_status(403)
                self.finish(_REFUSAL)

        def set_default_headers(self) -> None:
            self.set_header("X-Content-Type-Options", "nosniff")
            self.set_header("Server", "merganser")

        def log_exception(self, *error: Any) -> None:
            if not isinstance(error[1], web.HTTPError):
                super().log_exception(*error)

        def write_error(self, status_code: int, **kwargs: Any) -> None:
            self.finish(f"{status_code} {http.HTTPStatus(status_code).phrase}")

    class Contents(Guarded):
        async def get(self) -> None:
            page = pages.get(self.request.path)
            if page is None:
                raise web.HTTPError(404)
            content_type, content = page()
            self.set_header("Content-Type", content_type)
            self.set_header("Content-Length", str(len(content)))
            self.set_header("Cache-Control", "no-cache")
            view = memoryview(content)
            try:
                for begin in range(0, len(view), _CHUNK):
                    self.write(bytes(view[begin : begin + _CHUNK]))
                    await _unless_stalled(self.flush())
            except TimeoutError:
                self.request.connection.stream.close()
            except iostream.StreamClosedError:
                pass
            else:
                self.finish()

    class Websocket(Guarded, websocket.WebSocketHandler):  # type: ignore[name-defined]
        client: _Connection | None = None

        async def get(self) -> None:
            if self.request.headers.get("Upgrade", "").lower() == "websocket":
                await websocket.WebSocketHandler.get(self)
            else:
                await Contents.get(self)

        def check_origin(self, origin: str) -> bool:
            place = _place_of(origin)
            return place == self.request.host.lower() or place in server.trusted

        async def open(self) -> None:
            self.set_nodelay(True)
            loop = asyncio.get_running_loop()
            self.client = _Connection(server.scene, loop, functools.partial(self.write_message, binary=True))
            server.scene.add_client(self.client)
            server.closers.add(self._say_goodbye)
            self.task = loop.create_task(self._keep_up_to_date())

        def _say_goodbye(self) -> None:
            stream = self.ws_connection.stream
            self.close(1001, "the simulation has ended")
            stream.close()

        async def _keep_up_to_date(self) -> None:
            try:
                await self.client.keep_up_to_date()  # type: ignore[union-attr]
            except websocket.WebSocketClosedError:
                pass
            except TimeoutError:
                _logger.warning(
                    f"Meshcat closed the connection to a page that has taken nothing for {_STALLED:g} s. The page "
                    "connects again when it can."
                )
                self.ws_connection.stream.close()

        def on_message(self, message: str | bytes) -> None:
            server.inbox.receive(message, self.client)

        def on_close(self) -> None:
            if self.client is not None:
                server.closers.discard(self._say_goodbye)
                self.task.cancel()
                server.scene.remove_client(self.client)
                server.inbox.forget(self.client)

    return web.Application(
        [("/", Websocket), (".*", Contents)],
        log_function=lambda handler: None,
        websocket_max_message_size=_MAX_MESSAGE,
        websocket_ping_interval=_PING,
        websocket_ping_timeout=_PING,
    )


def _name_of(host: str) -> str | None:
    """A header Host without its port; None if it is no address at all."""
    try:
        return urllib.parse.urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return None


def _place_of(origin: str) -> str | None:
    """The host and port of a header Origin; None if it is no address at all."""
    try:
        return urllib.parse.urlsplit(origin).netloc.lower()
    except ValueError:
        return None


_servers: weakref.WeakSet[Server] = weakref.WeakSet()


def _close_inherited_sockets() -> None:
    for server in list(_servers):
        server.close_sockets()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited_sockets)
