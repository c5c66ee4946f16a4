"""Springs, limits, friction and actuators along tendons, in continuous time and in steps."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.framework.symbolic import Variable
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import (
    FixedOffsetFrame,
    FixedTendon,
    PdControllerGains,
    RevoluteJoint,
    SpatialInertia,
    SpatialTendon,
    TendonSite,
    TendonWrap,
    UnitInertia,
)

STEPS = [0.0, 0.001]


def two_links(time_step: float):
    """A double pendulum about y, with a fixed tendon, and a spatial one around a sphere."""
    plant, outer, joints, bodies = MultibodyPlant(time_step), None, [], []
    plant.SetUseSampledOutputPorts(False)
    for k in range(2):
        body = plant.AddRigidBody(f"b{k}", SpatialInertia(1.0, [0.2, 0, 0], UnitInertia(0.02, 0.06, 0.06)))
        frame = plant.world_frame()
        if outer is not None:
            frame = plant.AddFrame(FixedOffsetFrame("f", outer.body_frame(), RigidTransform([0.4, 0, 0])))
        joints.append(plant.AddJoint(RevoluteJoint(f"j{k}", frame, body.body_frame(), [0, 1, 0])))
        bodies.append(body)
        outer = body
    fixed = plant.AddTransmission(FixedTendon("fixed", joints, [0.5, -0.3]))
    sites = [TendonSite(plant.world_body(), [-0.3, 0, 0.1]), TendonSite(bodies[1], [0.2, 0.02, 0.03])]
    sphere = TendonWrap(bodies[0], RigidTransform([0.1, 0, 0]), 0.05, side=TendonSite(bodies[0], [0.1, 0, 0.3]))
    spatial = plant.AddTransmission(SpatialTendon("spatial", [sites[0], sphere, sites[1]]))
    return plant, fixed, spatial


def add_line(plant):
    """A straight tendon to the outer link."""
    ends = TendonSite(plant.world_body(), [0.1, 0.2, 0.6]), TendonSite(plant.GetBodyByName("b1"), [0.2, 0.02, 0.03])
    return plant.AddTransmission(SpatialTendon("line", ends))


def started(plant, q=(0.3, 0.2), v=(0.7, -0.4), accuracy=1e-9):
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositionsAndVelocities(context, [*q, *v])
    if plant.num_actuators():
        plant.get_actuation_input_port().FixValue(context, np.ones(plant.num_actuators()))
    if not plant.is_discrete():
        simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    return simulator, context


def with_all_forces(time_step: float):
    plant, fixed, spatial = two_links(time_step)
    fixed.set_spring(20.0, 0.1, damping=0.5)
    spatial.set_spring(30.0, 0.3, 0.9, damping=0.2)
    fixed.set_friction(0.3)
    fixed.set_armature(0.4)
    add_line(plant).set_armature(0.8)
    fixed.set_limits(-0.05, 0.2)
    plant.AddActuator("a", fixed)
    servo = plant.AddActuator("b", spatial, 5.0)
    servo.set_controller_gains(PdControllerGains(p=10.0, d=1.0))
    plant.Finalize()
    return plant


def test_springs_keep_energy():
    plant, fixed, spatial = two_links(0.0)
    fixed.set_spring(20.0, 0.1)
    spatial.set_spring(30.0)
    fixed.set_armature(0.6)
    add_line(plant).set_armature(1.5)
    plant.Finalize()
    simulator, context = started(plant)
    energies = []
    for t in np.linspace(0.0, 1.0, 6):
        simulator.AdvanceTo(t)
        energies.append(plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context))
    np.testing.assert_allclose(energies, energies[0], atol=1e-7)
    assert spatial.rest_lengths()[0] == pytest.approx(0.9, abs=0.1)  # that of the default positions
    power = plant.CalcConservativePower(context)
    v, vdot = plant.GetVelocities(context), plant.get_generalized_acceleration_output_port().Eval(context)
    rest = v @ (plant.CalcMassMatrix(context) @ vdot + plant.CalcBiasTerm(context))
    assert rest == pytest.approx(power, abs=1e-9)


def test_steps_keep_the_energy_of_armature():
    """Velocity products are those of the mean velocity; with those of the velocity before, most of it would go."""
    drifts = []
    for is_explicit in (False, True):
        plant, _, _ = two_links(0.002)
        add_line(plant).set_armature(3.0)
        plant.SetUseExplicitVelocityProducts(is_explicit)
        plant.Finalize()
        simulator, context = started(plant, v=(6.0, -4.0))
        before = plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context)
        simulator.AdvanceTo(5.0)
        drifts.append(abs(plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context) - before))
    assert drifts[0] < 0.1 * drifts[1]


def test_damping_takes_what_it_says():
    plant, fixed, _ = two_links(0.0)
    fixed.set_spring(damping=2.0)
    plant.Finalize()
    _, context = started(plant)
    assert plant.CalcNonConservativePower(context) == pytest.approx(-2.0 * fixed.CalcRate(context) ** 2)


def test_steps_converge_to_the_motion_in_continuous_time():
    ends = []
    for time_step in (0.0, 2e-3, 1e-3, 5e-4):
        plant, fixed, spatial = two_links(time_step)
        fixed.set_spring(20.0, 0.1, damping=0.5)
        spatial.set_spring(30.0, 0.3, damping=0.2)
        plant.AddActuator("a", spatial)
        plant.AddActuator("b", fixed).set_controller_gains(PdControllerGains(p=10.0, d=1.0))
        plant.Finalize()
        simulator, context = started(plant)
        port = plant.get_desired_state_input_port(plant.GetBodyByName("b0").model_instance())
        port.FixValue(context, [0, 0.1, 0, 0.0])
        simulator.AdvanceTo(0.3)
        ends.append(plant.GetPositions(context))
    errors = [np.abs(end - ends[0]).max() for end in ends[1:]]
    assert errors[0] < 5e-3
    assert 1.7 < errors[0] / errors[1] < 2.4 and 1.7 < errors[1] / errors[2] < 2.4


@pytest.mark.parametrize("time_step", STEPS)
def test_limits_and_friction_hold(time_step):
    plant, fixed, _ = two_links(time_step)
    fixed.set_limits(-0.1, 0.12)
    plant.Finalize()
    simulator, context = started(plant, v=(0.0, 0.0), accuracy=1e-5)
    slack = 1e-3 if time_step else 0.02  # of a spring in continuous time
    for t in np.linspace(0.0, 0.2, 5):
        simulator.AdvanceTo(t)
        assert -0.1 - slack < fixed.CalcLength(context) < 0.12 + slack
    plant, fixed, _ = two_links(time_step)
    fixed.set_friction(20.0)
    plant.set_stiction_tolerance(0.01)
    plant.Finalize()
    simulator, context = started(plant, v=(0.0, 0.0), accuracy=1e-5)
    length = fixed.CalcLength(context)
    simulator.AdvanceTo(0.2)
    assert fixed.CalcLength(context) == pytest.approx(length, abs=2e-3)
    assert np.abs(plant.GetPositions(context) - [0.3, 0.2]).max() > 0.1  # both turn together


@pytest.mark.parametrize("time_step", STEPS)
@pytest.mark.parametrize("gains", [None, (50.0, 2.0)])
def test_an_actuator_along_a_tendon_of_one_joint_is_one_of_that_joint(gains, time_step):
    ends = []
    for along_tendon in (False, True):
        plant, _, _ = two_links(time_step)
        joint = plant.GetJointByName("j1")
        if along_tendon:
            actuator = plant.AddActuator("a", plant.AddTransmission(FixedTendon("one", [joint], [1.0])), 3.0)
        else:
            actuator = plant.AddJointActuator("a", joint, 3.0)
        if gains is not None:
            actuator.set_controller_gains(PdControllerGains(p=gains[0], d=gains[1]))
        plant.Finalize()
        simulator, context = started(plant)
        plant.get_desired_state_input_port(joint.model_instance()).FixValue(context, [0.5, 0.0])
        simulator.AdvanceTo(0.1)
        effort = plant.get_net_actuation_output_port().Eval(context)[0]
        ends.append([*plant.GetPositionsAndVelocities(context), effort])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)  # the solver's tolerance


def test_the_native_plan_takes_the_steps_of_python():
    ends = []
    for is_native in (True, False):
        plant = with_all_forces(0.001)
        simulator, context = started(plant)
        if is_native:
            simulator.AdvanceTo(0.1)
        else:
            for _ in range(100):
                x = plant.EvalUniquePeriodicDiscreteUpdate(context).value()
                context.get_mutable_discrete_state(0).SetFromVector(x)
        ends.append(plant.GetPositionsAndVelocities(context))
    np.testing.assert_array_equal(*ends)


def motion(plant, context):
    if plant.is_discrete():
        return plant.EvalUniquePeriodicDiscreteUpdate(context).value()
    return plant.EvalTimeDerivatives(context).CopyToVector()


@pytest.mark.parametrize("time_step", STEPS)
def test_derivatives_go_through_tendons(time_step):
    plant = with_all_forces(time_step)
    _, context = started(plant)
    other = plant.ToAutoDiffXd()
    there, x = other.CreateDefaultContext(), plant.GetPositionsAndVelocities(context)
    other.get_actuation_input_port().FixValue(there, [1.0, 1.0])
    other.SetPositionsAndVelocities(there, InitializeAutoDiff(x).ravel())
    found, step, differences = motion(other, there), 1e-6, []
    np.testing.assert_allclose(ExtractValue(found).ravel(), motion(plant, context), rtol=1e-7, atol=1e-9)
    for k in range(4):
        sides = []
        for sign in (1.0, -1.0):
            plant.SetPositionsAndVelocities(context, x + sign * step * np.eye(4)[k])
            sides.append(np.array(motion(plant, context)))
        differences.append((sides[0] - sides[1]) / (2.0 * step))
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(differences), rtol=1e-6, atol=1e-5)


def test_steps_under_error_control_go_where_small_steps_go():
    ends = []
    for time_step in (1e-4, 0.0):
        plant = with_all_forces(time_step)
        simulator, context = started(plant)
        if time_step == 0.0:
            simulator.reset_integrator(CenicIntegrator(plant, context))
            simulator.get_mutable_integrator().set_target_accuracy(1e-5)
        simulator.AdvanceTo(0.3)
        ends.append(plant.GetPositions(context))
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-3)


@pytest.mark.parametrize("limits", [(-0.02, 0.03), (-np.inf, 0.03), (-0.02, np.inf)])
def test_a_tendon_constraint_of_three_joints_keeps_its_limits(limits):
    plant, _, _ = two_links(0.001)
    body = plant.AddRigidBody("c", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    third = plant.AddJoint(RevoluteJoint("j2", plant.GetBodyByName("b1").body_frame(), body.body_frame(), [0, 1, 0]))
    joints, a = [plant.GetJointByName("j0"), plant.GetJointByName("j1"), third], np.array([0.1, -0.2, 0.3])
    plant.AddTendonConstraint([joints[0].index(), *joints[1:]], a, 0.01, *limits, 1e6, 1e3)
    with pytest.raises(ValueError, match="may have up to 5 joints"):
        plant.AddTendonConstraint(joints, a[:2], 0.0, *limits)
    plant.Finalize()
    simulator, lengths = Simulator(plant), []
    context = simulator.get_mutable_context()
    for t in np.linspace(0.0, 0.6, 61):
        simulator.AdvanceTo(t)
        lengths.append(a @ [joint.get_angle(context) for joint in joints] + 0.01)
    assert limits[0] - 2e-3 < min(lengths) and max(lengths) < limits[1] + 2e-3
    assert max(lengths) > limits[1] - 1e-3 or min(lengths) < limits[0] + 1e-3


def test_symbols_know_tendons_that_are_not_made_of_pieces():
    for time_step in STEPS:
        plant, fixed, _ = two_links(time_step)
        fixed.set_spring(20.0, 0.1)
        plant.Finalize()
        symbolic = plant.ToSymbolic()
        context = symbolic.CreateDefaultContext()
        with pytest.raises(RuntimeError, match="tendons"):
            symbolic.SetPositions(context, [Variable("a"), Variable("b")])
            if time_step:
                symbolic.EvalUniquePeriodicDiscreteUpdate(context)
            else:
                symbolic.EvalTimeDerivatives(context)


GRIPPER = """<mujoco><option timestep="0.001"/><worldbody>
<geom type="box" size=".3 .3 .05" pos="0 0 -.05"/>
<body name="box" pos="0 0 .02"><freejoint/><geom type="box" size=".02 .015 .02" mass=".05" friction="1"/></body>
<body name="hand" pos="0 0 .12"><joint name="lift" type="slide" axis="0 0 1"/>
<geom type="box" size=".03 .06 .01" mass=".7"/>
<body name="left" pos="0 0 -.05"><joint name="l" type="slide" axis="0 1 0" range="0 .04" damping="1" armature=".1"/>
<geom type="box" size=".01 .004 .02" pos="0 .004 -.03" mass=".015" friction="1"/></body>
<body name="right" pos="0 0 -.05" quat="0 0 0 1"><joint name="r" type="slide" axis="0 1 0" range="0 .04" damping="1"
armature=".1"/><geom type="box" size=".01 .004 .02" pos="0 .004 -.03" mass=".015" friction="1"/></body></body>
</worldbody>
<contact><exclude body1="hand" body2="left"/><exclude body1="hand" body2="right"/></contact>
<tendon><fixed name="split"><joint joint="l" coef=".5"/><joint joint="r" coef=".5"/></fixed></tendon>
<equality><joint joint1="l" joint2="r"/></equality>
<actuator><general name="fingers" tendon="split" ctrlrange="0 255" forcerange="-100 100" biastype="affine"
gainprm=".0157 0 0" biasprm="0 -100 -10"/><position name="up" joint="lift" kp="2000" kv="100"/></actuator></mujoco>"""


def test_a_gripper_of_one_tendon_closes_on_a_box_lifts_and_holds_it():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
    (instance,) = Parser(plant).AddModelsFromString(GRIPPER, "xml")
    plant.Finalize()
    assert plant.num_actuators() == 2
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.GetJointByName("l").set_translation(context, 0.04)
    plant.GetJointByName("r").set_translation(context, 0.04)
    order = [plant.get_joint_actuator(i).name() for i in plant.GetJointActuatorIndices()]
    port = plant.get_desired_state_input_port(instance)

    def command(opening, height):
        values = {"fingers": opening, "up": height}
        port.FixValue(context, [*(values[name] for name in order), 0.0, 0.0])

    def height_of_box():
        return plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("box")).translation()[2]

    command(0.04, 0.0)
    simulator.AdvanceTo(0.2)
    np.testing.assert_allclose(plant.GetJointByName("l").get_translation(context), 0.04, atol=2e-3)
    command(0.0, 0.0)
    simulator.AdvanceTo(0.8)
    # Each finger stands on the box, half as wide; the tendon pulls by the rest.
    opening = [plant.GetJointByName(name).get_translation(context) for name in "lr"]
    np.testing.assert_allclose(opening, 0.015, atol=5e-4)
    for k in range(1, 41):
        command(0.0, 0.0025 * k)
        simulator.AdvanceTo(0.8 + 0.03 * k)
    simulator.AdvanceTo(2.8)
    lifted = height_of_box()
    assert lifted > 0.11
    simulator.AdvanceTo(3.8)
    assert height_of_box() == pytest.approx(lifted, abs=2e-3)
