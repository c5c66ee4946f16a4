"""A model that is one body with the shape of a mesh: what a mesh file means to the parser."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Mesh
from merganser.multibody.parsing.description import (
    DocumentDescription,
    GeometryDescription,
    LinkDescription,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import SourceLocation, located
from merganser.multibody.tree import CalcSpatialInertia

_DENSITY = 1000.0  # of water [kg/m^3]


def read_mesh_model(path: Path, name: str = "") -> DocumentDescription:
    """Describes a body of water with the shape of a mesh, which is its visual and its collision geometry.

    Args:
        path: a file of a closed surface or a volume, with lengths in metres.
        name: of the body and its model; by default that of the last named object (`o name`) in an .obj file, or else
            the name of the file without its ending.

    Raises:
        ParsingError: the file is no such mesh, or its triangles enclose no positive volume.
    """
    location = SourceLocation(str(path))
    with located(location), np.errstate(over="ignore", invalid="ignore"):
        M_BBo_B = CalcSpatialInertia(Mesh(str(path)), _DENSITY)
        name = name or _object_name(path) or path.stem
    shape = ShapeDescription("Mesh", (1.0, 1.0, 1.0), str(path.resolve()))
    visual, collision = (
        GeometryDescription(role, RigidTransform(), shape, location) for role in ("visual", "collision")
    )
    link = LinkDescription(name, M_BBo_B, location, [visual], [collision])
    return DocumentDescription(location, [ModelDescription(name, location, [link])])


def _object_name(path: Path) -> str:
    """The name of the last object in a Wavefront file, empty without one."""
    if path.suffix.lower() != ".obj":
        return ""
    named = [line.split(maxsplit=1) for line in path.read_text(errors="replace").splitlines() if line.startswith("o ")]
    names = [words[1].strip() for words in named if len(words) == 2]
    return names[-1] if names else ""
