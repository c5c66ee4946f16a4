"""Joints in which M moves freely in F, with the orientation as a quaternion, or as roll, pitch and yaw."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.kernels.mobilizers import quaternion_floating, rpy_floating
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.ball_joint import NO_TURN, QuaternionJoint
from merganser.multibody.tree.joints.joint import Joint

if TYPE_CHECKING:
    from merganser.framework import Context


Vector = npt.NDArray[Any]


class FloatingJoint(Joint):
    """Abstract joint with six velocities: w_FM_F [rad/s], then v_FMo_F [m/s].

    The positions are some for the orientation, then p_FoMo_F [m].

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        angular_damping: damping of each component of w_FM_F [N m s].
        translational_damping: damping of each component of v_FMo_F [N s/m].

    Raises:
        RuntimeError: if a damping is negative.
        TypeError: if a frame is not a Frame.
    """

    _zero_orientation: ClassVar[tuple[float, ...]]

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        angular_damping: float = 0.0,
        translational_damping: float = 0.0,
    ) -> None:
        damping = [angular_damping] * 3 + [translational_damping] * 3
        super().__init__(name, frame_on_parent, frame_on_child, damping)
        self._num_angles = len(self._zero_orientation)
        self._default_positions[: self._num_angles] = self._zero_orientation

    @abstractmethod
    def _orientation_of(self, R_FM: RotationMatrix) -> Vector:
        """The positions of the orientation R_FM."""

    def _positions_of(self, X_FM: RigidTransform) -> Vector:
        """The positions of the pose X_FM, shape [num_positions]."""
        R_FM = X_FM.rotation()
        if scalar_of_array(R_FM.matrix()).__name__ == "Expression":
            R_FM = R_FM.cast[float]()  # raises an error if it is not constant
        return np.concatenate([self._orientation_of(R_FM), X_FM.translation()])

    # -- defaults --------------------------------------------------------------------------------------------

    def default_angular_damping(self) -> float:
        """Returns the default damping of each component of w_FM_F [N m s]."""
        return float(self._default_damping[0])

    def default_translational_damping(self) -> float:
        """Returns the default damping of each component of v_FMo_F [N s/m]."""
        return float(self._default_damping[3])

    def get_default_translation(self) -> Vector:
        """Returns p_FoMo_F that new Contexts start with [m], shape [3]."""
        return self._default_positions[self._num_angles :].copy()

    def _set_default_translation(self, p_FoMo_F: npt.ArrayLike) -> None:
        p = as_vector(p_FoMo_F, 3, "set_default_translation: p_FoMo_F")
        self.set_default_positions(np.concatenate([self._default_positions[: self._num_angles], p]))

    def has_default_pose(self) -> bool:
        """Whether new Contexts start with other positions than those of the joint at zero. Not in pydrake."""
        return list(self._default_positions) != [*self._zero_orientation, 0.0, 0.0, 0.0]

    def SetDefaultPose(self, X_FM: RigidTransform) -> None:
        """Sets the pose of M in F that new Contexts start with."""
        self.set_default_positions(self._positions_of(X_FM))

    def set_default_body_pose(self, X_PB: RigidTransform) -> None:
        """Sets the pose of the child in the parent body that new Contexts start with. Not in pydrake."""
        X_PF, X_BM = (frame.GetFixedPoseInBodyFrame() for frame in (self.frame_on_parent(), self.frame_on_child()))
        self.SetDefaultPose(X_PF.inverse() @ X_PB @ X_BM)

    def default_body_pose(self) -> RigidTransform:
        """Returns the pose of the child in the parent body that new Contexts start with. Not in pydrake."""
        X_PF, X_BM = (frame.GetFixedPoseInBodyFrame() for frame in (self.frame_on_parent(), self.frame_on_child()))
        return X_PF @ self.GetDefaultPose() @ X_BM.inverse()

    def SetDefaultPosePair(self, q_FM: Quaternion, p_FM: npt.ArrayLike) -> None:
        """Sets the quaternion of R_FM and p_FoMo_F [m] that new Contexts start with."""
        self.SetDefaultPose(RigidTransform(RotationMatrix(q_FM), as_vector(p_FM, 3, "SetDefaultPosePair: p_FM")))

    def _set_random_part(self, caller: str, values: Any, first: int) -> None:
        """Sets the distribution of some positions; the others keep theirs, or get those of the joint at zero."""
        zero = [*self._zero_orientation, 0.0, 0.0, 0.0]
        self._set_random_positions(caller, values, first, rest=zero)

    # -- state -----------------------------------------------------------------------------------------------

    def get_translation(self, context: Context) -> Vector:
        """Returns p_FoMo_F in the Context [m], shape [3]."""
        return self._q(context)[self._num_angles :].copy()

    def GetPose(self, context: Context) -> RigidTransform:
        """Returns X_FM in the Context."""
        return self._calc_X_FM(self._q(context))

    def SetOrientation(self, context: Context, R_FM: RotationMatrix) -> Self:
        """Sets R_FM in the Context, and returns this joint."""
        self._set_q(context, self._orientation_of(R_FM))
        return self

    def SetTranslation(self, context: Context, p_FM: npt.ArrayLike) -> Self:
        """Sets p_FoMo_F in the Context [m], and returns this joint."""
        self._set_q(context, as_vector(p_FM, 3, "SetTranslation: p_FM"), first=self._num_angles)
        return self

    def SetPose(self, context: Context, X_FM: RigidTransform) -> Self:
        """Sets X_FM in the Context, and returns this joint."""
        self._set_q(context, self._positions_of(X_FM))
        return self

    def get_angular_velocity(self, context: Context) -> Vector:
        """Returns w_FM_F in the Context [rad/s], shape [3]."""
        return self._v(context)[:3].copy()

    def set_angular_velocity(self, context: Context, w_FM: npt.ArrayLike) -> Self:
        """Sets w_FM_F in the Context [rad/s], and returns this joint."""
        self._set_v(context, as_vector(w_FM, 3, "set_angular_velocity: w_FM"))
        return self

    def get_translational_velocity(self, context: Context) -> Vector:
        """Returns v_FMo_F in the Context [m/s], shape [3]."""
        return self._v(context)[3:].copy()

    def set_translational_velocity(self, context: Context, v_FM: npt.ArrayLike) -> Self:
        """Sets v_FMo_F in the Context [m/s], and returns this joint."""
        self._set_v(context, as_vector(v_FM, 3, "set_translational_velocity: v_FM"), first=3)
        return self


class QuaternionFloatingJoint(QuaternionJoint, FloatingJoint):
    """M moves freely in F; arguments as FloatingJoint.

    The positions are the quaternion [w, x, y, z] of R_FM, then p_FoMo_F [m]; the velocities are w_FM_F
    [rad/s], then v_FMo_F [m/s].
    """

    kTypeName = "quaternion_floating"
    kind = quaternion_floating.KIND
    _zero_orientation = NO_TURN

    def _orientation_of(self, R_FM: RotationMatrix) -> Vector:
        return R_FM.ToQuaternion().wxyz()

    # -- defaults --------------------------------------------------------------------------------------------

    def set_default_translation(self, translation: npt.ArrayLike) -> None:
        """Sets p_FoMo_F that new Contexts start with [m], shape [3]."""
        self._set_default_translation(translation)

    def GetDefaultPosePair(self) -> tuple[Quaternion, Vector]:
        """Returns the quaternion of R_FM and p_FoMo_F [m] that new Contexts start with."""
        return self.get_default_quaternion(), self.get_default_translation()

    def SetDefaultPosePair(self, q_FM: Quaternion, p_FM: npt.ArrayLike) -> None:
        """Sets the quaternion of R_FM and p_FoMo_F [m] that new Contexts start with."""
        p_FoMo_F = as_vector(p_FM, 3, "SetDefaultPosePair: p_FM")
        self.set_default_positions(np.concatenate([q_FM.wxyz(), p_FoMo_F]))

    def set_random_translation_distribution(self, translation: npt.ArrayLike) -> None:
        """Sets the distribution of p_FoMo_F in random Contexts, as expressions, shape [3].

        The quaternion keeps its distribution; without one it is [1, 0, 0, 0].
        """
        self._set_random_part("set_random_translation_distribution", translation, 4)

    # -- state -----------------------------------------------------------------------------------------------

    def GetPose(self, context: Context) -> RigidTransform:
        """Returns X_FM in the Context; errors as get_quaternion."""
        return RigidTransform(RotationMatrix(self.get_quaternion(context)), self.get_translation(context))


class RpyFloatingJoint(FloatingJoint):
    """M moves freely in F; arguments as FloatingJoint.

    The positions are the angles roll, pitch and yaw [rad] with R_FM = Rz(yaw) Ry(pitch) Rx(roll), then p_FoMo_F
    [m]; the velocities are w_FM_F [rad/s], then v_FMo_F [m/s]. At a pitch of a quarter turn the angles have no finite
    rates: a QuaternionFloatingJoint has no such place.
    """

    kTypeName = "rpy_floating"
    kind = rpy_floating.KIND
    _zero_orientation = (0.0, 0.0, 0.0)

    def _orientation_of(self, R_FM: RotationMatrix) -> Vector:
        return np.asarray(R_FM.ToRollPitchYaw().vector())

    # -- defaults --------------------------------------------------------------------------------------------

    def get_default_angles(self) -> Vector:
        """Returns roll, pitch and yaw that new Contexts start with [rad], shape [3]."""
        return self._default_positions[:3].copy()

    def set_default_angles(self, angles: npt.ArrayLike) -> None:
        """Sets roll, pitch and yaw that new Contexts start with [rad], shape [3].

        Raises:
            ValueError: if there are not three, or one is not finite.
        """
        given = as_vector(angles, 3, "set_default_angles: angles")
        self.set_default_positions(np.concatenate([given, self._default_positions[3:]]))

    def set_default_translation(self, p_FM: npt.ArrayLike) -> None:
        """Sets p_FoMo_F that new Contexts start with [m], shape [3]."""
        self._set_default_translation(p_FM)

    def set_random_angles_distribution(self, angles: npt.ArrayLike) -> None:
        """Sets the distribution of roll, pitch and yaw in random Contexts, as expressions, shape [3].

        The translation keeps its distribution; without one it is zero.
        """
        self._set_random_part("set_random_angles_distribution", angles, 0)

    def set_random_translation_distribution(self, p_FM: npt.ArrayLike) -> None:
        """Sets the distribution of p_FoMo_F in random Contexts, as expressions, shape [3].

        The angles keep their distribution; without one they are zero.
        """
        self._set_random_part("set_random_translation_distribution", p_FM, 3)

    # -- state -----------------------------------------------------------------------------------------------

    def get_angles(self, context: Context) -> Vector:
        """Returns roll, pitch and yaw in the Context [rad], shape [3]."""
        return self._q(context)[:3].copy()

    def set_angles(self, context: Context, angles: npt.ArrayLike) -> RpyFloatingJoint:
        """Sets roll, pitch and yaw in the Context [rad], shape [3], and returns this joint."""
        self._set_q(context, as_vector(angles, 3, "set_angles: angles"))
        return self
