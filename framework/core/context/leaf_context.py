"""LeafContext: the values of one leaf system and the slots of its cache; and how a tree of contexts is made.

DiagramContext is a view of the values of all subsystems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.dependencies import ELSEWHERE
from merganser.framework.core.context.layout import LeafLayout, RootLayout, SystemLayout
from merganser.framework.core.context.store import CacheSlot, FixedInputPortValue, Store
from merganser.framework.core.values.state import AbstractValues, DiscreteValues, Parameters, State
from merganser.framework.core.values.values import AbstractValue, BasicVector

Array = NDArray[Any]
_ELSEWHERE_NODE = 1 << ELSEWHERE


class LeafContext(Context):
    """The context of a leaf system.

    Attributes (see inside.py; besides those of every Context):
        slots: of the cache entries of the system, in their order.
        workspace: room for a system that computes on arrays of its own; what it is, the system says.
    """

    layout: LeafLayout
    slots: list[CacheSlot]
    workspace: Any = None

    # Most blocks have only some of these; what is empty is the same for all.
    _discrete = DiscreteValues()
    _abstract_state = AbstractValues()
    _parameters = Parameters()
    derivative_slots: Sequence[CacheSlot] = ()

    # Room for the results of updates, made when first needed, and its discrete state as one array.
    _next_discrete: DiscreteValues | None = None
    _next_xd: Array
    _next_state: State | None = None
    _next_xc: Array | None = None
    _next_state_xd: Array

    def __init__(self, store: Store, layout: LeafLayout, parent: DiagramContext | None) -> None:
        super().__init__(store, layout, parent)
        system, flat = layout.system, store.flat
        continuous = system._sys_continuous_model
        if type(continuous) is not BasicVector and continuous.size():  # a class of the user's
            for state in (self._xc, self._xcdot):
                state._vector = continuous._view_of(state._vector._get())
        start, end = layout.xd_range
        self._xd = flat[start:end]
        if system._sys_discrete_models:
            self._discrete = self._discrete_in(self._xd)
        if system._sys_abstract_state_models:
            self._abstract_state = AbstractValues([model.Clone() for model in system._sys_abstract_state_models])
        if system._sys_numeric_parameter_models or system._sys_abstract_parameter_models:
            self._parameters = Parameters(
                [
                    _view(m, flat, offset)
                    for m, offset in zip(system._sys_numeric_parameter_models, layout.numeric_offsets)
                ],
                [model.Clone() for model in system._sys_abstract_parameter_models],
            )
        self.slots = [CacheSlot(store, self, entry, number) for number, entry in enumerate(system._sys_cache_entries)]
        if system._sys_xcdot_entry is not None:
            self.derivative_slots = (self.slots[system._sys_xcdot_entry],)
        store.slots.extend(self.slots)

    # ------------------------------------------------------------------ updates

    def _discrete_in(self, values: Array) -> DiscreteValues:
        """The groups of the discrete state, as views of an array of all their elements."""
        first = self.layout.xd_range[0]
        models, offsets = self.layout.system._sys_discrete_models, self.layout.discrete_offsets
        return DiscreteValues([_view(model, values, offset - first) for model, offset in zip(models, offsets)])

    def room_for_update(self) -> DiscreteValues:
        """The room in which discrete updates leave their results; compiled ones write there too."""
        if self._next_discrete is None:
            self._next_xd = self._xd.copy()
            self._next_discrete = self._discrete_in(self._next_xd)
        return self._next_discrete

    def room_for_continuous_state(self) -> Array:
        """The room in which compiled unrestricted updates leave the continuous state."""
        if self._next_xc is None:
            self._next_xc = self._xc._vector._values.copy()
        return self._next_xc

    def _copied_discrete_values(self) -> DiscreteValues:
        """A copy of the discrete state, in room that is kept for it."""
        room = self._next_discrete or self.room_for_update()
        self._next_xd[:] = self._xd
        return room

    def _copied_state(self) -> State:
        """A copy of the whole state, in room that is kept for it."""
        state = self._next_state
        if state is None:
            self._next_state_xd = self._xd.copy()
            groups = self._discrete_in(self._next_state_xd)
            state = self._next_state = State(self._xc._detached(), groups, self._abstract_state.Clone())
            return state
        if len(self._xc._vector._values):
            state._continuous._vector._values[:] = self._xc._vector._values
        self._next_state_xd[:] = self._xd
        for box, present in zip(state._abstract._items, self._abstract_state._items):
            box.SetFrom(present)
        return state

    def take_over(self, values: DiscreteValues | State) -> None:
        """Makes the state what an update has left in the room for it."""
        down = self.layout.down
        if values is self._next_discrete:
            self.store.change(down["xd"], self)
            self._xd[:] = self._next_xd
            return
        assert isinstance(values, State) and values is self._next_state
        self.store.change(down["xc"] | down["xd"] | down["xa"], self)
        if len(self._xc._vector._values):
            self._xc._vector._values[:] = values._continuous._vector._values
        self._xd[:] = self._next_state_xd
        for box, following in zip(self._abstract_state._items, values._abstract._items):
            box.SetFrom(following)

    def read_input(self, index: int) -> BasicVector | AbstractValue | None:
        store = self.store
        reader = store.reader
        store.reads |= self.layout.input_bits[index] if reader is self or reader is None else _ELSEWHERE_NODE
        source = self.sources[index]
        if source is None:
            return None
        if store.invalid & source.bit:
            source.compute()
        value = source.made
        return source.value if value is None else value

    def read_entry(self, number: int) -> Any:
        """The value of cache entry `number`, brought up to date: a BasicVector or an AbstractValue."""
        slot = self.slots[number]
        store = self.store
        reader = store.reader
        store.reads |= 1 << slot.entry.node if reader is self or reader is None else _ELSEWHERE_NODE
        if store.invalid & slot.bit:
            slot.compute()
        value = slot.made
        return slot.value if value is None else value

    def has_input(self, index: int) -> bool:
        self.store.note_read(self, self.layout.input_bits[index])
        return self.sources[index] is not None

    # A single group, variable or parameter is read and changed without touching what depends on the others.

    def _read_node(self, group: str, index: int) -> None:
        self.store.note_read(self, 1 << self.layout.group_nodes[group][index])

    def _change_node(self, group: str, index: int) -> None:
        layout = self.layout
        self.store.change(layout.down_nodes[layout.group_nodes[group][index]], self)

    @overload
    def get_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_discrete_state(self, index: int) -> BasicVector: ...
    def get_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        if index is None:
            return super().get_discrete_state()
        vector = self._item(self._discrete, index, "discrete state group")
        self._read_node("xd", index)
        return vector

    @overload
    def get_mutable_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_mutable_discrete_state(self, index: int) -> BasicVector: ...
    def get_mutable_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        if index is None:
            return super().get_mutable_discrete_state()
        vector = self._item(self._discrete, index, "discrete state group")
        self._change_node("xd", index)
        return vector

    @overload
    def get_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_abstract_state(self, index: int) -> AbstractValue: ...
    def get_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        if index is None:
            return super().get_abstract_state()
        value = self._item(self._abstract_state, index, "abstract state")
        self._read_node("xa", index)
        return value

    @overload
    def get_mutable_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_mutable_abstract_state(self, index: int) -> AbstractValue: ...
    def get_mutable_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        if index is None:
            return super().get_mutable_abstract_state()
        value = self._item(self._abstract_state, index, "abstract state")
        self._change_node("xa", index)
        return value

    def get_numeric_parameter(self, index: int) -> BasicVector:
        vector = self._item(self._parameters._numeric, index, "numeric parameter")
        self._read_node("pn", index)
        return vector

    def get_mutable_numeric_parameter(self, index: int) -> BasicVector:
        vector = self._item(self._parameters._numeric, index, "numeric parameter")
        self._change_node("pn", index)
        return vector

    def get_abstract_parameter(self, index: int) -> AbstractValue:
        value = self._item(self._parameters._abstract, index, "abstract parameter")
        self._read_node("pa", index)
        return value

    def get_mutable_abstract_parameter(self, index: int) -> AbstractValue:
        value = self._item(self._parameters._abstract, index, "abstract parameter")
        self._change_node("pa", index)
        return value


def _view(model: BasicVector, flat: Array, offset: int) -> BasicVector:
    """A vector of the model's type that is a window into the flat array."""
    return model._view_of(flat[offset : offset + model.size()])


