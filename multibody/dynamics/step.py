"""The dynamics of a plant: one text, which Python runs as it stands, and the native plan compiled.

    controllers   u   = u_ff + Kp (q_d - q) + Kd (v_d - v), within the effort limits     kernels/actuators.py
    forces        tau = B u + tau_applied + those of springs and their like, F_applied   kernels/force_elements.py
    deformables   free motion of each, contacts, and their part of the problem           deformable_step.py
    contacts      candidates, points, contact pairs            geometry/proximity, contact/contact_pairs.py
                  and contact surfaces, where there are such   geometry/hydroelastic, contact/hydroelastic_pairs.py
                  and contacts of a program's own kinds        contact/contact_kinds.py
    adhesion      F_applied of actuators that pull at contacts                       contact/adhesion.py
    free motion   (M + h D) (v* - v) = h (tau - C(u) u - D v + tau_g + J^T F_applied)    kernels/step.py
                  or with controllers alone, whose efforts follow v+
                  without what it does not bring together in this step                   contact/contact_pairs.py
    problem       contacts, joint limits, constraints and controllers                    contact/plant_problem.py
    solver        A (v+ - v*) = J^T gamma                                      contact/solver.py, contact/tamsi.py
    passes        again from the free motion on, with u = (v + v+) / 2         kernels/velocity_products.py
    next state    q+  = q + h N(q) v+                                                    contact/plant_forces.py

The records of arrays that it works on are in records.py. It calls kernels through `model.code`, whose names
step_kernels.py declares: functions in Python, addresses in compiled code. So these are compiled once, as Python calls
them too, and results agree to the last bit. AutoDiffXd runs the same source: kernels that find or solve what constrains
a step are called with values, those that move bodies with derivatives, and these of a solution follow from it
(../plant/scalars/contact_gradients.py). Expressions leave contacts and constraints out, by `model.can_constrain`. What
is about deformable bodies is left out where code is compiled for a plant without them, as `deformables` is None there.

A step that is not taken says why by a status that is not 0. Python raises an error then, or makes what is lacking and
takes the step once more. What `inputs` and `state` hold is never written to.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.simd import greatest
from merganser.framework.native.memory.tape import call_asking_kernel, call_kernel, call_quiet_kernel
from merganser.geometry.hydroelastic.buffers import lacks_memory
from merganser.multibody.contact.contact_pairs import POINTS_ALONE, SURFACES_ALONE, largest_speed, margin_of_step
from merganser.multibody.contact.layout import Solution, StepProblem
from merganser.multibody.contact.plant_layout import ConstraintSources
from merganser.multibody.deformable.kernels.records import Deformables
from merganser.multibody.dynamics.deformable_step import (
    add_deformables,
    find_deformable_pairs,
    finish_deformables,
    move_deformables_freely,
    trees_in_problem,
)
from merganser.multibody.dynamics.records import (
    ADHESIVE_SURFACE,
    BAD_INPUT,
    BAD_PAIR,
    BAD_POSE,
    LACKS_CAPACITY,
    LOCKED,
    NO_FORCE,
    NO_SURFACE,
    NOT_COMPILED,
    NOT_FINITE,
    NOT_SOLVED,
    SINGULAR_PITCH,
    Geometry,
    Inputs,
    Model,
    State,
    StepResults,
    Work,
)
from merganser.multibody.dynamics.step_kernels import StepCode
from merganser.multibody.kernels.actuators import IS_LOCKED
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.kernels.transmissions.armature import has_armature
from merganser.multibody.kernels.velocity_products import num_passes

SMALLEST_COSINE = 1e-3  # of a pitch angle


# ---------------------------------------------------------------------- forces


@device
def find_forces(model: Model, state: State, h: float, inputs: Inputs, work: Work, position: Any) -> int:
    """Leaves in work.tau, work.F_applied the forces of inputs, controllers and force elements.

    In continuous time, where h is 0, also those of limits and friction of joints.
    """
    code, actuators = model.code, model.actuators
    for n in range(model.pitches.shape[0]):
        if abs(math.cos(real_part(state.q[model.pitches[n]]))) < SMALLEST_COSINE:
            return SINGULAR_PITCH
    q, v, tau = state.q, state.v, work.tau
    if model.transmissions.shape[0] > 0:
        find_transmissions(model, state, work, position)
        q, v, tau = work.lengths, work.rates, work.forces
    u = add_up_inputs(model, inputs, work)
    if actuators.controlled.shape[0] > 0:
        for n in range(len(inputs.desired)):
            part = inputs.desired[n]
            call_quiet_kernel(code.put_desired_state, (part.actuators, part.values, work.desired))
    if model.laws.shape[0] > 0:
        given = model.laws, h, q, v, state.activations, u, work.desired
        call_quiet_kernel(code.laws, (*given, work.controls, work.law_step, work.commands, work.activations))
        u = work.commands
    if actuators.controlled.shape[0] > 0:
        why = call_kernel(code.efforts, (
            actuators.controlled, actuators.mobods, actuators.positions, actuators.velocities, actuators.p, actuators.d,
            h, model.parameters, q, v, u, work.desired, work.u, work.drive_values,
        ))  # fmt: skip
        if why != 0:
            return LOCKED if why == IS_LOCKED else BAD_INPUT
        u = work.u
    efforts = actuators.driven, actuators.limits, u, inputs.tau
    if not call_asking_kernel(code.apply_actuation, (*efforts, work.u, tau)):
        return BAD_INPUT
    if model.transmissions.shape[0] > 0:
        lengths = work.lengths, work.rates, work.arms
        along = model.transmissions, model.is_continuous, model.stiction_velocity, *lengths, work.forces
        call_quiet_kernel(code.transmission_forces, (*along, work.tau))
    count = model.elements.shape[0]
    if count > 0:
        motion = state.q, state.v, position, work.velocity
        call_quiet_kernel(code.kinematics, (model.topology, model.parameters, *motion))
        forces = work.tau, inputs.F_Bo_W, work.tau, work.F_applied
        number = call_kernel(code.force_elements, (model.elements, model.constants, 0, count, *motion, *forces))
        if number != 0:
            return NO_FORCE - number
    if model.is_continuous and model.limits.shape[0] > 0:
        springs = model.limit_stiffness, model.limit_dissipation
        call_kernel(code.limits, (model.limits, *springs, state.q, state.v, work.tau))
    if model.is_continuous and model.frictions.shape[0] > 0:
        dry = model.frictions, model.parameters, model.stiction_velocity
        call_quiet_kernel(code.joint_friction, (*dry, state.v, work.tau))
    return 0


@device
def find_transmissions(model: Model, state: State, work: Work, position: Any) -> None:
    """Leaves in work.lengths, rates and arms how transmissions follow the coordinates."""
    motion, out = (state.q, state.v, position, work.velocity), (work.lengths, work.rates, work.arms)
    call_quiet_kernel(model.code.kinematics, (model.topology, model.parameters, *motion))
    given = model.topology, model.transmissions, model.nodes, *motion, work.scratch
    call_quiet_kernel(model.code.transmission_motion, (*given, *out))


@device
def add_up_inputs(model: Model, inputs: Inputs, work: Work) -> Any:
    """u_ff: what comes through the port of the plant, and through those of model instances."""
    if len(inputs.parts) == 0 and inputs.u.shape[0] == work.u.shape[0]:
        return inputs.u
    call_quiet_kernel(model.code.copy_actuation_input, (inputs.u, work.feedforward))
    for n in range(len(inputs.parts)):
        part = inputs.parts[n]
        call_quiet_kernel(model.code.add_input, (part.actuators, part.values, work.feedforward))
    return work.feedforward


@device
def forces_on_bodies(model: Model, inputs: Inputs, work: Work) -> Any:
    """F_applied: all forces on the bodies but those of gravity and contact, shape [num_mobods, 6]."""
    return work.F_applied if model.elements.shape[0] > 0 or model.contact.adheres > 0 else inputs.F_Bo_W


@device
def adhere(model: Model, inputs: Inputs, work: Work, out: StepResults, num_pairs: int) -> int:
    """Adds the forces of adhesion at so many contact pairs to work.F_applied; returns that number, or a status."""
    if num_pairs < 0 or model.contact.adheres == 0:
        return num_pairs
    others = work.F_applied if model.elements.shape[0] > 0 else inputs.F_Bo_W
    given = model.transmissions, model.nodes, out.position, out.contact_pairs[:num_pairs], work.forces
    number = call_kernel(model.code.adhesion_forces, (*given, others, work.F_applied))
    if number < 0:
        out.found["outcome"] = -1 - number
    return num_pairs if number == 0 else ADHESIVE_SURFACE


# ---------------------------------------------------------------------- continuous time


@device
def calc_derivatives(model: Model, state: State, inputs: Inputs, work: Work, out: StepResults) -> int:
    """xdot of a continuous plant, in out.x_next; returns a status."""
    status = find_forces(model, state, 0.0, inputs, work, out.position)
    if status != 0:
        return status
    num_pairs = adhere(model, inputs, work, out, find_penalty_forces(model, state, work, out))
    if num_pairs < 0:
        return num_pairs
    F_Bo_W = forces_on_bodies(model, inputs, work)
    if num_pairs > 0:
        for n in range(6 * F_Bo_W.shape[0]):
            work.F_total[n // 6, n % 6] = F_Bo_W[n // 6, n % 6] + work.F_contact[n // 6, n % 6]
        F_Bo_W = work.F_total
    status = accelerate(model, state, work, F_Bo_W, out)
    if status != 0:
        return status
    for k in range(out.activations.shape[0]):  # a slice would be copied first, as arrays may overlap
        out.activations[k] = work.activations[k]
    return 0 if call_asking_kernel(model.code.is_finite, (out.x_next,)) else NOT_FINITE


@device
def find_penalty_forces(model: Model, state: State, work: Work, out: StepResults) -> int:
    """Leaves the forces of contacts in work.F_contact and out.contact_forces; how many pairs, or a negative status."""
    code = model.code
    if not may_touch(model) or not model.can_constrain:
        return 0
    motion = state.q, state.v, out.position, work.velocity
    call_quiet_kernel(code.kinematics, (model.topology, model.parameters, *motion))
    num_pairs = find_contact_pairs(model, 0.0, out)
    if num_pairs <= 0:
        return num_pairs
    work.F_contact[:, :] = 0.0
    pairs, forces = out.contact_pairs[:num_pairs], out.contact_forces[:num_pairs]
    call_quiet_kernel(
        code.penalty_forces, (model.stiction_velocity, out.position, work.velocity, pairs, work.F_contact, forces)
    )
    return num_pairs


@device
def accelerate(model: Model, state: State, work: Work, F_Bo_W: Any, out: StepResults) -> int:
    """xdot from all forces, with the multipliers of constraints; 0, or the number of a mobod without inertia."""
    given = state.x, work.tau, F_Bo_W, out.position, work.velocity, work.scratch
    dynamics, held = (model.topology, model.parameters, model.gravity), work.multipliers
    if not model.has_multipliers:
        free: int = call_kernel(model.code.dynamics, (*dynamics, *given, out.x_next))
        return free
    status: int = call_kernel(model.code.constrained_dynamics, (
        *dynamics, held.rows, model.transmissions, work.arms, *given, held.M, held.Y, held.C, held.order,
        held.values, held.K, held.F, out.x_next,
    ))  # fmt: skip
    return status


# ---------------------------------------------------------------------- the discrete step


@device
def take_step(
    model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults,
    deformables: Deformables | None = None,
) -> int:  # fmt: skip
    """The state a time step h [s] later, and what its sample is made of; returns a status."""
    out.found["is_constrained"] = 0
    status = find_forces(model, state, h, inputs, work, out.position)
    if status == 0:
        status = _advance(model, state, h, inputs, work, out, deformables)
    if status == 0 and not call_asking_kernel(model.code.is_finite, (out.x_next,)):
        status = NOT_FINITE
    for k in range(out.activations.shape[0]):  # a slice would be copied first, as arrays may overlap
        out.activations[k] = work.activations[k]
    if deformables is not None and status == 0:
        finish_deformables(model, deformables, h, out)
    return status


@device
def _advance(
    model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults,
    deformables: Deformables | None,
) -> int:  # fmt: skip
    """From forces to the next state, but for that of deformable bodies."""
    if deformables is not None:
        find_kinematics(model, state, work, out)
        status = move_deformables_freely(model, deformables, h, out)
        if status != 0:
            return status
    if not model.can_constrain:
        return move(model, state, h, inputs, work, out)
    find_kinematics(model, state, work, out)
    is_moved, num_pairs = False, adhere(model, inputs, work, out, find_pairs_of_step(model, h, work, out))
    if num_pairs < 0:
        return num_pairs
    always_holds = model.contact.constraint_rows.shape[0] + model.frictions.shape[0] > 0
    always_holds = always_holds or model.contact.holds_transmissions > 0
    if deformables is not None:
        num_others = find_deformable_pairs(model, deformables, h, out)
        if num_others < 0:
            return num_others
        always_holds = always_holds or num_others + deformables.fixed.shape[0] > 0
    if num_pairs > 0 or always_holds:
        status = move_freely(model, state, h, inputs, work, out)  # v*
        if status != 0:
            return status
        is_moved, num_pairs = True, drop_distant(model, state, h, out, num_pairs)
        if num_pairs > 0 or always_holds:
            return constrain(model, state, h, inputs, work, out, num_pairs, deformables)
    # No more than joint limits and controllers. Limits take part that are near with the velocities v* without
    # controllers, but for those that neither act nor make any controller softer: that is so if none is near with v+,
    # and no gain is more than the step resolves.
    actuators = model.actuators
    if actuators.controlled.shape[0] > 0:
        status = move(model, state, h, inputs, work, out)
        if status != 0 or model.limits.shape[0] == 0:
            return status
        given = actuators.mobods, h, work.drive_values, work.scratch
        if call_asking_kernel(model.code.are_resolved, given) and count_limits(model, state, h, out) == 0:
            return 0
        is_moved = False
    if not is_moved:
        status = move_freely(model, state, h, inputs, work, out)
        if status != 0:
            return status
    if count_limits(model, state, h, out) > 0:
        return constrain(model, state, h, inputs, work, out, 0, deformables)
    if actuators.controlled.shape[0] > 0:
        return move(model, state, h, inputs, work, out)
    v_next = out.x_next[state.q.shape[0] :]
    for _ in range(num_passes(model.topology)):
        find_next_pass(model, state, h, inputs, work, out, v_next)
    call_quiet_kernel(model.code.end_step, (
        model.topology, h, state.q, v_next, out.impulses[:0], actuators.controlled, out.x_next, work.u,
    ))  # fmt: skip
    return 0


@device
def move(model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults) -> int:
    """The step without contacts, limits and constraints, with the PD controllers."""
    status = _move(model, state, h, num_passes(model.topology), inputs, work, (work.drives, work.drive_values), out)
    if status == 0 and model.actuators.controlled.shape[0] > 0:
        call_quiet_kernel(model.code.store_efforts, (model.actuators.controlled, work.efforts, work.u))
    return status


@device
def move_freely(model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults) -> int:
    """The same without the controllers, and with the velocity products of the first pass."""
    return _move(model, state, h, 0, inputs, work, (work.drives[:0], work.drive_values[:0]), out)


@device
def _move(
    model: Model, state: State, h: float, passes: int, inputs: Inputs, work: Work, drives: Any, out: StepResults
) -> int:
    """The same with so many passes, and some drives."""
    status: int = call_kernel(model.code.dynamics, (
        model.topology, model.parameters, model.gravity, h, passes, state.x, work.tau,
        forces_on_bodies(model, inputs, work), *drives, out.position, work.velocity, work.scratch, work.drive_work,
        work.efforts, work.mean, work.mean_velocity, out.x_next,
    ))  # fmt: skip
    return status


@device
def find_next_pass(
    model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults, v_next: Any
) -> None:
    """The free motion of the next pass, after one that has come to the velocities v_next."""
    if has_armature(model.transmissions):
        call_quiet_kernel(model.code.armature_products, (
            model.topology, model.parameters, model.transmissions, model.nodes, state.x, out.position, work.arms,
            v_next, work.mean_velocity, work.scratch, work.rates, work.tau,
        ))  # fmt: skip
    call_quiet_kernel(model.code.next_pass, (
        model.topology, model.parameters, model.gravity, h, state.x, work.tau, forces_on_bodies(model, inputs, work),
        out.position, work.velocity, v_next, work.scratch, work.mean, work.mean_velocity, out.x_next,
    ))  # fmt: skip


@device
def count_limits(model: Model, state: State, h: float, out: StepResults) -> int:
    """How many joints may come to a limit with the velocities that have been found."""
    if model.limits.shape[0] == 0:
        return 0
    v_next = out.x_next[state.q.shape[0] :]
    count: int = call_kernel(model.code.limits, (model.limits, h, state.q, state.v, v_next))
    return count


# ---------------------------------------------------------------------- contact


@device
def may_touch(model: Model) -> bool:
    """Whether there is anything that may touch."""
    return model.contact.geometry.mobods.shape[0] > 0 or model.contact.sources.shape[0] > 0


@device
def find_kinematics(model: Model, state: State, work: Work, out: StepResults) -> None:
    """Leaves in out.position and work.velocity how the bodies move before the step."""
    given = state.q, state.v, out.position, work.velocity
    call_quiet_kernel(model.code.kinematics, (model.topology, model.parameters, *given))


@device
def find_pairs_of_step(model: Model, h: float, work: Work, out: StepResults) -> int:
    """How many contact pairs there may be within a step whose kinematics are known; negative if there is no answer."""
    if not may_touch(model):
        return 0
    return find_contact_pairs(model, margin_of(model, h, work), out)


@device
def margin_of(model: Model, h: float, work: Work) -> float:
    """Up to which distance points of geometries may touch within a step whose kinematics are known [m]."""
    margin = margin_of_step(model.gravity, h)
    if model.contact.looks_ahead:
        margin += h * largest_speed(work.velocity)
    return greatest(margin)


@device
def find_contact_pairs(model: Model, margin: float, out: StepResults) -> int:
    """How many contact pairs there may be, of bodies where out.position says; negative if there is no answer.

    Points of geometries count up to a margin [m], see contact_pairs.py; `out` receives the pairs.
    """
    found = out.found
    found["candidates"] = found["contacts"] = found["contact_pairs"] = found["surface_pairs"] = found["faces"] = 0
    num_pairs = 0
    if model.contact.geometry.mobods.shape[0] > 0:
        num_pairs = _find_pairs_of_geometries(model, margin, out)
    if num_pairs >= 0 and model.contact.sources.shape[0] > 0:
        num_pairs = _find_pairs_of_kinds(model, margin, num_pairs, out)
    return num_pairs


@device
def pose_geometries(model: Model, out: StepResults) -> bool:
    """Leaves in X_WG where geometries are that move with bodies of the plant; False if that is not finite."""
    geometry = model.contact.geometry
    if not geometry.is_moved_by_plant or geometry.mobods.shape[0] == 0:
        return True
    poses = geometry.mobods, geometry.X_BG, out.position, geometry.X_WG
    is_finite: bool = call_asking_kernel(model.code.geometry_poses, poses)
    return is_finite


@device
def _find_pairs_of_geometries(model: Model, margin: float, out: StepResults) -> int:
    """The contact pairs of geometries."""
    code, geometry, tree_of_mobod = model.code, model.contact.geometry, model.contact.trees.of_mobod
    if geometry.contact == SURFACES_ALONE:
        margin = 0.0  # points are an error then
    if not pose_geometries(model, out):
        return BAD_POSE
    surfaces, work = geometry.geometries, (geometry.boxes, geometry.grid)
    given = surfaces, geometry.frames, geometry.filtered, geometry.X_WG, max(geometry.margin, margin)
    num_candidates = call_kernel(code.find_candidates, (*given, *work, out.candidates))
    out.found["candidates"] = num_candidates
    if num_candidates > out.candidates.shape[0]:
        return LACKS_CAPACITY
    if num_candidates == 0:
        return 0
    if geometry.contact != POINTS_ALONE:
        parts = out.candidates[:num_candidates], out.surface_pairs
        out.found["surface_pairs"] = call_kernel(code.split_candidates, (geometry.bodies, *parts))
    num_points = num_candidates - out.found["surface_pairs"]
    num_pairs = _find_pairs_of_points(code, geometry, tree_of_mobod, margin, num_points, out)
    if num_pairs >= 0 and out.found["surface_pairs"] > 0:
        num_pairs = _find_pairs_of_surfaces(code, geometry, tree_of_mobod, num_pairs, out)
    return num_pairs


@device
def _find_pairs_of_points(
    code: StepCode, geometry: Geometry, tree_of_mobod: Any, margin: float, num_candidates: int, out: StepResults
) -> int:
    """The contact pairs of geometries that touch at points, or come as near as the margin."""
    if num_candidates == 0:
        return 0
    candidates, X_WG = out.candidates[:num_candidates], geometry.X_WG
    points = geometry.geometries, geometry.hulls, X_WG, candidates, num_candidates, margin
    num_contacts = call_kernel(code.contact_manifolds, (*points, geometry.work, out.contacts))
    out.found["contacts"] = num_contacts
    if num_contacts > out.contacts.shape[0]:
        return LACKS_CAPACITY
    if num_contacts == 0:
        return 0
    if geometry.contact == SURFACES_ALONE:
        return NO_SURFACE
    touching = X_WG, candidates, out.contacts[:num_contacts], out.contact_pairs
    num_pairs: int = call_kernel(code.make_contact_pairs, (geometry.materials, tree_of_mobod, *touching))
    out.found["contact_pairs"] = num_pairs
    return num_pairs


@device
def _find_pairs_of_surfaces(
    code: StepCode, geometry: Geometry, tree_of_mobod: Any, first: int, out: StepResults
) -> int:
    """The contact pairs of geometries that touch on surfaces, behind those of points; how many there are in all."""
    pairs, X_WG = out.surface_pairs, geometry.X_WG
    model, faces = (geometry.bodies, geometry.meshes), (out.corners, out.faces, out.owners)
    num_faces = call_kernel(
        code.contact_surfaces, (*model, X_WG, pairs, out.found["surface_pairs"], geometry.clipping, *faces)
    )
    out.found["faces"] = num_faces
    if num_faces > out.faces.shape[0] or lacks_memory(geometry.clipping):
        return LACKS_CAPACITY
    of_faces = out.corners, out.faces[:num_faces], out.owners
    given = geometry.materials, tree_of_mobod, geometry.points, X_WG, pairs, *of_faces, first
    num_pairs: int = call_kernel(code.make_hydroelastic_pairs, (*given, out.contact_pairs))
    out.found["contact_pairs"] = num_pairs
    return num_pairs if num_pairs <= out.contact_pairs.shape[0] else LACKS_CAPACITY


@device
def _find_pairs_of_kinds(model: Model, margin: float, first: int, out: StepResults) -> int:
    """The contact pairs of a program's own kinds, behind those of geometries; how many there are in all."""
    sources = model.contact.sources
    last = sources[sources.shape[0] - 1]
    if first + last["first_pair"] + last["num_pairs"] > out.contact_pairs.shape[0]:
        out.found["contact_pairs"] = first + last["first_pair"] + last["num_pairs"]
        return LACKS_CAPACITY
    given = sources, margin, first, model.contact.source_numbers, out.position, out.contact_pairs
    num_pairs = call_kernel(model.code.make_pairs_of_kinds, given)
    if num_pairs < 0:
        out.found["contact_pairs"] = 0
        out.found["outcome"] = -1 - num_pairs
        return BAD_PAIR
    out.found["contact_pairs"] = num_pairs
    return num_pairs


