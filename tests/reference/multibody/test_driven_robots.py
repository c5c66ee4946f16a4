"""Robots that are driven by messages, against pydrake's."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from explicit_products import as_pydrake

pytest.importorskip("pydrake.manipulation", reason="compares with pydrake, extra `reference`")
from driven_robots import Q_0, write_directives

pytestmark = pytest.mark.reference

# Steps and ticks have multiples that are the same floats in both libraries, nothing ends as an event happens, and
# output ports are live: so controllers see the same states there (docs/learn/differences.md).
STEP, TICK = 2.0**-11, 2.0**-5


def names_of(*modules: str) -> SimpleNamespace:
    found: dict[str, Any] = {}
    for module in reversed([importlib.import_module(name) for name in modules]):
        found |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return SimpleNamespace(**found)


THEIRS = names_of("pydrake.all", "pydrake.manipulation", "drake")
OURS = names_of("merganser.all", "merganser.multibody.manipulation", "merganser.framework.lcm.messages")


@pytest.fixture(scope="module")
def directives(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_directives(tmp_path_factory.mktemp("models"))


class Station:
    """A plant with a bus in memory, driven; and messages that have been sent."""

    def __init__(self, lib: SimpleNamespace, directives: str, drivers: dict[str, Any], time_step: float) -> None:
        self.lib, self.lcm, builder, buses = lib, lib.DrakeLcm("memq://"), lib.DiagramBuilder(), lib.LcmBuses()
        self.plant, _ = lib.AddMultibodyPlantSceneGraph(builder, time_step)
        as_pydrake(self.plant).SetUseSampledOutputPorts(False)
        models = lib.ProcessModelDirectives(lib.LoadModelDirectivesFromString(directives), lib.Parser(self.plant))
        self.plant.Finalize()
        builder.AddNamedSystem("lcm", lib.LcmInterfaceSystem(self.lcm))
        buses.Add("default", self.lcm)
        lib.ApplyDriverConfigs(
            driver_configs=drivers, sim_plant=self.plant, models_from_directives=models, lcm_buses=buses,
            builder=builder,
        )  # fmt: skip
        self.sent: list[tuple[str, list[float]]] = []
        self.lcm.SubscribeAllChannels(self._keep)
        self.diagram = builder.Build()
        self.simulator = lib.Simulator(self.diagram)

    def _keep(self, channel: str, data: bytes) -> None:
        kind = {"IIWA_STATUS": "lcmt_iiwa_status", "SCHUNK_WSG_STATUS": "lcmt_schunk_wsg_status"}.get(channel)
        if kind is not None:
            message = getattr(self.lib, kind).decode(data)
            self.sent.append((channel, np.hstack([getattr(message, name) for name in message.__slots__]).tolist()))

    def command(self, time: float, mode: str, width: float) -> None:
        """Sends commands to the arm and the gripper."""
        message, grasp = self.lib.lcmt_iiwa_command(), self.lib.lcmt_schunk_wsg_command()
        message.utime = grasp.utime = int(1e6 * time)
        if mode != "torque_only":
            message.num_joints, message.joint_position = 7, (Q_0 + 0.2 * time * np.arange(7.0)).tolist()
        if mode != "position_only":
            message.num_torques, message.joint_torque = 7, [1.0, -2.0, 0.5, 1.0, 0.0, 0.3, -0.2]
        grasp.target_position_mm, grasp.force = 1e3 * width, 25.0
        self.lcm.Publish("IIWA_COMMAND", message.encode())
        self.lcm.Publish("SCHUNK_WSG_COMMAND", grasp.encode())

    def follow(self, mode: str, widths: list[float]) -> np.ndarray:
        """States while new commands come every tick, the first after two."""
        rows = []
        for n, width in enumerate(widths, 1):
            if n > 2:
                self.command(0.02 * (n - 1), mode, width)
            self.simulator.AdvanceTo(TICK * n + 0.5 * STEP)
            context = self.plant.GetMyContextFromRoot(self.simulator.get_context())
            rows.append(self.plant.GetPositionsAndVelocities(context))
        self.lcm.HandleSubscriptions(0)
        return np.array(rows)

    def names(self) -> list[str]:
        """Of systems that programs may ask for; others have names made of addresses."""
        names = [system.get_name() for system in self.diagram.GetSystems()]
        return sorted(name for name in names if name.split("_")[0] in ("arm", "wsg", "sign"))


def both(directives: str, mode: str, widths: list[float], time_step: float, **settings: Any) -> list[Any]:
    found = []
    for lib in (OURS, THEIRS):
        arm = lib.IiwaDriver(hand_model_name="wsg", control_mode=mode, **settings)
        station = Station(lib, directives, {"arm": arm, "wsg": lib.SchunkWsgDriver()}, time_step)
        found.append((station.follow(mode, widths), station.sent, station.names()))
    return found


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("position_and_torque", {}),
        ("position_only", {"lcm_status_period": 13.0 * 2.0**-10, "desired_kp_gains": np.linspace(100.0, 700.0, 7)}),
        ("torque_only", {"ext_joint_filter_tau": 0.1}),
    ],
)
def test_an_arm_with_a_gripper_follows_messages(directives: str, mode: str, settings: dict[str, Any]) -> None:
    widths = np.interp(np.arange(12), [0, 2, 6, 11], [0.02, 0.02, 0.06, 0.03]).tolist()
    (here, sent, names), (there, expected, their_names) = both(directives, mode, widths, STEP, **settings)
    assert np.ptp(here[:, :7], axis=0).min() > 1e-4 and np.ptp(here[:, 7]) > 0.01  # it does move
    np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)
    assert names == their_names and len(names) == 11
    assert [channel for channel, _ in sent] == [channel for channel, _ in expected]
    assert {channel for channel, _ in sent} == {"IIWA_STATUS", "SCHUNK_WSG_STATUS"}
    for (_, ours), (_, theirs) in zip(sent, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-8)


def test_fingers_close_on_a_block_with_the_force_of_the_command(directives: str, tmp_path: Path) -> None:
    """The contact solvers differ, so that forces are the same to a thousandth of the greatest."""
    block = tmp_path / "block.sdf"
    block.write_text(
        '<sdf version="1.9"><model name="block"><link name="block"><inertial><mass>0.1</mass><inertia><ixx>1e-4</ixx>'
        "<iyy>1e-4</iyy><izz>1e-4</izz></inertia></inertial><collision name='c'><geometry><box>"
        "<size>0.03 0.03 0.03</size></box></geometry></collision></link></model></sdf>"
    )
    held = (
        directives
        + f"""