class DiagramContext(Context):
    """The context of a Diagram: a view of the values of all its subsystems."""

    def __init__(self, store: Store, layout: SystemLayout, parent: DiagramContext | None) -> None:
        super().__init__(store, layout, parent)
        children = [_make_subcontext(store, child, self) for child in layout.children]
        self._children = children
        self.derivative_slots = [slot for c in children for slot in c.derivative_slots]
        self._discrete = DiscreteValues([group for c in children for group in c._discrete._items])
        self._abstract_state = AbstractValues([value for c in children for value in c._abstract_state._items])
        self._parameters = Parameters(
            [group for c in children for group in c._parameters._numeric._items],
            [value for c in children for value in c._parameters._abstract._items],
        )

    @overload
    def get_mutable_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_mutable_discrete_state(self, index: int) -> BasicVector: ...
    def get_mutable_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        if index is None:
            return super().get_mutable_discrete_state()
        self._item(self._discrete, index, "discrete state group")  # checks the index
        for child in self._children:
            groups = child._discrete.num_groups()
            if index < groups:
                return child.get_mutable_discrete_state(index)
            index -= groups
        raise AssertionError("an index that was checked belongs to a child")

    def _route_input(self, index: int, source: Any) -> None:
        super()._route_input(index, source)
        for child_index, port_index in self.system._sys_input_targets[index]:  # type: ignore[attr-defined]
            child = self._children[child_index]
            current = child.sources[port_index]
            if not (isinstance(current, FixedInputPortValue) and current.context is child):
                child._route_input(port_index, source)

    def parts(self) -> list[Context]:
        return [self, *(context for child in self._children for context in child.parts())]


def make_context(
    layout: RootLayout, dtype: Any = np.float64, scalar: type[Any] | None = None, flat: Any = None
) -> Context:
    """Makes a root context with all values at zero or at their models'; nothing is connected to free inputs.

    Args:
        layout: of the system.
        dtype, scalar, flat: see Store.
    """
    store = Store(layout, dtype, scalar, flat)
    context = _make_subcontext(store, layout.top, None)
    slots = store.slots
    for part in context.parts():
        numbers = part.layout.source_slots
        if numbers:
            part.sources = [None if number is None else slots[number] for number in numbers]
    return context


def _make_subcontext(store: Store, layout: SystemLayout, parent: DiagramContext | None) -> Context:
    if isinstance(layout, LeafLayout):
        return LeafContext(store, layout, parent)
    return DiagramContext(store, layout, parent)
