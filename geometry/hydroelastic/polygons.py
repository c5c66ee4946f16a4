"""Convex polygons: cut out of tetrahedra by planes, clipped by planes, and measured.

A polygon is in one of two rows of `Buffers.polygons`; clipping takes it from one to the other.

All of this runs with complex numbers too, whose imaginary parts are derivatives. They do not decide: which corners lie
on which side of a plane is read from `Buffers.levels`, where the same face with real numbers has left it. At a tie, as
of shapes along the axes, real parts of complex results would differ in their last bits and fall to another side.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.geometry.hydroelastic.buffers import MOST_CLIPPED, Buffers
from merganser.geometry.proximity.vectors import Vector3, cross, dot

Array = NDArray[Any]

MOST_CORNERS = 10  # of a face: a slice of a tetrahedron, clipped by four planes, has 8, and rounding may add some
_IN_PLANE = 1e-12  # edges of less than this angle to a plane lie in it, up to rounding [rad]
_SLIVER = 1e-14  # polygons of less area, of the square of their size, are none


def _make_slices() -> NDArray[np.int64]:
    """For each set of vertices on the positive side, as bits: the number of corners, and the edge of each one.

    Edges are pairs of vertices, the first one on the positive side. Corners are counter-clockwise seen from there.
    """
    p = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    slices = np.zeros((16, 9), np.int64)
    for bits in range(1, 15):
        above, below = ([v for v in range(4) if (bits >> v & 1) == side] for side in (1, 0))
        edges = [(i, j) for i in above for j in below]
        if len(edges) == 4:  # around the quadrilateral, neighbors share a vertex
            edges = [edges[0], edges[1], edges[3], edges[2]]
        middles = np.array([(p[i] + p[j]) / 2.0 for i, j in edges])
        upwards = p[above].mean(axis=0) - p[below].mean(axis=0)
        if np.cross(middles[1] - middles[0], middles[2] - middles[0]) @ upwards < 0.0:
            edges.reverse()
        slices[bits, 0] = len(edges)
        slices[bits, 1 : 1 + 2 * len(edges)] = list(itertools.chain(*edges))
    return slices


_SLICES = _make_slices()


@device
def signed_distance(n: Vector3, d: Any, p: Array) -> Any:
    """n . p + d."""
    return n[0] * p[0] + n[1] * p[1] + n[2] * p[2] + d


@device
def _follow(buffers: Buffers, number: int, count: int) -> None:
    """Gives distances of known faces the values by which was decided, so that no edge is cut outside of its ends."""
    distances, levels = buffers.distances[number], buffers.levels[number]
    for i in range(count):
        distances[i] += levels[i] - distances[i].real


@device
def _share(a: Any, b: Any, p: Any, q: Any, n: Vector3, buffers: Buffers) -> Any:
    """Where a plane cuts the edge from p to q, whose ends have distances a and b from it, as a share of the edge.

    An edge that lies in the plane up to rounding is cut anywhere; that the corner runs along it, in all polygons that
    share it, changes no sum over them, and its rate would be rounding magnified.
    """
    t = a / (a - b)
    if buffers.counts[0]["follows"] != 0:
        rise, run, steepness = (a - b).real, 0.0, 0.0
        for c in range(3):
            run += (q[c] - p[c]).real ** 2
            steepness += n[c].real ** 2
        if rise * rise <= _IN_PLANE * _IN_PLANE * run * steepness:
            return t.real + 0.0 * t
    return t


@device
def slice_tetrahedron(vertices: Array, corners: Array, n: Vector3, d: Any, buffers: Buffers) -> int:
    """Puts the polygon in which the plane n . p + d = 0 cuts a tetrahedron into the first row; returns its corners.

    They are counter-clockwise seen from where n points. A tetrahedron that the plane only touches counts if it lies on
    the positive side, so that of two with a face in the plane one does.
    """
    bits = 0
    distances, levels = buffers.distances[0], buffers.levels[0]
    for i in range(4):
        distances[i] = signed_distance(n, d, vertices[corners[i]])
    if buffers.counts[0]["follows"] != 0:
        _follow(buffers, 0, 4)
    for i in range(4):
        if levels[i] > 0.0:
            bits += 1 << i
    count = _SLICES[bits, 0]
    for k in range(count):
        i, j = _SLICES[bits, 1 + 2 * k], _SLICES[bits, 2 + 2 * k]
        p, q = vertices[corners[i]], vertices[corners[j]]
        t = _share(distances[i], distances[j], p, q, n, buffers)
        for c in range(3):
            buffers.polygons[0, k, c] = p[c] + t * (q[c] - p[c])
    return count


@device
def clip(buffers: Buffers, number: int, row: int, count: int, n: Vector3, d: Any, normal: Vector3) -> tuple[int, int]:
    """Leaves of a polygon what lies where n . p + d >= 0 (Sutherland and Hodgman 1974).

    A polygon in the plane itself stays if its normal points to the positive side, so that of two neighbors one has it.

    Args:
        buffers: with the polygon, whose corners are overwritten.
        number: of the plane among those that clip this polygon, from 1.
        row: where it stands.
        count: its corners.
        n: unit normal of the plane.
        d: its offset.
        normal: of the polygon.

    Returns:
        The number of corners, zero if nothing is left, and the row where they stand.
    """
    polygon, clipped = buffers.polygons[row], buffers.polygons[1 - row]
    distances, levels = buffers.distances[number], buffers.levels[number]
    for i in range(count):
        distances[i] = signed_distance(n, d, polygon[i])
    if buffers.counts[0]["follows"] != 0:
        _follow(buffers, number, count)
    num_inside, num_on = 0, 0
    for i in range(count):
        if levels[i] >= 0.0:
            num_inside += 1
        if levels[i] == 0.0:
            num_on += 1
    if num_inside == count:
        if num_on == count and dot(n, normal).real < 0.0 and buffers.counts[0]["follows"] == 0:
            return 0, row
        return count, row
    if num_inside == 0:
        return 0, row
    kept = 0
    j = count - 1
    for i in range(count):
        if (levels[i] >= 0.0) != (levels[j] >= 0.0) and kept < MOST_CLIPPED:
            t = _share(distances[j], distances[i], polygon[j], polygon[i], n, buffers)
            for c in range(3):
                clipped[kept, c] = polygon[j, c] + t * (polygon[i, c] - polygon[j, c])
            kept += 1
        if levels[i] >= 0.0 and kept < MOST_CLIPPED:
            for c in range(3):
                clipped[kept, c] = polygon[i, c]
            kept += 1
        j = i
    return kept, 1 - row


@device
def center_of_polygon(polygon: Array, count: int, normal: Vector3) -> tuple[Any, Vector3]:
    """The area and the centroid of a polygon of unit normal; the area is zero if it is next to nothing."""
    p0 = polygon[0, 0], polygon[0, 1], polygon[0, 2]
    area = 0.0 * p0[0]
    moment_x, moment_y, moment_z = area, area, area
    size = 0.0
    b = polygon[1, 0] - p0[0], polygon[1, 1] - p0[1], polygon[1, 2] - p0[2]
    for i in range(2, count):
        c = polygon[i, 0] - p0[0], polygon[i, 1] - p0[1], polygon[i, 2] - p0[2]
        part = dot(cross(b, c), normal)
        area += part
        moment_x += part * (b[0] + c[0])
        moment_y += part * (b[1] + c[1])
        moment_z += part * (b[2] + c[2])
        size += c[0].real ** 2 + c[1].real ** 2 + c[2].real ** 2
        b = c
    if not area.real > _SLIVER * size:
        return 0.0 * area, p0
    scale = 1.0 / (3.0 * area)
    return 0.5 * area, (p0[0] + scale * moment_x, p0[1] + scale * moment_y, p0[2] + scale * moment_z)
