"""Directions of friction as unknowns of their own, so that Newton's method takes few steps where many contacts stick.

Friction gamma_t = b u, of bound b, follows the slip velocity by s u = -v_t, where s says how fast the contact slips:

    s = max(|v_t|, mu y_n R_t)  of the cone (friction_cone.py),   s = sqrt(|v_t|^2 + eps^2)  of Hunt and Crossley    (1)

A contact that slides gives way along its slip at no cost, so that Newton's method runs past the point where it sticks,
and the line search stops there, contact by contact. If instead the direction T of friction is an unknown beside the
velocities, and s T = -v_t is what Newton's method makes linear, then eliminating T leaves the same gradient, and for
the Hessian of friction, in place of b / s (I - u u^T),

    G_t = b / s (I - (T u^T + u T^T) / 2)                                                                            (2)

which is positive definite as long as |T| <= 1. After each step alpha dv,

    T += alpha ((-dv_t - T ds) / s + u - T),  ds = -u . dv_t                                                         (3)

and T is brought back into the unit circle. T = 0 starts: friction as of a fluid. Once T has reached u, (2) is the
Hessian. (Spheres in a bin take 11 iterations for 38 without.)

Source: T. Chan, G. Golub, P. Mulet, A Nonlinear Primal-Dual Method for Total Variation-Based Image Restoration, SIAM J.
Scientific Computing (1999), where the norms of (1) are those of gradients of an image.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import larger, select, smaller
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import Mask, any_of, both
from merganser.multibody.contact.laws import set_slip
from merganser.multibody.contact.work_arrays import Workspace
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem

# Where T stands among the numbers of a contact's Hessian.
_T_1 = 6
_T_2 = 7


@device
def forget_directions(problem: Problem, constraints: Integers, is_wanted: Mask, hessian: Floats) -> None:
    """T = 0 for all contacts of an island, where that is wanted."""
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] == CONTACT:
            start = HESSIAN_SIZE * c["row_start"]
            for k in (_T_1, _T_2):
                hessian[start + k] = select(is_wanted, 0.0, hessian[start + k])


@inlined
def _slip(row: int, work: Workspace) -> tuple[float, Mask]:
    """s of equation (1) for a contact, 0 without friction, and whether it grows with the slip velocity."""
    slip = work.contact[:2]
    slip[0], slip[1] = 0.0, 0.0
    set_slip(work.laws[row], work.velocity[row : row + 3], slip)
    return slip[0], slip[1] > 0.0


@device
def soften_hessians(
    problem: Problem, constraints: Integers, gamma: Floats, is_wanted: Mask, work: Workspace
) -> None:
    """Puts (2) in place of the Hessian of friction, where that is wanted; gamma and G are those at v_c."""
    velocity, hessian = work.velocity, work.hessian
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] != CONTACT:
            continue
        row = c["row_start"]
        s, is_sliding = _slip(row, work)
        G = hessian[HESSIAN_SIZE * row : HESSIAN_SIZE * (row + 3)]
        v_1, v_2 = velocity[row], velocity[row + 1]
        square = v_1 * v_1 + v_2 * v_2
        has_changed = both(both(is_wanted, is_sliding), square > 0.0)
        if not any_of(has_changed):
            continue
        u_1, u_2 = -v_1 / s, -v_2 / s
        # b / s, as gamma_t = -b / s v_t
        across = -(gamma[row] * v_1 + gamma[row + 1] * v_2) / square
        d_1, d_2 = across * (u_1 - G[_T_1]), across * (u_2 - G[_T_2])
        G[0] = select(has_changed, G[0] + d_1 * u_1, G[0])
        G[1] = select(has_changed, G[1] + 0.5 * (d_1 * u_2 + d_2 * u_1), G[1])
        G[2] = select(has_changed, G[2] + d_2 * u_2, G[2])


@device
def turn_directions(problem: Problem, constraints: Integers, alpha: float, work: Workspace) -> None:
    """Equation (3), where v_c is that before the step."""
    part, velocity, velocity_step, hessian = smaller(1.0, alpha), work.velocity, work.velocity_step, work.hessian
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        if c["kind"] != CONTACT:
            continue
        row = c["row_start"]
        s, is_sliding = _slip(row, work)
        start = HESSIAN_SIZE * row
        T_1, T_2 = hessian[start + _T_1], hessian[start + _T_2]
        slips = s > 0.0
        inverse = 1.0 / select(slips, s, 1.0)
        u_1, u_2 = -velocity[row] * inverse, -velocity[row + 1] * inverse
        d_1, d_2 = velocity_step[row], velocity_step[row + 1]
        growth = select(is_sliding, -(u_1 * d_1 + u_2 * d_2), 0.0)
        T_1 = select(slips, T_1 + part * (-(d_1 + T_1 * growth) * inverse + u_1 - T_1), T_1)
        T_2 = select(slips, T_2 + part * (-(d_2 + T_2 * growth) * inverse + u_2 - T_2), T_2)
        square = T_1 * T_1 + T_2 * T_2
        scale = 1.0 / math.sqrt(larger(1.0, square))
        T_1, T_2 = scale * T_1, scale * T_2
        hessian[start + _T_1], hessian[start + _T_2] = T_1, T_2
