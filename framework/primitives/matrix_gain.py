"""Blocks that multiply their input by a constant matrix: MatrixGain and SparseMatrixGain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context import Context
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import OUTPUT, InputOf, NativeCode
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._updatable_code import UpdatableCode
from merganser.framework.primitives.linear_system import LinearSystem

__all__ = ["MatrixGain", "SparseMatrixGain"]

Array = NDArray[Any]


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
        ValueError: D has an element that is not a number.
    """

    def __init__(self, D: Any) -> None:
        super().__init__()
        self._D = _checked_sparse(D)
        num_outputs, num_inputs = self._D.shape
        self._u = self.DeclareVectorInputPort("u", num_inputs)
        port = self.DeclareVectorOutputPort("y", num_outputs, self._calc_output, {self._u.ticket()})
        self._code = UpdatableCode(self._native_code)
        port.cache_entry().use_native(self._code)

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
        self._code.renew()

    def _native_code(self) -> NativeCode:
        D = self._D
        entries = (*D.indptr.tolist(), *D.indices.tolist())
        return NativeCode("sparse_product", (*D.shape, np.array(D.data), InputOf(0), OUTPUT, *entries))

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        u = self._u.EvalBasicVector(context).value()
        output.SetFromVector(_sparse_product_of_objects(self._D, u) if u.dtype.kind == "O" else self._D @ u)


def _checked_sparse(D: Any) -> Any:
    from scipy import sparse  # most programs need no sparse matrices

    if not sparse.issparse(D) and np.ndim(D) != 2:
        raise TypeError(f"SparseMatrixGain: D must be a scipy.sparse matrix, got {type(D).__name__} {D!r}.")
    matrix = sparse.csc_matrix(D, dtype=np.float64, copy=True)
    if np.isnan(matrix.data).any():
        raise ValueError("SparseMatrixGain: an element of D is not a number.")
    return matrix


def _sparse_product_of_objects(D: Any, u: Array) -> Array:
    """D @ u for elements that scipy does not know."""
    product = np.zeros(D.shape[0], dtype=object)
    entries = D.tocoo()
    for row, column, factor in zip(entries.row, entries.col, entries.data):
        product[row] = product[row] + factor * u[column]
    return product
