"""The dynamics of a plant in a Context: derivatives of the state, or discrete steps, with all that acts and holds.

The text of it is ../contact/step.py; here it gets its arrays, and what it says by a status becomes larger arrays,
another approximation, or an error. See ../contact/README.md for the mathematics of contact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.native import compile_ahead, is_missing
from merganser.framework.native.shared_code import job_of
from merganser.geometry.proximity.engine import manifolds_job
from merganser.multibody import kernels
from merganser.multibody.contact.layout import FELL_BACK, NO_CAPACITY, NOT_CONVERGED, SAP
from merganser.multibody.contact.penalty import penalty_forces
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.contact.plant_step import start_step
from merganser.multibody.contact.step import (
    BAD_INPUT,
    BAD_POSE,
    LACKS_ROOM,
    NO_FORCE,
    NOT_FINITE,
    NOT_SOLVED,
    SINGULAR_PITCH,
    find_contact_pairs,
    find_forces,
    move,
    take_step,
)
from merganser.multibody.contact.step_records import OUTCOME, SOLVED, Inputs, StepResults
from merganser.multibody.plant.arguments import check_pitches
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.constraint_arrays import ConstraintArrays
from merganser.multibody.plant.constraints import ConstraintRows, Constraints
from merganser.multibody.plant.contact_arrays import (
    ContactSample,
    joints_with_limits_left_out,
    sample_of_contacts,
    sample_of_step,
    touching_of,
)
from merganser.multibody.plant.contact_geometry import ContactGeometry, listed
from merganser.multibody.plant.contact_of_other_scalars import (
    find_contacts_of_other_scalars,
    find_forces_of_other_scalars,
    hold_other_scalars,
)
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.drives import ActuatorTable, Controllers
from merganser.multibody.plant.failures import (
    WarnOnce,
    describe_contact_failure,
    describe_overflow,
    describe_singularity,
)
from merganser.multibody.plant.force_elements import ForceElements
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.kernel_calls import bind_derivatives
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.native_code import NativeDynamics
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step_room import StepRoom
from merganser.multibody.plant.workspace import Workspace

__all__ = ["PlantDynamics"]

Array = NDArray[Any]


class PlantDynamics:
    """Derivatives of the state, or steps, of a plant.

    Args:
        model, views, kinematics, inputs, registration, settings, constraints, force_elements, warn_once: of the plant.

    Attributes:
        model, views, kinematics, inputs, registration, settings, constraints: as given.
        contact_geometry: what may touch.
        native: the same dynamics as an operation of the native plan.
        can_hold: whether there is anything that a step may have to hold.
        has_multipliers: whether loop joints or constraints hold in continuous time.
    """

    can_hold = False
    has_multipliers = False

    def __init__(
        self,
        model: PlantModel,
        views: StateViews,
        kinematics: PlantKinematics,
        inputs: InputPorts,
        registration: GeometryRegistration,
        settings: ContactSettings,
        constraints: Constraints,
        force_elements: ForceElements,
        warn_once: WarnOnce,
    ) -> None:
        self.model, self.views, self.kinematics, self.inputs = model, views, kinematics, inputs
        self.registration, self.settings, self.constraints = registration, settings, constraints
        self._force_elements, self.warn_once, self._tree = force_elements, warn_once, model.tree
        self.contact_geometry = ContactGeometry(model, registration, settings, inputs, warn_once)
        self.native = NativeDynamics(self)

    def freeze(self) -> None:
        """Called by Finalize()."""
        self.contact_geometry.freeze()
        has_rows = self.constraints.has_rows()
        self.has_multipliers = has_rows and not self.model.is_discrete
        self.can_hold = self.contact_geometry.may_touch or bool(len(self.model.contact.limits)) or has_rows
        names = joints_with_limits_left_out(self._tree)
        if names and scalar_of(self.model.system) is float:
            self.warn_once(
                "joint limits",
                f"Plant '{self.model.path()}' does not keep the position limits of joints {listed(names)}: "
                "angles of roll, pitch and yaw have no velocities of their own. Replace each of these joints by "
                "revolute ones, or take the limits away (set_position_limits).",
            )

    # ------------------------------------------------------------------ the dynamics

    def advance(self, context: Any, result: Array) -> Workspace:
        """Computes the derivatives of the state, or the state one step later, into `result`; shape as the state."""
        w = self.views.workspace(context)
        self.native.note_call(w)
        if self.model.is_discrete:
            status = self._calc_discrete_step(context, w, result)
        elif w.is_float and self.native.compute(context, w, result):
            w.store.invalid &= w.kinematics_clearing
            return w
        else:
            status = self._find_forces(context, w)
            if status == 0 and self.has_multipliers:
                status = self._calc_constrained_derivatives(context, w, result)
            elif status == 0:
                status = (w.calls.derivatives or bind_derivatives(w))(result)
        self.conclude(context, w, status, result)
        return w

    def calc_vdot(self, context: Any) -> tuple[Workspace, Array]:
        """vdot, shape [nv]; for a discrete plant (v+ - v) / h. The kinematics are up to date afterwards."""
        result = np.empty_like(self.views.workspace(context).x)
        w = self.advance(context, result)
        vdot = result[len(w.q) :]
        return w, (vdot - w.v) / self.model.time_step if self.model.is_discrete else vdot

    def conclude(self, context: Any, w: Workspace, status: int, result: Any) -> None:
        """Marks the kinematics that a step has computed on its way as current; raises if the step failed."""
        if status != 0:
            self._raise_failure(context, w, status)
        w.store.invalid &= w.kinematics_clearing
        if w.is_float and not self.model.is_discrete and not checked.is_finite(result):
            raise RuntimeError(describe_overflow(self.model, context, w, result))

    def _raise_failure(self, context: Any, w: Workspace, status: int) -> None:
        """Raises an error that says why there are no dynamics, see contact/step.py."""
        if status == SINGULAR_PITCH:
            check_pitches(self.model, "The motion", w)
        if status == BAD_INPUT:
            self.inputs.blame(context, w.tau)
        if status in (BAD_POSE, NOT_FINITE):
            values = w.x if status == BAD_POSE else w.step_room.results[0].x_next
            raise RuntimeError(describe_overflow(self.model, context, w, values))
        if status <= NO_FORCE:
            raise RuntimeError(self._force_elements.describe_failure(context, w, NO_FORCE - status))
        raise RuntimeError(describe_singularity(self.model, context, w, status))

    def step_room(self, context: Any, w: Workspace, table: ActuatorTable) -> StepRoom:
        """The arrays of steps in Python, as model and Context are now."""
        room: StepRoom | None = w.step_room
        if room is None:
            room = w.step_room = StepRoom(self, context, w)
        controllers = self.inputs.controllers_at_work(w, table) if table.controlled else table.controllers
        if not room.is_current(controllers):
            self.inputs.refuse_symbolic_controllers(w, controllers)
            room.prepare(controllers)
        return room

    # ------------------------------------------------------------------ discrete steps

    def _calc_discrete_step(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the state one step later into `result`; returns 0, or why there is none (see contact/step.py)."""
        self._compile_contact_ahead(context, w)
        table = self.inputs.actuators_in(context)
        inputs = self.inputs.read(context, w, table)
        if self.can_hold and not w.is_float:
            return self._step_of_other_scalars(context, w, inputs, result)

        def run(room: StepRoom, out: StepResults) -> int:
            self.contact_geometry.update_poses(context, room)
            status: int = take_step(room.model, room.state, inputs, room.work, out)
            self.contact_geometry.check_contacts(context, room, out)
            return status

        room = self.step_room(context, w, table)
        status, out, _ = self.run_with_room(context, room, room.controllers, run)
        room.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        room.sample = sample_of_step(room, w, out, room.F_applied) if status == 0 else None
        if status == 0:
            result[:] = out.x_next
        return status

    def _step_of_other_scalars(self, context: Any, w: Workspace, inputs: Inputs, result: Array) -> int:
        """The same with derivatives, where there may be contact, joint limits or constraints."""
        room = self.step_room(context, w, self.inputs.actuators_in(context))
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

    def run_with_room(
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
                room.solve_by(self.settings.of_fallback())
                status, is_as_set = LACKS_ROOM, False
            if status == LACKS_ROOM:
                room.grow()
        if not is_as_set:
            room.solve_by(None)
        if status == NOT_SOLVED:
            w = self.views.workspace(context)
            raise RuntimeError(describe_contact_failure(self.model, context, w, room.state.x, out))
        if status == 0 and out.found[SOLVED] and out.found[OUTCOME] == FELL_BACK:
            self._warn_of_fallback(context, "Lagged")
        return status, out, settings

    def _can_fall_back(self, out: StepResults) -> bool:
        """Whether a contact problem may be solved by SAP, which always has a solution."""
        return bool(out.found[OUTCOME] == NOT_CONVERGED and self.settings.of_solver()["approximation"] != SAP)

    def _compile_contact_ahead(self, context: Any, w: Workspace) -> None:
        """Has other processes compile what the first step with contact will need, from its end on.

        To be called before anything is compiled here: other code that is not as urgent (later_code.py) waits for it.
        """
        if not self.can_hold or not w.is_float or w.step_room is not None or not is_missing(start_step):
            return
        calls = self.step_room(context, w, self.inputs.actuators_in(context)).calls()
        jobs = [calls[name] for name in ("solve", "start_step", "end_step")]
        if self.contact_geometry.may_touch:
            of_pairs = calls["make_contact_pairs"]
            compile_ahead([*jobs, of_pairs, job_of("refine"), job_of("search"), manifolds_job()])
        else:  # there may be a limit that is never reached
            compile_ahead(jobs, is_needed_soon=False)

    def _warn_of_fallback(self, context: Any, fallback: str) -> None:
        name = self.settings.get_discrete_contact_approximation().name[1:]
        warnings.warn(
            f"No solution was found for the contacts of plant '{self.model.path()}' at time "
            f"{context.store.flat[0]} s by the {name} approximation; the {fallback} approximation was used for this "
            "step.",
            RuntimeWarning,
            stacklevel=2,
        )

    # ------------------------------------------------------------------ continuous time

    def _find_forces(self, context: Any, w: Workspace) -> int:
        """Leaves all forces but gravity's in w.tau and w.F_applied, in continuous time; returns a status of step.py."""
        table = self.inputs.actuators_in(context)
        inputs, room = self.inputs.read(context, w, table), self.step_room(context, w, table)
        status: int = find_forces(room.model, room.state, inputs, room.work, w.position)
        if status != 0:
            return status
        room.sample = None
        if self.can_hold and not w.is_float:
            room.sample = find_forces_of_other_scalars(self, context, w)
        elif self.contact_geometry.may_touch:
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
        self.kinematics.eval_velocity(context)
        (out,), status = room.results, LACKS_ROOM
        while status == LACKS_ROOM:
            self.contact_geometry.update_poses(context, room)
            model = room.model
            (out,) = room.results
            status = find_contact_pairs(model.code, model.contact.geometry, model.contact.trees.of_mobod, out)
            if status == LACKS_ROOM:
                room.grow()
                room = self.step_room(context, w, self.inputs.actuators_in(context))
        if status == BAD_POSE:
            raise RuntimeError(describe_overflow(self.model, context, w, w.x))
        self.contact_geometry.check_contacts(context, room, out)
        touching = touching_of(out)
        pairs = touching.contact_pairs
        if not len(pairs):
            return None
        room.F_Bo_W[:] = 0.0
        forces, tolerance = np.empty((len(pairs), NUM_FORCE_VALUES)), self.settings.choices.stiction_tolerance
        w.call(penalty_forces, tolerance, w.position, w.velocity, pairs, room.F_Bo_W, forces)
        tau = np.zeros_like(w.zeros_v)
        w.call(kernels.generalized_forces, w.topology, w.position, room.F_Bo_W, w.zeros_F.copy(), tau)
        return sample_of_contacts(room, touching, forces, tau, np.zeros_like(tau))

    def find_contacts_now(self, context: Any) -> ContactSample | None:
        """The contacts of a continuous plant."""
        w = self.views.workspace(context)
        if not self.contact_geometry.may_touch:
            return None
        if not w.is_float:
            return find_contacts_of_other_scalars(self, context, w)
        return self._find_penalty_forces(context, w, self.step_room(context, w, self.inputs.actuators_in(context)))

    def _calc_constrained_derivatives(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the derivatives of the state with loop joints and the constraints that are active in the Context."""
        if w.constraint_rows is None:
            w.constraint_rows = ConstraintRows(self.constraints)
        rows = w.constraint_rows.read(context)
        if w.held is None or w.held.rows is not rows:
            w.held = ConstraintArrays(w, rows)
        held: ConstraintArrays = w.held
        status: int = w.call(
            kernels.constrained_state_derivatives, w.topology, w.parameters, w.gravity, held.rows, w.x, w.tau,
            w.F_applied, w.position, w.velocity, w.scratch, *held.work, held.values, held.K, held.F, result,
        )  # fmt: skip
        return status
