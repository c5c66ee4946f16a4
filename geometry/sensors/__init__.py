"""Sensors that see: cameras as systems, their images, and what is done with these."""

import importlib
from typing import TYPE_CHECKING, Any

from merganser.geometry.images import (
    ConvertDepth16UTo32F,
    ConvertDepth32FTo16U,
    Image,
    ImageBgr8U,
    ImageBgra8U,
    ImageDepth16U,
    ImageDepth32F,
    ImageFileFormat,
    ImageGrey8U,
    ImageIo,
    ImageLabel16I,
    ImageRgb8U,
    ImageRgba8U,
    ImageTraits,
    PixelFormat,
    PixelScalar,
    PixelType,
)
from merganser.geometry.rendering.camera_info import CameraInfo
from merganser.geometry.sensors.colorize import ColorizeDepthImage, ColorizeLabelImage
from merganser.geometry.sensors.concatenate_images import ConcatenateImages
from merganser.geometry.sensors.image_writer import ImageWriter
from merganser.geometry.sensors.rgbd_sensor import RgbdSensor
from merganser.geometry.sensors.rgbd_sensor_async import RgbdSensorAsync
from merganser.geometry.sensors.rgbd_sensor_discrete import RgbdSensorDiscrete
from merganser.geometry.sensors.video_writer import VideoWriter

if TYPE_CHECKING:
    from merganser.geometry.sensors.image_to_lcm_image_array import ImageToLcmImageArrayT
    from merganser.geometry.sensors.lcm_image_array_to_images import LcmImageArrayToImages

__all__ = [
    "CameraInfo",
    "ColorizeDepthImage",
    "ColorizeLabelImage",
    "ConcatenateImages",
    "ConvertDepth16UTo32F",
    "ConvertDepth32FTo16U",
    "Image",
    "ImageBgr8U",
    "ImageBgra8U",
    "ImageDepth16U",
    "ImageDepth32F",
    "ImageFileFormat",
    "ImageGrey8U",
    "ImageIo",
    "ImageLabel16I",
    "ImageRgb8U",
    "ImageRgba8U",
    "ImageToLcmImageArrayT",
    "ImageTraits",
    "ImageWriter",
    "LcmImageArrayToImages",
    "PixelFormat",
    "PixelScalar",
    "PixelType",
    "RgbdSensor",
    "RgbdSensorAsync",
    "RgbdSensorDiscrete",
    "VideoWriter",
]

# Imported when they are first asked for: most programs send no images.
_OF_MESSAGES = {
    "ImageToLcmImageArrayT": "image_to_lcm_image_array",
    "LcmImageArrayToImages": "lcm_image_array_to_images",
}


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        if name in _OF_MESSAGES:
            value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_OF_MESSAGES[name]}"), name)
            return value
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
