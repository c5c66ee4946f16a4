"""PiecewiseQuaternionSlerp: orientations at breaks, with rotation at a constant rate between them.

K. Shoemake, 1985, "Animating Rotation with Quaternion Curves", SIGGRAPH.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math import AngleAxis, Quaternion, RotationMatrix, elementwise
from merganser.framework.math.rotations.quaternion import quaternion_product
from merganser.framework.math.rotations.rigid_transform import quaternion
from merganser.framework.trajectories._scalars import Array, cast_entries, clamped, plain, scalar_of_array
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.trajectory import PiecewiseTrajectory

_ALMOST_PARALLEL = 1.0 - 2.0**-52
_ORIENTATIONS = ("quaternions", "rotation_matrices", "angle_axes")


class PiecewiseQuaternionSlerp(PiecewiseTrajectory):
    """An orientation that turns from sample to sample by the shorter way, at a constant rate on each segment.

    The value is the quaternion [w, x, y, z], shape [4, 1]; the first derivative is the angular velocity w_AB_A of the
    orientation R_AB [rad/s], the second one the angular acceleration, shape [3, 1]. Beyond the ends, they are those
    there.

    Args:
        breaks: increasing times, shape [n + 1].
        quaternions: an orientation for each; instead, `rotation_matrices` (RotationMatrix or matrices) or
            `angle_axes` may be given.

    Without arguments, there are no segments.

    Raises:
        RuntimeError: there are not as many orientations as breaks, or less than two.
        ValueError: breaks do not increase.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._quaternions: list[Array] = []
        if not args and not kwargs:
            super().__init__()
            return
        name = next((name for name in _ORIENTATIONS if name in kwargs), "quaternions")
        given = bind_overload("PiecewiseQuaternionSlerp", ("breaks", name), {}, args, kwargs)
        breaks, orientations = list(given["breaks"]), list(given[name])
        if len(breaks) != len(orientations) or len(breaks) < 2:
            raise RuntimeError(
                f"PiecewiseQuaternionSlerp: there must be as many {name} as breaks, at least 2; got "
                f"{len(orientations)} and {len(breaks)}."
            )
        super().__init__(breaks)
        for orientation in orientations:
            self._quaternions.append(self._next_quaternion(orientation))

    def Append(self, *args: Any, **kwargs: Any) -> None:
        """Adds a segment, or the start of the first one; called as Append(time, quaternion).

        Args:
            time: where the segment ends.
            quaternion: the orientation there; instead, `rotation_matrix` or `angle_axis` may be given.

        Raises:
            ValueError: the time is not beyond the end.
        """
        name = next((name for name in ("rotation_matrix", "angle_axis") if name in kwargs), "quaternion")
        given = bind_overload("PiecewiseQuaternionSlerp.Append", ("time", name), {}, args, kwargs)
        quaternion = self._next_quaternion(given[name])
        self._set_breaks([*self._times, given["time"]])
        self._quaternions.append(quaternion)

    def get_quaternion_samples(self) -> list[Quaternion]:
        """Returns the orientations at the breaks; of q and -q, that which is nearer to the one before."""
        return [quaternion(q) for q in self._quaternions]

    def orientation(self, time: Any) -> Quaternion:
        """Returns the orientation at a time."""
        index, t = self._locate(time)
        start = self._times[index]
        q = _slerp(self._quaternions[index], self._quaternions[index + 1], (t - start) / self.duration(index))
        return quaternion(q)

    def angular_velocity(self, time: Any) -> Array:
        """Returns the angular velocity w_AB_A, constant on each segment [rad/s], shape [3]."""
        return self._angular_velocity(self._locate(time)[0])

    def angular_acceleration(self, time: Any) -> Array:
        """Returns the angular acceleration, which is zero [rad/s^2], shape [3]."""
        return cast_entries(np.zeros(3), self._scalar_type())

    def do_rows(self) -> int:
        return 4

    def do_cols(self) -> int:
        return 1

    def do_value(self, t: Any) -> Array:
        return self.orientation(t).wxyz().reshape(4, 1)

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return (self.angular_velocity(t) if derivative_order == 1 else self.angular_acceleration(t)).reshape(3, 1)

    def DoMakeDerivative(self, derivative_order: int) -> PiecewisePolynomial:
        rates = [self._angular_velocity(i).reshape(1, 3, 1) for i in range(self.get_number_of_segments())]
        return PiecewisePolynomial._of(self._times, np.array(rates)).derivative(derivative_order - 1)

    def is_approx(self, other: PiecewiseQuaternionSlerp, tol: float) -> bool:
        """Returns whether breaks and quaternions are those of another trajectory, up to a tolerance."""
        if len(self._breaks) != len(other._breaks):
            return False
        pairs: Any = zip((*self._breaks, *self._quaternions), (*other._breaks, *other._quaternions))
        return all(np.all(np.abs(a - b) <= tol) for a, b in pairs)

    def _angular_velocity(self, index: int) -> Array:
        """Of a segment: axis times angle of the rotation q_1 q_0^-1, by its duration."""
        q0, q1 = self._quaternions[index], self._quaternions[index + 1]
        w, *xyz = quaternion_product(q1, q0 * np.array([1.0, -1.0, -1.0, -1.0])).tolist()
        square = xyz[0] * xyz[0] + xyz[1] * xyz[1] + xyz[2] * xyz[2]
        if not plain(square) > 0.0:
            return np.array([2.0 * x for x in xyz]) / self.duration(index)
        sine = elementwise.sqrt(square)
        angle = 2.0 * elementwise.arctan2(sine, w)
        return np.array(xyz) * (angle / sine / self.duration(index))

    def _locate(self, time: Any) -> tuple[int, Any]:
        """The number of the segment, and the time within the trajectory."""
        if self.get_number_of_segments() == 0:
            raise RuntimeError(f"{self._name} has no segments; add orientations with Append().")
        return self._segment_with(time), clamped(time, self._times[0], self._times[-1], self._name)

    def _next_quaternion(self, orientation: Any) -> Array:
        """The unit quaternion of an orientation, of both signs the one nearer to the latest."""
        if isinstance(orientation, AngleAxis):
            q = orientation.quaternion().wxyz()
        elif isinstance(orientation, Quaternion):
            q = orientation.wxyz()
        elif isinstance(orientation, RotationMatrix):
            q = orientation.ToQuaternion().wxyz()
        else:
            q = RotationMatrix.ProjectToRotationMatrix(orientation).ToQuaternion().wxyz()
        last = self._quaternions[-1] if self._quaternions else q
        return -q if plain(np.dot(q, last)) < 0.0 else q

    def _scalar_type(self) -> Any:
        return scalar_of_array(np.array(self._quaternions))

    def _cast(self, T: Any) -> Any:
        result = self.Clone()
        result._cast_breaks(T)
        result._quaternions = [cast_entries(q, T) for q in self._quaternions]
        return result


def _slerp(q0: Array, q1: Array, s: Any) -> Array:
    """The unit quaternion at the share s of the way from q0 to q1; shapes [4]."""
    angle = slerp_angle(q0, q1)
    if angle is None:
        q = (1.0 - s) * q0 + s * q1
    else:
        q = q0 * elementwise.sin((1.0 - s) * angle) + q1 * elementwise.sin(s * angle)
    w, x, y, z = q.tolist()
    return q / elementwise.sqrt(w * w + x * x + y * y + z * z)


def slerp_angle(q0: Array, q1: Array) -> Any:
    """The angle between two unit quaternions, shapes [4]; None if they are almost parallel."""
    cosine = np.dot(q0, q1)
    return None if plain(cosine) >= _ALMOST_PARALLEL else elementwise.arccos(cosine)
