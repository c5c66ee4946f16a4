"""Entry points: compiled kernels with most of their arguments bound, which Python calls in 50 ns.

Numba's own way into compiled code unpacks every array anew, which takes some 50 ns each; a kernel of multibody dynamics
has ten of them and may take no longer itself. `bind` makes a builtin function instead. It finds the bound arguments as
numbers in a table, reads the others where CPython and numpy keep them, and calls the kernel as compiled code does.

Only the few instructions around the call are compiled here, in milliseconds, once for each kernel and kind of
arguments; contexts that bind arrays of their own share them, and they are kept on the disk: addresses stand in the
table, not in the code. Where Python's objects are not laid out as expected
(free-threaded builds, for example), `bind` falls back to numba's way.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numpy.typing import NDArray

from merganser.framework.native.compile import find_overload, specialize, type_key
from merganser.framework.native.kept_functions import kept_function

__all__ = ["Given", "Result", "bind"]

Array = NDArray[Any]

_INT, _BYTE_P, _FLOAT = ir.IntType(64), ir.IntType(8).as_pointer(), ir.DoubleType()
# Where CPython and numpy keep what is read here, in bytes; _is_layout_known() sees that it is true.
_TYPE, _TUPLE_ITEMS, _RECORD, _DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE = 8, 24, 24, 16, 24, 32, 40, 56
_METH_FASTCALL = 0x80
_PYARRAY_NEW = 93  # place in numpy's table of C functions
_NPY_DOUBLE = 12

# What stands where at the beginning of tables: addresses of the kernel, of PyArray_New(), and of these objects.
_KERNEL, _NEW_ARRAY, _FIRST_OBJECT = range(3)
_FLOAT64 = np.dtype(np.float64)
_OBJECTS = (None, True, False, TypeError, np.ndarray, np.void, _FLOAT64)


class Given(NamedTuple):
    """An argument that is given at each call.

    Attributes:
        example: a value of the same type; arrays of as many dimensions, as contiguous.
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


def bind(kernel: Any, *arguments: Any) -> Callable[..., Any]:
    """Makes a function that calls a kernel with bound arguments.

    Args:
        kernel: a kernel (see compile.py), whose arguments are arrays, records, integers and floats, and which returns
            nothing, a bool, an integer or a float.
        arguments: for each argument of the kernel the array or number itself, or a tuple of such, or a `Given` or a
            `Result`. The memory of arrays that are bound must stay where it is.

    Returns:
        A function of the given arguments, in their order, that takes no keywords. It returns what the kernel returns,
        if that is something, and the results, as a tuple if these are several things. It raises TypeError if the number
        of arguments is wrong, or if one that is to be an array is none. It holds Python's lock, so it is for short
        kernels.
    """
    if not hasattr(kernel, "overloads") or not _is_layout_known():
        return _slow_form(kernel, arguments)
    examples = tuple(_example(argument) for argument in arguments)
    key = kernel, tuple(map(type_key, examples)), tuple(map(_kind, arguments))
    compiled = _compiled.get(key)
    if compiled is None:
        with global_compiler_lock:
            compiled = _compiled.get(key)  # another thread may have been faster
            if compiled is None:
                compiled = _compiled[key] = _EntryPoint(kernel, examples, key[2])
    table = [*compiled.head, *(n for a, e in zip(arguments, examples, strict=True) for n in _numbers(a, e))]
    bound = [argument for argument in arguments if not isinstance(argument, (Given, Result))]
    return compiled.bind(np.array(table, np.int64), bound)


