"""Common code of senders and receivers of arm commands; the position of an arm until its first command."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, InputPort
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.inside import declare_vector_entry
from merganser.multibody.manipulation.joint_messages import (
    JointMessageReceiver,
    JointMessageSender,
    input_port,
    output_port,
    vector_of,
)

Array = NDArray[Any]


@native
def keep_position(flag: Array, q_kept: Array, q_measured: Array, next_xd0: Array, next_xd1: Array) -> bool:
    """Keeps the positions measured in the first step. Returns True if none were measured."""
    if flag[0] != 1.0 and q_measured.shape[0] == 0:
        return True
    next_xd0[0] = 1.0
    for i in range(q_kept.shape[0]):
        next_xd1[i] = q_kept[i] if flag[0] == 1.0 else q_measured[i]
    return False


@native
def position(command: Array, flag: Array, q_kept: Array, q_measured: Array, q: Array) -> bool:
    """q = those of a command that has come, or else those that are kept, or else those that are measured.

    Returns True if no positions are available.
    """
    if command[0] != 1.0 and flag[0] != 1.0 and q_measured.shape[0] == 0:
        return True
    for i in range(q.shape[0]):
        if command[0] == 1.0:
            q[i] = command[1 + i]
        else:
            q[i] = q_kept[i] if flag[0] == 1.0 else q_measured[i]
    return False


class JointCommandReceiver(JointMessageReceiver):
    """Abstract: gives the commands in a message.

    Until one has come, positions are those at `position_measured`; a simulation keeps those of its first step.

    State: discrete 0: whether positions are kept; discrete 1: the positions.

    Args:
        lcm_type: type of the message, whose name is that of the input port.
        num_joints: of the arm.
    """

    def __init__(self, lcm_type: Any, num_joints: int) -> None:
        super().__init__(lcm_type, num_joints)
        self._measured = self.DeclareVectorInputPort("position_measured", self._num_joints)

    def _declare_state(self, is_optional: bool) -> dict[str, Any]:
        """Declares the state.

        Args:
            is_optional: whether `position_measured` may be left open, and is zero then.

        Returns:
            What `_declare_position` takes.
        """
        flag, positions = self.DeclareDiscreteState(1), self.DeclareDiscreteState(self._num_joints)
        measured = InputOr(self._measured, np.zeros(self._num_joints if is_optional else 0))
        return {"flag": flag, "q_kept": positions, "q_measured": measured}

    def _declare_position(self, wires: dict[str, Any], length: str) -> None:
        """Declares the output port `position`, and the event that keeps the positions.

        Args:
            wires: as `_declare_state` returns them.
            length: name of the member of the message that is the number of its positions.
        """
        model = BasicVector(np.zeros(1 + self._num_joints))
        calc_command = functools.partial(self._calc_command, length)
        command = declare_vector_entry(self, "command", model, calc_command, {self._message.ticket()})
        self.DeclarePerStepDiscreteUpdateEvent(keep_position.given(**wires).or_raise(self._refuse))
        calc = position.given(command=command, **wires).or_raise(self._refuse)
        self.DeclareVectorOutputPort("position", self._num_joints, calc)

    def get_message_input_port(self) -> InputPort:
        """Returns the port that takes the message."""
        return self._message

    def get_position_measured_input_port(self) -> InputPort:
        """Returns the port that takes the measured positions."""
        return self._measured

    get_commanded_position_output_port = output_port("position", "the positions")
    get_commanded_torque_output_port = output_port("torque", "the torques")

    def _has_come(self, message: Any) -> bool:
        """Override: whether a message is a command, not the initial empty one."""
        raise NotImplementedError

    def _calc_command(self, length: str, context: Context, output: BasicVector) -> None:
        """Whether a message has come, and its positions."""
        message = self._message.Eval(context)
        if self._has_come(message):
            output.SetFromVector([1.0, *self._vector_of(message, "joint_position", length)])
        else:
            output.SetZero()

    def _vector_of(self, message: Any, member: str, length: str) -> Any:
        return vector_of(message, member, length, self._num_joints, type(self).__name__)

    def _refuse(self, context: Context) -> None:
        """Raises an error: positions are needed, but the port is not connected."""
        self._measured.Eval(context)


class JointCommandSender(JointMessageSender):
    """Abstract: makes a message of commands."""

    get_position_input_port = input_port("position", "positions")
    get_torque_input_port = input_port("torque", "torques")
