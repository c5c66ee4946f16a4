"""LuenbergerObserver: a model of a system, corrected by a gain times the error of its output.

SteadyStateKalmanFilter makes one, with the dual of the gain of a linear quadratic regulator (Kalman and Bucy 1961).
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearQuadraticRegulator,
    is_unstable,
    is_unstable_in_discrete_time,
    numbers_of,
    unreached_modes,
)
from merganser.analysis.estimators.observer import KeptAlive, Observer, ObserverCode, checked_covariance, require_finite
from merganser.framework import Context, LeafOutputPort, System
from merganser.framework.core.context.native_code import FAILURE, InputOf, NativeCode
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.framework.primitives import Linearize, LinearSystem

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


@overload
def SteadyStateKalmanFilter(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array: ...
@overload
def SteadyStateKalmanFilter(system: LinearSystem, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver: ...
@overload
def SteadyStateKalmanFilter(system: System, context: Context, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver: ...
def SteadyStateKalmanFilter(*args: Any, **kwargs: Any) -> Any:
    """Computes the observer gain L that makes the variance of the estimate smallest.

    For dx/dt = A x + B u + w, y = C x + D u + v with white noise of covariances W of w and V of v,

        0 = A P + P A' - P C' V^-1 C P + W,     L = P C' V^-1.                                     (1)

    Three forms:

        SteadyStateKalmanFilter(A, C, W, V)             -> L, shape [n, p]
        SteadyStateKalmanFilter(system, W, V)           -> LuenbergerObserver, for a LinearSystem
        SteadyStateKalmanFilter(system, context, W, V)  -> LuenbergerObserver, linearized at `context`

    Systems in discrete time get the gain of `DiscreteTimeSteadyStateKalmanFilter`.

    Args:
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].

    Raises:
        ValueError: sizes do not match.
        RuntimeError: W or V is not a covariance, `context` holds no equilibrium, or an unstable mode is not observable.
    """
    name = "SteadyStateKalmanFilter"
    first = args[0] if args else kwargs.get("system")
    if not isinstance(first, System):
        return _gain(False, name, **bind_overload(name, ("A", "C", "W", "V"), {}, args, kwargs))
    second = args[1] if len(args) > 1 else kwargs.get("context")
    if isinstance(second, Context):
        return _of_system(**bind_overload(name, ("system", "context", "W", "V"), {}, args, kwargs))
    if not isinstance(first, LinearSystem):
        raise TypeError(
            "SteadyStateKalmanFilter(system, W, V) takes a LinearSystem; for system "
            f"'{first.GetSystemPathname()}' ({type(first).__name__}) give the equilibrium too: "
            "SteadyStateKalmanFilter(system, context, W, V)."
        )
    return _of_linear_system(**bind_overload(name, ("system", "W", "V"), {}, args, kwargs))


def DiscreteTimeSteadyStateKalmanFilter(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array:
    """Computes the observer gain for x[n+1] = A x[n] + B u[n] + w, y[n] = C x[n] + D u[n] + v.

        P = A P A' - A P C' (C P C' + V)^-1 C P A' + W,     L = A P C' (C P C' + V)^-1

    with P the covariance of the error of xhat[n], which knows the measurements before time n.

    Args:
        A: shape [n, n].
        C: shape [p, n].
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].

    Returns:
        L, shape [n, p].

    Raises:
        ValueError: sizes do not match.
        RuntimeError: W or V is not a covariance, or outputs do not show an unstable mode.
    """
    return _gain(True, "DiscreteTimeSteadyStateKalmanFilter", A, C, W, V)


def _gain(is_discrete: bool, name: str, A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array:
    a, c = np.atleast_2d(numbers_of(A, f"{name}: A")), np.atleast_2d(numbers_of(C, f"{name}: C"))
    if a.shape[0] != a.shape[1] or c.shape[1] != len(a):
        raise ValueError(f"{name}: A has shape {a.shape} and C {c.shape}; expected (n, n) and (p, n).")
    if not (np.isfinite(a).all() and np.isfinite(c).all()):
        raise ValueError(f"{name}: A or C has elements that are not finite.")
    w = checked_covariance(W, len(a), "positive semidefinite", f"{name}: W")
    v = checked_covariance(V, len(c), "positive definite", f"{name}: V")
    unstable = is_unstable_in_discrete_time if is_discrete else is_unstable
    hidden = unreached_modes(a.T, c.T, unstable)
    if hidden:
        raise RuntimeError(
            f"{name}: no stable observer exists. Unstable eigenvalues of A that no output shows: "
            f"{', '.join(f'{mode:.6g}' for mode in hidden)}."
        )
    regulate = DiscreteTimeLinearQuadraticRegulator if is_discrete else LinearQuadraticRegulator
    try:
        return regulate(a.T, c.T, w, v)[0].T
    except RuntimeError as error:
        raise RuntimeError(
            f"{name}: no stable observer was found; check that the process noise W reaches every mode of A that does "
            "not decay by itself."
        ) from error


def _of_linear_system(system: LinearSystem, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver:
    gain = _gain(system.time_period() > 0.0, "SteadyStateKalmanFilter", system.A(), system.C(), W, V)
    return LuenbergerObserver(system, system.CreateDefaultContext(), gain)


def _of_system(system: System, context: Context, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver:
    linear = Linearize(system, context)
    gain = _gain(linear.time_period() > 0.0, "SteadyStateKalmanFilter", linear.A(), linear.C(), W, V)
    return LuenbergerObserver(system, context, gain)
