"""The dynamics of a plant in a Context: derivatives of the state, or discrete steps, with all that acts and holds.

Its source is ../../dynamics/step.py; here it gets its arrays, and what it says by a status becomes larger arrays,
another approximation, or an error. See ../../contact/README.md for the mathematics of contact.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BasicVector
from merganser.framework.core.inside import declare_operation, scalar_of
from merganser.framework.native import compile_ahead, is_missing
from merganser.framework.native.memory.hinted_types import hinted_job
from merganser.framework.native.memory.shared_code import job_of
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.multibody import kernels
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.layout import FELL_BACK, NO_CAPACITY, NOT_CONVERGED, SAP
from merganser.multibody.contact.plant_forces import end_step
from merganser.multibody.contact.plant_problem import start_step
from merganser.multibody.dynamics import records
from merganser.multibody.dynamics.records import NOT_SOLVED, Inputs, StepResults
from merganser.multibody.dynamics.step import (
    adhere,
    calc_derivatives,
    find_forces,
    find_penalty_forces,
    forces_on_bodies,
    take_step,
)
from merganser.multibody.dynamics.step_kernels import solver_of
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.plant.arguments import check_pitches, checked
from merganser.multibody.plant.computations import ForceElements
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_geometry import ContactGeometry, listed
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import Controllers, InputPorts
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel, joints_with_limits_left_out
from merganser.multibody.plant.scalars.contact_left_out import check_other_scalars
from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step import failures
from merganser.multibody.plant.step.failures import WarnOnce, describe_overflow, time_of
from merganser.multibody.plant.step.native_code import NativeDynamics, ResolvedBy
from merganser.multibody.plant.step.sample import ContactSample, found_in, sample_of_contacts
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.step.variable_steps import VariableSteps, input_shapes
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.deformable.steps import DeformableSteps
    from merganser.multibody.plant.scalars.step_slopes import BatchStepDerivatives, StepDerivatives
    from merganser.multibody.plant.scalars.steps_on_values import StepOnValues, StepsOnValues

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
        is_always_constrained: whether there are constraints wherever the bodies are: not joint limits, nor contacts.
        constrains_at_once: whether there may be any before a joint limit is reached.
        has_multipliers: whether loop joints or constraints hold in continuous time, or tendons have armature there.
        may_touch: whether there is anything that may touch: geometries, or contacts of kinds.
        deformables: steps of deformable bodies; None without them.
    """

    can_constrain = constrains_at_once = may_touch = is_always_constrained = has_multipliers = False
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
        is_discrete, contact, has_rows = self.model.is_discrete, self.model.contact, self.constraints.has_rows()
        acts_in_steps = len(contact.frictions) > 0 or len(self._tree.transmissions) > 0
        self.has_multipliers = (has_rows or self._tree.has_armature()) and not is_discrete
        self.is_always_constrained = has_rows or (is_discrete and acts_in_steps)
        self.may_touch = self.contact_geometry.may_touch or len(contact.sources) > 0
        has_limits = len(contact.limits) > 0 or len(self._tree.transmissions) > 0
        self.constrains_at_once = self.may_touch or self.is_always_constrained
        self.can_constrain = self.constrains_at_once or has_limits
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

    def advance(self, context: Context, result: Array, next_state: Callable[[int], Any] | None = None) -> Workspace:
        """Computes the derivatives of q and v, or these one step later, into `result`, shape [num_q + num_v].

        Those of activations of actuators are then in the step buffers of the workspace, work.activations.

        Args:
            context: of the plant.
            result: for q and v.
            next_state: gives the vectors of the other groups of discrete state one step later, by their numbers.
        """
        w = self.views.workspace(context)
        self.native.note_call(w)
        if self.model.is_discrete:
            self._compile_contact_ahead(context, w)
            status = self.run_step(context, *self.arrays(context, w), result)
        elif w.is_float and self.native.compute(context, w, result):
            w.store.invalid &= w.kinematics_clearing
            return w
        else:
            status = self._calc_derivatives(context, w, result)
        self.finish_step(context, w, status)
        if next_state is not None and len(w.activations):
            next_state(self.views.activation_group).get_mutable_value()[:] = w.step_buffers.work.activations
        if next_state is not None and self.deformables is not None:
            self.deformables.write(w, next_state)
        return w

    def advance_on_values(self, context: Context, result: Array, *, is_sampled: bool) -> StepOnValues | None:
        """Computes x one step later with derivatives into `result`, by those of a step of floats (steps_on_values.py).

        Args:
            context: of the plant.
            result: shape [num_q + num_v].
            is_sampled: whether a sample may be made of the step.

        Returns:
            None where that does not hold, and nothing is written.
        """
        w = self.views.workspace(context)
        if not isinstance(w, AutoDiffWorkspace):
            return None
        if w.steps_on_values is None:
            from merganser.multibody.plant.scalars.steps_on_values import StepsOnValues

            w.steps_on_values = StepsOnValues(self, w)
        steps: StepsOnValues = w.steps_on_values
        return steps.take(context, result, is_sampled)

    def advance_again(self, step: StepOnValues, result: Array) -> Workspace:
        """Computes such a step once more, by kernels that leave all of which samples are made."""
        context, w = step.context, self.views.workspace(step.context)
        context.SetDiscreteState(0, step.x)
        given = self._buffers_and_controllers(context, w)
        self.finish_step(context, w, self.run_step(context, step.inputs, *given, result))
        return w

    def calc_vdot(self, context: Context) -> tuple[Workspace, Array]:
        """vdot, shape [nv]; for a discrete plant (v+ - v) / h. The kinematics are up to date afterwards."""
        result = np.empty_like(self.views.workspace(context).x)
        w = self.advance(context, result)
        vdot = result[len(w.q) :]
        return w, (vdot - w.v) / self.model.time_step if self.model.is_discrete else vdot

    def differentiate_step(self, context: Context) -> StepDerivatives:
        """The next step and its derivatives; see StepDerivatives."""
        from merganser.multibody.plant.scalars.step_slopes import differentiate_step

        return differentiate_step(self, context)

    def differentiate_steps(
        self, context: Context, states: ArrayLike, inputs: ArrayLike | None, parallelize: bool | int
    ) -> BatchStepDerivatives:
        """The same at many states and inputs; see BatchStepDerivatives."""
        from merganser.multibody.plant.scalars.step_slopes import differentiate_steps

        return differentiate_steps(self, context, states, inputs, parallelize)

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

    def raise_failure(self, context: Context, w: Workspace, status: int, failed: StepBuffers | None = None) -> None:
        """Raises an error that says why there are no dynamics, see dynamics/step.py.

        Args:
            context: of the plant.
            w: where the numbers stand.
            status: why.
            failed: buffers of what failed; by default those of the workspace.
        """
        buffers: StepBuffers = w.step_buffers if failed is None else failed
        if status == records.SINGULAR_PITCH:
            check_pitches(self.model, "The motion", w)
        if status == records.BAD_INPUT and np.isfinite(w.x).all():
            self.inputs.raise_nonfinite_input(context, w.tau)
        if status in (records.BAD_INPUT, records.BAD_POSE, records.NOT_FINITE):
            values = buffers.out.x_next if status == records.NOT_FINITE else w.x
            raise RuntimeError(describe_overflow(self.model, context, w, values))
        if status == records.NO_FREE_MOTION and self.deformables is not None:
            self.deformables.raise_failure(context, buffers)
        if status == records.BAD_PAIR:
            raise RuntimeError(failures.describe_bad_pair(self.model, context, buffers.out))
        if status == records.ADHESIVE_SURFACE:
            raise RuntimeError(failures.describe_adhesive_surface(self.model, context, buffers.out))
        if status == records.NO_SURFACE:
            self.contact_geometry.refuse_points(context, buffers, buffers.out)
        if status <= records.NO_FORCE:
            raise RuntimeError(self._force_elements.describe_failure(context, w, records.NO_FORCE - status))
        raise RuntimeError(failures.describe_singularity(self.model, context, w, status))

    def arrays(self, context: Context, w: Workspace) -> tuple[Inputs, StepBuffers, Controllers]:
        """What comes through the ports, the arrays of the dynamics, perhaps out of date, and controllers at work."""
        return self.inputs.read(context, w), *self._buffers_and_controllers(context, w)

    def _buffers_and_controllers(self, context: Context, w: Workspace) -> tuple[StepBuffers, Controllers]:
        controllers = self.inputs.active_controllers(context, w)
        if not w.is_float:
            self.inputs.refuse_symbolic_controllers(w, controllers)
            if self.can_constrain:
                check_other_scalars(self, context, w)
        return self.native.buffers_of(context, w), controllers

    # ------------------------------------------------------------------ discrete steps

    def run_step(
        self,
        context: Context,
        inputs: Inputs,
        buffers: StepBuffers,
        controllers: Controllers,
        result: Array,
        begin: Callable[[], None] | None = None,
    ) -> int:
        """Computes the state one step later into `result`; returns 0, or why it failed (see dynamics/step.py).

        Args:
            context: of the plant.
            inputs, controllers: at work in the step.
            buffers: the arrays, with the length of the step.
            result: shape [num_q + num_v].
            begin: called when the arrays are ready; None for nothing.
        """

        def step(out: StepResults) -> int:
            buffers.note_forces(inputs)
            if begin is not None:
                begin()
            given = buffers.model, buffers.state, buffers.time_step, inputs, buffers.work, out
            if self.deformables is None:
                return take_step(*given)
            self.deformables.put_forces(context, self.views.workspace(context), buffers)
            return take_step(*given, buffers.deformables_of(out))

        status = self.run(context, buffers, controllers, step)
        if status == 0:
            result[:] = buffers.out.x_next
        return status

    def run(
        self, context: Context, buffers: StepBuffers, controllers: Controllers, compute: Callable[[StepResults], int]
    ) -> int:
        """Calls a function of dynamics/step.py, and again where arrays or the solver did not suffice.

        Args:
            context: of the plant.
            buffers: the arrays.
            controllers: those at work.
            compute: calls the function for these results, with the records that the buffers have then.

        Returns:
            The status of the function, NOT_SOLVED only where the buffers were given how to solve.

        Raises:
            RuntimeError: the contact problem has no solution, or something that another system moves is in contact.
        """
        buffers.fall_back(None)  # an error or an interrupt may have ended a step that did
        while True:
            buffers.prepare(controllers)
            self.contact_geometry.update_poses(context, buffers)
            belts = self._tree.belts()
            if belts:
                speeds, of_geometries = buffers.work.law_step[1:], buffers.geometry.materials["belt_speed"]
                self.inputs.put_surface_speeds(context, speeds)
                for body, speed in zip(belts, speeds):
                    of_geometries[buffers.geometry.bodies == int(body.index())] = speed
            out = buffers.out
            status = compute(out)
            self.contact_geometry.check_contacts(context, buffers, out)
            outcome = out.found["outcome"]
            if status == records.LACKS_CAPACITY or (status == NOT_SOLVED and outcome == NO_CAPACITY):
                buffers.grow()
                continue
            if status == NOT_SOLVED and outcome == NOT_CONVERGED:
                has_choice = buffers.settings is None and buffers.fallback is None
                if has_choice and self.settings.of_solver()["approximation"] != SAP:
                    self._warn_of_fallback(context, "SAP")  # which always has a solution
                    buffers.fall_back(self.settings.of_fallback())
                    continue
            buffers.fall_back(None)
            if status == NOT_SOLVED and buffers.settings is None:
                w = self.views.workspace(context)
                raise RuntimeError(failures.describe_contact_failure(self.model, context, w, buffers.state.x, out))
            if status == 0 and out.found["is_constrained"] and outcome == FELL_BACK:
                self._warn_of_fallback(context, "Lagged")
            return status

    def _compile_contact_ahead(self, context: Context, w: Workspace) -> None:
        """Has other processes compile what the first step with contact will need, from its end on.

        To be called before anything is compiled here: code that is less urgent (when_to_compile.py) waits for it.
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
        name = self.settings.get_discrete_contact_approximation().name.removeprefix("k")
        warnings.warn(
            f"No solution was found for the contacts of plant '{self.model.path()}' at time "
            f"{time_of(context)} s by the {name} approximation; the {fallback} approximation was used for this "
            "step.",
            RuntimeWarning,
            stacklevel=2,
        )

    # ------------------------------------------------------------------ steps of a continuous plant

    def declare_steps(self) -> None:
        """Declares the operations of a continuous plant that variable_steps.py describes."""
        system, tree = self.model.system, self._tree
        num_v, sampled = tree.num_velocities(), sum(map(math.prod, input_shapes(tree)))
        num_x = tree.num_positions() + num_v + tree.num_activations()
        arguments = 1 + num_v + tree.num_actuated_dofs() + sampled
        tickets = {system.xc_ticket(), system.all_parameters_ticket(), system.all_input_ports_ticket()}
        of_step = "step", num_x, arguments, VariableSteps.write_slopes
        for name, size, given, write in (of_step, ("inputs", sampled, 0, VariableSteps.write_inputs)):
            calc = functools.partial(self._calc_by, write)
            code = ResolvedBy(functools.partial(self.native.resolve_steps, name))
            declare_operation(system, name, BasicVector(size), BasicVector(given), calc, code, tickets)

    def _calc_by(self, write: Callable[[VariableSteps, Array], None], context: Context, output: BasicVector) -> None:
        write(self.variable_steps_in(context), output.get_mutable_value())

    def variable_steps_in(self, context: Any) -> VariableSteps:
        """The steps of any length of a continuous plant in a Context, one of floats or of AutoDiffXd."""
        w = self.views.workspace(context)
        if w.variable_steps is None:
            w.variable_steps = VariableSteps(self, context, w)
        steps: VariableSteps = w.variable_steps
        return steps

    # ------------------------------------------------------------------ continuous time

    def _calc_derivatives(self, context: Context, w: Workspace, result: Array) -> int:
        """Computes the derivatives of the state into `result`; returns 0, or why it failed."""
        inputs, buffers, controllers = self.arrays(context, w)

        def derivatives(out: StepResults) -> int:
            return calc_derivatives(buffers.model, buffers.state, inputs, buffers.work, out)

        status = self.run(context, buffers, controllers, derivatives)
        buffers.note_forces(inputs)
        if status == 0:
            result[:] = buffers.out.x_next
        return status

    def _find_forces(self, context: Context, w: Workspace) -> Array:
        """All forces on the bodies but gravity's in continuous time, shape [num_mobods, 6]; w.tau has the others."""
        inputs, buffers, controllers = self.arrays(context, w)

        def forces(out: StepResults) -> int:
            model, state, work = buffers.model, buffers.state, buffers.work
            status = find_forces(model, state, 0.0, inputs, work, out.position)
            return status or min(adhere(model, inputs, work, out, find_penalty_forces(model, state, work, out)), 0)

        status = self.run(context, buffers, controllers, forces)
        if status:
            self.raise_failure(context, w, status)
        F_Bo_W: Array = forces_on_bodies(buffers.model, inputs, buffers.work)
        has_contacts = buffers.model.can_constrain and buffers.out.found["contact_pairs"]
        return F_Bo_W + buffers.work.F_contact if has_contacts else F_Bo_W

    def find_contacts_now(self, context: Context) -> ContactSample | None:
        """The contacts of a continuous plant."""
        w = self.views.workspace(context)
        if not self.may_touch or not (w.is_float or isinstance(w, AutoDiffWorkspace)):
            return None
        buffers, controllers = self._buffers_and_controllers(context, w)

        def find(out: StepResults) -> int:
            return min(find_penalty_forces(buffers.model, buffers.state, buffers.work, out), 0)

        status = self.run(context, buffers, controllers, find)
        if status:
            self.raise_failure(context, w, status)
        out = buffers.out
        found, tau = found_in(out), np.zeros_like(w.zeros_v)
        if not len(found.contact_pairs):
            return None
        if buffers.gradients is not None:
            found = buffers.gradients.found
        F_contact, forces = buffers.work.F_contact, out.contact_forces[: len(found.contact_pairs)].copy()
        w.call(kernels.generalized_forces, w.topology, w.position, F_contact, np.zeros_like(w.zeros_F), tau)
        return sample_of_contacts(buffers, found, forces, tau, np.zeros_like(tau))
