"""The geometries of the proximity role as arrays, for engines that compute on them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.properties import ProximityProperties, Role
from merganser.geometry.scene.collision_filters import pairs_that_may_meet
from merganser.geometry.scene.pose_layout import WorldPoses
from merganser.geometry.shapes import Shape

if TYPE_CHECKING:
    from merganser.geometry.hydroelastic.engine import HydroelasticArrays
    from merganser.geometry.proximity.arrays import ProximityArrays
    from merganser.geometry.scene.geometry_state import GeometryState


@dataclass(frozen=True, eq=False)
class ProximityLayout:
    """Rigid geometries with the proximity role, by ascending id, which is the order of the two in a reported pair.

    A GeometryState and its copies share one layout until one of them changes: code that derives arrays from it may keep
    them as long as the layout is the same object.

    Attributes:
        geometry_ids: the geometries.
        index: place of each geometry in `geometry_ids`.
        names: their names, for messages.
        shapes: their shapes.
        properties: their proximity properties, for reading only.
        frames: row of the frame of each geometry; 0 is the world; shape [n].
        excluded: of each geometry, which others of another frame it never meets: bit k is that of place k.
        rows: row of each geometry in `WorldPoses.X_WG`; shape [n].
    """

    geometry_ids: list[GeometryId]
    index: dict[GeometryId, int]
    names: list[str]
    shapes: list[Shape]
    properties: list[ProximityProperties]
    frames: NDArray[np.int64]
    excluded: list[int]
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, state: GeometryState) -> ProximityLayout:
        """Returns the layout of a state as it is now."""
        poses = state.pose_layout()
        geometries = [g for g in state.geometries.values() if g.has_role(Role.kProximity) and g.reference_mesh is None]
        geometries.sort(key=lambda geometry: geometry.id)
        ids = [geometry.id for geometry in geometries]
        return cls(
            ids,
            {id: i for i, id in enumerate(ids)},
            [geometry.name for geometry in geometries],
            [geometry.shape for geometry in geometries],
            [geometry.properties[Role.kProximity] for geometry in geometries],  # type: ignore[misc]
            np.array([poses.frame_rows[geometry.frame_id] for geometry in geometries], np.int64),
            state.filters.excluded(ids),
            np.array([poses.geometry_rows[id] for id in ids], np.intp),
        )

    @functools.cached_property
    def arrays(self) -> ProximityArrays:
        """What the engines of all Contexts compute on."""
        from merganser.geometry.proximity.arrays import ProximityArrays  # loads the compiler

        return ProximityArrays(self.shapes, self.frames, self.excluded)

    @functools.cached_property
    def hydroelastic(self) -> HydroelasticArrays:
        """What the geometries are in hydroelastic contact, in all Contexts.

        Raises:
            RuntimeError: the properties of one, or its file, are not fit for it.
        """
        from merganser.geometry.hydroelastic.engine import HydroelasticArrays  # loads the compiler
        from merganser.geometry.hydroelastic.representation import make_representation

        named = zip(self.shapes, self.properties, self.geometry_ids, self.names)
        return HydroelasticArrays(
            [make_representation(shape, of, f"Geometry '{name}' ({id!r})") for shape, of, id, name in named]
        )

    def hydroelastic_margin(self) -> float:
        """The distance at which two of these geometries may begin to have a contact surface [m]."""
        margins = [of.GetPropertyOrDefault("hydroelastic", "margin", 0.0) for of in self.properties]
        return float(sum(sorted(margins)[-2:]))

    def world_poses(self, poses: WorldPoses) -> NDArray[Any]:
        """Returns the poses X_WG of these geometries, contiguous, shape [n, 4, 4]."""
        return poses.X_WG[self.rows]

    def candidates(self) -> list[tuple[GeometryId, GeometryId]]:
        """Returns all pairs that may meet, the geometry of the smaller id first."""
        ids = self.geometry_ids
        return [(ids[a], ids[b]) for a, b in pairs_that_may_meet(self.frames, self.excluded).tolist()]
