"""CameraConfig: a camera as a record, for YAML files."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings
from merganser.framework.schema import Transform
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.rendering import (
    CameraInfo,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    RenderCameraCore,
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
)


@settings
@dataclass(kw_only=True)
class FocalLength:
    """Focal lengths [pixels]; if one is None, it is like the other.

    Attributes:
        x: horizontally.
        y: vertically.
    """

    x: float | None = None
    y: float | None = None

    def focal_x(self) -> float:
        """Returns the horizontal focal length [pixels]; raises RuntimeError if neither x nor y is set."""
        return _first_given(self, self.x, self.y)

    def focal_y(self) -> float:
        """Returns the vertical focal length [pixels]; raises as `focal_x` does."""
        return _first_given(self, self.y, self.x)


@settings
@dataclass(kw_only=True)
class FovDegrees:
    """Fields of view [degrees]; if one is None, its focal length is like the other's.

    Attributes:
        x: horizontally.
        y: vertically.
    """

    x: float | None = None
    y: float | None = None

    def focal_x(self, width: int, height: int) -> float:
        """Returns the horizontal focal length [pixels] of an image of that size.

        Raises:
            RuntimeError: neither x nor y is set.
        """
        return _first_given(self, _focal_length(width, self.x), _focal_length(height, self.y))

    def focal_y(self, width: int, height: int) -> float:
        """Returns the vertical focal length [pixels]; takes and raises what `focal_x` does."""
        return _first_given(self, _focal_length(height, self.y), _focal_length(width, self.x))


def _focal_length(size: int, fov: float | None) -> float | None:
    """Of an image of a width or height [pixels] that shows a field of view [degrees]."""
    return None if fov is None else 0.5 * size / math.tan(0.5 * math.radians(fov))


def _first_given(focal: Any, *lengths: float | None) -> float:
    for length in lengths:
        if length is not None:
            return length
    raise RuntimeError(f"A camera's focal must have x or y; given {type(focal).__name__}().")


_Focal = FocalLength | FovDegrees


@settings
@dataclass(kw_only=True, eq=False)
class CameraConfig:
    """A camera for `ApplyCameraConfig`; values are checked there.

    Attributes:
        width, height: of the images [pixels].
        focal: FocalLength or FovDegrees.
        center_x, center_y: principal point [pixels]; None for the center of the image.
        clipping_near, clipping_far: distances between which anything is seen [m].
        z_near, z_far: smallest and largest depth that is measured [m].
        X_PB: pose of the camera's body; its base frame is the name of a frame of the plant, by default the world.
        X_BC, X_BD: poses of the color and of the depth camera in the body, without base frame.
        renderer_name: of the renderer, which is added if the name is new.
        renderer_class: of which type it is then: parameters of a render engine, or the name of its type
            ("RenderEngineVtk", "RenderEngineGl"), or "" for the usual one.
        background: color where there is no geometry, of renderers that are given by the name of their type or not at
            all.
        name: of the camera.
        fps: images in a second.
        capture_offset: time of the first image [s].
        output_delay: from the moment that an image shows until it is given [s]; less than 1 / fps.
        rgb, depth, label: which images are wanted; without any of them there is no camera.
        show_rgb: whether to show color and label images on the screen.
        do_compress, lcm_bus: of messages with the images.
    """

    FocalLength: ClassVar[Any] = FocalLength
    FovDegrees: ClassVar[Any] = FovDegrees

    width: int = 640
    height: int = 480
    focal: _Focal = field(default_factory=lambda: FovDegrees(y=45.0))
    center_x: float | None = None
    center_y: float | None = None
    clipping_near: float = 0.01
    clipping_far: float = 500.0
    z_near: float = 0.1
    z_far: float = 5.0
    X_PB: Transform = field(default_factory=Transform)
    X_BC: Transform = field(default_factory=Transform)
    X_BD: Transform = field(default_factory=Transform)
    renderer_name: str = "default"
    renderer_class: str | RenderEngineVtkParams | RenderEngineGlParams | RenderEngineGltfClientParams = ""
    background: Rgba = field(default_factory=lambda: Rgba(204 / 255, 229 / 255, 1.0, 1.0))
    name: str = "preview_camera"
    fps: float = 10.0
    capture_offset: float = 0.0
    output_delay: float = 0.0
    rgb: bool = True
    depth: bool = False
    label: bool = False
    show_rgb: bool = False
    do_compress: bool = True
    lcm_bus: str = "default"

    def focal_x(self) -> float:
        """Returns the horizontal focal length [pixels].

        Raises:
            RuntimeError: `focal` has neither x nor y.
        """
        return self._focal_length("focal_x")

    def focal_y(self) -> float:
        """Returns the vertical focal length [pixels]; raises as `focal_x` does."""
        return self._focal_length("focal_y")

    def principal_point(self) -> NDArray[np.float64]:
        """Returns column and row of the principal point [pixels], shape [2]."""
        x = 0.5 * self.width - 0.5 if self.center_x is None else self.center_x
        y = 0.5 * self.height - 0.5 if self.center_y is None else self.center_y
        return np.array([x, y])

    def MakeCameras(self) -> tuple[ColorRenderCamera, DepthRenderCamera]:
        """Returns a color and a depth camera of these properties.

        Raises:
            RuntimeError: a value is out of its range.
        """
        self.require_valid()
        center_x, center_y = self.principal_point()
        info = CameraInfo(self.width, self.height, self.focal_x(), self.focal_y(), center_x, center_y)
        clipping = ClippingRange(self.clipping_near, self.clipping_far)
        color, depth = (
            RenderCameraCore(self.renderer_name, info, clipping, X_BS.GetDeterministicValue())
            for X_BS in (self.X_BC, self.X_BD)
        )
        depth_range = DepthRange(self.z_near, self.z_far)
        return ColorRenderCamera(color, self.show_rgb), DepthRenderCamera(depth, depth_range)

    def require_valid(self) -> None:
        """Raises an error for values out of range that MakeCameras() does not check.

        Raises:
            RuntimeError: something is not; the message names it.
        """

        def require(is_valid: bool, name: str, expected: str) -> None:
            if not is_valid:
                given = getattr(self, name)
                raise RuntimeError(f"Invalid CameraConfig '{self.name}': {name} must be {expected}; given {given!r}.")

        require(bool(self.name), "name", "not empty")
        require(bool(self.renderer_name), "renderer_name", "not empty")
        require(0.0 < self.fps < math.inf, "fps", "positive and finite")
        require(0.0 <= self.capture_offset < math.inf, "capture_offset", "finite and not negative")
        require(0.0 <= self.output_delay < 1.0 / self.fps, "output_delay", "not negative, and less than 1 / fps")
        focal = (FocalLength, FovDegrees)
        require(isinstance(self.focal, focal), "focal", "a FocalLength or FovDegrees")
        require(isinstance(self.background, Rgba), "background", "an Rgba")
        for name in ("X_PB", "X_BC", "X_BD"):
            require(isinstance(getattr(self, name), Transform), name, "a Transform")
        for name in ("X_BC", "X_BD"):
            require(not getattr(self, name).base_frame, name, "without base frame")
        if isinstance(self.renderer_class, str):
            known = ("", "RenderEngineVtk", "RenderEngineGl", "RenderEngineGltfClient")
            require(self.renderer_class in known, "renderer_class", f"parameters, or one of {known}")

    def _focal_length(self, which: str) -> float:
        if self.focal.x is None and self.focal.y is None:
            raise RuntimeError(
                f"Invalid CameraConfig '{self.name}': focal must have x or y; given {type(self.focal).__name__}()."
            )
        size = (self.width, self.height) if isinstance(self.focal, FovDegrees) else ()
        length: float = getattr(self.focal, which)(*size)
        return length
