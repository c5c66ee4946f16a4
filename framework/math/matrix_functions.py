"""Small matrices: tests, factorizations and parts of them, quadratic forms; and wrapping of periodic numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math._scalars import Array, owned_array, owned_vector
from merganser.framework.math.elementwise import floor


def wrap_to(value: Any, low: float, high: float) -> Any:
    """Shifts a periodic number by a whole number of periods high - low into the interval [low, high).

    Args:
        value: a float or complex number, of which the real part is wrapped, an AutoDiffXd or an Expression.
        low: start of the interval, in it.
        high: end of the interval, not in it.

    Raises:
        TypeError: `value` is not a scalar.
        ValueError: `low` is not below `high`, or anything is not finite. Of scalars that are objects (`value` or the
            interval) this is not checked.
    """
    if any(hasattr(scalar, "floor") for scalar in (value, low, high)):
        return value - (high - low) * floor((value - low) / (high - low))
    if not isinstance(value, (int, float, complex, np.number)):
        raise TypeError(f"wrap_to: value: expected a number, got {type(value).__name__} {value!r}.")
    real = value.real
    if not (math.isfinite(real) and math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"wrap_to: expected finite value and low < high, got {value=}, {low=}, {high=}.")
    period = high - low
    wrapped = value - period * math.floor((real - low) / period)
    # Round-off may leave a number just outside: -1e-17 + high is high.
    return wrapped if low <= wrapped.real < high else wrapped - wrapped.real + low


def VectorToSkewSymmetric(p: Any) -> Array:
    """The matrix [p]x, shape [3, 3], with [p]x q = p × q, of a vector p, shape [3], of any scalar type."""
    x, y, z = owned_vector(p, 3, "VectorToSkewSymmetric: p").tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def IsSymmetric(matrix: Any, precision: float = 0.0) -> bool:
    """Whether `matrix` is square and M[i, j] differs from M[j, i] by no more than `precision`.

    Raises:
        ValueError: a NaN or infinity, or not a matrix.
    """
    M = _finite_matrix(matrix, "IsSymmetric: matrix")
    return M.shape[0] == M.shape[1] and bool((np.abs(M - M.T) <= precision).all())


def IsPositiveDefinite(matrix: Any, tolerance: float = 0.0) -> bool:
    """Whether `matrix` is symmetric and its smallest eigenvalue at least tolerance * max(1, |largest|).

    With `tolerance` zero this is positive semidefiniteness, subject to round-off.

    Raises:
        ValueError: a NaN or infinity, not a matrix, or a negative tolerance.
    """
    M = _finite_matrix(matrix, "IsPositiveDefinite: matrix")
    if not tolerance >= 0:
        raise ValueError(f"IsPositiveDefinite: tolerance: expected a number >= 0, got {tolerance}.")
    if not IsSymmetric(M):
        return False
    if M.size == 0:
        return True
    eigenvalues = np.linalg.eigvalsh(M)
    return bool(eigenvalues[0] >= tolerance * max(1.0, np.abs(eigenvalues).max()))


def DecomposePSDmatrixIntoXtransposeTimesX(Y: Any, zero_tol: float, return_empty_if_not_psd: bool = False) -> Array:
    """A matrix X with Xᵀ X = Y and as many rows as Y has rank.

    X is not unique; this one has the rows sqrt(λ) vᵀ for the eigenvalues λ and eigenvectors v of Y.

    Args:
        Y: symmetric positive semidefinite matrix, shape [n, n]; only its lower triangle is used.
        zero_tol: eigenvalues of this magnitude or less count as zero.
        return_empty_if_not_psd: give an empty X, shape [0, n], instead of an error.

    Raises:
        ValueError: `Y` is not square or not finite, or `zero_tol` is negative.
        RuntimeError: an eigenvalue of `Y` is below -zero_tol.
    """
    Y = _finite_matrix(Y, "DecomposePSDmatrixIntoXtransposeTimesX: Y")
    if Y.shape[0] != Y.shape[1] or not zero_tol >= 0:
        raise ValueError(
            f"DecomposePSDmatrixIntoXtransposeTimesX: expected a square Y and zero_tol >= 0, got shape "
            f"{Y.shape} and {zero_tol}."
        )
    eigenvalues, eigenvectors = np.linalg.eigh(Y, UPLO="L")
    if (eigenvalues < -zero_tol).any():
        if return_empty_if_not_psd:
            return np.empty((0, Y.shape[1]))
        raise RuntimeError(
            f"DecomposePSDmatrixIntoXtransposeTimesX: Y is not positive semidefinite: its smallest "
            f"eigenvalue is {eigenvalues[0]:.3g}, expected at least {-zero_tol:.3g}."
        )
    kept = eigenvalues > zero_tol
    return np.sqrt(eigenvalues[kept])[:, np.newaxis] * eigenvectors[:, kept].T


def _finite_matrix(value: Any, what: str) -> Array:
    M = owned_array(value, what)
    if M.ndim != 2 or M.dtype.kind != "f" or not np.isfinite(M).all():
        raise ValueError(f"{what}: expected a matrix of finite float numbers, got shape {M.shape}:\n{M}")
    return M


# ---------------------------------------------------------------------- quadratic forms, parts of matrices

_TOLERANCE = 1e-8


def DecomposePositiveQuadraticForm(
    Q: npt.ArrayLike, b: npt.ArrayLike, c: float, tol: float = 0.0
) -> tuple[Array, Array]:
    """Matrices R and d with x' Q x + b' x + c = (R x + d)' (R x + d) for all x, with as few rows as possible.

    They are not unique.

    Args:
        Q: shape [n, n].
        b: shape [n].
        c: the constant.
        tol: eigenvalues of [[Q, b/2], [b'/2, c]] of this magnitude or less count as zero.

    Returns:
        R, shape [rank, n], and d, shape [rank, 1].

    Raises:
        ValueError: sizes do not fit together, or `tol` is negative.
        RuntimeError: the form takes negative values.
    """
    matrix, linear = np.asarray(Q, dtype=np.float64), np.asarray(b, dtype=np.float64).reshape(-1)
    n = linear.size
    if matrix.shape != (n, n):
        raise ValueError(
            f"DecomposePositiveQuadraticForm: expected Q of shape ({n}, {n}) for b of {n} elements, got {matrix.shape}."
        )
    form = np.block([[(matrix + matrix.T) / 2, linear[:, None] / 2], [linear[None, :] / 2, np.array([[float(c)]])]])
    factor = DecomposePSDmatrixIntoXtransposeTimesX(form, tol)
    return factor[:, :n], factor[:, n:]


def BalanceQuadraticForms(S: npt.ArrayLike, P: npt.ArrayLike) -> Array:
    """A change of variables x = T y that makes x' S x and x' P x diagonal, T' S T = D and |T' P T| = inv(D).

    With S = L L' and R = inv(L), take the singular values R P R' = U Sigma V'; then T = R' U Sigma^(-1/4) (after
    B. Moore, 1981, "Principal component analysis in linear systems", IEEE Trans. Automatic Control 26, pages 17-32).

    Args:
        S: symmetric and positive definite, shape [n, n].
        P: symmetric and invertible, shape [n, n].

    Returns:
        T, shape [n, n]; columns are determined up to their signs.

    Raises:
        ValueError: shapes differ, S is not positive definite, or P is not symmetric or not invertible.
    """
    S_, P_ = np.asarray(S, dtype=np.float64), np.asarray(P, dtype=np.float64)
    if S_.shape != P_.shape or not IsPositiveDefinite(S_, _TOLERANCE):
        raise ValueError(
            f"BalanceQuadraticForms: S must be symmetric and positive definite, and P of its shape; got shapes "
            f"{S_.shape} and {P_.shape}, S =\n{S_}"
        )
    if not IsSymmetric(P_, _TOLERANCE):
        raise ValueError(f"BalanceQuadraticForms: P must be symmetric; got\n{P_}")
    R = np.linalg.inv(np.linalg.cholesky(S_))
    U, sigma, _ = np.linalg.svd(R @ P_ @ R.T)
    if sigma.size and sigma[-1] < _TOLERANCE * max(1.0, sigma[0]):
        raise ValueError(f"BalanceQuadraticForms: P must be invertible; got\n{P_}")
    return R.T @ U * sigma**-0.25


def ExtractPrincipalSubmatrix(matrix: npt.ArrayLike, indices: Iterable[int]) -> Array:
    """The rows and columns of a matrix with the given numbers, in ascending order.

    Args:
        matrix: shape [m, n]; it need not be square.
        indices: at least one, none twice.

    Returns:
        Shape [number of indices, number of indices].

    Raises:
        ValueError: there are no indices, or `matrix` is not two-dimensional.
        IndexError: there is no such row or column.
    """
    M = np.asarray(matrix)
    if M.ndim != 2:
        raise ValueError(f"ExtractPrincipalSubmatrix: expected a matrix, got an array of shape {M.shape}.")
    chosen = sorted(set(indices))
    if not chosen:
        raise ValueError("ExtractPrincipalSubmatrix: indices must not be empty.")
    if chosen[0] < 0 or chosen[-1] >= min(M.shape):
        raise IndexError(f"ExtractPrincipalSubmatrix: indices {chosen} do not fit a matrix of shape {M.shape}.")
    return M[np.ix_(chosen, chosen)]


def ToLowerTriangularColumnsFromMatrix(matrix: npt.ArrayLike) -> Array:
    """The lower triangle of a square matrix, shape [n, n], column by column, shape [n (n + 1) / 2].

    Raises:
        ValueError: the matrix is not square.
    """
    M = np.asarray(matrix)
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ValueError(
            f"ToLowerTriangularColumnsFromMatrix: expected a square matrix, got an array of shape {M.shape}."
        )
    return M.T[np.triu_indices(len(M))]


def ToSymmetricMatrixFromLowerTriangularColumns(lower_triangular_columns: npt.ArrayLike) -> Array:
    """The symmetric matrix, shape [n, n], with a given lower triangle, column by column, shape [n (n + 1) / 2].

    Raises:
        ValueError: no triangle has this number of elements.
    """
    elements = np.asarray(lower_triangular_columns).reshape(-1)
    n = (math.isqrt(8 * elements.size + 1) - 1) // 2
    if n * (n + 1) // 2 != elements.size:
        raise ValueError(
            f"ToSymmetricMatrixFromLowerTriangularColumns: {elements.size} elements fill no triangle; expected "
            f"{n * (n + 1) // 2} or {(n + 1) * (n + 2) // 2}."
        )
    M = np.empty((n, n), dtype=elements.dtype)
    upper = np.triu_indices(n)
    M[upper] = elements
    M.T[upper] = elements
    return M
