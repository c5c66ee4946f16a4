"""The plant in the native plan: derivatives or steps (../../contact/step_operation.py), and what they leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import AbstractValue, background_code
from merganser.framework.background_code import BackgroundCode
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    FAILURE,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
    ParameterOf,
)
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.inside import derivatives_entry
from merganser.framework.core.values.plain_values import Loading
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of, placed_beside
from merganser.framework.native.operations.operations import caller_of
from merganser.multibody.contact.step_operation import (
    COUNT,
    HAS_FORCES,
    WHICH,
    DerivativesRecord,
    MotionRecord,
    Sample,
    StepRecord,
)
from merganser.multibody.contact.step_records import Inputs, Model, Part, State
from merganser.multibody.plant.step.contact_arrays import ContactSample, contacts_and_forces
from merganser.multibody.plant.step.drives import Controllers
from merganser.multibody.plant.step.motion import Motion
from merganser.multibody.plant.step.plain_sample import Shapes, check_sample, float_sample, plain_sample, sample_of
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.step.step_code import are_compiled, code_of_addresses
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.contact.deformable_operation import StepOfAllRecord
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["NativeDynamics", "SampleBox", "SampleBuffers"]

Array = NDArray[Any]

_WEIGHT_OF_CONTACT = 2  # steps with contact take longer in Python
_WORK_OF_MOTION = 150  # what an integrator that moves a plant by steps waits for each in Python, about [us]
_STEP_OF_ALL = BackgroundCode("merganser.multibody.contact.deformable_operation", "STEP_OF_ALL", "plant_step_of_all")
_DERIVATIVES = BackgroundCode("merganser.multibody.contact.step_operation", "DERIVATIVES", "plant_derivatives")
_STEP = BackgroundCode("merganser.multibody.contact.step_operation", "STEP", "plant_step")
_MOTION = BackgroundCode("merganser.multibody.contact.step_operation", "MOTION", "plant_motion")
_NO_PLACE = Placed(0, (0,))
_CALLS_BETWEEN_LOOKS = 64  # at the disk, whether there is an operation that Python can call


class SampleBuffers:
    """Where the operation leaves what its last step started from and found, and a SampleBox the same of other steps.

    Args:
        dynamics: of a finalized plant.
        context: of it.
        w: its workspace.

    Attributes:
        numbers: the state before and after, actuation, and forces on the bodies but those of contact.
        step: what the operation works with.
        contact_forces: generalized forces of all contacts, shape [num_v].
    """

    def __init__(self, dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
        x, x_next, u = np.zeros_like(w.x), np.zeros_like(w.x), np.zeros(len(dynamics.inputs.driven_velocities))
        self.numbers = Sample(np.zeros(3, np.int64), x, x_next, u, np.zeros_like(w.zeros_F))
        self.step = StepBuffers(dynamics, context, w, is_native=True)
        self.contact_forces = np.zeros(len(w.v))

    def count(self) -> int:
        """How many steps there were."""
        return int(self.numbers.counts[COUNT])

    def time_step(self) -> float:
        """Length of the steps [s]."""
        return self.step.time_step

    def put(self, sample: tuple[Any, ...] | None) -> None:
        """Takes over the numbers of a sample that was made elsewhere, see sampling.py; None before the first step."""
        numbers = self.numbers
        x, x_next, u = (0.0, 0.0, 0.0) if sample is None else sample[:3]
        numbers.x[:], numbers.x_next[:], numbers.u[:] = x, x_next, u
        contacts = None if sample is None else sample[-1]
        self.contact_forces[:], numbers.counts[HAS_FORCES] = 0.0 if contacts is None else contacts.tau, 1

    def take_contacts(self, w: Workspace) -> tuple[ContactSample | None, Array]:
        """What the last step has held, None if there was nothing, and all forces on the bodies, shape [num_mobods, 6].

        Args:
            w: the workspace.
        """
        return contacts_and_forces(self.step, w, self.step.results[self.numbers.counts[WHICH]], self.numbers.F_applied)


class SampleBox(AbstractValue):
    """The box of a sample, which is a plain tuple there; None before the first step.

    As nobody changes a sample, copies of the box share it: that takes 4 us less of every step. In the native plan the
    operation leaves its samples in buffers, from where they are only taken when somebody looks. These get samples of
    other steps too, for the operations of output ports.

    The parameters that a sample was taken with are not in the buffers, and may change before somebody looks: `settle`
    keeps them, where Python takes over from the plan.

    Args:
        value: the sample.
        shapes: of its arrays, see `sample_of`.
    """

    __slots__ = ("_buffers", "_count", "_parameters", "_settled", "_shapes", "_take")

    def __init__(self, value: Any, shapes: Shapes) -> None:
        super().__init__(value)
        self._shapes = shapes
        self._buffers: SampleBuffers | None = None
        self._count = 0
        self._take: Callable[[SampleBuffers, Any], Any] | None = None
        self._parameters: Callable[[], Any] | None = None
        self._settled: tuple[int, Any] = -1, None  # after how many steps, and the parameters then

    def follow(
        self, buffers: SampleBuffers, take: Callable[[SampleBuffers, Any], Any], parameters: Callable[[], Any]
    ) -> None:
        """From now on holds the sample in buffers if a step was taken there later than the last change of this.

        Args:
            buffers: where steps leave their samples.
            take: makes a sample of what is there and of parameters.
            parameters: those at the moment.
        """
        sample = float_sample(self.get_value())
        self._value, self._buffers, self._take, self._count = sample, buffers, take, buffers.count()
        self._parameters = parameters
        buffers.put(sample)

    def settle(self) -> None:
        """Keeps the parameters of the last step."""
        buffers = self._buffers
        if buffers is not None and buffers.count() != self._count:
            assert self._parameters is not None
            self._settled = buffers.count(), self._parameters()

    def get_value(self) -> Any:
        """Returns the sample."""
        buffers = self._buffers
        if buffers is not None and buffers.count() != self._count:
            assert self._take is not None
            if self._settled[0] != buffers.count():
                self.settle()
            self._value, self._count = self._take(buffers, self._settled[1]), buffers.count()
        return self._value

    def get_mutable_value(self) -> Any:
        """Returns the sample."""
        return self.get_value()

    def set_value(self, value: Any) -> None:
        """Replaces the sample; nothing changes where that fails.

        Raises:
            TypeError: it is no sample of a plant with such coordinates, nor None.
        """
        check_sample(value, self._shapes)
        if self._buffers is None:
            self._value = value
            return
        self._value, self._count = float_sample(value), self._buffers.count()
        self._buffers.put(self._value)

    def SetFrom(self, other: AbstractValue) -> None:
        """Shares the sample of another box."""
        self.set_value(other.get_value())

    def Clone(self) -> SampleBox:
        """Returns a box of its own for the same sample."""
        return SampleBox(self.get_value(), self._shapes)

    def __deepcopy__(self, memo: dict[int, Any]) -> SampleBox:
        return self.Clone()

    def __reduce__(self) -> Any:
        return SampleBox, (self.get_value(), self._shapes)

    def _plain_state(self) -> Any:
        return plain_sample(self.get_value())

    def _set_plain_state(self, state: Any, loading: Loading) -> None:
        self.set_value(sample_of(state, self._shapes, loading))


class NativeDynamics:
    """The derivatives of a continuous plant, or the step of a discrete one, as an operation.

    There is none where Python has a part in the dynamics: spatial forces by the port, geometries that others than the
    plant move, force densities that a program defines.
    """

    operation = ""

    def __init__(self, dynamics: PlantDynamics) -> None:
        self._dynamics = dynamics
        self.num_calls = 0  # of the dynamics in Python
        self._sampling: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_dynamics": self._dynamics, "num_calls": 0, "_sampling": self._sampling}

    def sample_for(self, sampling: Any) -> None:
        """Tells which Sampling (sampling.py) is to have a sample of each step."""
        self._sampling = sampling

    def note_call(self, w: Workspace) -> None:
        """Counts a computation of the dynamics in Python."""
        if w.is_float:
            if self.num_calls == 0:
                background_code.want(self._code_for(w))
            background_code.note_call(_WEIGHT_OF_CONTACT if self._may_touch() else 1)
            if w.motion is not None:
                background_code.note_work(_WORK_OF_MOTION)
        self.num_calls += 1

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation in a Context; None if there is none, or if it is not worth while to compile it."""
        code = self._prepare(context)
        if code is None:
            return None
        box, buffers = self._box_in(context), self.buffers_of(context)
        settle = None if box is None else box.settle
        arguments = FAILURE, *integers_of(self._record(context, buffers))
        native = NativeCode(code.load(), arguments, settle, self._check_of(context, buffers.step))
        if self._is_discrete():
            return native
        # It needs the vectors that come through ports, and asks no SceneGraph.
        own: Any = context  # that of a leaf system
        vectors = [source for source in native.sources_in(own) if isinstance(source, CacheSlot)]
        return dataclasses.replace(native, sources=tuple(vectors))

    def is_moved_by_steps(self, context: Context) -> bool:
        """Whether an integrator moves a continuous plant by steps."""
        return self._workspace(context).motion is not None

    def has_derivatives(self, context: Context) -> bool:
        """Whether derivatives of a continuous plant are an operation in a Context, or may become one at once."""
        return self._prepare(context) is not None

    def constrained_buffers(self, context: Context) -> SampleBuffers | None:
        """Where the operation leaves what it has held; None if Python may have a part in steps."""
        return self.buffers_of(context) if self._prepare(context) is _STEP else None

    def _prepare(self, context: Context) -> BackgroundCode | None:
        """The operation, with buffers for what it works on; None if there is none."""
        w = self._workspace(context)
        if not (w.is_float and self._is_possible(context)):
            return None
        code = self._code_for(w)
        if not code.is_worth_while():
            return None
        if self._constrains_at_once() and not self._can_constrain():
            return None
        box, buffers = self._box_in(context), self._buffers_of(context, w)
        if box is not None:
            box.get_value()  # the buffers may change now
        controllers = self._controllers(context, w)
        if buffers.step.lacks_capacity():
            buffers.step.grow()
        if not buffers.step.is_current(controllers):
            buffers.step.prepare(controllers)
        if box is not None:
            self._follow(box, context, buffers)
        if self._dynamics.deformables is not None:
            self._dynamics.deformables.buffers_of(context, w, buffers.step)
        if w.motion is not None:
            w.motion.native_buffers(controllers)
        return code if buffers.step.is_own_geometry() else None

    def _code_for(self, w: Workspace) -> BackgroundCode:
        if self._is_discrete():
            return _STEP if self._dynamics.deformables is None else _STEP_OF_ALL
        return _DERIVATIVES if w.motion is None else _MOTION

    def _controllers(self, context: Context, w: Workspace) -> Controllers:
        inputs = self._dynamics.inputs
        return inputs.active_controllers(w, inputs.actuators_in(context))

    def _box_in(self, context: Context) -> SampleBox | None:
        """The box of the sample in a Context; None if outputs show none."""
        if self._sampling is None or not self._sampling.is_used:
            return None
        box: SampleBox = context.peek_state().get_abstract_state(self._sampling.state_index)
        return box

    def _workspace(self, context: Context) -> Workspace:
        return self._dynamics.views.workspace(context)

    def _is_discrete(self) -> bool:
        return self._dynamics.model.is_discrete

    def _may_touch(self) -> bool:
        return self._dynamics.may_touch

    def _check_of(self, context: Context, step: StepBuffers) -> Callable[[], bool]:
        """What tells whether the operation is still right: one that is made later may have got other arrays."""
        w, number = self._workspace(context), step.num_preparations
        can_constrain, motion = self._can_constrain(), w.motion
        native = None if motion is None else motion.native_buffers(self._controllers(context, w))
        motion_number = 0 if native is None else native.num_preparations
        num_calls = self.num_calls

        def has_room() -> bool:
            nonlocal num_calls
            if num_calls == self.num_calls:  # a step that finds too little room fails, and Python makes it
                return True
            if step.lacks_capacity() or (step.soft is not None and step.soft.lacks_capacity()):
                return False
            num_calls = self.num_calls
            return True

        def is_current() -> bool:
            controllers = self._controllers(context, w)
            is_same = step.num_preparations == number and step.is_current(controllers)
            is_as_before = can_constrain or w.step_buffers is None or not self._can_constrain()
            if native is not None:
                is_same = is_same and native.num_preparations == motion_number
                is_same = is_same and motion.is_native_current(controllers)
            is_same = is_same and w.motion is motion and (step.soft is None or step.soft.is_current())
            return is_same and is_as_before and has_room()

        has_controllers = self._dynamics.inputs.actuators_in(context).controlled
        may_change = self._is_discrete() or has_controllers or self._constrains_at_once() or motion is not None
        return is_current if may_change else lambda: w.motion is None

    def _constrains_at_once(self) -> bool:
        """Whether there are constraints from the beginning, as far as one can see: not only joint limits."""
        has_friction = self._is_discrete() and len(self._dynamics.model.contact.frictions) > 0
        return self._may_touch() or self._dynamics.constraints.has_rows() or has_friction

    def _can_constrain(self) -> bool:
        """Whether the kernels are compiled that hold something, or it pays to compile them."""
        is_due = self._constrains_at_once() and background_code.must_compile_here()
        has_any = self._dynamics.can_constrain or self._dynamics.has_multipliers
        return has_any and (is_due or are_compiled(self._dynamics))

    def _is_possible(self, context: Context) -> bool:
        dynamics, inputs = self._dynamics, self._dynamics.inputs
        if dynamics.deformables is not None and not dynamics.deformables.has_operation():
            return False
        if context.has_input(inputs.spatial_force.get_index()):
            return False
        if dynamics.contact_geometry.may_touch and not context.has_input(inputs.geometry_query.get_index()):
            return False
        entry = derivatives_entry(dynamics.model.system)
        # While it learns, what it depends on is not known yet.
        return entry is None or not entry.is_learning or entry.was_observed

    def _follow(self, box: SampleBox, context: Context, buffers: SampleBuffers) -> None:
        """Lets box and buffers have the same sample from now on."""
        sampling = self._sampling
        box.follow(
            buffers,
            lambda buffers, parameters: sampling.sample_in(context, buffers, parameters).stored(),
            lambda: sampling.parameters_in(context),
        )

    def sample_buffers_in(self, context: Context) -> SampleBuffers | None:
        """Where the numbers of the sample in a Context stand from now on; None if outputs show none, or no floats."""
        w, box = self._workspace(context), self._box_in(context)
        if box is None or not w.is_float:
            return None
        buffers = self._buffers_of(context, w)
        self._follow(box, context, buffers)
        return buffers

    def buffers_of(self, context: Context) -> SampleBuffers:
        """What the operation works with in a Context."""
        return self._buffers_of(context, self._workspace(context))

    def _buffers_of(self, context: Context, w: Workspace) -> SampleBuffers:
        if w.sample_buffers is None:
            w.sample_buffers = SampleBuffers(self._dynamics, context, w)
        buffers: SampleBuffers = w.sample_buffers
        return buffers

    # ------------------------------------------------------------------ derivatives where Python asks for them

    def compute(self, context: Context, w: Workspace, result: Array) -> bool:
        """Has the operation compute the derivatives of a continuous plant, as soon as it is at hand.

        That is twice as fast as the same source in Python, so that nothing is compiled for it.

        Returns:
            Whether it has; if not, Python has to do it, which says what is wrong if anything is.
        """
        inputs = self._dynamics.inputs
        buffers: StepBuffers | None = w.step_buffers
        if buffers is None or context.has_input(inputs.spatial_force.get_index()):
            return False
        call = buffers.compiled
        may_look = self.num_calls % _CALLS_BETWEEN_LOOKS == 0
        if call is None and not (may_look and _DERIVATIVES.is_there() and self._is_possible(context)):
            return False
        if call is None and self._constrains_at_once() and not are_compiled(self._dynamics):
            return False
        table, read = inputs.actuators_in(context), context.read_input
        buffers = self._dynamics.step_buffers(context, w, table)
        values = [read(index) for index in inputs.of_vectors]
        if call is None or not call.is_for(buffers, values):
            if not buffers.is_own_geometry():
                return False
            given = inputs.read(context, w, table)
            call = buffers.compiled = _CompiledDerivatives(self._compiled_model(buffers), buffers, given, values, w)
        return call.run(buffers, result)

    # ------------------------------------------------------------------ what the operation is told

    def _record(
        self, context: Context, buffers: SampleBuffers
    ) -> StepRecord | StepOfAllRecord | DerivativesRecord | MotionRecord:
        """All that the operation works on: arrays of the buffers, and places in the Context."""
        tree, step, is_discrete = self._dynamics.model.tree, buffers.step, self._is_discrete()
        num_q, num_v = tree.num_positions(), tree.num_velocities()
        place = DiscreteStateOf(0) if is_discrete else CONTINUOUS_STATE
        result = Placed(NextDiscreteStateOf(0) if is_discrete else OUTPUT, (num_q + num_v,))
        x = Placed(place, (num_q + num_v,)), Placed(place, (num_q,)), Placed(place, (num_v,), num_q)
        given, forces = (self._model(step), State(*x)), (self._inputs(context), step.work)
        results = tuple(out._replace(x_next=result) for out in step.results)
        if not is_discrete:
            derivatives, w = DerivativesRecord(*given, *forces, results[0]), self._workspace(context)
            return derivatives if w.motion is None else self._motion_record(context, w, derivatives)
        record = StepRecord(*given, self._dynamics.model.time_step, *forces, results, buffers.numbers)
        return record if step.soft is None else step.soft.operation_record(record, self._can_constrain())

    def _motion_record(self, context: Context, w: Workspace, derivatives: DerivativesRecord) -> MotionRecord:
        motion: Motion = w.motion
        heard, step = motion.heard, motion.native_buffers(self._controllers(context, w))
        results = (step.results[0]._replace(x_next=derivatives.results.x_next),)
        state, inputs, model = derivatives.state, derivatives.inputs, self._model(step, True)
        responses = heard.native_responses(inputs, model.parameters)
        if heard.follow():
            inputs, model = heard.native_inputs(), model._replace(parameters=heard.native_parameters())
        steps = StepRecord(model, state, 0.0, inputs, step.work, results, motion.numbers)
        return MotionRecord(motion.lengths, motion.counts, derivatives, steps, responses)

    def _model(self, step: StepBuffers, is_complete: bool = False) -> Model:
        views, model = self._dynamics.views, self._compiled_model(step, is_complete)
        return model._replace(
            parameters=Placed(ParameterOf(views.parameter_group), model.parameters.shape),
            gravity=Placed(ParameterOf(views.gravity_group), (3,)),
            constants=Placed(ParameterOf(views.constant_group), model.constants.shape),
        )

    def _compiled_model(self, step: StepBuffers, is_complete: bool = False) -> Model:
        """The model with the addresses of all kernels that are needed, if `is_complete` also those of constraints."""
        is_complete = is_complete or self._can_constrain()
        return step.model._replace(
            code=code_of_addresses(step.kernels(), step.model, is_complete, step.soft is not None),
            contact=step.model.contact._replace(is_complete=int(is_complete)),
        )

    def _inputs(self, context: Context) -> Inputs:
        """Where the inputs stand, see InputPorts.read()."""
        ports, w = self._dynamics.inputs, self._workspace(context)
        table, inputs = ports.actuators_in(context), self._dynamics.model.tree.coordinates.inputs
        ports.log_undriven(context, table)
        of_instances = [(inputs[i], self._place(context, port)) for i, port in ports.driven_instances]
        desired = [(of, self._place(context, ports.desired_states[i])) for i, of in table.controlled.items()]
        return Inputs(
            self._place(context, ports.actuation),
            tuple(Part(of, place) for of, place in of_instances if place is not _NO_PLACE),
            tuple(Part(of, place) for of, place in desired),
            self._place(context, ports.generalized_force),
            w.zeros_F,
        )

    def _place(self, context: Context, port: Any) -> Any:
        index = port.get_index()
        return Placed(InputOf(index), (port.size(),)) if context.has_input(index) else _NO_PLACE


