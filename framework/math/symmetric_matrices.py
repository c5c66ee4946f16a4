"""Parts of matrices: principal submatrices, and the lower triangles that symmetric matrices are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from merganser.framework.math._scalars import Array


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
