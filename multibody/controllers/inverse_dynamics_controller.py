"""InverseDynamicsController: feedback of a robot's state, made linear by inverse dynamics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from merganser.analysis.controllers import PidController
from merganser.framework import Context, Diagram, DiagramBuilder, InputPort, OutputPort
from merganser.framework.primitives import Adder, ConstantVectorSource, SparseMatrixGain
from merganser.multibody.controllers.arguments import checked_gains, require_fully_actuated
from merganser.multibody.controllers.inverse_dynamics import InverseDynamics
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant


class InverseDynamicsController(Diagram):
    """Computed torque: a PID controller asks for accelerations, inverse dynamics gives the forces for them.

        vd_command = kp (q_d - q) + ki integral(q_d - q) + kd (v_d - v) + vd_d,
        generalized_force = inverse_dynamics(q, v, vd_command),     actuation = B^-1 generalized_force

    (Lynch and Park 2017, section 11.4). Input ports are 'estimated_state', 'desired_state' and, if asked for,
    'desired_acceleration' vd_d; output ports are 'actuation' and 'generalized_force'. Forces of constraints and
    contact are not accounted for.

    Args:
        robot: the model, finalized and fully actuated; it is not copied.
        kp: proportional gains, shape [n].
        ki: integral gains, shape [n].
        kd: derivative gains, shape [n].
        has_reference_acceleration: whether there is a port for vd_d, which else is zero.
        plant_context: parameters of the model, copied; by default those of its default context.

    Raises:
        RuntimeError: the robot is not finalized or not fully actuated, or gains are not of its size.
    """

    def __init__(
        self,
        robot: MultibodyPlant,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        has_reference_acceleration: bool,
        plant_context: Context | None = None,
    ) -> None:
        super().__init__()
        name = "InverseDynamicsController"
        require_plant(robot, name)
        B_inverse = require_fully_actuated(robot, name)
        n = robot.num_positions()
        gains = [checked_gains(gain, n, f"{name}: {what}") for what, gain in (("kp", kp), ("ki", ki), ("kd", kd))]
        self._robot, self._has_acceleration = robot, bool(has_reference_acceleration)
        builder = DiagramBuilder()
        dynamics = builder.AddNamedSystem(
            "InverseDynamics", InverseDynamics(robot, InverseDynamics.kInverseDynamics, plant_context)
        )
        self._pid = builder.AddNamedSystem("pid", PidController(*gains))
        adder = builder.AddNamedSystem("+", Adder(2, n))
        to_actuators = builder.AddNamedSystem("B⁻¹", SparseMatrixGain(B_inverse))
        builder.ExportInput(self._pid.get_input_port_estimated_state(), "estimated_state")
        builder.ConnectInput("estimated_state", dynamics.get_input_port_estimated_state())
        builder.ExportInput(self._pid.get_input_port_desired_state(), "desired_state")
        builder.Connect(self._pid.get_output_port_control(), adder.get_input_port(0))
        if self._has_acceleration:
            builder.ExportInput(adder.get_input_port(1), "desired_acceleration")
        else:
            rest = builder.AddNamedSystem("desired_acceleration=0", ConstantVectorSource(np.zeros(n)))
            builder.Connect(rest.get_output_port(), adder.get_input_port(1))
        builder.Connect(adder.get_output_port(), dynamics.get_input_port_desired_acceleration())
        builder.Connect(dynamics.get_output_port_generalized_force(), to_actuators.get_input_port())
        builder.ExportOutput(to_actuators.get_output_port(), "actuation")
        builder.ExportOutput(dynamics.get_output_port_generalized_force(), "generalized_force")
        builder.BuildInto(self)

    def set_integral_value(self, context: Context, value: ArrayLike) -> None:
        """Sets the integrals of the position errors.

        Args:
            context: of this controller.
            value: shape [n].
        """
        self.GetMutableSubsystemContext(self._pid, context).SetContinuousState(value)

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self.get_input_port(0)

    def get_input_port_desired_state(self) -> InputPort:
        """Returns the input port of the desired state (q_d, v_d)."""
        return self.get_input_port(1)

    def get_input_port_desired_acceleration(self) -> InputPort:
        """Returns the input port of the desired acceleration vd_d.

        Raises:
            RuntimeError: the controller was made without it.
        """
        if not self._has_acceleration:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has no input port 'desired_acceleration'; make it with "
                "has_reference_acceleration=True."
            )
        return self.get_input_port(2)

    def get_output_port_control(self) -> OutputPort:
        """Returns the output port of the actuation."""
        return self.get_output_port(0)

    def get_output_port_generalized_force(self) -> OutputPort:
        """Returns the output port of the generalized forces."""
        return self.get_output_port(1)

    def get_multibody_plant_for_control(self) -> MultibodyPlant:
        """Returns the model of the robot."""
        return self._robot
