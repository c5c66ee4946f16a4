"""LuenbergerObserver: a model of a system, corrected by a gain times the error of its output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import numbers_of
from merganser.analysis.estimators.observer import KeptAlive, Observer, ObserverCode, require_finite
from merganser.framework import Context, LeafOutputPort, System
from merganser.framework.core.context.native_code import FAILURE, InputOf, NativeCode
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of

Array = NDArray[Any]


class LuenbergerObserver(Observer):
    """Estimates the state of a system (D. Luenberger 1971).

        d xhat/dt = f(xhat, u) + L (y - g(xhat, u)),        in continuous time,         (1)
        xhat[n+1] = f(xhat[n], u[n]) + L (y[n] - g(xhat[n], u[n])),  in discrete time.  (2)

    Output port 'estimated_state' gives xhat, which is zero by default.

    Args:
        observed_system: the model f, g; it is not changed. See `Observer`.
        observed_system_context: its parameters, copied.
        observer_gain: L, shape [number of state variables, size of the output].

    Raises:
        ValueError: the gain has another shape, or the system other ports or state.
    """

    def __init__(self, observed_system: System, observed_system_context: Context, observer_gain: ArrayLike) -> None:
        super().__init__(observed_system, observed_system_context)
        n, p = self._num_states(), self._y.size()
        self._L = numbers_of(observer_gain, "LuenbergerObserver: observer_gain").copy()
        if self._L.shape != (n, p):
            raise ValueError(
                f"LuenbergerObserver: observer_gain must be a matrix of shape ({n}, {p}) for system "
                f"'{observed_system.GetSystemPathname()}', got shape {self._L.shape}."
            )
        require_finite("LuenbergerObserver: observer_gain", self._L)
        index: Any
        if self._period:
            index = self.DeclareDiscreteState(n)
            self.DeclarePeriodicDiscreteUpdateEvent(self._period, 0.0, self._update)
        else:
            parts = self._parameters.get_continuous_state()
            index = self.DeclareContinuousState(parts.num_q(), parts.num_v(), parts.num_z())
        self._use_native(_LuenbergerCode(self), of=LuenbergerObserver)
        self._estimate = self.DeclareStateOutputPort("estimated_state", index)

    def get_estimated_state_output_port(self) -> LeafOutputPort:
        """Returns the output port of the estimated state."""
        return self._estimate

    def observer_gain(self) -> Array:
        """Returns the gain, shape [number of state variables, size of the output]."""
        return self._L.copy()

    def L(self) -> Array:
        """Returns the gain, as `observer_gain` does."""
        return self.observer_gain()

    def _corrected(self, context: Context, x: Array) -> Array:
        """The right sides of (1) and (2)."""
        here = self._model(context).at(context.get_time(), x, self._input(context))
        return here.dynamics() + left_to_right_product(self._L, self._measured(context) - here.output())

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector(self._corrected(context, x))

    def _update(self, context: Context, discrete_state: Any) -> None:
        discrete_state.set_value(0, self._corrected(context, context.get_discrete_state_vector().CopyToVector()))


class _LuenbergerCode(ObserverCode):
    """The observer as an operation."""

    def code(self, context: Context, model: Any, result: Any, state: Any) -> NativeCode:
        from merganser.analysis.estimators import observer_operations as o  # loads numba

        observer: Any = self.observer
        dynamics, output = model.tapes()
        (n, p), u, error = observer._L.shape, observer._u, np.zeros(observer._y.size())
        gain = np.ascontiguousarray(observer._L)
        record = o.Observer(
            dynamics.address, output.address,
            xhat=Placed(state, (n,)),
            y=Placed(InputOf(0), (p,)),
            u=Placed(0, (0,)) if u is None else Placed(InputOf(1), (u.size(),)),
            result=Placed(result, (n,)),
            gain=gain,
            error=error,
        )  # fmt: skip
        return NativeCode(o.LUENBERGER, (FAILURE, *integers_of(record)), KeptAlive(dynamics, output, gain, error))
