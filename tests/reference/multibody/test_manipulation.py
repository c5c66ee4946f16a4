"""Arms and grippers against pydrake's."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from explicit_products import as_pydrake

theirs = pytest.importorskip("pydrake.manipulation", reason="compares with pydrake, extra `reference`")

import merganser.multibody.manipulation as ours  # noqa: E402

pytestmark = pytest.mark.reference

ARM = str(Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf")
Q_0 = np.array([0.1, 0.5, -0.2, -1.0, 0.3, 0.6, 0.0])


def names_of(*modules: str) -> SimpleNamespace:
    found: dict[str, Any] = {}
    for module in reversed([importlib.import_module(name) for name in modules]):
        found |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return SimpleNamespace(**found)


THEIRS = names_of("pydrake.manipulation", "pydrake.all")
OURS = names_of("merganser.multibody.manipulation", "merganser.all")


def ports(system: Any) -> list[list[tuple[str, int]]]:
    inputs = [system.get_input_port(i) for i in range(system.num_input_ports())]
    outputs = [system.get_output_port(i) for i in range(system.num_output_ports())]
    return [[(port.get_name(), port.size()) for port in side] for side in (inputs, outputs)]


def arm(lib: SimpleNamespace, time_step: float = 0.002) -> Any:
    plant = as_pydrake(lib.MultibodyPlant(time_step))
    lib.Parser(plant).AddModels(ARM)
    plant.Finalize()
    return plant


def station(lib: SimpleNamespace, **settings: Any) -> tuple[Any, ...]:
    """An arm with its driver; the commands are inputs of the diagram."""
    builder, model = lib.DiagramBuilder(), arm(lib)
    plant = builder.AddSystem(arm(lib))
    instance = plant.GetModelInstanceByName("arm7")
    driver = lib.SimIiwaDriver.AddToBuilder(
        builder=builder, plant=plant, iiwa_instance=instance, driver_config=lib.IiwaDriver(**settings),
        controller_plant=model,
    )  # fmt: skip
    for name in ("position", "torque"):
        if driver.HasInputPort(name):
            builder.ExportInput(driver.GetInputPort(name), name)
    return builder.Build(), plant, driver, model


def follow(lib: SimpleNamespace, **settings: Any) -> tuple[Any, Any, str]:
    """States and outputs of the driver while the arm follows a new command, and the driver's ports."""
    diagram, plant, driver, model = station(lib, **settings)
    simulator = lib.Simulator(diagram)
    context = simulator.get_mutable_context()
    plant.SetPositions(plant.GetMyMutableContextFromRoot(context), Q_0)
    if driver.HasInputPort("position"):
        diagram.GetInputPort("position").FixValue(context, Q_0 + 0.1 * np.arange(7.0))
    if driver.HasInputPort("torque"):
        diagram.GetInputPort("torque").FixValue(context, [1.0, -2.0, 0.5, 1.0, 0.0, 0.3, -0.2])
    rows = []
    for time in (0.01, 0.05, 0.2):
        simulator.AdvanceTo(time)
        mine = driver.GetMyContextFromRoot(context)
        outputs = [driver.get_output_port(i).Eval(mine) for i in range(driver.num_output_ports())]
        rows.append(np.concatenate([plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context)), *outputs]))
    assert model is not None
    return np.array(rows), ports(driver), driver.get_name()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"control_mode": "position_only", "desired_kp_gains": np.linspace(100.0, 700.0, 7)},
        {"control_mode": "torque_only", "ext_joint_filter_tau": 0.1},
    ],
    ids=["position_and_torque", "position_only", "torque_only"],
)
def test_an_arm_follows_its_driver(settings: dict[str, Any]) -> None:
    (here, *structure), (there, *expected) = follow(OURS, **settings), follow(THEIRS, **settings)
    assert structure == expected
    np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)


def hold(lib: SimpleNamespace) -> tuple[Any, ...]:
    """Forces of a position controller, after a sample, with the limit as an input and without."""
    rng, rows = np.random.default_rng(1), []
    for with_limit in (False, True):
        controller = lib.SchunkWsgPositionController(0.05, 11.0, 3.0, 17.0, 7.0, 4.0)
        simulator = lib.Simulator(controller)
        context = simulator.get_mutable_context()
        for time in (0.01, 0.06, 0.12, 0.17):
            controller.get_desired_position_input_port().FixValue(context, rng.normal(size=1))
            controller.get_state_input_port().FixValue(context, 0.3 * rng.normal(size=4))
            if with_limit:
                controller.get_force_limit_input_port().FixValue(context, rng.uniform(1.0, 9.0, 1))
            simulator.AdvanceTo(time)
            rows.append([*controller.get_generalized_force_output_port().Eval(context),
                         *controller.get_grip_force_output_port().Eval(context)])  # fmt: skip
    return np.array(rows), ports(controller)


