"""Workspaces of plants that compute with other scalars than floats: AutoDiffXd and Expression.

Whatever a plant computes goes through `Workspace.call`, so that this is the only place that knows how. Expressions go
through the kernels as plain Python. Derivatives are taken by the complex step (lanes.py): the arguments of
a kernel are split into lanes, one for each derivative, the kernel is run over the lanes (kernels/lanes.py), and what
it puts out becomes AutoDiffXd again. Records of kinematics stay in lanes from one call to the next, and are computed
when a kernel needs them: what most programs ask for comes from derivatives in closed form, on floats (chain_rules.py,
chain_rules.py).

Records whose numbers are objects: fields of a flat array of AutoDiffXd or Expression.

Numbers of floats and complex numbers become records by a view of their memory (`array.view(dtype)`). Objects do not,
so that here the fields are slices of the array, which share its memory all the same.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import find_block, refuse_counts, values_and_gradient
from merganser.framework.core.scalars.scalars import ScalarArray
from merganser.framework.native import specialize
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes, places_of
from merganser.multibody.kernels.mobilizers import kinds_in
from merganser.multibody.plant.scalars.chain_rules import (
    ChainRules,
    FloatKernels,
    FloatModel,
    Numbers,
    PositionRules,
)
from merganser.multibody.plant.scalars.lanes import (
    LaneRecords,
    Lanes,
    lanes_of_numbers,
    merge_lanes,
    split_lanes,
    split_numbers,
)
from merganser.multibody.plant.workspace import Workspace

Array = NDArray[Any]
DtypeOf = Callable[[Any], np.dtype[Any]]
_ITEM = np.dtype(np.float64).itemsize


@functools.cache
def _fields(dtype: np.dtype[Any]) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Where each field starts and ends among the numbers of a record, and its shape."""
    fields = {}
    for name, (field, offset, *_) in (dtype.fields or {}).items():
        start = offset // _ITEM
        fields[name] = (start, start + field.itemsize // _ITEM, field.shape)
    return fields


def record_size(dtype_of: DtypeOf) -> int:
    """How many numbers a record has."""
    return dtype_of(np.float64).itemsize // _ITEM


class ObjectRecords:
    """One record or several, indexed as a record array of numpy is: by number, slice or array, and by field.

    Attributes:
        numbers: objects, shape [record_size] for one record, or [num_records, record_size]. Shared, not copied.
        dtype_of: the fields, a function of their scalar type.
    """

    __slots__ = ("_fields", "dtype_of", "numbers")

    def __init__(self, numbers: Array, dtype_of: DtypeOf) -> None:
        self.numbers = numbers
        self.dtype_of = dtype_of
        self._fields = _fields(dtype_of(np.float64))

    @staticmethod
    def view(numbers: Array, dtype_of: DtypeOf) -> ObjectRecords:
        """All records of which `numbers`, shape [num_records * record_size], are the numbers."""
        return ObjectRecords(numbers.reshape(-1, record_size(dtype_of)), dtype_of)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of records; () of a single one."""
        return self.numbers.shape[:-1]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return ObjectRecords(self.numbers[key], self.dtype_of)
        start, stop, shape = self._fields[key]
        if not shape:
            return self.numbers[..., start] if self.shape else self.numbers[start]
        return self.numbers[..., start:stop].reshape(self.shape + shape)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            start, _, shape = self._fields[key]
            if shape:
                self[key][...] = value
            else:
                self.numbers[..., start] = value
        else:  # whole records, of floats
            self.numbers[key] = value.view(np.float64).reshape(*value.shape, -1)


_DYNAMICS = (kernels.state_derivatives, kernels.state_inverse_dynamics, kernels.inverse_dynamics)


class SymbolicWorkspace(Workspace):
    """A workspace of expressions: kernels are interpreted."""

    __slots__ = ()

    def view_records(self, numbers: Array, dtype_of: Any) -> Any:
        return ObjectRecords.view(numbers, dtype_of)

    def make_records(self, size: int, dtype_of: Any) -> Any:
        numbers = ScalarArray.of((size, record_size(dtype_of)), self.scalar)
        return ObjectRecords(numbers, dtype_of)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Interprets a kernel; what it puts out are expressions, also where they are constant."""
        status = kernel.interpreted(*arguments)
        for place in places_of(kernel).written:
            argument = arguments[place]
            if type(argument) is np.ndarray and argument.dtype == object:
                lifted = ScalarArray.of(argument.shape, self.scalar)
                lifted[...] = argument
                argument[...] = lifted
        return status


class _Rules(NamedTuple):
    """How to compute on floats.

    Attributes:
        dynamics: of the plant.
        positions: what depends on its positions.
    """

    dynamics: ChainRules
    positions: PositionRules


_Elements = tuple[bytes, list[Any], Numbers]  # addresses of scalars, the scalars, and these taken apart


class AutoDiffWorkspace(Workspace):
    """A workspace of AutoDiffXd: kernels run over lanes of complex numbers, or on floats by the chain rule."""

    __slots__ = ("_constants", "_floats", "_kept", "_lanes", "_on_values", "_parts", "_rules", "_views")

    def __init__(self, *arguments: Any) -> None:
        self._parts: dict[str, _Elements] = {}  # the state and parts of it, as they were last taken apart
        self._lanes: dict[str, tuple[Numbers, Lanes]] = {}  # the same as lanes
        self._views: list[ObjectRecords] = []
        # Parameters as lanes, by the id of the view that they were split from, as long as no parameter changes.
        self._kept: dict[int, Lanes] = {}
        # The same as floats, and poses of frames, None for those with derivatives; the arrays, so that they stay.
        self._floats: dict[int, tuple[Any, Array | None]] = {}
        # Made of the parameters when they are first used; False without any.
        self._rules: _Rules | Literal[False] | None = None
        super().__init__(*arguments)
        self._on_values = FloatKernels(self.topology)
        self._constants = {id(a): split_lanes(a) for a in (self.zeros_v, self.zeros_F, self.zero_gravity)}

    def write_state(self, x: Array) -> bool:
        items = x.tolist()
        found = find_block(items)
        if found is None:
            return super().write_state(x)
        values = found[0].tolist()
        if not all(any(values[start : start + 4]) for start in self.quaternion_starts.tolist()):
            return False
        np.copyto(self.x, x)  # all are AutoDiffXd, as others are in no block
        self._parts["x"] = self.x.tobytes(), items, found
        return True

    def _split_part(self, name: str) -> Numbers:
        """Values and derivatives of x, q or v; taken apart only once as long as its elements are the same objects."""
        part: Array = getattr(self, name)
        addresses = part.tobytes()
        known = self._parts.get(name)
        if known is None or known[0] != addresses:
            items = part.tolist()  # they are kept, so that no other object can come to have their addresses
            known = self._parts[name] = addresses, items, values_and_gradient(items)
        return known[2]

    def _part_in_lanes(self, name: str) -> Lanes:
        """The same as lanes."""
        numbers, known = self._split_part(name), self._lanes.get(name)
        if known is None or known[0] is not numbers:
            known = self._lanes[name] = numbers, lanes_of_numbers(*numbers)
        return known[1]

    def view_records(self, numbers: Array, dtype_of: Any) -> Any:
        view = ObjectRecords.view(numbers, dtype_of)
        self._views.append(view)
        return view

    def make_numbers(self, size: int) -> Any:
        return LaneRecords(np.zeros((1, size), np.complex128), 0)

    def make_records(self, size: int, dtype_of: Any) -> Any:
        return LaneRecords(np.zeros((1, size), dtype_of(np.complex128)), 0)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Runs a kernel over lanes, or by the chain rule if it can be.

        Raises:
            ValueError: the arguments have different numbers of derivatives.
        """
        self._look_at_parameters()
        if kernel in _KINEMATICS and all(map(operator.is_, arguments, _KINEMATICS[kernel](self))):
            pending = functools.partial(self.call_over_lanes, kernel, *arguments)  # when its records are read
            for place in places_of(kernel).written:
                arguments[place].pending = pending
            return None
        if kernel in _DYNAMICS and self._is_about_this_state(kernel, arguments):
            status = self._call_rule(kernel, arguments)
            if status is not None:
                return status
        elif kernel in _OF_POSITIONS and self._call_position_rule(kernel, arguments):
            return None
        return self.call_over_lanes(kernel, *arguments)

    def call_on_values(self, kernel: Any, *arguments: Any) -> Any:
        self._look_at_parameters()
        return self._on_values.call(kernel, *map(self.values_of, arguments))

    def values_of(self, argument: Any) -> Any:
        """An argument of a kernel, or a tuple of such, without derivatives; floats and integers are the same."""
        if isinstance(argument, tuple) and hasattr(argument, "_make"):
            return argument._make(map(self.values_of, argument))
        is_object = isinstance(argument, np.ndarray) and argument.dtype == object
        if not (is_object or isinstance(argument, (ObjectRecords, LaneRecords))):
            return argument
        known = self._floats.get(id(argument))
        if known is not None and known[1] is not None:
            return known[1]
        values = self.lanes_of(argument).values()
        if id(argument) in self._kept:
            self._floats[id(argument)] = argument, values
        return values

    def _look_at_parameters(self) -> None:
        """Forgets what was made of the parameters, if they have changed."""
        if self.store.invalid & self.parameter_bit:
            self._kept.clear()
            self._floats.clear()
            self._rules = None
            self.store.invalid &= ~self.parameter_bit

    def _is_about_this_state(self, kernel: Any, arguments: tuple[Any, ...]) -> bool:
        """Whether a kernel of dynamics is called for the state, the parameters and gravity of the Context."""
        if arguments[1] is not self.parameters:
            return False
        if kernel is kernels.state_derivatives:
            return arguments[2] is self.gravity and arguments[3] is self.x
        known = self.q if kernel is kernels.state_inverse_dynamics else self.position
        return arguments[3] is known and (arguments[2] is self.zero_gravity or arguments[2] is self.gravity)

    def _call_rule(self, kernel: Any, arguments: tuple[Any, ...]) -> int | None:
        """Computes dynamics by the chain rule; None if that is not possible."""
        rules = self._find_rules()
        if rules is None:
            return None
        F_applied, result = arguments[5 if kernel is kernels.state_derivatives else 6], arguments[-1]
        status, forces = 0, None if F_applied is self.zeros_F else F_applied
        if kernel is kernels.state_derivatives:
            status, numbers = rules.dynamics.state_derivatives(self._split_part("x"), self.x, arguments[4], forces)
        else:
            has_gravity = arguments[2] is not self.zero_gravity
            numbers = rules.dynamics.inverse_dynamics(self._split_part("x"), arguments[5], forces, has_gravity)
        np.copyto(result, numbers)
        if status == 0:  # records wait until they are read
            pending = functools.partial(self._compute_records, kernel, arguments)
            self.scratch.pending = pending
            if kernel is not kernels.inverse_dynamics:
                self.position.pending = self.velocity.pending = pending
        return status

    def _find_rules(self) -> _Rules | None:
        """How to compute on floats; None if parameters have derivatives, or a mobilizer has no closed form."""
        if self._rules is None:
            parameters, gravity = self.lanes_of(self.parameters), self.lanes_of(self.gravity)
            self._rules = False
            has_derivatives = parameters.num_derivatives or gravity.num_derivatives
            if not has_derivatives and all(kind.carries is not None for kind in kinds_in(self.topology)):
                model = FloatModel(self.topology, self.values_of(self.parameters))
                self._rules = _Rules(ChainRules(model, gravity.lanes[0]), PositionRules(model))
        return self._rules or None

    def _call_position_rule(self, kernel: Any, arguments: tuple[Any, ...]) -> bool:
        """Computes what depends on positions by the chain rule, if that is possible and quicker; returns whether."""
        rule, rules = _OF_POSITIONS[kernel], self._find_rules()
        if rules is None or any(arguments[place] is not getattr(self, name) for place, name in rule.records):
            return False
        given = [self._without_derivatives(arguments[place]) for place in rule.given]
        if any(argument is None for argument in given):
            return False
        rules.positions.set_positions(self._split_part("q"))
        if rule.has_velocities:
            given = [*self._split_part("v"), *given]
        computed = rule.compute(rules.positions, *given)
        if computed is None:
            return False
        for place, numbers in zip(rule.results, computed if isinstance(computed, tuple) else (computed,)):
            np.copyto(arguments[place], numbers)
        return True

    def _without_derivatives(self, argument: Any) -> Any:
        """An argument as floats or integers; None if it has derivatives."""
        if not isinstance(argument, np.ndarray) or argument.dtype != object:
            return argument
        known = self._floats.get(id(argument))
        if known is None:
            values, derivatives = split_numbers(argument)
            known = argument, values if derivatives is None else None
            if argument.ndim == 2:  # the pose of a frame, not points of the caller
                self._floats[id(argument)] = known
        return known[1]

    def _compute_records(self, kernel: Any, arguments: tuple[Any, ...]) -> None:
        """Computes the records that dynamics by the chain rule have left out."""
        self.call_over_lanes(kernel, *arguments[:-1], np.empty(arguments[-1].shape, object))

    def call_over_lanes(self, kernel: Any, *arguments: Any) -> Any:
        """Runs a kernel over lanes; returns its status."""
        places = places_of(kernel)
        lanes: list[Any] = list(arguments)
        count = 0
        for place in places.read:
            split = self.lanes_of(arguments[place])
            lanes[place] = split.lanes
            if split.num_derivatives != count and split.num_derivatives:
                if count:
                    refuse_counts(count, split.num_derivatives)
                count = split.num_derivatives
        num_lanes = count or 1
        for place in places.changed:
            if type(arguments[place]) is not LaneRecords or len(lanes[place]) != num_lanes:
                lanes[place] = np.broadcast_to(lanes[place], (num_lanes, *lanes[place].shape[1:])).copy()
        for place in places.filled:
            argument = arguments[place]
            is_records = type(argument) is LaneRecords
            lanes[place] = argument.resize(count) if is_records else _buffers(argument, num_lanes)
        status = self._code(kernel, num_lanes, lanes)(num_lanes, *lanes)
        for place in (*places.filled, *places.changed):
            if type(arguments[place]) is LaneRecords:
                arguments[place].pending = None
        for place in places.written:
            argument = arguments[place]
            if type(argument) is not LaneRecords and argument.size:
                result = lanes[place]
                argument[...] = merge_lanes(result, count) if argument.dtype == object else result[0]
        return status

    def lanes_of(self, argument: Any) -> Lanes:
        """An argument of a kernel as lanes; the state and parameters only once."""
        if isinstance(argument, LaneRecords):
            argument.update()
            if argument.lanes.flags.c_contiguous:
                return argument
            return Lanes(np.ascontiguousarray(argument.lanes), argument.num_derivatives)  # of a part
        known = self._constants.get(id(argument)) or self._kept.get(id(argument))
        if known is not None:
            return known
        for name in ("x", "q", "v"):
            if argument is getattr(self, name):
                return self._part_in_lanes(name)
        if not isinstance(argument, ObjectRecords):
            lanes = split_lanes(argument)
            if argument is self.gravity:
                self._kept[id(argument)] = lanes
            return lanes
        lanes = split_lanes(argument.numbers)
        lanes.lanes = lanes.lanes.view(argument.dtype_of(np.complex128))[..., 0]
        if any(argument is view for view in self._views):
            self._kept[id(argument)] = lanes
        return lanes

    def _code(self, kernel: Any, num_lanes: int, lanes: list[Any]) -> Any:
        code = self.codes.get(kernel)
        if code is None:
            runner = over_lanes(kernel)
            work = num_lanes * len(self.topology)
            if not may_use_compiled(runner, work, num_lanes, *lanes):
                return runner.interpreted
            code = self.codes[kernel] = specialize(runner, num_lanes, *lanes)
        return code

    def pose_of(self, mobod: int) -> tuple[Array, Array]:
        R_WB, p_WoBo_W = np.empty((3, 3), object), np.empty(3, object)
        self.call(kernels.relative_pose, self.position, *_WORLD, mobod, _BODY, R_WB, p_WoBo_W)
        return R_WB, p_WoBo_W

    def velocity_of(self, mobod: int) -> Array:
        V_WB_W = np.empty(6, object)
        self.call(kernels.frame_velocity, self.position, self.velocity, mobod, _BODY, 0, *_WORLD, V_WB_W)
        return V_WB_W


def _buffers(argument: Array, num_lanes: int) -> Array:
    """Room in all lanes for what a kernel puts into an argument."""
    dtype = np.complex128 if argument.dtype == object else argument.dtype
    return np.empty((num_lanes, *argument.shape), dtype)


class _Rule(NamedTuple):
    """How a kernel of positions is computed by the chain rule.

    Attributes:
        compute: from the rules and what is given; returns the result or several, or None if that is not quicker.
        records: which arguments of the kernel must be records of the Context, by their numbers, and which.
        given: which arguments are given.
        results: which arguments are results.
        has_velocities: whether values and derivatives of v come first among what is given.
    """

    compute: Callable[..., Any]
    records: tuple[tuple[int, str], ...]
    given: tuple[int, ...]
    results: tuple[int, ...]
    has_velocities: bool


_RECORDS = {"parameters": "parameters", "position_in": "position", "velocity_in": "velocity"}


def _rule(kernel: Any, compute: Callable[..., Any]) -> _Rule:
    """The rule of a kernel, whose arguments say by their names what they are (kernels/lanes.py)."""
    names, places = list(inspect.signature(kernel.interpreted).parameters), places_of(kernel)
    known = {"topology", *_RECORDS, *(names[place] for place in places.filled)}
    return _Rule(
        compute,
        tuple((place, _RECORDS[name]) for place, name in enumerate(names) if name in _RECORDS),
        tuple(place for place, name in enumerate(names) if name not in known),
        places.written,
        "velocity_in" in names,
    )


def _frame_velocity(
    rules: PositionRules, v: Array, D_v: Any, mobod_B: int, X_B: Array, mobod_A: int, mobod_D: int, X_E: Array
) -> Array:
    return rules.velocities(v, D_v, (mobod_B, X_B), np.zeros(3), mobod_A, (mobod_D, X_E))


def _point_velocities(
    rules: PositionRules,
    v: Array,
    D_v: Any,
    mobod_B: int,
    X_B: Array,
    points: Array,
    mobod_A: int,
    mobod_D: int,
    X_E: Array,
) -> Array:
    return rules.velocities(v, D_v, (mobod_B, X_B), points, mobod_A, (mobod_D, X_E))[3:].reshape(-1, 3).T


# Kernels of kinematics, with their arguments if these are those of the Context.
_KINEMATICS: dict[Any, Callable[[Workspace], tuple[Any, ...]]] = {
    kernels.position_kinematics: lambda w: (w.topology, w.parameters, w.q, w.position),
    kernels.velocity_kinematics: lambda w: (w.topology, w.parameters, w.position, w.q, w.v, w.velocity),
    kernels.kinematics: lambda w: (w.topology, w.parameters, w.q, w.v, w.position, w.velocity),
}
_COMPUTED: dict[Any, Callable[..., Any]] = {
    kernels.relative_pose: lambda r, A, X_A, B, X_B: r.relative_pose((A, X_A), (B, X_B)),
    kernels.point_positions: lambda r, B, X_B, points, A, X_A: r.point_positions((B, X_B), points, (A, X_A)),
    kernels.center_of_mass: lambda r, members: r.center_of_mass(members),
    kernels.jacobian: lambda r, B, X_B, points, A, D, X_E: r.jacobian((B, X_B), points, A, (D, X_E)),
    kernels.mass_matrix: lambda r: r.mass_matrix(),
    kernels.frame_velocity: _frame_velocity,
    kernels.point_velocities: _point_velocities,
}
_OF_POSITIONS = {kernel: _rule(kernel, compute) for kernel, compute in _COMPUTED.items()}
_BODY = np.eye(3, 4).astype(object)  # a body as a frame
_WORLD = 0, _BODY
