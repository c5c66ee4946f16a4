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
from typing import NamedTuple

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.layout import CONE, CYLINDER, FROZEN, MAX_BUNDLE, Hulls, Pose, Shape, ShapeWork
from merganser.geometry.proximity.supports import (
    is_curved,
    piece_vertex,
    semi_axes,
    smooth_curvatures,
    smooth_point,
    support_of_pair,
    support_piece,
)
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    dot,
    negated,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    unit,
)

_MAX_STEPS = 100
_DAMPING = 0.05  # of the size: least curvature of the model at first, where that of h is not positive
_LEAST_DAMPING = 1e-6  # what it comes down to, by a tenth in each step that succeeds
_NEAR_AXIS = 1e-3  # sine of the angle to the axis
_AROUND_AXIS = 0.7  # cosine of the angle to the axis
_LARGEST_STEP = 0.7  # [rad]
_FIRST_TILT = 0.1  # [rad], from the axis of a cylinder to a side where h is less
_MAX_TILTS = 10
_LAST_STEP = 1e-6  # [rad], after which none follows if it is one of Newton's method
_SMALLEST_STEP = 1e-11  # [rad]
_FLAT = 1e-9  # curvature that counts as none, of the size of the shapes
_ROUNDING_OF_SUPPORT = 4e-16  # of h, of the size of the shapes


class _Smooth(NamedTuple):
    """Smooth parts of A and B at a direction n; all pieces have them, except for the tip of a cone and frozen ones.

    Attributes:
        a: that of A, in A; q: that of B, in B; b: the same, turned into A.
        inverse_a, inverse_b: as smooth_point() gives them.
    """

    a: Vector3
    q: Vector3
    b: Vector3
    inverse_a: float
    inverse_b: float


@inlined
def set_solution(work: ShapeWork, n: Vector3, value: float, p_A: Vector3, p_B: Vector3) -> None:
    """Writes a solution."""
    work.value = value
    for i in range(3):
        work.normal[i], work.p_ACa[i], work.p_ACb[i] = n[i], p_A[i], p_B[i]


@shared(bool)
def refine(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: tuple[float, float, float]) -> bool:
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
    done, count, n, value, smooth = _descend(a, b, hulls, work, start, semi_axes(a, 1), semi_axes(b, 1))
    _write_solution(a, b, work, count, n, value, smooth.a, smooth.b)
    return done


