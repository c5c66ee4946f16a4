"""Diagrams as graphs: for networkx, and in Graphviz's language. For pictures with matplotlib see diagram_plot.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    from merganser.framework.core.system import System

__all__ = ["diagram_graph", "graphviz_string"]


def diagram_graph(system: System) -> Any:
    """Returns a networkx MultiDiGraph of the direct subsystems of a Diagram.

    Nodes are system names, with attributes `system` and `kind` ("system", "input" or "output"; the latter are the
    exported ports of the Diagram). Edges have attributes `output` and `input`, the names of the ports they connect.
    """
    graph = nx.MultiDiGraph(name=system.GetSystemName())
    subsystems = system._subsystems()
    if subsystems is None:
        graph.add_node(system.GetSystemName(), system=system, kind="system")
        return graph
    for subsystem in subsystems:
        graph.add_node(subsystem.get_name(), system=subsystem, kind="system")
    diagram: Any = system
    for (to, to_port), (start, start_port) in diagram._connections.items():
        graph.add_edge(
            start.get_name(),
            to.get_name(),
            output=start.get_output_port(start_port).get_name(),
            input=to.get_input_port(to_port).get_name(),
        )
    for (to, to_port), index in diagram._exported_inputs.items():
        name = diagram.get_input_port(index).get_name()
        graph.add_node(f"in: {name}", system=None, kind="input")
        graph.add_edge(f"in: {name}", to.get_name(), output="", input=to.get_input_port(to_port).get_name())
    for index, (start, start_port) in enumerate(diagram._exported_outputs):
        name = diagram.get_output_port(index).get_name()
        graph.add_node(f"out: {name}", system=None, kind="output")
        graph.add_edge(start.get_name(), f"out: {name}", output=start.get_output_port(start_port).get_name(), input="")
    return graph


def graphviz_string(system: System) -> str:
    """Describes a Diagram, with all that is inside, in the language of Graphviz."""
    lines = ["digraph {", "rankdir=LR", "node [shape=record]"]
    lines += _graphviz_lines(system, {})
    return "\n".join([*lines, "}"]) + "\n"


def _graphviz_lines(system: System, ids: dict[int, str]) -> Iterator[str]:
    identifier = ids.setdefault(id(system), f"s{len(ids)}")
    subsystems = system._subsystems()
    inputs = "|".join(f"<u{i}> {port.get_name()}" for i, port in enumerate(system._input_ports))
    outputs = "|".join(f"<y{i}> {port.get_name()}" for i, port in enumerate(system._output_ports))
    title = f"{system.GetSystemName()}\\n{system.GetSystemType()}"
    if subsystems is None:
        yield f'{identifier} [label="{title} | {{ {{{inputs}}} | {{{outputs}}} }}"]'
        return
    diagram: Any = system
    yield f"subgraph cluster_{identifier} {{"
    yield f'label="{title}"'
    for index, port in enumerate(system._input_ports):
        yield f'{identifier}_u{index} [label="{port.get_name()}"]'
    for index, port in enumerate(system._output_ports):
        yield f'{identifier}_y{index} [label="{port.get_name()}"]'
    for subsystem in subsystems:
        yield from _graphviz_lines(subsystem, ids)
    for (to, to_port), (start, start_port) in diagram._connections.items():
        yield f"{_graphviz_end(start, 'y', start_port, ids)} -> {_graphviz_end(to, 'u', to_port, ids)}"
    for (to, to_port), index in diagram._exported_inputs.items():
        yield f"{identifier}_u{index} -> {_graphviz_end(to, 'u', to_port, ids)}"
    for index, (start, start_port) in enumerate(diagram._exported_outputs):
        yield f"{_graphviz_end(start, 'y', start_port, ids)} -> {identifier}_y{index}"
    yield "}"


def _graphviz_end(system: System, letter: str, port: int, ids: dict[int, str]) -> str:
    separator = ":" if system._subsystems() is None else "_"
    return f"{ids[id(system)]}{separator}{letter}{port}"
