"""The greatest ellipsoid in a polyhedron, by an interior-point method; the greatest image of one in another.

The ellipsoid E u + x, |u| <= 1, is in A x <= b where h <= b - A x for h_i = |E a_i|. The one of the greatest volume has
multipliers y >= 0 with

    E^2 = (A' diag(y) A)^-1,   A'(h y) = 0,   A x + h + z = b,   z >= 0,   y_i z_i = 0                           (1)

in which E and h follow from y. With the rows f_i of A E, dh_i = -sum_j (f_i . f_j)^2 / (2 h_i) dy_j, and Newton's step
for (1), with y_i z_i = s in place of 0, takes one linear system of as many equations as there are rows, or products of
two coordinates.

Source: Y. Zhang, L. Gao, On numerical solution of the maximum volume ellipsoid problem, SIAM J. Optim. 2003.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.half_spaces import chebyshev_center
from merganser.geometry.optimization.sets.set_programs import solved

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
