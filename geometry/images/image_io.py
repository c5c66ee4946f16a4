"""ImageIo: images in JPEG, PNG and TIFF files, on disk or in memory, written and read by Pillow."""

from __future__ import annotations

import enum
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from merganser.framework.common.records import settings
from merganser.framework.common.saving import saved
from merganser.geometry.images.image import (
    AnyImage,
    ImageDepth16U,
    ImageDepth32F,
    ImageGrey8U,
    ImageLabel16I,
    ImageRgb8U,
    ImageRgba8U,
    PixelFormat,
    PixelScalar,
)


class ImageFileFormat(enum.IntEnum):
    """The formats of files that ImageIo reads and writes."""

    kJpeg = 0
    kPng = 1
    kTiff = 2

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


_PILLOW_NAMES = {ImageFileFormat.kJpeg: "JPEG", ImageFileFormat.kPng: "PNG", ImageFileFormat.kTiff: "TIFF"}
_EXTENSIONS = {
    ".jpg": ImageFileFormat.kJpeg,
    ".jpeg": ImageFileFormat.kJpeg,
    ".png": ImageFileFormat.kPng,
    ".tif": ImageFileFormat.kTiff,
    ".tiff": ImageFileFormat.kTiff,
}
# What Pillow calls the pixels, the class of the image, and the number in its channels.
_READ_AS: dict[str, tuple[type[AnyImage], PixelScalar]] = {
    "L": (ImageGrey8U, PixelScalar.k8U),
    "RGB": (ImageRgb8U, PixelScalar.k8U),
    "RGBA": (ImageRgba8U, PixelScalar.k8U),
    "I;16": (ImageDepth16U, PixelScalar.k16U),
    "I;16B": (ImageDepth16U, PixelScalar.k16U),
    "F": (ImageDepth32F, PixelScalar.k32F),
}
_CONVERTED_TO = {"1": "L", "P": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "LA": "RGBA", "PA": "RGBA"}


@settings
@dataclass(kw_only=True)
class Metadata:
    """What an image file holds.

    Attributes:
        format: of the file.
        width: number of columns.
        height: number of rows.
        depth: number of layers, which is 1.
        channels: numbers in a pixel.
        scalar: type of these numbers.
    """

    format: ImageFileFormat = ImageFileFormat.kJpeg
    width: int = 0
    height: int = 0
    depth: int = 0
    channels: int = 0
    scalar: PixelScalar = PixelScalar.k8U


_Metadata = Metadata  # in ImageIo, Metadata is an attribute


class ImageIo:
    """Reads and writes images.

    Colors come back as ImageRgb8U or ImageRgba8U, whatever the order of channels was; labels as ImageDepth16U. JPEG
    takes 8 bits without opacity, PNG 8 and 16 bits; TIFF also takes floats.
    """

    Metadata = Metadata

    @overload
    def Load(self, path: str | os.PathLike[str], format: ImageFileFormat | None = None) -> AnyImage: ...
    @overload
    def Load(self, buffer: bytes, format: ImageFileFormat | None = None) -> AnyImage: ...
    def Load(self, *args: Any, **kwargs: Any) -> AnyImage:
        """Reads an image.

        Args:
            path: of a file; its extension does not matter. Or
            buffer: what is in a file.
            format: the only format that is accepted, if one is given.

        Raises:
            RuntimeError: the file cannot be read, is no image, or one of other pixels or of another format.
        """
        name, opened = _open(*_source(*args, **kwargs))
        with opened:
            mode, target = opened.mode, _target_of(opened)
            if target not in _READ_AS:
                raise RuntimeError(
                    f"ImageIo.Load(): the pixels of '{name}' are of a kind that no Image has ('{mode}')."
                )
            try:
                pixels = np.array(opened if target == mode else opened.convert(target))
            except (OSError, ValueError, SyntaxError) as error:
                raise RuntimeError(f"ImageIo.Load(): '{name}' could not be read: {error}") from error
        image = _READ_AS[target][0]
        shape = (*pixels.shape[:2], image.Traits.kNumChannels)
        return image.from_pixels(pixels.astype(image.Traits.ChannelType, copy=False).reshape(shape))

    @overload
    def LoadMetadata(self, path: str | os.PathLike[str]) -> _Metadata | None: ...
    @overload
    def LoadMetadata(self, buffer: bytes) -> _Metadata | None: ...
    def LoadMetadata(self, *args: Any, **kwargs: Any) -> _Metadata | None:
        """Returns what an image file holds; None if that is unknown.

        Args:
            path: of a file; or
            buffer: what is in a file.
        """
        try:
            _, opened = _open(*_source(*args, **kwargs))
        except RuntimeError:
            return None
        with opened:
            target = _target_of(opened)
        if target not in _READ_AS:
            return None
        image, scalar = _READ_AS[target]
        format = next(format for format, name in _PILLOW_NAMES.items() if name == opened.format)
        channels = image.Traits.kNumChannels
        width, height = opened.size
        return Metadata(format=format, width=width, height=height, depth=1, channels=channels, scalar=scalar)

    @overload
    def Save(self, image: AnyImage, path: str | os.PathLike[str], format: ImageFileFormat | None = None) -> None: ...
    @overload
    def Save(self, image: AnyImage, format: ImageFileFormat) -> bytes: ...
    def Save(self, image: AnyImage, path: Any = None, format: Any = None) -> Any:  # type: ignore[misc]
        """Writes an image to a file or into memory.

        Args:
            image: the image.
            path: of the file; without it,
            format: the format of the file, by default that of the path's extension. If it stands alone, the contents of
                the file are returned.

        Raises:
            TypeError: what is given is no image, or there is neither path nor format.
            RuntimeError: the extension belongs to no format, the format cannot hold such pixels, the image is empty,
                or the file cannot be written.
        """
        if isinstance(path, ImageFileFormat) and format is None:
            path, format = None, path
        if not isinstance(image, AnyImage):
            raise TypeError(f"ImageIo.Save() takes an image; given {image!r}.")
        if path is None and format is None:
            raise TypeError("ImageIo.Save() needs a path or a format.")
        if format is None:
            format = _format_of(Path(path))
        picture = _as_picture(image, format)
        if path is None:
            buffer = io.BytesIO()
            picture.save(buffer, format=_PILLOW_NAMES[format])
            return buffer.getvalue()
        try:
            with saved(path) as file:
                picture.save(file, format=_PILLOW_NAMES[format])
        except OSError as error:
            raise RuntimeError(f"ImageIo.Save(): '{path}' could not be written: {error}") from error
        return None


