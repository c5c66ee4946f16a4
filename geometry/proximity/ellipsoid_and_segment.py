"""Distance of an ellipsoid and a segment, if they are apart.

Along the line of the segment, one sees the ellipsoid as an ellipse and the line as a point. With e1, e2 across the line
and S the semi-axes of the ellipsoid, the ellipse has the support function sqrt(n . M n), M_ij = S e_i . S e_j, so that
its semi-axes are the roots of the eigenvalues of M. The nearest point of the ellipse tells the normal, and that the
place on the line. If the place is beyond an end of the segment, this end is the nearest, as the distance is convex
along the line; so it is if the line meets the ellipsoid elsewhere.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import ELLIPSOID, SOLVED, UNSOLVED
from merganser.geometry.proximity.points import point_to_ellipsoid
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    negated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    tangents,
)

__all__ = ["solve_ellipsoid_and_segment"]

_NEAR = 1e-7  # of the size: at less than this distance they may overlap


@inlined
def solve_ellipsoid_and_segment(a: Array, b: Array, work: Array) -> int:
    """Writes the solution for an ellipsoid and a segment, in either order; if they overlap, it returns UNSOLVED."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    near = _NEAR * (a.bound + b.bound)
    if a.kind == ELLIPSOID:
        axes, half = (a.size_0, a.size_1, a.size_2), b.size_2
        c, u = origin, axis(X_AB, 2)
    else:
        axes, half = (b.size_0, b.size_1, b.size_2), a.size_2
        c, u = negated(rotated_back(X_AB, origin)), (X_AB[6], X_AB[7], X_AB[8])
    distance, n, q = _nearest_of_segment(axes, c, u, half, near)
    if not distance > near:
        return UNSOLVED
    p = sum_scaled(q, n, -distance)
    if a.kind == ELLIPSOID:
        set_solution(work, n, -distance, p, q)
    else:
        set_from_other_frame(work, n, -distance, q, p)
    return SOLVED


@device
def _nearest_of_segment(
    axes: Vector3, c: Vector3, u: Vector3, half: float, near: float
) -> tuple[float, Vector3, Vector3]:
    """The distance of a segment to an ellipsoid, its gradient, and the nearest point of the segment; all in its frame.

    Args:
        axes: semi-axes of the ellipsoid.
        c: the middle of the segment.
        u: its direction, a unit vector.
        half: half its length.
        near: distance of the line at less than which it is taken to meet the ellipsoid.
    """
    s_0, s_1, s_2 = axes
    along = dot(c, u)
    if abs(along) >= half:  # one end is probably the nearest, and is so if the distance rises from there
        end = -math.copysign(half, along)
        q = sum_scaled(c, u, end)
        distance, n, _ = point_to_ellipsoid(s_0, s_1, s_2, q)
        if distance > near and dot(n, u) * end <= 0.0:
            return distance, n, q
    distance, n = _distance_of_line(axes, c, u)
    if distance > near:
        # The point of the ellipsoid that is the farthest along n, S^2 n / |S n|.
        x = (s_0 * s_0 * n[0], s_1 * s_1 * n[1], s_2 * s_2 * n[2])
        x = scaled(x, 1.0 / math.sqrt(dot(n, x)))
        t = dot(subtract(x, c), u)
        if abs(t) <= half:
            return distance, n, sum_scaled(c, u, t)
    else:
        # The middle of what the ellipsoid has of the line.
        v = (u[0] / (s_0 * s_0), u[1] / (s_1 * s_1), u[2] / (s_2 * s_2))
        t = -dot(c, v) / dot(u, v)
    q = sum_scaled(c, u, min(max(t, -half), half))
    distance, n, _ = point_to_ellipsoid(s_0, s_1, s_2, q)
    return distance, n, q


@inlined
def _distance_of_line(axes: Vector3, c: Vector3, u: Vector3) -> tuple[float, Vector3]:
    """Signed distance of the line through c along u to an ellipsoid, and its gradient, which is across u."""
    s_0, s_1, s_2 = axes
    e1, e2 = tangents(u)
    v1 = (s_0 * e1[0], s_1 * e1[1], s_2 * e1[2])
    v2 = (s_0 * e2[0], s_1 * e2[1], s_2 * e2[2])
    m_11, m_12, m_22 = dot(v1, v1), dot(v1, v2), dot(v2, v2)
    # Eigenvalues, and the eigenvector of the greater one; the smaller one from det M = |S e1 x S e2|^2, whose terms do
    # not cancel.
    half = 0.5 * (m_11 - m_22)
    root = math.sqrt(half * half + m_12 * m_12)
    greatest = 0.5 * (m_11 + m_22) + root
    w = (s_1 * s_2 * u[0], s_2 * s_0 * u[1], s_0 * s_1 * u[2])
    least = dot(w, w) / greatest
    x, y = (half + root, m_12) if half >= 0.0 else (m_12, root - half)
    length = math.sqrt(x * x + y * y)
    x, y = (x / length, y / length) if length > 0.0 else (1.0, 0.0)
    f1, f2 = add(scaled(e1, x), scaled(e2, y)), add(scaled(e1, -y), scaled(e2, x))
    alpha, beta = math.sqrt(greatest), math.sqrt(least)
    distance, n, _ = point_to_ellipsoid(alpha, beta, alpha, (dot(c, f1), dot(c, f2), 0.0))
    return distance, add(scaled(f1, n[0]), scaled(f2, n[1]))
