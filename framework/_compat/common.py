"""Names of pydrake.common without another home here: files, folders, logging, names."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

from merganser.drake.cpp_param import pretty_class_name
from merganser.framework.common.errors import log_once

__all__ = [
    "FindResourceOrThrow",
    "GetDrakePath",
    "configure_logging",
    "getDrakePath",
    "kDrakeAssertIsArmed",
    "maybe_patch_numpy_formatters",
    "pretty_class_name",
    "temp_directory",
    "trigger_an_assertion_failure",
    "use_native_cpp_logging",
]

kDrakeAssertIsArmed = False


def temp_directory() -> str:
    """Makes a new folder for temporary files and returns its path; it is not removed automatically."""
    return tempfile.mkdtemp(prefix="robotlocomotion_drake_", dir=os.environ.get("TEST_TMPDIR"))


def configure_logging() -> None:
    """Sets up Python's root logger: level, time, name and message of each record on standard error."""
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] [%(name)s] [%(levelname)s] %(message)s")
    logging.getLogger("drake").setLevel(logging.NOTSET)
    logging.addLevelName(5, "TRACE")


def use_native_cpp_logging() -> None:
    """Does nothing: all messages go through Python's logging here."""


def maybe_patch_numpy_formatters() -> None:
    """Does nothing: numpy prints arrays of expressions as they are."""


def trigger_an_assertion_failure() -> None:
    """Raises the exception of failed C++ assertions in pydrake.

    Raises:
        SystemExit: always.
    """
    raise SystemExit("trigger_an_assertion_failure(): the condition 'false' failed.")


def GetDrakePath() -> str | None:
    """Returns the folder of Drake's files, or None; see FindResourceOrThrow()."""
    try:
        return _files_of_drake()
    except RuntimeError as error:
        log_once(logging.getLogger("merganser.drake"), f"GetDrakePath() is None. {error}")
        return None


def _files_of_drake() -> str:
    from merganser.multibody.parsing import PackageMap

    return PackageMap().GetPath("drake")


getDrakePath = GetDrakePath


def FindResourceOrThrow(resource_path: str) -> str:
    """Returns the path of a file of Drake, which does not have to be installed.

    The file is that of the folder `drake` in the environment variable DRAKE_RESOURCE_ROOT, that of an installed drake
    wheel, or it is fetched once, with all others (42 MB), from PyPI, and kept.

    Args:
        resource_path: such as 'drake/examples/pendulum/Pendulum.urdf'.

    Raises:
        RuntimeError: it does not start with 'drake/', there is no such file, or fetching the files failed.
    """
    if not resource_path.startswith("drake/"):
        raise RuntimeError(f"FindResourceOrThrow: '{resource_path}' must start with 'drake/'.")
    try:
        root = _files_of_drake()
    except RuntimeError as error:
        raise RuntimeError(f"FindResourceOrThrow: '{resource_path}' was not found. {error}") from error
    path = Path(root) / resource_path.removeprefix("drake/")
    if not path.exists():
        raise RuntimeError(f"FindResourceOrThrow: the drake in '{root}' has no file '{resource_path}'.")
    return str(path)
