"""Blocks whose output depends on where their input has been: relay, hysteresis, backlash, rate limiter, crossings.

The memory is discrete state, brought up to date at both ends of each step of a simulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import DiscreteUpdateEvent
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.witness import WitnessFunction, WitnessFunctionDirection
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.math.element_functions import clamp
from merganser.framework.primitives._arguments import checked_vector, vectors_of_one_size
from merganser.framework.primitives.native_parts import if_at_most, magnitude
from merganser.framework.primitives.piecewise import PiecewiseBlock
from merganser.framework.primitives.sources import present

Array = NDArray[Any]
_SMALLEST = 1e-300  # a rate of zero is none of turning back
_LONG_AGO = -1e200  # [s]


@native
def relay_state(u: Array, on: Array, off: Array, memory: Array, region: Array) -> None:
    """1 at or above the upper threshold, 0 at or below the lower one; between them as before."""
    for i in elements(region):
        region[i] = if_at_most(on[i], u[i], 1.0, if_at_most(u[i], off[i], 0.0, memory[i]))


@native
def relay_margin(u: Array, on: Array, off: Array, region: Array, margin: Array) -> None:
    """The distance from the threshold that switches next."""
    for i in elements(margin):
        margin[i] = if_at_most(region[i], 0.5, on[i] - u[i], u[i] - off[i])


@native
def relay_output(value_on: Array, value_off: Array, region: Array, y: Array) -> None:
    """One of two values."""
    for i in elements(y):
        y[i] = if_at_most(region[i], 0.5, value_off[i], value_on[i])


class Relay(PiecewiseBlock):
    """Switches on where its input reaches an upper threshold, and off where it falls to a lower one.

    Which it is between the two is a discrete state.

    Args:
        on: the threshold for switching on, one number or shape [n].
        off: the threshold for switching off, below `on`.
        value_on, value_off: the outputs.
        is_on: what it is in the beginning, for an input between the thresholds.

    Raises:
        ValueError: `off` is not below `on`.
    """

    def __init__(
        self,
        on: ArrayLike,
        off: ArrayLike,
        value_on: ArrayLike = 1.0,
        value_off: ArrayLike = 0.0,
        *,
        is_on: bool = False,
    ) -> None:
        super().__init__()
        upper, lower, high, low = vectors_of_one_size("Relay", on=on, off=off, value_on=value_on, value_off=value_off)
        if not (lower < upper).all():
            i = int(np.argmin(lower < upper))
            raise ValueError(f"Relay: off must be below on; element {i} is {lower[i]} and {upper[i]}.")
        u = self.DeclareVectorInputPort(kUseDefaultName, upper.size)
        memory = self.DeclareDiscreteState(np.full(upper.size, float(is_on)))
        state = relay_state.given(u=u, on=upper, off=lower, memory=memory)
        self._declare_law(
            upper.size,
            state,
            relay_margin.given(u=u, on=upper, off=lower),
            relay_output.given(value_on=high, value_off=low),
            memory=[(memory, state)],
        )


class Hysteresis(Relay):
    """1 after its input was last at or above `upper`, 0 after it was last at or below `lower` (a Schmitt trigger).

    Args:
        lower, upper: one number or shape [n].
        is_high: what it is in the beginning, for an input between the two.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, is_high: bool = False) -> None:
        super().__init__(upper, lower, is_on=is_high)


@native
def play_side(u: Array, half: float, memory: Array, region: Array) -> None:
    """Which side of the gap pushes: 1 moving up, -1 moving down, 0 none."""
    for i in elements(region):
        region[i] = if_at_most(u[i] - half, memory[i], if_at_most(memory[i], u[i] + half, 0.0, -1.0), 1.0)


@native
def play_margin(u: Array, half: float, memory: Array, region: Array, margin: Array) -> None:
    """How far the sides of the gap are from what they push; 1 while one pushes."""
    for i in elements(margin):
        below, above = memory[i] - (u[i] - half), u[i] + half - memory[i]
        margin[i] = if_at_most(magnitude(region[i]), 0.5, if_at_most(below, above, below, above), 1.0)


@native
def play_output(u: Array, half: float, memory: Array, region: Array, y: Array) -> None:
    """What is pushed follows the side that pushes, or stays."""
    for i in elements(y):
        y[i] = if_at_most(magnitude(region[i]), 0.5, memory[i], u[i] - half * region[i])


@native
def pushed(u: Array, half: float, memory: Array, new: Array) -> None:
    """Where the sides of the gap have brought what they push."""
    for i in elements(new):
        new[i] = clamp(memory[i], u[i] - half, u[i] + half)


@native
def pushing_margin(region: Array, rate: Array, margin: Array) -> None:
    """How fast the side that pushes moves on, until it turns; 1 while none pushes."""
    for i in elements(margin):
        margin[i] = if_at_most(magnitude(region[i]), 0.5, 1.0, region[i] * rate[i] + _SMALLEST)


