"""The fastest way along a path: reachability analysis of the squared speed.

Along a path q(s) with x = sdot^2 and u = sddot (H. Pham and Q.-C. Pham, 2018, "A new approach to Time-Optimal Path
Parameterization based on Reachability Analysis", IEEE Transactions on Robotics 34(3); numbers in brackets are theirs),

    q' u + q'' x = qddot,     u constant between grid points:   x_(i+1) = x_i + 2 u_i D_i,  D_i = s_(i+1) - s_i   (1)

Limits are rows a_i x + b_i u in [l_i, h_i], which hold at the start of a segment (collocation) or at both of its ends
(interpolation), and x_i in [x_low_i, x_high_i]. With u_i = (x_(i+1) - x_i) / (2 D_i) and y = x_(i+1), each is a row

    l <= c x + d y <= h,     scaled to max(|c|, |d|) = 1 and d >= 0                                              (2)

which is all a segment has. Its controllable set K_i (their algorithm 1, backward pass) are those x from which some y
of K_(i+1) can be reached. It is the shadow of a polygon, found by elimination of y (J. Fourier, T. Motzkin): of all
pairs of a lower bound j and an upper bound k of y,

    d_k l_j - d_j h_k <= (d_k c_j - d_j c_k) x                                                                   (3)

Pairs of rows do not depend on K_(i+1), so they are eliminated for all segments at once; what is left for the pass is
each row with the ends of K_(i+1). The forward pass goes to the greatest y of K_(i+1), segment by segment, which is
optimal (their theorem 1).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

__all__ = ["Passage", "Rows", "find_passage"]

Array = NDArray[np.float64]

_TINY = 1e-12  # coefficients below this part of what they are compared with are none
_TOLERANCE = 1e-9  # relative; bounds that cross by less do so by rounding
_FAR = 1e100  # stands for infinite bounds in products, where it leaves rows that hold anyway
_BLOCK = 20_000  # pairs that are eliminated at a time, to stay within the processor's cache


@dataclasses.dataclass(frozen=True)
class Rows:
    """Limits a x + b u in [lower, upper] at all grid points; infinite where there is none.

    Attributes:
        a, b, lower, upper: shape [num_points, m] each.
        at_both_ends: whether they hold at both ends of each segment, or at its start only.
    """

    a: Array
    b: Array
    lower: Array
    upper: Array
    at_both_ends: bool


@dataclasses.dataclass(frozen=True)
class Passage:
    """What the two passes have found.

    Attributes:
        x: squared speeds at the grid points, shape [num_points]; None if there are none.
        reason: why there are none.
    """

    x: Array | None
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class _Segments:
    """All rows (2), shape [num_segments, m] each."""

    c: Array
    d: Array
    lower: Array
    upper: Array


def find_passage(s: Array, rows: list[Rows], x_low: Array, x_high: Array, x_start: float, x_end: float) -> Passage:
    """Runs the two passes.

    Args:
        s: grid points, ascending, shape [num_points].
        rows: limits of x and u.
        x_low, x_high: limits of x alone, shape [num_points] each; finite.
        x_start, x_end: squared speeds at the first and the last grid point.
    """
    segments = _segments(s, rows)
    boxes, misfits = _eliminated(segments)
    is_constant = (segments.c == 0.0) & (segments.d == 0.0)
    misfits |= (is_constant & ((segments.lower > 0.0) | (segments.upper < 0.0))).any(axis=1)
    if misfits.any():
        return Passage(None, _at("limits contradict each other", s, int(misfits.argmax())))
    x_low, x_high = np.maximum(x_low, np.append(boxes[0], -np.inf)), np.minimum(x_high, np.append(boxes[1], np.inf))
    if not _is_between(x_end, x_low[-1], x_high[-1]):
        return Passage(None, _outside("end", x_end, x_low[-1], x_high[-1]))
    sets = _controllable_sets(segments, x_low, x_high, x_end)
    if isinstance(sets, int):
        return Passage(None, _at("no speed keeps to all limits up to the end", s, sets))
    if not _is_between(x_start, *sets[0]):
        return Passage(None, _outside("start", x_start, *sets[0]))
    return Passage(_fastest(segments, sets, x_start))


def _segments(s: Array, rows: list[Rows]) -> _Segments:
    """All limits as rows (2)."""
    inverse = (0.5 / np.diff(s))[:, np.newaxis]
    parts = [(np.zeros((len(s) - 1, 0)),) * 4]
    for each in rows:
        here, there = slice(None, -1), slice(1, None)
        d = each.b[here] * inverse
        parts.append((each.a[here] - d, d, each.lower[here], each.upper[here]))
        if each.at_both_ends:
            c = -each.b[there] * inverse
            parts.append((c, each.a[there] - c, each.lower[there], each.upper[there]))
    c, d, lower, upper = (np.concatenate(each, axis=1) for each in zip(*parts))
    scale = np.maximum(np.abs(c), np.abs(d))
    scale = np.where(scale > 0.0, scale, 1.0) * np.where(d < 0.0, -1.0, 1.0)
    c, d, lower, upper = c / scale, d / scale, lower / scale, upper / scale
    return _Segments(c, d, np.minimum(lower, upper), np.maximum(lower, upper))


def _eliminated(segments: _Segments) -> tuple[tuple[Array, Array], NDArray[np.bool_]]:
    """Limits of x by all pairs of rows (3), shape [num_segments] each, and which segments have none that fit."""
    n, m = segments.c.shape
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    misfits = np.zeros(n, bool)
    first, second = np.triu_indices(m, 1)
    size = max(1, _BLOCK // max(1, len(first)))
    c, d = segments.c.T, segments.d.T
    lower, upper = np.maximum(segments.lower.T, -_FAR), np.minimum(segments.upper.T, _FAR)
    for start in range(0, n if len(first) else 0, size):
        block = slice(start, start + size)
        columns = [each[:, block][rows] for rows in (first, second) for each in (c, d, lower, upper)]
        low[block], high[block], misfits[block] = _limits_by_pairs(*columns)
    return (low, high), misfits


def _limits_by_pairs(
    c_j: Array, d_j: Array, l_j: Array, h_j: Array, c_k: Array, d_k: Array, l_k: Array, h_k: Array
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(3) for pairs of rows both ways, shape [num_pairs, num_segments] each; limits shape [num_segments]."""
    slope_j, slope_k = d_k * c_j, d_j * c_k
    slope = slope_j - slope_k
    size = np.abs(slope)
    is_parallel = size <= _TINY * (np.abs(slope_j) + np.abs(slope_k))
    j_below_k = d_k * l_j - d_j * h_k  # <= slope x
    k_below_j = d_j * l_k - d_k * h_j  # <= -slope x
    is_rising = slope > 0.0
    size[is_parallel] = np.inf
    low = np.where(is_rising, j_below_k, k_below_j) / size
    high = np.where(is_rising, k_below_j, j_below_k) / -size
    low[is_parallel], high[is_parallel] = -np.inf, np.inf
    pairs, places = np.nonzero(is_parallel)
    misfits = np.zeros(slope.shape[1], bool)
    if len(pairs):
        at = pairs, places
        for number, first, second in ((j_below_k, d_k * l_j, d_j * h_k), (k_below_j, d_j * l_k, d_k * h_j)):
            margin = _TOLERANCE * (np.abs(first[at]) + np.abs(second[at]))
            misfits[places[number[at] > margin]] = True
    return low.max(axis=0), high.min(axis=0), misfits


