"""What is known of a Franka Panda arm."""

from __future__ import annotations

__all__ = ["PandaControlMode", "kPandaArmNumJoints"]

kPandaArmNumJoints = 7


class PandaControlMode:
    """What an arm is commanded by: sums of these."""

    kNone = 0
    kPosition = 1
    kVelocity = 2
    kTorque = 4
