"""ExtendedKalmanFilter: a Kalman filter of a nonlinear system, linearized at the estimate."""

from __future__ import annotations

from typing import Any

from merganser.analysis.estimators.kalman_filter import KalmanFilter


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
        RuntimeError: a matrix is not a covariance.
    """

    _is_linearized = True

    def _source(self) -> Any:
        from merganser.analysis.estimators import extended_filter

        return extended_filter
