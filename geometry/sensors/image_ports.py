"""ImagePorts: the ports that all camera sensors have, and a Sample of what they gave at one time."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import InputPort, OutputPort, System
from merganser.framework.core.values.plain_values import declare_plain
from merganser.framework.math import RigidTransform
from merganser.geometry.images import ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U


class ImagePorts(System):
    """Ports of a camera sensor by name. Those of images that it does not make raise a ValueError."""

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self.GetInputPort("geometry_query")

    def color_image_output_port(self) -> OutputPort[ImageRgba8U]:
        """Returns the port that gives an ImageRgba8U."""
        return self.GetOutputPort("color_image")

    def depth_image_32F_output_port(self) -> OutputPort[ImageDepth32F]:
        """Returns the port that gives an ImageDepth32F."""
        return self.GetOutputPort("depth_image_32f")

    def depth_image_16U_output_port(self) -> OutputPort[ImageDepth16U]:
        """Returns the port that gives an ImageDepth16U."""
        return self.GetOutputPort("depth_image_16u")

    def label_image_output_port(self) -> OutputPort[ImageLabel16I]:
        """Returns the port that gives an ImageLabel16I."""
        return self.GetOutputPort("label_image")

    def body_pose_in_world_output_port(self) -> OutputPort[RigidTransform]:
        """Returns the port that gives X_WB as it was when the images were taken."""
        return self.GetOutputPort("body_pose_in_world")

    def image_time_output_port(self) -> OutputPort[NDArray[Any]]:
        """Returns the port that gives the time when the images were taken [s]."""
        return self.GetOutputPort("image_time")


class Sample:
    """Values by name, which do not change any more: copies share them.

    Args:
        values: images, a pose, a time.
    """

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = dict(values)

    def __copy__(self) -> Sample:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sample:
        return self


declare_plain(Sample, lambda sample: [sample.values])
