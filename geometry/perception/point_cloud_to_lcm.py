"""PointCloudToLcm: a point cloud as a message."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework import Context, LeafSystem, Value
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_point_cloud, lcmt_point_cloud_field
from merganser.geometry.perception.point_cloud import PointCloud

_ALIGNMENT = 16  # of the points in the message [bytes]
_FLOAT, _UINT = lcmt_point_cloud_field.FLOAT32, lcmt_point_cloud_field.UINT32


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
