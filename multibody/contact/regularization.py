"""From stiffness, damping and masses to the numbers of the laws.

How much a constraint of n rows gives way to an impulse is estimated from its own trees t,

    w = |W|_F / n,   W = sum_t J_t diag(A_t)^-1 J_t^T                                     (1)

W standing for its block on the diagonal of the Delassus operator J A^-1 J^T. (pydrake 1.51 takes diag(A), too, where
the paper has A: w says how far a stiff constraint gives way, so that results depend on it.)

Of a spring k with relaxation time tau, taken at the end of the step,

    R = 1 / (h k (h + tau)),   v^ = -g / (h + tau)                                        (2)

A constraint so stiff that its period is less than beta h cannot be resolved by the step; it is made as soft as that:

    R >= beta^2 / (4 pi^2) w                                                              (3)

and its relaxation time is then h (contacts keep theirs), or more where steps of different lengths ask for it
(layout.py). Tangents of a contact have R_t = sigma w. The softness of the
convex friction laws is at least that of SAP: eps = max(v_s, mu R_t n_0). Of an actuator with effort
u_ff - Kp (q - q_d) - Kd (v - v_d),

    K = h (h Kp + Kd),   c = h (u_ff + Kp (q_d - q_0) + Kd v_d)                           (4)

where K > 1/R of (3) is replaced by 1/R, both gains by the same share of them, unless actuators are all that acts on an
island: as there is nothing then that they could overpower, they are as stiff as in the step of a plant that touches
nothing (kernels/actuators.py).

Source: Castro et al. (2022), sections IV and V (1) to (4); Castro et al. (2023), section V (eps).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import larger
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import all_of, any_of
from merganser.multibody.contact.bounded import stiffest_gain
from merganser.multibody.contact.laws import set_law
from merganser.multibody.contact.layout import Law, Laws, Rows, Settings
from merganser.multibody.linear.products import block_of, num_ends, row_product, tree_of
from merganser.multibody.linear.records import CONTACT, DRIVE, Constraint, Problem

LEAST_ARM = 1e-12  # of an entry of J: [m], or the cosine of an angle


@device
def has_masses(problem: Problem) -> bool:
    """Whether all numbers on the diagonal of A are positive, and finite, as those of a positive definite matrix are."""
    for t in range(problem.trees.shape[0]):
        tree = problem.trees[t]
        n, start = tree["num_v"], tree["matrix_start"]
        for k in range(n):
            mass = problem.matrix[start + k * (n + 1)]
            if not (mass > 0.0 and mass < math.inf):
                return False
    return True


@device
def calc_compliance(problem: Problem, scratch: Floats, w_out: Floats) -> None:
    """w of all constraints, equation (1), in the place of their first rows; scratch has the shape [num_v]."""
    for c in range(problem.constraints.shape[0]):
        constraint = problem.constraints[c]
        if not _moves_anything(problem, constraint):
            w_out[constraint["row_start"]] = 0.0
            continue
        if constraint["num_rows"] == 3:
            w_out[constraint["row_start"]] = _compliance_of_three_rows(problem, constraint)
            continue
        if constraint["num_rows"] == 1:
            w_out[constraint["row_start"]] = _compliance_of_one_row(problem, constraint)
            continue
        total = 0.0
        for r in range(constraint["num_rows"]):
            for end in range(num_ends(constraint)):
                _divide_row(problem, constraint, end, r, scratch)
            for s in range(r + 1):
                w = 0.0
                for end in range(num_ends(constraint)):
                    w += row_product(block_of(problem.trees, problem.jacobian, constraint, end), s, scratch, 0.0)
                total += w * w if s == r else 2.0 * w * w
        w_out[constraint["row_start"]] = np.sqrt(total) / constraint["num_rows"]


@device
def _moves_anything(problem: Problem, constraint: Constraint) -> bool:
    """Whether J of a constraint is more than rounding: arms longer than a picometre.

    A rod along which its ends cannot move, say, would answer its error by an impulse of more digits than there are.
    """
    longest = 0.0 * problem.jacobian[constraint["jacobian_0"]].real
    for end in range(num_ends(constraint)):
        J = block_of(problem.trees, problem.jacobian, constraint, end).J
        for k in range(J.shape[0]):
            longest = larger(abs(J[k].real), longest)
            if all_of(longest > LEAST_ARM):
                return True
    return bool(longest > LEAST_ARM)


@inlined
def _compliance_of_three_rows(problem: Problem, constraint: Constraint) -> float:
    """Equation (1) in one pass, for contacts: a tenth of the time of what follows."""
    w_00, w_11, w_22, w_01, w_02, w_12 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for end in range(num_ends(constraint)):
        J, n, _, column = block_of(problem.trees, problem.jacobian, constraint, end)
        tree = tree_of(constraint, end)
        for k in range(n):
            mobility = 1.0 / _mass(problem, tree, column + k)
            x, y, z = J[k], J[n + k], J[2 * n + k]
            w_00 += mobility * x * x
            w_11 += mobility * y * y
            w_22 += mobility * z * z
            w_01 += mobility * x * y
            w_02 += mobility * x * z
            w_12 += mobility * y * z
    off_diagonal = w_01 * w_01 + w_02 * w_02 + w_12 * w_12
    compliance: float = np.sqrt(w_00 * w_00 + w_11 * w_11 + w_22 * w_22 + 2.0 * off_diagonal) / 3.0
    return compliance


@inlined
def _compliance_of_one_row(problem: Problem, constraint: Constraint) -> float:
    """Equation (1) for limits and drives."""
    w = 0.0
    for end in range(num_ends(constraint)):
        J, n, _, column = block_of(problem.trees, problem.jacobian, constraint, end)
        tree = tree_of(constraint, end)
        for k in range(n):
            if any_of(J[k] != 0.0):
                w += J[k] * J[k] / _mass(problem, tree, column + k)
    return w


@inlined
def _mass(problem: Problem, t: int, k: int) -> Any:
    """Number k on the diagonal of the block of A of a tree."""
    tree = problem.trees[t]
    return problem.matrix[tree["matrix_start"] + k * (tree["num_v"] + 1)]


@device
def _divide_row(problem: Problem, constraint: Constraint, end: int, row: int, scratch: Floats) -> None:
    """diag(A_t)^-1 J_t^T of one row, at the velocities of its tree."""
    J, n, first, column = block_of(problem.trees, problem.jacobian, constraint, end)
    for i in range(n):
        scratch[first + i] = J[row * n + i] / _mass(problem, tree_of(constraint, end), column + i)


@device
def calc_laws(
    problem: Problem,
    h: float,
    constraints: Integers,  # of an island
    rows: Rows,
    w: Floats,
    velocity_before: Floats,  # v_c before the step, shape [num_rows]
    laws_out: Laws,  # shape [num_rows]
) -> None:
    """Sets the laws of an island."""
    are_drives = _are_drives(problem, constraints)
    for i in range(constraints.shape[0]):
        constraint = problem.constraints[constraints[i]]
        row = constraint["row_start"]
        if constraint["kind"] == CONTACT:
            law = laws_out[row]
            settings = problem.settings
            law["approximation"], law["code"] = settings["approximation"], settings["code"]
            law["complex_code"] = settings["complex_code"]
            law["time_step"], law["compliance"], law["gap"], law["gain"] = h, w[row], rows[row + 2]["g"], 0.0
            set_law(problem.settings, constraint, velocity_before[row : row + 3], law)
            continue
        for r in range(row, row + constraint["num_rows"]):
            if constraint["kind"] == DRIVE:
                limit = math.inf if are_drives else stiffest_gain(constraint["beta"], w[row])
                _set_drive_law(h, constraint, limit, rows[r]["g"], laws_out[r])
            else:
                _set_holonomic_law(problem.settings, h, constraint, w[row], rows[r]["g"], laws_out[r])


@device
def _are_drives(problem: Problem, constraints: Integers) -> bool:
    """Whether all constraints of an island are actuators."""
    count = 0
    for i in range(constraints.shape[0]):
        count += int(problem.constraints[constraints[i]]["kind"] == DRIVE)
    return count == constraints.shape[0]


@device
def _set_holonomic_law(settings: Settings, h: float, constraint: Constraint, w: float, g: float, law: Law) -> None:
    reach = h + constraint["relaxation_time"]
    limit = stiffest_gain(constraint["beta"], w)
    is_soft = constraint["stiffness"].real < math.inf
    gain = h * constraint["stiffness"] * reach if is_soft else limit
    if not is_soft or gain.real > limit.real:
        gain, reach = limit, max(2.0 * h, settings["shortest_relaxation"])
    if w.real == 0.0:
        gain = 0.0
    law["gain"] = gain
    law["offset"] = -gain * g / reach
    law["lower"] = constraint["lower"]
    law["upper"] = constraint["upper"]


@device
def _set_drive_law(h: float, constraint: Constraint, limit: float, error: float, law: Law) -> None:
    Kp, Kd = constraint["stiffness"], constraint["damping"]
    gain = h * (h * Kp + Kd)
    if gain.real > limit.real:
        Kp, Kd = Kp * (limit / gain), Kd * (limit / gain)
    law["gain"] = h * (h * Kp + Kd)
    law["offset"] = h * (constraint["feedforward"] - Kp * error + Kd * constraint["velocity_target"])
    law["lower"] = h * constraint["lower"]
    law["upper"] = h * constraint["upper"]
