"""Image: width times height pixels of one type."""

from __future__ import annotations

import operator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.plain_values import declare_plain
from merganser.geometry.images.pixel_types import ImageTraits, PixelType, PixelTypeTemplate

Array = NDArray[Any]


class AnyImage:
    """What images of all types of pixels have in common; make one of the derived classes.

    Pixel (x, y) is x pixels right of and y pixels below the upper left one.

    Args:
        width: number of columns; zero if and only if `height` is.
        height: number of rows.
        initial_value: of all channels of all pixels.

    Raises:
        RuntimeError: a size is negative, or only one of them is zero.
        TypeError: a size is no whole number, or the value does not fit into a channel.
    """

    Traits: ClassVar[Any]
    __slots__ = ("_pixels",)

    def __init__(self, width: int = 0, height: int = 0, initial_value: Any = 0) -> None:
        if type(self) is AnyImage:
            raise TypeError("An image needs a type of pixels: make an ImageRgba8U, ImageDepth32F or the like.")
        self._pixels = self._make_pixels(width, height)
        if initial_value != 0:
            self._pixels[...] = self._checked_value(initial_value)

    def width(self) -> int:
        """The number of columns."""
        return self._pixels.shape[1]

    def height(self) -> int:
        """The number of rows."""
        return self._pixels.shape[0]

    def size(self) -> int:
        """The number of pixels times that of channels."""
        return self._pixels.size

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and channels."""
        height, width, channels = self._pixels.shape
        return height, width, channels

    @property
    def data(self) -> Array:
        """The pixels, for reading: a view of them, shape [height, width, channels]."""
        view = self._pixels[:]
        view.flags.writeable = False
        return view

    @property
    def mutable_data(self) -> Array:
        """The pixels, for changing them in place, shape [height, width, channels]."""
        return self._pixels

    def at(self, x: int, y: int) -> Array:
        """The channels of the pixel in column x and row y, for changing them in place; shape [channels].

        Raises:
            IndexError: there is no such pixel.
        """
        height, width, _ = self._pixels.shape
        if not (0 <= x < width and 0 <= y < height):
            raise IndexError(f"There is no pixel ({x}, {y}) in an image of {width} x {height} pixels.")
        pixel: Array = self._pixels[y, x]
        return pixel

    def resize(self, width: int, height: int) -> None:
        """Gives the image another size; all channels are zero then.

        Raises:
            RuntimeError: as of the constructor.
        """
        self._pixels = self._make_pixels(width, height)

    @classmethod
    def from_pixels(cls, pixels: Array) -> Self:
        """An image around pixels, which it keeps as its own.

        Args:
            pixels: of the channels' type, shape [height, width, channels].

        Raises:
            ValueError: the type or the shape is another one.
        """
        channels, scalar = cls.Traits.kNumChannels, np.dtype(cls.Traits.ChannelType)
        if pixels.dtype != scalar or pixels.ndim != 3 or pixels.shape[2] != channels or not pixels.flags.writeable:
            raise ValueError(
                f"{cls.__name__} takes an array of {scalar}, shape [height, width, {channels}], that can be changed; "
                f"given one of {pixels.dtype}, shape {list(pixels.shape)}."
            )
        image = object.__new__(cls)
        image._pixels = pixels
        return image

    @classmethod
    def _make_pixels(cls, width: int, height: int) -> Array:
        width, height = operator.index(width), operator.index(height)
        if width < 0 or height < 0 or (width == 0) != (height == 0):
            raise RuntimeError(
                f"The width and height of an image must both be positive, or both be zero; given {width} x {height}."
            )
        return np.zeros((height, width, cls.Traits.kNumChannels), cls.Traits.ChannelType)

    @classmethod
    def _checked_value(cls, value: Any) -> Any:
        """The value as a number of the channels' type."""
        scalar = np.dtype(cls.Traits.ChannelType)
        if scalar.kind == "f":
            return float(value)
        limits = np.iinfo(scalar)
        if not limits.min <= operator.index(value) <= limits.max:
            raise TypeError(
                f"The channels of an {cls.__name__} take numbers from {limits.min} to {limits.max}; given {value}."
            )
        return value

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        clone = object.__new__(type(self))
        clone._pixels = self._pixels.copy()
        return clone

    def __getstate__(self) -> Array:
        return self._pixels

    def __setstate__(self, pixels: Array) -> None:
        self._pixels = pixels

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.width()} x {self.height()} pixels>"


class ImageRgb8U(AnyImage):
    """Red, green and blue, each from 0 to 255."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kRgb8U]


class ImageBgr8U(AnyImage):
    """Blue, green and red, each from 0 to 255."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kBgr8U]


class ImageRgba8U(AnyImage):
    """Red, green, blue and opacity, each from 0 to 255."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kRgba8U]


class ImageBgra8U(AnyImage):
    """Blue, green, red and opacity, each from 0 to 255."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kBgra8U]


class ImageGrey8U(AnyImage):
    """Brightness, from 0 to 255."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kGrey8U]


class ImageDepth16U(AnyImage):
    """Depths [mm]; 0 is too close, 65535 too far."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kDepth16U]


class ImageDepth32F(AnyImage):
    """Depths [m]; 0 is too close, infinity too far."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kDepth32F]


class ImageLabel16I(AnyImage):
    """Render labels."""

    __slots__ = ()
    Traits = ImageTraits[PixelType.kLabel16I]


_CLASSES = (
    ImageRgb8U, ImageBgr8U, ImageRgba8U, ImageBgra8U, ImageGrey8U, ImageDepth16U, ImageDepth32F, ImageLabel16I,
)  # fmt: skip

Image = PixelTypeTemplate("Image", {cls.Traits.kPixelType: cls for cls in _CLASSES})

for _cls in _CLASSES:
    declare_plain(_cls, lambda image: [image._pixels], lambda pixels, cls=_cls: cls.from_pixels(pixels))
