"""Diagram: a System made of wired Systems; direct feedthrough across it, and the search for algebraic loops."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from merganser.framework.common.errors import AlgebraicLoopError, nearest_names
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.leaf_context import DiagramContext, LeafContext
from merganser.framework.core.declarations.events import DeclaredEvent
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.declarations.witness import ActiveWitness
from merganser.framework.core.drawing import GraphvizFragment, GraphvizFragmentParams, diagram_fragment
from merganser.framework.core.system.system import System, SystemVisitor
from merganser.framework.core.system.system_base import require_system
from merganser.framework.core.values.arguments import checked_index


class Diagram(System):
    """Systems whose ports are connected; made by `DiagramBuilder.Build`, or by `BuildInto(self)` in a subclass.

    From outside a Diagram is a System like any other: its ports are the ports of its subsystems that were exported.
    """

    def _sys_start(self) -> None:
        super()._sys_start()
        self._sys_systems: list[System] = []
        # (system, input port) -> (system, output port) that feeds it, and -> exported input of this Diagram.
        self._sys_connections: dict[tuple[System, int], tuple[System, int]] = {}
        self._sys_exported_inputs: dict[tuple[System, int], int] = {}
        # For each output port of this Diagram, the (system, output port) behind it.
        self._sys_exported_outputs: list[tuple[System, int]] = []
        # For each input port of this Diagram, (subsystem number, input port) of every port that it feeds.
        self._sys_input_targets: list[list[tuple[int, int]]] = []

    def __init__(self) -> None:
        pass

    def _repr_svg_(self) -> str | None:
        """The picture of `plot_diagram`, which notebooks show for a Diagram; None while there are no subsystems."""
        if not self._sys_systems:
            return None
        from merganser.framework.core.drawing import plot_diagram

        picture = io.StringIO()
        plot_diagram(self).savefig(picture, format="svg")
        return picture.getvalue()

    def _sys_subsystems(self) -> Sequence[System]:
        return self._sys_systems

    def _declaration_count(self) -> int:
        return len(self._sys_input_ports) + len(self._sys_output_ports) + len(self._sys_systems)

    def _wire(
        self,
        systems: list[System],
        connections: dict[tuple[System, int], tuple[System, int]],
        inputs: dict[str, list[InputPort]],
        outputs: dict[str, OutputPort],
    ) -> None:
        """Takes over systems and wires from a builder."""
        self._sys_systems = systems
        self._sys_connections = connections
        for system in systems:
            system._sys_parent = self
            system._sys_names_around = None
        numbers = {system: number for number, system in enumerate(systems)}
        for index, (name, targets) in enumerate(inputs.items()):
            entrance: InputPort[Any] = InputPort(self, index, name, targets[0]._model, targets[0]._size)
            entrance._units = next((target._units for target in targets if target._units is not None), None)
            self._add_port(entrance, self._sys_input_ports, "input")
            self._sys_input_targets.append([(numbers[target._system], int(target._index)) for target in targets])
            for target in targets:
                self._sys_exported_inputs[target._system, target._index] = index
        for index, (name, port) in enumerate(outputs.items()):
            self._add_port(OutputPort(self, index, name, port._size, port._leaf_port), self._sys_output_ports, "output")
            self._sys_exported_outputs.append((port._system, port._index))

    # ------------------------------------------------------------------ structure

    def GetSystems(self) -> list[System]:
        """Returns the subsystems in the order in which they were added."""
        return list(self._sys_systems)

    def get_system(self, index: int) -> System:
        """Returns the subsystem that was added as number `index`, from 0 on."""
        return self._sys_systems[checked_index(index, len(self._sys_systems), self._described(), "subsystem")]

    def HasSubsystemNamed(self, name: str) -> bool:
        """Whether there is a direct subsystem of that name."""
        return any(system._sys_name == name for system in self._sys_systems)

    def GetSubsystemByName(self, name: str) -> System:
        """Returns the direct subsystem of that name."""
        return find_system(self._sys_systems, name, self._described())

    def _described(self) -> str:
        return f"Diagram '{self.GetSystemPathname()}'"

    def connection_map(self) -> dict[tuple[System, int], tuple[System, int]]:
        """Returns {(system, input port index): (system, output port index)} of all wires."""
        return {
            (s, type(s.get_input_port(i)._index)(i)): upstream for (s, i), upstream in self._sys_connections.items()
        }

    def AreConnected(self, output: OutputPort, input: InputPort) -> bool:
        """Whether a wire leads from one subsystem's output to another's input."""
        require_ports(output, input, f"{self._described()}, AreConnected")
        return self._sys_connections.get((input._system, input._index)) == (output._system, output._index)

    def GetInputPortLocators(self, port_index: int) -> list[tuple[System, int]]:
        """Returns the (system, input port index) that an input of this Diagram feeds."""
        index = self.get_input_port(port_index)._index
        return [(self._sys_systems[number], port) for number, port in self._sys_input_targets[index]]

    def get_input_port_locator(self, port_index: int) -> tuple[System, int]:
        """Returns the first (system, input port index) that an input of this Diagram feeds."""
        return self.GetInputPortLocators(port_index)[0]

    def get_output_port_locator(self, port_index: int) -> tuple[System, int]:
        """Returns the (system, output port index) behind an output of this Diagram."""
        return self._sys_exported_outputs[self.get_output_port(port_index)._index]

    # ------------------------------------------------------------------ contexts

    def GetSubsystemContext(self, subsystem: System, context: Context) -> Context:
        """Returns the part of this Diagram's context that belongs to a system inside, at any depth."""
        self.ValidateContext(context)
        require_system(subsystem, self)
        inside = context.part_of(subsystem)
        if inside is None:
            raise ValueError(
                f"System '{subsystem.GetSystemPathname()}' is not inside Diagram '{self.GetSystemPathname()}'."
            )
        return inside

    def GetMutableSubsystemContext(self, subsystem: System, context: Context) -> Context:
        """Returns the part of this Diagram's context that belongs to a system inside, for changing it."""
        return self.GetSubsystemContext(subsystem, context)

    def GetMutableSubsystemState(self, subsystem: System, context: Context) -> Any:
        """Returns the state of a system inside, for changing it."""
        return self.GetSubsystemContext(subsystem, context).get_mutable_state()

    def Accept(self, v: SystemVisitor) -> None:
        v.VisitDiagram(self)

    def DoGetGraphvizFragment(self, params: GraphvizFragmentParams) -> GraphvizFragment:
        return diagram_fragment(self, params) if params.max_depth > 0 else super().DoGetGraphvizFragment(params)

    def _set_defaults(self, context: DiagramContext) -> None:
        for child in context._children:
            child.system._set_defaults(child)

    def _declared_events(self, context: Any) -> list[tuple[LeafContext, DeclaredEvent]]:
        return [item for child in context._children for item in child.system._declared_events(child)]

    def _sys_active_witnesses(self, context: Any) -> list[ActiveWitness]:
        return [item for child in context._children for item in child.system._sys_active_witnesses(child)]

    def _sys_may_have_witnesses(self) -> bool:
        return any(system._sys_may_have_witnesses() for system in self._sys_systems)

    def _feedthrough_inputs(self, output_port: int) -> set[int]:
        self.get_output_port(output_port)  # checks the index
        return inputs_reaching(self, output_port)


def require_ports(output: Any, input: Any, where: str) -> None:
    """Raises an error, beginning with `where`, if these are not an output port and an input port."""
    if not isinstance(output, OutputPort) or not isinstance(input, InputPort):
        raise TypeError(
            f"{where} takes an output port and an input port, in this order; got {type(output).__name__} and "
            f"{type(input).__name__}."
        )


def find_system(systems: Sequence[System], name: str, where: str) -> System:
    """The system of that name among `systems`; `where` begins the error message."""
    for system in systems:
        if system._sys_name == name:
            return system
    if not isinstance(name, str):
        raise TypeError(f"{where}: the name of a subsystem is a string, got {name!r}.")
    raise RuntimeError(
        f"{where} has no subsystem named '{name}'. " + nearest_names(name, (s._sys_name for s in systems))
    )


# ---------------------------------------------------------------------- direct feedthrough

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
