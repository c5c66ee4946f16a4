"""Arms and grippers as their drivers show them, in simulations and as messages: see README.md."""

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
from merganser.multibody.manipulation.iiwa_control import BuildIiwaControl
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
from merganser.multibody.manipulation.schunk_wsg import (
    GetSchunkWsgOpenPosition,
    MakeMultibodyForceToWsgForceSystem,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgDriver,
)
from merganser.multibody.manipulation.schunk_wsg_controller import BuildSchunkWsgControl, SchunkWsgController
from merganser.multibody.manipulation.schunk_wsg_messages import (
    SchunkWsgCommandReceiver,
    SchunkWsgCommandSender,
    SchunkWsgStatusReceiver,
    SchunkWsgStatusSender,
)
from merganser.multibody.manipulation.schunk_wsg_position_controller import (
    SchunkWsgPdController,
    SchunkWsgPositionController,
)
from merganser.multibody.manipulation.schunk_wsg_trajectory_generator import SchunkWsgTrajectoryGenerator
from merganser.multibody.manipulation.sim_iiwa_driver import SimIiwaDriver

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
