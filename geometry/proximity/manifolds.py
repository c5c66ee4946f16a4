"""Several contact points for one pair, so that what stands on a face does not rock on a point.

A face of one geometry that looks along the normal of the pair is the *reference*; of two that lie on each other it is
the greater, on which the other stands, as the normal stays with it when either body tilts. The face or line of the
other that looks against it is cut by planes through the reference's edges (Sutherland and Hodgman 1974); what is left
are the contact points, each with its own depth below the reference plane. Two lines side by side touch at both ends of
where they run together. Everything else, a sphere on anything, touches at one point.

Each point has a share of all that the pair can carry, see shares.py; one alone has all of it. Where a polygon has more
than four corners, four of them take over the shares of the others, so that they press as much as all would. As the
normal of the pair leaves that of the reference face, and shares gather at one point, the normal of the contacts turns
to that of the pair.
"""

from __future__ import annotations

import math
from typing import Annotated

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.by_value import larger, smaller
from merganser.framework.native.memory.hinted_types import FloatTable, IntegerTable, Poses
from merganser.framework.native.memory.records_of_arrays import SAME_VALUE
from merganser.framework.native.memory.simd import any_of, element, width_of, with_element
from merganser.geometry.proximity.box_faces import clip_box_faces, face_area, steepest_axis
from merganser.geometry.proximity.features import face_of, has_line_only, line_of, to_frame_A
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    MAX_CONTACTS,
    POINT,
    SEGMENT,
    UNBOUNDED,
    UNSOLVED,
    Contacts,
    Geometries,
    Hulls,
    SearchWork,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.narrow_phase import gap_of_boxes, set_relative_pose, solve_pair, wider
from merganser.geometry.proximity.search import set_inverse_pose
from merganser.geometry.proximity.shares import ALIGNED, STEEP, corner, fade, keep, set_corner
from merganser.geometry.proximity.terrain.pairs import find_terrain_points
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    cross,
    dot,
    negated,
    norm,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit,
    unit_axis,
)

_FACE_ON_FACE = 1e-14  # difference of two such cosines that is rounding: 1e-7 rad
_PARALLEL = 0.02  # sine of the angle between lines that run side by side
_MOST = 4  # points of a pair, unless one of both is round


@kernel
def contact_manifolds(
    # Model:
    geometries: Geometries,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Poses,  # shape [num_geometries, 4, 4]
    pairs: IntegerTable,  # rows of geometries, shape [>= num_pairs, 2]
    num_pairs: int,
    margin: float,  # points so far outside count, with negative depth [m]
    # Work:
    work: SearchWork,  # work_dtype, shape [1]
    # Out:
    contacts_out: Contacts,  # contact_dtype, shape [capacity]
) -> int:
    """Contact points of all pairs, in order; returns how many there are, even if they do not fit."""
    w = work[0]
    count = 0
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        set_relative_pose(X_WG, i, j, w.X_AB)
        if max(a.kind, b.kind) >= HEIGHT_FIELD:
            num_points = find_terrain_points(a, b, hulls, w, margin) if min(a.kind, b.kind) < HALF_SPACE else 0
            for m in range(num_points):
                if count < contacts_out.shape[0]:
                    contacts_out[count].pair = k
                    write_point(X_WG, i, w, m, corner(w.field_normal, m), contacts_out[count])
                count += 1
            continue
        num_points, normal = _touch(a, b, hulls, w, margin)
        for m in range(num_points):
            if count < contacts_out.shape[0]:
                contacts_out[count].pair = k
                write_point(X_WG, i, w, m, normal, contacts_out[count])
            count += 1
    return count


@kernel
def contact_manifolds_in_lanes(
    # As above; no terrain:
    geometries: Geometries,
    hulls: Annotated[Hulls, SAME_VALUE],
    X_WG: Poses,
    pairs: IntegerTable,
    num_pairs: int,
    margin: float,
    work: SearchWork,
    contacts_out: Contacts,
) -> int:
    """The same of several scenes; where a pair has more points in some, it returns more than what fits: lanes part."""
    w, count, num_first = work[0], 0, 0
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        X_AB, gap = gap_of_boxes(geometries, X_WG, i, j)
        if not any_of(gap <= wider(margin)):
            continue
        for lane in range(width_of(gap)):
            for n in range(12):
                w.X_AB[n] = element(X_AB[n], lane)
            num_points, normal = 0, (0.0, 0.0, 1.0)
            if element(gap, lane) <= wider(margin):
                num_points, normal = _touch(a, b, hulls, w, margin)
            if lane == 0:
                num_first = num_points
            if num_points != num_first or count + num_points > contacts_out.shape[0]:
                return contacts_out.shape[0] + 1
            for m in range(num_points):
                contacts_out[count + m].pair = k
                _write_point_of_lane(X_WG, i, w, m, normal, lane, contacts_out[count + m])
        count += num_first
    return count


