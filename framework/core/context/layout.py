"""Where every value of a root system is in its Context, and what depends on what.

A `RootLayout` is made once for each System that serves as a root, and shared by all its Contexts. It flattens the
tree of Diagrams into a list of leaf systems (depth first), gives each leaf its ranges in one flat array

    time | continuous state | its derivatives | discrete state | numeric parameters | free inputs | port values

and each cache entry one bit. For every node of a leaf (time, q, an input port, ...; see dependencies.py) it knows
the mask of all cache entries downstream, through wires and Diagrams, so that a change costs one OR.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.errors import AlgebraicLoopError
from merganser.framework.core.context.dependencies import LEARNING, bits

if TYPE_CHECKING:
    from merganser.framework.core.diagram.diagram import Diagram
    from merganser.framework.core.system.leaf_system import LeafSystem
    from merganser.framework.core.system.system import System
    from merganser.framework.core.system.system_base import SystemBase

_CATEGORIES = ("time", "accuracy", "xc", "xd", "xa", "pn", "pa")
_NOTHING_DOWN = dict.fromkeys(_CATEGORIES, 0)


class SystemLayout:
    """One system of the tree: its ranges in the flat array and the masks of what depends on it."""

    # Nodes that reading a kind of value marks as read (leaf systems only; see dependencies.py).
    xd_nodes = xa_nodes = p_nodes = xcdot_nodes = 0

    # What the RootLayout finds out.
    children: Sequence[SystemLayout] = ()
    xc_range = (0, 0)
    source_slots: tuple[int | None, ...] = ()  # see `sources`

    def __init__(self, root: RootLayout, system: System, parent: SystemLayout | None) -> None:
        self.root = root
        self.system = system
        self.parent = parent
        self.number = len(parent.children) if parent is not None else 0  # among the subsystems of its Diagram
        self.declaration_count = system._declaration_count()
        # Downstream masks by category, and by input port.
        self.down: dict[str, int] = _NOTHING_DOWN.copy()
        # The same of this system and the Diagrams around it, from inside out.
        self.downs: tuple[dict[str, int], ...] = (self.down,) if parent is None else (self.down, *parent.downs)
        num_inputs = len(system._sys_input_ports)
        self.down_inputs: list[int] = [0] * num_inputs
        # For each input port: the leaf output (layout, cache entry number) that feeds it, or None if it is free;
        # `source_slots` has the number of that cache entry among all of the tree.
        self.sources: list[tuple[LeafLayout, int] | None] = [None] * num_inputs
        # For each free vector input port that no Diagram exports: its offset in the flat array.
        self.free_offsets: list[int | None] = [None] * num_inputs

    def leaves(self) -> Iterator[LeafLayout]:
        """The leaf systems at or below this one, in order."""
        for child in self.children:
            yield from child.leaves()

    @cached_property
    def xc_partition(self) -> tuple[Any, Any, Any]:
        """Index arrays of q, v and z within this system's part of the continuous state."""
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        start = self.xc_range[0]
        for leaf in self.leaves():
            first = leaf.xc_range[0] - start
            for part, size in zip(parts, leaf.system._sys_continuous_sizes):
                part.append(np.arange(first, first + size))
                first += size
        q, v, z = (np.concatenate(part) if part else np.arange(0) for part in parts)
        return q, v, z


