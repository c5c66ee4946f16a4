"""What deformable bodies may touch of the geometries of a SceneGraph, as the records that steps work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId, HalfSpace, MeshcatCone
from merganser.geometry.deformable.moving_meshes import MovingMeshes, make_moving_meshes, pressure_field_of
from merganser.geometry.hydroelastic.buffers import lacks_memory, make_buffers, with_memory
from merganser.multibody.contact.contact_pairs import material_dtype
from merganser.multibody.deformable.body import DeformableBody
from merganser.multibody.deformable.kernels.pairs import row_dtype
from merganser.multibody.deformable.kernels.records import DeformableGeometry as GeometryRecord

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.contact_geometry import ContactGeometry
    from merganser.multibody.plant.step.failures import WarnOnce
    from merganser.multibody.plant.step.step_buffers import StepBuffers

Array = NDArray[Any]


class DeformableGeometry:
    """Surfaces of deformable bodies and what they may touch, for the steps of one Context.

    Args:
        contact_geometry: of the plant.
        bodies: the deformable bodies of which contact is wanted.
        warn_once: says what is left out.

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
        self._moving: MovingMeshes = make_moving_meshes([], [], False)
        self._materials, self._rows = np.zeros(0, material_dtype), np.zeros(0, row_dtype)
        self._candidates, self._X_WG = np.zeros((0, 2), np.int64), np.zeros((0, 4, 4))

    def grow(self) -> None:
        """Makes room if the last step had more to remember of contact surfaces than there were places."""
        if lacks_memory(self._clipping):
            self._clipping = with_memory(self._clipping)

    def record(
        self, context: Context, buffers: StepBuffers, first_vertices: Array, is_enabled: Sequence[bool]
    ) -> GeometryRecord:
        """Returns what steps work on, with the geometries as they are now.

        Args:
            context: of the plant.
            buffers: of the step, with the materials of the rigid geometries.
            first_vertices: of all deformable bodies, in arrays for all their vertices.
            is_enabled: which of these move.
        """
        if self._bodies and buffers.geometry.layout is not self._layout:
            self._read(context, buffers)
        moving, n = self._moving, self.num_rigid
        takes_part = np.ones(len(self.geometry_ids), np.bool_)
        bodies = self._rows["body"][n:]
        takes_part[n:] = np.asarray(is_enabled, np.bool_)[bodies]
        return GeometryRecord(
            moving.parts, first_vertices[bodies], moving.extent, moving.opposite, moving.bodies, moving.meshes,
            self._materials, self._rows, self._X_WG,
            np.ascontiguousarray(self._candidates[takes_part[self._candidates].all(axis=1)]), self._clipping,
        )  # fmt: skip

    # ------------------------------------------------------------------ what may touch

    def _read(self, context: Context, buffers: StepBuffers) -> None:
        """Takes over the geometries as they are now; if it fails, nothing counts as read."""
        layout, of_bodies = buffers.geometry.layout, [body.geometry_id() for body in self._bodies]
        inspector = self._contact_geometry.query_object(context).inspector()
        self._warn_of_shapes_without_fields(layout)
        named = zip(layout.shapes, layout.properties, layout.geometry_ids, layout.names)
        fields = [pressure_field_of(shape, of, f"Geometry '{name}' ({id!r})") for shape, of, id, name in named]
        meshes = [body.reference_mesh() for body in self._bodies]
        has_volumes, n = len(meshes) > 1, len(fields)
        self._moving = make_moving_meshes(fields, meshes, has_volumes)
        num_copies = 2 if has_volumes else 1  # surfaces, and volumes
        self.geometry_ids, self.num_rigid = [*layout.geometry_ids, *of_bodies * num_copies], n
        self._materials = np.zeros(len(self.geometry_ids), material_dtype)
        self._materials[:n] = buffers.geometry.materials
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

    def _warn_of_shapes_without_fields(self, layout: Any) -> None:
        for kind, plural, advice in (
            (HalfSpace, "Half spaces", "Take a large Box."),
            (MeshcatCone, "Cones of Meshcat", "Take a Convex or a Mesh of the same form."),
        ):
            names = [name for shape, name in zip(layout.shapes, layout.names) if isinstance(shape, kind)]
            if names:
                self._warn_once(
                    f"{plural} and deformable bodies",
                    f"{plural} {names} are not felt by deformable bodies, which fall through them, as in pydrake. "
                    f"{advice}",
                )
