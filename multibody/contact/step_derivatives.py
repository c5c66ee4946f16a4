"""How a step follows state and inputs, in one call on floats.

The balance of momentum that a step solves, n times with the velocities u_n of kernels/velocity_products.py, is

    r = h ID(q, u_n, (v_n - v) / h; F_applied + F_contact) + h D v_n - h tau - J_j^T gamma_j = 0            (1)

with the inverse dynamics ID, the contacts as forces F_contact on bodies, and gamma_j of all other constraints. At the
solution, with the Hessian H of derivatives.py,

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

About S, O, a and `carries` see kernels/inverse_dynamics_derivatives.py and kernels/spatial.py.

Sources: the implicit function theorem, as in derivatives.py; J. Carpentier, N. Mansard (2018) for the derivatives of ID.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.by_value import of_scalar
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.derivatives import assemble_dense, slope_of_contact
from merganser.multibody.contact.layout import TAMSI, law_dtype, row_dtype
from merganser.multibody.contact.plant_forces import push
from merganser.multibody.contact.plant_layout import PlantTrees, ProblemArrays
from merganser.multibody.contact.plant_problem import tangents_of
from merganser.multibody.contact.potential import calc_impulses
from merganser.multibody.contact.regularization import calc_compliance, calc_laws
from merganser.multibody.contact.solver import add_bias
from merganser.multibody.contact.tamsi import calc_tamsi_impulses
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.inverse_dynamics_derivatives import (
    calc_inverse_dynamics_derivatives,
    move_body,
    sensitivity_dtype,
)
from merganser.multibody.kernels.layout import position_dtype, scratch_dtype, velocity_dtype
from merganser.multibody.kernels.position import calc_qdot_to_velocity, calc_velocity_to_qdot
from merganser.multibody.kernels.spatial import (
    Vector3,
    add,
    carries,
    cross,
    cross_force,
    cross_motion,
    dot,
    rotational,
    scaled,
    set_places,
    set_rows,
    set_vector,
    subtract,
    times_inertia,
    translational,
    vector,
)
from merganser.multibody.kernels.step import advance_positions
from merganser.multibody.kernels.velocity import calc_kinematics
from merganser.multibody.kernels.velocity_products import (
    calc_mean_kinematics,
    is_free_body,
    start_mean_velocities,
    take_mean_velocities,
)
from merganser.multibody.linear.ordering import carve_islands, find_islands, integer_workspace_size
from merganser.multibody.linear.products import add_row, block_of, multiply_jacobian, num_ends, row_product
from merganser.multibody.linear.records import CONTACT, DRIVE, HESSIAN_SIZE, Problem, constraint_dtype
from merganser.multibody.linear.unsymmetric import factor_block, solve_block

Array = NDArray[Any]

# Arguments of laws, a lane each.
GAP, STIFFNESS, ELASTIC_FORCE, COMPLIANCE, BEFORE, FEEDFORWARD = 0, 1, 2, 3, 4, 7
NUM_ARGUMENTS = 8
NUM_MOTIONS = 6
STEP = 1e-170  # of the complex step
SINGULAR = 2  # of H

_MOST_STEPS = 6  # of Newton's method beyond the tolerance of the solver
_EXACT = 1e-13  # change of the velocities, relative, that is rounding


class Step(NamedTuple):
    """A step that has been taken.

    Attributes:
        plant: its trees.
        parameters, gravity: of the bodies.
        settings: one record of settings_dtype.
        time_step: h [s].
        x: state [q; v] before the step.
        tau: generalized forces but those of constraints and controllers in it, shape [num_v].
        F_applied: forces on the bodies from elsewhere, shape [num_mobods, 6].
        position, velocity: kinematics before the step.
        passes: v_n as the solver has found them, shape [num_passes + 1, num_v]; better ones afterwards.
        matrix: blocks of A.
        problem: its constraints.
        pairs: its contact pairs.
        motions: the same in lanes in which A turns about, or moves along, an axis of W with the origin p_WG of its
            geometry; shape [NUM_MOTIONS, num_pairs].
        p_WG: those, shape [num_pairs, 3].
        surfaces: velocities in W of the surfaces of A, where A does not move, shape [num_pairs, 3].
        driven: how tau follows the inputs, shape [num_v, num_u].
        controlled: the actuator of each controller; theirs are the last constraints.
    """

    plant: PlantTrees
    parameters: Array
    gravity: Floats
    settings: Array
    time_step: float
    x: Floats
    tau: Floats
    F_applied: FloatTable
    position: Array
    velocity: Array
    passes: FloatTable
    matrix: Floats
    problem: ProblemArrays
    pairs: Array
    motions: Array
    p_WG: FloatTable
    surfaces: FloatTable
    driven: FloatTable
    controlled: Integers


class Lanes(NamedTuple):
    """Complex numbers of the step, and room for them.

    Attributes:
        parameters, gravity: of the bodies.
        constraints, rows: of the problem.
        laws: shape [NUM_ARGUMENTS, num_rows].
        compliance, before, velocity, impulses: shape [num_rows].
        hessian: shape [HESSIAN_SIZE num_rows].
        position, moving, mean, scratch: of free bodies that turn; kinematics of v, and of u_n; first two in lanes.
        x, v_next, u, vdot, tau: for these.
        F: forces, shape [num_mobods, 6].
        q_next: shape [num_q].
    """

    parameters: Array
    gravity: Array
    constraints: Array
    rows: Array
    laws: Array
    compliance: Array
    before: Array
    velocity: Array
    impulses: Array
    hessian: Array
    position: Array
    moving: Array
    mean: Array
    scratch: Array
    x: Array
    v_next: Array
    u: Array
    vdot: Array
    tau: Array
    F: Array
    q_next: Array


class GradientWork(NamedTuple):
    """Room on floats.

    Attributes:
        bodies, before, after: sensitivities of ID, and of the motions before and after the step.
        mean_velocity, scratch: records of the bodies.
        F: all forces on the bodies, shape [num_mobods, 6].
        mean, vdot, balance, solution, pivots, row: shape [num_v].
        dID_dq, dID_dv, M, dA: shape [num_v, num_v]; dA[m, k] is that of A_mm along k.
        H: shape [num_v num_v].
        rest, responses: dr and dv_n, shape [num_v, 2 num_v + num_u].
        dw: shape [num_constraints, num_v].
        laws: of the rows.
        compliance, velocity, speed_before, impulses: shape [num_rows].
        slopes: of gamma by the arguments of laws, shape [num_rows, NUM_ARGUMENTS].
        hessian: G.
        chain: whether velocity k moves A, and B, and its mobod, shape [3, num_v].
        is_tamsi: of each constraint.
        integers: for islands.
    """

    bodies: Array
    before: Array
    after: Array
    mean_velocity: Array
    scratch: Array
    F: FloatTable
    mean: Floats
    vdot: Floats
    balance: Floats
    solution: Floats
    pivots: Floats
    row: Floats
    dID_dq: FloatTable
    dID_dv: FloatTable
    M: FloatTable
    dA: FloatTable
    H: Floats
    rest: FloatTable
    responses: FloatTable
    dw: FloatTable
    laws: Array
    compliance: Floats
    velocity: Floats
    speed_before: Floats
    impulses: Floats
    slopes: FloatTable
    hessian: Floats
    chain: NDArray[np.int64]
    is_tamsi: NDArray[np.int64]
    integers: NDArray[np.int64]


class StepSlopes(NamedTuple):
    """What is computed.

    Attributes:
        x_next: state after the step.
        x_by_x, x_by_u: its derivatives.
        forces: of contacts, on A in W [N], shape [num_pairs, 3].
        forces_by_state: their derivatives along the velocities, by v and u, shape [num_pairs, 3, 2 num_v + num_u].
        forces_by_x_and_u: the same by q, v and u.
    """

    x_next: Floats
    x_by_x: FloatTable
    x_by_u: FloatTable
    forces: FloatTable
    forces_by_state: Array
    forces_by_x_and_u: Array


def make_lanes(step: Step) -> Lanes:
    """Complex numbers of a step, with room for the rest."""
    num_rows, num_v = len(step.problem.rows), len(step.tau)
    num_q, topology = len(step.x) - num_v, step.plant.topology
    n = len(topology)

    def room(*shape: int) -> Array:
        return np.zeros(shape, np.complex128)

    return Lanes(
        step.parameters.astype(of_scalar(step.parameters.dtype, np.complex128)), step.gravity.astype(np.complex128),
        step.problem.constraints.astype(of_scalar(constraint_dtype, np.complex128)),
        step.problem.rows.astype(of_scalar(row_dtype, np.complex128)),
        np.zeros((NUM_ARGUMENTS, num_rows), of_scalar(law_dtype, np.complex128)),
        room(num_rows), room(num_rows), room(num_rows), room(num_rows), room(HESSIAN_SIZE * num_rows),
        np.zeros((2 * NUM_MOTIONS + 1, n), position_dtype(np.complex128)),
        np.zeros((2 * NUM_MOTIONS + 1, n), velocity_dtype(np.complex128)),
        np.zeros(n, velocity_dtype(np.complex128)), np.zeros(n, scratch_dtype(np.complex128)),
        room(num_q + num_v), room(num_v), room(num_v), room(num_v), room(num_v), room(n, 6), room(num_q),
    )  # fmt: skip


def make_gradient_work(step: Step) -> GradientWork:
    """Room for the derivatives of a step."""
    num_v, num_u, num_rows = len(step.tau), step.driven.shape[1], len(step.problem.rows)
    n, num_constraints = len(step.plant.topology), len(step.problem.constraints)

    def room(*shape: int) -> Array:
        return np.zeros(shape)

    records = sensitivity_dtype()
    return GradientWork(
        np.zeros(n, records), np.zeros(n, records), np.zeros(n, records), np.zeros(n, velocity_dtype()),
        np.zeros(n, scratch_dtype()), room(n, 6), *room(6, num_v), *room(4, num_v, num_v), room(num_v * num_v),
        *room(2, num_v, 2 * num_v + num_u), room(num_constraints, num_v), np.zeros(num_rows, law_dtype),
        *room(4, num_rows), room(num_rows, NUM_ARGUMENTS), room(HESSIAN_SIZE * num_rows),
        np.zeros((3, num_v), np.int64), np.zeros(num_constraints, np.int64),
        np.zeros(integer_workspace_size(num_v, len(step.plant.trees), num_constraints, 0), np.int64),
    )  # fmt: skip


def make_slopes(step: Step) -> StepSlopes:
    """Room for the results."""
    num_v, num_u, num_x, num_pairs = len(step.tau), step.driven.shape[1], len(step.x), len(step.pairs)
    by_state = 2 * num_v + num_u
    return StepSlopes(
        np.zeros(num_x), np.zeros((num_x, num_x)), np.zeros((num_x, num_u)), np.zeros((num_pairs, 3)),
        np.zeros((num_pairs, 3, by_state)), np.zeros((num_pairs, 3, num_x + num_u)),
    )  # fmt: skip


@kernel
def calc_step_slopes(step: Step, lanes: Lanes, work: GradientWork, out: StepSlopes) -> int:
    """Computes the derivatives of a step; returns 0, or SINGULAR."""
    num_v = step.tau.shape[0]
    _set_laws(step, lanes, work)
    has_free = _start_lanes(step, lanes)
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
        _start_rest(step, n, work)
        if has_free:
            _follow_free_bodies(step, n, lanes, work)
        if n == 0:
            _start_constraints(step, work)
        _set_motion(step, v_next, work.after)
        _set_slopes(step, lanes, work)
        _add_constraints(step, v_next, work, out)
        for column in range(work.rest.shape[1]):
            for k in range(num_v):
                work.solution[k] = -work.rest[k, column]
            solve_block(num_v, 0, num_v, work.H, work.pivots, work.solution)
            for k in range(num_v):
                work.responses[k, column] = work.solution[k]
    _finish_forces(step, work, out)
    _write_state(step, lanes, work, out)
    return 0


# ---------------------------------------------------------------------- laws


@inlined
def _problem(step: Step) -> Problem:
    return Problem(
        step.settings[0], step.plant.trees, step.matrix, step.problem.constraints, step.problem.jacobian
    )


@inlined
def _parts(x: Floats, num_v: int) -> tuple[Floats, Floats]:
    """q and v."""
    return x[: x.shape[0] - num_v], x[x.shape[0] - num_v :]


@device
def _set_laws(step: Step, lanes: Lanes, work: GradientWork) -> None:
    """The laws of all constraints, on floats and in a lane for each of their arguments."""
    problem, h, num_trees = _problem(step), step.time_step, step.plant.trees.shape[0]
    _, v = _parts(step.x, step.tau.shape[0])
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
    complex_problem = Problem(
        step.settings[0], step.plant.trees, step.matrix, lanes.constraints, step.problem.jacobian
    )
    for lane in range(NUM_ARGUMENTS):
        for r in range(work.compliance.shape[0]):
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
    problem = Problem(step.settings[0], step.plant.trees, step.matrix, lanes.constraints, step.problem.jacobian)
    islands = carve_islands(step.plant.trees.shape[0], problem.constraints.shape[0], work.integers)
    for r in range(work.velocity.shape[0]):
        lanes.velocity[r] = complex(work.velocity[r], 0.0)
    for lane in range(NUM_ARGUMENTS):
        given = problem, islands.constraint_order, lanes.laws[lane], lanes.velocity
        if step.settings[0]["approximation"] == TAMSI:
            calc_tamsi_impulses(*given, lanes.impulses, lanes.hessian)
        else:
            calc_impulses(*given, lanes.impulses, lanes.hessian)
        for r in range(work.velocity.shape[0]):
            work.slopes[r, lane] = lanes.impulses[r].imag / STEP


# ---------------------------------------------------------------------- values


@device
def _take_mean(step: Step, n: int, work: GradientWork) -> None:
    """u_n, and how bodies move with it."""
    topology, h = step.plant.topology, step.time_step
    q, v = _parts(step.x, step.tau.shape[0])
    if n == 0:
        start_mean_velocities(topology, h, step.position, step.velocity, v, work.mean)
    else:
        take_mean_velocities(topology, h, step.velocity, v, step.passes[n - 1], work.mean)
    calc_mean_kinematics(
        topology, step.parameters, h, step.position, step.velocity, q, work.mean, work.mean_velocity
    )


@device
def _refine(step: Step, v_next: Floats, work: GradientWork) -> bool:
    """Newton's method on (1), as the solver ends within a tolerance; leaves v_n, gamma, G and H, factored."""
    problem, h, topology, num_v = _problem(step), step.time_step, step.plant.topology, v_next.shape[0]
    _, v = _parts(step.x, num_v)
    islands = carve_islands(step.plant.trees.shape[0], problem.constraints.shape[0], work.integers)
    for count in range(_MOST_STEPS + 1):
        multiply_jacobian(problem, islands.constraint_order, v_next, work.velocity)
        add_bias(step.problem.rows, work.velocity)
        given = problem, islands.constraint_order, work.laws, work.velocity
        if problem.settings["approximation"] == TAMSI:
            calc_tamsi_impulses(*given, work.impulses, work.hessian)
        else:
            calc_impulses(*given, work.impulses, work.hessian)
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
        largest, change = 0.0, 0.0
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
        f = scaled(1.0 / step.time_step, _impulse_of(step, c, work))
        push(step.position, work.F, pair["mobod_A"], p_WC, (0.0, 0.0, 0.0), f)
        push(step.position, work.F, pair["mobod_B"], p_WC, (0.0, 0.0, 0.0), scaled(-1.0, f))


