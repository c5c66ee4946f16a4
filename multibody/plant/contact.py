"""Contact, joint limits and constraints in the dynamics of a plant: see ../contact/README.md for the mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RigidTransform
from merganser.framework.native import compile_ahead, is_missing
from merganser.framework.native.shared_code import job_of
from merganser.geometry.proximity.engine import manifolds_job
from merganser.multibody import kernels
from merganser.multibody.contact import make_settings
from merganser.multibody.contact.layout import FELL_BACK, NO_CAPACITY, NOT_A_NUMBER, NOT_CONVERGED, SAP
from merganser.multibody.contact.penalty import penalty_forces
from merganser.multibody.contact.plant_layout import (
    BALL,
    COUPLER,
    DISTANCE,
    NO_LINK,
    NUM_FORCE_VALUES,
    WELD,
    link_dtype,
)
from merganser.multibody.contact.plant_step import start_step
from merganser.multibody.contact.step import (
    BAD_POSE,
    LACKS_ROOM,
    NOT_SOLVED,
    find_contact_pairs,
    find_forces,
    move,
    take_step,
)
from merganser.multibody.contact.step_records import OUTCOME, SOLVED, Inputs, StepResults
from merganser.multibody.plant.contact_arrays import (
    ContactModelArrays,
    ContactSample,
    joints_with_limits_left_out,
    sample_of_contacts,
    sample_of_step,
    touching_of,
)
from merganser.multibody.plant.contact_enums import DiscreteContactApproximation
from merganser.multibody.plant.contact_geometry import PlantContactGeometry, listed
from merganser.multibody.plant.contact_of_other_scalars import (
    find_contacts_of_other_scalars,
    find_forces_of_other_scalars,
    hold_other_scalars,
)
from merganser.multibody.plant.drives import ActuatorTable, Controllers
from merganser.multibody.plant.step_room import StepRoom
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
                self._time_step or 1.0,  # in continuous time nobody reads it
                _APPROXIMATIONS[self.get_discrete_contact_approximation()],
                stiction_tolerance=self._choices.stiction_tolerance,
            )
            self._fallback_settings = make_settings(self._time_step or 1.0, SAP)
        return self._contact_settings

    def set_stiction_tolerance(self, v_stiction: float = 0.001) -> None:
        """Sets the velocity up to which bodies that stick may slip [m/s]; may be called after Finalize(), too.

        Raises:
            RuntimeError: it is not positive.
        """
        super().set_stiction_tolerance(v_stiction)
        self._contact_settings = None

    # ------------------------------------------------------------------ the dynamics

    def _step_room(self, context: Any, w: Workspace, table: ActuatorTable) -> StepRoom:
        """The arrays of steps in Python, as model and Context are now."""
        room: StepRoom | None = w.step_room
        if room is None:
            plant: Any = self  # with all that is derived from this class
            room = w.step_room = StepRoom(plant, context, w)
        controllers = self._controllers_at_work(w, table) if table.controlled else table.controllers
        if not room.is_current(controllers):
            self._refuse_symbolic_controllers(w, controllers)
            room.prepare(controllers)
        return room

    def _calc_discrete_step(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the state one step later into `result`; returns 0, or why there is none (see contact/step.py)."""
        self._compile_contact_ahead(context, w)
        table = self._actuators_in(context)
        inputs = self._read_inputs(context, w, table)
        if self._can_hold and not w.is_float:
            return self._step_of_other_scalars(context, w, inputs, result)

        def run(room: StepRoom, out: StepResults) -> int:
            self._update_poses(context, room)
            status: int = take_step(room.model, room.state, inputs, room.work, out)
            self._check_contacts(context, room, out)
            return status

        room = self._step_room(context, w, table)
        status, out, _ = self._run_with_room(context, room, room.controllers, run)
        room.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        room.sample = sample_of_step(room, w, out, room.F_applied) if status == 0 else None
        if status == 0:
            result[:] = out.x_next
        return status

    def _step_of_other_scalars(self, context: Any, w: Workspace, inputs: Inputs, result: Array) -> int:
        """The same with derivatives, where there may be contact, joint limits or constraints."""
        room = self._step_room(context, w, self._actuators_in(context))
        given = room.model, room.state, inputs, room.work, room.results[0]
        status: int = find_forces(*given[:-1], w.position)
        status = status or move(*given, False)  # v*
        if status != 0:
            return status
        w.store.invalid &= w.kinematics_clearing
        room.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        room.sample = None
        result[:] = room.results[0].x_next
        if not hold_other_scalars(self, context, w, result) and len(room.model.actuators.controlled):
            status = move(*given, True)
            result[:] = room.results[0].x_next
        return status

    def _run_with_room(
        self, context: Any, room: StepRoom, controllers: Controllers, run: Callable[[StepRoom, StepResults], int]
    ) -> tuple[int, StepResults, Any]:
        """Runs a step, and once more whenever it lacks room, or finds no solution by the approximation that was chosen.

        Returns:
            The status, the results, and the settings of the solver.

        Raises:
            RuntimeError: the contact problem has no solution.
        """
        status, is_as_set = LACKS_ROOM, True
        while status == LACKS_ROOM:
            if not room.is_current(controllers):
                room.prepare(controllers)
            (out,), settings = room.results, room.model.contact.settings
            status = run(room, out)
            if status == NOT_SOLVED and out.found[OUTCOME] == NO_CAPACITY:
                status = LACKS_ROOM
            elif status == NOT_SOLVED and is_as_set and self._can_fall_back(out):
                self._warn_of_fallback(context, "SAP")
                room.solve_by(self._fallback_settings)
                status, is_as_set = LACKS_ROOM, False
            if status == LACKS_ROOM:
                room.grow()
        if not is_as_set:
            room.solve_by(None)
        if status == NOT_SOLVED:
            raise RuntimeError(self._describe_contact_failure(context, room.state.x, out))
        if status == 0 and out.found[SOLVED] and out.found[OUTCOME] == FELL_BACK:
            self._warn_of_fallback(context, "Lagged")
        return status, out, settings

    def _can_fall_back(self, out: StepResults) -> bool:
        """Whether a contact problem may be solved by SAP, which always has a solution."""
        return bool(out.found[OUTCOME] == NOT_CONVERGED and self._settings_of_contact()["approximation"] != SAP)

    def _compile_contact_ahead(self, context: Any, w: Workspace) -> None:
        """Has other processes compile what the first step with contact will need, from its end on.

        To be called before anything is compiled here: other code that is not as urgent (later_code.py) waits for it.
        """
        if not self._can_hold or not w.is_float or w.step_room is not None or not is_missing(start_step):
            return
        calls = self._step_room(context, w, self._actuators_in(context)).calls()
        jobs = [calls[name] for name in ("solve", "start_step", "end_step")]
        if self._may_touch:
            of_pairs = calls["make_contact_pairs"]
            compile_ahead([*jobs, of_pairs, job_of("refine"), job_of("search"), manifolds_job()])
        else:  # there may be a limit that is never reached
            compile_ahead(jobs, is_needed_soon=False)

    def _warn_of_fallback(self, context: Any, fallback: str) -> None:
        name = self.get_discrete_contact_approximation().name[1:]
        warnings.warn(
            f"No solution was found for the contacts of plant '{self.GetSystemPathname()}' at time "
            f"{context.store.flat[0]} s by the {name} approximation; the {fallback} approximation was used for this "
            "step.",
            RuntimeWarning,
            stacklevel=2,
        )

    def _describe_contact_failure(self, context: Any, x: Array, out: StepResults) -> str:
        if not np.isfinite(x).all():
            w = self._workspace(context)
            return self._describe_overflow(context, w, w.x)
        where = f"The contact problem of plant '{self.GetSystemPathname()}' at time {context.store.flat[0]} s"
        num_constraints, _, _, num_contacts, _ = out.problem.counts.tolist()
        size = f"{num_contacts} contacts, {num_constraints - num_contacts} other constraints"
        status = out.found[OUTCOME]
        if status == NOT_CONVERGED:
            return f"{where} ({size}) was not solved: its residual is {float(out.statistics['residual']):.1e}."
        if status == NOT_A_NUMBER:
            return f"{where} ({size}) has a number that is not finite; check materials, masses and velocities."
        return (
            f"{where} ({size}) has a mass matrix that is not positive definite; check the masses and inertias of the "
            "bodies."
        )

    # ------------------------------------------------------------------ continuous time

    def _find_forces(self, context: Any, w: Workspace) -> int:
        """Leaves all forces but gravity's in w.tau and w.F_applied, in continuous time; returns a status of step.py."""
        table = self._actuators_in(context)
        inputs, room = self._read_inputs(context, w, table), self._step_room(context, w, table)
        status: int = find_forces(room.model, room.state, inputs, room.work, w.position)
        if status != 0:
            return status
        room.sample = None
        if self._can_hold and not w.is_float:
            room.sample = find_forces_of_other_scalars(self, context, w)
        elif self._may_touch:
            room.sample = self._find_penalty_forces(context, w, room)
        F_Bo_W = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        if room.sample is not None:
            F_Bo_W = F_Bo_W + room.F_Bo_W
        is_zero = F_Bo_W is w.zeros_F
        if F_Bo_W is not w.F_applied and (w.has_applied_forces or not is_zero):
            w.F_applied[:] = F_Bo_W
        w.has_applied_forces = not is_zero
        room.F_applied = w.zeros_F if is_zero else w.F_applied
        return 0

    def _find_penalty_forces(self, context: Any, w: Workspace, room: StepRoom) -> ContactSample | None:
        """Leaves the forces of contacts on the bodies in room.F_Bo_W; returns None if nothing touches."""
        self._eval_velocity(context)
        (out,), status = room.results, LACKS_ROOM
        while status == LACKS_ROOM:
            self._update_poses(context, room)
            model = room.model
            (out,) = room.results
            status = find_contact_pairs(model.code, model.contact.geometry, model.contact.trees.of_mobod, out)
            if status == LACKS_ROOM:
                room.grow()
                room = self._step_room(context, w, self._actuators_in(context))
        if status == BAD_POSE:
            raise RuntimeError(self._describe_overflow(context, w, w.x))
        self._check_contacts(context, room, out)
        touching = touching_of(out)
        pairs = touching.contact_pairs
        if not len(pairs):
            return None
        room.F_Bo_W[:] = 0.0
        forces, tolerance = np.empty((len(pairs), NUM_FORCE_VALUES)), self._choices.stiction_tolerance
        w.call(penalty_forces, tolerance, w.position, w.velocity, pairs, room.F_Bo_W, forces)
        tau = np.zeros_like(w.zeros_v)
        w.call(kernels.generalized_forces, w.topology, w.position, room.F_Bo_W, w.zeros_F.copy(), tau)
        return sample_of_contacts(room, touching, forces, tau, np.zeros_like(tau))

    def _find_contacts_now(self, context: Any) -> ContactSample | None:
        w = self._workspace(context)
        if not self._may_touch:
            return None
        if not w.is_float:
            return find_contacts_of_other_scalars(self, context, w)
        return self._find_penalty_forces(context, w, self._step_room(context, w, self._actuators_in(context)))

    # ------------------------------------------------------------------ constraints

    def _links_at_work(self, context: Any, room: StepRoom) -> Array:
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

