"""Kalman filters of nonlinear systems: what they have in common, by linearizing (extended), by sampling (unscented)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import numbers_of
from merganser.analysis.estimators.observer import KeptAlive, Observer, ObserverCode, checked_covariance
from merganser.framework import Context, LeafOutputPort, System, SystemScalarConverter
from merganser.framework.core.context.native_code import FAILURE, InputOf, NativeCode
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of

if TYPE_CHECKING:
    from merganser.analysis.estimators.filter_workspace import FilterWorkspace

Array = NDArray[Any]


class KalmanFilter(Observer):
    """Base of filters whose state is an estimate xhat, shape [n], and its covariance P, shape [n, n].

    Output port 0, 'estimated_state', gives xhat; output port 1, 'covariance', gives P row by row, shape [n n]. The
    state is one vector: xhat, then P.

    Args:
        observed_system, observed_system_context: see `Observer`.
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].
        initial_state_estimate: shape [n]; zero by default.
        initial_state_covariance: positive semidefinite, shape [n, n]; the identity by default.

    Raises:
        ValueError: sizes do not match.
        RuntimeError: a matrix is not a covariance.
    """

    _is_linearized: bool  # whether the filter asks for Jacobians of the model

    def __init__(
        self,
        observed_system: System,
        observed_system_context: Context,
        W: ArrayLike,
        V: ArrayLike,
        initial_state_estimate: ArrayLike | None = None,
        initial_state_covariance: ArrayLike | None = None,
    ) -> None:
        floats_only = SystemScalarConverter("Kalman filters compute with floats only")
        super().__init__(observed_system, observed_system_context, floats_only)
        name, n = type(self).__name__, self._num_states()
        self._W = checked_covariance(W, n, "positive semidefinite", f"{name}: W")
        self._V = checked_covariance(V, self._y.size(), "positive definite", f"{name}: V")
        given_x = np.zeros(n) if initial_state_estimate is None else initial_state_estimate
        x = numbers_of(given_x, f"{name}: initial_state_estimate").reshape(-1)
        if len(x) != n or not np.isfinite(x).all():
            raise ValueError(f"{name}: initial_state_estimate must be {n} finite numbers, got {x.tolist()}.")
        given = np.eye(n) if initial_state_covariance is None else initial_state_covariance
        P = checked_covariance(given, n, "positive semidefinite", f"{name}: initial_state_covariance")
        self._initial = np.concatenate([x, P.reshape(-1)])
        if self._period:
            state: Any = self.DeclareDiscreteState(len(self._initial))
            self.DeclarePeriodicDiscreteUpdateEvent(self._period, 0.0, self._update)
        else:
            state = self.DeclareContinuousState(len(self._initial))
        self._use_native(_FilterCode(self), of=KalmanFilter)
        estimate, covariance = PartOf(state, 0, n), PartOf(state, n, n * n)
        self._estimate = self.DeclareVectorOutputPort("estimated_state", n, copy.given(source=estimate))
        self._covariance = self.DeclareVectorOutputPort("covariance", n * n, copy.given(source=covariance))

    def SetDefaultState(self, context: Context, state: Any) -> None:
        if self._period:
            state.get_mutable_discrete_state().set_value(0, self._initial)
        else:
            state.get_mutable_continuous_state().SetFromVector(self._initial)

    def get_estimated_state_output_port(self) -> LeafOutputPort:
        """Returns the output port of the estimate, shape [n]."""
        return self._estimate

    def get_covariance_output_port(self) -> LeafOutputPort:
        """Returns the output port of the covariance, row by row, shape [n n]."""
        return self._covariance

    def _state(self, context: Context) -> Array:
        """xhat, then P."""
        values = context.get_discrete_state_vector() if self._period else context.get_continuous_state_vector()
        return values.CopyToVector()

    def _update(self, context: Context, discrete_state: Any) -> None:
        for port in (self._y, *([] if self._u is None else [self._u])):
            # Raises an error for inputs that are not finite, which would spoil all later estimates
            value = port.Eval(context)
            if not np.isfinite(value).all():
                remedy = " Hold back what a sensor has not measured." if port is self._y else ""
                raise RuntimeError(
                    f"{self._describe(context)}: {port.GetFullDescription()} must have finite values, got "
                    f"{value.tolist()}.{remedy}"
                )
        result = self._calc(context)
        if not np.isfinite(result).all():
            state, n = self._state(context), len(self._W)
            x, P = state[:n], state[n:].reshape(n, n)
            culprit = "its state"
            if np.isfinite(state).all():
                culprit = f"what the observed system '{self._system.GetSystemPathname()}' gives near there"
            raise RuntimeError(
                f"{self._describe(context)}: {culprit} is not finite. It is at {x.tolist()}, with the covariance "
                f"{P.tolist()}."
            )
        discrete_state.set_value(0, result)

    def _describe(self, context: Context) -> str:
        return f"System '{self.GetSystemPathname()}' has no estimate after time {context.get_time()} s"

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        if not self._period:
            derivatives.SetFromVector(self._calc(context))

    # ------------------------------------------------------------------ the filter itself

    def _source(self) -> Any:
        """The module with the source of the filter, which is imported when it is needed (filter_workspace.py).

        Its `update` computes, in discrete time, xhat[n+1] and P[n+1] from those that know the measurements before time
        n, else the rates; P comes out symmetric.
        """
        raise NotImplementedError

    def _put_constants(self, workspace: FilterWorkspace) -> None:
        """Writes the constants into a filter's own arrays."""

    def _new_workspace(self, context: Context, calls_python: bool = True) -> FilterWorkspace | None:
        """The workspace of the filter; None if it would call Python where it must not."""
        from merganser.analysis.estimators.filter_workspace import FilterWorkspace

        model, num_inputs = self._model(context), 0 if self._u is None else self._u.size()
        tapes = [*model.tapes()] if model.can_be_lowered(context) else []
        if tapes and self._is_linearized:
            tapes += model.complex_tapes() or ()
        if not calls_python and len(tapes) < (4 if self._is_linearized else 2):
            return None
        python = model if calls_python else None
        workspace = FilterWorkspace(self._source(), python, (self._W, self._V), num_inputs, self._period > 0.0, tapes)
        self._put_constants(workspace)
        return workspace

    def _calc(self, context: Context) -> Array:
        """The next state, or its rate; valid until the next call."""
        model, state = self._model(context), self._state(context)
        workspace = model.workspace
        if workspace is None or (workspace.has_tapes and not model.is_lowered()):
            workspace = model.workspace = self._new_workspace(context)
        return workspace.run(context.get_time(), state, self._measured(context), self._input(context))


class _FilterCode(ObserverCode):
    """The filter as an operation."""

    def code(self, context: Context, model: Any, result: Any, state: Any) -> NativeCode | None:
        from merganser.analysis.estimators import filter_workspace as o

        observer: Any = self.observer
        workspace = observer._new_workspace(context, calls_python=False)
        if workspace is None:
            return None
        n, u = len(observer._W), observer._u
        record = o.FilterOperation(
            workspace.address,
            workspace.address_of_update(),
            state=Placed(state, (n + n * n,)),
            y=Placed(InputOf(0), (len(observer._V),)),
            u=Placed(0, (0,)) if u is None else Placed(InputOf(1), (u.size(),)),
            result=Placed(result, (n + n * n,)),
        )
        return NativeCode(o.KALMAN_FILTER, (FAILURE, *integers_of(record)), KeptAlive(*model.tapes(), workspace))


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
