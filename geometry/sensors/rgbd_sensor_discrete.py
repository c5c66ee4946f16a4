"""RgbdSensorDiscrete: images that are taken periodically."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from merganser.framework import Diagram, DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform
from merganser.geometry.images import ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U
from merganser.geometry.sensors.rgbd_sensor import ImagePorts, RgbdSensor, Sample

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class RgbdSensorDiscrete(ImagePorts, Diagram):
    """A sensor that takes images at times 0, period, 2 period, ..., and gives the latest ones.

    All kinds of images are made each time, whether or not they are read.

    Ports:
        input `geometry_query` and outputs as of RgbdSensor; `image_time` is when the images were taken. Before that,
        images are black.

    Args:
        sensor: makes the images; becomes part of this.
        period: time between two images [s].
        render_label_image: whether there are label images.

    Raises:
        TypeError: this is no RgbdSensor.
        ValueError: the period is not positive and finite.
    """

    kDefaultPeriod: ClassVar[float] = 1.0 / 30.0

    def __init__(self, sensor: RgbdSensor, period: float = kDefaultPeriod, render_label_image: bool = True) -> None:
        super().__init__()
        if not isinstance(sensor, RgbdSensor):
            raise TypeError(f"RgbdSensorDiscrete takes an RgbdSensor; given {sensor!r}.")
        if not 0.0 < period < np.inf:
            raise ValueError(f"The period of an RgbdSensorDiscrete must be positive and finite; given {period}.")
        self._sensor, self._period = sensor, float(period)
        builder = DiagramBuilder()
        builder.AddSystem(sensor)
        hold = builder.AddSystem(_Hold(sensor, self._period, render_label_image))
        builder.ExportInput(sensor.query_object_input_port(), "geometry_query")
        for port in range(hold.num_output_ports()):
            name = hold.get_output_port(port).get_name()
            builder.Connect(sensor.GetOutputPort(name), hold.GetInputPort(name))
            builder.ExportOutput(hold.get_output_port(port), name)
        builder.BuildInto(self)

    def sensor(self) -> RgbdSensor:
        """Returns what makes the images."""
        return self._sensor

    def period(self) -> float:
        """Returns the time between two images [s]."""
        return self._period


class _Hold(LeafSystem):
    """Keeps what a sensor gives, for as long as a period; images are handed on, not copied."""

    def __init__(self, sensor: RgbdSensor, period: float, render_label_image: bool) -> None:
        super().__init__()
        color, depth = sensor.default_color_render_camera(), sensor.default_depth_render_camera()
        assert color is not None and depth is not None
        color_size = color.core().intrinsics().width(), color.core().intrinsics().height()
        depth_size = depth.core().intrinsics().width(), depth.core().intrinsics().height()
        first = {
            "color_image": ImageRgba8U(*color_size),
            "depth_image_32f": ImageDepth32F(*depth_size),
            "depth_image_16u": ImageDepth16U(*depth_size),
            **({"label_image": ImageLabel16I(*color_size)} if render_label_image else {}),
            "body_pose_in_world": RigidTransform(),
            "image_time": np.zeros(1),
        }
        state = self.DeclareAbstractState(Value(Sample(first)))
        ticket = {self.abstract_state_ticket(state)}
        for name, value in first.items():
            if name == "image_time":
                self.DeclareVectorInputPort(name, 1)
                self.DeclareVectorOutputPort(name, 1, self._give_time, ticket)
            else:
                self.DeclareAbstractInputPort(name, Value(value))
                self.DeclareAbstractOutputPort(name, partial(Value, value), partial(self._give, name), ticket)
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._take)
        self.DeclareForcedUnrestrictedUpdateEvent(self._take)

    def _take(self, context: Context, state: Any) -> None:
        values = {}
        for i in range(self.num_input_ports()):
            port = self.get_input_port(i)
            values[port.get_name()] = port.Eval(context)
        state.get_mutable_abstract_state(0).set_value(Sample(values))

    def _give(self, name: str, context: Context, output: Any) -> None:
        output.set_value(context.get_abstract_state(0).get_value().values[name])

    def _give_time(self, context: Context, output: Any) -> None:
        output.SetFromVector(context.get_abstract_state(0).get_value().values["image_time"])
