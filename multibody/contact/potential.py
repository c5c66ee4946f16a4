"""Impulses, Hessians and slopes of the potentials of an island's constraints, whatever their kind."""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.multibody.contact.bounded import bounded_response
from merganser.multibody.contact.friction_cone import Response, Slope, cone_response, cone_slip, cone_slope
from merganser.multibody.contact.hunt_crossley import hunt_crossley_response, hunt_crossley_slip, hunt_crossley_slope
from merganser.multibody.contact.layout import SAP, Law, Laws
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem


@inlined
def contact_response(approximation: int, law: Law, v_1: float, v_2: float, v_n: float) -> Response:
    """Impulse and Hessian of a contact at v_c, by the approximation."""
    if approximation == SAP:
        return cone_response(law, v_1, v_2, v_n)
    return hunt_crossley_response(approximation, law, v_1, v_2, v_n)


@inlined
def _contact_slope(
    approximation: int, law: Law, v_1: float, v_2: float, v_n: float, d_1: float, d_2: float, d_n: float
) -> Slope:
    """Products of impulse and Hessian of a contact with a direction."""
    if approximation == SAP:
        return cone_slope(law, v_1, v_2, v_n, d_1, d_2, d_n)
    return hunt_crossley_slope(approximation, law, v_1, v_2, v_n, d_1, d_2, d_n)


@inlined
def contact_slip(approximation: int, law: Law, v_1: float, v_2: float, v_n: float) -> tuple[float, bool]:
    """How fast a contact slips, friction_directions.py (1); 0 without friction; and whether it grows with the slip."""
    if approximation == SAP:
        return cone_slip(law, v_1, v_2, v_n)
    return hunt_crossley_slip(law, v_1, v_2)


@device
def calc_impulses(
    problem: Problem,
    approximation: int,
    constraints: Integers,  # of the island
    laws: Laws,
    velocity: Floats,  # v_c, shape [num_rows]
    impulse_out: Floats,  # gamma, shape [num_rows]
    hessian_out: Floats,  # G, shape [HESSIAN_SIZE num_rows]
) -> None:
    """Computes gamma = -dl_c/dv_c and G = d^2 l_c / dv_c^2."""
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        row = c["row_start"]
        if c["kind"] == CONTACT:
            result = contact_response(approximation, laws[row], velocity[row], velocity[row + 1], velocity[row + 2])
            impulse_out[row], impulse_out[row + 1], impulse_out[row + 2] = result[0], result[1], result[2]
            G = hessian_out[HESSIAN_SIZE * row : HESSIAN_SIZE * (row + 3)]
            G[0], G[1], G[2], G[3], G[4], G[5] = result[3], result[4], result[5], result[6], result[7], result[8]
        else:
            for r in range(row, row + c["num_rows"]):
                gamma, gain = bounded_response(laws[r], velocity[r])
                impulse_out[r] = gamma
                hessian_out[HESSIAN_SIZE * r] = gain


@device
def calc_slope(
    problem: Problem,
    approximation: int,
    constraints: Integers,
    laws: Laws,
    velocity: Floats,
    velocity_step: Floats,
    alpha: float,
) -> tuple[float, float, float]:
    """d/d alpha and d^2/d alpha^2 of the sum of l_c(v_c + alpha dv_c), and the size of the terms of the first."""
    slope, curvature, size = 0.0, 0.0, 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        row = c["row_start"]
        if c["kind"] == CONTACT:
            d_1, d_2, d_n = velocity_step[row], velocity_step[row + 1], velocity_step[row + 2]
            slope_1, slope_2, slope_n, bend = _contact_slope(
                approximation,
                laws[row],
                velocity[row] + alpha * d_1,
                velocity[row + 1] + alpha * d_2,
                velocity[row + 2] + alpha * d_n,
                d_1,
                d_2,
                d_n,
            )
            slope -= slope_1 + slope_2 + slope_n
            size += abs(slope_1) + abs(slope_2) + abs(slope_n)
            curvature += bend
        else:
            for r in range(row, row + c["num_rows"]):
                d = velocity_step[r]
                gamma, gain = bounded_response(laws[r], velocity[r] + alpha * d)
                slope -= gamma * d
                size += abs(gamma * d)
                curvature += gain * d * d
    return slope, curvature, size
