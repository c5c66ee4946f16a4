"""Image: width times height pixels of one type; the kinds of pixels, and images of one kind from those of another."""

from __future__ import annotations

import enum
import operator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.plain_values import declare_plain
from merganser.geometry.registration.colors import RenderLabel


class _Kind(enum.IntEnum):
    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


class PixelType(_Kind):
    """The channels of a pixel and the numbers in them, together."""

    kRgb8U = 0
    kBgr8U = 1
    kRgba8U = 2
    kBgra8U = 3
    kGrey8U = 4
    kDepth16U = 5
    kDepth32F = 6
    kLabel16I = 7


class PixelFormat(_Kind):
    """The channels of a pixel."""

    kRgb = 0
    kBgr = 1
    kRgba = 2
    kBgra = 3
    kGrey = 4
    kDepth = 5
    kLabel = 6


class PixelScalar(_Kind):
    """The type of the numbers in a channel."""

    k8U = 0
    k16I = 1
    k16U = 2
    k32F = 3


class PixelTypeTemplate:
    """A family of classes, one for each PixelType: `Image[PixelType.kRgba8U]`.

    Args:
        name: of the family.
        classes: by PixelType.
    """

    def __init__(self, name: str, classes: dict[PixelType, Any]) -> None:
        self.name = name
        self._classes = classes

    @property
    def param_list(self) -> list[tuple[PixelType]]:
        """The pixel types, each in a tuple."""
        return [(pixel_type,) for pixel_type in self._classes]

    def __getitem__(self, pixel_type: PixelType) -> Any:
        """The class for one type of pixels.

        Raises:
            RuntimeError: this is no PixelType.
        """
        if isinstance(pixel_type, (tuple, list)) and len(pixel_type) == 1:
            pixel_type = pixel_type[0]
        if not isinstance(pixel_type, PixelType):
            raise RuntimeError(f"{self.name}[...] takes a PixelType; given {pixel_type!r}.")
        return self._classes[pixel_type]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.name}: say of which pixels, as in {self.name}[PixelType.kRgba8U](...).")

    def __repr__(self) -> str:
        return f"<PixelTypeTemplate {self.name}>"


class _Traits:
    """Facts about one type of pixels.

    Attributes:
        kNumChannels: numbers in a pixel.
        ChannelType: their type.
        kPixelFormat: what they mean.
        kPixelType: the type of pixels.
    """

    kNumChannels: ClassVar[int]
    ChannelType: ClassVar[type[np.generic]]
    kPixelFormat: ClassVar[PixelFormat]
    kPixelType: ClassVar[PixelType]


class _DepthTraits(_Traits):
    """Facts about pixels that are depths.

    Attributes:
        kTooClose: stands for whatever is nearer than the sensor can see.
        kTooFar: stands for whatever is farther away.
    """

    kTooClose: ClassVar[Any]
    kTooFar: ClassVar[Any]


def _traits(pixel_type: PixelType, channels: int, scalar: type[np.generic], format: PixelFormat, **limits: Any) -> Any:
    facts = {"kNumChannels": channels, "ChannelType": scalar, "kPixelFormat": format, "kPixelType": pixel_type}
    base = _DepthTraits if limits else _Traits
    content = {**facts, **limits, "__doc__": base.__doc__, "__module__": __name__}
    return type(f"ImageTraits[{pixel_type.name}]", (base,), content)


ImageTraits = PixelTypeTemplate(
    "ImageTraits",
    {
        traits.kPixelType: traits
        for traits in (
            _traits(PixelType.kRgb8U, 3, np.uint8, PixelFormat.kRgb),
            _traits(PixelType.kBgr8U, 3, np.uint8, PixelFormat.kBgr),
            _traits(PixelType.kRgba8U, 4, np.uint8, PixelFormat.kRgba),
            _traits(PixelType.kBgra8U, 4, np.uint8, PixelFormat.kBgra),
            _traits(PixelType.kGrey8U, 1, np.uint8, PixelFormat.kGrey),
            _traits(PixelType.kDepth16U, 1, np.uint16, PixelFormat.kDepth, kTooClose=0, kTooFar=65535),
            _traits(PixelType.kDepth32F, 1, np.float32, PixelFormat.kDepth, kTooClose=0.0, kTooFar=np.inf),
            _traits(PixelType.kLabel16I, 1, np.int16, PixelFormat.kLabel),
        )
    },
)


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


_TOO_FAR_16U = ImageDepth16U.Traits.kTooFar
_TOO_FAR_32F = ImageDepth32F.Traits.kTooFar


def ConvertDepth32FTo16U(input: ImageDepth32F, output: ImageDepth16U) -> None:
    """Fills an image with depths in whole millimeters, rounded down.

    Depths of 65535 mm and more, and what is not a number, become 65535, which means too far.

    Args:
        input: depths [m].
        output: depths [mm]; is given the size of the input.
    """
    _require("ConvertDepth32FTo16U", input, ImageDepth32F, output, ImageDepth16U)
    if output.shape != input.shape:
        output.resize(input.width(), input.height())
    depth_mm = input.data * np.float32(1000.0)
    np.maximum(depth_mm, np.float32(0.0), out=depth_mm)
    np.nan_to_num(depth_mm, copy=False, nan=_TOO_FAR_16U, posinf=_TOO_FAR_16U)
    np.minimum(depth_mm, np.float32(_TOO_FAR_16U), out=depth_mm)
    output.mutable_data[...] = depth_mm  # the cast cuts fractions off


def ConvertDepth16UTo32F(input: ImageDepth16U, output: ImageDepth32F) -> None:
    """Fills an image with depths in meters; 65535 becomes infinity.

    Args:
        input: depths [mm].
        output: depths [m]; is given the size of the input.
    """
    _require("ConvertDepth16UTo32F", input, ImageDepth16U, output, ImageDepth32F)
    if output.shape != input.shape:
        output.resize(input.width(), input.height())
    np.divide(input.data, np.float32(1000.0), out=output.mutable_data, casting="same_kind")
    output.mutable_data[input.data == _TOO_FAR_16U] = _TOO_FAR_32F


def _require(caller: str, input: object, input_type: type, output: object, output_type: type) -> None:
    if not isinstance(input, input_type) or not isinstance(output, output_type):
        raise TypeError(
            f"{caller}() takes an {input_type.__name__} and an {output_type.__name__}; given {input!r} and {output!r}."
        )


# Blue, orange, green, red, purple, brown, pink, gray, olive, cyan.
_PALETTE = np.array(
    [
        [31, 119, 180, 255], [255, 127, 14, 255], [44, 160, 44, 255], [214, 39, 40, 255], [148, 103, 189, 255],
        [140, 86, 75, 255], [227, 119, 194, 255], [127, 127, 127, 255], [188, 189, 34, 255], [23, 190, 207, 255],
    ],
    np.uint8,
)  # fmt: skip
_BLACK = np.array([0, 0, 0, 255], np.uint8)


def label_colors(labels: NDArray[np.int16], background: NDArray[np.uint8] = _BLACK) -> NDArray[np.uint8]:
    """Red, green, blue and opacity of labels; there are ten colors, shape [height, width, 4].

    Args:
        labels: shape [height, width].
        background: color of reserved labels, shape [4].
    """
    colors: NDArray[np.uint8] = _PALETTE[labels % len(_PALETTE)]
    colors[labels > RenderLabel.kMaxUnreserved] = background
    return colors
