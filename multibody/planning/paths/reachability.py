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

Limits of a plant that moves along a path q(s), as coefficients of x = sdot^2 and u = sddot.

With v = qdot = q' sdot and vdot = q' u + q'' x, at each grid point,

    joint acceleration    vdot = q' u + q'' x                                                             (1)
    generalized force     M vdot + C(q, v) v - tau_g = M q' u + (M q'' + C(q, q') q') x - tau_g            (2)
    frame velocity        V_WF = J q' sdot                                                                (3)
    frame acceleration    A_WF = J q' u + (J q'' + Jdot(q, q') q') x                                      (4)

H. Pham and Q.-C. Pham (2018), section III; velocities and their limits of the form l <= b sdot <= h, with sdot >= 0,
are intervals of x.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.trajectories import Trajectory
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

Array = NDArray[np.float64]

_TINY = 1e-12  # coefficients below this part of what they are compared with are none
_TOLERANCE = 1e-9  # relative; bounds that cross by less do so by rounding
_FAR = 1e100  # replaces infinite bounds in products, where it leaves rows that are satisfied anyway
_BLOCK = 20_000  # pairs that are eliminated at a time, to stay within the processor's cache


@dataclasses.dataclass(frozen=True)
class Rows:
    """Limits a x + b u in [lower, upper] at all grid points; infinite where unlimited.

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
    """The result of the two passes.

    Attributes:
        x: squared speeds at the grid points, shape [num_points]; None if infeasible.
        reason: why it is infeasible.
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


def find_passage(
    s: Array, rows: list[Rows], x_low: Array, x_high: Array, x_start: float, x_end: float, relaxation: float = 0.0
) -> Passage:
    """Runs the two passes.

    Args:
        s: grid points, ascending, shape [num_points].
        rows: limits of x and u.
        x_low, x_high: limits of x alone, shape [num_points] each; finite.
        x_start, x_end: squared speeds at the first and the last grid point.
        relaxation: by how much the second pass may exceed the limits in rows.
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
    return Passage(_fastest(_segments(s, rows, relaxation) if relaxation else segments, sets, x_start))


def _segments(s: Array, rows: list[Rows], relaxation: float = 0.0) -> _Segments:
    """All limits as rows (2), which may be exceeded by a relaxation."""
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
    lower, upper = lower - relaxation, upper + relaxation
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
    """The intervals K_i, shape [num_points, 2]; or the first segment, from the end, where it is empty."""
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


SPEED_LIMIT = 1e8  # of sdot, where nothing else limits it


class PathOfPlant:
    """A path of the positions of a plant, at grid points.

    Args:
        path: q(s), with two derivatives, shape [num_positions, 1].
        plant: finalized, of floats, with qdot = v.
        gridpoints: s, shape [num_points].

    Attributes:
        q: positions, shape [num_points, num_positions].
        slope: q', same shape.
        curvature: q'', same shape.
    """

    def __init__(self, path: Trajectory, plant: MultibodyPlant, gridpoints: Array) -> None:
        self._plant = plant
        self._context: Context = plant.CreateDefaultContext()
        times = gridpoints.tolist()
        self.q = np.array([path.value(s).ravel() for s in times], float)
        self.slope = np.array([path.EvalDerivative(s, 1).ravel() for s in times], float)
        self.curvature = np.array([path.EvalDerivative(s, 2).ravel() for s in times], float)

    def forces(self) -> tuple[Array, Array, Array]:
        """Coefficients of x and u of (2), and tau_g, shape [num_points, num_positions] each [N m, N]."""
        plant, by_x, by_u, gravity = self._plant, *np.empty((3, *self.q.shape))
        for i in self._each():
            M = plant.CalcMassMatrix(self._context)
            by_u[i] = M @ self.slope[i]
            by_x[i] = M @ self.curvature[i] + plant.CalcBiasTerm(self._context)
            gravity[i] = plant.CalcGravityGeneralizedForces(self._context)
        return by_x, by_u, gravity

    def frame_velocities(self, frame: Frame) -> Array:
        """J q' of (3): V_WF for sdot = 1, shape [num_points, 6] [rad/s, m/s]."""
        return np.array([self._jacobian(frame) @ self.slope[i] for i in self._each()])

    def frame_accelerations(self, frame: Frame) -> tuple[Array, Array]:
        """Coefficients of x and u of (4), shape [num_points, 6] each [rad/s^2, m/s^2]."""
        plant, world = self._plant, self._plant.world_frame()
        by_x, by_u = np.empty((2, len(self.q), 6))
        by_v = JacobianWrtVariable.kV
        for i in self._each():
            J = self._jacobian(frame)
            bias = plant.CalcBiasSpatialAcceleration(self._context, by_v, frame, np.zeros(3), world, world)
            by_u[i] = J @ self.slope[i]
            by_x[i] = J @ self.curvature[i] + bias.get_coeffs()
        return by_x, by_u

    def _each(self) -> Iterator[int]:
        """The numbers of the grid points, with the Context at q and v = q'."""
        for i, q_v in enumerate(np.hstack((self.q, self.slope))):
            self._plant.SetPositionsAndVelocities(self._context, q_v)
            yield i

    def _jacobian(self, frame: Frame) -> Array:
        """J_WF_W, shape [6, num_positions]."""
        plant, world = self._plant, self._plant.world_frame()
        by_v = JacobianWrtVariable.kV
        return plant.CalcJacobianSpatialVelocity(self._context, by_v, frame, np.zeros(3), world, world)


def squared_speeds(b: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The x = sdot^2 for which lower <= b sdot <= upper in all elements, and 0 <= sdot <= SPEED_LIMIT.

    Args:
        b, lower, upper: shape [num_points, m] each.

    Returns:
        The least and the greatest x, shape [num_points] each; the least is above the greatest where no x is feasible.
    """
    moves = b != 0.0
    divisor = np.where(moves, b, 1.0)
    ends = lower / divisor, upper / divisor
    low = np.where(moves, np.minimum(*ends), np.where((lower > 0.0) | (upper < 0.0), np.inf, 0.0)).max(axis=1)
    high = np.where(moves, np.maximum(*ends), np.inf).min(axis=1)
    x_low, x_high = np.clip(low, 0.0, 2.0 * SPEED_LIMIT) ** 2, np.minimum(high, SPEED_LIMIT)
    return x_low, np.where(x_high < 0.0, -1.0, x_high**2)
