"""Finding where a value that is not finite comes from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.layout import LeafLayout
from merganser.framework.core.values.values import BasicVector


def is_finite(values: Any) -> bool:
    """Whether all elements of an array of numbers or of AutoDiffXd are finite; of the latter, values alone count."""
    if values.dtype == object:
        return all(math.isfinite(x.real) for x in values.tolist())
    return bool(np.isfinite(values).all())


def blame_derivatives(context: Context) -> str:
    """Says which system's time derivatives are not finite, and which output port upstream is to blame."""
    store, shift = context.store, context.layout.root.num_xc
    for leaf in context.layout.leaves():
        start, end = leaf.xc_range
        for offset, what in ((shift, "time derivatives"), (0, "continuous state")):
            values = store.flat[start + offset : end + offset]
            if not is_finite(values):
                place = f"The {what} of system '{leaf.system.GetSystemPathname()}' are not finite ({values.tolist()})"
                return f"{place} at time {store.flat.item(0)} s{_upstream(context, leaf, set())}."
    return f"A continuous state variable is not finite at time {store.flat.item(0)} s."


def blame_input(context: Context, port_index: int) -> str:
    """Says that an input port of a leaf system carries a value that is not finite, and where that comes from."""
    port = context.system._sys_input_ports[port_index]
    value = context.read_input(port_index)
    values = value._values.tolist() if isinstance(value, BasicVector) else value
    origin = ""
    source = context.layout.sources[port_index]
    if source is not None and context.sources[port_index].bit:
        origin = _blame_output(context, *source, set())
    return (
        f"{port.GetFullDescription()} carries a value that is not finite: {values} at time "
        f"{context.store.flat.item(0)} s{origin}."
    )


def _upstream(context: Context, leaf: LeafLayout, visited: set[int]) -> str:
    """Looks through the inputs of a leaf for one that is not finite; empty if the leaf itself is to blame."""
    slots = context.store.slots
    for index, source in enumerate(leaf.sources):
        if source is None:
            continue
        upstream, entry = source
        value = slots[upstream.first_bit + entry].value
        if isinstance(value, BasicVector) and not is_finite(value._values):
            port = leaf.system._sys_input_ports[index]
            return f"; its input port '{port._name}' is not finite either" + _blame_output(
                context, upstream, entry, visited
            )
    return ""


def _blame_output(context: Context, leaf: LeafLayout, entry: int, visited: set[int]) -> str:
    bit = leaf.first_bit + entry
    if bit in visited:
        return ""
    visited.add(bit)
    deeper = _upstream(context, leaf, visited)
    return deeper or f"; it comes from {leaf.system._sys_cache_entries[entry].describe()}"
