"""Results of the dynamics for output ports: live, or as the last discrete step has left them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import CacheEntry, ValueProducer
from merganser.framework.core.inside import use_native_event
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.plant.actuation import PlantInputs
from merganser.multibody.plant.contact_arrays import ContactSample
from merganser.multibody.plant.native_code import NativeDynamics, SampleBox, SampleRoom
from merganser.multibody.plant.plain_sample import float_sample
from merganser.multibody.plant.workspace import Workspace

__all__ = ["BodyDynamics", "DynamicsSample", "PlantSampling"]

Array = NDArray[Any]


class DynamicsSample(NamedTuple):
    """What one computation of the dynamics started from and found; nobody changes it afterwards.

    Attributes:
        x: the state it started from, shape [num_q + num_v].
        result: the next state of a discrete plant, or the time derivatives of a continuous one, shape as x.
        net_actuation: what the actuators exerted, shape [num_inputs].
        F_applied: spatial forces on the bodies but gravity and those of inboard joints, shape [num_mobods, 6].
        parameters: the numbers of the parameter records.
        gravity: acceleration of gravity [m/s^2], shape [3].
        contacts: what touched, see contact_arrays.py; None if nothing did.
    """

    x: Array
    result: Array
    net_actuation: Array
    F_applied: Array
    parameters: Array
    gravity: Array
    contacts: ContactSample | None = None


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
    """What the kernel of reaction forces needs to know of each joint, see ../kernels/reaction_forces.py."""

    mobods: NDArray[np.int64]
    is_reversed: NDArray[np.int64]
    X_FJc: Array


class PlantSampling(PlantInputs):
    """Discrete updates with or without a sample, and dynamics for output ports.

    With sampling, the default of discrete plants, a step is an unrestricted update, that also stores a DynamicsSample
    in the abstract state, and output ports show that. Without, it is a discrete update, and output ports compute the
    dynamics from what state and inputs are at the moment, as those of continuous plants do.
    """

    _use_sampled_output_ports: bool
    _sample_state: int  # index of the abstract state
    _sample_entry: CacheEntry
    _body_dynamics_entry: CacheEntry
    _body_dynamics_now_entry: CacheEntry
    _contacts_entry: CacheEntry
    _constant_parameters_entry: CacheEntry
    _native_dynamics: NativeDynamics

    def SetUseSampledOutputPorts(self, use_sampled_output_ports: bool) -> None:
        """Chooses whether output ports that follow from forces show the last step of a discrete plant, or the moment.

        Raises:
            RuntimeError: the plant is finalized already, or sampling is asked of a continuous plant.
        """
        if self.is_finalized():
            raise RuntimeError(
                f"SetUseSampledOutputPorts(): plant '{self.GetSystemPathname()}' is finalized already. Call it before "
                "Finalize()."
            )
        if use_sampled_output_ports and self._time_step == 0.0:
            raise RuntimeError(
                f"SetUseSampledOutputPorts(True): plant '{self.GetSystemPathname()}' is continuous, so that there are "
                "no steps to sample. Give it a time step, or leave its ports live."
            )
        self._use_sampled_output_ports = bool(use_sampled_output_ports)

    def has_sampled_output_ports(self) -> bool:
        """Returns whether output ports that follow from forces change at steps only; False for a continuous plant."""
        return self._use_sampled_output_ports

    # ------------------------------------------------------------------ the discrete update

    def _declare_updates(self, num_numbers: int) -> None:
        """Declares the periodic and forced update of a discrete plant, and the state of its sample.

        Args:
            num_numbers: of the parameter records.
        """
        if not self._use_sampled_output_ports:
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_step, 0.0, self._calc_step)
            use_native_event(self, self._native_dynamics)
            self.DeclareForcedDiscreteUpdateEvent(self._calc_step)
            return
        tree = self._tree
        x = (tree.num_positions() + tree.num_velocities(),)
        forces = (tree.num_actuated_dofs(),), (len(tree.topology), 6)
        shapes = (x, x, *forces, (num_numbers,), (3,), (tree.num_velocities(),))
        self._sample_state = self.DeclareAbstractState(SampleBox(None, shapes))
        self.DeclarePeriodicUnrestrictedUpdateEvent(self._time_step, 0.0, self._calc_sampled_step)
        use_native_event(self, self._native_dynamics)
        self.DeclareForcedUnrestrictedUpdateEvent(self._calc_sampled_step)

    def _calc_step(self, context: Any, discrete_state: Any) -> None:
        """Computes the state one time step later: semi-implicit Euler, joint damping and PD control implicit."""
        self._advance(context, discrete_state.get_mutable_value())

    def _calc_sampled_step(self, context: Any, state: Any) -> None:
        """Computes the state one time step later, and stores what the dynamics were."""
        sample = self._take_sample(context, state.get_mutable_discrete_state(0).get_mutable_value())
        state.get_mutable_abstract_state(self._sample_state).set_value(tuple(sample))

    def _advance(self, context: Any, result: Any) -> Workspace:
        """Computes the derivatives of the state, or the state one step later, into `result`; shape as the state."""
        raise NotImplementedError

    def _take_sample(self, context: Any, result: Array) -> DynamicsSample:
        """Does what _advance() does, and puts it on record; what follows from that is left to who asks for it."""
        w = self._advance(context, result)
        if self._time_step == 0.0 and w.held is not None:
            F_applied = w.held.F.copy()
        else:
            F_applied = w.step_room.F_applied
            F_applied = F_applied if F_applied is w.zeros_F else F_applied.copy()
        parameters, gravity = context.read_entry(self._constant_parameters_entry.cache_index()).value.get_value()
        contacts: ContactSample | None = w.step_room.sample
        if contacts is not None and self._time_step > 0.0:
            F_applied = w.step_room.F_Bo_W.copy()
        x, x_next, u = w.x.copy(), result.copy(), w.step_room.actuation().copy()
        return DynamicsSample(x, x_next, u, F_applied, parameters, gravity, contacts)

    def _sample_in(self, context: Any, room: SampleRoom) -> DynamicsSample:
        """The sample that the operation of the native plan has left."""
        numbers = room.numbers
        parameters, gravity = context.read_entry(self._constant_parameters_entry.cache_index()).value.get_value()
        contacts, F_applied = room.take_contacts(self._workspace(context))
        x, result, u = numbers.x.copy(), numbers.x_next.copy(), numbers.u.copy()
        return DynamicsSample(x, result, u, F_applied, parameters, gravity, contacts)

    # ------------------------------------------------------------------ cache entries of the output ports

    def _declare_dynamics_entries(self) -> None:
        """Declares, between the update and the output ports, the sample and what follows from it."""
        room = type(None)
        self._constant_parameters_entry = self.DeclareCacheEntry(
            "copy of the parameters", ValueProducer(room, self._copy_parameters), {self.pn_ticket()}
        )
        # pydrake's ports depend on all inputs, too; so there are the same algebraic loops.
        live = {self.all_state_ticket(), self.all_parameters_ticket(), self.all_input_ports_ticket()}
        sources = {self.xa_ticket()} if self._use_sampled_output_ports else live
        self._sample_entry = self.DeclareCacheEntry("dynamics", ValueProducer(room, self._calc_sample), sources)
        now = {self.q_ticket(), self.v_ticket(), self.pn_ticket(), self._geometry_query_port.ticket()}
        of_contacts = now if self._time_step == 0.0 else {self._sample_entry.ticket()}
        self._contacts_entry = self.DeclareCacheEntry("contacts", ValueProducer(room, self._calc_contacts), of_contacts)
        self._body_dynamics_entry = self.DeclareCacheEntry(
            "dynamics of the bodies", ValueProducer(room, self._calc_body_dynamics), {self._sample_entry.ticket()}
        )
        self._body_dynamics_now_entry = self._body_dynamics_entry
        if self._use_sampled_output_ports:
            self._body_dynamics_now_entry = self.DeclareCacheEntry(
                "dynamics of the bodies at the moment", ValueProducer(room, self._calc_body_dynamics_now), live
            )

    def _copy_parameters(self, context: Any, output: Any) -> None:
        """A copy that samples share until a parameter changes."""
        parameters = context.peek_parameters()
        groups = self._parameter_group, self._gravity_group
        output.set_value(tuple(parameters.get_numeric_parameter(group).CopyToVector() for group in groups))

    def _calc_sample(self, context: Any, output: Any) -> None:
        if self._use_sampled_output_ports:
            record = context.get_abstract_state(self._sample_state).get_value()
            if self._workspace(context).is_float:  # but the sample may be one of a Context of other scalars
                record = float_sample(record)
            output.set_value(None if record is None else DynamicsSample(*record))
        else:
            output.set_value(self._take_sample(context, np.empty_like(self._workspace(context).x)))

    def _eval_sample(self, context: Any) -> DynamicsSample | None:
        """What output ports are to show; None before the first step of a sampled plant."""
        sample: DynamicsSample | None = context.read_entry(self._sample_entry.cache_index()).value.get_value()
        return sample

    def _eval_vdot(self, context: Any) -> Array:
        """Generalized accelerations, of a discrete step (v+ - v) / h, zero before the first step; shape [nv]."""
        sample = self._eval_sample(context)
        return self._workspace(context).zeros_v if sample is None else self._vdot_of(sample)

    def _vdot_of(self, sample: DynamicsSample) -> Array:
        num_q = self._tree.num_positions()
        v_next_or_vdot = sample.result[num_q:]
        return (v_next_or_vdot - sample.x[num_q:]) / self._time_step if self._time_step > 0.0 else v_next_or_vdot

    def _eval_net_actuation(self, context: Any) -> Array:
        """What the actuators exert, zero before the first step; shape [nu]."""
        sample = self._eval_sample(context)
        return np.zeros(self._tree.num_actuated_dofs()) if sample is None else sample.net_actuation

    def _eval_contacts(self, context: Any) -> ContactSample | None:
        """What touches; None if nothing does, or before the first step of a sampled plant."""
        contacts: ContactSample | None = context.read_entry(self._contacts_entry.cache_index()).value.get_value()
        return contacts

    def _calc_contacts(self, context: Any, output: Any) -> None:
        """In continuous time contacts follow from positions and velocities, in a discrete step from all forces."""
        if self._time_step == 0.0:
            output.set_value(self._find_contacts_now(context))
        else:
            sample = self._eval_sample(context)
            output.set_value(None if sample is None else sample.contacts)

    def _find_contacts_now(self, context: Any) -> ContactSample | None:
        """The contacts of a continuous plant."""
        raise NotImplementedError

    def _eval_body_dynamics(self, context: Any) -> BodyDynamics | None:
        """How the bodies move and what acts in the joints; None before the first step of a sampled plant."""
        bodies: BodyDynamics | None = context.read_entry(self._body_dynamics_entry.cache_index()).value.get_value()
        return bodies

    def _eval_body_dynamics_now(self, context: Any) -> BodyDynamics:
        """How the bodies move as it follows from the forces at the moment, whatever output ports show."""
        self._workspace(context)  # it is this plant's own
        bodies: BodyDynamics = context.read_entry(self._body_dynamics_now_entry.cache_index()).value.get_value()
        return bodies

    def _calc_body_dynamics(self, context: Any, output: Any) -> None:
        sample = self._eval_sample(context)
        output.set_value(None if sample is None else self._body_dynamics_of(context, sample))

    def _calc_body_dynamics_now(self, context: Any, output: Any) -> None:
        sample = self._take_sample(context, np.empty_like(self._workspace(context).x))
        output.set_value(self._body_dynamics_of(context, sample))

    def _body_dynamics_of(self, context: Any, sample: DynamicsSample) -> BodyDynamics:
        """From a sample, by the recursive Newton-Euler algorithm (../kernels/inverse_dynamics.py)."""
        w = self._workspace(context)
        given: tuple[Any, ...] = (self._vdot_of(sample), sample.x, sample.F_applied, sample.parameters, sample.gravity)
        if not w.is_float:  # it may have got its sample from a Context of floats
            given = tuple(array.astype(w.dtype, copy=False) for array in given)
        vdot, x, F_applied, numbers, gravity = given
        num_q, num_mobods = len(w.q), len(w.topology)
        parameters = w.view_records(numbers, layout.parameter_dtype)
        position = w.make_records(num_mobods, layout.position_dtype)
        velocity = w.make_records(num_mobods, layout.velocity_dtype)
        scratch = w.make_records(num_mobods, layout.scratch_dtype)
        w.call(kernels.kinematics, w.topology, parameters, x[:num_q], x[num_q:], position, velocity)
        w.call(
            kernels.inverse_dynamics, w.topology, parameters, gravity, position, velocity, vdot, F_applied, scratch,
            np.zeros_like(w.zeros_v),
        )  # fmt: skip
        A_WB_W = scratch["A_WB_W"].copy()
        A_WB_W[0] = 0.0
        # The algorithm lets the world accelerate by -g instead of pulling at every body.
        A_WB_W[1:, 3:] += gravity
        return BodyDynamics(A_WB_W, scratch["F_Bo_W"].copy(), position, parameters)

    def _reaction_forces_of(self, context: Any, bodies: BodyDynamics) -> Array:
        """F_CJc_Jc: what each joint exerts on its child body C at its frame Jc there, in Jc; shape [num_joints, 6]."""
        w, joints = self._workspace(context), self._joint_arrays
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
