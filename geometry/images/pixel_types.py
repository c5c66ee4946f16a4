"""What the pixels of images are: kinds of channels, and numbers in them."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import numpy as np


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
