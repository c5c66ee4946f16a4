"""Files of regions: YAML documents with A and b of A x <= b, by names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron


@dataclass
class _Rows:
    """A polyhedron as it is written.

    Attributes:
        ambient_dimension: n.
        A: shape [m, n].
        b: shape [m].
    """

    ambient_dimension: int = 0
    A: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    b: np.ndarray = field(default_factory=lambda: np.zeros(0))


def SaveIrisRegionsYamlFile(
    filename: str | os.PathLike[str], regions: dict[str, HPolyhedron], child_name: str | None = None
) -> None:
    """Writes regions into a file, in ascending order of their names.

    Args:
        filename: of the file.
        regions: by names.
        child_name: puts them below an entry of this name.

    Raises:
        TypeError: a region is no HPolyhedron.
        OSError: the file cannot be written.
    """
    for name, region in regions.items():
        if not isinstance(region, HPolyhedron):
            raise TypeError(
                f"SaveIrisRegionsYamlFile: expected region '{name}' to be an HPolyhedron, got {type(region).__name__}."
            )
    rows = {name: _Rows(each.ambient_dimension(), each.A(), each.b()) for name, each in regions.items()}
    yaml_dump_typed(rows, filename=filename, schema=dict[str, _Rows], child_name=child_name)


def LoadIrisRegionsYamlFile(
    filename: str | os.PathLike[str], child_name: str | None = None
) -> dict[str, HPolyhedron]:
    """Reads the regions of a file, by names.

    Args:
        filename: of the file.
        child_name: of the entry that has them; by default they are the document.

    Raises:
        RuntimeError: the file or entry is missing, or does not fit; the message says where.
    """
    found = yaml_load_typed(schema=dict[str, _Rows], filename=filename, child_name=child_name)
    where = f"LoadIrisRegionsYamlFile: {filename}"
    return {name: _polyhedron(rows, f"{where}: region '{name}'") for name, rows in found.items()}


def _polyhedron(rows: _Rows, where: str) -> HPolyhedron:
    n, m = rows.ambient_dimension, rows.b.size
    A = rows.A.reshape(0, max(n, 0)) if rows.A.size == 0 else rows.A
    if A.ndim != 2 or rows.b.ndim != 1 or A.shape != (m, n):
        raise RuntimeError(
            f"{where}: expected an A of shape ({m}, {n}), after {m} numbers in b and an ambient_dimension of {n}; got "
            f"{A.shape}."
        )
    return HPolyhedron(A, rows.b)
