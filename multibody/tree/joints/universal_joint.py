"""Rotation about two axes that cross at a right angle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import universal
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import Joint

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class UniversalJoint(Joint):
    """M rotates in F about their common origin, by one angle about Fx, then by another about My.

    The positions are these angles [rad], R_FM = Rx(q_0) Ry(q_1), the velocities their rates [rad/s].

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: of each rate, not negative [N m s].

    Raises:
        RuntimeError: if the damping is negative.
        TypeError: if a frame is not a Frame.
    """

    kTypeName = "universal"
    kind = universal.KIND

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 2)

    def default_damping(self) -> float:
        """Returns the damping of each rate that new Contexts start with [N m s]."""
        return float(self._default_damping[0])

    def get_default_angles(self) -> Vector:
        """Returns the angles that new Contexts start with [rad], shape [2]."""
        return self.default_positions()

    def set_default_angles(self, angles: npt.ArrayLike) -> None:
        """Sets the angles that new Contexts start with [rad], shape [2].

        Raises:
            ValueError: if there are not two, or one is not finite.
        """
        self.set_default_positions(as_vector(angles, 2, "set_default_angles: angles"))

    def set_random_angles_distribution(self, angles: npt.ArrayLike) -> None:
        """Sets the distribution of the angles in random Contexts, as expressions, shape [2]."""
        self._set_random_positions("set_random_angles_distribution", angles)

    def get_angles(self, context: Context) -> Vector:
        """Returns the angles in the Context [rad], shape [2]."""
        return self._q(context).copy()

    def set_angles(self, context: Context, angles: npt.ArrayLike) -> UniversalJoint:
        """Sets the angles in the Context [rad], shape [2], and returns this joint."""
        self._set_q(context, as_vector(angles, 2, "set_angles: angles"))
        return self

    def get_angular_rates(self, context: Context) -> Vector:
        """Returns the rates of the angles in the Context [rad/s], shape [2]."""
        return self._v(context).copy()

    def set_angular_rates(self, context: Context, theta_dot: npt.ArrayLike) -> UniversalJoint:
        """Sets the rates of the angles in the Context [rad/s], shape [2], and returns this joint."""
        self._set_v(context, as_vector(theta_dot, 2, "set_angular_rates: theta_dot"))
        return self
