"""Free rotation about one point, as roll, pitch and yaw."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import ball_rpy
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import Joint

__all__ = ["BallRpyJoint"]

Vector = npt.NDArray[Any]


class BallRpyJoint(Joint):
    """M rotates freely in F about their common origin.

    The positions are the angles roll, pitch and yaw [rad] with R_FM = Rz(yaw) Ry(pitch) Rx(roll); the velocities are
    w_FM_F [rad/s], not the rates of the angles. These have no finite value at a pitch of a quarter turn.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: of each component of w_FM_F, not negative [N m s].

    Raises:
        RuntimeError: if the damping is negative.
        TypeError: if a frame is not a Frame.
    """

    kTypeName = "ball_rpy"
    kind = ball_rpy.KIND

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 3)

    def default_damping(self) -> float:
        """Returns the damping of each component of w_FM_F that new Contexts start with [N m s]."""
        return float(self._default_damping[0])

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

    def get_angles(self, context: Any) -> Vector:
        """Returns roll, pitch and yaw in the Context [rad], shape [3]."""
        return self._q(context).copy()

    def set_angles(self, context: Any, angles: npt.ArrayLike) -> BallRpyJoint:
        """Sets roll, pitch and yaw in the Context [rad], shape [3], and returns this joint."""
        self._set_q(context, as_vector(angles, 3, "set_angles: angles"))
        return self

    def get_angular_velocity(self, context: Any) -> Vector:
        """Returns w_FM_F in the Context [rad/s], shape [3]."""
        return self._v(context).copy()

    def set_angular_velocity(self, context: Any, w_FM: npt.ArrayLike) -> BallRpyJoint:
        """Sets w_FM_F in the Context [rad/s], shape [3], and returns this joint."""
        self._set_v(context, as_vector(w_FM, 3, "set_angular_velocity: w_FM"))
        return self
