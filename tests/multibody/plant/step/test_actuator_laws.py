"""Actuators with activations, gains and biases of length and speed, and muscles."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.kernels.laws import ActuatorLawKind
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    ActuatorLaw,
    BallQuaternionJoint,
    BallTransmission,
    ControlDelay,
    DcMotor,
    FixedTendon,
    LawForm,
    MuscleCurves,
    OrientationServo,
    PdControllerGains,
    PrismaticJoint,
    ServoIntegral,
    SpatialInertia,
    SpatialTendon,
    TendonSite,
)

STEPS = [0.0, 0.001]


def slide(time_step: float, law: ActuatorLaw, along_tendon: bool = False, gains=None):
    """A mass of 2 kg on a slide without gravity, driven by one actuator."""
    plant = MultibodyPlant(time_step)
    plant.SetUseSampledOutputPorts(False)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    body = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.1, 0.1))
    joint = plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [1, 0, 0]))
    if along_tendon:
        actuator = plant.AddActuator("a", plant.AddTransmission(FixedTendon("t", [joint], [2.0])))
    else:
        actuator = plant.AddJointActuator("a", joint)
    actuator.set_law(law)
    if gains is not None:
        actuator.set_controller_gains(gains)
    plant.Finalize()
    return plant, actuator


def started(plant, control, q=0.4, v=-0.3):
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositionsAndVelocities(context, [q, v])
    plant.get_actuation_input_port().FixValue(context, [control])
    if not plant.is_discrete():
        simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    return simulator, context


def effort(plant, context):
    return plant.get_net_actuation_output_port().Eval(context)[0]


@pytest.mark.parametrize("time_step", STEPS)
@pytest.mark.parametrize("along_tendon", [False, True])
def test_gains_and_biases_follow_length_and_speed(along_tendon, time_step):
    law = ActuatorLaw(gain=(1.0, 2.0, 3.0), bias=(0.5, -4.0, 5.0), gear=3.0, control_range=(-1.0, 0.8))
    plant, _ = slide(time_step, law, along_tendon)
    _, context = started(plant, 7.0)
    arm = 2.0 if along_tendon else 1.0
    l, rate = 3.0 * arm * 0.4, 3.0 * arm * -0.3
    f = (1.0 + 2.0 * l + 3.0 * rate) * 0.8 + 0.5 - 4.0 * l + 5.0 * rate
    assert effort(plant, context) == pytest.approx(3.0 * f)
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)[0]
    assert vdot == pytest.approx(3.0 * f * arm / 2.0)


@pytest.mark.parametrize("time_step", STEPS)
@pytest.mark.parametrize("dynamics", ["filter", "filterexact", "integrator"])
def test_activations_have_their_closed_forms(dynamics, time_step):
    law = ActuatorLaw(dynamics, () if dynamics == "integrator" else (0.2,), activation_range=(-1.0, 0.5))
    plant, actuator = slide(time_step, law)
    simulator, context = started(plant, 0.6)
    actuator.SetActivation(context, 0.1)
    simulator.AdvanceTo(0.1)
    decayed = (1.0 - time_step / 0.2) ** 100 if dynamics == "filter" and time_step else math.exp(-0.5)
    expected = 0.1 + 0.6 * 0.1 if dynamics == "integrator" else 0.6 + (0.1 - 0.6) * decayed
    assert actuator.activation(context) == pytest.approx(expected, abs=1e-8)
    assert effort(plant, context) == pytest.approx(expected, abs=1e-8)
    simulator.AdvanceTo(2.0)
    assert actuator.activation(context) == pytest.approx(0.5, abs=1e-3)
    assert actuator.activation(context) <= 0.5 + 1e-9


@pytest.mark.parametrize("time_step", STEPS)
def test_the_desired_position_of_a_servo_may_have_dynamics(time_step):
    gains = PdControllerGains(p=400.0, d=60.0)
    plant, actuator = slide(time_step, ActuatorLaw("filterexact", (0.1,)), gains=gains)
    simulator, context = started(plant, 0.0, 0.0, 0.0)
    plant.get_desired_state_input_port(actuator.model_instance()).FixValue(context, [0.3, 0.0])
    simulator.AdvanceTo(0.1)
    assert actuator.activation(context) == pytest.approx(0.3 * (1.0 - math.exp(-1.0)), abs=1e-6)
    assert effort(plant, context) != 0.0
    simulator.AdvanceTo(3.0)
    assert plant.GetPositions(context)[0] == pytest.approx(0.3, abs=1e-3)


MUSCLE = MuscleCurves(100.0, (0.5, 1.5), (0.5, 1.5), 0.5, 1.6, 1.5, 1.3, 1.2)  # of optimal length 1


def test_muscles_have_the_forces_of_their_curves():
    plant, actuator = slide(0.0, ActuatorLaw("muscle", (0.01, 0.04), muscle=MUSCLE))
    _, context = started(plant, 1.0)
    cases = {
        (1.0, 0.0, 1.0): 100.0,  # at its optimal length
        (1.0, -1.5, 1.0): 0.0,  # as fast as it can shorten
        (1.0, -0.75, 1.0): 25.0,
        (1.0, 0.3, 1.0): 120.0,  # lengthening
        (1.0, 1.0, 0.5): 60.0,
        (0.5, 0.0, 1.0): 0.0,
        (0.75, 0.0, 1.0): 50.0,  # where two parabolas meet
        (1.3, 0.0, 0.0): 65.0,  # passive: half of the force at l_max in the middle
        (1.6, 0.0, 0.0): 195.0,
        (1.3, 0.0, 1.0): 50.0 + 65.0,
    }
    for (length, rate, activation), force in cases.items():
        plant.SetPositionsAndVelocities(context, [length, rate])
        actuator.SetActivation(context, activation)
        assert effort(plant, context) == pytest.approx(-force, abs=1e-12)


def test_muscles_rise_faster_than_they_fall():
    plant, actuator = slide(0.0, ActuatorLaw("muscle", (0.01, 0.04), muscle=MUSCLE))
    _, context = started(plant, 1.0)

    def rate(activation, control):
        plant.get_actuation_input_port().FixValue(context, [control])
        actuator.SetActivation(context, activation)
        return plant.EvalTimeDerivatives(context).CopyToVector()[2]

    assert rate(0.4, 1.0) == pytest.approx(0.6 / (0.01 * 1.1))
    assert rate(0.4, 0.0) == pytest.approx(-0.4 / (0.04 / 1.1))
    assert rate(0.4, 5.0) == rate(0.4, 1.0)  # controls count up to 1


def test_lengths_and_force_of_a_muscle_may_follow_from_the_model():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.1, 0.1))
    joint = plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [1, 0, 0], -0.2, 0.6))
    actuator = plant.AddActuator("a", plant.AddTransmission(FixedTendon("t", [joint], [-0.5])))
    actuator.set_law(ActuatorLaw("muscle", (0.01, 0.04), muscle=MuscleCurves(scale=50.0), gear=2.0))
    plant.Finalize()
    record = plant._tree.law_records[0]
    np.testing.assert_allclose(record["constants"][1:3], [-0.6, 0.2], atol=1e-6)
    assert record["constants"][0] == pytest.approx(50.0 * 2.0)  # a force of 1 accelerates 2 kg by 0.5


MOTOR = DcMotor(
    0.3, 2.0, 4.0, 0.02, 300.0, 2.0, 30.0, 0.004, -5.0, (0.02, 7.0, 0.3), (50.0, 0.3, 0.1, 0.15, 0.2),
    (2.0, 0.5, 0.1), 3.0, 0.4, 50.0, "pos",
)  # fmt: skip
GAINS = PdControllerGains(p=40.0, d=6.0)
LAWS = {
    "muscle": (ActuatorLaw("muscle", (0.01, 0.04), muscle=MUSCLE), None, [0.3]),
    "motor": (ActuatorLaw(form=MOTOR, gear=1.5), None, [0.1, 0.2, 40.0, 0.002, 1.5]),
    "servo": (ActuatorLaw("filter", (0.1,)), GAINS, [0.3]),
    "integral": (ActuatorLaw(form=ServoIntegral(30.0, 2.0, 5.0)), GAINS, [0.1, 0.2]),
    "early": (ActuatorLaw("filterexact", (0.1,), is_early=True), None, [0.3]),
}


@pytest.mark.parametrize("time_step", STEPS)
@pytest.mark.parametrize("which", LAWS)
def test_activations_are_cloned_saved_converted_and_set_to_their_defaults(which, time_step):
    law, gains, states = LAWS[which]
    plant, actuator = slide(time_step, law, gains=gains)
    _, context = started(plant, 0.7, 0.9)

    def set_inputs(system, where):
        system.get_actuation_input_port().FixValue(where, [0.7])
        if gains is not None:
            port = system.get_desired_state_input_port(actuator.model_instance())
            port.FixValue(where, [0.2, 0.1])

    def states_of(an_actuator, where):
        return np.atleast_1d(an_actuator.activation(where)).tolist()

    set_inputs(plant, context)
    actuator.SetActivation(context, states)
    assert states_of(actuator, context.Clone()) == states
    copied = pickle.loads(pickle.dumps((plant, context)))
    assert states_of(copied[0].GetJointActuatorByName("a"), copied[1]) == states
    other = plant.ToAutoDiffXd()
    there, twin = other.CreateDefaultContext(), other.GetJointActuatorByName("a")
    there.SetTimeStateAndParametersFrom(context)
    set_inputs(other, there)
    assert [a.value() for a in states_of(twin, there)] == states
    x = np.array([0.9, -0.3, *states])
    q, v, *a = InitializeAutoDiff(x).ravel()
    other.SetPositionsAndVelocities(there, [q, v])
    twin.SetActivation(there, a)

    def motion(system, where):
        if time_step == 0.0:
            return np.array(system.EvalTimeDerivatives(where).CopyToVector())
        updates = system.EvalUniquePeriodicDiscreteUpdate(where)
        return np.concatenate([updates.get_vector(i).CopyToVector() for i in range(updates.num_groups())])

    found, step, differences = motion(other, there), 1e-6, []
    for k in range(len(x)):
        sides = []
        for sign in (1.0, -1.0):
            moved = x + sign * step * np.eye(len(x))[k]
            plant.SetPositionsAndVelocities(context, moved[:2])
            actuator.SetActivation(context, moved[2:])
            sides.append(motion(plant, context))
        differences.append((sides[0] - sides[1]) / (2.0 * step))
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(differences), rtol=1e-6, atol=1e-5)
    assert ExtractValue(found).shape == (2 + len(states), 1)
    plant.SetDefaultContext(context)
    assert states_of(actuator, context) == [0.0] * len(states)


@pytest.mark.parametrize("time_step", STEPS)
def test_the_integral_of_a_controller_without_desired_state_stays_and_exerts_nothing(time_step):
    plant, actuator = slide(time_step, ActuatorLaw(form=ServoIntegral(30.0)), gains=GAINS)
    simulator, context = started(plant, 0.7)
    actuator.SetActivation(context, 0.2)
    assert effort(plant, context) == pytest.approx(0.7)
    simulator.AdvanceTo(0.01)
    assert actuator.activation(context) == 0.2


def oriented(time_step: float, law: ActuatorLaw):
    """A box on a ball joint, with three actuators; the law is that of the first."""
    plant = MultibodyPlant(time_step)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    box = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3))
    ball = plant.AddJoint(BallQuaternionJoint("j", plant.world_frame(), box.body_frame()))
    for k in range(3):
        actuator = plant.AddActuator(f"a{k}", plant.AddTransmission(BallTransmission(f"t{k}", ball, np.eye(3)[k])))
        if k == 0:
            actuator.set_law(law)
    plant.Finalize()
    return plant


@pytest.mark.parametrize("time_step", STEPS)
def test_a_servo_of_an_orientation_turns_the_shorter_way_and_stays(time_step):
    plant = oriented(time_step, ActuatorLaw(form=OrientationServo(2.0, 0.4, torque_limit=1.5)))
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    plant.get_actuation_input_port().FixValue(context, (2.0 * math.pi - 0.5) * axis)
    assert np.linalg.norm(plant.get_net_actuation_output_port().Eval(context)) <= 1.5
    simulator.AdvanceTo(3.0)
    expected = np.array([math.cos(0.25), *(-math.sin(0.25) * axis)])
    q = plant.GetPositions(context)
    np.testing.assert_allclose(q * np.sign(q[0]), expected, atol=1e-3)


def set_spring_of_wound_clock(
    law, step_in, lengths_in, rates_in, states_in, controls_in, desired_io, efforts_out, states_out
):
    k, n, c = law["actuators"][0], law["activation"], law["constants"]
    efforts_out[k] = -c[0] * (lengths_in[law["positions"][0]] - states_in[n])
    states_out[n] = states_in[n] + step_in[0] * controls_in[k] if step_in[0].real > 0.0 else controls_in[k]


@pytest.mark.parametrize("time_step", STEPS)
def test_a_law_of_a_user_has_states_of_its_own(time_step):
    clock = LawForm(ActuatorLawKind("clock", set_spring_of_wound_clock), (5.0,), 1)
    plant, actuator = slide(time_step, ActuatorLaw(form=clock))
    simulator, context = started(plant, 0.5, 0.4, 0.0)
    actuator.SetActivation(context, 0.1)
    assert effort(plant, context) == pytest.approx(-5.0 * 0.3)
    simulator.AdvanceTo(0.2)
    assert actuator.activation(context) == pytest.approx(0.1 + 0.5 * 0.2)


@pytest.mark.parametrize("is_servo", [False, True])
def test_a_control_acts_after_its_delay(is_servo):
    law = ActuatorLaw(delay=ControlDelay(0.0035))
    plant, _ = slide(0.001, law, gains=GAINS if is_servo else None)
    simulator, context = started(plant, 0.0 if is_servo else 3.0, 0.0, 0.0)
    if is_servo:
        plant.get_desired_state_input_port(plant.GetJointActuatorByName("a").model_instance()).FixValue(
            context, [0.3, 0.0]
        )
    for k in range(6):
        is_at_work = effort(plant, context) != 0.0
        assert is_at_work == (k >= 4)
        simulator.AdvanceTo(0.001 * (k + 1))


def test_the_native_plan_and_error_control_move_activations():
    ends = []
    for how in ("native", "python", "cenic", "exact"):
        law = ActuatorLaw("muscle", (0.01, 0.04), muscle=MUSCLE)
        plant, actuator = slide(1e-4 if how in ("native", "python") else 0.0, law)
        simulator, context = started(plant, 0.7, 1.2, 0.0)
        if how == "python":
            for _ in range(100):
                updates = plant.EvalUniquePeriodicDiscreteUpdate(context)
                values = [updates.get_vector(i).CopyToVector() for i in range(updates.num_groups())]
                for i, value in enumerate(values):
                    context.get_mutable_discrete_state(i).SetFromVector(value)
        else:
            if how == "cenic":
                simulator.reset_integrator(CenicIntegrator(plant, context))
                simulator.get_mutable_integrator().set_target_accuracy(1e-7)
            simulator.AdvanceTo(0.01)
        ends.append([*plant.GetPositionsAndVelocities(context), actuator.activation(context)])
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_allclose(ends[2], ends[3], atol=1e-5)
    np.testing.assert_allclose(ends[0], ends[3], atol=5e-3)


def test_what_is_no_law_is_refused():
    for given, what in (
        ({"dynamics": "odd"}, "dynamics must be one of none, integrator"),
        ({"dynamics": "filter"}, "needs 1 positive time_constants"),
        ({"gain": (math.nan, 0, 0)}, "not finite"),
        ({"control_range": (1.0, 0.0)}, "ranges must be in order"),
    ):
        with pytest.raises(ValueError, match=what):
            ActuatorLaw(**given)
    for given, what in (
        ({"resistance": 0.0}, "is no motor"),
        ({"control": "odd"}, "control must be one of None, voltage"),
        ({"constant": 0.0}, "is no motor"),
        ({"cogging": (math.nan, 0.0, 0.0)}, "is no motor"),
        ({"torque_limit": -1.0}, "is no motor"),
    ):
        with pytest.raises(ValueError, match=what):
            DcMotor(**{"constant": 0.1, "resistance": 1.0} | given)
    for wrong in (lambda: ServoIntegral(-1.0), lambda: OrientationServo(-1.0), lambda: ControlDelay(0.0)):
        with pytest.raises(ValueError, match="must be"):
            wrong()
    with pytest.raises(ValueError, match="dynamics must be 'none'"):
        ActuatorLaw("filter", (1.0,), form=ServoIntegral(1.0))
    with pytest.raises(RuntimeError, match="needs a discrete plant"):
        slide(0.0, ActuatorLaw(delay=ControlDelay(0.1)))
    with pytest.raises(RuntimeError, match="more than 10000 time steps"):
        slide(0.001, ActuatorLaw(delay=ControlDelay(11.0)))
    with pytest.raises(RuntimeError, match="'a' has an OrientationServo, but is not followed"):
        slide(0.0, ActuatorLaw(form=OrientationServo(1.0)))
    for given in ({"length_range": (1.0, 0.5)}, {"l_min": 1.2}, {"v_max": 0.0}, {"fv_max": 0.9}, {"peak_force": -1.0}):
        with pytest.raises(ValueError, match="is no muscle"):
            MuscleCurves(**given)
    plant, actuator = slide(0.0, ActuatorLaw())
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match="'a' has no activation"):
        actuator.activation(context)
    with pytest.raises(RuntimeError, match="Finalize"):
        actuator.set_law(None)
    plant, actuator = slide(0.0, ActuatorLaw("integrator"))
    with pytest.raises(ValueError, match="takes 1 states"):
        actuator.SetActivation(plant.CreateDefaultContext(), [1.0, 2.0])
    with pytest.raises(ValueError, match="must be finite"):
        actuator.SetActivation(plant.CreateDefaultContext(), math.nan)


def test_a_muscle_whose_length_no_joint_changes_needs_a_range():
    for length_range in (None, (0.1, 0.5)):
        plant = MultibodyPlant(0.001)
        loose = [plant.AddRigidBody(name, SpatialInertia.SolidCubeWithMass(1.0, 0.1)) for name in "ab"]
        sites = [TendonSite(loose[0], [0, 0, 0.1]), TendonSite(loose[1], [0, 0, -0.1])]
        muscle = plant.AddActuator("m", plant.AddTransmission(SpatialTendon("t", sites)))
        muscle.set_law(ActuatorLaw("muscle", (0.01, 0.04), muscle=MuscleCurves(50.0, length_range)))
        if length_range is None:
            with pytest.raises(RuntimeError, match=r"muscle 'm' is 0\.2 m wherever joints .* a length_range"):
                plant.Finalize()
        else:
            plant.Finalize()
