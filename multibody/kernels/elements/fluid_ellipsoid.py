"""The forces of a fluid on an ellipsoid with the centre G: added mass, lift and drag.

With semi-axes a, velocities v and w of G against the fluid along its axes, density rho, viscosity mu, volume V, virtual
masses m and moments j of inertia (each a number along an axis times rho), and coefficients C,

    added mass   p = rho m v, h = rho j w:   f = p x w,   t = p x v + h x w                 (1)
    Magnus       f = C_magnus rho V (w x v)                                                 (2)
    Kutta        f = C_kutta rho cos(alpha) A (n x v) x v / |n|                             (3)
    drag         f = -(3 pi mu D + rho |v| (C_blunt A + C_slender (A_max - A))) v           (4)
                 t = -(pi mu D^3 + rho |l|) w,   l_i = (C_angular I_i + C_slender (I_max - I_i)) w_i   (5)

where n_i = (a_j a_k)^2 v_i is normal to what the ellipsoid shows along v, of area A = pi (n . n / n . v)^(1/2), and
cos(alpha) = n . v / (|n| |v|); D = 2 (a_x + a_y + a_z) / 3; A_max is the largest such area; I_i = 8/15 pi a_i times the
greater one of the other two to the power of four, I_max = 8/15 pi times the middle one times the largest to that power.
The forces of (1) to (3) do no work in a fluid at rest. Accelerations of the added mass are left out.

The constants are: columns 0 to 2 of `X_L1C` = a, m, j; `constants` = [rho, mu, C_blunt, C_slender, C_angular, C_kutta,
C_magnus].

Source: the description of the ellipsoid model of passive forces in the documentation of MuJoCo; B. Andersen et al.,
Unsteady aerodynamics of fluttering and tumbling plates (2005).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import select
from merganser.multibody.kernels.elements.fluid import make_fluid_kind
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.kernels.spatial import Array, Vector3, add, column, cross, dot, scaled

_TINY = 1e-300  # added to what is zero at rest before it divides: all that it belongs to vanishes faster


@device
def _larger(a: Any, b: Any) -> Any:
    return select(real_part(a) > real_part(b), a, b)


@device
def _smaller(a: Any, b: Any) -> Any:
    return select(real_part(a) > real_part(b), b, a)


@device
def _times(a: Vector3, b: Vector3) -> Vector3:
    """The products of the elements."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@device
def _forces_of_fluid(constant: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """t and f of equations (1) to (5)."""
    c, rho = constant["constants"], constant["constants"][0]
    a = column(constant["X_L1C"], 0)
    p = scaled(rho, _times(column(constant["X_L1C"], 1), v))
    h = scaled(rho, _times(column(constant["X_L1C"], 2), w))
    volume = 4.0 / 3.0 * math.pi * a[0] * a[1] * a[2]
    f = add(cross(p, w), scaled(c[6] * rho * volume, cross(w, v)))
    t = add(cross(p, v), cross(h, w))
    n = _times((a[1] * a[1] * a[2] * a[2], a[2] * a[2] * a[0] * a[0], a[0] * a[0] * a[1] * a[1]), v)
    n_v, n_n, v_v = dot(n, v), dot(n, n), dot(v, v)
    # cos(alpha) A / |n| = pi (n . v)^(1/2) / (|n| |v|)  (3)
    lift = c[5] * rho * math.pi * np.sqrt(n_v / (n_n * v_v + _TINY))
    f = add(f, scaled(lift, cross(cross(n, v), v)))
    A = math.pi * np.sqrt(n_n / (n_v + _TINY))
    drag_f, drag_t = _coefficients_of_drag(c, a, w, A, np.sqrt(v_v))
    return add(t, scaled(-drag_t, w)), add(f, scaled(-drag_f, v))


@device
def _coefficients_of_drag(c: Array, a: Vector3, w: Vector3, A: Any, speed: Any) -> tuple[Any, Any]:
    """The factors of -v in (4) and of -w in (5)."""
    rho, mu, blunt, slender, angular = c[0], c[1], c[2], c[3], c[4]
    largest = _larger(_larger(a[0], a[1]), a[2])
    smallest = _smaller(_smaller(a[0], a[1]), a[2])
    middle = a[0] + a[1] + a[2] - largest - smallest
    D, A_max, eighths = 2.0 / 3.0 * (a[0] + a[1] + a[2]), math.pi * largest * middle, 8.0 / 15.0 * math.pi
    I_max = eighths * middle * largest**4
    moments = (
        eighths * a[0] * _larger(a[1], a[2]) ** 4,
        eighths * a[1] * _larger(a[2], a[0]) ** 4,
        eighths * a[2] * _larger(a[0], a[1]) ** 4,
    )
    spread = (I_max - moments[0], I_max - moments[1], I_max - moments[2])
    l = _times(add(scaled(angular, moments), scaled(slender, spread)), w)
    drag_f = 3.0 * math.pi * mu * D + rho * speed * (blunt * A + slender * (A_max - A))
    return drag_f, math.pi * mu * D**3 + rho * np.sqrt(dot(l, l))


FLUID_ELLIPSOID = make_fluid_kind("forces of a fluid on an ellipsoid", _forces_of_fluid)
