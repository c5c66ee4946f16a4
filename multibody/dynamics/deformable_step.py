"""What deformable bodies do in a step; step.py calls it in this order.

    free motion   v* of each deformable body                                          fem/newton.py
    contacts      of deformable bodies                                                deformable/kernels/pairs.py
    participants  vertices that these act on, or that are fixed to rigid bodies       deformable/kernels/problem.py
    coupling      how these vertices give way                                         fem/schur.py
    problem       one tree more for each deformable body that takes part, and its constraints behind those of the
                  rigid bodies                                                        deformable/kernels/problem.py
    next state    of all vertices: those that take part as the solver says, the others as they follow them
                                                            fem/schur.py, deformable/kernels/motion.py
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.tape import call_kernel, call_quiet_kernel
from merganser.geometry.hydroelastic.buffers import lacks_memory
from merganser.multibody.contact.layout import SAP
from merganser.multibody.contact.plant_layout import ProblemTrees
from merganser.multibody.deformable.kernels.records import Deformables
from merganser.multibody.dynamics.records import (
    LACKS_CAPACITY,
    NO_FREE_MOTION,
    Model,
    State,
    StepResults,
    Work,
)


@device
def move_deformables_freely(model: Model, deformables: Deformables, h: float, out: StepResults) -> int:
    """The free motion of all bodies that move, where out.position says where rigid bodies are."""
    motion = deformables.motion
    for n in range(len(deformables.bodies)):
        body = deformables.bodies[n]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        q, v, q_held = motion.q[first:last], motion.v[first:last], motion.q_held[first:last]
        held = body.holders, body.p_held
        call_quiet_kernel(model.code.start_motion, (body.is_enabled, *held, out.position, body.state, q, q_held, v))
        if not body.is_enabled:
            continue
        q_free, v_free = motion.q_free[first:last], motion.v_free[first:last]
        given = h, body.arrays, q, q_held, v, motion.force[first:last]
        reason = call_kernel(model.code.free_motion, (*given, body.work, q_free, v_free, body.work.report))
        if reason != 0:
            out.found["failed_body"], out.found["reason"] = n, reason
            return NO_FREE_MOTION
    return 0


@device
def find_deformable_pairs(model: Model, deformables: Deformables, h: float, out: StepResults) -> int:
    """How many contacts deformable bodies have, of geometries that have been posed; negative if there is no answer."""
    out.found["deformable_faces"] = out.found["deformable_pairs"] = 0
    code, moving, motion = model.code, deformables.geometry, deformables.motion
    if moving.candidates.shape[0] == 0:
        return 0
    approximation = model.contact.settings["approximation"]
    ahead = 0.0 if approximation == SAP else 0.5 * h
    of_parts = moving.parts, moving.first_vertices, ahead, motion.q, motion.v, moving.extent
    call_quiet_kernel(code.put_meshes, (*of_parts, model.contact.geometry.X_WG, moving.meshes, moving.X_WG))
    num_faces = call_kernel(code.contact_surfaces, (
        moving.bodies, moving.meshes, moving.X_WG, moving.candidates, moving.candidates.shape[0], moving.clipping,
        deformables.corners, deformables.faces, deformables.owners,
    ))  # fmt: skip
    out.found["deformable_faces"] = num_faces
    if num_faces > deformables.faces.shape[0] or lacks_memory(moving.clipping):
        return LACKS_CAPACITY
    num_pairs: int = call_kernel(code.make_deformable_pairs, (
        h, approximation, moving.materials, moving.rows, moving.opposite, moving.meshes, moving.X_WG,
        moving.candidates, deformables.faces[:num_faces], deformables.owners, deformables.pairs, deformables.ends,
    ))  # fmt: skip
    out.found["deformable_pairs"] = num_pairs
    return num_pairs


@device
def add_deformables(
    model: Model, deformables: Deformables, state: State, h: float, work: Work, out: StepResults
) -> int:
    """Adds to the problem of the rigid bodies the deformable ones that take part, and their constraints."""
    code, contact, motion, trees = model.code, model.contact, deformables.motion, out.trees
    fixed, taking_part, middle = deformables.fixed, deformables.participants, deformables.middle
    if fixed.shape[0] > 0:
        call_quiet_kernel(code.place_fixed, (
            taking_part.first_vertices, model.topology, model.parameters, h, motion.q, state.q, state.v, out.position,
            work.velocity, middle, fixed,
        ))  # fmt: skip
    num_pairs = out.found["deformable_pairs"]
    given = contact.trees, motion, fixed, taking_part, deformables.pairs[:num_pairs], deformables.ends[:num_pairs]
    num_pairs = call_kernel(code.find_participants, (*given, trees))
    out.found["deformable_pairs"] = num_pairs
    status = _couple_nodes(model, deformables, h, out)
    if status != 0:
        return status
    needed = call_kernel(code.pose_deformables, (
        contact.trees, h, contact.near_rigid_threshold, trees, taking_part, deformables.pairs[:num_pairs],
        deformables.ends[:num_pairs], fixed, out.position, middle.position, out.problem,
    ))  # fmt: skip
    out.found["jacobian"] = needed
    return 0 if needed <= out.problem.jacobian.shape[0] else LACKS_CAPACITY


@device
def _couple_nodes(model: Model, deformables: Deformables, h: float, out: StepResults) -> int:
    """Writes the blocks of A of deformable bodies that take part."""
    motion, taking_part, trees = deformables.motion, deformables.participants, out.trees
    out.found["matrix"], out.found["schur"] = trees.counts[0]["matrix"], 0
    for n in range(len(deformables.bodies)):
        num_nodes = taking_part.starts[n + 1] - taking_part.starts[n]
        needed = deformables.bodies[n].num_unknowns * 3 * num_nodes
        out.found["schur"] = max(out.found["schur"], needed)
    if trees.counts[0]["matrix"] > trees.matrix.shape[0] or out.found["schur"] > deformables.W.shape[0]:
        return LACKS_CAPACITY
    for n in range(len(deformables.bodies)):
        body, t = deformables.bodies[n], taking_part.tree_of_body[n]
        if t < 0:
            continue
        nodes = taking_part.vertices[taking_part.starts[n] : taking_part.starts[n + 1]]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        size, num_unknowns, start = 3 * nodes.shape[0], body.num_unknowns, trees.trees[t]["matrix_start"]
        is_factored = 1 if body.is_linear and body.work.report["iterations"] > 0 else 0
        given = h, body.arrays, is_factored, motion.q_free[first:last], nodes, body.work
        room = (
            deformables.columns[: num_unknowns + size], deformables.W[: num_unknowns * size],
            deformables.S[: size * size],
        )  # fmt: skip
        block = trees.matrix[start : start + size * size]
        reason = call_kernel(model.code.couple_nodes, (*given, *room, block))
        if reason != 0:
            out.found["failed_body"], out.found["reason"] = n, reason
            return NO_FREE_MOTION
    return 0


@device
def trees_in_problem(trees: ProblemTrees, v_star: Any) -> ProblemTrees:
    """The trees of the rigid bodies, to which v_star belongs, and of deformable ones that take part."""
    for k in range(v_star.shape[0]):  # to copy a slice takes two seconds to compile
        trees.v_star[k] = v_star[k]
    counts = trees.counts[0]
    num_trees, num_v, size = counts["trees"], counts["velocities"], counts["matrix"]
    return ProblemTrees(
        trees.trees[:num_trees], trees.matrix[:size], trees.is_locked[:num_v], trees.v[:num_v], trees.v_star[:num_v],
        trees.counts,
    )  # fmt: skip


@device
def finish_deformables(model: Model, deformables: Deformables, h: float, out: StepResults) -> None:
    """The next states of all deformable bodies."""
    motion, taking_part, trees = deformables.motion, deformables.participants, out.trees
    for n in range(len(deformables.bodies)):
        body, t = deformables.bodies[n], taking_part.tree_of_body[n]
        first, last = 3 * body.first, 3 * (body.first + body.num_vertices)
        q_free, v_free, v_next = motion.q_free[first:last], motion.v_free[first:last], motion.v_free[first:last]
        if out.found["is_constrained"] != 0 and t >= 0:
            tree, v_next = trees.trees[t], motion.v_next[first:last]
            v_start, v_end, start = tree["v_start"], tree["v_start"] + tree["num_v"], tree["matrix_start"]
            nodes = taking_part.vertices[taking_part.starts[n] : taking_part.starts[n + 1]]
            block = trees.matrix[start : start + tree["num_v"] * tree["num_v"]]
            of_nodes = trees.v_star[v_start:v_end], out.v_next[v_start:v_end]
            given = h, body.arrays, nodes, block, *of_nodes, v_free, body.work
            call_quiet_kernel(model.code.follow_nodes, (*given, v_next))
        before = motion.q[first:last], motion.v[first:last]
        call_quiet_kernel(
            model.code.end_motion, (h, body.is_enabled, *before, q_free, v_free, v_next, body.next_state)
        )
