"""Convex programs in the standard form of conic solvers.

Minimize 0.5 x'P x + q'x so that A x + s = b, with s in a product of cones: zeros, nonnegative numbers, Lorentz cones,
positive semidefinite matrices and exponential cones. Of P there is the upper triangle. The price z of a row is minus
the derivative of the least cost by b.
"""

from __future__ import annotations

__all__ = ["Cone", "ConicForm"]

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_constraints import square_root
from merganser.framework.optimization.solvers.linear_rows import LinearRows, Triplets


@dataclass
class Cone:
    """A cone of consecutive rows: "lorentz", "matrix" or "exponential", and the size of z, or of the matrix."""

    kind: str
    size: int


class ConicForm:
    """A program in conic form; `duals` and `point` bring a solution of it back."""

    def __init__(self, prog: MathematicalProgram) -> None:
        """Takes a program apart.

        Raises:
            ValueError: a quadratic cost was said to be convex and is not.
        """
        self._prog = prog
        self._num_vars = self.num_columns = prog.num_vars()
        self._P, self._cone_rows = Triplets(), Triplets()
        self._q: dict[int, float] = {}
        self._slopes = np.zeros(self._num_vars)
        self.linear = LinearRows()
        self.cones: list[Cone] = []
        self._cone_constants: list[Array] = []
        self._num_cone_rows = 0
        self._duals: list[tuple[Binding, int, int, Callable[[Array], Array]]] = []
        for binding in prog.GetLinearConstraints() + prog.bounding_box_constraints():
            self.linear.add(binding, prog._places_of(binding._variables))
        self._add_costs()
        self._add_cones()
        self.P = self._P.csc((self.num_columns, self.num_columns))
        self.q = np.concatenate((self._slopes, np.ones(self.num_columns - self._num_vars)))
        self._assemble()

    def _assemble(self) -> None:
        first = self.linear.num_equations
        second = first + self.linear.num_inequalities
        everything = Triplets()
        for part, start in ((self.linear.equations, 0), (self.linear.inequalities, first), (self._cone_rows, second)):
            for rows, columns, values in zip(part.rows, part.columns, part.values):
                everything.add(rows + start, columns, values)
        self.A = everything.csc((second + self._num_cone_rows, self.num_columns))
        self.b = np.concatenate([self.linear.right(), self.linear.limits(), *self._cone_constants])

    def _add_costs(self) -> None:
        for binding in self._prog.linear_costs():
            np.add.at(self._slopes, self._prog._places_of(binding._variables), binding.evaluator()._a)
        for binding in self._prog.quadratic_costs():
            cost, places = binding.evaluator(), self._prog._places_of(binding._variables)
            cost.check_convexity()
            np.add.at(self._slopes, places, cost._b)
            rows, columns = np.nonzero((cost._Q != 0.0) & (places[:, np.newaxis] <= places))
            self._P.add(places[rows], places[columns], cost._Q[rows, columns])
        for binding in self._prog.l2norm_costs():  # t with t >= |Ax + b|
            cost, places = binding.evaluator(), self._prog._places_of(binding._variables)
            t = self.num_columns
            self.num_columns += 1
            F = np.block([[np.zeros((1, places.size)), np.ones((1, 1))], [cost._A, np.zeros((cost._A.shape[0], 1))]])
            self._cone("lorentz", F, np.concatenate(([0.0], cost._b)), np.concatenate((places, [t])))

    def _cone(
        self, kind: str, F: Array, constants: Any, places: Any, binding: Binding | None = None,
        back: Callable[[Array], Array] = lambda z: z,
    ) -> None:  # fmt: skip
        """Adds F x[places] + constants in a cone, and how the price of a constraint follows from that of the rows."""
        rows, columns = np.nonzero(F)
        self._cone_rows.add(rows + self._num_cone_rows, places[columns], -F[rows, columns])
        self._cone_constants.append(constants)
        size = constants.size
        self.cones.append(Cone(kind, int((np.sqrt(8 * size + 1) - 1) / 2) if kind == "matrix" else size))
        if binding is not None:
            self._duals.append((binding, self._num_cone_rows, size, back))
        self._num_cone_rows += size

    def _add_cones(self) -> None:
        prog = self._prog
        for binding in prog.lorentz_cone_constraints():
            cone = binding.evaluator()
            self._cone("lorentz", cone._A, cone._b, prog._places_of(binding._variables), binding)
        for binding in prog.rotated_lorentz_cone_constraints():
            self._rotated(binding)
        for binding in prog.quadratic_constraints():
            self._quadratic(binding)
        for binding in prog.positive_semidefinite_constraints():
            rows, size = self._triangle(binding), binding.evaluator().matrix_rows()
            F = np.zeros((len(rows), size * size))
            for k, (i, j, scale) in enumerate(rows):
                F[k, i + size * j] = scale
            places = prog._places_of(binding._variables)
            self._cone("matrix", F, np.zeros(len(rows)), places, binding, _matrix_dual)
        for binding in prog.linear_matrix_inequality_constraints():
            rows = self._triangle(binding)
            vectors = np.array([[scale * F[i, j] for i, j, scale in rows] for F in binding.evaluator()._F])
            places = prog._places_of(binding._variables)
            self._cone("matrix", vectors[1:].T.reshape(len(rows), -1), vectors[0], places, binding, _matrix_dual)
        for binding in prog.exponential_cone_constraints():
            cone = binding.evaluator()  # solvers have z1 exp(z2 / z1) <= z0 in the order (z2, z1, z0)
            places = prog._places_of(binding._variables)
            self._cone("exponential", cone._A[::-1], cone._b[::-1], places, binding, lambda z: z[::-1])

    def _triangle(self, binding: Binding) -> list[tuple[int, int, float]]:
        """Places of the upper triangle of a symmetric matrix, column by column, with weights that keep lengths."""
        size = binding.evaluator().matrix_rows()
        return [(i, j, 1.0 if i == j else np.sqrt(2.0)) for j in range(size) for i in range(j + 1)]

    def _rotated(self, binding: Binding) -> None:
        # z0 z1 >= |z2|^2 says ((z0 + z1) / 2, (z0 - z1) / 2, z2) is in the Lorentz cone
        cone = binding.evaluator()
        T = np.eye(cone._b.size)
        T[:2, :2] = [[0.5, 0.5], [0.5, -0.5]]
        places = self._prog._places_of(binding._variables)
        self._cone("lorentz", T @ cone._A, T @ cone._b, places, binding, lambda z: T.T @ z)

    def _quadratic(self, binding: Binding) -> None:
        # With Q = R'R and t = u - b'x: 2 t >= |R x|^2 says (t + 1/2, t - 1/2, R x) is in the Lorentz cone
        constraint = binding.evaluator()
        places = self._prog._places_of(binding._variables)
        sign = 1.0 if np.isfinite(constraint._upper[0]) else -1.0
        bound = constraint._upper[0] if sign > 0.0 else -constraint._lower[0]
        if not np.isfinite(bound):
            self._duals.append((binding, 0, 0, lambda z: np.zeros(1)))
            return
        R = square_root(
            sign * constraint._Q, 1e-9 * float(np.abs(constraint._Q).max(initial=0.0)), "QuadraticConstraint"
        )
        slope = -sign * constraint._b
        F = np.vstack((slope, slope, R))
        constants = np.concatenate(([bound + 0.5, bound - 0.5], np.zeros(R.shape[0])))
        self._cone("lorentz", F, constants, places, binding, lambda z: np.array([-sign * (z[0] + z[1])]))

    def point(self, x: Array) -> Array:
        """Values of the variables of the program."""
        return np.array(x[: self._num_vars])

    def duals(self, z: Array) -> dict[Binding, Array]:
        """Prices of the constraints, of those of the rows."""
        first = self.linear.num_equations
        second = first + self.linear.num_inequalities
        result = self.linear.duals(-z[:first], -z[first:second])
        for binding, start, size, back in self._duals:
            result[binding] = back(z[second + start : second + start + size])
        return result


def _matrix_dual(z: Array) -> Array:
    """The lower triangle of a matrix, column by column, of the upper one, weighted off the diagonal."""
    size = int((np.sqrt(8 * z.size + 1) - 1) / 2)
    Z = np.zeros((size, size))
    Z.T[np.tril_indices(size)] = z
    Z = Z + np.triu(Z, 1).T
    Z[~np.eye(size, dtype=bool)] /= np.sqrt(2.0)
    return np.concatenate([Z[j:, j] for j in range(size)])
