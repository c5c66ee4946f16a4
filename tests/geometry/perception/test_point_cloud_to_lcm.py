"""Point clouds as messages."""

from __future__ import annotations

import numpy as np

from merganser.framework import Value
from merganser.geometry.perception import BaseField, Fields, PointCloud, PointCloudToLcm


def test_points_are_records_that_can_be_read_in_place() -> None:
    cloud = PointCloud(3, Fields(BaseField.kXYZs | BaseField.kRGBs))
    cloud.mutable_xyzs()[:] = [[1, 2, np.inf], [3, 4, 5], [6, 7, 8]]
    cloud.mutable_rgbs()[:] = [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    to_lcm = PointCloudToLcm("camera")
    context = to_lcm.CreateDefaultContext()
    to_lcm.get_input_port().FixValue(context, Value(cloud))
    message = to_lcm.get_output_port().Eval(context)
    assert (message.frame_name, message.width, message.height) == ("camera", 2, 1)
    points = np.frombuffer(
        message.data,
        np.dtype({
            "names": [field.name for field in message.fields],
            "formats": ["<f4", "<f4", "<f4", "<u4"],
            "offsets": [field.byte_offset for field in message.fields],
            "itemsize": message.point_step,
        }),
    )  # fmt: skip
    assert points["x"].tolist() == [1.0, 2.0] and points["z"].tolist() == [6.0, 7.0]
    assert points["rgb"].tolist() == [1 | 2 << 8 | 3 << 16, 4 | 5 << 8 | 6 << 16]
    begin = message.encode().index(message.data)
    assert begin % 16 == 0
