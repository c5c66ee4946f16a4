"""RenderEngine: what makes images of geometries, base of engines, also of those that users write; which engines there
are.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry.images import AnyImage, ImageDepth32F, ImageLabel16I, ImageRgba8U
from merganser.geometry.registration.colors import RenderLabel
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.properties import PerceptionProperties
from merganser.geometry.rendering.cameras import CameraInfo, ColorRenderCamera, DepthRenderCamera
from merganser.geometry.rendering.parameters import (
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
)
from merganser.geometry.shapes import Shape


class RenderEngine:
    """Knows geometries and makes images of them.

    A SceneGraph registers geometries of the perception role, and sets their poses and the camera's before each
    image; each of its Contexts has engines of its own, made by `Clone()`. A derived engine overrides these hooks:

        UpdateViewpoint(X_WR)                               the pose of the sensor frame from now on, with +z in viewing
                                                            direction and +y downwards in the image
        DoRegisterVisual(id, shape, properties, X_WG)       returns whether the engine takes the geometry
        DoUpdateVisualPose(id, X_WG)                        of a geometry that it has taken and that may move
        DoRemoveGeometry(id)                                returns whether there was one
        DoClone()                                           by default a deep copy
        DoRenderColorImage(camera, color_image_out)         and for depth and label images: fill in the image, which has
                                                            the size of the camera's; only those that are used
        DoGetParameterYaml()                                if it has parameters

    A hook that is called and has not been written raises a NotImplementedError.
    """

    _moving: set[GeometryId]
    _still: set[GeometryId]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        engine = super().__new__(cls)
        engine._moving, engine._still = set(), set()
        return engine

    def __init__(self) -> None:
        """Takes no arguments."""

    # ------------------------------------------------------------------ geometries

    def RegisterVisual(
        self,
        id: GeometryId,
        shape: Shape,
        properties: PerceptionProperties,
        X_WG: RigidTransform,
        needs_updates: bool = True,
    ) -> bool:
        """Offers a geometry G to the engine.

        Args:
            id: of the geometry.
            shape: of the geometry.
            properties: what it looks like.
            X_WG: its pose in the world.
            needs_updates: whether its pose may change.

        Returns:
            Whether the engine takes it.

        Raises:
            RuntimeError: the engine has the geometry already, or does not take one with this label.
        """
        if self.has_geometry(id):
            raise RuntimeError(f"RegisterVisual(): this {type(self).__name__} has geometry {id!r} already.")
        accepted = bool(self.DoRegisterVisual(id, shape, properties, X_WG))
        if accepted:
            (self._moving if needs_updates else self._still).add(id)
        return accepted

    def RemoveGeometry(self, id: GeometryId) -> bool:
        """Removes a geometry from the engine; returns whether it had it."""
        removed = bool(self.DoRemoveGeometry(id))
        self._moving.discard(id)
        self._still.discard(id)
        return removed

    def has_geometry(self, id: GeometryId) -> bool:
        """Whether the engine has taken a geometry."""
        return id in self._moving or id in self._still

    def geometry_ids(self) -> list[GeometryId]:
        """The geometries that the engine has taken, by ascending id."""
        return sorted([*self._moving, *self._still])

    def update_poses(self, rows: dict[GeometryId, int], X_WG: NDArray[np.float64]) -> None:
        """Sets the poses of the geometries; called before each image.

        Args:
            rows: of geometries in X_WG.
            X_WG: poses of all geometries of the SceneGraph in the world, shape [num_geometries, 4, 4]; to be copied.
        """
        for id in sorted(self._moving):
            self.DoUpdateVisualPose(id, RigidTransform.MakeUnchecked(X_WG[rows[id], :3].copy()))

    def update_surface(self, id: GeometryId, p_WV: NDArray[np.float64], triangles: NDArray[np.int64]) -> None:
        """Sets the vertices of a deformable geometry; called before each image.

        Engines that do not know this show the geometry at rest.

        Args:
            id: of the geometry.
            p_WV: vertices of its mesh in the world [m], shape [n, 3]; to be copied.
            triangles: of its surface, counterclockwise seen from outside, shape [m, 3].
        """

    # ------------------------------------------------------------------ images

    def UpdateViewpoint(self, X_WR: RigidTransform) -> None:
        """Places the sensor frame R, from which the next images are made, in the world."""
        raise self._lacks("UpdateViewpoint")

    def RenderColorImage(self, camera: ColorRenderCamera, color_image_out: ImageRgba8U) -> None:
        """Fills in a color image.

        Raises:
            RuntimeError: the image has another size than the camera's.
            TypeError: it is an image of other pixels, or the camera is another one.
        """
        _require_camera("RenderColorImage", ColorRenderCamera, camera)
        _require_image(camera.core().intrinsics(), color_image_out, ImageRgba8U, "color")
        self.DoRenderColorImage(camera, color_image_out)

    def RenderDepthImage(self, camera: DepthRenderCamera, depth_image_out: ImageDepth32F) -> None:
        """Fills in a depth image; raises as `RenderColorImage` does."""
        _require_camera("RenderDepthImage", DepthRenderCamera, camera)
        _require_image(camera.core().intrinsics(), depth_image_out, ImageDepth32F, "depth")
        self.DoRenderDepthImage(camera, depth_image_out)

    def RenderLabelImage(self, camera: ColorRenderCamera, label_image_out: ImageLabel16I) -> None:
        """Fills in a label image; raises as `RenderColorImage` does."""
        _require_camera("RenderLabelImage", ColorRenderCamera, camera)
        _require_image(camera.core().intrinsics(), label_image_out, ImageLabel16I, "label")
        self.DoRenderLabelImage(camera, label_image_out)

    def SetDefaultLightPosition(self, X_DL: ArrayLike) -> None:
        """Moves the default light, used if no others are defined; of no effect in engines without one.

        Args:
            X_DL: position in a frame D in which the camera is at [0, 0, 1] and looks at [0, 0, 0], with y upwards;
                shape [3].
        """

    @staticmethod
    def ThrowIfInvalid(intrinsics: CameraInfo, image: AnyImage, image_type: str) -> None:
        """Does nothing if an image has the size of a camera's.

        Args:
            intrinsics: of the camera.
            image: the image.
            image_type: what messages call it: "color", "depth" or "label".

        Raises:
            RuntimeError: it has another size.
        """
        if (image.width(), image.height()) != (intrinsics.width(), intrinsics.height()):
            raise RuntimeError(
                f"The {image_type} image has {image.width()} x {image.height()} pixels; its camera makes "
                f"{intrinsics.width()} x {intrinsics.height()}."
            )

    # ------------------------------------------------------------------ labels, copies, parameters

    def default_render_label(self) -> RenderLabel:
        """The label of geometries that have none; if it is kUnspecified, each must have one."""
        return RenderLabel.kUnspecified

    def GetRenderLabelOrThrow(self, properties: PerceptionProperties) -> RenderLabel:
        """Returns the label of a geometry: its property `('label', 'id')`, or else the default.

        Raises:
            RuntimeError: it is kUnspecified or kEmpty, which no geometry may have.
            TypeError: the property is no RenderLabel.
        """
        label = properties.GetPropertyOrDefault("label", "id", self.default_render_label())
        if not isinstance(label, RenderLabel):
            raise TypeError(f"The property ('label', 'id') must be a RenderLabel; given {label!r}.")
        if label in (RenderLabel.kUnspecified, RenderLabel.kEmpty):
            raise RuntimeError(
                f"A geometry that is to be seen cannot have the label {label!r}. Give it a property ('label', 'id') "
                "with another RenderLabel, such as RenderLabel.kDontCare."
            )
        return label

    def Clone(self) -> RenderEngine:
        """Returns an engine of the same type with the same geometries.

        Raises:
            RuntimeError: DoClone() makes something else.
        """
        clone = self.DoClone()
        if type(clone) is not type(self):
            raise RuntimeError(
                f"{type(self).__name__}.DoClone() must return another {type(self).__name__}; it returned {clone!r}."
            )
        clone._moving, clone._still = set(self._moving), set(self._still)
        return clone

    def type_name(self) -> str:
        """The name of the engine's type, as `SceneGraph.GetRendererTypeName` returns it."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def GetParameterYaml(self) -> str:
        """Returns the engine's parameters as a YAML document, below their type."""
        return self.DoGetParameterYaml()

    # ------------------------------------------------------------------ hooks

    def DoRegisterVisual(
        self, id: GeometryId, shape: Shape, properties: PerceptionProperties, X_WG: RigidTransform
    ) -> bool:
        """See the class."""
        raise self._lacks("DoRegisterVisual")

    def DoUpdateVisualPose(self, id: GeometryId, X_WG: RigidTransform) -> None:
        """See the class."""
        raise self._lacks("DoUpdateVisualPose")

    def DoRemoveGeometry(self, id: GeometryId) -> bool:
        """See the class."""
        raise self._lacks("DoRemoveGeometry")

    def DoClone(self) -> RenderEngine:
        """See the class."""
        return copy.deepcopy(self)

    def DoRenderColorImage(self, camera: ColorRenderCamera, color_image_out: ImageRgba8U) -> None:
        """See the class."""
        raise self._lacks("DoRenderColorImage")

    def DoRenderDepthImage(self, camera: DepthRenderCamera, depth_image_out: ImageDepth32F) -> None:
        """See the class."""
        raise self._lacks("DoRenderDepthImage")

    def DoRenderLabelImage(self, camera: ColorRenderCamera, label_image_out: ImageLabel16I) -> None:
        """See the class."""
        raise self._lacks("DoRenderLabelImage")

    def DoGetParameterYaml(self) -> str:
        """See the class."""
        return "UnknownRenderEngine: {}"

    def _lacks(self, hook: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {hook}(). Write it in the class; see RenderEngine for its arguments."
        )


