"""Explicit Runge-Kutta methods as data."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOGACKI_SHAMPINE3", "DORMAND_PRINCE5", "EULER", "HEUN2", "RK3", "ButcherTableau"]


@dataclasses.dataclass(frozen=True)
class ButcherTableau:
    """Coefficients of an explicit Runge-Kutta method with s stages and an embedded method for the error.

        k_i   = f(t + c_i h, x + h sum_j a_ij k_j),  j < i                      (1)
        x(t+h) = x + h sum_i b_i k_i                                            (2)
        error  = h sum_i (b_i - b^_i) k_i                                       (3)

    Attributes:
        a: rows of the strictly lower triangle; row i has i elements.
        b: weights of the result.
        c: fractions of the step at which the stages stand.
        b_hat: weights of the embedded method; empty if there is none.
        order: order of the result.
        error_order: the error estimate is O(h^error_order); 0 if there is none.
    """

    name: str
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    b_hat: tuple[float, ...]
    order: int
    error_order: int

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
        """Whether the last stage stands at the result: its derivatives serve the next step too."""
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
