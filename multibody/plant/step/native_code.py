"""The plant in the native plan: derivatives or steps (../../dynamics/operation.py), and what they leave."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    FAILURE,
    OUTPUT,
    CodeInLanes,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
    ParameterOf,
    may_compile,
)
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.inside import derivatives_entry
from merganser.framework.native import is_at_hand
from merganser.framework.native.compiler.when_to_compile import OptionalCode, must_compile_here, want
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import offset_in
from merganser.framework.native.memory.records_of_arrays import (
    COMPLEX,
    ArrayOf,
    Placed,
    fields_of,
    integers_of,
    integers_with,
    is_record_class,
    placed_beside,
)
from merganser.framework.native.memory.simd import lanes_dtype, num_lanes, repeated
from merganser.framework.native.operations.operations import caller_of
from merganser.geometry.hydroelastic.surfaces import contact_surfaces, split_candidates
from merganser.geometry.proximity.broad_phase import FEW, find_candidates
from merganser.geometry.proximity.layout import HALF_SPACE
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.multibody import kernels
from merganser.multibody.contact.contact_kinds import make_pairs_of_kinds
from merganser.multibody.contact.contact_pairs import POINTS_ALONE, make_contact_pairs
from merganser.multibody.contact.hydroelastic_pairs import make_hydroelastic_pairs
from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR
from merganser.multibody.contact.plant_problem import start_step
from merganser.multibody.dynamics.operation import DerivativesRecord, StepRecord, StepsInLanes
from merganser.multibody.dynamics.records import Geometry, Inputs, Model, Part, State
from merganser.multibody.dynamics.step_kernels import Plant, addresses_of, solver_of
from merganser.multibody.plant.input_ports import Controllers
from merganser.multibody.plant.step.sample import SampleBox
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.step.variable_steps import VariableSteps
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]

OPERATIONS = "merganser.multibody.dynamics.operation"
_DERIVATIVES = OptionalCode(OPERATIONS, "DERIVATIVES", "plant_derivatives")
_COMPLEX_DERIVATIVES = OptionalCode(OPERATIONS, "COMPLEX_DERIVATIVES", "complex_plant_derivatives")
STEP = OptionalCode(OPERATIONS, "STEP", "plant_step")
_CODE_IN_LANES = {  # by whether it is of steps, and whether geometries may touch
    (is_step, may_touch): OptionalCode(OPERATIONS, name.upper(), f"plant_{name}")
    for is_step, may_touch, name in (
        (True, False, "steps_in_lanes"),
        (True, True, "contact_steps_in_lanes"),
        (False, False, "derivatives_in_lanes"),
        (False, True, "contact_derivatives_in_lanes"),
    )
}
_STEP_WITH_DEFORMABLES = OptionalCode(OPERATIONS, "STEP_WITH_DEFORMABLES", "plant_step_with_deformables")
_SLOPES = OptionalCode(OPERATIONS, "SLOPES", "plant_slopes")
_INPUTS = OptionalCode(OPERATIONS, "INPUTS", "plant_inputs")
_NO_PLACE = Placed(0, (0,))
_OF_POINTS = contact_manifolds, make_contact_pairs
_OF_SURFACES = contact_surfaces, split_candidates, make_hydroelastic_pairs


class InPython(enum.Enum):
    """Why Python takes the steps of a plant, or computes its derivatives; the values are what statistics show."""

    OTHER_SCALARS = "compiled code takes floats only"
    FORCE_DENSITIES = "a program defines force densities on deformable bodies"
    OBJECTS = "spatial forces or speeds of surfaces come through its input ports"
    NO_GEOMETRY = "its geometry query port is not connected"
    LEARNING = "what its derivatives depend on is not known yet"
    NOT_COMPILED = "its step has not been compiled yet"
    CONTACT_NOT_COMPILED = "the kernels of contact have not been compiled yet"
    FOREIGN_GEOMETRY = "its SceneGraph has geometries of other systems"
    NO_LOOP = "no compiled loop has taken them, as a simulation was short or other blocks are Python's"


class NativeDynamics:
    """The derivatives of a continuous plant, or the step of a discrete one, as an operation.

    It is missing where Python has a part in the dynamics, see InPython.

    Args:
        dynamics: of the plant.

    Attributes:
        num_calls: how often Python has computed the dynamics.
        sampling: the Sampling (../sampling.py) that has a sample of each step.
    """

    operation = ""

    def __init__(self, dynamics: PlantDynamics) -> None:
        self._dynamics, self._model = dynamics, dynamics.model
        self.num_calls = 0
        self.sampling: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "num_calls": 0}

    def note_call(self, w: Workspace) -> None:
        """Counts a computation of the dynamics in Python."""
        if w.is_float and self.num_calls == 0:
            want(self._code(w))
        self.num_calls += 1

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation in a Context; None if Python takes the steps, or if it is not compiled."""
        if self._workspace(context).dtype == COMPLEX:
            return self._resolve_complex(context)
        code = self.prepare(context)
        if code is None:
            return None
        box, buffers = self._box_in(context), self.buffers_of(context)
        keep = None if box is None else box.keep_parameters
        arguments = FAILURE, *integers_of(self._record(context, buffers))
        native = NativeCode(
            code.load(), arguments, keep, self._check_of(context, buffers), capacities=buffers.capacities,
            features=buffers.features(), decided_by=self._locks_in(context),
        )  # fmt: skip
        is_free = not (self._dynamics.is_always_constrained or self._dynamics.views.num_activations)
        if code in (STEP, _DERIVATIVES) and is_free:
            native = dataclasses.replace(native, in_lanes=functools.partial(self._in_lanes, context, buffers))
        return native if self._model.is_discrete else _of_vectors(context, native)

    def resolve_steps(self, name: str, context: Context) -> NativeCode | None:
        """An operation of variable_steps.py, by its name, if an integrator asks for steps."""
        code, w = _SLOPES if name == "step" else _INPUTS, self._workspace(context)
        steps: VariableSteps | None = w.variable_steps
        if steps is None or self._why_not(context, code, OptionalCode.is_usable) is not None:
            return None
        steps.buffers.prepare(steps.controllers(self._dynamics.inputs.active_controllers(context, w)))
        if not steps.buffers.is_own_geometry():
            return None
        given = self._model_in_context(steps.buffers, True), self._state(CONTINUOUS_STATE), self._inputs(context)
        record: Any = steps.slopes_record(*given) if code is _SLOPES else steps.inputs_record(*given)
        arguments = FAILURE, *integers_of(_beside(record, w.store.flat))
        native = NativeCode(
            code.load(), arguments, is_current=self._check_of(context, steps.buffers, steps.controllers),
            capacities=steps.buffers.capacities, features=steps.buffers.features(),
        )  # fmt: skip
        return _of_vectors(context, native)

    def why_in_python(self, context: Context) -> InPython:
        """Why Python takes the steps in a Context, or computes the derivatives, if it does."""
        reason = self._why_not(context, self._code(self._workspace(context)), OptionalCode.is_kept)
        if reason is None:
            reason = InPython.FOREIGN_GEOMETRY if self.prepare(context) is None else InPython.NO_LOOP
        return reason

    def describe_calls(self, context: Context) -> str:
        """How often Python has computed the dynamics, and why; empty if it never has."""
        what = "derivatives" if self._code(self._workspace(context)) is _DERIVATIVES else "steps"
        return f"{self.num_calls} {what} in Python: {self.why_in_python(context).value}" if self.num_calls else ""

    def _why_not(
        self, context: Context, code: OptionalCode, is_usable: Callable[[OptionalCode], bool],
        w: Workspace | None = None,
    ) -> InPython | None:  # fmt: skip
        """What keeps an operation from computing the dynamics; None if nothing does. w: by default the Context's."""
        dynamics, inputs = self._dynamics, self._dynamics.inputs
        if not (self._workspace(context) if w is None else w).is_float:
            return InPython.OTHER_SCALARS
        if dynamics.deformables is not None and not dynamics.deformables.has_operation():
            return InPython.FORCE_DENSITIES
        if inputs.has_objects(context):
            return InPython.OBJECTS
        if dynamics.contact_geometry.may_touch and not context.has_input(inputs.geometry_query.get_index()):
            return InPython.NO_GEOMETRY
        entry = derivatives_entry(dynamics.model.system) if code is _DERIVATIVES else None
        if entry is not None and entry.is_learning and not entry.was_observed:
            return InPython.LEARNING
        if not is_usable(code):
            return InPython.NOT_COMPILED
        if dynamics.constrains_at_once and not self._can_constrain():
            return InPython.CONTACT_NOT_COMPILED
        return None

    def prepare(self, context: Context) -> OptionalCode | None:
        """The operation, with buffers for what it works on; None if it is missing."""
        code = self._code()
        if self._why_not(context, code, OptionalCode.is_usable) is not None:
            return None
        buffers = self.sample_buffers_in(context) or self.buffers_of(context)
        buffers.prepare(self._dynamics.inputs.active_controllers(context, self._workspace(context)))
        return code if buffers.is_own_geometry() else None

    def _code(self, w: Workspace | None = None) -> OptionalCode:
        """The operation of the dynamics, or with a workspace the one that a simulation needs most."""
        if w is not None and w.variable_steps is not None:
            return _SLOPES
        if self._model.is_discrete:
            return STEP if self._dynamics.deformables is None else _STEP_WITH_DEFORMABLES
        return _DERIVATIVES

    def _box_in(self, context: Context) -> SampleBox | None:
        """The box of the sample in a Context; None if outputs show none."""
        if self.sampling is None or not self.sampling.is_used:
            return None
        box: SampleBox = context.peek_state().get_abstract_state(self.sampling.state_index)
        return box

    def _workspace(self, context: Context) -> Workspace:
        return self._dynamics.views.workspace(context)

    def _check_of(
        self, context: Context, step: StepBuffers, controllers_of: Callable[[Controllers], Controllers] | None = None
    ) -> Callable[[], bool]:
        """What says whether the operation is still right: the buffers may have got other arrays since.

        Until it is asked, and as long as it is there, the operation has those that it was made for.
        """
        w, number, can_constrain = self._workspace(context), step.num_preparations, self._can_constrain()
        steps = w.variable_steps  # what output ports show follows from it

        has_controllers = self._dynamics.inputs.actuators_in(context).controlled
        may_change = step.takes_steps or has_controllers or self._dynamics.constrains_at_once

        of_deformables = None if step.deformable is None else step.deformable.records

        def is_current(_kept: Any = (step.model, step.work, step.results, of_deformables)) -> bool:
            is_same = step.num_preparations == number and w.variable_steps is steps
            if not (is_same and may_change):
                return is_same
            controllers = self._dynamics.inputs.active_controllers(context, w)
            controllers = controllers if controllers_of is None else controllers_of(controllers)
            return step.is_current(controllers) and (can_constrain or not self._can_constrain())

        return is_current

    def _locks_in(self, context: Context) -> tuple[int, ...]:
        """Where the locks are that decide which PD controllers are at work."""
        table, w = self._dynamics.inputs.actuators_in(context), self._workspace(context)
        if not (table.controlled and self._model.is_discrete):
            return ()
        flat = w.store.flat
        return tuple(offset_in(flat, w.parameters["is_locked"][k : k + 1]) for k in table.controllers.mobods.tolist())

    def _can_constrain(self) -> bool:
        """Whether the kernels are compiled that hold something, or this process has to compile them."""
        dynamics = self._dynamics
        is_due = dynamics.constrains_at_once and must_compile_here()
        has_any = dynamics.can_constrain or dynamics.has_multipliers
        return has_any and (is_due or self._has_slow_kernels())

    def _has_slow_kernels(self) -> bool:
        """Whether the kernels are there that take long to compile; those of contact are not until something touches."""
        dynamics, needed = self._dynamics, []
        if self._model.is_discrete and dynamics.can_constrain:
            needed += [start_step, solver_of(dynamics.settings.of_solver())]
        if dynamics.has_multipliers:
            needed.append(kernels.constrained_state_derivatives)
        if len(dynamics.model.contact.sources):
            needed.append(make_pairs_of_kinds)
        geometry = dynamics.contact_geometry
        if geometry.may_touch:
            needed += [find_candidates, *(_OF_SURFACES if geometry.has_surfaces else _OF_POINTS)]
        return all(map(is_at_hand, needed))

    def sample_buffers_in(self, context: Context) -> StepBuffers | None:
        """Where the numbers of the sample in a Context stand from now on; None if outputs show none, or no floats."""
        box = self._box_in(context)
        if box is None or not self._workspace(context).is_float:
            return None
        buffers = self.buffers_of(context)
        box.follow(buffers, functools.partial(self.sampling.parameters_in, context))
        return buffers

    def buffers_of(self, context: Context, w: Workspace | None = None) -> StepBuffers:
        """What the dynamics work with in a Context, perhaps out of date. w: by default the Context's."""
        w = self._workspace(context) if w is None else w
        if w.step_buffers is None:
            w.step_buffers = StepBuffers(self._dynamics, context, w)
        buffers: StepBuffers = w.step_buffers
        return buffers

    # ------------------------------------------------------------------ several worlds side by side

    def _in_lanes(self, context: Context, buffers: StepBuffers, lanes: Array) -> CodeInLanes | None:
        """The same steps or derivatives for several worlds, whose numbers are in an array of lanes.

        Nothing constrains them but contact, joint limits and controllers, and no function of a user has a part in
        them. None if they are not compiled.
        """
        record = self._record(context, buffers)
        geometry, is_step = record.model.contact.geometry, isinstance(record, StepRecord)
        may_touch = len(geometry.mobods) > 0
        code = _CODE_IN_LANES[is_step, may_touch]
        constrains = is_step and may_touch and record.model.contact.settings["approximation"] in (SAP, SIMILAR, LAGGED)
        sees_contacts = not may_touch or _can_look_for_contacts(geometry)
        if _has_others(record.model) or not (sees_contacts and num_lanes() and code.is_usable()):
            return None
        operation = code.load()
        operation.address()
        model = record.model._replace(
            code=addresses_of(Plant(buffers.model, is_complete=constrains), lanes_dtype()),
            contact=record.model.contact._replace(is_complete=int(constrains)),
        )
        given: Any = record._replace(model=model)
        x_next = None
        if isinstance(record, StepRecord):
            x_next = repeated(np.zeros(record.state.x.shape))
            place = (address_of_array(x_next) - address_of_array(lanes)) // lanes.strides[0]
            out = record.results[0]._replace(x_next=Placed(place, record.state.x.shape), activations=_NO_PLACE)
            given = StepsInLanes(model, record.state, record.time_step, record.inputs, record.work, out)
        integers, kept = integers_with(given, lanes_dtype())
        return CodeInLanes(operation, (0, *integers), (kept, x_next, given))

    # ------------------------------------------------------------------ derivatives along one direction

    def _resolve_complex(self, context: Context) -> NativeCode | None:
        """The operation of the derivatives of a continuous plant on complex numbers; None without one.

        Nothing touches or is held, and no function of a user has a part in them.
        """
        dynamics, w = self._dynamics, self._workspace(context)
        is_free = not (self._model.is_discrete or dynamics.may_touch or dynamics.has_multipliers)
        if not is_free or dynamics.inputs.has_objects(context):
            return None
        buffers = self.buffers_of(context)
        buffers.prepare(dynamics.inputs.active_controllers(context, w))
        if _has_others(buffers.model) or not _COMPLEX_DERIVATIVES.is_usable():
            return None
        record = self._record(context, buffers)
        code = addresses_of(Plant(buffers.model, is_complete=False), COMPLEX)
        integers, kept = integers_with(record._replace(model=record.model._replace(code=code)), COMPLEX)
        check = self._check_of(context, buffers)

        def is_current(_kept: Any = (kept, record)) -> bool:
            return check()

        native = NativeCode(_COMPLEX_DERIVATIVES.load(), (FAILURE, *integers), is_current=is_current)
        return _of_vectors(context, native)

    # ------------------------------------------------------------------ derivatives where Python asks for them

    def compute(self, context: Context, w: Workspace, result: Array) -> bool:
        """Has the operation compute the derivatives of a continuous plant, as soon as it is available.

        That is twice as fast as the same source in Python.

        Returns:
            Whether it has; if not, Python has to do it, which says what is wrong if anything is.
        """

        def record(buffers: StepBuffers, inputs: Inputs) -> DerivativesRecord:
            return DerivativesRecord(buffers.model, buffers.state, inputs, buffers.work, buffers.out)

        call = self.call_of(context, w, _DERIVATIVES, record)
        if call is None or not call.run():
            return False
        buffers: StepBuffers = w.step_buffers
        result[:] = buffers.out.x_next
        buffers.note_forces(call.inputs)
        return True

    def call_of(
        self, context: Context, w: Workspace, code: OptionalCode, make_record: Callable[[StepBuffers, Inputs], Any],
        given: Inputs | None = None,
    ) -> CompiledCall | None:  # fmt: skip
        """What has an operation compute what Python would, with the same arrays; None if Python has to do it.

        Args:
            context: of the plant.
            w: its workspace, or one of floats with numbers of its own (../scalars/steps_on_values.py).
            code: the operation.
            make_record: gives its record for buffers and what comes through the ports; None as long as it has none.
            given: what comes through the ports; by default these are read.
        """
        inputs, buffers = self._dynamics.inputs, w.step_buffers
        if buffers is None or inputs.has_objects(context) or not may_compile():
            return None
        call = buffers.compiled.get(code)
        if call is None and self._why_not(context, code, OptionalCode.is_usable, w) is not None:
            return None
        if call is None and self._dynamics.constrains_at_once and not self._has_slow_kernels():
            return None
        buffers.prepare(inputs.active_controllers(context, w))
        values = [context.read_input(index) for index in inputs.of_vectors] if given is None else [id(given)]
        if call is None or not call.is_for(buffers, values):
            if given is None:
                given = inputs.read(context, w)
            record = make_record(buffers, given) if buffers.is_own_geometry() else None
            if record is None:
                return None
            model, numbers = self._compiled_model(buffers), w.store.flat if w is self._workspace(context) else w.x
            call = buffers.compiled[code] = CompiledCall(code, record, model, buffers, values, numbers)
        return call

    # ------------------------------------------------------------------ what the operation is given

    def _record(self, context: Context, buffers: StepBuffers) -> StepRecord | DerivativesRecord:
        """All that the operation works on: arrays of the buffers, and places in the Context."""
        is_discrete, (work, results) = self._model.is_discrete, buffers.of_operation()
        views, state = self._dynamics.views, self._state(DiscreteStateOf(0) if is_discrete else CONTINUOUS_STATE)
        result = Placed(NextDiscreteStateOf(0) if is_discrete else OUTPUT, state.x.shape)
        activations = _NO_PLACE
        if views.num_activations:
            place = NextDiscreteStateOf(views.activation_group) if is_discrete else OUTPUT
            activations = Placed(place, (views.num_activations,), 0 if is_discrete else state.x.shape[0])
        given, forces = (self._model_in_context(buffers), state), (self._inputs(context), work)
        placed = tuple(out._replace(x_next=result, activations=activations) for out in results)
        if not is_discrete:
            return DerivativesRecord(*given, *forces, placed[0])
        deformables = () if buffers.deformable is None else buffers.deformable.records_in_context()
        return StepRecord(*given, self._model.time_step, *forces, placed, buffers.numbers, deformables)

    def _state(self, place: Any) -> State:
        tree = self._model.tree
        num_q, num_v = tree.num_positions(), tree.num_velocities()
        views, activations = self._dynamics.views, _NO_PLACE
        if views.num_activations:
            is_discrete = self._model.is_discrete
            of = DiscreteStateOf(views.activation_group) if is_discrete else place
            activations = Placed(of, (views.num_activations,), 0 if is_discrete else num_q + num_v)
        x, q, v = Placed(place, (num_q + num_v,)), Placed(place, (num_q,)), Placed(place, (num_v,), num_q)
        return State(x, q, v, activations)

    def _model_in_context(self, step: StepBuffers, is_complete: bool = False) -> Model:
        views, model = self._dynamics.views, self._compiled_model(step, is_complete)
        return model._replace(
            parameters=Placed(ParameterOf(views.parameter_group), model.parameters.shape),
            gravity=Placed(ParameterOf(views.gravity_group), (3,)),
            constants=Placed(ParameterOf(views.constant_group), model.constants.shape),
        )

    def _compiled_model(self, step: StepBuffers, is_complete: bool = False) -> Model:
        """The model with the addresses of all kernels that are needed, if `is_complete` also those of constraints."""
        is_complete, deformables = is_complete or self._can_constrain(), self._dynamics.deformables
        may_couple = deformables is not None and deformables.may_constrain
        plant = Plant(step.model, is_complete, step.deformable is not None, is_complete and may_couple)
        contact = step.model.contact._replace(is_complete=int(is_complete))
        return step.model._replace(code=addresses_of(plant), contact=contact)

    def _inputs(self, context: Context) -> Inputs:
        """Where the inputs stand, see InputPorts.read()."""
        ports, w = self._dynamics.inputs, self._workspace(context)
        table, inputs = ports.actuators_in(context), self._model.tree.coordinates.inputs
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


