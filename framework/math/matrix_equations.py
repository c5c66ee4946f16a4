"""Riccati and Lyapunov equations, solved by scipy.

Every refusal here is a RuntimeError, as in pydrake: wrong sizes, a NaN, a matrix that lacks the symmetry or
definiteness that the equation needs, an equation without (unique) solution. scipy.linalg is imported on the
first call, so that importing this package stays quick.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.math._scalars import Array

_SYMMETRY_TOLERANCE = 1e-10  # largest |M[i, j] - M[j, i]| of a matrix that counts as symmetric
_SINGULARITY_TOLERANCE = 1e-10  # eigenvalue sums or products this near to singular count as singular


def ContinuousAlgebraicRiccatiEquation(A: Any, B: Any, Q: Any, R: Any) -> Array:
    """The stabilizing solution S of S A + Aᵀ S - S B R⁻¹ Bᵀ S + Q = 0.

    Args:
        A: shape [n, n].
        B: shape [n, m].
        Q: symmetric, shape [n, n].
        R: symmetric positive definite, shape [m, m].

    Returns:
        S, symmetric, shape [n, n]: the eigenvalues of A - B R⁻¹ Bᵀ S have negative real parts.

    Raises:
        RuntimeError: wrong sizes, not finite, Q not symmetric, R not symmetric positive definite, or no
            stabilizing solution because (A, B) is not stabilizable or (Q, A) not detectable.
    """
    from scipy.linalg import solve_continuous_are

    where = "ContinuousAlgebraicRiccatiEquation"
    A, B, Q, R = _checked_plant(where, A, B, Q, R)
    try:
        S = solve_continuous_are(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(_no_solution(where, str(error))) from error
    poles = np.linalg.eigvals(A - B @ np.linalg.solve(R, B.T @ S))
    if not (poles.real < 0).all():
        raise RuntimeError(_no_solution(where, f"a closed-loop eigenvalue has real part {poles.real.max():.3g}"))
    return S


def DiscreteAlgebraicRiccatiEquation(A: Any, B: Any, Q: Any, R: Any, N: Any = None) -> Array:
    """The stabilizing solution X of Aᵀ X A - X - (Aᵀ X B + N) (Bᵀ X B + R)⁻¹ (Bᵀ X A + Nᵀ) + Q = 0.

    Args:
        A: shape [n, n].
        B: shape [n, m].
        Q: symmetric, shape [n, n]; Q - N R⁻¹ Nᵀ is positive semidefinite.
        R: symmetric positive definite, shape [m, m].
        N: cross term, shape [n, m]; zero when left out.

    Returns:
        X, symmetric, shape [n, n]: the closed loop's eigenvalues are inside the unit circle.

    Raises:
        RuntimeError: wrong sizes, not finite, Q or R lacking the property above, or no stabilizing solution
            because (A, B) is not stabilizable or (Q, A) not detectable.
    """
    from scipy.linalg import solve_discrete_are

    where = "DiscreteAlgebraicRiccatiEquation"
    A, B, Q, R = _checked_plant(where, A, B, Q, R)
    N = np.zeros(B.shape) if N is None else _real_matrix(where, "N", N, B.shape)
    Q2 = Q - N @ np.linalg.solve(R, N.T)
    smallest = np.linalg.eigvalsh((Q2 + Q2.T) / 2)[0]
    if smallest < -_SYMMETRY_TOLERANCE * max(1.0, np.abs(Q2).max()):
        raise RuntimeError(
            f"{where}: Q - N R⁻¹ Nᵀ is not positive semidefinite: its smallest eigenvalue is {smallest:.3g}."
        )
    try:
        X = solve_discrete_are(A, B, Q, R, s=N)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(_no_solution(where, str(error))) from error
    gain = np.linalg.solve(B.T @ X @ B + R, B.T @ X @ A + N.T)
    radius = np.abs(np.linalg.eigvals(A - B @ gain)).max()
    if not radius < 1:
        raise RuntimeError(_no_solution(where, f"a closed-loop eigenvalue has magnitude {radius:.3g}"))
    return X


def RealContinuousLyapunovEquation(A: Any, Q: Any) -> Array:
    """The solution X of Aᵀ X + X A + Q = 0, for A and symmetric Q of shape [n, n].

    Raises:
        RuntimeError: wrong sizes, not finite, Q not symmetric, or no unique solution because two eigenvalues
            of A (perhaps one twice) have λᵢ + conj(λⱼ) = 0.
    """
    from scipy.linalg import solve_continuous_lyapunov

    where = "RealContinuousLyapunovEquation"
    A = _real_matrix(where, "A", A)
    Q = _symmetric_matrix(where, "Q", Q, A.shape)
    eigenvalues = np.linalg.eigvals(A)
    if (np.abs(eigenvalues[:, np.newaxis] + eigenvalues.conj()) <= _SINGULARITY_TOLERANCE).any():
        raise RuntimeError(
            f"{where}: the solution is not unique: two eigenvalues of A have λᵢ + conj(λⱼ) = 0 among {eigenvalues}."
        )
    return solve_continuous_lyapunov(A.T, -Q)


def RealDiscreteLyapunovEquation(A: Any, Q: Any) -> Array:
    """The solution X of Aᵀ X A - X + Q = 0, for A and symmetric Q of shape [n, n].

    Raises:
        RuntimeError: wrong sizes, not finite, Q not symmetric, or no unique solution because two eigenvalues
            of A (perhaps one twice) have λᵢ λⱼ = 1.
    """
    from scipy.linalg import solve_discrete_lyapunov

    where = "RealDiscreteLyapunovEquation"
    A = _real_matrix(where, "A", A)
    Q = _symmetric_matrix(where, "Q", Q, A.shape)
    eigenvalues = np.linalg.eigvals(A)
    if (np.abs(eigenvalues[:, np.newaxis] * eigenvalues - 1) <= _SINGULARITY_TOLERANCE).any():
        raise RuntimeError(
            f"{where}: the solution is not unique: two eigenvalues of A have λᵢ λⱼ = 1 among {eigenvalues}."
        )
    return solve_discrete_lyapunov(A.T, Q)


def _checked_plant(where: str, A: Any, B: Any, Q: Any, R: Any) -> tuple[Array, Array, Array, Array]:
    A = _real_matrix(where, "A", A)
    B = np.asarray(B)
    B = _real_matrix(where, "B", B, (A.shape[0], B.shape[1] if B.ndim == 2 else 1))
    Q = _symmetric_matrix(where, "Q", Q, A.shape)
    R = _symmetric_matrix(where, "R", R, (B.shape[1], B.shape[1]))
    smallest = np.linalg.eigvalsh(R).min(initial=np.inf)
    if smallest <= 0:
        raise RuntimeError(f"{where}: R is not positive definite: its smallest eigenvalue is {smallest:.3g}.")
    return A, B, Q, R


def _real_matrix(where: str, name: str, value: Any, shape: tuple[int, ...] | None = None) -> Array:
    """`value` as a float matrix of the expected shape; square and not empty when none is given.

    A vector is taken as a column, so 1 x 1 matrices may be given as vectors of length 1.
    """
    try:
        M = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{where}: {name}: expected a matrix of real numbers, got {value!r}.") from error
    if M.ndim == 1:
        M = M[:, np.newaxis]
    if shape is None and (M.ndim != 2 or M.shape[0] != M.shape[1] or M.size == 0):
        raise RuntimeError(f"{where}: {name}: expected a square matrix, got shape {M.shape}.")
    if shape is not None and M.shape != shape:
        raise RuntimeError(f"{where}: {name}: expected shape {shape}, got {M.shape}.")
    if not np.isfinite(M).all():
        raise RuntimeError(f"{where}: {name}: expected finite numbers, got\n{M}")
    return M


def _symmetric_matrix(where: str, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    M = _real_matrix(where, name, value, shape)
    asymmetry = np.abs(M - M.T).max(initial=0.0)
    if asymmetry > _SYMMETRY_TOLERANCE:
        raise RuntimeError(
            f"{where}: {name} is not symmetric: its largest |{name} - {name}ᵀ| is {asymmetry:.3g}, allowed "
            f"is {_SYMMETRY_TOLERANCE:g}."
        )
    return M


def _no_solution(where: str, detail: str) -> str:
    return (
        f"{where}: no stabilizing solution was found ({detail}). Is (A, B) stabilizable, and does Q see "
        f"every unstable or marginally stable mode of A?"
    )
