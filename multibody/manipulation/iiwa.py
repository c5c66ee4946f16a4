"""Constants of a KUKA LBR iiwa arm: joints, speeds, modes of control, and the settings of its driver."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings

Array = NDArray[Any]

kIiwaArmNumJoints = 7
kIiwaLcmStatusPeriod = 0.005  # between two messages of the arm [s]


def get_iiwa_max_joint_velocities() -> Array:
    """Returns the greatest speeds of the seven joints according to the maker [rad/s]."""
    return np.array([1.483529, 1.483529, 1.745329, 1.308996, 2.268928, 2.356194, 2.356194])


class IiwaControlMode(enum.Enum):
    """The command modes of an arm."""

    kPositionOnly = 0
    kTorqueOnly = 1
    kPositionAndTorque = 2


_MODES = {
    "position_only": IiwaControlMode.kPositionOnly,
    "torque_only": IiwaControlMode.kTorqueOnly,
    "position_and_torque": IiwaControlMode.kPositionAndTorque,
}


def ParseIiwaControlMode(control_mode: str) -> IiwaControlMode:
    """Returns the mode of a name: "position_only", "torque_only" or "position_and_torque".

    Raises:
        RuntimeError: it is not one of these.
    """
    if control_mode not in _MODES:
        raise RuntimeError(
            f"ParseIiwaControlMode: Invalid control_mode string: '{control_mode}'; known are {', '.join(_MODES)}."
        )
    return _MODES[control_mode]


def position_enabled(control_mode: IiwaControlMode) -> bool:
    """Returns whether a mode takes positions."""
    return control_mode is not IiwaControlMode.kTorqueOnly


def torque_enabled(control_mode: IiwaControlMode) -> bool:
    """Returns whether a mode takes torques."""
    return control_mode is not IiwaControlMode.kPositionOnly


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class IiwaDriver:
    """Settings of the driver of an arm in a simulation, like its real control cabinet.

    Attributes:
        hand_model_name: of the model whose inertia the controller accounts for at the end of the arm.
        ext_joint_filter_tau: time constant of the filter of external torques [s].
        desired_kp_gains: of the joints [1/s^2], shape [7]; None for those that are known to suit an iiwa. Only for
            modes that take positions.
        control_mode: see `ParseIiwaControlMode`.
        arm_child_frame_name: of the arm, which is welded to the world; None for that of its directive.
        gripper_parent_frame_name: of the arm, to which the hand is welded; None for that of its directive.
        lcm_bus: name of the bus of commands and status.
        lcm_status_period: between two samples of the commanded positions, of which the driver finds their rates [s].
            Status is sent every `kIiwaLcmStatusPeriod`, as pydrake does.
    """

    hand_model_name: str = ""
    ext_joint_filter_tau: float = 0.01
    desired_kp_gains: NDArray[np.float64] | None = None
    control_mode: str = "position_and_torque"
    arm_child_frame_name: str | None = None
    gripper_parent_frame_name: str | None = None
    lcm_bus: str = "default"
    lcm_status_period: float = kIiwaLcmStatusPeriod
