"""PiecewiseBlock: base of blocks whose law is another one on each side of a threshold.

Its elements have *regions*, numbered 0.0, 1.0, -1.0, ...; within each the law is smooth. A simulator keeps the regions
constant for the whole of a step, extends the law of each region beyond its border, and ends the step where a *margin*,
the distance to the border, passes zero. So an integrator sees smooth functions only, and no step goes over a corner.
Outside of steps, the regions follow from the present inputs.

StepBlock: base of blocks that a simulator asks at both ends of each step, also of those with a memory alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import DiscreteStateIndex, kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.native_function import NativeFunction, native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.declarations.witness import WitnessFunction, WitnessFunctionDirection
from merganser.framework.core.inside import declare_vector_entry
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives.native_parts import if_at_most

Array = NDArray[Any]


@native
def chosen(is_held: Array, held: Array, free: Array, region: Array) -> None:
    """The regions that are held constant, if they are (is_held = 1), else those that the inputs ask for."""
    for i in elements(region):
        region[i] = if_at_most(is_held[0], 0.5, free[i], held[i])


class StepBlock(LeafSystem):
    """Base of blocks that a simulator asks at the beginning and at the end of each step.

    At the beginning, after all updates, it calls `decide` of all blocks, and then `carry_out`, until none of them
    changes anything. Then it calls `measure`, `record` with what that gives, `regions`, `hold` with these, and
    `end_of_step`;
    at the end `note_end`, then `measure`, just before what happens at that time, `record`, and `hold` with None.
    """

    _keeps_derivatives = True
    _sys_is_piecewise = True

    def slots(self, context: Any) -> tuple[list[Any], list[Any]]:
        """Where regions and memory are computed in a context, and where margins are."""
        return [], []

    def decide(self, context: Context, is_first: bool) -> Any:
        """What is to change before the step begins; None if nothing.

        Args:
            context: of the block; it is not changed yet.
            is_first: whether nothing has changed for that reason before, at the beginning of this step.
        """

    def carry_out(self, context: Context, decision: Any) -> None:
        """Changes what `decide` gave."""

    def describe(self, decision: Any) -> str:
        """The transitions that a decision makes, for messages."""
        return ""

    def note_end(self, context: Context) -> None:
        """Notes in the memory what `decide` is to compare with."""

    def measure(self, context: Context, rate_of: Callable[[Any, Any], Array]) -> Any:
        """What the memory is to have of this moment; rate_of(signal, context) is the rate of signal(context) [1/s]."""

    def record(self, context: Context, measured: Any) -> None:
        """Brings the memory up to date with what `measure` gave."""

    def regions(self, context: Context) -> Array:
        """What the present inputs ask for; empty for a block without regions."""
        return np.zeros(0)

    def hold(self, context: Context, regions: Array | None) -> None:
        """Keeps the regions constant from now on; None lets them follow from the inputs."""

    def end_of_step(self, context: Context) -> float:
        """The time by which the step must end [s]."""
        return math.inf


class PiecewiseBlock(StepBlock):
    """Base of blocks with regions.

    In `__init__`, a derived class declares its input ports and the discrete state that is its memory, then calls
    `_declare_law`. Its native functions for margin, law and memory may read `region`, shape [size].
    """

    def _declare_law(
        self,
        size: int,
        region: NativeFunction,
        margin: NativeFunction,
        law: NativeFunction,
        memory: Sequence[tuple[DiscreteStateIndex, NativeFunction]] = (),
    ) -> None:
        """Declares the output port, shape [size].

        Args:
            size: number of elements.
            region: gives the regions that the present inputs, and the memory, ask for.
            margin: gives the distance of each element to the border of its region, positive inside.
            law: gives the output.
            memory: groups of discrete state, shape [size], and what gives their new values at both ends of each step.
        """
        self._held_index = self.DeclareNumericParameter(BasicVector(np.zeros(size + 1)))
        self._free_entry = self._entry("regions of the inputs", size, region, {})
        is_held, held = PartOf(self._held_index, 0, 1), PartOf(self._held_index, 1, size)
        choice = chosen.given(free=self._free_entry, is_held=is_held, held=held)
        self._region_entry = self._entry("regions", size, choice, {})
        wires = {"region": self._region_entry}
        self._margin_entry = self._entry("margins", size, margin, wires)
        self._memory = [(index, self._entry("memory", size, update, wires)) for index, update in memory]
        self._size, self._witnesses = size, self._make_witnesses(size)
        self.DeclareVectorOutputPort(kUseDefaultName, size, _wired(law, wires))

    def _entry(self, description: str, size: int, calc: NativeFunction, wires: dict[str, Any]) -> CacheEntry:
        model, tickets = BasicVector(size), {self.all_sources_ticket()}
        return declare_vector_entry(self, description, model, _wired(calc, wires), tickets)

    def _make_witnesses(self, size: int) -> list[WitnessFunction]:
        """Witness functions of the corners, and of turning points, of each element."""
        direction, made = WitnessFunctionDirection.kPositiveThenNonPositive, []
        for i in range(size):
            of = "" if size == 1 else f" of element {i}"
            made.append(self.MakeWitnessFunction(f"corner{of}", direction, functools.partial(self._margin_at, i)))
            if type(self)._rate_margins is not PiecewiseBlock._rate_margins:
                calc = functools.partial(self._rate_margin_at, i)
                made.append(self.MakeWitnessFunction(f"turning point{of}", direction, calc))
                made[-1].rate_of = self.get_input_port(0).Eval
        return made

    def _margin_at(self, i: int, context: Context) -> Any:
        return self._margin_entry.Eval(context).GetAtIndex(i)

    def _rate_margin_at(self, i: int, context: Context, rate: Array) -> Any:
        return self._rate_margins(np.array([r.real for r in self._region_entry.Eval(context).value()]), rate)[i]

    def _rate_margins(self, region: Array, rate: Array) -> Array:
        """Override: margins of regions that also end where the first input changes too fast, or turns.

        Args:
            region: shape [size].
            rate: of change of the first input [1/s], shape [size].
        """
        raise NotImplementedError

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return self._witnesses

    # ------------------------------------------------------------------ what a simulator does with the regions

    def slots(self, context: Any) -> tuple[list[Any], list[Any]]:
        regions = [self._free_entry, *(entry for _, entry in self._memory)]
        margins = context.slots[self._margin_entry.cache_index()]
        return [context.slots[entry.cache_index()] for entry in regions], [margins]

    def measure(self, context: Context, rate_of: Callable[[Any, Any], Array]) -> list[Array]:
        return [np.array(entry.Eval(context).value()) for _, entry in self._memory]

    def record(self, context: Context, measured: list[Array]) -> None:
        for (index, _), values in zip(self._memory, measured):
            if values.dtype == object or not np.array_equal(values, context.get_discrete_state(index).value()):
                context.SetDiscreteState(index, values)

    def regions(self, context: Context) -> Array:
        return np.array([number.real for number in self._free_entry.Eval(context).value()], dtype=np.float64)

    def hold(self, context: Context, regions: Array | None) -> None:
        held = np.zeros(self._size + 1) if regions is None else np.array([1.0, *regions])
        context.get_mutable_numeric_parameter(self._held_index).SetFromVector(held)


def _wired(function: NativeFunction, wires: dict[str, Any]) -> NativeFunction:
    """The function with those wires that it reads."""
    return function.given(**{name: wire for name, wire in wires.items() if name in function.parameters[:-1]})
