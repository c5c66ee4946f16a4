"""YAML documents as dataclasses, and dataclasses as YAML documents.

The schema is made of the types of the fields: dataclasses, `X | None`, `list[X]`, `dict[str, X]`, arrays of numbers
(`Annotated[array, n]` for a fixed number n), Rgba, str, int, float, bool, and unions of dataclasses, of which the tag
in the file (`!Rpy {...}`) selects one by its name, none the first. The document is read as a graph of nodes of PyYAML's
safe loader, so that every error names its line.
"""

from __future__ import annotations

__all__ = ["yaml_dump_typed", "yaml_load_typed"]

import dataclasses
import math
import os
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

import numpy as np
import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from merganser.framework.core.errors import nearest_names
from merganser.geometry import Rgba
from merganser.multibody.parsing.encoding import decode
from merganser.multibody.parsing.errors import ParsingError, SourceLocation, located

_STRING, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
_MERGE = "<<"
_STANDARD = "tag:yaml.org,2002:"
_ROOT = "the document"


def yaml_load_typed(
    *,
    schema: Any = None,
    data: str | None = None,
    filename: str | os.PathLike | None = None,
    child_name: str | None = None,
    defaults: Any = None,
    allow_yaml_with_no_schema: bool = False,
    allow_schema_with_no_yaml: bool = True,
    retain_map_defaults: bool = True,
) -> Any:
    """Reads a YAML document into a dataclass.

    Args:
        schema: the dataclass, or `dict[str, X]`; by default the type of `defaults`.
        data: the document; or
        filename: its file.
        child_name: reads this entry of the document instead of the whole.
        defaults: an object of which the document replaces parts; it stays as it is.
        allow_yaml_with_no_schema: skip entries that no field has the name of, instead of refusing them.
        allow_schema_with_no_yaml: leave fields without entries at their defaults, instead of refusing.
        retain_map_defaults: add entries to the defaults of dictionaries, instead of replacing these.

    Raises:
        ParsingError: the document does not fit (a RuntimeError); the message starts with file and line.
        TypeError: not exactly one of `data` and `filename` is given, or neither schema nor defaults.
    """
    if (data is None) == (filename is None):
        raise TypeError("yaml_load_typed() takes either data= or filename=.")
    if schema is None and defaults is None:
        raise TypeError("yaml_load_typed() takes a schema=, or defaults= from which to tell it.")
    file = "<string>" if filename is None else str(filename)
    text = data if data is not None else _read_text(Path(file))
    reader = _Reader(file, allow_yaml_with_no_schema, allow_schema_with_no_yaml, retain_map_defaults)
    with located(SourceLocation(file)):
        node = reader.compose(text)
        if child_name is not None:
            node = reader.entry(node, child_name)
        return reader.read_root(node, type(defaults) if schema is None else schema, defaults)


def yaml_dump_typed(
    data: Any,
    *,
    filename: str | os.PathLike | None = None,
    schema: Any = None,
    child_name: str | None = None,
    defaults: Any = None,
) -> str | None:
    """Writes a dataclass as a YAML document, which yaml_load_typed() reads. Fields that are None are left out.

    Args:
        data: the object.
        filename: where to write it; by default the document is returned.
        schema: the type as which it is written, by default its own.
        child_name: puts the object below an entry of this name.
        defaults: an object; fields that are the same there are left out.
    """
    node = _node_of(data, type(data) if schema is None else schema, defaults, is_root=True)
    if child_name is not None:
        node = MappingNode(f"{_STANDARD}map", [(ScalarNode(_STRING, child_name), node)])
    text: str = yaml.serialize(node, Dumper=yaml.SafeDumper, width=1000)
    if filename is None:
        return text
    Path(filename).write_text(text, encoding="utf-8")
    return None


def _read_text(path: Path) -> str:
    location = SourceLocation(str(path))
    with located(location):
        if not path.is_file():
            raise ParsingError(location, "no such file.")
        return decode(path.read_bytes())


# ---------------------------------------------------------------------- reading