class LeafLayout(SystemLayout):
    """A leaf system of the tree."""

    system: LeafSystem

    # What the RootLayout finds out.
    xdot_offset = 0
    xd_range = (0, 0)
    discrete_offsets: tuple[int, ...] = ()
    numeric_range = (0, 0)  # of the numeric parameters
    numeric_offsets: tuple[int, ...] = ()
    first_bit = 0  # number of its first cache entry among all of the tree
    leaf_number = 0  # among all leaf systems of the tree, in order

    def __init__(self, root: RootLayout, system: LeafSystem, parent: SystemLayout | None) -> None:
        super().__init__(root, system, parent)
        self.entry_offsets: list[int | None] = []
        # What each cache entry depends on (mask of nodes), and what is downstream of each node (mask of entries).
        self.dependencies: list[int] = []
        table = system._sys_dependency_table
        self.down_nodes: list[int] = [0] * len(table.names)
        self.places = table.places
        self.group_nodes = table.group_nodes
        self.input_bits = tuple([1 << node for node in table.group_nodes["u"]])
        self.xd_nodes, self.xa_nodes = table.groups["xd"], table.groups["xa"]
        self.p_nodes = table.groups["pn"] | table.groups["pa"]
        self.xcdot_nodes = table.groups["xcdot"]
        # Input ports, of this leaf and of the Diagrams around it, through which each input port is fed.
        self.input_chains: list[list[tuple[SystemLayout, int]]] = [[(self, i)] for i in range(len(self.sources))]

    def leaves(self) -> Iterator[LeafLayout]:
        yield self


