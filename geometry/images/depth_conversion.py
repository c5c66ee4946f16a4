"""Depth images in meters to such in millimeters, and back."""

from __future__ import annotations

import numpy as np

from merganser.geometry.images.image import ImageDepth16U, ImageDepth32F

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
