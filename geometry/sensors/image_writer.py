"""ImageWriter and VideoWriter: images as files, one after the other, and as a video."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework import DiagramBuilder, InputPort, LeafSystem, Value
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.math import RigidTransform
from merganser.geometry.images import Image, ImageIo, ImageRgba8U, PixelType
from merganser.geometry.rendering import (
    CameraInfo,
    ClippingRange,
    DepthRange,
    DepthRenderCamera,
    MakeRenderEngineVtk,
    RenderCameraCore,
    RenderEngineVtkParams,
)
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.sensors.colorize import ColorizeDepthImage, ColorizeLabelImage, ConcatenateImages
from merganser.geometry.sensors.rgbd_sensor import RgbdSensor

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


# What file names call images of these pixels, and the extensions that their files may have.
_KINDS = {
    PixelType.kRgba8U: ("color", (".png",)),
    PixelType.kDepth32F: ("depth", (".tiff", ".tif")),
    PixelType.kDepth16U: ("depth", (".png",)),
    PixelType.kLabel16I: ("label", (".png",)),
    PixelType.kGrey8U: ("grey_scale", (".png",)),
}


@dataclass
class _Series:
    """Files of the images at one port.

    Attributes:
        port: where they come from.
        format: of the names of the files, with their folder.
        kind: "color" and the like.
        count: how many have been written.
    """

    port: InputPort
    format: str
    kind: str
    count: int = 0


class ImageWriter(LeafSystem):
    """Writes images to files, periodically or on `ForcedPublish(context)`.

    Ports:
        input: one for each call of `DeclareImageInputPort`; all of them must be connected.
    """

    def __init__(self) -> None:
        super().__init__()
        self._series: list[_Series] = []
        self.DeclareForcedPublishEvent(self._write_all)

    def DeclareImageInputPort(
        self, pixel_type: PixelType, port_name: str, file_name_format: str, publish_period: float, start_time: float
    ) -> InputPort:
        """Declares a port whose images are written at times start_time, start_time + publish_period and so on.

        Args:
            pixel_type: kRgba8U, kDepth16U, kLabel16I or kGrey8U, for .png files, or kDepth32F, for .tiff files.
            port_name: unique among the ports.
            file_name_format: path of the files with fields of `str.format`: {port_name}; {image_type}, which is
                color, depth, label or grey_scale; {time_double} [s], {time_usec}, {time_msec}; and {count}, the number
                of files that have been written from this port. The folder must exist, and depends on the first two
                only. The extension is added if it is missing.
            publish_period: time between two images [s].
            start_time: of the first one [s].

        Raises:
            RuntimeError: the folder does not exist, cannot be written to, or depends on time or count; the format has
                other fields; the period is not positive; the name is taken; the pixels are others.
        """
        if pixel_type not in _KINDS:
            known = ", ".join(kind.name for kind in _KINDS)
            raise RuntimeError(f"ImageWriter writes images of {known}; given {pixel_type!r}.")
        if not 0.0 < publish_period < np.inf:
            raise RuntimeError(f"The publish_period of port '{port_name}' must be positive; given {publish_period}.")
        kind, extensions = _KINDS[pixel_type]
        path = Path(file_name_format)
        if path.suffix.lower() not in extensions:
            path = path.with_name(path.name + extensions[0])
        _require_folder(path, port_name, kind)
        port = self.DeclareAbstractInputPort(port_name, Value(Image[pixel_type]()))
        series = _Series(port, str(path), kind)
        self._series.append(series)
        self.DeclarePeriodicPublishEvent(publish_period, start_time, partial(self._write, series))
        return port

    def ResetAllImageCounts(self) -> None:
        """Starts counting files from zero again, for all ports."""
        for series in self._series:
            series.count = 0

    def _write_all(self, context: Context) -> None:
        for series in self._series:
            self._write(series, context)

    def _write(self, series: _Series, context: Context) -> None:
        time = context.get_time()
        path = series.format.format(
            port_name=series.port.get_name(),
            image_type=series.kind,
            time_double=time,
            time_usec=round(time * 1e6),
            time_msec=round(time * 1e3),
            count=series.count,
        )
        ImageIo().Save(series.port.Eval(context), path)
        series.count += 1


def _require_folder(path: Path, port_name: str, kind: str) -> None:
    """Does nothing if the folder of the files exists and the fields of their names are known.

    Raises:
        RuntimeError: otherwise.
    """
    always = {"port_name": port_name, "image_type": kind}
    try:
        str(path).format(**always, time_double=0.0, time_usec=0, time_msec=0, count=0)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise RuntimeError(
            f"ImageWriter: the file name format '{path}' of port '{port_name}' is wrong: {error}. Its fields may be "
            "port_name, image_type, time_double, time_usec, time_msec and count."
        ) from None
    try:
        folder = Path(str(path.parent).format(**always))
    except KeyError as error:
        raise RuntimeError(
            f"ImageWriter: the folder '{path.parent}' of port '{port_name}' depends on {error}; it may depend on "
            "port_name and image_type only."
        ) from None
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        problem = "is not writable" if folder.is_dir() else "does not exist"
        raise RuntimeError(f"ImageWriter: the folder '{folder}' for the images of port '{port_name}' {problem}.")


_OPENCV = ("cv2", "OpenCV", "opencv-python-headless")
_PYAV = ("av", "PyAV", "'merganser[video]'")
_BACKENDS = {".mp4": "av", ".mkv": "av", ".mov": "av", ".gif": "PIL", ".webp": "PIL", ".apng": "PIL"}


class VideoWriter(LeafSystem):
    """Collects color images in the course of a simulation; `Save()` finishes the video.

    An image without pixels, as an RgbdSensorAsync gives before its first one, is left out.

    Ports:
        input `color_image`: ImageRgba8U.

    Args:
        filename: of the video: .gif, .webp or .apng with PIL, .mp4 and the like with av and cv2.
        fps: images in a second.
        backend: "PIL" (Pillow), "cv2" (pip install opencv-python-headless) or, beyond pydrake, "av" (PyAV, the extra
            `video`), whose .mp4 files (H.264) browsers play.
        fourcc: four letters that choose the encoder of cv2: "mp4v", the default, or "avc1".

    Raises:
        RuntimeError: there is no such backend; the folder of the file does not exist, or the backend does not know its
            format.
        ValueError: the rate is not positive; the encoder has not four letters.
        ImportError: the backend is not installed.
    """

    def __init__(
        self,
        *,
        filename: str | os.PathLike[str],
        fps: float = 16.0,
        backend: str = "PIL",
        fourcc: str | None = None,
    ) -> None:
        super().__init__()
        self._video = open_video(filename, fps, backend, fourcc)
        self.DeclareAbstractInputPort("color_image", Value(ImageRgba8U()))
        self.DeclarePeriodicPublishEvent(1.0 / float(fps), 0.0, self._publish)

    @staticmethod
    def AddToBuilder(
        *,
        filename: str | os.PathLike[str],
        builder: DiagramBuilder,
        sensor_pose: RigidTransform,
        fps: float = 16.0,
        width: int = 320,
        height: int = 240,
        fov_y: float = math.pi / 6,
        near: float = 0.01,
        far: float = 10.0,
        kinds: Sequence[str] | None = None,
        backend: str = "PIL",
        fourcc: str | None = None,
    ) -> VideoWriter:
        """Adds a camera that is fixed to the world, and a VideoWriter for what it sees.

        Args:
            filename, fps, backend, fourcc: as of the constructor.
            builder: has a SceneGraph named "scene_graph"; this is given a renderer "vtk" if it has none.
            sensor_pose: pose of the camera in the world.
            width, height: of the images [pixels].
            fov_y: vertical field of view [rad].
            near, far: distances between which anything is seen [m].
            kinds: "color", "depth" and "label", side by side; "color" by default.

        Returns:
            The VideoWriter.
        """
        scene_graph: Any = builder.GetSubsystemByName("scene_graph")
        if not scene_graph.HasRenderer("vtk"):
            scene_graph.AddRenderer("vtk", MakeRenderEngineVtk(RenderEngineVtkParams()))
        core = RenderCameraCore("vtk", CameraInfo(width, height, fov_y), ClippingRange(near, far), RigidTransform())
        camera = DepthRenderCamera(core, DepthRange(near, far))
        sensor = builder.AddSystem(RgbdSensor(SceneGraph.world_frame_id(), sensor_pose, camera))
        builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
        writer = builder.AddSystem(VideoWriter(filename=filename, fps=fps, backend=backend, fourcc=fourcc))
        writer.ConnectRgbdSensor(builder=builder, sensor=sensor, kinds=kinds)
        return writer

    def ConnectRgbdSensor(self, *, builder: DiagramBuilder, sensor: Any, kinds: Sequence[str] | None = None) -> None:
        """Connects a sensor, perhaps through systems that make colors of what it sees.

        Args:
            builder: has the sensor and this.
            sensor: an RgbdSensor, RgbdSensorDiscrete or RgbdSensorAsync.
            kinds: "color", "depth" and "label", side by side; "color" by default.

        Raises:
            RuntimeError: there is no such kind.
        """
        sources = [_source(builder, sensor, kind) for kind in kinds or ("color",)]
        if len(sources) == 1:
            builder.Connect(sources[0], self.get_input_port())
            return
        whole = builder.AddSystem(ConcatenateImages(cols=len(sources)))
        for col, source in enumerate(sources):
            builder.Connect(source, whole.get_input_port(row=0, col=col))
        builder.Connect(whole.get_output_port(), self.get_input_port())

    def Save(self) -> None:
        """Writes what has been collected to the file and closes it; images after that begin a new video."""
        self._video.save()

    def _publish(self, context: Context) -> None:
        image = self.get_input_port().Eval(context)
        if image.size():
            self._video.add(image)


def open_video(
    filename: str | os.PathLike[str], fps: float, backend: str, fourcc: str | None = None
) -> _PillowVideo | _OpenCvVideo | _AvVideo:
    """A video that takes images by `add` and is written by `save`; arguments are those of VideoWriter."""
    fps = checked_number(fps, "the fps of a VideoWriter")
    if not 0.0 < fps < math.inf:
        raise ValueError(f"The fps of a VideoWriter must be positive and finite; given {fps}.")
    kinds: dict[str, Any] = {"PIL": _PillowVideo, "cv2": _OpenCvVideo, "av": _AvVideo}
    if backend not in kinds:
        raise RuntimeError(f"The backend of a VideoWriter must be 'PIL', 'cv2' or 'av'; given '{backend}'.")
    folder = _path(filename).absolute().parent
    if not folder.is_dir():
        raise RuntimeError(f"VideoWriter: the folder '{folder}' of '{filename}' does not exist.")
    found: _PillowVideo | _OpenCvVideo | _AvVideo = kinds[backend](os.fspath(filename), fps, fourcc or "mp4v")
    return found


def backend_for(filename: str | os.PathLike[str]) -> str:
    """The backend of a VideoWriter that writes files of this kind, as its ending says.

    Raises:
        ValueError: there is no such format.
    """
    found = _BACKENDS.get(_path(filename).suffix.lower())
    if found is None:
        raise ValueError(f"Videos are {', '.join(_BACKENDS)} files; given '{os.fspath(filename)}'.")
    return found


def _path(filename: Any) -> Path:
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(f"The filename of a VideoWriter must be a path; given {filename!r}.")
    return Path(filename)


def _source(builder: DiagramBuilder, sensor: Any, kind: str) -> Any:
    """The port with colors of what a sensor sees."""
    if kind == "color":
        return sensor.GetOutputPort("color_image")
    if kind not in ("depth", "label"):
        raise RuntimeError(f"VideoWriter shows the kinds 'color', 'depth' and 'label'; given '{kind}'.")
    converter = builder.AddSystem(ColorizeDepthImage() if kind == "depth" else ColorizeLabelImage())
    name = "depth_image_32f" if kind == "depth" else "label_image"
    builder.Connect(sensor.GetOutputPort(name), converter.get_input_port(0))
    return converter.get_output_port()


class _PillowVideo:
    """Images that Pillow writes as one file in the end."""

    def __init__(self, filename: str, fps: float, fourcc: str) -> None:
        from PIL import Image as pillow  # takes 40 ms to import

        known = pillow.registered_extensions()
        if known.get(Path(filename).suffix.lower()) not in pillow.SAVE_ALL:
            raise RuntimeError(
                f"VideoWriter with backend 'PIL' writes .gif, .webp and .apng files, and not '{filename}'. Use backend "
                "'av' or 'cv2' for .mp4."
            )
        self._filename, self._fps = filename, fps
        self._images: list[Any] = []

    def add(self, image: ImageRgba8U) -> None:
        from PIL import Image as pillow

        self._images.append(pillow.fromarray(image.data.copy()))

    def save(self) -> None:
        if self._images:
            first, *others = self._images
            duration = int(1000.0 / self._fps)
            first.save(self._filename, save_all=True, append_images=others, optimize=True, duration=duration, loop=0)
        self._images = []


class _OpenCvVideo:
    """A file that OpenCV writes to, image by image."""

    def __init__(self, filename: str, fps: float, fourcc: str) -> None:
        if len(fourcc) != 4:
            raise ValueError(f"The fourcc of a VideoWriter must have four letters; given {fourcc!r}.")
        _import(*_OPENCV)
        self._filename, self._fps, self._fourcc = filename, fps, fourcc
        self._writer: Any = None
        self._size = (0, 0)  # of the images in the file

    def add(self, image: ImageRgba8U) -> None:
        cv2, size = _import(*_OPENCV), (image.width(), image.height())
        if self._writer is None:
            self._writer = cv2.VideoWriter(self._filename, cv2.VideoWriter.fourcc(*self._fourcc), self._fps, size)
            if not self._writer.isOpened():
                self._writer = None
                raise RuntimeError(f"VideoWriter: OpenCV cannot write '{self._filename}' with '{self._fourcc}'.")
            self._size = size
        if size != self._size:  # OpenCV would leave it out
            raise RuntimeError(
                f"VideoWriter: the images of '{self._filename}' have {self._size[0]} x {self._size[1]} pixels; this "
                f"one has {size[0]} x {size[1]}. Save() the video before images of another size."
            )
        self._writer.write(cv2.cvtColor(image.data, cv2.COLOR_RGBA2BGR))

    def save(self) -> None:
        if self._writer is not None:
            self._writer.release()
        self._writer = None


class _AvVideo:
    """A file that PyAV writes to, image by image; a row or column is left out where their number is odd."""

    def __init__(self, filename: str, fps: float, fourcc: str) -> None:
        _import(*_PYAV)
        self._filename, self._fps = filename, fps
        self._container: Any = None
        self._stream: Any = None

    def add(self, image: ImageRgba8U) -> None:
        av = _import(*_PYAV)
        width, height = image.width() // 2 * 2, image.height() // 2 * 2
        if self._container is None:
            self._container = av.open(self._filename, "w")
            codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
            self._stream = self._container.add_stream(codec, rate=Fraction(self._fps).limit_denominator(1000))
            self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        if (width, height) != (self._stream.width, self._stream.height):
            raise RuntimeError(
                f"VideoWriter: the images of '{self._filename}' have {self._stream.width} x {self._stream.height} "
                f"pixels; this one has {width} x {height}. Save() the video before images of another size."
            )
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image.data[:height, :width, :3]), format="rgb24")
        self._container.mux(self._stream.encode(frame))

    def save(self) -> None:
        if self._container is not None:
            self._container.mux(self._stream.encode())
            self._container.close()
        self._container = None


def _import(module: str, name: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"VideoWriter with backend '{module}' needs {name}, which is not installed: pip install {package}."
        ) from error
