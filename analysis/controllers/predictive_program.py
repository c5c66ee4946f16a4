"""The quadratic program of a model predictive controller, made once and solved again for each state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.controllers.predicted_motion import Step

if TYPE_CHECKING:
    from merganser.framework.optimization import Binding, MathematicalProgramResult

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limits:
    """lower <= x <= upper, or of u; infinite where unbounded."""

    lower: Array
    upper: Array

    def are_there(self) -> bool:
        """Whether any limit is finite."""
        return bool(np.isfinite(np.concatenate((self.lower, self.upper))).any())


class PredictiveProgram:
    """min sum_k dx_k' Q dx_k + du_k' R du_k + dx_N' Q_N dx_N, with steps and limits; k from 0 to N - 1.

    Args:
        steps: what is ahead when the program is made, N + 1 of them; of the last only its x_ref counts.
        Q, R, Q_N: costs, shapes [n, n], [m, m] and [n, n].
        of_states, of_inputs: limits of x_1 to x_N, and of u.
    """

    def __init__(self, steps: list[Step], Q: Array, R: Array, Q_N: Array, of_states: Limits, of_inputs: Limits) -> None:
        from merganser.framework.optimization import ClarabelSolver, DaqpSolver, MathematicalProgram

        (n, m), N = steps[0].B.shape, len(steps) - 1
        self._prog = prog = MathematicalProgram()
        x = prog.NewContinuousVariables(n * (N + 1), "dx")
        u = prog.NewContinuousVariables(m * N, "du")
        self._num_states, self._num_inputs, self._num_steps = n, m, N
        self._of_states, self._of_inputs = of_states, of_inputs
        self._start = prog.AddLinearEqualityConstraint(np.eye(n), np.zeros(n), x[:n]).evaluator()
        rows, gaps = _dynamics(steps[:-1])
        everything = np.concatenate((x, u))
        self._dynamics = prog.AddLinearEqualityConstraint(rows, gaps, everything).evaluator()
        costs = [*[Q] * (N - 1), Q_N, *[R] * N]  # the state now costs what it costs
        prog.AddQuadraticCost(2.0 * _block_diagonal(costs), np.zeros(N * (n + m)), everything[n:], is_convex=True)
        self._input_limits = self._add_limits(of_inputs, u)
        self._state_limits = self._add_limits(of_states, x[n:])
        self._held: list[Step] | None = None
        self._hold(steps)
        small = DaqpSolver()
        self._solver = small if small.available() and small.suits(prog) else ClarabelSolver()

    def _add_limits(self, limits: Limits, variables: Any) -> Binding | None:
        if not limits.are_there():
            return None
        lower, upper = (np.tile(bound, self._num_steps) for bound in (limits.lower, limits.upper))
        return self._prog.AddBoundingBoxConstraint(lower, upper, variables)

    def num_vars(self) -> int:
        """The size of solutions."""
        return int(self._prog.num_vars())

    def input_change(self, solution: Array) -> Array:
        """du_0 of a solution, shape [m]."""
        first = self._num_states * (self._num_steps + 1)
        return solution[first : first + self._num_inputs]

    def one_step_later(self, solution: Array) -> Array:
        """A guess: the solution, moved by one step."""
        x, u = np.split(solution, [self._num_states * (self._num_steps + 1)])
        n, m = self._num_states, self._num_inputs
        return np.concatenate((x[n:], x[-n:], u[m:], u[-m:]))

    def solve(self, x: Array, steps: list[Step], guess: Array) -> MathematicalProgramResult:
        """The solution for a state x now, shape [n], and what is ahead, N + 1 steps, from a guess, shape [num_vars]."""
        self._hold(steps)
        self._start.UpdateCoefficients(np.eye(x.size), x - steps[0].x)
        return self._solver.Solve(self._prog, guess)

    def explain(self, result: MathematicalProgramResult) -> str:
        """How a program without a solution ended, and where the best motion without limits of states leaves them."""
        ended = result.get_solution_result().name
        if self._state_limits is None:
            return ended
        prog = self._prog.Clone()
        prog.RemoveConstraint(self._state_limits)
        free = self._solver.Solve(prog)
        limits = self._state_limits.evaluator()
        dx = free.get_x_val()[self._num_states :][: limits.num_vars()]
        outside = np.flatnonzero((dx < limits.lower_bound()) | (dx > limits.upper_bound()))
        if not free.is_success() or not outside.size:
            return ended
        assert self._held is not None  # it was solved
        k, i = divmod(int(outside[0]), self._num_states)
        value, lower, upper = (
            dx[outside[0]] + self._held[k + 1].x[i],
            self._of_states.lower[i],
            self._of_states.upper[i],
        )
        return (
            f"{ended}: without state_limits, the best motion is outside first after step {k}, where element {i} of the "
            f"state is {value:.6g}, and should be in [{lower:.6g}, {upper:.6g}]"
        )

    def _hold(self, steps: list[Step]) -> None:
        """Sets what depends on the steps, where they have changed."""
        held = self._held
        if held is not None and all(one is other for one, other in zip(held, steps)):
            return
        self._dynamics.UpdateCoefficients(*_dynamics(steps[:-1]))
        for binding, limits, at in (
            (self._input_limits, self._of_inputs, [step.u for step in steps[:-1]]),
            (self._state_limits, self._of_states, [step.x for step in steps[1:]]),
        ):
            if binding is not None:
                lower, upper = ((bound - np.array(at)).ravel() for bound in (limits.lower, limits.upper))
                binding.evaluator().set_bounds(lower, upper)
        self._held = list(steps)


def _dynamics(steps: list[Step]) -> tuple[Array, Array]:
    """A dx_k + B du_k - dx_(k+1) = -c of all steps, as a matrix for [dx; du] and a vector."""
    (n, m), N = steps[0].B.shape, len(steps)
    rows = np.zeros((n * N, n * (N + 1) + m * N))
    for k, step in enumerate(steps):
        here, first = slice(n * k, n * (k + 1)), n * (N + 1) + m * k
        rows[here, here], rows[here, first : first + m] = step.A, step.B
        rows[here, n * (k + 1) : n * (k + 2)] = -np.eye(n)
    return rows, -np.concatenate([step.c for step in steps])


def _block_diagonal(blocks: list[Array]) -> Array:
    from scipy.linalg import block_diag

    matrix: Array = block_diag(*blocks)
    return matrix
