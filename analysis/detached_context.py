"""A Context of one system alone, for analyses that try out times, states and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, InputPort, InputPortSelection, PortDataType, System

__all__ = ["detached_context", "selected_input_port", "set_state_values", "state_values"]

Array = NDArray[np.float64]


def detached_context(system: System, context: Context) -> Context:
    """A new root Context of `system` with time, state, parameters and input values of `context`, which it leaves alone.

    Args:
        system: any system, also one inside of a Diagram.
        context: its context. Input ports that have a value there are fixed to it.
    """
    system.ValidateContext(context)
    copy = system.CreateDefaultContext()
    copy.SetTimeStateAndParametersFrom(context)
    copy.SetAccuracy(context.get_accuracy())
    system.FixInputPortsFrom(system, context, copy)
    return copy


def selected_input_port(system: System, index: Any, function: str) -> InputPort | None:
    """The vector input port that an index or an InputPortSelection stands for; None for none.

    Args:
        system: whose port.
        index: of the port, or an InputPortSelection.
        function: who asks, for messages.

    Raises:
        IndexError: there is no such port.
        ValueError: it is abstract.
    """
    if index == InputPortSelection.kNoInput:
        return None
    if index == InputPortSelection.kUseFirstInputIfItExists:
        if system.num_input_ports() == 0:
            return None
        index = 0
    port = system.get_input_port(int(index))
    if port.get_data_type() is PortDataType.kAbstractValued:
        raise ValueError(f"{function}: {port.GetFullDescription()} is abstract; choose a vector port.")
    return port


def state_values(context: Context) -> Array:
    """A copy of the continuous state, or of all groups of the discrete state, one after the other."""
    count = context.num_discrete_state_groups()
    if not count:
        return context.get_continuous_state_vector().CopyToVector()
    return np.concatenate([context.get_discrete_state(i).CopyToVector() for i in range(count)])


def set_state_values(context: Context, x: Array) -> None:
    """Sets what state_values() returns."""
    count = context.num_discrete_state_groups()
    if not count:
        context.SetContinuousState(x)
    start = 0
    for i in range(count):
        size = context.get_discrete_state(i).size()
        context.SetDiscreteState(i, x[start : start + size])
        start += size
