"""Geometry of a plant: frames and shapes that it registers with a SceneGraph."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial as add_contact_material
from merganser.geometry import (
    FrameId,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    GeometrySet,
    IllustrationProperties,
    MakePhongIllustrationProperties,
    ProximityProperties,
    SceneGraph,
    Shape,
    SourceId,
)
from merganser.geometry.collision_filters import declaration_for_bodies
from merganser.multibody.plant.coulomb_friction import CoulombFriction
from merganser.multibody.plant.names import PlantNames
from merganser.multibody.tree import (
    QuaternionFloatingJoint,
    RigidBody,
    SpatialInertia,
    WeldJoint,
    default_model_instance,
)
from merganser.multibody.tree.connected_groups import connected_groups

if TYPE_CHECKING:
    from merganser.multibody.plant.contact_settings import ContactChoices

__all__ = ["PlantGeometry"]


class PlantGeometry(PlantNames):
    """Frames of the bodies in a SceneGraph, and the shapes fixed to them."""

    _scene_graph: SceneGraph | None
    _source_id: SourceId | None
    _frame_ids: dict[int, FrameId]
    _visual_geometries: dict[int, list[GeometryId]]
    _collision_geometries: dict[int, list[GeometryId]]
    _choices: ContactChoices

    # ------------------------------------------------------------------ source and frames

    def RegisterAsSourceForSceneGraph(self, scene_graph: SceneGraph) -> SourceId:
        """Registers the plant as a source of geometry, with a frame for every body; returns its id.

        Raises:
            RuntimeError: the plant is registered already, or finalized; or another source of the SceneGraph
                has the plant's name.
            TypeError: the argument is not a SceneGraph.
        """
        if not isinstance(scene_graph, SceneGraph):
            raise TypeError(f"RegisterAsSourceForSceneGraph() takes a SceneGraph, got {type(scene_graph).__name__}.")
        if self._source_id is not None:
            raise RuntimeError(f"Plant '{self.GetSystemPathname()}' is registered with a SceneGraph already.")
        self._tree._check_not_finalized("RegisterAsSourceForSceneGraph")
        self._source_id = scene_graph.RegisterSource(self.get_name())
        self._scene_graph = scene_graph
        self._frame_ids[self._tree.world_body().index()] = scene_graph.world_frame_id()
        for body in self._tree.bodies:
            if body is not self._tree.world_body():
                self._register_frame(body)
        return self._source_id

    def geometry_source_is_registered(self) -> bool:
        """Returns whether the plant is registered with a SceneGraph."""
        return self._source_id is not None

    def get_source_id(self) -> SourceId | None:
        """Returns the plant's id as a source of geometry; None if it is not registered."""
        return self._source_id

    def AddRigidBody(
        self,
        name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> RigidBody:
        """Adds a body with its body frame; arguments and errors as MultibodyTree.AddRigidBody."""
        body = super().AddRigidBody(name, model_instance, M_BBo_B)
        if self._scene_graph is not None:
            self._register_frame(body)
        return body

    def RenameModelInstance(self, model_instance: int, name: str) -> None:
        """Changes the name of a model instance, also in the names of its frames and shapes in the SceneGraph.

        Raises:
            RuntimeError: there is no such instance, the name is taken, or after Finalize().
        """
        old = self._scoped_name(model_instance, "")
        super().RenameModelInstance(model_instance, name)
        if self._scene_graph is None:
            return
        inspector = self._scene_graph.model_inspector()
        for body in self._tree.bodies.in_instance(model_instance):
            if body is not self._tree.world_body():
                self._scene_graph.RenameFrame(
                    self._frame_ids[body.index()], self._scoped_name(model_instance, body.name())
                )
            for ids in (self._visual_geometries, self._collision_geometries):
                for geometry_id in ids.get(body.index(), []):
                    base_name = inspector.GetName(geometry_id).removeprefix(old)
                    self._scene_graph.RenameGeometry(geometry_id, self._scoped_name(model_instance, base_name))

    def _register_frame(self, body: RigidBody) -> None:
        assert self._scene_graph is not None and self._source_id is not None
        frame = GeometryFrame(self._scoped_name(body.model_instance(), body.name()), int(body.model_instance()))
        self._frame_ids[body.index()] = self._scene_graph.RegisterFrame(self._source_id, frame)

    def _scoped_name(self, model_instance: int, name: str) -> str:
        """instance::name, or just the name in the model instances that every plant has."""
        instance = self._tree.GetModelInstanceName(model_instance)
        return f"{instance}::{name}" if model_instance > default_model_instance() else name

    def GetBodyFrameIdIfExists(self, body_index: int) -> FrameId | None:
        """Returns the frame that the SceneGraph has for a body, if there is one."""
        return self._frame_ids.get(body_index)

    def GetBodyFrameIdOrThrow(self, body_index: int) -> FrameId:
        """Returns the frame that the SceneGraph has for a body.

        Raises:
            RuntimeError: there is no such body, or the plant is not registered with a SceneGraph.
        """
        frame_id = self._frame_ids.get(body_index)
        if frame_id is None:
            name = self._tree.get_body(body_index).name()
            raise RuntimeError(f"Body '{name}' has no geometry frame: the plant is not registered with a SceneGraph.")
        return frame_id

    def GetBodyFromFrameId(self, frame_id: FrameId) -> RigidBody | None:
        """Returns the body to which a frame of the SceneGraph belongs, None for a frame of another source."""
        for index, known in self._frame_ids.items():
            if known == frame_id:
                return self._tree.get_body(index)
        return None

    # ------------------------------------------------------------------ shapes

    def RegisterVisualGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform | None = None,
        shape: Shape | None = None,
        name: str | None = None,
        diffuse_color: Any = None,
        properties: IllustrationProperties | None = None,
        *,
        geometry_instance: GeometryInstance | None = None,
    ) -> GeometryId:
        """Registers a geometry for drawing, fixed to a body.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the visual geometries of the body.
            diffuse_color: red, green, blue, alpha, each from 0 to 1; or
            properties: illustration properties.
            geometry_instance: in place of all the others but the body, a geometry with its pose, name and
                perhaps properties; it may also be the second argument by position.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized; the name is taken.
            TypeError: other arguments.
        """
        if isinstance(X_BG, GeometryInstance):
            X_BG, geometry_instance = None, X_BG
        if isinstance(diffuse_color, IllustrationProperties):
            diffuse_color, properties = None, diffuse_color
        if geometry_instance is None:
            if X_BG is None or shape is None or name is None:
                raise TypeError("RegisterVisualGeometry() takes (body, X_BG, shape, name, diffuse_color).")
            geometry_instance = GeometryInstance(X_BG, shape, name)
            if properties is None and diffuse_color is not None:
                properties = MakePhongIllustrationProperties(diffuse_color)
        elif any(part is not None for part in (X_BG, shape, name, diffuse_color, properties)):
            raise TypeError("RegisterVisualGeometry(): a geometry_instance has all that belongs to it.")
        geometry_instance = copy.copy(geometry_instance)
        if properties is not None:
            geometry_instance.set_illustration_properties(properties)
        elif not geometry_instance.properties():
            geometry_instance.set_illustration_properties(IllustrationProperties())
        return self._register("RegisterVisualGeometry", body, geometry_instance, self._visual_geometries)

    def RegisterCollisionGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        shape: Shape,
        name: str,
        properties: ProximityProperties | CoulombFriction | None = None,
        *,
        coulomb_friction: CoulombFriction | None = None,
    ) -> GeometryId:
        """Registers a geometry for contact, fixed to a body.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the collision geometries of the body.
            properties: proximity properties, or a CoulombFriction; or
            coulomb_friction: friction alone.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized; the name is taken.
            TypeError: neither properties nor friction are given, or both.
        """
        if (properties is None) == (coulomb_friction is None):
            raise TypeError("RegisterCollisionGeometry() takes either properties or coulomb_friction.")
        if not isinstance(properties, ProximityProperties):
            friction = coulomb_friction if properties is None else properties
            properties = ProximityProperties()
            add_contact_material(properties, friction=friction)
        geometry = GeometryInstance(X_BG, shape, name)
        geometry.set_proximity_properties(properties)
        return self._register("RegisterCollisionGeometry", body, geometry, self._collision_geometries)

    def _register(
        self, caller: str, body: RigidBody, geometry: GeometryInstance, kind: dict[int, list[GeometryId]]
    ) -> GeometryId:
        self._tree._check_not_finalized(caller)
        self._tree._check_mine(caller, f"geometry '{geometry.name()}'", body)
        if self._scene_graph is None or self._source_id is None:
            raise RuntimeError(
                f"{caller}(): geometry '{geometry.name()}' of body '{body.name()}' needs a SceneGraph. Make "
                "the plant with AddMultibodyPlantSceneGraph(), or call RegisterAsSourceForSceneGraph() first."
            )
        geometry.set_name(self._scoped_name(body.model_instance(), geometry.name()))
        frame_id = self._frame_ids[body.index()]
        geometry_id = self._scene_graph.RegisterGeometry(self._source_id, frame_id, geometry)
        kind.setdefault(body.index(), []).append(geometry_id)
        return geometry_id

    def GetVisualGeometriesForBody(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for drawing a body."""
        return list(self._visual_geometries.get(body.index(), []))

    def GetCollisionGeometriesForBody(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for contact with a body."""
        return list(self._collision_geometries.get(body.index(), []))

    def num_collision_geometries(self) -> int:
        """Returns the number of geometries registered for contact."""
        return sum(len(ids) for ids in self._collision_geometries.values())

    def num_visual_geometries(self) -> int:
        """Returns the number of geometries registered for drawing."""
        return sum(len(ids) for ids in self._visual_geometries.values())

    # ------------------------------------------------------------------ collision filters

    def CollectRegisteredGeometries(self, bodies: Iterable[RigidBody]) -> GeometrySet:
        """Returns all geometries fixed to some bodies, for use in a CollisionFilterDeclaration.

        Raises:
            RuntimeError: the plant is not registered with a SceneGraph.
            TypeError: something else than bodies of this plant is given.
        """
        bodies = list(bodies)
        for body in bodies:
            self._tree._check_mine("CollectRegisteredGeometries", "the set", body)
        return GeometrySet(frame_ids=[self.GetBodyFrameIdOrThrow(body.index()) for body in bodies])

    def _apply_default_collision_filters(self) -> None:
        """Filters collisions of bodies that are welded together and, if so chosen, of those that a joint connects.

        A joint does not count if its parent is the world, or if it is a QuaternionFloatingJoint.
        """
        if self._scene_graph is None:
            return
        world, joints = self._tree.world_body(), list(self._tree.joints)
        adjacent = [
            (self._frame_ids[joint.parent_body().index()], self._frame_ids[joint.child_body().index()])
            for joint in joints
            if joint.parent_body() is not world and not isinstance(joint, QuaternionFloatingJoint)
        ]
        welds = [(j.parent_body().index(), j.child_body().index()) for j in joints if isinstance(j, WeldJoint)]
        welded = [[self._frame_ids[index] for index in group] for group in connected_groups(welds)]
        if not self._choices.filters_adjacent_bodies:
            adjacent = []
        self._scene_graph.collision_filter_manager().Apply(declaration_for_bodies(welded, adjacent))
