"""PointCloudConcatenation: points of several cameras in one frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework import Context, LeafSystem, Value
from merganser.framework.math import RigidTransform
from merganser.geometry.perception.point_cloud import BaseField, Concatenate, Fields, PointCloud

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
