"""Quadratic forms: as squares of linear ones, and two of them in common coordinates; parts of matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from merganser.framework.math._scalars import Array
from merganser.framework.math.matrix_functions import (
    DecomposePSDmatrixIntoXtransposeTimesX,
    IsPositiveDefinite,
    IsSymmetric,
)

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
