"""Joints of one degree of freedom: what they share, and rotation about and translation along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import prismatic, revolute
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import Joint

if TYPE_CHECKING:
    from merganser.framework import Context


class JointWithArmature(Joint):
    """Abstract joint with one velocity, or a ball, whose mass matrix has its armature on the diagonal."""

    def default_armature(self) -> float:
        """Returns the inertia that moves with the joint beside that of bodies and of the rotors of actuators.

        Inertia of a rotation [kg m^2], or mass of a translation [kg]; of a ball about every axis. An addition to
        pydrake's functions.
        """
        return self._default_armature

    def set_default_armature(self, armature: float) -> None:
        """Sets the armature, on the diagonal of the mass matrices of new Contexts; see default_armature().

        Raises:
            RuntimeError: if it is negative or not finite.
        """
        if not (np.isfinite(armature) and armature >= 0.0):
            raise RuntimeError(
                f"set_default_armature(): the armature of joint {self._name!r} must be finite and not negative, but "
                f"is {armature}."
            )
        self._default_armature = float(armature)


class OneDofJoint(JointWithArmature):
    """Abstract joint with one position q, velocity v = dq/dt, and the same axis in F and M.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        axis: direction of the axis in F, any length but zero, shape [3].
        pos_lower_limit: lower limit of q [rad or m].
        pos_upper_limit: upper limit of q [rad or m].
        damping: viscous damping, not negative [N m s or N s/m].

    Raises:
        RuntimeError: if the axis is zero or not finite, or the damping is negative.
        ValueError: if the limits are NaN or out of order, or the axis has not three entries.
        TypeError: if a frame is not a Frame.
    """

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: npt.ArrayLike,
        pos_lower_limit: float = -np.inf,
        pos_upper_limit: float = np.inf,
        damping: float = 0.0,
    ) -> None:
        super().__init__(
            name, frame_on_parent, frame_on_child, [damping], ([pos_lower_limit], [pos_upper_limit])
        )
        direction = as_vector(axis, 3, f"{type(self).__name__}({name!r}): axis").astype(np.float64)
        length = float(np.linalg.norm(direction))
        if not (np.isfinite(length) and length > 1e-12):
            raise RuntimeError(
                f"{type(self).__name__}({name!r}): the axis must be finite and have a nonzero length, but "
                f"is {direction}."
            )
        self._axis = direction / length

    def _mobilizer_axis(self) -> npt.NDArray[Any]:
        return self._axis

    def default_damping(self) -> float:
        """Returns the damping that new Contexts start with [N m s or N s/m]."""
        return float(self._default_damping[0])

    def set_default_damping(self, damping: float) -> None:
        """Sets the damping that new Contexts start with.

        Raises:
            RuntimeError: if it is negative or not finite.
        """
        self.set_default_damping_vector([damping])

    def GetDamping(self, context: Context) -> Any:
        """Returns the damping in the Context."""
        return self.GetDampingVector(context)[0]

    def SetDamping(self, context: Context, damping: float) -> None:
        """Sets the damping in the Context.

        Raises:
            RuntimeError: if it is negative or not finite.
        """
        self.SetDampingVector(context, [damping])

    def default_friction(self) -> float:
        """Returns the dry friction that new Contexts start with [N m or N], see JointFriction."""
        return float(self._default_friction[0])

    def set_default_friction(self, friction: float) -> None:
        """Sets the dry friction that new Contexts start with; errors as of set_default_friction_vector()."""
        self.set_default_friction_vector([friction])

    def GetFriction(self, context: Context) -> Any:
        """Returns the dry friction in the Context."""
        return self.GetFrictionVector(context)[0]

    def SetFriction(self, context: Context, friction: float) -> None:
        """Sets the dry friction in the Context; errors as of SetFrictionVector()."""
        self.SetFrictionVector(context, [friction])

    def position_lower_limit(self) -> float:
        """Returns the lower limit of q."""
        return float(self._position_limits[0][0])

    def position_upper_limit(self) -> float:
        """Returns the upper limit of q."""
        return float(self._position_limits[1][0])

    def velocity_lower_limit(self) -> float:
        """Returns the lower limit of v."""
        return float(self._velocity_limits[0][0])

    def velocity_upper_limit(self) -> float:
        """Returns the upper limit of v."""
        return float(self._velocity_limits[1][0])

    def acceleration_lower_limit(self) -> float:
        """Returns the lower limit of dv/dt."""
        return float(self._acceleration_limits[0][0])

    def acceleration_upper_limit(self) -> float:
        """Returns the upper limit of dv/dt."""
        return float(self._acceleration_limits[1][0])


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


class PrismaticJoint(OneDofJoint):
    """Mo moves in F by q along an axis, and M keeps the orientation of F [m]; arguments as OneDofJoint."""

    kTypeName = "prismatic"
    kind = prismatic.KIND

    def translation_axis(self) -> npt.NDArray[Any]:
        """Returns the unit vector along the axis, the same components in F and M, shape [3]."""
        return self._axis.copy()

    def get_default_translation(self) -> float:
        """Returns the displacement that new Contexts start with [m]."""
        return float(self._default_positions[0])

    def set_default_translation(self, translation: float) -> None:
        """Sets the displacement that new Contexts start with [m].

        Raises:
            ValueError: if it is not finite.
        """
        self.set_default_positions([translation])

    def set_random_translation_distribution(self, translation: Any) -> None:
        """Sets the distribution of the displacement in random Contexts, as an expression."""
        self._set_random_positions("set_random_translation_distribution", translation)

    def get_translation(self, context: Context) -> Any:
        """Returns the displacement q in the Context [m]."""
        return self._q(context)[0]

    def set_translation(self, context: Context, translation: Any) -> PrismaticJoint:
        """Sets the displacement q in the Context [m], and returns this joint."""
        self._set_q(context, translation)
        return self

    def get_translation_rate(self, context: Context) -> Any:
        """Returns dq/dt in the Context [m/s]."""
        return self._v(context)[0]

    def set_translation_rate(self, context: Context, translation_dot: Any) -> PrismaticJoint:
        """Sets dq/dt in the Context [m/s], and returns this joint."""
        self._set_v(context, translation_dot)
        return self
