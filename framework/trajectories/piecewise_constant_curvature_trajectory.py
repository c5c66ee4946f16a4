"""Planar paths of lines and circular arcs.

With s the distance along the path, s_i where segment i starts, rho_i its turning rate, d = s - s_i and theta = rho_i d:

    R_AF = R_AFi Rz(theta)                                                             (1)
    p_AF = p_AFi + R_AFi [sin(theta) / rho_i, 2 sin^2(theta / 2) / rho_i, 0]           (2)   ([d, 0, 0] on a line)
    w_AF = sdot rho Fz,   v_AF = sdot Fx                                               (3)
    alpha_AF = sddot rho Fz,   a_AF = sddot Fx + sdot^2 rho Fy                         (4)

as Fx is the tangent and Fz the normal of the plane (Frenet and Serret, for a planar curve).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.trajectories._scalars import plain
from merganser.framework.trajectories.composed_trajectories import DerivativeTrajectory
from merganser.framework.trajectories.trajectory import EPSILON_TIME, PiecewiseTrajectory

_ORTHOGONALITY = 128 * 2.0**-52  # largest cosine between tangent and normal


class PiecewiseConstantCurvatureTrajectory(PiecewiseTrajectory):
    """A planar path in frame A, of segments that turn at constant rates, with a frame F that moves along.

    As a trajectory, it is p_AoFo_A over the distance s, whose derivatives are those of the segment that s is on: the
    tangent Fx, then rho Fy, -rho^2 Fx and so on.

    Fx is the tangent of the path, Fz the normal of its plane. Before its start and beyond its end a path goes on with
    the curvature of the segment there; a periodic path starts again.

    Args:
        breaks: where segments start, and the path ends: increasing, the first one 0 [m], shape [n + 1].
        turning_rates: signed curvature of each segment about Fz, 0 on a line [1/m], shape [n].
        initial_curve_tangent: direction of Fx in A at the start, any length but zero, shape [3].
        plane_normal: direction of Fz in A, at a right angle to the tangent, any length but zero, shape [3].
        initial_position: p_AoFo_A at the start [m], shape [3].
        is_periodic: whether the path starts again where it ends.

    Without arguments, the path is empty.

    Raises:
        ValueError: the breaks do not start at 0 or do not increase, the number of turning rates is not that of the
            segments, a number is not finite, a direction is zero, or the directions are not at a right angle.
    """

    def __init__(
        self,
        breaks: npt.ArrayLike = (),
        turning_rates: npt.ArrayLike = (),
        initial_curve_tangent: npt.ArrayLike = (1.0, 0.0, 0.0),
        plane_normal: npt.ArrayLike = (0.0, 0.0, 1.0),
        initial_position: npt.ArrayLike = (0.0, 0.0, 0.0),
        is_periodic: bool = False,
    ) -> None:
        distances = _finite("breaks", breaks).tolist()
        self._turning_rates = _finite("turning_rates", turning_rates).tolist()
        _check_segments(distances, len(self._turning_rates))
        super().__init__(distances)
        self._is_periodic = bool(is_periodic)
        R_AF = _initial_rotation(initial_curve_tangent, plane_normal)
        X_AF = RigidTransform(R_AF, _finite("initial_position", initial_position, 3))
        self._start_poses: list[RigidTransform] = []
        for i, rate in enumerate(self._turning_rates):
            self._start_poses.append(X_AF)
            X_AF = X_AF @ _pose_in_segment(rate, self._breaks[i + 1] - self._breaks[i])
        self._X_AFend = X_AF

    # -- segments --------------------------------------------------------------------------------------------

    def do_rows(self) -> int:
        return 3

    def do_cols(self) -> int:
        return 1

    def length(self) -> float:
        """Returns the length of the path [m]; 0 for an empty one."""
        return self.end_time()

    def do_start_time(self) -> float:
        return 0.0

    def do_end_time(self) -> float:
        return self._breaks[-1] if self._breaks else 0.0

    def get_turning_rates(self) -> list[float]:
        """Returns the turning rate of each segment [1/m], shape [n]."""
        return list(self._turning_rates)

    def is_periodic(self) -> bool:
        """Returns whether the path starts again where it ends."""
        return self._is_periodic

    def IsNearlyPeriodic(self, tolerance: float) -> bool:
        """Returns whether the poses at both ends are equal up to a tolerance."""
        return bool(self._start_pose("IsNearlyPeriodic", 0).IsNearlyEqualTo(self._X_AFend, tolerance))

    # -- kinematics ------------------------------------------------------------------------------------------

    def CalcPose(self, s: Any) -> RigidTransform:
        """Returns X_AF at the distance s [m], by (1) and (2).

        Raises:
            RuntimeError: the path is empty.
        """
        s, i = self._locate(s)
        X_AFi = self._start_pose("CalcPose", i)
        return X_AFi @ _pose_in_segment(self._turning_rates[i], s - self._breaks[i])

    def do_value(self, t: Any) -> npt.NDArray[Any]:
        return np.asarray(self.CalcPose(t).translation()).reshape(3, 1)

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> npt.NDArray[Any]:
        R_AF = self.CalcPose(t).rotation().matrix()
        rho = self._turning_rates[self._locate(t)[1]]
        sign = 1.0 if (derivative_order - 1) % 4 < 2 else -1.0
        return (sign * rho ** (derivative_order - 1) * R_AF[:, (derivative_order - 1) % 2]).reshape(3, 1)

    def DoMakeDerivative(self, derivative_order: int) -> DerivativeTrajectory:
        return DerivativeTrajectory(self, derivative_order)

    def CalcSpatialVelocity(self, s: Any, s_dot: Any) -> npt.NDArray[Any]:
        """Returns the coefficients of V_AF_A, by (3); errors as CalcPose.

        Args:
            s: distance [m].
            s_dot: its rate [m/s].

        Returns:
            [w_AF_A; v_AF_A] [rad/s, m/s], shape [6].
        """
        R_AF = self.CalcPose(s).rotation().matrix()
        rho = self._turning_rates[self._locate(s)[1]]
        return np.concatenate([s_dot * rho * R_AF[:, 2], s_dot * R_AF[:, 0]])

    def CalcSpatialAcceleration(self, s: Any, s_dot: Any, s_ddot: Any) -> npt.NDArray[Any]:
        """Returns the coefficients of A_AF_A, by (4), at a break those of the segment that starts there.

        Args:
            s: distance [m].
            s_dot: its rate [m/s].
            s_ddot: its second rate [m/s^2].

        Returns:
            [alpha_AF_A; a_AF_A] [rad/s^2, m/s^2], shape [6].

        Raises:
            RuntimeError: the path is empty.
        """
        R_AF = self.CalcPose(s).rotation().matrix()
        rho = self._turning_rates[self._locate(s)[1]]
        a_AF_A = s_ddot * R_AF[:, 0] + s_dot * s_dot * rho * R_AF[:, 1]
        return np.concatenate([s_ddot * rho * R_AF[:, 2], a_AF_A])

    def Clone(self) -> PiecewiseConstantCurvatureTrajectory:
        """Returns the path itself, which nothing can change."""
        return self

    def _locate(self, s: Any) -> tuple[Any, int]:
        """The distance, modulo the length if the path is periodic, and the number of its segment."""
        real = plain(s)
        if self._is_periodic and self._breaks:
            turns = math.floor(real / self._breaks[-1])
            s, real = s - turns * self._breaks[-1], real - turns * self._breaks[-1]
        return s, self._segment_at(real)

    def _start_pose(self, caller: str, i: int) -> RigidTransform:
        if not self._start_poses:
            raise RuntimeError(f"{caller}(): this PiecewiseConstantCurvatureTrajectory is empty; make it with breaks.")
        return self._start_poses[i]


def _finite(name: str, values: npt.ArrayLike, size: int | None = None) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(array).all() or size not in (None, array.size):
        wanted = "finite numbers" if size is None else f"{size} finite numbers"
        raise ValueError(f"PiecewiseConstantCurvatureTrajectory: {name} must be {wanted}, but is {values!r}.")
    return array


def _check_segments(breaks: list[float], num_rates: int) -> None:
    if num_rates != max(len(breaks) - 1, 0):
        raise ValueError(
            f"PiecewiseConstantCurvatureTrajectory: {len(breaks)} breaks make {max(len(breaks) - 1, 0)} segments, but "
            f"there are {num_rates} turning_rates; give one for each segment."
        )
    if breaks and breaks[0] != 0.0:
        raise ValueError(f"PiecewiseConstantCurvatureTrajectory: the first break must be 0, but is {breaks[0]}.")
    for before, after in itertools.pairwise(breaks):
        if after - before < EPSILON_TIME:
            raise ValueError(
                f"PiecewiseConstantCurvatureTrajectory: the breaks must increase, but {after} follows {before}."
            )


def _initial_rotation(tangent: npt.ArrayLike, normal: npt.ArrayLike) -> RotationMatrix:
    """R_AF at the start."""
    directions = []
    for name, given in (("initial_curve_tangent", tangent), ("plane_normal", normal)):
        vector = _finite(name, given, 3)
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            raise ValueError(f"PiecewiseConstantCurvatureTrajectory: {name} is zero; it must have a direction.")
        directions.append(vector / length)
    Fx_A, Fz_A = directions
    if abs(Fx_A @ Fz_A) > _ORTHOGONALITY:
        raise ValueError(
            "PiecewiseConstantCurvatureTrajectory: initial_curve_tangent and plane_normal must be at a right angle, "
            f"but the cosine between them is {Fx_A @ Fz_A:g}."
        )
    return RotationMatrix(np.column_stack([Fx_A, np.cross(Fz_A, Fx_A), Fz_A]))


def _pose_in_segment(rho: float, d: Any) -> RigidTransform:
    """X_FiF at the distance d from the start of a segment."""
    along, across = d, 0.0 * d
    if rho != 0.0:
        along, across = np.sin(rho * d) / rho, 2.0 * np.sin(0.5 * rho * d) ** 2 / rho
    return RigidTransform(RotationMatrix.MakeZRotation(rho * d), np.array([along, across, 0.0]))
