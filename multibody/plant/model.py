"""What a plant is made of: adding elements, finding them, and their geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    FrameId,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    IllustrationProperties,
    MakePhongIllustrationProperties,
    ProximityProperties,
    SceneGraph,
    Shape,
    SourceId,
)
from merganser.geometry import AddContactMaterial as add_contact_material
from merganser.multibody.plant.coulomb_friction import CoulombFriction
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.tree import BodyIndex, MultibodyTree, RigidBody, SpatialInertia, UniformGravityFieldElement
from merganser.multibody.tree.coordinate_names import actuator_names, position_names, velocity_names
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["PlantModel"]

Array = NDArray[Any]


class PlantModel(LeafSystem):
    """Elements of a MultibodyPlant and their geometry (see MultibodyTree for the elements themselves)."""

    _tree: MultibodyTree

    # ------------------------------------------------------------------ adding elements

    AddModelInstance = from_tree(MultibodyTree.AddModelInstance)
    AddFrame = from_tree(MultibodyTree.AddFrame)
    AddJoint = from_tree(MultibodyTree.AddJoint)
    AddJointActuator = from_tree(MultibodyTree.AddJointActuator)
    WeldFrames = from_tree(MultibodyTree.WeldFrames)
    RenameModelInstance = from_tree(TreeLookup.RenameModelInstance)
    SetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyPose)
    GetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.GetDefaultFloatingBaseBodyPose)
    SetDefaultFreeBodyPose = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyPose)
    GetDefaultFreeBodyPose = from_tree(MultibodyTree.GetDefaultFloatingBaseBodyPose)

    def AddRigidBody(
        self, name: str, model_instance: int | SpatialInertia | None = None, M_BBo_B: SpatialInertia | None = None
    ) -> RigidBody:
        """Adds a body with its body frame; arguments and errors as MultibodyTree.AddRigidBody."""
        body = self._tree.AddRigidBody(name, model_instance, M_BBo_B)
        if self._scene_graph is not None:
            self._register_frame(body)
        return body

    def gravity_field(self) -> UniformGravityFieldElement:
        """Returns the field of gravity."""
        return self._tree.gravity_field()

    mutable_gravity_field = gravity_field

    # ------------------------------------------------------------------ finding elements

    world_body = from_tree(TreeLookup.world_body)
    world_frame = from_tree(TreeLookup.world_frame)
    get_body = from_tree(TreeLookup.get_body)
    get_frame = from_tree(TreeLookup.get_frame)
    get_joint = from_tree(TreeLookup.get_joint)
    get_mutable_joint = from_tree(TreeLookup.get_joint)
    get_joint_actuator = from_tree(TreeLookup.get_joint_actuator)
    get_mutable_joint_actuator = from_tree(TreeLookup.get_joint_actuator)
    GetBodyByName = from_tree(TreeLookup.GetBodyByName)
    GetRigidBodyByName = from_tree(TreeLookup.GetRigidBodyByName)
    GetFrameByName = from_tree(TreeLookup.GetFrameByName)
    GetJointByName = from_tree(TreeLookup.GetJointByName)
    GetMutableJointByName = from_tree(TreeLookup.GetJointByName)
    GetJointActuatorByName = from_tree(TreeLookup.GetJointActuatorByName)
    GetModelInstanceByName = from_tree(TreeLookup.GetModelInstanceByName)
    GetModelInstanceName = from_tree(TreeLookup.GetModelInstanceName)
    HasBodyNamed = from_tree(TreeLookup.HasBodyNamed)
    HasFrameNamed = from_tree(TreeLookup.HasFrameNamed)
    HasJointNamed = from_tree(TreeLookup.HasJointNamed)
    HasJointActuatorNamed = from_tree(TreeLookup.HasJointActuatorNamed)
    HasModelInstanceNamed = from_tree(TreeLookup.HasModelInstanceNamed)
    NumBodiesWithName = from_tree(TreeLookup.NumBodiesWithName)
    GetBodyIndices = from_tree(TreeLookup.GetBodyIndices)
    GetFrameIndices = from_tree(TreeLookup.GetFrameIndices)
    GetJointIndices = from_tree(TreeLookup.GetJointIndices)
    GetJointActuatorIndices = from_tree(TreeLookup.GetJointActuatorIndices)
    GetActuatedJointIndices = from_tree(TreeLookup.GetActuatedJointIndices)
    GetBodiesWeldedTo = from_tree(TreeLookup.GetBodiesWeldedTo)
    GetFloatingBaseBodies = from_tree(TreeLookup.GetFloatingBaseBodies)
    IsAnchored = from_tree(TreeLookup.IsAnchored)
    num_bodies = from_tree(TreeLookup.num_bodies)
    num_frames = from_tree(TreeLookup.num_frames)
    num_joints = from_tree(TreeLookup.num_joints)
    num_actuators = from_tree(TreeLookup.num_actuators)
    num_model_instances = from_tree(TreeLookup.num_model_instances)
    num_positions = from_tree(TreeLookup.num_positions)
    num_velocities = from_tree(TreeLookup.num_velocities)
    num_actuated_dofs = from_tree(TreeLookup.num_actuated_dofs)
    is_finalized = from_tree(TreeLookup.is_finalized)

    def num_multibody_states(self, model_instance: int | None = None) -> int:
        """Returns the number of positions and velocities, of one model instance or of all."""
        return self._tree.num_positions(model_instance) + self._tree.num_velocities(model_instance)

    # ------------------------------------------------------------------ names and limits

    def GetPositionNames(self, model_instance: int | None = None, **options: bool) -> list[str]:
        """Returns the names of the positions in the order of q.

        Args:
            model_instance: which instance; None for all.
            **options: add_model_instance_prefix (by default only if no instance is given) and always_add_suffix.
        """
        return position_names(self._tree, model_instance, **_naming(model_instance, options))

    def GetVelocityNames(self, model_instance: int | None = None, **options: bool) -> list[str]:
        """Returns the names of the velocities in the order of v; arguments as GetPositionNames."""
        return velocity_names(self._tree, model_instance, **_naming(model_instance, options))

    def GetStateNames(self, model_instance: int | None = None, **options: bool) -> list[str]:
        """Returns the names of positions, then velocities; arguments as GetPositionNames."""
        return self.GetPositionNames(model_instance, **options) + self.GetVelocityNames(model_instance, **options)

    def GetActuatorNames(self, model_instance: int | None = None, **options: bool) -> list[str]:
        """Returns the names of the actuators in the order of u; arguments as GetPositionNames."""
        return actuator_names(self._tree, model_instance, **_naming(model_instance, options))

    GetPositionLowerLimits = from_tree(MultibodyTree.position_lower_limits)
    GetPositionUpperLimits = from_tree(MultibodyTree.position_upper_limits)
    GetVelocityLowerLimits = from_tree(MultibodyTree.velocity_lower_limits)
    GetVelocityUpperLimits = from_tree(MultibodyTree.velocity_upper_limits)
    GetAccelerationLowerLimits = from_tree(MultibodyTree.acceleration_lower_limits)
    GetAccelerationUpperLimits = from_tree(MultibodyTree.acceleration_upper_limits)
    GetEffortUpperLimits = from_tree(MultibodyTree.effort_limits)

    def GetEffortLowerLimits(self) -> Array:
        """Returns the lower limits of the inputs u, shape [num_actuated_dofs]."""
        return -self._tree.effort_limits()

    def MakeActuationMatrix(self) -> Array:
        """Returns B with tau = B u, shape [num_velocities, num_actuated_dofs]."""
        columns = self._tree.actuated_velocity_indices()
        B = np.zeros((self._tree.num_velocities(), len(columns)))
        B[columns, np.arange(len(columns))] = 1.0
        return B

    # ------------------------------------------------------------------ geometry

    _scene_graph: SceneGraph | None
    _source_id: SourceId | None

    def RegisterAsSourceForSceneGraph(self, scene_graph: SceneGraph) -> SourceId:
        """Registers the plant as a source of geometry, with a frame for every body; returns its id.

        Raises:
            RuntimeError: the plant is registered already, or finalized.
        """
        if self._source_id is not None:
            raise RuntimeError(f"Plant '{self.GetSystemPathname()}' is registered with a SceneGraph already.")
        if self._tree.is_finalized():
            raise RuntimeError("RegisterAsSourceForSceneGraph() must be called before Finalize().")
        self._scene_graph = scene_graph
        self._source_id = scene_graph.RegisterSource(self.get_name())
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

    def _register_frame(self, body: RigidBody) -> None:
        assert self._scene_graph is not None and self._source_id is not None
        instance = self._tree.GetModelInstanceName(body.model_instance())
        frame = GeometryFrame(f"{instance}::{body.name()}", int(body.model_instance()))
        self._frame_ids[body.index()] = self._scene_graph.RegisterFrame(self._source_id, frame)

    def GetBodyFrameIdIfExists(self, body_index: int) -> FrameId | None:
        """Returns the frame that the SceneGraph has for a body, if there is one."""
        return self._frame_ids.get(body_index)

    def GetBodyFrameIdOrThrow(self, body_index: int) -> FrameId:
        """Returns the frame that the SceneGraph has for a body.

        Raises:
            RuntimeError: the plant is not registered with a SceneGraph.
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

    def RegisterVisualGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        shape: Shape,
        name: str,
        diffuse_color: Any = None,
        properties: IllustrationProperties | None = None,
    ) -> GeometryId:
        """Registers a geometry for drawing, fixed to a body.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the visual geometries of the body.
            diffuse_color: red, green, blue, alpha, each from 0 to 1; or
            properties: illustration properties.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized.
        """
        if isinstance(diffuse_color, IllustrationProperties):
            diffuse_color, properties = None, diffuse_color
        if properties is None:
            properties = (
                IllustrationProperties() if diffuse_color is None else MakePhongIllustrationProperties(diffuse_color)
            )
        return self._register_geometry("RegisterVisualGeometry", body, X_BG, shape, name, properties)

    def RegisterCollisionGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        shape: Shape,
        name: str,
        properties: ProximityProperties | CoulombFriction | None = None,
        coulomb_friction: CoulombFriction | None = None,
    ) -> GeometryId:
        """Registers a geometry for contact, fixed to a body.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the collision geometries of the body.
            properties: proximity properties; or
            coulomb_friction: friction alone.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized.
        """
        if isinstance(properties, CoulombFriction):
            properties, coulomb_friction = None, properties
        if properties is None:
            properties = ProximityProperties()
            if coulomb_friction is not None:
                add_contact_material(properties, friction=coulomb_friction)
        return self._register_geometry("RegisterCollisionGeometry", body, X_BG, shape, name, properties)

    def _register_geometry(
        self, caller: str, body: RigidBody, X_BG: RigidTransform, shape: Shape, name: str, properties: Any
    ) -> GeometryId:
        self._tree._check_not_finalized(caller)
        self._tree._check_mine(caller, f"geometry '{name}'", body)
        if self._scene_graph is None or self._source_id is None:
            raise RuntimeError(
                f"{caller}(): geometry '{name}' of body '{body.name()}' needs a SceneGraph. Make the plant with "
                "AddMultibodyPlantSceneGraph(), or call RegisterAsSourceForSceneGraph() first."
            )
        instance = self._tree.GetModelInstanceName(body.model_instance())
        geometry = GeometryInstance(X_BG, shape, f"{instance}::{name}")
        frame_id = self._frame_ids[body.index()]
        geometry_id = self._scene_graph.RegisterGeometry(self._source_id, frame_id, geometry)
        self._scene_graph.AssignRole(self._source_id, geometry_id, properties)
        kind = self._visual_geometries if isinstance(properties, IllustrationProperties) else self._collision_geometries
        kind.setdefault(BodyIndex(body.index()), []).append(geometry_id)
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

    _frame_ids: dict[int, FrameId]
    _visual_geometries: dict[int, list[GeometryId]]
    _collision_geometries: dict[int, list[GeometryId]]


def _naming(model_instance: int | None, options: dict[str, bool]) -> dict[str, bool]:
    return {"add_model_instance_prefix": model_instance is None, **options}
