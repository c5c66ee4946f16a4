"""Height fields of MJCF files as closed surfaces of triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from merganser.geometry import InMemoryMesh, MemoryFile
from merganser.geometry.meshes import wavefront_text
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.xml_reader import XmlNode

_ENDINGS = (".png", ".bin", ".hf", ".hfield")
_MAX_POINTS = 300_000


def read_height_field(node: XmlNode, source: MjcfSource) -> InMemoryMesh:
    """The surface of a height field, with the box below it.

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
    vertices, faces = _closed_surface(heights, x, y, base)
    name = node.attributes.get("name", "hfield")
    return InMemoryMesh(mesh_file=MemoryFile(wavefront_text(vertices, faces), ".obj", name))


def _read_heights(node: XmlNode, source: MjcfSource) -> np.ndarray:
    """Heights in any unit, shape [rows along y, columns along x], each of two or more."""
    if "file" in node.attributes:
        path = source.file(node, node.attributes["file"], source.settings.mesh_folder, _ENDINGS)
        with located(node.location):
            heights = _read_png(path) if path.suffix.lower() == ".png" else _read_binary(path)
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


def _read_png(path: Path) -> np.ndarray:
    """The brightness of the pixels, the lowest row first."""
    from PIL import Image  # comes with matplotlib

    with Image.open(path, formats=["PNG"]) as picture:
        if picture.width * picture.height > _MAX_POINTS:
            raise RuntimeError(f"'{path}' has {picture.width} x {picture.height} pixels; {_MAX_POINTS} may be there.")
        return np.asarray(picture.convert("L"), dtype=np.float64)[::-1]


def _read_binary(path: Path) -> np.ndarray:
    """A file of MuJoCo's own format: numbers of rows and columns, then heights in single precision."""
    data = path.read_bytes()
    rows, columns = np.frombuffer(data[:8], "<i4").tolist() if len(data) >= 8 else (0, 0)
    if min(rows, columns) < 2 or len(data) != 8 + 4 * rows * columns:
        raise RuntimeError(f"'{path}' is not a height field: {len(data)} bytes, but {rows} rows and {columns} columns.")
    return np.frombuffer(data, "<f4", offset=8).reshape(rows, columns).astype(np.float64)


def _closed_surface(heights: np.ndarray, x: float, y: float, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Top, sides and bottom; z is 0 at the lowest point of the top.

    Args:
        heights: of the points [m], shape [rows, columns].
        x, y: half the extent [m].
        base: depth of the bottom below 0 [m].
    """
    rows, columns = heights.shape
    Y, X = np.meshgrid(np.linspace(-y, y, rows), np.linspace(-x, x, columns), indexing="ij")
    top = np.column_stack([X.ravel(), Y.ravel(), heights.ravel()])
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    faces = [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    # Around the edge, counter-clockwise from above, with a point on the bottom below each.
    rim = np.concatenate([index[0, :-1], index[:-1, -1], index[-1, :0:-1], index[:0:-1, 0]])
    bottom = top[rim].copy()
    bottom[:, 2] = -base
    lower = rows * columns + np.arange(len(rim))
    upper_next, lower_next = np.roll(rim, -1), np.roll(lower, -1)
    faces += [np.column_stack([rim, lower, lower_next]), np.column_stack([rim, lower_next, upper_next])]
    faces.append(np.column_stack([np.full(len(rim) - 2, lower[0]), lower[2:], lower[1:-1]]))
    return np.vstack([top, bottom]), np.vstack(faces)
