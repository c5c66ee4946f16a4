"""Joints in which M turns freely in F about one point: as a quaternion, and as roll, pitch and yaw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RotationMatrix
from merganser.multibody.kernels.mobilizers import ball_quaternion, ball_rpy
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.one_dof_joint import JointWithArmature

if TYPE_CHECKING:
    from merganser.framework import Context

NO_TURN = (1.0, 0.0, 0.0, 0.0)


class QuaternionJoint(Joint):
    """Abstract joint whose first four positions are the quaternion [w, x, y, z] of R_FM, of any length but zero."""

    # -- defaults --------------------------------------------------------------------------------------------

    def set_default_positions(self, default_positions: npt.ArrayLike) -> None:
        """Sets the positions that new Contexts start with: the quaternion [w, x, y, z], then all others.

        Raises:
            RuntimeError: if their number is not num_positions().
            ValueError: if one is not finite, or the quaternion is zero.
        """
        q = np.array(default_positions, dtype=np.float64).reshape(-1)
        if q.size == self.num_positions() and not q[:4].any():
            raise ValueError(f"set_default_positions(): the quaternion of joint {self._name!r} is zero.")
        super().set_default_positions(q)

    def get_default_quaternion(self) -> Quaternion:
        """Returns the quaternion of R_FM that new Contexts start with."""
        return Quaternion(self._default_positions[:4] / np.linalg.norm(self._default_positions[:4]))

    def set_default_quaternion(self, q_FM: Quaternion) -> None:
        """Sets the quaternion of R_FM that new Contexts start with."""
        self.set_default_positions(np.concatenate([q_FM.wxyz(), self._default_positions[4:]]))

    def set_random_quaternion_distribution(self, q_FM: Any) -> None:
        """Sets the distribution of the quaternion in random Contexts, as a Quaternion_[Expression].

        A translation keeps its distribution; without one it is zero.
        """
        self._set_random_quaternion("set_random_quaternion_distribution", q_FM.wxyz())

    def set_random_quaternion_distribution_to_uniform(self) -> None:
        """Makes the orientation in random Contexts uniform among all rotations (Shoemake, Graphics Gems III, 1992).

        A translation keeps its distribution; without one it is zero.
        """
        from merganser.framework.symbolic import Variable, cos, sin, sqrt

        u1, u2, u3 = (Variable(name, Variable.Type.RANDOM_UNIFORM) for name in ("u1", "u2", "u3"))
        a, b, turn = sqrt(1.0 - u1), sqrt(1.0 * u1), 2.0 * np.pi
        q_FM = [a * sin(turn * u2), a * cos(turn * u2), b * sin(turn * u3), b * cos(turn * u3)]
        self._set_random_quaternion("set_random_quaternion_distribution_to_uniform", q_FM)

    def _set_random_quaternion(self, caller: str, wxyz: Any) -> None:
        rest = [*NO_TURN, *[0.0] * (self.num_positions() - 4)]
        self._set_random_positions(caller, wxyz, rest=rest)

    # -- state -----------------------------------------------------------------------------------------------

    def get_quaternion(self, context: Context) -> Quaternion:
        """Returns the quaternion of R_FM in the Context, scaled to length 1.

        Raises:
            RuntimeError: if the quaternion in the Context is zero or not finite.
        """
        q = self._q(context)[:4]
        real = real_values(q)
        if real is not None and not (np.isfinite(real).all() and real.any()):
            raise RuntimeError(
                f"get_quaternion(): joint {self._name!r} has the quaternion {q} in this Context."
            )
        return Quaternion(q / np.sqrt(q @ q))

    def SetQuaternion(self, context: Context, q_FM: Quaternion) -> Self:
        """Sets the quaternion of R_FM in the Context, and returns this joint."""
        self._set_q(context, q_FM.wxyz())
        return self

    def SetOrientation(self, context: Context, R: RotationMatrix) -> Self:
        """Sets R_FM in the Context, and returns this joint."""
        return self.SetQuaternion(context, R.ToQuaternion())


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


class BallQuaternionJoint(QuaternionJoint, BallJoint):
    """M rotates freely in F about their common origin.

    The positions are the quaternion [w, x, y, z] of R_FM, of any length but zero; the velocities are w_FM_F [rad/s].
    Every orientation is as good as any other: unlike a BallRpyJoint, this one may turn as far as it likes, or as far as
    a limit of its rotation lets it (set_rotation_limit()).

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        damping: of each component of w_FM_F, not negative [N m s].

    Raises:
        RuntimeError: if the damping is negative.
        TypeError: if a frame is not a Frame.
    """

    kTypeName = "ball_quaternion"
    kind = ball_quaternion.KIND

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, damping)
        self._default_positions[:] = NO_TURN

    def rotation_limit(self) -> float:
        """Returns the greatest angle of R_FM [rad]; infinite if there is no limit."""
        return self._rotation_limit

    def set_rotation_limit(self, angle: float) -> None:
        """Bounds the angle of R_FM, about whatever axis: each axis of M stays in a cone about that of F.

        As limits of positions it is kept by a constraint of discrete steps, and by a spring in continuous time. Angles
        of rotations are at most pi, so that a limit from there on has no effect. There is no such function in pydrake.

        Args:
            angle: positive, may be infinite [rad].

        Raises:
            ValueError: if it is not positive.
            RuntimeError: if the plant is finalized.
        """
        if not angle > 0.0:  # also refuses NaN
            raise ValueError(
                f"set_rotation_limit(): the limit of joint {self._name!r} must be a positive angle, but is {angle}."
            )
        if self._velocity_start is not None:
            raise RuntimeError(
                f"set_rotation_limit(): joint {self._name!r} cannot get another limit, as its plant is finalized. Call "
                "it before Finalize()."
            )
        self._rotation_limit = float(angle) if angle < math.pi else math.inf


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