@inlined
def _impulse_of(step: Step, c: int, work: GradientWork) -> Vector3:
    """The impulse of a contact on A, in W."""
    row, n = step.problem.constraints[c]["row_start"], vector(step.pairs[c]["nhat_BA_W"])
    t_1, t_2 = tangents_of(n)
    gamma = work.impulses
    return add(add(scaled(gamma[row], t_1), scaled(gamma[row + 1], t_2)), scaled(gamma[row + 2], n))


# ---------------------------------------------------------------------- free motion


@device
def _start_rest(step: Step, n: int, work: GradientWork) -> None:
    """dr of (1) without constraints, and what comes from the last pass."""
    h, num_v, topology = step.time_step, step.tau.shape[0], step.plant.topology
    share = 1.0 if n == 0 else 0.5
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            m = topology[i]["v_start"] + k
            work.dID_dv[m, m] -= step.parameters[i]["damping"][k]
    for r in range(num_v):
        for k in range(num_v):
            work.rest[r, k] = h * work.dID_dq[r, k]
            work.rest[r, num_v + k] = h * share * work.dID_dv[r, k] - work.M[r, k]
        for k in range(step.driven.shape[1]):
            work.rest[r, 2 * num_v + k] = -h * step.driven[r, k]
    if n > 0:
        for r in range(num_v):
            for k in range(num_v):
                slope = 0.5 * h * work.dID_dv[r, k]
                if slope != 0.0:
                    for column in range(work.rest.shape[1]):
                        work.rest[r, column] += slope * work.responses[k, column]


