"""Systems of point clouds: the points that a depth camera sees, and a cloud as a message.

The pixel in column u and row v, at depth z, shows the point

    p_CQ_C = z [(u - c_x) / f_x, (v - c_y) / f_y, 1],   p_PQ = X_PC p_CQ      (1)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_point_cloud, lcmt_point_cloud_field
from merganser.framework.math import RigidTransform
from merganser.geometry.images import AnyImage, ImageDepth16U, ImageDepth32F, ImageRgba8U, PixelType
from merganser.geometry.perception.point_cloud import BaseField, Concatenate, Fields, PointCloud
from merganser.geometry.rendering.cameras import CameraInfo

_IMAGES: dict[PixelType, type[AnyImage]] = {PixelType.kDepth32F: ImageDepth32F, PixelType.kDepth16U: ImageDepth16U}
_ALIGNMENT = 16  # of the points in the message [bytes]
_FLOAT, _UINT = lcmt_point_cloud_field.FLOAT32, lcmt_point_cloud_field.UINT32


class DepthImageToPointCloud(LeafSystem):
    """Makes a point of each pixel of a depth image, row by row.

    Points of pixels that are too close or too far are infinite, those of NaN are NaN.

    Ports:
        input `depth_image`: ImageDepth32F or ImageDepth16U.
        input `color_image`: ImageRgba8U of the same size; may be left open, and points are black then.
        input `camera_pose`: RigidTransform X_PC; may be left open, and points are those in C then.
        output `point_cloud`: PointCloud in P.

    Args:
        camera_info: of the camera C.
        pixel_type: of depth images: PixelType.kDepth32F or kDepth16U.
        scale: depths are multiplied by it: 0.001 makes meters of millimeters.
        fields: of the points, combined by `|`: BaseField.kXYZs, BaseField.kRGBs.

    Raises:
        TypeError: an argument has the wrong type.
        RuntimeError: it is another pixel type; there is no such field, or kXYZs is not among them.
    """

    def __init__(
        self,
        camera_info: CameraInfo,
        pixel_type: PixelType = PixelType.kDepth32F,
        scale: float = 1.0,
        fields: int = BaseField.kXYZs,
    ) -> None:
        super().__init__()
        if not isinstance(camera_info, CameraInfo) or not isinstance(pixel_type, PixelType):
            raise TypeError(
                f"DepthImageToPointCloud takes a CameraInfo and a PixelType; given {camera_info!r}, {pixel_type!r}."
            )
        if pixel_type not in _IMAGES:
            raise RuntimeError(f"The pixel_type must be kDepth32F or kDepth16U; given {pixel_type.name}.")
        if not operator.index(fields) & BaseField.kXYZs:
            raise RuntimeError(f"The fields must have BaseField.kXYZs among them; given {Fields(fields)!r}.")
        self._info, self._scale, self._fields = camera_info, np.float32(scale), Fields(fields)
        self._limits = _IMAGES[pixel_type].Traits.kTooClose, _IMAGES[pixel_type].Traits.kTooFar
        self.DeclareAbstractInputPort("depth_image", Value(_IMAGES[pixel_type]()))
        self.DeclareAbstractInputPort("color_image", Value(ImageRgba8U()))
        self.DeclareAbstractInputPort("camera_pose", Value(RigidTransform()))
        self.DeclareAbstractOutputPort("point_cloud", lambda: Value(PointCloud(0, self._fields)), self._calc_cloud)

    def depth_image_input_port(self) -> InputPort:
        """Returns the port that takes depth images."""
        return self.GetInputPort("depth_image")

    def color_image_input_port(self) -> InputPort:
        """Returns the port that takes color images."""
        return self.GetInputPort("color_image")

    def camera_pose_input_port(self) -> InputPort:
        """Returns the port that takes X_PC."""
        return self.GetInputPort("camera_pose")

    def point_cloud_output_port(self) -> OutputPort:
        """Returns the port that gives a PointCloud."""
        return self.GetOutputPort("point_cloud")

    def _calc_cloud(self, context: Context, output: Any) -> None:
        """Every cloud is a new one, so that those who got the last one may keep it."""
        depth = self._checked_size(self.depth_image_input_port().Eval(context), "depth_image")
        cloud = PointCloud(depth.shape[0] * depth.shape[1], self._fields)
        pose = self.camera_pose_input_port()
        X_PC = pose.Eval(context).GetAsMatrix34() if pose.HasValue(context) else np.eye(3, 4)
        self._fill_positions(cloud.mutable_xyzs().T.reshape(*depth.shape[:2], 3), depth[:, :, 0], X_PC)
        color = self.color_image_input_port()
        if color.HasValue(context):
            if not cloud.has_rgbs():
                raise RuntimeError(
                    f"{self.GetSystemPathname()}: there is a color image, and points have no colors. Leave "
                    "'color_image' open, or make the system with fields=BaseField.kXYZs | BaseField.kRGBs."
                )
            pixels = self._checked_size(color.Eval(context), "color_image")
            cloud.mutable_rgbs().T[:] = pixels[:, :, :3].reshape(-1, 3)
        output.set_value(cloud)

    def _checked_size(self, image: Any, port: str) -> NDArray[Any]:
        width, height = self._info.width(), self._info.height()
        if (image.width(), image.height()) != (width, height):
            raise RuntimeError(
                f"{self.GetSystemPathname()}: the image at '{port}' must have the size of the CameraInfo, {width} x "
                f"{height} pixels; it has {image.width()} x {image.height()}."
            )
        return image.data

    def _fill_positions(self, p_PQ: NDArray[np.float32], depth: NDArray[Any], X_PC: NDArray[np.float64]) -> None:
        """Equation (1) for all pixels, shape [height, width, 3]; one coordinate after the other."""
        info = self._info
        x = (np.arange(info.width()) - info.center_x()) / info.focal_x()
        y = (np.arange(info.height()) - info.center_y()) / info.focal_y()
        z = depth * self._scale
        for i in range(3):
            across, down = X_PC[i, 0] * x, X_PC[i, 1] * y + X_PC[i, 2]
            coordinate = across.astype(np.float32) + down.astype(np.float32)[:, None]
            with np.errstate(invalid="ignore"):  # of infinite depths
                coordinate *= z
            coordinate += np.float32(X_PC[i, 3])
            p_PQ[:, :, i] = coordinate
        too_close, too_far = self._limits
        p_PQ[(depth == too_close) | (depth == too_far)] = np.inf


_FIELDS = Fields(BaseField.kXYZs | BaseField.kRGBs)


class PointCloudConcatenation(LeafSystem):
    """Moves points of several cameras C to a frame F, and puts them together, those of the last camera first.

    Points that are not finite are left out. The points have positions and colors; normals are dropped.

    Ports, for each id of id_list:
        input `point_cloud_CiSi_<id>`: PointCloud in the frame of a camera.
        input `X_FCi_<id>`: RigidTransform, the pose of the camera in F.
        output `point_cloud_FS`: PointCloud in F, of all.

    Args:
        id_list: names of the cameras.
        default_rgb: the color of points of clouds that have none, 0 to 255, shape [3].

    Raises:
        ValueError: there is no camera, two have one name, or the color has another size.
    """

    def __init__(self, id_list: Sequence[str], default_rgb: Any = (255.0, 255.0, 255.0)) -> None:
        super().__init__()
        names = [str(each) for each in id_list]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"PointCloudConcatenation: expected different names of cameras in id_list, got {names}.")
        color = np.asarray(default_rgb, dtype=np.float64).ravel()
        if color.size != 3 or not ((color >= 0.0) & (color <= 255.0)).all():
            raise ValueError(
                f"PointCloudConcatenation: default_rgb must be 3 numbers from 0 to 255, got {default_rgb}."
            )
        self._color = color.astype(np.uint8)
        self._inputs = [
            (
                self.DeclareAbstractInputPort(f"point_cloud_CiSi_{name}", Value(PointCloud())),
                self.DeclareAbstractInputPort(f"X_FCi_{name}", Value(RigidTransform())),
            )
            for name in names
        ]
        self.DeclareAbstractOutputPort("point_cloud_FS", lambda: Value(PointCloud(0, _FIELDS)), self._calc_points)

    def _calc_points(self, context: Context, output: Any) -> None:
        moved = [self._moved(cloud.Eval(context), pose.Eval(context)) for cloud, pose in reversed(self._inputs)]
        output.set_value(Concatenate(moved))

    def _moved(self, cloud: PointCloud, X_FC: RigidTransform) -> PointCloud:
        """The finite points of a cloud in F, with colors."""
        p_CQ = cloud.xyzs()
        kept = np.isfinite(p_CQ).all(axis=0)
        result = PointCloud(int(kept.sum()), _FIELDS)
        result.mutable_xyzs()[:] = X_FC.rotation().matrix() @ p_CQ[:, kept] + X_FC.translation()[:, np.newaxis]
        result.mutable_rgbs()[:] = cloud.rgbs()[:, kept] if cloud.has_rgbs() else self._color[:, np.newaxis]
        return result


class PointCloudToLcm(LeafSystem):
    """Gives a point cloud as an lcmt_point_cloud: points that are finite, with their colors and normals.

    Ports:
        input `point_cloud`: PointCloud.
        output `lcmt_point_cloud`: lcmt_point_cloud.

    Args:
        frame_name: what the message calls the frame of the points.
    """

    def __init__(self, frame_name: str = "") -> None:
        super().__init__()
        self._frame_name = frame_name
        self._cloud = self.DeclareAbstractInputPort("point_cloud", Value(PointCloud()))
        self.DeclareAbstractOutputPort("lcmt_point_cloud", lambda: Value(lcmt_point_cloud()), self._calc_message)

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        points = _points(self._cloud.Eval(context))
        message = lcmt_point_cloud()
        message.utime = microseconds(context.get_time())
        message.frame_name = self._frame_name
        message.width, message.height = len(points), 1
        message.fields = [_field(name, *points.dtype.fields[name]) for name in points.dtype.names]  # type: ignore
        message.num_fields = len(message.fields)
        message.flags = message.IS_STRICTLY_FINITE
        message.point_step = points.dtype.itemsize
        message.row_step = message.data_size = points.nbytes
        message.data = points.tobytes()
        # What fills the message up to where the points can be read in place.
        message.filler_size = -(len(message.encode()) - message.data_size) % _ALIGNMENT
        message.filler = bytes(message.filler_size)
        output.set_value(message)


def _points(cloud: PointCloud) -> np.ndarray:
    """The finite points of a cloud, one record each."""
    names: list[tuple[str, str]] = []
    columns = []
    is_used: Any = np.ones(cloud.size(), dtype=bool)
    if cloud.has_xyzs():
        names += [(axis, "<f4") for axis in "xyz"]
        columns += list(cloud.xyzs())
        is_used = np.isfinite(cloud.xyzs()).all(axis=0)
    if cloud.has_rgbs():
        names += [("rgb", "<u4")]
        red, green, blue = cloud.rgbs().astype(np.uint32)
        columns += [red | green << 8 | blue << 16]
    if cloud.has_normals():
        names += [(f"normal_{axis}", "<f4") for axis in "xyz"]
        columns += list(cloud.normals())
    points = np.empty(int(is_used.sum()), dtype=names)
    for (name, _), column in zip(names, columns):
        points[name] = column[is_used]
    return points


def _field(name: str, dtype: np.dtype, offset: int) -> lcmt_point_cloud_field:
    field = lcmt_point_cloud_field()
    field.name, field.byte_offset, field.count = name, offset, 1
    field.datatype = _UINT if dtype.kind == "u" else _FLOAT
    return field
