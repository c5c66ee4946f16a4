"""Muscles: active forces by length and speed, and passive ones.

With length l and rate ldot, times a gear, and the activation a,

    f = -F (f_l(L) f_v(V) a + f_p(L)),   V = ldot / (L_0 v_max)                           (1)

where L is the length by the optimal one L_0, such that the range of lengths is that of L: f_l rises from 0 at l_min to
1 at L = 1 and falls to 0 at l_max, along parabolas; f_v is 0 at V = -1, 1 at 0, and f_v,max from f_v,max - 1 on; f_p
rises as a parabola from 0 at L = 1 to f_p,max / 2 in the middle between 1 and l_max, then along its tangent. The effort
is the gear times f.

Source: the documentation of MuJoCo (computation: muscles).
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.activation import activate, within
from merganser.multibody.kernels.laws.affine import motion_of
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import Law
from merganser.multibody.kernels.scalars import real_part

# Places of constants: F [N], the range of l [m], that of L, l_min, l_max, v_max [1/s], f_p,max and f_v,max.
PEAK_FORCE, LENGTHS, OPERATING, CURVE, FASTEST, PASSIVE, LENGTHENING = 0, 1, 3, 5, 7, 8, 9


@device
def set_effort(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equation (1)."""
    k = law["actuators"][0]
    a = activate(law, step_in[0].real, within(law["control"], controls_in[k]), states_in, states_out)
    length, rate = motion_of(law, lengths_in, rates_in)
    efforts_out[k] = law["gear"] * _force(law["constants"], length, rate, a)


@device
def _force(c: Any, length: Any, rate: Any, a: Any) -> Any:
    optimal = (c[LENGTHS + 1] - c[LENGTHS]) / (c[OPERATING + 1] - c[OPERATING])
    L = c[OPERATING] + (length - c[LENGTHS]) / optimal
    V = rate / (optimal * c[FASTEST])
    middle = 0.5 * (1.0 + c[CURVE + 1])
    passive = 0.0 * L
    if real_part(L) > middle:
        passive = c[PASSIVE] * (0.5 + (L - middle) / (middle - 1.0))
    elif real_part(L) > 1.0:
        x = (L - 1.0) / (middle - 1.0)
        passive = 0.5 * c[PASSIVE] * x * x
    return -c[PEAK_FORCE] * (_force_of_length(c, L) * _force_of_velocity(c, V) * a + passive)


@device
def _force_of_length(c: Any, L: Any) -> Any:
    """f_l: four parabolas."""
    low, high = c[CURVE], c[CURVE + 1]
    if not low < real_part(L) < high:
        return 0.0 * L
    edge, side = (low, 0.5 * (low + 1.0)) if real_part(L) < 1.0 else (high, 0.5 * (high + 1.0))
    outside = (L - edge) / (side - edge)
    if real_part(outside) < 1.0:
        return 0.5 * outside * outside
    inside = (1.0 - L) / (1.0 - side)
    return 1.0 - 0.5 * inside * inside


@device
def _force_of_velocity(c: Any, V: Any) -> Any:
    """f_v."""
    most = c[LENGTHENING]
    y = most - 1.0
    if not real_part(V) > -1.0:
        return 0.0 * V
    if not real_part(V) > 0.0:
        return (V + 1.0) * (V + 1.0)
    if real_part(V) < y:
        return most - (y - V) * (y - V) / y
    return most + 0.0 * V


MUSCLE = ActuatorLawKind("muscle", set_effort)
