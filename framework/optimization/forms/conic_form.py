"""Convex programs in the standard form of conic solvers.

Minimize 0.5 x'P x + q'x so that A x + s = b, with s in a product of cones: zeros, nonnegative numbers, Lorentz cones,
positive semidefinite matrices and exponential cones. Of P there is the upper triangle. The price z of a row is minus
the derivative of the least cost by b.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.quadratic_form import (
    LINEAR,
    Compressed,
    LinearRows,
    OneSidedRows,
    QuadraticCosts,
    Triplets,
)
from merganser.framework.optimization.forms.scales import balance, is_balanced, power_of_two, unit_of_cost
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_constraints import root_of_form


@dataclass
class Cone:
    """A cone of consecutive rows: "lorentz", "matrix" or "exponential", and the size of z, or of the matrix."""

    kind: str
    size: int

    def num_rows(self) -> int:
        """The number of rows of A."""
        return self.size * (self.size + 1) // 2 if self.kind == "matrix" else self.size


@dataclass
class Scaled:
    """P, q, A and b in other units; x times `of_x` and prices times `of_prices` are those of the program."""

    P: Any
    q: Array
    A: Any
    b: Array
    of_x: Array
    of_prices: Array


_LARGE = 10_000  # entries of P and A
_ROWS = (
    "l2norm_costs", *LINEAR, "lorentz_cone_constraints", "rotated_lorentz_cone_constraints", "quadratic_constraints",
    "positive_semidefinite_constraints", "linear_matrix_inequality_constraints", "exponential_cone_constraints",
)  # fmt: skip
_COSTS = ("linear_costs", "quadratic_costs")


class ConicForm:
    """A program in conic form, made by `of`; `duals` and `point` bring a solution of it back.

    Attributes:
        curvatures, q: the costs, the former as arrays.
        solvers: what solvers have made of it for the next solution, by their options; who solves takes it out.
    """

    curvatures: Compressed
    q: Array
    solvers: dict[Any, Any]

    def __init__(self, prog: MathematicalProgram) -> None:
        """Takes a program apart, but for its costs."""
        self.prog = prog
        self._num_vars = self.num_columns = prog.num_vars()
        self._cone_rows = Triplets()
        self.linear = OneSidedRows(LinearRows.of(prog, *LINEAR))
        self.cones: list[Cone] = []
        self._cone_constants: list[Array] = []
        self._num_cone_rows = 0
        self._duals: list[tuple[Binding, int, int, Callable[[Array], Array]]] = []
        self._add_lengths()
        self._add_cones()
        self._assemble()

    @classmethod
    def of(cls, prog: MathematicalProgram) -> ConicForm:
        """The form of a program; the same object as before, if its numbers are the same.

        Raises:
            ValueError: a quadratic cost was said to be convex and is not.
        """
        rows: ConicForm = prog._remembered("conic rows", prog._numbers(*_ROWS), lambda: cls(prog))
        form: ConicForm = prog._remembered(cls, [rows, *prog._numbers(*_COSTS)], rows._with_costs)
        return form

    def _with_costs(self) -> ConicForm:
        """The same rows, with the costs of the program."""
        form, costs = copy.copy(self), QuadraticCosts.of(self.prog)
        form.solvers = {}
        form.curvatures = costs.upper_triangle().compressed((self.num_columns, self.num_columns))
        form.q = np.concatenate((costs.f, np.ones(self.num_columns - self._num_vars)))
        return form

    @cached_property
    def P(self) -> Any:
        """P as a csc_matrix; `curvatures` are its arrays."""
        return self.curvatures.matrix()

    @cached_property
    def A(self) -> Any:
        """A as a csc_matrix; `slopes` are its arrays."""
        return self.slopes.matrix()

    def _assemble(self) -> None:
        first = self.linear.num_equations
        second = first + self.linear.num_inequalities
        everything = Triplets()
        linear = (self.linear.equations(), 0), (self.linear.inequalities(), first)
        for part, start in (*linear, (self._cone_rows, second)):
            for rows, columns, values in zip(part.rows, part.columns, part.values):
                everything.add(rows + start, columns, values)
        self.slopes = everything.compressed((second + self._num_cone_rows, self.num_columns))
        self.b = np.concatenate([self.linear.right, self.linear.limits, *self._cone_constants])

    def _add_lengths(self) -> None:
        for _, cost, places in self.prog._placed("l2norm_costs"):  # t with t >= |Ax + b|
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
        if size == 0:  # a matrix without rows
            self._duals += [] if binding is None else [(binding, 0, 0, lambda z: z)]
            return
        self.cones.append(Cone(kind, int((np.sqrt(8 * size + 1) - 1) / 2) if kind == "matrix" else size))
        if binding is not None:
            self._duals.append((binding, self._num_cone_rows, size, back))
        self._num_cone_rows += size

    def _add_cones(self) -> None:
        prog = self.prog
        for binding, cone, places in prog._placed("lorentz_cone_constraints"):
            self._cone("lorentz", cone._A, cone._b, places, binding)
        for binding, cone, places in prog._placed("rotated_lorentz_cone_constraints"):
            # z0 z1 >= |z2|^2 says ((z0 + z1) / 2, (z0 - z1) / 2, z2) is in the Lorentz cone
            T = np.eye(cone._b.size)
            T[:2, :2] = [[0.5, 0.5], [0.5, -0.5]]
            self._cone("lorentz", T @ cone._A, T @ cone._b, places, binding, T.T.dot)
        for binding, constraint, places in prog._placed("quadratic_constraints"):
            self._quadratic(binding, constraint, places)
        for binding, cone, places in prog._placed("positive_semidefinite_constraints"):
            size = cone.matrix_rows()
            rows, columns, weights, _ = _triangle(size)
            F = np.zeros((weights.size, size * size))
            F[np.arange(weights.size), rows + size * columns] = weights
            self._cone("matrix", F, np.zeros(weights.size), places, binding, _matrix_dual)
        for binding, cone, places in prog._placed("linear_matrix_inequality_constraints"):
            rows, columns, weights, _ = _triangle(cone.matrix_rows())
            vectors = np.array([weights * each[rows, columns] for each in cone._F])
            slopes = vectors[1:].T.reshape(weights.size, len(vectors) - 1)
            self._cone("matrix", slopes, vectors[0], places, binding, _matrix_dual)
        for binding, cone, places in prog._placed("exponential_cone_constraints"):
            # solvers have z1 exp(z2 / z1) <= z0 in the order (z2, z1, z0)
            self._cone("exponential", cone._A[::-1], cone._b[::-1], places, binding, lambda z: z[::-1])

    def _quadratic(self, binding: Binding, constraint: Any, places: Any) -> None:
        # With Q = R'R and t = u - b'x: 2 t >= |R x|^2 says (t + 1/2, t - 1/2, R x) is in the Lorentz cone
        sign = 1.0 if np.isfinite(constraint._upper[0]) else -1.0
        bound = constraint._upper[0] if sign > 0.0 else -constraint._lower[0]
        if not np.isfinite(bound):
            self._duals.append((binding, 0, 0, lambda z: np.zeros(1)))
            return
        R = root_of_form(sign * constraint._Q, "QuadraticConstraint")
        slope = -sign * constraint._b
        F = np.vstack((slope, slope, R))
        constants = np.concatenate(([bound + 0.5, bound - 0.5], np.zeros(R.shape[0])))
        self._cone("lorentz", F, constants, places, binding, lambda z: np.array([-sign * (z[0] + z[1])]))

    @property
    def is_large(self) -> bool:
        """Whether a solver may take more than 50 ms, so that it has to look for Ctrl-C."""
        return self.slopes.data.size + self.curvatures.data.size > _LARGE

    @cached_property
    def _columns(self) -> Any:
        return np.repeat(np.arange(self.num_columns), np.diff(self.slopes.indptr))

    def violations(self, x: Array, s: Array) -> Array:
        """|A x + s - b|: by how much rows at x are not those slacks s."""
        return np.abs(np.bincount(self.slopes.indices, self.slopes.data * x[self._columns], self.b.size) + s - self.b)

    def sizes_of_rows(self, unit: Array) -> Array:
        """max_j |A_ij| unit_j."""
        sizes = np.zeros(self.b.size)
        np.maximum.at(sizes, self.slopes.indices, np.abs(self.slopes.data) * unit[self._columns])
        return sizes

    @cached_property
    def is_balanced(self) -> bool:
        """Whether a solver may take the program as it is, see scales.py."""
        return is_balanced((self.slopes,), self.b, np.concatenate((self.q, self.curvatures.data)))

    @cached_property
    def as_it_is(self) -> Scaled:
        """The program in its own units."""
        return Scaled(self.curvatures, self.q, self.slopes, self.b, np.ones(1), np.ones(1))

    def balanced(self, sizes: Array | None = None) -> Scaled:
        """The same program in other units; `sizes` of variables are kept, if they are known."""
        from scipy.sparse import diags

        num_linear = self.linear.num_equations + self.linear.num_inequalities
        cones = np.repeat(np.arange(len(self.cones)), [cone.num_rows() for cone in self.cones])
        groups = np.concatenate((np.arange(num_linear), num_linear + cones)).astype(np.intp)
        if sizes is None:
            R, D = balance(self.A, self.P, groups)
        else:
            D = power_of_two(sizes)
            R = balance(self.A @ diags(D), None, groups, np.ones(D.size, dtype=bool))[0]
        right = np.abs(R * self.b)
        right = right[right > 0.0]
        D = D * float(power_of_two(np.exp(np.log(right).mean()))) if right.size else D
        q, P = D * self.q, diags(D) @ self.P @ diags(D)
        k = unit_of_cost(np.concatenate((q, P.data)))
        return Scaled((k * P).tocsc(), k * q, (diags(R) @ self.A @ diags(D)).tocsc(), R * self.b, D, R / k)

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
    _, _, weights, order = _triangle(int((np.sqrt(8 * z.size + 1) - 1) / 2))
    return np.asarray((z / weights)[order])


def lower_triangle(size: int) -> Any:
    """The order in which rows of a matrix are its lower triangle, column by column."""
    return _triangle(size)[3]


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[Any, Any, Array, Any]:
    """Rows and columns of the upper triangle of a symmetric matrix, column by column, with weights that keep lengths.

    Behind these, the order in which its entries are those of the lower triangle, column by column.
    """
    columns, rows = np.tril_indices(size)
    j, i = np.triu_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0)), i * (i + 1) // 2 + j
