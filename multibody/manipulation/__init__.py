"""Arms and grippers as their drivers show them: see README.md."""

from merganser.multibody.manipulation.iiwa import (
    IiwaControlMode,
    ParseIiwaControlMode,
    kIiwaArmNumJoints,
    kIiwaLcmStatusPeriod,
    position_enabled,
    torque_enabled,
)
from merganser.multibody.manipulation.iiwa_messages import (
    IiwaCommandReceiver,
    IiwaCommandSender,
    IiwaStatusReceiver,
    IiwaStatusSender,
)
from merganser.multibody.manipulation.panda_messages import (
    PandaCommandReceiver,
    PandaCommandSender,
    PandaControlMode,
    PandaStatusReceiver,
    PandaStatusSender,
    kPandaArmNumJoints,
)
from merganser.multibody.manipulation.schunk_wsg_messages import (
    SchunkWsgCommandReceiver,
    SchunkWsgCommandSender,
    SchunkWsgStatusReceiver,
    SchunkWsgStatusSender,
)

__all__ = [
    "IiwaCommandReceiver",
    "IiwaCommandSender",
    "IiwaControlMode",
    "IiwaStatusReceiver",
    "IiwaStatusSender",
    "PandaCommandReceiver",
    "PandaCommandSender",
    "PandaControlMode",
    "PandaStatusReceiver",
    "PandaStatusSender",
    "ParseIiwaControlMode",
    "SchunkWsgCommandReceiver",
    "SchunkWsgCommandSender",
    "SchunkWsgStatusReceiver",
    "SchunkWsgStatusSender",
    "kIiwaArmNumJoints",
    "kIiwaLcmStatusPeriod",
    "kPandaArmNumJoints",
    "position_enabled",
    "torque_enabled",
]
