"""Ports of a system as an environment names them, and the spaces of their values."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from merganser.framework import (
    InputPort,
    InputPortIndex,
    OutputPort,
    OutputPortIndex,
    PortDataType,
    System,
)


def input_port_of(system: System, port_id: Any) -> InputPort:
    """The port that is given, or has this index or name; by default the first one.

    Raises:
        ValueError: the system has no input port.
        TypeError: this names no port.
    """
    what = "gives its actions to an input port", "ExportInput(port, 'actions')"
    by = InputPort, system.num_input_ports(), system.get_input_port, system.GetInputPort
    return _port_of(system, port_id, what, *by)


def output_port_of(system: System, port_id: Any) -> OutputPort:
    """The same of output ports."""
    what = "observes an output port", "ExportOutput(port, 'observations')"
    by = OutputPort, system.num_output_ports(), system.get_output_port, system.GetOutputPort
    return _port_of(system, port_id, what, *by)


def _port_of(
    system: System, port_id: Any, what: tuple[str, str], kind: type, number: int, by_index: Any, by_name: Any
) -> Any:
    if isinstance(port_id, kind):
        return port_id
    name = system.GetSystemPathname()
    if port_id is None and number == 0:
        raise ValueError(f"An environment {what[0]}, and system '{name}' has none. Export one: builder.{what[1]}.")
    if port_id is None or isinstance(port_id, (InputPortIndex, OutputPortIndex, int)):
        return by_index(0 if port_id is None else int(port_id))
    if isinstance(port_id, str):
        return by_name(port_id)
    raise TypeError(f"A port of system '{name}' is given by its name, its index or itself; got {port_id!r}.")


def space_of(port: InputPort | OutputPort, space: gymnasium.Space[Any] | None, what: str) -> gymnasium.Space[Any]:
    """The space of a port's values: the one given, or all vectors of its size.

    Args:
        port: with vector or abstract values.
        space: None for all vectors.
        what: "action_space" or "observation_space", for messages.

    Raises:
        ValueError: the sizes differ, or abstract values take a space that only the program knows.
        TypeError: this is no space.
    """
    is_vector = port.get_data_type() is PortDataType.kVectorValued
    if space is None:
        if not is_vector:
            raise ValueError(f"{what} must be given: {port.GetFullDescription()} has no vector values.")
        return gymnasium.spaces.Box(-np.inf, np.inf, (port.size(),), np.float64)
    if not isinstance(space, gymnasium.Space):
        raise TypeError(f"{what} must be a gymnasium.spaces.Space or None, got {space!r}.")
    if is_vector and space.shape != (port.size(),):
        raise ValueError(f"{what} has shape {space.shape}, but {port.GetFullDescription()} has size {port.size()}.")
    return space


def as_observation(value: Any, space: gymnasium.Space[Any]) -> Any:
    """A port's value with the number type of the space; values that are no arrays stay as they are."""
    if isinstance(value, np.ndarray) and space.dtype is not None:
        return value.astype(space.dtype)
    return value
