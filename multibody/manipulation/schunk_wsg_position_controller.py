"""Controllers of a WSG gripper: forces of the fingers for a distance between them.

The state of the fingers is [q_0, q_1, v_0, v_1], the distance between them w = q_1 - q_0. One spring and damper keeps
their middle where it is, another, of limited force, brings them to the distance that is wanted, w_d:

     f_0 + f_1 = -kp_constraint (q_0 + q_1) - kd_constraint (v_0 + v_1)                                   (1)
    -f_0 + f_1 = clamp(kp_command (w_d - w) + kd_command (w_d' - w'), -f_max, f_max)                      (2)

The force between the fingers is the magnitude of (2).
"""

from __future__ import annotations

import sys
from typing import Any

from numpy.typing import NDArray

from merganser.framework import Context, Diagram, DiagramBuilder, InputPort, LeafSystem, OutputPort
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.math.element_functions import clamp
from merganser.framework.native import are_ordered, device
from merganser.framework.primitives import StateInterpolatorWithDiscreteDerivative
from merganser.framework.primitives.native_parts import magnitude

Array = NDArray[Any]
_LEAST = sys.float_info.min  # a limit of force [N]


@device
def force_of_command(w: Any, x: Any, limit: Any, kp: Any, kd: Any) -> Any:
    """Equation (2)."""
    return clamp(kp * (w[0] + x[0] - x[1]) + kd * (w[1] + x[2] - x[3]), -limit[0], limit[0])


@native
def finger_forces(
    w: Array, limit: Array, x: Array, kp: float, kd: float, kp_middle: float, kd_middle: float, f: Array
) -> bool:
    """Equations (1) and (2), solved for f. Returns True if the limit is invalid."""
    if not are_ordered(_LEAST, limit[0]):
        return True
    both = -kp_middle * (x[0] + x[1]) - kd_middle * (x[2] + x[3])
    apart = force_of_command(w, x, limit, kp, kd)
    f[0], f[1] = 0.5 * (both - apart), 0.5 * (both + apart)
    return False


@native
def grip_force(w: Array, limit: Array, x: Array, kp: float, kd: float, f: Array) -> bool:
    """The magnitude of equation (2). Returns True if the limit is invalid."""
    if not are_ordered(_LEAST, limit[0]):
        return True
    f[0] = magnitude(force_of_command(w, x, limit, kp, kd))
    return False


