"""The greatest sets of a kind in a polyhedron, by semidefinite programs."""

from __future__ import annotations

__all__ = ["inscribed_ellipsoid", "inscribed_transformation"]

from typing import Any

import numpy as np

from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.set_programs import solved


def inscribed_ellipsoid(A: Array, b: Array, where: str) -> tuple[Array, Array]:
    """C, shape [n, n], and d, shape [n], of the greatest ellipsoid C u + d, |u| <= 1, in A x <= b.

        max log det C  so that  |C a_i| <= b_i - a_i'd

    Source: Boyd and Vandenberghe, Convex Optimization, 2004, section 8.4.2. Of a thin polyhedron the solver finds the
    thickness with few digits. The greatest ellipsoid goes along with affine maps, so it is found again in coordinates
    in which the last one is a ball, x = d + C y, until it stays nearly round.

    Raises:
        RuntimeError: there is none.
    """
    C, d = _solved(A, b, where)
    aspect = _aspect(C)
    for _ in range(5):
        if aspect < _ROUND:
            break
        around, shift = _solved(A @ C, b - A @ d, where)
        aspect = _aspect(around)
        d, C = d + C @ shift, _positive(C @ around)
    return C, d


_ROUND = 100.0  # ratio of radii


def _aspect(C: Array) -> float:
    radii = np.linalg.eigvalsh(C)
    return float(radii[-1] / max(radii[0], 1e-300))


def _positive(M: Array) -> Array:
    """The symmetric C whose C u, |u| <= 1, are the M u."""
    U, radii, _ = np.linalg.svd(M)
    return np.asarray((U * radii) @ U.T)


def _solved(A: Array, b: Array, where: str) -> tuple[Array, Array]:
    n = A.shape[1]
    prog = MathematicalProgram()
    C = prog.NewSymmetricContinuousVariables(n, "C")
    d = prog.NewContinuousVariables(n, "d")
    lower = np.tril_indices(n)
    variables = np.concatenate((C[lower], d))
    for row, limit in zip(*_unit_rows(A, b)):
        slopes = np.zeros((1 + n, variables.size))
        slopes[0, -n:] = -row
        for k, (i, j) in enumerate(zip(*lower)):
            slopes[1 + i, k] += row[j]
            if i != j:
                slopes[1 + j, k] += row[i]
        prog.AddLorentzConeConstraint(slopes, np.concatenate(([limit], np.zeros(n))), variables)
    prog.AddMaximizeLogDeterminantCost(C)
    result = _expected(prog, where, "ellipsoid")
    return np.asarray(result.GetSolution(C)), np.asarray(result.GetSolution(d))


def _unit_rows(A: Array, b: Array) -> tuple[Array, Array]:
    lengths = np.linalg.norm(A, axis=1)
    lengths[lengths == 0.0] = 1.0
    return A / lengths[:, np.newaxis], b / lengths


def inscribed_transformation(A: Array, b: Array, outer_A: Array, outer_b: Array, where: str) -> tuple[Array, Array]:
    """T, shape [n, n], and t, shape [n], of the greatest t + T X in Y: of A x <= b in outer_A y <= outer_b.

        max log det T  so that  L A = outer_A T,  L b <= outer_b - outer_A t,  L >= 0

    Source: Sadraddini and Tedrake, Linear encodings for polytope containment problems, 2019, lemma 1.

    Raises:
        RuntimeError: there is none.
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
    result = _expected(prog, where, "transformation")
    return np.asarray(result.GetSolution(T)), np.asarray(result.GetSolution(t))


def _expected(prog: MathematicalProgram, where: str, what: str) -> Any:
    result = solved(prog)
    if not result.is_success():
        raise RuntimeError(
            f"{where}: there is no greatest {what} ({result.get_solution_result().name}); expected polyhedra that are "
            "bounded and have an inside."
        )
    return result
