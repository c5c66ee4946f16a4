"""What senders and receivers of the status of arms have in common: the ports that all arms have."""

from __future__ import annotations

from merganser.framework import InputPort, OutputPort
from merganser.multibody.manipulation.joint_messages import JointMessageReceiver, JointMessageSender

__all__ = ["JointStatusReceiver", "JointStatusSender"]


class JointStatusReceiver(JointMessageReceiver):
    """Abstract: gives what a message says of the status of an arm."""

    def get_position_commanded_output_port(self) -> OutputPort:
        """Returns the port that gives commanded positions."""
        return self._port("position_commanded")

    def get_position_measured_output_port(self) -> OutputPort:
        """Returns the port that gives measured positions."""
        return self._port("position_measured")

    def get_torque_commanded_output_port(self) -> OutputPort:
        """Returns the port that gives commanded torques."""
        return self._port("torque_commanded")

    def get_torque_measured_output_port(self) -> OutputPort:
        """Returns the port that gives measured torques."""
        return self._port("torque_measured")

    def get_torque_external_output_port(self) -> OutputPort:
        """Returns the port that gives external torques."""
        return self._port("torque_external")


class JointStatusSender(JointMessageSender):
    """Abstract: makes a message of the status of an arm."""

    def get_position_commanded_input_port(self) -> InputPort:
        """Returns the port that takes commanded positions."""
        return self._port("position_commanded")

    def get_position_measured_input_port(self) -> InputPort:
        """Returns the port that takes measured positions."""
        return self._port("position_measured")

    def get_torque_commanded_input_port(self) -> InputPort:
        """Returns the port that takes commanded torques."""
        return self._port("torque_commanded")

    def get_torque_measured_input_port(self) -> InputPort:
        """Returns the port that takes measured torques."""
        return self._port("torque_measured")

    def get_torque_external_input_port(self) -> InputPort:
        """Returns the port that takes external torques."""
        return self._port("torque_external")
