"""Whether two Contexts of one system are alike for compiled code, and the offsets of numbers that differ."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, PortDataType
from merganser.framework.core.context.leaf_context import LeafContext
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.inside import declared_events
from merganser.framework.core.values.values import AbstractValue, BasicVector

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker

Array = NDArray[Any]


def routing_of(context: Context) -> list[Any]:
    """The source of each input port of a root context and all below, comparable for contexts of one system."""
    routing: list[Any] = []
    for part in context.parts():
        for source in part.sources:
            if isinstance(source, FixedInputPortValue):
                is_vector = isinstance(source.value, BasicVector)
                routing.append((id(source.context.layout), source.index, is_vector))
            else:
                routing.append(None if source is None else source.bit)
    return routing


def may_read_abstract_values(context: Context) -> bool:
    """Whether compiled operations in a root context may depend on abstract values."""
    return any(map(_may_read, context.parts()))


def _may_read(context: Context) -> bool:
    if not isinstance(context, LeafContext):
        return False
    system: Any = context.system
    is_native = any(entry.native is not None for entry in system._sys_cache_entries) or any(
        event.native is not None for _, event in declared_events(system, context)
    )
    kinds = (port.get_data_type() for port in system._sys_input_ports)
    reads = any(
        kind is PortDataType.kAbstractValued and source is not None for kind, source in zip(kinds, context.sources)
    )
    return is_native and (reads or context.num_abstract_parameters() > 0)


def have_same_abstract_values(one: Context, other: Context) -> bool:
    """Whether abstract parameters and fixed inputs of two contexts of a system are known to be the same."""
    mine, others = (context.peek_parameters().get_abstract_parameter for context in (one, other))
    parameters = all(are_same(mine(i), others(i)) for i in range(one.num_abstract_parameters()))
    return parameters and all(map(are_same, _abstract_inputs(one), _abstract_inputs(other)))


def _abstract_inputs(context: Context) -> list[Any]:
    """The values of abstract-valued input ports of a root context, and of all below, that are fixed."""
    sources = [source for part in context.parts() for source in part.sources if isinstance(source, FixedInputPortValue)]
    return [source.value for source in sources if not isinstance(source.value, BasicVector)]


def are_same(one: Any, other: Any) -> bool:
    """Whether two values are known to have the same content."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype != object and np.array_equal(one, other)
    with contextlib.suppress(Exception):  # arrays within have no single answer
        if one == other:  # half the time
            return True
    if isinstance(one, AbstractValue):
        return are_same(one.get_value(), other.get_value())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(are_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(are_same(value, other[key]) for key, value in one.items())
    if type(one).__eq__ is object.__eq__ or dataclasses.is_dataclass(one):
        # The names of all attributes that an object has of its own
        slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
        names = [*slots, *getattr(one, "__dict__", ())]
        return bool(names) and all(are_same(getattr(one, n, None), getattr(other, n, None)) for n in names)
    return False


def fits(context: Context, worker: BatchWorker) -> bool:
    """Whether a worker runs the simulation of a context as it is."""
    mine, store = worker.context.store, context.store
    return (
        store.layout is mine.layout
        and store.flat.dtype == mine.flat.dtype
        and not store.computing
        and store.accuracy == mine.accuracy
        and routing_of(context) == worker.routing
        and all(slot.clearing != -1 for slot in store.slots)
        and bool(worker.suits(store.flat[None, worker.offsets]).all())
        and (not worker.may_read_abstract_values or have_same_abstract_values(context, worker.context))
    )


def abstract_state_of(context: Context) -> list[Any]:
    """The boxes of the abstract state of a root context; reading them changes nothing."""
    abstract = context.peek_state().get_abstract_state()
    return [abstract.get_value(n) for n in range(abstract.size())]


def independent_offsets(context: Context) -> Array:
    """Places in the flat array of a root context that hold time, state, numeric parameters and fixed inputs."""
    flat = context.store.flat
    mask = np.zeros(len(flat), dtype=bool)
    mask[result_offsets(context)] = True
    for leaf in context.layout.leaves():
        mask[slice(*leaf.numeric_range)] = True
    for part in context.parts():
        for index, source in enumerate(part.sources):
            offset = part.layout.free_offsets[index]
            if isinstance(source, FixedInputPortValue) and source.context is part and offset is not None:
                assert isinstance(source.value, BasicVector)  # as only vectors have a place there
                mask[offset : offset + source.value.size()] = True
    return np.flatnonzero(mask)


def result_offsets(context: Context) -> Array:
    """Places in the flat array of a root context that hold time, continuous state and discrete state, in this order."""
    layout = context.store.layout
    offsets = list(range(1 + layout.num_xc))
    for leaf in layout.leaf_list:
        offsets.extend(range(*leaf.xd_range))
    return np.array(offsets, dtype=np.int64)
