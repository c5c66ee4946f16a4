"""Entry points: compiled kernels with most of their arguments bound, which Python calls in 50 ns.

Numba's own way into compiled code unpacks every array again, which takes some 50 ns each; a kernel of multibody
dynamics has ten of them and may take no longer itself. `bind` makes a builtin function instead. It finds the bound
arguments as numbers in a table, reads the others where CPython and numpy keep them, and calls the kernel as compiled
code does.

Only the few instructions around the call are compiled here, in milliseconds, once for each kernel and kind of
arguments; contexts that bind arrays of their own share them, and they are kept on the disk: addresses are in the
table, not in the code. Where Python's objects are not laid out as expected (free-threaded builds, for example), `bind`
calls the same machine code by numba's way (plain_calls.py). What each way takes is in README.md.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.argument_types import text_of_types, type_key
from merganser.framework.native.compiler.code_files import SUFFIX, cache_directory
from merganser.framework.native.compiler.extending import import_whole, interrupts_wait
from merganser.framework.native.compiler.kept_files import keep, read_kept
from merganser.framework.native.compiler.kernels import Code, Kernel, compiler_lock
from merganser.framework.native.compiler.machine_code import MachineCode, describe_machine, load

Array = NDArray[Any]

# Where CPython and numpy keep what is read here, in bytes; _is_layout_known() sees that it is true.
TYPE, TUPLE_ITEMS, RECORD, DATA, NDIM, SHAPE, STRIDES, DTYPE = 8, 24, 24, 16, 24, 32, 40, 56
_METH_FASTCALL = 0x80
_PYARRAY_NEW = 93  # place in numpy's table of C functions

# What stands where at the beginning of tables: addresses of the kernel, of PyArray_New(), and of these objects.
KERNEL, NEW_ARRAY, FIRST_OBJECT = range(3)
FLOAT64 = np.dtype(np.float64)
OBJECTS = (None, True, False, TypeError, IndexError, np.ndarray, np.void, FLOAT64)


class Given(NamedTuple):
    """An argument that is given at each call.

    Attributes:
        example: a value of the same type; arrays of as many dimensions, as contiguous. Of a tuple its elements are
            given in a tuple.
        is_checked: an array is only taken if it has the example's shape, is of float64 and contiguous. Otherwise the
            kernel is not called, and the function returns None. Without this, arrays must be of the right type.
    """

    example: Any
    is_checked: bool = False


class Result(NamedTuple):
    """A new array of float64 that the kernel writes and the function returns.

    Attributes:
        shape: its shape.
    """

    shape: tuple[int, ...]


def bind(kernel: Any, *arguments: Any, releases_lock: bool = False) -> Callable[..., Any]:
    """Makes a function that calls a kernel with bound arguments.

    Args:
        kernel: a kernel (see compile.py), whose arguments are arrays, records, integers and floats, and which returns
            nothing, a bool, an integer or a float.
        arguments: for each argument of the kernel the array or number itself, or a tuple of such, or a `Given` or a
            `Result`. The memory of arrays that are bound must stay where it is.
        releases_lock: whether other threads of Python may run while the kernel does; takes some 30 ns.

    Returns:
        A function of the given arguments, in their order, that takes no keywords. It returns what the kernel returns,
        if that is something, and the results, as a tuple if these are several things. It raises TypeError if the number
        of arguments is wrong, or if one that must be an array is not; IndexError if the kernel leaves an array, where
        numba's switch NUMBA_BOUNDSCHECK has it look.
    """
    if not isinstance(kernel, Kernel):  # NUMBA_DISABLE_JIT=1
        return _plain_function(kernel, arguments)
    examples = tuple(_example(argument) for argument in arguments)
    key = kernel, tuple(map(type_key, examples)), tuple(map(_kind, arguments)), releases_lock
    compiled = _compiled.get(key) if _is_layout_known() else None
    if compiled is None:
        if not _is_layout_known() or text_of_types(examples) is None or not _are_simple(arguments):
            return _plain_function(_call_by_numba(kernel, examples, releases_lock), arguments)
        with compiler_lock:
            compiled = _compiled.get(key)  # another thread may have been faster
            if compiled is None:
                compiled = _compiled[key] = _EntryPoint(kernel, examples, key[2], releases_lock)
    table = [*compiled.head, *(n for a, e in zip(arguments, examples, strict=True) for n in _numbers(a, e))]
    bound = [argument for argument in arguments if not isinstance(argument, (Given, Result))]
    return compiled.bind(np.array(table, np.int64), bound)


_SIMPLE = ("none", "bool", "int64", "float64", "complex128")  # results, and numbers that are given


def _are_simple(arguments: tuple[Any, ...]) -> bool:
    """Whether entry points know how to take such arguments."""
    return all(_is_simple_value(argument.example) for argument in arguments if isinstance(argument, Given))


def _is_simple_value(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_simple_value, value))
    return isinstance(value, (np.ndarray, np.void)) or type_key(value) in _SIMPLE


def _plain_function(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """What an entry point does, in Python, around one that takes all arguments of the kernel."""

    def bound(*given: Any) -> Any:
        if len(given) != num_given:
            raise TypeError(f"{name}() takes {num_given} arguments.")
        left, values, returned = iter(given), [], []
        for argument in arguments:
            value = argument
            if isinstance(argument, Result):
                value = np.empty(argument.shape)
                returned.append(value)
            elif isinstance(argument, Given):
                value = next(left)
                if argument.is_checked and not _is_like(value, argument.example):
                    return None
            values.append(value)
        value = call(*values)
        if value is not None:
            returned.insert(0, value)
        return tuple(returned) if len(returned) > 1 else returned[0] if returned else None

    num_given = sum(isinstance(argument, Given) for argument in arguments)
    name = bound.__name__ = getattr(call, "__name__", "kernel")
    return bound


def _call_by_numba(kernel: Kernel, examples: tuple[Any, ...], releases_lock: bool) -> Callable[..., Any]:
    """What calls a kernel where entry points cannot."""
    plain_calls = import_whole("merganser.framework.native.compiler.plain_calls")
    return plain_calls.plain_call(kernel.interpreted.__name__, _code(kernel, examples), examples, releases_lock)


def _code(kernel: Kernel, examples: tuple[Any, ...]) -> Code:
    """The code of a kernel that Python can call."""
    code = kernel.code(*examples)
    if code.result not in _SIMPLE:
        name = kernel.interpreted.__name__
        raise TypeError(f"{name}() returns a value of type {code.result}, which only compiled code can take.")
    return code


def _is_like(value: Any, example: Array) -> bool:
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return False
    return value.shape == example.shape and value.strides == example.strides


# ------------------------------------------------------------------ the table


BOUND, GIVEN, CHECKED, RESULT = range(4)  # what an argument is


def _kind(argument: Any) -> int:
    if isinstance(argument, Result):
        return RESULT
    if isinstance(argument, Given):
        return CHECKED if argument.is_checked else GIVEN
    return BOUND


def _example(argument: Any) -> Any:
    if isinstance(argument, Result):
        return np.empty(argument.shape)
    return argument.example if isinstance(argument, Given) else argument


def _numbers(argument: Any, example: Any) -> list[int]:
    """What the table has of an argument; see entry_point_writer.py."""
    if isinstance(argument, Result):
        return list(argument.shape)
    if isinstance(argument, Given):
        return [*example.shape, *example.strides] if argument.is_checked else []
    if isinstance(example, np.ndarray):
        return [example.ctypes.data, example.size, *example.shape, *example.strides]
    if isinstance(example, np.void):
        return [example.__array_interface__["data"][0]]
    if isinstance(example, tuple):
        return [n for element in example for n in _numbers(element, element)]
    number = bool(example) if isinstance(example, np.bool_) else example  # which is no integer
    return list(struct.unpack("q", struct.pack("d" if isinstance(example, float) else "q", number)))


# ------------------------------------------------------------------ the code


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython's C interface."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))  # fmt: skip


_new_builtin: Any = ctypes.pythonapi.PyCFunction_NewEx
_new_builtin.restype, _new_builtin.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


class _EntryPoint:
    """The machine code of a builtin function, for one kernel and kind of arguments.

    Attributes:
        head: the first numbers of tables.
    """

    def __init__(self, kernel: Kernel, examples: tuple[Any, ...], kinds: tuple[int, ...], releases_lock: bool) -> None:
        code = _code(kernel, examples)
        name, types = kernel.interpreted.__name__, text_of_types(examples)
        what = name, types, code.result, kinds, releases_lock, np.__version__, sys.version

        def write(symbol: str) -> Any:
            writer = import_whole("merganser.framework.native.compiler.entry_point_writer")
            return writer.write_entry_point(symbol, name, examples, code.result, kinds, releases_lock)

        address = kept_function(what, write)
        self._definition = _Definition(kernel.interpreted.__name__.encode(), address, _METH_FASTCALL, None)
        self._code = code  # kept alive
        self.head = [code.address, _numpy_function(_PYARRAY_NEW), *map(id, OBJECTS)]

    def bind(self, table: Array, bound: list[Any]) -> Callable[..., Any]:
        """A builtin function with its own table; it keeps alive the arrays that addresses there point to, and this."""
        made: Callable[..., Any] = _new_builtin(ctypes.addressof(self._definition), (table, *bound, self), None)
        return made


_compiled: dict[Any, _EntryPoint] = {}


# ------------------------------------------------------------------ the layout


def _numpy_function(place: int) -> int:
    """Address of a function of numpy's C interface."""
    core = "_core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "core"
    table = importlib.import_module(f"numpy.{core}._multiarray_umath")._ARRAY_API
    get: Any = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(table, None), ctypes.POINTER(ctypes.c_void_p))[place] or 0


