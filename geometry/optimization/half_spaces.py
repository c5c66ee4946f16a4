"""Linear programs over A x <= b."""

from __future__ import annotations

__all__ = ["chebyshev_center", "farthest", "implies", "is_bounded", "redundant_rows"]

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.set_programs import extreme, failure, solved

if TYPE_CHECKING:
    from merganser.geometry.optimization.hpolyhedron import HPolyhedron


def is_bounded(A: Array, where: str) -> bool:
    """Whether A x <= b is bounded or empty for every b.

    There is no direction x with A x <= 0 but 0 if and only if (Stiemke, 1915)

        A has rank n, and A'z = 0 for some z >= 1

    Raises:
        RuntimeError: the solver comes to no end.
    """
    m, n = A.shape
    if m <= n or np.linalg.matrix_rank(A) < n:
        return False
    prog = MathematicalProgram()
    z = prog.NewContinuousVariables(m, "z")
    prog.AddBoundingBoxConstraint(1.0, np.inf, z)
    prog.AddLinearEqualityConstraint(A.T, np.zeros(n), z)
    result = solved(prog)
    if result.is_success():
        return True
    if result.get_solution_result() is SolutionResult.kInfeasibleConstraints:
        return False
    raise failure(where, result)


def chebyshev_center(A: Array, b: Array, where: str) -> Array:
    """The center of a greatest ball: max r so that a_i'x + |a_i| r <= b_i, r >= 0; shape [n].

    Source: Boyd and Vandenberghe, Convex Optimization, 2004, section 8.5.1.

    Raises:
        RuntimeError: there is no ball, or none is the greatest.
    """
    n = A.shape[1]
    if not b.size:
        return np.zeros(n)
    prog = MathematicalProgram()
    x, r = prog.NewContinuousVariables(n, "x"), prog.NewContinuousVariables(1, "r")
    rows = np.column_stack((A, np.linalg.norm(A, axis=1)))
    prog.AddLinearConstraint(rows, np.full(b.size, -np.inf), b, np.concatenate((x, r)))
    prog.AddBoundingBoxConstraint(0.0, np.inf, r)
    prog.AddLinearCost(-np.ones(1), r)
    result = solved(prog)
    if not result.is_success():
        raise RuntimeError(
            f"{where}: there is no greatest ball in this polyhedron ({result.get_solution_result().name}); expected "
            "one that is not empty, and has no end in few directions only."
        )
    return np.asarray(result.GetSolution(x))


def implies(A: Array, b: Array, row: Array, limit: float, tol: float, where: str) -> bool:
    """Whether A x <= b implies row'x <= limit + tol: max row'x, which may exceed the limit by 1 + |tol| at most.

    Raises:
        RuntimeError: the solver comes to no end.
    """
    n = row.size
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n, "x")
    rows, limits = np.vstack((A, row)), np.append(b, limit + 1.0 + abs(tol))
    prog.AddLinearConstraint(rows, np.full(limits.size, -np.inf), limits, x)
    prog.AddLinearCost(-row, x)
    result = solved(prog)
    if result.is_success():
        return bool(-result.get_optimal_cost() <= limit + tol)
    if result.get_solution_result() is SolutionResult.kInfeasibleConstraints:
        return True
    raise failure(where, result)


def redundant_rows(A: Array, b: Array, tol: float, where: str) -> set[int]:
    """Rows that those that stay imply, tried one after the other.

    Raises:
        RuntimeError: the solver comes to no end.
    """
    needed = _hit_rows(A, b, tol)
    kept = np.ones(b.size, dtype=bool)
    for i in np.flatnonzero(~needed):
        kept[i] = False
        kept[i] = not implies(A[kept], b[kept], A[i], b[i], tol, where)
    return set(np.flatnonzero(~kept).tolist())


def _hit_rows(A: Array, b: Array, tol: float) -> npt.NDArray[np.bool_]:
    """Rows of which rays from inside show that they are not redundant; most of those, without a program for each.

    A ray from the Chebyshev center meets face i first, at t1, and another one, at t2. Its points up to t2 satisfy all
    other rows, and violate row i by up to (t2 - t1) a_i'd: by more than tol, if this is.
    """
    m, n = A.shape
    found = np.zeros(m, dtype=bool)
    if m < 2 or n == 0:
        return found
    try:
        center = chebyshev_center(A, b, "")
    except RuntimeError:  # it is empty, or nearly a whole space: there are programs for all
        return found
    room = b - A @ center
    if room.min() <= 0.0:
        return found
    count = min(50 * m, 2_000_000 // m)
    directions = np.vstack((A, np.random.RandomState(1).randn(count, n)))
    slopes = directions @ A.T
    with np.errstate(divide="ignore"):
        times = np.where(slopes > 0.0, room / slopes, np.inf)
    rays = np.arange(len(times))
    first = times.argmin(axis=1)
    t1 = times[rays, first].copy()
    times[rays, first] = np.inf
    t2 = times.min(axis=1)
    met = np.isfinite(t1)
    excess = (t2[met] - t1[met]) * slopes[rays[met], first[met]]
    found[first[met][excess > 2.0 * abs(tol) + 1e-9 * (1.0 + np.abs(b[first[met]]))]] = True
    return found


def farthest(polyhedron: HPolyhedron, directions: Array, where: str) -> Array:
    """The greatest d_i'x over a bounded polyhedron for each row d_i of directions, shape [m].

    Raises:
        RuntimeError: the polyhedron is empty, or the solver comes to no end.
    """
    result = np.array([extreme(polyhedron, row, where).value for row in directions])
    if not np.isfinite(result).all():
        raise RuntimeError(f"{where}: expected a polyhedron that is not empty.")
    return result
