"""What limits of joints bound: a position, or the angle by which a ball has turned.

With the position q of a joint with one velocity v, or the quaternion Q = (w, e) of R_FM and v = w_FM_F of a ball,

    x = q,   xdot = v                                                                     (1)
    x = 2 arctan(|e| / |w|),   xdot = a . v,   a = sign(w) e / |e|                        (2)

where 0 <= x <= pi is the angle of R_FM about the unit vector a. So the limit of a ball keeps each axis of M in a cone
about that of F. At x = 0 there is no a, and no velocity changes x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.contact.plant_layout import Limit
from merganser.multibody.kernels.scalars import arctangent
from merganser.multibody.kernels.spatial import Vector3, dot, scaled


@device
def limited_position(limit: Limit, q: Floats) -> tuple[Any, Vector3]:
    """x, and its slopes by the velocities from limit["v"] on, limit["num_v"] of them: equations (1) and (2).

    Args:
        limit: record of limit_dtype.
        q: all positions, no symbols.
    """
    i = limit["q"]
    zero = 0.0 * q[i]
    if limit["num_v"] == 1:
        return q[i], (1.0 + zero, zero, zero)
    w, e = q[i], (q[i + 1], q[i + 2], q[i + 3])
    square = dot(e, e)
    if not square.real > 0.0:
        return zero, (zero, zero, zero)
    if w.real < 0.0:
        w, e = -w, scaled(-1.0, e)
    sine = np.sqrt(square)
    return 2.0 * arctangent(sine, w), scaled(1.0 / sine, e)


@device
def limited_rate(limit: Limit, slopes: Vector3, v: Floats) -> Any:
    """xdot."""
    rate = slopes[0] * v[limit["v"]]
    for k in range(1, limit["num_v"]):
        rate += slopes[k] * v[limit["v"] + k]
    return rate
