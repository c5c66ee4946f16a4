"""SchunkWsgController: forces of the fingers of a WSG gripper for the commands in messages.

The state of the fingers is [q_0, q_1, v_0, v_1]. One controller keeps their middle m where it is, another, of limited
force, brings x = q_0 - q_1, minus the distance between them, to where the firmware would have it, x_d:

    e = [0, x_d] - [m, x],   m = (q_0 + q_1) / 2,   dz/dt = e                                            (1)
    u = kp e + ki z + kd de/dt                                                                           (2)
    g = clamp(u_1, -f_max / 2, f_max / 2),   f_0 = u_0 / 2 + g,   f_1 = u_0 / 2 - g                      (3)
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import Context, Diagram, DiagramBuilder, LeafSystem
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.math.element_functions import clamp
from merganser.framework.native import are_ordered
from merganser.multibody.manipulation.schunk_wsg_messages import SchunkWsgCommandReceiver
from merganser.multibody.manipulation.schunk_wsg_trajectory_generator import SchunkWsgTrajectoryGenerator

Array = NDArray[Any]
_NUM_FINGERS = 2


@native
def grip_errors(x_d: Array, state: Array, zdot: Array) -> None:
    """Equation (1)."""
    zdot[0] = -0.5 * (state[0] + state[1])
    zdot[1] = x_d[0] - (state[0] - state[1])


@native
def forces_of_fingers(
    x_d: Array, limit: Array, state: Array, xc: Array, kp: float, ki: float, kd: float, f: Array
) -> bool:
    """Equations (2) and (3). Returns True if the limit is invalid."""
    if not are_ordered(0.0, limit[0]):
        return True
    together = -0.5 * (kp * (state[0] + state[1]) + kd * (state[2] + state[3])) + ki * xc[0]
    apart = kp * (x_d[0] - state[0] + state[1]) + ki * xc[1] + kd * (x_d[1] - state[2] + state[3])
    g = clamp(apart, -0.5 * limit[0], 0.5 * limit[0])
    f[0], f[1] = 0.5 * together + g, 0.5 * together - g
    return False


class _PlainController(LeafSystem):
    """Equations (1) to (3); the continuous state is z.

    Inputs: `joint_state`, shape [4], `max_force` f_max and `desired_grip_state` [x_d, x_d']. Output: `control`, the
    forces of the fingers [N], shape [2].
    """

    def __init__(self, kp: float, ki: float, kd: float) -> None:
        super().__init__()
        state = self.DeclareVectorInputPort("joint_state", 2 * _NUM_FINGERS)
        self._limit = self.DeclareVectorInputPort("max_force", 1)
        x_d = self.DeclareVectorInputPort("desired_grip_state", 2)
        self.DeclareContinuousState(2)
        declare_derivatives(self, grip_errors.given(x_d=x_d, state=state), of=_PlainController)
        forces = forces_of_fingers.given(x_d=x_d, limit=self._limit, state=state, kp=kp, ki=ki, kd=kd)
        self.DeclareVectorOutputPort("control", _NUM_FINGERS, forces.or_raise(self._refuse))

    def _refuse(self, context: Context) -> None:
        raise ValueError(
            f"System '{self.GetSystemPathname()}': the largest force in a command must not be negative, got "
            f"{self._limit.Eval(context)[0]} N."
        )


class SchunkWsgController(Diagram):
    """Moves the fingers of a gripper by commands in messages, with the motions of its firmware.

    Ports:
        input `state`: of the fingers, shape [4].
        input `command_message`: lcmt_schunk_wsg_command.
        output `force`: of the fingers [N], shape [2].

    Args:
        kp, ki, kd: gains [N/m], [N/(m s)], [N s/m].

    Raises:
        TypeError, ValueError: a gain is not a number, or not finite. When the output is computed: the largest force in
            a command is negative.
    """

    def __init__(self, kp: float = 2000.0, ki: float = 0.0, kd: float = 5.0) -> None:
        super().__init__()
        gains = {
            name: checked_number(gain, f"SchunkWsgController: {name}")
            for name, gain in (("kp", kp), ("ki", ki), ("kd", kd))
        }
        builder = DiagramBuilder()
        generator = builder.AddNamedSystem("trajectory_generator", SchunkWsgTrajectoryGenerator(2 * _NUM_FINGERS, 0))
        receiver = builder.AddNamedSystem("command_receiver", SchunkWsgCommandReceiver())
        controller = builder.AddNamedSystem("plain_controller", _PlainController(**gains))
        builder.ExportInput(generator.get_state_input_port(), "state")
        builder.ConnectInput("state", controller.GetInputPort("joint_state"))
        builder.ExportInput(receiver.GetInputPort("command_message"), "command_message")
        builder.Connect(receiver.get_position_output_port(), generator.get_desired_position_input_port())
        builder.Connect(receiver.get_force_limit_output_port(), generator.get_force_limit_input_port())
        builder.Connect(generator.get_target_output_port(), controller.GetInputPort("desired_grip_state"))
        builder.Connect(generator.get_max_force_output_port(), controller.GetInputPort("max_force"))
        builder.ExportOutput(controller.get_output_port(), "force")
        builder.BuildInto(self)
