"""The variables of an FMU: what of a Context it shows, by which names, and what may be set when."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.assembly import offset_of_input

if TYPE_CHECKING:
    from merganser.framework import System
    from merganser.framework.core.context.store import CacheSlot

TIME, INPUT, PARAMETER, STATE, DISCRETE_STATE, DERIVATIVE, OUTPUT = (
    "TIME", "INPUT", "PARAMETER", "STATE", "DISCRETE_STATE", "DERIVATIVE", "OUTPUT",
)  # fmt: skip
_MOST_PARAMETERS = 64  # of a block whose parameters are variables without being asked for
_MOST_DISCRETE = 256  # of a block whose discrete state is


@dataclasses.dataclass
class Variable:
    """A number of the model.

    Attributes:
        name: unlike that of all others.
        kind: one of the above.
        place: in the flat array of the Context.
        start: its value there; None if it is computed.
        unit: such as "rad/s"; None if it is unknown.
        of: for a derivative the number of its state; for an output the inputs that it directly depends on.
    """

    name: str
    kind: str
    place: int
    start: float | None = None
    unit: str | None = None
    of: Sequence[int] = ()


class Variables:
    """All variables of a system in a context.

    Args:
        system: the system.
        context: of it; inputs that nothing feeds are fixed at zero here.
        inputs, outputs: names of its ports; None for all that carry vectors.
        parameters: path names of blocks below it whose numeric parameters can be tuned; None for those of all blocks
            that have few.

    Attributes:
        listed: the variables; their numbers are the value references.
        computed: slots of the outputs.

    Raises:
        ValueError: there is no port or block of such a name, or the port carries an abstract value.
    """

    def __init__(
        self,
        system: System,
        context: Any,
        inputs: Sequence[str] | None,
        outputs: Sequence[str] | None,
        parameters: Sequence[str] | None,
    ) -> None:
        self._system, self._context, self._flat = system, context, context.store.flat
        self.computed: list[CacheSlot] = []
        self.listed = [Variable("time", TIME, 0, unit="s")]
        in_ports = [system.get_input_port(i) for i in range(system.num_input_ports())]
        out_ports = [system.get_output_port(i) for i in range(system.num_output_ports())]
        chosen = _chosen(system, in_ports, inputs, "input")
        self._fix(in_ports)
        feeding = {port.get_index(): list(self._add_inputs(port)) for port in chosen}
        self._add_parameters(parameters)
        for port in _chosen(system, out_ports, outputs, "output"):
            self._add_outputs(port, feeding)

    def add_states(self, derivatives: int) -> None:
        """Adds the continuous state with its derivatives, and the discrete state.

        Args:
            derivatives: where the derivatives begin in the flat array.
        """
        first = self._context.layout.xc_range[0]
        states: list[Variable] = []
        for leaf in self._leaves():
            start, end = leaf.layout.xc_range
            names = _state_names(leaf.system, end - start)
            states += [self._number(f"{self._path(leaf)}{names[n]}", STATE, start + n) for n in range(end - start)]
        numbers = range(len(self.listed), len(self.listed) + len(states))
        self.listed += states
        for number, state in zip(numbers, states):
            place = derivatives + state.place - first
            self.listed.append(Variable(f"der({state.name})", DERIVATIVE, place, of=[number]))
        for leaf in self._leaves():
            groups = [leaf.get_discrete_state(i).size() for i in range(leaf.num_discrete_state_groups())]
            # Steps work on the discrete state and the parameters of blocks with regions.
            if sum(groups) <= _MOST_DISCRETE and not leaf.system._sys_is_piecewise:
                for group, (size, place) in enumerate(zip(groups, leaf.layout.discrete_offsets)):
                    name = f"{self._path(leaf)}xd" if len(groups) == 1 else f"{self._path(leaf)}xd{group}"
                    names = [_indexed(name, n, size) for n in range(size)]
                    self.listed += [self._number(each, DISCRETE_STATE, place + n) for n, each in enumerate(names)]
        self._make_names_unique()

    def of_kind(self, kind: str) -> list[tuple[int, Variable]]:
        """The variables of a kind with their numbers."""
        return [(number, variable) for number, variable in enumerate(self.listed) if variable.kind == kind]

    def _number(self, name: str, kind: str, place: int, unit: str | None = None) -> Variable:
        return Variable(name, kind, place, float(self._flat[place]), unit)

    def _leaves(self) -> Iterator[Any]:
        return (part for part in self._context.parts() if not getattr(part, "_children", None))

    def _path(self, leaf: Any) -> str:
        """The path of a block below the system, as the beginning of names."""
        names: list[str] = []
        part = leaf
        while part is not self._context:
            names.insert(0, part.system.get_name())
            part = part.parent
        return ".".join(names) + "." if names else ""

    def _fix(self, ports: Sequence[Any]) -> None:
        """Gives values to inputs that have none; abstract ones stay without, as that of a plant without contact."""
        for port in ports:
            if port._size is not None and not port.HasValue(self._context):
                port.FixValue(self._context, [0.0] * port.size())

    def _add_inputs(self, port: Any) -> Iterable[int]:
        place = offset_of_input(self._context.sources[port.get_index()])
        if place is None:
            raise ValueError(f"ExportFmu: the value of {port.GetFullDescription()} is not a vector of floats.")
        for n in range(port.size()):
            name = _indexed(port.get_name(), n, port.size())
            self.listed.append(self._number(name, INPUT, place + n, port.get_units()))
            yield len(self.listed) - 1

    def _add_outputs(self, port: Any, feeding: dict[int, list[int]]) -> None:
        slot = slot_of(port, self._context)
        place = slot.context.layout.entry_offsets[slot.number]
        assert place is not None
        self.computed.append(slot)
        inputs = [n for i, numbers in feeding.items() for n in numbers if self._feeds(i, port.get_index())]
        for n in range(port.size()):
            name = _indexed(port.get_name(), n, port.size())
            self.listed.append(Variable(name, OUTPUT, place + n, unit=port.get_units(), of=inputs))

    def _feeds(self, input_port: int, output_port: int) -> bool:
        return bool(self._system.HasDirectFeedthrough(input_port, output_port))

    def _add_parameters(self, wanted: Sequence[str] | None) -> None:
        found = {}
        for leaf in self._leaves():
            path = self._path(leaf)
            sizes = [leaf.get_numeric_parameter(i).size() for i in range(leaf.num_numeric_parameter_groups())]
            if sum(sizes) and not leaf.system._sys_is_piecewise:
                found[path.rstrip(".")] = path, leaf, sizes
        for name in wanted or ():
            if name not in found:
                raise ValueError(
                    f"ExportFmu: there is no block '{name}' with numeric parameters; those that have some are "
                    f"{', '.join(found) or 'none'}."
                )
        for name, (path, leaf, sizes) in found.items():
            if name in wanted if wanted is not None else sum(sizes) <= _MOST_PARAMETERS:
                groups = zip(leaf.system._sys_numeric_parameter_names, sizes, leaf.layout.numeric_offsets)
                for group, size, place in groups:
                    names = [_indexed(f"{path}{group}", n, size) for n in range(size)]
                    self.listed += [self._number(each, PARAMETER, place + n) for n, each in enumerate(names)]

    def _make_names_unique(self) -> None:
        known: set[str] = set()
        for variable in self.listed:
            name, count = variable.name, 2
            while variable.name in known:
                variable.name, count = f"{name} ({count})", count + 1
            known.add(variable.name)


def _indexed(name: str, n: int, size: int) -> str:
    return name if size == 1 else f"{name}[{n}]"


def _state_names(system: Any, size: int) -> list[str]:
    """Names of the continuous state of a leaf system: its own ones, as those of a plant, or x."""
    if hasattr(system, "GetStateNames"):
        names = list(system.GetStateNames())
        if len(names) == size:
            return names
    return [_indexed("x", n, size) for n in range(size)]


def _chosen(system: System, ports: Sequence[Any], names: Sequence[str] | None, kind: str) -> list[Any]:
    if names is None:
        return [port for port in ports if port._size is not None]
    by_name = {port.get_name(): port for port in ports}
    for name in names:
        if name not in by_name:
            raise ValueError(
                f"ExportFmu: system '{system.GetSystemPathname()}' has no {kind} port '{name}'; it has "
                f"{', '.join(by_name) or 'none'}."
            )
        if by_name[name]._size is None:
            raise ValueError(f"ExportFmu: {by_name[name].GetFullDescription()} carries an abstract value.")
    return [by_name[name] for name in names]
