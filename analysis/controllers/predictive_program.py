"""The quadratic program of a model predictive controller, made once and solved again for each state."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.controllers.predicted_motion import Step

if TYPE_CHECKING:
    from merganser.framework.optimization import MathematicalProgramResult

__all__ = ["Limits", "PredictiveProgram"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limits:
    """lower <= x <= upper, or of u; infinite where there is none."""

    lower: Array
    upper: Array

    def are_there(self) -> bool:
        """Whether one is finite."""
        return bool(np.isfinite(np.concatenate((self.lower, self.upper))).any())


class PredictiveProgram:
    """min sum_k dx_k' Q dx_k + du_k' R du_k + dx_N' Q_N dx_N, with steps and limits; k from 0 to N - 1.

    Args:
        steps: what is ahead when the program is made, N + 1 of them; of the last only its x_ref counts.
        Q, R, Q_N: costs, shapes [n, n], [m, m] and [n, n].
        of_states, of_inputs: limits of x_1 to x_N, and of u.
    """

    def __init__(self, steps: list[Step], Q: Array, R: Array, Q_N: Array, of_states: Limits, of_inputs: Limits) -> None:
        from merganser.framework.optimization import ClarabelSolver, MathematicalProgram

        (n, m), N = steps[0].B.shape, len(steps) - 1
        self._prog = prog = MathematicalProgram()
        self._dx = prog.NewContinuousVariables(n, N + 1, "dx")
        self._du = prog.NewContinuousVariables(m, N, "du")
        self._of_states, self._of_inputs = of_states, of_inputs
        start = prog.AddLinearEqualityConstraint(np.eye(n), np.zeros(n), self._dx[:, 0])
        self._start = start.evaluator()
        start.evaluator().set_description("state now")
        self._dynamics, self._state_limits, self._input_limits = [], [], []
        for k, step in enumerate(steps[:-1]):
            x, u, following = self._dx[:, k], self._du[:, k], self._dx[:, k + 1]
            A, b = _rows(step)
            self._dynamics.append(prog.AddLinearEqualityConstraint(A, b, np.concatenate((x, u, following))).evaluator())
            self._dynamics[-1].set_description(f"dynamics of step {k}")
            prog.AddQuadraticCost(2.0 * (Q if k else 0.0 * Q), np.zeros(n), x, is_convex=True)
            prog.AddQuadraticCost(2.0 * R, np.zeros(m), u, is_convex=True)
            self._input_limits += self._add_limits(of_inputs, u, f"limits of the input of step {k}")
            self._state_limits += self._add_limits(of_states, following, f"limits of the state after step {k}")
        prog.AddQuadraticCost(2.0 * Q_N, np.zeros(n), self._dx[:, N], is_convex=True)
        self._places = [
            np.array(prog.FindDecisionVariableIndices(v.ravel())).reshape(v.shape) for v in (self._dx, self._du)
        ]
        self._held: list[Step] | None = None
        self._hold(steps)
        self._solver = ClarabelSolver()

    def _add_limits(self, limits: Limits, variables: Any, description: str) -> list[Any]:
        if not limits.are_there():
            return []
        evaluator = self._prog.AddBoundingBoxConstraint(limits.lower, limits.upper, variables).evaluator()
        evaluator.set_description(description)
        return [evaluator]

    def num_vars(self) -> int:
        """The size of solutions."""
        return int(self._prog.num_vars())

    def input_change(self, solution: Array) -> Array:
        """du_0 of a solution, shape [m]."""
        change: Array = solution[self._places[1][:, 0]]
        return change

    def one_step_later(self, solution: Array) -> Array:
        """A guess: the solution, moved by one step."""
        guess = solution.copy()
        for places in self._places:
            guess[places[:, :-1]] = solution[places[:, 1:]]
        return guess

    def solve(self, x: Array, steps: list[Step], guess: Array) -> MathematicalProgramResult:
        """The solution for a state x now, shape [n], and what is ahead, N + 1 steps, from a guess, shape [num_vars]."""
        self._hold(steps)
        self._start.UpdateCoefficients(np.eye(x.size), x - steps[0].x)
        return self._solver.Solve(self._prog, guess)

    def explain(self, result: MathematicalProgramResult) -> str:
        """How a program without a solution ended, and which of its constraints do not hold."""
        names = result.GetInfeasibleConstraintNames(self._prog)
        rows = "; ".join(names[:3]) + ("; ..." if len(names) > 3 else "")
        return f"{result.get_solution_result().name}{', ' + rows if rows else ''}"

    def _hold(self, steps: list[Step]) -> None:
        """Sets what depends on the steps, where they have changed."""
        held = self._held
        for k, (step, following) in enumerate(itertools.pairwise(steps)):
            if held is not None and held[k] is step and held[k + 1] is following:
                continue
            self._dynamics[k].UpdateCoefficients(*_rows(step))
            for limits, evaluators, at in (
                (self._of_inputs, self._input_limits, step.u),
                (self._of_states, self._state_limits, following.x),
            ):
                if evaluators:
                    evaluators[k].set_bounds(limits.lower - at, limits.upper - at)
        self._held = list(steps)


def _rows(step: Step) -> tuple[Array, Array]:
    """[A B -1] [dx; du; dx'] = -c."""
    return np.hstack((step.A, step.B, -np.eye(len(step.A)))), -step.c
