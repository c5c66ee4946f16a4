"""What is known of a KUKA LBR iiwa arm: joints, and modes of control."""

from __future__ import annotations

import enum

__all__ = [
    "IiwaControlMode",
    "ParseIiwaControlMode",
    "kIiwaArmNumJoints",
    "kIiwaLcmStatusPeriod",
    "position_enabled",
    "torque_enabled",
]

kIiwaArmNumJoints = 7
kIiwaLcmStatusPeriod = 0.005  # between two messages of the arm, and so between two samples of commands [s]


class IiwaControlMode(enum.Enum):
    """What an arm is commanded by."""

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
        RuntimeError: it is none of these.
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
