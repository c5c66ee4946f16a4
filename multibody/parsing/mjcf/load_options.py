"""Simulation settings of an MJCF file, for programs that have no plant yet."""

from __future__ import annotations

import os
from pathlib import Path

from merganser.multibody.parsing.errors import ParsingError, SourceLocation, located
from merganser.multibody.parsing.mjcf.settings import MjcfOptions, read_options
from merganser.multibody.parsing.mjcf.source import with_includes
from merganser.multibody.parsing.package_map import PackageMap, near_files
from merganser.multibody.parsing.xml_reader import read_xml


def LoadMjcfOptions(file_name: str | os.PathLike) -> MjcfOptions:
    """Reads how MuJoCo would simulate an MJCF file: its time step, integrator, gravity and fluid.

    Reads the <option> elements only, those of included files too, so it can be called before there is a
    plant: `AddMultibodyPlantSceneGraph(builder, LoadMjcfOptions("arm.xml").time_step)`.

    Args:
        file_name: of the main file.

    Raises:
        ParsingError: the file is missing, no MJCF, or a value is not admissible.
    """
    path, location = Path(file_name), SourceLocation(os.fspath(file_name))
    if not path.is_file():
        raise ParsingError(location, f"the model file does not exist.{near_files(path)}")
    with located(location):
        root = read_xml(path.read_bytes(), str(path))
    return read_options(with_includes(root, PackageMap()))
