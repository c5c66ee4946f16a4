"""Arms and grippers that are driven by messages: what moves them, what they know of their masses, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driven_robots import MODELS, Q_0, write_directives

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm, LcmBuses, LcmInterfaceSystem, Subscriber
from merganser.framework.lcm.messages import (
    lcmt_iiwa_command,
    lcmt_iiwa_status,
    lcmt_schunk_wsg_command,
    lcmt_schunk_wsg_status,
)
from merganser.multibody.manipulation import (
    ApplyDriverConfig,
    ApplyDriverConfigs,
    BuildIiwaControl,
    BuildSchunkWsgControl,
    IiwaDriver,
    SchunkWsgController,
    SchunkWsgDriver,
)
from merganser.multibody.parsing import LoadModelDirectivesFromString, Parser, ProcessModelDirectives
from merganser.multibody.plant import MultibodyPlant


@pytest.fixture(scope="module")
def directives(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_directives(tmp_path_factory.mktemp("models"))


class Station:
    """A plant, a bus in memory, and what directives have added; nothing is driven yet."""

    def __init__(self, directives: str, time_step: float = 0.0005) -> None:
        self.builder, self.lcm, self.buses = DiagramBuilder(), DrakeLcm("memq://"), LcmBuses()
        self.builder.AddSystem(LcmInterfaceSystem(self.lcm))
        self.buses.Add("default", self.lcm)
        self.plant = self.builder.AddNamedSystem("plant", MultibodyPlant(time_step))
        self.models = ProcessModelDirectives(LoadModelDirectivesFromString(directives), Parser(self.plant))
        self.plant.Finalize()

    def drive(self, **drivers: Any) -> None:
        ApplyDriverConfigs(
            driver_configs=drivers, sim_plant=self.plant, models_from_directives=self.models, lcm_buses=self.buses,
            builder=self.builder,
        )  # fmt: skip

    def names(self) -> list[str]:
        return [system.get_name() for system in self.builder.GetSystems()]


def test_an_arm_with_a_gripper_follows_messages_and_reports_its_state(directives: str) -> None:
    station = Station(directives)
    station.drive(arm=IiwaDriver(hand_model_name="wsg", control_mode="position_only"), wsg=SchunkWsgDriver())
    status = Subscriber(station.lcm, "IIWA_STATUS", lcmt_iiwa_status)
    width = Subscriber(station.lcm, "SCHUNK_WSG_STATUS", lcmt_schunk_wsg_status)
    simulator = Simulator(station.builder.Build())
    simulator.AdvanceTo(0.3)
    assert status.message.utime == 295000 and width.message.utime == 250000
    assert status.message.joint_position_measured == pytest.approx(Q_0, abs=5e-4)  # no command yet: it stays
    assert width.message.actual_position_mm == pytest.approx(20.0, abs=0.1)  # the firmware's first distance
    context = station.plant.GetMyContextFromRoot(simulator.get_context())
    gravity = station.plant.CalcGravityGeneralizedForces(context)[:7]
    assert status.message.joint_torque_measured == pytest.approx(gravity, abs=0.3)  # as a real iiwa signs them
    q_d = Q_0 + np.linspace(-0.1, 0.1, 7)
    command, grasp = lcmt_iiwa_command(), lcmt_schunk_wsg_command()
    command.utime, command.num_joints, command.joint_position = 300000, 7, q_d.tolist()
    grasp.utime, grasp.target_position_mm, grasp.force = 300000, 60.0, 30.0
    station.lcm.Publish("IIWA_COMMAND", command.encode())
    station.lcm.Publish("SCHUNK_WSG_COMMAND", grasp.encode())
    simulator.AdvanceTo(1.3)
    assert status.message.joint_position_commanded == pytest.approx(q_d)
    assert status.message.joint_position_measured == pytest.approx(q_d, abs=2e-3)
    assert width.message.actual_position_mm == pytest.approx(60.0, abs=0.1)


@pytest.mark.parametrize("hand", ["wsg", ""])
def test_a_controller_holds_the_arm_with_all_that_is_fastened_to_it(directives: str, hand: str) -> None:
    """At rest without commands, torques are those that gravity has to be held by; fingers count with their hand."""
    station = Station(directives)
    station.drive(arm=IiwaDriver(hand_model_name=hand, control_mode="torque_only"))
    diagram = station.builder.Build()
    context = diagram.CreateDefaultContext()
    driver = diagram.GetSubsystemByName("arm")
    tau = driver.GetOutputPort("torque_commanded").Eval(driver.GetMyContextFromRoot(context))
    plant, inside = station.plant, station.plant.GetMyMutableContextFromRoot(context)
    if not hand:  # then fingers, which welds do not connect, are left out
        for name in ("left_finger", "right_finger"):
            plant.GetBodyByName(name).SetMass(inside, 0.0)
    np.testing.assert_allclose(tau, -plant.CalcGravityGeneralizedForces(inside)[:7], atol=1e-12)


def test_a_hand_has_another_frame_if_settings_say_so(directives: str) -> None:
    torques = []
    for frame in (None, "link_7", "tool"):
        station = Station(directives)
        driver = IiwaDriver(hand_model_name="wsg", control_mode="torque_only", gripper_parent_frame_name=frame)
        station.drive(arm=driver)
        diagram = station.builder.Build()
        system = diagram.GetSubsystemByName("arm")
        context = system.GetMyContextFromRoot(diagram.CreateDefaultContext())
        torques.append(system.GetOutputPort("torque_commanded").Eval(context))
    np.testing.assert_array_equal(torques[0], torques[1])
    assert np.abs(torques[2] - torques[0]).max() > 0.1


def test_systems_have_the_names_that_programs_look_for(directives: str) -> None:
    station = Station(directives)
    station.drive(arm=IiwaDriver())
    assert set(station.names()[2:]) == {
        "arm", "arm_controller_plant", "arm_iiwa_command_subscriber", "arm_iiwa_command_receiver",
        "arm_iiwa_state_demultiplexer", "arm_iiwa_status_publisher", "arm_iiwa_status_sender",
        "sign_flip_arm_torque_commanded", "sign_flip_arm_torque_measured",
    }  # fmt: skip
    station.drive(wsg=SchunkWsgDriver())
    assert {"wsg_wsg_command_subscriber", "wsg_wsg_status_publisher"} < set(station.names())


@pytest.mark.parametrize(
    ("driver", "name", "message"),
    [
        (IiwaDriver(), "missing", "could not find arm model directive 'missing'"),
        (IiwaDriver(hand_model_name="claw"), "arm", "could not find hand model directive 'claw'"),
        (IiwaDriver(lcm_bus="tv"), "arm", "Driver for arm requested an LCM bus 'tv' that does not exist"),
        (SchunkWsgDriver(lcm_bus="tv"), "wsg", "Driver for wsg requested an LCM bus 'tv' that does not exist"),
        (IiwaDriver(arm_child_frame_name="link_3"), "arm", "'link_3' of model 'arm' must be welded to the world"),
        (IiwaDriver(arm_child_frame_name="foot"), "arm", "foot"),
        (IiwaDriver(hand_model_name="wsg", gripper_parent_frame_name="palm"), "arm", "palm"),
        (IiwaDriver(control_mode="by_hand"), "arm", "Invalid control_mode string: 'by_hand'"),
        (IiwaDriver(desired_kp_gains=np.ones(3)), "arm", "kp must be 7 finite numbers"),
        (IiwaDriver(), "wsg", "must be welded to the world"),
        (SchunkWsgDriver(), "arm", "two fingers.*model 'arm' has 7 positions"),
        (SchunkWsgDriver(pid_gains=np.array([1.0, np.nan, 1.0])), "wsg", "pid_gains must be 3 finite numbers"),
    ],
)
def test_what_cannot_be_driven_is_refused_and_nothing_added(
    directives: str, driver: Any, name: str, message: str
) -> None:
    station = Station(directives)
    before = station.names()
    with pytest.raises(RuntimeError, match=message):
        station.drive(**{name: driver})
    assert station.names() == before and not station.builder.connection_map()


def test_a_driver_needs_buses_and_a_plant_of_the_diagram(directives: str) -> None:
    station = Station(directives)
    models = {each.model_name: each for each in station.models}
    with pytest.raises(TypeError, match=r"the IiwaDriver of model 'arm' needs LcmBuses.*given NoneType"):
        ApplyDriverConfig(IiwaDriver(), "arm", station.plant, models, None, station.builder)  # type: ignore[arg-type]
    wsg, arm = (station.plant.GetModelInstanceByName(name) for name in ("wsg", "arm"))
    with pytest.raises(ValueError, match="has not been added to this builder"):
        BuildSchunkWsgControl(station.plant, wsg, station.lcm, DiagramBuilder())
    with pytest.raises(RuntimeError, match="controller_plant has 9 positions, but model 'arm' of plant 'plant' has 7"):
        BuildIiwaControl(station.builder, station.lcm, station.plant, arm, IiwaDriver(), station.plant)


def test_an_arm_defined_in_its_own_file_is_refused(tmp_path: Path) -> None:
    station = Station(f'directives: [{{add_model: {{name: arm, file: "file://{MODELS}/arm7.urdf"}}}}]')
    with pytest.raises(RuntimeError, match="must be welded to the world by an add_weld directive"):
        station.drive(arm=IiwaDriver())


@pytest.mark.parametrize("force", [-1.0, np.nan])
def test_a_force_that_is_negative_is_refused(force: float) -> None:
    controller = SchunkWsgController()
    command = lcmt_schunk_wsg_command()
    command.utime, command.force = 1, force
    simulator = Simulator(controller)
    context = simulator.get_mutable_context()
    controller.GetInputPort("state").FixValue(context, [0.0] * 4)
    controller.GetInputPort("command_message").FixValue(context, command)
    with pytest.raises(ValueError, match="the largest force in a command must not be negative"):
        simulator.AdvanceTo(0.1)
        controller.get_output_port().Eval(context)
