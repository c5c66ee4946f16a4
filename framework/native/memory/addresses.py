"""Where arrays are in memory: what compiled code is given in place of them, and what it sees there.

An address keeps nothing alive. Code that hands one on keeps the array as long as the address may be used, and lets no
other array take its place.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.extending import carray, intrinsic, types
from merganser.framework.native.compiler.kernels import device

Array = NDArray[Any]

SIZE_OF_TWISTER = 625  # words of 32 bits of numpy's MT19937: 624 that it goes round, and where it stands among them


def address_of_array(array: Any) -> int:
    """Where the first number of an array or record stands."""
    if isinstance(array, np.ndarray):
        return array.ctypes.data  # of records, a fortieth of the time: the interface spells out all their fields
    address: int = array.__array_interface__["data"][0]
    return address


def _memory(typingctx: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


def _place(typingctx: Any, values: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(arguments[0], [arguments[1]])
        return builder.ptrtoint(pointer, context.get_value_type(types.int64))

    return types.int64(values, types.int64), generate


_memory_at: Any = intrinsic(_memory)
# place_at(values, place), in compiled code: the address of a place in the flat array of a Context, or in a list.
place_at: Any = intrinsic(_place)
_FLOAT = np.dtype(np.float64)


@device
def array_at(address: int, shape: Any, dtype: Any) -> Any:
    """The array that stands at an address, in compiled code; C-contiguous."""
    return carray(_memory_at(address), shape, dtype)


@device
def doubles(address: int, size: int) -> Any:
    """The array of float64 of one dimension that stands at an address, in compiled code."""
    return array_at(address, (size,), _FLOAT)


class _Memory:
    """Memory that numpy sees as an array."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self._owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "<u4", "version": 3}


def words_of_twister(generator: Any) -> NDArray[np.uint32]:
    """The state of numpy's MT19937 where it stands, shape [625].

    To ask numpy for it, and to set it, takes 100 us each; users of this look whether it is as expected.
    """
    return np.asarray(_Memory(generator.ctypes.state_address, SIZE_OF_TWISTER, generator))


def twister_of(generator: Any) -> tuple[int, int]:
    """For compiled code: where the state of numpy's MT19937 stands, and numpy's function that gives the next word."""
    interface = generator.ctypes
    return interface.state_address, ctypes.cast(interface.next_uint32, ctypes.c_void_p).value or 0
