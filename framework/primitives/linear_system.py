"""Linear and affine dynamics with constant coefficients, in continuous or discrete time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import (
    CONTINUOUS_STATE,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
)
from merganser.framework.core.state import ContinuousState, DiscreteValues
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_matrix, checked_period, checked_vector
from merganser.framework.primitives._linear_state import LinearStateMethods
from merganser.framework.primitives._scalar_functions import left_to_right_product
from merganser.framework.primitives._updatable_code import UpdatableCode

__all__ = ["AffineSystem", "LinearSystem"]

Array = NDArray[Any]
_EMPTY: tuple[()] = ()


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
        self._A = checked_matrix(A, num_states, num_states, f"{name}: A")
        self._B = checked_matrix(B, num_states, num_inputs, f"{name}: B")
        self._f0 = _offset(f0, num_states, f"{name}: f0")
        self._C = checked_matrix(C, num_outputs, num_states, f"{name}: C")
        self._D = checked_matrix(D, num_outputs, num_inputs, f"{name}: D")
        self._y0 = _offset(y0, num_outputs, f"{name}: y0")
        self._time_period = checked_period(time_period, f"{name}: time_period")
        self._configure_state(num_states)
        self._declare(num_states, num_inputs, num_outputs)

    def _declare(self, num_states: int, num_inputs: int, num_outputs: int) -> None:
        self._codes: list[UpdatableCode] = []
        if num_inputs:
            self.DeclareVectorInputPort(kUseDefaultName, num_inputs)
        if num_states and self._time_period == 0.0:
            self.DeclareContinuousState(num_states)
            assert self._sys_xcdot_entry is not None
            entry = self._sys_cache_entries[self._sys_xcdot_entry]
            entry.use_native(self._dynamics_code())  # says what they depend on
            entry.use_native(self._updatable(self._dynamics_code))
        elif num_states:
            self.DeclareDiscreteState(num_states)
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_period, 0.0, self._update)
            self._use_native_event(self._updatable(self._dynamics_code))
            self.DeclareForcedDiscreteUpdateEvent(self._update)
        if num_outputs:
            self._has_C, self._has_D = bool(self._C.any()), bool(self._D.any())
            prerequisites = set()
            if self._has_C:
                prerequisites.add(self.all_state_ticket())
            if self._has_D:
                prerequisites.add(self.all_input_ports_ticket())
            port = self.DeclareVectorOutputPort(kUseDefaultName, num_outputs, self._calc_output, prerequisites)
            port.cache_entry().use_native(self._updatable(self._output_code))

    def _updatable(self, make: Callable[[], NativeCode]) -> UpdatableCode:
        self._codes.append(UpdatableCode(make))
        return self._codes[-1]

    def _dynamics_code(self) -> NativeCode:
        is_continuous = self._time_period == 0.0
        x = CONTINUOUS_STATE if is_continuous else DiscreteStateOf(0)
        u = [(self._B, InputOf(0))] if self.num_inputs() else []
        return _affine_code(self._f0, [(self._A, x), *u], OUTPUT if is_continuous else NextDiscreteStateOf(0))

    def _output_code(self) -> NativeCode:
        x = CONTINUOUS_STATE if self._time_period == 0.0 else DiscreteStateOf(0)
        products: list[tuple[Array, Any]] = [(self._C, x)] if self._has_C else []
        return _affine_code(self._y0, products + ([(self._D, InputOf(0))] if self._has_D else []), OUTPUT)

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
            RuntimeError: a coefficient has another size; or C or D was zero, so that the output does not depend on the
                state or the input, and no longer is. Then none is replaced.
        """
        new = {"A": A, "B": B, "f0": f0, "C": C, "D": D, "y0": y0}
        where = f"System '{self.GetSystemPathname()}', UpdateCoefficients"
        for name, value in new.items():
            current = getattr(self, f"_{name}")
            array = np.array(value, dtype=current.dtype)
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
            setattr(self, f"_{name}", value)
        for code in self._codes:
            code.renew()

    # ------------------------------------------------------------------ coefficients

    def A(self) -> Array:
        """Returns a copy of A, shape [num_states, num_states]."""
        return self._A.copy()

    def B(self) -> Array:
        """Returns a copy of B, shape [num_states, num_inputs]."""
        return self._B.copy()

    def f0(self) -> Array:
        """Returns a copy of f0, shape [num_states]."""
        return self._f0.copy()

    def C(self) -> Array:
        """Returns a copy of C, shape [num_outputs, num_states]."""
        return self._C.copy()

    def D(self) -> Array:
        """Returns a copy of D, shape [num_outputs, num_inputs]."""
        return self._D.copy()

    def y0(self) -> Array:
        """Returns a copy of y0, shape [num_outputs]."""
        return self._y0.copy()

    def num_states(self) -> int:
        """Number of state variables."""
        return len(self._A)

    def num_inputs(self) -> int:
        """Number of elements of the input."""
        return self._B.shape[1]

    def num_outputs(self) -> int:
        """Number of elements of the output."""
        return len(self._C)

    # ------------------------------------------------------------------ behaviour

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState) -> None:
        x = context.get_continuous_state_vector().value()
        derivatives.SetFromVector(self._next(context, x))  # (1)

    def _update(self, context: Context, discrete_state: DiscreteValues) -> None:
        x = context.get_discrete_state(0).value()
        discrete_state.set_value(0, self._next(context, x))  # (2)

    def _next(self, context: Context, x: Array) -> Array:
        result = self._f0 + left_to_right_product(self._A, x)
        if self.num_inputs():
            u = self._sys_input_ports[0].EvalBasicVector(context).value()
            result = result + left_to_right_product(self._B, u)
        return result

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        y = self._y0
        if self._has_C:
            y = y + left_to_right_product(self._C, self._state_of(context))
        if self._has_D:
            y = y + left_to_right_product(self._D, self._sys_input_ports[0].EvalBasicVector(context).value())
        output.SetFromVector(y)


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


def _affine_code(offset: Array, products: list[tuple[Array, Any]], target: Any) -> NativeCode:
    """The operation target = offset + sum of M v, for pairs of a matrix M and the place of a vector v."""
    terms = [item for matrix, place in products for item in (matrix.shape[1], matrix, place)]
    return NativeCode("affine", (offset.size, len(products), offset, target, *terms))


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