def _source(
    path: Any = None, format: ImageFileFormat | None = None, *, buffer: bytes | None = None
) -> tuple[Any, ImageFileFormat | None]:
    """The path or the bytes to read, and the format that they must have."""
    source = path if buffer is None else buffer
    if not isinstance(source, (str, os.PathLike, bytes)):
        raise TypeError(f"ImageIo reads from a path or from bytes; given {source!r}.")
    return source, format


def _open(source: Any, format: ImageFileFormat | None) -> tuple[str, Any]:
    """What messages call it, and what Pillow makes of it."""
    from PIL import Image as pillow  # takes 40 ms to import

    is_buffer = isinstance(source, bytes)
    name = f"buffer of {len(source)} bytes" if is_buffer else os.fspath(source)
    formats = list(_PILLOW_NAMES.values()) if format is None else [_PILLOW_NAMES[format]]
    try:
        opened = pillow.open(io.BytesIO(source) if is_buffer else source, formats=formats)
    except FileNotFoundError:
        raise RuntimeError(f"ImageIo: there is no file '{name}'.") from None
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        expected = " or ".join(formats)
        raise RuntimeError(f"ImageIo: '{name}' could not be read as {expected}: {error}") from error
    return name, opened


def _target_of(opened: Any) -> str:
    """What the pixels of a file are converted to: a mode of Pillow, among _READ_AS if there is an image for them."""
    mode: str = opened.mode
    if mode == "P" and "transparency" in opened.info:
        return "RGBA"
    if mode == "I" and opened.format == "PNG":  # as Pillow before 10.3 calls 16 bits
        return "I;16"
    return _CONVERTED_TO.get(mode, mode)


def _format_of(path: Path) -> ImageFileFormat:
    format = _EXTENSIONS.get(path.suffix.lower())
    if format is None:
        known = ", ".join(_EXTENSIONS)
        raise RuntimeError(
            f"ImageIo.Save(): the extension of '{path}' belongs to no image format. Use one of {known}, or give the "
            "format."
        )
    return format


def _as_picture(image: AnyImage, format: ImageFileFormat) -> Any:
    """An image as Pillow writes it.

    Raises:
        RuntimeError: the format cannot hold it.
    """
    from PIL import Image as pillow

    if not image.size():
        raise RuntimeError(f"ImageIo.Save(): {image!r} cannot be written.")
    pixels, layout = image.data, image.Traits.kPixelFormat
    scalar = image.Traits.ChannelType
    is_wide = scalar is not np.uint8
    if (format is ImageFileFormat.kJpeg and is_wide) or (format is ImageFileFormat.kPng and scalar is np.float32):
        raise RuntimeError(
            f"ImageIo.Save(): {_PILLOW_NAMES[format]} files cannot hold the pixels of an {type(image).__name__}. "
            f"Use {'PNG or TIFF' if scalar is not np.float32 else 'TIFF'}."
        )
    if isinstance(image, ImageLabel16I):
        pixels = pixels.view(np.uint16)
    if layout in (PixelFormat.kBgr, PixelFormat.kBgra):
        pixels = pixels[:, :, [2, 1, 0, 3][: pixels.shape[2]]]
    if format is ImageFileFormat.kJpeg and pixels.shape[2] == 4:
        pixels = pixels[:, :, :3]
    pixels = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    return pillow.fromarray(np.ascontiguousarray(pixels))
