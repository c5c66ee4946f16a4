"""Sensors that see: cameras as systems, their images, and what is done with these."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
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
from merganser.geometry.rendering.cameras import CameraInfo
from merganser.geometry.sensors.colorize import ColorizeDepthImage, ColorizeLabelImage, ConcatenateImages
from merganser.geometry.sensors.image_writer import ImageWriter, VideoWriter
from merganser.geometry.sensors.rgbd_sensor import RgbdSensor, RgbdSensorDiscrete
from merganser.geometry.sensors.rgbd_sensor_async import RgbdSensorAsync

if _TYPE_CHECKING:
    from merganser.geometry.sensors.lcm_images import ImageToLcmImageArrayT, LcmImageArrayToImages
else:
    __getattr__, __dir__ = _lazy_names(__name__)

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
