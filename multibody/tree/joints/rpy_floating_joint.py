"""Free motion, with the orientation as roll, pitch and yaw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RotationMatrix
from merganser.multibody.kernels.mobilizers import rpy_floating
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.joints.floating_joint import FloatingJoint

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


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
