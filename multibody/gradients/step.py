"""How a step follows state and inputs, in one call on floats.

The balance of momentum that a step solves, n times with the velocities u_n of kernels/velocity_products.py, is

    r = h ID(q, u_n, (v_n - v) / h; F_applied + F_contact) + h D v_n - h tau - J_j^T gamma_j = 0            (1)

with the inverse dynamics ID, the contacts as forces F_contact on bodies, and gamma_j of all other constraints. At the
solution, with the Hessian H of contact/derivatives.py,

    dv_n = -H^-1 (dr + h dID/du du_n),   du_n = (dv + dv_(n-1)) / 2,   du_0 = dv                             (2)

where dr is taken at constant v_n. ID has derivatives in closed form. Those of forces, which it takes as constant in W
and fixed to the bodies, are a matter of each contact alone: its point C, normal, gap and stiffness follow the relative
pose of its two bodies,

    six lanes in which A moves and B does not, for all contacts together            geometry/proximity              (3)

and a motion of both together turns them. In a frame E that turns with the contact by W_k as velocity k moves it,

    gamma = gamma(E^T v_C; g, k, f_0, w, E^T v_C0),   df = E dgamma + W_k x f                                (4)

Laws know nothing of each other, so that one lane for each argument of gamma in (4) serves all constraints. The
compliance w = |W|_F / 3, W = J diag(A)^-1 J^T, has the derivative

    dw = sum_m (y_m . dj_m - b_m dA_mm),   y_m = 2 / (9 w A_mm) E W E^T j_m,   b_m = y_m . j_m / (2 A_mm)   (5)

with the columns j_m of J in W; y_m . dj_m, added up from tip to base, takes as long as a column of J. Free rigid bodies
that turn start from other mean velocities: their rows of (1) are evaluated in lanes, one for each of their velocities.
So are constraints between bodies and coordinates, by each velocity of the plant, as their J can be of any kind.

About S, O, a and `carries` see kernels/inverse_dynamics_derivatives.py and kernels/spatial.py.

Sources: the implicit function theorem, as in contact/derivatives.py; J. Carpentier, N. Mansard (2018) for those of ID.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.by_value import copy_record
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.contact.derivatives import assemble_dense
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.contact.plant_forces import push
from merganser.multibody.contact.potential import calc_impulses
from merganser.multibody.contact.regularization import calc_compliance, calc_laws
from merganser.multibody.contact.solver import add_bias
from merganser.multibody.contact.tamsi import calc_tamsi_impulses
from merganser.multibody.gradients.constraints import add_constraints, add_rows_of_bodies, set_motion, start_constraints
from merganser.multibody.gradients.contacts import finish_forces
from merganser.multibody.gradients.free_motion import follow_free_bodies, start_lanes, start_rest
from merganser.multibody.gradients.records import (
    BEFORE,
    COMPLIANCE,
    ELASTIC_FORCE,
    FEEDFORWARD,
    GAP,
    MAX_POSITIONS,
    NUM_ARGUMENTS,
    SINGULAR,
    STEP,
    STIFFNESS,
    GradientWork,
    Lanes,
    Step,
    StepSlopes,
    impulse_of,
    parts,
)
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.inverse_dynamics_derivatives import calc_inverse_dynamics_derivatives
from merganser.multibody.kernels.layout import MAX_VELOCITIES
from merganser.multibody.kernels.position import calc_qdot_to_velocity
from merganser.multibody.kernels.spatial import dot, scaled, vector
from merganser.multibody.kernels.step import advance_positions
from merganser.multibody.kernels.velocity_products import (
    calc_mean_kinematics,
    start_mean_velocities,
    take_mean_velocities,
)
from merganser.multibody.linear.ordering import carve_islands, find_islands
from merganser.multibody.linear.products import add_row, block_of, multiply_jacobian, num_ends
from merganser.multibody.linear.records import CONTACT, Problem
from merganser.multibody.linear.unsymmetric import factor_block, solve_block, solve_columns

Array = NDArray[Any]

_MOST_STEPS = 6  # of Newton's method beyond the tolerance of the solver
_EXACT = 1e-13  # change of the velocities, relative, that is rounding


@kernel
def step_slopes(step: Step, lanes: Lanes, work: GradientWork, out: StepSlopes) -> int:
    """Computes the derivatives of a step; returns 0, or SINGULAR."""
    num_v = step.tau.shape[0]
    _fill_lanes(step, lanes)
    _set_laws(step, lanes, work)
    has_free = start_lanes(step, lanes)
    for n in range(step.passes.shape[0]):
        v_next = step.passes[n]
        _take_mean(step, n, work)
        if not _refine(step, v_next, work):
            return SINGULAR
        _set_forces(step, work)
        calc_inverse_dynamics_derivatives(
            step.plant.topology, step.parameters, step.gravity, step.position, work.mean, work.vdot, work.F,
            work.bodies, work.balance, work.dID_dq, work.dID_dv, work.M,
        )  # fmt: skip
        start_rest(step, n, work)
        if has_free:
            follow_free_bodies(step, n, lanes, work)
        if n == 0:
            start_constraints(step, work)
        set_motion(step.plant.topology, step.position, v_next, work.after)
        _set_slopes(step, lanes, work)
        add_constraints(step, work, out)
        if step.rows.shape[0] > 0:
            add_rows_of_bodies(step, v_next, lanes, work)
        for k in range(num_v):
            for column in range(work.rest.shape[1]):
                work.responses[k, column] = -work.rest[k, column]
        solve_columns(num_v, work.H, work.pivots, work.responses)
    finish_forces(step, work, out)
    _write_state(step, lanes, work, out)
    return 0


@device
def _fill_lanes(step: Step, lanes: Lanes) -> None:
    """The numbers of the step as complex ones."""
    for i in range(step.parameters.shape[0]):
        copy_record(step.parameters[i], lanes.parameters[i])
    for k in range(3):
        lanes.gravity[k] = complex(step.gravity[k], 0.0)
    for c in range(step.problem.constraints.shape[0]):
        copy_record(step.problem.constraints[c], lanes.constraints[c])
    for r in range(step.problem.rows.shape[0]):
        copy_record(step.problem.rows[r], lanes.rows[r])


@device
def _set_laws(step: Step, lanes: Lanes, work: GradientWork) -> None:
    """The laws of all constraints, on floats and in a lane for each of their arguments."""
    problem, h, num_trees = (
        Problem(step.settings[0], step.plant.trees, step.matrix, step.problem.constraints, step.problem.jacobian),
        step.time_step,
        step.plant.trees.shape[0],
    )
    _, v = parts(step.x, step.tau.shape[0])
    islands = carve_islands(num_trees, problem.constraints.shape[0], work.integers)
    num_islands = find_islands(problem.constraints, num_trees, islands)
    multiply_jacobian(problem, islands.constraint_order, v, work.speed_before)
    add_bias(step.problem.rows, work.speed_before)
    calc_compliance(problem, work.balance, work.compliance)
    for c in range(problem.constraints.shape[0]):
        work.is_tamsi[c] = int(problem.settings["approximation"] == TAMSI)
    for i in range(num_islands):
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        calc_laws(problem, h, chosen, step.problem.rows, work.compliance, work.speed_before, work.laws)
    complex_problem = Problem(step.settings[0], step.plant.trees, step.matrix, lanes.constraints, step.problem.jacobian)
    for lane in range(NUM_ARGUMENTS):
        for r in range(step.problem.rows.shape[0]):
            lanes.compliance[r] = complex(work.compliance[r], STEP if lane == COMPLIANCE else 0.0)
            lanes.before[r] = complex(work.speed_before[r], 0.0)
            lanes.rows[r]["g"] = complex(step.problem.rows[r]["g"], STEP if lane == GAP else 0.0)
        for c in range(problem.constraints.shape[0]):
            given, moved = problem.constraints[c], lanes.constraints[c]
            if given["kind"] == CONTACT:
                moved["stiffness"] = complex(given["stiffness"], STEP if lane == STIFFNESS else 0.0)
                moved["elastic_force"] = complex(given["elastic_force"], STEP if lane == ELASTIC_FORCE else 0.0)
                if BEFORE <= lane < BEFORE + 3:
                    r = given["row_start"] + lane - BEFORE
                    lanes.before[r] = complex(work.speed_before[r], STEP)
            moved["feedforward"] = complex(given["feedforward"], STEP if lane == FEEDFORWARD else 0.0)
        for i in range(num_islands):
            chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
            calc_laws(complex_problem, h, chosen, lanes.rows, lanes.compliance, lanes.before, lanes.laws[lane])


@device
def _set_slopes(step: Step, lanes: Lanes, work: GradientWork) -> None:
    """How gamma follows the arguments of laws, at the velocities of `_refine`."""
    num_constraints = step.problem.constraints.shape[0]
    constraints, J = lanes.constraints[:num_constraints], step.problem.jacobian
    problem = Problem(step.settings[0], step.plant.trees, step.matrix, constraints, J)
    islands = carve_islands(step.plant.trees.shape[0], num_constraints, work.integers)
    for r in range(step.problem.rows.shape[0]):
        lanes.velocity[r] = complex(work.velocity[r], 0.0)
    for lane in range(NUM_ARGUMENTS):
        chosen, laws, velocity = islands.constraint_order, lanes.laws[lane], lanes.velocity
        if step.settings[0]["approximation"] == TAMSI:
            calc_tamsi_impulses(problem, chosen, laws, velocity, lanes.impulses, lanes.hessian)
        else:
            calc_impulses(problem, chosen, laws, velocity, lanes.impulses, lanes.hessian)
        for r in range(step.problem.rows.shape[0]):
            work.slopes[r, lane] = lanes.impulses[r].imag / STEP


@device
def _take_mean(step: Step, n: int, work: GradientWork) -> None:
    """u_n, and how bodies move with it."""
    topology, h = step.plant.topology, step.time_step
    q, v = parts(step.x, step.tau.shape[0])
    if n == 0:
        start_mean_velocities(topology, h, step.position, step.velocity, v, work.mean)
    else:
        take_mean_velocities(topology, h, step.velocity, v, step.passes[n - 1], work.mean)
    calc_mean_kinematics(topology, step.parameters, h, step.position, step.velocity, q, work.mean, work.mean_velocity)


@device
def _refine(step: Step, v_next: Floats, work: GradientWork) -> bool:
    """Newton's method on (1), as the solver ends within a tolerance; leaves v_n, gamma, G and H, factored."""
    problem, h, topology, num_v = (
        Problem(step.settings[0], step.plant.trees, step.matrix, step.problem.constraints, step.problem.jacobian),
        step.time_step,
        step.plant.topology,
        v_next.shape[0],
    )
    _, v = parts(step.x, num_v)
    g_W = vector(step.gravity)
    fall = h * math.sqrt(dot(g_W, g_W))  # what is at rest has velocities of rounding alone
    islands = carve_islands(step.plant.trees.shape[0], problem.constraints.shape[0], work.integers)
    for count in range(_MOST_STEPS + 1):
        multiply_jacobian(problem, islands.constraint_order, v_next, work.velocity)
        add_bias(step.problem.rows, work.velocity)
        chosen, laws, velocity = islands.constraint_order, work.laws, work.velocity
        if problem.settings["approximation"] == TAMSI:
            calc_tamsi_impulses(problem, chosen, laws, velocity, work.impulses, work.hessian)
        else:
            calc_impulses(problem, chosen, laws, velocity, work.impulses, work.hessian)
        for k in range(num_v):
            work.vdot[k] = (v_next[k] - v[k]) / h
        calc_inverse_dynamics(
            topology, step.parameters, step.gravity, step.position, work.mean_velocity, work.vdot, step.F_applied,
            work.scratch, work.solution,
        )  # fmt: skip
        for i in range(1, topology.shape[0]):
            for k in range(topology[i]["num_v"]):
                m = topology[i]["v_start"] + k
                damping = step.parameters[i]["damping"][k]
                work.solution[m] = h * (work.solution[m] + damping * v_next[m] - step.tau[m])
        for c in range(problem.constraints.shape[0]):
            constraint = problem.constraints[c]
            for r in range(constraint["num_rows"]):
                for end in range(num_ends(constraint)):
                    block = block_of(problem.trees, problem.jacobian, constraint, end)
                    add_row(block, r, -work.impulses[constraint["row_start"] + r], work.solution)
        assemble_dense(problem, problem.jacobian, work.is_tamsi, work.hessian, work.H)
        if not factor_block(num_v, 0, num_v, work.H, work.pivots):
            return False
        solve_block(num_v, 0, num_v, work.H, work.pivots, work.solution)
        largest, change = fall, 0.0
        for k in range(num_v):
            largest, change = max(largest, abs(v_next[k])), max(change, abs(work.solution[k]))
        if count == _MOST_STEPS or change <= _EXACT * largest:
            break
        for k in range(num_v):
            v_next[k] -= work.solution[k]
    return True


