"""The law of constraints whose rows are independent: a line in the velocity, cut off at bounds.

    gamma = max(lower, min(upper, y)),  y = c - K v_c                                     (1)

The potential of a row is l_c = int gamma dy / K (or -gamma v_c where K = 0), with the Hessian K between the bounds.
Joint limits (lower = 0), couplers, distances, balls and welds (no bounds), and actuators with effort limits are such.

Source: Castro et al. (2022), section IV; the spring and damper behind c and K are in regularization.py.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import select
from merganser.framework.native.memory.simd import either
from merganser.multibody.contact.layout import Law


@device
def stiffest_gain(beta: float, w: float) -> float:
    """1/R of equation (3) of regularization.py, the greatest gain that a step resolves."""
    softest = beta * beta * w
    return 4.0 * math.pi * math.pi / softest if softest.real > 0.0 else math.inf


@device
def bounded_response(law: Law, v: float) -> tuple[float, float]:
    """Impulse and Hessian of one row at a velocity."""
    y = law["offset"] - law["gain"] * v
    is_above, is_below = y.real >= law["upper"].real, y.real <= law["lower"].real
    gamma = select(is_above, law["upper"], select(is_below, law["lower"], y))
    return gamma, select(either(is_above, is_below), 0.0 * y, law["gain"])
