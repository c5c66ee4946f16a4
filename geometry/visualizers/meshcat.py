"""Meshcat: a scene that browsers show."""

from __future__ import annotations

import logging
import sys
import urllib.parse
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from merganser.geometry.visualizers.client_messages import ClientMessages
from merganser.geometry.visualizers.controls import Controls
from merganser.geometry.visualizers.dragging import Dragging
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.cameras import CameraFace, first_place
from merganser.geometry.visualizers.face.controls import ControlsFace
from merganser.geometry.visualizers.face.parts import Recording
from merganser.geometry.visualizers.face.recording import RecordingFace
from merganser.geometry.visualizers.pages import client_script, live_page, page_script
from merganser.geometry.visualizers.params import (
    Gamepad,
    MeshcatParams,
    OrthographicCamera,
    PerspectiveCamera,
    SideOfFaceToRender,
)
from merganser.geometry.visualizers.realtime_rate import RealtimeRate
from merganser.geometry.visualizers.scene import Scene
from merganser.geometry.visualizers.simulation_bar import SimulationBar

if TYPE_CHECKING:
    from merganser.geometry.visualizers.server import Page

__all__ = ["Meshcat", "StartMeshcat"]

_logger = logging.getLogger("merganser.geometry")

_BACKGROUND = {"top_color": [0.97, 0.98, 0.99], "bottom_color": [0.83, 0.86, 0.89]}
_LONGEST_FLUSH = 10.0  # [s]: slow networks take as long for large meshes
_OWN_NAMES = ("localhost", "127.0.0.1", "::1")
_HTML, _SCRIPT = "text/html; charset=utf-8", "text/javascript; charset=utf-8"


class Meshcat(CameraFace, ControlsFace, RecordingFace):
    """A scene of objects at paths, which browsers show that open `web_url()`; with buttons, sliders and recordings.

    Each Meshcat has a server of its own, in a thread, which ends when the Meshcat is garbage or the process ends. Pages
    that are opened later show all that was set before. What is set is handed to the server without waiting; pages that
    are slower than what is set leave out what was in between. Functions may be called from any thread.

    By default, only this machine can open the page; see MeshcatParams.

    Args:
        port: to listen at: 0 for any that is free; None for the first free one from 7000 to 7999.
        params: all settings, instead of the port.

    Raises:
        RuntimeError: the port is taken, or not allowed; a setting is out of its range.
        ImportError: the extra `view` is not installed.
    """

    Gamepad = Gamepad
    OrthographicCamera = OrthographicCamera
    PerspectiveCamera = PerspectiveCamera
    SideOfFaceToRender = SideOfFaceToRender

    _never_changes = True  # copies of a system share it

    @overload
    def __init__(self, port: int | None = None) -> None: ...
    @overload
    def __init__(self, params: MeshcatParams, /) -> None: ...
    @overload
    def __init__(self, *, params: MeshcatParams) -> None: ...
    def __init__(self, port: Any = None, *, params: Any = None) -> None:
        from merganser.geometry.visualizers.server import EVERYWHERE, Server, open_sockets  # loads asyncio

        settings = _settings(port, params)
        self._rate = RealtimeRate(settings.realtime_rate_period)
        self._scene = Scene()
        self._controls = Controls(self._scene)
        self._bar, self._dragging = SimulationBar(self._scene), Dragging(self._scene)
        self._inbox = ClientMessages(self._controls, self._bar, self._dragging)
        self._recording = Recording(self._controls)
        client_script()
        sockets, self._port = open_sockets(settings.host, settings.port)
        try:
            host = "localhost" if settings.host in ("", *EVERYWHERE) else settings.host
            self._web_url = _filled_in(settings.web_url_pattern, f"[{host}]" if ":" in host else host, self._port)
            self._set_first_properties(settings)
            self._server = Server(
                sockets,
                self._scene,
                self._inbox,
                _pages(weakref.ref(self)),
                None if settings.host in EVERYWHERE else {*_OWN_NAMES, host.lower(), *_names(self._web_url)},
                {urllib.parse.urlparse(self._web_url).netloc.lower()},
            )
        except BaseException:
            for each in sockets:
                each.close()
            raise
        weakref.finalize(self, self._server.stop)
        _announce(f"Meshcat listening for connections at {self._web_url}")

    # ------------------------------------------------------------------ connections

    def port(self) -> int:
        """Returns the port at which it listens."""
        return self._port

    def web_url(self) -> str:
        """Returns the address of the page."""
        return self._web_url

    def ws_url(self) -> str:
        """Returns the address of the websocket by which pages are told."""
        return self._web_url.replace("http", "ws", 1) if self._web_url.startswith("http") else self._web_url

    def GetNumActiveConnections(self) -> int:
        """Returns how many pages show the scene."""
        return self._scene.num_clients()

    def Flush(self) -> None:
        """Waits until all that was set has left for all pages, at most 10 s.

        A page that has not taken it by then sleeps: its tab is frozen, or its computer is. A warning says so, and
        nobody waits for that page again until it wakes up, when it is told how everything is by then.
        """
        if not self._scene.wait_until_sent(_LONGEST_FLUSH):
            _logger.warning(
                f"Meshcat.Flush(): a page has taken nothing for {_LONGEST_FLUSH:g} s, and is not waited for any longer."
            )

    # ------------------------------------------------------------------ for tests of programs

    def _GetPackedObject(self, path: str) -> bytes:
        """The command that sets the object at a path, as MessagePack; empty if there is none."""
        return self._packed_at(path, "object")

    def _GetPackedTransform(self, path: str) -> bytes:
        """The command that sets the transform of a path, as MessagePack; empty if there is none."""
        return self._packed_at(path, "transform")

    def _GetPackedProperty(self, path: str, property: str) -> bytes:
        """The command that sets a property of a path, as MessagePack; empty if there is none."""
        return self._packed_at(path, f"property {property}")

    def _packed_at(self, path: str, what: str) -> bytes:
        message = self._scene.get_at(path, what)
        return b"" if message is None else message.data

    def _InjectWebsocketMessage(self, message: bytes) -> None:
        """Does as if a page had sent this: a map with a `type`, as MessagePack."""
        self._inbox.receive(message, None)

    def __copy__(self) -> Meshcat:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Meshcat:
        return self

    def _set_first_properties(self, settings: MeshcatParams) -> None:
        for name, value in _BACKGROUND.items():
            command = {"type": "set_property", "path": "/Background", "property": name, "value": value}
            self._scene.set_other(f"first {name}", encode(command))
        self._scene.set_other("first place", first_place())
        for each in settings.initial_properties:
            self.SetProperty(each.path, each.property, each.value)
        show = encode({"type": "show_realtime_rate", "show": bool(settings.show_stats_plot)})
        self._scene.set_other("show rate", show)


