"""Explicit Runge-Kutta methods as data."""

from __future__ import annotations

import dataclasses

__all__ = ["RK3", "ButcherTableau"]


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
        error_order: the error estimate is O(h^error_order).
    """

    name: str
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    b_hat: tuple[float, ...]
    order: int
    error_order: int


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
