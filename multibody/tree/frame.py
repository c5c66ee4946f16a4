"""Frames: fixed to a body, at its origin or at an offset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import FrameIndex, world_index

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.rigid_body import RigidBody
    from merganser.multibody.tree.tree import MultibodyTree

Vector = npt.NDArray[Any]


class Frame(NamedElement, ABC):
    """Abstract frame F fixed to a body B.

    Args:
        name: name of the frame, unique among the frames of its model instance.
        body: the body B.
        model_instance: where the frame belongs.
    """

    _index_type = FrameIndex

    def __init__(self, name: str, body: RigidBody, model_instance: int) -> None:
        super().__init__(name, model_instance)
        self._body = body

    def _in_tree(self, tree: MultibodyTree) -> Frame:
        return tree.frames.get(self._index)

    def body(self) -> RigidBody:
        """Returns the body B to which the frame is fixed."""
        return self._body

    def is_world_frame(self) -> bool:
        """Returns whether this is the frame of the world body."""
        return self.is_body_frame() and self._body.index() == world_index()

    def is_body_frame(self) -> bool:
        """Returns whether this is the frame of its body."""
        return self is self._body.body_frame()

    # -- pose in the body ------------------------------------------------------------------------------------

    @abstractmethod
    def GetFixedPoseInBodyFrame(self) -> RigidTransform:
        """Returns X_BF."""

    def GetFixedRotationMatrixInBodyFrame(self) -> RotationMatrix:
        """Returns R_BF."""
        return self.GetFixedPoseInBodyFrame().rotation()

    def GetFixedOffsetPoseInBody(self, X_FQ: RigidTransform) -> RigidTransform:
        """Returns X_BQ of a frame Q fixed to this frame."""
        return self.GetFixedPoseInBodyFrame() @ X_FQ

    def GetFixedRotationMatrixInBody(self, R_FQ: RotationMatrix) -> RotationMatrix:
        """Returns R_BQ of a frame Q fixed to this frame."""
        return self.GetFixedRotationMatrixInBodyFrame() @ R_FQ

    def CalcPoseInBodyFrame(self, context: Context) -> RigidTransform:
        """Returns X_BF in the Context."""
        return self.GetFixedPoseInBodyFrame()

    def CalcRotationMatrixInBodyFrame(self, context: Context) -> RotationMatrix:
        """Returns R_BF in the Context."""
        return self.CalcPoseInBodyFrame(context).rotation()

    def CalcOffsetPoseInBody(self, context: Context, X_FQ: RigidTransform) -> RigidTransform:
        """Returns X_BQ of a frame Q fixed to this frame."""
        return self.CalcPoseInBodyFrame(context) @ X_FQ

    def CalcOffsetRotationMatrixInBody(self, context: Context, R_FQ: RotationMatrix) -> RotationMatrix:
        """Returns R_BQ of a frame Q fixed to this frame."""
        return self.CalcRotationMatrixInBodyFrame(context) @ R_FQ

    # -- pose ------------------------------------------------------------------------------------------------

    def CalcPoseInWorld(self, context: Context) -> RigidTransform:
        """Returns X_WF = X_WB X_BF."""
        return self._body.EvalPoseInWorld(context) @ self.CalcPoseInBodyFrame(context)

    def CalcPose(self, context: Context, frame_M: Frame) -> RigidTransform:
        """Returns X_MF = X_WM^-1 X_WF."""
        return frame_M.CalcPoseInWorld(context).inverse() @ self.CalcPoseInWorld(context)

    def CalcRotationMatrixInWorld(self, context: Context) -> RotationMatrix:
        """Returns R_WF."""
        return self.CalcPoseInWorld(context).rotation()

    def CalcRotationMatrix(self, context: Context, frame_M: Frame) -> RotationMatrix:
        """Returns R_MF."""
        return self.CalcPose(context, frame_M).rotation()

    # -- velocity --------------------------------------------------------------------------------------------

    # The plant computes, as it has the arrays. Frames other than those of its own plant are refused with RuntimeError.

    def EvalAngularVelocityInWorld(self, context: Context) -> Vector:
        """Returns w_WF_W [rad/s], shape [3]."""
        return self.GetParentPlant()._frame_motion.angular_velocity("EvalAngularVelocityInWorld", context, self)

    def CalcAngularVelocity(
        self, context: Context, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> Vector:
        """Returns w_MF_E of this frame in M, expressed in E [rad/s], shape [3]."""
        M, E = measured_in_frame, expressed_in_frame
        return self._velocity_in("CalcAngularVelocity", context, M, E).rotational()

    def CalcSpatialVelocityInWorld(self, context: Context) -> SpatialVelocity:
        """Returns V_WF_W."""
        W = self._world_frame()
        return self._velocity_in("CalcSpatialVelocityInWorld", context, W, W)

    def CalcSpatialVelocity(self, context: Context, frame_M: Frame, frame_E: Frame) -> SpatialVelocity:
        """Returns V_MF_E, measured in M and expressed in E."""
        return self._velocity_in("CalcSpatialVelocity", context, frame_M, frame_E)

    def CalcRelativeSpatialVelocityInWorld(self, context: Context, other_frame: Frame) -> SpatialVelocity:
        """Returns V_W_BF_W = V_WF_W - V_WB_W for the other frame B: rates as seen from W."""
        caller, W = "CalcRelativeSpatialVelocityInWorld", self._world_frame()
        return self._velocity_in(caller, context, W, W) - other_frame._velocity_in(caller, context, W, W)

    def CalcRelativeSpatialVelocity(
        self, context: Context, other_frame: Frame, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> SpatialVelocity:
        """Returns V_M_BF_E = V_MF_E - V_MB_E for the other frame B."""
        caller, M, E = "CalcRelativeSpatialVelocity", measured_in_frame, expressed_in_frame
        return self._velocity_in(caller, context, M, E) - other_frame._velocity_in(caller, context, M, E)

    # -- acceleration ----------------------------------------------------------------------------------------

    def CalcSpatialAccelerationInWorld(self, context: Context) -> SpatialAcceleration:
        """Returns A_WF_W."""
        W = self._world_frame()
        return self._acceleration_in("CalcSpatialAccelerationInWorld", context, W, W)

    def CalcSpatialAcceleration(
        self, context: Context, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> SpatialAcceleration:
        """Returns A_MF_E, measured in M and expressed in E; see kernels/frames.py."""
        return self._acceleration_in("CalcSpatialAcceleration", context, measured_in_frame, expressed_in_frame)

    def CalcRelativeSpatialAccelerationInWorld(self, context: Context, other_frame: Frame) -> SpatialAcceleration:
        """Returns A_W_BF_W = A_WF_W - A_WB_W for the other frame B: second rates as seen from W."""
        caller, W = "CalcRelativeSpatialAccelerationInWorld", self._world_frame()
        return self._acceleration_in(caller, context, W, W) - other_frame._acceleration_in(caller, context, W, W)

    def CalcRelativeSpatialAcceleration(
        self, context: Context, other_frame: Frame, measured_in_frame: Frame, expressed_in_frame: Frame
    ) -> SpatialAcceleration:
        """Returns A_M_BF_E = A_MF_E - A_MB_E for the other frame B."""
        caller, M, E = "CalcRelativeSpatialAcceleration", measured_in_frame, expressed_in_frame
        return self._acceleration_in(caller, context, M, E) - other_frame._acceleration_in(caller, context, M, E)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _world_frame(self) -> Frame:
        return self._get_tree("world_frame").world_frame()

    def _offset_in_world(self, context: Context) -> Vector:
        """p_BoFo_W."""
        R_WB = self._body.EvalPoseInWorld(context).rotation().matrix()
        return R_WB @ self.CalcPoseInBodyFrame(context).translation()

    def _velocity_in(self, caller: str, context: Context, frame_M: Frame, frame_E: Frame) -> SpatialVelocity:
        """V_MF_E."""
        return self.GetParentPlant()._frame_motion.velocity(caller, context, self, frame_M, frame_E)

    def _acceleration_in(self, caller: str, context: Context, frame_M: Frame, frame_E: Frame) -> SpatialAcceleration:
        """A_MF_E."""
        return self.GetParentPlant()._frame_motion.acceleration(caller, context, self, frame_M, frame_E)


class RigidBodyFrame(Frame):
    """The frame B of a body, made by the body itself and named like it.

    Args:
        body: the body B.
    """

    def __init__(self, body: RigidBody) -> None:
        super().__init__(body.name(), body, body.model_instance())

    def GetFixedPoseInBodyFrame(self) -> RigidTransform:
        """Returns the identity."""
        return RigidTransform()


class FixedOffsetFrame(Frame):
    """Frame F at a fixed pose in a parent frame P, which a Context may change.

    Args:
        name: name of the frame, unique among the frames of its model instance.
        P: parent frame, or a body for its body frame. `bodyB` is another name for it.
        X_PF: pose of F in P. `X_BF` is another name for it.
        model_instance: where the frame belongs; by default where P does.

    Raises:
        TypeError: if P is not a Frame nor a body, or X_PF is not a RigidTransform.
    """

    def __init__(
        self,
        name: str,
        P: Frame | RigidBody | None = None,
        X_PF: RigidTransform | None = None,
        model_instance: int | None = None,
        *,
        bodyB: RigidBody | None = None,
        X_BF: RigidTransform | None = None,
    ) -> None:
        parent = P if P is not None else bodyB
        frame_P = parent if isinstance(parent, Frame) or parent is None else parent.body_frame()
        pose = X_PF if X_PF is not None else X_BF
        if not isinstance(frame_P, Frame) or not isinstance(pose, RigidTransform):
            raise TypeError(
                f"FixedOffsetFrame({name!r}): needs a parent Frame P and a RigidTransform X_PF, but got "
                f"{type(parent).__name__} and {type(pose).__name__}."
            )
        super().__init__(
            name, frame_P.body(), frame_P.model_instance() if model_instance is None else model_instance
        )
        self._frame_P, self._X_PF = frame_P, pose
        self._slot: int | None = None  # number of its record of poses, set by Finalize()

    def GetFixedPoseInBodyFrame(self) -> RigidTransform:
        """Returns X_BF = X_BP X_PF, with which new Contexts start."""
        return self._frame_P.GetFixedPoseInBodyFrame() @ self._X_PF

    def CalcPoseInBodyFrame(self, context: Context) -> RigidTransform:
        """Returns X_BF in the Context.

        Raises:
            RuntimeError: before Finalize() of the plant.
        """
        return self._pose_in_context(context, "CalcPoseInBodyFrame", "X_BF")

    def GetPoseInParentFrame(self, context: Context) -> RigidTransform:
        """Returns X_PF in the Context.

        Raises:
            RuntimeError: before Finalize() of the plant.
        """
        return self._pose_in_context(context, "GetPoseInParentFrame", "X_PF")

    def SetPoseInParentFrame(self, context: Context, X_PF: RigidTransform) -> None:
        """Sets X_PF in the Context, and with it the poses of frames, joints and bushings that depend on it.

        Raises:
            RuntimeError: before Finalize() of the plant.
            ValueError: if the pose is not finite.
            TypeError: if it is not a RigidTransform.
        """
        if not isinstance(X_PF, RigidTransform):
            raise TypeError(f"SetPoseInParentFrame() takes a RigidTransform, not a {type(X_PF).__name__}.")
        self._get_slot("SetPoseInParentFrame")
        self.GetParentPlant()._frame_poses.set_pose_in_parent(context, self, X_PF)

    def _pose_in_context(self, context: Context, caller: str, field: str) -> RigidTransform:
        slot = self._get_slot(caller)
        X = self.GetParentPlant()._views.frames(context)[field][slot]
        return rigid_transform(X[:, :3].copy(), X[:, 3].copy())

    def _get_slot(self, caller: str) -> int:
        if self._slot is None:
            raise RuntimeError(
                f"{caller}(): frame {self._name!r} has no pose in a Context before it is added to a plant and "
                "Finalize() of that plant is called."
            )
        return self._slot
