"""Costs with known structure: linear, quadratic, norms and the perspective of a quadratic function."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, finite, scalar, vector
from merganser.framework.optimization.evaluators.evaluators import AffineFunction, Cost, QuadraticFunction

_TINY = float(np.finfo(float).tiny)
_ROUNDING = 1e-5  # of lengths


class LinearCost(Cost):
    """a'x + b."""

    def __init__(self, a: Any, b: float = 0.0) -> None:
        self._description = ""
        self._set(a, b)
        super().__init__(self._a.size)

    def _set(self, a: Any, b: float, size: int | None = None) -> None:
        slope = finite(vector(a, self._where(), "a", size), self._where(), "a")
        self._b, self._a = scalar(b, self._where(), "b"), slope

    def _numbers(self) -> tuple[Any, ...]:
        return self._a, self._b

    def a(self) -> Array:
        """The slopes, shape [n]."""
        return self._a.copy()

    def b(self) -> float:
        """The constant."""
        return self._b

    def UpdateCoefficients(self, new_a: Any, new_b: float = 0.0) -> None:
        """Sets a and b, of the same size."""
        self._set(new_a, new_b, self._num_vars)

    def update_coefficient_entry(self, i: int, val: float) -> None:
        """Sets a[i]."""
        self._a = _with_entry(self._a, i, scalar(val, self._where(), "val"))

    def update_constant_term(self, new_b: float) -> None:
        """Sets b."""
        self._b = scalar(new_b, self._where(), "new_b")

    def _eval(self, x: Objects) -> Any:
        return self._a @ x + self._b

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        return np.array([self._a @ x + self._b]), self._a[np.newaxis]


class QuadraticCost(QuadraticFunction, Cost):
    """0.5 x'Qx + b'x + c, where Q is made symmetric."""

    def __init__(self, Q: Any, b: Any, c: float = 0.0, is_convex: bool | None = None) -> None:
        """Makes the cost.

        Args:
            Q: shape [n, n].
            b: shape [n].
            c: the constant.
            is_convex: whether Q is positive semidefinite; None: computed when it is read. A program that is
                solved as a convex one is checked all the same.
        """
        self._description = ""
        self._set(Q, b, c, is_convex)
        Cost.__init__(self, self._b.size)

    def _set(self, Q: Any, b: Any, c: float, is_convex: bool | None, size: int | None = None) -> None:
        constant = scalar(c, self._where(), "c")
        self._set_form(Q, b, size)
        self._c, self._is_convex = constant, is_convex
        self._is_claimed = bool(is_convex)  # and not yet checked

    def _numbers(self) -> tuple[Any, ...]:
        return self._Q, self._b, self._c

    def c(self) -> float:
        """The constant."""
        return self._c

    def is_convex(self) -> bool:
        """Whether Q is positive semidefinite, or was said to be."""
        if self._is_convex is None:
            self._is_convex = is_positive_semidefinite(self._Q)
        return self._is_convex

    def check_convexity(self) -> None:
        """Checks Q, if it was only claimed to be positive semidefinite.

        Raises:
            ValueError: it is not.
        """
        if self._is_claimed and not is_positive_semidefinite(self._Q):
            least = float(np.linalg.eigvalsh(self._Q)[0])
            raise ValueError(
                f"{self._where()} was added with is_convex=True, but Q has the eigenvalue {least:.6g}. Leave "
                "is_convex out, and the program is solved as a nonlinear one."
            )
        self._is_claimed = False

    def UpdateCoefficients(self, new_Q: Any, new_b: Any, new_c: float = 0.0, is_convex: bool | None = None) -> None:
        """Sets Q, b and c, of the same sizes."""
        self._set(new_Q, new_b, new_c, is_convex, self._num_vars)

    def UpdateHessianEntry(self, i: int, j: int, val: float, is_hessian_psd: bool | None = None) -> None:
        """Sets Q[i, j] and Q[j, i]."""
        self._Q = _with_entry(_with_entry(self._Q, (i, j), scalar(val, self._where(), "val")), (j, i), val)
        self._is_convex = is_hessian_psd
        self._is_claimed = bool(is_hessian_psd)

    def update_linear_coefficient_entry(self, i: int, val: float) -> None:
        """Sets b[i]."""
        self._b = _with_entry(self._b, i, scalar(val, self._where(), "val"))

    def update_constant_term(self, new_c: float) -> None:
        """Sets c."""
        self._c = scalar(new_c, self._where(), "new_c")


def _with_entry(values: Array, place: Any, value: float) -> Array:
    """A copy with another value at a place: arrays of evaluators are replaced, and not changed."""
    result = values.copy()
    result[place] = value
    return result


