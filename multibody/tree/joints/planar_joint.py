"""Motion in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import planar
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import Joint

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class PlanarJoint(Joint):
    """Mo moves in the x-y plane of F, and M rotates about Fz.

    The positions are x and y of Mo in F [m] and the angle theta [rad], the velocities their rates.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: of the three velocities, not negative [N s/m, N s/m, N m s], shape [3].

    Raises:
        RuntimeError: if a damping is negative.
        TypeError: if a frame is not a Frame.
    """

    kTypeName = "planar"
    kind = planar.KIND

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, damping)

    # -- defaults --------------------------------------------------------------------------------------------

    def default_damping(self) -> Vector:
        """Returns the damping that new Contexts start with [N s/m, N s/m, N m s], shape [3]."""
        return self.default_damping_vector()

    def get_default_translation(self) -> Vector:
        """Returns x and y of Mo in F that new Contexts start with [m], shape [2]."""
        return self._default_positions[:2].copy()

    def get_default_rotation(self) -> float:
        """Returns the angle that new Contexts start with [rad]."""
        return float(self._default_positions[2])

    def set_default_translation(self, p_FoMo_F: npt.ArrayLike) -> None:
        """Sets x and y of Mo in F that new Contexts start with [m], shape [2]."""
        self.set_default_pose(p_FoMo_F, self.get_default_rotation())

    def set_default_rotation(self, theta: float) -> None:
        """Sets the angle that new Contexts start with [rad]."""
        self.set_default_pose(self.get_default_translation(), theta)

    def set_default_pose(self, p_FoMo_F: npt.ArrayLike, theta: float) -> None:
        """Sets x and y [m], shape [2], and the angle [rad] that new Contexts start with.

        Raises:
            ValueError: if there are not two, or a value is not finite.
        """
        self.set_default_positions(np.append(as_vector(p_FoMo_F, 2, "set_default_pose: p_FoMo_F"), theta))

    def set_random_pose_distribution(self, p_FoMo_F: npt.ArrayLike, theta: Any) -> None:
        """Sets the distribution of x and y, shape [2], and of the angle in random Contexts, as expressions."""
        self._set_random_positions("set_random_pose_distribution", [*np.asarray(p_FoMo_F, dtype=object).ravel(), theta])

    # -- state -----------------------------------------------------------------------------------------------

    def get_translation(self, context: Context) -> Vector:
        """Returns x and y of Mo in F in the Context [m], shape [2]."""
        return self._q(context)[:2].copy()

    def set_translation(self, context: Context, p_FoMo_F: npt.ArrayLike) -> PlanarJoint:
        """Sets x and y of Mo in F in the Context [m], shape [2], and returns this joint."""
        self._set_q(context, as_vector(p_FoMo_F, 2, "set_translation: p_FoMo_F"))
        return self

    def get_rotation(self, context: Context) -> Any:
        """Returns the angle in the Context [rad]."""
        return self._q(context)[2]

    def set_rotation(self, context: Context, theta: Any) -> PlanarJoint:
        """Sets the angle in the Context [rad], and returns this joint."""
        self._set_q(context, theta, first=2)
        return self

    def set_pose(self, context: Context, p_FoMo_F: npt.ArrayLike, theta: Any) -> PlanarJoint:
        """Sets x and y [m], shape [2], and the angle [rad] in the Context, and returns this joint."""
        self.set_translation(context, p_FoMo_F)
        return self.set_rotation(context, theta)

    def get_translational_velocity(self, context: Context) -> Vector:
        """Returns the rates of x and y in the Context [m/s], shape [2]."""
        return self._v(context)[:2].copy()

    def set_translational_velocity(self, context: Context, v_FoMo_F: npt.ArrayLike) -> PlanarJoint:
        """Sets the rates of x and y in the Context [m/s], shape [2], and returns this joint."""
        self._set_v(context, as_vector(v_FoMo_F, 2, "set_translational_velocity: v_FoMo_F"))
        return self

    def get_angular_velocity(self, context: Context) -> Any:
        """Returns the rate of the angle in the Context [rad/s]."""
        return self._v(context)[2]

    def set_angular_velocity(self, context: Context, theta_dot: Any) -> PlanarJoint:
        """Sets the rate of the angle in the Context [rad/s], and returns this joint."""
        self._set_v(context, theta_dot, first=2)
        return self
