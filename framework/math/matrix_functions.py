"""Tests and factorizations of small matrices, and wrapping of periodic numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
