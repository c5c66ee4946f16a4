"""Images: pixels of several types, their conversion, and files of them."""

from merganser.geometry.images.image import (
    AnyImage,
    ConvertDepth16UTo32F,
    ConvertDepth32FTo16U,
    Image,
    ImageBgr8U,
    ImageBgra8U,
    ImageDepth16U,
    ImageDepth32F,
    ImageGrey8U,
    ImageLabel16I,
    ImageRgb8U,
    ImageRgba8U,
    ImageTraits,
    PixelFormat,
    PixelScalar,
    PixelType,
    label_colors,
)
from merganser.geometry.images.image_io import ImageFileFormat, ImageIo

__all__ = [
    "AnyImage",
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
    "ImageTraits",
    "PixelFormat",
    "PixelScalar",
    "PixelType",
    "label_colors",
]
