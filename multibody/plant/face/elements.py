"""Functions of MultibodyPlant: elements, names and limits of coordinates, and what follows from the topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from numpy.typing import NDArray

from merganser.framework.core.deprecation import deprecated_method
from merganser.framework.math import RigidTransform
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.names import PlantNames
from merganser.multibody.plant.selectors import Selectors
from merganser.multibody.plant.topology_graph import topology_graphviz_string
from merganser.multibody.tree import (
    BodyIndex,
    JointActuatorIndex,
    JointIndex,
    MultibodyTree,
    RigidBody,
    UniformGravityFieldElement,
)
from merganser.multibody.tree.lookup import TreeLookup

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

__all__ = ["ElementsFace"]

Array = NDArray[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _renamed(name: str, function: _Function) -> _Function:
    """A function under its older name, which warns."""
    instead = f"Use {function.__name__}()."
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
    GetDefaultFreeBodyPose = _renamed("GetDefaultFreeBodyPose", GetDefaultFloatingBaseBodyPose)

    @deprecated_method(
        "MultibodyPlant.SetDefaultFreeBodyPose", "Use SetDefaultFloatingBaseBodyPose().", until="2026-06-01"
    )
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
    HasUniqueFreeBaseBody = _renamed("HasUniqueFreeBaseBody", HasUniqueFloatingBaseBody)
    GetUniqueFloatingBaseBodyOrThrow = from_tree(TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
    GetUniqueFreeBaseBodyOrThrow = _renamed("GetUniqueFreeBaseBodyOrThrow", GetUniqueFloatingBaseBodyOrThrow)
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
    @overload
    def GetPositionNames(self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True) -> list[str]: ...
    @overload
    def GetPositionNames(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def GetPositionNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the positions in the order of q; see the class for the arguments."""
        return self._names.get_position_names(args, kwargs)

    @overload
    def GetVelocityNames(self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True) -> list[str]: ...
    @overload
    def GetVelocityNames(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def GetVelocityNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the velocities in the order of v; see the class for the arguments."""
        return self._names.get_velocity_names(args, kwargs)

    @overload
    def GetStateNames(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def GetStateNames(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def GetStateNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of positions, then of velocities; see the class for the arguments."""
        return self._names.get_state_names(args, kwargs)

    @overload
    def GetActuatorNames(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def GetActuatorNames(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def GetActuatorNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the actuators in the order of u; see the class for the arguments."""
        return self._names.get_actuator_names(args, kwargs)

    # ------------------------------------------------------------------ limits

    GetPositionLowerLimits = from_tree(MultibodyTree.position_lower_limits)
    GetPositionUpperLimits = from_tree(MultibodyTree.position_upper_limits)
    GetVelocityLowerLimits = from_tree(MultibodyTree.velocity_lower_limits)
    GetVelocityUpperLimits = from_tree(MultibodyTree.velocity_upper_limits)
    GetAccelerationLowerLimits = from_tree(MultibodyTree.acceleration_lower_limits)
    GetAccelerationUpperLimits = from_tree(MultibodyTree.acceleration_upper_limits)

    def GetEffortUpperLimits(self) -> Array:
        """Returns the upper limits of the inputs u, shape [num_actuated_dofs]."""
        return self._names.get_effort_upper_limits()

    def GetEffortLowerLimits(self) -> Array:
        """Returns the lower limits of the inputs u, shape [num_actuated_dofs]."""
        return self._names.get_effort_lower_limits()

    # ------------------------------------------------------------------ what follows from the topology

    def MakeActuationMatrix(self) -> Array:
        """Returns B with tau = B u, shape [num_velocities, num_actuated_dofs]."""
        return self._selectors.make_actuation_matrix()

    def MakeActuationMatrixPseudoinverse(self) -> csc_matrix:
        """Returns the pseudoinverse B+ of the actuation matrix, shape [num_actuated_dofs, num_velocities].

        With u = B+ tau, actuators of one joint share its force equally.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._selectors.make_actuation_matrix_pseudoinverse()

    def MakeStateSelectorMatrix(self, user_to_joint_index_map: Sequence[JointIndex]) -> Array:
        """Returns S with x_s = S x: positions, then velocities, of joints in the given order.

        Args:
            user_to_joint_index_map: indices of the joints.

        Returns:
            Zeros and ones, shape [number of selected states, num_multibody_states].

        Raises:
            RuntimeError: before Finalize(), a joint does not exist, or is listed twice.
        """
        return self._selectors.make_state_selector_matrix(user_to_joint_index_map)

    @overload
    def MakeActuatorSelectorMatrix(self, user_to_actuator_index_map: Sequence[JointActuatorIndex]) -> Array: ...
    @overload
    def MakeActuatorSelectorMatrix(self, user_to_joint_index_map: Sequence[JointIndex]) -> Array: ...
    def MakeActuatorSelectorMatrix(self, *args: Any, **kwargs: Any) -> Array:
        """Returns S with u = S u_s, for the inputs u_s of some actuators in a given order.

        Args:
            user_to_actuator_index_map: indices of the actuators; or
            user_to_joint_index_map: indices of the joints that they drive.

        Returns:
            Zeros and ones, shape [num_actuated_dofs, number of selected inputs].

        Raises:
            RuntimeError: before Finalize(), an element does not exist, or a joint has no actuator.
            TypeError: other arguments.
        """
        return self._selectors.make_actuator_selector_matrix(args, kwargs)

    def GetBodiesKinematicallyAffectedBy(self, joint_indexes: Iterable[JointIndex]) -> list[BodyIndex]:
        """Returns the indices of the bodies whose velocities depend on those of some joints, ascending.

        They are the bodies outboard of these joints. Welds move nothing.

        Raises:
            RuntimeError: before Finalize(), or a joint does not exist.
        """
        return self._selectors.get_bodies_kinematically_affected_by(joint_indexes)

    def GetTopologyGraphvizString(self) -> str:
        """Returns the bodies, by model instance, and the joints between them in Graphviz's language, for `dot`.

        Before Finalize() the joints of floating bodies are not there yet.
        """
        return topology_graphviz_string(self._model)
