"""Reads vertices and faces from Wavefront .obj files, and writes them; all else in such files is about looks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.errors import nearest_names
from merganser.geometry.meshes.arrays import Array


def read_wavefront(text: str, name: str, part: str = "") -> tuple[NDArray[np.int64], Array]:
    """Returns the triangles, shape [m, 3], and vertices, shape [n, 3], in the order of the file.

    Polygons are cut into triangles that do not overlap, if they are plane and simple, convex or not.

    Args:
        text: what is in the file.
        name: what messages call it.
        part: name of an object or group, whose faces alone are wanted; all if it is empty.

    Raises:
        RuntimeError: there are no faces, or a line is wrong, which the message names.
    """
    points: list[list[float]] = []
    faces: list[list[int]] = []
    parts: dict[str, str] = {"o": "", "g": ""}  # the object and group whose faces come next
    names: set[str] = set()  # of all parts
    for number, words in _statements(text):
        try:
            if words[0] == "v":
                points.append(_coordinates(words))
            elif words[0] == "f" and (not part or any(part in (name, *name.split()) for name in parts.values())):
                faces.append(_face(words, len(points)))
            elif words[0] in parts:
                parts[words[0]] = " ".join(words[1:])
                names.add(parts[words[0]])
        except ValueError as error:
            raise RuntimeError(f"The mesh file '{name}', line {number}: {error}.") from error
    if not faces and part:
        raise RuntimeError(f"The mesh file '{name}' has no part '{part}'. {nearest_names(part, names)}")
    if not faces:
        raise RuntimeError(f"The mesh file '{name}' has no faces.")
    last = max(map(max, faces))
    if last >= len(points):
        raise RuntimeError(f"The mesh file '{name}' has a face with vertex {last + 1} of {len(points)} vertices.")
    vertices = _vertices(points, name)
    triangles = [triangle for face in faces for triangle in _triangles(face, vertices)]
    return np.array(triangles, dtype=np.int64), vertices


def read_wavefront_vertices(text: str, name: str) -> Array:
    """Returns the vertices alone, shape [n, 3]; a RuntimeError names a line that is wrong.

    Of lines that are the same, as many files have where faces meet, there is one vertex.
    """
    numbers: dict[str, int] = {}
    for number, line in _lines(text):
        if line.lstrip().startswith(("v ", "v\t")):
            numbers.setdefault(line, number)
    points = []
    for line, number in numbers.items():
        try:
            points.append(_coordinates(line.split()))
        except ValueError as error:
            raise RuntimeError(f"The mesh file '{name}', line {number}: {error}.") from error
    return _vertices(points, name)


def wavefront_text(vertices: Array, triangles: NDArray[np.int64]) -> str:
    """Returns a file of vertices, shape [n, 3], to the last digit, and triangles, shape [m, 3]."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    return "\n".join([*lines, *(f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()), ""])


def _vertices(points: list[list[float]], name: str) -> Array:
    vertices = np.array(points, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(vertices).all():
        raise RuntimeError(f"The mesh file '{name}' has a vertex with a coordinate that is not finite.")
    return vertices


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The words of lines that have any, with the numbers of these."""
    for number, line in _lines(text):
        words = line.split()
        if words:
            yield number, words


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without comments, and with those joined that end in a backslash."""
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if "#" in line:
            line = line.partition("#")[0]
        if "\\" in line and line.rstrip().endswith("\\"):
            pending, first = pending + line.rstrip()[:-1] + " ", first or number
            continue
        yield (first, pending + line) if first else (number, line)
        pending, first = "", 0


def _coordinates(words: list[str]) -> list[float]:
    if len(words) < 4:
        raise ValueError(f"a vertex needs three coordinates; given '{' '.join(words)}'")
    return [float(word) for word in words[1:4]]


def _face(words: list[str], num_points: int) -> list[int]:
    """The vertices of a face, counted from 0; in the file they count from 1, or backwards from the last one."""
    if len(words) < 4:
        raise ValueError(f"a face needs three vertices or more; given '{' '.join(words)}'")
    numbers = [int(word.partition("/")[0]) for word in words[1:]]
    indices = [number - 1 if number > 0 else num_points + number for number in numbers]
    if 0 in numbers or min(indices) < 0:
        raise ValueError(f"a face has a vertex that is not there; given '{' '.join(words)}'")
    return indices


def _triangles(face: list[int], vertices: Array) -> list[list[int]]:
    """Cuts a polygon into triangles: a quadrilateral along its shorter diagonal, others by clipping ears.

    An ear is a corner that is convex and whose triangle holds none of the other corners. (Meisters 1975, Polygons
    have ears, The American Mathematical Monthly 82.)
    """
    if len(face) == 3:
        return [face]
    p = vertices[face]
    normal = np.cross(p[:-1] - p[0], p[1:] - p[0]).sum(axis=0)
    rest = list(range(len(face)))
    triangles = []
    while len(rest) > 4 or (len(rest) == 4 and not _is_convex(p[rest], normal)):
        clipped = next((i for i in range(len(rest)) if _is_ear(p, rest, i, normal)), 1)
        triangles.append([rest[clipped - 1], rest[clipped], rest[(clipped + 1) % len(rest)]])
        del rest[clipped]
    if len(rest) == 4:
        a, b, c, d = rest
        if np.linalg.norm(p[c] - p[a]) < np.linalg.norm(p[d] - p[b]):
            triangles += [[a, b, c], [a, c, d]]
        else:
            triangles += [[a, b, d], [b, c, d]]
    else:
        triangles.append(rest)
    return [[face[i] for i in triangle] for triangle in triangles]


def _is_convex(p: Array, normal: Array) -> bool:
    edges = np.roll(p, -1, axis=0) - p
    return bool((np.cross(edges, np.roll(edges, -1, axis=0)) @ normal >= 0.0).all())


def _is_ear(p: Array, rest: list[int], i: int, normal: Array) -> bool:
    a, b, c = p[rest[i - 1]], p[rest[i]], p[rest[(i + 1) % len(rest)]]
    if np.cross(b - a, c - b) @ normal <= 0.0:
        return False
    others = p[[rest[(i + k) % len(rest)] for k in range(2, len(rest) - 1)]]
    sides = [np.cross(end - start, others - start) @ normal for start, end in ((a, b), (b, c), (c, a))]
    return not (np.min(sides, axis=0) >= 0.0).any()
