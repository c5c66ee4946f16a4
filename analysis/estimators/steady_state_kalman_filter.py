"""Kalman filters with the steady-state gain: the duals of linear quadratic regulators (Kalman and Bucy 1961)."""

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
from merganser.analysis.estimators.luenberger_observer import LuenbergerObserver
from merganser.analysis.estimators.observer import checked_covariance
from merganser.framework import Context, System
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.primitives import Linearize, LinearSystem

Array = NDArray[Any]


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
