"""Results of the dynamics for output ports: live, or as the last discrete step has left them.

In the native plan vector output ports copy the state, the derivatives or the last step's sample. A sampled step leaves
its numbers in the StepBuffers of the Context: one of the operation, or one of Python by way of the SampleBox. So an
output is a copy of these numbers, also where Python makes some of the steps.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from merganser.framework import CacheEntry, Context, Value, ValueProducer
from merganser.framework.core.context.native_code import OUTPUT, Argument, NativeCode, ValueOf
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.inside import derivatives_entry
from merganser.framework.native.compiler.when_to_compile import OptionalCode
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.framework.primitives.discrete import difference_quotient
from merganser.multibody import kernels
from merganser.multibody.dynamics.operation import ContactForcesRecord
from merganser.multibody.kernels import layout
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.dynamics import PlantDynamics
from merganser.multibody.plant.step.native_code import OPERATIONS, STEP
from merganser.multibody.plant.step.sample import (
    ContactSample,
    DynamicsSample,
    SampleBox,
    UnreadSample,
    float_sample,
    take_sample,
)
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.step.variable_steps import VariableSteps
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import LeafContext
    from merganser.multibody.plant.multibody_plant import MultibodyPlant
    from merganser.multibody.plant.scalars.steps_on_values import StepOnValues

Array = NDArray[Any]
_CONTACT_FORCES = OptionalCode(OPERATIONS, "CONTACT_FORCES", "contact_forces")


class BodyDynamics(NamedTuple):
    """How the bodies move, and what their inboard joints exert on them, by mobod; all in W, about Bo.

    Attributes:
        A_WB_W: spatial accelerations [rad/s^2, m/s^2], shape [num_mobods, 6].
        F_Bo_W: forces of the inboard joints [N m, N], shape [num_mobods, 6].
        position: records of the poses, shape [num_mobods].
        parameters: the parameter records with which they were computed.
    """

    A_WB_W: Array
    F_Bo_W: Array
    position: Any
    parameters: Any


class JointArrays(NamedTuple):
    """What the kernel of reaction forces needs to know of each joint, see ../kernels/inverse_dynamics.py."""

    mobods: NDArray[np.int64]
    is_reversed: NDArray[np.int64]
    X_FJc: Array


class Sampling:
    """Discrete updates with or without a sample, and dynamics for output ports.

    With sampling, the default of discrete plants, a step is an unrestricted update, that also stores a DynamicsSample
    in the abstract state, and output ports show that. It happens together with discrete updates, so that a discrete
    controller sees the plant as it is then (in pydrake, as it is one step later). Without, it is a discrete update, and
    output ports compute the dynamics from what state and inputs are at the moment, as those of continuous plants do.

    Args:
        model, views, dynamics: of the plant.

    Attributes:
        dynamics: as given.
        is_used: whether output ports that follow from forces change at steps only.
        state_index: of the abstract state with the sample.
        sample_entry, contacts_entry, body_dynamics_entry: what output ports depend on.
    """

    state_index: int
    sample_entry: CacheEntry
    contacts_entry: CacheEntry
    body_dynamics_entry: CacheEntry
    _body_dynamics_now_entry: CacheEntry
    _constant_parameters_entry: CacheEntry

    def __init__(self, model: PlantModel, views: StateViews, dynamics: PlantDynamics) -> None:
        self._model, self._tree, self._system = model, model.tree, model.system
        self._views, self.dynamics = views, dynamics
        dynamics.native.sampling = self
        self.is_used = model.is_discrete

    def set_use(self, use_sampled_output_ports: bool) -> None:
        """Chooses whether output ports that follow from forces show the last step, or the moment."""
        if self._tree.is_finalized():
            raise RuntimeError(
                f"SetUseSampledOutputPorts(): plant '{self._model.path()}' is finalized already. Call it before "
                "Finalize()."
            )
        if use_sampled_output_ports and not self._model.is_discrete:
            raise RuntimeError(
                f"SetUseSampledOutputPorts(True): plant '{self._model.path()}' is continuous, so that there are "
                "no steps to sample. Give it a time step, or leave its ports live."
            )
        self.is_used = bool(use_sampled_output_ports)

    # ------------------------------------------------------------------ the discrete update

    def declare_updates(self, num_numbers: int) -> None:
        """Declares the periodic and forced update of a discrete plant, and the state of its sample.

        Args:
            num_numbers: of the parameter records.
        """
        tree, system, h = self._tree, self._system, self._model.time_step
        if not self.is_used:
            system.DeclarePeriodicDiscreteUpdateEvent(h, 0.0, self._calc_step)
            system._sys_amend_last_event(native=self.dynamics.native)
            system.DeclareForcedDiscreteUpdateEvent(self._calc_step)
            return
        x = (tree.num_positions() + tree.num_velocities(),)
        v, forces = (tree.num_velocities(),), (len(tree.topology), 6)
        shapes = (x, x, (tree.num_actuated_dofs(),), v, forces, (num_numbers,), (3,))
        self.state_index = system.DeclareAbstractState(SampleBox(None, shapes, h))
        system.DeclarePeriodicUnrestrictedUpdateEvent(h, 0.0, self._calc_sampled_step)
        system._sys_amend_last_event(native=self.dynamics.native)
        system._sys_amend_last_event(joins_discrete_updates=True)
        system.DeclareForcedUnrestrictedUpdateEvent(self._calc_sampled_step)
        system._sys_amend_last_event(joins_discrete_updates=True)

    def _calc_step(self, context: Context, discrete_state: Any) -> None:
        """Computes the state one time step later: semi-implicit Euler, joint damping and PD control implicit."""
        next_state = discrete_state.get_mutable_vector
        result = next_state(0).get_mutable_value()
        if self.dynamics.advance_on_values(context, result, is_sampled=False) is None:
            self.dynamics.advance(context, result, next_state)

    def _calc_sampled_step(self, context: Context, state: Any) -> None:
        """Computes the state one time step later, and stores what the dynamics were."""
        next_state = state.get_mutable_discrete_state
        result = next_state(0).get_mutable_value()
        step = self.dynamics.advance_on_values(context, result, is_sampled=True)
        sample: DynamicsSample | UnreadSample
        if step is None:
            sample = self._sample_of(context, self.dynamics.advance(context, result, next_state), result)
        else:
            sample = UnreadSample(functools.partial(self._sample_again, step))
        state.get_mutable_abstract_state(self.state_index).set_value(sample)

    def _sample_again(self, step: StepOnValues) -> DynamicsSample:
        """The sample of a step of AutoDiffXd that was taken on values alone."""
        result = np.empty_like(step.x)
        return self._sample_of(step.context, self.dynamics.advance_again(step, result), result)

    def _sample_now(self, context: Context) -> DynamicsSample:
        """The sample of the dynamics of the moment."""
        result = np.empty_like(self._views.workspace(context).x)
        return self._sample_of(context, self.dynamics.advance(context, result), result)

    def _sample_of(self, context: Context, w: Workspace, result: Array) -> DynamicsSample:
        """The sample of dynamics that have just been computed; what follows from it is computed when it is read."""
        buffers: StepBuffers = w.step_buffers
        mean = buffers.work.mean if self._model.is_discrete else w.v
        numbers = w.x, result, buffers.work.u, mean, buffers.F_applied
        return take_sample(buffers, w, buffers.out, numbers, self.parameters_in(context))

    def parameters_in(self, context: Context) -> tuple[Array, Array]:
        """The numbers of the parameter records in a Context, and gravity; copies, shared until one changes."""
        return cast("tuple[Array, Array]", _value_of(self._constant_parameters_entry, context))

    def _sample_of_motion(self, context: Context) -> DynamicsSample | None:
        """The step with which an integrator has brought a continuous plant to where it is; None if none has."""
        steps: VariableSteps | None = self._views.workspace(context).variable_steps
        if steps is None or not steps.is_at_end():
            return None
        return steps.take_sample(*self.parameters_in(context))

    # ------------------------------------------------------------------ cache entries of the output ports

    def declare_entries(self) -> None:
        """Declares, between the update and the output ports, the sample and what follows from it."""
        system = self._system

        def entry(name: str, calc: Any, sources: set[Any]) -> CacheEntry:
            return system.DeclareCacheEntry(name, ValueProducer(Value, calc), sources)

        self._constant_parameters_entry = entry("copy of the parameters", self._copy_parameters, {system.pn_ticket()})
        # pydrake's ports depend on all inputs, too; so there are the same algebraic loops.
        live = {system.all_state_ticket(), system.all_parameters_ticket(), system.all_input_ports_ticket()}
        sources = {system.xa_ticket()} if self.is_used else live
        self.sample_entry = entry("dynamics", self._calc_sample, sources)
        of_sample = {self.sample_entry.ticket()}
        now = {system.q_ticket(), system.v_ticket(), system.pn_ticket(), self.dynamics.inputs.geometry_query.ticket()}
        self.contacts_entry = entry("contacts", self._calc_contacts, of_sample if self._model.is_discrete else now)
        self.body_dynamics_entry = entry("dynamics of the bodies", self._calc_body_dynamics, of_sample)
        self._body_dynamics_now_entry = self.body_dynamics_entry
        if self.is_used:
            name = "dynamics of the bodies at the moment"
            self._body_dynamics_now_entry = entry(name, self._calc_body_dynamics_now, live)

    def _copy_parameters(self, context: Context, output: Any) -> None:
        """A copy that samples share until a parameter changes."""
        parameters = context.peek_parameters()
        groups = self._views.parameter_group, self._views.gravity_group
        output.set_value(tuple(parameters.get_numeric_parameter(group).CopyToVector() for group in groups))

    def _calc_sample(self, context: Context, output: Any) -> None:
        if self.is_used:
            record: DynamicsSample | None = context.get_abstract_state(self.state_index).get_value()
            # It may be one of a Context of other scalars.
            output.set_value(float_sample(record) if self._views.workspace(context).is_float else record)
            return
        sample = self._sample_of_motion(context)
        output.set_value(self._sample_now(context) if sample is None else sample)

    def eval_sample(self, context: Context) -> DynamicsSample | None:
        """What output ports are to show; None before the first step of a sampled plant."""
        return cast("DynamicsSample | None", _value_of(self.sample_entry, context))

    def eval_vdot(self, context: Context) -> Array:
        """Generalized accelerations, of a discrete step (v+ - v) / h, zero before the first step; shape [nv]."""
        sample = self.eval_sample(context)
        return self._views.workspace(context).zeros_v if sample is None else self._vdot_of(sample)

    def _vdot_of(self, sample: DynamicsSample) -> Array:
        num_q = self._tree.num_positions()
        v_next_or_vdot = sample.result[num_q:]
        h = sample.time_step
        return (v_next_or_vdot - sample.x[num_q:]) / h if h > 0.0 else v_next_or_vdot

    def eval_net_actuation(self, context: Context) -> Array:
        """What the actuators exert, zero before the first step; shape [nu]."""
        sample = self.eval_sample(context)
        return np.zeros(self._tree.num_actuated_dofs()) if sample is None else sample.net_actuation

    def eval_contacts(self, context: Context) -> ContactSample | None:
        """What touches; None if nothing does, or before the first step of a sampled plant."""
        return cast("ContactSample | None", _value_of(self.contacts_entry, context))

    def _calc_contacts(self, context: Context, output: Any) -> None:
        """In continuous time contacts follow from positions and velocities, in a discrete step from all forces."""
        if not self._model.is_discrete:
            sample = self._sample_of_motion(context)
            found = self.dynamics.find_contacts_now(context) if sample is None else sample.contacts
        else:
            sample = self.eval_sample(context)
            found = None if sample is None else sample.contacts
        output.set_value(None if found is None else found.merged())

    def eval_body_dynamics(self, context: Context) -> BodyDynamics | None:
        """How the bodies move and what acts in the joints; None before the first step of a sampled plant."""
        return cast("BodyDynamics | None", _value_of(self.body_dynamics_entry, context))

    def eval_body_dynamics_now(self, context: Context) -> BodyDynamics:
        """How the bodies move as it follows from the forces at the moment, whatever output ports show."""
        self._views.workspace(context)  # it is this plant's own
        return cast("BodyDynamics", _value_of(self._body_dynamics_now_entry, context))

    def eval_A_WB_W(self, context: Context) -> Array:
        """Accelerations of the bodies as they follow from the forces at the moment, by mobod, shape [num_mobods, 6]."""
        return self.eval_body_dynamics_now(context).A_WB_W

    def _calc_body_dynamics(self, context: Context, output: Any) -> None:
        sample = self.eval_sample(context)
        output.set_value(None if sample is None else self._body_dynamics_of(context, sample))

    def _calc_body_dynamics_now(self, context: Context, output: Any) -> None:
        output.set_value(self._body_dynamics_of(context, self._sample_now(context)))

    def _body_dynamics_of(self, context: Context, sample: DynamicsSample) -> BodyDynamics:
        """From a sample, by the recursive Newton-Euler algorithm (../kernels/inverse_dynamics.py)."""
        w, F_applied = self._views.workspace(context), np.asarray(sample.F_applied)
        given: tuple[Any, ...] = (
            self._vdot_of(sample), sample.x, sample.mean, F_applied, sample.parameters, sample.gravity
        )  # fmt: skip
        if not w.is_float:  # it may have got its sample from a Context of floats
            given = tuple(array.astype(w.dtype, copy=False) for array in given)
        vdot, x, mean, F_applied, numbers, gravity = given
        num_q, num_mobods = len(w.q), len(w.topology)
        parameters = w.view_records(numbers, layout.parameter_dtype)
        position = w.make_records(num_mobods, layout.position_dtype)
        velocity = w.make_records(num_mobods, layout.velocity_dtype)
        scratch = w.make_records(num_mobods, layout.scratch_dtype)

        def balance(moving: Any) -> tuple[Any, ...]:
            return parameters, gravity, position, moving, vdot, F_applied, scratch, np.zeros_like(w.zeros_v)

        w.call(kernels.kinematics, w.topology, parameters, x[:num_q], x[num_q:], position, velocity)
        w.call(kernels.inverse_dynamics, w.topology, *balance(velocity))
        A_WB_W = scratch["A_WB_W"].copy()
        if sample.time_step > 0.0:  # forces of velocity products are those of the step
            in_step = w.make_records(num_mobods, layout.velocity_dtype)
            given = w.topology, parameters, sample.time_step, position, velocity, x[:num_q], mean, in_step
            w.call(kernels.mean_kinematics, *given)
            w.call(kernels.inverse_dynamics, w.topology, *balance(in_step))
            if not self._model.is_discrete:  # of an integrator: accelerations are what the forces make
                A_WB_W = scratch["A_WB_W"].copy()
        A_WB_W[0] = 0.0
        # The algorithm lets the world accelerate by -g instead of pulling at every body.
        A_WB_W[1:, 3:] += gravity
        return BodyDynamics(A_WB_W, scratch["F_Bo_W"].copy(), position, parameters)

    def reaction_forces_of(self, context: Context, bodies: BodyDynamics) -> Array:
        """F_CJc_Jc: what each joint exerts on its child body C at its frame Jc there, in Jc; shape [num_joints, 6]."""
        w, joints = self._views.workspace(context), self._joint_arrays
        F_CJc_Jc = np.zeros((len(joints.mobods), 6), w.dtype)
        w.call(
            kernels.reaction_forces, w.topology, bodies.parameters, joints.mobods, joints.is_reversed, joints.X_FJc,
            bodies.position, bodies.F_Bo_W, F_CJc_Jc,
        )  # fmt: skip
        return F_CJc_Jc

    @functools.cached_property
    def _joint_arrays(self) -> JointArrays:
        tree = self._tree
        joints = list(tree.joints)
        mobods = np.array([int(tree.mobod_of_joint[joint.index()]) for joint in joints], np.int64)
        children = np.array([int(tree.mobod_of_body[joint.child_body().index()]) for joint in joints], np.int64)
        X_FJc = [joint._mobilizer_X_FM().GetAsMatrix34() for joint in joints]
        return JointArrays(mobods, (children != mobods).astype(np.int64), np.array(X_FJc).reshape(-1, 3, 4))


def _value_of(entry: CacheEntry, context: Context) -> Any:
    """What a cache entry of a plant holds in a Context, brought up to date."""
    own: Any = context  # that of a leaf system
    return own.read_entry(entry.cache_index()).get_value()


def _place_of(context: LeafContext, array: Array) -> int:
    """Where an array stands, counted from the flat array of a Context."""
    from merganser.framework.native.memory.image import offset_in

    return offset_in(context.store.flat, array)


class NativePart:
    """What a model instance has of a vector of the whole plant as an operation: y[i] = u[index[i]].

    Args:
        whole: the cache entry of the vector; or the state, as an argument of an operation.
        indices: of the instance's elements.
    """

    operation = ""

    def __init__(self, whole: CacheEntry | Argument, indices: Array) -> None:
        self._whole = whole
        self._indices = np.ascontiguousarray(indices, dtype=np.int64)

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation."""
        from merganser.multibody.kernels.operations import GATHER

        source: Any = self._whole
        options: dict[str, Any] = {}
        if isinstance(source, CacheEntry):
            slot = context.slots[source.cache_index()]
            source, options = ValueOf(slot), {"sources": (slot,)}
        return NativeCode(GATHER, (len(self._indices), address_of_array(self._indices), source, OUTPUT), **options)


