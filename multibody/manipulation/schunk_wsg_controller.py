"""SchunkWsgController, forces of the fingers of a WSG gripper for the commands in messages, and BuildSchunkWsgControl.

SchunkWsgTrajectoryGenerator is how the firmware of the gripper moves its fingers to a new distance.
Positions here are x = -w, minus the distance of the fingers. At a sample that wants another target than before, the
motion from x_0 to the target x_1 begins, t_0 = t. It speeds up at a_max to v_max, keeps that, and slows down again; a
short way has the shape of the same motion without its middle, made smaller. With tau = t - t_0, d = |x_1 - x_0| and

    t_a = v_max / a_max,   d_a = v_max t_a / 2,   s = min(d / (2 d_a), 1),   t_c = max(d - 2 d_a, 0) / v_max   (1)

and with r_1, r_2, r_3, which go from 0 to 1 in the three parts of the motion,

    r_1 = clamp(tau, 0, s t_a) / (s t_a),  r_2 t_c = clamp(tau - s t_a, 0, t_c),
    r_3 = clamp(tau - s t_a - t_c, 0, s t_a) / (s t_a)                                                         (2)
    x  = x_0 +- (s d_a (r_1 + r_3) + v_max r_2 t_c)                                                            (3)
    x' = +- s v_max (r_1 - r_3)                                                                                (4)

As in pydrake, positions go linearly through each part, as if its rate were constant, while (4) goes linearly too.

The state of the fingers is [q_0, q_1, v_0, v_1]. One controller keeps their middle m where it is, another, of limited
force, brings x = q_0 - q_1 to where the firmware would have it, x_d:

    e = [0, x_d] - [m, x],   m = (q_0 + q_1) / 2,   dz/dt = e                                            (5)
    u = kp e + ki z + kd de/dt                                                                           (6)
    g = clamp(u_1, -f_max / 2, f_max / 2),   f_0 = u_0 / 2 + g,   f_1 = u_0 / 2 - g                      (7)
"""

from __future__ import annotations

import math
import sys
from typing import Any

