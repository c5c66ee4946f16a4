"""SceneGraphInspector: questions about what is registered, to which poses do not matter."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from merganser.framework.math import RigidTransform
from merganser.geometry.meshes import PolygonSurfaceMesh, TriangleSurfaceMesh, VolumeMesh
from merganser.geometry.registration.ids import WORLD_FRAME_ID, FrameId, GeometryId, SourceId
from merganser.geometry.registration.properties import (
    GeometryProperties,
    GeometryVersion,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Role,
)
from merganser.geometry.registration.registered import GeometryInstance, canonical_name
from merganser.geometry.scene.collision_filters import GeometrySet
from merganser.geometry.scene.geometry_state import GeometryState
from merganser.geometry.shapes.bounding_boxes import CalcObb, Obb
from merganser.geometry.shapes.measures import has_hull, hull_of
from merganser.geometry.shapes.shape import Shape


class SceneGraphInspector:
    """Answers questions about sources, frames and geometries, as they are when asked.

    `SceneGraph.model_inspector()` looks at the model, `QueryObject.inspector()` at the copy of it in a
    Context. Every function raises a RuntimeError for an id that is not registered and a TypeError for an id
    of another kind.

    Args:
        get_state: returns the state to look at.
    """

    def __init__(self, get_state: Callable[[], GeometryState]) -> None:
        self._get_state = get_state

    # ------------------------------------------------------------------ how many, and which

    def num_sources(self) -> int:
        """The number of sources, the SceneGraph itself among them."""
        return len(self._get_state().sources)

    def num_frames(self) -> int:
        """The number of frames, the world frame among them."""
        return len(self._get_state().frames)

    def num_geometries(self) -> int:
        """The number of geometries."""
        return len(self._get_state().geometries)

    def world_frame_id(self) -> FrameId:
        """The id of the world frame."""
        return WORLD_FRAME_ID

    def GetAllSourceIds(self) -> list[SourceId]:
        """All sources, in the order of registration; the first is the SceneGraph itself."""
        return list(self._get_state().sources)

    def GetAllFrameIds(self) -> list[FrameId]:
        """All frames, in the order of registration; the first is the world frame."""
        return list(self._get_state().frames)

    def GetFrameIds(self) -> list[FrameId]:
        """All frames, in the order of registration; the same as `GetAllFrameIds`."""
        return self.GetAllFrameIds()

    def GetAllGeometryIds(self, role: Role | None = None) -> list[GeometryId]:
        """All geometries, or those that play a role, in the order of registration."""
        geometries = self._get_state().geometries.values()
        return [geometry.id for geometry in geometries if role is None or geometry.has_role(role)]

    def NumGeometriesWithRole(self, role: Role) -> int:
        """The number of geometries that play a role."""
        return len(self.GetAllGeometryIds(role))

    def NumDynamicGeometries(self) -> int:
        """The number of geometries that are fixed to another frame than the world's."""
        return self.num_geometries() - self.NumAnchoredGeometries()

    def NumAnchoredGeometries(self) -> int:
        """The number of geometries that are fixed to the world frame."""
        return self.NumGeometriesForFrame(WORLD_FRAME_ID)

    def geometry_version(self) -> GeometryVersion:
        """The version of the geometries of each role; copy it to compare it later."""
        return self._get_state().version

    # ------------------------------------------------------------------ sources

    def SourceIsRegistered(self, source_id: SourceId) -> bool:
        """Whether there is such a source."""
        return source_id in self._get_state().sources

    def NumFramesForSource(self, source_id: SourceId) -> int:
        """The number of frames that a source has registered."""
        return len(self._get_state().source(source_id).frame_ids)

    def FramesForSource(self, source_id: SourceId) -> set[FrameId]:
        """The frames that a source has registered."""
        return set(self._get_state().source(source_id).frame_ids)

    # ------------------------------------------------------------------ frames

    def BelongsToSource(
        self,
        frame_id: FrameId | GeometryId | None = None,
        source_id: SourceId | None = None,
        *,
        geometry_id: GeometryId | None = None,
    ) -> bool:
        """Whether a frame or geometry was registered by this source."""
        state = self._get_state()
        source = state.source(source_id)  # type: ignore[arg-type]
        item_id: Any = frame_id if geometry_id is None else geometry_id
        item = state.geometry(item_id) if isinstance(item_id, GeometryId) else state.frame(item_id)
        return item.source_id == source.id

    def GetOwningSourceName(
        self, frame_id: FrameId | GeometryId | None = None, *, geometry_id: GeometryId | None = None
    ) -> str:
        """The name of the source that registered a frame or geometry."""
        state = self._get_state()
        item_id: Any = frame_id if geometry_id is None else geometry_id
        item = state.geometry(item_id) if isinstance(item_id, GeometryId) else state.frame(item_id)
        return state.sources[item.source_id].name

    def GetName(
        self,
        frame_id: SourceId | FrameId | GeometryId | None = None,
        *,
        source_id: SourceId | None = None,
        geometry_id: GeometryId | None = None,
    ) -> str:
        """The name of a source, frame or geometry."""
        state = self._get_state()
        item_id: Any = next((id for id in (source_id, geometry_id) if id is not None), frame_id)
        if isinstance(item_id, SourceId):
            return state.source(item_id).name
        if isinstance(item_id, GeometryId):
            return state.geometry(item_id).name
        return state.frame(item_id).name

    def GetFrameGroup(self, frame_id: FrameId) -> int:
        """The group of a frame."""
        return self._get_state().frame(frame_id).group

    def GetParentFrame(self, frame_id: FrameId) -> FrameId:
        """The parent P of frame F, to which X_PF refers; the world frame is its own parent."""
        return self._get_state().frame(frame_id).parent_id

    def NumGeometriesForFrame(self, frame_id: FrameId) -> int:
        """The number of geometries fixed to a frame itself, not to the frames below it."""
        return len(self._get_state().frame(frame_id).geometry_ids)

    def NumGeometriesForFrameWithRole(self, frame_id: FrameId, role: Role) -> int:
        """The number of geometries fixed to a frame itself that play a role."""
        return len(self._get_state().geometries_of_frame(frame_id, role))

    def GetGeometries(self, frame_id: FrameId, role: Role | None = None) -> list[GeometryId]:
        """The geometries fixed to a frame itself, or those of them that play a role, in order."""
        return [geometry.id for geometry in self._get_state().geometries_of_frame(frame_id, role)]

    def GetGeometryIdByName(self, frame_id: FrameId, role: Role, name: str) -> GeometryId:
        """The geometry of this frame, role and name, without the spaces and tabs around the name.

        Raises:
            RuntimeError: no geometry has it, or (possible only without a role) several.
        """
        state = self._get_state()
        name = canonical_name(name)
        named = state.frame(frame_id).named.get((role, name))
        if named is not None:
            return named
        geometries = state.geometries_of_frame(frame_id, role)
        found = [geometry.id for geometry in geometries if geometry.name == name]
        if len(found) == 1:
            return found[0]
        names = ", ".join(f"'{geometry.name}'" for geometry in geometries) or "none"
        raise RuntimeError(
            f"Frame '{state.frame(frame_id).name}' ({frame_id!r}) has {len(found) or 'no'} geometries "
            f"named '{name}' with the role {role.label()}; its geometries with that role: {names}."
        )

    # ------------------------------------------------------------------ sets and pairs

    def GetGeometryIds(self, geometry_set: GeometrySet, role: Role | None = None) -> set[GeometryId]:
        """The geometries of a set, those fixed to its frames among them, or those of all these that play a role."""
        return {geometry.id for geometry in self._get_state().geometries_in(geometry_set, role)}

    def CollisionFiltered(self, geometry_id1: GeometryId, geometry_id2: GeometryId) -> bool:
        """Whether two geometries never meet; see CollisionFilterManager.

        Raises:
            RuntimeError: one of them is not registered, or does not have the proximity role.
        """
        state = self._get_state()
        for geometry in (state.geometry(geometry_id1), state.geometry(geometry_id2)):
            if not geometry.has_role(Role.kProximity):
                raise RuntimeError(
                    f"CollisionFiltered(): geometry '{geometry.name}' ({geometry.id!r}) does not have the proximity "
                    "role. Give it ProximityProperties with AssignRole() first."
                )
        return state.filters.filtered(geometry_id1, geometry_id2)

    def GetCollisionCandidates(self) -> set[tuple[GeometryId, GeometryId]]:
        """All pairs of geometries that are not filtered; the smaller id comes first."""
        return set(self._get_state().proximity_layout().candidates())

    # ------------------------------------------------------------------ geometries

    def GetFrameId(self, geometry_id: GeometryId) -> FrameId:
        """The frame F to which geometry G is fixed."""
        return self._get_state().geometry(geometry_id).frame_id

    def GetPoseInFrame(self, geometry_id: GeometryId) -> RigidTransform:
        """The pose X_FG of geometry G in the frame F to which it is fixed."""
        return RigidTransform(self._get_state().geometry(geometry_id).X_FG)

    def GetShape(self, geometry_id: GeometryId) -> Shape:
        """The shape of a geometry."""
        return self._get_state().geometry(geometry_id).shape

    def GetConvexHull(self, geometry_id: GeometryId) -> PolygonSurfaceMesh | None:
        """The convex hull of a Mesh or Convex, in the geometry's frame G [m]; None for shapes that have no need of it.

        Raises:
            RuntimeError: the mesh cannot be read, or all its vertices lie on a line.
        """
        shape = self.GetShape(geometry_id)
        return hull_of(shape) if has_hull(shape) else None

    def GetObbInGeometryFrame(self, geometry_id: GeometryId) -> Obb | None:
        """A box around a geometry, in its frame G; None for a half space.

        Raises:
            RuntimeError: as for `GetConvexHull`.
        """
        return CalcObb(self.GetShape(geometry_id))

    def GetReferenceMesh(self, geometry_id: GeometryId) -> VolumeMesh | None:
        """The mesh of a deformable geometry at rest, in its frame G [m]; None for rigid ones."""
        return self._get_state().geometry(geometry_id).reference_mesh

    def maybe_get_hydroelastic_mesh(self, geometry_id: GeometryId) -> TriangleSurfaceMesh | VolumeMesh | None:
        """The mesh of a geometry in hydroelastic contact, in G; None if it has none, as a half space.

        The surface of a rigid geometry, the tetrahedra of a compliant one.

        Raises:
            RuntimeError: its hydroelastic properties are not fit for its shape.
        """
        geometry = self._get_state().geometry(geometry_id)
        properties = self.GetProximityProperties(geometry_id)
        if properties is None:
            return None
        from merganser.geometry.hydroelastic.representation import CompliantVolume, RigidSurface, make_representation

        name = f"Geometry '{geometry.name}' ({geometry_id!r})"
        representation = make_representation(geometry.shape, properties, name)
        if isinstance(representation, CompliantVolume):
            return representation.volume.mesh
        return representation.mesh if isinstance(representation, RigidSurface) else None

    def IsDeformableGeometry(self, geometry_id: GeometryId) -> bool:
        """Whether a geometry is deformable."""
        return self._get_state().geometry(geometry_id).reference_mesh is not None

    def GetAllDeformableGeometryIds(self) -> list[GeometryId]:
        """The deformable geometries, in the order of registration."""
        return [g.id for g in self._get_state().geometries.values() if g.reference_mesh is not None]

    def NumDeformableGeometriesWithRole(self, role: Role) -> int:
        """The number of deformable geometries that play a role."""
        geometries = self._get_state().geometries.values()
        return sum(g.reference_mesh is not None and g.has_role(role) for g in geometries)

    def GetProperties(self, geometry_id: GeometryId, role: Role) -> GeometryProperties | None:
        """The properties of a geometry in a role, for reading only, or None if it does not play that role."""
        return self._get_state().geometry(geometry_id).properties.get(role)

    def GetProximityProperties(self, geometry_id: GeometryId) -> ProximityProperties | None:
        """The proximity properties of a geometry, for reading only, or None if it has none."""
        return self.GetProperties(geometry_id, Role.kProximity)  # type: ignore[return-value]

    def GetIllustrationProperties(self, geometry_id: GeometryId) -> IllustrationProperties | None:
        """The illustration properties of a geometry, for reading only, or None if it has none."""
        return self.GetProperties(geometry_id, Role.kIllustration)  # type: ignore[return-value]

    def GetPerceptionProperties(self, geometry_id: GeometryId) -> PerceptionProperties | None:
        """The perception properties of a geometry, for reading only, or None if it has none."""
        return self.GetProperties(geometry_id, Role.kPerception)  # type: ignore[return-value]

    def CloneGeometryInstance(self, geometry_id: GeometryId) -> GeometryInstance:
        """A geometry, ready to be registered again: the same in everything but its id."""
        geometry = self._get_state().geometry(geometry_id)
        instance = GeometryInstance(geometry.X_FG, geometry.shape, geometry.name)
        for properties in geometry.properties.values():
            instance.set_properties(copy.copy(properties))
        return instance


def rigid_geometries(inspector: SceneGraphInspector, frame_id: FrameId, role: Role) -> list[GeometryId]:
    """The geometries of a frame and role that are drawn where the frame is: not deformable ones."""
    return [id for id in inspector.GetGeometries(frame_id, role) if not inspector.IsDeformableGeometry(id)]
