"""PiecewiseBlock: base of blocks whose law is another one on each side of a threshold.

Its elements have *regions*, numbered 0.0, 1.0, -1.0, ...; within each the law is smooth. A simulator keeps the regions
constant for the whole of a step, extends the law of each region beyond its border, and ends the step where a *margin*,
the distance to the border, passes zero. So an integrator sees smooth functions only, and no step goes over a corner.
Outside of steps, the regions follow from the present inputs.

StepBlock: base of blocks that a simulator asks at both ends of each step, also of those with a memory alone.

DecidingBlock: base of blocks that change their state between steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import DiscreteStateIndex, kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.native_function import NativeFunction, native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.declarations.witness import ElementOf, WitnessFunction, WitnessFunctionDirection
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
    """Base of blocks that a simulator asks at the beginning and at the end of each step (simulation/held_regions.py).

    What it asks is declared as vectors among the numbers of the Context, so that a compiled loop can do the same. In
    `__init__`, a derived class declares its input ports and the discrete state that is its memory, then calls
    `_declare_step`.

    Attributes:
        _sys_region_entry: the regions that the present inputs ask for.
        _sys_held_index: parameters: whether regions are kept constant (1.0), and those regions.
        _sys_memory: groups of discrete state, each with the computation of its new value, or with a bound native
            function that changes it in place.
        _sys_row: how many numbers a call of such a function adds at the end of the group, whose first one says how many
            such rows there are, as long as there is room; 0 where others change.
        _sys_signal_index: the number of the input port whose rate of change is wanted; None without one.
        _sys_moving_index: parameters that take that input and its rate [1/s], when these have been measured.
        _sys_margin_entries: distances to the borders of regions.
        _sys_end_entry: computes the time by which the step must end [s]; None without one.
    """

    _keeps_derivatives = True
    _sys_is_piecewise = True
    _sys_margin_entries: Sequence[CacheEntry] = ()
    _sys_end_entry: CacheEntry | None = None
    _sys_row = 0
    _sys_signal_index: int | None = None
    _sys_moving_index: int | None = None

    def _declare_step(self, size: int, region: NativeFunction) -> None:
        """Declares regions.

        Args:
            size: how many there are.
            region: gives those that the present inputs, and the memory, ask for.
        """
        self._sys_held_index = self.DeclareNumericParameter(BasicVector(np.zeros(size + 1)))
        self._sys_region_entry = self._entry("regions of the inputs", size, region, {})
        self._sys_memory: list[tuple[DiscreteStateIndex, Any]] = []

    def _declare_rate(self, port: InputPort) -> dict[str, PartOf]:
        """Has the rate of change of an input measured; returns wires to its value `now`, and to its `rate`."""
        n = port.size()
        self._sys_signal_index = int(port.get_index())
        self._sys_moving_index = self.DeclareNumericParameter(BasicVector(np.zeros(2 * n)))
        return {"now": PartOf(self._sys_moving_index, 0, n), "rate": PartOf(self._sys_moving_index, n, n)}

    def _entry(self, description: str, size: int, calc: NativeFunction, wires: dict[str, Any]) -> CacheEntry:
        model, tickets = BasicVector(size), {self.all_sources_ticket()}
        return self._sys_declare_entry(description, model, _wired(calc, wires), tickets)

    # ------------------------------------------------------------------ what a simulator does in Python

    def measure(self, context: Context) -> list[Array]:
        """What the memory is to have of this moment, as far as it is computed."""
        return [np.array(new.Eval(context).value()) for _, new in self._sys_memory if isinstance(new, CacheEntry)]

    def record(self, context: Context, measured: list[Array]) -> None:
        """Brings the memory up to date with what `measure` gave."""
        for index, values in zip([index for index, new in self._sys_memory if isinstance(new, CacheEntry)], measured):
            if values.dtype == object or not np.array_equal(values, context.get_discrete_state(index).value()):
                context.SetDiscreteState(index, values)
        for index, new in self._sys_memory:
            if not isinstance(new, CacheEntry):
                new.fill_in(context, context.get_mutable_discrete_state(index).get_mutable_value())

    def regions(self, context: Context) -> Array:
        """What the present inputs ask for."""
        return np.array([number.real for number in self._sys_region_entry.Eval(context).value()], dtype=np.float64)

    def hold(self, context: Context, regions: Array | None) -> None:
        """Keeps the regions constant from now on; None lets them follow from the inputs."""
        held = context.get_mutable_numeric_parameter(self._sys_held_index)
        held.SetFromVector(np.zeros(held.size()) if regions is None else np.array([1.0, *regions]))

    def end_of_step(self, context: Context) -> float:
        """The time by which the step must end [s]."""
        entry = self._sys_end_entry
        return math.inf if entry is None else float(entry.Eval(context).value()[0].real)

    def note_rate(self, context: Context, now: Array, rate: Array) -> None:
        """Takes the input `_sys_signal_index` and its rate of change [1/s]."""
        assert self._sys_moving_index is not None
        context.get_mutable_numeric_parameter(self._sys_moving_index).SetFromVector(np.concatenate([now, rate]))


class Assignment(NamedTuple):
    """What an action assigns to a quantity, as computations.

    Attributes:
        entries: what computes the value, the last one, each after those that it depends on.
        inputs: the input ports that these read.
        group: of the discrete state that takes the value; None for the continuous state.
        first: the first element of that which takes it.
        size: of the value.
    """

    entries: list[CacheEntry]
    inputs: list[InputPort]
    group: DiscreteStateIndex | None
    first: int
    size: int


class DecidingBlock(LeafSystem):
    """Base of blocks that change their state by what is true as a step begins (simulation/witness_watch.py).

    At the beginning of each step, after all updates, `decide` of all blocks is called, and then `carry_out`, until none
    of them changes anything; then `end_of_step`. At the end of the step `note_end` is called. A compiled loop does the
    same (plan/deciding.py).

    Attributes:
        _sys_signals: what is compared, each an element of a computation or of an input port.
        _sys_actions: what each action assigns, None for one that Python is to run; None instead of all if a compiled
            loop cannot decide.
    """

    _keeps_derivatives = True
    _sys_is_piecewise = True
    _sys_decides = True
    _sys_signals: list[tuple[Any, int]]
    _sys_actions: list[list[Assignment] | None] | None

    def owner_of(self, witness: WitnessFunction) -> int:
        """The number of the state in which a witness function counts."""
        raise NotImplementedError

    def event_of(self, witness: WitnessFunction) -> int:
        """Which number in the memory becomes 1 when a witness function triggers; -1 without one."""
        raise NotImplementedError

    def is_active(self, context: Context, number: int) -> bool:
        """Whether a state is active."""
        raise NotImplementedError

    def decide(self, context: Context, is_first: bool) -> Any:
        """What is to change before the step begins; None if nothing.

        Args:
            context: of the block; it is not changed yet.
            is_first: whether nothing has changed for that reason before, at the beginning of this step.
        """
        raise NotImplementedError

    def carry_out(self, context: Context, decision: Any) -> None:
        """Changes what `decide` gave."""
        raise NotImplementedError

    def describe(self, decision: Any) -> str:
        """The transitions that a decision makes, for messages."""
        raise NotImplementedError

    def note_end(self, context: Context, triggered: Sequence[WitnessFunction]) -> None:
        """Notes in the memory what `decide` is to compare with, and which events have happened in the step."""
        raise NotImplementedError

    def end_of_step(self, context: Context) -> float:
        """The time by which the step must end [s]."""
        raise NotImplementedError


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
        turning: NativeFunction | None = None,
    ) -> None:
        """Declares the output port, shape [size].

        Args:
            size: number of elements.
            region: gives the regions that the present inputs, and the memory, ask for.
            margin: gives the distance of each element to the border of its region, positive inside.
            law: gives the output.
            memory: groups of discrete state, shape [size], and what gives their new values at both ends of each step.
            turning: gives the margin of each element whose region also ends where the first input changes too fast, or
                turns; it may read `rate`, the rate of change of that input [1/s].
        """
        self._declare_step(size, region)
        is_held, held = PartOf(self._sys_held_index, 0, 1), PartOf(self._sys_held_index, 1, size)
        choice = chosen.given(free=self._sys_region_entry, is_held=is_held, held=held)
        wires: dict[str, Any] = {"region": self._entry("regions", size, choice, {})}
        self._sys_margin_entries = [self._entry("margins", size, margin, wires)]
        if turning is not None:
            wires |= self._declare_rate(self.get_input_port(0))
            self._sys_margin_entries.append(self._entry("margins of rates", size, turning, wires))
        self._sys_memory = [(index, self._entry("memory", size, update, wires)) for index, update in memory]
        self._witnesses = self._make_witnesses(size)
        self.DeclareVectorOutputPort(kUseDefaultName, size, _wired(law, wires))

    def _make_witnesses(self, size: int) -> list[WitnessFunction]:
        """Witness functions of the corners, and of turning points, of each element."""
        direction, made = WitnessFunctionDirection.kPositiveThenNonPositive, []
        for i in range(size):
            of = "" if size == 1 else f" of element {i}"
            for what, entry in zip(("corner", "turning point"), self._sys_margin_entries):
                made.append(self.MakeWitnessFunction(f"{what}{of}", direction, ElementOf(entry, i)))
        return made

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return self._witnesses


def _wired(function: NativeFunction, wires: dict[str, Any]) -> NativeFunction:
    """The function with those wires that it reads."""
    return function.given(**{name: wire for name, wire in wires.items() if name in function.parameters[:-1]})
