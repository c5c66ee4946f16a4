"""Blocks with corners and jumps: dead zone, sign, friction, quantizer, comparison, switches, minimum and maximum.

Each is a native function of its inputs and of the region that these are in (piecewise.py). Elements of vectors are
independent of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.math.element_functions import floor
from merganser.framework.primitives._arguments import checked_size, checked_vector, vectors_of_one_size
from merganser.framework.primitives.native_parts import if_at_most, magnitude
from merganser.framework.primitives.piecewise import PiecewiseBlock

Array = NDArray[Any]
_AT = 1e-12  # a signal this near to a threshold that it was exactly at has not left it

# ---------------------------------------------------------------------- below, at or above a threshold


@native
def side_of(u: Array, threshold: Array, region: Array) -> None:
    """-1 below the threshold, 0 exactly at it, 1 above it."""
    for i in elements(region):
        d = u[i] - threshold[i]
        region[i] = if_at_most(d, 0.0, if_at_most(0.0, d, 0.0, -1.0), 1.0)


@native
def side_margin(u: Array, threshold: Array, region: Array, margin: Array) -> None:
    """The distance from the threshold; at it, how far it is from having left it."""
    for i in elements(margin):
        d = u[i] - threshold[i]
        margin[i] = if_at_most(magnitude(region[i]), 0.5, _AT - magnitude(d), region[i] * d)


@native
def by_side(below: Array, at: Array, above: Array, slope: Array, u: Array, region: Array, y: Array) -> None:
    """A constant for each side, and a part that is proportional to u."""
    for i in elements(y):
        constant = if_at_most(region[i], -0.5, below[i], if_at_most(region[i], 0.5, at[i], above[i]))
        y[i] = constant + slope[i] * u[i]


class _BySide(PiecewiseBlock):
    """Base of functions of one input with a jump at a threshold."""

    def _declare_sides(self, threshold: Array, values: Sequence[Array], slope: Array) -> None:
        u = self.DeclareVectorInputPort(kUseDefaultName, threshold.size)
        below, at, above = values
        self._declare_law(
            threshold.size,
            side_of.given(u=u, threshold=threshold),
            side_margin.given(u=u, threshold=threshold),
            by_side.given(u=u, below=below, at=at, above=above, slope=slope),
        )


class Sign(_BySide):
    """y = -1 where u < 0, 0 where u = 0, 1 where u > 0.

    Args:
        size: number of elements.
    """

    def __init__(self, size: int = 1) -> None:
        super().__init__()
        zeros = np.zeros(checked_size(size, "Sign: size", 1))
        self._declare_sides(zeros, (zeros - 1.0, zeros, zeros + 1.0), zeros)


class CoulombViscousFriction(_BySide):
    """y = sign(u) offset + gain u: dry and viscous friction at the velocity u; 0 at rest.

    A mass that this friction brings to rest would chatter about u = 0, which a simulation ends with an error that names
    the block; joints of a MultibodyPlant have friction that sticks.

    Args:
        offset: the dry part, one number or shape [n], not negative.
        gain: the viscous part, one number or shape [n].
    """

    def __init__(self, offset: ArrayLike, gain: ArrayLike = 0.0) -> None:
        super().__init__()
        dry, viscous = vectors_of_one_size("CoulombViscousFriction", offset=offset, gain=gain)
        if (dry < 0.0).any():
            raise ValueError(f"CoulombViscousFriction: offset must not be negative, got {dry.tolist()}.")
        self._declare_sides(0.0 * dry, (-dry, 0.0 * dry, dry), viscous)


_OPERATORS = {
    "<": (1.0, 0.0, 0.0),
    "<=": (1.0, 1.0, 0.0),
    ">": (0.0, 0.0, 1.0),
    ">=": (0.0, 1.0, 1.0),
    "==": (0.0, 1.0, 0.0),
    "!=": (1.0, 0.0, 1.0),
}


class CompareToConstant(_BySide):
    """y = 1 where u compares with a constant as asked for, 0 elsewhere.

    Args:
        constant: one number or shape [n].
        operator: "<", "<=", ">", ">=", "==" or "!=".
    """

    def __init__(self, constant: ArrayLike, operator: str = ">=") -> None:
        super().__init__()
        threshold = checked_vector(constant, "CompareToConstant: constant")
        if operator not in _OPERATORS:
            raise ValueError(f"CompareToConstant: operator must be one of {list(_OPERATORS)}, got {operator!r}.")
        zeros = 0.0 * threshold
        self._declare_sides(threshold, [zeros + value for value in _OPERATORS[operator]], zeros)


# ---------------------------------------------------------------------- dead zone and absolute value


@native
def zone_of(u: Array, lower: Array, upper: Array, region: Array) -> None:
    """-1 below the zone, 0 in it, 1 above it."""
    for i in elements(region):
        region[i] = if_at_most(u[i], lower[i], -1.0, if_at_most(upper[i], u[i], 1.0, 0.0))


@native
def zone_margin(u: Array, lower: Array, upper: Array, region: Array, margin: Array) -> None:
    """The distance from the nearest border of the zone."""
    for i in elements(margin):
        to_lower, to_upper = u[i] - lower[i], upper[i] - u[i]
        inside = if_at_most(to_lower, to_upper, to_lower, to_upper)
        margin[i] = if_at_most(region[i], -0.5, -to_lower, if_at_most(region[i], 0.5, inside, -to_upper))


@native
def outside_of_zone(u: Array, lower: Array, upper: Array, region: Array, y: Array) -> None:
    """What u is beyond the zone."""
    for i in elements(y):
        y[i] = if_at_most(region[i], -0.5, u[i] - lower[i], if_at_most(region[i], 0.5, 0.0 * u[i], u[i] - upper[i]))


class DeadZone(PiecewiseBlock):
    """y = 0 where lower <= u <= upper, u - upper above, u - lower below.

    Args:
        lower, upper: ends of the zone, one number or shape [n].

    Raises:
        ValueError: a lower end is above the upper one.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        super().__init__()
        low, high = vectors_of_one_size("DeadZone", lower=lower, upper=upper)
        if (low > high).any():
            i = int(np.argmax(low > high))
            raise ValueError(f"DeadZone: lower must not be above upper; element {i} is {low[i]} and {high[i]}.")
        u = self.DeclareVectorInputPort(kUseDefaultName, low.size)
        wires: dict[str, Any] = {"u": u, "lower": low, "upper": high}
        region, margin, law = (part.given(**wires) for part in (zone_of, zone_margin, outside_of_zone))
        self._declare_law(low.size, region, margin, law)


