"""Ellipsoids and random points in polyhedra: the greatest ellipsoid, the greatest image of one, hit and run.

The ellipsoid E u + x, |u| <= 1, is in A x <= b where h <= b - A x for h_i = |E a_i|. The one of the greatest volume has
multipliers y >= 0 with

    E^2 = (A' diag(y) A)^-1,   A'(h y) = 0,   A x + h + z = b,   z >= 0,   y_i z_i = 0                           (1)

in which E and h follow from y. With the rows f_i of A E, dh_i = -sum_j (f_i . f_j)^2 / (2 h_i) dy_j, and Newton's step
for (1), with y_i z_i = s in place of 0, takes one linear system of as many equations as there are rows, or products of
two coordinates.

Source: Y. Zhang, L. Gao, On numerical solution of the maximum volume ellipsoid problem, SIAM J. Optim. 2003.

Each step draws a direction d, finds where the line x + t d through the last point leaves the polyhedron, and takes a
point between, each as probable as another. The points tend to the uniform distribution whatever the first one was
(Lovasz, Hit-and-run mixes fast, 1999).

One step of hit and run for many points. With numpy it takes 20 times as long.

Volumes by sampling: which part of the points of a box around a set is in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.system.random_values import RandomDistribution, draw
from merganser.framework.native import kernel
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.sets.arguments import Array, points_of
from merganser.geometry.optimization.sets.half_spaces import chebyshev_center
from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle
from merganser.geometry.optimization.sets.set_programs import solved

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.geometry.optimization.sets.convex_set import ConvexSet


_MOST_STEPS = 100
_CONVERGED, _GOOD = 1e-12, 1e-8  # what may be left of (1), where distances of faces are 1
_CENTERING, _MARGIN = 0.1, 0.9  # s in parts of the mean of y z; part of the way to the boundary
_LEAST_RADIUS = 1e-9  # of a ball in a polyhedron with an inside, where distances of faces are 1
_ROUND = 100.0  # ratio of radii


def inscribed_ellipsoid(A: Array, b: Array, where: str) -> tuple[Array, Array]:
    """E, symmetric, shape [n, n], and x, shape [n], of the greatest ellipsoid E u + x, |u| <= 1, in A x <= b.

    It goes along with affine maps: it is found in coordinates in which the ellipsoid of y = 1 is a ball, as a thin one
    would lose half of its digits in A' A, and again where it is a ball itself, until it stays nearly round.

    Raises:
        RuntimeError: it does not exist.
    """
    x = chebyshev_center(A, b, where)
    distances = b - A @ x
    if distances.min(initial=1.0) <= _LEAST_RADIUS * np.abs(A).max(initial=1.0):
        raise _missing(where, "ellipsoid", "it has no inside")
    rows = A / distances[:, np.newaxis]
    if np.linalg.matrix_rank(rows) < x.size:
        raise _missing(where, "ellipsoid", "it has no bounds in some direction")
    E = np.linalg.inv(np.linalg.qr(rows, mode="r"))
    for _ in range(6):
        try:
            around, shift = _in_bounds(A @ E / (b - A @ x)[:, np.newaxis], where)
        except np.linalg.LinAlgError as error:
            raise _missing(where, "ellipsoid", str(error)) from error
        x = x + E @ shift
        U, radii, _ = np.linalg.svd(E @ around)
        E = np.asarray((U * radii) @ U.T)
        if np.linalg.cond(around) < _ROUND:
            break
    return E, x


def _in_bounds(A: Array, where: str) -> tuple[Array, Array]:
    """E and x of (1) for b = 1."""
    (m, n), (i, j) = A.shape, np.triu_indices(A.shape[1])
    weights = np.where(i == j, 1.0, np.sqrt(2.0))
    x, y = np.zeros(n), np.ones(m)
    # the greatest multiple of the ellipsoid of y = 1 that fits
    y *= float((A @ np.linalg.inv(A.T @ A) * A).sum(axis=1).max())
    z, last = None, np.inf
    for _ in range(_MOST_STEPS):
        F = np.linalg.solve(np.linalg.cholesky(A.T @ (y[:, np.newaxis] * A)), A.T).T  # F F' = A E^2 A'
        h = np.linalg.norm(F, axis=1)
        z = np.maximum(0.1, 1.0 - h) if z is None else z
        gap = float(y @ z) / m
        of_rows, of_center, of_products = 1.0 - A @ x - h - z, -A.T @ (y * h), _CENTERING * gap - y * z
        left = max(gap, float(np.abs(of_rows).max()), float(np.abs(of_center).max()))
        if left <= _CONVERGED or last <= left <= _GOOD:  # the latter by rounding
            break
        last = left
        # A dx - G dy = e with 2 h G = B B' + diag(D), where B B' has the entries (f_i . f_j)^2
        B, D = weights * F[:, i] * F[:, j], 2.0 * h * z / y
        right = 2.0 * h[:, np.newaxis] * np.column_stack((A, of_rows - of_products / y))
        if weights.size < m:  # (D + B B')^-1 = D^-1 - D^-1 B (1 + B' D^-1 B)^-1 B' D^-1
            scaled, slopes = right / D[:, np.newaxis], B / D[:, np.newaxis]
            both = scaled - slopes @ np.linalg.solve(np.eye(weights.size) + B.T @ slopes, B.T @ scaled)
        else:
            both = np.linalg.solve(B @ B.T + np.diag(D), right)
        # A' T dy = -A'(h y) with T = diag(h) - diag(y / 2 h) B B'
        T_both = h[:, np.newaxis] * both - (y / (2.0 * h))[:, np.newaxis] * (B @ (B.T @ both))
        system = A.T @ T_both
        dx = np.linalg.solve(system[:, :n], of_center + system[:, n])
        dy = both[:, :n] @ dx - both[:, n]
        dz = (of_products - z * dy) / y
        falls = np.concatenate((-dy / y, -dz / z)).max()
        step = min(1.0, max(_MARGIN, 1.0 - gap) / falls) if falls > 0.0 else 1.0
        x, y, z = x + step * dx, y + step * dy, z + step * dz
    if not left <= _GOOD:
        raise _missing(where, "ellipsoid", f"the solver did not converge, with residuals of {left:.1e}")
    sizes, axes = np.linalg.eigh(A.T @ (y[:, np.newaxis] * A))
    E = (axes / np.sqrt(sizes)) @ axes.T
    return E * min(1.0, float(((1.0 - A @ x) / np.linalg.norm(A @ E, axis=1)).min())), x


def _missing(where: str, what: str, why: str) -> RuntimeError:
    return RuntimeError(
        f"{where}: there is no greatest {what} ({why}); expected polyhedra that are bounded and have an inside."
    )


def inscribed_transformation(A: Array, b: Array, outer_A: Array, outer_b: Array, where: str) -> tuple[Array, Array]:
    """T, shape [n, n], and t, shape [n], of the greatest t + T X in Y: of A x <= b in outer_A y <= outer_b.

        max log det T  so that  L A = outer_A T,  L b <= outer_b - outer_A t,  L >= 0

    Source: Sadraddini and Tedrake, Linear encodings for polytope containment problems, 2019, lemma 1.

    Raises:
        RuntimeError: it does not exist.
    """
    n, m, rows = A.shape[1], b.size, outer_b.size
    prog = MathematicalProgram()
    T = prog.NewSymmetricContinuousVariables(n, "T")
    t = prog.NewContinuousVariables(n, "t")
    L = prog.NewContinuousVariables(rows, m, "L")
    prog.AddBoundingBoxConstraint(0.0, np.inf, L)
    for i in range(rows):
        # L_i A - outer_i T = 0, column by column; T is symmetric, so that its columns are its rows
        for j in range(n):
            slopes = np.concatenate((A[:, j], -outer_A[i]))[np.newaxis]
            prog.AddLinearEqualityConstraint(slopes, [0.0], np.concatenate((L[i], T[:, j])))
        slopes = np.concatenate((b, outer_A[i]))[np.newaxis]
        prog.AddLinearConstraint(slopes, [-np.inf], [outer_b[i]], np.concatenate((L[i], t)))
    prog.AddMaximizeLogDeterminantCost(T)
    result = solved(prog)
    if not result.is_success():
        raise _missing(where, "transformation", result.get_solution_result().name)
    return np.asarray(result.GetSolution(T)), np.asarray(result.GetSolution(t))


def sample(
    A: Array, b: Array, x: Array, generator: RandomGenerator, steps: int, subspace: Any, tol: float, where: str
) -> Array:
    """The point after some steps from x in A x <= b, shape [n].

    Raises:
        ValueError: x is not in the polyhedron.
        RuntimeError: the polyhedron has no end in a direction.
    """
    excess = float((A @ x - b).max(initial=-np.inf))
    if excess > max(tol, 1e-8):
        raise ValueError(f"{where}: previous_sample is not in the set: it violates a row of A x <= b by {excess:.6g}.")
    basis = np.eye(x.size) if subspace is None else points_of(subspace, where, "subspace", x.size)
    if not basis.shape[1]:
        return x.copy()
    slopes = A @ basis
    crossed = np.abs(slopes).max(axis=1) > tol  # other faces stay as far away as they are
    A, b = A[crossed], b[crossed]
    for _ in range(steps):
        direction = basis @ draw(RandomDistribution.kGaussian, basis.shape[1], generator)
        low, high = _chord(A @ direction, b - A @ x, where)
        x = x + (low + generator.uniform() * (high - low)) * direction
    return x


def _chord(slopes: Array, room: Array, where: str) -> tuple[float, float]:
    """The t with slopes t <= room, where t = 0 is one of them but for rounding."""
    room = np.maximum(room, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = room / slopes
    low = float(limits[slopes < 0.0].max(initial=-np.inf))
    high = float(limits[slopes > 0.0].min(initial=np.inf))
    if not np.isfinite(high - low):
        raise RuntimeError(f"{where}: expected a bounded polyhedron; this one has no end in a direction.")
    return low, high


def sample_many(A: Array, b: Array, points: Array, rng: np.random.Generator, steps: int) -> Array:
    """Points after some steps each from points in a bounded polyhedron A x <= b, all at once.

    Args:
        A: shape [m, n].
        b: shape [m].
        points: where they begin, shape [n, N]; none is far outside.
        rng: where randomness comes from.
        steps: how many.

    Returns:
        Shape [n, N].
    """
    from merganser.framework.native import Given, bind  # loads the compiler

    rows = np.array(points.T, dtype=float, order="C")
    room = np.maximum(b - rows @ A.T, 0.0)
    columns, work = np.ascontiguousarray(A.T), np.zeros(b.size)
    given = Given(np.zeros((1, 1))), Given(np.zeros(1))
    step = bind(step_all, columns, *given, work, rows, room)
    for _ in range(steps):
        step(rng.standard_normal(rows.T.shape), rng.random(len(rows)))
    return rows.T


class RegionSampler:
    """Random points of a polyhedron that gets smaller.

    Points of the last call that are still in it are where the next ones begin: they are as random in what is left as
    they were before.

    Args:
        seed: of the random numbers.
        steps: of hit and run between two calls.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._steps = steps
        self._points: Array | None = None

    def draw(self, A: Array, b: Array, center: Array, count: int) -> Array:
        """Points of A x <= b, shape [n, count].

        Args:
            A: shape [m, n].
            b: shape [m].
            center: a point of the polyhedron, shape [n], for want of others.
            count: how many.
        """
        known = center[:, np.newaxis] if self._points is None else self._points
        known = known[:, (A @ known <= b[:, np.newaxis]).all(axis=0)]
        if not known.shape[1]:
            known = center[:, np.newaxis]
        places = np.arange(count) if known.shape[1] >= count else self._rng.integers(known.shape[1], size=count)
        self._points = sample_many(A, b, known[:, places], self._rng, self._steps)
        return self._points


