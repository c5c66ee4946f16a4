"""Ways through free space, by two trees that grow towards each other; and shorter ones.

Sources: J. Kuffner, S. LaValle, RRT-Connect: An Efficient Approach to Single-Query Path Planning (2000); R. Geraerts,
M. Overmars, Creating High-quality Paths for Motion Planning (2007), section 4, for shortcuts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.optimization.arrays import vector
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.planning.checking.collision_checker import CollisionChecker
from merganser.multibody.planning.limits import checked_limits, positive_number
from merganser.multibody.tree import BodyIndex

Array = NDArray[Any]
_BEYOND_ONE = 1e-6  # by which elements of quaternions may be beyond 1


class PathResult(NamedTuple):
    """The result of a search.

    Attributes:
        path: configurations from start to goal as columns, between which edges are free, shape [nq, n]; None if
            no path was found.
        num_samples: how many were drawn.
        seconds: how long it took [s].
        quaternions: where quaternions begin in configurations.
    """

    path: Array | None
    num_samples: int
    seconds: float
    quaternions: tuple[int, ...] = ()

    def is_success(self) -> bool:
        """Whether there is a path."""
        return self.path is not None

    def trajectory(self) -> PiecewisePolynomial:
        """The path as straight lines, from s = 0 to 1 for each edge; `Toppra` finds times for smooth ones.

        Quaternions change sign where they would go the longer way; between configurations they are shorter than 1.

        Raises:
            RuntimeError: there is no path.
        """
        if self.path is None:
            raise RuntimeError(f"PathResult.trajectory(): no path was found in {self.num_samples} samples.")
        points = self.path.copy()
        for start in self.quaternions:
            rows = points[start : start + 4]
            cosines = (rows[:, 1:] * rows[:, :-1]).sum(axis=0)
            rows[:, 1:] *= np.cumprod(np.where(cosines < 0.0, -1.0, 1.0))
        return PiecewisePolynomial.FirstOrderHold(list(map(float, range(points.shape[1]))), points)


def PlanRrtConnect(
    checker: CollisionChecker,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    step_size: float | None = None,
    max_samples: int = 10_000,
    max_seconds: float = math.inf,
    seed: int = 0,
    progress: Callable[[int], bool] | None = None,
) -> PathResult:
    """Finds a path between two configurations, by trees of edges that are free.

    Args:
        checker: decides what is free.
        start, goal: configurations, shape [nq].
        lower, upper: bounds of samples, shape [nq]; by default the limits of the joints. Quaternions need none: all
            orientations are sampled.
        step_size: the longest edge, in the measure of the checker; by default ten of its steps.
        max_samples: the search ends after this number of samples.
        max_seconds: and after so long [s].
        seed: of the samples; the same one finds the same path.
        progress: is called with the number of samples; the search ends if it returns False.

    Raises:
        ValueError: start or goal is in collision, or out of bounds; a position has no bounds.
    """
    plant, num_q = checker.plant(), checker.plant().num_positions()
    low = plant.GetPositionLowerLimits() if lower is None else lower
    high = plant.GetPositionUpperLimits() if upper is None else upper
    low, high = checked_limits("PlanRrtConnect()", low, high, num_q, ("lower", "upper"))
    low, high, quaternions = low.copy(), high.copy(), tuple(plant._model.quaternions)
    for k in quaternions:
        low[k : k + 4], high[k : k + 4] = -1.0 - _BEYOND_ONE, 1.0 + _BEYOND_ONE
    ends = [vector(q, "PlanRrtConnect()", name, num_q) for q, name in ((start, "start"), (goal, "goal"))]
    _check_ends(checker, ends, low, high)
    longest = 10.0 * checker.edge_step_size() if step_size is None else positive_number(step_size, "step_size")
    trees, rng = [_Tree(checker, q, longest) for q in ends], np.random.default_rng(seed)
    began, count = time.monotonic(), 0
    if checker.CheckEdgeCollisionFree(ends[0], ends[1]):
        return PathResult(np.column_stack(ends), 0, time.monotonic() - began, quaternions)
    while count < max_samples and time.monotonic() - began < max_seconds:
        if progress is not None and progress(count) is False:
            break
        grown, other = trees[count % 2], trees[1 - count % 2]
        count += 1
        new = grown.extend(_sample(rng, low, high, quaternions))
        if new is None:
            continue
        met = other.connect(grown.nodes[new])
        if met is not None:
            halves = grown.way_to(new), other.way_to(met)
            first, second = halves if count % 2 else halves[::-1]
            path = np.column_stack([*first, *second[-2::-1]])
            return PathResult(path, count, time.monotonic() - began, quaternions)
    return PathResult(None, count, time.monotonic() - began, quaternions)


def _sample(rng: np.random.Generator, low: Array, high: Array, quaternions: tuple[int, ...]) -> Array:
    """A configuration within bounds, with all orientations alike: a unit vector of normal numbers."""
    q = rng.uniform(low, high)
    for start in quaternions:
        wxyz = rng.normal(size=4)
        q[start : start + 4] = wxyz / np.linalg.norm(wxyz)
    return q


def ShortcutPath(checker: CollisionChecker, path: ArrayLike, *, num_attempts: int = 200, seed: int = 0) -> Array:
    """Leaves out detours: where two points of a path see each other, what lies between them.

    Args:
        checker: decides what is free.
        path: configurations as columns, with free edges, shape [nq, n].
        num_attempts: pairs of points that are tried.
        seed: of these.

    Returns:
        Configurations with free edges, from the same start to the same goal; no longer than the path.
    """
    points, rng = list(np.asarray(path, dtype=float).T), np.random.default_rng(seed)
    for _ in range(num_attempts):
        if len(points) < 3:
            break
        first, last = sorted(rng.uniform(0.0, len(points) - 1.0, 2).tolist())
        i, j = int(first), int(last)
        if i == j:
            continue
        between = checker.InterpolateBetweenConfigurations
        a, b = between(points[i], points[i + 1], first - i), between(points[j], points[j + 1], last - j)
        if all(checker.CheckEdgeCollisionFree(*edge) for edge in ((a, b), (points[i], a), (b, points[j + 1]))):
            points = [*points[: i + 1], a, b, *points[j + 1 :]]
    return np.column_stack([p for k, p in enumerate(points) if k == 0 or not np.array_equal(p, points[k - 1])])


class _Tree:
    """Configurations, each with the one before it on the way from the root."""

    def __init__(self, checker: CollisionChecker, root: Array, longest: float) -> None:
        self._checker, self._longest = checker, longest
        self.nodes: list[Array] = [root]
        self._parents = [-1]

    def extend(self, target: Array) -> int | None:
        """Adds a node on the way from the nearest one to a target; its number, or None if the way is not free."""
        nearest = self._nearest(target)
        return self._grow(nearest, self._towards(nearest, target))

    def connect(self, target: Array) -> int | None:
        """Adds nodes up to a target; the number of that, or None if the way is not free."""
        node: int | None = self._nearest(target)
        while node is not None:
            if np.array_equal(self.nodes[node], target):
                return node
            node = self._grow(node, self._towards(node, target))
        return None

    def way_to(self, node: int) -> list[Array]:
        """From the root to a node."""
        way = []
        while node >= 0:
            way.append(self.nodes[node])
            node = self._parents[node]
        return way[::-1]

    def _nearest(self, target: Array) -> int:
        distances = [self._checker.ComputeConfigurationDistance(node, target) for node in self.nodes]
        return int(np.argmin(distances))

    def _towards(self, node: int, target: Array) -> Array:
        distance = self._checker.ComputeConfigurationDistance(self.nodes[node], target)
        if distance <= self._longest:
            return target
        return self._checker.InterpolateBetweenConfigurations(self.nodes[node], target, self._longest / distance)

    def _grow(self, parent: int, q: Array) -> int | None:
        if not self._checker.CheckEdgeCollisionFree(self.nodes[parent], q):
            return None
        self.nodes.append(q)
        self._parents.append(parent)
        return len(self.nodes) - 1


def _check_ends(checker: CollisionChecker, ends: list[Array], low: Array, high: Array) -> None:
    plant = checker.plant()
    names = plant.GetPositionNames()
    unbounded = [name for name, a, b in zip(names, low, high) if not (np.isfinite(a) and np.isfinite(b))]
    if unbounded:
        raise ValueError(
            f"PlanRrtConnect(): positions {unbounded} have no bounds to sample between; give lower and upper."
        )
    for q, end in zip(ends, ("start", "goal")):
        outside = [name for name, x, a, b in zip(names, q, low, high) if not a <= x <= b]
        if outside:
            raise ValueError(f"PlanRrtConnect(): the {end} is out of bounds at positions {outside}: {q.tolist()}.")
        if not checker.CheckConfigCollisionFree(q):
            kinds = checker.ClassifyBodyCollisions(q)
            bodies = [plant.get_body(BodyIndex(i)).scoped_name() for i, kind in enumerate(kinds) if kind]
            raise ValueError(f"PlanRrtConnect(): the {end} is in collision: bodies {list(map(str, bodies))}.")
