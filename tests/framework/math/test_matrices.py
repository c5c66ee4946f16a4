"""Matrix tests, factorization, wrapping, and the residuals of matrix equations."""

import subprocess
import sys

import numpy as np
import pytest

from merganser.framework.math import (
    ContinuousAlgebraicRiccatiEquation,
    DecomposePSDmatrixIntoXtransposeTimesX,
    DiscreteAlgebraicRiccatiEquation,
    IsPositiveDefinite,
    IsSymmetric,
    RealContinuousLyapunovEquation,
    RealDiscreteLyapunovEquation,
    VectorToSkewSymmetric,
    wrap_to,
)


def random_plant(n=4, m=2, seed=0):
    rng = np.random.default_rng(seed)
    A, B, C, D = (
        rng.normal(size=(n, n)),
        rng.normal(size=(n, m)),
        rng.normal(size=(n, n)),
        rng.normal(size=(m, m)),
    )
    return A, B, C @ C.T, D @ D.T + np.eye(m)


@pytest.mark.parametrize(
    ("value", "wrapped"), [(7.0, 1.0), (3.0, 0.0), (0.0, 0.0), (-0.5, 2.5), (-1e-17, 0.0), (2.5, 2.5)]
)
def test_wrap_to_lands_in_the_half_open_interval(value, wrapped):
    assert wrap_to(value, 0.0, 3.0) == wrapped


def test_wrap_to_keeps_derivatives_and_refuses_nonsense():
    assert wrap_to(7.0 + 2e-100j, 0.0, 3.0) == 1.0 + 2e-100j
    for arguments in [(1.0, 2.0, 2.0), (np.nan, 0.0, 1.0), (1.0, 0.0, np.inf)]:
        with pytest.raises(ValueError, match="wrap_to"):
            wrap_to(*arguments)
    with pytest.raises(TypeError, match="expected a number"):
        wrap_to("1", 0.0, 1.0)


def test_skew_symmetric_matrix_is_the_cross_product():
    p, q = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(VectorToSkewSymmetric(p) @ q, np.cross(p, q), rtol=0, atol=1e-15)


def test_symmetry_and_definiteness():
    assert IsSymmetric(np.eye(2)) and not IsSymmetric(np.ones((2, 3)))
    assert IsSymmetric([[1, 1e-9], [0, 1]], 1e-8) and not IsSymmetric([[1, 1e-9], [0, 1]])
    assert IsPositiveDefinite(np.eye(2)) and IsPositiveDefinite(np.zeros((2, 2)))
    assert not IsPositiveDefinite(np.zeros((2, 2)), tolerance=1e-9)
    assert not IsPositiveDefinite([[1, 2], [2, 1]]) and not IsPositiveDefinite([[1, 2], [0, 9]])
    with pytest.raises(ValueError, match="finite"):
        IsPositiveDefinite([[np.nan]])


def test_decomposition_has_as_many_rows_as_rank():
    V = np.random.default_rng(0).normal(size=(2, 4))
    X = DecomposePSDmatrixIntoXtransposeTimesX(V.T @ V, 1e-9)
    assert X.shape == (2, 4)
    np.testing.assert_allclose(X.T @ X, V.T @ V, rtol=0, atol=1e-14)
    with pytest.raises(RuntimeError, match="smallest eigenvalue is -1"):
        DecomposePSDmatrixIntoXtransposeTimesX(-np.eye(2), 1e-9)
    assert DecomposePSDmatrixIntoXtransposeTimesX(-np.eye(2), 1e-9, True).shape == (0, 2)


def test_continuous_riccati_solution_satisfies_its_equation_and_stabilizes():
    A, B, Q, R = random_plant()
    S = ContinuousAlgebraicRiccatiEquation(A, B, Q, R)
    K = np.linalg.solve(R, B.T @ S)
    np.testing.assert_allclose(S @ A + A.T @ S - S @ B @ K + Q, 0, atol=1e-10)
    assert np.linalg.eigvals(A - B @ K).real.max() < 0