def is_positive_semidefinite(Q: Array) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue, up to rounding of its largest entry."""
    if Q.size == 0:
        return True
    shifted = Q.copy()
    diagonal = shifted.ravel()[:: Q.shape[0] + 1]  # which has the largest entry, if there is no negative eigenvalue
    diagonal += 1e-10 * max(*diagonal.tolist(), _TINY) * Q.shape[0]
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


class _CostOfAffine(AffineFunction, Cost):
    """A function of z = Ax + b."""

    def __init__(self, A: Any, b: Any) -> None:
        self._description = ""
        self._set(A, b)
        Cost.__init__(self, self._A.shape[1])

    def _slope(self, z: Array) -> Array:
        """d _of / dz, one of those at a kink."""
        raise NotImplementedError

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        z = self._A @ x + self._b
        return np.array([float(self._of(z))]), (self._slope(z) @ self._A)[np.newaxis]


class _CostOfDense(_CostOfAffine):
    """A function of z = Ax + b with a dense A, whose entries may change."""

    def A(self) -> Array:
        """The matrix A of Ax + b, shape [m, n]."""
        return self._A.copy()

    def update_A_entry(self, i: int, j: int, val: float) -> None:
        """Sets A[i, j]."""
        self._A = _with_entry(self._A, (i, j), scalar(val, self._where(), "val"))

    def update_b_entry(self, i: int, val: float) -> None:
        """Sets b[i]."""
        self._b = _with_entry(self._b, i, scalar(val, self._where(), "val"))


class L1NormCost(_CostOfDense):
    """The sum of |Ax + b|."""

    def _of(self, z: Objects) -> Any:
        return np.abs(z).sum()

    def _slope(self, z: Array) -> Array:
        return np.sign(z)


class L2NormCost(_CostOfAffine):
    """The Euclidean length of z = Ax + b.

    Solvers of convex programs take it as it is. Those of nonlinear programs see the derivatives of

        sqrt(|z|^2 + d^2) - d,   d = 1e-5 max |A|                                                      (1)

    as they stall where a length is zero at the optimum, which rounding gives any direction.
    """

    def _stack_key(self) -> Any:
        return L2NormCost, self._A.shape, self._A.tobytes(), self._b.tobytes()

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        values, jacobians = self._stacked(x[np.newaxis])
        return values[0], jacobians[0]

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        z, length, d = self._lengths(x)
        return length - d, (z / length @ self._A)[:, np.newaxis]

    def _lengths(self, x: Array) -> tuple[Array, Array, float]:
        """z, and the root and d of (1)."""
        z, d = x @ self._A.T + self._b, _ROUNDING * max(float(np.abs(self._A).max(initial=0.0)), 1e-300)
        return z, np.sqrt((z * z).sum(axis=1, keepdims=True) + d * d), d

    def _has_curvature(self) -> bool:
        return True

    def _curvature(self, x: Array, weights: Array) -> Array:
        z, length, _ = self._lengths(x)
        u = (z / length @ self._A)[:, np.newaxis]
        return (weights / length)[:, np.newaxis] * (self._A.T @ self._A - u.swapaxes(1, 2) @ u)

    def GetDenseA(self) -> Array:
        """The matrix A of Ax + b, shape [m, n]."""
        return self._A.copy()

    def get_sparse_A(self) -> Any:
        """The matrix A of Ax + b as a scipy.sparse.csc_matrix."""
        from scipy.sparse import csc_matrix

        return csc_matrix(self._A)

    def _of(self, z: Objects) -> Any:
        return np.sqrt(z @ z)


class LInfNormCost(_CostOfDense):
    """The greatest of |Ax + b|."""

    def _of(self, z: Objects) -> Any:
        result = abs(z[0])
        for each in z[1:]:
            result = np.maximum(result, abs(each)) if z.dtype != object else _maximum(result, abs(each))
        return result

    def _slope(self, z: Array) -> Array:
        slope = np.zeros_like(z)
        slope[np.abs(z).argmax()] = np.sign(z[np.abs(z).argmax()])
        return slope


def _maximum(a: Any, b: Any) -> Any:
    return a.max(b) if hasattr(a, "max") else b.max(a)


class PerspectiveQuadraticCost(_CostOfDense):
    """(z1^2 + ... + zm^2) / z0 of z = Ax + b, where z0 is to be positive."""

    def _of(self, z: Objects) -> Any:
        return z[1:] @ z[1:] / z[0]

    def _slope(self, z: Array) -> Array:
        return np.concatenate(([-(z[1:] @ z[1:]) / z[0] ** 2], 2.0 * z[1:] / z[0]))
