"""The values behind a Context tree, and the cache that keeps them current.

One `Store` serves a root Context and all its subcontexts: the flat array, one integer whose set bits are the cache
entries that are out of date, and for each cache entry a `CacheSlot` that holds its value.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.errors import (
    AlgebraicLoopError,
    UnconnectedInputError,
    log_once,
    note_place,
    refuse_result,
)
from merganser.framework.core.context.dependencies import ELSEWHERE, TIME
from merganser.framework.core.context.layout import RootLayout, describe_loop
from merganser.framework.core.scalars.scalars import filled
from merganser.framework.core.values.state import ContinuousState, _window
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.declarations.cache import CacheEntry

_TIME_NODE = 1 << TIME
_logger = logging.getLogger("merganser.framework")
_NO_STRUCTURE = ContinuousState([])._structure
_DEPTH_STEP = 32  # how often a long chain of computations looks at the recursion limit
_FRAMES_PER_COMPUTATION = 30  # Python frames, generously: six in the framework, the others in callbacks


class Store:
    """All values of one root Context.

    Args:
        layout: of the system at the top.
        dtype: of `flat`.
        scalar: what objects in `flat` are, if that is not the scalar type of the system: see linearization.py.
        flat: an array of zeros for the numbers; by default a new one.

    Attributes:
        flat: every number, laid out as layout.py says.
        scalar: as given.
        invalid: bit mask of the cache entries that are out of date.
        computing: bit mask of the cache entries that must not be computed: those that are being computed right now,
            and frozen ones.
        reads: nodes of the leaf system that the computation in progress has read so far (bit mask, see
            dependencies.py).
        reader: the context whose value is being computed, which expects that only that is read; None if none is.
        learnt: computations that have read more than the layout knows about, with what they read.
        changed: bit mask of the cache entries that depend on what the computations in progress have changed; None if
            they have changed nothing.
        num_disturbances: counts the changes by computations on which something depends, or may depend.
        no_continuous_state: that of all parts that have none.
        routing: counts the changes of what feeds which input port and of what is cached.
        is_advancing: whether a Simulator advances the Context right now, which alone sets its time then.
    """

    __slots__ = (
        "accuracy", "changed", "computing", "flat", "invalid", "is_advancing", "layout", "learnt",
        "no_continuous_state", "num_disturbances", "reader", "reads", "routing", "scalar", "slots", "stack",
    )  # fmt: skip

    def __init__(
        self, layout: RootLayout, dtype: Any = np.float64, scalar: type[Any] | None = None, flat: Any = None
    ) -> None:
        self.layout = layout
        is_numeric = np.dtype(dtype) != object
        self.scalar: type[Any] = layout.top.system._scalar if scalar is None else scalar
        if flat is None:
            flat = np.zeros(layout.num_flat, dtype) if is_numeric else filled(layout.num_flat, self.scalar)
        self.flat: NDArray[Any] = flat
        self.no_continuous_state = ContinuousState._of(_window(self.flat[:0]), _NO_STRUCTURE)
        self.invalid = (1 << layout.num_entries) - 1
        self.computing = 0
        self.reads = 0
        self.reader: LeafContext | None = None
        self.changed: int | None = None
        self.num_disturbances = 0
        self.routing = 0
        self.is_advancing = False
        self.accuracy: float | None = None
        self.slots: list[CacheSlot] = []
        self.stack: list[CacheSlot] = []
        self.learnt: list[tuple[CacheSlot, int]] = []

    def change(self, mask: int, context: Any) -> None:
        """Notes that something was changed on which the cache entries in `mask` depend."""
        self.invalid |= self._note_disturbance(mask, context) if self.stack else mask

    def _note_disturbance(self, mask: int, context: Any) -> int:
        """A computation changes a context: returns what depends on that, so far as it is known while others go on.

        Within the evaluation in progress every value is computed at most once after the change, as it would be
        without it; when it has ended, all that depends on the change is out of date (see `settle`).
        """
        for slot, _ in self.learnt:  # already computed, but not yet known to depend on what it has read
            mask |= self.layout.entry_down[slot.context.layout.first_bit + slot.number]
        self.changed = mask | (self.changed or 0)
        is_unknown = any(slot.entry.is_learning and not slot.entry.was_observed for slot in self.stack)
        self.num_disturbances += mask != 0 or is_unknown
        for slot in reversed(self.stack):
            if slot.bit & mask:
                self._log_disturbance(slot, context)
                break
        return mask

    def _log_disturbance(self, slot: CacheSlot, context: Any) -> None:
        """Says once of a value that its computation has changed what it depends on."""
        if slot.entry.was_disturbed:
            return
        slot.entry.was_disturbed = True
        log_once(
            _logger,
            f"While {self.stack[-1].entry.describe()} was computed, its callback changed the context of system "
            f"'{context.system.GetSystemPathname()}', on which {slot.entry.describe()} depends; that is therefore "
            "computed again whenever it is asked for. Calculations should only read, or use a context of their own.",
        )

    def note_read(self, context: Any, nodes: int) -> None:
        """Notes that nodes of a context were read: elsewhere, if the computation in progress is another system's."""
        reader = self.reader
        self.reads |= nodes if reader is context or reader is None else 1 << ELSEWHERE

    def settle(self) -> None:
        """Does what has to wait until no computation is in progress.

        Raises:
            AlgebraicLoopError: a computation reads what depends on itself.
        """
        changed, self.changed = self.changed, None
        learnt = self.learnt
        try:
            self.apply_learnt()
        finally:
            if changed is not None:
                for slot, _ in learnt:
                    changed |= self.layout.entry_down[slot.context.layout.first_bit + slot.number]
                self.invalid |= changed

    def mark(self) -> tuple[int, LeafContext | None, int, int]:
        """What computations are in progress, for `return_to`."""
        return self.reads, self.reader, self.computing, len(self.stack)

    def return_to(self, mark: tuple[int, LeafContext | None, int, int]) -> None:
        """Puts right what an interrupt has left of the computations that have begun since the mark.

        That is usually done already; not so if it came just where a computation was about to do it itself.
        """
        self.reads, self.reader, self.computing, depth = mark
        del self.stack[depth:]
        # Until that is noted, nothing that was computed since may be kept.
        if (self.learnt or self.changed is not None) and not self.stack:
            self.learnt, self.changed = [], None
            self.invalid = (1 << self.layout.num_entries) - 1

    def apply_learnt(self) -> None:
        """Reports to the layout what computations have been seen to read.

        That waits until none is in progress, since nothing changes before. Consumers come first, which makes it
        linear in the length of a chain; the other way round it would be quadratic.

        Raises:
            AlgebraicLoopError: one of them reads what depends on itself.
        """
        try:
            for slot, reads in reversed(self.learnt):
                self.layout.add_dependencies(slot.context.layout, slot.number, reads)
        except BaseException:  # what was not noted is learnt again, as everything is computed again
            self.learnt = []
            self.invalid = (1 << self.layout.num_entries) - 1
            raise
        self.learnt = []


