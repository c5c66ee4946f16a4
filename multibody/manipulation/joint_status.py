"""Common ports of senders and receivers of the status of arms."""

from __future__ import annotations

from merganser.multibody.manipulation.joint_messages import (
    JointMessageReceiver,
    JointMessageSender,
    input_port,
    output_port,
)


class JointStatusReceiver(JointMessageReceiver):
    """Abstract: gives what a message says of the status of an arm."""

    get_position_commanded_output_port = output_port("position_commanded", "commanded positions")
    get_position_measured_output_port = output_port("position_measured", "measured positions")
    get_torque_commanded_output_port = output_port("torque_commanded", "commanded torques")
    get_torque_measured_output_port = output_port("torque_measured", "measured torques")
    get_torque_external_output_port = output_port("torque_external", "external torques")


class JointStatusSender(JointMessageSender):
    """Abstract: makes a message of the status of an arm."""

    get_position_commanded_input_port = input_port("position_commanded", "commanded positions")
    get_position_measured_input_port = input_port("position_measured", "measured positions")
    get_torque_commanded_input_port = input_port("torque_commanded", "commanded torques")
    get_torque_measured_input_port = input_port("torque_measured", "measured torques")
    get_torque_external_input_port = input_port("torque_external", "external torques")
