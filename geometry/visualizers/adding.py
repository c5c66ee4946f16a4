"""What `AddToBuilder` of the visualizers of a SceneGraph have in common."""

from __future__ import annotations

from typing import Any

from merganser.framework import DiagramBuilder, LeafSystem, OutputPort
from merganser.geometry.scene_graph import SceneGraph

__all__ = ["add_visualizer", "query_output_port"]


def query_output_port(caller: str, builder: Any, scene_graph: Any, query_object_port: OutputPort | None) -> OutputPort:
    """The output port with the QueryObject of what is to be seen.

    Args:
        caller: the visualizer, for messages.
        builder: of the diagram.
        scene_graph: a SceneGraph, or such an output port.
        query_object_port: the port, if it is given instead.

    Raises:
        TypeError: an argument has another type.
    """
    given = scene_graph if query_object_port is None else query_object_port
    port = given.get_query_output_port() if isinstance(given, SceneGraph) else given
    if not isinstance(builder, DiagramBuilder) or not isinstance(port, OutputPort):
        raise TypeError(
            f"{caller}.AddToBuilder() takes a DiagramBuilder, a SceneGraph or an output port with a QueryObject, and "
            f"what {caller} takes; given {builder!r} and {given!r}."
        )
    return port


def add_visualizer(builder: DiagramBuilder, visualizer: LeafSystem, name: str, port: OutputPort) -> None:
    """Adds a visualizer to a diagram, with a name unless another system has that, and connects its input."""
    if builder.HasSubsystemNamed(name):
        builder.AddSystem(visualizer)
    else:
        builder.AddNamedSystem(name, visualizer)
    builder.Connect(port, visualizer.get_input_port())