@device
def _start_lanes(step: Step, lanes: Lanes) -> bool:
    """Kinematics in lanes, where free bodies turn; returns whether there are such."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    i, has_free = 1, False
    while i < topology.shape[0]:
        has_free = has_free or is_free_body(topology, h, step.velocity, i)
        i = topology[i]["subtree_end"]
    if not has_free:
        return False
    for r in range(lanes.F.shape[0]):
        for c in range(6):
            lanes.F[r, c] = complex(0.0, 0.0)
    q, v = _parts(lanes.x, num_v)
    for lane in range(2 * NUM_MOTIONS + 1):
        _move_free_bodies(step, lane, lanes)
        calc_kinematics(topology, lanes.parameters, q, v, lanes.position[lane], lanes.moving[lane])
    return True


@device
def _move_free_bodies(step: Step, lane: int, lanes: Lanes) -> None:
    """The state of a lane: free bodies move along a velocity, or have more of it; none in the last lane."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    q, v = _parts(lanes.x, num_v)
    for k in range(step.x.shape[0]):
        lanes.x[k] = complex(step.x[k], 0.0)
    if lane == 2 * NUM_MOTIONS:
        return
    for k in range(num_v):
        lanes.u[k] = complex(0.0, 0.0)
    i = 1
    while i < topology.shape[0]:
        if is_free_body(topology, h, step.velocity, i):
            lanes.u[topology[i]["v_start"] + lane % NUM_MOTIONS] = complex(1.0, 0.0)
        i = topology[i]["subtree_end"]
    if lane >= NUM_MOTIONS:
        for k in range(num_v):
            v[k] += complex(0.0, STEP * lanes.u[k].real)
        return
    calc_velocity_to_qdot(topology, q, lanes.u, lanes.q_next)
    for k in range(q.shape[0]):
        q[k] += complex(0.0, STEP * lanes.q_next[k].real)


