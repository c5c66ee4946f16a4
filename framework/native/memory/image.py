"""The memory that compiled code works on, as an image that may be put anywhere: arrays, and which words are addresses.

Compiled code reads records of integers; some of these are addresses: of arrays of numpy or records of ctypes, which
hold further ones, and of compiled functions. Also, some integers say how many numbers after the first one of the flat
array of a Context another array begins. An image is made by following all of them:

    words of a block    -> an address in a block   -> where that block is in the image; the instance adds its address
                        -> an address of a kernel  -> the number of the kernel; the instance puts in where it is
                        -> an offset to a block    -> the offset in the image
                        -> anything else           -> as it is

Whether a word is an address is decided by its value alone. Words of arrays of floats never are. An offset leads into an
array for which `offset_in` was asked. No small number is one, as the flat array of the Context is far away from all
else (`far_numbers`), and so are those of models that blocks have of their own (`models_apart`).
"""

from __future__ import annotations

import bisect
import contextlib
import contextvars
import ctypes
import gc
import mmap
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.garbage import garbage_waits
from merganser.framework.core.inside import copy_into
from merganser.framework.native.compiler.portable_code import is_code
from merganser.framework.native.memory.addresses import address_of_array

_WORD = 8  # bytes
_ALIGNMENT, _LEAST = 64, 16  # of blocks in the image, and of arrays anywhere
_FAR = 1 << 33  # bytes between the flat array and all else
_NO_RESERVE = 0x4000  # Linux's flag of memory that takes no place until it is written


def far_numbers(size: int, dtype: Any = np.float64) -> NDArray[Any]:
    """An array of zeros that is at least 8 GiB of addresses away from everything else."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    num_bytes = -(-np.dtype(dtype).itemsize * size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * _FAR + num_bytes, flags=flags)
    array = np.frombuffer(memory, dtype, size, offset=_FAR)
    start = address_of_array(array)
    _far_arrays[start] = _FarArray(array.itemsize, {})
    weakref.finalize(array, _far_arrays.pop, start)
    return array


class _FarArray(NamedTuple):
    """Size of an element, and the offsets from the array to others, with the number of elements there."""

    itemsize: int
    offsets: dict[int, int]

    def has_offset(self, word: int) -> bool:
        is_far = abs(word) >= _FAR // self.itemsize // 2
        return is_far and any(0 <= word - offset <= size for offset, size in self.offsets.items())


_far_arrays: dict[int, _FarArray] = {}  # by their addresses
_models_are_apart = contextvars.ContextVar("models_are_apart", default=False)


@contextlib.contextmanager
def models_apart() -> Iterator[None]:
    """Has blocks keep the numbers of models of their own far away, too, from the time when they make these."""
    token = _models_are_apart.set(True)
    try:
        yield
    finally:
        _models_are_apart.reset(token)


def context_of_model(context: Any) -> Any:
    """A Context of a model of a block's own; far away where that is asked for."""
    flat = context.store.flat
    is_apart = _models_are_apart.get() and flat.dtype != object
    return copy_into(context, far_numbers(len(flat), flat.dtype)) if is_apart else context


def is_far(array: NDArray[Any]) -> bool:
    """Whether an array is one of `far_numbers`."""
    return address_of_array(array) in _far_arrays