class _NativeOutput:
    """Output ports that follow from forces: of the last step, or of a continuous plant.

    Args:
        plant: with the ports.
        dynamics: of it.
    """

    operation = ""

    def __init__(self, plant: MultibodyPlant, dynamics: PlantDynamics) -> None:
        self._plant, self._native = plant, dynamics.native
        self._dynamics = dynamics

    def _derivatives(self, context: LeafContext) -> Any:
        """The slot of the derivatives of a continuous plant; None if they are no operation of its, or do not exist.

        A class that is derived from it may compute others.
        """
        entry, native = derivatives_entry(self._plant), self._native
        if self._dynamics.views.workspace(context).variable_steps is not None:
            return None  # an integrator moves the plant by steps, whose results output ports show
        if entry is None or entry.native is not native or native.prepare(context) is None:
            return None
        return context.slots[entry.cache_index()]


class NativeAcceleration(_NativeOutput):
    """The generalized accelerations."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python computes the acceleration of the moment."""
        plant = self._plant
        num_q, num_v = plant.num_positions(), plant.num_velocities()
        result = OUTPUT, 0, num_v
        if not plant.is_discrete():
            slot = self._derivatives(context)
            return slot and NativeCode(copy.operation("ww"), (ValueOf(slot), num_q, num_v, *result), sources=(slot,))
        buffers = self._native.sample_buffers_in(context)
        if buffers is None:
            return None
        v, v_next = (_place_of(context, x[num_q:]) for x in (buffers.numbers.x, buffers.numbers.x_next))
        code = v_next, 0, num_v, v, 0, num_v, np.array([plant.time_step()]), *result
        return _of_sample(difference_quotient.operation("wwfw"), code)


