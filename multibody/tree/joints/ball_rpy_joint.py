"""Free rotation about one point, as roll, pitch and yaw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import ball_rpy
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.joints.ball_joint import BallJoint

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class BallRpyJoint(BallJoint):
    """M rotates freely in F about their common origin.

    The positions are the angles roll, pitch and yaw [rad] with R_FM = Rz(yaw) Ry(pitch) Rx(roll); the velocities are
    w_FM_F [rad/s], not the rates of the angles. These have no finite value at a pitch of a quarter turn.

    Arguments as BallQuaternionJoint, which has no such place.
    """

    kTypeName = "ball_rpy"
    kind = ball_rpy.KIND

    def get_default_angles(self) -> Vector:
        """Returns roll, pitch and yaw that new Contexts start with [rad], shape [3]."""
        return self.default_positions()

    def set_default_angles(self, angles: npt.ArrayLike) -> None:
        """Sets roll, pitch and yaw that new Contexts start with [rad], shape [3].

        Raises:
            ValueError: if there are not three, or one is not finite.
        """
        self.set_default_positions(as_vector(angles, 3, "set_default_angles: angles"))

    def set_random_angles_distribution(self, angles: npt.ArrayLike) -> None:
        """Sets the distribution of roll, pitch and yaw in random Contexts, as expressions, shape [3]."""
        self._set_random_positions("set_random_angles_distribution", angles)

    def get_angles(self, context: Context) -> Vector:
        """Returns roll, pitch and yaw in the Context [rad], shape [3]."""
        return self._q(context).copy()

    def set_angles(self, context: Context, angles: npt.ArrayLike) -> BallRpyJoint:
        """Sets roll, pitch and yaw in the Context [rad], shape [3], and returns this joint."""
        self._set_q(context, as_vector(angles, 3, "set_angles: angles"))
        return self
