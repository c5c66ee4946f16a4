"""Free motion, with the orientation as a quaternion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.kernels.mobilizers import quaternion_floating
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.joints.floating_joint import FloatingJoint
from merganser.multibody.tree.joints.quaternion_joint import NO_TURN, QuaternionJoint

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


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
