"""DirectCollocation: states as cubic splines that obey the dynamics at the break points and midway between them.

Between two break points the input is linear and the state a cubic with the rates f_0 = f(x_0, u_0) and f_1 at its ends.
Midway it has the place and the rate

    x_c = (x_0 + x_1) / 2 + h (f_0 - f_1) / 8                                            (1)
    xdot_c = 3 (x_1 - x_0) / (2 h) - (f_0 + f_1) / 4                                     (2)

and the constraint of the segment is that this rate is that of the dynamics,

    xdot_c - f(x_c, (u_0 + u_1) / 2) = 0.                                                (3)

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
    MathematicalProgram,
    MathematicalProgramResult,
)
from merganser.framework.optimization.arrays import objects
from merganser.framework.optimization.evaluators.evaluators import StackedEvaluator, copies_of
from merganser.framework.optimization.programs.parsing import parsed_cost
from merganser.framework.optimization.programs.program_bindings import add_alike
from merganser.framework.optimization.programs.program_variables import set_time_steps
from merganser.framework.symbolic import MakeVectorContinuousVariable
from merganser.framework.trajectories import PiecewisePolynomial

Array = NDArray[np.float64]
_NUM_STARTS, _FROM, _MORE = 5, 41, 6  # searches, and more from so many break points, where they take less than SNOPT


class DirectCollocationConstraint(StackedEvaluator, Constraint):
    """Equation (3) of the variables [h, x_0, x_1, u_0, u_1].

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
        return slope - 0.25 * (f[:count] + f[count:]) - f_c, J  # (2), (3)

    def _points(self, x: Array) -> tuple[Array, Array]:
        """[x; u] at the starts of all segments and then at their ends, and midway."""
        n, count, (at_0, at_1) = self._dynamics.num_states, len(x), self._ends
        ends = np.concatenate([x[:, at_0], x[:, at_1]])
        f = self._dynamics.at(ends)[0]
        middle = 0.5 * (ends[:count] + ends[count:])
        middle[:, :n] += x[:, :1] / 8.0 * (f[:count] - f[count:])  # (1)
        return ends, middle

    def _curvature(self, x: Array, weights: Array) -> Array:
        """That of weights . (3): of f at the three points, and of products with h in (1) and (2)."""
        n, count, size, at_0, at_1 = self._dynamics.num_states, *x.shape, *self._ends
        ends, middle = self._points(x)
        f, A, B = self._dynamics.at(ends)
        h, change = x[:, :1], ends[count:, :n] - ends[:count, :n]
        by_x_c = -(weights[:, np.newaxis] @ self._dynamics.at(middle)[1])[:, 0] / 8.0  # d(3)/dx_c / 8
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
    """A trajectory optimization by collocation: equations (1) to (3) for each segment.

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
