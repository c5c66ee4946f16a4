"""The drag of a box in a fluid, about the middle G of the box.

With lengths s, velocities v and w of G against the fluid, all along the axes of G, density rho, viscosity mu, and
d = (s_x + s_y + s_z) / 3, for each axis i and the other two j and k,

    f_i = -3 pi mu d v_i - rho s_j s_k |v_i| v_i / 2                                      (1)
    t_i = -pi mu d^3 w_i - rho s_i (s_j^4 + s_k^4) |w_i| w_i / 64                          (2)

the linear ones being those of a sphere (Stokes), the others pressure on the faces. The constants are: column 0 of
`X_L1C` = s, `constants` = [rho, mu].

Source: the description of the inertia model of passive forces in the documentation of MuJoCo.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.elements.fluid import make_fluid_kind
from merganser.multibody.kernels.spatial import Array, Vector3, column


@device
def _drag_on_box(constant: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """t and f of equations (1) and (2)."""
    s, rho, mu = column(constant["X_L1C"], 0), constant["constants"][0], constant["constants"][1]
    d = (s[0] + s[1] + s[2]) / 3.0
    k_f, k_t = 3.0 * math.pi * mu * d, math.pi * mu * d * d * d
    f = (
        _drag(k_f, 0.5 * rho * s[1] * s[2], v[0]),
        _drag(k_f, 0.5 * rho * s[2] * s[0], v[1]),
        _drag(k_f, 0.5 * rho * s[0] * s[1], v[2]),
    )
    s_4 = (s[0] ** 4, s[1] ** 4, s[2] ** 4)
    t = (
        _drag(k_t, rho * s[0] * (s_4[1] + s_4[2]) / 64.0, w[0]),
        _drag(k_t, rho * s[1] * (s_4[2] + s_4[0]) / 64.0, w[1]),
        _drag(k_t, rho * s[2] * (s_4[0] + s_4[1]) / 64.0, w[2]),
    )
    return t, f


@device
def _drag(linear: Any, quadratic: Any, v: Any) -> Any:
    return -(linear + quadratic * np.sqrt(v * v)) * v


FLUID_BOX = make_fluid_kind("drag of a box in a fluid", _drag_on_box)