class NativeNetActuation(_NativeOutput):
    """What the actuators exert."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python computes the actuation of the moment."""
        if self._dynamics.inputs.effort_middles().any():
            return None
        if self._plant.is_discrete():
            buffers = self._native.sample_buffers_in(context)
            return None if buffers is None else _of_sample("copy", _copied(context, buffers.numbers.u))
        # The operation of the derivatives leaves it there, and no other computation at another state or time.
        slot, u = self._derivatives(context), self._native.buffers_of(context).work.u
        return slot and NativeCode("copy", _copied(context, u), unasked=(slot,), sources=(slot,))


class NativeContactForces(_NativeOutput):
    """The generalized forces of all contacts."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python has a part in finding the contacts."""
        plant = self._plant
        if not self._dynamics.may_touch:
            n = plant.num_velocities()
            return NativeCode(copy.operation("cw"), (np.zeros(n), n, OUTPUT, 0, n), sources=())
        is_compiled = plant.has_sampled_output_ports() and self._native.prepare(context) is STEP
        if not (is_compiled and _CONTACT_FORCES.is_usable()):
            return None
        buffers = self._native.buffers_of(context)
        nothing: dict[str, Any] = {"x_next": Placed(0, (0,)), "activations": Placed(0, (0,))}
        record = ContactForcesRecord(
            plant.time_step(), buffers.numbers.counts, buffers.model.contact.trees.trees,
            tuple(out._replace(**nothing) for out in buffers.results), buffers.contact_forces,
            Placed(OUTPUT, buffers.contact_forces.shape),
        )  # fmt: skip
        number = buffers.num_preparations

        def is_current(_kept: Any = record) -> bool:
            return buffers.num_preparations == number

        return _of_sample(_CONTACT_FORCES.load(), integers_of(record), is_current)


def _copied(context: LeafContext, array: Array) -> tuple[Argument, ...]:
    return len(array), _place_of(context, array), OUTPUT


def _of_sample(operation: Any, arguments: tuple[Argument, ...], is_current: Any = None) -> NativeCode:
    """An operation on what the last step has left."""
    return NativeCode(operation, arguments, is_current=is_current, sources=(), reads_abstract_state=True)
