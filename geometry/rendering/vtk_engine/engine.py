"""RenderEngineVtk, its parameters, and the scene that it shares with its clones.

Clones show the same geometries at other places, mostly. So they share one scene, which shows the geometries of
whichever of them makes an image, and knows what it showed before: a new Context costs nothing here, and nothing is made
before the first image of its kind.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.framework.yaml import yaml_dump_typed
from merganser.geometry.images import ImageDepth32F, ImageLabel16I, ImageRgba8U, label_colors
from merganser.geometry.registration.colors import RenderLabel, Rgba
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.properties import PerceptionProperties
from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera
from merganser.geometry.rendering.mesh_parts import Surface
from merganser.geometry.rendering.parameters import (
    EnvironmentMap,
    EquirectangularMap,
    RenderEngineGlParams,
    RenderEngineVtkParams,
    SsaoParameter,
)
from merganser.geometry.rendering.render_engine import RenderEngine
from merganser.geometry.rendering.vtk_engine.color_stage import ColorStage, require_lights
from merganser.geometry.rendering.vtk_engine.measured_stage import MeasuredStage
from merganser.geometry.rendering.vtk_engine.stage import Visual, VisualPart, make_visual
from merganser.geometry.rendering.vtk_engine.window import (
    Canvas,
    Preview,
    can_show,
    leave_behind,
    usable_backend,
    warn_of_no_window,
)
from merganser.geometry.shapes import Shape


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


_PICTURES = (".hdr", ".png", ".jpg", ".jpeg")


def require_params(params: RenderEngineVtkParams) -> None:
    """Raises an error for parameters out of range.

    Raises:
        TypeError, ValueError: one has the wrong type or size.
        RuntimeError: one is out of its range; the picture of an environment map does not exist.
    """
    _require_color("default_clear_color", params.default_clear_color, 3)
    if params.default_diffuse is not None:
        _require_color("default_diffuse", params.default_diffuse, 4)
    require_lights(params.lights)
    if params.exposure is not None and not 0.0 < params.exposure < math.inf:
        raise RuntimeError(f"RenderEngineVtkParams.exposure must be positive and finite; given {params.exposure}.")
    if params.cast_shadows and not params.shadow_map_size > 0:
        raise RuntimeError(f"RenderEngineVtkParams.shadow_map_size must be positive; given {params.shadow_map_size}.")
    if params.environment_map is not None:
        _require_environment(params.environment_map)
    if params.ssao is not None:
        _require_ssao(params.ssao)


def _require_color(name: str, value: Any, size: int) -> None:
    color = np.asarray(value, dtype=np.float64)
    if color.shape != (size,):
        raise ValueError(f"RenderEngineVtkParams.{name} must be {size} numbers; given {value!r}.")
    if not ((color >= 0.0) & (color <= 1.0)).all():
        raise RuntimeError(f"RenderEngineVtkParams.{name} must be numbers from 0 to 1; given {color.tolist()}.")


def _require_environment(environment: EnvironmentMap) -> None:
    if not isinstance(environment, EnvironmentMap):
        raise TypeError(f"RenderEngineVtkParams.environment_map must be an EnvironmentMap; given {environment!r}.")
    texture = environment.texture
    if not isinstance(texture, EquirectangularMap):
        raise RuntimeError(
            "RenderEngineVtkParams.environment_map.texture must be an EquirectangularMap, got "
            f"{type(texture).__name__}."
        )
    path = Path(texture.path)
    if path.suffix.lower() not in _PICTURES or not path.is_file():
        problem = "does not exist" if path.suffix.lower() in _PICTURES else f"must be one of {', '.join(_PICTURES)}"
        raise RuntimeError(f"RenderEngineVtkParams.environment_map: the picture '{texture.path}' {problem}.")


def _require_ssao(ssao: SsaoParameter) -> None:
    if not isinstance(ssao, SsaoParameter):
        raise TypeError(f"RenderEngineVtkParams.ssao must be SsaoParameter; given {ssao!r}.")
    if not (ssao.radius > 0.0 and ssao.sample_count > 0 and ssao.bias >= 0.0):
        raise RuntimeError(
            "RenderEngineVtkParams.ssao needs a positive radius and sample_count, and a bias that is not negative; "
            f"given {ssao!r}."
        )


_MAX_LIGHTS_OF_GL = 5
_ORANGE = Rgba(0.9, 0.45, 0.1, 1.0)


class RenderEngineVtk(RenderEngine):
    """Makes images with VTK; see `MakeRenderEngineVtk`.

    Args:
        params: checked and copied.
    """

    def __init__(self, params: RenderEngineVtkParams) -> None:
        super().__init__()
        require_params(params)
        self._params = copy.deepcopy(params)
        self._visuals: dict[GeometryId, Visual] = {}
        self._X_WG: dict[GeometryId, NDArray[np.float64]] = {}
        self._X_WR = RigidTransform()
        self._default_light_position: NDArray[np.float64] | None = None
        self._scene = Scene(self._params, usable_backend(params.backend))

    # ------------------------------------------------------------------ geometries

    def default_render_label(self) -> RenderLabel:
        """kDontCare."""
        return RenderLabel.kDontCare

    def DoRegisterVisual(
        self, id: GeometryId, shape: Shape, properties: PerceptionProperties, X_WG: RigidTransform
    ) -> bool:
        """Takes every geometry.

        Raises:
            RuntimeError, TypeError, ValueError: its label or another property is not fit; its mesh cannot be read.
        """
        label = self.GetRenderLabelOrThrow(properties)
        default = self._params.default_diffuse
        color = _ORANGE if default is None else default
        self._visuals[id] = make_visual(f"Geometry {id!r}", shape, properties, label, color)
        self._X_WG[id] = X_WG.GetAsMatrix4()
        return True

    def DoUpdateVisualPose(self, id: GeometryId, X_WG: RigidTransform) -> None:
        """Moves a geometry."""
        self._X_WG[id] = X_WG.GetAsMatrix4()

    def DoRemoveGeometry(self, id: GeometryId) -> bool:
        """Forgets a geometry."""
        self._X_WG.pop(id, None)
        return self._visuals.pop(id, None) is not None

    def update_poses(self, rows: dict[GeometryId, int], X_WG: NDArray[np.float64]) -> None:
        """Moves all geometries that may move."""
        ids = list(self._moving)
        self._X_WG.update(zip(ids, X_WG[[rows[id] for id in ids]]))

    def update_surface(self, id: GeometryId, p_WV: NDArray[np.float64], triangles: NDArray[np.int64]) -> None:
        """Shows another surface of a geometry, in the same looks."""
        visual, vertices = self._visuals[id], p_WV.astype(np.float32)
        shown = visual.parts[0].surface
        if shown is None or not np.array_equal(shown.vertices, vertices):
            part = VisualPart(Surface(vertices, triangles), visual.parts[0].material)
            self._visuals[id] = Visual(visual.shape, visual.label, (part,))
            self._X_WG[id] = np.eye(4)

    def DoClone(self) -> RenderEngineVtk:
        """An engine of the same geometries, which shares everything with this one that is costly."""
        clone = object.__new__(type(self))
        vars(clone).update(vars(self))
        clone._visuals, clone._X_WG = dict(self._visuals), dict(self._X_WG)
        return clone

    # ------------------------------------------------------------------ images

    def UpdateViewpoint(self, X_WR: RigidTransform) -> None:
        """Places the sensor frame."""
        self._X_WR = RigidTransform(X_WR)

    def SetDefaultLightPosition(self, X_DL: ArrayLike) -> None:
        """Moves the default light."""
        self._default_light_position = np.array(X_DL, dtype=np.float64).reshape(3)

    def DoRenderColorImage(self, camera: ColorRenderCamera, color_image_out: ImageRgba8U) -> None:
        """Fills in a color image."""
        self._scene.color_image(self._view(), camera, color_image_out.mutable_data)

    def DoRenderDepthImage(self, camera: DepthRenderCamera, depth_image_out: ImageDepth32F) -> None:
        """Fills in a depth image."""
        self._scene.depth_image(self._view(), camera, depth_image_out.mutable_data[:, :, 0])

    def DoRenderLabelImage(self, camera: ColorRenderCamera, label_image_out: ImageLabel16I) -> None:
        """Fills in a label image."""
        self._scene.label_image(self._view(), camera, label_image_out.mutable_data[:, :, 0])

    def _view(self) -> View:
        return View(self._visuals, self._X_WG, self._X_WR, self._default_light_position)

    # ------------------------------------------------------------------ type, parameters, files

    def type_name(self) -> str:
        """The name of pydrake's engine."""
        return "drake::geometry::render_vtk::internal::RenderEngineVtk"

    def DoGetParameterYaml(self) -> str:
        """The parameters with which this was made."""
        text = yaml_dump_typed(self._params, child_name="RenderEngineVtkParams")
        assert text is not None
        return text

    def __copy__(self) -> RenderEngine:
        return self.Clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> RenderEngine:
        return self.Clone()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_scene"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scene = Scene(self._params, usable_backend(self._params.backend))


class RenderEngineGl(RenderEngineVtk):
    """Makes images with VTK, with the parameters of another engine; see `MakeRenderEngineGl`.

    Args:
        params: checked and copied.
    """

    def __init__(self, params: RenderEngineGlParams) -> None:
        if len(params.lights) > _MAX_LIGHTS_OF_GL:
            raise RuntimeError(
                f"RenderEngineGlParams.lights may be {_MAX_LIGHTS_OF_GL} at most; given {len(params.lights)}."
            )
        super().__init__(
            RenderEngineVtkParams(
                default_diffuse=params.default_diffuse.rgba,
                default_clear_color=params.default_clear_color.rgba[:3],
                lights=params.lights,
                cast_shadows=params.cast_shadows,
                shadow_map_size=params.shadow_map_size,
            )
        )
        self._gl_params = copy.deepcopy(params)

    def type_name(self) -> str:
        """The name of pydrake's engine."""
        return "drake::geometry::render_gl::internal::RenderEngineGl"

    def DoGetParameterYaml(self) -> str:
        """The parameters with which this was made."""
        text = yaml_dump_typed(self._gl_params, child_name="RenderEngineGlParams")
        assert text is not None
        return text