def _controllable_sets(segments: _Segments, x_low: Array, x_high: Array, x_end: float) -> Array | int:
    """The intervals K_i, shape [num_points, 2]; or the first segment, from the end, where there is none."""
    c, d = segments.c, segments.d
    is_rising, is_falling = c > _TINY, c < -_TINY
    is_flat = ~(is_rising | is_falling)  # rows that limit y alone
    slope = np.where(is_flat, 1.0, c)
    at_lower, at_upper = segments.lower / slope, segments.upper / slope
    low = np.where(is_rising, at_lower, np.where(is_falling, at_upper, -np.inf))
    high = np.where(is_rising, at_upper, np.where(is_falling, at_lower, np.inf))
    rising, falling = np.where(is_rising, d / slope, 0.0), np.where(is_falling, d / slope, 0.0)
    limits_y = is_flat & (d > _TINY)
    divisor = np.where(limits_y, d, 1.0)
    y_low = np.where(limits_y, segments.lower / divisor, -np.inf).max(axis=1, initial=-np.inf)
    y_high = np.where(limits_y, segments.upper / divisor, np.inf).min(axis=1, initial=np.inf)
    sets = np.empty((len(x_low), 2))
    sets[-1] = x_end
    for i in range(len(c) - 1, -1, -1):
        y = _interval(max(sets[i + 1, 0], y_low[i]), min(sets[i + 1, 1], y_high[i]))
        if y is None:
            return i
        # l - d y_high <= c x <= h - d y_low
        lows = low[i] - rising[i] * y[1] - falling[i] * y[0]
        highs = high[i] - rising[i] * y[0] - falling[i] * y[1]
        x = _interval(max(lows.max(initial=-np.inf), x_low[i]), min(highs.min(initial=np.inf), x_high[i]))
        if x is None:
            return i
        sets[i] = x
    return sets


def _fastest(segments: _Segments, sets: Array, x_start: float) -> Array:
    """The greatest x_(i+1) that can be reached, one after the other, shape [num_points]."""
    limits_y = segments.d > _TINY
    divisor = np.where(limits_y, segments.d, 1.0)
    at_0 = np.where(limits_y, segments.upper / divisor, np.inf)
    slope = np.where(limits_y, segments.c / divisor, 0.0)
    x = np.empty(len(sets))
    x[0] = min(max(x_start, sets[0, 0]), sets[0, 1])
    for i in range(len(slope)):
        greatest = (at_0[i] - slope[i] * x[i]).min(initial=np.inf)
        x[i + 1] = max(min(greatest, sets[i + 1, 1]), sets[i + 1, 0])
    return x


def _is_between(x: float, low: float, high: float) -> bool:
    margin = _TOLERANCE * max(1.0, abs(x))
    return bool(low - margin <= x <= high + margin)


def _interval(low: float, high: float) -> tuple[float, float] | None:
    """The interval; None if it is empty by more than rounding."""
    if low <= high:
        return low, high
    if low - high > _TOLERANCE * max(1.0, abs(low)):
        return None
    return 0.5 * (low + high), 0.5 * (low + high)


def _at(what: str, s: Array, segment: int) -> str:
    return f"{what}, at the path parameter {s[segment]:.6g} (grid point {segment} of {len(s)})"


def _outside(which: str, x: float, low: float, high: float) -> str:
    allowed = "no speed" if high < low else f"speeds from {max(low, 0.0) ** 0.5:.6g} to {max(high, 0.0) ** 0.5:.6g}"
    return f"the speed at the {which}, {x**0.5:.6g}, cannot be: limits allow {allowed}"