class CacheSlot:
    """The value of one cache entry in one Context.

    Attributes:
        bit: the entry's bit in the masks of the Store.
        clearing: what remains of the mask of what is out of date once the entry has been computed; all of it where
            caching is disabled.
        made: the value: a BasicVector that is a view into the flat array, or an AbstractValue. None until it is first
            asked for: making the views of all vectors with the Context would take a third of its time.
    """

    __slots__ = ("bit", "clearing", "context", "entry", "made", "number", "store")

    def __init__(self, store: Store, context: LeafContext, entry: CacheEntry, number: int) -> None:
        layout = context.layout
        index = layout.first_bit + number
        self.store = store
        self.context = context
        self.entry = entry
        self.number = number
        self.bit = layout.root.entry_bits[index]
        self.clearing = -1 if entry.is_disabled else layout.root.entry_clearings[index]
        is_made_late = entry.vector_size is not None or entry.makes_room_late
        self.made: BasicVector | AbstractValue | None = None if is_made_late else entry.allocate_value()

    @property
    def value(self) -> BasicVector | AbstractValue:
        """The value, made if this is the first time that it is asked for. What is read often looks at `made` first."""
        if self.made is None:
            model: Any = self.entry.model
            if self.entry.vector_size is None:
                self.made = self.entry.allocate_value()
            else:
                offset = self.context.layout.entry_offsets[self.number]
                self.made = model._view_of(self.store.flat[offset : offset + model.size()])
        assert self.made is not None
        return self.made

    def note_failure(self, error: Exception) -> None:
        """Adds to an exception that it came while this value was being computed."""
        note_place(error, f"while computing {self.entry.describe()} at time {self.store.flat.item(0)} s")

    def compute(self) -> None:
        """Computes the value, learns what it depends on, and marks it as current."""
        store, entry, bit = self.store, self.entry, self.bit
        if store.computing & bit:
            raise self._refusal()
        outer_reads, outer_computing, depth = store.reads, store.computing, len(store.stack)
        outer_reader = store.reader
        if (depth + 1) % _DEPTH_STEP == 0:
            _allow_depth(depth + 1)
        try:
            try:
                store.reads = 0
                store.reader = self.context
                store.computing = outer_computing | bit
                store.stack.append(self)
                result = entry.calc(self.context, self.value if self.made is None else self.made)
                if result is not None:
                    refuse_result(entry.describe(), entry.calc, result, self.value)
            except Exception as error:
                self.note_failure(error)
                raise
            else:
                if entry.is_learning:
                    reads = store.reads or _TIME_NODE  # what reads nothing here has its value from outside, as of now
                    if reads & ~entry.known or not entry.was_observed:
                        entry.learn(reads)
                    if reads & ~self.context.layout.dependencies[self.number]:
                        store.learnt.append((self, reads))
                store.invalid &= self.clearing
            finally:
                # Set outright, not stepped back: what an interrupt has cut short further in is put right here as well.
                store.reads = outer_reads
                store.reader = outer_reader
                store.computing = outer_computing
                del store.stack[depth:]
                if (store.learnt or store.changed is not None) and not store.stack:
                    store.settle()
        except BaseException:  # an interrupt may have come just there; this costs nothing otherwise
            store.return_to((outer_reads, outer_reader, outer_computing, depth))
            raise

    def _refusal(self) -> Exception:
        """Why the value cannot be computed now: it asks for itself, or the cache is frozen."""
        store = self.store
        if self not in store.stack:
            return RuntimeError(
                f"The cache of system '{self.context.system.GetSystemPathname()}' is frozen, and "
                f"{self.entry.describe()} is out of date. Evaluate it before FreezeCache, or call UnfreezeCache."
            )
        loop = store.stack[store.stack.index(self) :]
        return AlgebraicLoopError(describe_loop([(s.context.system, s.number) for s in reversed(loop)]))


