"""Free motion, with the orientation as a quaternion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.kernels.mobilizers import quaternion_floating
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.joints.floating_joint import FloatingJoint

__all__ = ["QuaternionFloatingJoint"]

Vector = npt.NDArray[Any]


class QuaternionFloatingJoint(FloatingJoint):
    """M moves freely in F; arguments as FloatingJoint.

    The positions are the quaternion [w, x, y, z] of R_FM, then p_FoMo_F [m]; the velocities are w_FM_F
    [rad/s], then v_FMo_F [m/s].
    """

    kTypeName = "quaternion_floating"
    kind = quaternion_floating.KIND
    _zero_orientation = (1.0, 0.0, 0.0, 0.0)

    def _orientation_of(self, R_FM: RotationMatrix) -> Vector:
        return R_FM.ToQuaternion().wxyz()

    # -- defaults --------------------------------------------------------------------------------------------

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

    def set_random_quaternion_distribution(self, q_FM: Any) -> None:
        """Sets the distribution of the quaternion in random Contexts, as a Quaternion_[Expression].

        The translation keeps its distribution; without one it is zero.
        """
        self._set_random_part("set_random_quaternion_distribution", q_FM.wxyz(), 0)

    def set_random_quaternion_distribution_to_uniform(self) -> None:
        """Makes the orientation in random Contexts uniform among all rotations (Shoemake, Graphics Gems III, 1992).

        The translation keeps its distribution; without one it is zero.
        """
        from merganser.framework.symbolic import Variable, cos, sin, sqrt  # needs the extra `symbolic`

        u1, u2, u3 = (Variable(name, Variable.Type.RANDOM_UNIFORM) for name in ("u1", "u2", "u3"))
        a, b, turn = sqrt(1.0 - u1), sqrt(1.0 * u1), 2.0 * np.pi
        q_FM = [a * sin(turn * u2), a * cos(turn * u2), b * sin(turn * u3), b * cos(turn * u3)]
        self._set_random_part("set_random_quaternion_distribution_to_uniform", q_FM, 0)

    def set_random_translation_distribution(self, translation: npt.ArrayLike) -> None:
        """Sets the distribution of p_FoMo_F in random Contexts, as expressions, shape [3].

        The quaternion keeps its distribution; without one it is [1, 0, 0, 0].
        """
        self._set_random_part("set_random_translation_distribution", translation, 4)

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

    def GetPose(self, context: Any) -> RigidTransform:
        """Returns X_FM in the Context; errors as get_quaternion."""
        return RigidTransform(RotationMatrix(self.get_quaternion(context)), self.get_translation(context))

    def SetQuaternion(self, context: Any, q_FM: Quaternion) -> QuaternionFloatingJoint:
        """Sets the quaternion of R_FM in the Context, and returns this joint."""
        self._set_q(context, q_FM.wxyz())
        return self

    def SetOrientation(self, context: Any, R: RotationMatrix) -> QuaternionFloatingJoint:
        """Sets R_FM in the Context, and returns this joint."""
        return self.SetQuaternion(context, R.ToQuaternion())
