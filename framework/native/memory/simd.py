"""Lanes: several numbers as one variable, on which compiled code works with vector instructions.

**Rows of six.** The compiler unrolls loops over a row of a block of a free body, which has six velocities, and computes
one number after the other. Said with the functions below, a row is one variable:

    row = fused(element(left, i), right, six_at(numbers, at))
    set_six(numbers, at, row)

Compiled code keeps rows in registers: + - * / unary -, comparisons, which give masks, and `where`, which chooses.
Numbers join in as if each were a row. In plain Python, rows are arrays of shape [6]. Rows of arrays of lanes have lanes
as their elements.

**Lanes in place of numbers.** A kernel that is compiled for arrays of lanes computes as many results side by side, from
the same source, with the bits that each has alone: sums and products are rounded one by one, and functions such as
sin are those of numbers. Where a mask is to be one truth value, it means that all are true. If that is so in some lanes
only, they part: what is computed from there on holds in none. So who calls such kernels asks afterwards,

    forget_leave()
    ...
    if has_left(): ...    # drop the results, and compute each lane by itself

which is noted for each thread. Where each lane is to decide for itself, masks choose (`where`) and are joined (`both`,
`either`), and a loop goes on as long as it must in any lane (`any_of`), while others leave what they have as it is.
Arrays of lanes are those of numbers, each number as many times, see `repeated`.

A variable that begins as a plain number and becomes lanes in a loop is lanes; but what it is compared with there is one
truth value. So begin with 0.0 * x, of lanes x, what is compared.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.extending import register_module
from merganser.framework.native.compiler.machine_code import name_address, vector_width

Lanes: TypeAlias = Any  # several numbers, or one number
Mask: TypeAlias = Any  # as many truth values, or one
LANES = "lanes"  # the field of a dtype that is nothing but lanes
LEAVE = "merganser_word_of_thread"  # the name of the function that gives where a thread notes that lanes have parted


def square_root(x: Lanes) -> Lanes:
    """The square root; NaN of negative numbers."""
    return np.sqrt(x)


def where(mask: Mask, x: Lanes, y: Lanes) -> Lanes:
    """x where the mask is true, else y."""
    return np.where(mask, x, y)


def any_of(mask: Mask) -> bool:
    """Whether the mask is true anywhere; lanes do not part here."""
    return bool(np.any(mask))


def all_of(mask: Mask) -> bool:
    """Whether the mask is true everywhere; lanes do not part here."""
    return bool(np.all(mask))


def both(mask: Mask, other: Mask) -> Mask:
    """Whether two masks are true; lanes do not part here."""
    return np.logical_and(mask, other)


def either(mask: Mask, other: Mask) -> Mask:
    """Whether one of two masks is true; lanes do not part here."""
    return np.logical_or(mask, other)


def greatest(x: Lanes) -> float:
    """The greatest of several numbers."""
    return float(np.max(x))


def width_of(x: Lanes) -> int:
    """How many numbers there are."""
    return len(x)


def element(x: Lanes, k: int) -> float:
    """Number k of a row."""
    return x[k]


def with_element(x: Lanes, k: int, value: float) -> Lanes:
    """A row with another number k."""
    x = x.copy()
    x[k] = value
    return x


def fused(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x y + z; compiled code rounds once."""
    return x * y + z


def six_at(array: Any, at: int) -> Lanes:
    """Six numbers of an array of float64, C-contiguous, from place `at` on; compiled code expects 0 <= at."""
    return array[at : at + 6].copy()


def set_six(array: Any, at: int, x: Lanes) -> None:
    """Sets six numbers of such an array."""
    array[at : at + 6] = x


def total_of_six(x: Lanes) -> float:
    """The sum of six numbers, in an order that is fast."""
    return ((x[0] + x[4]) + x[2]) + ((x[1] + x[5]) + x[3])


# ------------------------------------------------------------------ lanes in place of numbers

_ALIGNMENT = 64  # of arrays of lanes [bytes]


