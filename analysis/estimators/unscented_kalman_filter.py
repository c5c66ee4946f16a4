"""UnscentedKalmanFilter: a Kalman filter of a nonlinear system by sampling instead of linearizing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import numbers_of
from merganser.analysis.estimators.kalman_filter import KalmanFilter
from merganser.analysis.estimators.observer_code import KeptAlive, ObserverCode
from merganser.framework import Context, System
from merganser.framework.core.native_code import FAILURE, InputOf, NativeCode
from merganser.framework.native.addresses import address_of_array

__all__ = ["UnscentedKalmanFilter"]

Array = NDArray[Any]


class UnscentedKalmanFilter(KalmanFilter):
    """Estimates the state of a nonlinear system (Julier and Uhlmann 1997; Wan and van der Merwe 2000).

    Mean and covariance pass through f and g by way of 2 n + 1 points,

        X_0 = xhat,  X_i = xhat +- column i of sqrt((n + lambda) P),  lambda = alpha^2 (n + kappa) - n,        (1)
        mean weights lambda / (n + lambda) and 1 / (2 (n + lambda)); for covariances the first one has
        1 - alpha^2 + beta added,                                                                              (2)

    which is right to second order (to third for Gaussian errors). In discrete time, updates are in the order of
    `ExtendedKalmanFilter`: the measurement, then the prediction. In continuous time (Sarkka 2007), with spectral
    densities W and V, means and covariances being weighted sums over the points X,

        d xhat/dt = mean f(X) + K (y - mean g(X)),    K = cov(X, g(X)) V^-1,
        dP/dt = cov(X, f(X)) + cov(f(X), X) + W - K V K'.                                                      (3)

    A continuous-time system that is measured at times can be observed by way of `DiscreteTimeApproximation`.

    Args:
        observed_system: the model f, g, without noise; with at most one input port and one output port.
        observed_system_context: its parameters, copied.
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].
        initial_state_estimate: shape [n]; zero by default.
        initial_state_covariance: shape [n, n]; the identity by default.
        alpha: spread of the points, positive.
        beta: knowledge of the distribution; 2 for Gaussian errors.
        kappa: a second spread, with n + kappa > 0.

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
        *,
        alpha: float = 1.0,
        beta: float = 2.0,
        kappa: float = 0.0,
    ) -> None:
        super().__init__(
            observed_system, observed_system_context, W, V, initial_state_estimate, initial_state_covariance
        )
        n = len(self._W)
        parameters = numbers_of([alpha, beta, kappa], "UnscentedKalmanFilter: alpha, beta and kappa")
        if not (np.isfinite(parameters).all() and alpha > 0.0 and n + kappa > 0.0):
            raise ValueError(
                f"UnscentedKalmanFilter: alpha and n + kappa must be positive, and all of them finite; got alpha = "
                f"{alpha}, beta = {beta}, kappa = {kappa}, n = {n}."
            )
        spread = alpha**2 * (n + kappa)  # n + lambda
        mean_weights = np.full(2 * n + 1, 0.5 / spread)
        mean_weights[0] = 1.0 - n / spread
        weights = mean_weights.copy()
        weights[0] += 1.0 - alpha**2 + beta
        self._constants = spread, mean_weights, weights, self._W, self._V  # (2)
        self._use_native(_UnscentedCode(self), of=KalmanFilter)

    def _new_room(self) -> Any:
        from merganser.analysis.plan.unscented_operations import UnscentedRoom  # loads numba

        return UnscentedRoom(*self._constants)

    def _calc(self, context: Context, x: Array, P: Array) -> tuple[Array, Array]:
        # The arithmetic is that of the compiled filter, from which results do not differ by a bit.
        from merganser.analysis.plan import unscented_operations as o

        model, n, p = self._model(context), len(self._W), len(self._V)
        if model.workspace is None:
            model.workspace = self._new_room()
        room: o.UnscentedRoom = model.workspace
        places = address_of_array(room.reals), address_of_array(room.fields)
        y, t, u = self._measured(context), context.get_time(), self._input(context)
        state = room.section(o.STATE)
        state[:n], state[n : n + n * n], room.section(o.MEASURED)[:p] = x, P.reshape(-1), y
        points, images, outputs = room.rows(o.POINTS, n), room.rows(o.IMAGES, n), room.rows(o.OUTPUTS, p)
        o.unscented_stage(o.PLACE_POINTS, *places)
        for point, row in zip(points, outputs):
            row[:] = model.at(t, point, u).output()
        if self._period:
            o.unscented_stage(o.TAKE_MEASUREMENT, *places)
            o.unscented_stage(o.PLACE_POINTS, *places)
        for point, row in zip(points, images):
            row[:] = model.at(t, point, u).dynamics()
        o.unscented_stage(o.PREDICT if self._period else o.FIND_RATES, *places)
        result = room.section(o.RESULT)
        return result[:n], result[n : n + n * n].reshape(n, n)


class _UnscentedCode(ObserverCode):
    """The filter as an operation."""

    def code(self, context: Any, model: Any, result: Any, state: Any) -> NativeCode:
        from merganser.analysis.plan import unscented_operations as o
        from merganser.framework.native import kernel_address

        observer: Any = self.observer
        room = observer._new_room()
        dynamics, output = model.tapes()
        f: list[Any] = [0] * o.OP_NUM_FIELDS
        f[o.OP_FAILURE] = FAILURE
        f[o.OP_REALS], f[o.OP_FIELDS] = address_of_array(room.reals), address_of_array(room.fields)
        f[o.OP_DYNAMICS], f[o.OP_OUTPUT] = address_of_array(dynamics.fields), address_of_array(output.fields)
        f[o.OP_STAGE] = kernel_address(o.unscented_stage, 0, 0, 0)
        f[o.OP_IS_DISCRETE], f[o.OP_STATE], f[o.OP_RESULT] = int(observer._period > 0.0), state, result
        f[o.OP_MEASURED], f[o.OP_INPUT] = InputOf(0), InputOf(1) if observer._u is not None else 0
        return NativeCode(o.UNSCENTED, tuple(f), KeptAlive(dynamics, output, room))
