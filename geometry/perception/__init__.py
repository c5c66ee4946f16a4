"""Points with colors and normals, as depth cameras see them."""

from merganser.geometry.perception.depth_image_to_point_cloud import DepthImageToPointCloud
from merganser.geometry.perception.fields import BaseField, Fields
from merganser.geometry.perception.point_cloud import Concatenate, PointCloud

__all__ = ["BaseField", "Concatenate", "DepthImageToPointCloud", "Fields", "PointCloud"]
