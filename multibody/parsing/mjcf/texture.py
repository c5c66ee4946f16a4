"""Textures of MJCF files: those that MuJoCo makes itself, and planes and boxes that are covered with textures.

A plane is drawn as a rectangle that its texture covers `texrepeat` times, or, if `texuniform` says so or the plane is
infinite, so many times every two metres; each face of a box shows it once.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import InMemoryMesh, MemoryFile
from merganser.multibody.parsing.description import ShapeDescription
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.xml_reader import XmlNode

Array = NDArray[np.float64]

_MOST_PIXELS = 1024  # along a side; what is finer is not seen
_CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])  # of a square, in its halves
_INFINITE = 25.0  # half the size of an infinite plane as drawn, as for half spaces in viewers [m]
_UNIFORM = 2.0  # length of a texture that is repeated once in every unit [m]
_BUILTINS = ("none", "gradient", "checker", "flat")
_MARKS = ("none", "edge", "cross", "random")
_DARK, _LIGHT = [0.5, 0.5, 0.5], [0.8, 0.8, 0.8]


@dataclass(frozen=True)
class MjcfTexture:
    """A picture.

    Attributes:
        file: a file in a format that viewers know; None for a picture that has but one colour here.
        color: its mean, each from 0 to 1, shape [3].
    """

    file: MemoryFile | None
    color: Array


def read_texture(node: XmlNode, path: Path | None) -> MjcfTexture:
    """Reads a <texture>, or makes it.

    Args:
        node: the element.
        path: of its file, if it has one.

    Raises:
        ParsingError: a number or word is wrong.
    """
    if path is not None:
        with located(node.location):
            data = path.read_bytes()
        return MjcfTexture(MemoryFile(data, path.suffix, path.name), np.ones(3))
    builtin = node.expect_one_of(node.attributes.get("builtin", "none"), _BUILTINS, "value of attribute 'builtin'")
    first, second = (
        np.clip(node.vector_attribute(name, 3, default), 0.0, 1.0)
        for name, default in (("rgb1", _LIGHT), ("rgb2", _DARK))
    )
    if builtin == "none":
        return MjcfTexture(None, np.ones(3))
    if builtin == "gradient":
        return MjcfTexture(None, 0.5 * (first + second))
    image = _marked(node, _pattern(node, builtin, first, second))
    name = node.attributes.get("name", "texture")
    return MjcfTexture(MemoryFile(_png(np.rint(255.0 * image).astype(np.uint8)), ".png", name), image.mean(axis=(0, 1)))


def sky_colors(textures: Sequence[XmlNode]) -> Array | None:
    """The colours of the sky above, and its mean, as at the horizon, shape [2, 3]; None if MuJoCo makes none."""
    for node in textures:
        if node.attributes.get("type") == "skybox" and node.attributes.get("builtin", "none") != "none":
            mean = read_texture(node, None).color
            is_gradient = node.attributes["builtin"] == "gradient"
            first = np.clip(node.vector_attribute("rgb1", 3, _LIGHT), 0.0, 1.0)
            return np.array([first if is_gradient else mean, mean])
    return None


def _pattern(node: XmlNode, builtin: str, first: Array, second: Array) -> Array:
    """One colour, or squares of two, of which that at the top left has the first; shape [height, width, 3]."""
    width, height = _size(node)
    rows, columns = np.indices((height, width))
    is_second = (rows >= height // 2) != (columns >= width // 2)
    return np.where((is_second & (builtin == "checker"))[..., None], second, first)


def _size(node: XmlNode) -> tuple[int, int]:
    width = node.float_attribute("width", 0.0)
    is_flat = node.attributes.get("type", "cube") == "2d"
    height = node.float_attribute("height", 0.0) if is_flat else width  # of a cube the faces are squares
    if not (width >= 1.0 and height >= 1.0):
        raise node.error(f"{node.describe()} is {width:g} x {height:g} pixels; a builtin texture needs some.")
    return min(int(width), _MOST_PIXELS), min(int(height), _MOST_PIXELS)


def _marked(node: XmlNode, image: Array) -> Array:
    """With its edges, a cross, or random points in another colour."""
    mark = node.expect_one_of(node.attributes.get("mark", "none"), _MARKS, "value of attribute 'mark'")
    color = np.clip(node.vector_attribute("markrgb", 3, [0.0, 0.0, 0.0]), 0.0, 1.0)
    height, width = image.shape[:2]
    if mark == "edge":
        image[[0, -1]] = color
        image[:, [0, -1]] = color
    elif mark == "cross":
        image[height // 2] = color
        image[:, width // 2] = color
    elif mark == "random":
        share = np.clip(node.float_attribute("random", 0.01), 0.0, 1.0)
        image[np.random.default_rng(0).random((height, width)) < share] = color
    return image


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of 8 bits a colour (RFC 2083), shape [height, width, 3]."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def textured_plane(geom: XmlNode, material: XmlNode, file: MemoryFile, rgba: Array) -> ShapeDescription:
    """The rectangle that is drawn for a <geom> plane.

    Args:
        geom, material: the elements.
        file: the texture.
        rgba: which the texture is multiplied with, shape [4].
    """
    size = geom.vector_attribute("size", (1, 2, 3), [0.0, 0.0, 0.0])
    half = np.array([*size, 0.0, 0.0][:2])
    repeat = material.vector_attribute("texrepeat", 2, [1.0, 1.0])
    is_uniform = read_flag(material, "texuniform", False) | ~(half > 0.0)
    half = np.where(half > 0.0, half, _INFINITE)
    times = np.where(is_uniform, repeat * 2.0 * half / _UNIFORM, repeat)
    vertices = np.column_stack([_CORNERS * half, np.zeros(4)])
    return _textured(vertices, 0.5 + 0.5 * _CORNERS * times, file, rgba)


def finite_plane(geom: XmlNode, rgba: Array) -> ShapeDescription | None:
    """The rectangle that is drawn for a <geom> plane of one colour; None if the plane is infinite."""
    half = np.array([*geom.vector_attribute("size", (1, 2, 3), [0.0, 0.0, 0.0]), 0.0, 0.0][:2])
    if not (half > 0.0).all():
        return None
    return _textured(np.column_stack([_CORNERS * half, np.zeros(4)]), 0.5 + 0.5 * _CORNERS, None, rgba)


def textured_box(dimensions: Sequence[float], file: MemoryFile, rgba: Array) -> ShapeDescription:
    """A box, of the lengths of its sides [m]."""
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis - 2], face[:, axis - 1], face[:, axis] = side * _CORNERS[:, 0], _CORNERS[:, 1], side
            faces.append(face)
    vertices = 0.5 * np.concatenate(faces) * np.array(dimensions)
    return _textured(vertices, np.tile(0.5 + 0.5 * _CORNERS, (6, 1)), file, rgba)


def _textured(vertices: Array, uvs: Array, file: MemoryFile | None, rgba: Array) -> ShapeDescription:
    """A mesh of quadrilaterals, four vertices each; of one colour without a file."""
    lines = ["mtllib texture.mtl", "usemtl texture"]
    lines += [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices]
    lines += [f"vt {u:.17g} {v:.17g}" for u, v in uvs]
    for first in range(1, len(vertices) + 1, 4):
        a, b, c, d = (f"{k}/{k}" for k in range(first, first + 4))
        lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
    red, green, blue, opacity = rgba
    material = f"newmtl texture\nKd {red:g} {green:g} {blue:g}\nd {opacity:g}\n"
    pictures = {} if file is None else {f"texture{file.extension()}": file}
    material += "".join(f"map_Kd {picture}\n" for picture in pictures)
    mesh = InMemoryMesh(
        mesh_file=MemoryFile("\n".join(lines) + "\n", ".obj", "texture.obj"),
        supporting_files={"texture.mtl": MemoryFile(material, ".mtl", "texture.mtl"), **pictures},
    )
    return ShapeDescription("Mesh", (1.0, 1.0, 1.0), mesh=mesh)