class RootLayout:
    """The layout of a whole tree of systems."""

    def __init__(self, root: System) -> None:
        self.systems: list[SystemLayout] = []
        self.of_system: dict[int, SystemLayout] = {}
        self.top = self._add(root, None)
        self.leaf_list = list(self.top.leaves())
        for number, leaf in enumerate(self.leaf_list):
            leaf.leaf_number = number
        self.num_entries = 0
        self.version = 0  # counts what has been learnt about dependencies
        self.entry_bits: list[int] = []  # of each cache entry, in masks of entries
        self._assign_offsets()
        self.entry_clearings = [~bit for bit in self.entry_bits]
        self.entry_down = self.entry_bits.copy()  # what is downstream of each, and itself
        self._connect(self.top)
        for layout in self.systems:
            layout.source_slots = tuple(None if s is None else s[0].first_bit + s[1] for s in layout.sources)
        self._resolve_inputs()
        for leaf in reversed(self.leaf_list):  # most diagrams are built from upstream to downstream
            for number, entry in enumerate(leaf.system._sys_cache_entries):
                self._add_dependencies(leaf, number, entry.dependencies())  # no other thread has this layout yet

    @cached_property
    def unit_quaternions(self) -> list[int]:
        """Where in the continuous state of the whole there are quaternions of length 1."""
        first = self.top.xc_range[0]
        return [
            leaf.xc_range[0] - first + start for leaf in self.leaf_list for start in leaf.system._sys_unit_quaternions
        ]

    @cached_property
    def sources_of_breaks(self) -> list[Callable[[], Sequence[float]]]:
        """What says when outputs of systems are not smooth, see inside.py."""
        return [leaf.system._sys_breaks for leaf in self.leaf_list if leaf.system._sys_breaks is not None]

    @cached_property
    def white_noises(self) -> list[tuple[LeafLayout, tuple[int, int, NDArray[Any]]]]:
        """The leaf systems that give white noise, and what they say of it, see inside.py."""
        noises = ((leaf, leaf.system._sys_white_noise) for leaf in self.leaf_list)
        return [(leaf, noise) for leaf, noise in noises if noise is not None]

    def layout_of(self, system: SystemBase) -> SystemLayout | None:
        """The place of `system` in this tree, or None."""
        return self.of_system.get(id(system))

    # ------------------------------------------------------------------ structure

    def _add(self, system: System, parent: SystemLayout | None) -> SystemLayout:
        subsystems = system._sys_subsystems()
        layout: SystemLayout
        if subsystems is None:
            layout = LeafLayout(self, system, parent)  # type: ignore[arg-type]
        else:
            layout = SystemLayout(self, system, parent)
        self.systems.append(layout)
        self.of_system[id(system)] = layout
        if subsystems:
            children: list[SystemLayout] = []
            layout.children = children
            for subsystem in subsystems:
                children.append(self._add(subsystem, layout))
        return layout

    def _assign_offsets(self) -> None:
        """Lays out the flat array, one kind of value after the other."""
        offset = 1  # time
        offset = self._assign_continuous(self.top, offset)
        self.num_xc = offset - 1
        self.xdot_start = offset
        for leaf in self.leaf_list:
            leaf.xdot_offset = leaf.xc_range[0] + self.num_xc
        offset += self.num_xc
        for leaf in self.leaf_list:
            start = offset
            for model in leaf.system._sys_discrete_models:
                leaf.discrete_offsets += (offset,)
                offset += model.size()
            leaf.xd_range = (start, offset)
        for leaf in self.leaf_list:
            start = offset
            for model in leaf.system._sys_numeric_parameter_models:
                leaf.numeric_offsets += (offset,)
                offset += model.size()
            leaf.numeric_range = (start, offset)
        offset = self._assign_entries(offset)
        self.num_flat = offset

    def _assign_continuous(self, layout: SystemLayout, offset: int) -> int:
        start = offset
        if isinstance(layout, LeafLayout):
            offset += sum(layout.system._sys_continuous_sizes)
        for child in layout.children:
            offset = self._assign_continuous(child, offset)
        layout.xc_range = (start, offset)
        return offset

    def _assign_entries(self, offset: int) -> int:
        for leaf in self.leaf_list:
            leaf.first_bit = self.num_entries
            for entry in leaf.system._sys_cache_entries:
                if entry.is_xcdot:
                    leaf.entry_offsets.append(leaf.xdot_offset)
                elif entry.vector_size is not None:
                    leaf.entry_offsets.append(offset)
                    offset += entry.vector_size
                else:
                    leaf.entry_offsets.append(None)
                leaf.dependencies.append(0)
                self.entry_bits.append(1 << self.num_entries)
                self.num_entries += 1
        return offset

    def _connect(self, layout: SystemLayout) -> None:
        """Finds the leaf output behind every input port, from the outermost Diagram inwards."""
        if isinstance(layout, LeafLayout):
            return
        diagram: Diagram = layout.system  # type: ignore[assignment]
        for child in layout.children:
            for port in child.system._sys_input_ports:
                index = port._index
                upstream = diagram._sys_connections.get((child.system, index))
                if upstream is not None:
                    child.sources[index] = self._leaf_output(*upstream)
                    continue
                exported = diagram._sys_exported_inputs.get((child.system, index))
                if exported is not None:
                    child.sources[index] = layout.sources[exported]
            self._connect(child)

    def _leaf_output(self, system: System, index: int) -> tuple[LeafLayout, int]:
        """The leaf and the cache entry behind output port `index` of a leaf or Diagram."""
        while system._sys_subsystems() is not None:
            system, index = system._sys_exported_outputs[index]  # type: ignore[attr-defined]
        leaf = self.of_system[id(system)]
        assert isinstance(leaf, LeafLayout)
        return leaf, leaf.system._sys_output_ports[index]._entry_number

    def _resolve_inputs(self) -> None:
        """Gives every free input its place, and lists the ports through which each leaf input is fed."""
        for leaf in self.leaf_list:
            for index in range(len(leaf.sources)):
                chain = leaf.input_chains[index]
                layout, port = chain[0]
                while layout.parent is not None:
                    exported = layout.parent.system._sys_exported_inputs.get((layout.system, port))  # type: ignore[attr-defined]
                    if exported is None:
                        break
                    layout, port = layout.parent, exported
                    chain.append((layout, port))
                size = layout.system._sys_input_ports[port]._size
                if leaf.sources[index] is None and size is not None and layout.free_offsets[port] is None:
                    layout.free_offsets[port] = self.num_flat
                    self.num_flat += size

    # ------------------------------------------------------------------ dependencies

    def add_dependencies(self, leaf: LeafLayout, number: int, nodes: int) -> None:
        """Cache entry `number` of `leaf` depends on `nodes` too: updates all masks upstream.

        All Contexts of the tree share them, and threads may learn at the same time: one after the other, and that the
        entry depends on the nodes is said when the masks are complete, since nothing is added after that.

        Raises:
            AlgebraicLoopError: one of the nodes is itself downstream of the entry.
        """
        with LEARNING:
            self._add_dependencies(leaf, number, nodes)

    def _add_dependencies(self, leaf: LeafLayout, number: int, nodes: int) -> None:
        new = nodes & ~leaf.dependencies[number]
        if not new:
            return
        delta = self.entry_down[leaf.first_bit + number]
        numbers = bits(new)
        for node in numbers:
            source = self._entry_behind(leaf, node)
            if source is not None and delta & self.entry_bits[source[0].first_bit + source[1]]:
                path = self._path_between((leaf, number), source)
                raise AlgebraicLoopError(describe_loop([(here.system, entry) for here, entry in path]))
        pending = [(leaf, numbers)]
        while pending:
            here, numbers = pending.pop()
            for upstream, entry in self._note_downstream(here, numbers, delta):
                self.entry_down[upstream.first_bit + entry] |= delta
                known = upstream.dependencies[entry]
                if known:
                    pending.append((upstream, bits(known)))
        leaf.dependencies[number] |= new
        self.version += 1

    def _note_downstream(self, leaf: LeafLayout, nodes: list[int], delta: int) -> list[tuple[LeafLayout, int]]:
        """Adds `delta` to what is downstream of some nodes of a leaf, as it and all Diagrams around it know them.

        Returns:
            The cache entries behind those nodes for which any of this was new.
        """
        behind = []
        for node in nodes:
            if not delta & ~leaf.down_nodes[node]:
                continue
            leaf.down_nodes[node] |= delta
            kind, number = leaf.places[node]
            if kind == "u":
                for layout, index in leaf.input_chains[number]:
                    layout.down_inputs[index] |= delta
                source = leaf.sources[number]
                if source is not None:
                    behind.append(source)
            elif kind == "cache":
                behind.append((leaf, number))
            elif kind == "elsewhere":
                self._note_downstream_of_everything(delta)
            else:
                for down in leaf.downs:
                    down[kind] |= delta
        return behind

    def _entry_behind(self, leaf: LeafLayout, node: int) -> tuple[LeafLayout, int] | None:
        """The cache entry that a node stands for: its own, or the one that feeds an input port."""
        kind, index = leaf.places[node]
        if kind == "cache":
            return leaf, index
        return leaf.sources[index] if kind == "u" else None

    def _note_downstream_of_everything(self, delta: int) -> None:
        """Adds `delta` to the masks of all that can change by itself: which of it was read elsewhere is not known."""
        for layout in self.systems:
            for category in _CATEGORIES:
                layout.down[category] |= delta
            layout.down_inputs = [mask | delta for mask in layout.down_inputs]
        for leaf in self.leaf_list:
            for node in range(len(leaf.down_nodes)):
                if self._entry_behind(leaf, node) is None:
                    leaf.down_nodes[node] |= delta

    def _path_between(self, start: tuple[LeafLayout, int], end: tuple[LeafLayout, int]) -> list[tuple[LeafLayout, int]]:
        """A shortest chain of cache entries, each depending on the one before, found upstream from `end`."""
        consumer = {end: end}  # the next entry on the way down to `end`
        pending = deque([end])
        while pending and start not in consumer:
            leaf, entry = here = pending.popleft()
            for node in bits(leaf.dependencies[entry]):
                source = self._entry_behind(leaf, node)
                if source is not None and source not in consumer:
                    consumer[source] = here
                    pending.append(source)
        path = [start]
        while path[-1] != end:
            path.append(consumer[path[-1]])
        return path


def describe_loop(entries: list[tuple[Any, int]]) -> str:
    """The message about an algebraic loop through the given cache entries of leaf systems, in order of data flow."""
    steps = "\n  -> ".join(leaf._sys_cache_entries[entry].describe() for leaf, entry in entries)
    first = entries[0][0]._sys_cache_entries[entries[0][1]].describe()
    return (
        f"Algebraic loop:\n     {steps}\n  -> {first} (again)\n"
        "Each of these needs the one before it. Break the loop with a system whose output does not depend directly "
        "on its input (an integrator, a delay, a zero-order hold), or, if one of these outputs does not need the "
        "input it is said to need, declare its `prerequisites_of_calc`."
    )
