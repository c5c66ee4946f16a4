"""Types as schemas of YAML documents."""

from __future__ import annotations

import collections.abc
import dataclasses
import pathlib
import types
import typing
from typing import Annotated, Any, Union

import numpy as np

SCALARS = (str, float, int, bool, bytes, pathlib.Path)


def _resolved(hint: Any) -> Any:
    """The type behind an alias (`type X = ...`, numpy.typing.NDArray from numpy 2.5 on); other types as they are."""
    alias = typing.get_origin(hint) or hint
    if type(alias).__name__ != "TypeAliasType":  # which Python has from 3.12 on
        return hint
    arguments = typing.get_args(hint)
    return _resolved(alias.__value__[arguments] if arguments else alias.__value__)


def alternatives_of(hint: Any) -> tuple[Any, ...]:
    """The types of a union, None among them as NoneType; empty for any other type."""
    return tuple(map(_resolved, typing.get_args(hint))) if typing.get_origin(hint) in (Union, types.UnionType) else ()


def is_optional(hint: Any) -> bool:
    """Whether None is among the values of a type."""
    return types.NoneType in alternatives_of(hint)


def item_of_list(hint: Any) -> Any:
    """The X of `list[X]`; None for any other type."""
    return _resolved(typing.get_args(hint)[0]) if typing.get_origin(hint) is list else None


def item_of_map(hint: Any) -> Any:
    """The X of `dict[str, X]`, or of `Mapping[str, X]`; None for any other type.

    Raises:
        TypeError: the keys are no texts.
    """
    if typing.get_origin(hint) not in (dict, collections.abc.Mapping):
        return None
    key, item = typing.get_args(hint)
    if key is not str:
        raise TypeError(f"A YAML schema has texts as keys of dictionaries, not {key}.")
    return _resolved(item)


def size_of_array(hint: Any) -> int | None:
    """How many numbers a vector has, -1 for an array of any shape; None for a type that is not an array."""
    if typing.get_origin(hint) is Annotated:
        array, *notes = typing.get_args(hint)
        size = next((note for note in notes if isinstance(note, int)), -1)
        return None if size_of_array(_resolved(array)) is None else size
    return -1 if hint is np.ndarray or typing.get_origin(hint) is np.ndarray else None


def is_record(hint: Any) -> bool:
    """Whether a type is a class with fields: a dataclass, or one that lists them in `__fields__`."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "__fields__"))


def fields_of(schema: type) -> dict[str, Any]:
    """The types of the fields of a record, by name."""
    if not dataclasses.is_dataclass(schema):
        return {field.name: _resolved(field.type) for field in schema.__fields__}  # type: ignore[attr-defined]
    found = {field.name: field.type for field in dataclasses.fields(schema)}
    if any(isinstance(hint, str) for hint in found.values()):  # from __future__ import annotations
        hints = typing.get_type_hints(schema, include_extras=True)
        found = {name: hints[name] for name in found}
    return {name: _resolved(hint) for name, hint in found.items()}


def required_fields(schema: type) -> list[str]:
    """The fields of a dataclass that have no default."""
    nothing = dataclasses.MISSING
    return [
        field.name
        for field in (dataclasses.fields(schema) if dataclasses.is_dataclass(schema) else ())
        if field.init and field.default is nothing and field.default_factory is nothing
    ]


def fields_of_ours(schema: type) -> dict[str, Any]:
    """The defaults of fields that pydrake's class of the same name does not have, by name."""
    fields = dataclasses.fields(schema) if dataclasses.is_dataclass(schema) else ()
    return {field.name: field.default for field in fields if field.metadata.get("only_here")}


def class_of(hint: Any) -> Any:
    """The class of the values of a type, for isinstance()."""
    if typing.get_origin(hint) is Annotated:
        hint = _resolved(typing.get_args(hint)[0])
    return typing.get_origin(hint) or hint


def tag_of(hint: Any) -> str:
    """The tag by which a document selects a class among several; sizes and scalar types are no part of it."""
    return "!" + getattr(hint, "__name__", str(hint)).split("[", 1)[0]


def unsupported(hint: Any, where: str) -> TypeError:
    """The error for a type that has no form in YAML."""
    return TypeError(
        f"{where}: the type {hint} has no form in YAML. There are str, float, int, bool, bytes, Path, numpy.ndarray, "
        "list[X], dict[str, X], X | Y, X | None, and dataclasses."
    )