@dataclass
class _Reader:
    """Reads nodes of one document."""

    file: str
    skips_unknown: bool = False
    allows_missing: bool = True
    keeps_map_defaults: bool = True
    _entries: dict[int, dict[str, Node] | None] = dataclasses.field(default_factory=dict)  # by mapping; None at work

    def compose(self, text: str) -> Node:
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

    def read_root(self, node: Node, schema: Any, defaults: Any) -> Any:
        if isinstance(schema, type) and dataclasses.is_dataclass(schema):
            return self.read_record(node, schema, _ROOT, defaults)
        return self.read(node, schema, _ROOT, defaults)

    def read(self, node: Node, hint: Any, where: str, default: Any = None) -> Any:
        """The value that a node has as a type."""
        origin = typing.get_origin(hint)
        if origin is Annotated:
            return self.read_vector(node, where, typing.get_args(hint)[1])
        if origin in (Union, types.UnionType):
            return self.read_union(node, typing.get_args(hint), where, default)
        if origin is list:
            if not isinstance(node, SequenceNode):
                raise self.error(node, f"{where} is {_noun(node)}, expected a list.")
            (item,) = typing.get_args(hint)
            return [self.read(child, item, f"{where}[{i}]") for i, child in enumerate(node.value)]
        if origin is dict:
            start = dict(default or {}) if self.keeps_map_defaults else {}
            item = typing.get_args(hint)[1]
            read = {
                name: self.read(child, item, _below(where, name), start.get(name))
                for name, child in self.entries(node, where).items()
            }
            return {**start, **read}
        if origin is np.ndarray:
            return self.read_vector(node, where, None)
        if hint is Rgba:
            return self.read_color(node, where)
        if dataclasses.is_dataclass(hint):
            assert isinstance(hint, type)
            if getattr(hint, "_is_inlined", False):
                (only,) = dataclasses.fields(hint)
                return hint(**{only.name: self.read(node, typing.get_type_hints(hint)[only.name], where)})
            return self.read_record(node, hint, where, default)
        return self.read_scalar(node, hint, where)

    def read_record(self, node: Node, schema: type, where: str, default: Any = None) -> Any:
        entries = self.entries(node, where)
        hints = typing.get_type_hints(schema, include_extras=True)
        names = [f.name for f in dataclasses.fields(schema) if f.init or f.name in hints]
        unknown = next((name for name in entries if name not in names), None)
        if unknown is not None and not self.skips_unknown:
            raise self.error(
                entries[unknown], f"{where} has the unknown entry '{unknown}'. {nearest_names(unknown, names)}"
            )
        missing = next((name for name in names if name not in entries), None)
        if missing is not None and not self.allows_missing:
            raise self.error(node, f"{where} has no entry '{missing}'.")
        record: Any = schema() if default is None else default
        values = {
            name: self.read(entries[name], hints[name], _below(where, name), getattr(record, name))
            if name in entries
            else getattr(record, name)
            for name in names
        }
        result: Any = schema(**values)
        if hasattr(schema, "_location"):
            object.__setattr__(result, "_location", self.location(node))
        return result

    def read_union(self, node: Node, hints: tuple[Any, ...], where: str, default: Any) -> Any:
        choices = [hint for hint in hints if hint is not types.NoneType]
        if types.NoneType in hints and node.tag == _NULL:
            return None
        chosen = choices[0]
        if len(choices) > 1 and not node.tag.startswith(_STANDARD):
            by_name = {f"!{choice.__name__}": choice for choice in choices if isinstance(choice, type)}
            if node.tag not in by_name:
                raise self.error(node, f"{where} has the unknown tag '{node.tag}'; known are {', '.join(by_name)}.")
            chosen = by_name[node.tag]
        return self.read(node, chosen, where, default if isinstance(default, _plain(chosen)) else None)

    def read_vector(self, node: Node, where: str, size: int | None) -> np.ndarray:
        if not isinstance(node, SequenceNode):
            raise self.error(node, f"{where} is {_noun(node)}, expected a list of numbers.")
        numbers = [self.read_scalar(child, float, f"{where}[{i}]") for i, child in enumerate(node.value)]
        if size is not None and len(numbers) != size:
            raise self.error(node, f"{where} has {len(numbers)} numbers, expected {size}.")
        return np.array(numbers, dtype=np.float64)

    def read_color(self, node: Node, where: str) -> Rgba:
        """A mapping whose one entry `rgba` has three or four numbers."""
        entries = self.entries(node, where)
        if set(entries) != {"rgba"}:
            raise self.error(node, f"{where} is a color, and must have the one entry 'rgba'.")
        color, numbers = Rgba(), self.read_vector(entries["rgba"], _below(where, "rgba"), None)
        try:
            color.set(numbers)
        except RuntimeError as cause:
            raise self.error(entries["rgba"], f"{where} is no color. {cause}") from None
        return color

    def read_scalar(self, node: Node, hint: Any, where: str) -> Any:
        expected = {str: "a string", float: "a number", int: "a whole number", bool: "true or false"}[hint]
        if not isinstance(node, ScalarNode) or node.tag == _NULL:
            raise self.error(node, f"{where} is {_noun(node)}, expected {expected}.")
        try:
            return _convert(node.value, hint)
        except (ValueError, KeyError):
            raise self.error(node, f"{where} is '{node.value}', expected {expected}.") from None


