"""ProximityEngine: the kernels of this package with outputs and workspace that grow as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.native import Given, bind
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.broad_phase import CELLS_A_GEOMETRY, find_candidates
from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential, differentiate_pair
from merganser.geometry.proximity.layout import (
    POINT,
    contact_dtype,
    distance_dtype,
    geometry_dtype,
    work_dtype,
)
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.geometry.proximity.narrow_phase import signed_distances

__all__ = ["ProximityEngine", "manifolds_job"]

Array = NDArray[Any]
_POSES, _PAIRS = np.zeros((1, 4, 4)), np.zeros((1, 2), np.int64)  # of the types that kernels take


class ProximityEngine:
    """Answers for one set of geometries, at poses given with each question.

    What the functions return are views into arrays of this object: the next call of the same function overwrites them.
    An engine serves one thread; engines of the same ProximityArrays may be used side by side.

    Args:
        arrays: the geometries.
    """

    def __init__(self, arrays: ProximityArrays) -> None:
        self._arrays = arrays
        n = len(arrays.geometries)
        self._boxes = np.zeros((n, 6))
        self._grid = np.zeros((CELLS_A_GEOMETRY + 2) * n + 2, np.int64)
        self._work = np.zeros(1, work_dtype)
        self._pairs = np.zeros((4 * n + 16, 2), np.int64)
        self._results = np.zeros(0, distance_dtype)
        self._contacts = np.zeros(4 * n + 16, contact_dtype)
        self._bound: dict[Any, Any] = {}  # kernels with the arrays of this object

    def _bind(self, kernel: Any, *arguments: Any) -> Any:
        """A kernel with these arguments, bound anew where an array has been replaced by a larger one."""
        room, bound = self._bound.get(kernel, (None, None))
        if room is not arguments[-1]:
            bound = bind(kernel, *arguments)
            self._bound[kernel] = arguments[-1], bound
        return bound

    @property
    def arrays(self) -> ProximityArrays:
        """The geometries."""
        return self._arrays

    def find_candidates(self, X_WG: Array, margin: float = 0.0, *, is_sorted: bool = True) -> NDArray[np.int64]:
        """Returns the pairs that may be up to `margin` [m] apart, or overlap.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            margin: not negative, finite.
            is_sorted: whether the pairs are to be sorted.

        Returns:
            Rows (a, b) of the geometries, a < b; shape [num_pairs, 2].
        """
        arrays, X_WG = self._arrays, np.ascontiguousarray(X_WG, np.float64)
        while True:
            run = self._bind(
                find_candidates, arrays.geometries, arrays.frames, arrays.filtered, Given(_POSES), Given(0.0),
                self._boxes, self._grid, self._pairs,
            )  # fmt: skip
            count = run(X_WG, margin)
            if count <= len(self._pairs):
                break
            self._pairs = np.zeros((2 * count, 2), np.int64)
        pairs = self._pairs[:count]
        if is_sorted:
            pairs[:] = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return pairs

    def all_pairs(self) -> NDArray[np.int64]:
        """Returns all pairs that may meet wherever they are, sorted; shape [num_pairs, 2]."""
        frames, filtered = self._arrays.frames, self._arrays.filtered
        never = frames[:, None] == frames
        if len(filtered):
            never |= filtered
        return np.argwhere(np.triu(~never, 1))

    def signed_distances(self, X_WG: Array, pairs: NDArray[np.int64]) -> Array:
        """Returns one record of distance_dtype for each pair.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            pairs: rows of geometries, shape [num_pairs, 2].
        """
        if len(pairs) > len(self._results):
            self._results = np.zeros(2 * len(pairs), distance_dtype)
        arrays = self._arrays
        signed_distances(arrays.geometries, arrays.hulls, X_WG, pairs, len(pairs), self._work, self._results)
        return self._results[: len(pairs)]

    def distances_to_point(self, X_WG: Array, p_WQ: ArrayLike) -> Array:
        """Returns one record for each geometry G and the point Q: A is G, B is Q, so nhat_BA_W is minus the gradient.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            p_WQ: position of Q in W, shape [3].
        """
        geometries = self._arrays.geometries
        n = len(geometries)
        with_point = np.zeros(n + 1, geometry_dtype)
        with_point[:n] = geometries
        with_point[n]["kind"] = POINT
        X_W = np.concatenate([X_WG, np.eye(4)[None]])
        X_W[n, :3, 3] = p_WQ
        pairs = np.array([(i, n) for i in range(n)], np.int64).reshape(-1, 2)
        results = np.zeros(n, distance_dtype)
        signed_distances(with_point, self._arrays.hulls, X_W, pairs, n, self._work, results)
        return results

    def differentiate(
        self, geometries: Array, pair: tuple[int, int], result: Any, A: PoseDifferential, B: PoseDifferential
    ) -> PairDifferential | None:
        """Returns the derivatives of a record of distance_dtype, None where there are none; see derivatives.py.

        Args:
            geometries: geometry_dtype, whose hulls are those of this engine.
            pair: rows of A and B.
            result: the record.
            A: pose of A and its derivatives.
            B: pose of B and its derivatives.
        """
        return differentiate_pair(geometries, self._arrays.hulls, pair, result, A, B, self._work)

    def contact_manifolds(
        self, X_WG: Array, margin: float = 0.0, pairs: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], Array]:
        """Returns the points at which geometries touch, or nearly so.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            margin: points up to so far outside count, with negative depth [m].
            pairs: which to look at, shape [num_pairs, 2]; by default all candidates.

        Returns:
            The pairs, and one record of contact_dtype for each point.
        """
        if pairs is None:
            pairs = self.find_candidates(X_WG, margin)
        arrays, X_WG = self._arrays, np.ascontiguousarray(X_WG, np.float64)
        pairs = np.ascontiguousarray(pairs, np.int64)
        while True:
            given = Given(_POSES), Given(_PAIRS), Given(0), Given(0.0)
            run = self._bind(contact_manifolds, arrays.geometries, arrays.hulls, *given, self._work, self._contacts)
            count = run(X_WG, pairs, len(pairs), margin)
            if count <= len(self._contacts):
                return pairs, self._contacts[:count]
            self._contacts = np.zeros(2 * count, contact_dtype)


def manifolds_job() -> tuple[Any, tuple[Any, ...]]:
    """The kernel of contact manifolds, and arguments of the types that engines call it with; for `compile_ahead`."""
    arrays = ProximityArrays([], [])
    room = np.zeros(1, work_dtype), np.zeros(0, contact_dtype)
    return contact_manifolds, (arrays.geometries, arrays.hulls, _POSES, _PAIRS, 0, 0.0, *room)
