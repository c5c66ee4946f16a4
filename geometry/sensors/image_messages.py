"""Images as messages (lcmt_image), and messages as images: pixels as they are, or compressed by zlib, PNG or JPEG.

Messages may come from anywhere: what does not fit together is refused, before memory is taken for it.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.lcm.messages.signals import lcmt_image
from merganser.geometry.images import (
    AnyImage,
    ConvertDepth16UTo32F,
    ImageDepth16U,
    ImageDepth32F,
    ImageIo,
    ImageLabel16I,
    ImageRgba8U,
    PixelFormat,
)

Array = NDArray[Any]

_MOST_PIXELS = 1 << 26
_ZLIB_LEVEL = 1  # quickest
_OPAQUE = 255

_FORMATS = {
    PixelFormat.kRgb: lcmt_image.PIXEL_FORMAT_RGB,
    PixelFormat.kBgr: lcmt_image.PIXEL_FORMAT_BGR,
    PixelFormat.kRgba: lcmt_image.PIXEL_FORMAT_RGBA,
    PixelFormat.kBgra: lcmt_image.PIXEL_FORMAT_BGRA,
    PixelFormat.kGrey: lcmt_image.PIXEL_FORMAT_GRAY,
    PixelFormat.kDepth: lcmt_image.PIXEL_FORMAT_DEPTH,
    PixelFormat.kLabel: lcmt_image.PIXEL_FORMAT_LABEL,
}
_CHANNEL_TYPES: dict[type[np.generic], int] = {
    np.uint8: lcmt_image.CHANNEL_TYPE_UINT8,
    np.int16: lcmt_image.CHANNEL_TYPE_INT16,
    np.uint16: lcmt_image.CHANNEL_TYPE_UINT16,
    np.float32: lcmt_image.CHANNEL_TYPE_FLOAT32,
}
_SCALARS = {number: scalar for scalar, number in _CHANNEL_TYPES.items()}
# Where red, green, blue and opacity are in a pixel.
_COLORS = {
    lcmt_image.PIXEL_FORMAT_RGB: (0, 1, 2),
    lcmt_image.PIXEL_FORMAT_BGR: (2, 1, 0),
    lcmt_image.PIXEL_FORMAT_RGBA: (0, 1, 2, 3),
    lcmt_image.PIXEL_FORMAT_BGRA: (2, 1, 0, 3),
}


def image_message(image: AnyImage, frame_name: str, utime: int, is_compressed: bool) -> lcmt_image:
    """The message of an image.

    Args:
        image: of any pixels.
        frame_name: what the message calls the camera.
        utime: time of the image [us].
        is_compressed: whether pixels are compressed, by zlib.
    """
    message = lcmt_image()
    message.header.utime, message.header.frame_name = utime, frame_name
    message.width, message.height = image.width(), image.height()
    message.row_stride = image.width() * image.Traits.kNumChannels * np.dtype(image.Traits.ChannelType).itemsize
    message.pixel_format = _FORMATS[image.Traits.kPixelFormat]
    message.channel_type = _CHANNEL_TYPES[image.Traits.ChannelType]
    pixels = image.data.astype(image.data.dtype.newbyteorder("<"), copy=False).tobytes()
    if is_compressed:
        message.compression_method = message.COMPRESSION_METHOD_ZLIB
        message.data = zlib.compress(pixels, _ZLIB_LEVEL)
    else:
        message.compression_method = message.COMPRESSION_METHOD_NOT_COMPRESSED
        message.data = pixels
    message.size = len(message.data)
    return message


def color_of(message: lcmt_image) -> ImageRgba8U | None:
    """The image of a message; None if it has no colors.

    Raises:
        ValueError: the message does not fit together.
    """
    places = _COLORS.get(message.pixel_format)
    if places is None:
        return None
    pixels = _pixels(message, len(places), (np.uint8,))
    image = ImageRgba8U(message.width, message.height, _OPAQUE)
    image.mutable_data[:, :, : len(places)] = pixels[:, :, places]
    return image


def depth_of(message: lcmt_image) -> ImageDepth32F | None:
    """The image of a message [m], whose depths may be in mm; None if it has no depths.

    Raises:
        ValueError: the message does not fit together.
    """
    if message.pixel_format != lcmt_image.PIXEL_FORMAT_DEPTH:
        return None
    pixels = _pixels(message, 1, (np.float32, np.uint16))
    if pixels.dtype == np.float32:
        return ImageDepth32F.from_pixels(pixels)
    image = ImageDepth32F(message.width, message.height)
    ConvertDepth16UTo32F(ImageDepth16U.from_pixels(pixels), image)
    return image


def label_of(message: lcmt_image) -> ImageLabel16I | None:
    """The image of a message; None if it has no labels.

    Raises:
        ValueError: the message does not fit together.
    """
    if message.pixel_format != lcmt_image.PIXEL_FORMAT_LABEL:
        return None
    return ImageLabel16I.from_pixels(_pixels(message, 1, (np.int16,)))


def _pixels(message: lcmt_image, num_channels: int, scalars: tuple[type[np.generic], ...]) -> Array:
    """The pixels of a message, shape [height, width, num_channels].

    Args:
        message: the message.
        num_channels: of a pixel.
        scalars: types that numbers may have.
    """
    width, height, scalar = message.width, message.height, _SCALARS.get(message.channel_type)
    if scalar not in scalars or scalar is None:
        raise ValueError(f"its channels are of type {message.channel_type}")
    if width <= 0 or height <= 0 or width * height > _MOST_PIXELS:
        raise ValueError(f"it is {width} x {height} pixels large")
    methods = type(message)
    if message.compression_method in (methods.COMPRESSION_METHOD_PNG, methods.COMPRESSION_METHOD_JPEG):
        return _pixels_of_file(message, num_channels, scalar)
    row_size = width * num_channels * np.dtype(scalar).itemsize
    stride = message.row_stride or row_size
    if stride < row_size or stride > 2 * row_size + 4096:
        raise ValueError(f"its rows are {stride} bytes apart, and have {row_size}")
    data = _raw_bytes(message, stride * height)
    rows = np.frombuffer(data, np.uint8).reshape(height, stride)[:, :row_size]
    values = np.ascontiguousarray(rows).view(np.dtype(scalar).newbyteorder(">" if message.bigendian else "<"))
    return values.reshape(height, width, num_channels).astype(scalar)


def _raw_bytes(message: lcmt_image, size: int) -> bytes:
    """The bytes of the pixels, of which there are to be `size`."""
    if message.compression_method == message.COMPRESSION_METHOD_NOT_COMPRESSED:
        data = bytes(message.data)
    elif message.compression_method == message.COMPRESSION_METHOD_ZLIB:
        try:
            data = zlib.decompressobj().decompress(message.data, size + 1)
        except zlib.error as error:
            raise ValueError(f"its pixels cannot be decompressed: {error}") from None
    else:
        raise ValueError(f"its method of compression is {message.compression_method}")
    if len(data) != size:
        found = "more" if len(data) > size else str(len(data))
        raise ValueError(f"its pixels are {found} bytes where {size} are expected")
    return data


def _pixels_of_file(message: lcmt_image, num_channels: int, scalar: type[np.generic]) -> Array:
    """The pixels of a message that holds a PNG or JPEG file."""
    data = bytes(message.data)
    found = ImageIo().LoadMetadata(data)
    if found is None or (found.width, found.height) != (message.width, message.height):
        raise ValueError(f"it holds no picture of {message.width} x {message.height} pixels")
    try:
        image = ImageIo().Load(data)
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    is_color = scalar is np.uint8
    channels = image.shape[2]
    wanted = (np.uint8, (3, 4)) if is_color else (np.uint16, (1,))
    if image.data.dtype != wanted[0] or channels not in wanted[1] or scalar is np.float32:
        raise ValueError(f"it holds a picture of other pixels: {image!r}")
    if not is_color:
        return image.mutable_data.view(scalar)
    pixels = np.full((message.height, message.width, num_channels), _OPAQUE, np.uint8)
    shared = min(channels, num_channels)
    pixels[:, :, :shared] = image.data[:, :, :shared]
    return pixels
