"""VisibilityGraph: which points see each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework import Parallelism
from merganser.multibody.planning.collision_checker import CollisionChecker

__all__ = ["VisibilityGraph"]


def VisibilityGraph(checker: CollisionChecker, points: ArrayLike, parallelize: Parallelism | bool = True) -> Any:
    """Which of some configurations have a free edge between them.

    Args:
        checker: tells of edges, the same in both directions.
        points: configurations as columns, shape [nq, n].
        parallelize: how many threads to use.

    Returns:
        A symmetric scipy.sparse.csc_matrix of truth values, shape [n, n]; a free point sees itself.

    Raises:
        ValueError: the points have another number of rows than the plant positions.
    """
    from scipy.sparse import csc_matrix

    columns = np.atleast_2d(np.asarray(points, dtype=float))
    num_q = checker.plant().num_positions()
    if columns.shape[0] != num_q:
        raise ValueError(f"VisibilityGraph(): points has shape {columns.shape}, expected ({num_q}, n).")
    is_free = checker.CheckConfigsCollisionFree(columns.T, parallelize)
    sees = np.diag(np.array(is_free, dtype=bool))
    free = np.flatnonzero(is_free).tolist()
    for place, i in enumerate(free):
        others = free[place + 1 :]
        edges = [(columns[:, i], columns[:, j]) for j in others]
        sees[i, others] = sees[others, i] = checker.CheckEdgesCollisionFree(edges, parallelize)
    return csc_matrix(sees)
