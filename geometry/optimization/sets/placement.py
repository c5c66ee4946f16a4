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
    """

    A: Array
    b: Array
    c: Array
    d: float
    variables: Objects

    @staticmethod
    def of_point(variables: Objects) -> Placement:
        """The variables themselves, in S."""
        n = variables.size
        return Placement(np.eye(n), np.zeros(n), np.zeros(n), 1.0, variables)

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
