"""Units of ports: whether a wire may connect two of them, and the block that converts one into the other.

Units are text in the syntax of pint, such as "rad/s" or "kg m^2". Only to compare two different ones is pint imported,
an extra (`pip install 'merganser[units]'`). Angles count as a dimension: "rpm" is "rad/s" but for a factor, and "Hz",
which counts turns, is not.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from merganser.framework.common.errors import DiagramError
from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import checked_size


@functools.cache
def _registry() -> Any:
    try:
        return importlib.import_module("pint").UnitRegistry(autoconvert_offset_to_baseunit=True)
    except ImportError as error:
        raise ImportError("To compare different units of ports takes pint: pip install 'merganser[units]'.") from error


def _in_base_units(units: str) -> tuple[str, float, float]:
    """The base units, and the factor a and the offset b of base value = a value + b.

    Raises:
        ValueError: pint does not know the units.
    """
    registry = _registry()
    try:
        unit = registry.Unit(units)
    except Exception as error:  # pint has a dozen kinds
        raise ValueError(f"units {units!r} cannot be understood: {error}") from error
    zero, one = (registry.Quantity(value, unit).to_root_units() for value in (0.0, 1.0))
    return str(one.units), float(one.magnitude - zero.magnitude), float(zero.magnitude)


def conversion(source: str, target: str) -> tuple[float, float] | None:
    """The factor k and the offset c with which k x + c, in `target` units, is x in `source` units.

    None if the dimensions differ.

    Raises:
        ImportError: pint is not installed.
        ValueError: pint does not know the units.
    """
    (base, a, b), (other_base, other_a, other_b) = _in_base_units(source), _in_base_units(target)
    return (a / other_a, (b - other_b) / other_a) if base == other_base else None


def require_same_units(output: OutputPort | InputPort, input: InputPort, remedy: str) -> None:
    """Refuses two ports that share a value if both have units, and these are not the same.

    Args:
        output: a port.
        input: another one, which is to have the same value.
        remedy: what to do about units of the same dimension.

    Raises:
        DiagramError: the units differ.
    """
    units, wanted = output.get_units(), input.get_units()
    if units is None or wanted is None or units == wanted:
        return
    ports = f"{output.GetFullDescription()} [{units}] to {input.GetFullDescription()} [{wanted}]"
    try:
        found = conversion(units, wanted)
    except ValueError as error:
        raise DiagramError(f"Cannot connect {ports}: {error}") from error
    if found is None:
        raise DiagramError(f"Cannot connect {ports}: the dimensions differ.")
    if found != (1.0, 0.0):
        raise DiagramError(f"Cannot connect {ports}: the value would have to become {_law(*found)}. {remedy}")


def _law(factor: float, offset: float) -> str:
    return f"{factor:.6g} times as much" + (f", plus {offset:.6g}" if offset else "")


@native
def converted(factor: float, offset: float, u: Any, y: Any) -> None:
    """y = factor u + offset."""
    for i in elements(y):
        y[i] = factor * u[i] + offset


class UnitConversion(LeafSystem):
    """The input in other units of the same dimension.

    Args:
        source: units of the input, such as "rpm".
        target: units of the output, such as "rad/s".
        size: number of elements.

    Raises:
        ImportError: pint is not installed.
        ValueError: units are not known, or the dimensions differ.
    """

    def __init__(self, source: str, target: str, size: int = 1) -> None:
        super().__init__()
        size, found = checked_size(size, "UnitConversion: size"), conversion(source, target)
        if found is None:
            raise ValueError(f"UnitConversion: the dimensions of {source!r} and {target!r} differ.")
        u = self.DeclareVectorInputPort(kUseDefaultName, size, units=source)
        calc = converted.given(factor=found[0], offset=found[1], u=u)
        self.DeclareVectorOutputPort(kUseDefaultName, size, calc, units=target)
