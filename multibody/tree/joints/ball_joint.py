"""Base of joints in which M turns freely in F about one point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.one_dof_joint import JointWithArmature

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class BallJoint(JointWithArmature):
    """Abstract joint whose velocities are w_FM_F [rad/s].

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: of each component of w_FM_F, not negative [N m s].

    Raises:
        RuntimeError: if the damping is negative.
        TypeError: if a frame is not a Frame.
    """

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 3)

    def default_damping(self) -> float:
        """Returns the damping of each component of w_FM_F that new Contexts start with [N m s]."""
        return float(self._default_damping[0])

    def get_angular_velocity(self, context: Context) -> Vector:
        """Returns w_FM_F in the Context [rad/s], shape [3]."""
        return self._v(context).copy()

    def set_angular_velocity(self, context: Context, w_FM: npt.ArrayLike) -> Self:
        """Sets w_FM_F in the Context [rad/s], shape [3], and returns this joint."""
        self._set_v(context, as_vector(w_FM, 3, "set_angular_velocity: w_FM"))
        return self
