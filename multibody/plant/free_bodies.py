"""Poses and velocities of free bodies in a Context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.arguments import checked_vector
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.tree import FloatingJoint, Frame, RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["FreeBodies"]


class FreeBodies:
    """State of free bodies; see StateFace."""

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._tree, self._views = model, model.tree, views

    def set_free_body_pose(
        self,
        context: Context,
        body: RigidBody,
        X_JpJc: RigidTransform | None = None,
        *,
        X_PB: RigidTransform | None = None,
    ) -> None:
        """Sets the pose of a free body.

        Args:
            context: of this plant.
            body: a free body.
            X_JpJc: pose of the joint's frame on the child in that on the parent; X_WB of a floating base
                body.
            X_PB: older name of X_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        X_JpJc = _one_of("SetFreeBodyPose", "X_JpJc", X_JpJc, X_PB)
        self._set_pose("SetFreeBodyPose", context, self._free_joint("SetFreeBodyPose", body), X_JpJc)

    def get_free_body_pose(self, context: Context, body: RigidBody) -> RigidTransform:
        """Returns the pose X_JpJc of a free body, X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
        """
        return self._free_joint("GetFreeBodyPose", body).GetPose(context)

    def set_floating_base_body_pose_in_world_frame(
        self, context: Context, body: RigidBody, X_WB: RigidTransform
    ) -> None:
        """Sets the pose X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        caller = "SetFloatingBaseBodyPoseInWorldFrame"
        joint = self._free_joint(caller, body)
        if not body.is_floating_base_body():
            raise RuntimeError(
                f"{caller}(): body '{body.name()}' is not a floating base body: joint '{joint.name()}' was "
                "added by the user. Call SetFreeBodyPose()."
            )
        self._set_pose(caller, context, joint, X_WB)

    def set_floating_base_body_pose_in_anchored_frame(
        self, context: Context, frame_F: Frame, body: RigidBody, X_FB: RigidTransform
    ) -> None:
        """Sets the pose of a floating base body, given in a frame that does not move.

        Args:
            context: of this plant.
            frame_F: a frame of the world, or of a body that welds connect to it.
            body: a floating base body.
            X_FB: its pose in F.

        Raises:
            RuntimeError: F is not anchored, the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: an argument has another type.
        """
        caller = "SetFloatingBaseBodyPoseInAnchoredFrame"
        self._model.require_finalized(f"{caller}()")
        if not isinstance(frame_F, Frame):
            raise TypeError(f"{caller}() takes a Frame, got {type(frame_F).__name__}.")
        if not self._tree.IsAnchored(frame_F.body()):
            raise RuntimeError(f"{caller}(): frame '{frame_F.name()}' must be anchored to the world frame.")
        X_WF = frame_F.CalcPoseInWorld(context)
        self.set_floating_base_body_pose_in_world_frame(context, body, X_WF @ X_FB)

    def set_free_body_spatial_velocity(
        self,
        context: Context | None = None,
        body: Any = None,
        V_JpJc: Any = None,
        *,
        V_PB: SpatialVelocity | None = None,
    ) -> None:
        """Sets the spatial velocity of a free body.

        The older form SetFreeBodySpatialVelocity(body, V_PB, context) works too.

        Args:
            context: of this plant.
            body: a free body.
            V_JpJc: spatial velocity of the joint's frame on the child in that on the parent; V_WB_W of a
                floating base body [rad/s, m/s].
            V_PB: older name of V_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the velocity is not finite.
            TypeError: it is not a SpatialVelocity.
        """
        caller = "SetFreeBodySpatialVelocity"
        if isinstance(context, RigidBody):
            context, body, V_JpJc = V_JpJc, context, body
        own: Context = _one_of(caller, "V_JpJc", context, None)
        velocity = _one_of(caller, "V_JpJc", V_JpJc, V_PB)
        joint = self._free_joint(caller, body)
        if not isinstance(velocity, SpatialVelocity):
            raise TypeError(f"{caller}() takes a SpatialVelocity, got {type(velocity).__name__}.")
        v = checked_vector(self._model, caller, velocity.get_coeffs(), 6, self._views.workspace(own).dtype)
        start = joint.velocity_start()
        self._views.mutable_v(own)[start : start + 6] = v

    def _set_pose(self, caller: str, context: Context, joint: FloatingJoint, X_FM: RigidTransform) -> None:
        if not isinstance(X_FM, RigidTransform):
            raise TypeError(f"{caller}() takes a RigidTransform, got {type(X_FM).__name__}.")
        # Checked before it becomes a quaternion, which a matrix with NaN does not.
        checked_vector(self._model, caller, X_FM.GetAsMatrix34().ravel(), 12, self._views.workspace(context).dtype)
        q = joint._positions_of(X_FM)
        start = joint.position_start()
        self._views.mutable_q(context)[start : start + len(q)] = q

    def _free_joint(self, caller: str, body: RigidBody) -> FloatingJoint:
        if not isinstance(body, RigidBody):
            raise TypeError(f"{caller}() takes a RigidBody, got {type(body).__name__}.")
        self._tree._check_mine(caller, "it", body)
        self._model.require_finalized(f"{caller}()")
        joint = body._inboard_joint
        if not isinstance(joint, FloatingJoint):
            connection = f"joint '{joint.name()}' ({joint.type_name()}) carries it" if joint else "it is the world"
            raise RuntimeError(f"{caller}(): body '{body.name()}' is not free: {connection}.")
        return joint


def _one_of(caller: str, name: str, value: Any, older: Any) -> Any:
    if (value is None) == (older is None):
        raise TypeError(f"{caller}() takes (context, body, {name}).")
    return value if older is None else older
