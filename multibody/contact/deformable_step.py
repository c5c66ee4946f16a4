"""The step of a plant with deformable bodies: one text, as step.py, which has what is about rigid bodies.

    free motion   v* of each deformable body                                          fem/newton.py
    contacts      of deformable bodies                                                deformable_pairs.py
    participants  vertices that these act on, or that are fixed to rigid bodies       deformable_problem.py
    coupling      how these vertices give way                                         fem/schur.py
    problem       that of the rigid bodies, with one tree more for each deformable body that takes part, and its
                  constraints behind the others                                       deformable_problem.py
    solver        one for all
    next state    of the rigid bodies, and of all vertices: those that take part as the solver says, the others as
                  they follow them                                                    fem/schur.py

Where no deformable body takes part in anything, the rigid bodies take their step as if there were none.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.framework.native.memory.tape import call_asking_kernel, call_kernel, call_quiet_kernel
from merganser.geometry.hydroelastic.buffers import lacks_memory
from merganser.multibody.contact.deformable_records import (
    BODY,
    FACES,
    IS_COUPLED,
    JACOBIAN,
    MATRIX,
    NODES,
    PAIRS,
    REASON,
    DeformableBodies,
    DeformableResults,
)
from merganser.multibody.contact.layout import Solution, StepProblem
from merganser.multibody.contact.step import (
    BAD_POSE,
    LACKS_CAPACITY,
    NO_FREE_MOTION,
    NOT_COMPILED,
    NOT_FINITE,
    NOT_SOLVED,
    drop_distant,
    find_forces,
    find_kinematics,
    find_pairs_of_step,
    finish_step,
    move,
    pose_geometries,
    pose_problem,
    take_step,
)
from merganser.multibody.contact.step_records import OUTCOME, SOLVED, Inputs, Model, State, StepResults, Work

__all__ = ["take_step_of_all"]


@device
def take_step_of_all(
    model: Model,
    soft: DeformableBodies,
    state: State,
    h: float,
    inputs: Inputs,
    work: Work,
    out: StepResults,
    soft_out: DeformableResults,
) -> int:
    """The state of all bodies a time step h [s] later; returns a status of step.py."""
    out.found[SOLVED] = 0
    soft_out.found[IS_COUPLED] = 0
    if soft.needs_poses:
        moved = state.q, state.v, out.position, work.velocity
        call_quiet_kernel(model.code.kinematics, (model.topology, model.parameters, *moved))
    status = _move_freely(soft, h, out, soft_out)
    if status != 0:
        return status
    num_pairs = _find_contacts(model, soft, out, soft_out)
    if num_pairs < 0:
        return num_pairs
    if num_pairs + soft_out.fixed.shape[0] > 0:
        status = _take_coupled_step(model, soft, state, h, inputs, work, out, soft_out, num_pairs)
    else:
        status = take_step(model, state, h, inputs, work, out)
    if status == 0:
        _end_motion(soft, h, soft_out)
    return status


@device
def _move_freely(soft: DeformableBodies, h: float, out: StepResults, soft_out: DeformableResults) -> int:
    """The free motion of all bodies that move."""
    motion = soft.motion
    for n in range(len(soft.bodies)):
        body = soft.bodies[n]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        q, v, q_held = motion.q[first:last], motion.v[first:last], motion.q_held[first:last]
        held = body.holders, body.p_held
        call_quiet_kernel(soft.code.start_motion, (body.is_enabled, *held, out.position, body.state, q, q_held, v))
        if not body.is_enabled:
            continue
        q_free, v_free = motion.q_free[first:last], motion.v_free[first:last]
        given = h, body.arrays, q, q_held, v, motion.force[first:last]
        reason = call_kernel(soft.code.free_motion, (*given, body.work, q_free, v_free, body.work.report))
        if reason != 0:
            soft_out.found[BODY], soft_out.found[REASON] = n, reason
            return NO_FREE_MOTION
    return 0


@device
def _find_contacts(model: Model, soft: DeformableBodies, out: StepResults, soft_out: DeformableResults) -> int:
    """How many contacts of deformable bodies there are; negative if there is no answer."""
    soft_out.found[FACES] = soft_out.found[PAIRS] = 0
    code, moving, X_WR = soft.code, soft.geometry, model.contact.geometry.X_WG
    if moving.candidates.shape[0] == 0:
        return 0
    if not pose_geometries(model, out):
        return BAD_POSE
    of_parts = moving.parts, moving.first_vertices, soft.motion.q, moving.extent, X_WR
    call_quiet_kernel(code.put_meshes, (*of_parts, moving.meshes, moving.X_WG))
    faces = soft_out.corners, soft_out.faces, soft_out.owners
    num_faces = call_kernel(code.contact_surfaces, (
        moving.bodies, moving.meshes, moving.X_WG, moving.candidates, moving.candidates.shape[0], moving.clipping,
        *faces,
    ))  # fmt: skip
    soft_out.found[FACES] = num_faces
    if num_faces > soft_out.faces.shape[0] or lacks_memory(moving.clipping):
        return LACKS_CAPACITY
    of_rows = moving.materials, moving.rows, moving.opposite, moving.meshes, moving.X_WG, moving.candidates
    num_pairs: int = call_kernel(
        code.make_deformable_pairs,
        (*of_rows, soft_out.faces[:num_faces], soft_out.owners, soft_out.pairs, soft_out.ends),
    )
    soft_out.found[PAIRS] = num_pairs
    return num_pairs


@device
def _take_coupled_step(
    model: Model,
    soft: DeformableBodies,
    state: State,
    h: float,
    inputs: Inputs,
    work: Work,
    out: StepResults,
    soft_out: DeformableResults,
    num_pairs: int,
) -> int:
    """The step with contacts or constraints of deformable bodies, but for the next states of these."""
    soft_out.found[IS_COUPLED] = 1
    status = find_forces(model, state, h, inputs, work, out.position)
    if status != 0:
        return status
    find_kinematics(model, state, work, out)
    num_rigid_pairs = find_pairs_of_step(model, h, work, out)
    if num_rigid_pairs < 0:
        return num_rigid_pairs
    status = move(model, state, h, inputs, work, out, False)  # v*
    if status != 0:
        return status
    if not model.contact.is_complete:
        return NOT_COMPILED
    num_rigid_pairs = drop_distant(model, state, h, out, num_rigid_pairs)
    pose_problem(model, state, h, work, out, num_rigid_pairs)
    status = _pose_coupled_problem(model, soft, state, h, out, soft_out, num_pairs)
    if status != 0:
        return status
    status = _solve(model, soft, state, h, out, soft_out)
    if status != 0:
        return status
    finish_step(model, state, h, out.impulses[: out.problem.counts[1]], work, out)
    return 0 if call_asking_kernel(model.code.is_finite, (out.x_next,)) else NOT_FINITE


@device
def _pose_coupled_problem(
    model: Model,
    soft: DeformableBodies,
    state: State,
    h: float,
    out: StepResults,
    soft_out: DeformableResults,
    num_pairs: int,
) -> int:
    """Leaves the contact problem of all bodies in `soft_out.problem`."""
    code, contact, motion, problem = soft.code, model.contact, soft.motion, soft_out.problem
    pairs, ends, fixed = soft_out.pairs[:num_pairs], soft_out.ends[:num_pairs], soft_out.fixed
    if fixed.shape[0] > 0:
        call_quiet_kernel(code.place_fixed, (soft.participants.first_vertices, motion.q, out.position, fixed))
    of_trees = contact.trees, contact.matrix, contact.is_locked, state.v, out.x_next[state.q.shape[0] :]
    num_pairs = call_kernel(
        code.find_participants, (*of_trees, motion, fixed, soft.participants, pairs, ends, problem)
    )
    soft_out.found[PAIRS] = num_pairs
    taking_part, sizes = soft.participants, problem.counts
    soft_out.found[MATRIX], soft_out.found[NODES] = sizes[5], 0
    for n in range(len(soft.bodies)):
        num_nodes = taking_part.starts[n + 1] - taking_part.starts[n]
        soft_out.found[NODES] = max(soft_out.found[NODES], soft.bodies[n].num_unknowns * 3 * num_nodes)
    if sizes[5] > problem.matrix.shape[0] or soft_out.found[NODES] > soft.W.shape[0]:
        return LACKS_CAPACITY
    for n in range(len(soft.bodies)):
        body, t = soft.bodies[n], taking_part.tree_of_body[n]
        if t < 0:
            continue
        nodes = taking_part.vertices[taking_part.starts[n] : taking_part.starts[n + 1]]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        size, num_unknowns = 3 * nodes.shape[0], body.num_unknowns
        start = problem.trees[t]["matrix_start"]
        is_factored = 1 if body.is_linear and body.work.report["iterations"] > 0 else 0
        given = h, body.arrays, is_factored, motion.q_free[first:last], nodes, body.work
        room = soft.columns[: num_unknowns + size], soft.W[: num_unknowns * size], soft.S[: size * size]
        reason = call_kernel(code.couple_nodes, (*given, *room, problem.matrix[start : start + size * size]))
        if reason != 0:
            soft_out.found[BODY], soft_out.found[REASON] = n, reason
            return NO_FREE_MOTION
    needed = call_kernel(code.pose_coupled_problem, (
        contact.trees, h, contact.near_rigid_threshold, out.problem, taking_part, pairs[:num_pairs], ends, fixed,
        out.position, problem,
    ))  # fmt: skip
    soft_out.found[JACOBIAN] = needed
    return 0 if needed <= problem.jacobian.shape[0] else LACKS_CAPACITY


@device
def _solve(
    model: Model, soft: DeformableBodies, state: State, h: float, out: StepResults, soft_out: DeformableResults
) -> int:
    """Solves the problem of all bodies, and leaves the part of the rigid ones in `out`."""
    contact, problem, motion = model.contact, soft_out.problem, soft.motion
    counts, num_v = problem.counts, state.v.shape[0]
    num_constraints, num_rows, jacobian_size, num_trees, size, matrix_size = (
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]
    )  # fmt: skip
    solution = Solution(problem.v_next[:size], problem.impulses[:num_rows], out.statistics)
    outcome = call_kernel(model.code.solve, (
        StepProblem(
            h, contact.settings, problem.trees[:num_trees], problem.matrix[:matrix_size], problem.is_locked[:size],
            problem.v[:size], problem.v_star[:size], problem.constraints[:num_constraints], problem.rows[:num_rows],
            problem.jacobian[:jacobian_size],
        ),
        soft.room, solution,
    ))  # fmt: skip
    out.found[OUTCOME] = outcome
    if outcome < 0:
        return NOT_SOLVED
    num_rigid_rows = out.problem.counts[1]
    out.v_next[:] = problem.v_next[:num_v]
    out.impulses[:num_rigid_rows] = problem.impulses[:num_rigid_rows]
    for n in range(len(soft.bodies)):
        body, t = soft.bodies[n], soft.participants.tree_of_body[n]
        if t >= 0:
            tree = problem.trees[t]
            v_start, v_end, start = tree["v_start"], tree["v_start"] + tree["num_v"], tree["matrix_start"]
            nodes = soft.participants.vertices[soft.participants.starts[n] : soft.participants.starts[n + 1]]
            first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
            call_quiet_kernel(soft.code.follow_nodes, (
                h, body.arrays, nodes, problem.matrix[start : start + tree["num_v"] * tree["num_v"]],
                problem.v_star[v_start:v_end], problem.v_next[v_start:v_end], motion.v_free[first:last], body.work,
                motion.v_next[first:last],
            ))  # fmt: skip
    return 0


@device
def _end_motion(soft: DeformableBodies, h: float, soft_out: DeformableResults) -> None:
    """The next states of all deformable bodies."""
    motion = soft.motion
    for n in range(len(soft.bodies)):
        body = soft.bodies[n]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        follows = soft_out.found[IS_COUPLED] != 0 and soft.participants.tree_of_body[n] >= 0
        v_next = motion.v_next[first:last] if follows else motion.v_free[first:last]
        of_body = motion.q[first:last], motion.v[first:last], motion.q_free[first:last], motion.v_free[first:last]
        call_quiet_kernel(soft.code.end_motion, (h, body.is_enabled, *of_body, v_next, soft_out.next_states[n].x))
