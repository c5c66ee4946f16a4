"""Scalars made together, which know their index in one array of values and one matrix of derivatives.

The scalars of a *block* are numbered in order; no two blocks share a number. So a function that gets an array of
scalars sees by their numbers whether they are those of a block, or a part of it, in order, and then has all values and
derivatives at once. Scalars never change, so nothing can come between. Scalars that were computed one by one, or that
come from different blocks, are taken apart one by one.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from merganser.framework.autodiff.scalar import NO_DERIVATIVES, AutoDiffXd

Array = npt.NDArray[Any]

_new: Callable[[type[AutoDiffXd]], AutoDiffXd] = object.__new__
_value_of = operator.attrgetter("_value")
_derivatives_of = operator.attrgetter("_derivatives")
_number_of = operator.attrgetter("_number")
_counter = itertools.count()
_MANY = 1 << 32  # more than a block has scalars


class _Block:
    """Numbers of scalars that were made together; never written.

    Attributes:
        numbers: of the scalars, consecutive.
        values: shape [n].
        gradient: one row a scalar, shape [n, num_derivatives].
    """

    __slots__ = ("gradient", "numbers", "values")

    def __init__(self, numbers: list[int], values: Array, gradient: Array) -> None:
        self.numbers = numbers
        self.values = values
        self.gradient = gradient


def make_block(values: Array, gradient: Array | None) -> list[AutoDiffXd]:
    """Scalars from their values and derivatives.

    Args:
        values: floats, shape [n]. They must not be written later.
        gradient: one row a scalar, shape [n, num_derivatives], C-contiguous, the same; None means no derivatives.
    """
    scalars: list[AutoDiffXd] = []
    if gradient is None:
        for value in values.tolist():
            scalar = _new(AutoDiffXd)
            scalar._value, scalar._derivatives = value, NO_DERIVATIVES
            scalars.append(scalar)
        return scalars
    first = next(_counter) * _MANY
    numbers = list(range(first, first + len(values)))
    block = _Block(numbers, values, gradient)
    for number, value, row in zip(numbers, values.tolist(), gradient):
        scalar = _new(AutoDiffXd)
        scalar._value, scalar._derivatives, scalar._block, scalar._number = value, row, block, number
        scalars.append(scalar)
    return scalars


def as_variables(values: Array) -> Array:
    """A vector of floats as scalars, each with the derivative 1 by itself, as InitializeAutoDiff() makes."""
    return pack(make_block(values.copy(), _identity(values.size)), values.shape)


@functools.lru_cache(maxsize=32)
def _identity(size: int) -> Array:
    identity = np.eye(size)
    identity.flags.writeable = False
    return identity


def chained(function: Callable[[Array], tuple[Array, Array]], x: list[Any]) -> Array:
    """Values of a function at scalars, by the chain rule, shape [m].

    Args:
        function: from floats, shape [n], to values, shape [m], and their derivatives, shape [m, n].
        x: n AutoDiffXd or numbers.
    """
    values, gradient = values_and_gradient(x)
    y, slopes = function(values)
    return pack(make_block(y, None if gradient is None else slopes @ gradient), y.shape)


def pack(scalars: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """Scalars as an array of objects: numpy would look into every one for a sequence (4 us for 14)."""
    return np.fromiter(scalars, object, len(scalars)).reshape(shape)


def values_and_gradient(items: list[Any]) -> tuple[Array, Array | None]:
    """The values of scalars, shape [n], and their derivatives as rows, shape [n, num_derivatives]; not to be written.

    Args:
        items: AutoDiffXd or plain numbers, which count as constants.

    Returns:
        None for the derivatives if all are zero.

    Raises:
        ValueError: two scalars have different numbers of derivatives, and both some.
        TypeError: an element is not a number.
    """
    found = find_block(items)
    return _one_by_one(items) if found is None else found


def find_block(items: list[Any]) -> tuple[Array, Array] | None:
    """Values and derivatives of scalars that are a block, or a part of one, in order; None for others."""
    first = getattr(items[0], "_number", None) if items else None
    if first is None:
        return None
    try:
        numbers = list(map(_number_of, items))
    except AttributeError:
        return None
    block = items[0]._block
    if numbers == block.numbers:
        return block.values, block.gradient
    start = first - block.numbers[0]
    end = start + len(items)
    if numbers != block.numbers[start:end]:
        return None
    return block.values[start:end], block.gradient[start:end]


def values_of(scalars: Array) -> Array:
    """The values of an array of AutoDiffXd or plain numbers, in its shape.

    Raises:
        TypeError: an element is not a number.
    """
    items = scalars.ravel().tolist()
    try:
        values = np.array(list(map(_value_of, items)), np.float64)
    except AttributeError:  # there are numbers among them
        values = np.array([x._value if type(x) is AutoDiffXd else x for x in items], np.float64)
    return values.reshape(scalars.shape)


def _one_by_one(items: list[Any]) -> tuple[Array, Array | None]:
    try:
        derivatives = list(map(_derivatives_of, items))
    except AttributeError:  # there are numbers among them
        if set(map(type, items)) == {float}:
            return np.array(items), None
        items = [x if type(x) is AutoDiffXd else AutoDiffXd(x) for x in items]
        derivatives = list(map(_derivatives_of, items))
    return np.array(list(map(_value_of, items)), np.float64), gradient_of(derivatives)


def gradient_of(derivatives: list[Array]) -> Array | None:
    """Derivatives of several scalars as the rows of a matrix, with zeros in place of none; None if all have none.

    Raises:
        ValueError: two have different numbers of derivatives, and both some.
    """
    if not any(map(len, derivatives)):
        return None
    sizes = set(map(len, derivatives))
    count = max(sizes)
    if len(sizes) > 1:
        if sizes - {0, count}:
            refuse_counts(min(sizes - {0}), count)
        zeros = np.zeros(count)
        derivatives = [d if len(d) else zeros for d in derivatives]
    return np.concatenate(derivatives).reshape(-1, count)


def refuse_counts(first: int, second: int) -> NoReturn:
    """Raises the error about numbers with derivatives by different variables."""
    raise ValueError(
        f"AutoDiffXd: some numbers have {first} derivatives and others {second}. Differentiate all by the same "
        "variables (InitializeAutoDiffTuple), or make some constants without derivatives."
    )
