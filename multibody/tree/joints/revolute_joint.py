"""Rotation about one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import revolute
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.one_dof_joint import OneDofJoint

if TYPE_CHECKING:
    from merganser.framework import Context


class RevoluteJoint(OneDofJoint):
    """M rotates in F by the angle q about an axis through Fo and Mo [rad].

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        axis: direction of the axis, the same components in F and M, any length but zero, shape [3].
        limits_and_damping: by position: (damping), (pos_lower_limit, pos_upper_limit), or all three.
        pos_lower_limit: lower limit of q [rad].
        pos_upper_limit: upper limit of q [rad].
        damping: viscous damping, not negative [N m s].

    Raises:
        RuntimeError: if the axis is zero or the damping negative.
        ValueError: if the limits are NaN or out of order.
        TypeError: if a frame is not a Frame, or there are too many arguments.
    """

    kTypeName = "revolute"
    kind = revolute.KIND

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: npt.ArrayLike,
        *limits_and_damping: float,
        pos_lower_limit: float = -np.inf,
        pos_upper_limit: float = np.inf,
        damping: float = 0.0,
    ) -> None:
        if len(limits_and_damping) > 3:
            raise TypeError(
                f"RevoluteJoint({name!r}): too many arguments after the axis: {limits_and_damping}."
            )
        if len(limits_and_damping) in (1, 3):
            damping = limits_and_damping[-1]
        if len(limits_and_damping) >= 2:
            pos_lower_limit, pos_upper_limit = limits_and_damping[:2]
        super().__init__(
            name, frame_on_parent, frame_on_child, axis, pos_lower_limit, pos_upper_limit, damping
        )

    def revolute_axis(self) -> npt.NDArray[Any]:
        """Returns the unit vector along the axis, the same components in F and M, shape [3]."""
        return self._axis.copy()

    def get_default_angle(self) -> float:
        """Returns the angle that new Contexts start with [rad]."""
        return float(self._default_positions[0])

    def set_default_angle(self, angle: float) -> None:
        """Sets the angle that new Contexts start with [rad].

        Raises:
            ValueError: if it is not finite.
        """
        self.set_default_positions([angle])

    def set_random_angle_distribution(self, angle: Any) -> None:
        """Sets the distribution of the angle in random Contexts, as an expression."""
        self._set_random_positions("set_random_angle_distribution", angle)

    def get_angle(self, context: Context) -> Any:
        """Returns the angle q in the Context [rad]."""
        return self._q(context)[0]

    def set_angle(self, context: Context, angle: Any) -> RevoluteJoint:
        """Sets the angle q in the Context [rad], and returns this joint."""
        self._set_q(context, angle)
        return self

    def get_angular_rate(self, context: Context) -> Any:
        """Returns dq/dt in the Context [rad/s]."""
        return self._v(context)[0]

    def set_angular_rate(self, context: Context, angle: Any) -> RevoluteJoint:
        """Sets dq/dt in the Context [rad/s], named `angle` though it is a rate, and returns this joint."""
        self._set_v(context, angle)
        return self
