"""Context: the values of a System (time, state, parameters, fixed inputs) and the cache of what follows from them."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import UnconnectedInputError
from merganser.framework.core.context.context_state import ACCEPTED, XC_NODES, StateAndParameters, text_of_context
from merganser.framework.core.context.context_values import put_values, reduce_context, save_context, take_values
from merganser.framework.core.context.dependencies import ACCURACY, ELSEWHERE, TIME
from merganser.framework.core.context.derivatives import Evaluator
from merganser.framework.core.context.layout import SystemLayout
from merganser.framework.core.context.store import CacheSlot, FixedInputPortValue, Store
from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.values.state import ContinuousState, _window
from merganser.framework.core.values.values import AbstractValue, BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import DiagramContext
    from merganser.framework.core.system.system_base import SystemBase

Array = NDArray[Any]
_TIME_NODE, _ELSEWHERE_NODE = 1 << TIME, 1 << ELSEWHERE


class Context(StateAndParameters):
    """The values of one System; made by `System.CreateDefaultContext`.

    A `get_mutable_...` call counts as a change of what it returns: everything computed from that is computed again
    when next asked for. Do not keep what it returned for later changes.

    Attributes (for the packages of this project, see inside.py; users have the functions):
        system: whose values these are.
        layout: where they are in the numbers of the whole tree of contexts, and what depends on them.
        store: the numbers of the whole tree, and what of them is out of date.
        parent: the context of the Diagram around; None for a root.
        sources: for each input port a CacheSlot, a FixedInputPortValue, or None.
        derivative_slots: the slots of the time derivatives of each leaf system at or below this one.
    """

    parent: DiagramContext | None
    sources: list[Any]
    derivative_slots: Sequence[CacheSlot]
    _xcdot: ContinuousState
    _derivative_evaluator: Evaluator | None = None

    def __init__(self, store: Store, layout: SystemLayout, parent: DiagramContext | None) -> None:
        self.store = store
        self.system = layout.system
        self.layout = layout
        self.parent = parent
        self.sources = [None] * len(layout.sources)
        start, end = layout.xc_range
        if start == end:
            self._xc = self._xcdot = store.no_continuous_state
        else:
            shift = store.layout.num_xc
            self._xc = ContinuousState._of(_window(store.flat[start:end]), layout)
            self._xcdot = ContinuousState._of(_window(store.flat[start + shift : end + shift]), layout)

    # ------------------------------------------------------------------ time and accuracy

    def get_time(self) -> float:
        """Returns the time [s]."""
        store = self.store
        reader = store.reader
        store.reads |= _TIME_NODE if reader is self or reader is None else _ELSEWHERE_NODE
        return store.flat.item(0)

    def SetTime(self, time_sec: float) -> None:
        """Sets the time [s] of a root context.

        Raises:
            TypeError: the time is no number.
            ValueError: the time is nan.
            RuntimeError: this is the context of a subsystem, or a Simulator is advancing it.
        """
        self._put_time_of_user("SetTime", time_sec)

    def put_time(self, time: Any) -> None:
        """Sets the time of the whole tree of contexts [s], unchecked (inside.py)."""
        self.store.change(self.layout.down["time"], self)
        self.store.flat[0] = time

    def get_accuracy(self) -> float | None:
        """Returns the accuracy that results should have, if anybody asked for one."""
        self.store.note_read(self, 1 << ACCURACY)
        return self.store.accuracy

    def SetAccuracy(self, accuracy: float | None) -> None:
        """Asks for results of the given accuracy; meaningful to systems that approximate."""
        self.require_root("SetAccuracy")
        if accuracy is not None and not (isinstance(accuracy, (int, float, np.number)) and accuracy > 0.0):
            raise ValueError(
                f"SetAccuracy of the context of '{self.system.GetSystemPathname()}': expected a positive number or "
                f"None, got {accuracy!r}."
            )
        self.store.change(self.layout.down["accuracy"], self)
        self.store.accuracy = accuracy

    # ------------------------------------------------------------------ continuous state

    def num_continuous_states(self) -> int:
        """Number of continuous state variables."""
        return self._xc.size()

    def get_continuous_state(self) -> ContinuousState:
        """Returns the continuous state."""
        self.store.note_read(self, XC_NODES)
        return self._xc

    def get_continuous_state_vector(self) -> BasicVector:
        """Returns the continuous state as one vector."""
        store = self.store
        reader = store.reader
        store.reads |= XC_NODES if reader is self or reader is None else _ELSEWHERE_NODE
        return self._xc._vector

    def get_mutable_continuous_state(self) -> ContinuousState:
        """Returns the continuous state for changing it."""
        self.store.change(self.layout.down["xc"], self)
        return self._xc

    def get_mutable_continuous_state_vector(self) -> BasicVector:
        """Returns the continuous state as one vector for changing it."""
        self.store.change(self.layout.down["xc"], self)
        return self._xc._vector

    def SetContinuousState(self, xc: ArrayLike) -> None:
        """Sets all continuous state variables, shape [num_continuous_states]."""
        values = self._checked(xc, self._xc.size(), "continuous state")
        self.store.change(self.layout.down["xc"], self)
        self._xc._vector._values[:] = values

    def SetTimeAndContinuousState(self, time_sec: float, xc: ArrayLike) -> None:
        """Sets time [s] and all continuous state variables."""
        self.require_root("SetTimeAndContinuousState")
        values = self._checked(xc, self._xc.size(), "continuous state")
        self._put_time_of_user("SetTimeAndContinuousState", time_sec)
        self.SetContinuousState(values)

    def _read_derivatives(self) -> ContinuousState:
        """The time derivatives of the continuous state, brought up to date."""
        self.store.note_read(self, self.layout.xcdot_nodes)
        self.derivative_evaluator().update()
        return self._xcdot

    def derivative_evaluator(self) -> Evaluator:
        """What brings the time derivatives up to date, over and over again (inside.py)."""
        if self._derivative_evaluator is None:
            slots = [slot for slot in self.derivative_slots if slot.entry.vector_size]
            self._derivative_evaluator = Evaluator(self, slots)
        return self._derivative_evaluator

    # ------------------------------------------------------------------ copies

    def Clone(self) -> Context:
        """Returns an independent copy of a root context: time, accuracy, state, parameters, fixed inputs and logs.

        Other computed values are not copied but computed again when asked for.
        """
        return self._clone()

    def _clone(self, flat: Any = None) -> Context:
        """Such a copy, whose numbers are in an array of zeros that is given."""
        from merganser.framework.core.context.leaf_context import make_context

        self.require_root("Clone")
        store = self.store
        clone = make_context(store.layout, store.flat.dtype, flat=flat)
        clone.store.flat[:] = store.flat
        clone._abstract_state.SetFrom(self._abstract_state)
        clone._parameters._abstract.SetFrom(self._parameters._abstract)
        clone.copy_fixed_inputs_from(self)
        clone.store.accuracy = store.accuracy
        for mine, copied in zip(store.slots, clone.store.slots):
            if mine.entry.is_storage:
                copied.value.SetFrom(mine.value)  # type: ignore[arg-type]
        return clone

    def __copy__(self) -> Context:
        return self.Clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Context:
        if self.parent is not None:  # a part goes with its whole
            copied_part: Context = copy.deepcopy(self.parent, memo)._children[self.parent._children.index(self)]
            return copied_part
        copied_system = memo.get(id(self.system))
        if copied_system is None:
            return self.Clone()
        # The system has been copied just before, so that the copy of its context goes with the copied system.
        clone = copied_system._make_context(self.store.flat.dtype, self.store.scalar)
        put_values(clone, copy.deepcopy(take_values(self), memo))
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_context(self)

    def Save(self, path: str | os.PathLike[str], allow_pickle: bool = False) -> None:
        """Writes time, accuracy, state, parameters, fixed inputs and logs of a root context to a file.

        `LoadContext(system, path)` makes a context of it again; a simulation that goes on from there takes the same
        steps, bit for bit, as one that goes on from this context.

        Args:
            path: of the file, a NumPy archive (usually `.npz`); it is replaced if it exists.
            allow_pickle: whether to pickle abstract values of types that have no other form.

        Raises:
            RuntimeError: this is the context of a subsystem.
            TypeError: an abstract value can only be pickled, or the scalars are no numbers; no file is written.
        """
        self.require_root("Save")
        save_context(self, path, allow_pickle)

    def SetTimeStateAndParametersFrom(self, source: Context) -> None:
        """Takes over time, accuracy, state and parameters, but no fixed inputs, from a context of the same system.

        It may also be one of that system converted to another scalar type. Of an AutoDiffXd then only the value is
        taken over.

        Raises:
            ValueError: the source has another structure.
            RuntimeError: this is the context of a subsystem; or a source of expressions has one of variables.
        """
        self.require_root("SetTimeStateAndParametersFrom")
        self._require_context(source)
        time = source.store.flat[:1]
        if self._takes_other_scalars_than(source):
            time = cast_array(time, self._scalar_type())
        self._require_time(time[0], "SetTimeStateAndParametersFrom")
        self._copy_values_from(source)
        self.put_time(time[0])
        self.store.accuracy = source.store.accuracy

    def SetStateAndParametersFrom(self, source: Context) -> None:
        """Takes over state and parameters from a context of the same system, or of one of another scalar type."""
        self._require_context(source)
        self._copy_values_from(source)

    def _require_context(self, source: Any) -> None:
        if not isinstance(source, Context):
            raise TypeError(
                f"The context of system '{self.system.GetSystemPathname()}' takes over values from another Context; "
                f"got {type(source).__name__}."
            )

    def _copy_values_from(self, source: Context) -> None:
        """Takes over state and parameters."""
        mine, theirs = self._numbers(), source._numbers()
        if self._takes_other_scalars_than(source):
            theirs = [cast_array(values, self._scalar_type()) for values in theirs]
        if [m.shape for m in mine] != [t.shape for t in theirs]:
            raise ValueError(
                f"The source context (of '{source.system.GetSystemPathname()}') has another structure than this "
                f"context of '{self.system.GetSystemPathname()}'."
            )
        down = self.layout.down
        self.store.change(down["xc"] | down["xd"] | down["xa"] | down["pn"] | down["pa"], self)
        # Parameters first, which may refuse others.
        self._parameters._abstract.SetFrom(source._parameters._abstract)
        self._abstract_state.SetFrom(source._abstract_state)
        for to, values in zip(mine, theirs):
            to[:] = values

    def _scalar_type(self) -> type[Any]:
        """The type of all scalars here; complex numbers count as floats."""
        return scalar_of_array(self.store.flat)

    def _takes_other_scalars_than(self, source: Context) -> bool:
        """Whether scalars of `source` must be cast to become some of this context."""
        return source.store.flat.dtype == object and source._scalar_type() is not self._scalar_type()

    def _numbers(self) -> list[Array]:
        """All numbers of state and parameters, as views."""
        vectors = [self._xc._vector, *self._discrete._items, *self._parameters._numeric._items]
        return [vector._values for vector in vectors]

    def copy_fixed_inputs_from(self, source: Context) -> None:
        """Fixes what is fixed in another context of the system (inside.py)."""
        for theirs, mine in zip(source.parts(), self.parts()):
            for index, fixed in enumerate(theirs.sources):
                if isinstance(fixed, FixedInputPortValue) and fixed.context is theirs:
                    value = fixed.value._values if isinstance(fixed.value, BasicVector) else fixed.value.Clone()
                    mine.fix_input(index, value)

    # ------------------------------------------------------------------ inputs

    def num_input_ports(self) -> int:
        """Number of input ports of the system."""
        return len(self.sources)

    def num_output_ports(self) -> int:
        """Number of output ports of the system."""
        return self.system.num_output_ports()

    def read_input(self, index: int) -> BasicVector | AbstractValue | None:
        """The current value of input port `index`, or None if it has none."""
        source = self.sources[index]
        if source is None:
            return None
        if source.store.invalid & source.bit:
            source.compute()
        value = source.made
        return source.value if value is None else value

    def has_input(self, index: int) -> bool:
        """Whether input port `index` has a value."""
        return self.sources[index] is not None

    def require_input(self, index: int) -> BasicVector | AbstractValue:
        """The current value of input port `index`.

        Raises:
            UnconnectedInputError: it has none.
        """
        value = self.read_input(index)
        if value is None:
            port = self.system._sys_input_ports[index]
            raise UnconnectedInputError(
                f"{port.GetFullDescription()} is not connected. Connect it, or give it a value with "
                "port.FixValue(context, value)."
            )
        return value

    def fix_input(self, index: int, value: Any) -> FixedInputPortValue:
        """Gives input port `index` the value; it overrides a connection. `value` has been checked by the port."""
        self.store.change(self.layout.down_inputs[index], self)
        if isinstance(value, AbstractValue):
            fixed = FixedInputPortValue(self, index, value)
        else:
            offset = self.layout.free_offsets[index]
            flat = self.store.flat
            room = np.empty(len(value), flat.dtype) if offset is None else flat[offset : offset + len(value)]
            room[:] = value
            model = self.system._sys_input_ports[index]._model
            fixed = FixedInputPortValue(self, index, _window(room) if model is None else model._view_of(room))
        self._route_input(index, fixed)
        return fixed

    def _route_input(self, index: int, source: Any) -> None:
        """Makes `source` feed input port `index`."""
        previous, self.sources[index] = self.sources[index], source
        if not (isinstance(previous, FixedInputPortValue) and previous.has_place_of(source)):
            self.store.routing += 1

    # ------------------------------------------------------------------ helpers

    def part_of(self, system: SystemBase) -> Any:
        """The part of this context that belongs to `system`, this one or one inside at any depth; None for others."""
        layout = self.layout.root.layout_of(system)
        numbers = []
        while layout is not None and layout is not self.layout:
            numbers.append(layout.number)
            layout = layout.parent
        if layout is None:
            return None
        context: Any = self
        for number in reversed(numbers):
            context = context._children[number]
        return context

    def parts(self) -> list[Context]:
        """This context and all below it, depth first."""
        return [self]

    def require_root(self, what: str) -> None:
        """Raises a RuntimeError that says what was asked for, if this is the context of a subsystem."""
        if self.parent is not None:
            raise RuntimeError(
                f"{what}: the context of subsystem '{self.system.GetSystemPathname()}' cannot do this by itself; "
                "call it on the context of the whole diagram."
            )

    def _put_time_of_user(self, what: str, time: Any) -> None:
        self.require_root(what)
        time = self._checked_time(time)
        self._require_time(time, what)
        self.put_time(time)

    def _require_time(self, time: Any, what: str) -> None:
        """Refuses another time than that of a simulation in progress."""
        if self.store.is_advancing and time != self.store.flat[0]:
            raise RuntimeError(
                f"{what}: a callback or monitor of a simulation cannot set the time of system "
                f"'{self.system.GetSystemPathname()}', as its Simulator advances it. End the advance (return "
                "EventStatus.ReachedTermination), set the time, and call Initialize."
            )

    def _checked_time(self, time: Any) -> Any:
        if isinstance(time, float):
            if time != time:
                raise ValueError("SetTime: the time must be a number, got nan.")
            return time
        accepted = ACCEPTED.get(self.store.flat.dtype.kind)
        if accepted and (np.ndim(time) or np.asarray(time).dtype.kind not in accepted):
            raise TypeError(
                f"SetTime of the context of '{self.system.GetSystemPathname()}': the time is a number, got {time!r}."
            )
        return time

    def __repr__(self) -> str:
        return (
            f"<Context of '{self.system.GetSystemPathname()}': time {self.store.flat[0]}, "
            f"{self._xc.size()} continuous, {len(self._discrete._items)} discrete groups, "
            f"{self._abstract_state.size()} abstract>"
        )

    def __str__(self) -> str:
        return text_of_context(self)
