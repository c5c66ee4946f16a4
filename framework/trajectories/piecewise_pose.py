"""PiecewisePose: a position and an orientation that change in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.trajectories._scalars import Array
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.piecewise_quaternion_slerp import PiecewiseQuaternionSlerp
from merganser.framework.trajectories.trajectory import EPSILON_TIME, PiecewiseTrajectory


class PiecewisePose(PiecewiseTrajectory):
    """A pose X_AB: piecewise polynomials for the position, slerp for the orientation.

    The value is the homogeneous matrix, shape [4, 4]; derivatives are spatial velocity, acceleration and so on of B in
    A, [rotational; translational], shape [6, 1]. Beyond the ends, these are those there, but GetVelocity() and
    GetAcceleration() are zero.

    Args:
        position_trajectory: p_AoBo_A [m], shape [3, 1].
        orientation_trajectory: R_AB, with the same breaks.

    Without arguments, there are no segments.

    Raises:
        ValueError: breaks differ, or positions are no vectors of three elements.
    """

    def __init__(
        self,
        position_trajectory: PiecewisePolynomial | None = None,
        orientation_trajectory: PiecewiseQuaternionSlerp | None = None,
    ) -> None:
        position = PiecewisePolynomial() if position_trajectory is None else position_trajectory.Clone()
        orientation = PiecewiseQuaternionSlerp() if orientation_trajectory is None else orientation_trajectory.Clone()
        a, b = position._breaks, orientation._breaks
        if len(a) != len(b) or any(abs(x - y) > EPSILON_TIME for x, y in zip(a, b)):
            raise ValueError(f"PiecewisePose: position and orientation must have the same breaks, got {a} and {b}.")
        if a and (position.rows(), position.cols()) != (3, 1):
            raise ValueError(
                f"PiecewisePose: positions must have shape (3, 1), not ({position.rows()}, {position.cols()})."
            )
        super().__init__(position._times)
        self._position, self._orientation = position, orientation

    @staticmethod
    def MakeLinear(times: Sequence[Any], poses: Sequence[RigidTransform]) -> PiecewisePose:
        """Makes the trajectory that goes from pose to pose at constant velocities.

        Args:
            times: increasing, shape [n + 1].
            poses: X_AB at these times.

        Raises:
            RuntimeError: there are not as many poses as times, or less than two.
        """
        positions, rotations = _parts(poses)
        orientation = PiecewiseQuaternionSlerp(breaks=times, rotation_matrices=rotations)
        return PiecewisePose(PiecewisePolynomial.FirstOrderHold(times, positions), orientation)

    @staticmethod
    def MakeCubicLinearWithEndLinearVelocity(
        times: Sequence[Any],
        poses: Sequence[RigidTransform],
        start_vel: Any = (0.0, 0.0, 0.0),
        end_vel: Any = (0.0, 0.0, 0.0),
    ) -> PiecewisePose:
        """Makes the trajectory of cubics with continuous second derivatives for positions, and slerp.

        Args:
            times: increasing, shape [n + 1].
            poses: X_AB at these times.
            start_vel, end_vel: v_ABo_A at both ends [m/s], shape [3].

        Raises:
            RuntimeError: there are not as many poses as times, or less than two.
        """
        positions, rotations = _parts(poses)
        orientation = PiecewiseQuaternionSlerp(breaks=times, rotation_matrices=rotations)
        spline = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(times, positions, start_vel, end_vel)
        return PiecewisePose(spline, orientation)

    def get_position_trajectory(self) -> PiecewisePolynomial:
        """Returns the trajectory of the position p_AoBo_A."""
        return self._position

    def get_orientation_trajectory(self) -> PiecewiseQuaternionSlerp:
        """Returns the trajectory of the orientation R_AB."""
        return self._orientation

    def GetPose(self, time: Any) -> RigidTransform:
        """Returns X_AB at a time."""
        return RigidTransform(
            RotationMatrix(self._orientation.orientation(time)), self._position.value(time).reshape(3)
        )

    def GetVelocity(self, time: Any) -> Array:
        """Returns the coefficients of V_AB_A, [rad/s, m/s], shape [6]; zero before the start and beyond the end."""
        return self._derivative_within(time, 1)

    def GetAcceleration(self, time: Any) -> Array:
        """Returns the coefficients of A_AB_A, [rad/s^2, m/s^2], shape [6]; zero before the start and beyond the end."""
        return self._derivative_within(time, 2)

    def IsApprox(self, other: PiecewisePose, tol: float) -> bool:
        """Returns whether positions and orientations are those of another trajectory, up to a tolerance."""
        return self._position.isApprox(other._position, tol) and self._orientation.is_approx(other._orientation, tol)

    def do_rows(self) -> int:
        return 4

    def do_cols(self) -> int:
        return 4

    def do_value(self, t: Any) -> Array:
        return self.GetPose(t).GetAsMatrix4()

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        parts = [
            self._orientation.EvalDerivative(t, derivative_order),
            self._position.EvalDerivative(t, derivative_order),
        ]
        return np.concatenate(parts)

    def DoMakeDerivative(self, derivative_order: int) -> PiecewisePolynomial:
        rotational: Any = self._orientation.MakeDerivative(derivative_order)
        translational = self._position.derivative(derivative_order)
        polynomials = [
            np.concatenate([rotational.getPolynomialMatrix(i), translational.getPolynomialMatrix(i)])
            for i in range(self.get_number_of_segments())
        ]
        return PiecewisePolynomial(polynomials, self._times)

    def _derivative_within(self, time: Any, order: int) -> Array:
        if not self.is_time_in_range(time):
            return np.zeros(6)
        return self.DoEvalDerivative(time, order).reshape(6)

    def _scalar_type(self) -> Any:
        return self._position._scalar_type()

    def _cast(self, T: Any) -> PiecewisePose:
        return PiecewisePose(self._position._cast(T), self._orientation._cast(T))


def _parts(poses: Sequence[RigidTransform]) -> tuple[list[Array], list[RotationMatrix]]:
    """Positions, each of shape [3, 1], and rotations."""
    return [X_AB.translation().reshape(3, 1) for X_AB in poses], [X_AB.rotation() for X_AB in poses]
