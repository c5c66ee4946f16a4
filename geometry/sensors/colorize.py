"""ColorizeDepthImage and ColorizeLabelImage: depths and labels as colors, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import InputPort, InputPortIndex, LeafSystem, Value
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


class ConcatenateImages(LeafSystem):
    """Puts color images side by side and below each other.

    Every row is as high as its highest image, and every column as wide as its widest. What is left between them is
    black and transparent. An input that is not connected is an image without pixels.

    Ports:
        input `color_image_r0_c0` and so on, one for each row and column: ImageRgba8U.
        output `color_image`: ImageRgba8U.

    Args:
        rows: number of images below each other.
        cols: number of images side by side.

    Raises:
        TypeError: one of them is no integer, or there would be more ports than integers of 32 bits can number.
        ValueError: one of them is not positive.
    """

    def __init__(self, *, rows: int = 1, cols: int = 1) -> None:
        super().__init__()
        if rows < 1 or cols < 1:
            raise ValueError(f"ConcatenateImages needs at least one row and one column; given {rows} and {cols}.")
        try:
            InputPortIndex(rows * cols - 1)
        except TypeError as error:
            raise TypeError(f"ConcatenateImages cannot have {rows} x {cols} input ports. {error}") from None
        self._shape = (rows, cols)
        for row in range(rows):
            for col in range(cols):
                self.DeclareAbstractInputPort(f"color_image_r{row}_c{col}", Value(ImageRgba8U()))
        self.DeclareAbstractOutputPort("color_image", lambda: Value(ImageRgba8U()), self._calc_image)

    def get_input_port(self, index: Any = None, *, row: int | None = None, col: int | None = None) -> InputPort:
        """Returns the port of an image, by its row and column, or by an index as of any system.

        Raises:
            IndexError: there is no such row or column.
        """
        if row is None and col is None:
            return super().get_input_port() if index is None else super().get_input_port(index)
        rows, cols = self._shape
        if index is not None or row is None or col is None or not (0 <= row < rows and 0 <= col < cols):
            raise IndexError(
                f"System '{self.GetSystemPathname()}' has images in rows 0 to {rows - 1} and columns 0 to {cols - 1}; "
                f"given row {row} and column {col}."
            )
        return super().get_input_port(row * cols + col)

    def _calc_image(self, context: Context, output: Any) -> None:
        rows, cols = self._shape
        ports = [[self.get_input_port(row=row, col=col) for col in range(cols)] for row in range(rows)]
        images = [[port.Eval(context) if port.HasValue(context) else ImageRgba8U() for port in row] for row in ports]
        heights = [max(image.height() for image in row) for row in images]
        widths = [max(row[col].width() for row in images) for col in range(cols)]
        whole = ImageRgba8U(sum(widths), sum(heights)) if sum(widths) else ImageRgba8U()
        for row in range(rows):
            for col in range(cols):
                image, y, x = images[row][col], sum(heights[:row]), sum(widths[:col])
                whole.mutable_data[y : y + image.height(), x : x + image.width()] = image.data
        output.set_value(whole)