def _require_camera(caller: str, expected: type[Any], camera: Any) -> None:
    if not isinstance(camera, expected):
        raise TypeError(f"{caller}() takes a {expected.__name__}; given {camera!r}.")


def _require_image(intrinsics: CameraInfo, image: Any, expected: type[AnyImage], image_type: str) -> None:
    if not isinstance(image, expected):
        raise TypeError(f"A {image_type} image is an {expected.__name__}; given {image!r}.")
    RenderEngine.ThrowIfInvalid(intrinsics, image, image_type)


kHasRenderEngineVtk = True
kHasRenderEngineGl = True
kHasRenderEngineGltfClient = False


def MakeRenderEngineVtk(params: RenderEngineVtkParams) -> RenderEngine:
    """Returns an engine that makes images with VTK, off the screen; a display or a graphics card is not needed.

    It takes all geometries, and reads these of their perception properties:

    | group | name | type | |
    |---|---|---|---|
    | `phong` | `diffuse` | Rgba | color; orange by default |
    | `phong` | `diffuse_map` | name of a file | texture |
    | `label` | `id` | RenderLabel | kDontCare by default |

    Meshes look as their own materials say, if they have some. Depths and labels of spheres, ellipsoids, cylinders,
    capsules and cones are exact.

    Args:
        params: copied.

    Raises:
        ImportError: VTK is missing.
        RuntimeError: a parameter is out of its range.
    """
    if not isinstance(params, RenderEngineVtkParams):
        raise TypeError(f"MakeRenderEngineVtk() takes RenderEngineVtkParams; given {params!r}.")
    _require_vtk()
    from merganser.geometry.rendering.vtk_engine.engine import RenderEngineVtk

    return RenderEngineVtk(params)