@device
def _write_point_of_lane(
    X_WG: Poses, i: int, work: ShapeWork, m: int, normal: Vector3, lane: int, out: Array
) -> None:
    """Writes what `write_point` does to one lane."""
    out.depth = with_element(out.depth, lane, work.depth[m])
    out.share = with_element(out.share, lane, work.share[m])
    for r in range(3):
        p, n = element(X_WG[i, r, 3], lane), 0.0 * element(X_WG[i, r, 3], lane)
        for c in range(3):
            p += element(X_WG[i, r, c], lane) * work.clipped[m, c]
            n -= element(X_WG[i, r, c], lane) * normal[c]
        out.p_WC[r] = with_element(out.p_WC[r], lane, p)
        out.nhat_BA_W[r] = with_element(out.nhat_BA_W[r], lane, n)


@device
def _touch(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, margin: float) -> tuple[int, Vector3]:
    """Writes the contact points of a pair, whose X_AB is in `work`, into `clipped` of it, in A.

    Returns:
        How many there are, 0 if the pair is farther apart than the margin, and the unit normal from A to B.
    """
    num_points, normal, status, is_rough = 0, (0.0, 0.0, 1.0), UNSOLVED, True
    while status == UNSOLVED:
        status = solve_pair(a, b, hulls, work, is_rough)
        distance = -work.value - a.radius - b.radius
        if status == UNBOUNDED or not distance <= margin:
            return 0, normal  # a rough distance is too small at most
        if status != UNSOLVED or work.value >= 0.0:
            num_points, normal = _clip(a, b, hulls, work, margin)
        if num_points > 0:
            return num_points, normal
        is_rough = False
    return 1, _set_point(a, b, work)


@device
def find_points(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, margin: float) -> tuple[int, Vector3]:
    """Writes the contact points of a pair whose solution is known into `clipped` of work, in A; see `_clip`.

    Returns:
        How many there are, one at least, and the unit normal from A to B.
    """
    num_points, normal = _clip(a, b, hulls, work, margin)
    if num_points == 0:
        return 1, _set_point(a, b, work)
    return num_points, normal


@device
def _set_point(a: Shape, b: Shape, work: ShapeWork) -> Vector3:
    """Writes the one point of a pair that touches at a point only; returns the normal from A to B."""
    shift = 0.5 * (a.radius - b.radius)
    for c in range(3):
        work.clipped[0, c] = 0.5 * (work.p_ACa[c] + work.p_ACb[c]) + shift * work.normal[c]
    work.depth[0], work.share[0] = work.value + a.radius + b.radius, 1.0
    return work.normal[0], work.normal[1], work.normal[2]


@device
def write_point(X_WG: Poses, i: int, work: ShapeWork, m: int, normal: Vector3, out: Array) -> None:
    """Turns point m from the frame of geometry A, which is i, to the world."""
    out.depth, out.share = work.depth[m], work.share[m]
    for r in range(3):
        p, n = X_WG[i, r, 3], 0.0 * X_WG[i, r, 3]
        for c in range(3):
            p += X_WG[i, r, c] * work.clipped[m, c]
            n -= X_WG[i, r, c] * normal[c]
        out.p_WC[r] = p
        out.nhat_BA_W[r] = n


