"""Height fields of MJCF files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from merganser.geometry import HeightField
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.height_pictures import read_brightness
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.xml_reader import XmlNode

_ENDINGS = (".png", ".bin", ".hf", ".hfield")
_MAX_POINTS = 16_000_000


def read_height_field(node: XmlNode, source: MjcfSource) -> HeightField:
    """A height field, whose lowest point is at z = 0 and whose highest one at the elevation of its `size`.

    Args:
        node: the <hfield>.
        source: the document.

    Raises:
        ParsingError: the file is missing or no height field, or sizes are wrong.
    """
    x, y, top, base = node.vector_attribute("size", 4).tolist()
    if not min(x, y, top, base) > 0.0:
        raise node.error(f"{node.describe()} has the size {[x, y, top, base]}; all four numbers have to be positive.")
    heights = _read_heights(node, source)
    spread = np.ptp(heights)
    heights = top * ((heights - heights.min()) / spread if spread > 0.0 else np.zeros_like(heights))
    return HeightField(heights, 2.0 * x, 2.0 * y, base)


def _read_heights(node: XmlNode, source: MjcfSource) -> np.ndarray:
    """Heights in any unit, shape [rows along y, columns along x], each of two or more."""
    if "file" in node.attributes:
        path = source.file(node, node.attributes["file"], source.settings.mesh_folder, _ENDINGS)
        with located(node.location):
            heights = read_brightness(path, _MAX_POINTS) if path.suffix.lower() == ".png" else _read_binary(path)
    else:
        rows, columns = (_count(node, name) for name in ("nrow", "ncol"))
        if rows * columns > _MAX_POINTS:
            raise node.error(f"{node.describe()} has {rows} x {columns} points, expected at most {_MAX_POINTS}.")
        if "elevation" not in node.attributes:
            return np.zeros((rows, columns))
        # In a document the first row is that at the top of a map.
        heights = node.vector_attribute("elevation", rows * columns).reshape(rows, columns)[::-1]
    if min(heights.shape) < 2 or heights.size > _MAX_POINTS or not np.isfinite(heights).all():
        raise node.error(
            f"{node.describe()} has {heights.shape[0]} x {heights.shape[1]} points, expected 2 x 2 or more, at most "
            f"{_MAX_POINTS}, all of them finite."
        )
    return heights


def _count(node: XmlNode, name: str) -> int:
    value = node.float_attribute(name)
    if value != int(value) or value < 2:
        raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}, expected 2 or more.")
    return int(value)


def _read_binary(path: Path) -> np.ndarray:
    """A file of MuJoCo's own format: numbers of rows and columns, then heights in single precision."""
    data = path.read_bytes()
    rows, columns = np.frombuffer(data[:8], "<i4").tolist() if len(data) >= 8 else (0, 0)
    if min(rows, columns) < 2 or len(data) != 8 + 4 * rows * columns:
        raise RuntimeError(f"'{path}' is not a height field: {len(data)} bytes, but {rows} rows and {columns} columns.")
    return np.frombuffer(data, "<f4", offset=8).reshape(rows, columns).astype(np.float64)
