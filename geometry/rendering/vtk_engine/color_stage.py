"""Color images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.vtkRenderingCore import vtkActor
from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLPolyDataMapper

from merganser.framework.math import RigidTransform
from merganser.geometry.rendering.cameras import RenderCameraCore
from merganser.geometry.rendering.parameters import LightParameter, RenderEngineVtkParams
from merganser.geometry.rendering.vtk_engine.camera import aim
from merganser.geometry.rendering.vtk_engine.canvas import Canvas
from merganser.geometry.rendering.vtk_engine.lights import add_lights
from merganser.geometry.rendering.vtk_engine.materials import paint
from merganser.geometry.rendering.vtk_engine.passes import set_environment, set_passes
from merganser.geometry.rendering.vtk_engine.primitives import primitive
from merganser.geometry.rendering.vtk_engine.stage import Stage
from merganser.geometry.rendering.vtk_engine.triangles import surface_data, surface_data_with_tangents
from merganser.geometry.rendering.vtk_engine.visuals import Visual

__all__ = ["ColorStage"]

_AT_CAMERA = np.array([0.0, 0.0, 1.0])


class ColorStage:
    """Shows visuals to color cameras.

    Args:
        params: of the engine.
        is_physical: whether all materials reflect as physics has it.

    Attributes:
        is_physical: the same.
    """

    def __init__(self, params: RenderEngineVtkParams, is_physical: bool) -> None:
        self.is_physical = is_physical
        self._casts_shadows = params.cast_shadows
        self.stage = Stage(self._make_actors)
        renderer = self.stage.renderer
        renderer.SetBackground(np.asarray(params.default_clear_color, np.float64))
        renderer.SetBackgroundAlpha(1.0)
        lights = params.lights
        if not lights and params.environment_map is None:
            lights = [LightParameter()]
        added = add_lights(renderer, lights)
        self._default_light = None if lights is params.lights else added[0]
        if params.environment_map is not None:
            set_environment(renderer, params.environment_map)
        set_passes(renderer, params)

    def move_default_light(self, position: NDArray[np.float64] | None) -> None:
        """Moves the light that there is if no others are defined, see `RenderEngine.SetDefaultLightPosition`."""
        if self._default_light is not None:
            self._default_light.SetPosition(_AT_CAMERA if position is None else position)

    def color_image(self, canvas: Canvas, core: RenderCameraCore, X_WR: RigidTransform) -> NDArray[np.uint8]:
        """Red, green, blue and opacity, shape [height, width, 4]; to be copied, as the next image overwrites it."""
        width, height = core.intrinsics().width(), core.intrinsics().height()
        # VTK's shadows are where they belong in square images only.
        size = (max(width, height),) * 2 if self._casts_shadows else (width, height)
        aim(self.stage.renderer.GetActiveCamera(), core, X_WR, size)
        return canvas.draw(self.stage.renderer, *size)[size[1] - height :, :width]

    def _make_actors(self, visual: Visual) -> list[Any]:
        actors = []
        for part in visual.parts:
            surface = primitive(visual.shape) if part.surface is None else part.surface
            needs_tangents = self.is_physical and part.material.normal_texture is not None
            mapper = vtkOpenGLPolyDataMapper()
            mapper.SetInputData(surface_data_with_tangents(surface) if needs_tangents else surface_data(surface))
            mapper.ScalarVisibilityOff()
            actor = vtkActor()
            actor.SetMapper(mapper)
            paint(actor, surface, part.material, self.is_physical)
            actors.append(actor)
        return actors
