"""The types of a kernel's arguments, from the type hints of its parameters.

    @kernel
    def end_step(topology: Topology, h: float, q_in: Floats, ..., x_next_out: Floats) -> None: ...

    address = hinted_address(end_step)

A kernel that others call by its address is compiled for what its hints say: those of fields of records
(records_of_arrays.py). So what a kernel takes is in its own text, and in that of its caller.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.kernels import kernel_address
from merganser.framework.native.compiler.parallel_compilation import Job
from merganser.framework.native.memory.records_of_arrays import (
    FLOAT,
    INTEGER,
    SAME_VALUE,
    ArrayOf,
    RecordOf,
    hints_of,
    is_record_class,
)
from merganser.framework.native.memory.simd import with_numbers

Floats = Annotated[NDArray[Any], ArrayOf(FLOAT)]  # a vector of the scalar type that a kernel is compiled for
FloatTable = Annotated[NDArray[Any], ArrayOf(FLOAT, 2)]
Poses = Annotated[NDArray[Any], ArrayOf(FLOAT, 3)]  # shape [n, 4, 4]
Integers = Annotated[NDArray[Any], ArrayOf(INTEGER)]
IntegerTable = Annotated[NDArray[Any], ArrayOf(INTEGER, 2)]
Flags = Annotated[NDArray[Any], ArrayOf(np.dtype(np.bool_), 2)]
FloatsInContext = Annotated[Any, ArrayOf(FLOAT, 1, True)]  # an array in Python, for compiled code a Placed

_PLAIN = {int: 0, float: 0.0, bool: False}


def example_of_hint(hint: Any, number: np.dtype[Any] = FLOAT) -> Any:
    """A value of the type that compiled code has for a hint.

    Args:
        hint: of a parameter.
        number: what arrays of floats are of: floats, lanes (simd.py) or complex numbers.

    Raises:
        TypeError: a hint is none of those in records_of_arrays.py.
    """
    if get_origin(hint) is Annotated:
        kind, mark = get_args(hint)
        if not isinstance(mark, ArrayOf | RecordOf):
            return example_of_hint(kind, FLOAT if mark == SAME_VALUE else number)
        dtype = with_numbers(mark.dtype, number)
        return np.zeros((0,) * mark.num_dimensions, dtype) if isinstance(mark, ArrayOf) else np.zeros(1, dtype)[0]
    if is_record_class(hint):
        return hint(*(example_of_hint(hints_of(hint)[name], number) for name in hint._fields))
    if get_origin(hint) is tuple:
        return tuple(example_of_hint(part, number) for part in get_args(hint))
    if hint in _PLAIN:
        return _PLAIN[hint]
    raise TypeError(f"There is no type for {hint}; see records_of_arrays.py.")


@functools.cache
def hinted_arguments(kernel: Any, number: np.dtype[Any] = FLOAT) -> tuple[Any, ...]:
    """Values of the types that a kernel takes, or with other numbers in place of floats.

    Raises:
        TypeError: the hint of a parameter does not say it; names the kernel and the parameter.
    """
    function = kernel.interpreted
    hints, examples = hints_of(function), []
    for name in function.__code__.co_varnames[: function.__code__.co_argcount]:
        try:
            examples.append(example_of_hint(hints[name], number))
        except (KeyError, TypeError) as error:
            raise TypeError(f"{function.__module__}.{function.__name__}(): parameter '{name}': {error}") from None
    return tuple(examples)


def hinted_job(kernel: Any) -> Job:
    """A kernel with values of the types that it takes, for `compile_ahead`."""
    return kernel, hinted_arguments(kernel)


def hinted_address(kernel: Any, number: np.dtype[Any] = FLOAT) -> int:
    """Where the code of a kernel stands; compiled, or taken from the disk, when first asked for."""
    return kernel_address(kernel, *hinted_arguments(kernel, number))
