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
    LACKS_CAPACITY,
    NO_FORCE,
    NO_SURFACE,
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
    constrain_other_scalars,
    find_contacts_of_other_scalars,
    find_forces_of_other_scalars,
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
from merganser.multibody.plant.step_buffers import StepBuffers
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
        can_constrain: whether there is anything that a step may have to hold.
        has_multipliers: whether loop joints or constraints hold in continuous time.
    """

    can_constrain = False
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
        self.can_constrain = self.contact_geometry.may_touch or bool(len(self.model.contact.limits)) or has_rows
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
            values = w.x if status == BAD_POSE else w.step_buffers.results[0].x_next
            raise RuntimeError(describe_overflow(self.model, context, w, values))
        if status <= NO_FORCE:
            raise RuntimeError(self._force_elements.describe_failure(context, w, NO_FORCE - status))
        raise RuntimeError(describe_singularity(self.model, context, w, status))

    def step_buffers(self, context: Any, w: Workspace, table: ActuatorTable) -> StepBuffers:
        """The arrays of steps in Python, as model and Context are now."""
        buffers: StepBuffers | None = w.step_buffers
        if buffers is None:
            buffers = w.step_buffers = StepBuffers(self, context, w)
        controllers = self.inputs.active_controllers(w, table) if table.controlled else table.controllers
        if not buffers.is_current(controllers):
            self.inputs.refuse_symbolic_controllers(w, controllers)
            buffers.prepare(controllers)
        return buffers

    # ------------------------------------------------------------------ discrete steps

    def _calc_discrete_step(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the state one step later into `result`; returns 0, or why there is none (see contact/step.py)."""
        self._compile_contact_ahead(context, w)
        table = self.inputs.actuators_in(context)
        inputs = self.inputs.read(context, w, table)
        if self.can_constrain and not w.is_float:
            return self._step_of_other_scalars(context, w, inputs, result)

        def run(buffers: StepBuffers, out: StepResults) -> int:
            self.contact_geometry.update_poses(context, buffers)
            status: int = take_step(buffers.model, buffers.state, inputs, buffers.work, out)
            self.contact_geometry.check_contacts(context, buffers, out)
            if status == NO_SURFACE:
                self.contact_geometry.refuse_points(context, buffers, out)
            return status

        buffers = self.step_buffers(context, w, table)
        status, out, _ = self.run_with_capacity(context, buffers, buffers.controllers, run)
        buffers.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        buffers.sample = sample_of_step(buffers, w, out, buffers.F_applied) if status == 0 else None
        if status == 0:
            result[:] = out.x_next
        return status

    def _step_of_other_scalars(self, context: Any, w: Workspace, inputs: Inputs, result: Array) -> int:
        """The same with derivatives, where there may be contact, joint limits or constraints."""
        buffers = self.step_buffers(context, w, self.inputs.actuators_in(context))
        given = buffers.model, buffers.state, inputs, buffers.work, buffers.results[0]
        status: int = find_forces(*given[:-1], w.position)
        status = status or move(*given, False)  # v*
        if status != 0:
            return status
        w.store.invalid &= w.kinematics_clearing
        buffers.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        buffers.sample = None
        result[:] = buffers.results[0].x_next
        if not constrain_other_scalars(self, context, w, result) and len(buffers.model.actuators.controlled):
            status = move(*given, True)
            result[:] = buffers.results[0].x_next
        return status

    def run_with_capacity(
        self,
        context: Any,
        buffers: StepBuffers,
        controllers: Controllers,
        run: Callable[[StepBuffers, StepResults], int],
    ) -> tuple[int, StepResults, Any]:
        """Runs a step, and once more when buffers are too small, or there is no solution by the chosen approximation.

        Returns:
            The status, the results, and the settings of the solver.

        Raises:
            RuntimeError: the contact problem has no solution.
        """
        status, is_as_set = LACKS_CAPACITY, True
        while status == LACKS_CAPACITY:
            if not buffers.is_current(controllers):
                buffers.prepare(controllers)
            (out,), settings = buffers.results, buffers.model.contact.settings
            status = run(buffers, out)
            if status == NOT_SOLVED and out.found[OUTCOME] == NO_CAPACITY:
                status = LACKS_CAPACITY
            elif status == NOT_SOLVED and is_as_set and self._can_fall_back(out):
                self._warn_of_fallback(context, "SAP")
                buffers.solve_by(self.settings.of_fallback())
                status, is_as_set = LACKS_CAPACITY, False
            if status == LACKS_CAPACITY:
                buffers.grow()
        if not is_as_set:
            buffers.solve_by(None)
        if status == NOT_SOLVED:
            w = self.views.workspace(context)
            raise RuntimeError(describe_contact_failure(self.model, context, w, buffers.state.x, out))
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
        if not self.can_constrain or not w.is_float or w.step_buffers is not None or not is_missing(start_step):
            return
        calls = self.step_buffers(context, w, self.inputs.actuators_in(context)).calls()
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
        inputs, buffers = self.inputs.read(context, w, table), self.step_buffers(context, w, table)
        status: int = find_forces(buffers.model, buffers.state, inputs, buffers.work, w.position)
        if status != 0:
            return status
        buffers.sample = None
        if self.can_constrain and not w.is_float:
            buffers.sample = find_forces_of_other_scalars(self, context, w)
        elif self.contact_geometry.may_touch:
            buffers.sample = self._find_penalty_forces(context, w, buffers)
        F_Bo_W = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        if buffers.sample is not None:
            F_Bo_W = F_Bo_W + buffers.F_Bo_W
        is_zero = F_Bo_W is w.zeros_F
        if F_Bo_W is not w.F_applied and (w.has_applied_forces or not is_zero):
            w.F_applied[:] = F_Bo_W
        w.has_applied_forces = not is_zero
        buffers.F_applied = w.zeros_F if is_zero else w.F_applied
        return 0

    def _find_penalty_forces(self, context: Any, w: Workspace, buffers: StepBuffers) -> ContactSample | None:
        """Leaves the forces of contacts on the bodies in buffers.F_Bo_W; returns None if nothing touches."""
        self.kinematics.eval_velocity(context)
        (out,), status = buffers.results, LACKS_CAPACITY
        while status == LACKS_CAPACITY:
            self.contact_geometry.update_poses(context, buffers)
            model = buffers.model
            (out,) = buffers.results
            status = find_contact_pairs(model.code, model.contact.geometry, model.contact.trees.of_mobod, out)
            if status == LACKS_CAPACITY:
                buffers.grow()
                buffers = self.step_buffers(context, w, self.inputs.actuators_in(context))
        if status == BAD_POSE:
            raise RuntimeError(describe_overflow(self.model, context, w, w.x))
        self.contact_geometry.check_contacts(context, buffers, out)
        if status == NO_SURFACE:
            self.contact_geometry.refuse_points(context, buffers, out)
        touching = touching_of(out)
        pairs = touching.contact_pairs
        if not len(pairs):
            return None
        buffers.F_Bo_W[:] = 0.0
        forces, tolerance = np.empty((len(pairs), NUM_FORCE_VALUES)), self.settings.choices.stiction_tolerance
        w.call(penalty_forces, tolerance, w.position, w.velocity, pairs, buffers.F_Bo_W, forces)
        tau = np.zeros_like(w.zeros_v)
        w.call(kernels.generalized_forces, w.topology, w.position, buffers.F_Bo_W, w.zeros_F.copy(), tau)
        return sample_of_contacts(buffers, touching, forces, tau, np.zeros_like(tau))

    def find_contacts_now(self, context: Any) -> ContactSample | None:
        """The contacts of a continuous plant."""
        w = self.views.workspace(context)
        if not self.contact_geometry.may_touch:
            return None
        if not w.is_float:
            return find_contacts_of_other_scalars(self, context, w)
        return self._find_penalty_forces(context, w, self.step_buffers(context, w, self.inputs.actuators_in(context)))

    def _calc_constrained_derivatives(self, context: Any, w: Workspace, result: Array) -> int:
        """Computes the derivatives of the state with loop joints and the constraints that are active in the Context."""
        if w.constraint_rows is None:
            w.constraint_rows = ConstraintRows(self.constraints)
        rows = w.constraint_rows.read(context)
        if w.constraint_arrays is None or w.constraint_arrays.rows is not rows:
            w.constraint_arrays = ConstraintArrays(w, rows)
        held: ConstraintArrays = w.constraint_arrays
        status: int = w.call(
            kernels.constrained_state_derivatives, w.topology, w.parameters, w.gravity, held.rows, w.x, w.tau,
            w.F_applied, w.position, w.velocity, w.scratch, *held.work, held.values, held.K, held.F, result,
        )  # fmt: skip
        return status
