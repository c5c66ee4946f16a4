"""Regions of blocks with corners, memories of blocks that have one, and transitions of state machines, between steps.

Blocks whose law has corners (PiecewiseBlock of framework/primitives) keep their regions for a whole step. They are
those of the inputs where the step begins; at a border, those of the point next to it along the derivatives that these
regions give. Where no regions lead to a point in them, the motion leads back to the border from either side: the
simulation ends, with the name of the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework import Context, LeafContext
from merganser.framework.core.context.derivatives import Evaluator
from merganser.framework.core.inside import piecewise_leaves
from merganser.framework.primitives.piecewise import StepBlock

if TYPE_CHECKING:
    from merganser.analysis.simulation.witness_isolation import WatchedWitness, WitnessWatch

_SHARE = 2.0**-20  # of a step, over which one looks ahead
_NOISE = 16.0 * 2.0**-52  # changes of a signal by this share of it are rounding
_RESOLUTION = 1e-13  # times that differ by this share are one
_MOST_ROUNDS = 100  # in which blocks change their state at one time


class HeldRegions:
    """Keeps regions constant within steps.

    Args:
        watch: takes the steps.
        context: the root context.

    Attributes:
        blocks: those with regions or memories, each with its context.
        margins: brings the margins up to date.
        has_changed_states: whether blocks have changed their state as the last step began.
        with_regions: the contexts of those that have regions.
        chattering: the block whose regions lead back to their border, or whose state changes without end, so that no
            step can begin; None without one.
    """

    def __init__(self, watch: WitnessWatch, context: Context) -> None:
        self._watch, self._context = watch, context
        self.blocks: list[tuple[LeafContext, Any]] = piecewise_leaves(context)
        slots = [block.slots(leaf) for leaf, block in self.blocks]
        self._regions = Evaluator(context, [slot for regions, _ in slots for slot in regions])
        self.margins = Evaluator(context, [slot for _, margins in slots for slot in margins])
        self.chattering: Any = None
        self._without_end, self.has_changed_states = "", False  # which transitions are without end
        self._deciding = [item for item in self.blocks if type(item[1]).decide is not StepBlock.decide]
        self._remembers = any(type(block).measure is not StepBlock.measure for _, block in self.blocks)
        self.with_regions = [leaf for leaf, block in self.blocks if type(block).regions is not StepBlock.regions]
        self._shift = 0.0  # over which rates of change are measured [s]

    def change_states(self) -> None:
        """Lets blocks change their state as a step begins, until none does.

        In each round all of them see the values from before it.
        """
        self.chattering, self.has_changed_states = None, False
        made: list[tuple[Any, str]] = []
        for number in range(_MOST_ROUNDS if self._deciding else 0):
            decided = [(context, block, block.decide(context, number == 0)) for context, block in self._deciding]
            decisions = [item for item in decided if item[2] is not None]
            if not decisions:
                return
            self.has_changed_states = True
            for context, block, decision in decisions:
                block.carry_out(context, decision)
                if number >= _MOST_ROUNDS // 2:
                    made.append((block, block.describe(decision)))
        if made:
            self.chattering = made[-1][0]
            self._without_end = ", ".join(dict.fromkeys(text for block, text in made if block is self.chattering))

    def begin_step(self, watched: Sequence[WatchedWitness], target: float, longest: float) -> float:
        """Decides in which regions the next step begins, and keeps these constant.

        Args:
            watched: the witness functions, margins among them.
            target: when the step must end [s].
            longest: the longest step [s].

        Returns:
            When the step must end, as blocks say [s].
        """
        blocks, time = self.blocks, float(self._context.get_time().real)
        self.chattering, self._without_end, self._shift = None, "", _SHARE * min(target - time, longest)
        self._regions.update()
        self._record([block.measure(context, self.rate_of) for context, block in blocks])
        self._regions.update()
        regions = [block.regions(context) for context, block in blocks]
        margins = [w for w in watched if any(w.context is context for context in self.with_regions)]
        tried: list[list[np.ndarray]] = []
        while not any(all(np.array_equal(a, b) for a, b in zip(regions, before, strict=True)) for before in tried):
            tried.append(regions)
            for (context, block), held in zip(blocks, regions):
                block.hold(context, held)
            self.margins.update()
            at_border = {w.context.system for w in margins if w.value() <= w.zero_band}
            if not at_border:
                break
            with self._watch.next_to(self._shift) as place:
                self._regions.update()
                ahead = [block.regions(context) for context, block in blocks] if place.is_reached else regions
            regions = [new if block in at_border else old for (_, block), new, old in zip(blocks, ahead, regions)]
        else:
            changed = [block for (_, block), a, b in zip(blocks, regions, tried[-1]) if not np.array_equal(a, b)]
            self.chattering = changed[0] if changed else None
        end = min(block.end_of_step(context) for context, block in blocks)
        # A clock that strikes just after the end would be passed over.
        return end if end < target - _RESOLUTION * max(abs(time), abs(target)) else target

    def end_step(self) -> None:
        """Brings memories up to date with what was just before the end of the step, as inputs may jump there.

        Then regions follow from the inputs.
        """
        for context, block in self._deciding:
            block.note_end(context)
        self._shift, now = -self._shift, float(self._context.get_time().real)
        if self._remembers:
            with self._watch.next_to(math.nextafter(now, -math.inf) - now):
                self._regions.update()
                measured = [block.measure(context, self.rate_of) for context, block in self.blocks]
            self._record(measured)
        self.release()

    def memories(self) -> list[list[np.ndarray]]:
        """The discrete state of each block, group by group."""
        return [
            [context.get_discrete_state(index).CopyToVector() for index in range(context.num_discrete_state_groups())]
            for context, _ in self.blocks
        ]

    def undo_step(self, memories: list[list[np.ndarray]]) -> None:
        """Gives memories the values from before the step, and lets regions follow from the inputs."""
        for (context, _), before in zip(self.blocks, memories):
            for index, values in enumerate(before):
                context.SetDiscreteState(index, values)
        self.release()

    def release(self) -> None:
        """Lets regions follow from the inputs."""
        for context, block in self.blocks:
            block.hold(context, None)

    def rate_of(self, signal: Callable[[Any], Any], context: LeafContext) -> np.ndarray:
        """The rate of change of a signal along the motion [1/s]; 0 where that is lost in rounding."""
        here = np.array([value.real for value in signal(context)])
        with self._watch.next_to(self._shift) as place:
            ahead = np.array([value.real for value in signal(context)]) if place.is_reached else here
        change = ahead - here
        return np.where(np.abs(change) <= _NOISE * np.maximum(np.abs(ahead), np.abs(here)), 0.0, change / self._shift)

    def describe_chattering(self) -> str:
        """What has happened, for the status of the simulation."""
        name = self.chattering.GetSystemPathname()
        if self._without_end:
            return f"system '{name}' takes the transitions {self._without_end} without end, as their guards stay true"
        return (
            f"the inputs of system '{name}' would pass the same threshold to and fro "
            "without end, since the motion leads back to it from either side; use a block with hysteresis, or a smooth "
            "one"
        )

    def _record(self, measured: Sequence[Any]) -> None:
        for (context, block), values in zip(self.blocks, measured):
            block.record(context, values)