@device
def _clip(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, margin: float) -> tuple[int, Vector3]:
    """Writes contact points (midway between the surfaces, in A) into `clipped` of work, and their depths and shares.

    Returns:
        How many there are, 0 if the pair touches at a point only, and the unit normal from A to B.
    """
    n = (work.normal[0], work.normal[1], work.normal[2])
    if a.kind == POINT or a.kind == ELLIPSOID or b.kind == POINT or b.kind == ELLIPSOID:
        return 0, n
    X_AB = work.X_AB
    if a.kind == SEGMENT and b.kind == SEGMENT and math.hypot(X_AB[2].real, X_AB[5].real) > _PARALLEL:
        return 0, n
    n_B = negated(rotated_back(X_AB, n))
    if a.kind == BOX and b.kind == BOX and a.radius == 0.0 and b.radius == 0.0:
        return _clip_boxes(a, b, hulls, work, n, n_B, margin)
    count_a, normal_a = face_of(a, hulls, n, work.polygon_a)
    count_b, normal_b = face_of(b, hulls, n_B, work.polygon_b)
    aligned_a = dot(normal_a, n).real if count_a > 0 else -1.0
    aligned_b = dot(normal_b, n_B).real if count_b > 0 else -1.0
    if a.kind == HALF_SPACE:
        aligned_a, normal_a = 2.0, (0.0, 0.0, 1.0)
        set_corner(work.polygon_a, 0, (0.0, 0.0, 0.0))
    if b.kind == HALF_SPACE:
        aligned_b, normal_b = 2.0, (0.0, 0.0, 1.0)
    if max(aligned_a, aligned_b) < ALIGNED:
        return _clip_lines(a, b, hulls, work, n, n_B, margin), n
    is_round = a.kind == CYLINDER or a.kind == CONE or b.kind == CYLINDER or b.kind == CONE
    most = MAX_CONTACTS if is_round else _MOST
    is_tie = abs(aligned_b - aligned_a) <= _FACE_ON_FACE
    is_on_a = _area(work.polygon_a, count_a) >= _area(work.polygon_b, count_b) if is_tie else aligned_b < aligned_a
    if is_on_a:
        if has_line_only(b, aligned_b):
            count_b = line_of(b, hulls, n_B, work.polygon_b)
        to_frame_A(X_AB, work.polygon_b, count_b)
        count = _clip_face(b, work, work.polygon_a, count_a, normal_a, work.polygon_b, count_b)
        return keep(work, count, normal_a, n, margin, STEEP, most), _turned(normal_a, n)
    normal = rotated(X_AB, normal_b)
    if has_line_only(a, aligned_a):
        count_a = line_of(a, hulls, n, work.polygon_a)
    to_frame_A(X_AB, work.polygon_b, count_b)
    if b.kind == HALF_SPACE:
        set_corner(work.polygon_b, 0, (X_AB[9], X_AB[10], X_AB[11]))
    count = _clip_face(a, work, work.polygon_b, count_b, normal, work.polygon_a, count_a)
    return keep(work, count, normal, n, margin, STEEP, most), _turned(negated(normal), n)


@device
def _clip_boxes(
    a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, n: Vector3, n_B: Vector3, margin: float
) -> tuple[int, Vector3]:
    """What `_clip` does, of two boxes."""
    i, j = steepest_axis(n), steepest_axis(n_B)
    if max(abs(n[i].real), abs(n_B[j].real)) < ALIGNED:
        return _clip_lines(a, b, hulls, work, n, n_B, margin), n
    rooms = work.polygon_a, work.clipped, work.depth
    is_tie = abs(abs(n_B[j].real) - abs(n[i].real)) <= _FACE_ON_FACE
    is_on_a = face_area(a, i) >= face_area(b, j) if is_tie else abs(n_B[j].real) < abs(n[i].real)
    if is_on_a:
        count = clip_box_faces(a, b, work.X_AB, n, n_B, *rooms)
        normal = scaled(unit_axis(i), math.copysign(1.0, n[i].real))
        return keep(work, count, normal, n, margin, STEEP, _MOST), _turned(normal, n)
    set_inverse_pose(work.X_AB, work.X_BA)
    count = clip_box_faces(b, a, work.X_BA, n_B, n, *rooms)
    to_frame_A(work.X_AB, work.clipped, count)
    normal = scaled(axis(work.X_AB, j), math.copysign(1.0, n_B[j].real))
    return keep(work, count, normal, n, margin, STEEP, _MOST), _turned(negated(normal), n)


