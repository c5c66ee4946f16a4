"""WitnessWatch: takes steps that end where a witness function triggers, and notices when triggers never stop.

Blocks that decide (DecidingBlock of framework/primitives) change their state before a step, in rounds.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import IntegratorBase
from merganser.analysis.integrators.problem import go_to
from merganser.analysis.simulation.watch_state import (
    FROM_NEGATIVE,
    FROM_POSITIVE,
    MOST_ROUNDS,
    MOST_TRIALS,
    NUM_PLACES,
    NUM_TIMES_KEPT,
    Watch,
)
from merganser.analysis.simulation.witness_isolation import (
    RESOLUTION,
    accumulation_time,
    keep_step,
    take_watched_step,
    undo_step,
)
from merganser.framework import Context, System, WitnessFunction
from merganser.framework.core.context.derivatives import Evaluator
from merganser.framework.core.inside import piecewise_leaves
from merganser.framework.native.memory.records_of_arrays import fields_of, new_record

if TYPE_CHECKING:
    from merganser.analysis.simulation.event_schedule import EventList
    from merganser.analysis.simulation.simulator_status import SimulatorStatus
    from merganser.framework.core.declarations.witness import ActiveWitness

Array = NDArray[Any]
_NO_GRADIENT_OF_TIME = (
    "The {} has triggered an update in a simulation with AutoDiffXd. The time where that happens is found as a plain "
    "number, so that derivatives of the state leave out how that time changes."
)
_CHATTERING = (
    "the inputs of system '{}' would pass the same threshold to and fro without end, since the motion leads back to it "
    "from either side; use a block with hysteresis, or a smooth one"
)
# Arrays with an element for each active witness function; those that stay from step to step come first.
_LASTING = "zero_band", "slope_before", "times", "num_times"
_OF_WITNESSES = (
    "start", "armed_after", "level", "before", "after", "lefts", "rights", "values", "is_triggered", "is_candidate",
    "is_chosen", "has_start", "has_slope", "end_slopes", "start_slopes", "had_slope", "slopes_before", "bands_before",
    "slopes_of_triggers_before", "direction", "full_direction", "updates", "block", "event_bits",
)  # fmt: skip
_WITHOUT_END = "system '{}' takes the transitions {} without end, as their guards stay true"
_BLOCKS = "merganser.framework.primitives."  # whose witness functions are always the same
_OF_STATE = "x_start", "x_end", "x_right", "x_slopes", "x_slopes_before", "xdot_kept"


class WitnessWatch:
    """Takes steps that end where a witness function triggers. Attributes beside these are those of a Watch.

    Args:
        system: whose witness functions to watch.
        context: its root context.
        integrator: advances that context.

    Attributes:
        system, context: as given.
        step: the integrator.
        record: the data of compiled steps; its numbers, `now`, are those of steps in Python.
        active: the witness functions that count, each with the context of its leaf system.
        blocks: those with regions or memories, each with its context.
        moving: those of them that ask for the rate of change of an input.
        deciding: the blocks that change their state before steps, each with its context.
        has_changed_states: whether they have, as the last step began.
        without_end: the one that would do so without end, and the message; None without one.
        region_evaluator: brings regions and memories up to date.
        margins: brings the margins up to date.
        places: where one was before going next to a place.
        has_fixed_witnesses: whether the same witness functions always count.
        version: how often others have come into effect.
    """

    is_triggered: Array
    is_chosen: Array
    direction: Array
    full_direction: Array
    level: Array
    updates: Array
    values: Array
    event_bits: Array
    inputs: list[Array]
    measured: list[list[Array]]
    memories: list[list[Array]]
    kept: Any
    flat: Array
    memory_kept: Array
    kept_first: Array
    kept_size: Array
    method_kept: Array
    bulk_kept: Array

    def __init__(self, system: System, context: Context, integrator: IntegratorBase) -> None:
        self.system, self.context, self.step = system, context, integrator
        self.record: Any = new_record(Watch)
        self.now: Any = self.record.now
        self.now.time_start, self.now.is_stale = self._time(), 1
        self.active: list[ActiveWitness] = []
        self._lasting: dict[WitnessFunction, list[Any]] = {}
        self.places: list[Any] = [None] * NUM_PLACES
        leaves = piecewise_leaves(context)
        self.blocks: list[tuple[Any, Any]] = [item for item in leaves if not item[1]._sys_decides]
        self.deciding = [item for item in leaves if item[1]._sys_decides]
        self.has_changed_states = False
        self.without_end: tuple[Any, str] | None = None
        self.moving = [(leaf, block) for leaf, block in self.blocks if block._sys_signal_index is not None]
        self.region_evaluator = Evaluator(context, self._slots(lambda block: [block._sys_region_entry, *_new(block)]))
        self.margins = Evaluator(context, self._slots(lambda block: block._sys_margin_entries))
        watched = [type(leaf.system) for leaf in context.layout.leaves() if leaf.system._sys_may_have_witnesses()]
        are_blocks = all(kind.__module__.startswith(_BLOCKS) for kind in watched)
        self.has_fixed_witnesses = are_blocks
        self.version = 0
        self._make_arrays()
        self._make_arrays_of_witnesses([])

    def _slots(self, entries: Any) -> list[Any]:
        return [leaf.slots[entry.cache_index()] for leaf, block in self.blocks for entry in entries(block)]

    def _make_arrays(self) -> None:
        """Arrays for the state and the blocks."""
        x, now = self.step._x, self.now
        for name in _OF_STATE:
            setattr(self, name, x.copy())
        self.x_near, self.xdot_near = np.zeros((2, NUM_PLACES, len(x)))
        self.time_near, self.is_near = np.zeros(NUM_PLACES), np.zeros(NUM_PLACES, np.int64)
        sizes = [block._sys_region_entry.model.size() for _, block in self.blocks]
        self.block_of_region = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        self.regions, self.regions_ahead = np.zeros((2, sum(sizes)))
        self.tried = np.zeros((MOST_TRIALS, sum(sizes)))
        self.at_border = np.zeros(len(sizes), np.int64)
        num_signals = sum(block.get_input_port(block._sys_signal_index).size() for _, block in self.moving)
        self.signals, self.signals_ahead, self.rates = np.zeros((3, num_signals))
        now.num_blocks, now.num_signals = len(sizes), num_signals
        # Only compiled steps before which blocks change their state have numbers in these.
        self.machines, self.places_of_owners, self.places_of_events = np.zeros((3, 0), np.int64)
        self.x_decided = np.zeros(0)

    def _make_arrays_of_witnesses(self, active: list[ActiveWitness]) -> None:
        """Arrays for the active witness functions; what lasts from step to step is kept for each function."""
        n, fields = len(active), fields_of(Watch)
        made = {name: np.zeros(n, fields[name].kind.dtype) for name in (*_LASTING, *_OF_WITNESSES)}
        made["times"] = np.zeros((n, NUM_TIMES_KEPT))
        number = {id(leaf): b for b, (leaf, _) in enumerate(self.blocks)}
        for i, (context, witness) in enumerate(active):
            made["block"][i] = number.get(id(context), -1)
            made["direction"][i] = FROM_POSITIVE * witness.should_trigger(1.0, 0.0)
            made["direction"][i] |= FROM_NEGATIVE * witness.should_trigger(-1.0, 0.0)
            made["full_direction"][i], decides = made["direction"][i], witness.get_system()._sys_decides
            made["updates"][i] = decides or (witness.declared is not None and witness.declared.kind.changes_state)
            for name, values in zip(_LASTING, self._lasting.get(witness, [])):
                made[name][i] = values
        self.now.num_witnesses = n
        # One statement, which signals cannot interrupt: what comes before is done again.
        self.__dict__.update(made, active=active, version=self.version + 1)

    def _time(self) -> float:
        return float(self.context.store.flat.item(0).real)

    # ------------------------------------------------------------------ which functions count

    def determine_active(self) -> bool:
        """Asks which witness functions count now; returns whether these are others than before."""
        active = self.system._sys_active_witnesses(self.context)
        has_changed = active != self.active or len(active) != self.now.num_witnesses
        if has_changed:
            self._note_lasting()
            self._make_arrays_of_witnesses(active)
        self.now.knows_slopes = self.now.is_stale = self.now.num_triggered = 0
        return has_changed

    def _note_lasting(self) -> None:
        for i, (_, witness) in enumerate(self.active):
            self._lasting[witness] = [np.array(getattr(self, name)[i]) for name in _LASTING]

    def memory(self) -> tuple[float, list[list[Any]]]:
        """The data of each active function between steps, for the watch of a copy of the system."""
        self.determine_active()
        self._note_lasting()
        return self.now.time_start, [self._lasting[witness] for _, witness in self.active]

    def remember(self, memory: tuple[float, list[list[Any]]]) -> None:
        """Takes over the memory of another watch."""
        self.determine_active()
        self.now.time_start, kept = memory
        for i, lasting in enumerate(kept):
            for name, values in zip(_LASTING, lasting):
                getattr(self, name)[i] = values

    # ------------------------------------------------------------------ steps

    def step_towards(self, time: float, target: float, now: Any) -> None:
        """Takes one step of the integrator, or less than that if witness functions trigger in it.

        If anything fails or is interrupted, time and continuous state are as before.

        Args:
            time: the time in the context [s].
            target: how far to go [s]; no time passes if that is the time in the context.
            now: DueEvents, or a Progress: whether there have been updates, after which other functions may count.
        """
        self.now.num_triggered = self.now.chattering = 0
        self.without_end, self.has_changed_states = None, False
        if now.has_updated:
            self.now.is_stale, now.has_updated = 1, 0
        if target == time:
            return
        if self.now.is_stale:
            self.determine_active()
        if self.deciding:
            self._take_decided_step(time, target)
        elif not self.active and not self.blocks:
            self.step._step_towards(time, target)
            return
        else:
            self._take_step(target)
        if self.context.store.flat.dtype == object and (self.is_triggered & self.updates).any():
            witness = self._triggered()[0][1]
            warnings.warn(_NO_GRADIENT_OF_TIME.format(witness.describe()), RuntimeWarning, stacklevel=2)

    def _take_step(self, target: float) -> None:
        keep_step(self)
        try:
            take_watched_step(self, target)
            triggered = self._triggered() if self.deciding else []
            for leaf, block in self.deciding if not self.now.chattering else ():
                block.note_end(leaf, [witness for context, witness in triggered if context is leaf])
        except BaseException:
            undo_step(self)
            raise

    # ------------------------------------------------------------------ blocks that decide

    def _take_decided_step(self, time: float, target: float) -> None:
        """Lets blocks change their state, and takes a step; if it fails, or cannot begin, all is as before."""
        x, states, has_stepped = self.step._x.copy(), [_discrete_state(leaf) for leaf, _ in self.deciding], False
        try:
            self._change_states()
            if self.has_changed_states:
                self.determine_active()
            self._note_directions()
            if self.without_end is None:
                end = min([target, *(block.end_of_step(leaf) for leaf, block in self.deciding)])
                # A clock that strikes just after the end would be passed over.
                is_same = end >= target - RESOLUTION * max(abs(time), abs(target))
                self._take_step(target if is_same else end)
                has_stepped = not self.now.chattering
        finally:
            if not has_stepped:
                go_to(self.step, time, x)
                for (leaf, _), groups in zip(self.deciding, states):
                    for number, values in enumerate(groups):
                        leaf.SetDiscreteState(number, values)
                self.now.is_stale = 1

    def _note_directions(self) -> None:
        """Lets witness functions of blocks that decide count in the states to which they belong only."""
        for i, (leaf, witness) in enumerate(self.active):
            block: Any = witness.get_system()
            if block._sys_decides:
                counts = block.is_active(leaf, block.owner_of(witness))
                self.direction[i] = self.full_direction[i] if counts else 0

    def _change_states(self) -> None:
        """Lets blocks change their state as a step begins, until none does.

        In each round all of them see the values from before it.
        """
        made: list[tuple[Any, str]] = []
        for number in range(MOST_ROUNDS):
            decided = [(leaf, block, block.decide(leaf, number == 0)) for leaf, block in self.deciding]
            decisions = [item for item in decided if item[2] is not None]
            if not decisions:
                return
            self.has_changed_states = True
            for leaf, block, decision in decisions:
                block.carry_out(leaf, decision)
                if number >= MOST_ROUNDS // 2:
                    made.append((block, block.describe(decision)))
        last = made[-1][0]
        transitions = ", ".join(dict.fromkeys(text for block, text in made if block is last))
        self.without_end = last, _WITHOUT_END.format(last.GetSystemPathname(), transitions)

    # ------------------------------------------------------------------ what has triggered

    def _triggered(self) -> list[ActiveWitness]:
        """The functions that have triggered where the last step ended."""
        if not self.now.num_triggered:
            return []
        return [item for item, has_triggered in zip(self.active, self.is_triggered) if has_triggered]

    def triggered_events(self) -> EventList:
        """The events of the witness functions that have triggered."""
        return [(context, witness.declared) for context, witness in self._triggered() if witness.declared is not None]

    def has_stopped(self) -> bool:
        """Whether the last step ended at a trigger, or could not begin."""
        return bool(self.now.num_triggered or self.now.chattering or self.without_end)

    def is_accumulating(self) -> bool:
        """Whether a witness function has triggered that would trigger without end."""
        return bool(self.now.chattering or self.without_end or self._accumulations())

    def _accumulations(self) -> list[tuple[WitnessFunction, float]]:
        """The functions that trigger without end, and when their triggers accumulate [s]."""
        if not self.now.num_triggered:
            return []
        scale = self._scale()
        numbers = np.flatnonzero(self.is_triggered).tolist()
        ends = [(self.active[i][1], accumulation_time(self, i, scale)) for i in numbers]
        return [(witness, end) for witness, end in ends if not math.isnan(end)]

    def _scale(self) -> float:
        """The magnitude of times [s] in this simulation, to which resolutions are relative."""
        time = self._time()
        return max(abs(time), time - self.now.time_start)

    def end_if_accumulating(self, status: SimulatorStatus) -> None:
        """Ends the advance where a witness function would trigger without end."""
        time, reason = self.context.get_time(), status.ReturnReason.kZenoBehavior
        if self.without_end is not None:
            status._stop(reason, time, *self.without_end)
            return
        if self.now.chattering:
            block = self.blocks[self.now.chattering - 1][1]
            status._stop(reason, time, block, _CHATTERING.format(block.GetSystemPathname()))
            return
        for witness, end in self._accumulations():
            if status.succeeded():
                message = (
                    f"{witness.describe()} triggers ever faster, without end before time {end} s; let its "
                    "event handler bring the system to rest when too little motion is left"
                )
                status._stop(reason, time, witness.get_system(), message)


def _discrete_state(context: Context) -> list[Array]:
    return [np.array(group.value()) for group in context.get_discrete_state().get_data()]


def _new(block: Any) -> list[Any]:
    """What computes the memory of a block, as far as that is computed."""
    return [new for _, new in block._sys_memory if hasattr(new, "Eval")]
