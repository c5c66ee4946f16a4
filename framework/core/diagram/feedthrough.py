"""Direct feedthrough across a Diagram, and the search for algebraic loops.

A port graph has one node for each port of the subsystems. Wires lead from outputs to inputs, feedthrough leads from
inputs to outputs; an algebraic loop is a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from merganser.framework.common.errors import AlgebraicLoopError

if TYPE_CHECKING:
    from merganser.framework.core.diagram.diagram import Diagram
    from merganser.framework.core.system.system import System

Graph = dict[Any, list[Any]]  # for each node those that lead to it
Wires = Mapping[tuple["System", int], tuple["System", int]]


def inputs_reaching(diagram: Diagram, output_port: int) -> set[int]:
    """The input ports of a Diagram on which one of its outputs depends at the same instant."""
    reached: set[int] = set()
    visited = set()
    pending = [diagram._sys_exported_outputs[output_port]]
    while pending:
        system, output = pending.pop()
        if (system, output) in visited:
            continue
        visited.add((system, output))
        for port in system._feedthrough_inputs(output):
            if (system, port) in diagram._sys_exported_inputs:
                reached.add(diagram._sys_exported_inputs[system, port])
            elif (system, port) in diagram._sys_connections:
                pending.append(diagram._sys_connections[system, port])
    return reached


def refuse_algebraic_loops(systems: Sequence[System], connections: Wires) -> None:
    """Raises an error that spells out an algebraic loop, if there is one.

    Callbacks whose prerequisites were not declared are first taken to read everything. Only where that makes a loop
    are they computed once, with default values, to see what they read.

    Raises:
        AlgebraicLoopError: the message lists the ports around the loop.
    """
    if not connections:
        return
    suspects = _ports_on_cycles(_port_graph(systems, connections, guess=True, only=None))
    if not suspects:
        return
    cycle = _cycle_in(_port_graph(systems, connections, guess=False, only=suspects))
    if cycle is not None:
        raise AlgebraicLoopError(_describe(cycle))


def _port_graph(systems: Sequence[System], connections: Wires, guess: bool, only: set[Any] | None) -> Graph:
    graph: Graph = {(to, "u", port): [(start[0], "y", start[1])] for (to, port), start in connections.items()}
    for system in systems:
        for output in range(system.num_output_ports()):
            if only is None or (system, "y", output) in only:
                inputs = _guessed_inputs(system, output) if guess else system._feedthrough_inputs(output)
                graph[system, "y", output] = [(system, "u", i) for i in inputs]
    return graph


def _cycle_in(graph: Graph) -> list[Any] | None:
    """The nodes of a cycle, in the direction of the edges; None without a cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[Any] = error.args[1]
        return cycle[:-1]  # the first node stands at the end again
    return None


def _guessed_inputs(system: Any, output: int) -> set[int]:
    """Feedthrough of an output without computing anything: what is unknown counts as all inputs."""
    if system._sys_subsystems() is not None:
        return set(range(system.num_input_ports()))
    entry = system._sys_cache_entries[system._sys_output_ports[output]._entry_number]
    inputs: set[int] = system._sys_inputs_among(system._sys_expanded(entry, guess=True))
    return inputs


def _ports_on_cycles(graph: Graph) -> set[Any]:
    if _cycle_in(graph) is None:
        return set()
    import networkx as nx  # takes a tenth of a second to load, and is rarely needed

    edges = [(source, node) for node, sources in graph.items() for source in sources]
    return {node for part in nx.strongly_connected_components(nx.DiGraph(edges)) if len(part) > 1 for node in part}


def _describe(cycle: list[tuple[Any, str, int]]) -> str:
    first = next(i for i, node in enumerate(cycle) if node[1] == "y")
    cycle = cycle[first:] + cycle[:first]
    lines: list[str] = []
    for system, kind, index in [*cycle, cycle[0]]:
        ports = system._sys_output_ports if kind == "y" else system._sys_input_ports
        arrow = "is connected to" if kind == "u" else "which feeds through to" if lines else ""
        lines.append(f"  {arrow + ' ' if arrow else ''}{ports[index].GetFullDescription()}")
    return (
        "Algebraic loop: each of these ports needs the one before it at the same instant.\n"
        + "\n".join(lines)
        + "\nBreak the loop with a system whose output does not depend directly on its input (an integrator, a delay, "
        "a zero-order hold), or, if one of these outputs does not need its input, declare `prerequisites_of_calc`."
    )