def test_a_gripper_is_held_by_its_position_controller() -> None:
    (here, structure), (there, expected) = hold(OURS), hold(THEIRS)
    assert structure == expected
    np.testing.assert_allclose(here, there, atol=1e-12)


def motion(lib: SimpleNamespace, use_force_limit: bool) -> tuple[Any, ...]:
    """Targets of the fingers: a long way, a short one, nearly the same, none, back before the end."""
    generator = lib.SchunkWsgTrajectoryGenerator(3, 1, use_force_limit)
    simulator = lib.Simulator(generator)
    context, rows = simulator.get_mutable_context(), []
    commands = [(0.0, 0.1), (0.35, 0.09), (0.6, 0.09005), (0.8, 0.02), (1.0, 0.1), (1.1, 0.0)]
    for n in range(60):
        time = 0.0203 * n
        width = [w for start, w in commands if start <= time][-1]
        generator.get_desired_position_input_port().FixValue(context, [width])
        generator.get_state_input_port().FixValue(context, [1.0, -0.01 - 0.001 * n, 3.0])
        if use_force_limit:
            generator.get_force_limit_input_port().FixValue(context, [30.0 + n])
        simulator.AdvanceTo(time)
        rows.append([*generator.get_target_output_port().Eval(context)])
        if use_force_limit:
            rows[-1] += [*generator.get_max_force_output_port().Eval(context)]
    return np.array(rows), ports(generator)


@pytest.mark.parametrize("use_force_limit", [True, False])
def test_a_gripper_moves_to_the_commanded_width(use_force_limit: bool) -> None:
    (here, structure), (there, expected) = motion(OURS, use_force_limit), motion(THEIRS, use_force_limit)
    assert structure == expected
    np.testing.assert_allclose(here, there, atol=1e-12)


def test_constants_and_modes() -> None:
    for name in ("GetSchunkWsgOpenPosition", "get_iiwa_max_joint_velocities"):
        np.testing.assert_array_equal(getattr(ours, name)(), getattr(theirs, name)())
    for name in ("kIiwaArmNumJoints", "kIiwaLcmStatusPeriod", "kPandaArmNumJoints"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("kNone", "kPosition", "kVelocity", "kTorque"):
        assert getattr(ours.PandaControlMode, name) == getattr(theirs.PandaControlMode, name)
    for text in ("position_only", "torque_only", "position_and_torque"):
        here, there = (lib.ParseIiwaControlMode(text) for lib in (ours, theirs))
        assert here.name == there.name and here.value == there.value
        assert ours.position_enabled(here) == theirs.position_enabled(there)
        assert ours.torque_enabled(here) == theirs.torque_enabled(there)


@pytest.mark.parametrize("name", ["IiwaDriver", "SchunkWsgDriver", "ZeroForceDriver"])
def test_settings_have_the_same_defaults(name: str) -> None:
    there, here = getattr(theirs, name)(), getattr(ours, name)()
    fields = [field.name for field in type(there).__fields__]
    assert list(vars(here)) == fields
    for field in fields:
        np.testing.assert_array_equal(getattr(here, field), getattr(there, field))


def test_a_model_without_a_driver_gets_no_forces() -> None:
    found = []
    for lib in (OURS, THEIRS):
        builder = lib.DiagramBuilder()
        plant = builder.AddNamedSystem("plant", arm(lib))
        lib.ApplyDriverConfigs(
            driver_configs={"arm7": lib.ZeroForceDriver()}, sim_plant=plant, models_from_directives=[],
            lcm_buses=lib.LcmBuses() if lib is THEIRS else None, builder=builder,
        )  # fmt: skip
        found.append([(s.get_name(), p.get_name()) for s, p in _ends(builder)])
    assert found[0] == found[1]


def _ends(builder: Any) -> list[tuple[Any, Any]]:
    return [
        pair
        for (system, index), (source, output) in builder.connection_map().items()
        for pair in ((source, source.get_output_port(output)), (system, system.get_input_port(index)))
    ]


def test_named_positions_become_defaults() -> None:
    found = []
    for lib in (OURS, THEIRS):
        plant = arm(lib)
        joints = [plant.get_joint(index).name() for index in plant.GetJointIndices()]
        lib.ApplyNamedPositionsAsDefaults({"arm7": {name: np.array([0.3]) for name in joints[2:4]}}, plant)
        found.append(plant.GetDefaultPositions())
    np.testing.assert_array_equal(*found)