@functools.cache
def _is_layout_known() -> bool:
    """Whether objects have what entry points read where it reads it."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or object.__basicsize__ != 16:
        return False
    sample = np.zeros((7, 5, 3))[1:, ::2]
    record = np.zeros(2, [("field", np.float64)])[1]
    holder = (sample,)

    def read(address: int, offset: int) -> int:
        return ctypes.c_int64.from_address(address + offset).value

    return (
        read(id(sample), TYPE) == id(np.ndarray)
        and read(id(holder), TUPLE_ITEMS) == id(sample)
        and read(id(sample), DATA) == sample.ctypes.data
        and ctypes.c_int32.from_address(id(sample) + NDIM).value == 3
        and [read(read(id(sample), SHAPE), 8 * i) for i in range(3)] == list(sample.shape)
        and [read(read(id(sample), STRIDES), 8 * i) for i in range(3)] == list(sample.strides)
        and read(id(sample), DTYPE) == id(FLOAT64)
        and read(id(record), RECORD) == record.__array_interface__["data"][0]
    )


def kept_function(what: Any, write: Callable[[str], Any]) -> int:
    """The code of a function, from the disk or as it is written now.

    Args:
        what: all that the function depends on; it must have the same text in every process.
        write: called with the function's name; gives its code, and what to keep of it, in which there are no addresses:
            these are others in the next process.

    Returns:
        The function's address.
    """
    text = repr((what, describe_machine()))
    name = f"entry_point_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    if name not in _places:
        path = cache_directory("framework") / f"{name}{SUFFIX}"
        data = read_kept(path, text)
        loaded = None if data is None else load(MachineCode(*pickle.loads(data)))
        if loaded is None:
            with interrupts_wait():
                code, made = write(name)
                if made is not None:
                    keep(path, text, pickle.dumps(tuple(made)))
            loaded = code.address, code.owner
        _places[name] = loaded
    return _places[name][0]


_places: dict[str, tuple[int, Any]] = {}  # and what stays with them, by the names of the functions