@inlined
def _descend(
    a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: Vector3, axes_a: Vector3, axes_b: Vector3
) -> tuple[bool, int, Vector3, float, _Smooth]:
    """Whether (2) holds, the number of pieces in the bundle, and n, h and the smooth parts at the end."""
    size, X_AB = a.bound + b.bound, work.X_AB
    n, value, count = start, math.inf, 0
    smooth = _Smooth((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0)
    next_n, is_newton, length = start, False, 1.0
    reach, damping = _LARGEST_STEP, _DAMPING
    is_second_try, is_corrected = False, False
    for _ in range(_MAX_STEPS):
        # The support of A - B in the next direction.
        m = negated(rotated_back(X_AB, next_n))
        piece_a, piece_b = support_piece(a, hulls, next_n), support_piece(b, hulls, m)
        p_A, p_B = piece_vertex(a, hulls, piece_a), piece_vertex(b, hulls, piece_b)
        p_B = add(rotated(X_AB, p_B), (X_AB[9], X_AB[10], X_AB[11]))
        found = _smooth_parts(a, b, axes_a, axes_b, X_AB, next_n, m)
        full_A = add(p_A, found.a) if _is_smooth(a, piece_a) else p_A
        full_B = add(p_B, found.b) if _is_smooth(b, piece_b) else p_B
        next_value = dot(next_n, subtract(full_A, full_B))
        # Within rounding of the minimum steps may still better n, to which h is flat.
        is_better = next_value < value or (length < 1e-4 and next_value <= value + 8.0 * _ROUNDING_OF_SUPPORT * size)
        if is_better:
            n, value, smooth = next_n, next_value, found
            reach = min(_LARGEST_STEP, 2.0 * max(reach, length))
            damping = max(0.1 * damping, _LEAST_DAMPING)
        if _turns_fast(a, n):
            piece_a, p_A = FROZEN, full_A
        if _turns_fast(b, rotated_back(X_AB, n)):
            piece_b, p_B = FROZEN, full_B
        before = count
        count = _remember(work, count, piece_a, piece_b, p_A, p_B, size)
        if is_better and is_newton and length < _LAST_STEP and count == before:
            return True, count, n, value, smooth  # quadratic convergence: what is left is the square of its size
        if not is_better and count == before:
            if not is_corrected and length < 1.0:
                is_corrected = True
                next_n = _back_to_edge(a, b, work, count, next_n, found.a, found.b)
                continue
            reach = 0.3 * length
            pole, pole_value = _better_axis(a, b, hulls, X_AB, n, value)
            if pole_value < value:
                next_n, value, length, is_newton = pole, math.inf, 1.0, False
                continue
            if reach < _SMALLEST_STEP:
                if is_second_try:
                    break
                # Points of a rim that have been gathered on the way may keep out better ones.
                is_second_try, count, next_n, value, length, reach = True, 0, n, math.inf, 1.0, _LARGEST_STEP
                continue
        is_corrected = False
        has_curvature = piece_a != FROZEN and piece_b != FROZEN  # points have none
        done, next_n, length, is_newton = _next_direction(
            a, b, work, count, n, value, smooth, axes_a, axes_b, has_curvature, size, damping, reach
        )
        if done:
            return True, count, n, value, smooth
    return False, count, n, value, smooth


@inlined
def _next_direction(
    a: Shape, b: Shape, work: ShapeWork, count: int, n: Vector3, value: float, smooth: _Smooth, axes_a: Vector3,
    axes_b: Vector3, has_curvature: bool, size: float, damping: float, reach: float,
) -> tuple[bool, Vector3, float, bool]:  # fmt: skip
    """Whether n is the minimum; else where the step from it leads, how long it is, and whether it is Newton's."""
    e1, e2 = tangents(n)
    _evaluate(a, b, work, count, n, e1, e2, smooth)
    h11, h12, h22 = _hessian(a, b, work, count, e1, e2, value, axes_a, axes_b, smooth)
    d1, d2, gain, is_newton = _minimize_model(work, count, h11, h12, h22, size, damping, reach)
    is_newton = is_newton and has_curvature
    length = math.sqrt(d1 * d1 + d2 * d2)
    if length < _SMALLEST_STEP or (abs(gain) <= 0.01 * _ROUNDING_OF_SUPPORT * size and not is_newton):
        return True, n, length, is_newton
    if length > reach:
        d1, d2, length = d1 * reach / length, d2 * reach / length, reach
    return False, unit(sum_scaled(sum_scaled(n, e1, d1), e2, d2)), length, is_newton


@inlined
def _smooth_parts(a: Shape, b: Shape, axes_a: Vector3, axes_b: Vector3, X_AB: Pose, n: Vector3, m: Vector3) -> _Smooth:
    """The smooth parts at n, which is -m in B."""
    part_a, part_q, part_b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    inverse_a, inverse_b = 0.0, 0.0
    if is_curved(a):
        part_a, inverse_a = smooth_point(axes_a, n)
    if is_curved(b):
        part_q, inverse_b = smooth_point(axes_b, m)
        part_b = rotated(X_AB, part_q)
    return _Smooth(part_a, part_q, part_b, inverse_a, inverse_b)


@inlined
def _hessian(
    a: Shape,
    b: Shape,
    work: ShapeWork,
    count: int,
    e1: Vector3,
    e2: Vector3,
    value: float,
    axes_a: Vector3,
    axes_b: Vector3,
    smooth: _Smooth,
) -> tuple[float, float, float]:
    """H of (3) along e1 and e2."""
    h11, h12, h22 = -value, 0.0, -value
    if is_curved(a):
        weight = _smooth_weight(a, work.piece_a, work.weight, count)
        c11, c12, c22 = smooth_curvatures(axes_a, smooth.a, smooth.inverse_a, e1, e2)
        h11, h12, h22 = h11 + weight * c11, h12 + weight * c12, h22 + weight * c22
    if is_curved(b):
        weight = _smooth_weight(b, work.piece_b, work.weight, count)
        f1, f2 = rotated_back(work.X_AB, e1), rotated_back(work.X_AB, e2)
        c11, c12, c22 = smooth_curvatures(axes_b, smooth.q, smooth.inverse_b, f1, f2)
        h11, h12, h22 = h11 + weight * c11, h12 + weight * c12, h22 + weight * c22
    return h11, h12, h22


@inlined
def _is_smooth(g: Shape, piece: int) -> bool:
    """Whether a piece has the smooth part of its core."""
    return is_curved(g) and (piece > 0 or (piece == 0 and g.kind != CONE))


@device
def _back_to_edge(
    a: Shape, b: Shape, work: ShapeWork, count: int, n: Vector3, smooth_a: Vector3, smooth_b: Vector3
) -> Vector3:
    """From a direction beside the curve on which two pieces with weight are as great to one on it.

    Without this, a step along a bent curve leaves it and seems too long (Maratos; Nocedal and Wright 2006, sec. 15.5).
    """
    w, num_pieces, sign = (0.0, 0.0, 0.0), 0, 1.0
    for j in range(count):
        if work.weight[j] > 0.0:
            p = (work.cut_a[j, 0], work.cut_a[j, 1], work.cut_a[j, 2])
            p = subtract(p, (work.cut_b[j, 0], work.cut_b[j, 1], work.cut_b[j, 2]))
            if _is_smooth(a, work.piece_a[j]):
                p = add(p, smooth_a)
            if _is_smooth(b, work.piece_b[j]):
                p = subtract(p, smooth_b)
            w, sign, num_pieces = sum_scaled(w, p, sign), -sign, num_pieces + 1
    difference = dot(n, w)
    slope = sum_scaled(w, n, -difference)
    square = dot(slope, slope)
    if num_pieces != 2 or square <= 0.0:
        return n
    return unit(sum_scaled(n, slope, -difference / square))


@inlined
def _smooth_weight(g: Shape, pieces: Array, weights: Array, count: int) -> float:
    """The weight of all pieces in the bundle that have the smooth part."""
    total = 0.0
    for j in range(count):
        if _is_smooth(g, pieces[j]):
            total += weights[j]
    return total


@inlined
def _put(work: ShapeWork, j: int, piece_a: int, piece_b: int, p_A: Vector3, p_B: Vector3) -> None:
    """Makes this row j of the bundle; both points are in A."""
    work.piece_a[j], work.piece_b[j] = piece_a, piece_b
    _put_points(work, j, p_A, p_B)
    work.weight[j] = 0.0


@inlined
def _put_points(work: ShapeWork, j: int, p_A: Vector3, p_B: Vector3) -> None:
    for i in range(3):
        work.cut_a[j, i] = p_A[i]
        work.cut_b[j, i] = p_B[i]


@inlined
def _turns_fast(g: Shape, n: Vector3) -> bool:
    """Whether a direction is so close to the axis of a rim that single points of the rim have to stand for it."""
    if g.kind != CYLINDER and g.kind != CONE:
        return False
    return n[0] * n[0] + n[1] * n[1] < _NEAR_AXIS * _NEAR_AXIS


@device
def _better_axis(a: Shape, b: Shape, hulls: Hulls, X_AB: Pose, n: Vector3, value: float) -> tuple[Vector3, float]:
    """The axis of a cylinder or cone, if n is near it and h is less there: a flat side of A - B, a kink of h.

    Should h fall from the axis to some side, it is a direction on that side.
    """
    best, best_value = n, value
    for t in range(2):
        g = a if t == 0 else b
        if g.kind != CYLINDER and g.kind != CONE:
            continue
        e = (0.0, 0.0, 1.0) if t == 0 else (X_AB[2], X_AB[5], X_AB[8])
        along = dot(e, n)
        if abs(along) < _AROUND_AXIS:
            continue
        pole = e if along > 0.0 else negated(e)
        _, _, p_A, p_B = support_of_pair(a, b, hulls, X_AB, pole)
        w = subtract(p_A, p_B)
        pole_value = dot(pole, w)
        if pole_value >= best_value:
            continue
        best, best_value = pole, pole_value
        # h rises by |S d| + r . d from the pole along a tangent d, with r all but the rim: it falls if |S^-1 r| > 1.
        ex = (1.0, 0.0, 0.0) if t == 0 else (X_AB[0], X_AB[3], X_AB[6])
        ey = (0.0, 1.0, 0.0) if t == 0 else (X_AB[1], X_AB[4], X_AB[7])
        axes = semi_axes(g, 1)
        r = sum_scaled(w, ex, -axes[0] if t == 0 else axes[0])
        x, y = dot(r, ex) / axes[0], dot(r, ey) / axes[1]
        if x * x + y * y <= 1.0:
            continue
        d = unit(sum_scaled(scaled(ex, -x / axes[0]), ey, -y / axes[1]))
        tilt = _FIRST_TILT
        for _ in range(_MAX_TILTS):
            side = unit(sum_scaled(pole, d, tilt))
            _, _, p_A, p_B = support_of_pair(a, b, hulls, X_AB, side)
            side_value = dot(side, subtract(p_A, p_B))
            if side_value < best_value:
                best, best_value = side, side_value
                break
            tilt *= 0.3
    return best, best_value


@inlined
def _remember(work: ShapeWork, count: int, piece_a: int, piece_b: int, p_A: Vector3, p_B: Vector3, size: float) -> int:
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


@inlined
def _distance_squared(points: Array, j: int, p: Vector3) -> float:
    x, y, z = points[j, 0] - p[0], points[j, 1] - p[1], points[j, 2] - p[2]
    return x * x + y * y + z * z


@inlined
def _evaluate(
    a: Shape,
    b: Shape,
    work: ShapeWork,
    count: int,
    n: Vector3,
    e1: Vector3,
    e2: Vector3,
    smooth: _Smooth,
) -> None:
    """Writes u_j and s_j of all pieces into rows (u_j . e1, u_j . e2, s_j) of gradient."""
    freeze_a, freeze_b = _turns_fast(a, n), _turns_fast(b, rotated_back(work.X_AB, n))
    for j in range(count):
        w = (
            work.cut_a[j, 0] - work.cut_b[j, 0],
            work.cut_a[j, 1] - work.cut_b[j, 1],
            work.cut_a[j, 2] - work.cut_b[j, 2],
        )
        if _is_smooth(a, work.piece_a[j]):
            w = add(w, smooth.a)
            if freeze_a:
                _freeze(work.piece_a, work.cut_a, j, smooth.a)
        if _is_smooth(b, work.piece_b[j]):
            w = subtract(w, smooth.b)
            if freeze_b:
                _freeze(work.piece_b, work.cut_b, j, smooth.b)
        work.gradient[j, 0], work.gradient[j, 1], work.gradient[j, 2] = dot(w, e1), dot(w, e2), dot(w, n)


@inlined
def _freeze(pieces: Array, cuts: Array, j: int, smooth: Vector3) -> None:
    """Has the point of a piece stand for it."""
    pieces[j] = FROZEN
    for i in range(3):
        cuts[j, i] += smooth[i]


@inlined
def _minimize_model(
    work: ShapeWork, count: int, h11: float, h12: float, h22: float, size: float, damping: float, reach: float
) -> tuple[float, float, float, bool]:
    """Minimizes (3); writes the weights lambda.

    Returns:
        The step d in the tangent plane, by how much the model falls, and whether its curvature is the true one.
    """
    k11, k12, k22, is_true = _convex(h11, h12, h22, size, damping)
    inverse = 1.0 / (k11 * k22 - k12 * k12)
    i11, i12, i22 = k22 * inverse, -k12 * inverse, k11 * inverse
    g = work.gradient
    top = g[0, 2]
    for j in range(1, count):
        top = max(top, g[j, 2])
    if count == 1:
        work.weight[0] = 1.0
        x1, x2 = -(i11 * g[0, 0] + i12 * g[0, 1]), -(i12 * g[0, 0] + i22 * g[0, 1])
        bend = 0.5 * (k11 * x1 * x1 + 2.0 * k12 * x1 * x2 + k22 * x2 * x2)
        return x1, x2, bend, is_true
    first, second, third, lambda_1, lambda_2, x1, x2 = _best_balance(g, count, k11, k12, k22, i11, i12, i22, size)
    _write_weights(work, count, first, second, third, lambda_1, lambda_2)
    if not is_true and second >= 0 and third < 0:
        x1, x2 = _follow_edge(g, count, first, second, x1, x2, h11, h12, h22, size, damping, reach)
    after = -math.inf
    for j in range(count):
        after = max(after, g[j, 2] + g[j, 0] * x1 + g[j, 1] * x2)
    bend = 0.5 * (k11 * x1 * x1 + 2.0 * k12 * x1 * x2 + k22 * x2 * x2)
    return x1, x2, max(top - after - bend, bend), is_true


@inlined
def _convex(h11: float, h12: float, h22: float, size: float, damping: float) -> tuple[float, float, float, bool]:
    """The curvature of the model, and whether it is the true one.

    Eigenvalues that are not positive change sign, or give way to a small one (Nocedal and Wright 2006, Numerical
    Optimization, sec. 3.4); along an edge (two pieces) the true one is used in the end.
    """
    mean, half = 0.5 * (h11 + h22), 0.5 * (h11 - h22)
    root = math.sqrt(half * half + h12 * h12)
    if mean - root >= _FLAT * size:
        return h11, h12, h22, True
    low, high = max(abs(mean - root), damping * size), max(abs(mean + root), damping * size)
    spread = 0.5 * (high - low) / root if root > 0.0 else 0.0
    return 0.5 * (low + high) + spread * half, spread * h12, 0.5 * (low + high) - spread * half, False


@inlined
def _best_balance(
    g: Shape, count: int, k11: float, k12: float, k22: float, i11: float, i12: float, i22: float, size: float
) -> tuple[int, int, int, float, float, float, float]:
    """Up to three pieces that balance at the minimum of the model: -1 for none, the first two weights, and the step.

    The solution has weights that are not negative, and no piece rises above those in it. The search begins with the
    newest piece, which takes part more often than not, and mostly not alone.
    """
    best_excess = math.inf
    first, second, third = 0, -1, -1
    x1, x2, lambda_1, lambda_2 = 0.0, 0.0, 1.0, 0.0
    for i in range(count - 1, -1, -1):
        for before in range(i - 1, -2, -1):
            j = before if before >= 0 else i
            for k in range(j, -1, -1):
                if j == i and k < j:
                    break
                balance, l1, l2, l3, y1, y2 = _balance(g, i, j, k, k11, k12, k22, i11, i12, i22, size)
                if not balance:
                    continue
                at = g[i, 2] + g[i, 0] * y1 + g[i, 1] * y2
                excess = max(0.0, -min(l1, min(l2, l3))) * size
                for m in range(count):
                    excess = max(excess, g[m, 2] + g[m, 0] * y1 + g[m, 1] * y2 - at)
                if excess < best_excess:
                    best_excess = excess
                    first, second, third = i, (j if j < i else -1), (k if k < j else -1)
                    x1, x2, lambda_1, lambda_2 = y1, y2, l1, l2
            if best_excess <= 50.0 * _ROUNDING_OF_SUPPORT * size:
                break
        if best_excess <= 50.0 * _ROUNDING_OF_SUPPORT * size:
            break
    return first, second, third, lambda_1, lambda_2, x1, x2


@inlined
def _balance(
    g: Shape, i: int, j: int, k: int, k11: float, k12: float, k22: float, i11: float, i12: float, i22: float,
    size: float,
) -> tuple[bool, float, float, float, float, float]:  # fmt: skip
    """Whether pieces i, j and k balance, which may be one or two; by what weights, and the step to where they do."""
    if i == j:
        return True, 1.0, 0.0, 0.0, -(i11 * g[i, 0] + i12 * g[i, 1]), -(i12 * g[i, 0] + i22 * g[i, 1])
    if j == k:
        c1, c2 = g[i, 0] - g[j, 0], g[i, 1] - g[j, 1]
        q1, q2 = i11 * c1 + i12 * c2, i12 * c1 + i22 * c2
        curve = c1 * q1 + c2 * q2
        if curve <= 0.0:
            return False, 0.0, 0.0, 0.0, 0.0, 0.0
        l1 = (g[i, 2] - g[j, 2] - (q1 * g[j, 0] + q2 * g[j, 1])) / curve
        l2 = 1.0 - l1
        s1, s2 = l1 * g[i, 0] + l2 * g[j, 0], l1 * g[i, 1] + l2 * g[j, 1]
        return True, l1, l2, 0.0, -(i11 * s1 + i12 * s2), -(i12 * s1 + i22 * s2)
    a1, a2 = g[i, 0] - g[k, 0], g[i, 1] - g[k, 1]
    b1, b2 = g[j, 0] - g[k, 0], g[j, 1] - g[k, 1]
    area = a1 * b2 - a2 * b1
    if abs(area) <= 1e-14 * size * size:
        return False, 0.0, 0.0, 0.0, 0.0, 0.0
    area = 1.0 / area
    v1, v2 = g[k, 2] - g[i, 2], g[k, 2] - g[j, 2]
    y1, y2 = (v1 * b2 - v2 * a2) * area, (a1 * v2 - b1 * v1) * area
    r1 = -(k11 * y1 + k12 * y2) - g[k, 0]
    r2 = -(k12 * y1 + k22 * y2) - g[k, 1]
    l1, l2 = (r1 * b2 - r2 * b1) * area, (a1 * r2 - a2 * r1) * area
    return True, l1, l2, 1.0 - l1 - l2, y1, y2


@inlined
def _write_weights(
    work: ShapeWork, count: int, first: int, second: int, third: int, lambda_1: float, lambda_2: float
) -> None:
    """Writes the weights of up to three pieces, made positive with sum 1, and zeros for all others."""
    for j in range(count):
        work.weight[j] = 0.0
    if second < 0:
        work.weight[first] = 1.0
    elif third < 0:
        lambda_1 = min(max(lambda_1, 0.0), 1.0)
        work.weight[first], work.weight[second] = lambda_1, 1.0 - lambda_1
    else:
        lambda_1, lambda_2 = max(lambda_1, 0.0), max(lambda_2, 0.0)
        lambda_3 = max(1.0 - lambda_1 - lambda_2, 0.0)
        total = lambda_1 + lambda_2 + lambda_3
        work.weight[first], work.weight[second] = lambda_1 / total, lambda_2 / total
        work.weight[third] = lambda_3 / total


@inlined
def _follow_edge(
    g: Shape, count: int, i: int, j: int, x1: float, x2: float, h11: float, h12: float, h22: float, size: float,
    damping: float, reach: float,
) -> tuple[float, float]:  # fmt: skip
    """The step along the edge of two pieces, up to the reach; (x1, x2) if another piece is above the edge there."""
    y1, y2 = _step_along_edge(g, i, j, x1, x2, h11, h12, h22, size, damping)
    share = min(1.0, reach / max(math.sqrt(y1 * y1 + y2 * y2), _SMALLEST_STEP))
    y1, y2 = share * y1, share * y2
    level = g[i, 2] + g[i, 0] * y1 + g[i, 1] * y2 + _ROUNDING_OF_SUPPORT * size
    for m in range(count):
        if m != j and g[m, 2] + g[m, 0] * y1 + g[m, 1] * y2 > level:
            return x1, x2
    return y1, y2


@inlined
def _step_along_edge(
    g: Shape, i: int, j: int, x1: float, x2: float, h11: float, h12: float, h22: float, size: float, damping: float
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
    curve = max(curve, damping * size)
    slope = t1 * (g[i, 0] + h11 * y1 + h12 * y2) + t2 * (g[i, 1] + h12 * y1 + h22 * y2)
    return y1 - slope / curve * t1, y2 - slope / curve * t2


@inlined
def _write_solution(
    a: Shape, b: Shape, work: ShapeWork, count: int, n: Vector3, value: float, smooth_a: Vector3, smooth_b: Vector3
) -> None:
    """Writes the solution; `cut_a` and `cut_b` become the points of all pieces at n."""
    p_A, p_B = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for j in range(count):
        q_A = (work.cut_a[j, 0], work.cut_a[j, 1], work.cut_a[j, 2])
        q_B = (work.cut_b[j, 0], work.cut_b[j, 1], work.cut_b[j, 2])
        if _is_smooth(a, work.piece_a[j]):
            q_A = add(q_A, smooth_a)
        if _is_smooth(b, work.piece_b[j]):
            q_B = add(q_B, smooth_b)
        _put_points(work, j, q_A, q_B)
        p_A, p_B = sum_scaled(p_A, q_A, work.weight[j]), sum_scaled(p_B, q_B, work.weight[j])
    work.bundle = count
    set_solution(work, n, value, p_A, p_B)
