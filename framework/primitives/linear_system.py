"""Linear and affine dynamics with constant coefficients, in continuous or discrete time.

The default and random state of blocks with linear dynamics.

Blocks that multiply their input by a constant matrix: MatrixGain and SparseMatrixGain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import NativeFunction, copy, native
from merganser.framework.core.declarations.native_wires import Changing
from merganser.framework.core.scalars.element_functions import add_products, elements, product
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import RandomDistribution, RandomGenerator, draw
from merganser.framework.primitives._arguments import checked_matrix, checked_numbers, checked_period, checked_vector

_ROUNDING = 1e-12  # of elements of a covariance, relative to the largest one


class LinearStateMethods:
    """Base of AffineSystem and TrajectoryAffineSystem: one group of state, x, of n variables."""

    _time_period: float
    _default_state: NDArray[Any]  # shape [n]
    _spread: NDArray[Any]  # a root of the covariance S, S = spread spread', shape [n, n]

    def _configure_state(self, num_states: int) -> None:
        self._default_state = np.zeros(num_states)
        self._spread = np.zeros((num_states, num_states))

    def time_period(self) -> float:
        """Returns the time between two updates [s], or 0 for continuous time."""
        return self._time_period

    def configure_default_state(self: Any, x0: ArrayLike) -> None:
        """Sets the state of contexts made from now on, shape [num_states].

        Raises:
            ValueError: wrong size.
        """
        state = checked_vector(x0, "configure_default_state: x0")
        num_states = len(self._default_state)
        if state.size != num_states:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has {num_states} state variables; got {state.size} values."
            )
        self._default_state = state

    def configure_random_state(self: Any, covariance: ArrayLike) -> None:
        """Sets the covariance of the Gaussian distribution around the default state that SetRandomContext() draws from.

        Args:
            covariance: symmetric and positive semi-definite, shape [num_states, num_states].

        Raises:
            ValueError: it is not.
        """
        num_states = len(self._default_state)
        S = np.asarray(covariance, dtype=np.float64)
        what = f"System '{self.GetSystemPathname()}', configure_random_state"
        if S.shape != (num_states, num_states):
            raise ValueError(f"{what}: expected shape ({num_states}, {num_states}), got {S.shape}.")
        S = checked_matrix(S, num_states, num_states, what)
        margin = _ROUNDING * np.abs(S).max(initial=0.0)
        values, vectors = np.linalg.eigh(S) if num_states else (np.zeros(0), S)
        if np.abs(S - S.T).max(initial=0.0) > margin or values.min(initial=0.0) < -margin:
            raise ValueError(f"{what}: the covariance must be symmetric and positive semi-definite, got {S.tolist()}.")
        self._spread = vectors * np.sqrt(np.maximum(values, 0.0))

    def SetDefaultState(self, context: Context, state: Any) -> None:
        self._set_state(state, self._default_state)

    def SetRandomState(self, context: Context, state: Any, generator: RandomGenerator) -> None:
        deviation = self._spread @ draw(RandomDistribution.kGaussian, len(self._default_state), generator)
        self._set_state(state, self._default_state + deviation)

    def _set_state(self, state: Any, x: NDArray[Any]) -> None:
        if len(x) == 0:
            return
        if self._time_period == 0.0:
            state.get_mutable_continuous_state().SetFromVector(x)
        else:
            state.get_mutable_discrete_state().set_value(x)


Array = NDArray[Any]
_EMPTY: tuple[()] = ()


@native
def multiplied(M: Array, v: Array, y: Array) -> None:
    """y = M v."""
    for i in elements(y):
        y[i] = product(M, v, i)


@native
def affine(offset: Array, M: Array, v: Array, y: Array) -> None:
    """y = offset + M v."""
    for i in elements(y):
        y[i] = offset[i] + product(M, v, i)


@native
def affine_in_two(offset: Array, M: Array, v: Array, N: Array, w: Array, y: Array) -> None:
    """y = offset + M v + N w."""
    for i in elements(y):
        y[i] = offset[i] + product(M, v, i) + product(N, w, i)


class AffineSystem(LinearStateMethods, LeafSystem):
    """Affine dynamics with constant coefficients.

    In continuous time (time_period = 0)

        dx/dt = A x + B u + f0,        y = C x + D u + y0,        (1)

    in discrete time (time_period > 0)

        x[n+1] = A x[n] + B u[n] + f0,  y[n] = C x[n] + D u[n] + y0.  (2)

    The input port is u0 and the output port y0; either is missing if its size is zero. There is direct
    feedthrough only if D has an element that is not zero.

    Args:
        A: shape [num_states, num_states].
        B: shape [num_states, num_inputs].
        f0: shape [num_states].
        C: shape [num_outputs, num_states].
        D: shape [num_outputs, num_inputs].
        y0: shape [num_outputs].
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    A coefficient that is left out is zero. Sizes follow from those that are given.

    Raises:
        ValueError: sizes do not fit together, or a coefficient is not a number.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        A: ArrayLike = _EMPTY,
        B: ArrayLike = _EMPTY,
        f0: ArrayLike = _EMPTY,
        C: ArrayLike = _EMPTY,
        D: ArrayLike = _EMPTY,
        y0: ArrayLike = _EMPTY,
        time_period: float = 0.0,
    ) -> None:
        super().__init__()
        num_states = _common_size((A, 0), (A, 1), (B, 0), (f0, 0), (C, 1))
        num_inputs = _common_size((B, 1), (D, 1))
        num_outputs = _common_size((C, 0), (D, 0), (y0, 0))
        name = type(self).__name__
        self._A = Changing(checked_matrix(A, num_states, num_states, f"{name}: A"))
        self._B = Changing(checked_matrix(B, num_states, num_inputs, f"{name}: B"))
        self._f0 = Changing(_offset(f0, num_states, f"{name}: f0"))
        self._C = Changing(checked_matrix(C, num_outputs, num_states, f"{name}: C"))
        self._D = Changing(checked_matrix(D, num_outputs, num_inputs, f"{name}: D"))
        self._y0 = Changing(_offset(y0, num_outputs, f"{name}: y0"))
        self._time_period = checked_period(time_period, f"{name}: time_period")
        self._configure_state(num_states)
        u = self.DeclareVectorInputPort(kUseDefaultName, num_inputs) if num_inputs else None
        x: Any = None
        if num_states and self._time_period == 0.0:
            x = self.DeclareContinuousState(num_states)
            self._sys_declare_derivatives(affine_function(self._f0, (self._A, x), (self._B, u)), of=AffineSystem)  # (1)
        elif num_states:
            x = self.DeclareDiscreteState(num_states)
            update = affine_function(self._f0, (self._A, x), (self._B, u))  # (2)
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_period, 0.0, update)
            self.DeclareForcedDiscreteUpdateEvent(update)
        if num_outputs:
            self._has_C, self._has_D = bool(self._C.value.any()), bool(self._D.value.any())
            terms = (self._C, x if self._has_C else None), (self._D, u if self._has_D else None)
            self.DeclareVectorOutputPort(kUseDefaultName, num_outputs, affine_function(self._y0, *terms))

    def UpdateCoefficients(
        self,
        A: ArrayLike = _EMPTY,
        B: ArrayLike = _EMPTY,
        f0: ArrayLike = _EMPTY,
        C: ArrayLike = _EMPTY,
        D: ArrayLike = _EMPTY,
        y0: ArrayLike = _EMPTY,
    ) -> None:
        """Replaces all coefficients by others of the same sizes; only empty ones may be left out.

        A context that has computed something before keeps that until its state or input changes.

        Raises:
            TypeError: a coefficient does not consist of numbers.
            ValueError: an element is not a number.
            RuntimeError: a coefficient has another size; or C or D was zero, so that the output does not depend on the
                state or the input, and no longer is. Then none is replaced.
        """
        new = {"A": A, "B": B, "f0": f0, "C": C, "D": D, "y0": y0}
        where = f"System '{self.GetSystemPathname()}', UpdateCoefficients"
        for name, value in new.items():
            current = getattr(self, f"_{name}").value
            array = np.array(checked_numbers(value, f"{where}: {name}"), dtype=current.dtype)
            array = array.reshape(current.shape) if array.size == current.size == 0 else array
            if array.ndim != current.ndim and array.size == current.size:
                array = array.reshape(current.shape)
            if array.shape != current.shape:
                raise RuntimeError(f"{where}: {name} must keep its shape {current.shape}, got {array.shape}.")
            new[name] = array
        for name in ("C", "D") if self.num_outputs() else ():
            if np.any(new[name]) and not getattr(self, f"_has_{name}"):
                raise RuntimeError(f"{where}: {name} was zero and must stay so; make a new system for another {name}.")
        for name, value in new.items():
            getattr(self, f"_{name}").set(value)

    # ------------------------------------------------------------------ coefficients

    def A(self) -> Array:
        """Returns a copy of A, shape [num_states, num_states]."""
        return self._A.value.copy()

    def B(self) -> Array:
        """Returns a copy of B, shape [num_states, num_inputs]."""
        return self._B.value.copy()

    def f0(self) -> Array:
        """Returns a copy of f0, shape [num_states]."""
        return self._f0.value.copy()

    def C(self) -> Array:
        """Returns a copy of C, shape [num_outputs, num_states]."""
        return self._C.value.copy()

    def D(self) -> Array:
        """Returns a copy of D, shape [num_outputs, num_inputs]."""
        return self._D.value.copy()

    def y0(self) -> Array:
        """Returns a copy of y0, shape [num_outputs]."""
        return self._y0.value.copy()

    def num_states(self) -> int:
        """Number of state variables."""
        return len(self._A.value)

    def num_inputs(self) -> int:
        """Number of elements of the input."""
        return self._B.value.shape[1]

    def num_outputs(self) -> int:
        """Number of elements of the output."""
        return len(self._C.value)


