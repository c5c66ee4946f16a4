"""Pairs of ellipsoids, cylinders and boxes, solved by Newton's method, `NUM_LANES` of them side by side.

Compiled code works on all lanes by the same vector instructions, so that as many pairs cost hardly more than one
(lanes.py). A pair that comes alone is in several lanes.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.lanes import (
    NUM_LANES,
    any_of,
    lanes_at,
    set_lanes,
    spread,
    where,
)
from merganser.geometry.proximity.cylinder_pairs import start_of_cylinder, steps_of_cylinder
from merganser.geometry.proximity.cylinders import NEARLY_PARALLEL
from merganser.geometry.proximity.ellipsoid_pairs import ellipsoid_matrix, start_of_ellipsoid, steps_of_ellipsoid
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.proofs import are_curved_enough
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.supports import least_radius
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    negated,
    rotated,
    rotated_back,
    subtract,
    sum_scaled,
    tangents,
)

__all__ = ["choose_pairs", "combination", "goes_by_steps", "polish", "set_lane", "take_solution", "take_steps"]

# Rows of work.lanes: of pairs, X_AB comes first; of solutions, counted from _POLISHED, or from _SOLVED for each
# combination of kinds, what `work` has of them, and what is known.
_SIZES_A, _SIZES_B, _SIZE, _START = 12, 15, 18, 19
_NORMAL, _VALUE, _P_A, _P_B, _IS_LEAST = 0, 3, 4, 7, 10
_POLISHED, _SOLVED, _ROWS = 0, 22, 11
_HORIZON = 64  # how far ahead one looks for pairs of the same kinds
_ASIDE = 0.01  # [rad], of the directions that polishing starts from if they are mirrored
_AROUND = 0.08  # [rad], the same, on tangents of the minimum, if they lie around it
_SAME = 1e-9  # of the size: by how much rounding may have a minimum rise that is polished


@inlined
def goes_by_steps(kind_A: int, kind_B: int) -> bool:
    """Whether both cores are ellipsoids, cylinders or boxes, but not both of them boxes."""
    return bool(BOX <= kind_A <= ELLIPSOID and BOX <= kind_B <= ELLIPSOID and kind_A + kind_B > 2 * BOX)


@inlined
def combination(kind_A: int, kind_B: int) -> int:
    """The number of a combination of such kinds."""
    return 3 * (kind_A - BOX) + kind_B - BOX


@inlined
def choose_pairs(geometries: Array, pairs: Array, k: int, num_pairs: int, work: Array) -> int:
    """Notes pair k and some after it with cores of the same kinds in `work.chosen`; returns how many."""
    kind_A, kind_B = geometries[pairs[k, 0]].kind, geometries[pairs[k, 1]].kind
    work.chosen[0], count = k, 1
    for row in range(k + 1, min(k + _HORIZON, num_pairs)):
        if geometries[pairs[row, 0]].kind == kind_A and geometries[pairs[row, 1]].kind == kind_B:
            work.chosen[count] = row
            count += 1
            if count == NUM_LANES:
                break
    return count


@inlined
def set_lane(a: Array, b: Array, X_AB: Array, lanes: Array, lane: int) -> None:
    """Puts a pair into a lane."""
    for i in range(12):
        lanes[i, lane] = X_AB[i]
    lanes[_SIZES_A, lane], lanes[_SIZES_A + 1, lane], lanes[_SIZES_A + 2, lane] = a.size_0, a.size_1, a.size_2
    lanes[_SIZES_B, lane], lanes[_SIZES_B + 1, lane], lanes[_SIZES_B + 2, lane] = b.size_0, b.size_1, b.size_2
    lanes[_SIZE, lane] = a.bound + b.bound


@device
def polish(a: Array, b: Array, hulls: Hulls, work: Array, is_mirrored: bool) -> None:
    """Takes the minimum in `work` to rounding, or finds a lower one like it.

    Steps start from eight directions around it: a search may take two minima so near to each other for one.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: has a minimum.
        is_mirrored: whether the cores are in nearly the same place. Then minima differ little that are opposite to each
            other or mirrored at the planes of symmetry, so that steps start from there. They start a little aside, lest
            it be a saddle point. Of cylinders with nearly the same axis, minima lie across both.
    """
    lanes = work.lanes
    set_lane(a, b, work.X_AB, lanes, 0)
    for row in range(_SIZE + 1):
        set_lanes(lanes, row, spread(lanes[row, 0]))
    n = (work.normal[0], work.normal[1], work.normal[2])
    t, s = tangents(n)
    for lane in range(NUM_LANES):
        if is_mirrored:
            x, y, z = _flipped(n[0], lane), _flipped(n[1], lane >> 1), _flipped(n[2], lane >> 2)
            _set_start(lanes, lane, (x + _ASIDE, y + 2.0 * _ASIDE, z + 3.0 * _ASIDE))
        else:
            to_t, to_s = _flipped(_AROUND, lane), _flipped(_AROUND, lane >> 1)
            if lane & 4 == 0:  # on one of both tangents, others between them
                to_t, to_s = (to_t, 0.0) if lane & 2 == 0 else (0.0, to_t)
            _set_start(lanes, lane, sum_scaled(sum_scaled(n, t, to_t), s, to_s))
    if is_mirrored and a.kind == CYLINDER and b.kind == CYLINDER:
        _set_start(lanes, 1, (-work.X_AB[5], work.X_AB[2], 0.0))
        _set_start(lanes, 2, (work.X_AB[5], -work.X_AB[2], 0.0))
    take_steps(a, b, hulls, work, True)
    least, best = work.value + _SAME * (a.bound + b.bound), -1
    for lane in range(NUM_LANES):
        if lanes[_POLISHED + _VALUE, lane] < least:  # infinite if nothing was found
            least, best = lanes[_POLISHED + _VALUE, lane], lane
    if best >= 0:
        _take_solution(work, _POLISHED, best)


@inlined
def _flipped(x: float, lane: int) -> float:
    return -x if lane & 1 else x


@inlined
def _set_start(lanes: Array, lane: int, v: Vector3) -> None:
    lanes[_START, lane], lanes[_START + 1, lane], lanes[_START + 2, lane] = v[0], v[1], v[2]


@inlined
def take_solution(work: Array, number: int, lane: int) -> int:
    """Writes the solution of a pair into `work`.

    Args:
        work: pairs have been solved.
        number: of the combination of kinds.
        lane: that of the pair.

    Returns:
        SOLVED; or UNSOLVED: if it is a minimum that is not known to be the least, or if there is none, with an infinite
        value.
    """
    first = _SOLVED + _ROWS * number
    _take_solution(work, first, lane)
    return SOLVED if work.lanes[first + _IS_LEAST, lane] == 1.0 else UNSOLVED


@inlined
def _take_solution(work: Array, first: int, lane: int) -> None:
    n, p_A, p_B = first + _NORMAL, first + _P_A, first + _P_B
    lanes = work.lanes
    set_solution(
        work,
        (lanes[n, lane], lanes[n + 1, lane], lanes[n + 2, lane]),
        lanes[first + _VALUE, lane],
        (lanes[p_A, lane], lanes[p_A + 1, lane], lanes[p_A + 2, lane]),
        (lanes[p_B, lane], lanes[p_B + 1, lane], lanes[p_B + 2, lane]),
    )


@shared(int, False)
def take_steps(a: Array, b: Array, hulls: Hulls, work: Array, is_near: bool) -> int:
    """Solves the pairs in `work.lanes`, all of which have cores like A and B; returns 0.

    Args:
        a: geometry A of one of them.
        b: geometry B.
        hulls: vertices of hulls.
        work: lanes are given.
        is_near: whether a direction near the minimum is given, too. If so, the solution takes the place of the pairs;
            otherwise it stands below them.
    """
    lanes = work.lanes
    first = _POLISHED if is_near else _SOLVED + _ROWS * combination(a.kind, b.kind)
    X_AB = (
        lanes_at(lanes, 0), lanes_at(lanes, 1), lanes_at(lanes, 2), lanes_at(lanes, 3), lanes_at(lanes, 4),
        lanes_at(lanes, 5), lanes_at(lanes, 6), lanes_at(lanes, 7), lanes_at(lanes, 8), lanes_at(lanes, 9),
        lanes_at(lanes, 10), lanes_at(lanes, 11),
    )  # fmt: skip
    sizes_A, sizes_B, size = _vector_at(lanes, _SIZES_A), _vector_at(lanes, _SIZES_B), lanes_at(lanes, _SIZE)
    kind_A, kind_B = a.kind, b.kind
    origin = (X_AB[9], X_AB[10], X_AB[11])
    has_ellipsoid = kind_A == ELLIPSOID or kind_B == ELLIPSOID
    is_core_A = kind_B == ELLIPSOID if has_ellipsoid else kind_B == CYLINDER
    if is_core_A:
        core, sizes, others, c = kind_A, sizes_A, sizes_B, origin
        u, v, w = axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2)
    else:
        core, sizes, others, c = kind_B, sizes_B, sizes_A, negated(rotated_back(X_AB, origin))
        u, v, w = (X_AB[0], X_AB[1], X_AB[2]), (X_AB[3], X_AB[4], X_AB[5]), (X_AB[6], X_AB[7], X_AB[8])
    rolling = 0.0 * size
    start = c
    if is_near:
        start = _vector_at(lanes, _START)
        if not is_core_A:
            start = negated(rotated_back(X_AB, start))
    elif has_ellipsoid:
        start = start_of_ellipsoid(core, sizes, others, u, v, w, c, size)
    else:
        start = start_of_cylinder(core, sizes, others[2], w, c, size)
    if has_ellipsoid:
        is_found, n, p, q = steps_of_ellipsoid(core, sizes, ellipsoid_matrix(others, u, v, w), c, size, start)
        rolling = least_radius(others)
        if core == ELLIPSOID:
            rolling = rolling + least_radius(sizes)
    else:
        is_found, n, p, q = steps_of_cylinder(core, sizes, others[0], others[2], w, c, size, start)
        if core == CYLINDER and not is_near:
            is_found = is_found & (abs(X_AB[8]) <= NEARLY_PARALLEL)
    value = dot(n, subtract(p, q))
    q = sum_scaled(p, n, -value)
    if not is_core_A:
        n = negated(rotated(X_AB, n))
        p, q = add(rotated(X_AB, q), origin), add(rotated(X_AB, p), origin)
    is_least = value < rolling
    if any_of(is_found & ~is_least):
        is_least = is_least | are_curved_enough(kind_A, kind_B, sizes_A, sizes_B, X_AB, size, value, p, q)
    _set_vector(lanes, first + _NORMAL, n)
    set_lanes(lanes, first + _VALUE, where(is_found, value, spread(math.inf)))
    _set_vector(lanes, first + _P_A, p)
    _set_vector(lanes, first + _P_B, q)
    set_lanes(lanes, first + _IS_LEAST, where(is_found & is_least, spread(1.0), spread(0.0)))
    return 0


@inlined
def _vector_at(lanes: Array, row: int) -> Vector3:
    return lanes_at(lanes, row), lanes_at(lanes, row + 1), lanes_at(lanes, row + 2)


@inlined
def _set_vector(lanes: Array, row: int, v: Vector3) -> None:
    set_lanes(lanes, row, v[0])
    set_lanes(lanes, row + 1, v[1])
    set_lanes(lanes, row + 2, v[2])
