"""Actuators that are more than a force or a PD controller: their activations, and the forces that these make.

With the control c, clamped to its range, an actuator without dynamics has the activation a = c; others have a state a:

    integrator    adot = c                                                                (1)
    filter        adot = (c - a) / T
    exact filter  the same; discrete steps solve it exactly for constant c
    muscle        adot = (c - a) / T(c, a),  T = T_1 (0.5 + 1.5 a) if c > a, else T_2 / (0.5 + 1.5 a)     (2)

where a muscle's c and a count as within [0, 1], and its two time constants may blend over a width of c - a (3). With
length l and rate ldot, times a gear,

    affine   f = (g_0 + g_1 l + g_2 ldot) a + b_0 + b_1 l + b_2 ldot                      (4)
    muscle   f = -F (f_l(L) f_v(V) a + f_p(L)),   V = ldot / (L_0 v_max)                  (5)

where L is the length by the optimal one L_0, such that the range of lengths is that of L: f_l rises from 0 at l_min to
1 at L = 1 and falls to 0 at l_max, along parabolas; f_v is 0 at V = -1, 1 at 0, and f_v,max from f_v,max - 1 on; f_p
rises as a parabola from 0 at L = 1 to f_p,max / 2 in the middle between 1 and l_max, then along its tangent. The effort
is the gear times f. Where a PD controller is the actuator, a is its desired position in place of the one that is given.

Source of (2) to (5): M. Millard, T. Uchida, A. Seth, S. Delp, Flexing Computational Muscle (2013), for activation
dynamics, and the documentation of MuJoCo (computation: muscles) for its curves.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.multibody.kernels.scalars import real_part

# Dynamics.
NO_DYNAMICS, INTEGRATOR, FILTER, EXACT_FILTER, MUSCLE_DYNAMICS = range(5)
# Forces.
SERVO, AFFINE, MUSCLE = range(3)

law_dtype = np.dtype(
    [
        ("actuator", np.int64),  # its place in u
        ("position", np.int64),  # its length and rate, transmissions behind the coordinates
        ("velocity", np.int64),
        ("activation", np.int64),  # its place among activations; -1 for none
        ("dynamics", np.int64),
        ("force", np.int64),
        ("gear", np.float64),
        ("control", np.float64, (2,)),  # range
        ("range", np.float64, (2,)),  # of the activation
        ("time_constants", np.float64, (3,)),  # T, or T_1, T_2 and the width (3)
        ("gain", np.float64, (3,)),
        ("bias", np.float64, (3,)),
        # Of a muscle:
        ("peak_force", np.float64),  # F [N]
        ("lengths", np.float64, (2,)),  # the range of l [m]
        ("operating", np.float64, (2,)),  # and that of L
        ("curve", np.float64, (2,)),  # l_min, l_max
        ("fastest", np.float64),  # v_max [1/s]
        ("passive", np.float64),  # f_p,max
        ("lengthening", np.float64),  # f_v,max
    ]
)
Law = Annotated[Any, RecordOf(law_dtype)]
Laws = Annotated[NDArray[Any], ArrayOf(law_dtype)]


@kernel
def actuator_laws(
    # Model:
    laws: Laws,
    time_step: float,  # h [s]; 0 in continuous time
    # In:
    lengths_in: Floats,  # q, with the lengths of transmissions behind it
    rates_in: Floats,  # v, with their rates behind it
    activations_in: Floats,  # shape [num_activations]
    u_in: Floats,  # what comes for the actuators, shape [num_u]
    desired_io: FloatTable,  # of PD controllers, see actuators.py; activations replace desired positions
    # Out:
    u_out: Floats,  # the same with efforts (4), (5) in place of controls, shape [num_u]
    activations_out: Floats,  # after the step; in continuous time their rates
) -> None:
    """Computes forces and activations."""
    for k in range(u_in.shape[0]):
        u_out[k] = u_in[k]
    for i in range(laws.shape[0]):
        law = laws[i]
        k, place, a = law["actuator"], law["activation"], u_in[law["actuator"]]
        control = desired_io[0, k] if law["force"] == SERVO else u_in[k]
        control = _within(law["control"], control)
        if place >= 0:
            a = activations_in[place]
            activations_out[place] = _next_activation(law, time_step, a, control)
        else:
            a = control
        length, rate = law["gear"] * lengths_in[law["position"]], law["gear"] * rates_in[law["velocity"]]
        if law["force"] == SERVO:
            desired_io[0, k] = a
        elif law["force"] == AFFINE:
            gain, bias = law["gain"], law["bias"]
            f = (gain[0] + gain[1] * length + gain[2] * rate) * a + bias[0] + bias[1] * length + bias[2] * rate
            u_out[k] = law["gear"] * f
        else:
            u_out[k] = law["gear"] * muscle_force(law, length, rate, a)


@device
def _within(limits: Any, value: Any) -> Any:
    if limits[1] < math.inf and real_part(value) > limits[1]:
        return limits[1] + 0.0 * value
    return limits[0] + 0.0 * value if limits[0] > -math.inf and real_part(value) < limits[0] else value


@device
def _next_activation(law: Law, h: float, a: Any, control: Any) -> Any:
    """The activation after a step, within its range; or its rate, which does not lead out of that."""
    T = law["time_constants"][0]
    if law["dynamics"] == INTEGRATOR:
        rate = control + 0.0 * a
    elif law["dynamics"] == MUSCLE_DYNAMICS:
        rate = _muscle_rate(law, a, control)
    else:
        rate = (control - a) / T
    if h > 0.0:
        share = T * (1.0 - math.exp(-h / T)) if law["dynamics"] == EXACT_FILTER else h
        return _within(law["range"], a + share * rate)
    low, high = law["range"][0], law["range"][1]
    if high < math.inf and real_part(a) >= high and real_part(rate) > 0.0:
        return 0.0 * rate
    return 0.0 * rate if low > -math.inf and real_part(a) <= low and real_part(rate) < 0.0 else rate


@device
def _muscle_rate(law: Law, a: Any, control: Any) -> Any:
    """Equations (2) and (3)."""
    T = law["time_constants"]
    limits = (0.0, 1.0)
    inside, difference = _within(limits, a), _within(limits, control) - a
    rising, falling = T[0] * (0.5 + 1.5 * inside), T[1] / (0.5 + 1.5 * inside)
    if T[2] > 0.0:  # a quintic between both
        x = _within(limits, difference / T[2] + 0.5)
        constant = falling + (rising - falling) * x * x * x * (10.0 + x * (6.0 * x - 15.0))
    else:
        constant = rising if real_part(difference) > 0.0 else falling + 0.0 * difference
    return difference / constant


@device
def muscle_force(law: Law, length: Any, rate: Any, a: Any) -> Any:
    """Equation (5)."""
    lengths, operating, force = law["lengths"], law["operating"], law["peak_force"]
    optimal = (lengths[1] - lengths[0]) / (operating[1] - operating[0])
    L = operating[0] + (length - lengths[0]) / optimal
    V = rate / (optimal * law["fastest"])
    middle = 0.5 * (1.0 + law["curve"][1])
    passive = 0.0 * L
    if real_part(L) > middle:
        passive = law["passive"] * (0.5 + (L - middle) / (middle - 1.0))
    elif real_part(L) > 1.0:
        x = (L - 1.0) / (middle - 1.0)
        passive = 0.5 * law["passive"] * x * x
    return -force * (force_of_length(law, L) * force_of_velocity(law, V) * a + passive)


@device
def force_of_length(law: Law, L: Any) -> Any:
    """f_l: four parabolas."""
    low, high = law["curve"][0], law["curve"][1]
    if not low < real_part(L) < high:
        return 0.0 * L
    edge, side = (low, 0.5 * (low + 1.0)) if real_part(L) < 1.0 else (high, 0.5 * (high + 1.0))
    outside = (L - edge) / (side - edge)
    if real_part(outside) < 1.0:
        return 0.5 * outside * outside
    inside = (1.0 - L) / (1.0 - side)
    return 1.0 - 0.5 * inside * inside


@device
def force_of_velocity(law: Law, V: Any) -> Any:
    """f_v."""
    most = law["lengthening"]
    y = most - 1.0
    if not real_part(V) > -1.0:
        return 0.0 * V
    if not real_part(V) > 0.0:
        return (V + 1.0) * (V + 1.0)
    if real_part(V) < y:
        return most - (y - V) * (y - V) / y
    return most + 0.0 * V