@native
def positive_side(u: Array, region: Array) -> None:
    """1 where u >= 0, else -1."""
    for i in elements(region):
        region[i] = if_at_most(0.0, u[i], 1.0, -1.0)


@native
def times_side(u: Array, region: Array, y: Array) -> None:
    """u times the side that it is on."""
    for i in elements(y):
        y[i] = region[i] * u[i]


class Abs(PiecewiseBlock):
    """y = |u|.

    Args:
        size: number of elements.
    """

    def __init__(self, size: int = 1) -> None:
        super().__init__()
        size = checked_size(size, "Abs: size", 1)
        u = self.DeclareVectorInputPort(kUseDefaultName, size)
        self._declare_law(size, positive_side.given(u=u), times_side.given(u=u), times_side.given(u=u))


# ---------------------------------------------------------------------- quantizer


@native
def level_of(u: Array, interval: Array, region: Array) -> None:
    """The number of the nearest level."""
    for i in elements(region):
        region[i] = floor(u[i] / interval[i] + 0.5)


@native
def level_margin(u: Array, interval: Array, region: Array, margin: Array) -> None:
    """The distance from the middle between two levels."""
    for i in elements(margin):
        margin[i] = 0.5 * interval[i] - magnitude(u[i] - interval[i] * region[i])