@device
def _follow_free_bodies(step: Step, n: int, lanes: Lanes, work: GradientWork) -> None:
    """dr of the rows of free bodies that turn, in the place of that of other bodies."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    q, v = _parts(lanes.x, num_v)
    for k in range(num_v):
        lanes.vdot[k] = complex(work.vdot[k], 0.0)
    for i in range(lanes.F.shape[0]):
        for c in range(6):
            lanes.F[i, c] = complex(work.F[i, c], 0.0)
    i = 1
    while i < topology.shape[0]:
        if is_free_body(topology, h, step.velocity, i):
            for r in range(topology[i]["v_start"], topology[i]["v_start"] + NUM_MOTIONS):
                for column in range(2 * num_v):
                    work.rest[r, column] = 0.0
                for k in range(num_v):
                    work.rest[r, num_v + k] = -work.M[r, k]
                for column in range(2 * num_v, work.rest.shape[1]):
                    work.rest[r, column] = -h * step.driven[r, column - 2 * num_v]
        i = topology[i]["subtree_end"]
    for lane in range(2 * NUM_MOTIONS if n == 0 else 3 * NUM_MOTIONS):
        of_state = min(lane, 2 * NUM_MOTIONS)
        position, moving, mean = lanes.position[of_state], lanes.moving[of_state], lanes.mean
        _move_free_bodies(step, of_state, lanes)
        if n == 0:
            start_mean_velocities(topology, h, position, moving, v, lanes.u)
        else:
            _set_last(step, n, lane - 2 * NUM_MOTIONS, lanes)
            take_mean_velocities(topology, h, moving, v, lanes.v_next, lanes.u)
        calc_mean_kinematics(topology, lanes.parameters, h, position, moving, q, lanes.u, mean)
        calc_inverse_dynamics(
            topology, lanes.parameters, lanes.gravity, position, mean, lanes.vdot, lanes.F, lanes.scratch, lanes.tau
        )
        _add_lane(step, lane, lanes, work)


@device
def _set_last(step: Step, n: int, k: int, lanes: Lanes) -> None:
    """v_(n-1), in which velocity k of free bodies varies; none if that is negative."""
    topology, v_last = step.plant.topology, step.passes[n - 1]
    for m in range(v_last.shape[0]):
        lanes.v_next[m] = complex(v_last[m], 0.0)
    i = 1
    while k >= 0 and i < topology.shape[0]:
        if is_free_body(topology, step.time_step, step.velocity, i):
            m = topology[i]["v_start"] + k
            lanes.v_next[m] = complex(v_last[m], STEP)
        i = topology[i]["subtree_end"]


@device
def _add_lane(step: Step, lane: int, lanes: Lanes, work: GradientWork) -> None:
    """What a lane says of the rows of free bodies."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    i = 1
    while i < topology.shape[0]:
        if is_free_body(topology, h, step.velocity, i):
            start = topology[i]["v_start"]
            moved = start + lane % NUM_MOTIONS
            for r in range(start, start + NUM_MOTIONS):
                slope = h * (lanes.tau[r].imag / STEP)
                if lane < 2 * NUM_MOTIONS:
                    work.rest[r, moved if lane < NUM_MOTIONS else num_v + moved] += slope
                else:
                    for column in range(work.rest.shape[1]):
                        work.rest[r, column] += slope * work.responses[moved, column]
        i = topology[i]["subtree_end"]


