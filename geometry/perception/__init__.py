"""Points with colors and normals, as depth cameras see them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.geometry.perception.depth_image_to_point_cloud import DepthImageToPointCloud, PointCloudConcatenation
from merganser.geometry.perception.point_cloud import BaseField, Concatenate, Fields, PointCloud

if _TYPE_CHECKING:
    from merganser.geometry.perception.point_cloud_to_lcm import PointCloudToLcm
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
