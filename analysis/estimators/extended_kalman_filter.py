"""ExtendedKalmanFilter: a Kalman filter of a nonlinear system, linearized at the estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.estimators.kalman_filter import KalmanFilter
from merganser.analysis.estimators.observer_code import KeptAlive, ObserverCode
from merganser.framework import Context, System
from merganser.framework.core.native_code import FAILURE, InputOf, NativeCode
from merganser.framework.native.addresses import address_of_array

__all__ = ["ExtendedKalmanFilter"]

Array = NDArray[Any]


class ExtendedKalmanFilter(KalmanFilter):
    """Estimates the state of a nonlinear system and the covariance of the error (Gelb 1974, chapter 6).

    In discrete time, x[n+1] = f(x[n], u[n]) + w, y[n] = g(x[n], u[n]) + v, each update at time n first takes the
    measurement into account, in the form of Joseph, and then predicts:

        K = P C' (C P C' + V)^-1,   x+ = xhat + K (y - g(xhat, u)),   P+ = (I - K C) P (I - K C)' + K V K',    (1)
        xhat[n+1] = f(x+, u),       P[n+1] = A P+ A' + W,                                                      (2)

    with C at xhat and A at x+. So the outputs at time n know the measurements before it. In continuous time, with
    spectral densities W and V,

        d xhat/dt = f(xhat, u) + K (y - g(xhat, u)),    K = P C' V^-1,
        dP/dt = A P + P A' + W - K V K'.                                                                       (3)

    A continuous-time system that is measured at times can be observed by way of `DiscreteTimeApproximation`.
    Jacobians are exact (see `Linearize`).

    Args:
        observed_system: the model f, g, without noise; with at most one input port and one output port.
        observed_system_context: its parameters, copied.
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].
        initial_state_estimate: shape [n]; zero by default.
        initial_state_covariance: shape [n, n]; the identity by default.

    Raises:
        ValueError: sizes do not match, or the system has other ports or state.
        RuntimeError: a matrix is no covariance.
    """

    def __init__(
        self,
        observed_system: System,
        observed_system_context: Context,
        W: ArrayLike,
        V: ArrayLike,
        initial_state_estimate: ArrayLike | None = None,
        initial_state_covariance: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            observed_system, observed_system_context, W, V, initial_state_estimate, initial_state_covariance
        )

        self._use_native(_ExtendedCode(self), of=KalmanFilter)

    def _new_room(self, context: Any) -> Any:
        """Arrays for the compiled filter; None if the model, or its derivatives, are not compiled throughout."""
        model = self._model(context)
        complex_tapes = model.complex_tapes() if model.can_be_lowered(context) else None
        if complex_tapes is None:
            return None
        from merganser.analysis.plan.extended_operations import ExtendedRoom  # loads numba

        num_inputs = 0 if self._u is None else self._u.size()
        tapes = *model.tapes(), *complex_tapes
        return ExtendedRoom(self._W, self._V, num_inputs, self._period > 0.0, tapes)

    def _calc(self, context: Context, x: Array, P: Array) -> tuple[Array, Array]:
        y, t, u, model = self._y.Eval(context), context.get_time(), self._input(context), self._model(context)
        if model.workspace is None or (model.workspace and not model.is_lowered()):
            model.workspace = self._new_room(context) or ()
        result = self._calc_compiled(model.workspace, t, x, P, y, u) if model.workspace else None
        return self._calc_in_python(model, t, x, P, y, u) if result is None else result

    def _calc_compiled(self, room: Any, *given: Any) -> tuple[Array, Array] | None:
        """What the compiled filter gives, so that results are those of the native plan to the last bit."""
        from merganser.analysis.plan import extended_operations as o

        t, x, P, y, u = given
        n = len(x)
        for field, values in ((o.TIME, t), (o.STATE, x), (o.MEASURED, y), (o.INPUT, () if u is None else u)):
            room.section(field)[: np.size(values)] = values
        room.section(o.STATE)[n : n + n * n] = P.reshape(-1)
        if not o.extended_update(address_of_array(room.reals), address_of_array(room.fields)):
            return None
        result = room.section(o.RESULT)
        return result[:n], result[n : n + n * n].reshape(n, n)

    def _calc_in_python(self, model: Any, *given: Any) -> tuple[Array, Array]:
        t, x, P, y, u = given
        C = model.output_jacobian(t, x, u)
        error = y - model.at(t, x, u).output()
        if self._period:
            K = np.linalg.solve(C @ P @ C.T + self._V, C @ P).T  # (1)
            I_KC = np.eye(len(x)) - K @ C
            x, P = x + K @ error, I_KC @ P @ I_KC.T + K @ self._V @ K.T
            A = model.dynamics_jacobian(t, x, u)
            result = A @ P @ A.T + self._W  # (2)
            return model.at(t, x, u).dynamics(), 0.5 * (result + result.T)
        A = model.dynamics_jacobian(t, x, u)
        K = np.linalg.solve(self._V, C @ P).T
        rate = A @ P + P @ A.T + self._W - K @ self._V @ K.T
        return model.at(t, x, u).dynamics() + K @ error, 0.5 * (rate + rate.T)  # (3)


class _ExtendedCode(ObserverCode):
    """The filter as an operation."""

    def code(self, context: Any, model: Any, result: Any, state: Any) -> NativeCode | None:
        from merganser.analysis.plan import extended_operations as o
        from merganser.framework.native import kernel_address

        observer: Any = self.observer
        room = observer._new_room(context)
        if room is None:
            return None
        f: list[Any] = [0] * o.OP_NUM_FIELDS
        f[o.OP_FAILURE] = FAILURE
        f[o.OP_REALS], f[o.OP_FIELDS] = address_of_array(room.reals), address_of_array(room.fields)
        f[o.OP_UPDATE], f[o.OP_STATE], f[o.OP_RESULT] = kernel_address(o.extended_update, 0, 0), state, result
        f[o.OP_MEASURED], f[o.OP_INPUT] = InputOf(0), InputOf(1) if observer._u is not None else 0
        return NativeCode(o.EXTENDED, tuple(f), KeptAlive(*model.tapes(), room))
