"""What programs use of pydrake.common."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["FindResourceOrThrow", "GetDrakePath", "Parallelism", "configure_logging", "temp_directory"]


class Parallelism:
    """How many threads a function may use.

    Args:
        parallelize: False for one thread, True for as many as there are processors.
        num_threads: how many.

    Raises:
        RuntimeError: `num_threads` is less than 1.
    """

    def __init__(self, parallelize: bool | int = False, num_threads: int | None = None) -> None:
        wanted = parallelize if num_threads is None else num_threads
        if isinstance(wanted, bool):
            wanted = (os.cpu_count() or 1) if wanted else 1
        if wanted < 1:
            raise RuntimeError(f"Parallelism: the number of threads must be at least 1, got {wanted}.")
        self._num_threads = int(wanted)

    @staticmethod
    def Max() -> Parallelism:
        """Returns as many threads as there are processors."""
        return Parallelism(True)

    def num_threads(self) -> int:
        """Returns the number of threads, at least 1."""
        return self._num_threads

    def __repr__(self) -> str:
        return f"Parallelism(num_threads={self._num_threads})"


def temp_directory() -> str:
    """Makes a new folder for temporary files and returns its path; it is not removed by itself."""
    return tempfile.mkdtemp(prefix="robotlocomotion_drake_", dir=os.environ.get("TEST_TMPDIR"))


def configure_logging() -> None:
    """Sets up Python's root logger: level, time, name and message of each record on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def GetDrakePath() -> Any:
    """Returns the folder of the files of an installed drake, or None."""
    from merganser.multibody.parsing import PackageMap

    packages = PackageMap()
    return packages.GetPath("drake") if packages.Contains("drake") else None


def FindResourceOrThrow(resource_path: str) -> str:
    """Returns the path of a file of an installed drake.

    Args:
        resource_path: such as 'drake/examples/pendulum/Pendulum.urdf'.

    Raises:
        RuntimeError: it does not start with 'drake/', no drake is installed, or it has no such file.
    """
    root = GetDrakePath()
    if not resource_path.startswith("drake/"):
        raise RuntimeError(f"FindResourceOrThrow: '{resource_path}' must start with 'drake/'.")
    if root is None:
        raise RuntimeError(
            f"FindResourceOrThrow: '{resource_path}' is a file of drake, which is not installed (pip install drake). "
            "Files of your own are found by their paths."
        )
    path = Path(root) / resource_path.removeprefix("drake/")
    if not path.exists():
        raise RuntimeError(f"FindResourceOrThrow: the drake in '{root}' has no file '{resource_path}'.")
    return str(path)