def _has_others(model: Model) -> bool:
    """Whether a plant has kinds whose kernels are compiled for floats alone."""
    others = len(model.transmissions), len(model.laws), model.contact.adheres, len(model.contact.sources)
    return any(others) or bool(model.topology["code"].any() or model.elements["code"].any())


def _can_look_for_contacts(geometry: Geometry) -> bool:
    """Whether lanes see if any of some geometries touch."""
    is_own = geometry.is_moved_by_plant and geometry.contact == POINTS_ALONE and len(geometry.mobods) <= FEW
    return bool(is_own and (geometry.geometries["kind"] <= HALF_SPACE).all())


class ResolvedBy(NamedTuple):
    """An operation beside the dynamics, see ContextualCode."""

    resolve: Callable[[Context], NativeCode | None]


def _of_vectors(context: Any, native: NativeCode) -> NativeCode:
    """An operation that needs the vectors that come through ports, and asks no SceneGraph."""
    sources = [context.sources[given.port_index] for given in native.arguments if isinstance(given, InputOf)]
    return dataclasses.replace(native, sources=tuple(each for each in sources if isinstance(each, CacheSlot)))


def _beside(record: Any, numbers: Array) -> Any:
    """A record with the places, counted from the numbers of a Context, of arrays that are read there."""
    places: dict[str, Any] = {}
    kind: Any = type(record)
    for (name, field), value in zip(fields_of(kind).items(), record):
        if field.is_list:
            places[name] = tuple(_beside(item, numbers) for item in value)
        elif is_record_class(field.kind):
            places[name] = _beside(value, numbers)
        elif isinstance(field.kind, ArrayOf) and field.kind.is_in_context and not isinstance(value, Placed):
            places[name] = placed_beside(value, numbers)
    return record._replace(**places)


