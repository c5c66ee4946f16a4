"""GeometryState: all that a SceneGraph knows about sources, frames and geometries, save where the frames are.

A source owns frames and geometries. Frames form a tree below the world frame W; a frame's parent belongs to
the same source, or is W. A geometry G is fixed to one frame F (anchored, if that is W), at X_FG, and may play
several roles.

Every function that changes the state checks everything first, so that a refused call changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from merganser.framework.core.values.plain_values import Loading
from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import (
    INTERNAL_SOURCE_ID,
    WORLD_FRAME_ID,
    FilterId,
    FrameId,
    GeometryId,
    SourceId,
)
from merganser.geometry.registration.properties import (
    GeometryProperties,
    GeometryVersion,
    ProximityProperties,
    Role,
    RoleAssign,
)
from merganser.geometry.registration.registered import (
    GeometryFrame,
    GeometryInstance,
    canonical_name,
    checked_pose,
    checked_shape,
)
from merganser.geometry.scene.collision_filters import (
    CollisionFilterDeclaration,
    CollisionFilters,
    GeometrySet,
    Statement,
)
from merganser.geometry.scene.plain_state import ids_of, put_records, records_of
from merganser.geometry.scene.pose_layout import PoseLayout
from merganser.geometry.scene.proximity_layout import ProximityLayout
from merganser.geometry.scene.renderers import Renderers
from merganser.geometry.scene.scene_graph_config import SceneGraphConfig, default_values, with_defaults
from merganser.geometry.shapes import Convex, Mesh, Shape

if TYPE_CHECKING:
    from merganser.geometry.meshes import VolumeMesh
    from merganser.geometry.rendering.render_engine import RenderEngine

_WORLD_FRAME_GROUP = -1234567  # pydrake's number for the world frame, which no model instance has
Id = TypeVar("Id", SourceId, FrameId, GeometryId)
Record = TypeVar("Record")


@dataclass(slots=True)
class Source:
    """A geometry source and what it owns."""

    id: SourceId
    name: str
    frame_ids: list[FrameId] = field(default_factory=list)
    frame_names: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Frame:
    """A frame F.

    Attributes:
        geometry_ids: of its geometries, in the order of registration.
        named: its geometries by role and name, which are unique among those that share a role.
    """

    id: FrameId
    source_id: SourceId
    parent_id: FrameId
    name: str
    group: int
    geometry_ids: dict[GeometryId, None] = field(default_factory=dict)
    named: dict[tuple[Role, str], GeometryId] = field(default_factory=dict)


@dataclass(slots=True)
class Geometry:
    """A geometry G, fixed to a frame F, or a deformable one, whose vertices a source gives.

    Attributes:
        resolution_hint: of a deformable geometry, see `SceneGraph.RegisterDeformableGeometry`; else None.
        reference_mesh: of a deformable geometry at rest, in G; else None.
    """

    id: GeometryId
    source_id: SourceId
    frame_id: FrameId
    name: str
    shape: Shape
    X_FG: RigidTransform
    properties: dict[Role, GeometryProperties] = field(default_factory=dict)
    resolution_hint: float | None = None
    reference_mesh: VolumeMesh | None = None

    def has_role(self, role: Role) -> bool:
        """Whether the geometry plays this role; it has the role kUnassigned if it has no other."""
        return not self.properties if role == Role.kUnassigned else role in self.properties

    def frame_of_motion(self) -> FrameId | None:
        """The frame that it moves with; None if it is deformable."""
        return self.frame_id if self.reference_mesh is None else None

    def is_seen(self) -> bool:
        """Whether cameras see it."""
        return Role.kPerception in self.properties


class GeometryState:
    """Sources, frames and geometries, each kind in the order of registration.

    Attributes:
        sources: by id; the first is the SceneGraph itself, owner of the world frame.
        frames: by id; the first is the world frame, and parents come before their children.
        geometries: by id.
        version: changes with the geometries of each role.
        filters: which geometries of the proximity role never meet.
        renderers: what makes images of the geometries of the perception role.
        config: what `default_properties` follow from.
        default_properties: proximity properties, by group and name, that a geometry gets with the role if it has
            none of its own; a model has none, a Context those of its SceneGraphConfig.
    """

    def __init__(self) -> None:
        self.sources: dict[SourceId, Source] = {}
        self.frames: dict[FrameId, Frame] = {}
        self.geometries: dict[GeometryId, Geometry] = {}
        self.version = GeometryVersion()
        self.filters = CollisionFilters()
        self.renderers = Renderers()
        self.config = SceneGraphConfig()
        self.default_properties: dict[tuple[str, str], Any] = {}
        # Each holds one layout or none, and is shared with the copies of this state until one of them changes.
        self._pose_layouts: list[PoseLayout] = []
        self._proximity_layouts: list[ProximityLayout] = []
        self.sources[INTERNAL_SOURCE_ID] = Source(INTERNAL_SOURCE_ID, "SceneGraphInternal")
        self._add_frame(Frame(WORLD_FRAME_ID, INTERNAL_SOURCE_ID, WORLD_FRAME_ID, "world", _WORLD_FRAME_GROUP))

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometryState:
        """Copies the records; shapes, poses and looks are never changed in place, so they are shared.

        Every new Context does this: 0.4 ms for 60 geometries with properties; a plain deep copy takes 1.1.
        """
        clone = GeometryState.__new__(GeometryState)
        clone.sources = {
            id: replace(s, frame_ids=list(s.frame_ids), frame_names=set(s.frame_names))
            for id, s in self.sources.items()
        }
        clone.frames = {
            id: replace(f, geometry_ids=dict(f.geometry_ids), named=dict(f.named)) for id, f in self.frames.items()
        }
        clone.geometries = {
            id: replace(
                g, properties={role: copy.copy(p) if role == Role.kProximity else p for role, p in g.properties.items()}
            )
            for id, g in self.geometries.items()
        }
        clone.version = GeometryVersion(self.version)
        clone.filters = copy.deepcopy(self.filters)
        clone.renderers = copy.deepcopy(self.renderers)
        clone.config, clone.default_properties = self.config, self.default_properties
        clone._pose_layouts = self._pose_layouts
        clone._proximity_layouts = self._proximity_layouts
        return clone

    # ------------------------------------------------------------------ files

    def _plain_state(self) -> list[Any]:
        return [ids_of(self), records_of(self)]

    def _set_plain_state(self, state: Any, loading: Loading) -> None:
        ids, records = state
        put_records(self, ids, records, loading)

    # ------------------------------------------------------------------ looking things up

    def source(self, source_id: SourceId) -> Source:
        """Returns a source; raises RuntimeError if it is unknown, TypeError if this is no SourceId."""
        return _find(self.sources, source_id, SourceId, "source")

    def frame(self, frame_id: FrameId) -> Frame:
        """Returns a frame; raises RuntimeError if it is unknown, TypeError if this is no FrameId."""
        return _find(self.frames, frame_id, FrameId, "frame")

    def geometry(self, geometry_id: GeometryId) -> Geometry:
        """Returns a geometry; raises RuntimeError if it is unknown, TypeError if this is no GeometryId."""
        return _find(self.geometries, geometry_id, GeometryId, "geometry")

    def geometries_of_frame(self, frame_id: FrameId, role: Role | None = None) -> list[Geometry]:
        """Returns the geometries fixed to a frame, or only those that play a role."""
        geometries = (self.geometries[geometry_id] for geometry_id in self.frame(frame_id).geometry_ids)
        return [geometry for geometry in geometries if role is None or geometry.has_role(role)]

    def pose_layout(self) -> PoseLayout:
        """Returns the frame tree as arrays, for computing poses."""
        if not self._pose_layouts:
            self._pose_layouts.append(PoseLayout(self))
        return self._pose_layouts[0]

    def proximity_layout(self) -> ProximityLayout:
        """Returns the geometries of the proximity role as arrays; another object after every change of them."""
        if not self._proximity_layouts:
            self._proximity_layouts.append(ProximityLayout.of(self))
        return self._proximity_layouts[0]

    def geometries_in(self, geometry_set: GeometrySet, role: Role | None = None) -> list[Geometry]:
        """Returns the geometries of a set, or those of them that play a role.

        Raises:
            RuntimeError: the set names a geometry or a frame that is not registered.
        """
        if not isinstance(geometry_set, GeometrySet):
            raise TypeError(f"A GeometrySet was expected; given {geometry_set!r}.")
        ids = {id: None for frame_id in geometry_set.frame_ids() for id in self.frame(frame_id).geometry_ids}
        ids.update((id, None) for id in geometry_set.geometry_ids())
        geometries = (self.geometry(id) for id in ids)
        return [geometry for geometry in geometries if role is None or geometry.has_role(role)]

    # ------------------------------------------------------------------ sources and frames

    def new_source_name(self, source_id: SourceId, name: str) -> str:
        """Returns the name that a new source will have: `name`, or one made from its id if that is empty.

        Raises:
            RuntimeError: another source has this name.
        """
        name = name or f"Source_{source_id.get_value()}"
        if any(source.name == name for source in self.sources.values()):
            raise RuntimeError(f"A geometry source named '{name}' is registered already; sources need unique names.")
        return name

    def register_source(self, source_id: SourceId, name: str) -> None:
        """Adds a source; see `new_source_name`."""
        self.sources[source_id] = Source(source_id, self.new_source_name(source_id, name))

    def register_frame(self, source_id: SourceId, parent_id: FrameId, frame: GeometryFrame) -> FrameId:
        """Adds frame F below frame P; see `SceneGraph.RegisterFrame`."""
        source = self.source(source_id)
        if not isinstance(frame, GeometryFrame):
            raise TypeError(f"RegisterFrame() takes a GeometryFrame; given {frame!r}.")
        self._require_frame_of_source(parent_id, source)
        if frame.id() in self.frames:
            raise RuntimeError(f"Frame '{frame.name()}' ({frame.id()!r}) is registered already; make a new one.")
        self._require_new_frame_name(source, frame.name())
        self._add_frame(Frame(frame.id(), source_id, parent_id, frame.name(), frame.frame_group()))
        return frame.id()

    def rename_frame(self, frame_id: FrameId, name: str) -> None:
        """See `SceneGraph.RenameFrame`."""
        frame = self.frame(frame_id)
        if not isinstance(name, str):
            raise TypeError(f"The name of a frame must be a string; given {name!r}.")
        if name != frame.name:
            source = self.sources[frame.source_id]
            self._require_new_frame_name(source, name)
            source.frame_names.remove(frame.name)
            source.frame_names.add(name)
            frame.name = name

    def _add_frame(self, frame: Frame) -> None:
        self.frames[frame.id] = frame
        source = self.sources[frame.source_id]
        source.frame_ids.append(frame.id)
        source.frame_names.add(frame.name)
        self._pose_layouts, self._proximity_layouts = [], []

    def forget_from(self, num_frames: int, num_geometries: int) -> None:
        """Takes out all frames and geometries but the oldest ones, of which there are so many."""
        for geometry in list(self.geometries.values())[num_geometries:]:
            self.remove_geometry(geometry.source_id, geometry.id)
        for frame in list(self.frames.values())[num_frames:]:
            source = self.sources[frame.source_id]
            source.frame_ids.remove(frame.id)
            source.frame_names.remove(frame.name)
            del self.frames[frame.id]
        self._note_change(())

    # ------------------------------------------------------------------ geometries

    def register_deformable_geometry(
        self, source_id: SourceId, frame_id: FrameId, geometry: GeometryInstance, resolution_hint: float
    ) -> GeometryId:
        """Adds a deformable geometry to the world frame; see `SceneGraph.RegisterDeformableGeometry`."""
        if frame_id != WORLD_FRAME_ID:
            raise RuntimeError(
                f"Deformable geometries belong to the world frame; given {frame_id!r}, frame "
                f"'{self.frame(frame_id).name}'. Pass SceneGraph.world_frame_id()."
            )
        if not isinstance(geometry, GeometryInstance):
            raise TypeError(f"A GeometryInstance was expected; given {geometry!r}.")
        from merganser.geometry.deformable.moving_meshes import make_reference_mesh

        mesh = make_reference_mesh(geometry.shape(), resolution_hint)
        return self.register_geometry(source_id, frame_id, geometry, float(resolution_hint), mesh)

    def register_geometry(
        self,
        source_id: SourceId,
        frame_id: FrameId,
        geometry: GeometryInstance,
        resolution_hint: float | None = None,
        reference_mesh: VolumeMesh | None = None,
    ) -> GeometryId:
        """Adds geometry G to frame F; see `SceneGraph.RegisterGeometry`. Deformable ones have a hint and a mesh."""
        source = self.source(source_id)
        frame = self._require_frame_of_source(frame_id, source)
        if not isinstance(geometry, GeometryInstance):
            raise TypeError(f"A GeometryInstance was expected; given {geometry!r}.")
        id, name = geometry.id(), geometry.name()
        if id in self.geometries:
            raise RuntimeError(f"Geometry '{name}' ({id!r}) is registered already; make a new one.")
        given = copy.copy(geometry)
        properties = given.properties()
        for role in properties:
            self._require_new_geometry_name(frame, role, name)
        if Role.kProximity in properties:
            self._require_collidable(name, given.shape())
        if Role.kProximity in properties and reference_mesh is None:
            with_defaults(given.proximity_properties(), self.default_properties)  # type: ignore[arg-type]
        record = Geometry(
            id, source_id, frame_id, name, given.shape(), given.pose(), properties, resolution_hint, reference_mesh
        )
        if record.is_seen():
            self.renderers.register(record)
        if Role.kProximity in properties:
            self.filters.add(id, record.frame_of_motion())
        self.geometries[id] = record
        frame.geometry_ids[id] = None
        frame.named.update(((role, name), id) for role in properties)
        self._note_change(properties)
        return id

    def remove_geometry(self, source_id: SourceId, geometry_id: GeometryId) -> None:
        """See `SceneGraph.RemoveGeometry`."""
        geometry = self._require_geometry_of_source(geometry_id, source_id)
        if geometry.has_role(Role.kProximity):
            self.filters.remove(geometry_id)
        self.renderers.forget(geometry_id)
        del self.geometries[geometry_id]
        frame = self.frames[geometry.frame_id]
        del frame.geometry_ids[geometry_id]
        for role in geometry.properties:
            del frame.named[role, geometry.name]
        self._note_change(geometry.properties)

    def rename_geometry(self, geometry_id: GeometryId, name: str) -> None:
        """See `SceneGraph.RenameGeometry`."""
        geometry = self.geometry(geometry_id)
        name = canonical_name(name)
        if name != geometry.name:
            frame = self.frames[geometry.frame_id]
            for role in geometry.properties:
                self._require_new_geometry_name(frame, role, name)
            for role in geometry.properties:
                frame.named[role, name] = frame.named.pop((role, geometry.name))
            geometry.name = name

    def change_shape(
        self, source_id: SourceId, geometry_id: GeometryId, shape: Shape, X_FG: RigidTransform | None = None
    ) -> None:
        """See `SceneGraph.ChangeShape`."""
        geometry = self._require_geometry_of_source(geometry_id, source_id)
        new_shape = checked_shape(geometry.name, shape)
        if geometry.has_role(Role.kProximity):
            _require_mesh_file(geometry.name, new_shape)
        new_X_FG = geometry.X_FG if X_FG is None else checked_pose(geometry.name, X_FG)
        if geometry.reference_mesh is not None:
            raise RuntimeError(
                f"ChangeShape(): geometry '{geometry.name}' ({geometry_id!r}) is deformable. Remove it, and register "
                "another one."
            )
        if geometry.is_seen():
            self.renderers.replace(geometry, replace(geometry, shape=new_shape, X_FG=new_X_FG))
        geometry.shape, geometry.X_FG = new_shape, new_X_FG
        self._note_change(geometry.properties)

    # ------------------------------------------------------------------ roles

    def assign_role(
        self,
        source_id: SourceId,
        geometry_id: GeometryId,
        properties: GeometryProperties,
        assign: RoleAssign = RoleAssign.kNew,
    ) -> None:
        """See `SceneGraph.AssignRole`."""
        geometry = self._require_geometry_of_source(geometry_id, source_id)
        if not isinstance(properties, GeometryProperties):
            raise TypeError(f"AssignRole() takes GeometryProperties; given {properties!r}.")
        role = properties.role
        has_role = geometry.has_role(role)
        which = f"the {role.label()} role of geometry '{geometry.name}' ({geometry_id!r})"
        if assign == RoleAssign.kNew and has_role:
            raise RuntimeError(f"AssignRole(): {which} is assigned already. Pass RoleAssign.kReplace to replace it.")
        if assign == RoleAssign.kReplace and not has_role:
            raise RuntimeError(f"AssignRole(): {which} has no properties to replace. Pass RoleAssign.kNew first.")
        if not has_role:
            self._require_new_geometry_name(self.frames[geometry.frame_id], role, geometry.name)
        given = type(properties)(properties)
        if isinstance(given, ProximityProperties):
            if not has_role:
                self._require_collidable(geometry.name, geometry.shape)
                self.filters.add(geometry_id, geometry.frame_of_motion())
            if geometry.reference_mesh is None:
                with_defaults(given, self.default_properties)
        if role == Role.kPerception:
            changed = replace(geometry, properties={**geometry.properties, role: given})
            if geometry.is_seen():
                self.renderers.replace(geometry, changed)
            elif changed.is_seen():
                self.renderers.register(changed)
        geometry.properties[role] = given
        self.frames[geometry.frame_id].named[role, geometry.name] = geometry_id
        self._note_change([role])

    def remove_role(self, source_id: SourceId, item_id: FrameId | GeometryId, role: Role) -> int:
        """See `SceneGraph.RemoveRole`."""
        if isinstance(item_id, FrameId):
            source = self.source(source_id)
            self._require_frame_of_source(item_id, source)
            geometries = [g for g in self.geometries_of_frame(item_id, role) if g.source_id == source_id]
        else:
            geometry = self._require_geometry_of_source(item_id, source_id)
            geometries = [geometry] if geometry.has_role(role) else []
        if role == Role.kUnassigned or not geometries:
            return 0
        for geometry in geometries:
            if role == Role.kProximity:
                self.filters.remove(geometry.id)
            elif role == Role.kPerception:
                self.renderers.forget(geometry.id)
            del geometry.properties[role]
            del self.frames[geometry.frame_id].named[role, geometry.name]
        self._note_change([role])
        return len(geometries)

    def apply_config(self, config: SceneGraphConfig) -> None:
        """Adds the default properties where rigid geometries lack them, now and whenever one gets the role."""
        self.config, self.default_properties = config, default_values(config)
        for geometry in self.geometries.values():
            if geometry.has_role(Role.kProximity) and geometry.reference_mesh is None:
                with_defaults(geometry.properties[Role.kProximity], self.default_properties)  # type: ignore[arg-type]
        self._note_same_places()

    # ------------------------------------------------------------------ renderers

    def add_renderer(self, name: str, renderer: RenderEngine) -> None:
        """See `SceneGraph.AddRenderer`."""
        seen = [geometry for geometry in self.geometries.values() if geometry.is_seen()]
        if self.renderers.add(name, renderer, seen):
            self.version.note_change(Role.kPerception)

    def remove_renderer(self, name: str) -> None:
        """See `SceneGraph.RemoveRenderer`."""
        has_geometries = bool(self.renderers.engine(name).geometry_ids())
        self.renderers.remove(name)
        if has_geometries:
            self.version.note_change(Role.kPerception)

    # ------------------------------------------------------------------ collision filters

    def apply_filters(self, declaration: CollisionFilterDeclaration) -> None:
        """See `CollisionFilterManager.Apply`."""
        statements = self._statements("Apply", declaration)
        self._require_no_transient_filters("Apply(), which changes the persistent collision filters,")
        self.filters.apply(statements)
        self._note_same_places()

    def apply_transient_filters(self, declaration: CollisionFilterDeclaration) -> FilterId:
        """See `CollisionFilterManager.ApplyTransient`."""
        filter_id = self.filters.apply_transient(self._statements("ApplyTransient", declaration))
        self._note_same_places()
        return filter_id

    def remove_transient_filters(self, filter_id: FilterId) -> None:
        """See `CollisionFilterManager.RemoveDeclaration`; the declaration must be active."""
        self.filters.remove_transient(filter_id)
        self._note_same_places()

    def set_active(self, caller: str, geometry_set: GeometrySet, is_active: bool) -> None:
        """See `CollisionFilterManager.Activate` and `Deactivate`."""
        if not isinstance(geometry_set, GeometrySet):
            raise TypeError(f"{caller}() takes a GeometrySet; given {geometry_set!r}.")
        self.filters.set_active([g.id for g in self.geometries_in(geometry_set, Role.kProximity)], is_active)
        self._note_same_places()

    def _statements(self, caller: str, declaration: CollisionFilterDeclaration) -> list[Statement]:
        """The geometries of the proximity role that a declaration is about."""
        if not isinstance(declaration, CollisionFilterDeclaration):
            raise TypeError(f"{caller}() takes a CollisionFilterDeclaration; given {declaration!r}.")

        def ids(geometry_set: GeometrySet) -> list[GeometryId]:
            found = self.geometries_in(geometry_set, Role.kProximity)
            return [g.id for g in found if g.reference_mesh is None or not declaration._omits_deformable()]

        return [Statement(ids(set_A), ids(set_B), excludes) for set_A, set_B, excludes in declaration.statements()]

    # ------------------------------------------------------------------ helpers

    def _note_change(self, roles: Iterable[Role]) -> None:
        """A geometry with these roles has come, gone or changed."""
        self._pose_layouts, self._proximity_layouts = [], []
        for role in roles:
            self.version.note_change(role)

    def _note_same_places(self) -> None:
        """Geometries of the proximity role have changed in a way that leaves all of them where they are."""
        self._proximity_layouts = []
        self.version.note_change(Role.kProximity)

    def _require_collidable(self, name: str, shape: Shape) -> None:
        """What must hold before a geometry gets the proximity role."""
        _require_mesh_file(name, shape)
        self._require_no_transient_filters(f"Giving geometry '{name}' the proximity role")

    def _require_no_transient_filters(self, what: str) -> None:
        if self.filters.has_history():
            raise RuntimeError(
                f"{what} is not possible while transient collision filters are active. Call RemoveDeclaration() for "
                "each of them first."
            )

    def _require_frame_of_source(self, frame_id: FrameId, source: Source) -> Frame:
        """The frame, which must belong to the source or be the world frame."""
        frame = self.frame(frame_id)
        if frame_id != WORLD_FRAME_ID and frame.source_id != source.id:
            owner = self.sources[frame.source_id].name
            raise RuntimeError(
                f"Frame '{frame.name}' ({frame_id!r}) belongs to source '{owner}', not to source "
                f"'{source.name}' ({source.id!r})."
            )
        return frame

    def _require_geometry_of_source(self, geometry_id: GeometryId, source_id: SourceId) -> Geometry:
        geometry = self.geometry(geometry_id)
        source = self.source(source_id)
        if geometry.source_id != source_id:
            owner = self.sources[geometry.source_id].name
            raise RuntimeError(
                f"Geometry '{geometry.name}' ({geometry_id!r}) belongs to source '{owner}', not to source "
                f"'{source.name}' ({source_id!r})."
            )
        return geometry

    def _require_new_frame_name(self, source: Source, name: str) -> None:
        if name in source.frame_names:
            raise RuntimeError(
                f"Source '{source.name}' already has a frame named '{name}'; the names of a source's frames "
                "must be unique."
            )

    def _require_new_geometry_name(self, frame: Frame, role: Role, name: str) -> None:
        if (role, name) in frame.named:
            raise RuntimeError(
                f"Frame '{frame.name}' already has a geometry named '{name}' with the {role.label()} "
                "role; names must be unique among the geometries of a frame that share a role."
            )


def _require_mesh_file(name: str, shape: Shape) -> None:
    """The file of a mesh that will be collided with must be there; it is read when it is needed."""
    if isinstance(shape, (Mesh, Convex)):
        try:
            shape.source().require_contents()
        except RuntimeError as error:
            raise RuntimeError(f"Geometry '{name}' cannot have the proximity role. {error}") from error


def _find(records: dict[Id, Record], id: Id, expected: type[Id], kind: str) -> Record:
    if not isinstance(id, expected):
        raise TypeError(f"A {expected.__name__} was expected; given {id!r}.")
    record = records.get(id)
    if record is None:
        raise RuntimeError(f"There is no {kind} with id {id!r} in this SceneGraph.")
    return record
