"""Scenes with cameras, for tests of render engines and sensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.geometry import (
    Box,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    MakeRenderEngineVtk,
    PerceptionProperties,
    QueryObject,
    RenderCameraCore,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
    SceneGraph,
    Shape,
    Sphere,
)
from merganser.geometry.sensors import CameraInfo

Array = np.ndarray[Any, Any]
WORLD = SceneGraph.world_frame_id()
INFO = CameraInfo(65, 49, 1.0)  # with a pixel in the middle
SKY = [204, 229, 255, 255]
EMPTY = int(RenderLabel.kEmpty)
AHEAD = RigidTransform([0.0, 0.0, 2.0])


@cache
def _why_not() -> str:
    """Why images cannot be made here; empty if they can."""
    pytest.importorskip("vtkmodules", reason="the extra `render` is not installed")
    scene = RenderedScene()
    try:
        scene.labels(CameraInfo(8, 8, 1.0))
    except RuntimeError as error:
        if "Rendering needs OpenGL" not in str(error):
            raise
        return str(error)
    return ""


def need_renderer() -> None:
    """Skips the tests of a module where VTK is missing, or OpenGL."""
    if _why_not():
        pytest.skip(_why_not(), allow_module_level=True)


def middle(image: Array) -> Any:
    return image[image.shape[0] // 2, image.shape[1] // 2].tolist()


def random_pose(rng: np.random.Generator, spread: float = 1.0) -> RigidTransform:
    return RigidTransform(RollPitchYaw(rng.uniform(-np.pi, np.pi, 3)), spread * rng.normal(size=3))


def looking_at(p_WT: Any, p_WC: Any, up: Any = (0.0, 0.0, 1.0)) -> RigidTransform:
    """The pose X_WC of a camera at C that looks at T."""
    z = np.asarray(p_WT, float) - p_WC
    z /= np.linalg.norm(z)
    x = np.cross(z, up)
    x /= np.linalg.norm(x)
    return RigidTransform(RotationMatrix(np.column_stack([x, np.cross(z, x), z])), p_WC)


def properties(label: RenderLabel | int | None = None, color: Any = None, texture: Any = None) -> PerceptionProperties:
    made = PerceptionProperties()
    if label is not None:
        made.AddProperty("label", "id", label if isinstance(label, RenderLabel) else RenderLabel(label))
    if color is not None:
        made.AddProperty("phong", "diffuse", Rgba(*color))
    if texture is not None:
        made.AddProperty("phong", "diffuse_map", str(texture))
    return made


def _core(info: CameraInfo, near: float, far: float, renderer: str) -> RenderCameraCore:
    return RenderCameraCore(renderer, info, ClippingRange(near, far), RigidTransform())


def color_camera(info: CameraInfo, near: float = 0.01, far: float = 10.0, renderer: str = "r") -> ColorRenderCamera:
    return ColorRenderCamera(_core(info, near, far, renderer))


def depth_camera(
    info: CameraInfo,
    near: float = 0.01,
    far: float = 10.0,
    depths: tuple[float, float] | None = None,
    renderer: str = "r",
) -> DepthRenderCamera:
    return DepthRenderCamera(_core(info, near, far, renderer), DepthRange(*(depths or (near, far))))


@dataclass
class RenderedScene:
    """A SceneGraph with a renderer 'r', and a source with a frame that moves."""

    params: RenderEngineVtkParams = field(default_factory=RenderEngineVtkParams)
    graph: SceneGraph = field(default_factory=SceneGraph)

    def __post_init__(self) -> None:
        self.graph.AddRenderer("r", MakeRenderEngineVtk(self.params))
        self.source = self.graph.RegisterSource("source")
        self.frame: FrameId = self.graph.RegisterFrame(self.source, GeometryFrame("frame"))
        self._context: Any = None

    def add(
        self,
        shape: Shape | None = None,
        X_FG: RigidTransform | None = None,
        look: PerceptionProperties | None = None,
        moves: bool = False,
    ) -> GeometryId:
        """Adds a geometry to the world, or to the frame that moves."""
        name = f"g{GeometryId.get_new_id().get_value()}"
        instance = GeometryInstance(X_FG or RigidTransform(), shape or Sphere(0.1), name)
        instance.set_perception_properties(look or properties(1))
        self._context = None
        return self.graph.RegisterGeometry(self.source, self.frame if moves else WORLD, instance)

    @property
    def context(self) -> Any:
        """Made when it is first asked for."""
        if self._context is None:
            self._context = self.new_context()
        return self._context

    def new_context(self, X_WF: RigidTransform | None = None) -> Any:
        context = self.graph.CreateDefaultContext()
        self.move(context, X_WF or RigidTransform())
        return context

    def move(self, context: Any, X_WF: RigidTransform) -> None:
        poses = FramePoseVector()
        poses.set_value(self.frame, X_WF)
        self.graph.get_source_pose_port(self.source).FixValue(context, poses)

    def query(self, context: Any = None) -> QueryObject:
        query: QueryObject = self.graph.get_query_output_port().Eval(context or self.context)
        return query

    def colors(self, info: CameraInfo, X_WC: RigidTransform | None = None, context: Any = None, **camera: Any) -> Array:
        image = self.query(context).RenderColorImage(color_camera(info, **camera), WORLD, X_WC or RigidTransform())
        return image.data

    def depths(self, info: CameraInfo, X_WC: RigidTransform | None = None, context: Any = None, **camera: Any) -> Array:
        image = self.query(context).RenderDepthImage(depth_camera(info, **camera), WORLD, X_WC or RigidTransform())
        return image.data[:, :, 0]

    def labels(self, info: CameraInfo, X_WC: RigidTransform | None = None, context: Any = None, **camera: Any) -> Array:
        image = self.query(context).RenderLabelImage(color_camera(info, **camera), WORLD, X_WC or RigidTransform())
        return image.data[:, :, 0]


def moving_scene() -> RenderedScene:
    """A ball and a box that move before a wall."""
    scene = RenderedScene()
    scene.add(Sphere(0.3), RigidTransform([0.0, 0.0, 2.0]), properties(1, (1.0, 0.5, 0.0)), moves=True)
    scene.add(Box(0.4, 0.2, 0.3), RigidTransform([0.4, 0.3, 2.0]), properties(2), moves=True)
    scene.add(Box(3.0, 3.0, 0.1), RigidTransform([0.0, 0.0, 3.0]), properties(3, (0.3, 0.3, 0.3)))
    return scene


def images_of(scene: RenderedScene, context: Any = None, info: CameraInfo | None = None) -> list[Array]:
    """Colors, depths and labels."""
    size = info or CameraInfo(65, 49, 1.0)
    return [f(size, context=context).copy() for f in (scene.colors, scene.depths, scene.labels)]