@device
def _set_forces(step: Step, work: GradientWork) -> None:
    """All forces on the bodies, those of contacts among them."""
    for i in range(work.F.shape[0]):
        for k in range(6):
            work.F[i, k] = step.F_applied[i, k]
    for c in range(step.pairs.shape[0]):
        pair, p_WC = step.pairs[c], vector(step.pairs[c]["p_WC"])
        f = scaled(1.0 / step.time_step, impulse_of(step, c, work))
        push(step.position, work.F, pair["mobod_A"], p_WC, (0.0, 0.0, 0.0), f)
        push(step.position, work.F, pair["mobod_B"], p_WC, (0.0, 0.0, 0.0), scaled(-1.0, f))


@device
def _write_state(step: Step, lanes: Lanes, work: GradientWork, out: StepSlopes) -> None:
    """The state after the step and its derivatives, by q itself in place of motions along the velocities."""
    topology, num_v, last = step.plant.topology, step.tau.shape[0], step.passes.shape[0] - 1
    num_q = step.x.shape[0] - num_v
    _follow_coordinates(step, step.passes[last], lanes, work, out)
    for column in range(2 * num_v + step.driven.shape[1]):
        for i in range(1, topology.shape[0]):
            first = topology[i]["v_start"]
            for k in range(topology[i]["q_start"], topology[i]["q_start"] + topology[i]["num_q"]):
                slope = 0.0
                for l in range(topology[i]["num_v"]):
                    slope += work.q_by_v[k, l] * work.responses[first + l, column]
                work.q_responses[k, column] = slope
    for i in range(1, topology.shape[0]):
        first, num_own = topology[i]["v_start"], topology[i]["num_v"]
        for j in range(topology[i]["num_q"]):
            column = topology[i]["q_start"] + j
            by_q = work.v_by_q[first : first + num_own, j]
            for k in range(num_q):
                out.x_by_x[k, column] = _along(work.q_responses[k, first:], by_q)
            for k in range(num_v):
                out.x_by_x[num_q + k, column] = _along(work.responses[k, first:], by_q)
            for k in range(topology[i]["q_start"], topology[i]["q_start"] + topology[i]["num_q"]):
                out.x_by_x[k, column] += work.q_by_q[k, j]
            for c in range(step.pairs.shape[0]):
                for r in range(3):
                    out.forces_by_x_and_u[c, r, column] = _along(out.forces_by_state[c, r, first:], by_q)
    for column in range(num_v, work.responses.shape[1]):
        for k in range(num_q + num_v):
            slope = work.q_responses[k, column] if k < num_q else work.responses[k - num_q, column]
            if column < 2 * num_v:
                out.x_by_x[k, num_q + column - num_v] = slope
            else:
                out.x_by_u[k, column - 2 * num_v] = slope
        for c in range(step.pairs.shape[0]):
            for r in range(3):
                out.forces_by_x_and_u[c, r, num_q + column - num_v] = out.forces_by_state[c, r, column]


