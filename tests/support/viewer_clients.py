"""Clients of a Meshcat, as pages are, but without a browser."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import umsgpack
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

CHUNK = 1 << 18  # bytes of all chunks of a batch but for the last, which is shorter


def commands_of(batch: bytes) -> Iterator[dict[str, Any]]:
    """The commands in a batch: each stands after its length, 4 bytes."""
    begin = 0
    while begin < len(batch):
        (length,) = struct.unpack_from("<I", batch, begin)
        yield umsgpack.unpackb(batch[begin + 4 : begin + 4 + length])
        begin += 4 + length


class PageClient:
    """A connection, and all commands that have come by it."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket
        self.commands: list[dict[str, Any]] = []
        self.chunks: list[bytes] = []  # of a batch that has not come to its end

    async def read(self, until: Callable[[list[dict[str, Any]]], bool], seconds: float = 5.0) -> None:
        """Reads until all that has come satisfies a condition; fails if that takes too long."""
        while not until(self.commands):
            chunk = await asyncio.wait_for(self.socket.read_message(), seconds)
            assert isinstance(chunk, bytes), "the server has closed the connection"
            self.chunks.append(chunk)
            if len(chunk) < CHUNK:
                self.commands += commands_of(b"".join(self.chunks))
                self.chunks.clear()


async def open_page(url: str, **headers: str) -> PageClient:
    """Connects to the websocket of a Meshcat."""
    request = HTTPRequest(url.replace("http", "ws", 1), headers=headers)
    return PageClient(await websocket_connect(request, max_message_size=1 << 28))


def as_page(meshcat: Any, visit: Callable[[PageClient], Awaitable[Any]]) -> Any:
    """Does something with a connection, which is closed afterwards."""

    async def stay() -> Any:
        page = await open_page(meshcat.web_url())
        try:
            return await visit(page)
        finally:
            page.socket.close()

    return asyncio.run(stay())


def commands_for_a_page(meshcat: Any) -> list[dict[str, Any]]:
    """All commands that a page gets which is opened now."""

    async def visit(page: PageClient) -> list[dict[str, Any]]:
        await page.read(lambda commands: bool(commands))
        return page.commands

    return as_page(meshcat, visit)


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether something becomes true in a while."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def matrix_at(meshcat: Any, path: str) -> np.ndarray:
    """The transform of a path, shape [4, 4]."""
    return np.array(umsgpack.unpackb(meshcat._GetPackedTransform(path))["matrix"]).reshape(4, 4).T


def color_at(meshcat: Any, path: str) -> tuple[int, float]:
    """Color and opacity of the object at a path."""
    (material,) = umsgpack.unpackb(meshcat._GetPackedObject(path))["object"]["materials"]
    return material["color"], material["opacity"]


def property_at(meshcat: Any, path: str, name: str) -> Any:
    """A property of a path."""
    return umsgpack.unpackb(meshcat._GetPackedProperty(path, name))["value"]
