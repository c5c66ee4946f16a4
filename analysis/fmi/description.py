"""What an FMU says of itself: its variables, modelDescription.xml of FMI 2.0 and 3.0, and a page about both.

The variables are what it shows of a Context, by which names, and what may be set when.
"""

from __future__ import annotations

import dataclasses
import html
import importlib.util
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from merganser.framework import plot_diagram
from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.assembly import offset_of_input

if TYPE_CHECKING:
    from merganser.framework import System
    from merganser.framework.core.context.store import CacheSlot

TIME, INPUT, PARAMETER, STATE, DISCRETE_STATE, DERIVATIVE, OUTPUT, INDICATOR = (
    "TIME", "INPUT", "PARAMETER", "STATE", "DISCRETE_STATE", "DERIVATIVE", "OUTPUT", "INDICATOR",
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
        output_ports: the ports of these.

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
        self.output_ports = _chosen(system, [*_ports(system, "output")], outputs, "output")
        self.listed = [Variable("time", TIME, 0, unit="s")]
        in_ports = [*_ports(system, "input")]
        chosen = _chosen(system, in_ports, inputs, "input")
        for port in in_ports:  # abstract ones stay without a value, as that of a plant without contact
            if port._size is not None and not port.HasValue(context):
                port.FixValue(context, [0.0] * port.size())
        feeding = {port.get_index(): list(self._add_inputs(port)) for port in chosen}
        self._add_parameters(parameters)
        for port in self.output_ports:
            self._add_outputs(port, feeding)

    def add_states(self, derivatives: int, witnesses: Sequence[Any], indicators: int) -> None:
        """Adds the continuous state with its derivatives, the discrete state and the event indicators.

        Args:
            derivatives: where the derivatives begin in the flat array.
            witnesses: the functions behind the event indicators, each with the context of its leaf.
            indicators: where these begin, counted like that.
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
        for n, (leaf, witness) in enumerate(witnesses):
            name = f"{self._path(leaf)}{witness.description()}"
            self.listed.append(Variable(name, INDICATOR, indicators + n))
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
        feeds, index = self._system.HasDirectFeedthrough, port.get_index()
        inputs = [n for i, numbers in feeding.items() for n in numbers if feeds(i, index)]
        for n in range(port.size()):
            name = _indexed(port.get_name(), n, port.size())
            self.listed.append(Variable(name, OUTPUT, place + n, unit=port.get_units(), of=inputs))

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


def _ports(system: System, kind: str) -> Iterator[Any]:
    for i in range(getattr(system, f"num_{kind}_ports")()):
        yield getattr(system, f"get_{kind}_port")(i)


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


# ---------------------------------------------------------------------- files that describe

Element = ElementTree.Element
_CAUSALITIES = {TIME: "independent", INPUT: "input", PARAMETER: "parameter", OUTPUT: "output"}
_VARIABILITIES = {PARAMETER: "tunable", DISCRETE_STATE: "discrete"}
_INITIAL = {
    PARAMETER: "exact", STATE: "exact", DISCRETE_STATE: "exact", DERIVATIVE: "calculated", OUTPUT: "calculated",
    INDICATOR: "calculated",
}  # fmt: skip


class Model(NamedTuple):
    """What an FMU is.

    Attributes:
        name: of the system.
        identifier: the same as a name of C.
        token: unlike that of all other models.
        kinds: "cs", "me", or both.
        start_time: [s].
        step: of co-simulation, if it is fixed [s].
        has_pieces: whether model exchange takes note of completed steps (pieces.py).
        without_slopes: what has no directional derivatives; empty if all have.
    """

    name: str
    identifier: str
    token: str
    kinds: Sequence[str]
    start_time: float
    step: float | None
    has_pieces: bool
    without_slopes: str


def model_description(model: Model, variables: Variables, version: str) -> bytes:
    """The file modelDescription.xml."""
    root = _of_version_2(model, variables) if version == "2.0" else _of_version_3(model, variables)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return text


def _add(parent: Element, tag: str, **attributes: Any) -> Element:
    """Adds an element; attributes that are None are left out."""
    given = {name: _text(value) for name, value in attributes.items() if value is not None}
    return ElementTree.SubElement(parent, tag, given)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _new_root(model: Model, version: str, **attributes: Any) -> Element:
    given = {"fmiVersion": version, "modelName": model.name, "generationTool": "merganser", **attributes}
    return Element("fmiModelDescription", given)


def _add_units(root: Element, variables: Variables) -> None:
    units = dict.fromkeys(variable.unit for variable in variables.listed if variable.unit)
    if units:
        definitions = _add(root, "UnitDefinitions")
        for unit in units:
            _add(definitions, "Unit", name=unit)


def _add_experiment(root: Element, model: Model) -> None:
    _add(root, "LogCategories").append(Element("Category", {"name": "logStatusError"}))
    _add(root, "DefaultExperiment", startTime=model.start_time, stepSize=model.step)


def _dependencies(variables: Variables, variable: Variable, first: int, with_time: bool) -> str:
    """What a derivative or an output may depend on: states, and inputs that it directly depends on."""
    inputs = [n for n, _ in variables.of_kind(INPUT)] if variable.kind == DERIVATIVE else variable.of
    numbers = [*([0] if with_time else []), *inputs, *(n for n, _ in variables.of_kind(STATE))]
    return " ".join(str(number + first) for number in sorted(numbers))


# ---------------------------------------------------------------------- FMI 3


def _of_version_3(model: Model, variables: Variables) -> Element:
    root = _new_root(model, "3.0", instantiationToken=model.token, variableNamingConvention="flat")
    abilities = {
        "modelIdentifier": model.identifier, "canGetAndSetFMUState": True, "canSerializeFMUState": True,
        "canBeInstantiatedOnlyOncePerProcess": False,
    }  # fmt: skip
    has_slopes = not model.without_slopes
    derivatives = {"providesDirectionalDerivatives": has_slopes, "providesAdjointDerivatives": has_slopes}
    if "me" in model.kinds:
        _add(root, "ModelExchange", **abilities, needsCompletedIntegratorStep=model.has_pieces,
             **derivatives)  # fmt: skip
    if "cs" in model.kinds:
        _add(
            root, "CoSimulation", **abilities, canHandleVariableCommunicationStepSize=True, hasEventMode=True,
            fixedInternalStepSize=model.step, **derivatives,
        )  # fmt: skip
    _add_units(root, variables)
    _add_experiment(root, model)
    listed = _add(root, "ModelVariables")
    for number, variable in enumerate(variables.listed):
        _add(
            listed, "Float64", name=variable.name, valueReference=number,
            causality=_CAUSALITIES.get(variable.kind, "local"),
            variability=_VARIABILITIES.get(variable.kind, "continuous"),
            initial=_INITIAL.get(variable.kind), unit=variable.unit, start=variable.start,
            derivative=variable.of[0] if variable.kind == DERIVATIVE else None,
        )  # fmt: skip
    structure = _add(root, "ModelStructure")
    for tag, kinds in (
        ("Output", [OUTPUT]), ("ContinuousStateDerivative", [DERIVATIVE]), ("InitialUnknown", [OUTPUT, DERIVATIVE]),
    ):  # fmt: skip
        for kind in kinds:
            for number, variable in variables.of_kind(kind):
                # Before the initialization they may depend on anything.
                known = None if tag == "InitialUnknown" else _dependencies(variables, variable, 0, True)
                _add(structure, tag, valueReference=number, dependencies=known)
    for number, _ in variables.of_kind(INDICATOR):
        _add(structure, "EventIndicator", valueReference=number)
    return root


# ---------------------------------------------------------------------- FMI 2


def _of_version_2(model: Model, variables: Variables) -> Element:
    num_indicators = str(len(variables.of_kind(INDICATOR)))
    root = _new_root(
        model, "2.0", guid=model.token, variableNamingConvention="flat", numberOfEventIndicators=num_indicators
    )
    abilities = {
        "modelIdentifier": model.identifier, "canGetAndSetFMUstate": True, "canSerializeFMUstate": True,
        "canBeInstantiatedOnlyOncePerProcess": False, "canNotUseMemoryManagementFunctions": True,
    }  # fmt: skip
    if "me" in model.kinds:
        _add(root, "ModelExchange", **abilities, completedIntegratorStepNotNeeded=not model.has_pieces,
             providesDirectionalDerivative=not model.without_slopes)  # fmt: skip
    if "cs" in model.kinds:
        _add(root, "CoSimulation", **abilities, canHandleVariableCommunicationStepSize=True,
             providesDirectionalDerivative=not model.without_slopes)  # fmt: skip
    _add_units(root, variables)
    _add_experiment(root, model)
    listed = _add(root, "ModelVariables")
    for number, variable in enumerate(variables.listed):
        scalar = _add(
            listed, "ScalarVariable", name=variable.name, valueReference=number,
            causality=_CAUSALITIES.get(variable.kind, "local"),
            variability=_VARIABILITIES.get(variable.kind, "continuous"), initial=_INITIAL.get(variable.kind),
        )  # fmt: skip
        derivative = variable.of[0] + 1 if variable.kind == DERIVATIVE else None
        _add(scalar, "Real", unit=variable.unit, start=variable.start, derivative=derivative)
    structure = _add(root, "ModelStructure")
    for tag, kinds in (("Outputs", [OUTPUT]), ("Derivatives", [DERIVATIVE]), ("InitialUnknowns", [OUTPUT, DERIVATIVE])):
        unknowns = [item for kind in kinds for item in variables.of_kind(kind)]
        parent = _add(structure, tag) if unknowns else structure
        for number, variable in sorted(unknowns, key=lambda item: item[0]):
            known = None if tag == "InitialUnknowns" else _dependencies(variables, variable, 1, False)
            _add(parent, "Unknown", index=number + 1, dependencies=known)
    return root


# ---------------------------------------------------------------------- a page for people


PICTURES = {"2.0": "model.png", "3.0": "documentation/diagram.png"}  # where hosts look for them
_MOST_PIXELS, _PIXELS_PER_INCH = 4000.0, 100.0


def picture_of(system: System) -> bytes:
    """The blocks of a system and their wires, as a picture in PNG; empty where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return b""
    content, figure = io.BytesIO(), plot_diagram(system)
    figure.savefig(content, format="png", dpi=min(_PIXELS_PER_INCH, _MOST_PIXELS / max(figure.get_size_inches())))
    return content.getvalue()


def page_of(model: Model, variables: Variables, pictures: Iterable[str]) -> str:
    """The page documentation/index.html: pictures, which are files of the FMU, and a table of the variables."""
    rows = "\n".join(
        f"<tr><td>{html.escape(variable.name)}</td><td>{variable.kind.lower().replace('_', ' ')}</td>"
        f"<td>{html.escape(variable.unit or '')}</td><td>{'' if variable.start is None else repr(variable.start)}</td>"
        f"<td>{number}</td></tr>"
        for number, variable in enumerate(variables.listed)
    )
    name = html.escape(model.name)
    slopes = "exact." if not model.without_slopes else f"none, because of {html.escape(model.without_slopes)}."
    image = "<p><img src='../{}' alt='blocks and wires' style='max-width: 100%'></p>\n"
    images = "".join(map(image.format, pictures))
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{name}</title></head>\n<body>\n"
        f"<h1>{name}</h1>\n<p>Exported by merganser. Inputs are kept constant over each communication step. "
        f"Directional derivatives: {slopes}</p>\n"
        f"{images}"
        "<table><tr><th>variable</th><th>kind</th><th>unit</th><th>start</th><th>value reference</th></tr>\n"
        f"{rows}\n</table>\n</body></html>\n"
    )
