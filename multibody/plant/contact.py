"""Contact, joint limits and constraints in the dynamics of a plant: see ../contact/README.md for the mathematics."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RigidTransform
from merganser.framework.native import compile_ahead, is_missing
from merganser.framework.native.shared_code import job_of
from merganser.geometry.proximity.engine import manifolds_job
from merganser.multibody import kernels
from merganser.multibody.contact import contact_velocities, make_settings, tamsi_contact_velocities
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.layout import FELL_BACK, NO_CAPACITY, NOT_A_NUMBER, NOT_CONVERGED, SAP, TAMSI
from merganser.multibody.contact.penalty import limit_forces, penalty_forces
from merganser.multibody.contact.plant_layout import (
    BALL,
    COUPLER,
    DISTANCE,
    NO_LINK,
    NUM_FORCE_VALUES,
    WELD,
    drive_dtype,
    link_dtype,
)
from merganser.multibody.contact.plant_problem import find_limits
from merganser.multibody.contact.plant_step import end_step, start_step
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.plant.contact_arrays import (
    NOTHING_TOUCHES,
    ContactModelArrays,
    ContactRoom,
    ContactSample,
    Touching,
    conclude_step,
    end_step_arguments,
    joints_with_limits_left_out,
    sample_of_contacts,
)
from merganser.multibody.plant.contact_enums import DiscreteContactApproximation
from merganser.multibody.plant.contact_geometry import PlantContactGeometry, listed
from merganser.multibody.plant.contact_of_other_scalars import (
    add_forces_of_other_scalars,
    find_contacts_of_other_scalars,
    hold_other_scalars,
)
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree.constraints import (
    BallConstraintSpec,
    ConstraintSpec,
    CouplerConstraintSpec,
    DistanceConstraintSpec,
)

__all__ = ["PlantContact"]

Array = NDArray[Any]

_APPROXIMATIONS = {
    DiscreteContactApproximation.kTamsi: 0,
    DiscreteContactApproximation.kSap: 1,
    DiscreteContactApproximation.kSimilar: 2,
    DiscreteContactApproximation.kLagged: 3,
}


class PlantContact(PlantContactGeometry):
    """Discrete steps that keep contacts, joint limits and constraints; and their forces in continuous time."""

    _contact_model_arrays: ContactModelArrays
    _may_touch = False  # whether there is anything with contact
    _can_hold = False  # whether there is anything that a step may have to hold
    _contact_settings: Any = None
    _fallback_settings: Any = None  # of SAP, whose problem always has a solution

    def _declare_contact(self) -> None:
        """Called by Finalize()."""
        self._contact_model_arrays = ContactModelArrays(self._tree)
        self._may_touch = any(self._collision_geometries.values())
        has_limits = bool(len(self._contact_model_arrays.limits))
        self._can_hold = self._may_touch or has_limits or bool(len(self._tree.constraints))
        self._contact_settings = None
        names = joints_with_limits_left_out(self._tree)
        if names and scalar_of(self) is float:
            self._warn_once(
                "joint limits",
                f"Plant '{self.GetSystemPathname()}' does not keep the position limits of joints {listed(names)}: "
                "angles of roll, pitch and yaw have no velocities of their own. Replace each of these joints by "
                "revolute ones, or take the limits away (set_position_limits).",
            )

    def _settings_of_contact(self) -> Any:
        if self._contact_settings is None:
            self._contact_settings = make_settings(
                self._time_step,
                _APPROXIMATIONS[self.get_discrete_contact_approximation()],
                stiction_tolerance=self._choices.stiction_tolerance,
            )
            self._fallback_settings = make_settings(self._time_step, SAP)
        return self._contact_settings

    def set_stiction_tolerance(self, v_stiction: float = 0.001) -> None:
        """Sets the velocity up to which bodies that stick may slip [m/s]; may be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        super().set_stiction_tolerance(v_stiction)
        self._contact_settings = None

    # ------------------------------------------------------------------ the discrete step

    def _calc_discrete_step(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the state one step later into `result`; returns 0, or why there is none (see kernels/step.py)."""
        w.contact_sample = None
        if w.drives is not None and not self._can_hold:
            return self._call_controlled_step(w, result)
        status: int = w.call(
            kernels.discrete_step, w.topology, w.parameters, w.gravity, self._time_step, w.x, w.tau, w.F_applied,
            w.position, w.velocity, w.scratch, result,
        )  # fmt: skip
        if status != 0 or not self._can_hold:
            return status
        if not w.is_float:
            w.store.invalid &= w.kinematics_clearing
            is_held = hold_other_scalars(self, context, w, result)
            return self._call_controlled_step(w, result) if w.drives is not None and not is_held else 0
        w.store.invalid &= w.kinematics_clearing
        room = self._contact_room(w)
        model, num_q = room.model, len(w.q)
        touching = self._find_contacts(context, room) if self._may_touch else NOTHING_TOUCHES
        num_limits = 0
        if len(model.limits):
            num_limits = w.call(find_limits, model.limits, self._time_step, w.q, w.v, result[num_q:])
        links = self._links_at_work(context, room) if self._has_constraints else room.links
        if len(touching.contact_pairs) or num_limits or len(links):
            self._solve(context, w, room, touching, links, result)
        elif w.drives is not None:
            return self._call_controlled_step(w, result)
        return 0

    def _compile_contact_ahead(self, w: Workspace) -> None:
        """Has other processes compile what the first step with contact will need, from its end on.

        To be called before anything is compiled here: other code that is not as urgent (later_code.py) waits for it.
        """
        if not self._can_hold or not w.is_float or w.contact is not None or not is_missing(start_step):
            return
        room, settings, v_star = self._contact_room(w), self._settings_of_contact(), np.zeros(len(w.v))
        candidates, contacts, pairs = NOTHING_TOUCHES
        given = w.q, w.F_applied, w.position, pairs
        results = w.x, w.F_applied, v_star, v_star, np.zeros((0, NUM_FORCE_VALUES))
        jobs: list[Any] = [
            (_solver_of(settings), _solver_arguments(w, room, settings, v_star, 0, 0, 0)),
            (start_step, self._start_step_arguments(w, room, pairs, room.links, room.drives, w.x)),
            (end_step, end_step_arguments(room, self._time_step, given, results)),
        ]
        if self._may_touch:
            of_pairs = make_contact_pairs, (room.materials, room.model.tree_of_mobod, candidates, contacts, pairs)
            compile_ahead([*jobs, of_pairs, job_of("refine"), job_of("search"), manifolds_job()])
        else:  # there may be a limit that is never reached
            compile_ahead(jobs, is_needed_soon=False)

    def _contact_room(self, w: Workspace) -> ContactRoom:
        if w.contact is None:
            w.contact = ContactRoom(self._contact_model_arrays, len(w.topology), len(w.v))
        room: ContactRoom = w.contact
        return room

    def _solve(
        self, context: Any, w: Workspace, room: ContactRoom, touching: Touching, links: Array, result: Array
    ) -> None:
        """Solves the contact problem; `result` holds the state after the step without constraints, and receives it."""
        model, num_q = room.model, len(w.q)
        drives = self._drives_of_problem(w, room)
        room.reserve(
            len(touching.contact_pairs),
            2 * len(model.limits) + len(links) + len(drives),
            2 * len(model.limits) + 6 * len(links) + len(drives),
        )
        w.call(start_step, *self._start_step_arguments(w, room, touching.contact_pairs, links, drives, result))
        num_constraints, num_rows, jacobian_size, _, _ = room.counts.tolist()
        self._call_solver(context, w, room, result[num_q:], num_constraints, num_rows, jacobian_size)
        F_applied = w.F_applied if w.has_applied_forces else w.zeros_F
        w.contact_sample = conclude_step(room, w, self._time_step, w.q, F_applied, w.position, touching, result)
        if len(drives):
            controllers = w.drives.controllers
            efforts = room.impulses[num_rows - len(drives) : num_rows] / self._time_step
            w.net_actuation[controllers.inputs] = efforts

    def _start_step_arguments(
        self, w: Workspace, room: ContactRoom, contact_pairs: Array, links: Array, drives: Array, x_star: Array
    ) -> tuple[Any, ...]:
        return (
            room.model.plant_trees, w.parameters, self._settings_of_contact(), self._choices.near_rigid_threshold,
            room.sources(contact_pairs, links, drives), w.q, w.v, x_star, w.position, w.scratch, room.matrix,
            room.is_locked, room.problem(),
        )  # fmt: skip

    def _call_solver(
        self, context: Any, w: Workspace, room: ContactRoom, v_star: Array, num_constraints: int, num_rows: int,
        jacobian_size: int,
    ) -> None:  # fmt: skip
        settings = self._settings_of_contact()
        solver = _solver_of(settings)
        status = NO_CAPACITY
        while status == NO_CAPACITY:
            room.reserve_work(num_constraints, num_rows, jacobian_size)
            arguments = _solver_arguments(w, room, settings, v_star, num_constraints, num_rows, jacobian_size)
            status = w.call(solver, *arguments)
            if status == NO_CAPACITY:
                room.grow(room.statistics)
            if status == NOT_CONVERGED and settings["approximation"] != SAP:
                self._warn_of_fallback(context, "SAP")
                settings, solver, status = self._fallback_settings, contact_velocities, NO_CAPACITY
        if status < 0:
            raise RuntimeError(self._describe_contact_failure(context, w, room, status))
        if status == FELL_BACK:
            self._warn_of_fallback(context, "Lagged")

    def _warn_of_fallback(self, context: Any, fallback: str) -> None:
        name = self.get_discrete_contact_approximation().name[1:]
        warnings.warn(
            f"No solution was found for the contacts of plant '{self.GetSystemPathname()}' at time "
            f"{context.store.flat[0]} s by the {name} approximation; the {fallback} approximation was used for this "
            "step.",
            RuntimeWarning,
            stacklevel=2,
        )

    def _describe_contact_failure(self, context: Any, w: Workspace, room: ContactRoom, status: int) -> str:
        if not np.isfinite(w.x).all():
            return self._describe_overflow(context, w, w.x)
        where = f"The contact problem of plant '{self.GetSystemPathname()}' at time {context.store.flat[0]} s"
        size = f"{int(room.counts[3])} contacts, {int(room.counts[0] - room.counts[3])} other constraints"
        if status == NOT_CONVERGED:
            return f"{where} ({size}) was not solved: its residual is {float(room.statistics['residual']):.1e}."
        if status == NOT_A_NUMBER:
            return f"{where} ({size}) has a number that is not finite; check materials, masses and velocities."
        return (
            f"{where} ({size}) has a mass matrix that is not positive definite; check the masses and inertias of the "
            "bodies."
        )

    def _drives_of_problem(self, w: Workspace, room: ContactRoom) -> Array:
        """PD controllers as records, with what they are to do in this step."""
        if w.drives is None:
            return room.drives[:0]
        controllers = w.drives.controllers
        if room.controllers is not controllers:
            drives = room.drives = np.zeros(len(controllers.inputs), drive_dtype)
            drives["v"] = controllers.velocities
            drives["p"], drives["d"], drives["limit"] = controllers.p, controllers.d, controllers.limits
            room.controllers = controllers
        wanted = w.drives.values
        room.drives["error"], room.drives["v_desired"] = -wanted[:, ERROR], wanted[:, VELOCITY_TARGET]
        room.drives["feedforward"] = wanted[:, FEEDFORWARD]
        return room.drives

    # ------------------------------------------------------------------ continuous time

    def _add_contact_forces(self, context: Any, w: Workspace) -> None:
        """Adds the forces of contacts and joint limits to w.tau and w.F_applied, in a continuous plant."""
        if not w.is_float:
            add_forces_of_other_scalars(self, context, w)
            return
        room = self._contact_room(w)
        if room.run_limits is None:
            arguments = (room.model.limits, *room.model.limit_springs(), w.q, w.v)
            w.call(limit_forces, *arguments, room.tau_joints)
            room.run_limits, room.is_beyond_limits = functools.partial(w.codes[limit_forces], *arguments), True
        if room.is_beyond_limits:
            room.tau_joints[:] = 0.0
        room.is_beyond_limits = room.run_limits(room.tau_joints) > 0
        if room.is_beyond_limits:
            w.tau += room.tau_joints
        if not self._may_touch:
            return
        w.contact_sample = self._find_penalty_forces(context, w, room)
        if w.contact_sample is not None:
            if not w.has_applied_forces:
                w.F_applied[:] = 0.0
                w.has_applied_forces = True
            w.F_applied += room.F_Bo_W

    def _find_penalty_forces(self, context: Any, w: Workspace, room: ContactRoom) -> ContactSample | None:
        """Leaves the forces of contacts on the bodies in room.F_Bo_W; returns None if nothing touches."""
        self._eval_velocity(context)
        touching = self._find_contacts(context, room)
        pairs = touching.contact_pairs
        if not len(pairs):
            return None
        room.F_Bo_W[:] = 0.0
        forces, tolerance = np.empty((len(pairs), NUM_FORCE_VALUES)), self._choices.stiction_tolerance
        w.call(penalty_forces, tolerance, w.position, w.velocity, pairs, room.F_Bo_W, forces)
        room.tau[:] = 0.0
        w.call(kernels.generalized_forces, w.topology, w.position, room.F_Bo_W, w.zeros_F.copy(), room.tau)
        return sample_of_contacts(room, touching, forces, room.tau.copy(), room.tau_joints.copy())

    def _find_contacts_now(self, context: Any) -> ContactSample | None:
        w = self._workspace(context)
        if not self._may_touch:
            return None
        if not w.is_float:
            return find_contacts_of_other_scalars(self, context, w)
        room = self._contact_room(w)
        room.tau_joints[:], room.is_beyond_limits = 0.0, False
        return self._find_penalty_forces(context, w, room)

    # ------------------------------------------------------------------ constraints

    def _links_at_work(self, context: Any, room: ContactRoom) -> Array:
        """The constraints that are switched on, as records."""
        status = self._read_parameter(context, self._constraint_status_parameter)
        params = self._read_parameter(context, self._distance_params_parameter)
        source = (status, params)
        if room.link_source is None or room.link_source[0] is not status or room.link_source[1] is not params:
            specs = self._active_constraints(context)
            room.links = np.zeros(len(specs), link_dtype)
            for record, spec in zip(room.links, specs):
                self._set_link(record, spec)
            room.link_source = source
        return room.links

    def _set_link(self, record: Any, spec: ConstraintSpec) -> None:
        record["kind"] = NO_LINK
        if isinstance(spec, CouplerConstraintSpec):
            first, second = (self._tree.get_joint(index) for index in (spec.joint0, spec.joint1))
            record["kind"] = COUPLER
            record["q_0"], record["v_0"] = first.position_start(), first.velocity_start()
            record["q_1"], record["v_1"] = second.position_start(), second.velocity_start()
            record["gear_ratio"], record["offset"] = spec.gear_ratio, spec.offset
            return
        if isinstance(spec, DistanceConstraintSpec):
            params = spec.params
            body_A, body_B = params.bodyA(), params.bodyB()
            X_AP, X_BQ = RigidTransform(params.p_AP()), RigidTransform(params.p_BQ())
            record["kind"], record["length"] = DISTANCE, params.distance()
            record["stiffness"], record["damping"] = params.stiffness(), params.damping()
        elif isinstance(spec, BallConstraintSpec):
            body_A, body_B = spec.body_A, spec.body_B
            X_AP, X_BQ = RigidTransform(spec.p_AP), RigidTransform(spec.p_BQ)
            record["kind"] = BALL
        else:
            body_A, body_B, X_AP, X_BQ = spec.body_A, spec.body_B, spec.X_AP, spec.X_BQ
            record["kind"] = WELD
        record["mobod_A"], record["mobod_B"] = self._tree.mobod_of_body[[int(body_A), int(body_B)]]
        record["X_AP"], record["X_BQ"] = X_AP.GetAsMatrix34(), X_BQ.GetAsMatrix34()


def _solver_of(settings: Any) -> Any:
    return tamsi_contact_velocities if settings["approximation"] == TAMSI else contact_velocities


def _solver_arguments(
    w: Workspace, room: ContactRoom, settings: Any, v_star: Array, num_constraints: int, num_rows: int,
    jacobian_size: int,
) -> tuple[Any, ...]:  # fmt: skip
    return (
        settings, room.model.trees, room.matrix, room.is_locked, w.v, v_star, room.constraints[:num_constraints],
        room.rows[:num_rows], room.jacobian[:jacobian_size], room.pairs, room.work, room.integer_work, room.v_next,
        room.impulses[:num_rows], room.statistics,
    )  # fmt: skip
