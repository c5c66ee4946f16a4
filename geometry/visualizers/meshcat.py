"""Meshcat: a scene that browsers show.

When systems draw in a Meshcat: periodically, while a page or a recording waits for a picture.

A button that ends a loop: for systems of sliders that publish a diagram until the user has had enough.
"""

from __future__ import annotations

import html
import logging
import math
import sys
import time
import urllib.parse
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from merganser.framework import Context, LeafSystem
from merganser.framework.core.declarations.events import Demand
from merganser.framework.core.values.arguments import checked_number
from merganser.geometry.visualizers.client_messages import ClientMessages, Dragging
from merganser.geometry.visualizers.controls import Controls, RealtimeRate, SimulationBar
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.cameras import CameraFace, first_place
from merganser.geometry.visualizers.face.controls import ControlsFace, RecordingFace
from merganser.geometry.visualizers.face.parts import Recording
from merganser.geometry.visualizers.pages import client_script, live_page, page_script
from merganser.geometry.visualizers.params import (
    Gamepad,
    MeshcatParams,
    OrthographicCamera,
    PerspectiveCamera,
    SideOfFaceToRender,
)
from merganser.geometry.visualizers.plots import Plots
from merganser.geometry.visualizers.scene import Scene

if TYPE_CHECKING:
    from merganser.geometry.visualizers.server import Page


_logger = logging.getLogger("merganser.geometry")

_BACKGROUND = {"top_color": [0.97, 0.98, 0.99], "bottom_color": [0.83, 0.86, 0.89]}
_HEIGHT = 480  # of the page in a notebook [pixels]
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
        self._plots = Plots(self._scene)
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

    def _repr_html_(self) -> str:
        """The page in a frame, which notebooks show for a Meshcat; it is live, and gone when the program has ended.

        In Colab, whose programs run on another machine than the browser, it is the scene as it is now.
        """
        if "google.colab" in sys.modules:
            return self.StaticCell(_HEIGHT)._repr_html_()
        address = html.escape(self._web_url)
        return (
            f'<iframe src="{address}" width="100%" height="{_HEIGHT}" style="border: 1px solid #ccc"></iframe>'
            f'<a href="{address}" target="_blank">{address}</a>'
        )

    def ws_url(self) -> str:
        """Returns the address of the websocket for pages."""
        return self._web_url.replace("http", "ws", 1) if self._web_url.startswith("http") else self._web_url

    def GetNumActiveConnections(self) -> int:
        """Returns how many pages show the scene."""
        return self._scene.num_clients()

    def Flush(self) -> None:
        """Waits until all that was set has left for all pages, at most 10 s.

        A page that has not taken it by then sleeps: its tab is frozen, or its computer is. A warning says so, and
        no call waits for that page until it wakes up, when it gets the current state.
        """
        if not self._scene.wait_until_sent(_LONGEST_FLUSH):
            _logger.warning(
                f"Meshcat.Flush(): a page has taken nothing for {_LONGEST_FLUSH:g} s, and is not waited for any longer."
            )

    # ------------------------------------------------------------------ for tests of programs

    def _GetPackedObject(self, path: str) -> bytes:
        """The command that sets the object at a path, as MessagePack; empty if not set."""
        return self._packed_at(path, "object")

    def _GetPackedTransform(self, path: str) -> bytes:
        """The command that sets the transform of a path, as MessagePack; empty if not set."""
        return self._packed_at(path, "transform")

    def _GetPackedProperty(self, path: str, property: str) -> bytes:
        """The command that sets a property of a path, as MessagePack; empty if not set."""
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
    """The server's pages by address, the same bytes for all clients; must not keep the Meshcat alive."""
    made: dict[Any, tuple[int, bytes]] = {}  # by function: at which version of the scene, and what

    def static(make: Callable[[Meshcat], str | bytes]) -> bytes:
        found = meshcat()
        if found is None:
            return b""
        version = found._scene.version
        if make not in made or made[make][0] != version:
            content = make(found)
            made[make] = version, content.encode() if isinstance(content, str) else content
        return made[make][1]

    page, client, script = live_page().encode(), client_script().encode(), page_script().encode()
    return {
        "/": lambda: (_HTML, page),
        "/index.html": lambda: (_HTML, page),
        "/meshcat.html": lambda: (_HTML, page),
        "/main.min.js": lambda: (_SCRIPT, client),
        "/page.js": lambda: (_SCRIPT, script),
        "/favicon.ico": lambda: ("image/x-icon", b""),
        "/download": lambda: (_HTML, static(Meshcat.StaticHtml)),
        "/download.zip": lambda: ("application/zip", static(Meshcat.StaticZip)),
    }


def _announce(text: str) -> None:
    """Prints a text on the terminal, or logs it if logging is set up."""
    if _logger.isEnabledFor(logging.INFO):
        _logger.info(text)
    else:
        print(text, file=sys.stderr)


def declare_drawing(
    system: LeafSystem, meshcat: Meshcat, publish_period: float, draw: Callable[[Context], None]
) -> Demand:
    """Declares the events of a system that draws.

    Args:
        system: which draws.
        meshcat: where.
        publish_period: simulated time between two pictures [s]; 0 for one after each step.
        draw: draws one picture, also when a publication is forced, and then notes that the demand is met.

    Returns:
        The demand for pictures.
    """
    demand = meshcat.add_demand()
    if publish_period > 0:
        system.DeclarePeriodicPublishEvent(publish_period, 0.0, draw)
        system._sys_amend_last_event(demand=demand)
    else:
        system.DeclarePerStepPublishEvent(draw)
    system.DeclareForcedPublishEvent(draw)
    return demand


_PAUSE = 1 / 64  # between two looks at the sliders [s]


def repeat_until_stopped(
    act: Callable[[], None], meshcat: Meshcat, name: str, keycode: str, timeout: float | None
) -> None:
    """Acts again and again until a button is clicked, or time is up; at least once.

    Args:
        act: what is done 64 times a second.
        meshcat: where the button is, while this lasts.
        name: of the button.
        keycode: a key that clicks it, too; empty for none.
        timeout: after which it ends without a click [s]; None for never.

    Raises:
        TypeError: the timeout is not a number.
        RuntimeError: it is not a number (NaN); there is a slider of this name, or a button with another keycode.
    """
    duration = math.inf if timeout is None else checked_number(timeout, f"the timeout of the button '{name}'")
    if math.isnan(duration):
        raise RuntimeError(f"The timeout of the button '{name}' must be a time [s], or None for none; given {timeout}.")
    key = f" or the {keycode} key" if keycode else ""
    meshcat.AddButton(name, keycode)
    _logger.info(f"Press the '{name}' button{key} at {meshcat.web_url()} to continue.")
    end = time.monotonic() + duration
    try:
        while True:
            act()
            if meshcat.GetButtonClicks(name) or time.monotonic() >= end:
                return
            time.sleep(min(_PAUSE, max(end - time.monotonic(), 0.0)))
    finally:
        meshcat.DeleteButton(name, strict=False)
