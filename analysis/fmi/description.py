"""modelDescription.xml of FMI 2.0 and 3.0, and a page that describes the variables."""

from __future__ import annotations

import html
import importlib.util
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from merganser.analysis.fmi.variables import (
    DERIVATIVE,
    DISCRETE_STATE,
    INDICATOR,
    INPUT,
    OUTPUT,
    PARAMETER,
    STATE,
    TIME,
    Variable,
    Variables,
)
from merganser.framework import plot_diagram

if TYPE_CHECKING:
    from merganser.framework import System

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
