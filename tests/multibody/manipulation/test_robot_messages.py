"""Senders and receivers of the messages of robots: there and back, before the first, of other robots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.lcm import DrakeLcm, LcmInterfaceSystem, LcmPublisherSystem, LcmSubscriberSystem
from merganser.framework.lcm.messages import lcmt_iiwa_command, lcmt_iiwa_status, lcmt_panda_command
from merganser.framework.primitives import ConstantVectorSource, LogVectorOutput, Sine
from merganser.multibody.manipulation import (
    IiwaCommandReceiver,
    IiwaCommandSender,
    IiwaControlMode,
    IiwaStatusReceiver,
    IiwaStatusSender,
    PandaCommandReceiver,
    PandaCommandSender,
    PandaControlMode,
    PandaStatusReceiver,
    PandaStatusSender,
    ParseIiwaControlMode,
    SchunkWsgCommandReceiver,
    SchunkWsgCommandSender,
    SchunkWsgStatusReceiver,
    SchunkWsgStatusSender,
    position_enabled,
    torque_enabled,
)

BOTH = PandaControlMode.kPosition | PandaControlMode.kTorque
PAIRS = [
    (lambda: IiwaCommandSender(3), lambda: IiwaCommandReceiver(3), {}),
    (lambda: IiwaStatusSender(3), lambda: IiwaStatusReceiver(3), {}),
    (lambda: PandaCommandSender(3, BOTH), lambda: PandaCommandReceiver(3, BOTH), {}),
    (lambda: PandaStatusSender(3), lambda: PandaStatusReceiver(3), {}),
    (SchunkWsgCommandSender, SchunkWsgCommandReceiver, {}),
    (SchunkWsgStatusSender, SchunkWsgStatusReceiver, {"state": "u0", "force": "u1"}),
]


@pytest.mark.parametrize(("make_sender", "make_receiver", "names"), PAIRS)
def test_a_receiver_gives_what_a_sender_was_given(make_sender: Any, make_receiver: Any, names: dict[str, str]) -> None:
    sender, receiver = make_sender(), make_receiver()
    sending, receiving = sender.CreateDefaultContext(), receiver.CreateDefaultContext()
    given = {}
    for number in range(sender.num_input_ports()):
        port = sender.get_input_port(number)
        given[port.get_name()] = 0.5 + number + np.arange(float(port.size()))
        port.FixValue(sending, given[port.get_name()])
    receiver.get_input_port(0).FixValue(receiving, Value(sender.get_output_port(0).Eval(sending)))
    for number in range(receiver.num_output_ports()):
        port = receiver.get_output_port(number)
        assert port.Eval(receiving) == pytest.approx(given[names.get(port.get_name(), port.get_name())])


def test_modes_say_which_ports_there_are() -> None:
    mode = ParseIiwaControlMode("torque_only")
    assert mode is IiwaControlMode.kTorqueOnly and torque_enabled(mode) and not position_enabled(mode)
    for arm in (IiwaCommandReceiver(control_mode=mode), PandaCommandReceiver(7, PandaControlMode.kTorque)):
        assert arm.get_commanded_torque_output_port().size() == 7
        with pytest.raises(RuntimeError, match="no port 'position' in this control mode"):
            arm.get_commanded_position_output_port()
    with pytest.raises(RuntimeError, match="Invalid control_mode string: 'torque'"):
        ParseIiwaControlMode("torque")
    with pytest.raises(RuntimeError, match="Invalid control_mode bits set: 0x8"):
        PandaCommandSender(7, 9)


@pytest.mark.parametrize("make", [IiwaCommandReceiver, IiwaStatusSender, PandaStatusReceiver])
def test_an_arm_has_joints(make: Any) -> None:
    with pytest.raises(RuntimeError, match="num_joints must be positive; given 0"):
        make(0)
    with pytest.raises(TypeError):
        make(1.5)


@pytest.mark.parametrize("num_joints", [0, 2, 8])
def test_messages_of_another_number_of_joints_are_refused(num_joints: int) -> None:
    message = lcmt_iiwa_command()
    message.utime, message.num_joints, message.joint_position = 5, num_joints, [0.0] * num_joints
    receiver = IiwaCommandReceiver()
    context = receiver.CreateDefaultContext()
    receiver.get_message_input_port().FixValue(context, Value(message))
    with pytest.raises(RuntimeError, match=f"IiwaCommandReceiver expected num_joints = 7, but received {num_joints}"):
        receiver.get_commanded_position_output_port().Eval(context)


def test_members_that_are_shorter_than_they_say_are_refused() -> None:
    message = lcmt_iiwa_status()
    message.num_joints = 7
    receiver = IiwaStatusReceiver()
    context = receiver.CreateDefaultContext()
    receiver.get_input_port(0).FixValue(context, Value(message))
    with pytest.raises(RuntimeError, match="IiwaStatusReceiver expected num_joints = 7"):
        receiver.get_position_measured_output_port().Eval(context)


@pytest.mark.parametrize("mode", ["never", "always"])
@pytest.mark.parametrize(
    ("receiver", "command"),
    [
        (lambda: IiwaCommandReceiver(1), lcmt_iiwa_command),
        (lambda: PandaCommandReceiver(1, PandaControlMode.kPosition), lcmt_panda_command),
    ],
)
def test_an_arm_stays_where_it_was_until_the_first_command(mode: str, receiver: Any, command: Any) -> None:
    lcm, builder = DrakeLcm("memq://"), DiagramBuilder()
    builder.AddSystem(LcmInterfaceSystem(lcm))
    subscriber = builder.AddSystem(LcmSubscriberSystem.Make("COMMAND", command, lcm))
    arm = builder.AddSystem(receiver())
    measured = builder.AddSystem(Sine(1.0, 1.0, 0.5, 1))
    builder.Connect(subscriber.get_output_port(), arm.get_message_input_port())
    builder.Connect(measured.get_output_port(0), arm.get_position_measured_input_port())
    log = LogVectorOutput(arm.get_commanded_position_output_port(), builder, 0.1)
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.AdvanceTo(0.35)
    message = command()
    message.utime = 1
    if command is lcmt_iiwa_command:
        message.num_joints, message.joint_position = 1, [2.0]
    else:
        message.num_joint_position, message.joint_position = 1, [2.0]
    lcm.Publish("COMMAND", message.encode())
    simulator.AdvanceTo(0.55)
    positions = log.FindLog(simulator.get_context()).data()[0]
    assert positions == pytest.approx([np.sin(0.5)] * 4 + [2.0] * 2)


def test_the_first_position_may_be_kept_by_hand() -> None:
    arm = PandaCommandReceiver(2, PandaControlMode.kPosition)
    context = arm.CreateDefaultContext()
    arm.get_message_input_port().FixValue(context, Value(lcmt_panda_command()))
    port = arm.get_position_measured_input_port()
    port.FixValue(context, [1.0, 2.0])
    arm.LatchInitialPosition(context)
    port.FixValue(context, [5.0, 6.0])
    assert arm.get_commanded_position_output_port().Eval(context).tolist() == [1.0, 2.0]
    arm.LatchInitialPosition(context)
    assert arm.get_commanded_position_output_port().Eval(context).tolist() == [5.0, 6.0]


def test_a_status_goes_through_messages_between_two_diagrams() -> None:
    lcm, sending, receiving = DrakeLcm("memq://"), DiagramBuilder(), DiagramBuilder()
    sender = sending.AddSystem(IiwaStatusSender(2))
    for number, name in enumerate(("position_commanded", "position_measured", "torque_commanded")):
        source = sending.AddSystem(ConstantVectorSource([number, number + 0.5]))
        sending.Connect(source.get_output_port(), sender.GetInputPort(name))
    publisher = sending.AddSystem(LcmPublisherSystem.Make("STATUS", lcmt_iiwa_status, lcm, 0.005))
    sending.Connect(sender.get_output_port(0), publisher.get_input_port())
    receiving.AddSystem(LcmInterfaceSystem(lcm))
    subscriber = receiving.AddSystem(LcmSubscriberSystem.Make("STATUS", lcmt_iiwa_status, lcm))
    receiver = receiving.AddSystem(IiwaStatusReceiver(2))
    receiving.Connect(subscriber.get_output_port(), receiver.get_input_port(0))
    arm, driver = Simulator(sending.Build()), Simulator(receiving.Build())
    arm.AdvanceTo(0.02)
    driver.AdvanceTo(0.02)
    context = receiver.GetMyContextFromRoot(driver.get_context())
    assert receiver.get_position_measured_output_port().Eval(context).tolist() == [1.0, 1.5]
    assert receiver.get_torque_measured_output_port().Eval(context).tolist() == [2.0, 2.5]
    assert receiver.get_time_measured_output_port().Eval(context) == pytest.approx([0.02], abs=1e-6)
