"""The plant in the native plan: derivatives or steps as operations (kernels/operations.py), and what they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import AbstractValue, later_code
from merganser.framework.core.inside import derivatives_entry
from merganser.framework.core.native_code import (
    CONTINUOUS_STATE,
    FAILURE,
    OUTPUT,
    Argument,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
    ParameterOf,
)
from merganser.framework.core.plain_values import Loading
from merganser.framework.later_code import LaterCode
from merganser.framework.native import kernel_address
from merganser.framework.native.addresses import address_of_array
from merganser.multibody import kernels
from merganser.multibody.contact.penalty import limit_forces
from merganser.multibody.contact.plant_problem import find_limits
from merganser.multibody.kernels import operation_fields as o
from merganser.multibody.plant.plain_sample import Shapes, check_sample, float_sample, plain_sample, sample_of
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.multibody.plant.multibody_plant import MultibodyPlant
    from merganser.multibody.plant.native_contact import HeldRoom

__all__ = ["NativeDynamics", "SampleBox", "SampleRoom"]

Array = NDArray[Any]

_WEIGHT_OF_CONTACT = 2  # steps with contact take longer in Python
_DERIVATIVES = LaterCode("merganser.multibody.kernels.operations", "DERIVATIVES", "plant_derivatives")
_STEP = LaterCode("merganser.multibody.kernels.operations", "STEP", "plant_step")
_HELD_STEP = LaterCode("merganser.multibody.contact.step_operation", "HELD_STEP", "held_step")
_NO_PLACE = -1


class SampleRoom:
    """Where the operation leaves what its last step started from and found, and a SampleBox the same of other steps.

    Args:
        size: of the state.
        num_inputs: of actuation.
        num_mobods: of the tree.

    Attributes:
        states: the state before and after, shape [2, size].
        net_actuation: what the actuators exerted, shape [num_inputs].
        applied_forces: spatial forces of force elements on the bodies, shape [num_mobods, 6].
        numbers: all three, one after the other.
        u, F_applied: what the actuators and force elements exert; the operation works with these.
        count: how many steps there were, shape [1].
        held: where the operation leaves what it has held, if it is one that does that.
    """

    def __init__(self, size: int, num_inputs: int, num_mobods: int) -> None:
        ends = np.cumsum([2 * size, num_inputs, 6 * num_mobods])
        self.numbers = np.zeros(ends[-1])
        states, self.net_actuation, applied_forces, _ = np.split(self.numbers, ends)
        self.states, self.applied_forces = states.reshape(2, size), applied_forces.reshape(num_mobods, 6)
        self.u, self.F_applied = np.zeros(num_inputs), np.zeros((num_mobods, 6))
        self.count: NDArray[np.int64] = np.zeros(1, np.int64)
        self.held: HeldRoom | None = None

    def put(self, sample: tuple[Any, ...] | None) -> None:
        """Takes over the numbers of a sample that was made elsewhere, see sampling.py; None before the first step."""
        if sample is None:
            self.numbers[:] = 0.0
        else:
            self.states[0], self.states[1], self.net_actuation[:] = sample[:3]
        if self.held is not None:
            contacts = None if sample is None else sample[-1]
            self.held.put_contact_forces(0.0 if contacts is None else contacts.tau)


class SampleBox(AbstractValue):
    """The box of a sample, which is a plain tuple there; None before the first step.

    As nobody changes a sample, copies of the box share it: that takes 4 us less of every step. In the native plan the
    operation leaves its samples in a room, from where they are only taken when somebody looks. The room gets those of
    other steps too, for the operations of output ports.

    Args:
        value: the sample.
        shapes: of its arrays, see `sample_of`.
    """

    __slots__ = ("_count", "_room", "_shapes", "_take")

    def __init__(self, value: Any, shapes: Shapes) -> None:
        super().__init__(value)
        self._shapes = shapes
        self._room: SampleRoom | None = None
        self._count = 0
        self._take: Callable[[SampleRoom], Any] | None = None

    def follow(self, room: SampleRoom, take: Callable[[SampleRoom], Any]) -> None:
        """From now on holds the sample in a room whenever a step was taken there later than the last change of this."""
        sample = float_sample(self.get_value())
        self._value, self._room, self._take, self._count = sample, room, take, room.count.item(0)
        room.put(sample)

    def get_value(self) -> Any:
        """Returns the sample."""
        room = self._room
        if room is not None and room.count.item(0) != self._count:
            assert self._take is not None
            self._value, self._count = self._take(room), room.count.item(0)
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
        if self._room is None:
            self._value = value
            return
        self._value, self._count = float_sample(value), self._room.count.item(0)
        self._room.put(self._value)

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

    There is none where Python has a part in the dynamics: loops of joints, contact and PD controllers in continuous
    time, spatial forces by the port, geometries that do not belong to the plant.
    """

    operation = ""

    def __init__(self, plant: MultibodyPlant) -> None:
        self._plant = plant
        self.num_calls = 0  # of the dynamics in Python

    def __getstate__(self) -> dict[str, Any]:
        return {"_plant": self._plant, "num_calls": 0}

    def note_call(self, w: Workspace) -> None:
        """Counts a computation of the dynamics in Python."""
        plant = self._plant
        if w.is_float:
            if self.num_calls == 0:
                held = [_HELD_STEP] if plant._can_hold else []
                later_code.want(*([_STEP, *held] if plant.is_discrete() else [_DERIVATIVES]))
            later_code.note_call(_WEIGHT_OF_CONTACT if plant._may_touch else 1)
        self.num_calls += 1

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation in a Context; None if there is none, or if it is not worth while to compile it."""
        code = self._prepare(context)
        if code is None:
            return None
        w, box = self._plant._workspace(context), self._box_in(context)
        room = self._room_of(w)
        held = room.held if code is _HELD_STEP else None
        arguments = self._arguments(context, w, room, held)
        settle = None if box is None else box.get_value
        return NativeCode(code.load(), arguments, settle, self._check_of(code, w, held))

    def has_derivatives(self, context: Any) -> bool:
        """Whether derivatives of a continuous plant are an operation in a Context, or may become one at once."""
        return self._prepare(context) is not None

    def held_room(self, context: Any) -> HeldRoom | None:
        """What the operation leaves of contacts; None if there is none, or if it is one that knows none."""
        return self.room_of(context).held if self._prepare(context) is _HELD_STEP else None

    def _prepare(self, context: Any) -> LaterCode | None:
        """The operation, with room for what it holds; None if there is none."""
        w = self._plant._workspace(context)
        if not (w.is_float and self._is_possible(context)):
            return None
        code = self._choose_operation(context, w)
        if not code.is_worth_while():
            return None
        room, box, is_ready = self._room_of(w), self._box_in(context), True
        if box is not None:
            box.get_value()  # the room may change now
        if code is _HELD_STEP:
            held = self._held_room_of(room, context, w)
            is_ready = (self._is_contact_compiled() or later_code.must_compile_here()) and held.prepare()
        if box is not None:
            self._follow(box, context, room)
        return code if is_ready else None

    def _box_in(self, context: Any) -> SampleBox | None:
        """The box of the sample in a Context; None if outputs show none."""
        plant = self._plant
        if not plant.has_sampled_output_ports():
            return None
        box: SampleBox = context.peek_state().get_abstract_state(plant._sample_state)
        return box

    def _check_of(self, code: LaterCode, w: Workspace, held: HeldRoom | None) -> Callable[[], bool] | None:
        """What tells whether the operation is still the right one."""
        if held is not None:
            return held.check()
        if code is _STEP and self._plant._can_hold:  # from the first limit on, the other one is, as soon as it is there
            return lambda: w.contact is None or not self._can_keep_limits(w)
        return None

    def _is_possible(self, context: Any) -> bool:
        plant = self._plant
        is_python = plant._has_loops or context.has_input(plant._spatial_force_port.get_index())
        if not plant.is_discrete():
            is_controlled = bool(plant._actuators_in(context).controlled)
            is_python = is_python or plant._may_touch or plant._has_constraints or is_controlled
        if is_python:
            return False
        entry = derivatives_entry(plant)
        # While it learns, what it depends on is not known yet.
        return entry is None or not entry.is_learning or entry.was_observed

    def _choose_operation(self, context: Any, w: Workspace) -> LaterCode:
        """The operation.

        Plants with nothing but joint limits can do without that until one is reached, as it takes long to compile.
        """
        plant = self._plant
        if not plant.is_discrete():
            return _DERIVATIVES
        is_held = plant._may_touch or plant._has_constraints or bool(plant._actuators_in(context).controlled)
        is_held = is_held or self._can_keep_limits(w)
        return _HELD_STEP if is_held else _STEP

    def _can_keep_limits(self, w: Workspace) -> bool:
        """Whether a plant with joint limits can have the operation that holds things, at no cost that is not due."""
        if not (self._plant._can_hold and self._is_contact_compiled()):
            return False
        has_reached_one = w.contact is not None
        return _HELD_STEP.is_there() or (has_reached_one and _HELD_STEP.is_worth_while())

    def _is_contact_compiled(self) -> bool:
        from merganser.multibody.plant.native_contact import are_compiled

        return are_compiled(self._plant)

    def _held_room_of(self, room: SampleRoom, context: Any, w: Workspace) -> HeldRoom:
        if room.held is None:
            from merganser.multibody.plant.native_contact import HeldRoom

            room.held = HeldRoom(self._plant, context, w)
        return room.held

    def _follow(self, box: SampleBox, context: Any, room: SampleRoom) -> None:
        """Lets box and room have the same sample from now on."""
        box.follow(room, lambda room: tuple(self._plant._sample_in(context, room)))

    def sample_room(self, context: Any) -> SampleRoom | None:
        """Where the numbers of the sample in a Context stand from now on; None if outputs show none, or no floats."""
        w, box = self._plant._workspace(context), self._box_in(context)
        if box is None or not w.is_float:
            return None
        room = self._room_of(w)
        self._follow(box, context, room)
        return room

    def room_of(self, context: Any) -> SampleRoom:
        """What the operation works with in a Context."""
        return self._room_of(self._plant._workspace(context))

    def _room_of(self, w: Workspace) -> SampleRoom:
        if w.room_for_samples is None:
            w.room_for_samples = SampleRoom(len(w.x), len(self._plant._driven_velocities), len(w.topology))
        room: SampleRoom = w.room_for_samples
        return room

    def _arguments(self, context: Any, w: Workspace, room: SampleRoom, held: HeldRoom | None) -> tuple[Argument, ...]:
        """The integers of the operation, as kernels/operation_fields.py numbers them."""
        plant = self._plant
        fields: list[Argument] = [0] * o.NUM_FIELDS
        state = DiscreteStateOf(0) if plant.is_discrete() else CONTINUOUS_STATE
        fields[o.FAILURE], fields[o.STATE] = FAILURE, state
        fields[o.RESULT] = NextDiscreteStateOf(0) if plant.is_discrete() else OUTPUT
        self._add_kernels(fields, w)
        fields[o.NUM_MOBODS], fields[o.NUM_PARAMETERS] = len(w.topology), len(w.parameters)
        fields[o.NUM_Q], fields[o.NUM_V] = len(w.q), len(w.v)
        fields[o.TIME_STEP] = np.array([plant.time_step()])
        fields[o.PARAMETERS], fields[o.GRAVITY] = ParameterOf(plant._parameter_group), ParameterOf(plant._gravity_group)
        for field, array in (
            (o.TOPOLOGY, w.topology), (o.POSITION, w.position), (o.VELOCITY, w.velocity), (o.SCRATCH, w.scratch),
            (o.TAU, w.tau), (o.F_APPLIED, room.F_applied), (o.PITCHES, plant._pitch_places),
            (o.ELEMENTS, plant._tree.elements), (o.DRIVEN, plant._driven_velocities), (o.LIMITS, plant._effort_limits),
            (o.U, room.u),
        ):  # fmt: skip
            fields[field] = address_of_array(array)
        fields[o.NUM_PITCHES], fields[o.NUM_ELEMENTS] = len(plant._pitch_places), len(plant._tree.elements)
        fields[o.CONSTANTS] = ParameterOf(plant._constant_group)
        fields[o.NUM_INPUTS] = len(plant._driven_velocities)
        fields[o.APPLIED] = self._place(context, plant._generalized_force_port)
        limits = plant._contact_model_arrays.limits
        fields[o.NUM_LIMITS], fields[o.JOINT_LIMITS] = len(limits), address_of_array(limits)
        if len(limits) and not plant.is_discrete():
            stiffness, dissipation = plant._contact_model_arrays.limit_springs()
            fields[o.LIMIT_STIFFNESS] = address_of_array(stiffness)
            fields[o.LIMIT_DISSIPATION] = address_of_array(dissipation)
        if plant.has_sampled_output_ports():
            fields[o.SAMPLE], fields[o.COUNT] = address_of_array(room.numbers), address_of_array(room.count)
        sources, desired = self._sources(context), self._desired_sources(context)
        fields[o.NUM_SOURCES], fields[o.NUM_DESIRED_SOURCES] = len(sources) // 3, len(desired) // 3
        if held is None:
            return (*fields, *sources, *desired)
        return held.arguments(fields, (*sources, *desired))

    def _add_kernels(self, fields: list[Argument], w: Workspace) -> None:
        """The addresses of the kernels that the operation calls, which Python calls too."""
        plant, model = self._plant, (w.topology, w.parameters)
        motion = (w.x, w.tau, w.F_applied, w.position, w.velocity, w.scratch, w.x)
        if plant.is_discrete():
            h = plant.time_step()
            fields[o.DYNAMICS] = kernel_address(kernels.discrete_step, *model, w.gravity, h, *motion)
        else:
            fields[o.DYNAMICS] = kernel_address(kernels.state_derivatives, *model, w.gravity, *motion)
        elements, state = plant._tree.elements, (w.q, w.v)
        if len(elements):
            fields[o.KINEMATICS] = kernel_address(kernels.kinematics, *model, *state, w.position, w.velocity)
            known = (elements, w.constants, 0, len(elements), *state, w.position, w.velocity)
            forces = (w.tau, w.F_applied)
            fields[o.FORCE_ELEMENTS] = kernel_address(kernels.force_elements, *known, *forces, *forces)
        limits = plant._contact_model_arrays.limits
        if len(limits) and plant.is_discrete():
            fields[o.FIND_LIMITS] = kernel_address(find_limits, limits, plant.time_step(), *state, w.v)
        elif len(limits):
            springs = plant._contact_model_arrays.limit_springs()
            fields[o.FIND_LIMITS] = kernel_address(limit_forces, limits, *springs, *state, w.tau)

    def _sources(self, context: Any) -> list[Argument]:
        """Where actuation comes from: for each port how many inputs, the address of which they are, and the place."""
        plant = self._plant
        sources: list[Argument] = []
        if plant._has_actuators:
            plant._log_undriven(context, plant._actuators_in(context))
        if plant._has_actuators and context.has_input(plant._actuation_port.get_index()):
            every = plant._every_input
            sources.extend((len(every), address_of_array(every), InputOf(plant._actuation_port.get_index())))
        for instance, port in plant._driven_instances:
            if context.has_input(port.get_index()):
                inputs = plant._tree.coordinates.inputs[instance]
                sources.extend((len(inputs), address_of_array(inputs), InputOf(port.get_index())))
        return sources

    def _desired_sources(self, context: Any) -> list[Argument]:
        """Where the desired states of model instances with PD controllers come from, as in `_sources`."""
        plant = self._plant
        sources: list[Argument] = []
        for instance, inputs in plant._actuators_in(context).controlled.items():
            port = plant._desired_state_ports[instance]
            sources.extend((len(inputs), address_of_array(inputs), InputOf(port.get_index())))
        return sources

    def _place(self, context: Any, port: Any) -> Argument:
        return InputOf(port.get_index()) if context.has_input(port.get_index()) else _NO_PLACE