def MakeRenderEngineGl(params: RenderEngineGlParams | None = None) -> RenderEngine:
    """Returns an engine with the parameters of pydrake's OpenGL engine; it makes images as `MakeRenderEngineVtk` does.

    Args:
        params: copied; the defaults if None.

    Raises:
        ImportError: VTK is missing.
        RuntimeError: a parameter is out of its range; there are more than five lights.
    """
    params = RenderEngineGlParams() if params is None else params
    if not isinstance(params, RenderEngineGlParams):
        raise TypeError(f"MakeRenderEngineGl() takes RenderEngineGlParams; given {params!r}.")
    _require_vtk()
    from merganser.geometry.rendering.vtk_engine.engine import RenderEngineGl

    return RenderEngineGl(params)


def MakeRenderEngineGltfClient(params: RenderEngineGltfClientParams | None = None) -> RenderEngine:
    """Raises a RuntimeError: there is no engine that has its images made by a server."""
    raise RuntimeError(
        "MakeRenderEngineGltfClient(): merganser has no engine that sends its scene to a server "
        "(kHasRenderEngineGltfClient is False). Use MakeRenderEngineVtk()."
    )


def _require_vtk() -> None:
    try:
        importlib.import_module("vtkmodules")  # what is in it comes later
    except ModuleNotFoundError as error:
        raise ImportError(
            'Rendering needs VTK, which is not installed. Install the extra: pip install "merganser[render]".'
        ) from error