@device
def drop_distant(model: Model, state: State, h: float, out: StepResults, num_pairs: int) -> int:
    """Leaves out the contact pairs that the step without constraints, out.x_next, does not bring together."""
    if num_pairs > 0:
        free = state.q.shape[0], out.x_next, out.position
        given = model.topology, h, *free, out.contact_pairs[:num_pairs]
        num_pairs = call_kernel(model.code.drop_distant_pairs, given)
        out.found["contact_pairs"] = num_pairs
    return num_pairs


@device
def constrain(
    model: Model, state: State, h: float, inputs: Inputs, work: Work, out: StepResults, num_pairs: int,
    deformables: Deformables | None,
) -> int:  # fmt: skip
    """The step with contacts, joint limits, constraints and controllers; v* of the first pass is in out.x_next."""
    if not model.contact.is_complete:
        return NOT_COMPILED
    pose_problem(model, state, h, work, out, num_pairs)
    num_rows = out.problem.counts[0]["rows"]  # of which PD controllers are the last
    if deformables is not None:
        status = add_deformables(model, deformables, state, h, work, out)
        if status != 0:
            return status
    status = solve(model, state, h, out.trees.v, 0, out, deformables)
    for n in range(num_passes(model.topology)):
        if status == 0:
            keep_pass(out, n, out.v_next)
            find_next_pass(model, state, h, inputs, work, out, out.v_next)
            status = solve(model, state, h, out.v_next, 1, out, deformables)
    keep_pass(out, num_passes(model.topology), out.v_next)
    if status == 0:
        call_quiet_kernel(model.code.end_step, (
            model.topology, h, state.q, out.v_next, out.impulses[:num_rows], model.actuators.controlled, out.x_next,
            work.u,
        ))  # fmt: skip
        out.found["is_constrained"] = 1
    return status


