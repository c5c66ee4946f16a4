"""Parameters and results of differential inverse kinematics."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import checked_number, checked_size
from merganser.framework.optimization import SolverOptions

Array = NDArray[np.float64]
Limits = tuple[Array, Array]


class DifferentialInverseKinematicsStatus(enum.Enum):
    """How a search for velocities has ended."""

    kSolutionFound = 0
    kNoSolutionFound = 1
    kStuck = 2


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class DifferentialInverseKinematicsResult:
    """The result of a search for velocities.

    Attributes:
        joint_velocities: generalized velocities [rad/s, m/s], shape [num_velocities]; None if no velocities keep
            to all limits.
        status: kStuck if these velocities hardly lead to what was wanted.
    """

    joint_velocities: Array | None = None
    status: DifferentialInverseKinematicsStatus = DifferentialInverseKinematicsStatus.kNoSolutionFound

    def __post_init__(self) -> None:
        if self.joint_velocities is not None:
            self.joint_velocities = np.asarray(self.joint_velocities, dtype=np.float64)


class DifferentialInverseKinematicsParameters:
    """Limits and wishes for `DoDifferentialInverseKinematics`.

    There are no limits, and no wish for a posture, until they are set.

    Args:
        num_positions: of the robot.
        num_velocities: of the robot; by default as many.

    Raises:
        ValueError: the robot has no positions or no velocities.
    """

    def __init__(self, num_positions: int, num_velocities: int | None = None) -> None:
        where = "DifferentialInverseKinematicsParameters"
        self._num_q = checked_size(num_positions, f"{where}: num_positions", 1)
        num_velocities = self._num_q if num_velocities is None else num_velocities
        self._num_v = checked_size(num_velocities, f"{where}: num_velocities", 1)
        self._time_step = 1.0
        self._nominal = np.zeros(self._num_q)
        self._centering = np.zeros((self._num_q, self._num_q))
        self._flags = np.ones(6, bool)
        self._limits: dict[str, Limits | None] = dict.fromkeys(("position", "velocity", "acceleration", "translation"))
        self._angular_speed = np.inf
        self._stuck = 0.01
        self._solver_options = SolverOptions()

    # ------------------------------------------------------------------ sizes and time

    def get_num_positions(self) -> int:
        """Returns the number of positions."""
        return self._num_q

    def get_num_velocities(self) -> int:
        """Returns the number of velocities."""
        return self._num_v

    def get_time_step(self) -> float:
        """Returns the time for which velocities are kept [s]."""
        return self._time_step

    def set_time_step(self, dt: float) -> None:
        """Sets the time for which velocities are kept [s].

        Raises:
            ValueError: it is not positive and finite.
        """
        time_step = checked_number(dt, "set_time_step(): dt")
        if not 0.0 < time_step < np.inf:
            raise ValueError(f"set_time_step(): the time step must be positive and finite, got {dt} s.")
        self._time_step = time_step

    # ------------------------------------------------------------------ posture

    def get_nominal_joint_position(self) -> Array:
        """Returns the posture that is wished for, shape [num_positions]."""
        return self._nominal.copy()

    def set_nominal_joint_position(self, nominal_joint_position: ArrayLike) -> None:
        """Sets the posture that is wished for, shape [num_positions].

        Raises:
            ValueError: it has another size, or is not finite.
        """
        self._nominal = self._vector("set_nominal_joint_position", nominal_joint_position, self._num_q)

    def get_joint_centering_gain(self) -> Array:
        """Returns K [1/s], shape [num_positions, num_positions]."""
        return self._centering.copy()

    def set_joint_centering_gain(self, K: ArrayLike) -> None:
        """Sets K [1/s], by which velocities N+(q) K (q_nominal - q) are wished for, a square matrix of num_positions.

        Raises:
            ValueError: it has another shape, or is not finite.
        """
        gain, shape = np.array(K, float), (self._num_q, self._num_q)
        if gain.shape != shape or not np.isfinite(gain).all():
            raise ValueError(
                f"set_joint_centering_gain(): expected a finite matrix of shape {shape}, got {gain.shape}."
            )
        self._centering = gain

    # ------------------------------------------------------------------ end effector

    def get_end_effector_velocity_flag(self) -> NDArray[np.bool_]:
        """Returns which elements of the spatial velocity, expressed in E, are followed, shape [6]."""
        return self._flags.copy()

    def set_end_effector_velocity_flag(self, flag_E: ArrayLike) -> None:
        """Sets which elements of the spatial velocity, expressed in E, are followed, shape [6].

        Raises:
            ValueError: it has another size.
        """
        flags = np.array(flag_E).ravel()
        if flags.shape != (6,) or not np.isin(flags, (0, 1)).all():
            raise ValueError(f"set_end_effector_velocity_flag(): expected six truth values, got {flag_E!r}.")
        self._flags = flags.astype(bool)

    def get_end_effector_angular_speed_limit(self) -> float:
        """Returns the greatest angular speed towards a pose [rad/s]."""
        return self._angular_speed

    def set_end_effector_angular_speed_limit(self, speed: float) -> None:
        """Sets the greatest angular speed towards a pose [rad/s].

        Raises:
            ValueError: it is negative or not a number.
        """
        if not speed >= 0.0:
            raise ValueError(f"set_end_effector_angular_speed_limit(): the speed must not be negative, got {speed}.")
        self._angular_speed = float(speed)

    def get_end_effector_translational_velocity_limits(self) -> Limits | None:
        """Returns lower and upper limits of the translational velocity towards a pose [m/s], each of shape [3]."""
        return _copy(self._limits["translation"])

    def set_end_effector_translational_velocity_limits(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Sets lower and upper limits of the translational velocity towards a pose [m/s], each of shape [3].

        Raises:
            ValueError: they have another size, or a lower one is above the upper one.
        """
        self._set("set_end_effector_translational_velocity_limits", "translation", (lower, upper), 3)

    # ------------------------------------------------------------------ limits of joints

    def get_joint_position_limits(self) -> Limits | None:
        """Returns lower and upper limits of positions, each of shape [num_positions]; None if not set."""
        return _copy(self._limits["position"])

    def set_joint_position_limits(self, q_bounds: tuple[ArrayLike, ArrayLike]) -> None:
        """Sets lower and upper limits of positions, each of shape [num_positions]; infinite for none.

        Raises:
            ValueError: they have another size, or a lower one is above the upper one.
        """
        self._set("set_joint_position_limits", "position", q_bounds, self._num_q)

    def get_joint_velocity_limits(self) -> Limits | None:
        """Returns lower and upper limits of velocities, each of shape [num_velocities]; None if not set."""
        return _copy(self._limits["velocity"])

    def set_joint_velocity_limits(self, v_bounds: tuple[ArrayLike, ArrayLike]) -> None:
        """Sets lower and upper limits of velocities, each of shape [num_velocities]; infinite for none.

        Raises:
            ValueError: they have another size, or a lower one is above the upper one.
        """
        self._set("set_joint_velocity_limits", "velocity", v_bounds, self._num_v)

    def get_joint_acceleration_limits(self) -> Limits | None:
        """Returns lower and upper limits of accelerations, each of shape [num_velocities]; None if not set."""
        return _copy(self._limits["acceleration"])

    def set_joint_acceleration_limits(self, vd_bounds: tuple[ArrayLike, ArrayLike]) -> None:
        """Sets lower and upper limits of accelerations, each of shape [num_velocities]; infinite for none.

        Raises:
            ValueError: they have another size, or a lower one is above the upper one.
        """
        self._set("set_joint_acceleration_limits", "acceleration", vd_bounds, self._num_v)

    def get_mutable_solver_options(self) -> SolverOptions:
        """Options of a solver, which are kept with the parameters; the search here is exact and has none to take."""
        return self._solver_options

    def get_maximum_scaling_to_report_stuck(self) -> float:
        """Returns below which part of the velocity that is wanted the status is kStuck."""
        return self._stuck

    def set_maximum_scaling_to_report_stuck(self, scaling: float) -> None:
        """Sets below which part of the velocity that is wanted the status is kStuck."""
        self._stuck = float(scaling)

    def _set(self, function: str, name: str, bounds: Any, size: int) -> None:
        if len(bounds) != 2:
            raise ValueError(f"{function}(): expected a pair of lower and upper limits, got {len(bounds)}.")
        low, high = (np.array(bound, float).ravel() for bound in bounds)
        if low.shape != (size,) or high.shape != (size,):
            raise ValueError(f"{function}(): limits must have {size} elements, got {low.size} and {high.size}.")
        if not (low <= high).all():
            raise ValueError(f"{function}(): lower limits {low.tolist()} must not be above upper ones {high.tolist()}.")
        self._limits[name] = low, high

    @staticmethod
    def _vector(function: str, value: ArrayLike, size: int) -> Array:
        vector = np.array(value, float).ravel()
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise ValueError(f"{function}(): expected {size} finite numbers, got {value!r}.")
        return vector


def _copy(limits: Limits | None) -> Limits | None:
    return None if limits is None else (limits[0].copy(), limits[1].copy())