# ---------------------------------------------------------------------- constraints


@device
def _set_motion(step: Step, v: Floats, works: Array) -> None:
    """Velocities V about O, and their changes a along the velocities; v is taken for the accelerations, too."""
    topology = step.plant.topology
    for k in range(6):
        works[0]["V"][k], works[0]["A"][k] = 0.0, 0.0
    set_places(topology, step.position, works)
    for i in range(1, topology.shape[0]):
        set_rows(topology[i], step.position[i], works[i])
        move_body(topology[i], v, v, works[topology[i]["parent"]], works[i])


@device
def _start_constraints(step: Step, work: GradientWork) -> None:
    """What does not follow the velocities after the step: motion before it, dA and dw."""
    topology, num_v = step.plant.topology, step.tau.shape[0]
    _, v = _parts(step.x, num_v)
    _set_motion(step, v, work.before)
    for m in range(num_v):
        for k in range(num_v):
            work.dA[m, k] = 0.0
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            _follow_diagonal(step, i, k, work)
    for c in range(step.problem.constraints.shape[0]):
        for k in range(num_v):
            work.dw[c, k] = 0.0
        constraint = step.problem.constraints[c]
        if work.compliance[constraint["row_start"]] == 0.0:
            continue
        if constraint["kind"] == CONTACT:
            _follow_compliance(step, c, work)
            continue
        for end in range(num_ends(constraint)):
            block = block_of(step.plant.trees, step.problem.jacobian, constraint, end)
            for j in range(block.num_v):
                mass = _mass(step, block.first + j)
                for k in range(num_v):
                    work.dw[c, k] -= block.J[j] * block.J[j] / (mass * mass) * work.dA[block.first + j, k]


@inlined
def _mass(step: Step, m: int) -> float:
    """A_mm."""
    tree = step.plant.trees[step.plant.of_velocity[m]]
    mass: float = step.matrix[tree["matrix_start"] + (m - tree["v_start"]) * (tree["num_v"] + 1)]
    return mass


@device
def _follow_diagonal(step: Step, i: int, k: int, work: GradientWork) -> None:
    """dA_mm along velocity k of mobod i: of what is inboard of i, as the inertia outboard of k moves."""
    topology, works = step.plant.topology, work.bodies
    w_k, v_k = rotational(works[i]["S"][k]), translational(works[i]["S"][k])
    a = i
    while a > 0:
        for l in range(topology[a]["num_v"]):
            if a == i and (l == k or carries(topology[i], k, l)):
                continue
            w_m, v_m = rotational(works[a]["S"][l]), translational(works[a]["S"][l])
            t, f = times_inertia(works[i], w_m, v_m)
            w, v = cross_motion(w_k, v_k, w_m, v_m)
            work.dA[topology[a]["v_start"] + l, topology[i]["v_start"] + k] = -2.0 * (dot(w, t) + dot(v, f))
        a = topology[a]["parent"]


@inlined
def _arm(step: Step, i: int, p_W: Vector3, works: Array) -> Vector3:
    """Where a point in W is from the O of a body."""
    p_WoBo_W = vector(step.position[i]["p_WoBo_W"])
    return add(vector(works[i]["p_OBo_W"]), subtract(p_W, p_WoBo_W))


@inlined
def _at(S: Array, arm: Vector3) -> Vector3:
    """The velocity of a point in a motion about O."""
    return add(translational(S), cross(rotational(S), arm))


@device
def _set_chain(step: Step, c: int, work: GradientWork) -> None:
    """Which velocities move A and B of a contact."""
    topology, chain = step.plant.topology, work.chain
    for k in range(chain.shape[1]):
        chain[0, k], chain[1, k], chain[2, k] = 0, 0, 0
    for side in range(2):
        i = step.pairs[c]["mobod_A"] if side == 0 else step.pairs[c]["mobod_B"]
        while i > 0:
            for k in range(topology[i]["v_start"], topology[i]["v_start"] + topology[i]["num_v"]):
                chain[side, k], chain[2, k] = 1, i
            i = topology[i]["parent"]


