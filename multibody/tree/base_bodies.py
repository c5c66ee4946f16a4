"""What Finalize() does with bodies that no joint connects to the world: by what joints, and with what defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.tree.base_body_joint_type import BaseBodyJointType, make_base_joint
from merganser.multibody.tree.joints import FloatingJoint, Joint
from merganser.multibody.tree.removal import TreeRemoval
from merganser.multibody.tree.rigid_body import RigidBody

__all__ = ["TreeBaseBodies"]


class TreeBaseBodies(TreeRemoval):
    """Abstract base of MultibodyTree: base bodies."""

    _register_joint: Any

    def __init__(self) -> None:
        super().__init__()
        self._default_floating_poses: dict[RigidBody, RigidTransform] = {}
        self._default_floating_dampings: dict[RigidBody, float] = {}
        # By model instance; None: for those that have none of their own.
        self._base_joint_types: dict[int | None, BaseBodyJointType] = {}

    # -- base bodies -----------------------------------------------------------------------------------------

    def SetBaseBodyJointType(self, joint_type: BaseBodyJointType, model_instance: int | None = None) -> None:
        """Chooses how Finalize() connects base bodies to the world: bodies that no joint connects to it.

        Args:
            joint_type: by default kQuaternionFloatingJoint.
            model_instance: whose base bodies; None for all instances that have no type of their own.

        Raises:
            RuntimeError: if there is no such model instance, or after Finalize().
            TypeError: if `joint_type` is no BaseBodyJointType.
        """
        self._check_not_finalized("SetBaseBodyJointType")
        if not isinstance(joint_type, BaseBodyJointType):
            raise TypeError(
                f"SetBaseBodyJointType() takes a BaseBodyJointType, not a {type(joint_type).__name__} ({joint_type!r})."
            )
        if model_instance is not None:
            self.GetModelInstanceName(model_instance)  # refuses one that does not exist
        self._base_joint_types[model_instance] = joint_type

    def GetBaseBodyJointType(self, model_instance: int | None = None) -> BaseBodyJointType:
        """Returns how Finalize() connects base bodies of a model instance, or of those without a type of their own.

        Raises:
            RuntimeError: if there is no such model instance.
        """
        common = self._base_joint_types.get(None, BaseBodyJointType.kQuaternionFloatingJoint)
        if model_instance is None:
            return common
        self.GetModelInstanceName(model_instance)  # refuses one that does not exist
        return self._base_joint_types.get(model_instance, common)

    # -- default pose of floating bodies ---------------------------------------------------------------------

    def SetDefaultFloatingBaseBodyPose(self, body: RigidBody, X_WB: RigidTransform) -> None:
        """Sets the pose in which new Contexts start with a floating base body.

        Before Finalize() the pose of any body can be set; it has no effect on bodies that turn out not to
        float. Where a floating joint connects the body to the world, it becomes that joint's default pose (pydrake
        ignores it there): of the two, what is set last counts.

        Raises:
            RuntimeError: if the body is not of this tree.
        """
        self._check_mine("SetDefaultFloatingBaseBodyPose", "a default pose", body)
        self._default_floating_poses[body] = X_WB
        joint = self._floating_joint_of(body)
        if joint is not None:
            joint.set_default_body_pose(X_WB)

    def _floating_joint_of(self, body: RigidBody) -> FloatingJoint | None:
        """The joint that lets a body move freely in the world, if there is one by now."""
        joint = self._joint_between.get(frozenset((self.world_body(), body)))
        return joint if isinstance(joint, FloatingJoint) and joint.child_body() is body else None

    def GetDefaultFloatingBaseBodyPose(self, body: RigidBody) -> RigidTransform:
        """Returns the default pose of a floating base body, the identity if none was set.

        Raises:
            RuntimeError: if the body is not of this tree.
        """
        self._check_mine("GetDefaultFloatingBaseBodyPose", "a default pose", body)
        joint = self._floating_joint_of(body)
        return self._default_floating_poses.get(body, RigidTransform()) if joint is None else joint.default_body_pose()

    def SetDefaultFloatingBaseBodyDamping(self, body: RigidBody, damping: float) -> None:
        """Sets the damping of every velocity of a floating base body in new Contexts [N m s and N s/m].

        Before Finalize() that of any body can be set, as its pose can. An addition to pydrake's functions.

        Raises:
            RuntimeError: if the body is not of this tree, or the damping is negative or not finite.
        """
        self._check_mine("SetDefaultFloatingBaseBodyDamping", "a default damping", body)
        if not (np.isfinite(damping) and damping >= 0.0):
            raise RuntimeError(
                f"SetDefaultFloatingBaseBodyDamping(): the damping of body {body.name()!r} must be finite and not "
                f"negative, but is {damping}."
            )
        self._default_floating_dampings[body] = float(damping)
        if self.is_finalized() and body.is_floating_base_body():
            assert body._inboard_joint is not None
            body._inboard_joint.set_default_damping_vector(np.full(6, float(damping)))

    def _take_default_pose(self, joint: Joint) -> None:
        """A floating joint of the world that has no default pose of its own gets the one set for its body, if any."""
        body = joint.child_body()
        is_at_origins = joint.frame_on_parent() is self.world_frame() and joint.frame_on_child() is body.body_frame()
        pose = self._default_floating_poses.get(body)
        if isinstance(joint, FloatingJoint) and is_at_origins and pose is not None and not joint.has_default_pose():
            joint.SetDefaultPose(pose)

    def _add_base_joint(self, body_index: int) -> Joint:
        body = self.bodies.get(body_index)
        name = body.name()
        while self.joints.has_name(name, body.model_instance()):
            name = "_" + name
        joint_type = self.GetBaseBodyJointType(body.model_instance())
        joint = make_base_joint(joint_type, name, self.world_frame(), body.body_frame())
        self._take_default_pose(joint)
        if body in self._default_floating_dampings and isinstance(joint, FloatingJoint):
            joint.set_default_damping_vector(np.full(6, self._default_floating_dampings[body]))
        self._register_joint(joint, is_ephemeral=True)
        return joint
