"""Records of settings: dataclasses that compare by their values and may be changed."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from typing import Any, TypeVar

import numpy as np

from merganser.framework.common.errors import nearest_names

_Record = TypeVar("_Record")


def settings(cls: type[_Record]) -> type[_Record]:
    """Completes a dataclass of settings.

    What is no field cannot be assigned, so that mistyped names do not go unnoticed; the constructor leaves it out with
    a warning, as Drake's takes any name. Arrays of integers become floats in fields of float64, so that what a program
    writes into them later is not cut off. Fields are found at the class, too, also where they have no plain default. If
    records compare by their values, they have a hash all the same, so that they may be defaults of other dataclasses'
    fields: one for all of a type, as values may change.
    """
    record: Any = cls
    for field in dataclasses.fields(record):
        if not hasattr(record, field.name):
            setattr(record, field.name, _Field(field.name))
    record._float_arrays = frozenset(field.name for field in dataclasses.fields(record) if "float64" in str(field.type))
    if "__init__" in vars(record):
        record.__init__ = _leaving_out_unknown(record)
    if record.__hash__ is None:
        record.__hash__ = _hash_of_type
    if record.__setattr__ is object.__setattr__ and "__slots__" not in vars(record):
        record.__setattr__ = set_known
    return cls


def _leaving_out_unknown(record: Any) -> Any:
    """The constructor of a class of settings, which warns of names that are no fields."""
    make = record.__init__
    names = set(inspect.signature(make).parameters) - {"self"}

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        unknown = kwargs.keys() - names
        if unknown:
            for name in sorted(unknown):
                text = f"{record.__name__} has no setting '{name}', which is left out. {nearest_names(name, names)}"
                warnings.warn(text, UserWarning, stacklevel=2)
            kwargs = {name: value for name, value in kwargs.items() if name in names}
        make(self, *args, **kwargs)

    return __init__


def copyable(cls: type[_Record]) -> type[_Record]:
    """Lets records of a dataclass be made of others: `Gaussian(other)`, `Gaussian(other=gaussian)`."""
    record: Any = cls
    make = record.__init__
    names = [field.name for field in dataclasses.fields(record)]

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, other: Any = None, **kwargs: Any) -> None:
        if other is None and len(args) == 1 and isinstance(args[0], cls) and not kwargs:
            (other,) = args
        if other is None:
            make(self, *args, **kwargs)
        elif kwargs or args not in ((), (other,)):
            raise TypeError(f"{cls.__name__}() takes another {cls.__name__}, or {', '.join(names)}.")
        else:
            make(self, **{name: getattr(other, name) for name in names})

    signature = inspect.signature(make)
    first, *rest = signature.parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    parameter = inspect.Parameter("other", kind, default=None)
    if not rest or rest[0].kind is kind:
        rest.insert(0, parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD))
    else:
        rest.append(parameter)
    made: Any = __init__
    del made.__wrapped__  # what inspects it is to see `other`
    made.__signature__ = signature.replace(parameters=[first, *rest])
    record.__init__ = made
    return cls


class _Field:
    """A field without a plain default, at its class; a record's own values come first."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: Any, owner: Any = None) -> Any:
        if record is None:
            return self
        raise AttributeError(f"{type(record).__name__} has no value of '{self._name}' yet.")

    def __repr__(self) -> str:
        return f"<field '{self._name}'>"


def _hash_of_type(record: object) -> int:
    return hash(type(record))


def set_known(record: Any, name: str, value: Any) -> None:
    """Sets an attribute of a record; an AttributeError says that it has none of this name."""
    if name not in record.__dict__ and name[:1] != "_" and not hasattr(type(record), name):
        names = [field.name for field in dataclasses.fields(record)]
        raise AttributeError(f"{type(record).__name__} has no attribute '{name}'. {nearest_names(name, names)}")
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub" and name in getattr(record, "_float_arrays", ()):
        value = value.astype(np.float64)
    object.__setattr__(record, name, value)
