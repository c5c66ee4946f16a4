"""ColorizeDepthImage and ColorizeLabelImage: depths and labels as colors, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem, Value
from merganser.geometry.images import ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U, label_colors
from merganser.geometry.registration.colors import Rgba

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class ColorizeDepthImage(LeafSystem):
    """Shows depths in gray: the nearest of an image in white, the farthest in black.

    The scale follows from each image alone, so that it changes in the course of a video.

    Ports:
        input `depth_image_32f` or `depth_image_16u`: the depths; one of them is to be connected.
        output `color_image`: ImageRgba8U.

    Attributes:
        invalid_color: of what is too close or too far; a dark red at first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.invalid_color = Rgba(100 / 255, 0.0, 0.0, 1.0)
        self.DeclareAbstractInputPort("depth_image_32f", Value(ImageDepth32F()))
        self.DeclareAbstractInputPort("depth_image_16u", Value(ImageDepth16U()))
        self.DeclareAbstractOutputPort("color_image", lambda: Value(ImageRgba8U()), self._calc_image)

    @property
    def invalid_color(self) -> Rgba:
        """The color of what is too close or too far."""
        return self._invalid_color

    @invalid_color.setter
    def invalid_color(self, color: Rgba) -> None:
        self._invalid_color = _checked_color("ColorizeDepthImage.invalid_color", color)

    def Calc(self, input: ImageDepth32F | ImageDepth16U, output: ImageRgba8U) -> None:
        """Fills in an image without any Context; it is given the size of the input.

        Raises:
            TypeError: the images have other pixels.
        """
        if not isinstance(input, (ImageDepth32F, ImageDepth16U)) or not isinstance(output, ImageRgba8U):
            raise TypeError(
                f"ColorizeDepthImage.Calc() takes a depth image and an ImageRgba8U; given {input!r} and {output!r}."
            )
        _fit(output, input)
        depths = input.data[:, :, 0]
        is_valid = (depths != input.Traits.kTooClose) & (depths != input.Traits.kTooFar) & ~np.isnan(depths)
        output.mutable_data[...] = _bytes(self.invalid_color)
        if is_valid.any():
            valid = depths[is_valid].astype(np.float64)
            nearest, farthest = valid.min(), valid.max()
            darkness = (valid - nearest) / (farthest - nearest or 1.0)
            gray = 255 - (255.0 * darkness).astype(np.uint8)
            output.mutable_data[is_valid] = np.stack([gray, gray, gray, np.full_like(gray, 255)], axis=1)

    def _calc_image(self, context: Context, output: Any) -> None:
        ports = [self.get_input_port(i) for i in range(2) if self.get_input_port(i).HasValue(context)]
        if len(ports) != 1:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' needs a depth image at one of its input ports, 'depth_image_32f' "
                f"or 'depth_image_16u'; {'both' if ports else 'none'} of them has one."
            )
        image = ImageRgba8U()
        self.Calc(ports[0].Eval(context), image)
        output.set_value(image)


class ColorizeLabelImage(LeafSystem):
    """Shows labels in ten colors.

    Ports:
        input `label_image`: ImageLabel16I.
        output `color_image`: ImageRgba8U.

    Attributes:
        background_color: of reserved labels; black and transparent at first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.background_color = Rgba(0.0, 0.0, 0.0, 0.0)
        self.DeclareAbstractInputPort("label_image", Value(ImageLabel16I()))
        self.DeclareAbstractOutputPort("color_image", lambda: Value(ImageRgba8U()), self._calc_image)

    @property
    def background_color(self) -> Rgba:
        """The color of reserved labels."""
        return self._background_color

    @background_color.setter
    def background_color(self, color: Rgba) -> None:
        self._background_color = _checked_color("ColorizeLabelImage.background_color", color)

    def Calc(self, input: ImageLabel16I, output: ImageRgba8U) -> None:
        """Fills in an image without any Context; it is given the size of the input.

        Raises:
            TypeError: the images have other pixels.
        """
        if not isinstance(input, ImageLabel16I) or not isinstance(output, ImageRgba8U):
            raise TypeError(
                f"ColorizeLabelImage.Calc() takes an ImageLabel16I and an ImageRgba8U; given {input!r} and {output!r}."
            )
        _fit(output, input)
        output.mutable_data[...] = label_colors(input.data[:, :, 0], _bytes(self.background_color))

    def _calc_image(self, context: Context, output: Any) -> None:
        image = ImageRgba8U()
        self.Calc(self.get_input_port().Eval(context), image)
        output.set_value(image)


def _fit(output: Any, input: Any) -> None:
    if (output.width(), output.height()) != (input.width(), input.height()):
        output.resize(input.width(), input.height())


def _checked_color(name: str, color: Rgba) -> Rgba:
    if not isinstance(color, Rgba):
        raise TypeError(f"{name} must be an Rgba; given {color!r}.")
    return color


def _bytes(color: Rgba) -> NDArray[np.uint8]:
    return np.round(255.0 * color.rgba).astype(np.uint8)
