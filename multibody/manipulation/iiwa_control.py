"""BuildIiwaControl: a simulated arm that talks by messages, as a real iiwa with its control cabinet does."""

from __future__ import annotations

from merganser.framework import DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm import DrakeLcmInterface, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages.manipulators import lcmt_iiwa_command, lcmt_iiwa_status
from merganser.framework.primitives import Demultiplexer, Gain
from merganser.multibody.manipulation.iiwa import (
    IiwaDriver,
    ParseIiwaControlMode,
    kIiwaLcmStatusPeriod,
    position_enabled,
    torque_enabled,
)
from merganser.multibody.manipulation.iiwa_messages import IiwaCommandReceiver, IiwaStatusSender
from merganser.multibody.manipulation.sim_iiwa_driver import SimIiwaDriver
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import ModelInstanceIndex

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