@native
def value_of_level(interval: Array, region: Array, y: Array) -> None:
    """A multiple of the interval."""
    for i in elements(y):
        y[i] = interval[i] * region[i]


class Quantizer(PiecewiseBlock):
    """y = interval * round(u / interval), halves rounded up.

    Args:
        interval: between two levels, one number or shape [n], positive.
    """

    def __init__(self, interval: ArrayLike) -> None:
        super().__init__()
        q = checked_vector(interval, "Quantizer: interval")
        if not (q > 0.0).all():
            raise ValueError(f"Quantizer: interval must be positive, got {q.tolist()}.")
        u = self.DeclareVectorInputPort(kUseDefaultName, q.size)
        self._declare_law(
            q.size,
            level_of.given(u=u, interval=q),
            level_margin.given(u=u, interval=q),
            value_of_level.given(interval=q),
        )


# ---------------------------------------------------------------------- choices between inputs


@native
def largest_of(u: Sequence[Array], sign: float, region: Array) -> None:
    """The number of the input with the largest value, of -u for sign = -1; the first of equal ones."""
    for i in elements(region):
        number, largest = 0.0, sign * u[0][i]
        for k in range(1, len(u)):
            number = if_at_most(sign * u[k][i], largest, number, 1.0 * k)
            largest = if_at_most(sign * u[k][i], largest, largest, sign * u[k][i])
        region[i] = number


@native
def lead_of_largest(u: Sequence[Array], sign: float, region: Array, margin: Array) -> None:
    """By how much the chosen input leads the next one."""
    for i in elements(margin):
        mine, others = -1e300, -1e300
        for k in range(len(u)):
            value, distance = sign * u[k][i], magnitude(region[i] - 1.0 * k)
            mine = if_at_most(distance, 0.5, value, mine)
            others = if_at_most(distance, 0.5, others, if_at_most(value, others, others, value))
        margin[i] = mine - others


@native
def chosen_input(u: Sequence[Array], region: Array, y: Array) -> None:
    """The input of the number `region`."""
    for i in elements(y):
        value = u[0][i]
        for k in range(1, len(u)):
            value = if_at_most(magnitude(region[i] - 1.0 * k), 0.5, u[k][i], value)
        y[i] = value


class MinMax(PiecewiseBlock):
    """The smallest or the largest of its inputs u0, u1, ..., element by element.

    Args:
        function: "min" or "max".
        num_inputs: number of input ports, at least two.
        size: number of elements of each.
    """

    def __init__(self, function: str, num_inputs: int = 2, size: int = 1) -> None:
        super().__init__()
        if function not in ("min", "max"):
            raise ValueError(f"MinMax: function must be 'min' or 'max', got {function!r}.")
        size, count = checked_size(size, "MinMax: size", 1), checked_size(num_inputs, "MinMax: num_inputs", 2)
        u = [self.DeclareVectorInputPort(kUseDefaultName, size) for _ in range(count)]
        sign = 1.0 if function == "max" else -1.0
        self._declare_law(
            size,
            largest_of.given(u=u, sign=sign),
            lead_of_largest.given(u=u, sign=sign),
            chosen_input.given(u=u),
        )


@native
def number_of_input(control: Array, last: float, region: Array) -> None:
    """The control signal, rounded, within 0 and the last number."""
    number = floor(control[0] + 0.5)
    number = if_at_most(number, 0.0, 0.0, if_at_most(last, number, last, number))
    for i in elements(region):
        region[i] = number


@native
def number_margin(control: Array, last: float, region: Array, margin: Array) -> None:
    """The distance of the control signal from the next number."""
    for i in elements(margin):
        below = if_at_most(region[i], 0.5, 1.0, control[0] - region[i] + 0.5)
        above = if_at_most(last - 0.5, region[i], 1.0, region[i] + 0.5 - control[0])
        margin[i] = if_at_most(below, above, below, above)


