"""Base of joints whose orientation is a quaternion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RotationMatrix
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.joints.joint import Joint

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
