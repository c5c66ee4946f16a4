"""Arms and grippers as their drivers show them, in simulations and as messages: see README.md."""

from merganser.multibody.manipulation.arm_messages import (
    IiwaCommandReceiver,
    IiwaCommandSender,
    IiwaStatusReceiver,
    IiwaStatusSender,
    PandaCommandReceiver,
    PandaCommandSender,
    PandaControlMode,
    PandaStatusReceiver,
    PandaStatusSender,
    kPandaArmNumJoints,
)
from merganser.multibody.manipulation.driver_configs import (
    ApplyDriverConfig,
    ApplyDriverConfigs,
    ApplyNamedPositionsAsDefaults,
    ZeroForceDriver,
)
from merganser.multibody.manipulation.iiwa import (
    IiwaControlMode,
    IiwaDriver,
    ParseIiwaControlMode,
    get_iiwa_max_joint_velocities,
    kIiwaArmNumJoints,
    kIiwaLcmStatusPeriod,
    position_enabled,
    torque_enabled,
)
from merganser.multibody.manipulation.iiwa_control import BuildIiwaControl, SimIiwaDriver
from merganser.multibody.manipulation.schunk_wsg_controller import (
    BuildSchunkWsgControl,
    SchunkWsgController,
    SchunkWsgTrajectoryGenerator,
)
from merganser.multibody.manipulation.schunk_wsg_messages import (
    GetSchunkWsgOpenPosition,
    MakeMultibodyForceToWsgForceSystem,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgCommandReceiver,
    SchunkWsgCommandSender,
    SchunkWsgDriver,
    SchunkWsgStatusReceiver,
    SchunkWsgStatusSender,
)
from merganser.multibody.manipulation.schunk_wsg_position_controller import (
    SchunkWsgPdController,
    SchunkWsgPositionController,
)

__all__ = [
    "ApplyDriverConfig",
    "ApplyDriverConfigs",
    "ApplyNamedPositionsAsDefaults",
    "BuildIiwaControl",
    "BuildSchunkWsgControl",
    "GetSchunkWsgOpenPosition",
    "IiwaCommandReceiver",
    "IiwaCommandSender",
    "IiwaControlMode",
    "IiwaDriver",
    "IiwaStatusReceiver",
    "IiwaStatusSender",
    "MakeMultibodyForceToWsgForceSystem",
    "MakeMultibodyStateToWsgStateSystem",
    "PandaCommandReceiver",
    "PandaCommandSender",
    "PandaControlMode",
    "PandaStatusReceiver",
    "PandaStatusSender",
    "ParseIiwaControlMode",
    "SchunkWsgCommandReceiver",
    "SchunkWsgCommandSender",
    "SchunkWsgController",
    "SchunkWsgDriver",
    "SchunkWsgPdController",
    "SchunkWsgPositionController",
    "SchunkWsgStatusReceiver",
    "SchunkWsgStatusSender",
    "SchunkWsgTrajectoryGenerator",
    "SimIiwaDriver",
    "ZeroForceDriver",
    "get_iiwa_max_joint_velocities",
    "kIiwaArmNumJoints",
    "kIiwaLcmStatusPeriod",
    "kPandaArmNumJoints",
    "position_enabled",
    "torque_enabled",
]
