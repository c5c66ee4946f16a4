"""The one place of this process where OpenGL runs.

All engines draw on one canvas, so that they share shaders, buffers and textures, and one engine more costs little. An
OpenGL context belongs to one thread at a time, and VTK lets other threads run while it draws. Therefore whoever draws
holds the lock of the canvas, and gives the context back with it; and what engines leave behind when they are deleted,
in whichever thread, waits in a list for the next one that holds the lock.

After a fork, the drivers' threads are missing in the child, which cannot draw if its parent has done so before.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

from merganser.geometry.rendering.vtk_engine.window import is_current, make_window

__all__ = ["Canvas", "leave_behind"]

Result = TypeVar("Result")
Pixels = NDArray[np.uint8]

_canvases: dict[str, Canvas] = {}
_lock = threading.Lock()
_left_behind: deque[tuple[Canvas, list[Any], list[Any]]] = deque()  # see `leave_behind`


class Canvas:
    """A window that is not shown, and grows as images need.

    Args:
        backend: from `usable_backend`.
    """

    def __init__(self, backend: str) -> None:
        self._window = make_window(backend)
        self._width, self._height = self._window.GetSize()
        self._pixels = vtkUnsignedCharArray()
        self._drawn: Any = None  # the renderer that is switched on
        self._process = os.getpid()

    @staticmethod
    def use(backend: str, draw: Callable[[Canvas], Result]) -> Result:
        """Returns what `draw` makes of the canvas of a backend, while no other thread draws.

        Raises:
            RuntimeError: there is no OpenGL; or this process was forked from one that had drawn; or the OpenGL context
                is lost.
        """
        with _lock:
            canvas = _canvases.get(backend)
            if canvas is None:
                canvas = _canvases[backend] = Canvas(backend)
            if canvas._process != os.getpid():
                raise RuntimeError(
                    "This process was forked from one that had rendered images before, and cannot render itself: the "
                    "threads of the OpenGL driver are missing. Start processes with multiprocessing's 'spawn' or "
                    "'forkserver', or render nothing before the fork."
                )
            canvas._window.MakeCurrent()
            if not is_current(canvas._window):
                raise RuntimeError(
                    "The OpenGL context of this process is lost. Another library has ended EGL, as a second copy of "
                    "VTK does when its last window is deleted. Keep its renderers alive, or use a process for each of "
                    "the two."
                )
            _bury()
            try:
                return draw(canvas)
            finally:
                canvas._window.ReleaseCurrent()

    def add(self, renderer: Any) -> None:
        """Takes a renderer in, switched off."""
        renderer.DrawOff()
        self._window.AddRenderer(renderer)

    def draw(self, renderer: Any, width: int, height: int) -> Pixels:
        """Draws one renderer.

        Returns:
            Red, green, blue and opacity, shape [height, width, 4], rows from top to bottom; to be copied, as it is
            overwritten by the next image.
        """
        if width > self._width or height > self._height:
            self._width, self._height = max(width, self._width), max(height, self._height)
            self._window.SetSize(self._width, self._height)
        if self._drawn is not renderer:
            if self._drawn is not None:
                self._drawn.DrawOff()
            renderer.DrawOn()
            self._drawn = renderer
        renderer.SetViewport(0.0, 0.0, width / self._width, height / self._height)
        self._window.Render()
        self._window.GetRGBACharPixelData(0, 0, width - 1, height - 1, 0, self._pixels)
        pixels: Pixels = vtk_to_numpy(self._pixels).reshape(height, width, 4)
        return pixels[::-1]

    def state(self) -> Any:
        """The state of OpenGL, as VTK keeps it."""
        return self._window.GetState()

    def _remove(self, renderers: list[Any]) -> None:
        self._window.MakeCurrent()
        if not is_current(self._window):
            _keep_forever(renderers)
            return
        for renderer in renderers:
            if self._drawn is renderer:
                self._drawn = None
            renderer.RemoveAllViewProps()
            self._window.RemoveRenderer(renderer)


def leave_behind(canvas: Canvas, renderers: list[Any], others: list[Any]) -> None:
    """Frees what nobody will use again: at once, if nobody draws, or else before the next image.

    Args:
        canvas: that the renderers have been added to.
        renderers: of VTK.
        others: what else belongs to OpenGL, such as windows.
    """
    if canvas._process != os.getpid():
        _keep_forever(renderers)
        return
    _left_behind.append((canvas, renderers, others))
    if _lock.acquire(blocking=False):
        try:
            _bury()
        finally:
            _lock.release()


def _bury() -> None:
    while _left_behind:
        canvas, renderers, others = _left_behind.popleft()
        canvas._remove(renderers)
        renderers.clear()
        others.clear()
        canvas._window.ReleaseCurrent()


def _keep_forever(items: Iterable[Any]) -> None:
    """Keeps objects of VTK from being deleted, even at the end: their destructors would wait for missing threads."""
    for item in items:
        item.Register(None)


def _begin_child() -> None:
    """A forked process has the canvases of its parent, and can neither use nor delete them."""
    global _lock
    _lock = threading.Lock()
    _keep_forever(canvas._window for canvas in _canvases.values())
    for _, renderers, _ in _left_behind:
        _keep_forever(renderers)
    _left_behind.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