from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, Diagram, DiagramBuilder, InputPort, LeafSystem, OutputPort, kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.values.arguments import checked_index, checked_number, checked_size, require_types
from merganser.framework.lcm import DrakeLcmInterface, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages.manipulators import lcmt_schunk_wsg_command, lcmt_schunk_wsg_status
from merganser.framework.math.element_functions import clamp
from merganser.framework.native import are_ordered, device
from merganser.framework.primitives.native_parts import if_at_most, magnitude
from merganser.multibody.controllers.inverse_dynamics import checked_gains
from merganser.multibody.manipulation.schunk_wsg_messages import (
    MakeMultibodyForceToWsgForceSystem,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgCommandReceiver,
    SchunkWsgDriver,
    SchunkWsgStatusSender,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import ModelInstanceIndex

Array = NDArray[Any]

_PERIOD = 0.05  # between two samples [s]
_V_MAX = 0.42  # largest speed of manual commands to the gripper [m/s]
_A_MAX = 5.0  # [m/s^2]
_NEAR = 1e-4  # targets that differ by less are the same [m]
_LARGEST = sys.float_info.max

# t_a and d_a of equation (1), and what keeps the motion of no way from being divided by zero.
_T_A = _V_MAX / _A_MAX
_D_A = 0.5 * _V_MAX * _T_A
_SHORTEST = 1e-12


@device
def fraction(x: Any, whole: Any) -> Any:
    """clamp(x, 0, whole) / whole, for a whole that may be zero."""
    at_least = if_at_most(whole, _SHORTEST, _SHORTEST, whole)
    return clamp(x, 0.0, at_least) / at_least


@native
def target(t: float, xd: Array, y: Array) -> None:
    """Equations (1) to (4); xd = [x_1, t_0, x_0, limit of force]. Before there is a target, x_0 at rest."""
    way = xd[0] - xd[2]
    d = magnitude(way)
    is_new = if_at_most(xd[1], _LARGEST, 1.0, 0.0)  # t_0 is infinite before there is a target
    tau = if_at_most(xd[1], _LARGEST, t - if_at_most(xd[1], _LARGEST, xd[1], 0.0), 0.0)
    sign = is_new * if_at_most(way, 0.0, -1.0, 1.0)
    s = clamp(d / (2.0 * _D_A), 0.0, 1.0)
    t_c = if_at_most(d, 2.0 * _D_A, 0.0, (d - 2.0 * _D_A) / _V_MAX)
    r_1 = fraction(tau, s * _T_A)
    r_3 = fraction(tau - s * _T_A - t_c, s * _T_A)
    y[0] = xd[2] + sign * (s * _D_A * (r_1 + r_3) + _V_MAX * clamp(tau - s * _T_A, 0.0, t_c))
    y[1] = sign * s * _V_MAX * (r_1 - r_3)


@device
def is_same(t_0: Any, difference: Any) -> Any:
    """1 if there is a target already, and the new one is near it; otherwise 0."""
    return if_at_most(difference * difference, _NEAR * _NEAR, if_at_most(t_0, _LARGEST, 1.0, 0.0), 0.0)


@native
def sampled(
    t: float, w_d: Array, f: Array, state: Array, position: int, has_force: int, xd: Array, next_xd0: Array
) -> None:
    """Begins a new motion if the target is new."""
    same = is_same(xd[1], -w_d[0] - xd[0])
    next_xd0[0] = if_at_most(1.0, same, xd[0], -w_d[0])
    next_xd0[1] = if_at_most(1.0, same, xd[1], t)
    next_xd0[2] = if_at_most(1.0, same, xd[2], 2.0 * state[position])
    next_xd0[3] = f[0] if has_force else xd[3]


@native
def limit_of_force(xd: Array, y: Array) -> None:
    """y = the limit that came with the latest sample."""
    y[0] = xd[3]


class SchunkWsgTrajectoryGenerator(LeafSystem):
    """Moves the fingers of a gripper to desired distances, as its firmware does; it samples every 50 ms.

    Inputs: `desired_position` w_d, `force_limit` (if wanted) and the state of the fingers, u2. Outputs: y0, the target
    [x, x'], minus the distance and its rate, and y1 (if wanted), the limit of the force.

    Its discrete state is the target x_1, when and where the motion began, t_0 (infinite before) and x_0, and the limit.

    Args:
        input_size: number of elements of the state.
        position_index: which of these is the position of the finger whose half of the distance it is.
        use_force_limit: whether there are ports for limits of the force.

    Raises:
        IndexError: the state has no such element.
    """

    def __init__(self, input_size: int, position_index: int, use_force_limit: bool = True) -> None:
        super().__init__()
        size = checked_size(input_size, "SchunkWsgTrajectoryGenerator: input_size", 1)
        index = checked_index(position_index, size, "SchunkWsgTrajectoryGenerator", "element of the state")
        self._desired = self.DeclareVectorInputPort("desired_position", 1)
        self._force_limit = self.DeclareVectorInputPort("force_limit", 1) if use_force_limit else None
        self._state = self.DeclareVectorInputPort("u2", size)
        motion = self.DeclareDiscreteState([0.0, math.inf, 0.0, 0.0])
        self._target = self.DeclareVectorOutputPort(kUseDefaultName, 2, target.given(xd=motion))
        self._max_force: OutputPort | None = None
        if use_force_limit:
            self._max_force = self.DeclareVectorOutputPort(kUseDefaultName, 1, limit_of_force.given(xd=motion))
        given = {"w_d": self._desired, "state": self._state, "f": self._force_limit or [0.0]}
        update = sampled.given(**given, position=index, has_force=int(use_force_limit), xd=motion)
        self.DeclarePeriodicDiscreteUpdateEvent(_PERIOD, 0.0, update)
        self.DeclareForcedDiscreteUpdateEvent(update)

    def get_desired_position_input_port(self) -> InputPort:
        """Returns the port of the distance that is wanted [m]."""
        return self._desired

    def get_force_limit_input_port(self) -> InputPort:
        """Returns the port of the greatest force between the fingers [N].

        Raises:
            RuntimeError: the block was made without it.
        """
        if self._force_limit is None:
            raise RuntimeError(self._without_limit())
        return self._force_limit

    def get_state_input_port(self) -> InputPort:
        """Returns the port of the state of the fingers."""
        return self._state

    def get_target_output_port(self) -> OutputPort:
        """Returns the port of minus the distance that the fingers shall have now, and of its rate [m, m/s]."""
        return self._target

    def get_max_force_output_port(self) -> OutputPort:
        """Returns the port of the greatest force between the fingers [N].

        Raises:
            RuntimeError: the block was made without it.
        """
        if self._max_force is None:
            raise RuntimeError(self._without_limit())
        return self._max_force

    def _without_limit(self) -> str:
        return (
            f"System '{self.GetSystemPathname()}' has no ports for limits of the force; make it with "
            "SchunkWsgTrajectoryGenerator(..., use_force_limit=True)."
        )


# ---------------------------------------------------------------------- the controller

_NUM_FINGERS = 2


@native
def grip_errors(x_d: Array, state: Array, zdot: Array) -> None:
    """Equation (5)."""
    zdot[0] = -0.5 * (state[0] + state[1])
    zdot[1] = x_d[0] - (state[0] - state[1])


@native
def forces_of_fingers(
    x_d: Array, limit: Array, state: Array, xc: Array, kp: float, ki: float, kd: float, f: Array
) -> bool:
    """Equations (6) and (7). Returns True if the limit is invalid."""
    if not are_ordered(0.0, limit[0]):
        return True
    together = -0.5 * (kp * (state[0] + state[1]) + kd * (state[2] + state[3])) + ki * xc[0]
    apart = kp * (x_d[0] - state[0] + state[1]) + ki * xc[1] + kd * (x_d[1] - state[2] + state[3])
    g = clamp(apart, -0.5 * limit[0], 0.5 * limit[0])
    f[0], f[1] = 0.5 * together + g, 0.5 * together - g
    return False


class _PlainController(LeafSystem):
    """Equations (5) to (7); the continuous state is z.

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