@pytest.mark.parametrize("N", [None, 0.1 * np.ones((4, 2))])
def test_discrete_riccati_solution_satisfies_its_equation_and_stabilizes(N):
    A, B, Q, R = random_plant()
    Q = Q + np.eye(4)
    X = (
        DiscreteAlgebraicRiccatiEquation(A, B, Q, R)
        if N is None
        else DiscreteAlgebraicRiccatiEquation(A, B, Q, R, N)
    )
    cross = np.zeros((4, 2)) if N is None else N
    K = np.linalg.solve(B.T @ X @ B + R, B.T @ X @ A + cross.T)
    np.testing.assert_allclose(A.T @ X @ A - X - (A.T @ X @ B + cross) @ K + Q, 0, atol=1e-10)
    assert np.abs(np.linalg.eigvals(A - B @ K)).max() < 1


def test_double_integrator_has_the_textbook_riccati_solution():
    S = ContinuousAlgebraicRiccatiEquation([[0, 1], [0, 0]], [[0], [1]], np.eye(2), [[1]])
    np.testing.assert_allclose(S, [[3**0.5, 1], [1, 3**0.5]], rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_lyapunov_solutions_satisfy_their_equations(n):
    rng = np.random.default_rng(n)
    A, C = rng.normal(size=(n, n)) - 4 * np.eye(n), rng.normal(size=(n, n))
    Q = C @ C.T
    X = RealContinuousLyapunovEquation(A, Q)
    np.testing.assert_allclose(A.T @ X + X @ A + Q, 0, atol=1e-11)
    A = A / (2 * np.linalg.norm(A, 2))
    X = RealDiscreteLyapunovEquation(A, Q)
    np.testing.assert_allclose(A.T @ X @ A - X + Q, 0, atol=1e-11)


I2 = np.eye(2)


@pytest.mark.parametrize(
    ("solve", "arguments", "message"),
    [
        (ContinuousAlgebraicRiccatiEquation, (I2, I2, I2, -I2), "R is not positive definite"),
        (ContinuousAlgebraicRiccatiEquation, (I2, np.zeros((2, 1)), I2, [[1]]), "stabilizable"),
        (ContinuousAlgebraicRiccatiEquation, (np.zeros((2, 2)), I2, np.zeros((2, 2)), I2), "no stabilizing"),
        (ContinuousAlgebraicRiccatiEquation, (np.eye(3), I2, I2, I2), "B: expected shape"),
        (ContinuousAlgebraicRiccatiEquation, (I2, I2, [[1, 1], [0, 1]], I2), "Q is not symmetric"),
        (ContinuousAlgebraicRiccatiEquation, (I2 * np.nan, I2, I2, I2), "A: expected finite"),
        (DiscreteAlgebraicRiccatiEquation, (I2, I2, -I2, I2), "not positive semidefinite"),
        (DiscreteAlgebraicRiccatiEquation, (2 * I2, np.zeros((2, 1)), I2, [[1]]), "stabilizable"),
        (DiscreteAlgebraicRiccatiEquation, (I2, I2, I2, I2, np.eye(3)), "N: expected shape"),
        (RealContinuousLyapunovEquation, (np.diag([1.0, -1]), I2), "not unique"),
        (RealContinuousLyapunovEquation, (np.ones((2, 3)), I2), "A: expected a square matrix"),
        (RealContinuousLyapunovEquation, ("ab", I2), "real numbers"),
        (RealDiscreteLyapunovEquation, (I2, I2), "not unique"),
        (RealDiscreteLyapunovEquation, (0.5 * I2, [[1, 1], [0, 1]]), "Q is not symmetric"),
    ],
)
def test_equation_without_unique_stabilizing_solution_is_refused(solve, arguments, message):
    with pytest.raises(RuntimeError, match=message):
        solve(*arguments)


def test_importing_the_package_does_not_import_scipy():
    code = "import sys, merganser.framework.math; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