def _slow_form(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The same function in Python."""
    code = specialize(kernel, *map(_example, arguments))

    def call(*given: Any) -> Any:
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
        value = code(*values)
        if value is not None:
            returned.insert(0, value)
        return tuple(returned) if len(returned) > 1 else returned[0] if returned else None

    return call


def _is_like(value: Any, example: Array) -> bool:
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return False
    return value.shape == example.shape and value.strides == example.strides


# ------------------------------------------------------------------ the table


_BOUND, _GIVEN, _CHECKED, _RESULT = range(4)


def _kind(argument: Any) -> int:
    if isinstance(argument, Result):
        return _RESULT
    if isinstance(argument, Given):
        return _CHECKED if argument.is_checked else _GIVEN
    return _BOUND


def _example(argument: Any) -> Any:
    if isinstance(argument, Result):
        return np.empty(argument.shape)
    return argument.example if isinstance(argument, Given) else argument


def _numbers(argument: Any, example: Any) -> list[int]:
    """What the table has of an argument; see _Writer."""
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
    return list(struct.unpack("q", struct.pack("d" if isinstance(example, float) else "q", example)))


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

    def __init__(self, kernel: Any, examples: tuple[Any, ...], kinds: tuple[int, ...]) -> None:
        overload = find_overload(kernel, examples)
        codegen, signature = overload.target_context.codegen(), overload.signature
        what = kernel.py_func.__module__, overload.fndesc.qualname, str(signature), kinds, np.__version__, sys.version

        def write(name: str) -> Any:
            library = codegen.create_library(name)
            module = library.create_ir_module(name)
            function = ir.Function(module, ir.FunctionType(_BYTE_P, [_BYTE_P, _BYTE_P, _INT]), name)
            _Writer(overload, signature.args, kinds, function).write()
            library.add_ir_module(module)
            return library

        address = kept_function(codegen, what, write)
        self._definition = _Definition(kernel.__name__.encode(), address, _METH_FASTCALL, None)
        kernel_place = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
        self.head = [kernel_place, _numpy_function(_PYARRAY_NEW), *map(id, _OBJECTS)]

    def bind(self, table: Array, bound: list[Any]) -> Callable[..., Any]:
        """A builtin function with its own table; it keeps alive the arrays that addresses there point to, and this."""
        made: Callable[..., Any] = _new_builtin(ctypes.addressof(self._definition), (table, *bound, self), None)
        return made


_compiled: dict[Any, _EntryPoint] = {}


class _Writer:
    """Writes the instructions of one entry point, `PyObject *(PyObject *self, PyObject **given, Py_ssize_t count)`.

    `self` is a tuple of the table, an array of int64, and of what must stay alive. The table begins with the addresses
    of the kernel, of PyArray_New() and of _OBJECTS. Then it has for each argument: of
    a bound array the address, size, shape and strides; of a bound record the address; of a bound number its bits; of a
    bound tuple all this of its elements; of a checked array shape and strides; of a result its shape.
    """

    def __init__(self, overload: Any, signature: tuple[Any, ...], kinds: tuple[int, ...], function: Any) -> None:
        self._overload, self._signature, self._kinds = overload, signature, kinds
        self._context, self._module = overload.target_context, function.module
        self._self, self._given, self._num_given = function.args
        self._builder = ir.IRBuilder(function.append_basic_block())
        self._next_given = 0
        self._place = _FIRST_OBJECT + len(_OBJECTS)  # in the table
        self._results: list[Any] = []

    def write(self) -> None:
        """Writes all of it."""
        table = self._load(self._address(self._self), _TUPLE_ITEMS)
        self._table = self._load(table, _DATA)
        number = self._kinds.count(_GIVEN) + self._kinds.count(_CHECKED)
        with self._unlikely(self._builder.icmp_signed("!=", self._num_given, _INT(number))):
            self._raise_type_error(f"{self._overload.fndesc.qualname}() takes {number} arguments.")
        values: list[Any] = []
        for kind, source in zip(self._signature, self._kinds, strict=True):
            if source == _RESULT:  # made when the others are known to be right
                values.append(self._place)
                self._place += kind.ndim
            else:
                values.append(self._argument(kind, source))
        for i in (i for i, source in enumerate(self._kinds) if source == _RESULT):
            self._place = values[i]
            values[i] = self._new_array(self._signature[i])
        self._call(values)

    # ------------------------------------------------------------------ small steps

    def _address(self, pointer: Any) -> Any:
        return self._builder.ptrtoint(pointer, _INT)

    def _load(self, address: Any, offset: int, kind: Any = _INT) -> Any:
        at = self._builder.add(address, _INT(offset))
        return self._builder.load(self._builder.inttoptr(at, kind.as_pointer()))

    def _from_table(self, kind: Any = _INT) -> Any:
        value = self._load(self._table, 8 * self._place, kind)
        self._place += 1
        return value

    def _unlikely(self, condition: Any) -> Any:
        return self._builder.if_then(condition, likely=False)

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        return cgutils.get_or_insert_function(self._module, ir.FunctionType(result, arguments), name)

    def _raise_type_error(self, message: str) -> None:
        set_error = self._function("PyErr_SetString", ir.VoidType(), _BYTE_P, _BYTE_P)
        text = self._context.insert_const_string(self._module, message)
        self._builder.call(set_error, [self._constant(TypeError), text])
        self._builder.ret(_BYTE_P(None))

    def _return_object(self, value: Any) -> None:
        """Returns True, False or None, by its address."""
        self._builder.call(self._function("Py_IncRef", ir.VoidType(), _BYTE_P), [value])
        self._builder.ret(value)

    def _constant(self, value: Any) -> Any:
        return self._builder.inttoptr(self._address_of(value), _BYTE_P)

    def _address_of(self, value: Any) -> Any:
        """The address of one of _OBJECTS."""
        place = next(i for i, each in enumerate(_OBJECTS) if each is value)
        return self._load(self._table, 8 * (_FIRST_OBJECT + place))

    # ------------------------------------------------------------------ arguments

    def _argument(self, kind: Any, source: int) -> Any:
        if source == _BOUND:
            return self._bound(kind)
        at = self._builder.add(self._address(self._given), _INT(8 * self._next_given))
        given = self._load(at, 0)
        self._next_given += 1
        if isinstance(kind, types.Array):
            return self._given_array(kind, given, source == _CHECKED)
        return self._given_record(kind, given) if isinstance(kind, types.Record) else self._given_number(kind, given)

    def _bound(self, kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            elements: Any = kind
            return self._context.make_tuple(self._builder, kind, [self._bound(element) for element in elements])
        return self._bound_array(kind) if isinstance(kind, types.Array) else self._bound_number(kind)

    def _bound_array(self, kind: Any) -> Any:
        data, size = self._from_table(), self._from_table()
        shape = [self._from_table() for _ in range(kind.ndim)]
        return self._array(kind, data, size, shape, [self._from_table() for _ in range(kind.ndim)])

    def _bound_number(self, kind: Any) -> Any:
        if kind == types.float64:
            return self._from_table(_FLOAT)
        if isinstance(kind, types.Record):
            return self._builder.inttoptr(self._from_table(), self._context.get_value_type(kind))
        return self._builder.trunc(self._from_table(), self._context.get_value_type(kind))

    def _given_array(self, kind: Any, given: Any, is_checked: bool) -> Any:
        b = self._builder
        is_array = b.icmp_unsigned("==", self._load(given, _TYPE), self._address_of(np.ndarray))
        ndim = self._load(given, _NDIM, ir.IntType(32))
        is_right = b.and_(is_array, b.icmp_unsigned("==", ndim, ir.IntType(32)(kind.ndim)))
        if is_checked:
            is_right = b.and_(is_right, b.icmp_unsigned("==", self._load(given, _DTYPE), self._address_of(_FLOAT64)))
        with self._unlikely(b.not_(is_right)):
            if is_checked:
                self._return_object(self._constant(None))
            else:
                self._raise_type_error(f"{self._overload.fndesc.qualname}() takes an array of {kind.ndim} dimensions.")
        shapes, strides = self._load(given, _SHAPE), self._load(given, _STRIDES)
        shape = [self._load(shapes, 8 * i) for i in range(kind.ndim)]
        steps = [self._load(strides, 8 * i) for i in range(kind.ndim)]
        if is_checked:
            for n in (*shape, *steps):
                with self._unlikely(b.icmp_signed("!=", n, self._from_table())):
                    self._return_object(self._constant(None))
        size = _INT(1)
        for n in shape:
            size = b.mul(size, n)
        if kind.layout == "C" and not is_checked:
            self._check_contiguity(kind, size, shape, steps)
        return self._array(kind, self._load(given, _DATA), size, shape, steps)

    def _check_contiguity(self, kind: Any, size: Any, shape: list[Any], steps: list[Any]) -> None:
        """Refuses other strides than those of the type, with which the kernel would go astray."""
        b = self._builder
        itemsize = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        expected, is_wrong = _INT(itemsize), ir.IntType(1)(0)
        for n, step in zip(reversed(shape), reversed(steps)):
            differs = b.and_(b.icmp_signed(">", n, _INT(1)), b.icmp_signed("!=", step, expected))
            is_wrong, expected = b.or_(is_wrong, differs), b.mul(expected, n)
        with self._unlikely(b.and_(is_wrong, b.icmp_signed("!=", size, _INT(0)))):
            self._raise_type_error(f"{self._overload.fndesc.qualname}() takes a contiguous array.")

    def _given_record(self, kind: Any, given: Any) -> Any:
        b = self._builder
        is_record = b.icmp_unsigned("==", self._load(given, _TYPE), self._address_of(np.void))
        with self._unlikely(b.not_(is_record)):
            self._raise_type_error(f"{self._overload.fndesc.qualname}() takes a record.")
        return b.inttoptr(self._load(given, _RECORD), self._context.get_value_type(kind))

    def _given_number(self, kind: Any, given: Any) -> Any:
        b, pointer = self._builder, self._builder.inttoptr(given, _BYTE_P)
        if kind == types.float64:
            value = b.call(self._function("PyFloat_AsDouble", _FLOAT, _BYTE_P), [pointer])
            may_have_failed = b.fcmp_ordered("==", value, _FLOAT(-1.0))
        else:
            value = b.call(self._function("PyLong_AsLongLong", _INT, _BYTE_P), [pointer])
            may_have_failed = b.icmp_signed("==", value, _INT(-1))
        with self._unlikely(may_have_failed):
            error = b.call(self._function("PyErr_Occurred", _BYTE_P), [])
            with self._unlikely(b.icmp_unsigned("!=", error, _BYTE_P(None))):
                b.ret(_BYTE_P(None))
        return value if kind == types.float64 else b.trunc(value, self._context.get_value_type(kind))

    def _new_array(self, kind: Any) -> Any:
        """A new array by PyArray_New()."""
        b, int32 = self._builder, ir.IntType(32)
        inputs = [_BYTE_P, int32, _BYTE_P, int32, _BYTE_P, _BYTE_P, int32, int32, _BYTE_P]
        make = b.inttoptr(self._load(self._table, 8 * _NEW_ARRAY), ir.FunctionType(_BYTE_P, inputs).as_pointer())
        dims, null = b.inttoptr(b.add(self._table, _INT(8 * self._place)), _BYTE_P), _BYTE_P(None)
        made = b.call(make, [self._constant(np.ndarray), int32(kind.ndim), dims, int32(_NPY_DOUBLE), null, null,
                             int32(0), int32(0), null])  # fmt: skip
        with self._unlikely(b.icmp_unsigned("==", made, null)):
            self._release(self._results)
            b.ret(null)
        self._results.append(made)
        address = self._address(made)
        shape = [self._from_table() for _ in range(kind.ndim)]
        strides, size = [_INT(8)] * kind.ndim, _INT(1)
        for i in reversed(range(kind.ndim)):
            strides[i] = b.mul(size, _INT(8))
            size = b.mul(size, shape[i])
        return self._array(kind, self._load(address, _DATA), size, shape, strides)

    def _array(self, kind: Any, data: Any, size: Any, shape: list[Any], strides: list[Any]) -> Any:
        """An array as numba's code takes it."""
        b, array = self._builder, cgutils.create_struct_proxy(kind)(self._context, self._builder)
        array.data = b.inttoptr(data, array.data.type)
        itemsize = _INT(self._context.get_abi_sizeof(array.data.type.pointee))
        array.itemsize, array.nitems = itemsize, size
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        array.shape = cgutils.pack_array(b, shape, ty=_INT)
        array.strides = cgutils.pack_array(b, strides, ty=_INT)
        return array._getvalue()

    # ------------------------------------------------------------------ the call

    def _call(self, values: list[Any]) -> None:
        convention = self._context.call_conv
        restype = self._overload.signature.return_type
        code = convention.get_function_type(restype, self._signature)
        target = self._builder.inttoptr(self._load(self._table, 8 * _KERNEL), code.as_pointer())
        _, returned = convention.call_function(self._builder, target, restype, self._signature, values)
        if restype == types.none and not self._results:
            self._return_object(self._constant(None))
        else:
            objects = [] if restype == types.none else [self._object(restype, returned)]
            self._return_all([*objects, *self._results])

    def _object(self, kind: Any, value: Any) -> Any:
        """A bool, an integer or a float as an object."""
        b = self._builder
        if kind == types.boolean:
            is_true = b.icmp_unsigned("!=", value, value.type(0))
            truth = b.select(is_true, self._constant(True), self._constant(False))
            b.call(self._function("Py_IncRef", ir.VoidType(), _BYTE_P), [truth])
            return truth
        if kind == types.float64:
            return b.call(self._function("PyFloat_FromDouble", _BYTE_P, _FLOAT), [value])
        wide = b.sext(value, _INT) if value.type.width < _INT.width else value
        return b.call(self._function("PyLong_FromLongLong", _BYTE_P, _INT), [wide])

    def _return_all(self, objects: list[Any]) -> None:
        """Returns one object, or a tuple of several."""
        b = self._builder
        if len(objects) > 1:
            made = b.call(self._function("PyTuple_New", _BYTE_P, _INT), [_INT(len(objects))])
            with self._unlikely(b.icmp_unsigned("==", made, _BYTE_P(None))):
                self._release(objects)
                b.ret(_BYTE_P(None))
            for i, one in enumerate(objects):
                at = b.add(self._address(made), _INT(_TUPLE_ITEMS + 8 * i))
                b.store(one, b.inttoptr(at, _BYTE_P.as_pointer()))
            objects = [made]
        b.ret(objects[0])

    def _release(self, objects: list[Any]) -> None:
        for one in objects:
            self._builder.call(self._function("Py_DecRef", ir.VoidType(), _BYTE_P), [one])


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
    """Whether objects have what _Writer reads where it reads it."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or object.__basicsize__ != 16:
        return False
    sample = np.zeros((7, 5, 3))[1:, ::2]
    record = np.zeros(2, [("field", np.float64)])[1]
    holder = (sample,)

    def read(address: int, offset: int) -> int:
        return ctypes.c_int64.from_address(address + offset).value

    return (
        read(id(sample), _TYPE) == id(np.ndarray)
        and read(id(holder), _TUPLE_ITEMS) == id(sample)
        and read(id(sample), _DATA) == sample.ctypes.data
        and ctypes.c_int32.from_address(id(sample) + _NDIM).value == 3
        and [read(read(id(sample), _SHAPE), 8 * i) for i in range(3)] == list(sample.shape)
        and [read(read(id(sample), _STRIDES), 8 * i) for i in range(3)] == list(sample.strides)
        and read(id(sample), _DTYPE) == id(_FLOAT64)
        and read(id(record), _RECORD) == record.__array_interface__["data"][0]
    )
