"""The law of constraints whose rows are independent: a line in the velocity, cut off at bounds.

    gamma = max(lower, min(upper, y)),  y = c - K v_c                                     (1)

The potential of a row is l_c = int gamma dy / K (or -gamma v_c where K = 0), with the Hessian K between the bounds.
Joint limits (lower = 0), couplers, distances, balls and welds (no bounds), and actuators with effort limits are such.

Source: Castro et al. (2022), section IV; the spring and damper behind c and K are in regularization.py.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.linear.records import Array

# Numbers of the law of one row.
GAIN = 0  # K
OFFSET = 1  # c
LOWER = 2
UPPER = 3


@device
def bounded_response(law: Array, v: float) -> tuple[float, float]:
    """Impulse and Hessian of one row at a velocity."""
    y = law[OFFSET] - law[GAIN] * v
    if y.real >= law[UPPER].real:
        return law[UPPER], 0.0 * y
    if y.real <= law[LOWER].real:
        return law[LOWER], 0.0 * y
    return y, law[GAIN]


@device
def bounded_potential(law: Array, v: float) -> float:
    """Potential of one row at a velocity [J]."""
    gamma = bounded_response(law, v)[0]
    if law[GAIN] == 0.0:
        return -gamma * v
    y = law[OFFSET] - law[GAIN] * v
    return gamma * (y - 0.5 * gamma) / law[GAIN]
