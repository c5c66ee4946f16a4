"""Common code of senders and receivers of messages of joints and of commands of arms: vectors at ports, and members."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.values import AbstractValue


def vector_of(message: Any, member: str, length: str, num_joints: int, where: str) -> Any:
    """A vector in a message, shape [num_joints].

    Args:
        message: the message.
        member: its name.
        length: name of the member that is its length.
        num_joints: the length that is expected.
        where: who reads it, for messages.

    Raises:
        RuntimeError: it has another length.
    """
    values, found = getattr(message, member), getattr(message, length)
    if found != num_joints or len(values) != num_joints:
        raise RuntimeError(f"{where} expected {length} = {num_joints}, but received {found}.")
    return values


def input_port(name: str, what: str) -> Callable[[Any], InputPort]:
    """A function of a sender that returns the input port of this name, which takes `what`."""
    return _PortFunction(name, f"takes {what}")  # type: ignore[return-value]  # which the class replaces by a function


def output_port(name: str, what: str) -> Callable[[Any], OutputPort]:
    """A function of a receiver that returns the output port of this name, which gives `what`."""
    return _PortFunction(name, f"gives {what}")  # type: ignore[return-value]


class _PortFunction:
    def __init__(self, port: str, words: str) -> None:
        self._port, self._words = port, words

    def __set_name__(self, owner: type, name: str) -> None:
        def port(system: Any) -> Any:
            return system._port(self._port)

        port.__name__, port.__qualname__ = name, f"{owner.__qualname__}.{name}"
        port.__doc__ = f"Returns the port that {self._words}."
        setattr(owner, name, port)


class _JointMessages(LeafSystem):
    """Base of messages for a number of joints; for floats only, as messages are."""

    def __init__(self, num_joints: int) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._num_joints = operator.index(num_joints)
        if self._num_joints <= 0:
            raise RuntimeError(f"{type(self).__name__}: num_joints must be positive; given {num_joints}.")


class JointMessageSender(_JointMessages):
    """Abstract: makes a message of vectors at input ports, one member of the message for each.

    Args:
        lcm_type: type of the message, whose name is that of the output port.
        num_joints: size of the vectors.
    """

    def __init__(self, lcm_type: Any, num_joints: int) -> None:
        super().__init__(num_joints)
        self._lcm_type = lcm_type
        self.DeclareAbstractOutputPort(lcm_type.__name__, lambda: Value(lcm_type()), self._calc_message)

    def _declare_vectors(self, *names: str) -> None:
        for name in names:
            self.DeclareVectorInputPort(name, self._num_joints)

    def _vector(self, context: Context, name: str, default: list[float] | None = None) -> list[float]:
        """The value of a port; the default if it is optional and not connected."""
        port = self.GetInputPort(name)
        if default is not None and not port.HasValue(context):
            return default
        values: list[float] = port.Eval(context).tolist()
        return values

    def _zeros(self) -> list[float]:
        return [0.0] * self._num_joints

    def _port(self, name: str) -> InputPort:
        if not self.HasInputPort(name):
            raise RuntimeError(f"{type(self).__name__}: there is no port '{name}' in this control mode.")
        return self.GetInputPort(name)

    def _fill(self, context: Context, message: Any) -> None:
        """Override: sets the members of a new message."""
        raise NotImplementedError

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = self._lcm_type()
        self._fill(context, message)
        output.set_value(message)


class JointMessageReceiver(_JointMessages):
    """Abstract: gives vectors of a message, at an output port each.

    Args:
        lcm_type: type of the message, whose name is that of the input port.
        num_joints: size of the vectors.
    """

    def __init__(self, lcm_type: Any, num_joints: int) -> None:
        super().__init__(num_joints)
        self._message = self.DeclareAbstractInputPort(lcm_type.__name__, Value(lcm_type()))

    def _declare_members(self, members: Mapping[str, str]) -> None:
        """Declares output ports of members that have num_joints elements; zeros in a message without joints.

        Args:
            members: names of members by names of ports.
        """
        for name, member in members.items():
            calc = functools.partial(self._calc_member, member)
            self.DeclareVectorOutputPort(name, self._num_joints, calc)

    def _calc_member(self, member: str, context: Context, output: BasicVector) -> None:
        message = self._message.Eval(context)
        if message.num_joints == 0:
            output.SetZero()
        else:
            output.SetFromVector(vector_of(message, member, "num_joints", self._num_joints, type(self).__name__))

    def _port(self, name: str) -> OutputPort:
        if not self.HasOutputPort(name):
            raise RuntimeError(f"{type(self).__name__}: there is no port '{name}' in this control mode.")
        return self.GetOutputPort(name)


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
        command = self._sys_declare_entry("command", model, calc_command, {self._message.ticket()})
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
