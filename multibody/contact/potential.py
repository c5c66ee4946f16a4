"""Impulses, Hessians and slopes of the potentials of an island's constraints, whatever their kind."""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.multibody.contact.bounded import bounded_response
from merganser.multibody.contact.friction_cone import Slope, cone_slope
from merganser.multibody.contact.hunt_crossley import hunt_crossley_slope
from merganser.multibody.contact.laws import call_set_impulse, set_impulse
from merganser.multibody.contact.layout import LAGGED, SAP, Law, Laws
from merganser.multibody.contact.work_arrays import Workspace
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem


@device
def calc_impulses(
    problem: Problem,
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
            G = hessian_out[HESSIAN_SIZE * row : HESSIAN_SIZE * row + 6]
            set_impulse(laws[row], velocity[row : row + 3], impulse_out[row : row + 3], G)
        else:
            for r in range(row, row + c["num_rows"]):
                gamma, gain = bounded_response(laws[r], velocity[r])
                impulse_out[r] = gamma
                hessian_out[HESSIAN_SIZE * r] = gain


@device
def calc_slope(
    problem: Problem, constraints: Integers, alpha: float, work: Workspace
) -> tuple[float, float, float]:
    """d/d alpha and d^2/d alpha^2 of the sum of l_c(v_c + alpha dv_c), and the size of the terms of the first."""
    velocity, velocity_step = work.velocity, work.velocity_step
    slope, curvature, size = 0.0, 0.0, 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        row = c["row_start"]
        if c["kind"] == CONTACT:
            d_1, d_2, d_n = velocity_step[row], velocity_step[row + 1], velocity_step[row + 2]
            slope_1, slope_2, slope_n, bend = _slope_of_contact(
                work.laws[row], velocity[row] + alpha * d_1, velocity[row + 1] + alpha * d_2,
                velocity[row + 2] + alpha * d_n, d_1, d_2, d_n, work,
            )  # fmt: skip
            slope -= slope_1 + slope_2 + slope_n
            size += abs(slope_1) + abs(slope_2) + abs(slope_n)
            curvature += bend
        else:
            for r in range(row, row + c["num_rows"]):
                d = velocity_step[r]
                gamma, gain = bounded_response(work.laws[r], velocity[r] + alpha * d)
                slope -= gamma * d
                size += abs(gamma * d)
                curvature += gain * d * d
    return slope, curvature, size


@inlined
def _slope_of_contact(
    law: Law, v_1: float, v_2: float, v_n: float, d_1: float, d_2: float, d_n: float, work: Workspace
) -> Slope:
    """gamma_i d_i and d^T G d of a contact: laws of this package have these in closed form, 5 % of a solution."""
    if law["approximation"] == SAP:
        return cone_slope(law, v_1, v_2, v_n, d_1, d_2, d_n)
    if law["approximation"] <= LAGGED:
        return hunt_crossley_slope(law, v_1, v_2, v_n, d_1, d_2, d_n)
    v, gamma, G = work.contact[:3], work.contact[3:6], work.contact[6:12]
    v[0], v[1], v[2] = v_1, v_2, v_n
    if call_set_impulse(law["code"], law["complex_code"], (law, v, gamma, G)) != 0:
        gamma[0] = math.nan
    along_slip = G[0] * d_1 * d_1 + 2.0 * G[1] * d_1 * d_2 + G[2] * d_2 * d_2
    bend = along_slip + 2.0 * (G[3] * d_1 + G[4] * d_2) * d_n + G[5] * d_n * d_n
    return gamma[0] * d_1, gamma[1] * d_2, gamma[2] * d_n, bend
