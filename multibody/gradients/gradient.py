"""A step with its derivatives in one call: one text, which Python runs as it stands, and the native plan compiled.

    step           x+ = f(x, u), with the velocities of its passes                     ../dynamics/step.py
    contacts       six lanes in which A of each contact moves and B does not           geometry/proximity
    elements       how their forces follow the state                                   ../kernels/force_elements.py
    problem        what constrains the step, or its PD controllers alone               ../contact/plant_problem.py
    derivatives    of x+ and of the forces of contacts                                 step.py

Kernels are called through `given.code` and `given.model.code`, as in a step.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.by_value import copy_record
from merganser.framework.native.memory.records_of_arrays import record_at
from merganser.framework.native.memory.tape import call_kernel, call_quiet_kernel, integers_at
from merganser.framework.native.operations.operations import CompiledOperation
from merganser.multibody.contact.contact_pairs import OF_POINT, calc_make_contact_pairs
from merganser.multibody.contact.layout import LAGGED
from merganser.multibody.contact.plant_layout import ConstraintSources, ProblemArrays
from merganser.multibody.dynamics.step import add_up_inputs, forces_on_bodies, keep_pass, margin_of, take_step
from merganser.multibody.gradients.constraints import set_motion
from merganser.multibody.gradients.records import JUMPS, NUM_MOTIONS, STEP, UNKNOWN, Gradient, MovingContacts, Step


@device
def differentiate(given: Gradient) -> int:
    """Takes a step, and leaves its derivatives in given.slopes; returns the status of the step.

    given.outcome says why there are no derivatives, and how many contacts there are.
    """
    model, state, h, work, out = given.model, given.state, given.time_step, given.work, given.out
    given.outcome[0], given.outcome[1] = 0, 0
    for i in range(1, model.topology.shape[0]):
        if model.parameters[i]["is_locked"] > 0.5:
            given.outcome[0] = UNKNOWN
            return 0
    status = take_step(model, state, h, given.inputs, work, out)
    if status != 0:
        return status
    pairs, problem = out.contact_pairs[:0], given.problem
    if out.found["is_constrained"]:
        pairs, problem = out.contact_pairs[: out.found["contact_pairs"]], out.problem
        if not _are_known(given, pairs):
            given.outcome[0] = UNKNOWN
            return 0
        if pairs.shape[0] > 0 and not _follow_contacts(given, pairs):
            given.outcome[0] = JUMPS
            return 0
    else:
        _pose_problem_of_controllers(given)
    if model.elements.shape[0] > 0:
        _follow_elements(given)
    _follow_inputs(given)
    counts = problem.counts[0]
    problem = ProblemArrays(
        problem.constraints[: counts["constraints"]], problem.rows[: counts["rows"]],
        problem.jacobian[: counts["jacobian"]], problem.counts, problem.values,
    )  # fmt: skip
    F_applied = forces_on_bodies(model, given.inputs, work)
    matrix = out.trees.matrix[: out.trees.counts[0]["matrix"]]
    step = Step(
        model.contact.trees, model.parameters, model.gravity, given.settings, h, state.x, work.tau, F_applied,
        out.position, work.velocity, out.passes, matrix, problem, pairs, given.moving, given.driven,
        model.actuators.controlled, model.contact.constraint_rows, given.force_slopes,
    )  # fmt: skip
    outcome = call_kernel(given.code.step_slopes, (step, given.lanes, given.gradient_work, given.slopes))
    given.outcome[0], given.outcome[1] = outcome, pairs.shape[0]
    return 0


@device
def _are_known(given: Gradient, pairs: Any) -> bool:
    """Whether derivatives are known of all that has touched."""
    if given.settings[0]["approximation"] > LAGGED or given.out.statistics["num_fallbacks"] != 0:
        return False
    if given.model.contact.adheres != 0:
        return False
    for c in range(pairs.shape[0]):
        if pairs[c]["origin"] != OF_POINT:
            return False
    return pairs.shape[0] == 0 or given.model.contact.geometry.is_moved_by_plant != 0


@device
def _pose_problem_of_controllers(given: Gradient) -> None:
    """Leaves A in out.trees, and the PD controllers in given.problem; all passes have the velocities after the step."""
    model, state, work, out = given.model, given.state, given.work, given.out
    rows, transmissions = model.contact.constraint_rows[:0], (model.transmissions, work.lengths, work.arms)
    nothing = out.contact_pairs[:0], model.limits[:0], model.frictions[:0], rows
    sources = ConstraintSources(*nothing, given.drives, *transmissions)
    call_quiet_kernel(given.code.start_step, (
        model.contact.trees, model.parameters, given.time_step, model.contact.near_rigid_threshold, sources,
        work.drive_values, state.q, state.v, out.x_next, out.position, work.scratch, out.trees, given.problem,
    ))  # fmt: skip
    for n in range(out.passes.shape[0]):
        keep_pass(out, n, out.x_next[state.q.shape[0] :])


@device
def _follow_inputs(given: Gradient) -> None:
    """How generalized forces follow u: those of actuators that are within their limits, and not controlled."""
    actuators, driven = given.model.actuators, given.driven
    u, num_u = add_up_inputs(given.model, given.inputs, given.work), driven.shape[1]
    for n in range(num_u):
        for k in range(driven.shape[0]):
            driven[k, n] = 0.0
        if abs(u[n] - actuators.limits[num_u + n]) <= actuators.limits[n]:
            driven[actuators.driven[n], n] = 1.0
    for c in range(actuators.controlled.shape[0]):
        n = actuators.controlled[c]
        driven[actuators.driven[n], n] = 0.0


@device
def _follow_elements(given: Gradient) -> None:
    """How the forces of force elements follow the state: Step.force_slopes."""
    model, state, out, work, lanes = given.model, given.state, given.out, given.gradient_work, given.lanes
    set_motion(model.topology, out.position, state.v, work.before)
    for i in range(model.constants.shape[0]):
        copy_record(model.constants[i], lanes.constants[i])
    call_kernel(given.code.force_elements, (
        model.topology, model.elements, lanes.constants, state.q, state.v, out.position, given.work.velocity,
        work.before, lanes.position[0], lanes.moving[0], lanes.numbers, lanes.taus, lanes.forces, work.forces,
        work.balance, given.force_slopes[0], given.force_slopes[1],
    ))  # fmt: skip


# ---------------------------------------------------------------------- contacts


@device
def _follow_contacts(given: Gradient, pairs: Any) -> bool:
    """Leaves in given.moving how contact pairs follow the poses of geometries; returns whether none jumps."""
    model, out, moving = given.model, given.out, given.moving
    geometry, contacts = model.contact.geometry, out.contacts[: out.found["contacts"]]
    _move_geometries(geometry.X_WG, moving)
    count = 0
    for i in range(contacts.shape[0]):
        row = contacts[i]["pair"]
        if i == 0 or contacts[i - 1]["pair"] != row:
            for side in range(2):
                moving.touching[count, side] = out.candidates[row, side]
            count += 1
    shapes = geometry.geometries, geometry.hulls, geometry.X_WG
    found = moving.touching, count, math.inf, 0.0, geometry.work, moving.distances
    call_kernel(given.code.signed_distances, (*shapes, *found))
    margin = margin_of(model, given.time_step, given.work)
    manifolds = moving.X_lanes, out.candidates, moving.distances, contacts, margin, 1
    work = moving.X_pair, moving.points, moving.contacts
    if call_kernel(given.code.follow_manifolds, (*shapes, *manifolds, *work)) >= 0:
        return False
    for lane in range(NUM_MOTIONS):
        calc_make_contact_pairs(
            geometry.materials, model.contact.trees.of_mobod, moving.X_WG, out.candidates,
            moving.contacts[lane, : contacts.shape[0]], moving.pairs[lane],
        )  # fmt: skip
    made = 0
    for c in range(pairs.shape[0]):
        while moving.pairs[0, made]["source"] != pairs[c]["source"]:  # a pair that does not touch within the step
            made += 1
        row = contacts[pairs[c]["source"]]["pair"]
        A, B = out.candidates[row, 0], out.candidates[row, 1]
        given.slopes.bodies[c, 0], given.slopes.bodies[c, 1] = given.bodies[A], given.bodies[B]
        for i in range(3):
            X_WG, v_GS_G = geometry.X_WG[A], geometry.materials[A]["v_GS_G"]
            moving.p_WG[c, i] = X_WG[i, 3]
            moving.surfaces[c, i] = X_WG[i, 0] * v_GS_G[0] + X_WG[i, 1] * v_GS_G[1] + X_WG[i, 2] * v_GS_G[2]
        if made > c:
            for lane in range(NUM_MOTIONS):
                moving.pairs[lane, c] = moving.pairs[lane, made]
        made += 1
    return True


@device
def _move_geometries(X_WG: Any, moving: MovingContacts) -> None:
    """Poses in lanes: all geometries turn about their origins, or move, along the axes of W."""
    for n in range(X_WG.shape[0]):
        for i in range(3):
            for j in range(4):
                moving.X_WG[n, i, j] = complex(X_WG[n, i, j], 0.0)
                for lane in range(NUM_MOTIONS):
                    moving.X_lanes[lane, n, i, j] = complex(X_WG[n, i, j], 0.0)
        for axis in range(3):
            y, z = (axis + 1) % 3, (axis + 2) % 3
            for j in range(3):  # e x r of each column r of R_WG
                moving.X_lanes[axis, n, y, j] = complex(X_WG[n, y, j], -STEP * X_WG[n, z, j])
                moving.X_lanes[axis, n, z, j] = complex(X_WG[n, z, j], STEP * X_WG[n, y, j])
            moving.X_lanes[3 + axis, n, axis, 3] = complex(X_WG[n, axis, 3], STEP)


# ---------------------------------------------------------------------- the operation

_gradient_at = record_at(Gradient)


def plant_gradients(values: Any, numbers: Any, integers: Any) -> None:
    """A step with its derivatives; integers: the address of what it comes to, not 0 if it fails, and a Gradient."""
    given = _gradient_at(values, integers_at(place_at(integers, 1)))
    status = differentiate(given)
    integers_at(integers[0])[0] = status if status != 0 else given.outcome[0]


GRADIENTS = CompiledOperation(plant_gradients)