class Backlash(PiecewiseBlock):
    """Play between two parts: y follows u at half the width of the gap, and rests while u crosses the gap.

    Where u turns is found like any corner, from its rate of change.

    Args:
        width: of the gap, positive.
        initial: y in the beginning, one number or shape [n]; it is pushed along where u is farther away.
    """

    def __init__(self, width: float, initial: ArrayLike = 0.0) -> None:
        super().__init__()
        start, (gap,) = checked_vector(initial, "Backlash: initial"), checked_vector(width, "Backlash: width")
        if not gap > 0.0:
            raise ValueError(f"Backlash: width must be positive, got {gap}.")
        u, memory = self.DeclareVectorInputPort(kUseDefaultName, start.size), self.DeclareDiscreteState(start)
        wires: dict[str, Any] = {"u": u, "half": 0.5 * gap, "memory": memory}
        region, margin, law = (part.given(**wires) for part in (play_side, play_margin, play_output))
        self._declare_law(start.size, region, margin, law, [(memory, pushed.given(**wires))], pushing_margin)


@native
def limiter_state(
    u: Array, rising: Array, falling: Array, t: float, start: Array, since: Array, region: Array
) -> None:
    """1 where y rises at its limit, -1 where it falls at its limit, 0 where it follows u."""
    for i in elements(region):
        high, low = start[i] + rising[i] * (t - since[i]), start[i] - falling[i] * (t - since[i])
        region[i] = if_at_most(u[i], high, if_at_most(low, u[i], 0.0, -1.0), 1.0)


@native
def limited(
    u: Array, rising: Array, falling: Array, t: float, start: Array, since: Array, region: Array, y: Array
) -> None:
    """y = u, or the value at the start of the step and what the limit has added since."""
    for i in elements(y):
        rate = if_at_most(region[i], 0.0, -falling[i], rising[i])
        y[i] = if_at_most(magnitude(region[i]), 0.5, u[i], start[i] + rate * (t - since[i]))


@native
def limiter_margin(
    u: Array, rising: Array, falling: Array, t: float, start: Array, since: Array, region: Array, margin: Array
) -> None:
    """How far u is from y while a limit counts; 0 where y follows u."""
    for i in elements(margin):
        rate = if_at_most(region[i], 0.0, -falling[i], rising[i])
        margin[i] = region[i] * (u[i] - (start[i] + rate * (t - since[i])))


@native
def following_margin(rising: Array, falling: Array, region: Array, rate: Array, margin: Array) -> None:
    """How far the rate of u is from the limits while y follows it; 1 elsewhere."""
    for i in elements(margin):
        up, down = rising[i] - rate[i], rate[i] + falling[i]
        margin[i] = if_at_most(magnitude(region[i]), 0.5, if_at_most(up, down, up, down), 1.0)


class RateLimiter(PiecewiseBlock):
    """y follows u, but rises by no more than `rising` and falls by no more than `falling` in a second.

    Args:
        rising, falling: limits [1/s], positive, one number or shape [n].
        initial: y at time 0; by default it starts at u.
    """

    def __init__(self, rising: ArrayLike, falling: ArrayLike, initial: ArrayLike | None = None) -> None:
        super().__init__()
        start_at = 0.0 if initial is None else initial
        up, down, start = vectors_of_one_size("RateLimiter", rising=rising, falling=falling, initial=start_at)
        if not ((up > 0.0).all() and (down > 0.0).all()):
            raise ValueError(f"RateLimiter: limits must be positive, got {up.tolist()} and {down.tolist()}.")
        u, y0 = self.DeclareVectorInputPort(kUseDefaultName, up.size), self.DeclareDiscreteState(start)
        t0 = self.DeclareDiscreteState(np.full(up.size, _LONG_AGO if initial is None else 0.0))
        wires: dict[str, Any] = {"u": u, "rising": up, "falling": down, "start": y0, "since": t0}
        law = limited.given(**wires)
        self._declare_law(
            up.size,
            limiter_state.given(**wires),
            limiter_margin.given(**wires),
            law,
            memory=[(y0, law), (t0, present)],
            turning=following_margin.given(rising=up, falling=down),
        )


_DIRECTIONS = {
    "rising": WitnessFunctionDirection.kNegativeThenNonNegative,
    "falling": WitnessFunctionDirection.kPositiveThenNonPositive,
    "either": WitnessFunctionDirection.kCrossesZero,
}


@native
def beyond(u: Array, level: Array, margin: Array) -> None:
    """How far a signal is above a level."""
    margin[0] = u[0] - level[0]


@native
def one_more(xd: Array, next_xd: Array) -> None:
    """Counts."""
    next_xd[0] = xd[0] + 1.0


class DetectCrossing(LeafSystem):
    """y is how often its input has passed a level during a simulation; a step of the simulation ends at each passage.

    The count is a discrete state, which one may set back. Outside of simulations nothing is counted.

    Args:
        direction: of the passages that count: "rising", "falling" or "either".
        level: the level.
    """

    def __init__(self, direction: str = "either", level: float = 0.0) -> None:
        super().__init__()
        if direction not in _DIRECTIONS:
            raise ValueError(f"DetectCrossing: direction must be one of {list(_DIRECTIONS)}, got {direction!r}.")
        threshold = checked_vector(level, "DetectCrossing: level")
        if threshold.size != 1:
            raise ValueError(f"DetectCrossing: level must be one number, got {threshold.tolist()}.")
        u = self.DeclareVectorInputPort(kUseDefaultName, 1)
        self.DeclareStateOutputPort(kUseDefaultName, self.DeclareDiscreteState(1))
        calc, event = beyond.given(u=u, level=threshold), DiscreteUpdateEvent(one_more)
        self._crossing = self.MakeWitnessFunction("crossing", _DIRECTIONS[direction], calc, event)

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return [self._crossing]
