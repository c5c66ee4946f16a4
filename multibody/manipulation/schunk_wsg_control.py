"""BuildSchunkWsgControl: a simulated WSG gripper that talks by messages, as the real one does."""

from __future__ import annotations

from numpy.typing import ArrayLike

from merganser.framework import DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm import DrakeLcmInterface, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages.manipulators import lcmt_schunk_wsg_command, lcmt_schunk_wsg_status
from merganser.multibody.controllers.arguments import checked_gains
from merganser.multibody.manipulation.schunk_wsg import (
    MakeMultibodyForceToWsgForceSystem,
    MakeMultibodyStateToWsgStateSystem,
    SchunkWsgDriver,
)
from merganser.multibody.manipulation.schunk_wsg_controller import SchunkWsgController
from merganser.multibody.manipulation.schunk_wsg_messages import SchunkWsgStatusSender
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import ModelInstanceIndex

_STATUS_PERIOD = 0.05  # between two messages of the gripper [s]
_NUM_FINGERS = 2


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
