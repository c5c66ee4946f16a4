"""Scene: what VTK has of the geometries of an engine and its clones.

Clones show the same geometries at other places, mostly. So they share one scene, which shows the geometries of
whichever of them makes an image, and knows what it showed before: a new Context costs nothing here, and nothing is made
before the first image of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry.images import label_colors
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera
from merganser.geometry.rendering.parameters import RenderEngineVtkParams
from merganser.geometry.rendering.vtk_engine.color_stage import ColorStage
from merganser.geometry.rendering.vtk_engine.measured_stage import MeasuredStage
from merganser.geometry.rendering.vtk_engine.stage import Visual
from merganser.geometry.rendering.vtk_engine.window import Canvas, Preview, can_show, leave_behind, warn_of_no_window


@dataclass(frozen=True, slots=True)
class View:
    """The geometries to draw, and the viewpoint.

    Attributes:
        visuals: by geometry.
        X_WG: the pose of each geometry in the world, shape [4, 4].
        X_WR: the pose of the sensor frame in the world.
        default_light_position: see `RenderEngine.SetDefaultLightPosition`; None where the light usually is.
    """

    visuals: dict[GeometryId, Visual]
    X_WG: dict[GeometryId, NDArray[np.float64]]
    X_WR: RigidTransform
    default_light_position: NDArray[np.float64] | None = None


class Scene:
    """Images of views; one at a time in the whole process, see `Canvas`.

    Args:
        params: of the engine.
        backend: from `usable_backend`.
    """

    _canvas: Canvas | None = None

    def __init__(self, params: RenderEngineVtkParams, backend: str) -> None:
        self._params, self._backend = params, backend
        self._color: ColorStage | None = None
        self._measured: MeasuredStage | None = None
        self._previews: dict[str, Preview] = {}

    def color_image(self, view: View, camera: ColorRenderCamera, out: NDArray[np.uint8]) -> None:
        """Fills in red, green, blue and opacity, shape [height, width, 4]."""

        def draw(canvas: Canvas) -> None:
            color = self._color_stage(canvas, view.visuals)
            color.stage.show(view.visuals, view.X_WG)
            color.move_default_light(view.default_light_position)
            out[...] = color.color_image(canvas, camera.core(), view.X_WR)
            if camera.show_window():
                self._show("color", camera.core().renderer_name(), out)

        Canvas.use(self._backend, draw)

    def depth_image(self, view: View, camera: DepthRenderCamera, out: NDArray[np.float32]) -> None:
        """Fills in depths [m], shape [height, width]."""

        def draw(canvas: Canvas) -> None:
            measured = self._measured_stage(canvas)
            measured.stage.show(view.visuals, view.X_WG)
            measured.depth_image(canvas, camera.core(), camera.depth_range(), view.X_WR, out)

        Canvas.use(self._backend, draw)

    def label_image(self, view: View, camera: ColorRenderCamera, out: NDArray[np.int16]) -> None:
        """Fills in labels, shape [height, width]."""

        def draw(canvas: Canvas) -> None:
            measured = self._measured_stage(canvas)
            measured.stage.show(view.visuals, view.X_WG)
            measured.label_image(canvas, camera.core(), view.X_WR, out)
            if camera.show_window():
                self._show("label", camera.core().renderer_name(), label_colors(out))

        Canvas.use(self._backend, draw)

    def _color_stage(self, canvas: Canvas, visuals: dict[GeometryId, Visual]) -> ColorStage:
        params = self._params
        is_physical = (
            params.environment_map is not None
            or params.force_to_pbr
            or any(visual.is_physical() for visual in visuals.values())
        )
        self._canvas = canvas
        if self._color is None or self._color.is_physical != is_physical:
            if self._color is not None:
                leave_behind(canvas, [self._color.stage.renderer], [])
            self._color = ColorStage(params, is_physical)
            canvas.add(self._color.stage.renderer)
        return self._color

    def _measured_stage(self, canvas: Canvas) -> MeasuredStage:
        self._canvas = canvas
        if self._measured is None:
            self._measured = MeasuredStage()
            canvas.add(self._measured.stage.renderer)
        return self._measured

    def _show(self, kind: str, renderer_name: str, pixels: NDArray[np.uint8]) -> None:
        if not can_show(self._backend):
            warn_of_no_window(renderer_name)
            return
        title = f"{renderer_name}: {kind}"
        if title not in self._previews:
            self._previews[title] = Preview(self._backend, title)
        self._previews[title].show(pixels)

    def __del__(self) -> None:
        if self._canvas is not None:
            stages = [stage for stage in (self._color, self._measured) if stage is not None]
            renderers = [stage.stage.renderer for stage in stages]
            leave_behind(self._canvas, renderers, list(self._previews.values()))
