"""Settings in YAML files, with and without a schema (pydrake.common.yaml)."""

from merganser.framework.yaml.reading import yaml_load, yaml_load_data, yaml_load_file, yaml_load_typed
from merganser.framework.yaml.writing import yaml_dump, yaml_dump_typed

__all__ = ["yaml_dump", "yaml_dump_typed", "yaml_load", "yaml_load_data", "yaml_load_file", "yaml_load_typed"]
