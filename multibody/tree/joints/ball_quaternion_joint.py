"""Free rotation about one point, as a quaternion."""

from __future__ import annotations

import math

from merganser.multibody.kernels.mobilizers import ball_quaternion
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.ball_joint import BallJoint
from merganser.multibody.tree.joints.quaternion_joint import NO_TURN, QuaternionJoint


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
