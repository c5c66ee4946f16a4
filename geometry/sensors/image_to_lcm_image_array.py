"""ImageToLcmImageArrayT: images as one message."""

from __future__ import annotations

import functools
from typing import Any, overload

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value, kUseDefaultName
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.perception import lcmt_image_array
from merganser.geometry.images import Image, PixelType
from merganser.geometry.images.pixel_types import PixelTypeTemplate
from merganser.geometry.sensors.image_messages import image_message


class ImageToLcmImageArrayT(LeafSystem):
    """Gives the images at its inputs as an lcmt_image_array.

    Ports:
        input: one for each image, by the name of its frame; all of them must be connected.
        output `y0`: lcmt_image_array.

    Args:
        color_frame_name, depth_frame_name, label_frame_name: names of ports for an ImageRgba8U, an ImageDepth32F and an
            ImageLabel16I. Without them there are only the ports of `DeclareImageInputPort`.
        do_compress: whether pixels are compressed, by zlib.
    """

    @overload
    def __init__(
        self, color_frame_name: str, depth_frame_name: str, label_frame_name: str, do_compress: bool = ...
    ) -> None: ...
    @overload
    def __init__(self, do_compress: bool = ..., /) -> None: ...
    @overload
    def __init__(self, *, do_compress: bool) -> None: ...
    def __init__(
        self,
        color_frame_name: Any = None,
        depth_frame_name: Any = None,
        label_frame_name: Any = None,
        do_compress: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(color_frame_name, bool):
            color_frame_name, do_compress = None, color_frame_name
        names = (color_frame_name, depth_frame_name, label_frame_name)
        if any(name is not None for name in names) and not all(isinstance(name, str) for name in names):
            raise TypeError(f"ImageToLcmImageArrayT takes three names of frames, or none; given {names!r}.")
        self._is_compressed = bool(do_compress)
        self._by_kind: dict[PixelType, InputPort] = {}
        if color_frame_name is not None:
            for pixel_type, name in zip((PixelType.kRgba8U, PixelType.kDepth32F, PixelType.kLabel16I), names):
                self._by_kind[pixel_type] = self._declare(pixel_type, name)
        self.DeclareAbstractOutputPort(kUseDefaultName, lambda: Value(lcmt_image_array()), self._calc_message)

    @property
    def DeclareImageInputPort(self) -> PixelTypeTemplate:
        """Declares a port: `DeclareImageInputPort[PixelType.kRgb8U](name)` returns it."""
        functions = {pixel_type: functools.partial(self._declare, pixel_type) for pixel_type in PixelType}
        return PixelTypeTemplate("DeclareImageInputPort", functions)

    def color_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageRgba8U."""
        return self._port_of(PixelType.kRgba8U, "color")

    def depth_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageDepth32F."""
        return self._port_of(PixelType.kDepth32F, "depth")

    def label_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageLabel16I."""
        return self._port_of(PixelType.kLabel16I, "label")

    def image_array_t_msg_output_port(self) -> OutputPort:
        """Returns the port that gives the message."""
        return self.get_output_port(0)

    def _declare(self, pixel_type: PixelType, name: str) -> InputPort:
        return self.DeclareAbstractInputPort(name, Value(Image[pixel_type]()))

    def _port_of(self, pixel_type: PixelType, kind: str) -> InputPort:
        if pixel_type not in self._by_kind:
            raise RuntimeError(
                f"ImageToLcmImageArrayT.{kind}_image_input_port(): this one was made without names of frames, and has "
                "the ports of DeclareImageInputPort only."
            )
        return self._by_kind[pixel_type]

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = lcmt_image_array()
        message.header.utime = utime = microseconds(context.get_time())
        ports = [self.get_input_port(i) for i in range(self.num_input_ports())]
        message.images = [
            image_message(port.Eval(context), port.get_name(), utime, self._is_compressed) for port in ports
        ]
        message.num_images = len(message.images)
        output.set_value(message)
