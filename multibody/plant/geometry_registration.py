"""Geometry of a plant: frames and shapes that it registers with a SceneGraph, and their friction.

`all_or_nothing` adds elements and geometry together, or not at all.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from merganser.framework import LeafOutputPort
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
    PerceptionProperties,
    ProximityProperties,
    RenderLabel,
    SceneGraph,
    Shape,
    SourceId,
)
from merganser.geometry.registration.materials import CoulombFriction
from merganser.geometry.scene.collision_filters import declaration_for_bodies
from merganser.geometry.scene.scene_graph import forget_from
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.tree import (
    MultibodyTree,
    QuaternionFloatingJoint,
    RigidBody,
    SpatialInertia,
    WeldJoint,
    default_model_instance,
)
from merganser.multibody.tree.forest import connected_groups


class GeometryRegistration:
    """Frames of the bodies in a SceneGraph, and the shapes fixed to them.

    Args:
        model: of the plant.

    Attributes:
        scene_graph: where geometry is registered before Finalize(); None afterwards, when ports connect both.
        source_id: of the plant there; None if it is not registered.
        frame_ids: of the bodies, by BodyIndex.
        visual_geometries, collision_geometries: of the bodies that have some, by BodyIndex.
        pose_port: the port through which the poses of the frames go (outputs.py).
    """

    pose_port: LeafOutputPort

    def __init__(self, model: PlantModel) -> None:
        self._model, self._tree = model, model.tree
        self.scene_graph: SceneGraph | None = None
        self.source_id: SourceId | None = None
        self.frame_ids: dict[int, FrameId] = {}
        self.visual_geometries: dict[int, list[GeometryId]] = {}
        self.collision_geometries: dict[int, list[GeometryId]] = {}

    def share(self, other: GeometryRegistration) -> None:
        """Shares the geometry of another plant with the same bodies."""
        self.source_id, self.frame_ids = other.source_id, other.frame_ids
        self.visual_geometries, self.collision_geometries = other.visual_geometries, other.collision_geometries

    # ------------------------------------------------------------------ source and frames

    def register_as_source_for_scene_graph(self, scene_graph: SceneGraph) -> SourceId:
        """Registers the plant as a source of geometry, with a frame for every body; returns its id.

        Raises:
            RuntimeError: the plant is registered already, or finalized; or another source of the SceneGraph
                has the plant's name.
            TypeError: the argument is not a SceneGraph.
        """
        if not isinstance(scene_graph, SceneGraph):
            raise TypeError(f"RegisterAsSourceForSceneGraph() takes a SceneGraph, got {type(scene_graph).__name__}.")
        if self.source_id is not None:
            raise RuntimeError(f"Plant '{self._model.path()}' is registered with a SceneGraph already.")
        self._tree._check_not_finalized("RegisterAsSourceForSceneGraph")
        self.source_id = scene_graph.RegisterSource(self._model.system.get_name())
        self.scene_graph = scene_graph
        self.frame_ids[self._tree.world_body().index()] = scene_graph.world_frame_id()
        for body in self._tree.bodies:
            if body is not self._tree.world_body():
                self._register_frame(body)
        return self.source_id

    def geometry_source_is_registered(self) -> bool:
        """Returns whether the plant is registered with a SceneGraph."""
        return self.source_id is not None

    def get_source_id(self) -> SourceId | None:
        """Returns the plant's id as a source of geometry; None if it is not registered."""
        return self.source_id

    def add_rigid_body(
        self,
        name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> RigidBody:
        """Adds a body with its body frame; arguments and errors as MultibodyTree.AddRigidBody."""
        body = self._tree.AddRigidBody(name, model_instance, M_BBo_B)
        if self.scene_graph is not None:
            self._register_frame(body)
        return body

    def rename_model_instance(self, model_instance: int, name: str) -> None:
        """Changes the name of a model instance, also in the names of its frames and shapes in the SceneGraph.

        Raises:
            RuntimeError: there is no such instance, the name is taken, or after Finalize().
        """
        old = self._scoped_name(model_instance, "")
        self._tree.RenameModelInstance(model_instance, name)
        if self.scene_graph is None:
            return
        inspector = self.scene_graph.model_inspector()
        for body in self._tree.bodies.in_instance(model_instance):
            if body is not self._tree.world_body():
                self.scene_graph.RenameFrame(
                    self.frame_ids[body.index()], self._scoped_name(model_instance, body.name())
                )
            for ids in (self.visual_geometries, self.collision_geometries):
                for geometry_id in ids.get(body.index(), []):
                    base_name = inspector.GetName(geometry_id).removeprefix(old)
                    self.scene_graph.RenameGeometry(geometry_id, self._scoped_name(model_instance, base_name))

    def _register_frame(self, body: RigidBody) -> None:
        assert self.scene_graph is not None and self.source_id is not None
        frame = GeometryFrame(self._scoped_name(body.model_instance(), body.name()), int(body.model_instance()))
        self.frame_ids[body.index()] = self.scene_graph.RegisterFrame(self.source_id, frame)

    def _scoped_name(self, model_instance: int, name: str) -> str:
        """instance::name, or just the name in the model instances that every plant has."""
        instance = self._tree.GetModelInstanceName(model_instance)
        return f"{instance}::{name}" if model_instance > default_model_instance() else name

    def get_body_frame_id_if_exists(self, body_index: int) -> FrameId | None:
        """Returns the frame that the SceneGraph has for a body, if there is one."""
        return self.frame_ids.get(body_index)

    def get_body_frame_id_or_throw(self, body_index: int) -> FrameId:
        """Returns the frame that the SceneGraph has for a body.

        Raises:
            RuntimeError: there is no such body, or the plant is not registered with a SceneGraph.
        """
        frame_id = self.frame_ids.get(body_index)
        if frame_id is None:
            name = self._tree.get_body(body_index).name()
            raise RuntimeError(f"Body '{name}' has no geometry frame: the plant is not registered with a SceneGraph.")
        return frame_id

    def get_body_from_frame_id(self, frame_id: FrameId) -> RigidBody | None:
        """Returns the body to which a frame of the SceneGraph belongs, None for a frame of another source."""
        for index, known in self.frame_ids.items():
            if known == frame_id:
                return self._tree.get_body(index)
        return None

    # ------------------------------------------------------------------ shapes

    def register_visual_geometry(
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
        """Registers a geometry for people and cameras to see, fixed to a body.

        It gets the illustration and the perception role, unless a `geometry_instance` has one of them already; then
        it has those that it has. In label images it has the number of the body, unless it has a `('label', 'id')`.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the visual geometries of the body.
            diffuse_color: red, green, blue, alpha, each from 0 to 1; or
            properties: illustration properties, which are perception properties, too.
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
        roles = geometry_instance.illustration_properties(), geometry_instance.perception_properties()
        if properties is None and all(role is None for role in roles):
            properties = IllustrationProperties()
        if properties is not None:
            geometry_instance.set_illustration_properties(properties)
            geometry_instance.set_perception_properties(PerceptionProperties(properties))
        perception = geometry_instance.mutable_perception_properties()
        if perception is not None and not perception.HasProperty("label", "id"):
            index = int(body.index())
            label = RenderLabel(index) if index <= RenderLabel.kMaxUnreserved else RenderLabel.kDontCare
            perception.AddProperty("label", "id", label)
        return self._register("RegisterVisualGeometry", body, geometry_instance, self.visual_geometries)

    def register_collision_geometry(
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
        return self._register("RegisterCollisionGeometry", body, geometry, self.collision_geometries)

    def _register(
        self, caller: str, body: RigidBody, geometry: GeometryInstance, kind: dict[int, list[GeometryId]]
    ) -> GeometryId:
        self._tree._check_not_finalized(caller)
        self._tree._check_mine(caller, f"geometry '{geometry.name()}'", body)
        if self.scene_graph is None or self.source_id is None:
            raise RuntimeError(
                f"{caller}(): geometry '{geometry.name()}' of body '{body.name()}' needs a SceneGraph. Make "
                "the plant with AddMultibodyPlantSceneGraph(), or call RegisterAsSourceForSceneGraph() first."
            )
        geometry.set_name(self._scoped_name(body.model_instance(), geometry.name()))
        frame_id = self.frame_ids[body.index()]
        geometry_id = self.scene_graph.RegisterGeometry(self.source_id, frame_id, geometry)
        kind.setdefault(body.index(), []).append(geometry_id)
        return geometry_id

    def register_deformable(
        self, geometry: GeometryInstance, model_instance: int, resolution_hint: float
    ) -> GeometryId:
        """Registers the geometry of a deformable body; the plant must have a SceneGraph, and not be finalized."""
        assert self.scene_graph is not None and self.source_id is not None
        scoped = copy.copy(geometry)
        scoped.set_name(f"{self._tree.GetModelInstanceName(model_instance)}::{geometry.name()}")
        world = self.scene_graph.world_frame_id()
        return self.scene_graph.RegisterDeformableGeometry(self.source_id, world, scoped, resolution_hint)

    def forget_deformable(self, geometry_id: GeometryId) -> None:
        """Removes the geometry of a body whose registration failed."""
        assert self.scene_graph is not None and self.source_id is not None
        self.scene_graph.RemoveGeometry(self.source_id, geometry_id)

    def get_visual_geometries_for_body(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for drawing a body."""
        return list(self.visual_geometries.get(body.index(), []))

    def get_collision_geometries_for_body(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for contact with a body."""
        return list(self.collision_geometries.get(body.index(), []))

    def num_collision_geometries(self) -> int:
        """Returns the number of geometries registered for contact."""
        return sum(len(ids) for ids in self.collision_geometries.values())

    def num_visual_geometries(self) -> int:
        """Returns the number of geometries registered for drawing."""
        return sum(len(ids) for ids in self.visual_geometries.values())

    # ------------------------------------------------------------------ collision filters

    def collect_registered_geometries(self, bodies: Iterable[RigidBody]) -> GeometrySet:
        """Returns all geometries fixed to some bodies, for use in a CollisionFilterDeclaration.

        Raises:
            RuntimeError: the plant is not registered with a SceneGraph.
            TypeError: something else than bodies of this plant is given.
        """
        bodies = list(bodies)
        for body in bodies:
            self._tree._check_mine("CollectRegisteredGeometries", "the set", body)
        return GeometrySet(frame_ids=[self.get_body_frame_id_or_throw(body.index()) for body in bodies])

    def finish(self, filters_adjacent_bodies: bool) -> None:
        """Filters collisions of bodies that are welded together and, if wanted, of those that a joint connects.

        Nothing more is registered from here on. A joint does not count if its parent is the world, or if it is a
        QuaternionFloatingJoint.
        """
        if self.scene_graph is None:
            return
        world, joints = self._tree.world_body(), list(self._tree.joints)
        adjacent = [
            (self.frame_ids[joint.parent_body().index()], self.frame_ids[joint.child_body().index()])
            for joint in joints
            if filters_adjacent_bodies
            and joint.parent_body() is not world
            and not isinstance(joint, QuaternionFloatingJoint)
        ]
        welds = [(j.parent_body().index(), j.child_body().index()) for j in joints if isinstance(j, WeldJoint)]
        welded = [[self.frame_ids[index] for index in group] for group in connected_groups(welds)]
        self.scene_graph.collision_filter_manager().Apply(declaration_for_bodies(welded, adjacent))
        self.scene_graph = None


@contextmanager
def all_or_nothing(plant: Any) -> Iterator[None]:
    """Removes what the body of the `with` added to a plant and its SceneGraph if it raises.

    Inside, elements and geometry may be added before Finalize(), default poses of free bodies may be set, and gravity.

    Args:
        plant: a MultibodyPlant.
    """
    tree: MultibodyTree = plant._tree
    if tree.is_finalized():
        yield
        return
    tree_as_it_was, geometry_as_it_was = _TreeMark(tree), _GeometryMark(plant._geometry)
    try:
        yield
    except BaseException:
        geometry_as_it_was.restore()
        tree_as_it_was.restore()
        raise


class _TreeMark:
    """The number of elements of a tree at some time, and gravity."""

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree = tree
        self._collections = [
            (collection, collection.next_index())
            for collection in (
                tree.bodies, tree.frames, tree.joints, tree.loop_joints, tree.transmissions, tree.actuators
            )
        ]
        self._lists = [
            (items, len(items)) for items in (tree._instance_names, tree.force_elements, tree._stabilization_times)
        ]
        self._num_constraints = len(tree.constraints)
        self._gravity = np.array(tree.gravity_vector())

    def restore(self) -> None:
        """Removes all elements that were added later."""
        tree = self._tree
        for collection, index in self._collections:
            collection.forget_from(index)
        for items, length in self._lists:
            del items[length:]
        tree.constraints.forget_from(self._num_constraints)
        of_floating = tree._default_floating_dampings, tree._default_floating_armatures, tree._floating_joint_names
        for of_body in (tree._default_floating_poses, *of_floating):
            for body in [body for body in of_body if not tree.bodies.has_index(body.index())]:
                del of_body[body]
        for bodies, joint in list(tree._joint_between.items()):
            if not tree.joints.has_index(joint.index()):
                del tree._joint_between[bodies]
        if not np.array_equal(tree.gravity_vector(), self._gravity):
            tree.gravity_field().set_gravity_vector(self._gravity)


class _GeometryMark:
    """The number of frames and geometries in the SceneGraph of a plant at some time."""

    def __init__(self, geometry: GeometryRegistration) -> None:
        self._geometry, self._scene_graph = geometry, geometry.scene_graph
        if self._scene_graph is not None:
            inspector = self._scene_graph.model_inspector()
            self._sizes = inspector.num_frames(), inspector.num_geometries()

    def restore(self) -> None:
        """Removes all frames and geometries that were added later, with their collision filters."""
        if self._scene_graph is None:
            return
        geometry, state = self._geometry, forget_from(self._scene_graph, *self._sizes)
        for of_body in (geometry.visual_geometries, geometry.collision_geometries):
            for body, ids in list(of_body.items()):
                ids[:] = [id for id in ids if id in state.geometries]
                if not ids:
                    del of_body[body]
        geometry.frame_ids = {body: id for body, id in geometry.frame_ids.items() if id in state.frames}


def CalcContactFrictionFromSurfaceProperties(
    surface_properties1: CoulombFriction, surface_properties2: CoulombFriction
) -> CoulombFriction:
    """Combines the friction of two surfaces: 2 mu1 mu2 / (mu1 + mu2), zero if both are zero."""

    def combine(mu1: float, mu2: float) -> float:
        return 2.0 * mu1 * mu2 / (mu1 + mu2) if mu1 + mu2 > 0.0 else 0.0

    return CoulombFriction(
        combine(surface_properties1.static_friction(), surface_properties2.static_friction()),
        combine(surface_properties1.dynamic_friction(), surface_properties2.dynamic_friction()),
    )
