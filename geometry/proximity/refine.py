"""Local minima of the support function of A - B over the unit sphere, to rounding error.

With h(n) = h_A(n) + h_B(-n) the signed distance of two convex shapes is

    phi = - min over unit n of h(n),     p_Ca - p_Cb = h(n) n at the minimum              (1)

h is the greatest of smooth pieces s_j (supports.py), so a minimum is where a few pieces balance:

    s_j(n) = t,   sum_j lambda_j grad s_j(n) = t n,   lambda_j >= 0,   sum_j lambda_j = 1    (2)

One piece: a smooth point of the boundary. Two: an edge of A - B. Three: a flat face. The pieces found so far are the
*bundle*; each step minimizes their linear models and the curvature of their Lagrangian on the sphere,

    max_j (s_j + u_j . d) + d . H d / 2,    u_j = P grad s_j,  H = P (sum_j lambda_j grad grad s_j) P - t I    (3)

over tangent vectors d (P projects on the tangent plane at n); what the step uncovers joins the bundle. This is Newton's
method once the bundle is right (Wilson 1963; Lemarechal and Mifflin 1982, on bundles). Where A and B are apart (t < 0)
the minimum is the only one. Otherwise there may be several; expanding_polytope.py looks for the least.

Close to the axis of a cylinder or cone its rim turns infinitely fast; there single points of the rim are the pieces.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.layout import CONE, CYLINDER, FROZEN, MAX_BUNDLE, Hulls
from merganser.geometry.proximity.supports import curvatures, piece_point, support_of_pair
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    dot,
    negated,
    rotated,
    rotated_back,
    subtract,
    sum_scaled,
    tangents,
    unit,
)

__all__ = ["refine", "set_solution"]

_MAX_STEPS = 60
_NEAR_AXIS = 1e-3  # sine of the angle to the axis
_AROUND_AXIS = 0.7  # cosine of the angle to the axis
_LARGEST_STEP = 0.7  # [rad]
_LAST_STEP = 1e-6  # [rad], after which none follows if it is one of Newton's method
_SMALLEST_STEP = 1e-11  # [rad]
_FLAT = 1e-9  # curvature that counts as none, of the size of the shapes
_ROUNDING = 4e-16  # of the size of the shapes


@device
def set_solution(work: Array, n: Vector3, value: float, p_A: Vector3, p_B: Vector3) -> None:
    """Writes a solution."""
    work.value = value
    for i in range(3):
        work.normal[i], work.p_ACa[i], work.p_ACb[i] = n[i], p_A[i], p_B[i]


@device
def refine(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> bool:
    """Goes down from a direction to a local minimum of h; writes it into the solution in `work`.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given; the fields of the solution and of the bundle are written.
        start: unit vector in A.

    Returns:
        Whether the conditions (2) hold; if not, h is less than at the start, or the same.
    """
    size = a.bound + b.bound
    n = start
    X_AB = work.X_AB
    piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, X_AB, n)
    value = dot(n, subtract(p_A, p_B))
    _put(work, 0, _piece_near(a, n, piece_a), _piece_near(b, rotated_back(X_AB, n), piece_b), p_A, p_B)
    work.weight[0] = 1.0
    count = 1
    reach = _LARGEST_STEP
    done = False
    for _ in range(_MAX_STEPS):
        e1, e2 = tangents(n)
        h11, h12, h22 = _evaluate(a, b, hulls, work, count, n, e1, e2, value)
        d1, d2, gain, is_newton = _minimize_model(work, count, h11, h12, h22, size)
        length = math.sqrt(d1 * d1 + d2 * d2)
        if length < _SMALLEST_STEP or abs(gain) <= 0.01 * _ROUNDING * size:
            done = True
            break
        if length > reach:
            d1, d2, length = d1 * reach / length, d2 * reach / length, reach
        next_n = unit(sum_scaled(sum_scaled(n, e1, d1), e2, d2))
        piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, X_AB, next_n)
        next_value = dot(next_n, subtract(p_A, p_B))
        # Within rounding of the minimum steps may still better n, to which h is flat.
        is_better = next_value < value or (length < 1e-4 and next_value <= value + 8.0 * _ROUNDING * size)
        if is_better:
            n, value = next_n, next_value
            reach = min(_LARGEST_STEP, 2.0 * max(reach, length))
        before = count
        piece_a = _piece_near(a, n, piece_a)
        piece_b = _piece_near(b, rotated_back(X_AB, n), piece_b)
        count = _remember(work, count, piece_a, piece_b, p_A, p_B, size)
        if is_better and is_newton and length < _LAST_STEP and count == before:
            done = True  # quadratic convergence: what is left is of the size of its square
            break
        if not is_better and count == before:
            reach = 0.3 * length
            pole, pole_value = _better_axis(a, b, hulls, X_AB, n, value)
            if pole_value < value:
                n, value = pole, pole_value
                reach = _LARGEST_STEP
            elif reach < _SMALLEST_STEP:
                break
    _write_solution(a, b, hulls, work, count, n, value)
    return done


@device
def _put(work: Array, j: int, piece_a: int, piece_b: int, p_A: Vector3, p_B: Vector3) -> None:
    """Makes this row j of the bundle; both points are in A."""
    work.piece_a[j], work.piece_b[j] = piece_a, piece_b
    _put_points(work, j, p_A, p_B)
    work.weight[j] = 0.0


@device
def _put_points(work: Array, j: int, p_A: Vector3, p_B: Vector3) -> None:
    for i in range(3):
        work.cut_a[j, i] = p_A[i]
        work.cut_b[j, i] = p_B[i]


@device
def _piece_near(g: Array, n: Vector3, piece: int) -> int:
    """The piece, or, close to an axis on which it turns too fast, what tells that its point stands for it."""
    if (g.kind == CYLINDER or g.kind == CONE) and n[0] * n[0] + n[1] * n[1] < _NEAR_AXIS * _NEAR_AXIS:
        return FROZEN
    return piece


@device
def _better_axis(a: Array, b: Array, hulls: Hulls, X_AB: Array, n: Vector3, value: float) -> tuple[Vector3, float]:
    """The axis of a cylinder or cone, if n is near it and h is less there: a flat side of A - B, a kink of h."""
    best, best_value = n, value
    for t in range(2):
        kind = a.kind if t == 0 else b.kind
        if kind != CYLINDER and kind != CONE:
            continue
        pole = (0.0, 0.0, 1.0) if t == 0 else (X_AB[2], X_AB[5], X_AB[8])
        along = dot(pole, n)
        if abs(along) < _AROUND_AXIS:
            continue
        if along < 0.0:
            pole = negated(pole)
        _, _, p_A, p_B = support_of_pair(a, b, hulls, X_AB, pole)
        pole_value = dot(pole, subtract(p_A, p_B))
        if pole_value < best_value:
            best, best_value = pole, pole_value
    return best, best_value


@device
def _remember(work: Array, count: int, piece_a: int, piece_b: int, p_A: Vector3, p_B: Vector3, size: float) -> int:
    """Adds a piece to the bundle, unless it is there, and returns how many there are now.

    If there is no room, it takes the place of the lowest of those without weight.
    """
    for j in range(count):
        if work.piece_a[j] == piece_a and work.piece_b[j] == piece_b:
            distance = 0.0
            if piece_a == FROZEN:
                distance += _distance_squared(work.cut_a, j, p_A)
            if piece_b == FROZEN:
                distance += _distance_squared(work.cut_b, j, p_B)
            if distance <= 1e-24 * size * size:
                return count
    place = count
    if count == MAX_BUNDLE:
        place = -1
        for j in range(count):
            if work.weight[j] == 0.0 and (place < 0 or work.gradient[j, 2] < work.gradient[place, 2]):
                place = j
        if place < 0:
            place = 0
    _put(work, place, piece_a, piece_b, p_A, p_B)
    return max(count, place + 1)


@device
def _distance_squared(points: Array, j: int, p: Vector3) -> float:
    x, y, z = points[j, 0] - p[0], points[j, 1] - p[1], points[j, 2] - p[2]
    return x * x + y * y + z * z


@device
def _points(a: Array, b: Array, hulls: Hulls, work: Array, j: int, n: Vector3) -> tuple[Vector3, Vector3]:
    """The points of A and B that belong to piece j at n, in A."""
    X_AB = work.X_AB
    p_A = (work.cut_a[j, 0], work.cut_a[j, 1], work.cut_a[j, 2])
    p_B = (work.cut_b[j, 0], work.cut_b[j, 1], work.cut_b[j, 2])
    if work.piece_a[j] >= 0:
        p_A = piece_point(a, hulls, work.piece_a[j], n)
    if work.piece_b[j] >= 0:
        q_B = piece_point(b, hulls, work.piece_b[j], negated(rotated_back(X_AB, n)))
        p_B = add(rotated(X_AB, q_B), (X_AB[9], X_AB[10], X_AB[11]))
    return p_A, p_B


@device
def _evaluate(
    a: Array,
    b: Array,
    hulls: Hulls,
    work: Array,
    count: int,
    n: Vector3,
    e1: Vector3,
    e2: Vector3,
    value: float,
) -> tuple[float, float, float]:
    """Writes u_j and s_j of all pieces into rows (u_j . e1, u_j . e2, s_j) of gradient; returns H of (3)."""
    h11, h12, h22 = -value, 0.0, -value
    X_AB = work.X_AB
    m = negated(rotated_back(X_AB, n))
    f1, f2 = rotated_back(X_AB, e1), rotated_back(X_AB, e2)
    for j in range(count):
        p_A, p_B = _points(a, b, hulls, work, j, n)
        _put_points(work, j, p_A, p_B)
        work.piece_a[j] = _piece_near(a, n, work.piece_a[j])
        work.piece_b[j] = _piece_near(b, m, work.piece_b[j])
        w = subtract(p_A, p_B)
        work.gradient[j, 0], work.gradient[j, 1], work.gradient[j, 2] = dot(w, e1), dot(w, e2), dot(w, n)
        weight = work.weight[j]
        if weight > 0.0:
            if work.piece_a[j] >= 0:
                c11, c12, c22 = curvatures(a, work.piece_a[j], n, e1, e2)
                h11, h12, h22 = h11 + weight * c11, h12 + weight * c12, h22 + weight * c22
            if work.piece_b[j] >= 0:
                c11, c12, c22 = curvatures(b, work.piece_b[j], m, f1, f2)
                h11, h12, h22 = h11 + weight * c11, h12 + weight * c12, h22 + weight * c22
    return h11, h12, h22


@device
def _minimize_model(
    work: Array, count: int, h11: float, h12: float, h22: float, size: float
) -> tuple[float, float, float, bool]:
    """Minimizes (3); writes the weights lambda.

    Returns:
        The step d in the tangent plane, by how much the model falls, and whether its curvature is the true one.
    """
    # A curvature that is not positive is lifted; along an edge (two pieces) the true one is used in the end.
    mean, half = 0.5 * (h11 + h22), 0.5 * (h11 - h22)
    least = mean - math.sqrt(half * half + h12 * h12)
    lift = 0.05 * size - least if least < _FLAT * size else 0.0
    k11, k22 = h11 + lift, h22 + lift
    inverse = 1.0 / (k11 * k22 - h12 * h12)
    i11, i12, i22 = k22 * inverse, -h12 * inverse, k11 * inverse
    g = work.gradient
    top = g[0, 2]
    for j in range(1, count):
        top = max(top, g[j, 2])
    best_excess = math.inf
    best_1, best_2, best_3 = 0, -1, -1
    x1, x2, lambda_1, lambda_2 = 0.0, 0.0, 1.0, 0.0
    # From the newest piece on, which takes part more often than not.
    for i in range(count - 1, -1, -1):
        for j in range(i, -1, -1):
            for k in range(j, -1, -1):
                if j == i and k < j:
                    break
                if i == j:
                    l1, l2, l3 = 1.0, 0.0, 0.0
                    y1 = -(i11 * g[i, 0] + i12 * g[i, 1])
                    y2 = -(i12 * g[i, 0] + i22 * g[i, 1])
                elif j == k:
                    c1, c2 = g[i, 0] - g[j, 0], g[i, 1] - g[j, 1]
                    q1, q2 = i11 * c1 + i12 * c2, i12 * c1 + i22 * c2
                    curve = c1 * q1 + c2 * q2
                    if curve <= 0.0:
                        continue
                    l1 = (g[i, 2] - g[j, 2] - (q1 * g[j, 0] + q2 * g[j, 1])) / curve
                    l2, l3 = 1.0 - l1, 0.0
                    s1, s2 = l1 * g[i, 0] + l2 * g[j, 0], l1 * g[i, 1] + l2 * g[j, 1]
                    y1, y2 = -(i11 * s1 + i12 * s2), -(i12 * s1 + i22 * s2)
                else:
                    a1, a2 = g[i, 0] - g[k, 0], g[i, 1] - g[k, 1]
                    b1, b2 = g[j, 0] - g[k, 0], g[j, 1] - g[k, 1]
                    area = a1 * b2 - a2 * b1
                    if abs(area) <= 1e-14 * size * size:
                        continue
                    area = 1.0 / area
                    v1, v2 = g[k, 2] - g[i, 2], g[k, 2] - g[j, 2]
                    y1, y2 = (v1 * b2 - v2 * a2) * area, (a1 * v2 - b1 * v1) * area
                    r1 = -(k11 * y1 + h12 * y2) - g[k, 0]
                    r2 = -(h12 * y1 + k22 * y2) - g[k, 1]
                    l1, l2 = (r1 * b2 - r2 * b1) * area, (a1 * r2 - a2 * r1) * area
                    l3 = 1.0 - l1 - l2
                # The solution has weights that are not negative, and no piece rises above those in it.
                at = g[i, 2] + g[i, 0] * y1 + g[i, 1] * y2
                excess = max(0.0, -min(l1, min(l2, l3))) * size
                for m in range(count):
                    excess = max(excess, g[m, 2] + g[m, 0] * y1 + g[m, 1] * y2 - at)
                if excess < best_excess:
                    best_excess = excess
                    best_1, best_2, best_3 = i, (j if j < i else -1), (k if k < j else -1)
                    x1, x2, lambda_1, lambda_2 = y1, y2, l1, l2
            if best_excess <= 50.0 * _ROUNDING * size:
                break
        if best_excess <= 50.0 * _ROUNDING * size:
            break
    for j in range(count):
        work.weight[j] = 0.0
    if best_2 < 0:
        work.weight[best_1] = 1.0
    elif best_3 < 0:
        lambda_1 = min(max(lambda_1, 0.0), 1.0)
        work.weight[best_1], work.weight[best_2] = lambda_1, 1.0 - lambda_1
    else:
        lambda_1, lambda_2 = max(lambda_1, 0.0), max(lambda_2, 0.0)
        lambda_3 = max(1.0 - lambda_1 - lambda_2, 0.0)
        total = lambda_1 + lambda_2 + lambda_3
        work.weight[best_1], work.weight[best_2] = lambda_1 / total, lambda_2 / total
        work.weight[best_3] = lambda_3 / total
    if lift > 0.0 and best_2 >= 0 and best_3 < 0:
        x1, x2 = _step_along_edge(g, best_1, best_2, x1, x2, h11, h12, h22, size)
    after = -math.inf
    for j in range(count):
        after = max(after, g[j, 2] + g[j, 0] * x1 + g[j, 1] * x2)
    bend = 0.5 * (k11 * x1 * x1 + 2.0 * h12 * x1 * x2 + k22 * x2 * x2)
    return x1, x2, max(top - after - bend, bend), lift == 0.0


@device
def _step_along_edge(
    g: Array, i: int, j: int, x1: float, x2: float, h11: float, h12: float, h22: float, size: float
) -> tuple[float, float]:
    """The step to where two pieces balance, and from there along their edge by its own curvature, if positive."""
    c1, c2 = g[i, 0] - g[j, 0], g[i, 1] - g[j, 1]
    square = c1 * c1 + c2 * c2
    if square <= 1e-28 * size * size:
        return x1, x2
    shift = -(g[i, 2] - g[j, 2]) / square
    y1, y2 = shift * c1, shift * c2
    length = math.sqrt(square)
    t1, t2 = -c2 / length, c1 / length
    curve = h11 * t1 * t1 + 2.0 * h12 * t1 * t2 + h22 * t2 * t2
    if curve <= _FLAT * size:
        return x1, x2
    slope = t1 * (g[i, 0] + h11 * y1 + h12 * y2) + t2 * (g[i, 1] + h12 * y1 + h22 * y2)
    return y1 - slope / curve * t1, y2 - slope / curve * t2


@device
def _write_solution(a: Array, b: Array, hulls: Hulls, work: Array, count: int, n: Vector3, value: float) -> None:
    for i in range(3):
        work.normal[i] = n[i]
        work.p_ACa[i] = 0.0
        work.p_ACb[i] = 0.0
    work.value = value
    work.bundle = count
    for j in range(count):
        weight = work.weight[j]
        if weight > 0.0:
            p_A, p_B = _points(a, b, hulls, work, j, n)
            for i in range(3):
                work.p_ACa[i] += weight * p_A[i]
                work.p_ACb[i] += weight * p_B[i]
