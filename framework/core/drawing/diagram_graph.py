"""Diagrams as graphs for networkx. For pictures see diagram_plot.py (matplotlib) and graphviz.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.core.system.system import System


def diagram_graph(system: System) -> Any:
    """Returns a networkx MultiDiGraph of the direct subsystems of a Diagram.

    Nodes are system names, with attributes `system` and `kind` ("system", "input" or "output"; the latter are the
    exported ports of the Diagram). Edges have attributes `output` and `input`, the names of the ports they connect.
    """
    import networkx as nx

    graph = nx.MultiDiGraph(name=system.GetSystemName())
    subsystems = system._sys_subsystems()
    if subsystems is None:
        graph.add_node(system.GetSystemName(), system=system, kind="system")
        return graph
    for subsystem in subsystems:
        graph.add_node(subsystem.get_name(), system=subsystem, kind="system")
    diagram: Any = system
    for (to, to_port), (start, start_port) in diagram._sys_connections.items():
        graph.add_edge(
            start.get_name(),
            to.get_name(),
            output=start.get_output_port(start_port).get_name(),
            input=to.get_input_port(to_port).get_name(),
        )
    for (to, to_port), index in diagram._sys_exported_inputs.items():
        name = diagram.get_input_port(index).get_name()
        graph.add_node(f"in: {name}", system=None, kind="input")
        graph.add_edge(f"in: {name}", to.get_name(), output="", input=to.get_input_port(to_port).get_name())
    for index, (start, start_port) in enumerate(diagram._sys_exported_outputs):
        name = diagram.get_output_port(index).get_name()
        graph.add_node(f"out: {name}", system=None, kind="output")
        graph.add_edge(start.get_name(), f"out: {name}", output=start.get_output_port(start_port).get_name(), input="")
    return graph
