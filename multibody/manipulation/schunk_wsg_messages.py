"""Commands and status of a Schunk WSG gripper as messages, and messages as commands and status.

Constants of a Schunk WSG 50 gripper: two fingers on rails, driven against each other.

The fingers of its model are two joints with positions q_0 <= 0 and q_1 >= 0, so that they are w = q_1 - q_0 apart.

Positions are distances between the fingers: in m at ports, in mm in messages.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, InputPort, LeafSystem, OutputPort, Value, kUseDefaultName
from merganser.framework.common.records import settings
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.manipulators import lcmt_schunk_wsg_command, lcmt_schunk_wsg_status
from merganser.framework.primitives import MatrixGain
from merganser.framework.primitives.native_parts import magnitude

Array = NDArray[Any]


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class SchunkWsgDriver:
    """Settings of the driver of a gripper in a simulation, like its real firmware.

    Attributes:
        pid_gains: of the fingers: elasticity of the belt [N/m], 0, friction of the gears [N s/m], shape [3].
        lcm_bus: name of the bus of commands and status.
    """

    pid_gains: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.array([7200.0, 0.0, 5.0]))
    lcm_bus: str = "default"


def GetSchunkWsgOpenPosition() -> Array:
    """Returns the positions of the fingers of an open gripper [m], shape [2]."""
    return np.array([-0.0550667, 0.0550667])


def MakeMultibodyStateToWsgStateSystem() -> MatrixGain:
    """Returns a block from the state [q_0, q_1, v_0, v_1] of the fingers to the distance between them and its rate."""
    return MatrixGain([[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]])


@native
def grip(f: Array, y: Array) -> None:
    """y = |f_0 - f_1|."""
    y[0] = magnitude(f[0] - f[1])


class _GripForce(LeafSystem):
    """Computes the force between the fingers [N] from their generalized forces, shape [2]."""

    def __init__(self) -> None:
        super().__init__()
        f = self.DeclareVectorInputPort(kUseDefaultName, 2)
        self.DeclareVectorOutputPort(kUseDefaultName, 1, grip.given(f=f))


def MakeMultibodyForceToWsgForceSystem() -> LeafSystem:
    """Returns a block from the generalized forces of the fingers, shape [2], to the force between them [N]."""
    return _GripForce()


_DEFAULT_FORCE = 40.0  # [N]


class SchunkWsgCommandReceiver(LeafSystem):
    """Gives the command in an lcmt_schunk_wsg_command.

    Ports:
        input `command_message`: lcmt_schunk_wsg_command.
        output `position`: distance between the fingers [m], shape [1].
        output `force_limit`: largest force [N], shape [1].

    Args:
        initial_position: until a command has come [m].
        initial_force: until a command has come [N].
    """

    def __init__(self, initial_position: float = 0.02, initial_force: float = _DEFAULT_FORCE) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._initial = float(initial_position), float(initial_force)
        self._message = self.DeclareAbstractInputPort("command_message", Value(lcmt_schunk_wsg_command()))
        self.DeclareVectorOutputPort("position", 1, self._calc_position)
        self.DeclareVectorOutputPort("force_limit", 1, self._calc_force_limit)

    def get_position_output_port(self) -> OutputPort:
        """Returns the port that gives the distance between the fingers."""
        return self.get_output_port(0)

    def get_force_limit_output_port(self) -> OutputPort:
        """Returns the port that gives the largest force."""
        return self.get_output_port(1)

    def _command(self, context: Context) -> tuple[float, float]:
        message = self._message.Eval(context)
        if message.utime == message.target_position_mm == message.force == 0:  # none has come
            return self._initial
        position = message.target_position_mm / 1e3
        return 0.0 if math.isnan(position) else position, message.force

    def _calc_position(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector([self._command(context)[0]])

    def _calc_force_limit(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector([self._command(context)[1]])


class SchunkWsgCommandSender(LeafSystem):
    """Gives a command as an lcmt_schunk_wsg_command.

    Ports:
        input `position`: distance between the fingers [m], shape [1].
        input `force_limit`: largest force [N], shape [1]; may be left open for the default.
        output `lcmt_schunk_wsg_command`: lcmt_schunk_wsg_command.

    Args:
        default_force_limit: [N].
    """

    def __init__(self, default_force_limit: float = _DEFAULT_FORCE) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._default_force_limit = float(default_force_limit)
        self._position = self.DeclareVectorInputPort("position", 1)
        self._force_limit = self.DeclareVectorInputPort("force_limit", 1)
        self.DeclareAbstractOutputPort(
            "lcmt_schunk_wsg_command", lambda: Value(lcmt_schunk_wsg_command()), self._calc_message
        )

    def get_position_input_port(self) -> InputPort:
        """Returns the port that takes the distance between the fingers."""
        return self._position

    def get_force_limit_input_port(self) -> InputPort:
        """Returns the port that takes the largest force."""
        return self._force_limit

    def get_command_output_port(self) -> OutputPort:
        """Returns the port that gives the message."""
        return self.get_output_port(0)

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = lcmt_schunk_wsg_command()
        message.utime = microseconds(context.get_time())
        message.target_position_mm = 1e3 * self._position.Eval(context)[0]
        has_limit = self._force_limit.HasValue(context)
        message.force = self._force_limit.Eval(context)[0] if has_limit else self._default_force_limit
        output.set_value(message)


class SchunkWsgStatusReceiver(LeafSystem):
    """Gives what an lcmt_schunk_wsg_status says.

    Ports:
        input `lcmt_schunk_wsg_status`: lcmt_schunk_wsg_status.
        output `state`: distance between the fingers and its rate [m, m/s], shape [2].
        output `force`: between the fingers [N], shape [1].
    """

    def __init__(self) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._message = self.DeclareAbstractInputPort("lcmt_schunk_wsg_status", Value(lcmt_schunk_wsg_status()))
        self.DeclareVectorOutputPort("state", 2, self._calc_state)
        self.DeclareVectorOutputPort("force", 1, self._calc_force)

    def get_status_input_port(self) -> InputPort:
        """Returns the port that takes the message."""
        return self._message

    def get_state_output_port(self) -> OutputPort:
        """Returns the port that gives the distance between the fingers and its rate."""
        return self.get_output_port(0)

    def get_force_output_port(self) -> OutputPort:
        """Returns the port that gives the force between the fingers."""
        return self.get_output_port(1)

    def _calc_state(self, context: Context, output: BasicVector) -> None:
        message = self._message.Eval(context)
        output.SetFromVector([message.actual_position_mm / 1e3, message.actual_speed_mm_per_s / 1e3])

    def _calc_force(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector([self._message.Eval(context).actual_force])


class SchunkWsgStatusSender(LeafSystem):
    """Gives the status of a gripper as an lcmt_schunk_wsg_status.

    Ports:
        input `u0`: distance between the fingers and its rate [m, m/s], shape [2].
        input `u1`: force between the fingers [N], shape [1], whose magnitude is sent; may be left open for zero.
        output `y0`: lcmt_schunk_wsg_status.
    """

    def __init__(self) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._state = self.DeclareVectorInputPort(kUseDefaultName, 2)
        self._force = self.DeclareVectorInputPort(kUseDefaultName, 1)
        self.DeclareAbstractOutputPort(kUseDefaultName, lambda: Value(lcmt_schunk_wsg_status()), self._calc_message)

    def get_state_input_port(self) -> InputPort:
        """Returns the port that takes the distance between the fingers and its rate."""
        return self._state

    def get_force_input_port(self) -> InputPort:
        """Returns the port that takes the force between the fingers."""
        return self._force

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = lcmt_schunk_wsg_status()
        message.utime = microseconds(context.get_time())
        position, speed = self._state.Eval(context).tolist()
        message.actual_position_mm, message.actual_speed_mm_per_s = 1e3 * position, 1e3 * speed
        message.actual_force = abs(self._force.Eval(context)[0]) if self._force.HasValue(context) else 0.0
        output.set_value(message)
