"""Messages from clients: checked, applied, and dropped if wrong.

Dragging by a mouse in a page, and cards of clicked things.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.visualizers.controls import Controls, SimulationBar
from merganser.geometry.visualizers.encoding import encode, load_viewer
from merganser.geometry.visualizers.params import Gamepad
from merganser.geometry.visualizers.scene import Client, Scene, full_path, joined_path


class Drag(NamedTuple):
    """A thing that is dragged.

    Attributes:
        number: of the drag, which differs from those before.
        path: of the thing, at which its pose is set.
        point: where it was taken, in its own coordinates [m], shape [3].
        target: where the mouse is, in the world [m], shape [3].
    """

    number: int
    path: str
    point: NDArray[np.float64]
    target: NDArray[np.float64]


class Dragging:
    """Cards of things, and the one that is dragged; may be used from any thread.

    Args:
        scene: what clients get.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._number = 0
        self._client: Client | None = None
        self._is_enabled = False
        self._drag: Drag | None = None

    @property
    def drag(self) -> Drag | None:
        """The current drag."""
        return self._drag

    def describe(self, path: str, title: str, rows: dict[str, str], is_fixed: bool) -> None:
        """Sets the card that pages show for a clicked path, and whether it is fixed to the world."""
        command = {
            "type": "set_card", "path": joined_path(full_path(path)), "title": title,
            "rows": [[name, value] for name, value in rows.items()], "is_fixed": is_fixed,
        }  # fmt: skip
        self._scene.set_other(f"card {command['path']}", encode(command))

    def enable(self, is_enabled: bool) -> None:
        """Sets whether things with cards can be dragged by the mouse, with Ctrl; beyond pydrake."""
        with self._lock:
            self._is_enabled = is_enabled
            if not is_enabled:
                self._drag = None
            self._scene.set_other("dragging", encode({"type": "enable_dragging", "is_enabled": is_enabled}))

    def note(self, path: str, point: list[float], target: list[float], client: Client | None) -> None:
        """Starts or continues a drag by a page; ValueError if nothing can be dragged."""
        with self._lock:
            if not self._is_enabled:
                raise ValueError("nothing can be dragged")
            last = self._drag
            if last is None or last.path != path or self._client is not client or last.point.tolist() != point:
                self._number += 1
            self._client = client
            self._drag = Drag(self._number, path, np.array(point), np.array(target))

    def note_end(self, client: Client | None) -> None:
        """Ends the drag of a page that has let go or left."""
        with self._lock:
            if self._client is client:
                self._drag = None


_logger = logging.getLogger("merganser.geometry")

_MAX_GAMEPAD = 64  # axes, and buttons
_FARTHEST = 1e9  # of points, so that no force overflows [m]
_MAX_REPORTED = 10  # messages that are wrong, in the log


class ClientMessages:
    """Applies messages of clients.

    A message is a map, as JSON or MessagePack, with a `type`:

        button: name
        slider: name, value
        gamepad: gamepad, a map of index, button_values and axes
        camera_pose: camera_pose, 16 numbers by columns; is_perspective
        simulation: action, what the bar of a live simulation asks for
        simulation_rate: rate
        drag: path, point and target, three numbers each; path is empty when the mouse lets go

    Attributes:
        gamepad: the last state reported by a page.
        camera: the pose of the camera that moved last, in the coordinates of three.js, shape [4, 4]; None before the
            first one, or without perspective.
    """

    def __init__(self, controls: Controls, bar: SimulationBar, dragging: Dragging) -> None:
        self._controls = controls
        self._bar = bar
        self._dragging = dragging
        self._reported = 0
        self._camera_client: Client | None = None
        self.gamepad = Gamepad()
        self.camera: NDArray[np.float64] | None = None

    def receive(self, message: str | bytes, client: Client | None) -> None:
        """Takes one message."""
        try:
            content = json.loads(message) if isinstance(message, str) else load_viewer("umsgpack").unpackb(message)
            handler = self._handlers()[content["type"]]
            handler(content, client)
        except Exception as error:  # a client may send anything, and what is wrong fails in any way
            if self._reported < _MAX_REPORTED:
                self._reported += 1
                _logger.warning("Meshcat ignored a message of a client that is wrong: %s", repr(error)[:200])

    def forget(self, client: Client) -> None:
        """Forgets a client that has left."""
        if client is self._camera_client:
            self.camera = None
        self._dragging.note_end(client)

    def _handlers(self) -> dict[str, Callable[[dict[str, Any], Client | None], None]]:
        return {
            "button": lambda content, client: self._controls.note_click(_text(content["name"])),
            "slider": lambda content, client: self._controls.note_value(
                _text(content["name"]), _number(content["value"]), client
            ),
            "gamepad": self._note_gamepad,
            "camera_pose": self._note_camera,
            "simulation": lambda content, client: self._bar.note_action(_text(content["action"])),
            "simulation_rate": lambda content, client: self._bar.note_rate(_number(content["rate"])),
            "drag": self._note_drag,
        }

    def _note_gamepad(self, content: dict[str, Any], client: Client | None) -> None:
        given = content["gamepad"]
        if given == {}:
            self.gamepad = Gamepad()
            return
        self.gamepad = Gamepad(
            index=int(_number(given["index"])),
            button_values=_numbers(given["button_values"]),
            axes=_numbers(given["axes"]),
        )

    def _note_camera(self, content: dict[str, Any], client: Client | None) -> None:
        elements = content["camera_pose"]
        if len(elements) != 16:
            raise ValueError("a camera pose is 16 numbers")
        pose = np.array([_number(element) for element in elements]).reshape(4, 4).T
        if not np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-3):
            raise ValueError("a camera pose has a rotation")
        self._camera_client = client
        self.camera = pose if content["is_perspective"] is True else None

    def _note_drag(self, content: dict[str, Any], client: Client | None) -> None:
        path = _text(content["path"])
        if path:
            self._dragging.note(path, _point(content["point"]), _point(content["target"]), client)
        else:
            self._dragging.note_end(client)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"not a finite number: {value!r}")
    return float(value)


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or len(values) > _MAX_GAMEPAD:
        raise ValueError(f"not a list of at most {_MAX_GAMEPAD} numbers")
    return [_number(value) for value in values]


def _point(values: Any) -> list[float]:
    point = _numbers(values)
    if len(point) != 3 or max(map(abs, point)) > _FARTHEST:
        raise ValueError(f"not a point within {_FARTHEST:g} m: {values!r}")
    return point


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"not a text: {value!r}")
    return value
