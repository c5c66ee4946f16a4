"""Lines of programs for pydrake do the same here and there: each function below runs against both packages."""

import dataclasses
import importlib
import itertools

import numpy as np
import pytest

pytest.importorskip("pydrake")

HOMES = ("pydrake", "merganser")


class Package:
    """One of the two packages: `all` of it as attributes."""

    def __init__(self, home):
        self.all = importlib.import_module(f"{home}.all")

    def __getattr__(self, name):
        return getattr(self.all, name)


def both(program, *arguments):
    """What the program returns there, and here."""
    return [program(Package(home), *arguments) for home in HOMES]


# -- actuation ---------------------------------------------------------------------------------------


def actuated_arm(drake, time_step, num_controlled):
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step)
    arm = plant.AddModelInstance("arm")
    parent = plant.world_frame()
    for i in range(2):
        link = plant.AddRigidBody(f"link_{i}", arm, drake.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        joint = plant.AddJoint(drake.RevoluteJoint(f"joint_{i}", parent, link.body_frame(), [0, 1, 0]))
        actuator = plant.AddJointActuator(f"motor_{i}", joint, 3.0)
        if i < num_controlled:
            actuator.set_controller_gains(drake.PdControllerGains(p=100.0, d=10.0))
        parent = link.body_frame()
    plant.Finalize()
    return plant, arm


def run_arm(drake, time_step, num_controlled, whole, part, desired):
    plant, arm = actuated_arm(drake, time_step, num_controlled)
    context = plant.CreateDefaultContext()
    if whole:
        plant.get_actuation_input_port().FixValue(context, [2.0, 0.5])
    if part:
        plant.get_actuation_input_port(arm).FixValue(context, [2.0, 0.25])
    if desired:
        plant.get_desired_state_input_port(arm).FixValue(context, [0.1, 0.2, 0.0, 0.0])
    if time_step:
        drake.Simulator(plant, context).AdvanceTo(0.05)
        motion = plant.GetPositionsAndVelocities(context)
    else:
        motion = plant.EvalTimeDerivatives(context).CopyToVector()
    ports = plant.get_net_actuation_output_port(), plant.get_net_actuation_output_port(arm)
    return np.concatenate([motion, *(port.Eval(context) for port in ports)])


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_actuation_ports_may_be_left_unconnected_in_every_combination(time_step):
    for num_controlled, *connected in itertools.product((0, 1, 2), *3 * [(False, True)]):
        whole, part, desired = connected
        if time_step and num_controlled and not desired and (whole or part):
            continue  # pydrake's net actuation has the feedforward of disarmed controllers, its step has not
        there, here = both(run_arm, time_step, num_controlled, *connected)
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9, err_msg=f"{num_controlled} {connected}")


# -- classes -------------------------------------------------------------------------------------------


def shared_classes():
    """Classes that both packages have: name, theirs, ours."""
    there, here = (vars(importlib.import_module(f"{home}.all")) for home in HOMES)
    names = sorted(name for name in there.keys() & here.keys() if not name.startswith("_"))
    pairs = [(name, there[name], here[name]) for name in names]
    return [(name, *pair) for name, *pair in pairs if all(isinstance(each, type) for each in pair)]


def test_what_may_be_a_default_of_a_dataclass_field_there_may_here():
    classes = shared_classes()
    assert len(classes) > 250
    refused = [name for name, theirs, ours in classes if theirs.__hash__ is not None and ours.__hash__ is None]
    assert not refused


def test_configs_are_defaults_of_dataclass_fields():
    for home in HOMES:
        drake = Package(home)

        @dataclasses.dataclass
        class Scenario:
            simulator: object = drake.SimulatorConfig(max_step_size=0.1)
            plant: object = drake.MultibodyPlantConfig()

        assert Scenario().simulator.max_step_size == 0.1


def test_equal_settings_have_equal_hashes_even_after_they_have_changed():
    drake = Package("merganser")
    a, b = drake.SimulatorConfig(), drake.SimulatorConfig()
    assert a == b and hash(a) == hash(b)
    a.max_step_size = b.max_step_size = 0.25
    assert a == b and hash(a) == hash(b)