- add_model: {{name: block, file: "file://{block}"}}
- add_weld: {{parent: "wsg::grasp", child: "block::block"}}
"""
    )
    (here, sent, _), (there, expected, _) = both(held, "position_only", [0.02] * 2 + [0.0] * 15, 0.0005)
    np.testing.assert_allclose(here[-1, 7:9], there[-1, 7:9], atol=1e-5)
    force = [[values[-3:] for channel, values in each if "WSG" in channel][-1] for each in (sent, expected)]
    np.testing.assert_allclose(*force, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hand_model_name": "wsg"},
        {"hand_model_name": "camera"},
        {"hand_model_name": "wsg", "gripper_parent_frame_name": "tool"},
        {"arm_child_frame_name": "joint_1_parent"},
    ],
    ids=["no hand", "gripper", "camera", "frame of the hand", "frame of the arm"],
)
@pytest.mark.parametrize("child", ["wsg::body", "wsg::grasp"])
def test_controllers_know_the_same_masses(directives: str, settings: dict[str, Any], child: str) -> None:
    """Compares the torques that move the arm from other positions back to the desired ones."""
    torques = []
    for lib in (OURS, THEIRS):
        station = Station(lib, directives.replace("wsg::body", child), {"arm": lib.IiwaDriver(**settings)}, 0.001)
        context, rows = station.simulator.get_mutable_context(), []
        plant, driver = station.plant, station.diagram.GetSubsystemByName("arm")
        arm, random = plant.GetModelInstanceByName("arm"), np.random.default_rng(2)
        station.simulator.Initialize()
        for _ in range(8):
            inside = plant.GetMyMutableContextFromRoot(context)
            plant.SetPositions(inside, arm, Q_0 + 0.05 * random.normal(size=7))
            rows.append(driver.GetOutputPort("torque_commanded").Eval(driver.GetMyContextFromRoot(context)))
        torques.append(np.array(rows))
    np.testing.assert_allclose(*torques, rtol=1e-9, atol=1e-9)
    assert np.ptp(torques[0], axis=0).min() > 0.01


def test_a_controller_of_a_gripper_is_the_same() -> None:
    """Also with an integral gain, and where the force is limited."""
    found = []
    for lib in (OURS, THEIRS):
        builder, lcm, random = lib.DiagramBuilder(), lib.DrakeLcm("memq://"), np.random.default_rng(3)
        builder.AddSystem(lib.LcmInterfaceSystem(lcm))
        commands = builder.AddSystem(lib.LcmSubscriberSystem.Make("A", lib.lcmt_schunk_wsg_command, lcm, True))
        controller = builder.AddSystem(lib.SchunkWsgController(200.0, 300.0, 5.0))
        builder.Connect(commands.get_output_port(), controller.GetInputPort("command_message"))
        builder.ExportInput(controller.GetInputPort("state"), "state")
        builder.ExportOutput(controller.GetOutputPort("force"), "force")
        diagram = builder.Build()
        simulator, rows = lib.Simulator(diagram), []
        context = simulator.get_mutable_context()
        for n in range(1, 40):
            command = lib.lcmt_schunk_wsg_command()
            if n > 5:
                command.utime, command.target_position_mm, command.force = n, 100.0 - n, 3.0 + 0.1 * n
                lcm.Publish("A", command.encode())
            state = np.array([-0.02, 0.03, 0.0, 0.0]) + 0.01 * random.normal(size=4)
            diagram.GetInputPort("state").FixValue(context, state)
            simulator.AdvanceTo(0.02 * n + 0.003)  # not as an event happens, which pydrake may miss by rounding
            integrals = context.get_continuous_state_vector().CopyToVector()
            rows.append(np.hstack([diagram.GetOutputPort("force").Eval(context), integrals]))
        found.append(np.array(rows))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)
