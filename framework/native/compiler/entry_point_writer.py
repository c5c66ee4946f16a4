"""The instructions of entry points (entry_points.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from merganser.framework.native.compiler.entry_points import (
    BOUND,
    CHECKED,
    DATA,
    DTYPE,
    FIRST_OBJECT,
    FLOAT64,
    GIVEN,
    KERNEL,
    NDIM,
    NEW_ARRAY,
    OBJECTS,
    RECORD,
    RESULT,
    SHAPE,
    STRIDES,
    TUPLE_ITEMS,
    TYPE,
)
from merganser.framework.native.compiler.numba_front import finished, types_of
from merganser.framework.native.compiler.numba_inside import (
    call_at,
    cgutils,
    cpu_target,
    ended_message,
    global_compiler_lock,
    signature,
)

_INT, _BYTE_P, _FLOAT = ir.IntType(64), ir.IntType(8).as_pointer(), ir.DoubleType()
_NPY_DOUBLE = 12


def write_entry_point(
    symbol: str, name: str, examples: tuple[Any, ...], result: str, kinds: tuple[int, ...], releases_lock: bool
) -> Any:
    """Writes an entry point.

    Args:
        symbol: its name in the library.
        name: the kernel's name, for messages.
        examples: values of the types of all arguments.
        result: what the kernel returns, see MachineCode.
        kinds: what each argument is.
        releases_lock: whether to release Python's lock around the call.

    Returns:
        Its code, and what to keep.
    """
    context = cpu_target.target_context
    library = context.codegen().create_library(symbol)
    module = library.create_ir_module(symbol)
    function = ir.Function(module, ir.FunctionType(_BYTE_P, [_BYTE_P, _BYTE_P, _INT]), symbol)
    returned = types.boolean if result == "bool" else getattr(types, result)
    _Writer(name, signature(returned, *types_of(examples)), kinds, releases_lock, context, function).write()
    with global_compiler_lock:
        library.add_ir_module(module)
    return finished(library, symbol, "")


class _Writer:
    """Writes the instructions of one entry point, `PyObject *(PyObject *self, PyObject **given, Py_ssize_t count)`.

    `self` is a tuple of the table, an array of int64, and of what must stay alive. The table begins with the addresses
    of the kernel, of PyArray_New() and of OBJECTS. Then it has for each argument: of
    a bound array the address, size, shape and strides; of a bound record the address; of a bound number its bits; of a
    bound tuple all this of its elements; of a checked array shape and strides; of a result its shape.
    """

    def __init__(
        self, name: str, signature: Any, kinds: tuple[int, ...], releases_lock: bool, context: Any, function: Any
    ) -> None:
        self._name, self._signature, self._restype = name, signature.args, signature.return_type
        self._kinds, self._releases_lock = kinds, releases_lock
        self._context, self._module = context, function.module
        self._self, self._given, self._num_given = function.args
        self._builder = ir.IRBuilder(function.append_basic_block())
        self._next_given = 0
        self._place = FIRST_OBJECT + len(OBJECTS)  # in the table
        self._results: list[Any] = []

    def write(self) -> None:
        """Writes all of it."""
        table = self._load(self._address(self._self), TUPLE_ITEMS)
        self._table = self._load(table, DATA)
        number = self._kinds.count(GIVEN) + self._kinds.count(CHECKED)
        with self._unlikely(self._builder.icmp_signed("!=", self._num_given, _INT(number))):
            self._raise_type_error(f"{self._name}() takes {number} arguments.")
        values: list[Any] = []
        for kind, source in zip(self._signature, self._kinds, strict=True):
            if source == RESULT:  # made when the others are known to be right
                values.append(self._place)
                self._place += kind.ndim
            else:
                values.append(self._argument(kind, source))
        for i in (i for i, source in enumerate(self._kinds) if source == RESULT):
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
        self._raise(TypeError, message)

    def _raise(self, kind: type[Exception], message: str) -> None:
        set_error = self._function("PyErr_SetString", ir.VoidType(), _BYTE_P, _BYTE_P)
        text = self._context.insert_const_string(self._module, message)
        self._builder.call(set_error, [self._constant(kind), text])
        self._builder.ret(_BYTE_P(None))

    def _return_object(self, value: Any) -> None:
        """Returns True, False or None, by its address."""
        self._builder.call(self._function("Py_IncRef", ir.VoidType(), _BYTE_P), [value])
        self._builder.ret(value)

    def _constant(self, value: Any) -> Any:
        return self._builder.inttoptr(self._address_of(value), _BYTE_P)

    def _address_of(self, value: Any) -> Any:
        """The address of one of OBJECTS."""
        place = next(i for i, each in enumerate(OBJECTS) if each is value)
        return self._load(self._table, 8 * (FIRST_OBJECT + place))

    # ------------------------------------------------------------------ arguments

    def _argument(self, kind: Any, source: int) -> Any:
        if source == BOUND:
            return self._bound(kind)
        at = self._builder.add(self._address(self._given), _INT(8 * self._next_given))
        self._next_given += 1
        return self._given_value(kind, self._load(at, 0), source == CHECKED)

    def _given_value(self, kind: Any, given: Any, is_checked: bool) -> Any:
        if isinstance(kind, types.BaseTuple):
            return self._given_tuple(kind, given)
        if isinstance(kind, types.Array):
            return self._given_array(kind, given, is_checked)
        return self._given_record(kind, given) if isinstance(kind, types.Record) else self._given_number(kind, given)

    def _given_tuple(self, kind: Any, given: Any) -> Any:
        b, elements = self._builder, tuple(kind)
        pointer = b.inttoptr(given, _BYTE_P)
        size = b.call(self._function("PyTuple_Size", _INT, _BYTE_P), [pointer])  # -1 if it is no tuple
        with self._unlikely(b.icmp_signed("!=", size, _INT(len(elements)))):
            self._raise_type_error(f"{self._name}() takes a tuple of {len(elements)}.")
        items = [self._load(given, TUPLE_ITEMS + 8 * i) for i in range(len(elements))]
        values = [self._given_value(each, item, False) for each, item in zip(elements, items, strict=True)]
        return self._context.make_tuple(b, kind, values)

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
        is_array = b.icmp_unsigned("==", self._load(given, TYPE), self._address_of(np.ndarray))
        ndim = self._load(given, NDIM, ir.IntType(32))
        is_right = b.and_(is_array, b.icmp_unsigned("==", ndim, ir.IntType(32)(kind.ndim)))
        if is_checked:
            is_right = b.and_(is_right, b.icmp_unsigned("==", self._load(given, DTYPE), self._address_of(FLOAT64)))
        with self._unlikely(b.not_(is_right)):
            if is_checked:
                self._return_object(self._constant(None))
            else:
                self._raise_type_error(f"{self._name}() takes an array of {kind.ndim} dimensions.")
        shapes, strides = self._load(given, SHAPE), self._load(given, STRIDES)
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
        return self._array(kind, self._load(given, DATA), size, shape, steps)

    def _check_contiguity(self, kind: Any, size: Any, shape: list[Any], steps: list[Any]) -> None:
        """Refuses other strides than those of the type, with which the kernel would go astray."""
        b = self._builder
        itemsize = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        expected, is_wrong = _INT(itemsize), ir.IntType(1)(0)
        for n, step in zip(reversed(shape), reversed(steps)):
            differs = b.and_(b.icmp_signed(">", n, _INT(1)), b.icmp_signed("!=", step, expected))
            is_wrong, expected = b.or_(is_wrong, differs), b.mul(expected, n)
        with self._unlikely(b.and_(is_wrong, b.icmp_signed("!=", size, _INT(0)))):
            self._raise_type_error(f"{self._name}() takes a contiguous array.")

    def _given_record(self, kind: Any, given: Any) -> Any:
        b = self._builder
        is_record = b.icmp_unsigned("==", self._load(given, TYPE), self._address_of(np.void))
        with self._unlikely(b.not_(is_record)):
            self._raise_type_error(f"{self._name}() takes a record.")
        return b.inttoptr(self._load(given, RECORD), self._context.get_value_type(kind))

    def _given_number(self, kind: Any, given: Any) -> Any:
        b, pointer = self._builder, self._builder.inttoptr(given, _BYTE_P)
        imaginary = None
        if kind == types.complex128:
            imaginary = b.call(self._function("PyComplex_ImagAsDouble", _FLOAT, _BYTE_P), [pointer])
        if imaginary is not None or kind == types.float64:
            name = "PyFloat_AsDouble" if imaginary is None else "PyComplex_RealAsDouble"
            value = b.call(self._function(name, _FLOAT, _BYTE_P), [pointer])
            may_have_failed = b.fcmp_ordered("==", value, _FLOAT(-1.0))
        elif kind == types.boolean:  # numpy's are no integers
            value = b.sext(b.call(self._function("PyObject_IsTrue", ir.IntType(32), _BYTE_P), [pointer]), _INT)
            may_have_failed = b.icmp_signed("==", value, _INT(-1))
        else:
            value = b.call(self._function("PyLong_AsLongLong", _INT, _BYTE_P), [pointer])
            may_have_failed = b.icmp_signed("==", value, _INT(-1))
        with self._unlikely(may_have_failed):
            error = b.call(self._function("PyErr_Occurred", _BYTE_P), [])
            with self._unlikely(b.icmp_unsigned("!=", error, _BYTE_P(None))):
                b.ret(_BYTE_P(None))
        if imaginary is not None:
            number = self._context.make_complex(b, kind)
            number.real, number.imag = value, imaginary
            return number._getvalue()
        return value if kind == types.float64 else b.trunc(value, self._context.get_value_type(kind))

    def _new_array(self, kind: Any) -> Any:
        """A new array by PyArray_New()."""
        b, int32 = self._builder, ir.IntType(32)
        inputs = [_BYTE_P, int32, _BYTE_P, int32, _BYTE_P, _BYTE_P, int32, int32, _BYTE_P]
        make = b.inttoptr(self._load(self._table, 8 * NEW_ARRAY), ir.FunctionType(_BYTE_P, inputs).as_pointer())
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
        return self._array(kind, self._load(address, DATA), size, shape, strides)

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
        restype, target = self._restype, self._load(self._table, 8 * KERNEL)
        lock = self._function("PyEval_SaveThread", _BYTE_P)
        thread = self._builder.call(lock, []) if self._releases_lock else None
        is_outside, returned = call_at(self._context, self._builder, target, restype, self._signature, values)
        if thread is not None:
            self._builder.call(self._function("PyEval_RestoreThread", ir.VoidType(), _BYTE_P), [thread])
        with self._unlikely(is_outside):
            self._release(self._results)
            self._raise(IndexError, ended_message(self._name))
        if restype == types.none and not self._results:
            self._return_object(self._constant(None))
        else:
            objects = [] if restype == types.none else [self._object(restype, returned)]
            self._return_all([*objects, *self._results])

    def _object(self, kind: Any, value: Any) -> Any:
        """A bool, an integer, a float or a complex number as an object."""
        b = self._builder
        if kind == types.complex128:
            number = self._context.make_complex(b, kind, value)
            make = self._function("PyComplex_FromDoubles", _BYTE_P, _FLOAT, _FLOAT)
            return b.call(make, [number.real, number.imag])
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
                at = b.add(self._address(made), _INT(TUPLE_ITEMS + 8 * i))
                b.store(one, b.inttoptr(at, _BYTE_P.as_pointer()))
            objects = [made]
        b.ret(objects[0])

    def _release(self, objects: list[Any]) -> None:
        for one in objects:
            self._builder.call(self._function("Py_DecRef", ir.VoidType(), _BYTE_P), [one])
