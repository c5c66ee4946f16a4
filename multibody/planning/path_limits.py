"""Limits of a plant that moves along a path q(s), as coefficients of x = sdot^2 and u = sddot.

With v = qdot = q' sdot and vdot = q' u + q'' x, at each grid point,

    joint acceleration    vdot = q' u + q'' x                                                             (1)
    generalized force     M vdot + C(q, v) v - tau_g = M q' u + (M q'' + C(q, q') q') x - tau_g            (2)
    frame velocity        V_WF = J q' sdot                                                                (3)
    frame acceleration    A_WF = J q' u + (J q'' + Jdot(q, q') q') x                                      (4)

H. Pham and Q.-C. Pham (2018), section III; velocities and their limits of the form l <= b sdot <= h, with sdot >= 0,
are intervals of x.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.trajectories import Trajectory
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

__all__ = ["SPEED_LIMIT", "PathOfPlant", "squared_speeds"]

Array = NDArray[np.float64]

SPEED_LIMIT = 1e8  # of sdot, where nothing else limits it


class PathOfPlant:
    """A path of the positions of a plant, at grid points.

    Args:
        path: q(s), with two derivatives, shape [num_positions, 1].
        plant: finalized, of floats, with qdot = v.
        gridpoints: s, shape [num_points].

    Attributes:
        q: positions, shape [num_points, num_positions].
        slope: q', same shape.
        curvature: q'', same shape.
    """

    def __init__(self, path: Trajectory, plant: MultibodyPlant, gridpoints: Array) -> None:
        self._plant = plant
        self._context: Context = plant.CreateDefaultContext()
        times = gridpoints.tolist()
        self.q = np.array([path.value(s).ravel() for s in times], float)
        self.slope = np.array([path.EvalDerivative(s, 1).ravel() for s in times], float)
        self.curvature = np.array([path.EvalDerivative(s, 2).ravel() for s in times], float)

    def forces(self) -> tuple[Array, Array, Array]:
        """Coefficients of x and u of (2), and tau_g, shape [num_points, num_positions] each [N m, N]."""
        plant, by_x, by_u, gravity = self._plant, *np.empty((3, *self.q.shape))
        for i in self._each():
            M = plant.CalcMassMatrix(self._context)
            by_u[i] = M @ self.slope[i]
            by_x[i] = M @ self.curvature[i] + plant.CalcBiasTerm(self._context)
            gravity[i] = plant.CalcGravityGeneralizedForces(self._context)
        return by_x, by_u, gravity

    def frame_velocities(self, frame: Frame) -> Array:
        """J q' of (3): V_WF for sdot = 1, shape [num_points, 6] [rad/s, m/s]."""
        return np.array([self._jacobian(frame) @ self.slope[i] for i in self._each()])

    def frame_accelerations(self, frame: Frame) -> tuple[Array, Array]:
        """Coefficients of x and u of (4), shape [num_points, 6] each [rad/s^2, m/s^2]."""
        plant, world = self._plant, self._plant.world_frame()
        by_x, by_u = np.empty((2, len(self.q), 6))
        by_v = JacobianWrtVariable.kV
        for i in self._each():
            J = self._jacobian(frame)
            bias = plant.CalcBiasSpatialAcceleration(self._context, by_v, frame, np.zeros(3), world, world)
            by_u[i] = J @ self.slope[i]
            by_x[i] = J @ self.curvature[i] + bias.get_coeffs()
        return by_x, by_u

    def _each(self) -> Iterator[int]:
        """The numbers of the grid points, with the Context at q and v = q'."""
        for i, q_v in enumerate(np.hstack((self.q, self.slope))):
            self._plant.SetPositionsAndVelocities(self._context, q_v)
            yield i

    def _jacobian(self, frame: Frame) -> Array:
        """J_WF_W, shape [6, num_positions]."""
        plant, world = self._plant, self._plant.world_frame()
        by_v = JacobianWrtVariable.kV
        return plant.CalcJacobianSpatialVelocity(self._context, by_v, frame, np.zeros(3), world, world)


def squared_speeds(b: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The x = sdot^2 for which lower <= b sdot <= upper in all elements, and 0 <= sdot <= SPEED_LIMIT.

    Args:
        b, lower, upper: shape [num_points, m] each.

    Returns:
        The least and the greatest x, shape [num_points] each; the least is above the greatest where there is none.
    """
    moves = b != 0.0
    divisor = np.where(moves, b, 1.0)
    ends = lower / divisor, upper / divisor
    low = np.where(moves, np.minimum(*ends), np.where((lower > 0.0) | (upper < 0.0), np.inf, 0.0)).max(axis=1)
    high = np.where(moves, np.maximum(*ends), np.inf).min(axis=1)
    x_low, x_high = np.clip(low, 0.0, 2.0 * SPEED_LIMIT) ** 2, np.minimum(high, SPEED_LIMIT)
    return x_low, np.where(x_high < 0.0, -1.0, x_high**2)