@kernel
def step_all(
    # Model:
    A_columns: Array,  # A of A x <= b, transposed, shape [n, m]
    # In:
    directions_in: Array,  # shape [n, N]
    shares_in: Array,  # where on the chord, 0 to 1, shape [N]
    # Work:
    slopes_work: Array,  # shape [m]
    # Out:
    points_io: Array,  # shape [N, n]
    room_io: Array,  # b - A x of each, shape [N, m]
) -> None:
    for i in range(points_io.shape[0]):
        # slopes = A d, the t with t slopes <= room are the chord
        for j in range(slopes_work.shape[0]):
            slopes_work[j] = 0.0
        for k in range(A_columns.shape[0]):
            d = directions_in[k, i]
            for j in range(slopes_work.shape[0]):
                slopes_work[j] += A_columns[k, j] * d
        low, high = -math.inf, math.inf
        for j in range(slopes_work.shape[0]):
            slope = slopes_work[j]
            if slope > 0.0:
                high = min(high, room_io[i, j] / slope)
            elif slope < 0.0:
                low = max(low, room_io[i, j] / slope)
        t = low + shares_in[i] * (high - low)
        for k in range(A_columns.shape[0]):
            points_io[i, k] += t * directions_in[k, i]
        for j in range(slopes_work.shape[0]):
            room_io[i, j] = max(room_io[i, j] - t * slopes_work[j], 0.0)


