"""ProximityEngine: the kernels of this package with outputs and workspace that grow as needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.native import Given, bind
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.broad_phase import CELLS_A_GEOMETRY, FEW, find_candidates
from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential, differentiate_pair
from merganser.geometry.proximity.layout import (
    HEIGHT_FIELD,
    POINT,
    contact_dtype,
    distance_dtype,
    geometry_dtype,
    work_dtype,
)
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.geometry.proximity.narrow_phase import distances_to_point, signed_distances
from merganser.geometry.proximity.terrain.differences import differences_of_pair

Array = NDArray[Any]
_POSES, _PAIRS = np.zeros((1, 4, 4)), np.zeros((1, 2), np.int64)  # of the types that kernels take


class ProximityEngine:
    """Answers for one set of geometries, at poses given with each question.

    Poses are C-contiguous arrays of float64, pairs of int64. What the functions return are views into arrays of this
    object: the next call of the same function overwrites them.
    An engine serves one thread; engines of the same ProximityArrays may be used side by side.

    Args:
        arrays: the geometries.
    """

    def __init__(self, arrays: ProximityArrays) -> None:
        self._arrays = arrays
        n = self._num_geometries = len(arrays.geometries)
        self._boxes = np.zeros((n, 6))
        self._grid = np.zeros((CELLS_A_GEOMETRY + 2) * n + 2, np.int64)
        self._work = np.zeros(1, work_dtype)
        self._pairs = np.zeros((4 * n + 16, 2), np.int64)
        self._results = np.zeros(0, distance_dtype)
        self._contacts = np.zeros(4 * n + 16, contact_dtype)
        self._to_point: tuple[Any, Array, Array] | None = None
        # Kernels with the arrays of this object, made when they are first used and when an array is replaced.
        self._find_candidates: Any = None
        self._signed_distances: Any = None
        self._contact_manifolds: Any = None
        self.follow_manifolds: Any = None  # the kernel of manifold_derivatives.py for these arrays, once it is compiled

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
        while True:
            if self._find_candidates is None:
                arrays = self._arrays
                self._find_candidates = bind(
                    find_candidates, arrays.geometries, arrays.frames, arrays.filtered, Given(_POSES), Given(0.0),
                    self._boxes, self._grid, self._pairs,
                )  # fmt: skip
            count = self._find_candidates(X_WG, margin)
            if count <= len(self._pairs):
                break
            self._pairs, self._find_candidates = np.zeros((2 * count, 2), np.int64), None
        pairs = self._pairs[:count]
        if is_sorted and self._num_geometries > FEW:
            pairs[:] = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return pairs

    def all_pairs(self) -> NDArray[np.int64]:
        """Returns all pairs that may meet wherever they are, sorted; shape [num_pairs, 2]."""
        return self._arrays.all_pairs

    def signed_distances(
        self, X_WG: Array, pairs: NDArray[np.int64], max_distance: float = math.inf, tolerance: float = 0.0
    ) -> Array:
        """Returns one record of distance_dtype for each pair that is near enough.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            pairs: rows of geometries, shape [num_pairs, 2].
            max_distance: pairs farther apart are left out [m].
            tolerance: by how much less that is for pairs without a sphere, where rounding decides [m].
        """
        num_pairs = len(pairs)
        if num_pairs > len(self._results):
            self._results = np.zeros(max(num_pairs, 2 * len(self._results)), distance_dtype)
            arrays = self._arrays
            given = Given(_POSES), Given(_PAIRS), Given(0), Given(0.0), Given(0.0)
            self._signed_distances = bind(
                signed_distances, arrays.geometries, arrays.hulls, *given, self._work, self._results
            )
        count = self._signed_distances(X_WG, pairs, num_pairs, max_distance, tolerance) if num_pairs else 0
        return self._results[:count]

    def distances_to_point(self, X_WG: Array, p_WQ: ArrayLike, threshold: float = math.inf) -> Array:
        """Returns a record for each geometry G near the point Q: A is G, B is Q, so nhat_BA_W is minus the gradient.

        Args:
            X_WG: pose of each geometry, shape [n, 4, 4].
            p_WQ: position of Q in W, shape [3].
            threshold: geometries farther away are left out [m].
        """
        geometries = self._arrays.geometries
        n = len(geometries)
        if self._to_point is None:
            with_point = np.zeros(n + 1, geometry_dtype)
            with_point[:n] = geometries
            with_point[n]["kind"] = POINT
            X_W, results = np.tile(np.eye(4), (n + 1, 1, 1)), np.zeros(n, distance_dtype)
            run = bind(distances_to_point, with_point, self._arrays.hulls, X_W, Given(0.0), self._work, results)
            self._to_point = run, X_W, results
        run, X_W, results = self._to_point
        X_W[:n], X_W[n, :3, 3] = X_WG, p_WQ
        return results[: run(threshold)]

    def differentiate(
        self, geometries: Array, pair: tuple[int, int], result: Any, A: PoseDifferential, B: PoseDifferential
    ) -> PairDifferential | None:
        """Returns the derivatives of a record of distance_dtype, None where they do not exist; see derivatives.py.

        Args:
            geometries: geometry_dtype, whose hulls are those of this engine.
            pair: rows of A and B.
            result: the record.
            A: pose of A and its derivatives.
            B: pose of B and its derivatives.
        """
        if geometries["kind"][list(pair)].max() >= HEIGHT_FIELD:
            two, results = np.ascontiguousarray(geometries[list(pair)]), np.zeros(1, distance_dtype)

            def solve(X_W: Array) -> Any:
                given = X_W, np.array([[0, 1]]), 1, math.inf, 0.0
                signed_distances(two, self._arrays.hulls, *given, self._work, results)
                return results[0]

            return differences_of_pair(solve, A, B, _size_of(two))
        return differentiate_pair(geometries, self._arrays.hulls, pair, result, A, B)

    def size_of(self, rows: Array) -> float:
        """The size of the largest of some geometries, but for terrain [m]."""
        return _size_of(self._arrays.geometries[rows])

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
            if self._contact_manifolds is None:
                given = Given(_POSES), Given(_PAIRS), Given(0), Given(0.0)
                self._contact_manifolds = bind(
                    contact_manifolds, arrays.geometries, arrays.hulls, *given, self._work, self._contacts
                )
            count = self._contact_manifolds(X_WG, pairs, len(pairs), margin)
            if count <= len(self._contacts):
                return pairs, self._contacts[:count]
            self._contacts, self._contact_manifolds = np.zeros(2 * count, contact_dtype), None


def _size_of(geometries: Array) -> float:
    """The size of the largest geometry that is no terrain, or of a cell or triangle if the other one is a point [m]."""
    bodies = geometries[geometries["kind"] < HEIGHT_FIELD]
    size = float((bodies["bound"] + bodies["radius"]).max(initial=0.0))
    return size if size > 0.0 else float(geometries["size_0"].max())
