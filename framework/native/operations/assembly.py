"""Assembling operations: from the native code of cache entries and events to arrays that a compiled loop reads.

Every offset is given in elements, relative to the flat array of the Context; that of constants, which have an array of
their own, relative to that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.derivatives import trace_upstream, upstream
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    FAILURE,
    LOG,
    NEXT_CONTINUOUS_STATE,
    OUTPUT,
    Capacity,
    ContextualCode,
    DiscreteStateOf,
    EntryOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
    ParameterOf,
    ValueOf,
)
from merganser.framework.core.context.store import CacheSlot, FixedInputPortValue
from merganser.framework.core.declarations.native_function import BoundNativeFunction
from merganser.framework.native.compiler.when_to_compile import pays_to_compile
from merganser.framework.native.memory.growing_array import GrowingArray
from merganser.framework.native.memory.image import offset_in
from merganser.framework.native.operations.operation_list import OperationList
from merganser.framework.native.operations.operations import address_of, has_complex_form, is_kept

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.context.store import Store
    from merganser.framework.core.declarations.events import DeclaredEvent

_ITEM = 8  # bytes of an integer


class LogOffsets:
    """A log that operations write to, and where in the list of integers its offsets stand.

    Attributes:
        context: of the sink that keeps the log.
        first: position of the first of its four integers.
    """

    def __init__(self, context: LeafContext, first: int) -> None:
        self.context = context
        self.first = first
        self._arrays: tuple[NDArray[Any], ...] = ()
        self._offsets: list[int] = []

    def log(self) -> Any:
        """The VectorLog."""
        return _log_of(self.context)

    def capacity_left(self) -> int:
        """How many more samples fit into the arrays of the last `offsets_in`."""
        count, times, _ = self._arrays
        return len(times) - int(count.item(0))

    def offsets_in(self, flat: NDArray[Any], arrays: tuple[NDArray[Any], ...]) -> list[int]:
        """Where arrays of the log stand, see `offset_in`; they are kept alive, as the loop knows where they are."""
        if len(arrays) != len(self._arrays) or any(map(operator.is_not, arrays, self._arrays)):
            self._arrays, self._offsets = arrays, [offset_in(flat, array) for array in arrays]
        return self._offsets


def _log_of(context: LeafContext) -> Any:
    system: Any = context.system
    return system.GetLog(context)


class Assembly:
    """A growing list of operations on the values of one Context tree, floats or complex numbers.

    Args:
        store: of the tree.
        is_patient: whether operations that are not on the disk are left to Python for a while (when_to_compile.py).

    Attributes:
        logs: the logs that operations write to, each once for every event that writes to it.
        operations: what has been assembled, as `finish` leaves it.
        reads_abstract_state: whether any operation does, see NativeCode.reads_abstract_state.
        waiting: native code that is no operation yet, with the contexts of its blocks.
        write_backs: to be called when Python takes over, see NativeCode.on_stop.
        checks: whether operations are still right, see NativeCode.is_current.
        capacities: of operations, see NativeCode.capacities, with the contexts of their blocks.
        features: of operations.
        decided_by: of operations, see NativeCode.decided_by.
    """

    def __init__(self, store: Store, is_patient: bool = False) -> None:
        self._store, self._is_patient = store, is_patient
        self._is_complex = store.flat.dtype == np.complex128
        self._numbers: list[float] = []
        self._integers: list[int] = []
        self._addresses: list[int] = []
        self._starts: list[int] = []  # positions in the list of integers
        self._known: dict[tuple[int, ...], tuple[int, int]] = {}  # address and start of what was added before
        self._codes: dict[tuple[int, int], NativeCode] = {}  # what was found, by native code and context
        self._postponed: set[tuple[int, int]] = set()  # what was not ready; it stays so, as others rely on it
        self._kept: list[Any] = []  # what these are known by
        self._possible: dict[tuple[int, int], NativeCode] = {}  # what has been found to be an operation
        self._arrays = GrowingArray(np.int64), GrowingArray(np.int64), GrowingArray(np.int64), GrowingArray(np.float64)
        self.logs: list[LogOffsets] = []
        self.operations = OperationList(store.flat)
        self._offsets: dict[LeafContext, list[tuple[int, tuple[int, int]]]] = {}
        self.write_backs: list[Callable[[], None]] = []
        self.checks: list[Callable[[], bool]] = []
        self.capacities: list[tuple[LeafContext, Callable[[], Sequence[Capacity]]]] = []
        self.features: set[str] = set()
        self.decided_by: set[int] = set()
        self.reads_abstract_state = False
        self.waiting: list[tuple[NativeCode | ContextualCode, LeafContext]] = []
        self._left_to_python: set[int] = set()  # cache entries, by their bits

    def __len__(self) -> int:
        return len(self._addresses)

    def suits(self, offsets: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the operations are right for rows of values: in some, a locked joint may have no controller, say.

        Args:
            offsets: of independent values in the flat array, in order, shape [m].
            rows: shape [n, m].
        """
        decided_by = sorted(self.decided_by)
        same = rows[:, np.searchsorted(offsets, decided_by)] == self._store.flat[decided_by]
        suitable: NDArray[np.bool_] = np.all(same, axis=1)
        return suitable

    def add(self, native: NativeCode | ContextualCode, context: LeafContext, output: int = 0) -> bool:
        """Adds an operation.

        Args:
            native: what it is.
            context: of the leaf system whose code it is.
            output: where `OUTPUT` goes.

        Returns:
            Whether it could be added; not if an input has no offset in an array of floats.
        """
        key = id(native), id(context), output
        if key not in self._known:
            code = self.resolve(native, context)
            if code is None or (self._is_complex and not has_complex_form(code.operation)):
                return False
            address, integers = address_of(code.operation, self._is_complex), len(self._integers)
            numbers, num_logs = len(self._numbers), len(self.logs)
            for argument in code.arguments:
                if not self._add_argument(argument, context, output):
                    del self._numbers[numbers:], self._integers[integers:], self.logs[num_logs:]
                    return False
            if code.on_stop is not None:
                self.write_backs.append(code.on_stop)
            if code.is_current is not None:
                self.checks.append(code.is_current)
            self.features.update(code.features)
            self.decided_by.update(code.decided_by)
            if code.capacities is not None:
                self.capacities.append((context, code.capacities))
            self.reads_abstract_state = self.reads_abstract_state or code.reads_abstract_state
            self._known[key] = address, integers
        self._append(*self._known[key])
        return True

    def resolve(self, native: NativeCode | ContextualCode | None, context: LeafContext) -> NativeCode | None:
        """What native code is in a Context; None if there is nothing, for now. What was found stays."""
        key = id(native), id(context)
        code = self._codes.get(key)
        if code is None and native is not None and key not in self._postponed:
            code = native.resolve(context)
            if code is not None:
                self._kept.append(native)
            if code is not None and self._is_patient and not _is_ready(code.operation):
                self._postponed.add(key)
                return None
            if code is not None:
                self._codes[key] = code
        return code

    def is_current(self) -> bool:
        """Whether all operations still work on the arrays of their blocks."""
        return all(check() for check in self.checks)

    def may_add_more(self) -> bool:
        """Whether something that was left to Python is an operation by now; to be asked when all has been added."""
        self._postponed.clear()
        return any(self.resolve(native, context) is not None for native, context in self.waiting)

    def slots_read(self, native: NativeCode | ContextualCode | None, context: LeafContext) -> list[CacheSlot]:
        """The cache entries that an operation reads."""
        code = self.resolve(native, context)
        assert code is not None
        return [source for source in code.sources_in(context) if isinstance(source, CacheSlot)]

    def add_updates(self, events: Sequence[tuple[LeafContext, DeclaredEvent]]) -> list[tuple[int, int]]:
        """Adds updates of one leaf system, which can be added; groups that they leave alone keep their values.

        Returns:
            For each group of its discrete state the offset of the next value, and its size.
        """
        context = events[0][0]
        self.add_present_values(context)
        if self._sets_continuous_state(events):
            size, present, following = self._continuous_offsets(context)
            self.add_copy(size, present, following)
        for _, event in events:
            assert event.native is not None
            self.add(event.native, context)
        return [(following, size) for following, (_, size) in self._discrete_offsets(context)]

    def add_present_values(self, context: LeafContext) -> None:
        """Adds copies of the discrete state of a leaf system to the room for the next one."""
        for following, (present, size) in self._discrete_offsets(context):
            self.add_copy(size, present, following)

    def add_commit(self, events: Sequence[tuple[LeafContext, DeclaredEvent]]) -> None:
        """Adds what makes the state of a leaf system what these updates have left in the room for the next one."""
        context = events[0][0]
        for following, (present, size) in self._discrete_offsets(context):
            self.add_copy(size, following, present)
        if self._sets_continuous_state(events):
            size, present, following = self._continuous_offsets(context)
            self.add_copy(size, following, present)

    def _sets_continuous_state(self, events: Sequence[tuple[LeafContext, DeclaredEvent]]) -> bool:
        """Whether operations leave the continuous state in the room for it."""
        codes = [self._code_of(event.native, context) for context, event in events]
        arguments = [argument for code in codes if code is not None for argument in code.arguments]
        return any(argument is NEXT_CONTINUOUS_STATE for argument in arguments)

    def _continuous_offsets(self, context: LeafContext) -> tuple[int, int, int]:
        """Size and offset of the continuous state of a leaf system, and the offset of the room for the next one."""
        room = context.room_for_continuous_state()
        return len(room), context.layout.xc_range[0], self._offset_of(room)

    def _discrete_offsets(self, context: LeafContext) -> list[tuple[int, tuple[int, int]]]:
        """For each group of the discrete state: the offset of its next value, then its own offset and size."""
        offsets = self._offsets.get(context)
        if offsets is None:
            room = context.room_for_update()
            offsets = self._offsets[context] = [
                (self._offset_of(following.value()), (offset, following.size()))
                for following, offset in zip(room.get_data(), context.layout.discrete_offsets)
                if following.size()
            ]
        return offsets

    def _append(self, address: int, start: int) -> None:
        self._addresses.append(address)
        self._starts.append(start)

    def writes_to_log(self, native: NativeCode | ContextualCode | None, context: LeafContext) -> bool:
        """Whether an operation adds to a log."""
        code = self._code_of(native, context)
        return code is not None and any(argument is LOG for argument in code.arguments)

    def can_add(self, native: NativeCode | ContextualCode | None, context: LeafContext) -> bool:
        """Whether there is an operation, and all its inputs are in an array of floats."""
        return self._code_of(native, context) is not None

    def _code_of(self, native: NativeCode | ContextualCode | None, context: LeafContext) -> NativeCode | None:
        key = id(native), id(context)
        if key in self._possible:
            return self._possible[key]
        code = self.resolve(native, context)
        if native is not None and code is None:
            self.waiting.append((native, context))
        if code is not None and self._is_complex and not has_complex_form(code.operation):
            return None
        if code is None or any(offset_of_input(source) is None for source in code.sources_in(context)):
            return None
        if any(argument is LOG for argument in code.arguments) and _log_of(context).native_arrays() is None:
            return None
        self._possible[key] = code
        return code

    def find_operations(self, order: Sequence[CacheSlot]) -> tuple[dict[int, list[CacheSlot]], set[int]]:
        """Which computations are operations, and which of these depend on operations alone.

        Args:
            order: slots, each after those that it depends on.

        Returns:
            For each operation, by the id of its slot, what it reads; and the ids of those without Python upstream.
        """
        operations: dict[int, list[CacheSlot]] = {}
        compiled: set[int] = set()
        for slot in order:
            code = self._code_of(slot.entry.native, slot.context)
            if code is None or any(id(source) not in compiled for source in code.unasked):
                self._left_to_python.add(slot.bit)  # also if it is compiled before the others have been added
                continue
            sources = operations[id(slot)] = list(upstream(slot) if code.sources is None else code.sources)
            if all(id(source) in compiled for source in sources):
                compiled.add(id(slot))
        return operations, compiled

    def add_entry(self, slot: CacheSlot) -> bool:
        """Adds the computation of a cache entry; returns whether that is possible."""
        if slot.bit in self._left_to_python:
            return False
        native, output = slot.entry.native, slot.context.layout.entry_offsets[slot.number]
        return native is not None and self.add(native, slot.context, output or 0)

    def add_copy(self, size: int, source: int, target: int) -> None:
        """Adds a copy of some numbers from one offset to another."""
        key = size, source, target, 0
        if key not in self._known:
            self._known[key] = address_of("copy", self._is_complex), len(self._integers)
            self._integers.extend((size, source, target))
        self._append(*self._known[key])

    def add_callback(
        self,
        callback: Callable[[], int],
        wanted: NDArray[np.int64] | None = None,
        note: NDArray[np.int64] | None = None,
    ) -> None:
        """Adds a function of Python, which returns what it has come to, see tape.py.

        Args:
            callback: the function.
            wanted: whether it is to be called, shape [1], which may change at any time; None if always.
            note: becomes 1 when it is not called, shape [1].
        """
        start = len(self._integers)
        self._integers.extend((id(callback), self.operations.failure.ctypes.data))
        self._kept.append(callback)
        if wanted is None:
            self._append(address_of("call_back", self._is_complex), start)
            return
        assert note is not None
        self._integers.extend((wanted.ctypes.data, note.ctypes.data))
        self._kept += [wanted, note]
        self._append(address_of("call_back_on_demand", self._is_complex), start)

    def finish(self) -> OperationList:
        """Returns the list of operations. When it is called again after more has been added, that is added to the list;
        what was read of its arrays before is not to be used any more."""
        addresses, starts, integers, numbers = self._arrays
        numbers.follow(self._numbers)
        if integers.follow(self._integers):
            starts.forget()
        starts.follow(self._starts, integers.address(), _ITEM)
        addresses.follow(self._addresses)
        self.operations.set(addresses.values(), starts.values(), integers.values(), numbers.values())
        return self.operations

    def _add_argument(self, argument: Any, context: LeafContext, output: int) -> bool:
        if isinstance(argument, _IN_CONTEXT):
            number = offset_in_context(argument, context)
            if number is None:
                return False
        elif isinstance(argument, NextDiscreteStateOf):
            number = self._offset_of(context.room_for_update().value(argument.index))
        elif isinstance(argument, np.ndarray):
            number = len(self._numbers)
            self._numbers.extend(argument.ravel().tolist())
        elif argument is OUTPUT:
            number = output
        elif argument is NEXT_CONTINUOUS_STATE:
            number = self._offset_of(context.room_for_continuous_state())
        elif argument is CONTINUOUS_STATE:
            number = context.layout.xc_range[0]
        elif argument is CURRENT_TIME:
            number = 0
        elif argument is LOG:
            self.logs.append(LogOffsets(context, len(self._integers)))
            self._integers.extend((0, 0, 0))
            number = 0
        elif argument is FAILURE:
            number = self.operations.failure.ctypes.data
        else:
            number = argument
        self._integers.append(number)
        return True

    def _offset_of(self, array: NDArray[Any]) -> int:
        return offset_in(self._store.flat, array)


