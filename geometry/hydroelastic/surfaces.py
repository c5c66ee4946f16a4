"""Contact surfaces as kernels: where a rigid surface lies within a compliant volume, and where the pressures of two
compliant volumes are the same.

    rigid surface  - compliant volume      triangles, clipped by tetrahedra
    rigid surface  - compliant half space  triangles, clipped by the plane
    rigid half space - compliant volume    slices of tetrahedra by the plane
    compliant volume - compliant volume    slices of tetrahedra of A by the plane of equal pressure of one of A and one
                                           of B, clipped by the latter                                               (1)

With e_A = g_A . p + c_A and e_B alike, in one frame, the plane in (1) is (g_A - g_B) . p + c_A - c_B = 0.

Of each pair M is the geometry of the smaller row, and normals point out of N into M. Faces whose normal goes against
the gradient of the pressure are none of the patch: a normal into a compliant geometry must be within 5/8 pi of the
gradient there. As in pydrake, a rigid half space is without this rule.

V is the frame of the geometry whose pressure is taken, O the one of the other.

Sources: R. Elandt, E. Drumwright, M. Sherman, A. Ruina (2019), A pressure field model for fast, robust approximation of
net contact force and moment between nominally rigid objects, section III. J. Masterjohn, D. Guoy, J. Shepherd, A.
Castro (2022), Velocity level approximation of pressure field contact patches, section II.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.by_value import smaller
from merganser.framework.native.memory.hinted_types import FloatTable, IntegerTable, Poses
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.candidates import (
    begin_call,
    forget,
    gather_across_plane,
    gather_of_meshes,
    keep,
    may_remember,
    motion_since,
    recall,
    remember,
)
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, GRAD_N, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.layout import (
    COMPLIANT_HALF_SPACE,
    COMPLIANT_VOLUME,
    RIGID_HALF_SPACE,
    RIGID_SURFACE,
    Bodies,
    Meshes,
)
from merganser.geometry.hydroelastic.polygons import (
    MOST_CORNERS,
    center_of_polygon,
    clip,
    signed_distance,
    slice_tetrahedron,
)
from merganser.geometry.hydroelastic.trees import set_poses
from merganser.geometry.proximity.vectors import Vector3, add, dot, negated, rotated, scaled, subtract

Array = NDArray[Any]
Integers = NDArray[np.int64]

_LEAST_COSINE = math.cos(5.0 * math.pi / 8.0)


@device
def has_surface(A: int, B: int) -> bool:
    """Whether the contact of geometries of two kinds is a surface.

    One must be compliant and the other take part; of half spaces one, the other no half space; and a compliant half
    space has a surface with what is rigid only, as in pydrake.
    """
    if A == COMPLIANT_VOLUME or B == COMPLIANT_VOLUME:
        other = B if A == COMPLIANT_VOLUME else A
        return other in (RIGID_SURFACE, COMPLIANT_VOLUME, RIGID_HALF_SPACE)
    return (A == COMPLIANT_HALF_SPACE and B == RIGID_SURFACE) or (A == RIGID_SURFACE and B == COMPLIANT_HALF_SPACE)


@kernel
def split_candidates(
    # Model:
    bodies: Bodies,  # of body_dtype, shape [n]
    # In and out:
    candidates_io: IntegerTable,  # rows a < b of pairs that may meet; those without surfaces are left, shape [.., 2]
    # Out:
    surface_pairs_out: IntegerTable,  # those whose contact is a surface; as long as that, or longer
) -> int:
    """Parts pairs by what their contact is; returns how many have surfaces."""
    num_surfaces, num_others = 0, 0
    for i in range(candidates_io.shape[0]):
        a, b = candidates_io[i, 0], candidates_io[i, 1]
        if has_surface(bodies[a]["kind"], bodies[b]["kind"]):
            surface_pairs_out[num_surfaces, 0], surface_pairs_out[num_surfaces, 1] = a, b
            num_surfaces += 1
        else:
            candidates_io[num_others, 0], candidates_io[num_others, 1] = a, b
            num_others += 1
    return num_surfaces


@kernel
def contact_surfaces(
    # Model:
    bodies: Bodies,  # of body_dtype, shape [n]
    meshes: Meshes,
    # In:
    X_WG_in: Poses,  # shape [n, 4, 4]
    pairs_in: IntegerTable,  # rows a < b, shape [.., 2]
    num_pairs: int,
    # Work:
    buffers: Buffers,
    # Out:
    corners_out: Poses,  # of each face positions in W and pressures, shape [capacity, MOST_CORNERS, 4]
    faces_out: FloatTable,  # shape [capacity, FACE_NUMBERS], see face_columns.py
    owners_out: IntegerTable,  # the pair, the number of corners, elements of V and O; shape [capacity, 4]
) -> int:
    """Writes the faces of the contact surfaces of pairs, those of a pair side by side; returns how many there are.

    If there are more than the outputs have places for, only as many as fit are written. Pairs with no contact surface,
    as of two rigid geometries, have none.
    """
    count, top, place = 0, 0, 0
    num_known, outputs = begin_call(buffers), (corners_out, faces_out, owners_out)
    for i in range(num_pairs):
        a, b = pairs_in[i, 0], pairs_in[i, 1]
        A, B = bodies[a]["kind"], bodies[b]["kind"]
        if not has_surface(A, B):
            continue
        v, o, sign = order_pair(a, b, A, B)
        V, O = bodies[v], bodies[o]
        set_poses(X_WG_in[v], X_WG_in[o], buffers)
        n, d = place_half_space(V["kind"], O["kind"], buffers)
        slack, pays = smaller(V["slack"], O["slack"]), False
        found = recall(a, b, place, num_known, buffers)
        if found >= 0:
            place = found + 1
            entry = buffers.known[1 - buffers.counts[0]["half"], found]
            motion = motion_since(entry, V["radius"] if O["kind"] == RIGID_HALF_SPACE else O["radius"], buffers)
            if motion < entry["slack"]:
                listed = buffers.elements[1 - buffers.counts[0]["half"], entry["begin"] : entry["end"]]
                count = add_faces(V, O, n, d, listed, meshes, buffers, sign, i, count, outputs)
                top = keep(entry, top, buffers)
                continue
            pays = may_remember(entry, motion, slack)
        buffers.stack[0, 0] = O["root"] if V["kind"] == COMPLIANT_HALF_SPACE else V["root"]
        buffers.stack[0, 1] = O["root"]
        slack, size, is_whole, end = slack if pays else 0.0, 1, True, top
        while size > 0:
            size, end = _gather(V["kind"], O["kind"], n, d, size, top, slack, meshes, buffers)
            if size > 0 and end == top:  # there is no place behind what is remembered
                top = forget(buffers)
                continue
            listed = buffers.elements[buffers.counts[0]["half"], top:end]
            count = add_faces(V, O, n, d, listed, meshes, buffers, sign, i, count, outputs)
            is_whole = is_whole and size == 0
            if pays:
                buffers.counts[0]["wanted_elements"] += end - top
        top = remember(a, b, slack if is_whole else 0.0, top, end if pays and is_whole else top, buffers)
    return count


@device
def order_pair(a: int, b: int, A: int, B: int) -> tuple[int, int, float]:
    """Which rows a, b of kinds A, B are V and O, and 1 if V is a: the compliant one, or the first of two."""
    if (B == COMPLIANT_VOLUME and A != COMPLIANT_VOLUME) or B == COMPLIANT_HALF_SPACE:
        return b, a, -1.0
    return a, b, 1.0


@device
def place_half_space(V: int, O: int, buffers: Buffers) -> tuple[Vector3, Any]:
    """The plane n . p + d = 0 of a half space in the frame of the other geometry; of no meaning for two meshes."""
    X_VO = buffers.poses[0]
    if V == COMPLIANT_HALF_SPACE:
        n = X_VO[6], X_VO[7], X_VO[8]
        d = X_VO[11]
    else:
        n = X_VO[2], X_VO[5], X_VO[8]
        d = -(n[0] * X_VO[9] + n[1] * X_VO[10] + n[2] * X_VO[11])
    if V == COMPLIANT_HALF_SPACE or O == RIGID_HALF_SPACE:
        for i in range(12):
            buffers.place[i] = 0.0
        for i in range(3):
            buffers.place[i] = n[i].real
        buffers.place[9] = d.real
    return n, d


@device
def _gather(
    V: int, O: int, n: Vector3, d: Any, size: int, top: int, slack: float, meshes: Meshes, buffers: Buffers
) -> tuple[int, int]:
    """Lists elements of two geometries of these kinds that may meet, see candidates.py."""
    if V == COMPLIANT_HALF_SPACE:
        return gather_across_plane(size, top, n, d, slack, True, meshes, buffers)
    if O == RIGID_HALF_SPACE:
        return gather_across_plane(size, top, n, d, slack, False, meshes, buffers)
    return gather_of_meshes(size, top, slack, meshes, buffers)


@device
def add_faces(
    V: Array, O: Array, n: Vector3, d: Any, listed: Integers, meshes: Meshes, buffers: Buffers, sign: float, pair: int,
    count: int, outputs: Any,
) -> int:  # fmt: skip
    """Faces of elements of V and O; returns their number, with those before."""
    last, normal, at_origin = -1, n, d
    for k in range(listed.shape[0]):
        e, f = listed[k, 0], listed[k, 1]
        if V["kind"] == COMPLIANT_HALF_SPACE:
            count = _triangle_in_layer(f, n, d, V["stiffness"], meshes, buffers, sign, pair, count, outputs)
        elif O["kind"] == RIGID_HALF_SPACE:
            count = _slice(e, n, d, V["stiffness"], meshes, buffers, sign, pair, count, outputs)
        elif O["kind"] == RIGID_SURFACE:
            if f != last:
                last, normal = f, _place_triangle(f, meshes, buffers)
            count = _triangle_in_tetrahedron(e, f, normal, V["stiffness"], meshes, buffers, sign, pair, count, outputs)
        else:
            if f != last:
                last = f
                normal, at_origin = _place_field(f, O["stiffness"], meshes, buffers)
            count = _equal_pressure(e, f, normal, at_origin, V["stiffness"], meshes, buffers, pair, count, outputs)
    return count


@device
def _slice(
    e: int, n: Vector3, d: Any, E_V: float, meshes: Meshes, buffers: Buffers, sign: float, pair: int, count: int,
    outputs: Any,
) -> int:  # fmt: skip
    """The part of the plane of a rigid half space that lies in tetrahedron e of V."""
    field = meshes.fields[e]
    corners = slice_tetrahedron(meshes.vertices, meshes.elements[e], n, d, buffers)
    if corners < 3:
        return count
    g, at_origin = scaled((field[0], field[1], field[2]), E_V), E_V * field[3]
    return _add_face(0, corners, n, g, scaled(n, 0.0), at_origin, sign, buffers, pair, e, -1, count, outputs)


@device
def _triangle_in_layer(
    f: int, n: Vector3, d: Any, pressure_per_depth: float, meshes: Meshes, buffers: Buffers, sign: float, pair: int,
    count: int, outputs: Any,
) -> int:  # fmt: skip
    """The part of triangle f of O, placed in V, that lies in the compliant half space V."""
    one = d * 0.0 + 1.0
    down = one * 0.0, one * 0.0, -one
    normal = _place_triangle(f, meshes, buffers)
    if buffers.counts[0]["follows"] == 0 and not _goes_along(normal, down, 1.0):
        return count
    _begin_with_triangle(buffers)
    corners, row = clip(buffers, 1, 0, 3, down, 0.0, normal)
    if corners < 3:
        return count
    g = scaled(down, pressure_per_depth)
    return _add_face(row, corners, normal, g, scaled(down, 0.0), 0.0, sign, buffers, pair, -1, f, count, outputs)


@device
def _place_triangle(f: int, meshes: Meshes, buffers: Buffers) -> Vector3:
    """Puts the corners of a triangle of O into `Buffers.triangle`, in V; returns its normal in V."""
    X_VO = buffers.poses[0]
    for i in range(3):
        p = meshes.vertices[meshes.elements[f, i]]
        p_V = rotated(X_VO, (p[0], p[1], p[2]))
        for c in range(3):
            buffers.triangle[i, c] = p_V[c] + X_VO[9 + c]
    plane = meshes.planes[f, 0]
    return rotated(X_VO, (plane[0], plane[1], plane[2]))


@device
def _place_field(f: int, E_O: float, meshes: Meshes, buffers: Buffers) -> tuple[Vector3, Any]:
    """The gradient of the pressure in tetrahedron f of O, in V, and the value of this linear function at Vo."""
    X_VO, field = buffers.poses[0], meshes.fields[f]
    g_O = scaled(rotated(X_VO, (field[0], field[1], field[2])), E_O)
    return g_O, E_O * field[3] - (g_O[0] * X_VO[9] + g_O[1] * X_VO[10] + g_O[2] * X_VO[11])


@device
def _goes_along(n: Vector3, g: Vector3, length: Any) -> bool:
    """Whether a unit normal n into a compliant geometry does not go against the gradient g of its pressure."""
    return dot(n, g).real >= _LEAST_COSINE * length.real


@device
def _triangle_in_tetrahedron(
    e: int, f: int, normal: Vector3, E_V: float, meshes: Meshes, buffers: Buffers, sign: float, pair: int, count: int,
    outputs: Any,
) -> int:  # fmt: skip
    """The part of triangle f of O, placed in V, that lies in tetrahedron e of V."""
    field = meshes.fields[e]
    g = field[0], field[1], field[2]
    if buffers.counts[0]["follows"] == 0:
        if not _goes_along(normal, g, field[4]):
            return count
        for k in range(4):
            if _is_outside(buffers.triangle, meshes.planes[e, k]):
                return count
    _begin_with_triangle(buffers)
    row, corners = 0, 3
    for k in range(4):
        plane = meshes.planes[e, k]
        corners, row = clip(buffers, k + 1, row, corners, (plane[0], plane[1], plane[2]), plane[3], normal)
        if corners < 3:
            return count
    g, at_origin = scaled(g, E_V), E_V * field[3]
    return _add_face(row, corners, normal, g, scaled(normal, 0.0), at_origin, sign, buffers, pair, e, f, count, outputs)


@device
def _is_outside(triangle: Array, plane: Array) -> bool:
    """Whether all corners of a triangle lie on the negative side of a plane."""
    n, d = (plane[0], plane[1], plane[2]), plane[3]
    return (
        signed_distance(n, d, triangle[0]).real < 0.0
        and signed_distance(n, d, triangle[1]).real < 0.0
        and signed_distance(n, d, triangle[2]).real < 0.0
    )


@device
def _begin_with_triangle(buffers: Buffers) -> None:
    """Puts the placed triangle into the first row of polygons."""
    for i in range(3):
        for c in range(3):
            buffers.polygons[0, i, c] = buffers.triangle[i, c]


@device
def _equal_pressure(
    e: int, f: int, g_O: Vector3, O_at_origin: Any, E_V: float, meshes: Meshes, buffers: Buffers, pair: int, count: int,
    outputs: Any,
) -> int:  # fmt: skip
    """The polygon on which tetrahedra e of V and f of O have the same pressure."""
    field_V = meshes.fields[e]
    g_V, V_at_origin = scaled((field_V[0], field_V[1], field_V[2]), E_V), E_V * field_V[3]
    # The pressure grows to both sides of the surface, into M = V along g_V and into N = O along g_O.
    h = subtract(g_V, g_O)
    corners = slice_tetrahedron(meshes.vertices, meshes.elements[e], h, V_at_origin - O_at_origin, buffers)
    if corners < 3:
        return count
    n = scaled(h, 1.0 / np.sqrt(dot(h, h)))  # not zero, or the plane would cut nothing
    is_known = buffers.counts[0]["follows"] != 0
    if not is_known and not (
        _goes_along(n, g_V, E_V * field_V[4]) and _goes_along(negated(n), g_O, np.sqrt(dot(g_O, g_O)))
    ):
        return count
    row, X_VO = 0, buffers.poses[0]
    p_VO = X_VO[9], X_VO[10], X_VO[11]
    for k in range(4):
        plane = meshes.planes[f, k]
        inwards = rotated(X_VO, (plane[0], plane[1], plane[2]))
        corners, row = clip(buffers, k + 1, row, corners, inwards, plane[3] - dot(inwards, p_VO), n)
        if corners < 3:
            return count
    return _add_face(row, corners, n, g_V, g_O, V_at_origin, 1.0, buffers, pair, e, f, count, outputs)


@device
def _add_face(
    row: int, corners: int, normal: Vector3, g_V: Vector3, g_O: Vector3, at_origin: Any, sign: float, buffers: Buffers,
    pair: int, e: int, f: int, count: int, outputs: Any,
) -> int:  # fmt: skip
    """Writes a face unless it is next to nothing; returns the number of faces.

    Args:
        row: of the polygon, counter-clockwise seen from where the normal points.
        corners: their number.
        normal: out of O into V.
        g_V: gradient of V's pressure.
        g_O: gradient of O's.
        at_origin: V's pressure at Vo.
        sign: 1 if V is M, -1 if it is N.
        buffers: with the polygon, in V.
        pair: row of the pair.
        e: element of V.
        f: element of O.
        count: of the faces before.
        outputs: see `contact_surfaces`.
    """
    polygon, X_WV = buffers.polygons[row], buffers.poses[1]
    area, center = center_of_polygon(polygon, corners, normal)
    if not area.real > 0.0 and buffers.counts[0]["follows"] == 0:
        return count
    corners_out, faces_out, owners_out = outputs
    if count < faces_out.shape[0]:
        corners = min(corners, MOST_CORNERS)
        for i in range(corners):
            p = polygon[i if sign > 0.0 else corners - 1 - i]
            p_V = p[0], p[1], p[2]
            _put(add(rotated(X_WV, p_V), (X_WV[9], X_WV[10], X_WV[11])), corners_out[count, i], 0)
            corners_out[count, i, 3] = dot(g_V, p_V) + at_origin
        face = faces_out[count]
        face[AREA] = area
        face[PRESSURE] = dot(g_V, center) + at_origin
        _put(add(rotated(X_WV, center), (X_WV[9], X_WV[10], X_WV[11])), face, CENTROID)
        _put(scaled(rotated(X_WV, normal), sign), face, NORMAL)
        _put(rotated(X_WV, g_V), face, GRAD_M if sign > 0.0 else GRAD_N)
        _put(rotated(X_WV, g_O), face, GRAD_N if sign > 0.0 else GRAD_M)
        owner = owners_out[count]
        owner[0], owner[1], owner[2], owner[3] = pair, corners, e, f
    return count + 1


@device
def _put(v: Vector3, out: Array, start: int) -> None:
    """Writes a vector into three places."""
    out[start], out[start + 1], out[start + 2] = v[0], v[1], v[2]
