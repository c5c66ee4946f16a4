"""Images as messages: ImageToLcmImageArrayT writes them, LcmImageArrayToImages reads them.

Images as messages (lcmt_image), and messages as images: pixels as they are, or compressed by zlib, PNG or JPEG.

Messages may come from anywhere: what does not fit together is refused, before memory is taken for it.
"""

from __future__ import annotations

import functools
import logging
import zlib
from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value, kUseDefaultName
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_image, lcmt_image_array
from merganser.geometry.images import (
    AnyImage,
    ConvertDepth16UTo32F,
    Image,
    ImageDepth16U,
    ImageDepth32F,
    ImageIo,
    ImageLabel16I,
    ImageRgba8U,
    PixelFormat,
    PixelType,
)
from merganser.geometry.images.image import PixelTypeTemplate

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


_logger = logging.getLogger("merganser.sensors")


class ImageToLcmImageArrayT(LeafSystem):
    """Gives the images at its inputs as an lcmt_image_array.

    Ports:
        input: one for each image, by the name of its frame; all of them must be connected.
        output `y0`: lcmt_image_array.

    Args:
        color_frame_name, depth_frame_name, label_frame_name: names of ports for an ImageRgba8U, an ImageDepth32F and an
            ImageLabel16I. Without them there are only the ports of `DeclareImageInputPort`.
        do_compress: whether pixels are compressed, by zlib.
    """

    @overload
    def __init__(
        self, color_frame_name: str, depth_frame_name: str, label_frame_name: str, do_compress: bool = ...
    ) -> None: ...
    @overload
    def __init__(self, do_compress: bool = ..., /) -> None: ...
    @overload
    def __init__(self, *, do_compress: bool) -> None: ...
    def __init__(
        self,
        color_frame_name: Any = None,
        depth_frame_name: Any = None,
        label_frame_name: Any = None,
        do_compress: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(color_frame_name, bool):
            color_frame_name, do_compress = None, color_frame_name
        names = (color_frame_name, depth_frame_name, label_frame_name)
        if any(name is not None for name in names) and not all(isinstance(name, str) for name in names):
            raise TypeError(f"ImageToLcmImageArrayT takes three names of frames, or none; given {names!r}.")
        self._is_compressed = bool(do_compress)
        self._by_kind: dict[PixelType, InputPort] = {}
        if color_frame_name is not None:
            for pixel_type, name in zip((PixelType.kRgba8U, PixelType.kDepth32F, PixelType.kLabel16I), names):
                self._by_kind[pixel_type] = self._declare(pixel_type, name)
        self.DeclareAbstractOutputPort(kUseDefaultName, lambda: Value(lcmt_image_array()), self._calc_message)

    @property
    def DeclareImageInputPort(self) -> PixelTypeTemplate:
        """Declares a port: `DeclareImageInputPort[PixelType.kRgb8U](name)` returns it."""
        functions = {pixel_type: functools.partial(self._declare, pixel_type) for pixel_type in PixelType}
        return PixelTypeTemplate("DeclareImageInputPort", functions)

    def color_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageRgba8U."""
        return self._port_of(PixelType.kRgba8U, "color")

    def depth_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageDepth32F."""
        return self._port_of(PixelType.kDepth32F, "depth")

    def label_image_input_port(self) -> InputPort:
        """Returns the port that takes an ImageLabel16I."""
        return self._port_of(PixelType.kLabel16I, "label")

    def image_array_t_msg_output_port(self) -> OutputPort:
        """Returns the port that gives the message."""
        return self.get_output_port(0)

    def _declare(self, pixel_type: PixelType, name: str) -> InputPort:
        return self.DeclareAbstractInputPort(name, Value(Image[pixel_type]()))

    def _port_of(self, pixel_type: PixelType, kind: str) -> InputPort:
        if pixel_type not in self._by_kind:
            raise RuntimeError(
                f"ImageToLcmImageArrayT.{kind}_image_input_port(): this one was made without names of frames, and has "
                "the ports of DeclareImageInputPort only."
            )
        return self._by_kind[pixel_type]

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = lcmt_image_array()
        message.header.utime = utime = microseconds(context.get_time())
        ports = [self.get_input_port(i) for i in range(self.num_input_ports())]
        message.images = [
            image_message(port.Eval(context), port.get_name(), utime, self._is_compressed) for port in ports
        ]
        message.num_images = len(message.images)
        output.set_value(message)


class LcmImageArrayToImages(LeafSystem):
    """Gives the images in an lcmt_image_array: the last one of each kind, or an empty one.

    Colors may be in the order of RGB or BGR, with or without opacity; depths floats [m] or whole numbers [mm]; pixels
    as they are, or compressed by zlib, PNG or JPEG. An image that does not fit together is left out, with a warning.

    Ports:
        input `image_array_t`: lcmt_image_array.
        output `color_image`: ImageRgba8U.
        output `depth_image`: ImageDepth32F.
        output `label_image`: ImageLabel16I.
    """

    def __init__(self) -> None:
        super().__init__()
        self._message = self.DeclareAbstractInputPort("image_array_t", Value(lcmt_image_array()))
        kinds: list[tuple[str, type[AnyImage], Callable[[Any], AnyImage | None]]] = [
            ("color_image", ImageRgba8U, color_of),
            ("depth_image", ImageDepth32F, depth_of),
            ("label_image", ImageLabel16I, label_of),
        ]
        for name, image, unpack in kinds:
            calc = functools.partial(self._calc_image, image, unpack)
            self.DeclareAbstractOutputPort(name, functools.partial(_empty, image), calc)

    def image_array_t_input_port(self) -> InputPort:
        """Returns the port that takes the message."""
        return self._message

    def color_image_output_port(self) -> OutputPort:
        """Returns the port that gives the color image."""
        return self.get_output_port(0)

    def depth_image_output_port(self) -> OutputPort:
        """Returns the port that gives the depth image."""
        return self.get_output_port(1)

    def label_image_output_port(self) -> OutputPort:
        """Returns the port that gives the label image."""
        return self.get_output_port(2)

    def _calc_image(
        self, image: type[AnyImage], unpack: Callable[[Any], AnyImage | None], context: Context, output: AbstractValue
    ) -> None:
        found = image()
        for number, message in enumerate(self._message.Eval(context).images):
            try:
                found = unpack(message) or found
            except ValueError as error:
                _logger.warning(
                    "System '%s': image %d of the message, of camera '%s', is damaged: %s. It is left out.",
                    self.GetSystemPathname(), number, message.header.frame_name, error,
                )  # fmt: skip
        output.set_value(found)


def _empty(image: type[AnyImage]) -> AbstractValue:
    return Value(image())