class CompiledCall:
    """An operation on the arrays with which Python computes the same.

    Args:
        code: the operation.
        record: of it, with model, state, inputs and results (`out`) as Python has them.
        model: with addresses of kernels.
        buffers: of the arrays.
        values: the vectors that come through the ports, None for ports that are not connected.
        numbers: from where places of arrays are counted.

    Attributes:
        record, inputs: as given.
        status: what the last call has come to, 0 if it could compute.
    """

    status = 0

    def __init__(
        self, code: OptionalCode, record: Any, model: Model, buffers: StepBuffers, values: list[Any], numbers: Array
    ) -> None:
        out = record.out._replace(activations=_NO_PLACE)
        native = _beside(record._replace(model=model, out=out), numbers)
        self._failure, self.inputs, self.record = np.zeros(1, np.int64), record.inputs, record
        self._integers = np.array([address_of_array(self._failure), *integers_of(native)], np.int64)
        self._number, self._values, self._kept = buffers.num_preparations, values, (native, numbers)
        self._run = caller_of(code.load(), numbers, self._integers)

    def is_for(self, buffers: StepBuffers, values: list[Any]) -> bool:
        """Whether the records are still those of the buffers, and these the vectors that come through the ports."""
        is_same = self._number == buffers.num_preparations and self.record.out.found is buffers.out.found
        return is_same and values == self._values

    def run(self) -> bool:
        """Has the operation compute; returns whether it could."""
        self._run()
        self.status = self._failure.item(0)
        self._failure[0] = 0
        return self.status == 0
