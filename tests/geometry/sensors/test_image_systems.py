"""Systems that take images: colorizers, ConcatenateImages, ImageWriter, VideoWriter."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pillow

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.geometry import RenderLabel, Rgba
from merganser.geometry.sensors import (
    ColorizeDepthImage,
    ColorizeLabelImage,
    ConcatenateImages,
    Image,
    ImageDepth16U,
    ImageDepth32F,
    ImageIo,
    ImageLabel16I,
    ImageRgba8U,
    ImageWriter,
    PixelType,
    VideoWriter,
)


class Clock(LeafSystem):
    """Images of one pixel value: ten times the time."""

    def __init__(self, pixel_type: PixelType, width: int = 6, height: int = 4) -> None:
        super().__init__()

        def calc(context: Any, output: Any) -> None:
            output.set_value(Image[pixel_type](width, height, round(10.0 * context.get_time())))

        self.DeclareAbstractOutputPort("image", lambda: Value(Image[pixel_type]()), calc, {self.time_ticket()})


@pytest.mark.parametrize("kind", [ImageDepth32F, ImageDepth16U])
def test_depths_are_white_to_black_and_invalid_ones_red(kind: Any) -> None:
    depths, colors = kind(5, 1), ImageRgba8U()
    depths.mutable_data[0, :, 0] = [kind.Traits.kTooClose, 1000, 2000, 3000, kind.Traits.kTooFar]
    system = ColorizeDepthImage()
    system.Calc(depths, colors)
    assert colors.data[0, :, 0].tolist() == [100, 255, 128, 0, 100] and (colors.data[:, :, 3] == 255).all()
    system.invalid_color = Rgba(0.0, 0.0, 1.0, 0.0)
    context = system.CreateDefaultContext()
    with pytest.raises(RuntimeError, match="'depth_image_32f' or 'depth_image_16u'; none of them has one"):
        system.get_output_port().Eval(context)
    system.GetInputPort("depth_image_32f" if kind is ImageDepth32F else "depth_image_16u").FixValue(context, depths)
    assert system.get_output_port().Eval(context).at(4, 0).tolist() == [0, 0, 255, 0]
    same = kind(2, 1, 7)
    system.Calc(same, colors)
    assert (colors.data == 255).all()


_COLORS = [(ColorizeDepthImage, "invalid_color"), (ColorizeLabelImage, "background_color")]


@pytest.mark.parametrize("kind, name", _COLORS)
def test_colors_of_what_is_nothing_are_fields_of_their_classes(kind: Any, name: str) -> None:
    system = kind()
    assert isinstance(vars(kind)[name], property) and isinstance(getattr(system, name), Rgba)
    setattr(system, name, Rgba(0.1, 0.2, 0.3, 0.4))
    assert getattr(system, name) == Rgba(0.1, 0.2, 0.3, 0.4) != getattr(kind(), name)
    with pytest.raises(TypeError, match=rf"{kind.__name__}\.{name} must be an Rgba; given 3"):
        setattr(system, name, 3)


def test_labels_have_ten_colors_and_reserved_ones_none() -> None:
    labels, colors = ImageLabel16I(14, 1), ImageRgba8U()
    largest, reserved = RenderLabel.kMaxUnreserved, (RenderLabel.kEmpty, RenderLabel.kDontCare)
    labels.mutable_data[0, :, 0] = [*range(10), 23, largest, *reserved]
    system = ColorizeLabelImage()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, labels)
    colors = system.get_output_port().Eval(context)
    assert len(np.unique(colors.data[0, :10], axis=0)) == 10 and (colors.data[0, :12, 3] == 255).all()
    assert (colors.data[0, 10:12] == colors.data[0, 3]).all() and not colors.data[0, 12:].any()
    with pytest.raises(TypeError, match=r"ColorizeLabelImage\.Calc\(\) takes an ImageLabel16I"):
        system.Calc(ImageRgba8U(), colors)


def test_images_are_in_rows_and_columns_with_gaps_where_they_are_smaller() -> None:
    system = ConcatenateImages(rows=2, cols=2)
    context = system.CreateDefaultContext()
    assert system.get_output_port().Eval(context).size() == 0
    system.get_input_port(row=0, col=0).FixValue(context, ImageRgba8U(2, 1, 9))
    system.get_input_port(row=1, col=1).FixValue(context, ImageRgba8U(1, 3, 7))
    whole = system.get_output_port().Eval(context).data[:, :, 0]
    assert whole.tolist() == [[9, 9, 0], [0, 0, 7], [0, 0, 7], [0, 0, 7]]
    assert system.get_input_port(3) is system.get_input_port(row=1, col=1)
    with pytest.raises(IndexError, match="rows 0 to 1 and columns 0 to 1; given row 2 and column 0"):
        system.get_input_port(row=2, col=0)
    with pytest.raises(ValueError, match="at least one row"):
        ConcatenateImages(rows=0)
    with pytest.raises(TypeError, match=r"cannot have 1000000000000 x 1 input ports\. .* integer of 32 bits"):
        ConcatenateImages(rows=10**12)


def test_images_are_written_at_their_times_under_their_names(tmp_path: Path) -> None:
    (tmp_path / "grey_scale").mkdir()
    builder, writer = DiagramBuilder(), ImageWriter()
    builder.AddNamedSystem("writer", writer)
    for pixel_type, name, format, period, start in (
        (PixelType.kGrey8U, "a", "{image_type}/{port_name}_{time_msec:05}_{count}.png", 0.5, 0.25),
        (PixelType.kDepth32F, "b", "b{count:03}", 1.0, 0.0),
        (PixelType.kDepth16U, "c", "c_{time_usec}_{time_double:.1f}", 1.0, 1.0),
    ):
        clock = builder.AddSystem(Clock(pixel_type))
        port = writer.DeclareImageInputPort(pixel_type, name, str(tmp_path / format), period, start)
        builder.Connect(clock.get_output_port(), port)
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(1.5)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert written == [
        "b000.tiff", "b001.tiff", "c_1000000_1.0.png",
        *(f"grey_scale/a_{time:05}_{count}.png" for count, time in enumerate((250, 750, 1250))),
    ]  # fmt: skip
    assert (ImageIo().Load(tmp_path / "grey_scale/a_00750_1.png").data == 8).all()
    writer.ResetAllImageCounts()
    diagram.ForcedPublish(simulator.get_context())
    assert (ImageIo().Load(tmp_path / "b000.tiff").data == 15.0).all()


BAD_FORMATS = {
    "no folder": ("none/{count}", "the folder '.*none' for the images of port 'p' does not exist"),
    "folder of time": ("{count}/x", "depends on 'count'; it may depend on port_name and image_type only"),
    "other field": ("{name}", "its fields|Its fields may be port_name"),
    "broken": ("{", "is wrong"),
}


@pytest.mark.parametrize("name", BAD_FORMATS)
def test_file_names_that_cannot_be_are_refused_when_they_are_declared(tmp_path: Path, name: str) -> None:
    format, message = BAD_FORMATS[name]
    writer = ImageWriter()
    with pytest.raises(RuntimeError, match=message):
        writer.DeclareImageInputPort(PixelType.kGrey8U, "p", str(tmp_path / format), 1.0, 0.0)
    with pytest.raises(RuntimeError, match="publish_period of port 'p' must be positive"):
        writer.DeclareImageInputPort(PixelType.kGrey8U, "p", str(tmp_path / "x"), 0.0, 0.0)
    with pytest.raises(RuntimeError, match=r"writes images of kRgba8U, .*; given .*kBgr8U"):
        writer.DeclareImageInputPort(PixelType.kBgr8U, "p", str(tmp_path / "x"), 1.0, 0.0)
    assert writer.num_input_ports() == 0


def record(writer: VideoWriter) -> None:
    builder = DiagramBuilder()
    builder.AddSystem(writer)
    clock = builder.AddSystem(Clock(PixelType.kRgba8U, 32, 16))
    builder.Connect(clock.get_output_port(), writer.get_input_port())
    Simulator(builder.Build()).AdvanceTo(0.95)
    writer.Save()


def test_image_writers_can_be_pickled(tmp_path: Path) -> None:
    writer = ImageWriter()
    writer.DeclareImageInputPort(PixelType.kGrey8U, "a", str(tmp_path / "{count}"), 0.5, 0.0)
    twin = pickle.loads(pickle.dumps(writer))
    context = twin.CreateDefaultContext()
    twin.get_input_port().FixValue(context, Image[PixelType.kGrey8U](2, 2))
    twin.ForcedPublish(context)
    assert (tmp_path / "0.png").is_file()


def test_video_has_an_image_for_each_time(tmp_path: Path) -> None:
    writer = VideoWriter(filename=tmp_path / "clock.gif", fps=10.0)
    record(writer)
    with pillow.open(tmp_path / "clock.gif") as video:
        assert video.n_frames == 10 and video.size == (32, 16) and video.info["duration"] == 100
    (tmp_path / "clock.gif").unlink()
    writer.Save()  # of nothing
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="OpenCV is not installed")
def test_movie_has_an_image_for_each_time(tmp_path: Path) -> None:
    import cv2

    record(VideoWriter(filename=str(tmp_path / "clock.mp4"), fps=10.0, backend="cv2"))
    movie = cv2.VideoCapture(str(tmp_path / "clock.mp4"))
    assert movie.get(cv2.CAP_PROP_FRAME_COUNT) == 10 and movie.get(cv2.CAP_PROP_FPS) == 10.0


def test_movies_for_browsers_have_an_image_for_each_time(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="extra `video`")
    record(VideoWriter(filename=str(tmp_path / "clock.mp4"), fps=10.0, backend="av"))
    with av.open(str(tmp_path / "clock.mp4")) as movie:
        assert movie.streams.video[0].average_rate == 10
        assert movie.streams.video[0].codec_context.name in ("h264", "mpeg4")
        assert sum(1 for _ in movie.decode(video=0)) == 10


@pytest.mark.parametrize("backend", ["PIL", "cv2", "av"])
def test_images_without_pixels_are_left_out_and_those_of_another_size_never_silently(
    tmp_path: Path, backend: str
) -> None:
    if backend != "PIL":
        pytest.importorskip(backend, reason="neither OpenCV nor PyAV is needed")
    path = tmp_path / ("video.gif" if backend == "PIL" else "video.mp4")
    writer = VideoWriter(filename=path, backend=backend)
    assert pickle.loads(pickle.dumps(writer)).num_input_ports() == 1
    context = writer.CreateDefaultContext()

    def publish(image: ImageRgba8U) -> None:
        writer.get_input_port().FixValue(context, image)
        writer._publish(context)

    publish(ImageRgba8U())
    publish(ImageRgba8U(32, 16, 200))
    if backend != "PIL":
        with pytest.raises(RuntimeError, match="have 32 x 16 pixels; this one has 48 x 16"):
            publish(ImageRgba8U(48, 16))
    writer.Save()
    assert path.stat().st_size


def test_videos_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="backend of a VideoWriter must be 'PIL', 'cv2' or 'av'; given 'x'"):
        VideoWriter(filename="x.gif", backend="x")
    with pytest.raises(ValueError, match="fps of a VideoWriter must be positive"):
        VideoWriter(filename="x.gif", fps=0.0)
    with pytest.raises(RuntimeError, match=r"the folder '/no/where' of '/no/where/x.gif' does not exist"):
        VideoWriter(filename="/no/where/x.gif")
    with pytest.raises(RuntimeError, match=r"writes .gif, .webp and .apng files, and not 'x.mp4'. Use backend 'av' or"):
        VideoWriter(filename="x.mp4")
    with pytest.raises(TypeError, match="filename of a VideoWriter must be a path; given 3"):
        VideoWriter(filename=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="four letters; given 'mp4'"):
        VideoWriter(filename="x.mp4", backend="cv2", fourcc="mp4")
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(ImportError, match="pip install opencv-python-headless"):
        VideoWriter(filename="x.mp4", backend="cv2")
