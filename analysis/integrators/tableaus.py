"""Explicit Runge-Kutta methods as data."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TOLERANCE = 1e-10  # coefficients may be given with ten digits
_Tree = tuple[Any, ...]  # a rooted tree: its branches, which are trees


def _trees(num_nodes: int) -> list[_Tree]:
    """All rooted trees with this number of nodes: one for each order condition (Butcher 2016, 300)."""
    return _forests(num_nodes - 1, num_nodes - 1)


@functools.cache
def _forests(num_nodes: int, largest: int) -> list[_Tree]:
    """All multisets of trees with this total number of nodes, none of more than `largest`; largest first."""
    if num_nodes == 0:
        return [()]
    found: list[_Tree] = []
    for size in range(min(largest, num_nodes), 0, -1):
        for count in range(1, num_nodes // size + 1):
            rest = _forests(num_nodes - count * size, size - 1)
            chosen = itertools.combinations_with_replacement(_forests(size - 1, size - 1), count)
            found += [(*trees, *others) for trees in chosen for others in rest]
    return found


def _size(tree: _Tree) -> int:
    return 1 + sum(map(_size, tree))


def _density(tree: _Tree) -> int:
    """gamma of a tree: the product of the sizes of all trees in it."""
    return _size(tree) * math.prod(map(_density, tree))


def _text(tree: _Tree) -> str:
    """Phi of a tree in terms of a and c."""
    factors = [f"(a {_text(branch)})" if branch else "c" for branch in tree]
    return " ".join(factors) or "1"


@dataclasses.dataclass(frozen=True)
class ButcherTableau:
    """Coefficients of an explicit Runge-Kutta method with s stages and an embedded method for the error.

        k_i   = f(t + c_i h, x + h sum_j a_ij k_j),  j < i                      (1)
        x(t+h) = x + h sum_i b_i k_i                                            (2)
        error  = h sum_i (b_i - b^_i) k_i                                       (3)

    Attributes:
        name: for messages.
        a: rows of the strictly lower triangle; row i has i elements.
        b: weights of the result, one for each of the s stages.
        c: the times of the stages as fractions of the step: c_i = sum_j a_ij.
        b_hat: weights of the embedded method; empty without one.
        order: order p of the result; the weights obey all order conditions up to p (Butcher 2016, 31).
        error_order: the error estimate is O(h^error_order), as the embedded method has order error_order - 1; 0
            without one.

    Raises:
        ValueError: sizes do not match, the rows of a do not sum to c, or the weights do not have the order that is
            given; the message names the condition, its value and what it has to be.
    """

    name: str
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    b_hat: tuple[float, ...]
    order: int
    error_order: int

    def __post_init__(self) -> None:
        self._check_sizes()
        for i, (row, fraction) in enumerate(zip(self.a, self.c)):
            self._check(f"the sum of a[{i}], which is c[{i}],", math.fsum(row), fraction, math.fsum(map(abs, row)))
        self._check_order("b", self.b, self.order)
        self._check_order("b_hat", self.b_hat, self.error_order - 1)

    def _check_order(self, name: str, weights: Sequence[float], order: int) -> None:
        known: dict[_Tree, list[float]] = {}
        for num_nodes in range(1, order + 1):
            for tree in _trees(num_nodes):
                terms = [b * value for b, value in zip(weights, self._elementary_weights(tree, known))]
                condition = f"the condition of order {num_nodes} on {name}, sum_i {name}_i {_text(tree)}_i,"
                self._check(condition, math.fsum(terms), 1.0 / _density(tree), math.fsum(map(abs, terms)))

    def _check_sizes(self) -> None:
        num_stages = len(self.b)
        if num_stages == 0 or len(self.a) != num_stages or len(self.c) != num_stages:
            raise ValueError(
                f"Butcher tableau '{self.name}': expected as many rows of a as elements of b and of c; "
                f"got {len(self.a)} rows, {num_stages} elements of b and {len(self.c)} of c."
            )
        for i, row in enumerate(self.a):
            if len(row) != i:
                raise ValueError(
                    f"Butcher tableau '{self.name}': row {i} of a must have {i} elements, as the method is explicit; "
                    f"got {len(row)}."
                )
        if len(self.b_hat) not in (0, num_stages) or bool(self.b_hat) != (self.error_order > 0):
            raise ValueError(
                f"Butcher tableau '{self.name}': b_hat has one element for each of the {num_stages} stages, and "
                f"error_order is positive; or b_hat is empty, and error_order 0. Got {len(self.b_hat)} elements and "
                f"error_order {self.error_order}."
            )
        if self.order < 1 or self.b == self.b_hat:
            raise ValueError(
                f"Butcher tableau '{self.name}': the order must be positive, and b_hat must differ from b; "
                f"got order {self.order}."
            )

    def _check(self, what: str, value: float, expected: float, size: float) -> None:
        if not abs(value - expected) <= _TOLERANCE * max(size, 1.0):
            raise ValueError(f"Butcher tableau '{self.name}': {what} must be {expected:.12g}; got {value:.12g}.")

    def _elementary_weights(self, tree: _Tree, known: dict[_Tree, list[float]]) -> list[float]:
        """Phi_i of a tree, the product over its branches of sum_j a_ij Phi_j of the branch; `known` has these sums."""
        values = [1.0] * len(self.b)
        for branch in tree:
            if branch not in known:
                of_branch = self._elementary_weights(branch, known)
                known[branch] = [sum(map(operator.mul, row, of_branch)) for row in self.a]
            values = list(map(operator.mul, values, known[branch]))
        return values

    @functools.cached_property
    def weights(self) -> NDArray[Any]:
        """Rows of a, then b, then b - b_hat (zeros without b_hat), shape [s + 2, s]; not to be changed."""
        weights = np.zeros((len(self.b) + 2, len(self.b)))
        for row, values in zip(weights, (*self.a, self.b)):
            row[: len(values)] = values
        if self.b_hat:
            weights[-1] = np.subtract(self.b, self.b_hat)
        return weights

    @property
    def ends_in_last_stage(self) -> bool:
        """Whether the last stage is at the result, so that its derivatives serve the next step too."""
        return len(self.b) > 1 and self.c[-1] == 1.0 and self.b[-1] == 0.0 and self.a[-1] == self.b[:-1]


# Euler's method (Hairer, Norsett, Wanner 1993, I.7).
EULER = ButcherTableau(name="Euler", a=((),), b=(1.0,), c=(0.0,), b_hat=(), order=1, error_order=0)

# Heun's method of order 2, the explicit trapezoidal rule (Heun 1900; Butcher 2016, table 231).
HEUN2 = ButcherTableau(
    name="Heun 2",
    a=((), (1.0,)),
    b=(1 / 2, 1 / 2),
    c=(0.0, 1.0),
    b_hat=(),
    order=2,
    error_order=0,
)

# Kutta's third-order method with the midpoint method embedded (Hairer, Norsett, Wanner 1993, II.1, table
# 1.1).
RK3 = ButcherTableau(
    name="Runge-Kutta 3",
    a=((), (1 / 2,), (-1.0, 2.0)),
    b=(1 / 6, 2 / 3, 1 / 6),
    c=(0.0, 1 / 2, 1.0),
    b_hat=(0.0, 1.0, 0.0),
    order=3,
    error_order=3,
)

# Bogacki and Shampine 1989, "A 3(2) pair of Runge-Kutta formulas", Applied Mathematics Letters 2(4).
BOGACKI_SHAMPINE3 = ButcherTableau(
    name="Bogacki-Shampine 3(2)",
    a=((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
    b=(2 / 9, 1 / 3, 4 / 9, 0.0),
    c=(0.0, 1 / 2, 3 / 4, 1.0),
    b_hat=(7 / 24, 1 / 4, 1 / 3, 1 / 8),
    order=3,
    error_order=3,
)

# Dormand and Prince 1980, "A family of embedded Runge-Kutta formulae", RK5(4)7M (Hairer, Norsett, Wanner 1993,
# II.5, table 5.2).
DORMAND_PRINCE5 = ButcherTableau(
    name="Dormand-Prince 5(4)",
    a=(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    b=(35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    c=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    b_hat=(5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40),
    order=5,
    error_order=5,
)
