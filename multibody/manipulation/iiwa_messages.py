"""Commands and status of an iiwa arm as messages, and messages as commands and status."""

from __future__ import annotations

from typing import Any

from merganser.framework import BasicVector, Context, InputPort
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.manipulators import lcmt_iiwa_command, lcmt_iiwa_status
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
