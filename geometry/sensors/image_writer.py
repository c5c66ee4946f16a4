"""ImageWriter: images as files, one after the other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from merganser.framework import InputPort, LeafSystem, Value
from merganser.geometry.images import Image, ImageIo, PixelType

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
