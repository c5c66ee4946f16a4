"""Constraints of cones: an affine function of the variables lies in a cone.

Eval returns what pydrake's does: functions whose bounds say that z = Ax + b is in the cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Array, Objects, matrix
from merganser.framework.optimization.evaluators.evaluators import AffineFunction, Constraint


class _AffineCone(AffineFunction, Constraint):
    """z = Ax + b in a cone."""

    _least_rows = 2

    def __init__(self, A: Any, b: Any, num_outputs: int) -> None:
        self._description = ""
        self._set(A, b)
        Constraint.__init__(self, self._A.shape[1], np.zeros(num_outputs), np.full(num_outputs, np.inf))

    def A(self) -> Any:
        """A of z = Ax + b as a scipy.sparse.csc_matrix, shape [m, n]."""
        from scipy.sparse import csc_matrix

        return csc_matrix(self._A)


class LorentzConeConstraint(_AffineCone):
    """z0 >= |(z1, ..., zm)| for z = Ax + b."""

    _least_rows = 1

    class EvalType(Enumeration):
        """Which function Eval returns; all say the same."""

        kConvex = 0
        kConvexSmooth = 1
        kNonconvex = 2

    def __init__(self, A: Any, b: Any, eval_type: EvalType = EvalType.kConvexSmooth) -> None:
        self._eval_type = eval_type
        super().__init__(A, b, 2 if eval_type is self.EvalType.kNonconvex else 1)

    def eval_type(self) -> EvalType:
        """Which function Eval returns."""
        return self._eval_type

    def _of(self, z: Objects) -> Any:
        if self._eval_type is self.EvalType.kNonconvex:
            return [z[0], z[0] * z[0] - z[1:] @ z[1:]]
        return z[0] - np.sqrt(z[1:] @ z[1:])

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        if self._eval_type is self.EvalType.kNonconvex:
            return super()._value_and_jacobian(x)
        z = self._A @ x + self._b
        length = float(np.sqrt(z[1:] @ z[1:]))
        # At the apex the derivative of the length is taken as 0, one of those that it has there.
        slope = z[1:] / length if length else np.zeros(z.size - 1)
        return np.array([z[0] - length]), (self._A[0] - slope @ self._A[1:])[np.newaxis]


class RotatedLorentzConeConstraint(_AffineCone):
    """z0 z1 >= z2^2 + ... + zm^2, z0 >= 0, z1 >= 0 for z = Ax + b."""

    def __init__(self, A: Any, b: Any) -> None:
        super().__init__(A, b, 3)

    def _of(self, z: Objects) -> Any:
        return [z[0], z[1], z[0] * z[1] - z[2:] @ z[2:]]


class ExponentialConeConstraint(_AffineCone):
    """z0 >= z1 exp(z2 / z1), z1 > 0 for z = Ax + b, which has three entries."""

    def __init__(self, A: Any, b: Any) -> None:
        super().__init__(A, b, 2)
        if self._A.shape[0] != 3:
            raise ValueError(f"{self._where()}: expected 3 rows of A and b, got {self._A.shape[0]}.")

    def A(self) -> Array:
        """A of z = Ax + b, shape [3, n]."""
        return self._A.copy()

    def _of(self, z: Objects) -> Any:
        return [z[0] - z[1] * np.exp(z[2] / z[1]), z[1]]

    def _is_at_rim(self, x: Array) -> bool:
        # The closure of the cone has z0 >= 0, z1 = 0, z2 <= 0.
        z = self._A @ x + self._b
        margin = 1e-6 * max(1.0, float(np.abs(z).max()))
        return bool(abs(z[1]) <= margin and z[0] >= -margin and z[2] <= margin)


class _MatrixCone(Constraint):
    """Eigenvalues of a symmetric matrix are at least 0."""

    def __init__(self, num_vars: int, rows: int) -> None:
        self._description = ""
        if rows < 0:
            raise ValueError(f"{self._where()}: expected a number of rows, got {rows}.")
        self._rows = rows
        super().__init__(num_vars, np.zeros(rows), np.full(rows, np.inf))

    def matrix_rows(self) -> int:
        """The number of rows of the matrix."""
        return self._rows

    def _matrix(self, x: Array) -> Array:
        raise NotImplementedError

    def _slopes(self, left: Array, right: Array) -> Array:
        """left' M right differentiated by x."""
        raise NotImplementedError

    def _eval(self, x: Objects) -> Any:
        if x.dtype == object:
            raise RuntimeError(
                f"{self._where()}.Eval: eigenvalues are known of numbers only, not of {type(x[0]).__name__}."
            )
        return np.linalg.eigvalsh(self._matrix(x))

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self._matrix(x))
        return values, np.array([self._slopes(v, v) for v in vectors.T]).reshape(values.size, x.size)


class PositiveSemidefiniteConstraint(_MatrixCone):
    """The symmetric matrix whose columns are the variables is positive semidefinite."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows * rows, rows)

    def _matrix(self, x: Array) -> Array:
        X = x.reshape(self._rows, self._rows, order="F")
        return np.asarray(0.5 * (X + X.T))

    def _slopes(self, left: Array, right: Array) -> Array:
        return np.asarray((right[:, np.newaxis] * left).ravel())


class LinearMatrixInequalityConstraint(_MatrixCone):
    """F[0] + x1 F[1] + ... + xn F[n] is positive semidefinite, where all F are symmetric."""

    def __init__(self, F: Sequence[Any], symmetry_tolerance: float = 1e-10) -> None:
        self._description = ""
        if len(F) == 0:
            raise ValueError(f"{self._where()}: expected at least one matrix F.")
        first = matrix(F[0], self._where(), "F[0]")
        rows = first.shape[0]
        self._F = [matrix(each, self._where(), f"F[{i}]", rows, rows) for i, each in enumerate(F)]
        for i, each in enumerate(self._F):
            if np.abs(each - each.T).max(initial=0.0) > symmetry_tolerance:
                raise ValueError(f"{self._where()}: F[{i}] is not symmetric.")
        super().__init__(len(F) - 1, rows)

    def _numbers(self) -> tuple[Any, ...]:
        return tuple(self._F)

    def F(self) -> list[Array]:
        """The matrices, one more than there are variables."""
        return [each.copy() for each in self._F]

    def _matrix(self, x: Array) -> Array:
        result = self._F[0].copy()
        for value, slope in zip(x, self._F[1:]):
            result += value * slope
        return result

    def _slopes(self, left: Array, right: Array) -> Array:
        return np.array([left @ slope @ right for slope in self._F[1:]])