@device
def _twist(step: Step, c: int, k: int, work: GradientWork) -> tuple[Vector3, Vector3, Vector3, Vector3]:
    """How velocity k moves A relative to B, with the origin of A's geometry, and then B, with the point C."""
    pair, works = step.pairs[c], work.bodies
    w_A, v_A, w_B, v_B, v_C = (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, (0.0,) * 3
    i = work.chain[2, k]
    if work.chain[0, k] or work.chain[1, k]:
        S = works[i]["S"][k - step.plant.topology[i]["v_start"]]
        p_WG, p_WC = vector(step.p_WG[c]), vector(pair["p_WC"])
        if work.chain[0, k]:
            w_A, v_A = rotational(S), _at(S, _arm(step, i, p_WG, works))
        if work.chain[1, k]:
            w_B, v_B = rotational(S), _at(S, _arm(step, i, p_WG, works))
            v_C = _at(S, _arm(step, i, p_WC, works))
    return subtract(w_A, w_B), subtract(v_A, v_B), w_B, v_C


@inlined
def _lane(field: Array) -> Vector3:
    """The derivative in a lane of a vector."""
    return field[0].imag / STEP, field[1].imag / STEP, field[2].imag / STEP


@device
def _point_motion(step: Step, c: int, w: Vector3, v: Vector3, w_B: Vector3, v_C: Vector3) -> tuple[Vector3, Vector3]:
    """How point C moves, and how frame E turns, in a motion of `_twist`."""
    n = vector(step.pairs[c]["nhat_BA_W"])
    dp, turn = v_C, w_B
    motion = (w[0], w[1], w[2], v[0], v[1], v[2])
    for j in range(NUM_MOTIONS):
        if motion[j] != 0.0:
            lane = step.motions[j, c]
            dp = add(dp, scaled(motion[j], _lane(lane["p_WC"])))
            turn = add(turn, scaled(motion[j], cross(n, _lane(lane["nhat_BA_W"]))))
    return dp, turn


@device
def _follow_compliance(step: Step, c: int, work: GradientWork) -> None:
    """Equation (5) of a contact, to work.dw."""
    topology, works, pair = step.plant.topology, work.bodies, step.pairs[c]
    num_v, p_WC, w = step.tau.shape[0], vector(pair["p_WC"]), work.compliance[step.problem.constraints[c]["row_start"]]
    _set_chain(step, c, work)
    # W, in the world.
    W_x, W_y, W_z = (0.0,) * 3, (0.0,) * 3, (0.0,) * 3
    for m in range(num_v):
        if work.chain[0, m] != work.chain[1, m]:
            j = _column(step, m, p_WC, work)
            scale = 1.0 / _mass(step, m)
            W_x = add(W_x, scaled(scale * j[0], j))
            W_y = add(W_y, scaled(scale * j[1], j))
            W_z = add(W_z, scaled(scale * j[2], j))
    spin = (0.0,) * 3  # sum of y_m x w_m, by which dw follows the point C
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        i = pair["mobod_A"] if side == 0 else pair["mobod_B"]
        T_t, T_f = (0.0,) * 3, (0.0,) * 3
        while i > 0:
            arm, start = _arm(step, i, p_WC, works), topology[i]["v_start"]
            more_t, more_f = (0.0,) * 3, (0.0,) * 3
            for k in range(topology[i]["num_v"]):
                S_k = works[i]["S"][k]
                w_k, v_k = rotational(S_k), translational(S_k)
                work.dw[c, start + k] += dot(w_k, T_t) + dot(v_k, T_f)
                if work.chain[0, start + k] == work.chain[1, start + k]:
                    continue
                j = _column(step, start + k, p_WC, work)
                mass = _mass(step, start + k)
                y = scaled(2.0 / (9.0 * w * mass), (dot(W_x, j), dot(W_y, j), dot(W_z, j)))
                b = dot(y, j) / (2.0 * mass)
                for l in range(num_v):
                    work.dw[c, l] -= b * work.dA[start + k, l]
                y = scaled(sign, y)
                spin = add(spin, cross(y, w_k))
                Y_t = cross(arm, y)
                for l in range(topology[i]["num_v"]):
                    if l != k and carries(topology[i], l, k):
                        S_l = works[i]["S"][l]
                        w_x, v_x = cross_motion(rotational(S_l), translational(S_l), w_k, v_k)
                        work.dw[c, start + l] += dot(w_x, Y_t) + dot(v_x, y)
                t, f = cross_force(w_k, v_k, Y_t, y)
                more_t, more_f = add(more_t, t), add(more_f, f)
            T_t, T_f = add(T_t, more_t), add(T_f, more_f)
            i = topology[i]["parent"]
    for k in range(num_v):
        if work.chain[0, k] or work.chain[1, k]:
            w_r, v_r, w_B, v_C = _twist(step, c, k, work)
            dp, _ = _point_motion(step, c, w_r, v_r, w_B, v_C)
            work.dw[c, k] += dot(dp, spin)


@device
def _column(step: Step, m: int, p_WC: Vector3, work: GradientWork) -> Vector3:
    """j_m: the velocity of A relative to B at C with a unit of velocity m, which moves one of both."""
    i = work.chain[2, m]
    j = _at(work.bodies[i]["S"][m - step.plant.topology[i]["v_start"]], _arm(step, i, p_WC, work.bodies))
    return j if work.chain[0, m] else scaled(-1.0, j)


@device
def _add_constraints(step: Step, v_next: Floats, work: GradientWork, out: StepSlopes) -> None:
    """dr of all constraints."""
    num_v, constraints = step.tau.shape[0], step.problem.constraints
    for c in range(step.pairs.shape[0]):
        _add_contact(step, c, work, out)
    for c in range(step.pairs.shape[0], constraints.shape[0]):
        constraint = constraints[c]
        row = constraint["row_start"]
        by_gap, by_w = work.slopes[row, GAP], work.slopes[row, COMPLIANCE]
        for k in range(num_v):
            work.row[k] = by_w * work.dw[c, k]
        for end in range(num_ends(constraint)):
            add_row(block_of(step.plant.trees, step.problem.jacobian, constraint, end), 0, by_gap, work.row)
        for end in range(num_ends(constraint)):
            block = block_of(step.plant.trees, step.problem.jacobian, constraint, end)
            for j in range(block.num_v):
                for k in range(num_v):
                    work.rest[block.first + j, k] -= block.J[j] * work.row[k]
                if constraint["kind"] == DRIVE:
                    actuator = step.controlled[c - constraints.shape[0] + step.controlled.shape[0]]
                    work.rest[block.first + j, 2 * num_v + actuator] -= block.J[j] * work.slopes[row, FEEDFORWARD]


@device
def _add_contact(step: Step, c: int, work: GradientWork, out: StepSlopes) -> None:
    """dr of a contact, and how its force follows the state before the step at constant v_n."""
    num_v, pair, row = step.tau.shape[0], step.pairs[c], step.problem.constraints[c]["row_start"]
    n, p_WC, slip = vector(pair["nhat_BA_W"]), vector(pair["p_WC"]), vector(pair["v_SbSa_W"])
    t_1, t_2 = tangents_of(n)
    f, s = _impulse_of(step, c, work), work.slopes
    _set_chain(step, c, work)
    for column in range(out.forces_by_state.shape[2]):
        for r in range(3):
            out.forces_by_state[c, r, column] = 0.0
    for k in range(num_v):
        is_on_chain = work.chain[0, k] != 0 or work.chain[1, k] != 0
        dw = work.dw[c, k]
        if not is_on_chain and dw == 0.0:
            continue
        g_1, g_2, g_n = s[row, COMPLIANCE] * dw, s[row + 1, COMPLIANCE] * dw, s[row + 2, COMPLIANCE] * dw
        dp, turn = (0.0,) * 3, (0.0,) * 3
        if is_on_chain:
            w_r, v_r, w_B, v_C = _twist(step, c, k, work)
            dp, turn = _point_motion(step, c, w_r, v_r, w_B, v_C)
            motion = (w_r[0], w_r[1], w_r[2], v_r[0], v_r[1], v_r[2])
            d_gap, d_stiffness, d_force = 0.0, 0.0, 0.0
            for j in range(NUM_MOTIONS):
                if motion[j] != 0.0:
                    lane, scale = step.motions[j, c], motion[j] / STEP
                    d_gap += scale * lane["phi"].imag
                    d_stiffness += scale * lane["stiffness"].imag
                    d_force += scale * lane["elastic_force"].imag
            d_slip = add(cross(w_B, slip), cross(w_r, vector(step.surfaces[c])))
            e = _velocity_change(step, c, k, work.after, dp, turn, d_slip, work)
            b = _velocity_change(step, c, k, work.before, dp, turn, d_slip, work)
            g_1 += _impulse_change(step, row, 0, d_gap, d_stiffness, d_force, e, b, work)
            g_2 += _impulse_change(step, row, 1, d_gap, d_stiffness, d_force, e, b, work)
            g_n += _impulse_change(step, row, 2, d_gap, d_stiffness, d_force, e, b, work)
        df = add(add(add(scaled(g_1, t_1), scaled(g_2, t_2)), scaled(g_n, n)), cross(turn, f))
        _add_impulse(step, c, k, k, dp, df, f, work, out)
    # By v, as laws may know the velocities before the step.
    for k in range(num_v):
        if work.chain[0, k] != work.chain[1, k]:
            j = _column(step, k, p_WC, work)
            b = (dot(t_1, j), dot(t_2, j), dot(n, j))
            g_1 = dot((s[row, BEFORE], s[row, BEFORE + 1], s[row, BEFORE + 2]), b)
            g_2 = dot((s[row + 1, BEFORE], s[row + 1, BEFORE + 1], s[row + 1, BEFORE + 2]), b)
            g_n = dot((s[row + 2, BEFORE], s[row + 2, BEFORE + 1], s[row + 2, BEFORE + 2]), b)
            if g_1 != 0.0 or g_2 != 0.0 or g_n != 0.0:
                df = add(add(scaled(g_1, t_1), scaled(g_2, t_2)), scaled(g_n, n))
                _add_impulse(step, c, k, num_v + k, (0.0,) * 3, df, (0.0,) * 3, work, out)


@device
def _impulse_change(
    step: Step, row: int, r: int, d_gap: float, d_stiffness: float, d_force: float, e: Vector3, b: Vector3,
    work: GradientWork,
) -> float:  # fmt: skip
    """How a component of gamma follows all but w."""
    s, G = work.slopes[row + r], work.hessian
    total = s[GAP] * d_gap + s[STIFFNESS] * d_stiffness + s[ELASTIC_FORCE] * d_force
    total += s[BEFORE] * b[0] + s[BEFORE + 1] * b[1] + s[BEFORE + 2] * b[2]
    ignores_slip = step.settings[0]["approximation"] == TAMSI
    for k in range(3):
        total -= slope_of_contact(G, row, r, k, ignores_slip) * e[k]
    return total


@device
def _velocity_change(
    step: Step, c: int, k: int, works: Array, dp: Vector3, turn: Vector3, d_slip: Vector3, work: GradientWork
) -> Vector3:
    """How E^T v_C follows velocity k, of constant generalized velocities, with their motion in `works`."""
    pair, topology = step.pairs[c], step.plant.topology
    n, p_WC, slip = vector(pair["nhat_BA_W"]), vector(pair["p_WC"]), vector(pair["v_SbSa_W"])
    t_1, t_2 = tangents_of(n)
    v, change = (0.0,) * 3, (0.0,) * 3
    for side in range(2):
        i, sign = (pair["mobod_A"], 1.0) if side == 0 else (pair["mobod_B"], -1.0)
        if i == 0:
            continue
        V, arm = works[i]["V"], _arm(step, i, p_WC, works)
        v = add(v, scaled(sign, _at(V, arm)))
        change = add(change, scaled(sign, cross(rotational(V), dp)))
        if work.chain[side, k]:
            a = work.chain[2, k]
            l = k - topology[a]["v_start"]
            S_k, a_k = works[a]["S"][l], works[a]["a"][l]
            dw, dv = cross_motion(rotational(S_k), translational(S_k), rotational(V), translational(V))
            dw, dv = add(dw, rotational(a_k)), add(dv, translational(a_k))
            change = add(change, scaled(sign, add(dv, cross(dw, arm))))
    along_n = subtract(change, cross(turn, v))
    across = add(along_n, subtract(d_slip, cross(turn, slip)))
    return dot(t_1, across), dot(t_2, across), dot(n, along_n)


@device
def _add_impulse(
    step: Step, c: int, k: int, column: int, dp: Vector3, df: Vector3, f: Vector3, work: GradientWork,
    out: StepSlopes,
) -> None:  # fmt: skip
    """dr of an impulse that changes by df, at a point that moves by dp more than the bodies' origins do."""
    pair, topology, works = step.pairs[c], step.plant.topology, work.bodies
    for r in range(3):
        out.forces_by_state[c, r, column] += df[r] / step.time_step
    for side in range(2):
        i, sign = (pair["mobod_A"], 1.0) if side == 0 else (pair["mobod_B"], -1.0)
        body, moved = i, dp
        if i > 0 and work.chain[side, k] and column == k:
            a = work.chain[2, k]
            S_k = works[a]["S"][k - topology[a]["v_start"]]
            moved = subtract(dp, _at(S_k, vector(works[body]["p_OBo_W"])))
        if i > 0:
            moment = add(cross(moved, f), cross(_arm(step, i, vector(pair["p_WC"]), works), df))
        while i > 0:
            for l in range(topology[i]["num_v"]):
                S = works[i]["S"][l]
                power = dot(rotational(S), moment) + dot(translational(S), df)
                work.rest[topology[i]["v_start"] + l, column] -= sign * power
            i = topology[i]["parent"]


# ---------------------------------------------------------------------- results


@device
def _finish_forces(step: Step, work: GradientWork, out: StepSlopes) -> None:
    """Forces of contacts, with what follows from dv+."""
    h, problem, ignores_slip = step.time_step, _problem(step), step.settings[0]["approximation"] == TAMSI
    for c in range(step.pairs.shape[0]):
        constraint, n = problem.constraints[c], vector(step.pairs[c]["nhat_BA_W"])
        t_1, t_2 = tangents_of(n)
        row = constraint["row_start"]
        set_vector(out.forces[c], scaled(1.0 / h, _impulse_of(step, c, work)))
        for column in range(work.responses.shape[1]):
            dv = work.responses[:, column]
            e_1, e_2, e_n = 0.0, 0.0, 0.0
            for end in range(num_ends(constraint)):
                block = block_of(problem.trees, problem.jacobian, constraint, end)
                e_1 = row_product(block, 0, dv, e_1)
                e_2 = row_product(block, 1, dv, e_2)
                e_n = row_product(block, 2, dv, e_n)
            for r in range(3):
                change = 0.0
                for k in range(3):
                    axis = t_1[r] if k == 0 else t_2[r] if k == 1 else n[r]
                    G_1 = slope_of_contact(work.hessian, row, k, 0, ignores_slip)
                    G_2 = slope_of_contact(work.hessian, row, k, 1, ignores_slip)
                    G_n = slope_of_contact(work.hessian, row, k, 2, ignores_slip)
                    change -= axis * (G_1 * e_1 + G_2 * e_2 + G_n * e_n)
                out.forces_by_state[c, r, column] += change / h


@device
def _write_state(step: Step, lanes: Lanes, work: GradientWork, out: StepSlopes) -> None:
    """The state after the step and its derivatives, by q itself in place of motions along the velocities."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    num_q, v_next = step.x.shape[0] - num_v, step.passes[step.passes.shape[0] - 1]
    q, _ = _parts(step.x, num_v)
    q_lane, _ = _parts(lanes.x, num_v)
    for column in range(step.x.shape[0] + step.driven.shape[1]):
        for k in range(num_q):
            q_lane[k] = complex(q[k], STEP if k == column else 0.0)
        if column < num_q:
            for k in range(num_q):
                lanes.q_next[k] = complex(1.0 if k == column else 0.0, 0.0)
            for k in range(num_v):
                lanes.u[k] = complex(0.0, 0.0)
            calc_qdot_to_velocity(topology, q_lane, lanes.q_next, lanes.u)
        for r in range(num_v):
            slope = 0.0
            if column < num_q:
                for k in range(num_v):
                    slope += work.responses[r, k] * lanes.u[k].real
            else:
                slope = work.responses[r, num_v + column - num_q]
            lanes.v_next[r] = complex(v_next[r], STEP * slope)
        for c in range(out.forces.shape[0]):
            for r in range(3):
                slope = 0.0
                if column < num_q:
                    for k in range(num_v):
                        slope += out.forces_by_state[c, r, k] * lanes.u[k].real
                else:
                    slope = out.forces_by_state[c, r, num_v + column - num_q]
                out.forces_by_x_and_u[c, r, column] = slope
        advance_positions(topology, h, q_lane, lanes.v_next, lanes.q_next)
        for k in range(step.x.shape[0]):
            value = lanes.q_next[k] if k < num_q else lanes.v_next[k - num_q]
            out.x_next[k] = value.real
            if column < step.x.shape[0]:
                out.x_by_x[k, column] = value.imag / STEP
            else:
                out.x_by_u[k, column - step.x.shape[0]] = value.imag / STEP

