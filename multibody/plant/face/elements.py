"""Functions of MultibodyPlant: elements, names and limits of coordinates, and what follows from the topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from merganser.framework.common.delegation import written_out
from merganser.framework.common.deprecation import deprecated_method
from merganser.framework.math import RigidTransform
from merganser.multibody.plant.deformable_model import DeformableModel
from merganser.multibody.plant.delegation import from_part, from_tree
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.names import PlantNames
from merganser.multibody.plant.selectors import Selectors
from merganser.multibody.plant.topology_graph import topology_graphviz_string
from merganser.multibody.tree import (
    MultibodyTree,
    RigidBody,
)
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["ElementsFace"]

Array = NDArray[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _renamed(name: str, method: _Function) -> _Function:
    """A function of the tree under its older name, which warns."""
    function: _Function = written_out(method, "_tree", f"MultibodyPlant.{method.__name__}")
    instead = f"Use {method.__name__}()."
    return deprecated_method(f"MultibodyPlant.{name}", instead, until="2026-06-01")(function)


class ElementsFace:
    """Elements of a MultibodyPlant (see MultibodyTree for the elements themselves), and what follows from them.

    The functions that give names take, by position or by keyword,

        model_instance: which instance; left out for all.
        add_model_instance_prefix: whether names start with that of the instance; by default only if no
            instance is given.
        always_add_suffix: whether joints with a single coordinate have its suffix too; by default they do.
            Not for GetStateNames() and GetActuatorNames().

    Raises:
        RuntimeError: before Finalize(), or there is no such model instance.
        TypeError: other arguments.
    """

    _tree: MultibodyTree
    _model: PlantModel
    _names: PlantNames
    _selectors: Selectors
    _deformables: DeformableModel

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
    SetDefaultFloatingBaseBodyDamping = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyDamping)
    GetDefaultFreeBodyPose = _renamed("GetDefaultFreeBodyPose", MultibodyTree.GetDefaultFloatingBaseBodyPose)

    @deprecated_method(
        "MultibodyPlant.SetDefaultFreeBodyPose", "Use SetDefaultFloatingBaseBodyPose().", until="2026-06-01"
    )
    def SetDefaultFreeBodyPose(self, body: RigidBody, X_PB: RigidTransform) -> None:
        """SetDefaultFloatingBaseBodyPose() under its older name."""
        self._tree.SetDefaultFloatingBaseBodyPose(body, X_PB)

    gravity_field = from_tree(MultibodyTree.gravity_field)
    mutable_gravity_field = gravity_field

    # ------------------------------------------------------------------ deformable bodies

    deformable_model = from_part(DeformableModel.get)
    mutable_deformable_model = from_part(DeformableModel.get_mutable)

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
    HasUniqueFreeBaseBody = _renamed("HasUniqueFreeBaseBody", TreeLookup.HasUniqueFloatingBaseBody)
    GetUniqueFloatingBaseBodyOrThrow = from_tree(TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
    GetUniqueFreeBaseBodyOrThrow = _renamed("GetUniqueFreeBaseBodyOrThrow", TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
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

    # ------------------------------------------------------------------ names
    GetPositionNames = from_part(PlantNames.get_position_names)
    GetVelocityNames = from_part(PlantNames.get_velocity_names)
    GetStateNames = from_part(PlantNames.get_state_names)
    GetActuatorNames = from_part(PlantNames.get_actuator_names)

    # ------------------------------------------------------------------ limits

    GetPositionLowerLimits = from_tree(MultibodyTree.position_lower_limits)
    GetPositionUpperLimits = from_tree(MultibodyTree.position_upper_limits)
    GetVelocityLowerLimits = from_tree(MultibodyTree.velocity_lower_limits)
    GetVelocityUpperLimits = from_tree(MultibodyTree.velocity_upper_limits)
    GetAccelerationLowerLimits = from_tree(MultibodyTree.acceleration_lower_limits)
    GetAccelerationUpperLimits = from_tree(MultibodyTree.acceleration_upper_limits)
    GetEffortUpperLimits = from_part(PlantNames.get_effort_upper_limits)
    GetEffortLowerLimits = from_part(PlantNames.get_effort_lower_limits)

    # ------------------------------------------------------------------ what follows from the topology

    MakeActuationMatrix = from_part(Selectors.make_actuation_matrix)
    MakeActuationMatrixPseudoinverse = from_part(Selectors.make_actuation_matrix_pseudoinverse)
    MakeStateSelectorMatrix = from_part(Selectors.make_state_selector_matrix)
    MakeActuatorSelectorMatrix = from_part(Selectors.make_actuator_selector_matrix)
    GetBodiesKinematicallyAffectedBy = from_part(Selectors.get_bodies_kinematically_affected_by)

    def GetTopologyGraphvizString(self) -> str:
        """Returns the bodies, by model instance, and the joints between them in Graphviz's language, for `dot`.

        Before Finalize() the joints of floating bodies are not there yet.
        """
        return topology_graphviz_string(self._model)
