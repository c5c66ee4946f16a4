"""HydroelasticEngine: contact surfaces of one set of geometries, with outputs and workspace that grow as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, bind
from merganser.geometry.hydroelastic.buffers import lacks_memory, make_buffers, with_memory
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.layout import make_layout
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.hydroelastic.representation import Representation
from merganser.geometry.hydroelastic.surfaces import contact_surfaces, has_surface

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
        self._kinds: list[int] = self.bodies["kind"].tolist()

    def have_surfaces(self, pairs: NDArray[np.int64]) -> list[bool]:
        """Whether each of some pairs of rows is one whose contact is a surface, see has_surface()."""
        kinds = self._kinds
        return [has_surface(kinds[a], kinds[b]) for a, b in pairs.tolist()]


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
        self._buffers = make_buffers()
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
                    contact_surfaces, self.arrays.bodies, self.arrays.meshes, *given, self._buffers, *self._faces
                )
            count = self._run(X_WG, pairs, len(pairs))
            corners, numbers, owners = self._faces
            if lacks_memory(self._buffers):
                self._buffers, self._run = with_memory(self._buffers), None
            if count <= len(numbers):
                return Faces(corners[:count], numbers[:count], owners[:count])
            self._faces, self._run = _make_faces(2 * count), None


def _make_faces(capacity: int) -> Faces:
    return Faces(
        np.zeros((capacity, MOST_CORNERS, 4)), np.zeros((capacity, FACE_NUMBERS)), np.zeros((capacity, 4), np.int64)
    )
