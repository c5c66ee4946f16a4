"""Linear and affine dynamics with constant coefficients, in continuous or discrete time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import NativeFunction, copy, native
from merganser.framework.core.declarations.native_wires import Changing
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.scalars.element_functions import elements, product
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.primitives._arguments import checked_matrix, checked_numbers, checked_period, checked_vector
from merganser.framework.primitives.linear._linear_state import LinearStateMethods

__all__ = ["AffineSystem", "LinearSystem", "affine", "affine_function", "multiplied"]

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
        self._declare(num_states, num_inputs, num_outputs)

    def _declare(self, num_states: int, num_inputs: int, num_outputs: int) -> None:
        u = self.DeclareVectorInputPort(kUseDefaultName, num_inputs) if num_inputs else None
        x: Any = None
        if num_states and self._time_period == 0.0:
            x = self.DeclareContinuousState(num_states)
            declare_derivatives(self, affine_function(self._f0, (self._A, x), (self._B, u)), of=AffineSystem)  # (1)
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
            return shape[axis] if len(shape) > axis else 1  # a vector stands for a column
    return 0


def _offset(value: ArrayLike, size: int, what: str) -> Array:
    vector = checked_vector(value, what)
    if vector.size == 0:
        return np.zeros(size)
    if vector.size != size:
        raise ValueError(f"{what}: expected {size} elements, got {vector.size}.")
    return vector