def _word_of_thread() -> Any:
    """The function of the C library that says where a thread has its last error; None without such a function."""
    try:
        library: Any = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    names = "__errno_location", "__error", "_errno"
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)


_word, _other_word = _word_of_thread(), ctypes.c_int32()
# Code for single numbers names it, too.
_function = _word or ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(_other_word))
name_address(LEAVE, ctypes.cast(_function, ctypes.c_void_p).value or 0)


@functools.cache
def num_lanes() -> int:
    """How many numbers fit into a vector of the processor; 0 where compiled code does not notice when lanes part."""
    return 0 if _word is None else vector_width()


def forget_leave() -> None:
    """Forgets that lanes have parted; for compiled code only."""
    raise NotImplementedError


def has_left() -> bool:
    """Whether lanes have parted in this thread since then, or a function of the C library has failed."""
    raise NotImplementedError


@functools.cache
def lanes_dtype() -> np.dtype[Any]:
    """The dtype of lanes."""
    return np.dtype([(LANES, np.float64, (num_lanes(),))])


_VARYING: set[np.dtype[Any]] = set()


def varying(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of records of integers and floats of which lanes have floats of their own; integers are the same."""
    _VARYING.add(dtype)
    return dtype


def varies(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a `varying` one."""
    return dtype in _VARYING


def in_lanes(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that has lanes in place of each float, see `with_numbers`."""
    return with_numbers(dtype, lanes_dtype())


@functools.cache
def with_numbers(dtype: np.dtype[Any], number: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that has another kind of number in place of each float: lanes, or complex numbers.

    Records that have integers, too, are the same for all of these, and stay as they are; but for `varying` ones.
    """
    is_varying = dtype in _VARYING and number != np.complex128
    if number == np.float64 or not (is_varying or _has_floats_only(dtype)):
        return dtype
    return _with_each(dtype, number)


def _with_each(dtype: np.dtype[Any], number: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        return np.dtype((_with_each(dtype.base, number), dtype.shape))
    if dtype.names is not None:
        return np.dtype([(name, _with_each(dtype[name], number)) for name in dtype.names])
    return number if dtype == np.float64 else dtype


def _has_floats_only(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:
        return all(_has_floats_only(dtype[name]) for name in dtype.names)
    return dtype.base == np.float64 if dtype.subdtype is None else _has_floats_only(dtype.base)


def repeated(array: NDArray[Any]) -> NDArray[np.float64]:
    """Lanes with the numbers of an array or of records of floats, shape [how many numbers, num_lanes()]."""
    numbers = np.atleast_1d(array).reshape(-1).view(np.float64)
    lanes = _aligned(numbers.size * num_lanes()).reshape(-1, num_lanes())
    lanes[:] = numbers[:, None]
    return lanes


def repeated_records(array: NDArray[Any]) -> NDArray[Any]:
    """Lanes with the numbers of an array of `varying` records, or of one."""
    records, dtype = np.atleast_1d(array), in_lanes(array.dtype)
    lanes = _aligned(records.size * dtype.itemsize // 8).view(dtype)
    for name in dtype.names or ():
        has_lanes = dtype[name].base == lanes_dtype()
        (lanes[name][LANES] if has_lanes else lanes[name])[:] = (
            records[name][..., np.newaxis] if has_lanes else records[name]
        )
    return lanes


def _aligned(size: int) -> NDArray[np.float64]:
    """So many zeros where vectors of the processor may begin."""
    memory = np.zeros(size + _ALIGNMENT // 8)
    start = -(memory.ctypes.data // 8) % (_ALIGNMENT // 8)
    return memory[start : start + size]


def in_all_lanes(array: NDArray[Any]) -> NDArray[Any]:
    """An array of lanes that have the same numbers; integers, and records with such, stay as they are."""
    dtype = in_lanes(array.dtype)
    return array if dtype == array.dtype else repeated(array).reshape(-1).view(dtype)


register_module("merganser.framework.native.memory.simd_code")
