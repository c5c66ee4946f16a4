"""What programs use of pydrake.common.yaml for files without a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["yaml_dump", "yaml_load", "yaml_load_data", "yaml_load_file"]


class _Loader(yaml.SafeLoader):
    """Keeps tags of mappings as the entry `_tag`."""


def _tagged(loader: _Loader, suffix: str, node: Any) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, f"the tag '!{suffix}' is not at a mapping", node.start_mark)
    return {**loader.construct_mapping(node, deep=True), "_tag": f"!{suffix}"}


_Loader.add_multi_constructor("!", _tagged)


class _Dumper(yaml.SafeDumper):
    """Writes the entry `_tag` as a tag, and keeps the order of entries."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        entries = dict(mapping)
        return super().represent_mapping(entries.pop("_tag", tag), list(entries.items()), flow_style)


def yaml_load_data(data: Any, *, private: bool = False) -> Any:
    """Reads a text, or an open file, as dictionaries, lists, texts and numbers.

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


def yaml_load_file(filename: Any, *, private: bool = False) -> Any:
    """Reads a file as `yaml_load_data` reads a text.

    Raises:
        OSError: it cannot be read.
        yaml.YAMLError: it is no YAML.
    """
    with Path(filename).open(encoding="utf-8") as file:
        return yaml_load_data(file, private=private)


def yaml_load(*, data: Any = None, filename: Any = None, private: bool = False) -> Any:
    """Reads a text or a file, of which exactly one is given.

    Raises:
        RuntimeError: both or none are given.
        OSError: the file cannot be read.
        yaml.YAMLError: it is no YAML.
    """
    if (data is None) == (filename is None):
        raise RuntimeError("yaml_load takes exactly one of `data` and `filename`.")
    return yaml_load_file(filename, private=private) if data is None else yaml_load_data(data, private=private)


def yaml_dump(data: Any, *, filename: Any = None) -> str | None:
    """Writes what `yaml_load(..., private=True)` has read; returns the text unless a file is given.

    Raises:
        OSError: the file cannot be written.
        yaml.YAMLError: something has no form in YAML.
    """
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False)
    if filename is None:
        return text
    Path(filename).write_text(text, encoding="utf-8")
    return None
