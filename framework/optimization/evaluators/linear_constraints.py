"""Linear constraints: of two sides, equalities, and bounds of single variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, finite, is_sparse, matrix
from merganser.framework.optimization.evaluators.evaluators import AdjustableConstraint, Constraint, copies_of


class LinearConstraint(AdjustableConstraint):
    """lower <= Ax <= upper."""

    _A: Any  # dense, or a sparse matrix of scipy
    _entries: Array  # of A: all of them, or those that a sparse matrix keeps
    _pattern: Any  # equal as long as entries have the same rows and columns

    def __init__(self, A: Any, lb: Any, ub: Any) -> None:
        """Makes the constraint.

        Args:
            A: shape [m, n], finite; dense, or a sparse matrix of scipy.
            lb, ub: shape [m], -infinity and infinity among them.

        Raises:
            ValueError: sizes do not fit, or there are NaN.
        """
        self._description = ""
        A = self._checked(A)
        self._set_A(A)
        super().__init__(A.shape[1], lb, ub)
        if A.shape[0] != self._lower.size:
            raise ValueError(f"{self._where()}: A has {A.shape[0]} rows, and the bounds {self._lower.size} values.")

    def _set_A(self, A: Any) -> None:
        self._A = A
        self._entries, self._pattern = (A.ravel(), A.shape) if isinstance(A, np.ndarray) else (A.data, object())

    def _checked(self, A: Any) -> Any:
        if not is_sparse(A):
            return matrix(A, self._where(), "A")
        A = A.tocsc(copy=True)
        finite(A.data, self._where(), "A.data")
        return A

    def GetDenseA(self) -> Array:
        """A as an array, shape [m, n]."""
        return np.array(self._A.toarray() if is_sparse(self._A) else self._A)

    def get_sparse_A(self) -> Any:
        """A as a scipy.sparse.csc_matrix."""
        from scipy.sparse import csc_matrix

        return csc_matrix(self._A, copy=True)

    def is_dense_A_constructed(self) -> bool:
        """Whether A is kept dense."""
        return not is_sparse(self._A)

    def UpdateCoefficients(self, new_A: Any, new_lb: Any, new_ub: Any) -> None:
        """Sets A and the bounds; the number of rows may change, that of columns not."""
        fresh = LinearConstraint(new_A, new_lb, new_ub)
        if fresh.num_vars() != self._num_vars:
            raise ValueError(f"{self._where()}: the new A has {fresh.num_vars()} columns, expected {self._num_vars}.")
        self._set_A(fresh._A)
        self._lower, self._upper, self._num_outputs = fresh._lower, fresh._upper, fresh._num_outputs

    def RemoveTinyCoefficient(self, tol: float) -> None:
        """Sets entries of A to 0 whose absolute value is at most tol."""
        A = self.GetDenseA()
        A[np.abs(A) <= tol] = 0.0
        self._set_A(type(self._A)(A) if is_sparse(self._A) else A)

    def _numbers(self) -> tuple[Any, ...]:
        return self._entries, self._lower, self._upper

    def _places_of_entries(self) -> tuple[Any, Any]:
        """Rows and columns of the entries."""
        if is_sparse(self._A):
            return self._A.indices, np.repeat(np.arange(self._num_vars), np.diff(self._A.indptr))
        rows, columns = np.indices(self._A.shape)
        return rows.ravel(), columns.ravel()

    def _eval(self, x: Objects) -> Any:
        return (self.GetDenseA() if x.dtype == object else self._A) @ x

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        return self._A @ x, self.GetDenseA()


def copy_with(constraint: LinearConstraint, A: Array, description: str) -> LinearConstraint:
    """A copy with another matrix of finite numbers, of the same shape, under a name of its own."""
    copied = copies_of(constraint, [description])[0]
    copied._set_A(A)
    return copied


class LinearEqualityConstraint(LinearConstraint):
    """Ax = b."""

    def __init__(self, Aeq: Any = None, beq: Any = None, *, a: Any = None) -> None:
        """Makes the constraint: Aeq of shape [m, n], beq of shape [m]; a number beq for one row `a`."""
        beq = np.atleast_1d(np.asarray(beq, dtype=np.float64))
        super().__init__(Aeq if a is None else a, beq, beq)

    # pydrake's has other arguments than that of its base, too.
    def UpdateCoefficients(self, Aeq: Any, beq: Any) -> None:  # type: ignore[override]
        """Sets A and b; the number of rows may change, that of columns not."""
        super().UpdateCoefficients(Aeq, beq, beq)


class BoundingBoxConstraint(LinearConstraint):
    """lower <= x <= upper."""

    def __init__(self, lb: Any, ub: Any) -> None:
        self._description = ""
        Constraint.__init__(self, np.size(lb), lb, ub)
        self._entries, self._pattern = np.ones(self._num_vars), self._num_vars

    @property
    def _A(self) -> Array:
        return np.eye(self._num_vars)

    def UpdateCoefficients(self, new_A: Any, new_lb: Any, new_ub: Any) -> None:
        """Sets the bounds of x to those of new_lb <= new_A x <= new_ub; the matrix of a box stays the identity.

        Raises:
            ValueError: new_A is not a diagonal matrix without 0 on its diagonal; sizes do not fit, or there are NaN.
        """
        fresh = LinearConstraint(new_A, new_lb, new_ub)
        A = fresh.GetDenseA()
        slopes = np.diag(A)
        if A.shape != (self._num_vars, self._num_vars) or not slopes.all() or (np.diag(slopes) != A).any():
            raise ValueError(
                f"{self._where()}.UpdateCoefficients: expected a diagonal matrix of shape {(self._num_vars,) * 2} "
                f"without 0 on its diagonal, got {A.tolist()}. Add a LinearConstraint for other matrices."
            )
        ends = fresh._lower / slopes, fresh._upper / slopes
        self._lower, self._upper = np.where(slopes > 0.0, ends, ends[::-1])

    def RemoveTinyCoefficient(self, tol: float) -> None:
        """Does nothing: the matrix of a box is the identity."""

    def _places_of_entries(self) -> tuple[Any, Any]:
        return np.arange(self._num_vars), np.arange(self._num_vars)

    def _eval(self, x: Objects) -> Any:
        return x.copy()
