"""SchunkWsgController, forces of the fingers of a WSG gripper for the commands in messages, and BuildSchunkWsgControl.

The state of the fingers is [q_0, q_1, v_0, v_1]. One controller keeps their middle m where it is, another, of limited
force, brings x = q_0 - q_1, minus the distance between them, to where the firmware would have it, x_d:

    e = [0, x_d] - [m, x],   m = (q_0 + q_1) / 2,   dz/dt = e                                            (1)
    u = kp e + ki z + kd de/dt                                                                           (2)
    g = clamp(u_1, -f_max / 2, f_max / 2),   f_0 = u_0 / 2 + g,   f_1 = u_0 / 2 - g                      (3)
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, Diagram, DiagramBuilder, LeafSystem
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.values.arguments import checked_number, require_types
from merganser.framework.lcm import DrakeLcmInterface, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages.manipulators import lcmt_schunk_wsg_command, lcmt_schunk_wsg_status
from merganser.framework.math.element_functions import clamp
from merganser.framework.native import are_ordered
from merganser.multibody.controllers.controlled_plant import checked_gains
from merganser.multibody.manipulation.schunk_wsg_messages import (
    MakeMultibodyForceToWsgForceSystem,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgCommandReceiver,
    SchunkWsgDriver,
    SchunkWsgStatusSender,
)
from merganser.multibody.manipulation.schunk_wsg_trajectory_generator import SchunkWsgTrajectoryGenerator
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import ModelInstanceIndex

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
        self._sys_declare_derivatives(grip_errors.given(x_d=x_d, state=state), of=_PlainController)
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


_STATUS_PERIOD = 0.05  # between two messages of the gripper [s]


def BuildSchunkWsgControl(
    plant: MultibodyPlant,
    wsg_instance: ModelInstanceIndex,
    lcm: DrakeLcmInterface | LcmInterfaceSystem,
    builder: DiagramBuilder,
    pid_gains: ArrayLike | None = None,
) -> None:
    """Adds to a diagram what moves a gripper as messages on SCHUNK_WSG_COMMAND say.

    Its status is sent on SCHUNK_WSG_STATUS every 50 ms: the distance between the fingers, its rate, and the force of
    what is between them.

    Args:
        plant: has the gripper, finalized, and is part of the diagram.
        wsg_instance: the gripper: two fingers, each with its own actuator.
        lcm: sends and receives messages.
        builder: of the diagram.
        pid_gains: see `SchunkWsgDriver`; None for those of a SchunkWsgDriver().

    Raises:
        TypeError: an argument is of another type.
        ValueError: the plant is not part of the diagram.
        RuntimeError: the plant is not finalized, or the model has not two positions and two actuators; gains are not
            three finite numbers. Then nothing has been added.
    """
    require_types("BuildSchunkWsgControl", builder=(builder, DiagramBuilder))
    require_plant(plant, "BuildSchunkWsgControl")
    builder.require_member(plant)
    name = plant.GetModelInstanceName(wsg_instance)
    found = plant.num_positions(wsg_instance), plant.num_velocities(wsg_instance), plant.num_actuators(wsg_instance)
    if found != (_NUM_FINGERS, _NUM_FINGERS, _NUM_FINGERS):
        raise RuntimeError(
            f"BuildSchunkWsgControl: a gripper has two fingers with a position, a velocity and an actuator each; model "
            f"'{name}' has {found[0]} positions, {found[1]} velocities and {found[2]} actuators. Is it welded?"
        )
    gains = checked_gains(
        SchunkWsgDriver().pid_gains if pid_gains is None else pid_gains, 3, "BuildSchunkWsgControl: pid_gains"
    )
    subscriber = LcmSubscriberSystem.Make("SCHUNK_WSG_COMMAND", lcmt_schunk_wsg_command, lcm)
    publisher = LcmPublisherSystem.Make("SCHUNK_WSG_STATUS", lcmt_schunk_wsg_status, lcm, _STATUS_PERIOD)
    builder.AddNamedSystem(f"{name}_wsg_command_subscriber", subscriber)
    controller = builder.AddSystem(SchunkWsgController(*gains))
    builder.AddNamedSystem(f"{name}_wsg_status_publisher", publisher)
    status = builder.AddSystem(SchunkWsgStatusSender())
    width = builder.AddSystem(MakeMultibodyStateToWsgStateSystem())
    force = builder.AddSystem(MakeMultibodyForceToWsgForceSystem())

    state = plant.get_state_output_port(wsg_instance)
    builder.Connect(state, controller.GetInputPort("state"))
    builder.Connect(subscriber.get_output_port(), controller.GetInputPort("command_message"))
    builder.Connect(controller.GetOutputPort("force"), plant.get_actuation_input_port(wsg_instance))
    builder.Connect(state, width.get_input_port())
    builder.Connect(plant.get_generalized_contact_forces_output_port(wsg_instance), force.get_input_port())
    builder.Connect(width.get_output_port(), status.get_state_input_port())
    builder.Connect(force.get_output_port(), status.get_force_input_port())
    builder.Connect(status.get_output_port(), publisher.get_input_port())
