"""The forces of actuators of MJCF: gear (gain u + b0 + b1 gear q + b2 gear v), with control and force in ranges."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PdControllerGains, RevoluteJoint, SpatialInertia

MODEL = """<mujoco model="m"><option gravity="0 0 0"/><worldbody><body><joint name="j" axis="0 0 1" {joint}/>
<geom size=".1" mass="1" pos=".2 0 0"/></body></worldbody><actuator>{actuator}</actuator></mujoco>"""
POSITION = '<position joint="j" kp="10" {}/>'
GENERAL = '<general joint="j" biastype="affine" gainprm="{}" biasprm="{}" {}/>'
# The actuator, the control, the position, and the force that MuJoCo finds.
CASES = {
    "motor below an unequal range": ('<motor joint="j" ctrlrange="-.5 2"/>', -3.0, 0.0, -0.5),
    "motor in it": ('<motor joint="j" ctrlrange="-.5 2"/>', 1.5, 0.0, 1.5),
    "motor above it": ('<motor joint="j" ctrlrange="-.5 2" gear="3"/>', 5.0, 0.0, 6.0),
    "motor that only pushes": ('<motor joint="j" ctrlrange="0 2"/>', -1.0, 0.0, 0.0),
    "motor whose gear turns it around": ('<motor joint="j" ctrlrange="-.5 2" gear="-2"/>', 5.0, 0.0, -4.0),
    "ranges one after the other": ('<motor joint="j" ctrlrange="-1 4" forcerange="-9 2"/>', 5.0, 0.0, 2.0),
    "set point above its range": (POSITION.format('ctrlrange="-.4 .6"'), 2.0, 0.2, 4.0),
    "set point below it": (POSITION.format('ctrlrange="-.4 .6"'), -2.0, 0.2, -6.0),
    "set point with a gear": (POSITION.format('ctrlrange="-.4 .6" gear="-2"'), 2.0, 0.2, -20.0),
    "range of the joint": (POSITION.format('inheritrange=".5"'), 2.0, 0.0, 10.0 * np.deg2rad(5.0 + 0.5 * 35.0)),
    "servo with an unequal force": (POSITION.format('forcerange="-1 3"'), -1.0, 0.0, -1.0),
    "servo with its largest force": (POSITION.format('forcerange="-1 3"'), 1.0, 0.0, 3.0),
    "constant force": (GENERAL.format("20", "1 -20 -2", ""), 0.3, 0.2, 3.0),
    "constant force with a gear": (GENERAL.format("20", "1 -20 -2", 'gear="2"'), 0.3, 0.2, -2.0),
    "gain that is not the stiffness": (GENERAL.format("20", "0 -10 -2", ""), 0.3, 0.2, 4.0),
    "voltage of a DC motor": ('<dcmotor joint="j" motorconst=".5" resistance="2"/>', 3.0, 0.2, 0.75),
    "DC motor by nominal voltage, torque, speed": ('<dcmotor joint="j" nominal="12 1.5 300"/>', 12.0, 0.0, 1.5),
    "DC motor with the greatest current": (
        '<dcmotor joint="j" motorconst=".25 1" resistance="2" saturation="0 .2"/>', 3.0, 0.0, 0.1
    ),
    "PID controller without I": ('<pid joint="j" kp="10" kv="1" posrange="-.4 .6"/>', 2.0, 0.2, 4.0),
    "all of them": (GENERAL.format("20", "1 -10 -2", 'ctrlrange="-.1 .1" forcerange="-9 1.5"'), 0.3, 0.2, 1.0),
}  # fmt: skip


def driven(text: str, control: float, q: float, time_step: float, is_sampled: bool = True):
    plant = MultibodyPlant(time_step)
    plant.SetUseSampledOutputPorts(is_sampled and time_step > 0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, [q])
    (actuator,) = map(plant.get_joint_actuator, plant.GetJointActuatorIndices())
    gear = actuator.default_gear_ratio()
    if actuator.has_controller():
        port = plant.get_desired_state_input_port(actuator.model_instance())
        port.FixValue(context, [control / gear, 0.0])
    else:
        plant.get_actuation_input_port().FixValue(context, [control * gear])
    return plant, simulator, context


@pytest.mark.parametrize("time_step", [0.0, 1e-5])
@pytest.mark.parametrize("case", CASES)
def test_forces_are_those_of_mujoco(case, time_step, caplog):
    actuator, control, q, force = CASES[case]
    text = MODEL.format(joint='range="-30 40"', actuator=actuator)
    plant, simulator, context = driven(text, control, q, time_step)
    assert not caplog.records
    simulator.AdvanceTo(1e-5)
    found = plant.get_net_actuation_output_port().Eval(context)[0]
    assert found == pytest.approx(force, abs=1e-2)
    if time_step == 0.0:
        vdot = plant.get_generalized_acceleration_output_port().Eval(context)[0]
        assert vdot * plant.CalcMassMatrix(context).item() == pytest.approx(found)


@pytest.mark.parametrize("limit", ['range="-40 40"', 'range="-40 20"', ""])
def test_a_servo_with_an_unequal_force_pushes_against_a_limit_and_reaches_its_goal(limit):
    actuator = POSITION.format('forcerange="-1 3" kv="2" ctrlrange="-1 .6"')
    plant, simulator, context = driven(MODEL.format(joint=limit, actuator=actuator), 2.0, -0.3, 0.01)
    simulator.AdvanceTo(0.01)
    M = plant.CalcMassMatrix(context).item()
    assert plant.GetVelocities(context)[0] == pytest.approx(3.0 * 0.01 / M, rel=1e-6)
    simulator.AdvanceTo(3.0)
    stop = np.deg2rad(20.0) if "20" in limit else 0.6
    assert plant.GetPositions(context)[0] == pytest.approx(stop, abs=2e-3)
    force = min(3.0, 10.0 * (0.6 - stop))
    assert plant.get_net_actuation_output_port().Eval(context)[0] == pytest.approx(force, abs=0.05)
    plant.get_desired_state_input_port(plant.GetModelInstanceByName("m")).FixValue(context, [-5.0, 0.0])
    simulator.AdvanceTo(3.01)
    assert plant.get_net_actuation_output_port().Eval(context)[0] == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize("desired", [0.2, 0.9])
def test_derivatives_know_ranges_and_scales(time_step, desired):
    actuator = GENERAL.format("20", "1 -10 -2", 'ctrlrange="-.5 .5" forcerange="-4 9"')
    plant, _, context = driven(MODEL.format(joint="", actuator=actuator), desired, 0.0, time_step, False)
    other = plant.ToAutoDiffXd()
    there = other.CreateDefaultContext()
    q, v, u = InitializeAutoDiff([0.1, 0.3, desired]).ravel()
    other.SetPositionsAndVelocities(there, [q, v])
    other.get_desired_state_input_port(other.GetModelInstanceByName("m")).FixValue(there, [u, 0.0])

    def motion(x):
        plant.SetPositionsAndVelocities(context, x[:2])
        plant.get_desired_state_input_port(plant.GetModelInstanceByName("m")).FixValue(context, [x[2], 0.0])
        if time_step == 0.0:
            return plant.EvalTimeDerivatives(context).CopyToVector()
        return plant.EvalUniquePeriodicDiscreteUpdate(context).value()

    if time_step == 0.0:
        found = np.array(other.EvalTimeDerivatives(there).CopyToVector())
    else:
        found = np.array(other.EvalUniquePeriodicDiscreteUpdate(there).value())
    x = np.array([0.1, 0.3, desired])
    np.testing.assert_allclose(ExtractValue(found).ravel(), motion(x), atol=1e-12)
    step = 1e-6
    differences = [(motion(x + step * e) - motion(x - step * e)) / (2.0 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(differences), atol=1e-6)


def test_ranges_that_no_joint_has_are_refused():
    for attributes, joint in (('inheritrange="1"', ""), ('inheritrange="-1"', 'range="-1 1"')):
        with pytest.raises(ParsingError, match="inheritrange"):
            driven(MODEL.format(joint=joint, actuator=POSITION.format(attributes)), 0.0, 0.0, 0.0)


def test_efforts_of_actuators_are_limited_on_either_side():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    joint = plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    actuator = plant.AddJointActuator("a", joint, 7.0)
    assert actuator.effort_range() == (-7.0, 7.0)
    actuator.set_effort_range(-1.0, 3.0)
    assert (actuator.effort_limit(), actuator.effort_range()) == (3.0, (-1.0, 3.0))
    for lower, upper in ((1.0, 1.0), (-np.inf, 1.0), (2.0, 1.0), (np.nan, 1.0)):
        with pytest.raises(ValueError, match=r"JointActuator 'a': the .*est effort"):
            actuator.set_effort_range(lower, upper)
    actuator.set_controller_gains(PdControllerGains(p=1.0, d=1.0))
    for given in ({"lower": 1.0}, {"lower": 2.0, "upper": 1.0}, {"scale": np.nan}, {"bias": np.inf}):
        with pytest.raises(ValueError, match="JointActuator 'a'"):
            actuator.set_desired_position_map(**given)
    plant.Finalize()
    np.testing.assert_array_equal([plant.GetEffortLowerLimits(), plant.GetEffortUpperLimits()], [[-1.0], [3.0]])
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [-5.0])
    assert plant.get_net_actuation_output_port().Eval(context) == [-1.0]
    actuator.set_effort_limit(2.0)
    again = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(again, [-5.0])
    assert plant.get_net_actuation_output_port().Eval(again) == [-2.0]


def test_ranges_and_maps_may_change_while_a_program_runs():
    plant, simulator, context = driven(MODEL.format(joint="", actuator=POSITION.format('kv="1"')), 0.5, 0.0, 0.01)
    simulator.AdvanceTo(0.01)
    actuator = plant.GetJointActuatorByName("motor0")
    for k, (given, force) in enumerate([({"scale": 100.0}, 2.0), ({"bias": -100.0}, -1.0), ({"scale": 0.1}, None)]):
        actuator.set_effort_range(-1.0, 2.0)
        actuator.set_desired_position_map(**given)
        simulator.AdvanceTo(0.01 * (k + 2))
        found = plant.get_net_actuation_output_port().Eval(context)[0]
        assert found == force or (force is None and -1.0 < found < 2.0)


def test_a_dc_motor_is_braked_by_the_voltage_that_it_makes():
    """f = K gear / R (u - K gear v), so that it does not push at the speed u / (K gear)."""
    text = MODEL.format(joint="", actuator='<dcmotor joint="j" motorconst=".5" resistance="2" gear="3"/>')
    plant, _, context = driven(text, 1.0, 0.0, 0.0)  # the voltage is 3, the control that of `driven` times the gear
    for speed, force in ((0.0, 0.75 * 3.0), (1.0, 0.75 * 1.5), (2.0, 0.0), (-1.0, 0.75 * 4.5)):
        plant.SetVelocities(context, [speed])
        assert plant.get_net_actuation_output_port().Eval(context)[0] == pytest.approx(force, abs=1e-12)


@pytest.mark.parametrize("constants", ['motorconst=".5"', 'resistance="2"', 'motorconst="-.5" resistance="1"'])
def test_a_dc_motor_without_positive_constants_is_refused(constants):
    text = MODEL.format(joint="", actuator=f'<dcmotor name="d" joint="j" {constants}/>')
    with pytest.raises(ParsingError, match=r'xml:2: <dcmotor name="d"> has the motor constant .* expected positive'):
        driven(text, 1.0, 0.0, 0.0)


def test_bounds_of_the_sum_of_several_actuators_are_named_and_those_of_one_are_not(caplog):
    motor = '<motor joint="j"/>'
    for actuator, is_named in ((motor, False), (2 * motor, True)):
        caplog.clear()
        text = MODEL.format(joint='actuatorfrcrange="-1 1"', actuator=actuator)
        Parser(MultibodyPlant(0.0)).AddModelsFromString(text, "xml")
        named = "<joint> actuatorfrcrange bounds each of its actuators, not their sum" in caplog.text
        assert named == is_named


@pytest.mark.parametrize("law", ['gaintype="affine" gainprm="1 2 0"', 'biastype="affine" biasprm="0 -3 0"'])
def test_actuators_of_free_joints_whose_law_needs_a_length_are_left_out_by_name(law, caplog):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(
        '<mujoco><worldbody><body><freejoint name="f"/><geom size=".1"/></body></worldbody><actuator><general '
        f'joint="f" {law}/><motor joint="f" gear="0 0 1"/></actuator></mujoco>',
        "xml",
    )
    assert plant.num_actuators() == 1
    assert "<general> of a free joint is left out: it has no length, which the law" in caplog.text
