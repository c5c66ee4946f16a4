"""How the balance (1) of step.py follows the state through constraints, each for itself."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.contact.plant_layout import ProblemArrays
from merganser.multibody.contact.plant_problem import add_rows
from merganser.multibody.contact.regularization import calc_compliance
from merganser.multibody.gradients.contacts import add_contact, follow_compliance
from merganser.multibody.gradients.records import (
    COMPLIANCE,
    FEEDFORWARD,
    GAP,
    LANE_OF_ROWS,
    STEP,
    GradientWork,
    Lanes,
    Step,
    StepSlopes,
    mass_of,
    parts,
)
from merganser.multibody.kernels.inverse_dynamics_derivatives import move_body
from merganser.multibody.kernels.layout import Positions, Topology
from merganser.multibody.kernels.position import calc_velocity_to_qdot
from merganser.multibody.kernels.spatial import (
    carries,
    cross_motion,
    dot,
    rotational,
    set_places,
    set_rows,
    times_inertia,
    translational,
)
from merganser.multibody.kernels.velocity import calc_kinematics
from merganser.multibody.linear.products import add_row, block_of, num_ends
from merganser.multibody.linear.records import CONTACT, DRIVE, HESSIAN_SIZE, Problem

Array = NDArray[Any]


@device
def set_motion(topology: Topology, position: Positions, v: Floats, works: Array) -> None:
    """Velocities V about O, and their changes a along the velocities; v is taken for the accelerations, too."""
    for k in range(6):
        works[0]["V"][k], works[0]["A"][k] = 0.0, 0.0
    set_places(topology, position, works)
    for i in range(1, topology.shape[0]):
        set_rows(topology[i], position[i], works[i])
        move_body(topology[i], v, v, works[topology[i]["parent"]], works[i])


@device
def start_constraints(step: Step, work: GradientWork) -> None:
    """What does not follow the velocities after the step: motion before it, dA and dw."""
    topology, num_v = step.plant.topology, step.tau.shape[0]
    _, v = parts(step.x, num_v)
    set_motion(topology, step.position, v, work.before)
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
        has_no_rate = constraint["num_rows"] > 1 and constraint["kind"] != CONTACT  # see add_rows_of_bodies()
        if has_no_rate or work.compliance[constraint["row_start"]] == 0.0:
            continue
        if constraint["kind"] == CONTACT:
            follow_compliance(step, c, work)
            continue
        for end in range(num_ends(constraint)):
            block = block_of(step.plant.trees, step.problem.jacobian, constraint, end)
            for j in range(block.num_v):
                mass = mass_of(step, block.first + j)
                for k in range(num_v):
                    work.dw[c, k] -= block.J[j] * block.J[j] / (mass * mass) * work.dA[block.first + j, k]


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


@device
def add_constraints(step: Step, work: GradientWork, out: StepSlopes) -> None:
    """dr of contacts, and of constraints whose rows of J do not change."""
    num_v, constraints = step.tau.shape[0], step.problem.constraints
    for c in range(step.pairs.shape[0]):
        add_contact(step, c, work, out)
    first, last = step.problem.counts[0]["contacts_and_joints"], constraints.shape[0] - step.controlled.shape[0]
    for c in range(step.pairs.shape[0], constraints.shape[0]):
        if first <= c < last:
            continue
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
def add_rows_of_bodies(step: Step, v_next: Floats, lanes: Lanes, work: GradientWork) -> None:
    """dr of constraints between bodies and coordinates, whose rows of J follow q: a lane for each velocity."""
    topology, num_v, plant = step.plant.topology, step.tau.shape[0], step.plant
    q, v = parts(lanes.x, num_v)
    problem = ProblemArrays(lanes.constraints, lanes.rows, lanes.jacobian, step.problem.counts, lanes.values)
    for lane in range(num_v):
        for k in range(step.x.shape[0]):
            lanes.x[k] = complex(step.x[k], 0.0)
        for k in range(num_v):
            lanes.u[k] = complex(1.0 if k == lane else 0.0, 0.0)
        calc_velocity_to_qdot(topology, q, lanes.u, lanes.q_next)
        for k in range(q.shape[0]):
            q[k] += complex(0.0, STEP * lanes.q_next[k].real)
        position, moving = lanes.position[LANE_OF_ROWS], lanes.moving[LANE_OF_ROWS]
        calc_kinematics(topology, lanes.parameters, q, v, position, moving)
        for k in range(step.matrix.shape[0]):
            lanes.matrix[k] = complex(step.matrix[k], 0.0)
        for k in range(num_v):
            tree = plant.trees[plant.of_velocity[k]]
            place = tree["matrix_start"] + (k - tree["v_start"]) * (tree["num_v"] + 1)
            lanes.matrix[place] = complex(step.matrix[place], STEP * work.dA[k, lane])
        i, c = 0, step.problem.counts[0]["contacts_and_joints"]
        while i < step.rows.shape[0]:
            given = step.problem.constraints[c]
            for k in range(given["jacobian_0"], step.problem.counts[0]["jacobian"]):
                lanes.jacobian[k] = complex(0.0, 0.0)
            row, start = given["row_start"], given["jacobian_0"]
            add_rows(step.rows, i, plant, step.time_step, q, position, c, row, start, problem)
            one = Problem(step.settings[0], plant.trees, lanes.matrix, lanes.constraints[c : c + 1], lanes.jacobian)
            calc_compliance(one, lanes.tau, lanes.compliance)
            _add_lane_of_rows(step, c, lane, v_next, lanes, work)
            i, c = i + given["num_rows"], c + 1


@device
def _add_lane_of_rows(step: Step, c: int, lane: int, v_next: Floats, lanes: Lanes, work: GradientWork) -> None:
    """What a lane says of a constraint."""
    constraint, trees = step.problem.constraints[c], step.plant.trees
    dw = lanes.compliance[constraint["row_start"]].imag / STEP
    for r in range(constraint["num_rows"]):
        row = constraint["row_start"] + r
        speed = 0.0
        for end in range(num_ends(constraint)):
            moved = block_of(trees, lanes.jacobian, constraint, end)
            for j in range(moved.num_v):
                speed += moved.J[r * moved.num_v + j].imag / STEP * v_next[moved.first + j]
        change = work.slopes[row, GAP] * (lanes.rows[row]["g"].imag / STEP) + work.slopes[row, COMPLIANCE] * dw
        change -= work.hessian[HESSIAN_SIZE * row] * speed
        for end in range(num_ends(constraint)):
            block = block_of(trees, step.problem.jacobian, constraint, end)
            moved = block_of(trees, lanes.jacobian, constraint, end)
            for j in range(block.num_v):
                k = r * block.num_v + j
                slope = block.J[k] * change + moved.J[k].imag / STEP * work.impulses[row]
                work.rest[block.first + j, lane] -= slope
