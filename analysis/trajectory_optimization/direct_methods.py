"""Trajectories of programs: by direct transcription, and by direct collocation.

DirectTranscription: the next state is a function of the state and the input,

    x_(n+1) = f(x_n, u_n)            of discrete systems                                 (1)
    x_(n+1) = x_n + h f(x_n, u_n)    of continuous ones, by steps of Euler               (2)

DirectCollocation: states are cubic splines that obey the dynamics at the break points and midway between them. Between
two break points the input is linear and the state a cubic with the rates f_0 = f(x_0, u_0) and f_1 at its ends. Midway
it has the place and the rate

    x_c = (x_0 + x_1) / 2 + h (f_0 - f_1) / 8                                            (3)
    xdot_c = 3 (x_1 - x_0) / (2 h) - (f_0 + f_1) / 4                                     (4)

and the constraint of the segment is that this rate is that of the dynamics,

    xdot_c - f(x_c, (u_0 + u_1) / 2) = 0.                                                (5)

Source: C. Hargraves and S. Paris, Direct Trajectory Optimization Using Nonlinear Programming and Collocation (1987).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.system_dynamics import SystemDynamics
from merganser.analysis.trajectory_optimization.multiple_shooting import MultipleShooting
from merganser.framework import Context, InputPortSelection, System
from merganser.framework.optimization import (
    Binding,
    Constraint,
    InteriorPointSolver,
    LinearEqualityConstraint,
    MathematicalProgram,
    MathematicalProgramResult,
)
from merganser.framework.optimization.arrays import objects
from merganser.framework.optimization.evaluators.evaluators import StackedEvaluator, copies_of
from merganser.framework.optimization.programs.parsing import parsed_cost
from merganser.framework.optimization.programs.program_bindings import add_alike
from merganser.framework.optimization.programs.program_variables import set_time_steps
from merganser.framework.primitives import AffineSystem
from merganser.framework.symbolic import MakeVectorContinuousVariable
from merganser.framework.trajectories import PiecewisePolynomial

Array = NDArray[np.float64]
_NUM_STARTS, _FROM, _MORE = 5, 41, 6  # searches, and more from so many break points, where they take less than SNOPT


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


class DirectCollocationConstraint(StackedEvaluator, Constraint):
    """Equation (5) of the variables [h, x_0, x_1, u_0, u_1].

    Args:
        system: with continuous state; it must support AutoDiffXd.
        context: of it, for parameters and other inputs; it is not changed.
        input_port_index: which port u is, or an InputPortSelection.
        assume_non_continuous_states_are_fixed: lets there be other state, which keeps its values.

    Raises:
        RuntimeError: the system has no continuous state, or other state too.
        ValueError, IndexError: there is no such vector port.
    """

    def __init__(
        self,
        system: System,
        context: Context,
        input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists,
        assume_non_continuous_states_are_fixed: bool = False,
    ) -> None:
        system.ValidateContext(context)
        where = f"DirectCollocation: system '{system.GetSystemPathname()}'"
        if not context.num_continuous_states():
            raise RuntimeError(f"{where} has no continuous state; for discrete systems there is DirectTranscription.")
        num_discrete, num_abstract = context.num_discrete_state_groups(), context.num_abstract_states()
        if (num_discrete or num_abstract) and not assume_non_continuous_states_are_fixed:
            raise RuntimeError(
                f"{where} has {num_discrete} groups of discrete and {num_abstract} abstract states beside its "
                "continuous one. If the dynamics do not depend on them, pass "
                "assume_non_continuous_states_are_fixed=True."
            )
        self._dynamics = SystemDynamics(system, context, input_port_index, "DirectCollocation")
        n, m = self._dynamics.num_states, self._dynamics.num_inputs
        states, inputs = 1 + np.arange(n), 1 + 2 * n + np.arange(m)
        self._ends = np.concatenate([states, inputs]), np.concatenate([n + states, m + inputs])  # columns of [x; u]
        Constraint.__init__(self, 1 + 2 * (n + m), np.zeros(n), np.zeros(n))

    def num_states(self) -> int:
        """The size of x."""
        return self._dynamics.num_states

    def num_inputs(self) -> int:
        """The size of u."""
        return self._dynamics.num_inputs

    def dynamics(self) -> SystemDynamics:
        """f(x, u)."""
        return self._dynamics

    def _stack_key(self) -> Any:
        return self._dynamics

    def _has_curvature(self) -> bool:
        return self._dynamics.are_fast()

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        n, count, at_0, at_1 = self._dynamics.num_states, len(x), *self._ends
        ends, middle = self._points(x)
        f, A, B = self._dynamics.at(ends)
        f_c, A_c, B_c = self._dynamics.at(middle)
        h, step, eye = x[:, :1], x[:, :1, np.newaxis], np.eye(n)
        slope = 1.5 * (ends[count:, :n] - ends[:count, :n]) / h
        J = np.empty((count, n, x.shape[1]))
        forward, backward = 0.25 * eye + step / 8.0 * A_c, 0.25 * eye - step / 8.0 * A_c
        J[..., 0] = -slope / h - (A_c @ (f[:count] - f[count:])[..., np.newaxis])[..., 0] / 8.0
        J[..., at_0[:n]] = -1.5 / step * eye - 0.5 * A_c - forward @ A[:count]
        J[..., at_1[:n]] = 1.5 / step * eye - 0.5 * A_c - backward @ A[count:]
        J[..., at_0[n:]] = -0.5 * B_c - forward @ B[:count]
        J[..., at_1[n:]] = -0.5 * B_c - backward @ B[count:]
        return slope - 0.25 * (f[:count] + f[count:]) - f_c, J  # (4), (5)

    def _points(self, x: Array) -> tuple[Array, Array]:
        """[x; u] at the starts of all segments and then at their ends, and midway."""
        n, count, (at_0, at_1) = self._dynamics.num_states, len(x), self._ends
        ends = np.concatenate([x[:, at_0], x[:, at_1]])
        f = self._dynamics.at(ends)[0]
        middle = 0.5 * (ends[:count] + ends[count:])
        middle[:, :n] += x[:, :1] / 8.0 * (f[:count] - f[count:])  # (3)
        return ends, middle

    def _curvature(self, x: Array, weights: Array) -> Array:
        """That of weights . (5): of f at the three points, and of products with h in (3) and (4)."""
        n, count, size, at_0, at_1 = self._dynamics.num_states, *x.shape, *self._ends
        ends, middle = self._points(x)
        f, A, B = self._dynamics.at(ends)
        h, change = x[:, :1], ends[count:, :n] - ends[:count, :n]
        by_x_c = -(weights[:, np.newaxis] @ self._dynamics.at(middle)[1])[:, 0] / 8.0  # d(5)/dx_c / 8
        of_points = np.concatenate([h * by_x_c - 0.25 * weights, -h * by_x_c - 0.25 * weights, -weights])
        curvatures = self._dynamics.curvature(np.concatenate([ends, middle]), of_points)
        H_0, H_1, H_c = curvatures.reshape(3, count, len(at_0), -1)
        H, by_x = np.zeros((count, size, size)), np.zeros((count, len(at_0), size))  # of [x_c; u_c]
        H[:, at_0[:, np.newaxis], at_0], H[:, at_1[:, np.newaxis], at_1] = H_0, H_1
        df, slopes = np.zeros((count, n, size)), np.concatenate([A, B], axis=2)  # of f_0 - f_1
        df[..., at_0], df[..., at_1] = slopes[:count], -slopes[count:]
        by_x[:, :n] = h[..., np.newaxis] / 8.0 * df
        by_x[:, :n, 0] = (f[:count] - f[count:]) / 8.0
        for at in (at_0, at_1):
            by_x[:, np.arange(len(at)), at] += 0.5
        H += by_x.swapaxes(1, 2) @ H_c @ by_x
        by_h = by_x_c[:, np.newaxis] @ df
        by_h[:, 0, at_0[:n]] += 1.5 * weights / h**2
        by_h[:, 0, at_1[:n]] -= 1.5 * weights / h**2
        H[:, :1] += by_h
        H[:, :, :1] += by_h.swapaxes(1, 2)
        H[:, 0, 0] += 3.0 * (weights * change).sum(axis=1) / h[:, 0] ** 3
        return H


def AddDirectCollocationConstraint(
    constraint: DirectCollocationConstraint,
    time_step: Any,
    state: Any,
    next_state: Any,
    input: Any,
    next_input: Any,
    prog: MathematicalProgram,
) -> Binding:
    """Adds the constraint of one segment, its variables in their order.

    Args:
        constraint: of a system.
        time_step: h, shape [1].
        state, next_state: x_0 and x_1.
        input, next_input: u_0 and u_1.
        prog: to which it is added.

    Raises:
        ValueError: something has another size than it must have.
    """
    n, m = constraint.num_states(), constraint.num_inputs()
    given = {"time_step": time_step, "state": state, "next_state": next_state, "input": input, "next_input": next_input}
    parts = [objects(each).ravel() for each in given.values()]
    for name, part, size in zip(given, parts, (1, n, n, m, m)):
        if len(part) != size:
            raise ValueError(f"AddDirectCollocationConstraint(): {name} must have {size} variables, not {len(part)}.")
    return prog.AddConstraint(constraint, np.concatenate(parts))


class DirectCollocation(MultipleShooting):
    """A trajectory optimization by collocation: equations (3) to (5) for each segment.

    Args:
        system: with continuous state; it must support AutoDiffXd.
        context: of it, for parameters and other inputs; it is not changed.
        num_time_samples: number of break points.
        minimum_time_step, maximum_time_step: bounds of the time steps between them, which are variables [s].
        input_port_index: which port u is, or an InputPortSelection.
        assume_non_continuous_states_are_fixed: lets there be other state, which keeps its values.
        prog: to which variables and constraints are added; by default a new one.

    Raises:
        RuntimeError: the system has no continuous state, or other state too.
        ValueError: numbers are out of range.
        ValueError, IndexError: there is no such vector port.
    """

    def __init__(
        self,
        system: System,
        context: Context,
        num_time_samples: int,
        minimum_time_step: float,
        maximum_time_step: float,
        input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists,
        assume_non_continuous_states_are_fixed: bool = False,
        prog: MathematicalProgram | None = None,
    ) -> None:
        self._constraint = DirectCollocationConstraint(
            system, context, input_port_index, assume_non_continuous_states_are_fixed
        )
        self._steps_beside = objects(MakeVectorContinuousVariable(2, "h"))  # placeholders
        sizes = self._constraint.num_states(), self._constraint.num_inputs()
        super().__init__(*sizes, num_time_samples, (minimum_time_step, maximum_time_step), prog)
        count = _MORE if num_time_samples >= _FROM else _NUM_STARTS
        self._prog.SetSolverOption(InteriorPointSolver.id(), "num_starts", count)
        set_time_steps(self._prog, self._h)
        names = (f"collocation constraint for segment {k}" for k in range(num_time_samples - 1))
        x, u = self._x, self._u
        variables = np.column_stack((self._h, x[:-1], x[1:], u[:-1], u[1:]))
        add_alike(self._prog, copies_of(self._constraint, names), variables)

    def _add_running_cost(self, g: Any) -> None:
        """By the trapezoidal rule."""
        half, last, (before, after) = 0.5 * g, self._num_samples - 1, self._steps_beside
        if self._has_time(half):
            for k in range(last + 1):
                steps = self._h[max(k - 1, 0) : min(k + 1, last)]
                self._prog.AddCost(self._substituted(half, k) * sum(steps[1:], 1.0 * steps[0]))
            return
        at_end, between = parsed_cost(half * before), parsed_cost(half * (before + after))
        self._add_at(at_end, slice(1), {before: self._h[:1]})
        self._add_at(between, slice(1, last), {before: self._h[:-1], after: self._h[1:]})
        self._add_at(at_end, slice(last, None), {before: self._h[-1:]})

    def ReconstructInputTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The input, linear between the break points.

        Raises:
            RuntimeError: the system has no input.
        """
        if not self._constraint.num_inputs():
            raise RuntimeError("ReconstructInputTrajectory(): the system has no input.")
        return PiecewisePolynomial.FirstOrderHold(self.GetSampleTimes(result).tolist(), self.GetInputSamples(result))

    def ReconstructStateTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The state: cubics with the rates of the dynamics at the break points."""
        states = self.GetStateSamples(result)
        rates, _, _ = self._constraint.dynamics().at(np.vstack([states, self.GetInputSamples(result)]).T)
        return PiecewisePolynomial.CubicHermite(self.GetSampleTimes(result).tolist(), states, rates.T)
