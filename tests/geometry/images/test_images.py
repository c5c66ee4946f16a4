"""Images: pixels, sizes, copies, depths in millimeters, files."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pillow

from merganser.framework import Value
from merganser.geometry.sensors import (
    ConvertDepth16UTo32F,
    ConvertDepth32FTo16U,
    Image,
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
    PixelType,
)


def random_image(pixel_type: PixelType, seed: int = 0) -> Any:
    image = Image[pixel_type](5, 4)
    rng = np.random.default_rng(seed)
    image.mutable_data[...] = rng.uniform(0, 200, image.shape).astype(image.Traits.ChannelType)
    return image


@pytest.mark.parametrize("pixel_type", PixelType)
def test_image_of_each_type_has_rows_columns_and_channels(pixel_type: PixelType) -> None:
    image, traits = Image[pixel_type](5, 4, 7), ImageTraits[pixel_type]
    assert image.Traits is traits and type(image).__name__ == f"Image{pixel_type.name[1:]}"
    assert image.data.dtype == traits.ChannelType and (image.data == 7).all()
    assert image.shape == image.data.shape == (4, 5, traits.kNumChannels)
    assert (image.width(), image.height(), image.size()) == (5, 4, 20 * traits.kNumChannels)
    image.at(2, 3)[:] = 9
    assert (image.data[3, 2] == 9).all() and (image.data == 9).sum() == traits.kNumChannels
    image.resize(2, 3)
    assert image.shape[:2] == (3, 2) and not image.data.any()
    assert not Image[pixel_type]().size()


def test_data_is_a_view_that_cannot_be_written_and_mutable_data_can() -> None:
    image = ImageRgba8U(3, 2)
    view = image.data
    image.mutable_data[0, 0] = [1, 2, 3, 4]
    assert view[0, 0].tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0] = 0
    assert ImageTraits[PixelType.kRgba8U].kPixelFormat == PixelFormat.kRgba


def test_copies_have_pixels_of_their_own() -> None:
    image = random_image(PixelType.kDepth32F)
    others = [copy.copy(image), copy.deepcopy(image), Value(image).Clone().get_value()]
    others.append(pickle.loads(pickle.dumps(image)))
    expected = image.data.copy()
    image.mutable_data[...] = 0.0
    for other in others:
        np.testing.assert_array_equal(other.data, expected)


def test_impossible_images_are_refused() -> None:
    for size in ((-1, 2), (0, 3), (3, 0)):
        with pytest.raises(RuntimeError, match=f"given {size[0]} x {size[1]}"):
            ImageRgb8U(*size)
    with pytest.raises(TypeError, match="take numbers from 0 to 255; given 300"):
        ImageRgb8U(2, 2, 300)
    with pytest.raises(IndexError, match=r"no pixel \(2, 0\) in an image of 2 x 3 pixels"):
        ImageRgb8U(2, 3).at(2, 0)
    with pytest.raises(RuntimeError, match=r"Image\[\.\.\.\] takes a PixelType; given 3"):
        Image[3]  # type: ignore[index]


def test_millimeters_are_cut_off_and_saturate() -> None:
    meters, millimeters = ImageDepth32F(9, 1), ImageDepth16U()
    meters.mutable_data[0, :, 0] = [0.0, 0.0004, 1.0006, 65.5341, 65.5351, 70.0, np.inf, np.nan, -1.0]
    ConvertDepth32FTo16U(meters, millimeters)
    assert millimeters.data[0, :, 0].tolist() == [0, 0, 1000, 65534, 65535, 65535, 65535, 65535, 0]
    ConvertDepth16UTo32F(millimeters, meters)
    expected = [0.0, 0.0, 1.0, 65.534, np.inf, np.inf, np.inf, np.inf, 0.0]
    np.testing.assert_allclose(meters.data[0, :, 0], expected, rtol=1e-7)


FILES = [
    (PixelType.kRgba8U, "png"), (PixelType.kRgba8U, "tiff"), (PixelType.kRgb8U, "png"), (PixelType.kGrey8U, "png"),
    (PixelType.kDepth16U, "png"), (PixelType.kDepth16U, "tif"), (PixelType.kDepth32F, "tiff"),
    (PixelType.kGrey8U, "jpg"),
]  # fmt: skip


@pytest.mark.parametrize(("pixel_type", "extension"), FILES)
def test_files_give_back_what_was_saved(tmp_path: Path, pixel_type: PixelType, extension: str) -> None:
    image, path = random_image(pixel_type), tmp_path / f"image.{extension}"
    ImageIo().Save(image, path)
    loaded, metadata = ImageIo().Load(path), ImageIo().LoadMetadata(path)
    assert type(loaded) is type(image)
    np.testing.assert_allclose(loaded.data, image.data, atol=40 if extension == "jpg" else 0)
    assert (metadata.width, metadata.height, metadata.channels, metadata.depth) == (5, 4, image.Traits.kNumChannels, 1)
    buffer = ImageIo().Save(image, metadata.format)
    assert ImageIo().Load(buffer).data.tobytes() == loaded.data.tobytes()


def test_channels_come_back_in_the_order_of_the_file_and_labels_as_numbers() -> None:
    image = random_image(PixelType.kBgra8U)
    assert isinstance(image, ImageBgra8U)
    loaded = ImageIo().Load(ImageIo().Save(image, ImageFileFormat.kPng))
    assert isinstance(loaded, ImageRgba8U)
    np.testing.assert_array_equal(loaded.data, image.data[:, :, [2, 1, 0, 3]])
    labels = ImageLabel16I(2, 1)
    labels.mutable_data[0, :, 0] = [3, 32766]
    loaded = ImageIo().Load(ImageIo().Save(labels, ImageFileFormat.kPng))
    assert isinstance(loaded, ImageDepth16U) and loaded.data.ravel().tolist() == [3, 32766]
    opaque = ImageIo().Load(ImageIo().Save(ImageRgba8U(4, 4, 200), ImageFileFormat.kJpeg))
    assert isinstance(opaque, ImageRgb8U) and np.abs(opaque.data.astype(int) - 200).max() < 4


@pytest.mark.parametrize(("mode", "expected"), [("P", ImageRgb8U), ("1", ImageGrey8U), ("LA", ImageRgba8U)])
def test_pictures_of_other_kinds_are_converted(mode: str, expected: type) -> None:
    buffer = io.BytesIO()
    pillow.new("RGB", (3, 2), (255, 255, 255)).convert("L" if mode == "LA" else "RGB").convert(mode).save(buffer, "PNG")
    image = ImageIo().Load(buffer.getvalue())
    assert type(image) is expected and (image.data == 255).all()


def test_pixels_of_16_bits_are_read_in_either_order_of_bytes() -> None:
    numbers, buffer = np.array([[5, 300, 65000]], dtype=">u2"), io.BytesIO()
    pillow.frombuffer("I;16B", (3, 1), numbers.tobytes(), "raw", "I;16B", 0, 1).save(buffer, "TIFF")
    image = ImageIo().Load(buffer.getvalue())
    assert isinstance(image, ImageDepth16U) and image.data.ravel().tolist() == [5, 300, 65000]


def test_metadata_describe_what_is_loaded_of_a_palette_with_transparency() -> None:
    buffer = io.BytesIO()
    pillow.new("P", (3, 2)).save(buffer, "PNG", transparency=0)
    metadata = ImageIo().LoadMetadata(buffer.getvalue())
    assert metadata is not None and metadata.channels == ImageIo().Load(buffer.getvalue()).shape[2] == 4


@pytest.mark.filterwarnings("error")
def test_files_are_closed_and_such_that_claim_to_be_huge_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "image.png"
    ImageIo().Save(ImageGrey8U(20, 20), path)
    assert ImageIo().LoadMetadata(path) is not None and ImageIo().Load(path).size() == 400
    gc.collect()
    monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", 100)
    assert ImageIo().LoadMetadata(path) is None
    with pytest.raises(RuntimeError, match=r"image\.png' could not be read .* exceeds limit"):
        ImageIo().Load(path)


def test_files_that_cannot_be_are_refused(tmp_path: Path) -> None:
    io_ = ImageIo()
    for call, message in (
        (lambda: io_.Load(tmp_path / "none.png"), r"there is no file '.*none\.png'"),
        (lambda: io_.Load(b"nonsense"), "'buffer of 8 bytes' could not be read as JPEG or PNG or TIFF"),
        (lambda: io_.Load(io_.Save(ImageGrey8U(2, 2), ImageFileFormat.kPng), ImageFileFormat.kTiff), "read as TIFF"),
        (lambda: io_.Save(ImageGrey8U(2, 2), tmp_path / "x.bmp"), r"x\.bmp' belongs to no image format\. Use one of"),
        (lambda: io_.Save(ImageDepth32F(2, 2), tmp_path / "x.png"), r"PNG files cannot hold .* Use TIFF"),
        (lambda: io_.Save(ImageDepth16U(2, 2), tmp_path / "x.jpg"), r"JPEG files cannot hold .*\. Use PNG or TIFF"),
        (lambda: io_.Save(ImageGrey8U(), tmp_path / "x.png"), "of 0 x 0 pixels> cannot be written"),
        (lambda: io_.Save(ImageGrey8U(2, 2), tmp_path / "none" / "x.png"), "could not be written"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert io_.LoadMetadata(b"nonsense") is None and list(tmp_path.iterdir()) == []
