"""The render engines of a SceneGraph: which geometries they know, and images of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.registration.ids import WORLD_FRAME_ID, GeometryId
from merganser.geometry.registration.properties import PerceptionProperties, Role

if TYPE_CHECKING:
    from merganser.geometry.rendering.render_engine import RenderEngine
    from merganser.geometry.scene.geometry_state import Geometry


class Renderers:
    """Render engines by name. Copies have clones of the engines.

    Every engine is offered all geometries of the perception role, save those whose property
    `('renderer', 'accepting')`, a set of names or one name, does not have its name.
    """

    def __init__(self) -> None:
        self._engines: dict[str, RenderEngine] = {}

    def __len__(self) -> int:
        return len(self._engines)

    def has(self, name: str) -> bool:
        """Whether there is an engine of this name."""
        return name in self._engines

    def type_name(self, name: str) -> str:
        """The name of the engine's type; empty if no engine has this name."""
        engine = self._engines.get(name)
        return "" if engine is None else engine.type_name()

    def parameter_yaml(self, name: str) -> str:
        """The engine's parameters; empty if no engine has this name."""
        engine = self._engines.get(name)
        return "" if engine is None else engine.GetParameterYaml()

    def engine(self, name: str) -> RenderEngine:
        """The engine of this name.

        Raises:
            RuntimeError: no engine has this name.
        """
        if name not in self._engines:
            known = ", ".join(f"'{known}'" for known in self._engines) or "none"
            raise RuntimeError(
                f"There is no renderer named '{name}' in this SceneGraph; its renderers: {known}. Add one with "
                "scene_graph.AddRenderer(name, MakeRenderEngineVtk(RenderEngineVtkParams()))."
            )
        return self._engines[name]

    def add(self, name: str, engine: Any, geometries: Iterable[Geometry]) -> bool:
        """Adds a clone of an engine, and offers it geometries.

        Returns:
            Whether it has taken any of them.

        Raises:
            TypeError: this is no engine, or the name no string.
            RuntimeError: there is one of this name; or a geometry is not fit for the engine.
        """
        from merganser.geometry.rendering.render_engine import RenderEngine

        if not isinstance(name, str) or not isinstance(engine, RenderEngine):
            raise TypeError(f"AddRenderer() takes a name and a RenderEngine; given {name!r} and {engine!r}.")
        if name in self._engines:
            raise RuntimeError(f"AddRenderer(): there is a renderer named '{name}' already; names must be unique.")
        clone = engine.Clone()
        taken = [_offer(clone, name, geometry) for geometry in geometries]
        self._engines[name] = clone
        return any(taken)

    def remove(self, name: str) -> None:
        """Removes the engine of this name.

        Raises:
            RuntimeError: no engine has this name.
        """
        self.engine(name)
        del self._engines[name]

    def register(self, geometry: Geometry) -> None:
        """Offers a geometry to all engines; if one of them raises an error, none has it."""
        try:
            for name, engine in self._engines.items():
                _offer(engine, name, geometry)
        except BaseException:
            self.forget(geometry.id)
            raise

    def replace(self, old: Geometry, new: Geometry) -> None:
        """Offers a geometry to all engines in place of another one with its id; if one raises an error, all keep it."""
        self.forget(old.id)
        try:
            self.register(new)
        except BaseException:
            self.register(old)
            raise

    def forget(self, id: GeometryId) -> None:
        """Takes a geometry from all engines that have it."""
        for engine in self._engines.values():
            if engine.has_geometry(id):
                engine.RemoveGeometry(id)

    def with_geometries(self, geometries: Iterable[Geometry]) -> Renderers:
        """The same engines with other geometries."""
        geometries = list(geometries)
        others = Renderers()
        for name, engine in self._engines.items():
            clone = engine.Clone()
            for id in clone.geometry_ids():
                clone.RemoveGeometry(id)
            others.add(name, clone, geometries)
        return others

    def __deepcopy__(self, memo: dict[int, Any]) -> Renderers:
        others = Renderers()
        others._engines = {name: engine.Clone() for name, engine in self._engines.items()}
        return others

    def __copy__(self) -> Renderers:
        return copy.deepcopy(self)


def _offer(engine: RenderEngine, name: str, geometry: Geometry) -> bool:
    """Offers a geometry to an engine of this name, if it may have it, and returns whether it takes it."""
    properties = geometry.properties[Role.kPerception]
    assert isinstance(properties, PerceptionProperties)
    accepting = properties.GetPropertyOrDefault("renderer", "accepting", "")
    names = ({accepting} if accepting else set()) if isinstance(accepting, str) else set(accepting)
    if names and name not in names:
        return False
    may_move = geometry.frame_id != WORLD_FRAME_ID
    try:
        return engine.RegisterVisual(geometry.id, geometry.shape, properties, geometry.X_FG, may_move)
    except (RuntimeError, TypeError, ValueError) as error:
        problem = f"Renderer '{name}' cannot take geometry '{geometry.name}'. {error}"
        raise type(error)(problem) from error


def render(source: Any, kind: str, camera: Any, parent_frame: Any, X_PC: Any) -> Any:
    """Returns an image of what a QueryObject asks about.

    Args:
        source: of the QueryObject.
        kind: "Color", "Depth" or "Label".
        camera: a ColorRenderCamera, or a DepthRenderCamera for depth images.
        parent_frame: the frame P to which the camera is fixed.
        X_PC: pose of the camera's body in P.

    Raises:
        TypeError: an argument has the wrong type.
        RuntimeError: there is no such frame or renderer; the poses of frames are not known; images cannot be made.
    """
    from merganser.geometry.images import ImageDepth32F, ImageLabel16I, ImageRgba8U
    from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera

    kinds: dict[str, tuple[Any, Any]] = {
        "Color": (ColorRenderCamera, ImageRgba8U),
        "Depth": (DepthRenderCamera, ImageDepth32F),
        "Label": (ColorRenderCamera, ImageLabel16I),
    }
    expected, pixels = kinds[kind]
    caller = f"Render{kind}Image"
    if not isinstance(camera, expected) or not isinstance(X_PC, RigidTransform):
        raise TypeError(
            f"{caller}() takes a {expected.__name__}, a FrameId and a RigidTransform; given {camera!r}, "
            f"{parent_frame!r} and {X_PC!r}."
        )
    core = camera.core()
    engine = source.state().renderers.engine(core.renderer_name())
    poses = source.poses()
    row = poses.layout.frame_rows.get(parent_frame)
    if row is None:
        source.state().frame(parent_frame)  # raises the error about it
    X_WR = _floats(poses.X_WF[row]) @ _floats(X_PC.GetAsMatrix4()) @ core.sensor_pose_in_camera_body().GetAsMatrix4()
    info = core.intrinsics()
    image: Any = pixels(info.width(), info.height())
    engine.update_poses(poses.layout.geometry_rows, _floats(poses.X_WG))
    _update_surfaces(engine, source)
    engine.UpdateViewpoint(RigidTransform.MakeUnchecked(X_WR[:3]))
    getattr(engine, caller)(camera, image)
    return image


def _update_surfaces(engine: RenderEngine, source: Any) -> None:
    """Gives an engine the surfaces of deformable geometries."""
    for id in engine.geometry_ids():
        mesh = source.state().geometry(id).reference_mesh
        if mesh is not None:
            engine.update_surface(id, _floats(source.configuration(id)).reshape(-1, 3), boundary_triangles(mesh))


def _floats(X: Any) -> Any:
    return X.astype(np.float64) if X.dtype == object else X