@device
def keep_pass(out: StepResults, n: int, v_next: Any) -> None:
    """Keeps the velocities of a pass, where something asks for them."""
    if n < out.passes.shape[0]:
        for k in range(out.passes.shape[1]):
            out.passes[n, k] = v_next[k]


@device
def solve(
    model: Model, state: State, h: float, guess: Any, is_again: int, out: StepResults,
    deformables: Deformables | None = None,
) -> int:  # fmt: skip
    """Solves the problem, in which v* of the rigid bodies is that in out.x_next; returns 0 or NOT_SOLVED."""
    constraints, rows, jacobian, counts, _ = out.problem
    num_rows = counts[0]["rows"]
    trees, v_star = out.trees, out.x_next[state.q.shape[0] :]
    if deformables is not None:
        trees = trees_in_problem(trees, v_star)
        v_star = trees.v_star
    outcome = call_kernel(model.code.solve, (
        StepProblem(
            h, model.contact.settings, trees.trees, trees.matrix, trees.is_locked, trees.v, v_star, guess, is_again,
            constraints[: counts[0]["constraints"]], rows[:num_rows], jacobian[: counts[0]["jacobian"]],
        ),
        model.contact.room, Solution(out.v_next, out.impulses[:num_rows], out.statistics),
    ))  # fmt: skip
    out.found["outcome"] = outcome
    return NOT_SOLVED if outcome < 0 else 0


@device
def pose_problem(model: Model, state: State, h: float, work: Work, out: StepResults, num_pairs: int) -> None:
    """Leaves in `out.trees` and `out.problem` what constrains a step, whose free motion is in `out.x_next`."""
    contact, pairs = model.contact, out.contact_pairs[:num_pairs]
    holders = model.limits, model.frictions, contact.constraint_rows, contact.drives, model.transmissions
    sources = ConstraintSources(pairs, *holders, work.lengths, work.arms)
    call_quiet_kernel(model.code.start_step, (
        contact.trees, model.parameters, h, contact.near_rigid_threshold, sources, work.drive_values,
        state.q, state.v, out.x_next, out.position, work.scratch, out.trees, out.problem,
    ))  # fmt: skip
