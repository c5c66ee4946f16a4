"""A spring and damper between the points Ao of L0 and Co of L1, with stiffness k, damping d and free length l0.

With r = p_AoCo, l = |r| and u = r / l,

    f = (k (l - l0) + d ldot) u on L0 at Ao, -f on L1 at Co,   ldot = u . v_AoCo            (1)
    V = k (l - l0)^2 / 2,   P_n = -d ldot^2                                                 (2)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.elements.kind import FINE, NO_FORCE, ForceElementKind
from merganser.multibody.kernels.frames import arm_of, velocity_of
from merganser.multibody.kernels.layout import SPRING_DAMPER
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    scaled,
    subtract,
    vector,
)

LENGTH_TOLERANCE = 2e-16  # smallest length of a spring, relative to its free length


@device
def _measure_spring(
    element: Array, constant: Array, position_in: Array, velocity_in: Array
) -> tuple[Any, Any, Vector3, Vector3, Vector3]:
    """l, ldot, u and the arms p_L0oAo_W and p_L1oCo_W; NaN for ldot and u if there is no length."""
    body_0, body_1 = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    V_0, V_1 = velocity_in[element["mobod_0"]]["V_WB_W"], velocity_in[element["mobod_1"]]["V_WB_W"]
    arm_0, arm_1 = arm_of(body_0, constant["X_L0A"]), arm_of(body_1, constant["X_L1C"])
    r = subtract(add(vector(body_1["p_WoBo_W"]), arm_1), add(vector(body_0["p_WoBo_W"]), arm_0))
    length = np.sqrt(dot(r, r))
    if not _has_length(constant, length):
        return length, np.nan * length, scaled(np.nan, r), arm_0, arm_1
    u = scaled(1.0 / length, r)
    return length, dot(u, subtract(velocity_of(V_1, arm_1), velocity_of(V_0, arm_0))), u, arm_0, arm_1


@device
def _has_length(constant: Array, length: Any) -> bool:
    return exceeds(length, LENGTH_TOLERANCE * constant["nominal"])


@device
def add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    length, rate, u, arm_0, arm_1 = _measure_spring(element, constant, position_in, velocity_in)
    if not _has_length(constant, length):
        return NO_FORCE
    f = scaled(constant["stiffness"][0] * (length - constant["nominal"]) + constant["damping"][0] * rate, u)
    add_spatial(F_out[element["mobod_0"]], cross(arm_0, f), f)
    f = scaled(-1.0, f)
    add_spatial(F_out[element["mobod_1"]], cross(arm_1, f), f)
    return FINE


@device
def add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (2)."""
    length, rate, _, _, _ = _measure_spring(element, constant, position_in, velocity_in)
    if not _has_length(constant, length):
        return NO_FORCE
    k, stretch = constant["stiffness"][0], length - constant["nominal"]
    energy_out[0] += 0.5 * k * stretch * stretch
    energy_out[1] -= k * stretch * rate
    energy_out[2] -= constant["damping"][0] * rate * rate
    return FINE


KIND = ForceElementKind("spring and damper", add_forces, add_energy, SPRING_DAMPER)
