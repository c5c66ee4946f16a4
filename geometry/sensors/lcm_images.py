"""Images as messages: ImageToLcmImageArrayT writes them, LcmImageArrayToImages reads them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, overload

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value, kUseDefaultName
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_image_array
from merganser.geometry.images import AnyImage, Image, ImageDepth32F, ImageLabel16I, ImageRgba8U, PixelType
from merganser.geometry.images.pixel_types import PixelTypeTemplate
from merganser.geometry.sensors.image_messages import color_of, depth_of, image_message, label_of

_logger = logging.getLogger("merganser.sensors")


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


class LcmImageArrayToImages(LeafSystem):
    """Gives the images in an lcmt_image_array: the last one of each kind, or an empty one.

    Colors may be in the order of RGB or BGR, with or without opacity; depths floats [m] or whole numbers [mm]; pixels
    as they are, or compressed by zlib, PNG or JPEG. An image that does not fit together is left out, with a warning.

    Ports:
        input `image_array_t`: lcmt_image_array.
        output `color_image`: ImageRgba8U.
        output `depth_image`: ImageDepth32F.
        output `label_image`: ImageLabel16I.
    """

    def __init__(self) -> None:
        super().__init__()
        self._message = self.DeclareAbstractInputPort("image_array_t", Value(lcmt_image_array()))
        kinds: list[tuple[str, type[AnyImage], Callable[[Any], AnyImage | None]]] = [
            ("color_image", ImageRgba8U, color_of),
            ("depth_image", ImageDepth32F, depth_of),
            ("label_image", ImageLabel16I, label_of),
        ]
        for name, image, unpack in kinds:
            calc = functools.partial(self._calc_image, image, unpack)
            self.DeclareAbstractOutputPort(name, functools.partial(_empty, image), calc)

    def image_array_t_input_port(self) -> InputPort:
        """Returns the port that takes the message."""
        return self._message

    def color_image_output_port(self) -> OutputPort:
        """Returns the port that gives the color image."""
        return self.get_output_port(0)

    def depth_image_output_port(self) -> OutputPort:
        """Returns the port that gives the depth image."""
        return self.get_output_port(1)

    def label_image_output_port(self) -> OutputPort:
        """Returns the port that gives the label image."""
        return self.get_output_port(2)

    def _calc_image(
        self, image: type[AnyImage], unpack: Callable[[Any], AnyImage | None], context: Context, output: AbstractValue
    ) -> None:
        found = image()
        for number, message in enumerate(self._message.Eval(context).images):
            try:
                found = unpack(message) or found
            except ValueError as error:
                _logger.warning(
                    "System '%s': image %d of the message, of camera '%s', is damaged: %s. It is left out.",
                    self.GetSystemPathname(), number, message.header.frame_name, error,
                )  # fmt: skip
        output.set_value(found)


def _empty(image: type[AnyImage]) -> AbstractValue:
    return Value(image())
