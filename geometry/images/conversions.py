"""Images of one kind from those of another: depths in meters and millimeters, labels as colors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.images.image import ImageDepth16U, ImageDepth32F
from merganser.geometry.registration.colors import RenderLabel

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
