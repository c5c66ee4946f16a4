"""LcmImageArrayToImages: the images of a message."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.messages.perception import lcmt_image_array
from merganser.geometry.images import AnyImage, ImageDepth32F, ImageLabel16I, ImageRgba8U
from merganser.geometry.sensors.image_messages import color_of, depth_of, label_of

_logger = logging.getLogger("merganser.sensors")


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
