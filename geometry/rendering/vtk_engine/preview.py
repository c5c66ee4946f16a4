"""Previews: windows on the screen that show images, for cameras with `show_window`."""

from __future__ import annotations

import logging

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkRenderingCore import vtkActor2D, vtkImageMapper, vtkRenderer

from merganser.geometry.rendering.vtk_engine.window import make_window

__all__ = ["Preview", "can_show", "warn_of_no_window"]

_logger = logging.getLogger("merganser.geometry")
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
