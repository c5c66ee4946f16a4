"""How a block says that one of its computations is also a compiled operation on numbers of the Context."""

from __future__ import annotations

import dataclasses
import functools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.native_function import NativeOperation


@functools.cache
def may_compile() -> bool:
    """Whether there is compiled code at all: numba's switch NUMBA_DISABLE_JIT leaves plain Python only."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


class Operation(Protocol):
    """A compiled operation that is not among those of the framework (framework/native/operations/operations.py)."""

    def address(self) -> int:
        """Where it stands; compiled, or taken from the disk, when first asked for."""


class ContextualCode(Protocol):
    """Native code that depends on the Context: on what is connected, or on whether it is worth while to compile it."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation in a Context of the block; None if it has none at the moment."""


class _Offset:
    """Abstract: stands for an offset of one of the values of the block, by its number."""

    _never_changes = True  # copies of a system share it


@dataclasses.dataclass(frozen=True)
class InputOf(_Offset):
    """Stands for the offset at which the value of a vector input port of the block is found."""

    port_index: int


@dataclasses.dataclass(frozen=True)
class ParameterOf(_Offset):
    """Stands for the offset of a group of numeric parameters of the block."""

    index: int


@dataclasses.dataclass(frozen=True)
class DiscreteStateOf(_Offset):
    """Stands for the offset of a group of the discrete state of the block."""

    index: int


@dataclasses.dataclass(frozen=True)
class EntryOf(_Offset):
    """Stands for the offset of the value of a cache entry of the block."""

    index: int


@dataclasses.dataclass(frozen=True)
class NextDiscreteStateOf(_Offset):
    """Stands for the offset at which an update leaves the new values of a group of the discrete state."""

    index: int


@dataclasses.dataclass(frozen=True)
class ValueOf:
    """Stands for the offset of the value of a cache slot, or of a fixed input, of any block."""

    source: Any


class _Place:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name  # a copy is the same offset


OUTPUT = _Place("OUTPUT")  # where the result of the computation goes
CONTINUOUS_STATE = _Place("CONTINUOUS_STATE")  # where the continuous state of the block is found
NEXT_CONTINUOUS_STATE = _Place("NEXT_CONTINUOUS_STATE")  # where an update leaves the new one
CURRENT_TIME = _Place("CURRENT_TIME")  # where the time is found
LOG = _Place("LOG")  # the log that the block keeps: capacity, then offsets of the number of samples, times and data

FAILURE = _Place("FAILURE")  # address of an integer that an operation sets to 1 if it fails; Python then says why

Argument = (
    int | NDArray[Any] | InputOf | ParameterOf | DiscreteStateOf | EntryOf | NextDiscreteStateOf | ValueOf | _Place
)


class Growth(NamedTuple):
    """An array that grows with a Capacity.

    Attributes:
        array: C-contiguous.
        per_place: how much longer it becomes for one more place.
        axis: along which.
        is_emptied: whether all of it becomes zero then.
    """

    array: NDArray[Any]
    per_place: int = 1
    axis: int = 0
    is_emptied: bool = False


class Capacity(NamedTuple):
    """Places for what an operation finds. It fails if it finds more, and succeeds once the arrays have grown.

    Attributes:
        found: addresses of integers, in which it leaves how many places it needs.
        num_places: how many there are.
        growths: the arrays with these places.
    """

    found: Sequence[int]
    num_places: int
    growths: Sequence[Growth]


@dataclasses.dataclass(frozen=True)
class NativeCode:
    """A computation or an event handler as an operation, see framework/native/operations/operations.py.

    Attributes:
        operation: the operation's name, or the NativeOperation that calls a native function.
        arguments: what the operation finds in its list of integers, one after the other: an integer stands for
            itself, an array of constants for the offset of its first element, and `OUTPUT`, `CONTINUOUS_STATE`,
            `InputOf(port_index)`, `ParameterOf(index)` and their like for offsets relative to the flat array of the
            Context. `LOG` stands for four integers, `FAILURE` for an address.
        on_stop: called when Python takes over after the operation may have run.
        is_current: whether the operation is still right; asked before the loop goes on after Python. If it is
            not, the operation is resolved again. None if it always is.
        unasked: cache slots that Python may leave alone where the operation needs them: there is no operation unless
            these are operations too, with all that they depend on, so that no record shows that they were computed.
        sources: the slots that it reads; None for those upstream of the computation.
        reads_abstract_state: whether it reads numbers that stand for abstract state, so that it is no function of what
            is in the flat array.
        in_lanes: makes the same operation for several worlds side by side, see CodeInLanes; None without one.
        capacities: says what must grow with what the operation finds; None if nothing does.
        features: what it needs of the functions that are for one thing alone (framework/native/memory/shared_code.py).
        decided_by: offsets of numbers in the flat array that have decided on it: it is another one where they differ.
    """

    operation: str | NativeOperation | Operation
    arguments: tuple[Argument, ...]
    on_stop: Callable[[], None] | None = None
    is_current: Callable[[], bool] | None = None
    unasked: tuple[CacheSlot, ...] = ()
    sources: tuple[CacheSlot, ...] | None = None
    reads_abstract_state: bool = False
    in_lanes: Callable[[NDArray[Any]], CodeInLanes | None] | None = None
    capacities: Callable[[], Sequence[Capacity]] | None = None
    features: tuple[str, ...] = ()
    decided_by: tuple[int, ...] = ()

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation in a Context; None if it has none."""
        return self

    def sources_in(self, context: LeafContext) -> list[Any]:
        """What holds the values of input ports and cache entries that it reads; None for an input without a value."""
        inputs = [context.sources[a.port_index] for a in self.arguments if isinstance(a, InputOf)]
        return inputs + [context.slots[a.index] for a in self.arguments if isinstance(a, EntryOf)]


@dataclasses.dataclass(frozen=True)
class CodeInLanes:
    """A discrete update of several worlds side by side, a number of times, see framework/native/memory/simd.py.

    It works on an array that has as many numbers for each number of the flat array. The first integer is how many
    updates to make, and afterwards, how many have been made: fewer, where the next one is for each world alone.

    Attributes:
        operation, arguments: as those of NativeCode.
        kept: arrays to which these refer.
    """

    operation: Operation
    arguments: tuple[Argument, ...]
    kept: Any


class Watched:
    """What compiled operations depend on and what may change."""

    def __init__(self) -> None:
        self._contexts: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(self, context: Any) -> None:
        """Notes a context whose operations depend on it."""
        self._contexts.add(context)

    def renew(self) -> None:
        """Called after a change: operations that depend on it are made again before they run again."""
        for context in self._contexts:
            context.store.routing += 1


class UpdatableCode(Watched):
    """An operation whose constants may change later.

    Args:
        make: returns the operation with the current constants, or None without one.
    """

    def __init__(self, make: Callable[[], NativeCode | None]) -> None:
        super().__init__()
        self._make = make

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation, with the current constants."""
        self.watch(context)
        return self._make()

    def __reduce__(self) -> Any:
        return UpdatableCode, (self._make,)  # a copy of a system has no contexts yet