class _CompiledDerivatives:
    """The operation of derivatives on the arrays with which Python computes them.

    Args:
        model: with addresses of kernels.
        buffers: of the arrays.
        inputs: what comes through the ports.
        values: the vectors that these are made of, None for ports that are not connected.
        w: workspace of the Context.
    """

    def __init__(self, model: Model, buffers: StepBuffers, inputs: Inputs, values: list[Any], w: Workspace) -> None:
        flat = w.store.flat

        def placed(array: Array) -> Placed:
            return placed_beside(array, flat)

        def parts(given: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(Part(part.actuators, placed(part.values)) for part in given)

        in_context = {"parameters": placed(model.parameters), "gravity": placed(model.gravity)}
        changes: dict[str, Any] = in_context | {"constants": placed(model.constants)}
        model = model._replace(**changes)
        known = Inputs(placed(inputs.u), parts(inputs.parts), parts(inputs.desired), placed(inputs.tau), inputs.F_Bo_W)
        self._xdot = buffers.results[0].x_next
        state = State(*map(placed, buffers.state))
        results = buffers.results[0]._replace(x_next=placed(self._xdot))
        record = DerivativesRecord(model, state, known, buffers.work, results)
        self._failure = np.zeros(1, np.int64)
        self._integers = np.array([address_of_array(self._failure), *integers_of(record)], np.int64)
        self._number, self._values, self._kept = buffers.num_preparations, values, (inputs, record, flat)
        self._run, self._inputs = caller_of(_DERIVATIVES.load(), flat, self._integers), inputs

    def is_for(self, buffers: StepBuffers, values: list[Any]) -> bool:
        """Whether the records are still those of the buffers, and these the vectors that come through the ports."""
        return self._number == buffers.num_preparations and values == self._values

    def run(self, buffers: StepBuffers, result: Array) -> bool:
        """Computes the derivatives; returns whether there are any."""
        self._run()
        if self._failure.item(0):
            self._failure[0] = 0
            return False
        result[:] = self._xdot
        buffers.note_derivatives(self._inputs)
        return True
