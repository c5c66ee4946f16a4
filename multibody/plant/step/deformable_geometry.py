"""Where deformable bodies touch the geometries of a SceneGraph, in one Context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId, HalfSpace
from merganser.geometry.deformable.moving_meshes import (
    MovingMeshes,
    make_moving_meshes,
    move_mesh,
    pressure_field_of,
)
from merganser.geometry.hydroelastic.buffers import lacks_memory, make_buffers, with_memory
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.geometry.hydroelastic.surfaces import contact_surfaces
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, material_dtype
from merganser.multibody.contact.deformable_pairs import end_dtype, make_deformable_pairs, row_dtype
from merganser.multibody.tree.deformable_body import DeformableBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.contact_geometry import ContactGeometry
    from merganser.multibody.plant.step.failures import WarnOnce
    from merganser.multibody.plant.step.step_buffers import StepBuffers

__all__ = ["DeformableGeometry", "FoundContacts"]

Array = NDArray[Any]


class FoundContacts(NamedTuple):
    """Contacts of deformable bodies at the start of a step; views into arrays that the next search overwrites.

    Attributes:
        pairs: records of contact_pair_dtype.
        ends: of their sides A and B, records of end_dtype, shape [num_pairs, 2].
        corners, faces, owners: of the contact surfaces, see geometry/hydroelastic/engine.py.
        candidates: rows of the two geometries that owners name, shape [num_candidates, 2].
    """

    pairs: Array
    ends: Array
    corners: Array
    faces: Array
    owners: Array
    candidates: Array


class DeformableGeometry:
    """Surfaces of deformable bodies and what they may touch.

    Args:
        contact_geometry: of the plant.
        bodies: the deformable bodies of which contact is wanted.
        warn_once: tells what is left out.

    Attributes:
        geometry_ids: of all rows: of rigid geometries, of surfaces, and where there are several deformable bodies of
            their volumes.
        num_rigid: how many these are.
    """

    def __init__(
        self, contact_geometry: ContactGeometry, bodies: Sequence[DeformableBody], warn_once: WarnOnce
    ) -> None:
        self._contact_geometry, self._bodies, self._warn_once = contact_geometry, bodies, warn_once
        self._layout: Any = None
        self._clipping = make_buffers()
        self.geometry_ids: list[GeometryId] = []
        self.num_rigid = 0
        self._make_room(0)

    def _make_room(self, capacity: int) -> None:
        self._corners = np.zeros((capacity, MOST_CORNERS, 4))
        self._faces, self._owners = np.zeros((capacity, FACE_NUMBERS)), np.zeros((capacity, 4), np.int64)
        self._pairs, self._ends = np.zeros(capacity, contact_pair_dtype), np.zeros((capacity, 2), end_dtype)

    # ------------------------------------------------------------------ searches

    def find(self, context: Context, buffers: StepBuffers, X_WG: Array, q: Sequence[Array]) -> FoundContacts:
        """Returns the contacts of deformable bodies.

        Args:
            context: of the plant.
            buffers: of the step, with the materials of the rigid geometries.
            X_WG: where the rigid geometries are, shape [num_rigid, 4, 4].
            q: where the vertices of each body are [m], shape [3 num_vertices]; empty for those that take no part.
        """
        if buffers.layout is not self._layout:
            self._read(context, buffers)
        moving, n = self._moving, self.num_rigid
        self._X_WG[:n] = X_WG
        takes_part = np.ones(len(self.geometry_ids), np.bool_)
        for k, part in enumerate(moving.parts):
            takes_part[n + k] = is_there = len(q[k % len(q)]) > 0
            if is_there:
                move_mesh(part, q[k % len(q)], moving.extent, moving.meshes)
        candidates = self._candidates[takes_part[self._candidates].all(axis=1)]
        num_faces = self._find_faces(candidates)
        given = self._materials, self._rows, moving.opposite, moving.meshes
        of_faces = self._faces[:num_faces], self._owners[:num_faces]
        count = make_deformable_pairs(*given, self._X_WG, candidates, *of_faces, self._pairs, self._ends)
        return FoundContacts(self._pairs[:count], self._ends[:count], self._corners[:num_faces], *of_faces, candidates)

    def _find_faces(self, candidates: Array) -> int:
        while True:
            outputs = self._corners, self._faces, self._owners
            of_meshes = self._moving.bodies, self._moving.meshes
            count = contact_surfaces(*of_meshes, self._X_WG, candidates, len(candidates), self._clipping, *outputs)
            if lacks_memory(self._clipping):
                self._clipping = with_memory(self._clipping)
            if count <= len(self._faces):
                return int(count)
            self._make_room(2 * count)

    # ------------------------------------------------------------------ what may touch

    def _read(self, context: Context, buffers: StepBuffers) -> None:
        """Takes over the geometries as they are now; if it fails, nothing counts as read."""
        layout, of_bodies = buffers.layout, [body.geometry_id() for body in self._bodies]
        inspector = self._contact_geometry.query_object(context).inspector()
        self._warn_of_half_spaces(layout)
        named = zip(layout.shapes, layout.properties, layout.geometry_ids, layout.names)
        fields = [pressure_field_of(shape, of, f"Geometry '{name}' ({id!r})") for shape, of, id, name in named]
        meshes = [body.reference_mesh() for body in self._bodies]
        has_volumes, n = len(meshes) > 1, len(fields)
        self._moving: MovingMeshes = make_moving_meshes(fields, meshes, has_volumes)
        num_copies = 2 if has_volumes else 1  # surfaces, and volumes
        self.geometry_ids, self.num_rigid = [*layout.geometry_ids, *of_bodies * num_copies], n
        self._materials = np.zeros(len(self.geometry_ids), material_dtype)
        self._materials[:n] = buffers.materials
        self._candidates = self._list_candidates(fields, inspector)
        for row in np.unique(self._candidates[self._candidates >= n]).tolist():  # of those that may touch anything
            id = self.geometry_ids[row]
            properties = inspector.GetProximityProperties(id)
            self._contact_geometry.set_deformable_material(self._materials[row], inspector.GetName(id), properties)
        self._rows = np.full(len(self.geometry_ids), -1, row_dtype)
        self._rows["body"][n:] = [int(body.index()) for body in self._bodies] * num_copies
        self._rows["first_vertex"][n:] = self._moving.parts["first_vertex"]
        self._X_WG = np.tile(np.eye(4), (len(self.geometry_ids), 1, 1))
        self._clipping.counts[:] = 0
        self._layout = layout

    def _list_candidates(self, fields: list[Any], inspector: Any) -> NDArray[np.int64]:
        """Pairs of rows that may meet: of a pressure field and a surface, and of two volumes."""
        n, num_bodies, ids = self.num_rigid, len(self._bodies), self.geometry_ids
        pairs = [(r, n + d) for d in range(num_bodies) for r in range(n) if fields[r] is not None]
        first = n + num_bodies
        pairs += [(first + a, first + b) for a in range(num_bodies) for b in range(a + 1, num_bodies)]
        kept = [(a, b) for a, b in pairs if not inspector.CollisionFiltered(ids[a], ids[b])]
        return np.array(kept, np.int64).reshape(-1, 2)

    def _warn_of_half_spaces(self, layout: Any) -> None:
        names = [name for shape, name in zip(layout.shapes, layout.names) if isinstance(shape, HalfSpace)]
        if names:
            self._warn_once(
                "half spaces and deformable bodies",
                f"Half spaces {names} are not felt by deformable bodies, which fall through them, as in pydrake. "
                "Take a large Box.",
            )
