"""What a mouse in a page drags, and what is known of things that are clicked."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.scene import Client, Scene, full_path, joined_path

__all__ = ["Drag", "Dragging"]


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
        scene: what clients are told.
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
        """What is dragged now."""
        return self._drag

    def describe(self, path: str, title: str, rows: dict[str, str]) -> None:
        """Says what pages show when the thing at a path is clicked."""
        command = {
            "type": "set_card", "path": joined_path(full_path(path)), "title": title,
            "rows": [[name, value] for name, value in rows.items()],
        }  # fmt: skip
        self._scene.set_other(f"card {command['path']}", encode(command))

    def enable(self, is_enabled: bool) -> None:
        """Says whether things that `describe` names can be dragged by the mouse, with Ctrl; beyond pydrake."""
        with self._lock:
            self._is_enabled = is_enabled
            if not is_enabled:
                self._drag = None
            self._scene.set_other("dragging", encode({"type": "enable_dragging", "is_enabled": is_enabled}))

    def note(self, path: str, point: list[float], target: list[float], client: Client | None) -> None:
        """A page drags a thing, or goes on; ValueError if nothing can be dragged."""
        with self._lock:
            if not self._is_enabled:
                raise ValueError("nothing can be dragged")
            last = self._drag
            if last is None or last.path != path or self._client is not client or last.point.tolist() != point:
                self._number += 1
            self._client = client
            self._drag = Drag(self._number, path, np.array(point), np.array(target))

    def note_end(self, client: Client | None) -> None:
        """A page has let go, or has left."""
        with self._lock:
            if self._client is client:
                self._drag = None