class LinearSystem(AffineSystem):
    """Linear dynamics with constant coefficients: an AffineSystem without the offsets f0 and y0.

    Args:
        A: shape [num_states, num_states].
        B: shape [num_states, num_inputs].
        C: shape [num_outputs, num_states].
        D: shape [num_outputs, num_inputs].
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.
    """

    def __init__(
        self,
        A: ArrayLike = _EMPTY,
        B: ArrayLike = _EMPTY,
        C: ArrayLike = _EMPTY,
        D: ArrayLike = _EMPTY,
        time_period: float = 0.0,
    ) -> None:
        super().__init__(A=A, B=B, C=C, D=D, time_period=time_period)


def affine_function(offset: Any, *terms: tuple[Any, Any]) -> NativeFunction:
    """offset + M v + ..., for at most two pairs of a matrix M and a vector v, constants or wires; v may be None."""
    given = [(matrix, vector) for matrix, vector in terms if vector is not None]
    if len(given) == 2:
        return affine_in_two.given(offset=offset, M=given[0][0], v=given[0][1], N=given[1][0], w=given[1][1])
    return affine.given(offset=offset, M=given[0][0], v=given[0][1]) if given else copy.given(source=offset)


def _common_size(*dimensions: tuple[ArrayLike, int]) -> int:
    """The size along a dimension of the first coefficient that is given; others are checked against it."""
    for coefficient, axis in dimensions:
        shape = np.shape(coefficient)
        if shape and np.size(coefficient):
            return shape[axis] if len(shape) > axis else 1  # a vector is taken as a column
    return 0


def _offset(value: ArrayLike, size: int, what: str) -> Array:
    vector = checked_vector(value, what)
    if vector.size == 0:
        return np.zeros(size)
    if vector.size != size:
        raise ValueError(f"{what}: expected {size} elements, got {vector.size}.")
    return vector


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
        ValueError: D is not a matrix, or has an element that is not a number.
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
        TypeError: D is not a matrix.
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
            TypeError: D is not a matrix.
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
