"""DiagramContext: a view of the values of all subsystems; and how a tree of contexts is made."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.layout import LeafLayout, RootLayout, SystemLayout
from merganser.framework.core.context.leaf_context import LeafContext
from merganser.framework.core.context.store import FixedInputPortValue, Store
from merganser.framework.core.values.state import AbstractValues, DiscreteValues, Parameters
from merganser.framework.core.values.values import BasicVector


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