class SchunkWsgPdController(LeafSystem):
    """Moves the fingers of a gripper to a distance, equations (1) and (2).

    Inputs: `desired_state` [w_d, w_d'], `force_limit` f_max (which may be left unconnected) and `state`. Outputs:
    `generalized_force` of the fingers, shape [2], and `grip_force`, the force between them.

    Args:
        kp_command, kd_command: gains of the distance [N/m], [N s/m].
        kp_constraint, kd_constraint: gains of the middle [N/m], [N s/m].
        default_force_limit: f_max where the port is not connected [N].

    Raises:
        ValueError: a gain is negative, or the limit not positive. For a limit that is an input this is found when
            the output is computed.
    """

    def __init__(
        self,
        kp_command: float = 200.0,
        kd_command: float = 5.0,
        kp_constraint: float = 2000.0,
        kd_constraint: float = 5.0,
        default_force_limit: float = 40.0,
    ) -> None:
        super().__init__()
        gains = {"kp": kp_command, "kd": kd_command, "kp_middle": kp_constraint, "kd_middle": kd_constraint}
        if not all(gain >= 0.0 for gain in gains.values()):
            raise ValueError(f"SchunkWsgPdController: gains must not be negative, got {list(gains.values())}.")
        if not default_force_limit > 0.0:
            raise ValueError(f"SchunkWsgPdController: the force limit must be positive, got {default_force_limit} N.")
        gains = {name: float(gain) for name, gain in gains.items()}
        self._desired = self.DeclareVectorInputPort("desired_state", 2)
        self._limit = self.DeclareVectorInputPort("force_limit", 1)
        self._state = self.DeclareVectorInputPort("state", 4)
        wires = {"w": self._desired, "limit": InputOr(self._limit, [float(default_force_limit)]), "x": self._state}
        forces = finger_forces.given(**wires, **gains).or_raise(self._refuse)
        between = grip_force.given(**wires, kp=gains["kp"], kd=gains["kd"]).or_raise(self._refuse)
        self._force = self.DeclareVectorOutputPort("generalized_force", 2, forces)
        self._grip = self.DeclareVectorOutputPort("grip_force", 1, between)

    def _refuse(self, context: Context) -> None:
        raise ValueError(
            f"System '{self.GetSystemPathname()}': input port 'force_limit' must be positive, got "
            f"{self._limit.Eval(context)[0]} N."
        )

    def get_desired_state_input_port(self) -> InputPort:
        """Returns the port of the distance that is wanted, and of its rate [m, m/s]."""
        return self._desired

    def get_force_limit_input_port(self) -> InputPort:
        """Returns the port of the greatest force between the fingers [N]."""
        return self._limit

    def get_state_input_port(self) -> InputPort:
        """Returns the port of the state of the fingers, shape [4]."""
        return self._state

    def get_generalized_force_output_port(self) -> OutputPort:
        """Returns the port of the forces of the fingers [N], shape [2]."""
        return self._force

    def get_grip_force_output_port(self) -> OutputPort:
        """Returns the port of the force between the fingers [N]."""
        return self._grip


class SchunkWsgPositionController(Diagram):
    """A `SchunkWsgPdController` that finds the rate of the desired distance from samples of it.

    Inputs: `desired_position` w_d, `force_limit` and `state`. Outputs: `generalized_force` and `grip_force`.

    Args:
        time_step: between two samples [s].
        kp_command, kd_command, kp_constraint, kd_constraint, default_force_limit: see `SchunkWsgPdController`.

    Raises:
        ValueError: as there, or the step is not positive.
    """

    def __init__(
        self,
        time_step: float = 0.05,
        kp_command: float = 200.0,
        kd_command: float = 5.0,
        kp_constraint: float = 2000.0,
        kd_constraint: float = 5.0,
        default_force_limit: float = 40.0,
    ) -> None:
        super().__init__()
        builder = DiagramBuilder()
        controller = builder.AddNamedSystem(
            "wsg_controller",
            SchunkWsgPdController(kp_command, kd_command, kp_constraint, kd_constraint, default_force_limit),
        )
        interpolator = builder.AddSystem(StateInterpolatorWithDiscreteDerivative(1, time_step))
        builder.Connect(interpolator.get_output_port(), controller.get_desired_state_input_port())
        builder.ExportInput(interpolator.get_input_port(), "desired_position")
        builder.ExportInput(controller.get_force_limit_input_port(), "force_limit")
        builder.ExportInput(controller.get_state_input_port(), "state")
        builder.ExportOutput(controller.get_generalized_force_output_port(), "generalized_force")
        builder.ExportOutput(controller.get_grip_force_output_port(), "grip_force")
        builder.BuildInto(self)

    def get_desired_position_input_port(self) -> InputPort:
        """Returns the port of the distance that is wanted [m]."""
        return self.get_input_port(0)

    def get_force_limit_input_port(self) -> InputPort:
        """Returns the port of the greatest force between the fingers [N]."""
        return self.get_input_port(1)

    def get_state_input_port(self) -> InputPort:
        """Returns the port of the state of the fingers, shape [4]."""
        return self.get_input_port(2)

    def get_generalized_force_output_port(self) -> OutputPort:
        """Returns the port of the forces of the fingers [N], shape [2]."""
        return self.get_output_port(0)

    def get_grip_force_output_port(self) -> OutputPort:
        """Returns the port of the force between the fingers [N]."""
        return self.get_output_port(1)
