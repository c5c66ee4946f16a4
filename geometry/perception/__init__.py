"""Points with colors and normals, as depth cameras see them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.geometry.perception.point_cloud import BaseField, Concatenate, Fields, PointCloud

if _TYPE_CHECKING:
    from merganser.geometry.perception.point_cloud_systems import (
        DepthImageToPointCloud,
        PointCloudConcatenation,
        PointCloudToLcm,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "BaseField",
    "Concatenate",
    "DepthImageToPointCloud",
    "Fields",
    "PointCloud",
    "PointCloudConcatenation",
    "PointCloudToLcm",
]
