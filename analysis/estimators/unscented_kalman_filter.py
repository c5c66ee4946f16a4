"""UnscentedKalmanFilter: a Kalman filter of a nonlinear system by sampling instead of linearizing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.estimators.kalman_filter import KalmanFilter
from merganser.framework import Context, System

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
        if not (alpha > 0.0 and n + kappa > 0.0):
            raise ValueError(
                f"UnscentedKalmanFilter: alpha and n + kappa must be positive, got alpha = {alpha}, kappa = {kappa}."
            )
        self._spread = alpha**2 * (n + kappa)  # n + lambda
        self._mean_weights = np.full(2 * n + 1, 0.5 / self._spread)
        self._mean_weights[0] = 1.0 - n / self._spread
        self._weights = self._mean_weights.copy()
        self._weights[0] += 1.0 - alpha**2 + beta

    def _points(self, x: Array, P: Array) -> Array:
        """(1), one point a row."""
        values, vectors = np.linalg.eigh(self._spread * P)
        offsets = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return np.concatenate([x[None], x + offsets, x - offsets])

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        x, P = self._parts(context)
        points, rates, outputs = self._points(x, P), [], []
        for point in points:
            model = self._model_at(context, point)
            rates.append(self._dynamics(model))
            outputs.append(self._output(model))
        by_weight = (points - x).T * self._weights
        y, f = self._mean_weights @ outputs, self._mean_weights @ rates
        K = np.linalg.solve(self._V, (by_weight @ (outputs - y)).T).T
        x_rate = f + K @ (self._y.Eval(context) - y)  # (3)
        P_xf = by_weight @ (rates - f)
        P_rate = P_xf + P_xf.T + self._W - K @ self._V @ K.T
        derivatives.SetFromVector(np.concatenate([x_rate, P_rate.reshape(-1)]))

    def _next(self, context: Context, x: Array, P: Array) -> tuple[Array, Array]:
        points = self._points(x, P)
        outputs = np.array([self._output(self._model_at(context, point)) for point in points])
        y = self._mean_weights @ outputs
        dx, dy = points - x, outputs - y
        P_yy = (dy.T * self._weights) @ dy + self._V
        K = np.linalg.solve(P_yy, (dy.T * self._weights) @ dx).T
        x = x + K @ (self._y.Eval(context) - y)
        P = P - K @ P_yy @ K.T
        points = self._points(x, 0.5 * (P + P.T))
        states = np.array([self._dynamics(self._model_at(context, point)) for point in points])
        mean = self._mean_weights @ states
        return mean, ((states - mean).T * self._weights) @ (states - mean) + self._W