@inlined
def _along(by_velocities: Floats, by_q: Floats) -> float:
    """A derivative by q, from those along the velocities of a joint."""
    slope = 0.0
    for l in range(by_q.shape[0]):
        slope += by_velocities[l] * by_q[l]
    return slope


@device
def _follow_coordinates(step: Step, v_next: Floats, lanes: Lanes, work: GradientWork, out: StepSlopes) -> None:
    """x+; and of each joint alone how q+ follows q and v+, and how velocities v = N+(q) qdot follow qdot.

    Element j of all joints varies in one lane.
    """
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    q, _ = parts(step.x, num_v)
    q_lane, _ = parts(lanes.x, num_v)
    for lane in range(MAX_POSITIONS + MAX_VELOCITIES):
        for k in range(q.shape[0]):
            q_lane[k], lanes.q_next[k] = complex(q[k], 0.0), complex(0.0, 0.0)
        for k in range(num_v):
            lanes.v_next[k], lanes.u[k] = complex(v_next[k], 0.0), complex(0.0, 0.0)
        by_q, j, is_any = lane < MAX_POSITIONS, lane if lane < MAX_POSITIONS else lane - MAX_POSITIONS, False
        for i in range(1, topology.shape[0]):
            if by_q and j < topology[i]["num_q"]:
                k, is_any = topology[i]["q_start"] + j, True
                q_lane[k], lanes.q_next[k] = complex(q[k], STEP), complex(1.0, 0.0)
            elif not by_q and j < topology[i]["num_v"]:
                k, is_any = topology[i]["v_start"] + j, True
                lanes.v_next[k] = complex(v_next[k], STEP)
        if not is_any and lane > 0:
            continue
        if by_q:
            calc_qdot_to_velocity(topology, q_lane, lanes.q_next, lanes.u)
            for k in range(num_v):
                work.v_by_q[k, j] = lanes.u[k].real
        advance_positions(topology, h, q_lane, lanes.v_next, lanes.q_next)
        for k in range(q.shape[0]):
            out.x_next[k] = lanes.q_next[k].real
            if by_q:
                work.q_by_q[k, j] = lanes.q_next[k].imag / STEP
            else:
                work.q_by_v[k, j] = lanes.q_next[k].imag / STEP
    for k in range(num_v):
        out.x_next[q.shape[0] + k] = v_next[k]
