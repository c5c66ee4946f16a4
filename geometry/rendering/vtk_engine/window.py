"""The window of VTK in which images are made, without a display if there is none.

On Linux that is EGL, by whichever driver is there, Mesa's software renderer among them; and if EGL is missing, OSMesa.

Their libraries are loaded here before VTK does so, as no function of VTK 9.7 tells whether they can be. Without libEGL,
`GetNumberOfDevices()`, `SupportsOpenGL()` and `Initialize()` of vtkEGLRenderWindow all end the process; without
libOSMesa, `SupportsOpenGL()` of vtkOSOpenGLRenderWindow returns 1, and the first image ends it. The factory
`vtkRenderWindow()` survives, but prefers an X display to EGL, unless an environment variable says otherwise to the
whole process. `ctypes.util.find_library` only looks names up, in processes that it starts, and also returns those of
libraries that cannot be loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from vtkmodules import vtkRenderingOpenGL2
from vtkmodules.vtkCommonCore import vtkLogger

__all__ = ["is_current", "make_window", "usable_backend"]

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
    """The backend of this operating system that does what is wanted.

    Args:
        wanted: as of RenderEngineVtkParams.

    Raises:
        RuntimeError: there is no such backend; or a display is wanted, and there is none.
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
        RuntimeError: OpenGL cannot be had here; the message says what to install.
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
    """What is wrong if a backend has no window, and what can be done about it."""
    if backend == "GLX":
        return (
            f"which cannot be had by GLX on the X display '{os.environ.get('DISPLAY', '')}'. Leave "
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
    """Whether the OpenGL context of a window is that of this thread, after it has been told so.

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
    """The first of some libraries that is there."""
    for library in libraries:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(library)
    return None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What VTK finds out on its way to a window is of no interest."""
    verbosity = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(verbosity)
