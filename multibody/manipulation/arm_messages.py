"""Commands and status of iiwa and Panda arms as messages, and messages as commands and status."""

from __future__ import annotations

import functools
import operator
from typing import Any

from merganser.framework import BasicVector, Context, InputPort
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.manipulators import (
    lcmt_iiwa_command,
    lcmt_iiwa_status,
    lcmt_panda_command,
    lcmt_panda_status,
)
from merganser.multibody.manipulation.iiwa import (
    IiwaControlMode,
    kIiwaArmNumJoints,
    position_enabled,
    torque_enabled,
)
from merganser.multibody.manipulation.joint_messages import (
    JointCommandReceiver,
    JointCommandSender,
    JointStatusReceiver,
    JointStatusSender,
    input_port,
    output_port,
)


class IiwaCommandReceiver(JointCommandReceiver):
    """Gives the commands in an lcmt_iiwa_command.

    Until a command has come, positions are those at `position_measured`, or zero if it is not connected; a simulation
    keeps those of its first step. Torques that a message leaves out are zero.

    Ports:
        input `lcmt_iiwa_command`: lcmt_iiwa_command.
        input `position_measured`: positions [rad], shape [num_joints]; may be left open.
        output `position`: commanded positions [rad], shape [num_joints], in modes that take positions.
        output `torque`: commanded torques [N m], shape [num_joints], in modes that take torques.
        output `time`: of the message [s], shape [1].

    Args:
        num_joints: of the arm.
        control_mode: what it is commanded by.

    Raises:
        RuntimeError: there are no joints. When the ports are evaluated: the message is of another number of joints.
    """

    def __init__(
        self,
        num_joints: int = kIiwaArmNumJoints,
        control_mode: IiwaControlMode = IiwaControlMode.kPositionAndTorque,
    ) -> None:
        super().__init__(lcmt_iiwa_command, num_joints)
        wires = self._declare_state(is_optional=True)
        if position_enabled(control_mode):
            self._declare_position(wires, "num_joints")
        if torque_enabled(control_mode):
            self.DeclareVectorOutputPort("torque", self._num_joints, self._calc_torque)
        self.DeclareVectorOutputPort("time", 1, self._calc_time)

    get_time_output_port = output_port("time", "the time of the message")

    def _has_come(self, message: Any) -> bool:
        return not message.utime == message.num_joints == message.num_torques == 0

    def _calc_torque(self, context: Context, output: BasicVector) -> None:
        message = self._message.Eval(context)
        if message.num_torques == 0:
            output.SetZero()
        else:
            output.SetFromVector(self._vector_of(message, "joint_torque", "num_torques"))

    def _calc_time(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector([self._message.Eval(context).utime / 1e6])


class IiwaCommandSender(JointCommandSender):
    """Gives commands as an lcmt_iiwa_command.

    Ports:
        input `position`: positions [rad], shape [num_joints], in modes that take positions.
        input `torque`: torques [N m], shape [num_joints], in modes that take torques; may be left open if the mode
            takes positions, too, and the message has no torques then.
        input `time`: of the message [s], shape [1]; may be left open for that of the simulation.
        output `lcmt_iiwa_command`: lcmt_iiwa_command.

    Args:
        num_joints: of the arm.
        control_mode: what it is commanded by.
    """

    def __init__(
        self,
        num_joints: int = kIiwaArmNumJoints,
        control_mode: IiwaControlMode = IiwaControlMode.kPositionAndTorque,
    ) -> None:
        super().__init__(lcmt_iiwa_command, num_joints)
        self._mode = control_mode
        self._declare_vectors(
            *["position"] * position_enabled(control_mode), *["torque"] * torque_enabled(control_mode)
        )
        self._time = self.DeclareVectorInputPort("time", 1)

    def get_time_input_port(self) -> InputPort:
        """Returns the port that takes the time of the message."""
        return self._time

    def _fill(self, context: Context, message: Any) -> None:
        message.utime = _time(self._time, context)
        if position_enabled(self._mode):
            message.joint_position = self._vector(context, "position")
        if torque_enabled(self._mode):
            default: list[float] | None = [] if position_enabled(self._mode) else None
            message.joint_torque = self._vector(context, "torque", default)
        message.num_joints, message.num_torques = len(message.joint_position), len(message.joint_torque)


class IiwaStatusReceiver(JointStatusReceiver):
    """Gives what an lcmt_iiwa_status says; zeros until one has come.

    Ports:
        input `lcmt_iiwa_status`: lcmt_iiwa_status.
        output `time_measured`: of the message [s], shape [1].
        output `position_commanded`, `position_measured` [rad], `velocity_estimated` [rad/s], `torque_commanded`,
            `torque_measured`, `torque_external` [N m]: shape [num_joints].

    Args:
        num_joints: of the arm.

    Raises:
        RuntimeError: there are no joints. When the ports are evaluated: the message is of another number of joints.
    """

    def __init__(self, num_joints: int = kIiwaArmNumJoints) -> None:
        super().__init__(lcmt_iiwa_status, num_joints)
        self.DeclareVectorOutputPort("time_measured", 1, self._calc_time)
        self._declare_members(
            {
                "position_commanded": "joint_position_commanded",
                "position_measured": "joint_position_measured",
                "velocity_estimated": "joint_velocity_estimated",
                "torque_commanded": "joint_torque_commanded",
                "torque_measured": "joint_torque_measured",
                "torque_external": "joint_torque_external",
            }
        )

    get_time_measured_output_port = output_port("time_measured", "the time of the message")
    get_velocity_estimated_output_port = output_port("velocity_estimated", "estimated velocities")

    def _calc_time(self, context: Context, output: BasicVector) -> None:
        message = self._message.Eval(context)
        output.SetFromVector([message.utime / 1e6 if message.num_joints else 0.0])


class IiwaStatusSender(JointStatusSender):
    """Gives the status of an arm as an lcmt_iiwa_status.

    Ports:
        input `position_commanded`, `position_measured` [rad], `torque_commanded` [N m]: shape [num_joints].
        input `velocity_estimated` [rad/s], `torque_external` [N m]: shape [num_joints]; may be left open for zeros.
        input `torque_measured` [N m]: shape [num_joints]; may be left open for the commanded torques.
        input `time_measured`: of the message [s], shape [1]; may be left open for that of the simulation.
        output `lcmt_iiwa_status`: lcmt_iiwa_status.

    Args:
        num_joints: of the arm.
    """

    def __init__(self, num_joints: int = kIiwaArmNumJoints) -> None:
        super().__init__(lcmt_iiwa_status, num_joints)
        self._declare_vectors(
            "position_commanded", "position_measured", "velocity_estimated",
            "torque_commanded", "torque_measured", "torque_external",
        )  # fmt: skip
        self._time = self.DeclareVectorInputPort("time_measured", 1)

    def get_time_measured_input_port(self) -> InputPort:
        """Returns the port that takes the time of the message."""
        return self._time

    get_velocity_estimated_input_port = input_port("velocity_estimated", "estimated velocities")

    def _fill(self, context: Context, message: Any) -> None:
        message.utime = _time(self._time, context)
        message.num_joints = self._num_joints
        message.joint_position_commanded = self._vector(context, "position_commanded")
        message.joint_position_measured = self._vector(context, "position_measured")
        message.joint_position_ipo = self._zeros()
        message.joint_velocity_estimated = self._vector(context, "velocity_estimated", self._zeros())
        message.joint_torque_commanded = commanded = self._vector(context, "torque_commanded")
        message.joint_torque_measured = self._vector(context, "torque_measured", commanded)
        message.joint_torque_external = self._vector(context, "torque_external", self._zeros())


def _time(port: InputPort, context: Context) -> int:
    """The value of a port of times [s], or, if not connected, the time of the context, in us."""
    return microseconds(port.Eval(context)[0] if port.HasValue(context) else context.get_time())


kPandaArmNumJoints = 7


class PandaControlMode:
    """The command modes of an arm, as sums of these."""

    kNone = 0
    kPosition = 1
    kVelocity = 2
    kTorque = 4


_QUANTITIES = {
    "position": PandaControlMode.kPosition,
    "velocity": PandaControlMode.kVelocity,
    "torque": PandaControlMode.kTorque,
}


class PandaCommandReceiver(JointCommandReceiver):
    """Gives the commands in an lcmt_panda_command.

    Until a command has come, positions are those at `position_measured`, of which a simulation keeps those of its
    first step; velocities and torques are zero.

    Ports:
        input `lcmt_panda_command`: lcmt_panda_command.
        input `position_measured`: positions [rad], shape [num_joints]; needed in modes that take positions.
        output `position` [rad], `velocity` [rad/s], `torque` [N m]: shape [num_joints], those that the mode takes.

    Args:
        num_joints: of the arm.
        control_mode: bits of PandaControlMode.

    Raises:
        RuntimeError: there are no joints, or no such mode. When the ports are evaluated: the message is of another
            number of joints.
    """

    def __init__(self, num_joints: int, control_mode: int) -> None:
        super().__init__(lcmt_panda_command, num_joints)
        quantities = _quantities(control_mode)
        for name in quantities:
            if name == "position":
                self._declare_position(self._declare_state(is_optional=False), "num_joint_position")
            else:
                self.DeclareVectorOutputPort(name, self._num_joints, functools.partial(self._calc, name))

    get_commanded_velocity_output_port = output_port("velocity", "the velocities")

    def LatchInitialPosition(self, context: Context) -> None:
        """Keeps the measured positions in the state of a Context, as the first step of a simulation does.

        Raises:
            RuntimeError: the mode takes no positions.
        """
        self._port("position")
        self.ValidateContext(context)
        positions = self._measured.Eval(context)
        context.SetDiscreteState(0, [1.0])
        context.SetDiscreteState(1, positions)

    def _has_come(self, message: Any) -> bool:
        lengths = (message.num_joint_position, message.num_joint_velocity, message.num_joint_torque)
        return bool(message.utime or message.control_mode_expected or any(lengths))

    def _calc(self, name: str, context: Context, output: BasicVector) -> None:
        """Velocities or torques."""
        message = self._message.Eval(context)
        if self._has_come(message):
            output.SetFromVector(self._vector_of(message, f"joint_{name}", f"num_joint_{name}"))
        else:
            output.SetZero()


class PandaCommandSender(JointCommandSender):
    """Gives commands as an lcmt_panda_command.

    Ports:
        input `position` [rad], `velocity` [rad/s], `torque` [N m]: shape [num_joints], those that the mode takes.
        output `lcmt_panda_command`: lcmt_panda_command.

    Args:
        num_joints: of the arm.
        control_mode: bits of PandaControlMode.

    Raises:
        RuntimeError: there are no joints, or no such mode.
    """

    def __init__(self, num_joints: int, control_mode: int) -> None:
        super().__init__(lcmt_panda_command, num_joints)
        self._quantities, self._mode = _quantities(control_mode), operator.index(control_mode)
        self._declare_vectors(*self._quantities)

    get_velocity_input_port = input_port("velocity", "velocities")

    def _fill(self, context: Context, message: Any) -> None:
        message.utime = microseconds(context.get_time())
        message.control_mode_expected = self._mode
        for name in self._quantities:
            setattr(message, f"joint_{name}", self._vector(context, name))
            setattr(message, f"num_joint_{name}", self._num_joints)


class PandaStatusReceiver(JointStatusReceiver):
    """Gives what an lcmt_panda_status says; zeros until one has come.

    Ports:
        input `lcmt_panda_status`: lcmt_panda_status.
        output `position_commanded`, `position_measured` [rad], `velocity_commanded`, `velocity_measured` [rad/s],
            `acceleration_commanded` [rad/s^2], `torque_commanded`, `torque_measured`, `torque_external` [N m]: shape
            [num_joints].

    Args:
        num_joints: of the arm.

    Raises:
        RuntimeError: there are no joints. When the ports are evaluated: the message is of another number of joints.
    """

    def __init__(self, num_joints: int = kPandaArmNumJoints) -> None:
        super().__init__(lcmt_panda_status, num_joints)
        self._declare_members(_STATUS)

    get_velocity_commanded_output_port = output_port("velocity_commanded", "commanded velocities")
    get_velocity_measured_output_port = output_port("velocity_measured", "measured velocities")
    get_acceleration_commanded_output_port = output_port("acceleration_commanded", "commanded accelerations")


class PandaStatusSender(JointStatusSender):
    """Gives the status of an arm as an lcmt_panda_status.

    Ports:
        input `position_measured` [rad], `torque_commanded` [N m]: shape [num_joints].
        input `position_commanded` [rad], `velocity_commanded`, `velocity_measured` [rad/s], `acceleration_commanded`
            [rad/s^2], `torque_external` [N m]: shape [num_joints]; may be left open for zeros.
        input `torque_measured` [N m]: shape [num_joints]; may be left open for the commanded torques.
        output `lcmt_panda_status`: lcmt_panda_status.

    Args:
        num_joints: of the arm.
    """

    def __init__(self, num_joints: int = kPandaArmNumJoints) -> None:
        super().__init__(lcmt_panda_status, num_joints)
        self._declare_vectors(*_STATUS)

    get_velocity_commanded_input_port = input_port("velocity_commanded", "commanded velocities")
    get_velocity_measured_input_port = input_port("velocity_measured", "measured velocities")
    get_acceleration_commanded_input_port = input_port("acceleration_commanded", "commanded accelerations")

    def _fill(self, context: Context, message: Any) -> None:
        message.utime = microseconds(context.get_time())
        message.num_joints = self._num_joints
        commanded = self._vector(context, "torque_commanded")
        defaults = {"position_measured": None, "torque_commanded": None, "torque_measured": commanded}
        for name, member in _STATUS.items():
            setattr(message, member, self._vector(context, name, defaults.get(name, self._zeros())))


_STATUS = {  # members of the message by names of ports
    "position_commanded": "joint_position_desired",
    "position_measured": "joint_position",
    "velocity_commanded": "joint_velocity_desired",
    "velocity_measured": "joint_velocity",
    "acceleration_commanded": "joint_acceleration_desired",
    "torque_commanded": "joint_torque_desired",
    "torque_measured": "joint_torque",
    "torque_external": "joint_torque_external",
}


def _quantities(control_mode: int) -> list[str]:
    """The inputs of a mode."""
    mode = operator.index(control_mode)
    known = functools.reduce(operator.or_, _QUANTITIES.values())
    if mode & ~known:
        raise RuntimeError(
            f"Invalid control_mode bits set: {mode & ~known:#x}; known are those of PandaControlMode: {_QUANTITIES}."
        )
    return [name for name, bit in _QUANTITIES.items() if mode & bit]