class MultiportSwitch(PiecewiseBlock):
    """Passes on the input whose number is on the port `control`: u0 for 0, u1 for 1, ...

    The control signal is rounded; below 0 it counts as 0, above the last number as that.

    Args:
        num_inputs: number of inputs to choose from, at least two.
        size: number of elements of each.
    """

    def __init__(self, num_inputs: int, size: int = 1) -> None:
        super().__init__()
        count = checked_size(num_inputs, "MultiportSwitch: num_inputs", 2)
        size = checked_size(size, "MultiportSwitch: size", 1)
        control = self.DeclareVectorInputPort("control", 1)
        u = [self.DeclareVectorInputPort(f"u{k}", size) for k in range(count)]
        last = count - 1.0
        self._declare_law(
            size,
            number_of_input.given(control=control, last=last),
            number_margin.given(control=control, last=last),
            chosen_input.given(u=u),
        )


@native
def passed_on(control: Array, threshold: float, region: Array) -> None:
    """0, the first input, where the control signal is at or above the threshold; else 1."""
    for i in elements(region):
        region[i] = if_at_most(threshold, control[0], 0.0, 1.0)


@native
def switch_margin(control: Array, threshold: float, region: Array, margin: Array) -> None:
    """The distance of the control signal from the threshold."""
    for i in elements(margin):
        margin[i] = (1.0 - 2.0 * region[i]) * (control[0] - threshold)


class Switch(PiecewiseBlock):
    """Passes on u0 where the signal of the port `control` is at or above a threshold, else u1.

    Args:
        threshold: a number.
        size: number of elements of u0 and u1.
    """

    def __init__(self, threshold: float = 0.0, size: int = 1) -> None:
        super().__init__()
        size, (limit,) = checked_size(size, "Switch: size", 1), checked_vector(threshold, "Switch: threshold")
        control = self.DeclareVectorInputPort("control", 1)
        u = [self.DeclareVectorInputPort(name, size) for name in ("u0", "u1")]
        self._declare_law(
            size,
            passed_on.given(control=control, threshold=limit),
            switch_margin.given(control=control, threshold=limit),
            chosen_input.given(u=u),
        )


@native
def combined(u: Sequence[Array], weight: float, is_inverted: float, is_parity: float, y: Array) -> None:
    """Counts the inputs that are true, above 1/2; compares the count with `weight`, or asks whether it is odd."""
    for i in elements(y):
        count = 0.0
        for k in range(len(u)):
            count = count + if_at_most(u[k][i], 0.5, 0.0, 1.0)
        odd = count - 2.0 * floor(0.5 * count)
        found = if_at_most(is_parity, 0.5, if_at_most(weight, count, 1.0, 0.0), odd)
        y[i] = if_at_most(is_inverted, 0.5, found, 1.0 - found)


_LOGIC = ("and", "or", "nand", "nor", "xor", "xnor", "not")


class LogicalOperator(LeafSystem):
    """1 where its inputs u0, u1, ... combine to true, else 0, element by element; above 1/2 an input counts as true.

    Args:
        operator: "and", "or", "nand", "nor", "xor" (an odd number is true), "xnor" or "not" (of one input).
        num_inputs: number of input ports.
        size: number of elements of each.
    """

    def __init__(self, operator: str, num_inputs: int = 2, size: int = 1) -> None:
        super().__init__()
        if operator not in _LOGIC:
            raise ValueError(f"LogicalOperator: operator must be one of {list(_LOGIC)}, got {operator!r}.")
        count = 1 if operator == "not" else checked_size(num_inputs, "LogicalOperator: num_inputs", 1)
        size = checked_size(size, "LogicalOperator: size", 1)
        u = [self.DeclareVectorInputPort(kUseDefaultName, size) for _ in range(count)]
        calc = combined.given(
            u=u,
            weight=float(count) if operator.endswith("and") else 1.0,
            is_inverted=float(operator in ("nand", "nor", "xnor", "not")),
            is_parity=float(operator in ("xor", "xnor")),
        )
        self.DeclareVectorOutputPort(kUseDefaultName, size, calc)
