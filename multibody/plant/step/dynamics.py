"""The dynamics of a plant in a Context: derivatives of the state, or discrete steps, with all that acts and holds.

Its source is ../../contact/step.py; here it gets its arrays, and what it says by a status becomes larger arrays,
another approximation, or an error. See ../../contact/README.md for the mathematics of contact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.native import compile_ahead, is_missing
from merganser.framework.native.memory.hinted_types import hinted_job
from merganser.framework.native.memory.shared_code import job_of
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.multibody import kernels
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.layout import FELL_BACK, NO_CAPACITY, NOT_CONVERGED, SAP
from merganser.multibody.contact.plant_step import end_step, start_step
from merganser.multibody.contact.step import (
    BAD_INPUT,
    BAD_PAIR,
    BAD_POSE,
    LACKS_CAPACITY,
    NO_FORCE,
    NO_SURFACE,
    NOT_FINITE,
    NOT_SOLVED,
    SINGULAR_PITCH,
    accelerate,
    calc_derivatives,
    find_forces,
    find_penalty_forces,
    move,
    take_step,
)
from merganser.multibody.contact.step_operation import LISTENING, count_iterations
from merganser.multibody.contact.step_records import NUM_PAIRS, OUTCOME, SOLVED, Inputs, StepResults
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.plant.arguments import check_pitches
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_geometry import ContactGeometry, listed
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.force_elements import ForceElements
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.scalars.contact_of_other_scalars import (
    constrain_other_scalars,
    find_contacts_of_other_scalars,
    find_forces_of_other_scalars,
)
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.contact_arrays import (
    ContactSample,
    joints_with_limits_left_out,
    sample_of_contacts,
    sample_of_step,
    touching_of,
)
from merganser.multibody.plant.step.drives import ActuatorTable, Controllers
from merganser.multibody.plant.step.failures import (
    WarnOnce,
    describe_bad_pair,
    describe_contact_failure,
    describe_overflow,
    describe_singularity,
    time_of,
)
from merganser.multibody.plant.step.motion import Motion
from merganser.multibody.plant.step.native_code import NativeDynamics
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.step.step_code import solver_of
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.deformable_steps import DeformableSteps

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
        can_constrain: whether there may be constraints in steps.
        has_multipliers: whether loop joints or constraints hold in continuous time.
        may_touch: whether there is anything that may touch: geometries, or contacts of kinds.
        deformables: steps of deformable bodies; None if there are none.
    """

    can_constrain = False
    may_touch = False
    has_multipliers = False
    deformables: DeformableSteps | None = None

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
        if self.deformables is not None and self.deformables.may_touch:
            self.contact_geometry.may_touch = True
        has_rows = self.constraints.has_rows()
        self.has_multipliers = has_rows and not self.model.is_discrete
        has_friction = self.model.is_discrete and bool(len(self.model.contact.frictions))
        has_limits = bool(len(self.model.contact.limits))
        self.may_touch = self.contact_geometry.may_touch or len(self.model.contact.sources) > 0
        self.can_constrain = self.may_touch or has_limits or has_friction or has_rows
        if self.deformables is not None:
            self.can_constrain = self.can_constrain or self.deformables.may_constrain
        names = joints_with_limits_left_out(self._tree)
        if names and scalar_of(self.model.system) is float:
            self.warn_once(
                "joint limits",
                f"Plant '{self.model.path()}' does not keep the position limits of joints {listed(names)}: "
                "angles of roll, pitch and yaw have no velocities of their own. Replace each of these joints by "
                "revolute ones, or take the limits away (set_position_limits).",
            )

    # ------------------------------------------------------------------ the dynamics

    def advance(self, context: Context, result: Array) -> Workspace:
        """Computes the derivatives of the state, or the state one step later, into `result`; shape as the state."""
        w = self.views.workspace(context)
        self.native.note_call(w)
        if self.model.is_discrete:
            status = self._calc_discrete_step(context, w, result)
        elif w.motion is not None and w.motion.lengths[0]:
            status = self._calc_slopes(context, w, result)
        elif w.is_float and self.native.compute(context, w, result):
            w.store.invalid &= w.kinematics_clearing
            return w
        else:
            status = self._calc_derivatives(context, w, result)
        self.finish_step(context, w, status)
        return w

    def advance_now(self, context: Context, result: Array) -> Workspace:
        """The same for derivatives at the moment, also while an integrator moves a continuous plant by steps."""
        motion: Motion | None = self.views.workspace(context).motion
        if motion is None:
            return self.advance(context, result)
        h, motion.lengths[0] = motion.lengths.item(0), 0.0
        try:
            return self.advance(context, result)
        finally:
            motion.lengths[0] = h

    def calc_vdot(self, context: Context) -> tuple[Workspace, Array]:
        """vdot, shape [nv]; for a discrete plant (v+ - v) / h. The kinematics are up to date afterwards."""
        result = np.empty_like(self.views.workspace(context).x)
        w = self.advance_now(context, result)
        vdot = result[len(w.q) :]
        return w, (vdot - w.v) / self.model.time_step if self.model.is_discrete else vdot

    def calc_missing_forces(self, context: Context, vdot: Array) -> Array | None:
        """M vdot + C v - tau_g + D v - tau, what generalized forces lack for given accelerations, shape [nv].

        None in a discrete plant, and where joints are locked or constraints hold: more than forces decide there.
        """
        w = self.views.workspace(context)
        has_locks = any(is_set(lock) for lock in w.parameters["is_locked"])
        if self.model.is_discrete or self.has_multipliers or has_locks:
            return None
        F_Bo_W = self._find_forces(context, w)
        self.kinematics.eval_velocity(context)
        tau_needed = w.calls.inverse_dynamics(vdot, F_Bo_W)
        tau_g = np.empty(len(w.v), w.dtype)
        w.call(kernels.gravity_forces, w.topology, w.parameters, w.gravity, w.position, w.scratch, tau_g)
        missing: Array = tau_needed - tau_g - w.tau
        for node, parameters in zip(w.topology, w.parameters):
            for k in range(node["num_v"]):
                missing[node["v_start"] + k] += parameters["damping"][k] * w.v[node["v_start"] + k]
        return missing

    def finish_step(self, context: Context, w: Workspace, status: int, xdot: Array | None = None) -> None:
        """Marks the kinematics that a step has computed as current; raises if it failed, or xdot is not finite."""
        if status != 0:
            self.raise_failure(context, w, status)
        w.store.invalid &= w.kinematics_clearing
        if xdot is not None and w.is_float and not checked.is_finite(xdot):
            raise RuntimeError(describe_overflow(self.model, context, w, xdot))

    def raise_failure(
        self, context: Context, w: Workspace, status: int, failed: StepBuffers | None = None
    ) -> None:
        """Raises an error that says why there are no dynamics, see contact/step.py.

        Args:
            context: of the plant.
            w: where the numbers stand.
            status: why.
            failed: buffers of what failed; by default those of the workspace.
        """
        buffers: StepBuffers = w.step_buffers if failed is None else failed
        if status == SINGULAR_PITCH:
            check_pitches(self.model, "The motion", w)
        if status == BAD_INPUT and np.isfinite(w.x).all():
            self.inputs.raise_nonfinite_input(context, w.tau)
        if status in (BAD_INPUT, BAD_POSE, NOT_FINITE):
            values = buffers.results[0].x_next if status == NOT_FINITE else w.x
            raise RuntimeError(describe_overflow(self.model, context, w, values))
        if status == BAD_PAIR:
            raise RuntimeError(describe_bad_pair(self.model, context, buffers.results[0]))
        if status == NO_SURFACE:
            self.contact_geometry.refuse_points(context, buffers, buffers.results[0])
        if status <= NO_FORCE:
            raise RuntimeError(self._force_elements.describe_failure(context, w, NO_FORCE - status))
        raise RuntimeError(describe_singularity(self.model, context, w, status))

    def step_buffers(self, context: Context, w: Workspace, table: ActuatorTable) -> StepBuffers:
        """The arrays of steps in Python, as model and Context are now."""
        buffers, controllers = self._buffers_and_controllers(context, w, table)
        if not buffers.is_current(controllers):
            buffers.prepare(controllers)
        return buffers

    def _buffers_and_controllers(
        self, context: Context, w: Workspace, table: ActuatorTable
    ) -> tuple[StepBuffers, Controllers]:
        """The arrays of steps in Python, perhaps out of date, and the controllers that are at work."""
        controllers = self.inputs.active_controllers(w, table) if table.controlled else table.controllers
        if not w.is_float:
            self.inputs.refuse_symbolic_controllers(w, controllers)
        buffers: StepBuffers | None = w.step_buffers
        if buffers is None:
            buffers = w.step_buffers = StepBuffers(self, context, w)
        return buffers, controllers

    # ------------------------------------------------------------------ discrete steps

    def _calc_discrete_step(self, context: Context, w: Workspace, result: Array) -> int:
        """Computes the state one step later into `result`; returns 0, or why there is none (see contact/step.py)."""
        self._compile_contact_ahead(context, w)
        table, h = self.inputs.actuators_in(context), self.model.time_step
        inputs = self.inputs.read(context, w, table)
        if self.can_constrain and not w.is_float:
            buffers = self.step_buffers(context, w, table)
            return self._step_of_other_scalars(context, w, buffers, inputs, h, result)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            return int(take_step(buffers.model, buffers.state, h, inputs, buffers.work, out))

        run = compute if self.deformables is None else self.deformables.step_of(context, w, inputs, h)
        status, buffers, out = self._run(context, w, table, run)
        buffers.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        buffers.sample = sample_of_step(buffers, w, out, buffers.F_applied) if status == 0 else None
        if status == 0:
            result[:] = out.x_next
        return status

    def _run(
        self, context: Context, w: Workspace, table: ActuatorTable, compute: Callable[[StepBuffers, StepResults], int]
    ) -> tuple[int, StepBuffers, StepResults]:
        """Runs a function of contact/step.py, with poses of geometries as the SceneGraph says and enough capacity."""
        buffers, controllers = self._buffers_and_controllers(context, w, table)
        run = self._with_poses(context, compute)
        status, out, _ = self.run_with_capacity(context, buffers, controllers, run)
        return status, buffers, out

    def _with_poses(
        self, context: Context, compute: Callable[[StepBuffers, StepResults], int]
    ) -> Callable[[StepBuffers, StepResults], int]:
        """The same, with poses of geometries as the SceneGraph says."""

        def run(buffers: StepBuffers, out: StepResults) -> int:
            self.contact_geometry.update_poses(context, buffers)
            status = compute(buffers, out)
            self.contact_geometry.check_contacts(context, buffers, out)
            return status

        return run

    def _step_of_other_scalars(
        self, context: Context, w: Workspace, buffers: StepBuffers, inputs: Inputs, h: float, result: Array
    ) -> int:
        """The same with derivatives, where there may be contact, joint limits or constraints."""
        (out,) = buffers.results
        given = buffers.model, buffers.state, h, inputs, buffers.work, out
        status: int = find_forces(*given[:-1], w.position)
        status = status or move(*given, False)  # v*
        if status != 0:
            return status
        w.store.invalid &= w.kinematics_clearing
        buffers.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        buffers.sample = None
        if constrain_other_scalars(self, context, w, buffers, out.x_next, result):
            return 0
        if len(buffers.model.actuators.controlled):
            status = move(*given, True)
        result[:] = out.x_next
        return status

    def run_with_capacity(
        self,
        context: Context,
        buffers: StepBuffers,
        controllers: Controllers,
        run: Callable[[StepBuffers, StepResults], int],
    ) -> tuple[int, StepResults, Any]:
        """Runs a step, and once more when buffers are too small, or there is no solution by the chosen approximation.

        Returns:
            The status, NOT_SOLVED only where the buffers are told how to solve; the results, and the settings of the
            solver.

        Raises:
            RuntimeError: the contact problem has no solution.
        """
        status, out, settings = self._run_with_capacity(buffers, controllers, run)
        if status == NOT_SOLVED and buffers.is_told_how_to_solve():
            return status, out, settings
        if status == NOT_SOLVED and self._can_fall_back(out):
            self._warn_of_fallback(context, "SAP")
            buffers.solve_by(self.settings.of_fallback())
            try:
                status, out, settings = self._run_with_capacity(buffers, controllers, run)
            finally:  # also after an error or an interrupt: the next step begins with the plant's own
                buffers.solve_by(None)
        if status == NOT_SOLVED:
            w = self.views.workspace(context)
            raise RuntimeError(describe_contact_failure(self.model, context, w, buffers.state.x, out))
        if status == 0 and out.found[SOLVED] and out.found[OUTCOME] == FELL_BACK:
            self._warn_of_fallback(context, "Lagged")
        return status, out, settings

    def _run_with_capacity(
        self, buffers: StepBuffers, controllers: Controllers, run: Callable[[StepBuffers, StepResults], int]
    ) -> tuple[int, StepResults, Any]:
        while True:
            if not buffers.is_current(controllers):
                buffers.prepare(controllers)
            (out,), settings = buffers.results, buffers.model.contact.settings
            status = run(buffers, out)
            if status != LACKS_CAPACITY and not (status == NOT_SOLVED and out.found[OUTCOME] == NO_CAPACITY):
                return status, out, settings
            buffers.grow()

    def _can_fall_back(self, out: StepResults) -> bool:
        """Whether a contact problem may be solved by SAP, which always has a solution."""
        return bool(out.found[OUTCOME] == NOT_CONVERGED and self.settings.of_solver()["approximation"] != SAP)

    def _compile_contact_ahead(self, context: Context, w: Workspace) -> None:
        """Has other processes compile what the first step with contact will need, from its end on.

        To be called before anything is compiled here: code that is less urgent (background_code.py) waits for it.
        """
        if not self.can_constrain or not w.is_float or w.step_buffers is not None or not is_missing(start_step):
            return
        jobs = [hinted_job(kernel) for kernel in (solver_of(self.settings.of_solver()), start_step, end_step)]
        if self.contact_geometry.may_touch:
            searches = job_of("refine"), job_of("search")
            compile_ahead([*jobs, hinted_job(make_contact_pairs), *searches, hinted_job(contact_manifolds)])
        else:  # there may be a limit that is never reached
            compile_ahead(jobs, is_needed_soon=False)

    def _warn_of_fallback(self, context: Context, fallback: str) -> None:
        name = self.settings.get_discrete_contact_approximation().name[1:]
        warnings.warn(
            f"No solution was found for the contacts of plant '{self.model.path()}' at time "
            f"{time_of(context)} s by the {name} approximation; the {fallback} approximation was used for this "
            "step.",
            RuntimeWarning,
            stacklevel=2,
        )

    # ------------------------------------------------------------------ steps of a continuous plant

    def motion_in(self, context: Context) -> Motion:
        """What lets an integrator move a continuous plant by steps.

        Raises:
            TypeError: the plant is one of neither floats nor AutoDiffXd.
        """
        w = self.views.workspace(context)
        if not w.is_float and (w.is_numeric or w.scalar.__name__ == "Expression"):
            raise TypeError(
                f"Plant '{self.model.path()}' of {w.scalar.__name__} cannot be moved by steps of contact; only plants "
                "of floats and of AutoDiffXd can."
            )
        if w.motion is None:
            w.motion = Motion(self, context, w)
        motion: Motion = w.motion
        return motion

    def _calc_slopes(self, context: Context, w: Workspace, result: Array) -> int:
        """Computes (1) of motion.py into `result`; returns 0, or why there are no slopes (see contact/step.py)."""
        motion: Motion = w.motion
        table, h, heard = self.inputs.actuators_in(context), motion.lengths.item(0), motion.heard
        controllers = heard.controllers(self.inputs.active_controllers(w, table))
        is_heard = h != LISTENING and heard.follow()
        inputs = heard.inputs if is_heard else self.inputs.read(context, w, table)
        if not w.is_float and (self.can_constrain or len(self.model.contact.frictions)):
            return self._slopes_of_other_scalars(context, w, controllers, inputs, result)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            if h == LISTENING:
                heard.hear(buffers, inputs, result)
                return 0
            if is_heard:
                heard.respond(buffers)
            return int(take_step(buffers.model, buffers.state, h, inputs, buffers.work, out))

        status, out, _ = self._run_with_capacity(motion.buffers, controllers, self._with_poses(context, compute))
        if h == LISTENING:
            return status
        buffers = motion.buffers
        buffers.F_applied = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        if status == NOT_SOLVED:
            result[:] = np.nan
            return 0
        if status == 0:
            if out.found[SOLVED]:
                count_iterations(out.statistics, motion.counts)
            motion.take_step(out.x_next, buffers.F_applied)
            np.divide(np.asarray(out.x_next) - w.x, h, result)
        return status

    def _slopes_of_other_scalars(
        self, context: Context, w: Workspace, controllers: Controllers, inputs: Inputs, result: Array
    ) -> int:
        """The same with derivatives, where there may be contact, joint limits or constraints."""
        motion: Motion = w.motion
        buffers, h = motion.buffers, motion.lengths.item(0)
        buffers.time_step = h
        if not buffers.is_current(controllers):
            buffers.prepare(controllers)
        status = self._step_of_other_scalars(context, w, buffers, inputs, h, result)
        if status == 0:
            if buffers.sample is not None:
                count_iterations(buffers.gradients.buffers.results[0].statistics, motion.counts)
            motion.take_step(result, buffers.F_applied)
            np.divide(result - w.x, h, result)
        return status

    # ------------------------------------------------------------------ continuous time

    def _calc_derivatives(self, context: Context, w: Workspace, result: Array) -> int:
        """Computes the derivatives of the state into `result`; returns 0, or why there are none."""
        table = self.inputs.actuators_in(context)
        inputs = self.inputs.read(context, w, table)
        if self.can_constrain and not w.is_float:
            return self._derivatives_of_other_scalars(context, w, inputs, result)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            return int(calc_derivatives(buffers.model, buffers.state, inputs, buffers.work, out))

        status, buffers, out = self._run(context, w, table, compute)
        buffers.note_derivatives(inputs)
        if status == 0:
            result[:] = out.x_next
        return status

    def _find_forces(self, context: Context, w: Workspace) -> Array:
        """All forces on the bodies but gravity's in continuous time, shape [num_mobods, 6]; w.tau has the others."""
        table = self.inputs.actuators_in(context)
        inputs = self.inputs.read(context, w, table)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            given, work = (buffers.model, buffers.state), buffers.work
            status: int = find_forces(*given, 0.0, inputs, work, out.position)
            return status or min(find_penalty_forces(*given, work, out), 0)

        status, buffers, out = self._run(context, w, table, compute)
        if status != 0:
            self.raise_failure(context, w, status)
        F_Bo_W: Array = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W
        if self.can_constrain and not w.is_float:
            F_contact = find_forces_of_other_scalars(self, context, w)
            return F_Bo_W if F_contact is None else F_Bo_W + F_contact
        has_contacts = buffers.model.can_constrain and out.found[NUM_PAIRS]
        return F_Bo_W + buffers.work.F_contact if has_contacts else F_Bo_W

    def _derivatives_of_other_scalars(self, context: Context, w: Workspace, inputs: Inputs, result: Array) -> int:
        """The same with derivatives, where there may be contact."""
        buffers = self.step_buffers(context, w, self.inputs.actuators_in(context))
        given, (out,) = (buffers.model, buffers.state), buffers.results
        status: int = find_forces(*given, 0.0, inputs, buffers.work, w.position)
        if status != 0:
            return status
        F_Bo_W, buffers.sample = w.F_applied if len(self._tree.elements) else inputs.F_Bo_W, None
        F_contact = find_forces_of_other_scalars(self, context, w)
        if F_contact is not None:
            F_Bo_W = F_Bo_W + F_contact
        status = accelerate(*given, buffers.work, F_Bo_W, out)
        buffers.F_applied = buffers.multipliers.F if self.has_multipliers else F_Bo_W
        result[:] = out.x_next
        return status

    def find_contacts_now(self, context: Context) -> ContactSample | None:
        """The contacts of a continuous plant."""
        w, table = self.views.workspace(context), self.inputs.actuators_in(context)
        if not self.may_touch:
            return None
        if not w.is_float:
            return find_contacts_of_other_scalars(self, context, w)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            return min(find_penalty_forces(buffers.model, buffers.state, buffers.work, out), 0)

        status, buffers, out = self._run(context, w, table, compute)
        if status != 0:
            self.raise_failure(context, w, status)
        touching, tau = touching_of(out), np.zeros_like(w.zeros_v)
        if not len(touching.contact_pairs):
            return None
        F_contact, forces = buffers.work.F_contact, out.contact_forces[: len(touching.contact_pairs)].copy()
        w.call(kernels.generalized_forces, w.topology, w.position, F_contact, np.zeros_like(w.zeros_F), tau)
        return sample_of_contacts(buffers, touching, forces, tau, np.zeros_like(tau))