def offset_in(flat: NDArray[Any], array: NDArray[Any]) -> int:
    """How many elements after the first element of one array that of another is stored.

    Raises:
        ValueError: it is no whole number of elements.
    """
    start = address_of_array(flat)
    offset, rest = divmod(address_of_array(array) - start, flat.itemsize)
    if rest:
        raise ValueError(f"The arrays are {rest} bytes more than a whole number of elements apart.")
    if start in _far_arrays:
        sizes = _far_arrays[start].offsets
        sizes[offset] = max(array.nbytes // flat.itemsize, sizes.get(offset, 0))
    return offset


class UnknownAddressError(RuntimeError):
    """Compiled code works on memory that no array or record is known to be in."""


class Block(NamedTuple):
    """Memory of one or more arrays or records.

    Attributes:
        start, end: addresses.
        has_words: whether integers of 64 bits are in it.
    """

    start: int
    end: int
    has_words: bool


class Blocks:
    """Arrays and records of this process, by their addresses.

    Args:
        roots: objects that hold them.
        are_all: whether to look for all others of the process, too, which takes seconds.
    """

    def __init__(self, roots: Iterable[Any], are_all: bool = False) -> None:
        with garbage_waits():
            self._blocks = _joined(_memory_of(thing) for thing in _things(roots, are_all))
        self._starts = [block.start for block in self._blocks]

    def find(self, address: int) -> Block | None:
        """The block that an address is in, or just behind; None for other addresses."""
        number = bisect.bisect_right(self._starts, address) - 1
        return self._blocks[number] if number >= 0 and address <= self._blocks[number].end else None


def _things(roots: Iterable[Any], are_all: bool) -> list[Any]:
    """All arrays and records that are found behind some objects, but not behind modules and classes, or all."""
    found: dict[int, Any] = {}
    modules = () if are_all else (vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__"))
    plain = _PLAIN if are_all else (*_PLAIN, types.ModuleType, type)
    seen = set(map(id, modules))
    kept: list[list[Any]] = []  # so that no other object takes the place of one that has been seen
    stack: list[Any] = [*roots, *(gc.get_objects() if are_all else ())]
    while stack:
        kept.append(stack)
        following: list[Any] = []
        for thing in stack:
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            kind = type(thing)
            if issubclass(kind, (np.ndarray, np.void, ctypes.Structure, ctypes.Array)):
                found[id(thing)] = thing
                base = getattr(thing, "base", None)
                following += [] if base is None else [base]
            if kind not in plain:
                following.append(thing)
        stack = gc.get_referents(*following)
    return list(found.values())


_PLAIN = (str, bytes, int, float, complex, bool, type(None), types.CodeType, np.float64, np.int64)


def _memory_of(thing: Any) -> Block:
    if isinstance(thing, (ctypes.Structure, ctypes.Array)):
        start = ctypes.addressof(thing)
        return Block(start, start + ctypes.sizeof(thing), True)
    if isinstance(thing, np.void):
        start = address_of_array(thing)
        return Block(start, start + thing.nbytes, True)
    steps = [(n - 1) * stride for n, stride in zip(thing.shape, thing.strides) if n]
    start, dtype = address_of_array(thing) + sum(min(0, step) for step in steps), thing.dtype
    size = sum(map(abs, steps)) + dtype.itemsize if thing.size else 0
    return Block(start, start + size, _has_words(dtype))


def _has_words(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a type have integers of 64 bits in them, which may be addresses."""
    if dtype.names is not None:
        return any(_has_words(dtype[name]) for name in dtype.names)
    if dtype.subdtype is not None:
        return _has_words(dtype.base)
    return dtype.kind not in "fcbSU" and dtype.itemsize >= _WORD


def _joined(blocks: Iterable[Block]) -> list[Block]:
    """Blocks in the order of their addresses; those that share memory are one."""
    joined: list[Block] = []
    for block in sorted(blocks):
        if joined and block.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = Block(last.start, max(last.end, block.end), last.has_words or block.has_words)
        else:
            joined.append(block)
    return joined


class Image:
    """A copy of all memory that compiled code finds from some records on.

    Args:
        blocks: all arrays.
        flat: of the Context, from `far_numbers`; it comes first in the image.
        roots: addresses of records.
        objects: addresses of Python objects that compiled code may ask Python to call, and of what takes their place.

    Attributes:
        content: the bytes; words that are addresses hold where that is in the image, or the number of the function.
        addresses: where words are that are addresses in the image.
        functions: where words are that are addresses of functions.
        codes: the addresses of these functions, by their numbers.

    Raises:
        UnknownAddressError: a word is an address of something else.
    """

    def __init__(self, blocks: Blocks, flat: NDArray[Any], roots: Iterable[int], objects: Mapping[int, int]) -> None:
        self._blocks, self._flat, self._objects = blocks, address_of_array(flat), objects
        self._flats = {start: of for start, of in _far_arrays.items() if blocks.find(start) is not None}
        self._places: dict[Block | None, int] = {}
        self._size = 0
        self.addresses: list[int] = []
        self.functions: list[int] = []
        self.codes: list[int] = []
        self._numbers: dict[int, int] = {}
        self._regions = _regions()
        self._parts: list[NDArray[Any]] = []
        self._waiting: list[Block] = []
        self.place_of(self._flat)
        for root in roots:
            self.place_of(root)
        while self._waiting:
            self._take(self._waiting.pop(0))
        self.content = self._joined_parts()

    def place_of(self, address: int) -> int:
        """Where an address is in the image; what is there is taken along."""
        block = self._blocks.find(address)
        if block is None:
            raise UnknownAddressError(f"No array is known at the address {address:#x}.")
        place = self._places.get(block)
        if place is None:
            place = self._places[block] = -(-self._size // _ALIGNMENT) * _ALIGNMENT + block.start % _LEAST
            self._size = place + max(block.end - block.start, 1)  # what is empty has a place of its own, too
            self._waiting.append(block)
        return place + address - block.start

    def has(self, address: int) -> bool:
        """Whether what is at an address is in the image."""
        return self._blocks.find(address) in self._places

    def number_of(self, code: int) -> int:
        """The number of the function at an address."""
        if code not in self._numbers:
            self._numbers[code] = len(self.codes)
            self.codes.append(code)
        return self._numbers[code]

    def _take(self, block: Block) -> None:
        """Copies a block, and follows its words."""
        content = np.frombuffer(ctypes.string_at(block.start, block.end - block.start), np.uint8).copy()
        self._parts.append(content)
        first = -block.start % _WORD
        words = content[first : first + (len(content) - first) // _WORD * _WORD].view(np.int64)
        place = self._places[block] + first
        # Most words are small numbers, or those of floats: of the others one after the other.
        for n in np.flatnonzero((words >> 13 != 0) & (words >> 13 != -1)).tolist():
            words[n] = self._word(int(words[n]), place + _WORD * n, block)

    def _word(self, word: int, place: int, block: Block) -> int:
        if not block.has_words:
            return 0 if self._is_mapped(word) else word  # what has been in memory that was never written
        word = self._objects.get(word, word)
        if is_code(word):
            self.functions.append(place)
            return self.number_of(word)
        if self._blocks.find(word) is not None:
            self.addresses.append(place)
            return self.place_of(word)
        for start, flat in self._flats.items():
            if flat.has_offset(word):
                return (self.place_of(start + flat.itemsize * word) - self.place_of(start)) // flat.itemsize
        if self._is_mapped(word):
            raise UnknownAddressError(
                f"The word at {place - self._places[block]} of an array of {block.end - block.start} bytes is the "
                f"address {word:#x} of {self._regions[self._region(word)][2] or 'memory'} that belongs to no array."
            )
        return word

    def _region(self, address: int) -> int:
        return bisect.bisect_right(self._regions, (address, 1 << 64, "")) - 1

    def _is_mapped(self, address: int) -> bool:
        number = self._region(address)
        return number >= 0 and self._regions[number][0] <= address < self._regions[number][1]

    def _joined_parts(self) -> bytes:
        content = np.zeros(-(-self._size // _ALIGNMENT) * _ALIGNMENT, np.uint8)
        for place, part in zip(self._places.values(), self._parts):
            content[place : place + len(part)] = part
        return content.tobytes()


def _regions() -> list[tuple[int, int, str]]:
    """The memory of this process that can be read: where regions start and end, and what they are."""
    regions = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(text, 16) for text in span.split("-"))
        if access.startswith("r"):
            regions.append((start, end, name[0] if name else ""))
    return sorted(regions)
