"""YAML without a schema: dictionaries, lists, texts and numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import yaml

from merganser.framework.common.saving import save_text
from merganser.framework.common.source_location import decode


class _Loader(yaml.SafeLoader):
    """Keeps tags of mappings as the entry `_tag`."""


def _tagged(loader: _Loader, suffix: str, node: Any) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, f"the tag '!{suffix}' is not at a mapping", node.start_mark)
    return {**loader.construct_mapping(node, deep=True), "_tag": f"!{suffix}"}


_Loader.add_multi_constructor("!", _tagged)


class Dumper(yaml.SafeDumper):
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


Dumper.add_representer(None, Dumper._refuse)


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


def yaml_dump(data: Any, *, filename: str | os.PathLike[str] | None = None) -> str | None:
    """Writes what `yaml_load(..., private=True)` has read; returns the text unless a file is given.

    Raises:
        OSError: the file cannot be written.
        yaml.YAMLError: something has no form in YAML.
    """
    text: str = yaml.dump(data, Dumper=Dumper, default_flow_style=None)
    if filename is None:
        return text
    save_text(filename, text)
    return None
