"""Rotation about an axis with a proportional translation along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import screw
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.one_dof_joint import OneDofJoint

if TYPE_CHECKING:
    from merganser.framework import Context

_FULL_TURN = 2.0 * np.pi
_NO_PITCH = 1e-14  # below, a translation does not determine an angle [m]


class ScrewJoint(OneDofJoint):
    """M rotates in F by the angle q [rad] about an axis, and Mo moves along it by screw_pitch for each full turn.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        axis_pitch_damping: by position: (screw_pitch, damping) or (axis, screw_pitch, damping).
        axis: direction of the axis, the same components in F and M, any length but zero, shape [3]; by default z.
        screw_pitch: displacement along the axis for each full turn [m].
        damping: viscous damping of the rotation, not negative [N m s].

    Raises:
        RuntimeError: if the axis is zero or the damping negative.
        TypeError: if a frame is not a Frame, or an argument is missing or too many.
        ValueError: if the pitch is not finite.
    """

    kTypeName = "screw"
    kind = screw.KIND

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        *axis_pitch_damping: Any,
        **named: Any,
    ) -> None:
        has_axis = "axis" in named or (axis_pitch_damping and np.ndim(axis_pitch_damping[0]) > 0)
        names = ("axis", "screw_pitch", "damping") if has_axis else ("screw_pitch", "damping")
        given = dict(zip(names, axis_pitch_damping))
        if len(axis_pitch_damping) > len(names) or given.keys() & named.keys() or {*given, *named} != set(names):
            raise TypeError(
                f"ScrewJoint({name!r}) takes screw_pitch and damping, or axis, screw_pitch and damping, after the "
                "frames."
            )
        given |= named
        super().__init__(
            name, frame_on_parent, frame_on_child, given.get("axis", (0.0, 0.0, 1.0)), damping=given["damping"]
        )
        self._screw_pitch = float(given["screw_pitch"])
        if not np.isfinite(self._screw_pitch):
            raise ValueError(f"ScrewJoint({name!r}): the screw pitch must be finite, but is {self._screw_pitch}.")

    def _mobilizer_pitch(self) -> float:
        return self._screw_pitch / _FULL_TURN

    def screw_axis(self) -> npt.NDArray[Any]:
        """Returns the unit vector along the axis, the same components in F and M, shape [3]."""
        return self._axis.copy()

    def screw_pitch(self) -> float:
        """Returns the displacement for each full turn [m]."""
        return self._screw_pitch

    def _angle(self, caller: str, translation: Any) -> Any:
        """The angle [rad] of a translation [m], or its rate."""
        if abs(self._screw_pitch) > _NO_PITCH:
            return translation / self._mobilizer_pitch()
        if abs(translation) < _NO_PITCH:
            return 0.0 * translation
        raise RuntimeError(
            f"{caller}(): joint {self._name!r} has no pitch, so it cannot translate by {translation}. Give the "
            "ScrewJoint a pitch, or set its rotation."
        )

    # -- defaults --------------------------------------------------------------------------------------------

    def get_default_rotation(self) -> float:
        """Returns the angle that new Contexts start with [rad]."""
        return float(self._default_positions[0])

    def set_default_rotation(self, theta: float) -> None:
        """Sets the angle that new Contexts start with [rad].

        Raises:
            ValueError: if it is not finite.
        """
        self.set_default_positions([theta])

    def get_default_translation(self) -> float:
        """Returns the displacement along the axis that new Contexts start with [m]."""
        return self._mobilizer_pitch() * self.get_default_rotation()

    def set_default_translation(self, z: float) -> None:
        """Sets the displacement along the axis that new Contexts start with [m].

        Raises:
            RuntimeError: if the pitch is zero and the displacement is not.
        """
        self.set_default_positions([self._angle("set_default_translation", z)])

    def set_random_pose_distribution(self, theta: npt.ArrayLike) -> None:
        """Sets the distribution of the angle in random Contexts, as an expression, shape [1]."""
        self._set_random_positions("set_random_pose_distribution", theta)

    # -- state -----------------------------------------------------------------------------------------------

    def get_rotation(self, context: Context) -> Any:
        """Returns the angle in the Context [rad]."""
        return self._q(context)[0]

    def set_rotation(self, context: Context, theta: Any) -> ScrewJoint:
        """Sets the angle in the Context [rad], and returns this joint."""
        self._set_q(context, theta)
        return self

    def get_translation(self, context: Context) -> Any:
        """Returns the displacement along the axis in the Context [m]."""
        return self._mobilizer_pitch() * self._q(context)[0]

    def set_translation(self, context: Context, translation: Any) -> ScrewJoint:
        """Sets the displacement along the axis in the Context [m], and returns this joint.

        Raises:
            RuntimeError: if the pitch is zero and the displacement is not.
        """
        self._set_q(context, self._angle("set_translation", translation))
        return self

    def get_angular_velocity(self, context: Context) -> Any:
        """Returns the rate of the angle in the Context [rad/s]."""
        return self._v(context)[0]

    def set_angular_velocity(self, context: Context, theta_dot: Any) -> ScrewJoint:
        """Sets the rate of the angle in the Context [rad/s], and returns this joint."""
        self._set_v(context, theta_dot)
        return self

    def get_translational_velocity(self, context: Context) -> Any:
        """Returns the velocity along the axis in the Context [m/s]."""
        return self._mobilizer_pitch() * self._v(context)[0]

    def set_translational_velocity(self, context: Context, translation_dot: Any) -> ScrewJoint:
        """Sets the velocity along the axis in the Context [m/s], and returns this joint.

        Raises:
            RuntimeError: if the pitch is zero and the velocity is not.
        """
        self._set_v(context, self._angle("set_translational_velocity", translation_dot))
        return self