@dataclass(eq=False)
class SampledVolume:
    """An estimate of a volume.

    Attributes:
        volume: the estimate.
        rel_accuracy: standard deviation of the estimate, relative to it; NaN where nothing had to be estimated.
        num_samples: how many points it took.
    """

    volume: float
    rel_accuracy: float
    num_samples: int


def sampled_volume(
    set: ConvexSet, generator: RandomGenerator, accuracy: float, max_num_samples: int, where: str
) -> SampledVolume:
    """Points of the box until the estimate is accurate enough, or there have been as many as are allowed.

    Of N points of a box of volume V, k are in the set. With p = (k + 1) / (N + 2), which is never 0 or 1,

        volume = V k / N,    rel_accuracy = sqrt((1 - p) / (p N))

    Raises:
        RuntimeError: there is no box: the set is empty or unbounded.
    """
    box = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(set)
    if box is None:
        raise RuntimeError(f"{where}: expected a set that is bounded and not empty; there is no box around this one.")
    whole = box.CalcVolume()
    if whole == 0.0:
        return SampledVolume(0.0, math.nan, 0)
    margin = 1e-8 * max(1e-2, float((box.ub() - box.lb()).max()))  # what a program finds is not exact
    inside, count, error = 0, 0, math.inf
    while count < max_num_samples and error > accuracy:
        inside += set.PointInSet(box.UniformSample(generator), margin)
        count += 1
        p = (inside + 1) / (count + 2)
        error = math.sqrt((1.0 - p) / (p * count))
    return SampledVolume(whole * inside / count, error, count)
