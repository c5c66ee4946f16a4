"""What a plant is made of: adding elements and finding them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem
from merganser.framework.math import RigidTransform
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.tree import MultibodyTree, RigidBody, SpatialInertia, UniformGravityFieldElement
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["ElementsFace"]

Array = NDArray[Any]


class ElementsFace(LeafSystem):
    """Elements of a MultibodyPlant (see MultibodyTree for the elements themselves)."""

    _tree: MultibodyTree

    # ------------------------------------------------------------------ adding elements

    AddModelInstance = from_tree(MultibodyTree.AddModelInstance)
    AddFrame = from_tree(MultibodyTree.AddFrame)
    AddJoint = from_tree(MultibodyTree.AddJoint)
    AddJointActuator = from_tree(MultibodyTree.AddJointActuator)
    RemoveJoint = from_tree(MultibodyTree.RemoveJoint)
    RemoveJointActuator = from_tree(MultibodyTree.RemoveJointActuator)
    RemoveAllJointActuatorEffortLimits = from_tree(MultibodyTree.RemoveAllJointActuatorEffortLimits)
    WeldFrames = from_tree(MultibodyTree.WeldFrames)
    SetBaseBodyJointType = from_tree(MultibodyTree.SetBaseBodyJointType)
    GetBaseBodyJointType = from_tree(MultibodyTree.GetBaseBodyJointType)
    SetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyPose)
    GetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.GetDefaultFloatingBaseBodyPose)
    GetDefaultFreeBodyPose = from_tree(MultibodyTree.GetDefaultFloatingBaseBodyPose)

    def AddRigidBody(
        self,
        name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> RigidBody:
        """Adds a body with its body frame; arguments and errors as MultibodyTree.AddRigidBody."""
        return self._tree.AddRigidBody(name, model_instance, M_BBo_B)

    def RenameModelInstance(self, model_instance: int, name: str) -> None:
        """Changes the name of a model instance; errors as MultibodyTree.RenameModelInstance."""
        self._tree.RenameModelInstance(model_instance, name)

    def SetDefaultFreeBodyPose(self, body: RigidBody, X_PB: RigidTransform) -> None:
        """SetDefaultFloatingBaseBodyPose() under its older name."""
        self._tree.SetDefaultFloatingBaseBodyPose(body, X_PB)

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
    has_joint = from_tree(TreeLookup.has_joint)
    has_joint_actuator = from_tree(TreeLookup.has_joint_actuator)
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
    HasUniqueFloatingBaseBody = from_tree(TreeLookup.HasUniqueFloatingBaseBody)
    HasUniqueFreeBaseBody = from_tree(TreeLookup.HasUniqueFloatingBaseBody)
    GetUniqueFloatingBaseBodyOrThrow = from_tree(TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
    GetUniqueFreeBaseBodyOrThrow = from_tree(TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
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

    def MakeActuationMatrix(self) -> Array:
        """Returns B with tau = B u, shape [num_velocities, num_actuated_dofs]."""
        columns = self._tree.actuated_velocity_indices()
        B = np.zeros((self._tree.num_velocities(), len(columns)))
        B[columns, np.arange(len(columns))] = 1.0
        return B

    def _require_finalized(self, what: str) -> None:
        if not self._tree.is_finalized():
            raise RuntimeError(
                f"Plant '{self.GetSystemPathname()}': {what} needs a finalized plant; call Finalize() once "
                "all elements have been added."
            )
