"""The window of VTK in which images are made, without a display if there is none.

On Linux that is EGL, by whichever driver is there, Mesa's software renderer among them; and if EGL is missing, OSMesa.
VTK itself crashes where their libraries are missing, so they are looked for first.
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

__all__ = ["BACKENDS", "is_current", "make_window", "usable_backend"]

_logger = logging.getLogger("merganser.geometry")

BACKENDS = ("", "EGL", "GLX", "Cocoa")
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
        wanted: one of BACKENDS.

    Raises:
        RuntimeError: it is none of them; or a display is wanted, and there is none.
    """
    if wanted not in BACKENDS:
        known = ", ".join(f"'{name}'" for name in BACKENDS)
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
        raise RuntimeError(
            f"Rendering needs OpenGL, and neither {backend} nor a software renderer works on this machine. "
            + (
                "Without a graphics card, Mesa does it: apt-get install libegl1 libgl1-mesa-dri (Debian, Ubuntu) or "
                "dnf install mesa-libEGL mesa-dri-drivers (Fedora)."
                if sys.platform == "linux"
                else "Update the graphics driver."
            )
        )
    return window


def is_current(window: Any) -> bool:
    """Whether the OpenGL context of a window is that of this thread, after it has been told so.

    If another library ends EGL for the whole process, as a second copy of VTK does with its last window, a context is
    lost; VTK does not notice, and EGL itself is asked.
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
