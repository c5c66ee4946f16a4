"""The window of VTK in which images are made, without a display if none is available.

On Linux that is EGL, by whichever driver is there, Mesa's software renderer among them; and if EGL is missing, OSMesa.

Their libraries are loaded here before VTK does so, as no function of VTK 9.7 says whether they can be. Without libEGL,
`GetNumberOfDevices()`, `SupportsOpenGL()` and `Initialize()` of vtkEGLRenderWindow all end the process; without
libOSMesa, `SupportsOpenGL()` of vtkOSOpenGLRenderWindow returns 1, and the first image ends it. The factory
`vtkRenderWindow()` survives, but prefers an X display to EGL, unless an environment variable says otherwise to the
whole process. `ctypes.util.find_library` only looks names up, in processes that it starts, and also returns those of
libraries that cannot be loaded.

The one place of this process where OpenGL runs.

All engines draw on one canvas, so that they share shaders, buffers and textures, and one engine more costs little. An
OpenGL context belongs to one thread at a time, and VTK lets other threads run while it draws. Therefore a thread
that draws holds the lock of the canvas, and releases the context with it; what engines leave behind when they are
deleted, in any thread, waits in a list for the next thread that holds the lock.

After a fork, the drivers' threads are missing in the child, which cannot draw if its parent has done so before.

Previews: windows on the screen that show images, for cameras with `show_window`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from vtkmodules import vtkRenderingOpenGL2
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkLogger, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkRenderingCore import vtkActor2D, vtkImageMapper, vtkRenderer

_logger = logging.getLogger("merganser.geometry")

_BACKENDS = ("", "EGL", "GLX", "Cocoa")
_DEFAULTS = {"darwin": "Cocoa", "win32": "Win32"}
_OF_PLATFORM = {"linux": ("EGL", "GLX"), "darwin": ("Cocoa",), "win32": ("Win32",)}
_CLASSES = {
    "EGL": "vtkEGLRenderWindow",
    "GLX": "vtkXOpenGLRenderWindow",
    "Cocoa": "vtkCocoaRenderWindow",
    "Win32": "vtkWin32OpenGLRenderWindow",
}
_EGL_LIBRARIES = ("libEGL.so.1", "libEGL.so")
_OSMESA_LIBRARIES = ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")


def usable_backend(wanted: str) -> str:
    """The backend of this operating system for the wanted kind.

    Args:
        wanted: as of RenderEngineVtkParams.

    Raises:
        RuntimeError: there is no such backend; or a display is wanted but not available.
    """
    if wanted not in _BACKENDS:
        known = ", ".join(f"'{name}'" for name in _BACKENDS)
        raise RuntimeError(f"RenderEngineVtkParams.backend must be one of {known}; given '{wanted}'.")
    default = _DEFAULTS.get(sys.platform, "EGL")
    if wanted and wanted not in _OF_PLATFORM.get(sys.platform, ("EGL", "GLX")):
        _logger.warning("There is no backend '%s' for RenderEngineVtk here; '%s' takes its place.", wanted, default)
        wanted = default
    if wanted == "GLX" and not os.environ.get("DISPLAY"):
        raise RuntimeError(
            "RenderEngineVtkParams.backend is 'GLX', which needs an X display, and DISPLAY is not set. Leave the "
            "backend '' to make images without a display."
        )
    return wanted or default


def make_window(backend: str) -> Any:
    """A window that is not shown, with its OpenGL context.

    Raises:
        RuntimeError: OpenGL is not available here; the message says what to install.
    """
    with _silence():
        if backend != "EGL":
            window = _window(_CLASSES[backend])
        else:
            window = _window(_CLASSES["EGL"]) if _loaded(*_EGL_LIBRARIES) else None
            if window is None and _loaded(*_OSMESA_LIBRARIES):
                window = _window("vtkOSOpenGLRenderWindow")
    if window is None:
        raise RuntimeError(f"Rendering needs OpenGL, {_problem(backend)}")
    return window


def _problem(backend: str) -> str:
    """The error for a backend without a window, with remedies."""
    if backend == "GLX":
        return (
            f"which GLX does not provide on the X display '{os.environ.get('DISPLAY', '')}'. Leave "
            "RenderEngineVtkParams.backend '' to make images without a display."
        )
    if sys.platform == "linux":
        return (
            f"and neither {backend} nor a software renderer works on this machine. Without a graphics card, Mesa does "
            "it: apt-get install libegl1 libgl1-mesa-dri (Debian, Ubuntu) or dnf install mesa-libEGL mesa-dri-drivers "
            "(Fedora)."
        )
    return f"and {backend} does not work on this machine. Update the graphics driver."


def is_current(window: Any) -> bool:
    """Whether the OpenGL context of a window is that of this thread, after it was made current.

    If another library ends EGL for the whole process, as a second copy of VTK does with its last window, a context is
    lost. `IsCurrent()` and `SupportsOpenGL()` of vtkEGLRenderWindow go by what VTK remembers and stay true, so EGL
    itself is asked.
    """
    if not isinstance(window, vtkRenderingOpenGL2.vtkEGLRenderWindow):
        return bool(window.IsCurrent())
    egl = _loaded(*_EGL_LIBRARIES)
    assert egl is not None
    egl.eglGetCurrentContext.restype = ctypes.c_void_p
    return egl.eglGetCurrentContext() is not None


def _window(class_name: str) -> Any:
    """A window of a class of VTK, if there is this class and OpenGL works with it."""
    cls = getattr(vtkRenderingOpenGL2, class_name, None)
    if cls is None:
        return None
    window = cls()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    window.SetSize(16, 16)
    window.Initialize()
    return window if window.SupportsOpenGL() else None


@functools.cache
def _loaded(*libraries: str) -> ctypes.CDLL | None:
    """The first of some libraries that can be loaded."""
    for library in libraries:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(library)
    return None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silences VTK while it tries to open a window."""
    verbosity = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(verbosity)


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
    """Frees unused renderers: at once if no thread draws, or else before the next image.

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


_warned: set[str] = set()  # of renderers


def can_show(backend: str) -> bool:
    """Whether a backend, from `usable_backend`, has windows on the screen."""
    return backend != "EGL"


def warn_of_no_window(renderer_name: str) -> None:
    """Says once for each renderer that its images are not shown."""
    if renderer_name not in _warned:
        _warned.add(renderer_name)
        _logger.warning(
            "A camera of renderer '%s' is to show its images in a window (show_window), which a RenderEngineVtk with "
            "backend 'EGL' does not do. Make it with RenderEngineVtkParams(backend='GLX') where there is an X display.",
            renderer_name,
        )


class Preview:
    """A window with the latest image.

    Args:
        backend: one that can show.
        title: of the window.
    """

    def __init__(self, backend: str, title: str) -> None:
        self._window = make_window(backend)
        self._window.SetOffScreenRendering(0)
        self._window.SetWindowName(title)
        self._image = vtkImageData()
        mapper = vtkImageMapper()
        mapper.SetInputData(self._image)
        mapper.SetColorWindow(255.0)
        mapper.SetColorLevel(127.5)
        actor = vtkActor2D()
        actor.SetMapper(mapper)
        renderer = vtkRenderer()
        renderer.AddViewProp(actor)
        self._window.AddRenderer(renderer)

    def show(self, pixels: np.ndarray) -> None:
        """Shows an image.

        Args:
            pixels: red, green, blue and perhaps opacity, which does not count; shape [height, width, 3 or 4].
        """
        height, width, _ = pixels.shape
        colors = np.ascontiguousarray(pixels[::-1, :, :3]).reshape(-1, 3)
        self._image.SetDimensions(width, height, 1)
        self._image.GetPointData().SetScalars(numpy_to_vtk(colors, deep=1))
        self._image.Modified()
        if tuple(self._window.GetSize()) != (width, height):
            self._window.SetSize(width, height)
        self._window.Render()
        self._window.ReleaseCurrent()