@device
def _area(polygon: FloatTable, count: int) -> float:
    """The square of twice the area of a polygon."""
    area, origin = (0.0, 0.0, 0.0), corner(polygon, 0)
    for i in range(2, count):
        normal = cross(subtract(corner(polygon, i - 1), origin), subtract(corner(polygon, i), origin))
        area = area[0] + normal[0].real, area[1] + normal[1].real, area[2] + normal[2].real
    return dot(area, area)


@device
def _clip_face(
    other: Shape, work: ShapeWork, face: Array, num_edges: int, normal: Vector3, polygon: FloatTable, count: int
) -> int:
    """Cuts a polygon or line of the other geometry by the edges of the reference face; returns how many corners it has.

    All is in A; `face` of a half space holds one point of its plane, and it has no edges.
    """
    origin = corner(face, 0)
    for e in range(num_edges):
        p = corner(face, e)
        inward = cross(normal, subtract(corner(face, (e + 1) % num_edges), p))
        count = _cut(polygon, count, inward, p, work.clipped)
        if count == 0:
            return 0
    for i in range(count):
        q = corner(polygon, i)
        height = dot(normal, subtract(q, origin))
        set_corner(work.clipped, i, sum_scaled(q, normal, -0.5 * (height + other.radius)))
        work.depth[i] = other.radius - height
    return count


@device
def _turned(normal: Vector3, pair_normal: Vector3) -> Vector3:
    """The normal of contacts on a face, which turns to that of the pair as both part."""
    part = cross(normal, pair_normal)
    aligned = fade(dot(part, part) / (STEEP * STEEP))
    if aligned.real >= 1.0:
        return normal
    return unit(sum_scaled(pair_normal, subtract(normal, pair_normal), aligned))


@device
def _cut(polygon: FloatTable, count: int, inward: Vector3, p: Vector3, spare: Array) -> int:
    """Keeps the part of a polygon, or of a line (2 points), on the inner side of a plane through P."""
    kept = 0
    num_edges = count if count > 2 else count - 1
    if count == 1:
        return 1 if dot(inward, subtract(corner(polygon, 0), p)).real >= 0.0 else 0
    for i in range(num_edges):
        x, y = corner(polygon, i), corner(polygon, (i + 1) % count)
        at_x, at_y = dot(inward, subtract(x, p)), dot(inward, subtract(y, p))
        if at_x.real >= 0.0 and kept < spare.shape[0]:
            set_corner(spare, kept, x)
            kept += 1
        if (at_x.real >= 0.0) != (at_y.real >= 0.0) and kept < spare.shape[0]:
            set_corner(spare, kept, sum_scaled(x, subtract(y, x), at_x / (at_x - at_y)))
            kept += 1
        if count == 2 and at_y.real >= 0.0 and kept < spare.shape[0]:
            set_corner(spare, kept, y)
            kept += 1
    for i in range(kept):
        set_corner(polygon, i, corner(spare, i))
    return kept


@device
def _clip_lines(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, n: Vector3, n_B: Vector3, margin: float) -> int:
    """Both ends of where two lines run side by side; 0 if they do not."""
    if line_of(a, hulls, n, work.polygon_a) < 2 or line_of(b, hulls, n_B, work.polygon_b) < 2:
        return 0
    to_frame_A(work.X_AB, work.polygon_b, 2)
    x, y = corner(work.polygon_a, 0), corner(work.polygon_a, 1)
    u, v = unit(subtract(y, x)), unit(subtract(corner(work.polygon_b, 1), corner(work.polygon_b, 0)))
    if norm(cross(u, v)).real > _PARALLEL:
        return 0
    at_0 = dot(u, subtract(corner(work.polygon_b, 0), x))
    at_1 = dot(u, subtract(corner(work.polygon_b, 1), x))
    low, high = larger(0.0, smaller(at_0, at_1)), smaller(norm(subtract(y, x)), larger(at_0, at_1))
    if not high.real > low.real:
        return 0
    for end in range(2):
        s = low if end == 0 else high
        p = sum_scaled(x, u, s)
        q = sum_scaled(corner(work.polygon_b, 0), v, (s - at_0) / dot(u, v))
        middle = scaled(add(p, q), 0.5)
        set_corner(work.clipped, end, sum_scaled(middle, n, 0.5 * (a.radius - b.radius)))
        work.depth[end] = a.radius + b.radius - dot(n, subtract(q, p))
    return keep(work, 2, n, n, margin, _PARALLEL, 2)
