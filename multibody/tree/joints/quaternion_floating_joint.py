"""Free motion, with the orientation as a quaternion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.kernels import layout
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.joints.joint import Joint

__all__ = ["QuaternionFloatingJoint"]

Vector = npt.NDArray[Any]


class QuaternionFloatingJoint(Joint):
    """M moves freely in F.

    The positions are the quaternion [w, x, y, z] of R_FM, then p_FoMo_F [m]; the velocities are w_FM_F
    [rad/s], then v_FMo_F [m/s].

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

    kTypeName = "quaternion_floating"
    _mobilizer = layout.QUATERNION_FLOATING
    _position_suffixes = ("qw", "qx", "qy", "qz", "x", "y", "z")
    _velocity_suffixes = ("wx", "wy", "wz", "vx", "vy", "vz")
    _can_rotate, _can_translate, _is_reversible = True, True, False
    _quaternion_start = 0

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
        self._default_positions[0] = 1.0

    def _calc_X_FM(self, q: Vector) -> RigidTransform:
        return RigidTransform(RotationMatrix(Quaternion(q[:4] / np.sqrt(q[:4] @ q[:4]))), q[4:])

    # -- defaults --------------------------------------------------------------------------------------------

    def default_angular_damping(self) -> float:
        """Returns the default damping of each component of w_FM_F [N m s]."""
        return float(self._default_damping[0])

    def default_translational_damping(self) -> float:
        """Returns the default damping of each component of v_FMo_F [N s/m]."""
        return float(self._default_damping[3])

    def set_default_positions(self, default_positions: npt.ArrayLike) -> None:
        """Sets the quaternion [w, x, y, z] and p_FoMo_F [m] that new Contexts start with, shape [7].

        Raises:
            RuntimeError: if there are not seven.
            ValueError: if one is not finite, or the quaternion is zero.
        """
        q = np.array(default_positions, dtype=np.float64).reshape(-1)
        if q.size == 7 and not q[:4].any():
            raise ValueError(f"set_default_positions(): the quaternion of joint {self._name!r} is zero.")
        super().set_default_positions(q)

    def get_default_quaternion(self) -> Quaternion:
        """Returns the quaternion of R_FM that new Contexts start with."""
        return Quaternion(self._default_positions[:4] / np.linalg.norm(self._default_positions[:4]))

    def set_default_quaternion(self, q_FM: Quaternion) -> None:
        """Sets the quaternion of R_FM that new Contexts start with."""
        self.set_default_positions(np.concatenate([q_FM.wxyz(), self._default_positions[4:]]))

    def get_default_translation(self) -> Vector:
        """Returns p_FoMo_F that new Contexts start with [m], shape [3]."""
        return self._default_positions[4:].copy()

    def set_default_translation(self, translation: npt.ArrayLike) -> None:
        """Sets p_FoMo_F that new Contexts start with [m], shape [3]."""
        p_FoMo_F = as_vector(translation, 3, "set_default_translation: translation")
        self.set_default_positions(np.concatenate([self._default_positions[:4], p_FoMo_F]))

    def SetDefaultPose(self, X_FM: RigidTransform) -> None:
        """Sets the pose of M in F that new Contexts start with."""
        self.SetDefaultPosePair(X_FM.rotation().ToQuaternion(), X_FM.translation())

    def SetDefaultPosePair(self, q_FM: Quaternion, p_FM: npt.ArrayLike) -> None:
        """Sets the quaternion of R_FM and p_FoMo_F [m] that new Contexts start with."""
        p_FoMo_F = as_vector(p_FM, 3, "SetDefaultPosePair: p_FM")
        self.set_default_positions(np.concatenate([q_FM.wxyz(), p_FoMo_F]))

    def GetDefaultPosePair(self) -> tuple[Quaternion, Vector]:
        """Returns the quaternion of R_FM and p_FoMo_F [m] that new Contexts start with."""
        return self.get_default_quaternion(), self.get_default_translation()

    # -- state -----------------------------------------------------------------------------------------------

    def get_quaternion(self, context: Any) -> Quaternion:
        """Returns the quaternion of R_FM in the Context, scaled to length 1.

        Raises:
            RuntimeError: if the quaternion in the Context is zero or not finite.
        """
        q = self._q(context)[:4]
        real = real_values(q)
        if real is not None and not (np.isfinite(real).all() and real.any()):
            raise RuntimeError(
                f"get_quaternion(): joint {self._name!r} has the quaternion {q} in this Context."
            )
        return Quaternion(q / np.sqrt(q @ q))

    def get_translation(self, context: Any) -> Vector:
        """Returns p_FoMo_F in the Context [m], shape [3]."""
        return self._q(context)[4:].copy()

    def GetPose(self, context: Any) -> RigidTransform:
        """Returns X_FM in the Context."""
        return RigidTransform(RotationMatrix(self.get_quaternion(context)), self.get_translation(context))

    def SetQuaternion(self, context: Any, q_FM: Quaternion) -> QuaternionFloatingJoint:
        """Sets the quaternion of R_FM in the Context, and returns this joint."""
        self._set_q(context, q_FM.wxyz())
        return self

    def SetOrientation(self, context: Any, R: RotationMatrix) -> QuaternionFloatingJoint:
        """Sets R_FM in the Context, and returns this joint."""
        return self.SetQuaternion(context, R.ToQuaternion())

    def SetTranslation(self, context: Any, p_FM: npt.ArrayLike) -> QuaternionFloatingJoint:
        """Sets p_FoMo_F in the Context [m], and returns this joint."""
        self._set_q(context, as_vector(p_FM, 3, "SetTranslation: p_FM"), first=4)
        return self

    def SetPose(self, context: Any, X_FM: RigidTransform) -> QuaternionFloatingJoint:
        """Sets X_FM in the Context, and returns this joint."""
        self.SetOrientation(context, X_FM.rotation())
        return self.SetTranslation(context, X_FM.translation())

    def get_angular_velocity(self, context: Any) -> Vector:
        """Returns w_FM_F in the Context [rad/s], shape [3]."""
        return self._v(context)[:3].copy()

    def set_angular_velocity(self, context: Any, w_FM: npt.ArrayLike) -> QuaternionFloatingJoint:
        """Sets w_FM_F in the Context [rad/s], and returns this joint."""
        self._set_v(context, as_vector(w_FM, 3, "set_angular_velocity: w_FM"))
        return self

    def get_translational_velocity(self, context: Any) -> Vector:
        """Returns v_FMo_F in the Context [m/s], shape [3]."""
        return self._v(context)[3:].copy()

    def set_translational_velocity(self, context: Any, v_FM: npt.ArrayLike) -> QuaternionFloatingJoint:
        """Sets v_FMo_F in the Context [m/s], and returns this joint."""
        self._set_v(context, as_vector(v_FM, 3, "set_translational_velocity: v_FM"), first=3)
        return self
