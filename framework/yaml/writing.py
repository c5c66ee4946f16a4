"""Writes objects of a schema, and dictionaries, lists, texts and numbers, as YAML documents."""

from __future__ import annotations

import os
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from merganser.framework.common.saving import save_text
from merganser.framework.yaml.reading import (
    SCALARS,
    alternatives_of,
    class_of,
    fields_of,
    fields_of_ours,
    is_optional,
    is_record,
    item_of_list,
    item_of_map,
    size_of_array,
    tag_of,
    unsupported,
)

_TAG = "_tag"


class _TagDumper(yaml.SafeDumper):
    """Writes the entry `_tag` as a tag."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        entries = dict(mapping)
        tag = entries.pop("_tag", tag)
        return super().represent_mapping(tag, entries if self.sort_keys else list(entries.items()), flow_style)

    def _refuse(self, data: Any) -> Any:
        raise yaml.representer.RepresenterError(
            f"yaml_dump() writes dictionaries, lists, texts and numbers, not {type(data).__name__}; yaml_dump_typed() "
            "writes dataclasses."
        )


_TagDumper.add_representer(None, _TagDumper._refuse)


def yaml_dump(data: Any, *, filename: str | os.PathLike[str] | None = None) -> str | None:
    """Writes what `yaml_load(..., private=True)` has read; returns the text unless a file is given.

    Raises:
        OSError: the file cannot be written.
        yaml.YAMLError: something has no form in YAML.
    """
    text: str = yaml.dump(data, Dumper=_TagDumper, default_flow_style=None)
    if filename is None:
        return text
    save_text(filename, text)
    return None


def yaml_dump_typed(
    data: Any,
    *,
    filename: str | os.PathLike[str] | None = None,
    schema: Any = None,
    child_name: str | None = None,
    defaults: Any = None,
) -> str | None:
    """Writes an object as a YAML document, which yaml_load_typed() reads. Fields that are None are left out.

    Args:
        data: the object.
        filename: where to write it; by default the document is returned.
        schema: the type as which it is written, by default its own; a dictionary needs one: `dict[str, X]`.
        child_name: puts the object below an entry of this name.
        defaults: an object; what is the same there is left out.

    Raises:
        RuntimeError: the object is neither a record nor a dictionary, or does not fit the schema.
        TypeError: a type of the schema has no form in YAML.
        OSError: the file cannot be written.
    """
    schema = type(data) if schema is None else schema
    root = _plain(data, schema, "the document", is_root=True)
    if not isinstance(root, dict):
        raise RuntimeError(f"yaml_dump_typed(): expected a record or a dictionary, got {type(data).__name__}.")
    if defaults is not None:
        _leave_out_equal(root, _plain(defaults, schema, "the defaults", is_root=True))
    if child_name is not None:
        root = {child_name: root}
    text: str = yaml.dump(root, Dumper=_Dumper, default_flow_style=None, sort_keys=False)
    if filename is None:
        return text
    save_text(filename, text)
    return None


class _Explicit(NamedTuple):
    """A scalar that is written with its type, `!!int 10`, as otherwise it would read as another one."""

    value: Any


class _Dumper(_TagDumper):
    """Lists of scalars are written on one line, and nothing else but what is empty."""

    DEFAULT_TAG_PREFIXES = {**_TagDumper.DEFAULT_TAG_PREFIXES, "explicit:": "!!"}

    def serialize_node(self, node: Any, parent: Any, index: Any) -> None:
        if isinstance(node, yaml.MappingNode):
            node.flow_style = not node.value
        super().serialize_node(node, parent, index)

    def _explicit(self, scalar: _Explicit) -> Any:
        node = self.represent_data(scalar.value)
        return yaml.ScalarNode(f"explicit:{type(scalar.value).__name__}", node.value)


_Dumper.add_representer(_Explicit, _Dumper._explicit)


def _plain(value: Any, hint: Any, where: str, is_root: bool = False) -> Any:
    """A value of a type as dictionaries (with their tags), lists, texts and numbers."""
    if alternatives_of(hint):
        return _plain_choice(value, alternatives_of(hint), where)
    if hint in SCALARS:
        return str(value) if hint is Path else hint(value)
    if size_of_array(hint) is not None:
        return np.asarray(value, dtype=np.float64).tolist()
    if (item := item_of_list(hint)) is not None:
        return [_plain(each, item, f"{where}[{i}]") for i, each in enumerate(value)]
    if (item := item_of_map(hint)) is not None:
        return {name: _plain(value[name], item, f"{where}.{name}") for name in sorted(value)}
    if not is_record(hint):
        raise unsupported(hint, where)
    hints = fields_of(hint)
    if getattr(hint, "_is_inlined", False) and not is_root:
        ((name, only),) = hints.items()
        return _plain(getattr(value, name), only, where)
    return _plain_record(value, hints, where)


def _plain_record(value: Any, hints: dict[str, Any], where: str) -> dict[str, Any]:
    own = fields_of_ours(type(value))
    found = {}
    for name, hint in hints.items():
        part = getattr(value, name)
        part = part() if callable(part) else part
        if not (part is None and is_optional(hint)) and not (name in own and part == own[name]):
            found[name] = _plain(part, hint, f"{where}.{name}")
    return found


def _plain_choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value is None and types.NoneType in choices:
        return None
    value = float(value) if isinstance(value, (int, np.number)) and int not in choices and float in choices else value
    fitting = [hint for hint in choices if isinstance(value, class_of(hint))]
    chosen = next((hint for hint in fitting if hint is type(value)), fitting[0] if fitting else None)
    if chosen is None:
        raise RuntimeError(f"{where} is a {type(value).__name__}, and the schema takes only {choices}.")
    plain = _plain(value, chosen, where)
    if chosen is choices[0] or chosen is bytes:
        return plain
    if chosen in SCALARS:
        return _Explicit(plain)
    return {**plain, _TAG: tag_of(chosen)} if isinstance(plain, dict) else plain


def _leave_out_equal(plain: dict[str, Any], usual: dict[str, Any]) -> None:
    """Removes entries that are the same in both; of dictionaries of one tag, entries in them."""
    for name in list(plain):
        mine, theirs = plain[name], usual.get(name)
        if name == _TAG or name not in usual:
            continue
        if mine is theirs or mine == theirs or repr(mine) == repr(theirs):  # not a number is the same as that
            del plain[name]
        elif isinstance(mine, dict) and isinstance(theirs, dict) and mine.get(_TAG) == theirs.get(_TAG):
            _leave_out_equal(mine, theirs)
