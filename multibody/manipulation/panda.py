"""Constants of a Franka Panda arm."""

from __future__ import annotations

kPandaArmNumJoints = 7


class PandaControlMode:
    """The command modes of an arm, as sums of these."""

    kNone = 0
    kPosition = 1
    kVelocity = 2
    kTorque = 4
