"""Blocks that multiply their input by a constant matrix: MatrixGain and SparseMatrixGain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import Changing
from merganser.framework.core.scalars.element_functions import add_products, elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.primitives.linear.linear_system import LinearSystem

__all__ = ["MatrixGain", "SparseMatrixGain"]

Array = NDArray[Any]


@native
def multiplied_sparsely(entries: Array, rows: Array, columns: Array, u: Array, y: Array) -> None:
    """y = D u, with the entries D[rows[k], columns[k]] of D."""
    for i in elements(y):
        y[i] = 0.0
    add_products(entries, rows, columns, u, y)


class MatrixGain(LinearSystem):
    """Multiplies its input by a constant matrix, y0 = D u0: a LinearSystem without state.

    Args:
        D: shape [num_outputs, num_inputs]; a vector counts as a matrix of one column.

    Raises:
        ValueError: D is no matrix, or has an element that is not a number.
    """

    def __init__(self, D: ArrayLike) -> None:
        matrix = np.asarray(D)
        if matrix.ndim not in (1, 2):
            raise ValueError(f"MatrixGain: D must be a matrix, got an array of shape {matrix.shape}.")
        super().__init__(D=matrix.reshape(len(matrix), -1) if matrix.size else matrix)


class SparseMatrixGain(LeafSystem):
    """Multiplies its input by a constant sparse matrix, y = D u.

    Args:
        D: shape [num_outputs, num_inputs], a scipy.sparse matrix; others are converted to one.

    Raises:
        TypeError: D is no matrix.
        ValueError: D has an element that is not a number, or indices beyond its shape.
    """

    def __init__(self, D: Any) -> None:
        super().__init__()
        self._D = _checked_sparse(D)
        num_outputs, num_inputs = self._D.shape
        u = self.DeclareVectorInputPort("u", num_inputs)
        self._entries, self._rows, self._columns = (Changing(values) for values in _entries_of(self._D))
        calc = multiplied_sparsely.given(entries=self._entries, rows=self._rows, columns=self._columns, u=u)
        self.DeclareVectorOutputPort("y", num_outputs, calc)

    def D(self) -> Any:
        """Returns a copy of the matrix, a scipy.sparse.csc_matrix of shape [num_outputs, num_inputs]."""
        return self._D.copy()

    def set_D(self, D: Any) -> None:
        """Replaces the matrix by another of the same shape.

        A context that has computed the output before keeps that value until its input changes.

        Raises:
            TypeError: D is no matrix.
            ValueError: D has another shape, or an element that is not a number.
        """
        matrix = _checked_sparse(D)
        if matrix.shape != self._D.shape:
            raise ValueError(
                f"System '{self.GetSystemPathname()}': D must keep its shape {self._D.shape}; got {matrix.shape}."
            )
        self._D = matrix
        for constant, values in zip((self._entries, self._rows, self._columns), _entries_of(matrix)):
            constant.set(values)


def _checked_sparse(D: Any) -> Any:
    from scipy import sparse  # most programs need no sparse matrices

    if not sparse.issparse(D) and np.ndim(D) != 2:
        raise TypeError(f"SparseMatrixGain: D must be a scipy.sparse matrix, got {type(D).__name__} {D!r}.")
    matrix = sparse.csc_matrix(D, dtype=np.float64, copy=True)
    matrix.check_format()  # compiled code does not look whether indices are in range
    if np.isnan(matrix.data).any():
        raise ValueError("SparseMatrixGain: an element of D is not a number.")
    return matrix


def _entries_of(D: Any) -> tuple[Array, Array, Array]:
    """The entries of a matrix, column by column, their rows and their columns."""
    by_entry = D.tocoo()
    return by_entry.data, by_entry.row, by_entry.col