def _is_ready(operation: Any) -> bool:
    """Whether an operation is on the disk, or Python has done without it for long enough."""
    return is_kept(operation) or pays_to_compile(operation)


def order_of_computation(
    assembly: Assembly, needed: Sequence[CacheSlot], perhaps: Sequence[CacheSlot] = ()
) -> tuple[list[CacheSlot], dict[int, CacheSlot]]:
    """What to compute, and in which order, to bring slots up to date.

    An operation needs all that it depends on. A Python callback may read some of its inputs only now and then, and
    what it does not read must not be computed, since that might raise. But what depends on operations alone may
    always be computed beforehand.

    Args:
        assembly: says what is an operation.
        needed: slots that are needed in any case.
        perhaps: slots that may be needed.

    Returns:
        Slots, each after those that it depends on; and for each the first one found to need it, see trace_upstream.
    """
    order, needed_by = trace_upstream([*needed, *perhaps])
    operations, compiled = assembly.find_operations(order)
    wanted = {id(slot) for slot in needed}
    for slot in reversed(order):
        if id(slot) in wanted and id(slot) in operations:
            wanted.update(id(source) for source in operations[id(slot)])
    chosen = [slot for slot in order if id(slot) in wanted or id(slot) in compiled]
    # Operations read past copies; these are only made where Python may look.
    looked_at = {id(slot) for slot in (*needed, *perhaps)}
    for slot in order:
        if id(slot) not in operations:
            looked_at.update((id(slot), *(id(source) for source in upstream(slot))))
    return [slot for slot in chosen if id(slot) in looked_at or _origin(slot) is None], needed_by


