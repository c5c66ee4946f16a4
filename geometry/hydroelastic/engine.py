"""HydroelasticEngine: contact surfaces of one set of geometries, with outputs and workspace that grow as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, bind
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.layout import (
    COMPLIANT_HALF_SPACE,
    COMPLIANT_VOLUME,
    RIGID_HALF_SPACE,
    RIGID_SURFACE,
    make_layout,
)
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS, make_room
from merganser.geometry.hydroelastic.representation import Representation
from merganser.geometry.hydroelastic.surfaces import contact_surfaces

__all__ = ["Faces", "HydroelasticArrays", "HydroelasticEngine"]

Array = NDArray[Any]
_POSES, _PAIRS = np.zeros((1, 4, 4)), np.zeros((1, 2), np.int64)  # of the types that the kernel takes


class HydroelasticArrays:
    """The geometries of a model as arrays, for any number of engines.

    Args:
        representations: of each geometry; None where it takes no part.

    Attributes:
        bodies: of body_dtype.
        meshes: of all of them.
    """

    def __init__(self, representations: Sequence[Representation | None]) -> None:
        self.bodies, self.meshes = make_layout(representations)

    def have_surfaces(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether pairs of rows are such that their contact is a surface, shape [num_pairs].

        One must be compliant and the other take part; of half spaces one, the other no half space; and a compliant half
        space has a surface with what is rigid only, as in pydrake.
        """
        return _HAVE_SURFACE[self.bodies["kind"][pairs[:, 0]], self.bodies["kind"][pairs[:, 1]]]


def _surfaces_by_kind() -> NDArray[np.bool_]:
    have = np.zeros((5, 5), np.bool_)
    for a, b in (
        (COMPLIANT_VOLUME, RIGID_SURFACE),
        (COMPLIANT_VOLUME, COMPLIANT_VOLUME),
        (COMPLIANT_VOLUME, RIGID_HALF_SPACE),
        (COMPLIANT_HALF_SPACE, RIGID_SURFACE),
    ):
        have[a, b] = have[b, a] = True
    return have


_HAVE_SURFACE = _surfaces_by_kind()


class Faces(NamedTuple):
    """Polygons of contact surfaces, those of a pair side by side; see face_columns.py.

    Attributes:
        corners: positions in W and pressures, shape [num_faces, MOST_CORNERS, 4].
        numbers: area, centroid, normal, pressure and gradients, shape [num_faces, FACE_NUMBERS].
        owners: row of the pair, number of corners, elements; shape [num_faces, 4].
    """

    corners: Array
    numbers: Array
    owners: NDArray[np.int64]


class HydroelasticEngine:
    """Contact surfaces, at poses given with each question.

    What the functions return are views into arrays of this object: the next call overwrites them. An engine serves one
    thread; engines of the same arrays may be used side by side.

    Args:
        arrays: the geometries.
    """

    def __init__(self, arrays: HydroelasticArrays) -> None:
        self.arrays = arrays
        self._room = make_room()
        self._faces = _make_faces(64)
        self._run: Any = None

    def contact_surfaces(self, X_WG: Array, pairs: NDArray[np.int64]) -> Faces:
        """Returns the faces of the contact surfaces of pairs of geometries.

        Args:
            X_WG: pose of each geometry, float64, contiguous, shape [n, 4, 4].
            pairs: rows (a, b) of geometries, a < b, int64, contiguous, shape [num_pairs, 2].
        """
        while True:
            if self._run is None:
                given = Given(_POSES), Given(_PAIRS), Given(0)
                self._run = bind(
                    contact_surfaces, self.arrays.bodies, self.arrays.meshes, *given, self._room, *self._faces
                )
            count = self._run(X_WG, pairs, len(pairs))
            if count <= len(self._faces.numbers):
                return Faces(*(array[:count] for array in self._faces))
            self._faces, self._run = _make_faces(2 * count), None


def _make_faces(capacity: int) -> Faces:
    return Faces(
        np.zeros((capacity, MOST_CORNERS, 4)), np.zeros((capacity, FACE_NUMBERS)), np.zeros((capacity, 4), np.int64)
    )
