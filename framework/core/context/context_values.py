"""All values of a Context that do not follow from others, taken out of it and put back; how Contexts are pickled.

A Checkpoint has those that events may change, where a call that fails returns to.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.values.values import AbstractValue, BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[Any]


@dataclasses.dataclass
class ContextValues:
    """What determines everything else in a root Context.

    Attributes:
        time: [s].
        accuracy: what results should have, if anybody asked for one.
        numbers: continuous state, discrete groups and numeric parameter groups, in this order.
        abstract: abstract state variables, then abstract parameters.
        fixed: (number of the context depth first, input port, value) of each fixed input.
        kept: values that are stored with the Context, such as logs.
    """

    time: Any
    accuracy: float | None
    numbers: list[Array]
    abstract: list[AbstractValue]
    fixed: list[tuple[int, int, Any]]
    kept: list[AbstractValue]


def take_values(context: Context) -> ContextValues:
    """The values of a root context; arrays are copies, abstract values are shared with it."""
    fixed = [
        (number, index, source.value._values.copy() if isinstance(source.value, BasicVector) else source.value)
        for number, part in enumerate(context.parts())
        for index, source in enumerate(part.sources)
        if isinstance(source, FixedInputPortValue) and source.context is part
    ]
    return ContextValues(
        time=context.store.flat[0],
        accuracy=context.store.accuracy,
        numbers=[array.copy() for array in context._numbers()],
        abstract=_abstract_boxes(context),
        fixed=fixed,
        kept=kept_boxes(context),
    )


def put_values(context: Context, values: ContextValues) -> None:
    """Overwrites the values of a new root context of a system of the same structure; takes over abstract values."""
    store = context.store
    for array, numbers in zip(context._numbers(), values.numbers):
        array[:] = numbers
    boxes, taken = _abstract_boxes(context) + kept_boxes(context), values.abstract + values.kept
    for box, value in zip(boxes, taken):
        box.set_value(value.get_value())
    parts = context.parts()
    for number, index, value in values.fixed:
        parts[number].fix_input(index, value)
    store.accuracy = values.accuracy
    store.flat[0] = values.time
    store.change((1 << store.layout.num_entries) - 1, context)


def reduce_context(context: Context) -> tuple[Any, ...]:
    """How `pickle` takes a Context apart: its system, and its values; one of a subsystem, by its whole."""
    parent = context.parent
    if parent is not None:
        return _part_of, (parent, parent._children.index(context))
    return _rebuilt, (context.system, context.store.flat.dtype, take_values(context))


def _part_of(context: Any, index: int) -> Context:
    return context._children[index]


def _rebuilt(system: Any, dtype: Any, values: ContextValues) -> Context:
    context = system._make_context(dtype)
    put_values(context, values)
    return context


def _abstract_boxes(context: Context) -> list[AbstractValue]:
    return [*context._abstract_state._items, *context._parameters._abstract._items]


def kept_boxes(context: Context) -> list[Any]:
    """What is stored with a root context, such as logs."""
    return [slot.value for slot in context.store.slots if slot.entry.is_storage]


class Checkpoint:
    """What events may change in a root context: its numbers, its abstract state, and the samples in its logs.

    Args:
        context: as it is now.
        with_abstract_state: whether the abstract state may change.
    """

    __slots__ = ("_abstract_state", "_context", "_log_lengths", "_numbers")

    def __init__(self, context: Context, with_abstract_state: bool) -> None:
        self._context = context
        self._numbers = context.store.flat.copy()
        self._abstract_state = context._abstract_state.Clone() if with_abstract_state else None
        self._log_lengths: list[tuple[Any, int]] = []
        for box in kept_boxes(context):
            log = box.get_value()
            if hasattr(log, "keep_first"):
                self._log_lengths.append((log, log.num_samples()))

    def restore(self) -> None:
        """Makes the context what it was; samples that were added are taken out of the logs."""
        store = self._context.store
        store.flat[:] = self._numbers
        if self._abstract_state is not None:
            self._context._abstract_state.SetFrom(self._abstract_state)
        for log, length in self._log_lengths:
            log.keep_first(length)
        store.change((1 << store.layout.num_entries) - 1, self._context)
