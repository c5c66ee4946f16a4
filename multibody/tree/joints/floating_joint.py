"""Base of joints in which M moves freely in F."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.frame import Frame
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