def StartMeshcat() -> Meshcat:
    """Makes a Meshcat with default settings, and says where its page is."""
    return Meshcat()


def _settings(port: Any, params: Any) -> MeshcatParams:
    """The settings from the arguments of Meshcat."""
    if isinstance(port, MeshcatParams) and params is None:
        port, params = None, port
    if params is None:
        params = MeshcatParams(port=port)
    elif port is not None or not isinstance(params, MeshcatParams):
        raise TypeError(f"Meshcat takes a port or MeshcatParams; given port={port!r} and params={params!r}.")
    if params.port is not None and (isinstance(params.port, bool) or not isinstance(params.port, (int, np.integer))):
        raise TypeError(f"Meshcat: the port must be an integer; given {params.port!r}.")
    return params


def _filled_in(pattern: str, host: str, port: int) -> str:
    try:
        return pattern.format(host=host, port=port)
    except (KeyError, IndexError, ValueError) as error:
        raise RuntimeError(
            f"MeshcatParams.web_url_pattern '{pattern}' may hold {{host}} and {{port}}, and nothing else in braces."
        ) from error


def _names(url: str) -> set[str]:
    name = urllib.parse.urlparse(url).hostname
    return set() if name is None else {name}


def _pages(meshcat: weakref.ref[Meshcat]) -> dict[str, Page]:
    """What the server has at its addresses; it must not keep the Meshcat alive."""

    def static(make: Callable[[Meshcat], str | bytes]) -> str | bytes:
        found = meshcat()
        return "" if found is None else make(found)

    def page() -> tuple[str, str]:
        return _HTML, live_page()

    return {
        "/": page,
        "/index.html": page,
        "/meshcat.html": page,
        "/main.min.js": lambda: (_SCRIPT, client_script()),
        "/page.js": lambda: (_SCRIPT, page_script()),
        "/favicon.ico": lambda: ("image/x-icon", b""),
        "/download": lambda: (_HTML, static(Meshcat.StaticHtml)),
        "/download.zip": lambda: ("application/zip", static(Meshcat.StaticZip)),
    }


def _announce(text: str) -> None:
    """Says something on the terminal, or in the log, if somebody has set one up."""
    if _logger.isEnabledFor(logging.INFO):
        _logger.info(text)
    else:
        print(text, file=sys.stderr)
