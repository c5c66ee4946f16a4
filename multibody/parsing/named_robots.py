"""Robots by their names in the package robot_descriptions, which fetches their files."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from merganser.multibody.parsing.errors import ParsingError, SourceLocation
from merganser.multibody.parsing.package_map import PackageMap

_NAME = re.compile(r"\w+_description")
_PACKAGE = re.compile(rb"(?:package|model)://([^/\"'<>]+)/")


def is_name_of_robot(path: Path) -> bool:
    """Whether this is a name such as "panda_description", not a path."""
    return _NAME.fullmatch(str(path)) is not None and not path.exists()


def file_of_robot(name: str, packages: PackageMap) -> Path:
    """The model file of a robot by its name in robot_descriptions; its packages are added where they are missing.

    Args:
        name: as in "panda_description" (URDF) or "panda_mj_description" (MJCF).
        packages: gets the packages that the file names.

    Raises:
        ImportError: robot_descriptions is not installed.
        ParsingError: it has no such robot, cannot fetch it, or has it in another format only.
    """
    where = SourceLocation(name)
    try:
        importlib.import_module("robot_descriptions")
    except ImportError as error:
        raise ImportError(
            f"There is no file '{name}'. For the robot of this name install the extra: "
            "pip install 'merganser[robots]'."
        ) from error
    try:
        module: Any = importlib.import_module(f"robot_descriptions.{name}")
    except ModuleNotFoundError as error:
        raise ParsingError(where, "robot_descriptions has no robot of this name, and there is no such file.") from error
    except Exception as error:  # of git, of the network
        raise ParsingError(where, f"robot_descriptions could not fetch the robot: {error}") from error
    found = getattr(module, "URDF_PATH", None) or getattr(module, "MJCF_PATH", None)
    if found is None:
        raise ParsingError(where, "robot_descriptions has it in neither URDF nor MJCF; convert it, and add the file.")
    path, root, package = (Path(p) for p in (found, module.REPOSITORY_PATH, module.PACKAGE_PATH))
    folders = [root, package, *path.parents]
    for wanted in {match.decode() for match in _PACKAGE.findall(path.read_bytes())}:
        candidates = [folder for folder in folders if folder.name == wanted]
        candidates += [folder / wanted for folder in folders if (folder / wanted).is_dir()]
        if candidates and not packages.Contains(wanted):
            packages.Add(wanted, candidates[0])
    return path
