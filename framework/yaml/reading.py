"""Reads YAML documents as objects of a schema; without one, as dictionaries, lists, texts and numbers.

The document is read as a graph of nodes of PyYAML's safe loader, so that every error names its line, and the path that
leads there. Schemas are types; the first functions name their parts.
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import itertools
import os
import pathlib
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Union

import numpy as np
import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from merganser.framework.common.errors import nearest_names
from merganser.framework.common.source_location import ParsingError, SourceLocation, decode, located

SCALARS = (str, float, int, bool, bytes, pathlib.Path)
_NULL = "tag:yaml.org,2002:null"
_STANDARD = "tag:yaml.org,2002:"
_MERGE = "<<"
_ROOT = "the document"
_MOST_NUMBERS = 1_000_000  # of one array; aliases could make a short document as large as they like


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


def yaml_load_typed(
    *,
    schema: Any = None,
    data: str | None = None,
    filename: str | os.PathLike[str] | None = None,
    child_name: str | None = None,
    defaults: Any = None,
    allow_yaml_with_no_schema: bool = False,
    allow_schema_with_no_yaml: bool = True,
    retain_map_defaults: bool = True,
) -> Any:
    """Reads a YAML document as an object.

    Args:
        schema: its class, a dataclass or a class with `__fields__`; or `dict[str, X]`; by default that of `defaults`.
        data: the document; or
        filename: its file.
        child_name: reads this entry of the document instead of the whole.
        defaults: an object of which the document replaces parts; it stays as it is.
        allow_yaml_with_no_schema: skip entries that no field has the name of, instead of refusing them.
        allow_schema_with_no_yaml: leave fields without entries at their defaults, instead of refusing.
        retain_map_defaults: add entries to the defaults of dictionaries, instead of replacing these.

    Raises:
        ParsingError: the document does not fit (a RuntimeError); the message starts with file and line.
        RuntimeError: not exactly one of `data` and `filename` is given.
        ValueError: neither schema nor defaults are given.
        TypeError: a type of the schema has no form in YAML.
    """
    if schema is None and defaults is None:
        raise ValueError("yaml_load_typed() takes a schema=, or defaults= to derive it from.")
    if (data is None) == (filename is None):
        raise RuntimeError("yaml_load_typed() takes exactly one of `data` and `filename`.")
    file = "<string>" if filename is None else str(filename)
    reader = _Reader(file, allow_yaml_with_no_schema, allow_schema_with_no_yaml, retain_map_defaults)
    with located(SourceLocation(file)):
        node = reader.compose(_read_file(Path(file)) if data is None else data)
        if child_name is not None:
            node = reader.entry(node, child_name)
        return reader.read(node, type(defaults) if schema is None else schema, _ROOT, defaults, is_root=True)


def _read_file(path: Path) -> str:
    if not path.is_file():
        raise ParsingError(SourceLocation(str(path)), "no such file.")
    return decode(path.read_bytes())


@dataclass
class _Reader:
    """Reads nodes of one document."""

    file: str
    skips_unknown: bool = False
    allows_missing: bool = True
    keeps_map_defaults: bool = True
    _entries: dict[int, dict[str, Node] | None] = dataclasses.field(default_factory=dict)  # by mapping; None at work
    _constructor: yaml.SafeLoader = dataclasses.field(default_factory=lambda: yaml.SafeLoader(""))

    def compose(self, text: str | bytes) -> Node:
        """The document as a node; private entries, which define anchors, are left out."""
        try:
            node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as cause:
            mark = cause.problem_mark or cause.context_mark
            line = 0 if mark is None else mark.line + 1
            raise ParsingError(SourceLocation(self.file, line), f"not well-formed YAML: {cause.problem}.") from None
        except yaml.YAMLError as cause:
            raise ParsingError(SourceLocation(self.file), f"not well-formed YAML: {cause}.") from None
        except RecursionError:
            raise ParsingError(SourceLocation(self.file), "the document is nested too deeply.") from None
        if not isinstance(node, MappingNode):
            what = "nothing" if node is None else _noun(node)
            raise ParsingError(SourceLocation(self.file, 1), f"the document holds {what}, expected a mapping.")
        node.value = [pair for pair in node.value if not str(pair[0].value).startswith("_")]
        return node

    def location(self, node: Node) -> SourceLocation:
        return SourceLocation(self.file, node.start_mark.line + 1)

    def error(self, node: Node, message: str) -> ParsingError:
        return ParsingError(self.location(node), message)

    def entry(self, node: Node, name: str) -> Node:
        entries = self.entries(node, _ROOT)
        if name not in entries:
            raise self.error(node, f"the document has no entry '{name}'. {nearest_names(name, entries)}")
        return entries[name]

    def entries(self, node: Node, where: str) -> dict[str, Node]:
        """The entries of a mapping, merge keys (`<<`) resolved."""
        if isinstance(node, ScalarNode) and not node.value and not node.tag.startswith(_STANDARD):
            return {}  # `!Uniform`, without braces
        if not isinstance(node, MappingNode):
            raise self.error(node, f"{where} is {_noun(node)}, expected a mapping.")
        known = self._entries.get(id(node), {})
        if known is None:
            raise self.error(node, f"{where} merges itself (<<).")
        if known:
            return known
        self._entries[id(node)] = None
        own: dict[str, Node] = {}
        merged: list[Node] = []
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise self.error(key, f"{where} has {_noun(key)} as a key, expected a name.")
            if key.value in own:
                raise self.error(node, f"{where} has the entry '{key.value}' more than once.")
            if key.value == _MERGE:
                merged += value.value if isinstance(value, SequenceNode) else [value]
            else:
                own[key.value] = value
        found: dict[str, Node] = {}
        for other in reversed(merged):  # earlier ones win against later ones, and entries of the mapping itself always
            found.update(self.entries(other, f"what {where} merges (<<)"))
        found.update(own)
        self._entries[id(node)] = found
        return found

    def read(self, node: Node, hint: Any, where: str, default: Any = None, is_root: bool = False) -> Any:
        """The value that a node has as a type."""
        if alternatives_of(hint):
            return self.read_union(node, hint, where, default)
        if getattr(hint, "_is_inlined", False) and not is_root:
            ((name, only),) = fields_of(hint).items()
            return hint(**{name: self.read(node, only, where, getattr(default, name, None))})
        if not node.tag.startswith(_STANDARD) and node.tag != tag_of(hint):
            raise self.error(node, f"{where} has the unknown tag '{node.tag}', expected none.")
        if hint in SCALARS:
            return self.read_scalar(node, hint, where)
        size = size_of_array(hint)
        if size is not None:
            return self.read_array(node, where, size)
        if (item := item_of_list(hint)) is not None:
            if not isinstance(node, SequenceNode):
                raise self.error(node, f"{where} is {_noun(node)}, expected a list.")
            return [self.read(child, item, f"{where}[{i}]") for i, child in enumerate(node.value)]
        if (item := item_of_map(hint)) is not None:
            start = copy.deepcopy(dict(default or {})) if self.keeps_map_defaults else {}
            for name, child in self.entries(node, where).items():
                start[name] = self.read(child, item, _below(where, name), start.get(name))
            return start
        if not is_record(hint):
            raise unsupported(hint, where)
        return self.read_record(node, hint, where, default)

    def read_record(self, node: Node, schema: type, where: str, default: Any) -> Any:
        entries, hints = self.entries(node, where), fields_of(schema)
        unknown = next((name for name in entries if name not in hints), None)
        if unknown is not None and not self.skips_unknown:
            raise self.error(
                entries[unknown], f"{where} has the unknown entry '{unknown}'. {nearest_names(unknown, list(hints))}"
            )
        if not self.allows_missing:
            own = fields_of_ours(schema)
            required = [name for name, hint in hints.items() if not is_optional(hint) and name not in own]
            self._require(node, where, required)
        record = self._begun(node, schema, where, default)
        for name, hint in hints.items():
            if name in entries:
                value = self.read(entries[name], hint, _below(where, name), getattr(record, name, None))
            elif self.allows_missing or not is_optional(hint):
                continue
            else:
                value = None
            with located(self.location(entries.get(name, node))):
                record = _with_field(record, name, value)
        if hasattr(schema, "_location"):
            object.__setattr__(record, "_location", self.location(node))
        return record

    def _begun(self, node: Node, schema: type, where: str, default: Any) -> Any:
        """The object whose fields the entries of a mapping replace."""
        if default is not None:
            return copy.deepcopy(default)
        required, entries, hints = required_fields(schema), self.entries(node, where), fields_of(schema)
        self._require(node, where, required)
        values = {name: self.read(entries[name], hints[name], _below(where, name)) for name in required}
        with located(self.location(node)):
            return schema(**values)

    def _require(self, node: Node, where: str, names: list[str]) -> None:
        entries = self.entries(node, where)
        missing = next((name for name in names if name not in entries), None)
        if missing is not None:
            raise self.error(node, f"{where} has no entry '{missing}'.")

    def read_union(self, node: Node, hint: Any, where: str, default: Any) -> Any:
        choices = [choice for choice in alternatives_of(hint) if choice is not types.NoneType]
        if is_optional(hint) and node.tag == _NULL:
            return None
        chosen = choices[0]
        if isinstance(node, ScalarNode) and node.tag.startswith(_STANDARD):
            chosen = next((choice for choice in choices if choice is self._type_of(node)), chosen)
        elif not node.tag.startswith(_STANDARD):
            by_tag = {tag_of(choice): choice for choice in reversed(choices) if isinstance(choice, type)}
            if node.tag not in by_tag:
                known = ", ".join(reversed(by_tag))
                raise self.error(node, f"{where} has the unknown tag '{node.tag}'; known are {known}.")
            chosen = by_tag[node.tag]
        return self.read(node, chosen, where, default if isinstance(default, class_of(chosen)) else None)

    def _type_of(self, node: ScalarNode) -> type | None:
        """The Python value of a YAML scalar; None if it is not one."""
        try:
            return type(self._constructor.construct_object(node))
        except (ValueError, yaml.YAMLError):
            return None

    def read_array(self, node: Node, where: str, size: int) -> np.ndarray:
        if not isinstance(node, SequenceNode):
            raise self.error(node, f"{where} is {_noun(node)}, expected a list of numbers.")
        rows = self._rows(node, where, itertools.count(1))
        try:
            array = np.array(rows, dtype=np.float64)
        except ValueError:
            raise self.error(node, f"{where} has rows of different lengths.") from None
        if size >= 0 and array.shape != (size,):
            what = f"{array.size} numbers" if array.ndim == 1 else f"numbers of the shape {list(array.shape)}"
            raise self.error(node, f"{where} has {what}, expected {size}.")
        return array

    def _rows(self, node: SequenceNode, where: str, count: Iterator[int]) -> list[Any]:
        """Nested lists of numbers, which are counted."""
        rows = []
        for i, child in enumerate(node.value):
            if isinstance(child, SequenceNode):
                rows.append(self._rows(child, f"{where}[{i}]", count))
                continue
            if next(count) > _MOST_NUMBERS:
                raise self.error(node, f"{where} belongs to an array of more than {_MOST_NUMBERS} numbers.")
            rows.append(self.read_scalar(child, float, f"{where}[{i}]"))
        return rows

    def read_scalar(self, node: Node, hint: Any, where: str) -> Any:
        expected = _EXPECTED[hint]
        if not isinstance(node, ScalarNode) or node.tag == _NULL:
            raise self.error(node, f"{where} is {_noun(node)}, expected {expected}.")
        try:
            return _converted(self._constructor.construct_object(node), node.value, hint)
        except (ValueError, KeyError, yaml.YAMLError):
            raise self.error(node, f"{where} is '{node.value}', expected {expected}.") from None


_EXPECTED = {
    str: "a string",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    bytes: "binary data (!!binary)",
    Path: "a path",
}


def _converted(value: Any, text: str, hint: Any) -> Any:
    """A scalar of a document as a type, if nothing is lost.

    Args:
        value: what YAML takes it for.

    Raises:
        ValueError, KeyError: it is something else.
    """
    if type(value) is hint:
        return value
    if hint in (str, Path):
        return hint(text)
    if hint is bool and type(value) is str:
        return {"true": True, "false": False}[value]
    if hint is float and type(value) in (int, str):
        return float(value)
    if hint is int and (type(value) is str or (type(value) is float and value.is_integer())):
        return int(value)
    raise ValueError(text)


def _with_field(record: Any, name: str, value: Any) -> Any:
    """The object with another value of a field; a new one if it cannot be changed."""
    parameters = getattr(record, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return dataclasses.replace(record, **{name: value})
    if callable(getattr(record, name, None)):  # a value whose fields are methods
        values = {each: getattr(record, each)() for each in fields_of(type(record))}
        return type(record)(**{**values, name: value})
    setattr(record, name, value)
    return record


def _below(where: str, name: str) -> str:
    return name if where == _ROOT else f"{where}.{name}"


def _noun(node: Node) -> str:
    if node.tag == _NULL:
        return "empty"
    if isinstance(node, ScalarNode):
        return f"'{node.value if len(node.value) < 40 else node.value[:40] + '...'}'"
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


# ---------------------------------------------------------------------- without a schema


class _Loader(yaml.SafeLoader):
    """Keeps tags of mappings as the entry `_tag`."""


def _tagged(loader: _Loader, suffix: str, node: Any) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, f"the tag '!{suffix}' is not at a mapping", node.start_mark)
    return {**loader.construct_mapping(node, deep=True), "_tag": f"!{suffix}"}


_Loader.add_multi_constructor("!", _tagged)


def yaml_load_data(data: str | bytes | IO[Any], *, private: bool = False) -> Any:
    """Reads a text, or an open file, as dictionaries, lists, texts and numbers; a tag is the entry `_tag`.

    Args:
        data: the text.
        private: whether entries of the outermost dictionary that begin with an underscore are kept.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    value = yaml.load(data, Loader=_Loader)
    if private or not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if not str(key).startswith("_")}


def yaml_load_file(filename: str | os.PathLike[str], *, private: bool = False) -> Any:
    """Reads a file as `yaml_load_data` reads a text.

    Raises:
        OSError: it cannot be read.
        yaml.YAMLError: it is no YAML.
    """
    return yaml_load_data(decode(Path(filename).read_bytes()), private=private)


def yaml_load(*, data: str | None = None, filename: str | os.PathLike[str] | None = None, private: bool = False) -> Any:
    """Reads a text or a file, of which exactly one is given.

    Raises:
        RuntimeError: both or none are given.
        OSError: the file cannot be read.
        yaml.YAMLError: it is no YAML.
    """
    if data is not None and filename is None:
        return yaml_load_data(data, private=private)
    if data is None and filename is not None:
        return yaml_load_file(filename, private=private)
    raise RuntimeError("yaml_load() takes exactly one of `data` and `filename`.")
