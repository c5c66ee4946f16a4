"""UnscentedKalmanFilter: a Kalman filter of a nonlinear system by sampling instead of linearizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.analysis.controllers.linear_quadratic_regulator import numbers_of
from merganser.analysis.estimators.kalman_filter import KalmanFilter
from merganser.framework import Context, System

if TYPE_CHECKING:
    from merganser.analysis.estimators.filter_workspace import FilterWorkspace


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
        RuntimeError: a matrix is not a covariance.
    """

    _is_linearized = False

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
        self._constants = spread, mean_weights, weights  # (2)

    def _source(self) -> Any:
        from merganser.analysis.estimators import unscented_filter

        return unscented_filter

    def _put_constants(self, workspace: FilterWorkspace) -> None:
        record = workspace.record
        record.spread[0], record.mean_weights[:], record.weights[:] = self._constants