def must_repeat(error: Exception) -> bool:
    """Whether a callback failed for lack of a value that it asked for, or of memory, and not by itself."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    compute = CacheSlot.compute.__code__
    return isinstance(error, (UnconnectedInputError, MemoryError)) or any(frame.f_code is compute for frame in frames)


class FixedInputPortValue:
    """A value given to an input port by `FixValue`; it is read like a CacheSlot that is never out of date."""

    __slots__ = ("bit", "context", "index", "made", "store")

    def __init__(self, context: Any, index: int, value: BasicVector | AbstractValue) -> None:
        self.context = context
        self.index = index
        self.store: Store = context.store
        self.bit = 0
        self.made = value

    @property
    def value(self) -> BasicVector | AbstractValue:
        """The value, as that of a CacheSlot."""
        return self.made

    def has_place_of(self, other: FixedInputPortValue) -> bool:
        """Whether another value was given to the same port of the same context, so that it stands at the same place."""
        return self.context is other.context and self.index == other.index

    def compute(self) -> None:
        """A fixed value is always current."""

    def get_value(self) -> AbstractValue:
        """Returns the value in a box; that of a vector port holds a BasicVector."""
        return Value(self.made) if isinstance(self.made, BasicVector) else self.made

    def get_vector_value(self) -> BasicVector:
        """Returns the value of a vector port."""
        return self.made  # type: ignore[return-value]

    def GetMutableVectorData(self) -> BasicVector:
        """Returns the vector for changing it; what depends on the port will be computed again."""
        self._note_change()
        return self.made  # type: ignore[return-value]

    def GetMutableData(self) -> AbstractValue:
        """Returns the value for changing it; what depends on the port will be computed again.

        The box of a vector port holds a BasicVector whose elements can be changed; it cannot be replaced.
        """
        self._note_change()
        return self.get_value()

    def _note_change(self) -> None:
        self.store.change(self.context.layout.down_inputs[self.index], self.context)


def _allow_depth(depth: int) -> None:
    """Lets Python recurse as deep as `depth` computations, each asked for by the one before, need.

    Values are computed on demand, so that a chain of n blocks recurses n times. That is finite: a computation that
    asks for itself is refused. The limit is never lowered again, because other threads may be in a chain too.
    """
    needed = 1000 + _FRAMES_PER_COMPUTATION * (depth + _DEPTH_STEP)
    if sys.getrecursionlimit() < needed:
        sys.setrecursionlimit(needed)