def _origin(slot: CacheSlot) -> int | None:
    """The offset of which the value of a cache entry is only a copy; None if it is not, or that has no offset."""
    native, context = slot.entry.native, slot.context
    if isinstance(native, BoundNativeFunction) and native.may_copy:
        native = native.resolve(context)
    if not isinstance(native, NativeCode) or native.operation != "copy":
        return None
    origin, layout = native.arguments[1], context.layout
    if origin is CONTINUOUS_STATE:
        return layout.xc_range[0]
    if isinstance(origin, ParameterOf):
        return layout.numeric_offsets[origin.index]
    if isinstance(origin, DiscreteStateOf):
        return layout.discrete_offsets[origin.index]
    return offset_of_input(context.sources[origin.port_index]) if isinstance(origin, InputOf) else None


_IN_CONTEXT = InputOf, ValueOf, EntryOf, ParameterOf, DiscreteStateOf


def offset_in_context(argument: Any, context: LeafContext) -> int | None:
    """The offset for which one of these arguments of an operation stands; None if it is not in the flat array."""
    if isinstance(argument, ParameterOf):
        return context.layout.numeric_offsets[argument.index]
    if isinstance(argument, DiscreteStateOf):
        return context.layout.discrete_offsets[argument.index]
    if isinstance(argument, ValueOf):
        return offset_of_input(argument.source)
    is_input = isinstance(argument, InputOf)
    return offset_of_input(context.sources[argument.port_index] if is_input else context.slots[argument.index])


def offset_of_input(source: Any) -> int | None:
    """Where in the flat array the value of an input port is; None if it is elsewhere.

    What only copies another offset (states at output ports, parameters, passed-through inputs) stands for that offset.
    """
    if isinstance(source, CacheSlot):
        origin = _origin(source)
        return source.context.layout.entry_offsets[source.number] if origin is None else origin
    if isinstance(source, FixedInputPortValue):
        return source.context.layout.free_offsets[source.index]
    return None
