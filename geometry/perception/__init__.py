"""Points with colors and normals, as depth cameras see them."""

import importlib
from typing import TYPE_CHECKING, Any

from merganser.geometry.perception.depth_image_to_point_cloud import DepthImageToPointCloud
from merganser.geometry.perception.fields import BaseField, Fields
from merganser.geometry.perception.point_cloud import Concatenate, PointCloud
from merganser.geometry.perception.point_cloud_concatenation import PointCloudConcatenation

if TYPE_CHECKING:
    from merganser.geometry.perception.point_cloud_to_lcm import PointCloudToLcm

__all__ = [
    "BaseField",
    "Concatenate",
    "DepthImageToPointCloud",
    "Fields",
    "PointCloud",
    "PointCloudConcatenation",
    "PointCloudToLcm",
]


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        if name == "PointCloudToLcm":  # most programs send nothing
            value = globals()[name] = importlib.import_module(f"{__name__}.point_cloud_to_lcm").PointCloudToLcm
            return value
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
