"""Where a point has to lie: A v + b in (c'v + d) S, for variables v of a program and a convex set S.

Every set says once, as constraints of a program, what this means for it. All else follows:

    x in S                   A = 1, b = 0, c = 0, d = 1
    x in t S                 v = (x, t), c picks t, d = 0
    x in the recession cone  c = 0, d = 0
    sums, products, hulls    each part gets a placement of its own

The scale c'v + d is at least 0; who makes a placement sees to that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.evaluators.cone_constraints import (
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
)
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets.arguments import Array


class Placement(NamedTuple):
    """A point y = A v + b and a scale s = c'v + d >= 0: y is to lie in s S.

    Attributes:
        A: shape [n, k].
        b: shape [n].
        c: shape [k].
        d: a number.
        variables: v, shape [k].
        is_plain: whether y is v and s is 1.
    """

    A: Array
    b: Array
    c: Array
    d: float
    variables: Objects
    is_plain: bool = False

    @staticmethod
    def of_point(variables: Objects) -> Placement:
        """The variables themselves, in S."""
        n = variables.size
        return Placement(np.eye(n), np.zeros(n), np.zeros(n), 1.0, variables, True)

    def is_at_zero(self) -> bool:
        """Whether the scale is 0, so that y is to lie in the recession cone of S."""
        return self.d == 0.0 and not self.c.any()

    def of_new(self, y: Objects) -> Placement:
        """New variables y in place of the point, with the same scale."""
        used = np.flatnonzero(self.c)
        return Placement(
            np.eye(y.size, y.size + used.size),
            np.zeros(y.size),
            np.concatenate((np.zeros(y.size), self.c[used])),
            self.d,
            np.concatenate((y, self.variables[used])),
        )

    def mapped(self, M: Array, m: Array) -> Placement:
        """M y + m s in place of the point y, with the same scale."""
        slopes, constants = self.combined(M, m)
        return Placement(slopes, constants, self.c, self.d, self.variables)

    def combined(self, M: Array, m: Array) -> tuple[Array, Array]:
        """M y + m s as slopes and constants of v, shapes [rows, k] and [rows]."""
        if self.is_plain:
            return M, m
        return M @ self.A + np.outer(m, self.c), M @ self.b + m * self.d

    def with_new(self, M: Array, m: Array, w: Objects, W: Array) -> tuple[Array, Array, Objects]:
        """M y + m s + W w for variables w beside v: slopes, constants and the variables of both."""
        slopes, constants = self.combined(M, m)
        return np.hstack((slopes, W)), constants, np.concatenate((self.variables, w))

    def add_at_most_zero(self, prog: Any, M: Array, m: Array) -> list[Binding]:
        """Adds M y + m s <= 0, row by row; no constraint if there are no rows."""
        if not M.shape[0]:
            return []
        slopes, constants = self.combined(M, m)
        low = np.full(constants.size, -np.inf)
        return [prog.AddLinearConstraint(slopes, low, -constants, self.variables)]

    def add_zero(self, prog: Any, M: Array, m: Array) -> list[Binding]:
        """Adds M y + m s = 0, row by row; no constraint if there are no rows."""
        if not M.shape[0]:
            return []
        slopes, constants = self.combined(M, m)
        return [prog.AddLinearEqualityConstraint(slopes, -constants, self.variables)]

    def add_zero_with(self, prog: Any, M: Array, m: Array, w: Objects, W: Array) -> Binding:
        """Adds M y + m s + W w = 0 for variables w beside v."""
        slopes, constants, variables = self.with_new(M, m, w, W)
        binding: Binding = prog.AddLinearEqualityConstraint(slopes, -constants, variables)
        return binding

    def add_length_at_most_scale(self, prog: Any, M: Array, m: Array) -> list[Binding]:
        """Adds |M y + m s| <= s: a Lorentz cone, or equations where s is 0, which leave a cone no inside."""
        if self.is_at_zero():
            return self.add_zero(prog, M, m)
        n = M.shape[1]
        slopes, constants = self.combined(np.vstack((np.zeros(n), M)), np.concatenate(([1.0], m)))
        return [prog.AddLorentzConeConstraint(slopes, constants, self.variables)]


class Recorder:
    """What sets ask of a program, with numbers in place of variables: a tenth of the time of a program.

    Attributes:
        num_vars: how many variables there are.
        rows: A, lower and upper bounds of linear constraints, and the numbers of their variables, all different.
        cones: all other constraints, and the numbers of their variables.
    """

    def __init__(self) -> None:
        self.num_vars = 0
        self.rows: list[tuple[Array, Array, Array, Any]] = []
        self.cones: list[tuple[Any, Any]] = []

    def NewContinuousVariables(self, rows: int, *more: Any) -> Any:
        """Numbers of new variables, shape [rows], or [rows, columns] if the next argument is an integer."""
        shape = (rows, more[0]) if more and isinstance(more[0], int) else (rows,)
        first, self.num_vars = self.num_vars, self.num_vars + int(np.prod(shape))
        return np.arange(first, self.num_vars).reshape(shape)

    def AddLinearConstraint(self, A: Array, lb: Array, ub: Array, vars: Any) -> None:
        """See MathematicalProgram; so the others."""
        self.rows.append((A, lb, ub, vars))

    def AddLinearEqualityConstraint(self, A: Array, b: Array, vars: Any) -> None:
        self.rows.append((A, b, b, vars))

    def AddBoundingBoxConstraint(self, lb: float, ub: float, vars: Any) -> None:
        self.rows.append((np.eye(vars.size), np.full(vars.size, lb), np.full(vars.size, ub), vars))

    def AddLorentzConeConstraint(self, A: Array, b: Array, vars: Any) -> None:
        self.cones.append((LorentzConeConstraint(A, b), vars))

    def AddLinearMatrixInequalityConstraint(self, F: list[Array], vars: Any) -> None:
        self.cones.append((LinearMatrixInequalityConstraint(F), vars))

    def linear(self) -> tuple[Array, Array, Array]:
        """All rows: A, shape [rows, num_vars], lower and upper bounds."""
        A, parts, first = np.zeros((sum(row[1].size for row in self.rows), self.num_vars)), [], 0
        for slopes, low, high, columns in self.rows:
            A[first : first + low.size, columns] = slopes
            parts.append((low, high))
            first += low.size
        lower, upper = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0))
        return A, lower, upper
