"""Drivers of arms and grippers: what they do, and what they refuse."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.all import yaml_dump_typed, yaml_load_typed
from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.lcm import LcmBuses
from merganser.multibody import manipulation
from merganser.multibody.manipulation import (
    ApplyDriverConfig,
    ApplyDriverConfigs,
    ApplyNamedPositionsAsDefaults,
    IiwaDriver,
    ParseIiwaControlMode,
    SchunkWsgDriver,
    SchunkWsgPdController,
    SchunkWsgPositionController,
    SchunkWsgTrajectoryGenerator,
    SimIiwaDriver,
    ZeroForceDriver,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, SpatialInertia

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf"


@pytest.fixture(scope="module")
def arm() -> MultibodyPlant:
    plant = MultibodyPlant(0.001)
    Parser(plant).AddModels(str(ARM))
    plant.Finalize()
    return plant


def two_joints(time_step: float = 0.001) -> MultibodyPlant:
    """Two joints whose actuators come in the other order."""
    plant = MultibodyPlant(time_step)
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    parent, joints = plant.world_frame(), []
    for name in ("one", "two"):
        body = plant.AddRigidBody(name, inertia)
        joints.append(plant.AddJoint(RevoluteJoint(name, parent, body.body_frame(), [0.0, 0.0, 1.0])))
        parent = body.body_frame()
    for joint, limit in ((joints[1], 3.0), (joints[0], 5.0)):
        plant.AddJointActuator(f"motor {joint.name()}", joint, limit)
    plant.Finalize()
    return plant


def test_torques_stay_within_the_limits_of_their_own_actuators() -> None:
    driver = SimIiwaDriver(IiwaDriver(control_mode="torque_only"), two_joints())
    context = driver.CreateDefaultContext()
    for name, value in (("state", [0.0] * 4), ("torque", [100.0, -100.0]), ("generalized_contact_forces", [0.0] * 2)):
        driver.GetInputPort(name).FixValue(context, value)
    assert driver.GetOutputPort("torque_commanded").Eval(context).tolist() == [5.0, -3.0]
    assert driver.GetOutputPort("actuation").Eval(context).tolist() == [-3.0, 5.0]


def test_a_driven_arm_comes_to_the_position_that_is_commanded(arm: MultibodyPlant) -> None:
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", MultibodyPlant(0.002))
    (instance,) = Parser(plant).AddModels(str(ARM))
    plant.Finalize()
    driver = SimIiwaDriver.AddToBuilder(builder, plant, instance, IiwaDriver(control_mode="position_only"), arm)
    builder.ExportInput(driver.GetInputPort("position"), "position")
    diagram = builder.Build()
    simulator = Simulator(diagram)
    q_d = np.array([0.1, 0.4, -0.2, -0.6, 0.3, 0.5, 0.2])
    diagram.GetInputPort("position").FixValue(simulator.get_mutable_context(), q_d)
    simulator.AdvanceTo(3.0)
    context = simulator.get_context()
    assert plant.GetPositions(plant.GetMyContextFromRoot(context)) == pytest.approx(q_d, abs=2e-3)
    mine = driver.GetMyContextFromRoot(context)
    assert driver.GetOutputPort("position_commanded").Eval(mine) == pytest.approx(q_d)
    assert driver.GetOutputPort("torque_external").Eval(mine).tolist() == [0.0] * 7
    assert driver.get_name() == "arm7" and not driver.HasInputPort("torque")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"control_mode": "by_hand"}, RuntimeError, "'by_hand'; known are position_only, torque_only"),
        ({"desired_kp_gains": [1.0, 2.0]}, RuntimeError, "kp must be 7 finite numbers"),
        ({"ext_joint_filter_tau": 0.0}, ValueError, "time constant"),
    ],
)
def test_drivers_that_cannot_be_are_refused(
    arm: MultibodyPlant, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SimIiwaDriver(IiwaDriver(**settings), arm)


def test_gains_that_a_mode_without_positions_ignores_are_named_in_a_warning(
    arm: MultibodyPlant, caplog: pytest.LogCaptureFixture
) -> None:
    driver = SimIiwaDriver(IiwaDriver(control_mode="torque_only", desired_kp_gains=[1.0] * 7), arm)
    assert not driver.HasInputPort("position") and driver.HasInputPort("torque")
    assert "desired_kp_gains have no effect in the mode 'torque_only'" in caplog.text


def test_an_arm_without_effort_limits_has_a_driver() -> None:
    plant = MultibodyPlant(0.0)
    last = plant.world_frame()
    for k in range(7):
        body = plant.AddRigidBody(f"b{k}", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        joint = plant.AddJoint(RevoluteJoint(f"j{k}", last, body.body_frame(), [1.0, 0.0, 0.0]))
        plant.AddJointActuator(f"a{k}", joint)
        last = body.body_frame()
    plant.Finalize()
    driver = SimIiwaDriver(IiwaDriver(control_mode="torque_only"), plant)
    context = driver.CreateDefaultContext()
    driver.GetInputPort("state").FixValue(context, np.zeros(14))
    driver.GetInputPort("torque").FixValue(context, np.full(7, 1e9))
    assert np.isfinite(driver.GetOutputPort("torque_commanded").Eval(context)).all()


def test_an_arm_of_the_driver_must_be_finished_and_have_motors() -> None:
    plant = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match="not finalized"):
        SimIiwaDriver(IiwaDriver(), plant)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    with pytest.raises(RuntimeError, match="as many positions as velocities and actuated"):
        SimIiwaDriver(IiwaDriver(), plant)


def test_settings_go_to_yaml_and_back() -> None:
    driver = IiwaDriver(hand_model_name="wsg", desired_kp_gains=np.arange(7.0), control_mode="position_only")
    copy = yaml_load_typed(schema=IiwaDriver, data=yaml_dump_typed(driver))
    assert copy.hand_model_name == "wsg" and copy.desired_kp_gains.tolist() == list(range(7))
    assert copy.lcm_bus == "default" and copy.arm_child_frame_name is None
    wsg = yaml_load_typed(schema=SchunkWsgDriver, data="pid_gains: [1.0, 2.0, 3.0]")
    assert wsg.pid_gains.tolist() == [1.0, 2.0, 3.0]


def test_fingers_close_on_what_is_between_them_with_the_force_that_is_allowed() -> None:
    controller = SchunkWsgPdController()
    context = controller.CreateDefaultContext()
    controller.get_desired_state_input_port().FixValue(context, [0.0, 0.0])
    controller.get_state_input_port().FixValue(context, [-0.5, 0.5, 0.0, 0.0])
    assert controller.get_generalized_force_output_port().Eval(context).tolist() == [20.0, -20.0]
    assert controller.get_grip_force_output_port().Eval(context).tolist() == [40.0]
    controller.get_force_limit_input_port().FixValue(context, [10.0])
    assert controller.get_generalized_force_output_port().Eval(context).tolist() == [5.0, -5.0]


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan])
def test_a_gripper_without_force_is_refused(limit: float) -> None:
    controller = SchunkWsgPositionController()
    context = controller.CreateDefaultContext()
    controller.get_desired_position_input_port().FixValue(context, [0.0])
    controller.get_state_input_port().FixValue(context, [0.0] * 4)
    controller.get_force_limit_input_port().FixValue(context, [limit])
    with pytest.raises(ValueError, match="::wsg_controller': input port 'force_limit' must be positive"):
        controller.get_grip_force_output_port().Eval(context)
    with pytest.raises(ValueError, match="force limit must be positive"):
        SchunkWsgPdController(default_force_limit=limit)


def test_gains_of_a_gripper_are_not_negative() -> None:
    with pytest.raises(ValueError, match="gains must not be negative"):
        SchunkWsgPdController(kd_command=-1.0)


def test_motions_of_a_gripper_begin_where_it_is_and_end_at_the_target() -> None:
    generator = SchunkWsgTrajectoryGenerator(2, 0)
    simulator = Simulator(generator)
    context = simulator.get_mutable_context()
    generator.get_desired_position_input_port().FixValue(context, [0.1])
    generator.get_force_limit_input_port().FixValue(context, [25.0])
    generator.get_state_input_port().FixValue(context, [-0.01, 0.0])
    rows = []
    for n in range(1, 60):
        simulator.AdvanceTo(0.005 * n)
        rows.append(generator.get_target_output_port().Eval(context))
    x, xdot = np.transpose(rows)
    assert x[0] == pytest.approx(-0.02 - 0.005 * 0.21) and (np.diff(x) < 1e-15).all()
    assert [x[-1], xdot[-1]] == [-0.1, 0.0] and xdot.min() == -0.42
    assert generator.get_max_force_output_port().Eval(context).tolist() == [25.0]


def test_a_generator_without_limits_has_no_ports_for_them() -> None:
    generator = SchunkWsgTrajectoryGenerator(2, 0, use_force_limit=False)
    for function in (generator.get_force_limit_input_port, generator.get_max_force_output_port):
        with pytest.raises(RuntimeError, match="use_force_limit=True"):
            function()
    with pytest.raises(IndexError, match="no element of the state 2: there are 2"):
        SchunkWsgTrajectoryGenerator(2, 2)


def test_modes_that_are_not_known_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Invalid control_mode string: 'x'"):
        ParseIiwaControlMode("x")


def test_positions_by_name_are_all_set_or_none() -> None:
    plant = two_joints()
    instance = "DefaultModelInstance"
    ApplyNamedPositionsAsDefaults({instance: {"two": [0.4]}}, plant)
    assert plant.GetDefaultPositions().tolist() == [0.0, 0.4]
    for bad, message in (
        ({instance: {"one": [1.0], "three": [1.0]}}, "three"),
        ({instance: {"one": [1.0], "two": [1.0, 2.0]}}, "has 1 positions; got 2"),
        ({instance: {"one": [1.0]}, "missing": {}}, "missing"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ApplyNamedPositionsAsDefaults(bad, plant)
        assert plant.GetDefaultPositions().tolist() == [0.0, 0.4]


def test_drivers_of_programs_are_applied_by_the_function_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_drivers")

    class MyDriver:
        __module__ = "my_drivers"

    calls: list[Any] = []
    monkeypatch.setitem(sys.modules, "my_drivers", module)
    builder, plant = DiagramBuilder(), two_joints()
    builder.AddSystem(plant)
    configs = {"DefaultModelInstance": ZeroForceDriver(), "mine": MyDriver()}
    arguments = {"sim_plant": plant, "models_from_directives": [], "lcm_buses": None, "builder": builder}
    with pytest.raises(RuntimeError, match="'my_drivers' has no function ApplyDriverConfig for the MyDriver of model"):
        ApplyDriverConfigs(driver_configs=configs, **arguments)
    assert not builder.connection_map()
    module.ApplyDriverConfig = lambda *given: calls.append(given)  # type: ignore[attr-defined]
    ApplyDriverConfigs(driver_configs=configs, **arguments)
    assert calls == [(configs["mine"], "mine", plant, {}, None, builder)]
    assert builder.HasSubsystemNamed("zero_force_source_for_DefaultModelInstance")


def test_settings_of_no_driver_are_refused() -> None:
    with pytest.raises(TypeError, match="expected a driver's settings, got str"):
        ApplyDriverConfig("driver", "arm", two_joints(), {}, LcmBuses(), DiagramBuilder())


def test_all_names_are_there() -> None:
    assert all(hasattr(manipulation, name) for name in manipulation.__all__)
