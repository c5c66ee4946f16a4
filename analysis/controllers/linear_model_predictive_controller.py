"""LinearModelPredictiveController: commands from a quadratic program over a horizon, solved again at every step."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import checked_problem, require_definite
from merganser.analysis.controllers.predicted_motion import along_trajectories, at_operating_point
from merganser.analysis.controllers.predictive_program import Limits, PredictiveProgram
from merganser.framework import (
    BasicVector,
    Context,
    InputPort,
    LeafOutputPort,
    LeafSystem,
    System,
    Value,
    ValueProducer,
)
from merganser.framework.trajectories import PiecewisePolynomial, Trajectory

Array = NDArray[Any]
_NAME = "LinearModelPredictiveController"
_PLAN, _CONTROL = 0, 1  # groups of discrete state


class LinearModelPredictiveController(LeafSystem):
    """u = u_ref + du_0 of the best motion over a horizon of N = time_horizon / time_period steps from the state now:

        min  sum_(k<N) dx_k' Q dx_k + du_k' R du_k + dx_N' Q_final dx_N
        dx_(k+1) = A_k dx_k + B_k du_k + c_k,   lower <= x_k <= upper,   lower <= u_k <= upper            (1)

    with dx = x - x_ref and du = u - u_ref. The reference is the operating point in `base_context`, or trajectories; the
    model is linearized there when the controller is made. Of a continuous-time system the linear model is made discrete
    for inputs that are held, exactly; so, along trajectories, steps should be short for the curvature of the dynamics.
    Without limits that are met, and with Q_final the cost to go of DiscreteTimeLinearQuadraticRegulator, (1) is that
    regulator (Rawlings, Mayne and Diehl 2017, chapter 1).

    Input port 'state', x [n]. Output port 'control', u [m]: for a continuous-time model it is computed by a discrete
    update every `time_period`, from 0 s on, and held between; for a discrete-time one, it is a function of the state
    now, as that model's own update reads it. The program is made once. The last solution is state of the Context, one
    step later it is the guess, by which a small program is solved faster.

    Args:
        model: its state is continuous, or discrete with the period `time_period`; it is not kept.
        base_context: of the model, with a value at its input port: the operating point, and all parameters.
        Q: cost of the state, positive semidefinite, shape [n, n].
        R: cost of the input, positive definite, shape [m, m].
        time_period: of a step [s].
        time_horizon: how far to look ahead [s], rounded to whole steps.
        Q_final: cost of the state at the end, positive semidefinite; by default Q.
        input_limits: lower and upper limits of u, shape [m] each; infinite elements are none.
        state_limits: lower and upper limits of x, shape [n] each, from the next step on.
        state_trajectory: x_ref(t), shape [n, 1]; where it ends, the reference stays.
        input_trajectory: u_ref(t), shape [m, 1]; by default what the input port has in `base_context`.
        input_port_index: which input of the model is controlled.

    Raises:
        ValueError: a size or a number is wrong, or the period is not that of the model.
        RuntimeError: a cost is not definite; and, when the control is computed, there is no motion within the limits.
    """

    def __init__(
        self,
        model: System,
        base_context: Context,
        Q: ArrayLike,
        R: ArrayLike,
        time_period: float,
        time_horizon: float,
        *,
        Q_final: ArrayLike | None = None,
        input_limits: tuple[ArrayLike, ArrayLike] | None = None,
        state_limits: tuple[ArrayLike, ArrayLike] | None = None,
        state_trajectory: Trajectory | None = None,
        input_trajectory: Trajectory | None = None,
        input_port_index: int = 0,
    ) -> None:
        super().__init__()
        period, self._num_steps = float(time_period), _num_steps(time_period, time_horizon)
        where = model, base_context, period, int(input_port_index)
        if state_trajectory is None:
            if input_trajectory is not None:
                raise ValueError(f"{_NAME}: input_trajectory needs a state_trajectory with it.")
            self._motion = at_operating_point(*where)
        else:
            if input_trajectory is None:
                u = model.get_input_port(input_port_index).Eval(base_context)
                input_trajectory = PiecewisePolynomial(np.reshape(u, (-1, 1)))
            self._motion = along_trajectories(*where, state_trajectory, input_trajectory)
        first = self._motion.steps[0]
        _, _, Q, R, _ = checked_problem(first.A, first.B, Q, R, np.zeros(0))
        last = Q if Q_final is None else np.atleast_2d(np.array(Q_final, dtype=np.float64))
        if last.shape != Q.shape:
            raise ValueError(f"{_NAME}: Q_final must have the shape {Q.shape}, got {last.shape}.")
        require_definite("Q_final", last, "positive semidefinite")
        n, m = first.B.shape
        limits = _limits("state_limits", state_limits, n), _limits("input_limits", input_limits, m)
        ahead = self._motion.window(self._motion.start_time, self._num_steps + 1)
        self._program = PredictiveProgram(ahead, Q, R, last, *limits)
        self._declare(n, first.u, period, is_sampled=base_context.num_continuous_states() > 0)

    def _declare(self, n: int, u: Array, period: float, *, is_sampled: bool) -> None:
        self._state_port = self.DeclareVectorInputPort("state", n)
        self.DeclareDiscreteState(np.zeros(self._program.num_vars()))
        self._solution = self.DeclareCacheEntry(
            "solution",
            ValueProducer(functools.partial(Value, np.zeros(self._program.num_vars())), self._calc_solution),
            {self.all_sources_ticket()},
        )
        self._is_sampled = is_sampled
        if is_sampled:
            self.DeclareDiscreteState(u)
            needs = {self.discrete_state_ticket(_CONTROL)}
        else:
            needs = {self.all_sources_ticket()}
        self._control_port = self.DeclareVectorOutputPort("control", u.size, self._calc_control, needs)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._update)

    def get_state_port(self) -> InputPort:
        """The input port of the state of the system that is controlled."""
        return self._state_port

    def get_control_port(self) -> LeafOutputPort:
        """The output port of the command."""
        return self._control_port

    def _calc_control(self, context: Context, output: BasicVector) -> None:
        if self._is_sampled:
            output.SetFromVector(context.get_discrete_state(_CONTROL).CopyToVector())
        else:
            output.SetFromVector(self._control(context))

    def _control(self, context: Context) -> Array:
        step = self._motion.window(context.get_time(), 1)[0]
        control: Array = step.u + self._program.input_change(self._solution.Eval(context))
        return control

    def _update(self, context: Context, discrete_state: Any) -> None:
        if self._is_sampled:
            discrete_state.get_mutable_vector(_CONTROL).SetFromVector(self._control(context))
        following = self._program.one_step_later(self._solution.Eval(context))
        discrete_state.get_mutable_vector(_PLAN).SetFromVector(following)

    def _calc_solution(self, context: Context, value: Any) -> None:
        """Solves (1).

        Raises:
            RuntimeError: there is no solution, or the state is not finite.
        """
        x, time = self._state_port.Eval(context), context.get_time()
        where = f"{_NAME} '{self.GetSystemPathname()}' at time {time} s"
        if not np.isfinite(x).all():
            raise RuntimeError(f"{where}: the state at input port 'state' must be finite, got {x}.")
        steps, guess = self._motion.window(time, self._num_steps + 1), context.get_discrete_state(_PLAN).CopyToVector()
        result = self._program.solve(x, steps, guess)
        if not result.is_success():
            raise RuntimeError(
                f"{where}: from the state {x} there is no motion of {self._num_steps} steps within the limits. "
                f"{self._program.explain(result)}. Widen state_limits or input_limits, or make up for the state by a "
                "cost in Q instead of limits."
            )
        value.set_value(result.get_x_val())


def _num_steps(time_period: float, time_horizon: float) -> int:
    if not 0.0 < time_period < np.inf:
        raise ValueError(f"{_NAME}: time_period must be positive and finite, got {time_period} s.")
    if not time_period <= time_horizon < np.inf:
        raise ValueError(
            f"{_NAME}: time_horizon must be finite and one time_period ({time_period} s) at least, got "
            f"{time_horizon} s."
        )
    return round(time_horizon / time_period)


def _limits(what: str, given: tuple[ArrayLike, ArrayLike] | None, size: int) -> Limits:
    """Limits of a vector of a size.

    Raises:
        ValueError: they have another size, are not numbers, or cross.
    """
    lower, upper = (np.full(size, -np.inf), np.full(size, np.inf)) if given is None else given
    bounds = [np.array(bound, dtype=np.float64).ravel() for bound in (lower, upper)]
    if any(bound.size != size for bound in bounds) or not (bounds[0] <= bounds[1]).all():
        raise ValueError(
            f"{_NAME}: {what} must be lower <= upper, of size {size} each, got {bounds[0]} and {bounds[1]}."
        )
    return Limits(*bounds)
