"""Images as messages and back: layouts, compression, and messages that do not fit together."""

from __future__ import annotations

import io
import logging
import zlib
from typing import Any

import numpy as np
import pytest

from merganser.framework import Value
from merganser.framework.lcm.messages import lcmt_image, lcmt_image_array
from merganser.geometry.images import ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U, PixelType
from merganser.geometry.sensors import ImageToLcmImageArrayT, LcmImageArrayToImages

COLOR, DEPTH, LABEL = range(3)


def unpacked(*images: Any) -> list[Any]:
    """The images of a message."""
    message = lcmt_image_array()
    message.images, message.num_images = list(images), len(images)
    unpack = LcmImageArrayToImages()
    context = unpack.CreateDefaultContext()
    unpack.image_array_t_input_port().FixValue(context, Value(lcmt_image_array.decode(message.encode())))
    return [unpack.get_output_port(i).Eval(context) for i in range(3)]


def image(pixels: Any, pixel_format: int, channel_type: int, /, **members: Any) -> Any:
    message = lcmt_image()
    message.height, message.width = pixels.shape[:2]
    message.pixel_format, message.channel_type = pixel_format, channel_type
    message.data = pixels.tobytes()
    message.row_stride = len(message.data) // pixels.shape[0]
    for name, value in members.items():
        setattr(message, name, value)
    message.size = len(message.data)
    return message


def colors(**members: Any) -> Any:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    return image(pixels, lcmt_image.PIXEL_FORMAT_RGB, lcmt_image.CHANNEL_TYPE_UINT8, **members)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_images_come_back_as_they_were(is_compressed: bool) -> None:
    random = np.random.default_rng(0)
    pack = ImageToLcmImageArrayT("color", "depth", "label", do_compress=is_compressed)
    context, given = pack.CreateDefaultContext(), []
    for number, kind in enumerate((ImageRgba8U, ImageDepth32F, ImageLabel16I)):
        made = kind(5, 3)
        made.mutable_data[:] = random.integers(1, 200, size=made.shape)
        given.append(made)
        pack.get_input_port(number).FixValue(context, Value(made))
    context.SetTime(2.5)
    message = pack.image_array_t_msg_output_port().Eval(context)
    assert message.header.utime == 2_500_000
    assert [each.header.frame_name for each in message.images] == ["color", "depth", "label"]
    for ours, back in zip(given, unpacked(*message.images)):
        assert np.array_equal(ours.data, back.data)


def test_ports_are_declared_for_any_pixels() -> None:
    pack = ImageToLcmImageArrayT(True)
    port = pack.DeclareImageInputPort[PixelType.kDepth16U](name="mm")
    context, made = pack.CreateDefaultContext(), ImageDepth16U(2, 1)
    made.mutable_data[:] = np.reshape([500, 65535], (1, 2, 1))  # the last is too far
    port.FixValue(context, Value(made))
    depths = unpacked(*pack.image_array_t_msg_output_port().Eval(context).images)[DEPTH].data.ravel()
    assert depths[0] == 0.5 and np.isinf(depths[1])
    with pytest.raises(RuntimeError, match="has the ports of DeclareImageInputPort only"):
        pack.color_image_input_port()
    with pytest.raises(TypeError, match="three names of frames, or none"):
        ImageToLcmImageArrayT("color")


@pytest.mark.parametrize(
    ("pixel_format", "places"),
    [("RGB", (0, 1, 2)), ("BGR", (2, 1, 0)), ("RGBA", (0, 1, 2, 3)), ("BGRA", (2, 1, 0, 3))],
)
def test_colors_may_be_in_any_order(pixel_format: str, places: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(1).integers(256, size=(2, 3, len(places)), dtype=np.uint8)
    message = image(pixels, getattr(lcmt_image, f"PIXEL_FORMAT_{pixel_format}"), lcmt_image.CHANNEL_TYPE_UINT8)
    found = unpacked(message)[COLOR].data
    assert np.array_equal(found[:, :, : len(places)], pixels[:, :, places])
    assert len(places) == 4 or (found[:, :, 3] == 255).all()


def test_rows_may_be_padded_and_numbers_of_either_order() -> None:
    pixels = np.array([[1, -2], [300, 4]], dtype=">i2")
    data = b"".join(row.tobytes() + b"??" for row in pixels)
    members = {"data": data, "row_stride": 6, "bigendian": True}
    message = image(pixels, lcmt_image.PIXEL_FORMAT_LABEL, lcmt_image.CHANNEL_TYPE_INT16, **members)
    assert np.array_equal(unpacked(message)[LABEL].data[:, :, 0], pixels)


def test_pictures_in_files_are_read() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="extra `view`")
    pixels = np.random.default_rng(2).integers(256, size=(4, 5, 3), dtype=np.uint8)
    file = io.BytesIO()
    pillow.fromarray(pixels).save(file, "PNG")
    method = lcmt_image.COMPRESSION_METHOD_PNG
    message = image(pixels, lcmt_image.PIXEL_FORMAT_RGB, 0, data=file.getvalue(), compression_method=method)
    message.channel_type = lcmt_image.CHANNEL_TYPE_UINT8
    found = unpacked(message)[COLOR].data
    assert np.array_equal(found[:, :, :3], pixels) and (found[:, :, 3] == 255).all()


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"width": 0}, "0 x 2 pixels"),
        ({"width": -4}, "-4 x 2 pixels"),
        ({"width": 1 << 30, "height": 1 << 30}, "pixels large"),
        ({"height": 3}, "24 bytes where 36 are expected"),
        ({"row_stride": 3}, "its rows are 3 bytes apart, and have 12"),
        ({"row_stride": -1}, "bytes apart"),
        ({"row_stride": 1 << 30}, "bytes apart"),
        ({"channel_type": 99}, "channels are of type 99"),
        ({"channel_type": lcmt_image.CHANNEL_TYPE_FLOAT32}, "channels are of type"),
        ({"compression_method": 77}, "method of compression is 77"),
        ({"compression_method": lcmt_image.COMPRESSION_METHOD_ZLIB}, "cannot be decompressed"),
        ({"compression_method": lcmt_image.COMPRESSION_METHOD_ZLIB, "data": zlib.compress(bytes(9))}, "9 bytes"),
        (
            {"compression_method": lcmt_image.COMPRESSION_METHOD_ZLIB, "data": zlib.compress(bytes(10_000_000))},
            "pixels are more bytes",
        ),
        ({"compression_method": lcmt_image.COMPRESSION_METHOD_PNG}, "holds no picture"),
        ({"compression_method": lcmt_image.COMPRESSION_METHOD_JPEG, "data": b""}, "holds no picture"),
    ],
)
def test_images_that_do_not_fit_together_are_left_out(
    members: dict[str, Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "merganser.sensors"):
        found = unpacked(colors(), colors(**members))[COLOR]
    assert found.data.shape == (2, 4, 4)  # the one that fits
    (record,) = caplog.records
    assert "image 1 of the message" in record.getMessage()
    assert text in record.getMessage()
