"""Swing-up of a cart-pole with the least effort, by trapezoidal collocation.

At each of N knots stand (x, theta, v, omega, u): where the cart is [m], the angle of the pole, 0 when it hangs [rad],
their rates, and the force on the cart [N]. The accelerations are N(theta, omega, u) / D(theta) with

    N_v = u + m sin(theta) (l omega^2 + g cos(theta))                                       (1)
    N_omega = (-u cos(theta) - m l omega^2 sin(theta) cos(theta) - (M + m) g sin(theta)) / l  (2)
    D = M + m sin(theta)^2                                                                  (3)

Source: M. Kelly, An Introduction to Trajectory Optimization, SIAM Review 59 (2017), section 6 and appendix E.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.interior_point import NonlinearProblem

Array = np.ndarray[Any, Any]

_M, _m, _l, _g = 1.0, 0.3, 0.5, 9.81
_DURATION, _DISTANCE = 2.0, 1.0
LIMITS = np.array([2.0, np.inf, np.inf, np.inf, 20.0])  # of the absolute values at each knot


def time_step(num_knots: int) -> float:
    """Between knots [s]."""
    return _DURATION / (num_knots - 1)


def guess(num_knots: int) -> Array:
    """A straight line from start to end, shape [num_knots, 5]."""
    line = np.linspace(0.0, 1.0, num_knots)
    knots = np.zeros((num_knots, 5))
    knots[:, 0], knots[:, 1] = _DISTANCE * line, np.pi * line
    return knots


def accelerations(theta: Any, omega: Any, u: Any) -> tuple[Any, Any]:
    """Of cart and pole, equations (1) to (3), of any scalar."""
    s, c = np.sin(theta), np.cos(theta)
    D = _M + _m * s * s
    return (
        (u + _m * s * (_l * omega * omega + _g * c)) / D,
        (-u * c - _m * _l * omega * omega * s * c - (_M + _m) * _g * s) / (_l * D),
    )


class _Parts(NamedTuple):
    """A function and its derivatives with respect to theta (t), omega (w) and u; what is missing is 0."""

    value: Array
    t: Array
    tt: Array
    w: Array
    ww: Array
    wt: Array
    u: Array
    ut: Array


def _parts(knots: Array) -> tuple[_Parts, _Parts]:
    """Both accelerations with their derivatives: products of the numerators and r = 1 / D."""
    theta, omega, u = knots[:, 1], knots[:, 3], knots[:, 4]
    s, c, s2, c2 = np.sin(theta), np.cos(theta), np.sin(2.0 * theta), np.cos(2.0 * theta)
    lw2, one = _l * omega**2, np.ones_like(s)
    cart = _Parts(
        u + _m * s * (lw2 + _g * c), _m * (c * lw2 + _g * c2), -_m * (s * lw2 + 2.0 * _g * s2),
        2.0 * _m * _l * s * omega, 2.0 * _m * _l * s, 2.0 * _m * _l * c * omega, one, 0.0 * one,
    )  # fmt: skip
    weight = (_M + _m) * _g
    pole = _Parts(
        -u * c - 0.5 * _m * lw2 * s2 - weight * s, u * s - _m * lw2 * c2 - weight * c,
        u * c + 2.0 * _m * lw2 * s2 + weight * s,
        -_m * _l * omega * s2, -_m * _l * s2, -2.0 * _m * _l * omega * c2, -c, s,
    )  # fmt: skip
    D, D1, D2 = _M + _m * s**2, _m * s2, 2.0 * _m * c2
    r, r1, r2 = 1.0 / D, -D1 / D**2, 2.0 * D1**2 / D**3 - D2 / D**2
    return _quotient(cart, r, r1, r2), _quotient(pole, r / _l, r1 / _l, r2 / _l)


def _quotient(n: _Parts, r: Array, r1: Array, r2: Array) -> _Parts:
    return _Parts(
        n.value * r, n.t * r + n.value * r1, n.tt * r + 2.0 * n.t * r1 + n.value * r2,
        n.w * r, n.ww * r, n.wt * r + n.w * r1, n.u * r, n.ut * r + n.u * r1,
    )  # fmt: skip


# Rows of a defect: q' = v for x and theta, then the two accelerations; their columns within a knot.
_ROWS = np.array([0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
_COLUMNS = np.array([0, 2, 1, 3, 2, 1, 3, 4, 3, 1, 3, 4])


def cart_pole(num_knots: int, is_exact: bool = True) -> NonlinearProblem:
    """The swing-up; defects of each interval are z_1 - z_0 - h/2 (f_0 + f_1) = 0."""
    N, h = num_knots, time_step(num_knots)
    half, weights = 0.5 * h, np.full(num_knots, h)
    weights[0] = weights[-1] = half

    def defects(flat: Array) -> Array:
        knots = flat.reshape(N, 5)
        a_v, a_w = accelerations(knots[:, 1], knots[:, 3], knots[:, 4])
        rates = np.stack([knots[:, 2], knots[:, 3], a_v, a_w], axis=1)
        change: Array = np.diff(knots[:, :4], axis=0) - half * (rates[:-1] + rates[1:])
        return change.ravel()

    def jacobian(flat: Array) -> Array:
        cart, pole = _parts(flat.reshape(N, 5))
        one, zero = np.ones(N), np.zeros(N)
        slopes = np.stack([zero, one, zero, one, zero, cart.t, cart.w, cart.u, zero, pole.t, pole.w, pole.u])
        own = np.zeros((12, 1))
        own[[0, 2, 4, 8]] = 1.0
        left, right = -own - half * slopes[:, :-1], own - half * slopes[:, 1:]
        return np.concatenate([left.T.ravel(), right.T.ravel()])

    def hessian(flat: Array, sigma: float, y: Array) -> Array:
        cart, pole = _parts(flat.reshape(N, 5))
        padded = np.zeros((N + 1, 4))
        padded[1:-1] = y.reshape(N - 1, 4)
        p, q = -half * (padded[:-1] + padded[1:])[:, 2:].T
        effort = 2.0 * sigma * weights
        own = [p * getattr(cart, k) + q * getattr(pole, k) for k in ("tt", "ww", "wt", "ut")]
        return np.concatenate([effort, *own])

    interval, base = np.arange(N - 1)[:, np.newaxis], 5 * np.arange(N)
    rows = (4 * interval + _ROWS).ravel()
    lower, upper = np.tile(-LIMITS, (N, 1)), np.tile(LIMITS, (N, 1))
    ends = guess(N)
    for k in (0, -1):
        lower[k, :4] = upper[k, :4] = ends[k, :4]
    hessian_rows = np.concatenate([base + k for k in (4, 1, 3, 3, 4)])
    hessian_columns = np.concatenate([base + k for k in (4, 1, 3, 1, 1)])
    return NonlinearProblem(
        x_lower=lower.ravel(), x_upper=upper.ravel(),
        f=lambda flat: float(weights @ flat[4::5] ** 2),
        gradient=lambda flat: np.where(np.arange(5 * N) % 5 == 4, 2.0 * np.repeat(weights, 5) * flat, 0.0),
        g_lower=np.zeros(4 * N - 4), g_upper=np.zeros(4 * N - 4), g=defects, jacobian=jacobian,
        jacobian_rows=np.concatenate([rows, rows]),
        jacobian_columns=np.concatenate([(5 * interval + _COLUMNS).ravel(), (5 * interval + 5 + _COLUMNS).ravel()]),
        hessian=hessian if is_exact else None,
        hessian_rows=hessian_rows if is_exact else [], hessian_columns=hessian_columns if is_exact else [],
    )  # fmt: skip
