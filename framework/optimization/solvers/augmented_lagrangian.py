"""Augmented Lagrangians of nonlinear programs (Nocedal and Wright, Numerical Optimization, 17.4).

A program has rows h(x) = 0, and c(x) >= 0 for each finite bound of a row that is no equation: first that above the
lower bound, then that below the upper one. With slacks s >= 0, multipliers lambda and a weight mu

    L(x, s) = f - lambda'h + mu/2 h'h - lambda'(c - s) + mu/2 (c - s)'(c - s)                                     (1)

is smooth in x and s. With the s that is best for each x, s = max(c - lambda/mu, 0), it is a function of x alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_bindings import CONSTRAINTS, COSTS
from merganser.framework.optimization.solvers.judgement import box_of


class _AugmentedLagrangian:
    """The rows of a program, in the order of GetAllConstraints, but boxes at the end."""

    def __init__(self, prog: MathematicalProgram, include_x_bounds: bool) -> None:
        """Takes the constraints that a program has now.

        Args:
            prog: the program.
            include_x_bounds: whether bounds of the variables are rows as well.
        """
        self._prog, self._include_x_bounds = prog, bool(include_x_bounds)
        self._x_lower, self._x_upper = box_of(prog)
        self._constraints = prog._placed(*(name for name in CONSTRAINTS if name != "bounding_box_constraints"))
        bounds = [(each._lower, each._upper) for _, each, _ in self._constraints]
        if self._include_x_bounds:
            bounds.append((self._x_lower, self._x_upper))
        self._rows: list[tuple[int, float, float]] = []  # c = sign y[i] - bound
        self._is_equality: list[bool] = []
        lower, upper = (np.concatenate([np.zeros(0), *(pair[k] for pair in bounds)]) for k in range(2))
        for i, (low, high) in enumerate(zip(lower, upper)):
            ends = [(i, 1.0, float(low))] if np.isfinite(low) else []
            ends += [(i, -1.0, float(-high))] if np.isfinite(high) and low != high else []
            self._rows += ends
            self._is_equality += [bool(low == high)] * len(ends)

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    def include_x_bounds(self) -> bool:
        """Whether bounds of the variables are rows as well."""
        return self._include_x_bounds

    def lagrangian_size(self) -> int:
        """The number of rows, and of multipliers."""
        return len(self._rows)

    def is_equality(self) -> list[bool]:
        """Whether each row is an equation."""
        return list(self._is_equality)

    def x_lo(self) -> Array:
        """Lower bounds of the variables, shape [num_vars]."""
        return self._x_lower.copy()

    def x_up(self) -> Array:
        """Upper bounds of the variables, shape [num_vars]."""
        return self._x_upper.copy()

    def _checked(self, x: Any, lambda_val: Any, mu: float) -> tuple[Any, Array]:
        """x and the multipliers.

        Raises:
            ValueError: a size differs, or mu is not positive.
        """
        point, multipliers = np.ravel(np.asarray(x)), np.ravel(np.asarray(lambda_val, dtype=np.float64))
        name = type(self).__name__
        if point.size != self._prog.num_vars() or multipliers.size != len(self._rows):
            raise ValueError(
                f"{name}.Eval: expected {self._prog.num_vars()} values in x and {len(self._rows)} in lambda_val, got "
                f"{point.size} and {multipliers.size}."
            )
        if not mu > 0.0:
            raise ValueError(f"{name}.Eval: expected mu > 0, got {mu}.")
        return point, multipliers

    def _cost_and_rows(self, x: Any) -> tuple[Any, list[Any]]:
        """f and all h and c at x, of floats or of AutoDiffXd."""
        cost = sum((each.Eval(x[places])[0] for _, each, places in self._prog._placed(*COSTS)), 0.0)
        y = [value for _, each, places in self._constraints for value in each.Eval(x[places])]
        if self._include_x_bounds:
            y.extend(x)
        return cost, [sign * y[i] - bound for i, sign, bound in self._rows]

    def _lagrangian(self, cost: Any, residues: list[Any], multipliers: Array, mu: float) -> Any:
        """(1), of the residues h and c - s."""
        for residue, price in zip(residues, multipliers):
            cost = cost - price * residue + 0.5 * mu * residue * residue
        return cost


def _vector(values: list[Any]) -> Any:
    return np.array(values, dtype=np.float64 if all(isinstance(each, float) for each in values) else object)


class AugmentedLagrangianNonsmooth(_AugmentedLagrangian):
    """The augmented Lagrangian of x alone, where the best slacks make a kink."""

    def Eval(self, x: Any, lambda_val: Any, mu: float) -> tuple[Any, Any, Any]:
        """The augmented Lagrangian, h and c, and the cost.

        Args:
            x: values of all variables, of floats or of AutoDiffXd, shape [num_vars].
            lambda_val: multipliers, shape [lagrangian_size].
            mu: the weight of squares, positive.

        Raises:
            ValueError: a size differs, or mu is not positive.
        """
        point, multipliers = self._checked(x, lambda_val, mu)
        cost, rows = self._cost_and_rows(point)
        # The best s is c - lambda / mu, where that is not negative.
        residues = [
            c if is_equality or c < price / mu else price / mu
            for c, price, is_equality in zip(rows, multipliers, self._is_equality)
        ]
        return self._lagrangian(cost, residues, multipliers, mu), _vector(rows), cost


class AugmentedLagrangianSmooth(_AugmentedLagrangian):
    """The augmented Lagrangian (1) of x and of slacks s, which a solver is to keep at 0 or above."""

    def s_size(self) -> int:
        """The number of slacks: rows that are no equations."""
        return self._is_equality.count(False)

    def Eval(self, x: Any, s: Any, lambda_val: Any, mu: float) -> tuple[Any, Any, Any]:
        """The augmented Lagrangian, h and c - s, and the cost.

        Args:
            x: values of all variables, of floats or of AutoDiffXd, shape [num_vars].
            s: slacks, of floats or of AutoDiffXd, shape [s_size].
            lambda_val: multipliers, shape [lagrangian_size].
            mu: the weight of squares, positive.

        Raises:
            ValueError: a size differs, or mu is not positive.
        """
        point, multipliers = self._checked(x, lambda_val, mu)
        slacks = np.ravel(np.asarray(s))
        if slacks.size != self.s_size():
            raise ValueError(f"AugmentedLagrangianSmooth.Eval: expected {self.s_size()} slacks, got {slacks.size}.")
        cost, rows = self._cost_and_rows(point)
        rest = iter(slacks)
        residues = [c if is_equality else c - next(rest) for c, is_equality in zip(rows, self._is_equality)]
        return self._lagrangian(cost, residues, multipliers, mu), _vector(residues), cost
