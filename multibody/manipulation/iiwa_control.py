"""BuildIiwaControl: a simulated arm that talks by messages, as a real iiwa with its control cabinet does.

SimIiwaDriver: what controls a simulated arm, with the commands and the status of the real one.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from merganser.framework import Diagram, DiagramBuilder, OutputPort
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm import DrakeLcmInterface, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages.manipulators import lcmt_iiwa_command, lcmt_iiwa_status
from merganser.framework.primitives import (
    Adder,
    Demultiplexer,
    FirstOrderLowPassFilter,
    Gain,
    MatrixGain,
    PassThrough,
    Saturation,
    StateInterpolatorWithDiscreteDerivative,
)
from merganser.multibody.controllers import InverseDynamics, InverseDynamicsController
from merganser.multibody.controllers.inverse_dynamics import require_fully_actuated
from merganser.multibody.manipulation.arm_messages import IiwaCommandReceiver, IiwaStatusSender
from merganser.multibody.manipulation.iiwa import (
    IiwaControlMode,
    IiwaDriver,
    ParseIiwaControlMode,
    kIiwaLcmStatusPeriod,
    position_enabled,
    torque_enabled,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import ModelInstanceIndex

_KP = (2000.0, 1500.0, 1500.0, 1500.0, 1500.0, 500.0, 500.0)  # by which a real iiwa is imitated [1/s^2]
_KI = 1.0


class SimIiwaDriver(Diagram):
    """Controls an arm by positions, torques or both, and reports what the real arm would report.

    With the input `position` q_d, sampled at the period of the status to find its rate v_d, and the input `torque`
    tau_ff,

        tau       = inverse_dynamics(q, v, kp (q_d - q) + ki integral(q_d - q) + kd (v_d - v)) + tau_ff      (1)
        actuation = B^-1 clamp(tau, limits of the actuators),   kd = 2 sqrt(kp),  ki = 1                     (2)

    where there are no positions, tau = -tau_g(q) + tau_ff. Only the ports of the mode are there. To be connected with a
    plant are the inputs `state` and `generalized_contact_forces` and the output `actuation`. Status is in the outputs
    `position_commanded`, `position_measured`, `velocity_estimated`, `state_estimated`, `torque_commanded`,
    `torque_measured` (both tau within limits), `torque_external` (contact, filtered), and `velocity_commanded`, v_d.

    Args:
        driver_config: which mode, which gains, and the time constant of the filter.
        controller_plant: the arm as the controller knows it, finalized; it is shared, not copied.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: the mode is unknown, the plant is not finalized or not fully actuated, or there are gains of
            another number than joints.
    """

    def __init__(self, driver_config: IiwaDriver, controller_plant: MultibodyPlant) -> None:
        super().__init__()
        require_types("SimIiwaDriver", driver_config=(driver_config, IiwaDriver))
        mode = ParseIiwaControlMode(driver_config.control_mode)
        if driver_config.desired_kp_gains is not None and not position_enabled(mode):
            logging.getLogger("merganser.multibody").warning(
                "SimIiwaDriver: desired_kp_gains have no effect in the mode 'torque_only', which takes no positions."
            )
        require_plant(controller_plant, "SimIiwaDriver")
        B_inverse = require_fully_actuated(controller_plant, "SimIiwaDriver")
        self._n = controller_plant.num_positions()
        builder = DiagramBuilder()
        self._add_status(builder, driver_config.ext_joint_filter_tau)
        if position_enabled(mode):
            gains = driver_config.desired_kp_gains
            period = driver_config.lcm_status_period
            torque = self._add_position_control(builder, controller_plant, _KP if gains is None else gains, period)
        else:
            gravity = builder.AddNamedSystem(
                "gravity_compensation", InverseDynamics(controller_plant, InverseDynamics.kGravityCompensation)
            )
            builder.ConnectInput("state", gravity.get_input_port_estimated_state())
            torque = gravity.get_output_port_generalized_force()
        self._add_torques(builder, controller_plant, mode, torque, B_inverse)
        self._export(builder, mode)
        builder.BuildInto(self)

    def _add_status(self, builder: DiagramBuilder, filter_tau: float) -> None:
        n = self._n
        halves = builder.AddNamedSystem("demultiplexer", Demultiplexer([n, n]))
        whole = builder.AddNamedSystem("state_pass_through", PassThrough(2 * n))
        contact = builder.AddNamedSystem("low_pass_filter", FirstOrderLowPassFilter(filter_tau, n))
        builder.ExportInput(halves.get_input_port(), "state")
        builder.ConnectInput("state", whole.get_input_port())
        builder.ExportInput(contact.get_input_port(), "generalized_contact_forces")
        self._status: dict[str, OutputPort] = {
            "position_commanded": halves.get_output_port(0),
            "position_measured": halves.get_output_port(0),
            "velocity_estimated": halves.get_output_port(1),
            "state_estimated": whole.get_output_port(),
            "torque_external": contact.get_output_port(),
        }

    def _add_position_control(
        self, builder: DiagramBuilder, plant: MultibodyPlant, kp: Any, period: float
    ) -> OutputPort:
        """Equation (1), but for tau_ff."""
        n, kp = self._n, np.asarray(kp, float)
        interpolator = builder.AddNamedSystem(
            "velocity_interpolator", StateInterpolatorWithDiscreteDerivative(n, period)
        )
        kd = 2.0 * np.sqrt(np.maximum(kp, 0.0))
        controller = builder.AddNamedSystem(
            "inverse_dynamics_controller", InverseDynamicsController(plant, kp, np.full(kp.shape, _KI), kd, False)
        )
        commanded = builder.AddNamedSystem("commanded_demultiplexer", Demultiplexer([n, n]))
        position = builder.AddNamedSystem("position_pass_through", PassThrough(n))
        builder.ExportInput(interpolator.get_input_port(), "position")
        builder.ConnectInput("position", position.get_input_port())
        builder.ConnectInput("state", controller.get_input_port_estimated_state())
        builder.Connect(interpolator.get_output_port(), controller.get_input_port_desired_state())
        builder.Connect(interpolator.get_output_port(), commanded.get_input_port())
        self._status["position_commanded"] = position.get_output_port()
        self._status["velocity_commanded"] = commanded.get_output_port(1)
        return controller.get_output_port_generalized_force()

    def _add_torques(
        self, builder: DiagramBuilder, plant: MultibodyPlant, mode: IiwaControlMode, torque: OutputPort, B_inverse: Any
    ) -> None:
        """Equation (2)."""
        if torque_enabled(mode):
            adder = builder.AddNamedSystem("+", Adder(2, self._n))
            builder.Connect(torque, adder.get_input_port(0))
            builder.ExportInput(adder.get_input_port(1), "torque")
            torque = adder.get_output_port()
        B = np.abs(plant.MakeActuationMatrix())
        limits = np.multiply(B, plant.GetEffortUpperLimits(), where=B > 0.0, out=np.zeros_like(B)).sum(axis=1)
        limiter = builder.AddNamedSystem("torque_limiter", Saturation(-limits, limits))
        to_actuators = builder.AddNamedSystem("B⁻¹", MatrixGain(B_inverse))
        builder.Connect(torque, limiter.get_input_port())
        builder.Connect(limiter.get_output_port(), to_actuators.get_input_port())
        self._status["actuation"] = to_actuators.get_output_port()
        self._status["torque_commanded"] = self._status["torque_measured"] = limiter.get_output_port()

    def _export(self, builder: DiagramBuilder, mode: IiwaControlMode) -> None:
        names = ["velocity_commanded"] if position_enabled(mode) else []
        names += ["actuation", "position_commanded", "position_measured", "velocity_estimated", "state_estimated"]
        for name in [*names, "torque_commanded", "torque_measured", "torque_external"]:
            builder.ExportOutput(self._status[name], name)
        del self._status

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        plant: MultibodyPlant,
        iiwa_instance: ModelInstanceIndex,
        driver_config: IiwaDriver,
        controller_plant: MultibodyPlant,
    ) -> SimIiwaDriver:
        """Adds a driver to a diagram, connects it to the arm in a plant, and returns it.

        Args:
            builder: of the diagram, which has the plant.
            plant: finalized.
            iiwa_instance: the arm in the plant; the driver gets its name.
            driver_config, controller_plant: see the class.
        """
        require_types("SimIiwaDriver.AddToBuilder", builder=(builder, DiagramBuilder))
        require_plant(plant, "SimIiwaDriver.AddToBuilder")
        driver = SimIiwaDriver(driver_config, controller_plant)
        builder.AddNamedSystem(plant.GetModelInstanceName(iiwa_instance), driver)
        builder.Connect(plant.get_state_output_port(iiwa_instance), driver.GetInputPort("state"))
        contact = plant.get_generalized_contact_forces_output_port(iiwa_instance)
        builder.Connect(contact, driver.GetInputPort("generalized_contact_forces"))
        builder.Connect(driver.GetOutputPort("actuation"), plant.get_actuation_input_port(iiwa_instance))
        return driver


_AS_THEY_ARE = ("position_commanded", "position_measured", "velocity_estimated", "torque_external")
_WITH_OTHER_SIGN = ("torque_commanded", "torque_measured")


def BuildIiwaControl(
    builder: DiagramBuilder,
    lcm: DrakeLcmInterface | LcmInterfaceSystem,
    plant: MultibodyPlant,
    iiwa_instance: ModelInstanceIndex,
    driver_config: IiwaDriver,
    controller_plant: MultibodyPlant,
) -> None:
    """Adds to a diagram what moves an arm as messages on IIWA_COMMAND say: a `SimIiwaDriver` and what goes with it.

    Its status is sent on IIWA_STATUS every 5 ms, as pydrake does, whatever `driver_config` says. Commanded and measured
    torques have the signs of a real iiwa: the other way round than those by which the driver moves the joints.

    Args:
        builder: of the diagram.
        lcm: sends and receives messages.
        plant: has the arm, finalized, and is part of the diagram.
        iiwa_instance: the arm.
        driver_config: see `IiwaDriver`; of its members those about frames, hand and bus are not used here.
        controller_plant: the arm as the controller knows it, finalized; it is shared, not copied.

    Raises:
        TypeError: an argument is of another type.
        ValueError: the plant is not part of the diagram, or as of SimIiwaDriver.
        RuntimeError: as of SimIiwaDriver, or the two plants' arms differ in their numbers of joints. Then nothing has
            been added.
    """
    require_types("BuildIiwaControl", builder=(builder, DiagramBuilder), driver_config=(driver_config, IiwaDriver))
    require_plant(plant, "BuildIiwaControl")
    require_plant(controller_plant, "BuildIiwaControl")
    builder.require_member(plant)
    name, num_joints = plant.GetModelInstanceName(iiwa_instance), controller_plant.num_positions()
    if plant.num_positions(iiwa_instance) != num_joints:
        raise RuntimeError(
            f"BuildIiwaControl: the arm of controller_plant has {num_joints} positions, but model '{name}' of plant "
            f"'{plant.get_name()}' has {plant.num_positions(iiwa_instance)}. Is it welded?"
        )
    mode = ParseIiwaControlMode(driver_config.control_mode)
    subscriber = LcmSubscriberSystem.Make("IIWA_COMMAND", lcmt_iiwa_command, lcm)
    publisher = LcmPublisherSystem.Make("IIWA_STATUS", lcmt_iiwa_status, lcm, kIiwaLcmStatusPeriod)
    driver = SimIiwaDriver.AddToBuilder(builder, plant, iiwa_instance, driver_config, controller_plant)
    builder.AddNamedSystem(f"{name}_iiwa_command_subscriber", subscriber)
    receiver = builder.AddNamedSystem(f"{name}_iiwa_command_receiver", IiwaCommandReceiver(num_joints, mode))
    halves = builder.AddNamedSystem(f"{name}_iiwa_state_demultiplexer", Demultiplexer([num_joints, num_joints]))
    builder.AddNamedSystem(f"{name}_iiwa_status_publisher", publisher)
    status = builder.AddNamedSystem(f"{name}_iiwa_status_sender", IiwaStatusSender(num_joints))

    if position_enabled(mode):
        builder.Connect(receiver.get_commanded_position_output_port(), driver.GetInputPort("position"))
    if torque_enabled(mode):
        builder.Connect(receiver.get_commanded_torque_output_port(), driver.GetInputPort("torque"))
    builder.Connect(subscriber.get_output_port(), receiver.get_message_input_port())
    builder.Connect(plant.get_state_output_port(iiwa_instance), halves.get_input_port())
    builder.Connect(halves.get_output_port(0), receiver.get_position_measured_input_port())
    for each in _AS_THEY_ARE:
        builder.Connect(driver.GetOutputPort(each), status.GetInputPort(each))
    for each in _WITH_OTHER_SIGN:
        flip = builder.AddNamedSystem(f"sign_flip_{name}_{each}", Gain(-1.0, num_joints))
        builder.Connect(driver.GetOutputPort(each), flip.get_input_port())
        builder.Connect(flip.get_output_port(), status.GetInputPort(each))
    builder.Connect(status.get_output_port(), publisher.get_input_port())
