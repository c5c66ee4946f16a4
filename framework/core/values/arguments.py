"""The arguments of declarations, which come in several forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from merganser.framework.core.values.values import AbstractValue, BasicVector


def continuous_arguments(*args: Any, **kwargs: Any) -> tuple[BasicVector, tuple[int, int, int]]:
    """Model vector and numbers (num_q, num_v, num_z) from the arguments of DeclareContinuousState."""
    names = ("model_vector",) if args and isinstance(args[0], BasicVector) else ()
    if "num_state_variables" in kwargs:
        args = (kwargs.pop("num_state_variables"), *args)
    if "model_vector" in kwargs:
        args = (kwargs.pop("model_vector"), *args)
        names = ("model_vector",)
    if kwargs:
        args = (*args, *(kwargs.pop(key) for key in ("num_q", "num_v", "num_z") if key in kwargs))
    refuse_unknown(kwargs, "DeclareContinuousState")
    if names or (args and isinstance(args[0], BasicVector)):
        model = args[0].Clone()
        sizes = tuple(checked_size(n, "number of variables") for n in args[1:]) or (0, 0, model.size())
    else:
        sizes = tuple(checked_size(n, "number of variables") for n in args)
        if len(sizes) == 1:
            sizes = (0, 0, sizes[0])
        model = BasicVector(np.zeros(max(sum(sizes), 0)))
    if len(sizes) != 3:
        raise TypeError("DeclareContinuousState takes (n), (num_q, num_v, num_z) or a model vector before these.")
    return model, (sizes[0], sizes[1], sizes[2])


def as_model_vector(model: Any) -> BasicVector:
    """A model vector from itself, from a size (zeros) or from default values."""
    if isinstance(model, BasicVector):
        return model.Clone()
    if isinstance(model, (int, np.integer)):
        return BasicVector(np.zeros(checked_size(model, "number of elements")))
    if np.ndim(model) == 0:
        raise TypeError(f"expected a size, a BasicVector or default values, got {model!r}.")
    return BasicVector(model)


def checked_size(value: Any, what: object, at_least: int = 0) -> int:
    """An integer that counts something.

    Raises:
        TypeError: `value` is no integer.
        ValueError: `value` is less than `at_least`.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{what}: expected an integer, got {value!r}.")
    if value < at_least:
        raise ValueError(f"{what}: expected at least {at_least}, got {value}.")
    return int(value)


def checked_number(value: Any, what: object) -> float:
    """A number as a float, be it nan.

    Raises:
        TypeError: `value` is not a number; a string is not one either.
    """
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except TypeError:
        pass
    raise TypeError(f"{what}: expected a number, got {value!r}.")


def checked_index(index: Any, count: int, where: object, what: str) -> int:
    """The position of something in a list of `count`, which `where` has.

    Raises:
        TypeError: `index` is no integer.
        IndexError: there is nothing at this place; places are not counted from the end.
    """
    if not isinstance(index, (int, np.integer)):
        raise TypeError(f"{where}: the index of {what} must be an integer, got {index!r}.")
    if not 0 <= index < count:
        raise IndexError(f"{where} has no {what} {index}: there are {count}.")
    return int(index)


def checked_units(units: Any, where: object) -> str:
    """The units, if they are text.

    Raises:
        TypeError: they are not; the message begins with `where`.
    """
    if not isinstance(units, str):
        raise TypeError(f"{where}: units are text such as 'rad/s', got {units!r}.")
    return units


def checked_model_value(value: Any, where: object) -> AbstractValue:
    """A copy of a model value; `where` says what it is for.

    Raises:
        TypeError: it is no AbstractValue.
    """
    if not isinstance(value, AbstractValue):
        raise TypeError(f"{where}: model_value must be a Value, got {type(value).__name__}; write Value(...).")
    return value.Clone()


def require_types(caller: object, **given: tuple[Any, type]) -> None:
    """Does nothing if arguments are of their types.

    Args:
        caller: who takes them.
        given: value and type of each, by name.

    Raises:
        TypeError: one is of another type.
    """
    for name, (value, kind) in given.items():
        if not isinstance(value, kind):
            raise TypeError(f"{caller}: {name} must be of type {kind.__name__}; given {value!r}.")


def one_of(first: Any, second: Any, function: object, names: str) -> Any:
    """The one of two arguments that was given."""
    if (first is None) == (second is None):
        raise TypeError(f"{function} takes either {names}.")
    return second if first is None else first


def bind_overload(
    function: str, names: Sequence[str], defaults: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of one form of a function that has several, by name and in the order of `names`.

    Args:
        function: its name, for messages.
        names: the parameters of this form.
        defaults: values of those that may be left out.
        args, kwargs: what the function was called with.

    Raises:
        TypeError: an argument is missing, given twice, unknown, or one too many.
    """
    form = f"{function}({', '.join(names)})"
    if len(args) > len(names):
        raise TypeError(f"{form} takes at most {len(names)} arguments, got {len(args)}.")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{form} got an unexpected argument '{name}'.")
        if name in given:
            raise TypeError(f"{form} got two values for argument '{name}'.")
        given[name] = value
    missing = [name for name in names if name not in given and name not in defaults]
    if missing:
        raise TypeError(f"{form} is missing argument '{missing[0]}'.")
    return {name: given.get(name, defaults.get(name)) for name in names}


def refuse_unknown(kwargs: dict[str, Any], function: str) -> None:
    """Raises a TypeError if any keyword argument is left."""
    if kwargs:
        raise TypeError(f"{function} got an unexpected argument '{next(iter(kwargs))}'.")
