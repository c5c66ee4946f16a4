"""DirectTranscription: the next state is a function of the state and the input.

x_(n+1) = f(x_n, u_n)            of discrete systems                                 (1)
x_(n+1) = x_n + h f(x_n, u_n)    of continuous ones, by steps of Euler               (2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.system_dynamics import SystemDynamics
from merganser.analysis.trajectory_optimization.multiple_shooting import MultipleShooting
from merganser.framework import Context, InputPortSelection, System
from merganser.framework.optimization import Constraint, LinearEqualityConstraint, MathematicalProgramResult
from merganser.framework.optimization.evaluators.evaluators import StackedEvaluator, copies_of
from merganser.framework.optimization.programs.parsing import parsed_cost
from merganser.framework.optimization.programs.program_bindings import add_alike
from merganser.framework.primitives import AffineSystem
from merganser.framework.trajectories import PiecewisePolynomial

Array = NDArray[np.float64]


class _TranscriptionConstraint(StackedEvaluator, Constraint):
    """x_1 - f(x_0, u_0) = 0 of the variables [u_0, x_0, x_1], equation (1) or (2).

    Args:
        dynamics: f.
        step: h of (2); None for (1).
    """

    def __init__(self, dynamics: SystemDynamics, step: float | None) -> None:
        self._dynamics, self._step = dynamics, step
        n, zeros = dynamics.num_states, np.zeros(dynamics.num_states)
        Constraint.__init__(self, 2 * n + dynamics.num_inputs, zeros, zeros, "dynamics")

    def at_zero(self) -> tuple[Array, Array]:
        """Value and Jacobian where all variables are 0, which define an affine system."""
        values, jacobians = self._stacked(np.zeros((1, self.num_vars())))
        return values[0], jacobians[0]

    def _stack_key(self) -> Any:
        return self._dynamics

    def _has_curvature(self) -> bool:
        return self._dynamics.are_fast()

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        n, m = self._dynamics.num_states, self._dynamics.num_inputs
        u_0, x_0, x_1 = np.split(x, [m, m + n], axis=1)
        f, A, B = self._dynamics.at(np.hstack([x_0, u_0]))
        if self._step is not None:
            f, A, B = x_0 + self._step * f, np.eye(n) + self._step * A, self._step * B
        return x_1 - f, np.concatenate([-B, -A, np.broadcast_to(np.eye(n), (len(x), n, n))], axis=2)


class DirectTranscription(MultipleShooting):
    """A trajectory optimization with fixed time steps: equation (1) or (2) for each of them.

    The last input acts on nothing; it is that before. Of affine systems the constraints are linear.

    Args:
        system: discrete, with one period and one group of state; or continuous, with a time step.
        context: of it, for parameters and other inputs; it is not changed.
        num_time_samples: number of break points.
        fixed_time_step: of continuous systems, DirectTranscription.TimeStep(h) [s].
        input_port_index: which port u is, or an InputPortSelection.

    Raises:
        RuntimeError: the system is continuous and there is no time step, or has state of both kinds.
        ValueError: the system is discrete and there is a time step, or numbers are out of range.
        ValueError, IndexError: there is no such vector port.
    """

    class TimeStep:
        """A time step.

        Args:
            value: [s].
        """

        def __init__(self, value: float) -> None:
            self.value = float(value)

        def __repr__(self) -> str:
            return f"DirectTranscription.TimeStep({self.value})"

    def __init__(
        self,
        system: System,
        context: Context,
        num_time_samples: int,
        fixed_time_step: Any = None,
        input_port_index: Any = None,
    ) -> None:
        if fixed_time_step is not None and not isinstance(fixed_time_step, DirectTranscription.TimeStep):
            fixed_time_step, input_port_index = None, fixed_time_step  # the constructor for discrete systems
        index = InputPortSelection.kUseFirstInputIfItExists if input_port_index is None else input_port_index
        period = _period(system, context)
        where = f"DirectTranscription: system '{system.GetSystemPathname()}'"
        if period == 0.0 and fixed_time_step is None:
            raise RuntimeError(f"{where} is continuous: pass DirectTranscription.TimeStep(h) for its time steps.")
        if period > 0.0 and fixed_time_step is not None:
            raise ValueError(f"{where} is discrete with period {period} s: it takes no time step.")
        self._dynamics = dynamics = SystemDynamics(system, context, index, "DirectTranscription")
        step = None if fixed_time_step is None else fixed_time_step.value
        super().__init__(dynamics.num_states, dynamics.num_inputs, num_time_samples, period if step is None else step)
        constraint = _TranscriptionConstraint(dynamics, step)
        is_affine = isinstance(system, AffineSystem)
        value, jacobian = np.zeros(0), np.zeros((0, 0))
        if is_affine:
            value, jacobian = constraint.at_zero()
        of_segment: Constraint = LinearEqualityConstraint(jacobian, -value) if is_affine else constraint
        variables = np.column_stack((self._u[:-1], self._x[:-1], self._x[1:]))
        add_alike(self._prog, copies_of(of_segment, [""] * len(variables)), variables)
        if dynamics.num_inputs:
            last, before = self.input(num_time_samples - 1), self.input(num_time_samples - 2)
            eye = np.eye(dynamics.num_inputs)
            self._prog.AddLinearEqualityConstraint(
                np.hstack([eye, -eye]), np.zeros(dynamics.num_inputs), np.concatenate([before, last])
            )

    def _add_running_cost(self, g: Any) -> None:
        """The sum of h g over all time steps."""
        cost, last = g * self._fixed_step, self._num_samples - 1
        if self._has_time(cost):
            for k in range(last):
                self._prog.AddCost(self._substituted(cost, k))
        else:
            self._add_at(parsed_cost(cost), slice(last))

    def ReconstructInputTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The input, constant over each time step."""
        if not self._dynamics.num_inputs:
            raise RuntimeError("ReconstructInputTrajectory(): the system has no input.")
        return PiecewisePolynomial.ZeroOrderHold(self.GetSampleTimes(result).tolist(), self.GetInputSamples(result))

    def ReconstructStateTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The state, constant over each time step."""
        return PiecewisePolynomial.ZeroOrderHold(self.GetSampleTimes(result).tolist(), self.GetStateSamples(result))


def _period(system: System, context: Context) -> float:
    """The period of a discrete system; 0 of a continuous one."""
    system.ValidateContext(context)
    where = f"DirectTranscription: system '{system.GetSystemPathname()}'"
    num_continuous, num_groups = context.num_continuous_states(), context.num_discrete_state_groups()
    if context.num_abstract_states() or bool(num_continuous) == bool(num_groups) or num_groups > 1:
        raise RuntimeError(
            f"{where} must have continuous state only, or one group of discrete state only; it has {num_continuous} "
            f"continuous states, {num_groups} groups of discrete and {context.num_abstract_states()} abstract states."
        )
    if num_continuous:
        return 0.0
    timing = system.GetUniquePeriodicDiscreteUpdateAttribute()
    if timing is None:
        raise RuntimeError(f"{where} must have discrete updates of exactly one period.")
    return float(timing.period_sec())