def _convert(text: str, hint: Any) -> Any:
    if hint is float:
        special = {".inf": math.inf, "-.inf": -math.inf, "+.inf": math.inf, ".nan": math.nan}
        return special[text.lower()] if text.lower() in special else float(text)
    if hint is bool:
        return yaml.SafeLoader.bool_values[text.lower()]
    return hint(text)


def _plain(hint: Any) -> Any:
    """The class of the values of a type, for isinstance()."""
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return typing.get_origin(hint) or hint


def _below(where: str, name: str) -> str:
    return name if where == _ROOT else f"{where}.{name}"


def _noun(node: Node) -> str:
    if node.tag == _NULL:
        return "empty"
    if isinstance(node, ScalarNode):
        return f"'{node.value if len(node.value) < 40 else node.value[:40] + '...'}'"
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


# ---------------------------------------------------------------------- writing


def _node_of(value: Any, hint: Any, default: Any = None, is_root: bool = False) -> Node:
    """The node that reads as a value."""
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return _node_of_choice(value, typing.get_args(hint), default)
    if isinstance(value, Rgba):
        value = {"rgba": value.rgba}
    if isinstance(value, np.ndarray):
        return SequenceNode(f"{_STANDARD}seq", [_scalar(float(x)) for x in value], flow_style=True)
    if isinstance(value, (list, tuple)):
        item = (typing.get_args(hint) or (None,))[0]
        nodes = [_node_of(x, item) for x in value]
        return SequenceNode(f"{_STANDARD}seq", nodes, flow_style=all(isinstance(node, ScalarNode) for node in nodes))
    if isinstance(value, dict):
        item = (*typing.get_args(hint), None, None)[1]
        pairs = [(_scalar(str(name)), _node_of(x, item)) for name, x in value.items()]
        return MappingNode(f"{_STANDARD}map", pairs, flow_style=not pairs)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if getattr(value, "_is_inlined", False) and not is_root:
            (only,) = dataclasses.fields(value)
            return _node_of(getattr(value, only.name), typing.get_type_hints(type(value))[only.name])
        return _node_of_record(value, default)
    return _scalar(value)


def _node_of_choice(value: Any, hints: tuple[Any, ...], default: Any) -> Node:
    choices = [hint for hint in hints if hint is not types.NoneType]
    chosen = next((hint for hint in choices if isinstance(value, _plain(hint))), choices[0])
    node = _node_of(value, chosen, default if type(default) is type(value) else None)
    if chosen is not choices[0]:
        node.tag = f"!{chosen.__name__}"
    return node


def _node_of_record(value: Any, default: Any) -> MappingNode:
    hints = typing.get_type_hints(type(value), include_extras=True)
    pairs = []
    for field in dataclasses.fields(value):
        part, usual = getattr(value, field.name), getattr(default, field.name, None)
        if part is None:
            continue
        node = _node_of(part, hints[field.name], usual)
        if usual is not None and yaml.serialize(_node_of(usual, hints[field.name])) == yaml.serialize(
            _node_of(part, hints[field.name])
        ):
            continue
        pairs.append((_scalar(field.name), node))
    return MappingNode(f"{_STANDARD}map", pairs, flow_style=not pairs)


def _scalar(value: Any) -> ScalarNode:
    node: ScalarNode = yaml.SafeDumper("").represent_data(value)
    return node
