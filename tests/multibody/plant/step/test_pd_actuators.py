"""PD-controlled actuators, effort limits and net actuation."""

import numpy as np
import pytest
from contact_scenes import Scene, add_free_body, add_ground, contact_library, material
from explicit_products import as_pydrake
from plants import box_inertia, free_box, set_random_state

from merganser.analysis import Simulator
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import JointActuator, PdControllerGains, PrismaticJoint, RevoluteJoint

H = 1e-2
INF = np.inf


def slider(time_step=H, p=0.0, d=0.0, limit=INF, damping=0.0, mass=2.0):
    """A box on a rail along x, so that gravity does no work, with one actuator "motor"."""
    plant = MultibodyPlant(time_step)
    box = plant.AddRigidBody("box", box_inertia(mass))
    rail = PrismaticJoint("rail", plant.world_frame(), box.body_frame(), [1, 0, 0], damping=damping)
    motor = plant.AddJointActuator("motor", plant.AddJoint(rail), limit)
    motor.set_controller_gains(PdControllerGains(p=p, d=d))
    plant.Finalize()
    return plant


def arm(time_step=H, p=100.0, d=10.0, limits=(INF,) * 4, damping=0.2, num_controlled=4, use_sampled=False):
    """Four bodies on revolute and prismatic joints in a row, each with an actuator, model instance "arm"."""
    plant = as_pydrake(MultibodyPlant(time_step))
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(use_sampled)
    instance = plant.AddModelInstance("arm")
    parent = plant.world_frame()
    for i, limit in enumerate(limits):
        body = plant.AddRigidBody(f"body_{i}", instance, box_inertia(0.5 + 0.2 * i))
        joint_type, axis = (PrismaticJoint, [1, 0, 1]) if i % 2 else (RevoluteJoint, [0, 1, 0])
        joint = plant.AddJoint(joint_type(f"joint_{i}", parent, body.body_frame(), axis, damping=damping))
        actuator = plant.AddJointActuator(f"motor_{i}", joint, limit)
        if i < num_controlled:
            actuator.set_controller_gains(PdControllerGains(p=p, d=d))
        parent = body.body_frame()
    plant.Finalize()
    return plant


def command(plant, context, q_d, v_d, u_ff=None):
    instance = plant.get_joint_actuator(0).model_instance()
    plant.get_desired_state_input_port(instance).FixValue(context, np.concatenate([q_d, v_d]))
    if u_ff is not None:
        plant.get_actuation_input_port().FixValue(context, u_ff)


def commanded(plant, seed=1, scale=1.0):
    """A context with random state, desired state and feedforward."""
    context = plant.CreateDefaultContext()
    rng = set_random_state(plant, context, seed)
    q_d, v_d, u_ff = scale * rng.normal(size=(3, plant.num_actuators()))
    command(plant, context, q_d, v_d, u_ff)
    return context, q_d, v_d, u_ff


def net_actuation(plant, context):
    return plant.get_net_actuation_output_port().Eval(context)


def next_state(plant, context):
    after = context.Clone()
    plant.ExecuteForcedEvents(after)
    return plant.GetPositions(after), plant.GetVelocities(after)


# -- the actuator ------------------------------------------------------------------------------------


def test_without_gains_there_is_no_controller_and_gains_of_zero_take_it_away():
    motor = slider().GetJointActuatorByName("motor")
    assert not motor.has_controller()
    with pytest.raises(RuntimeError, match="'motor' has no PD controller"):
        motor.get_controller_gains()
    motor.set_controller_gains(PdControllerGains(p=3.0))
    assert motor.has_controller() and motor.get_controller_gains() == PdControllerGains(p=3.0, d=0.0)
    motor.set_controller_gains(PdControllerGains())
    assert not motor.has_controller()


@pytest.mark.parametrize("gains", [{"p": -1.0}, {"d": -1.0}, {"p": INF}, {"d": np.nan}])
def test_gains_that_are_negative_or_not_finite_are_refused_and_change_nothing(gains):
    motor: JointActuator = slider(p=3.0, d=4.0).GetJointActuatorByName("motor")
    with pytest.raises(ValueError, match=r"'motor': the (proportional|derivative) gain must"):
        motor.set_controller_gains(PdControllerGains(**gains))
    assert motor.get_controller_gains() == PdControllerGains(p=3.0, d=4.0)
    with pytest.raises(TypeError, match="takes PdControllerGains"):
        motor.set_controller_gains((1.0, 2.0))


# -- the closed forms of one degree of freedom ---------------------------------------------------------


@pytest.mark.parametrize("p, d", [(50.0, 3.0), (0.0, 5.0), (70.0, 0.0), (1e9, 1e4)])
def test_the_controller_acts_on_state_at_the_end_of_the_step(p, d):
    """m (v+ - v) / h = -p (q + h v+ - qd) - d (v+ - vd) + u_ff - c v+."""
    m, c, q, v, q_d, v_d, u_ff = 2.0, 0.7, 0.3, -0.4, 0.9, 0.2, 1.5
    plant = slider(H, p, d, damping=c, mass=m)
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [q, v])
    command(plant, context, [q_d], [v_d], [u_ff])
    v_next = (m * v + H * (p * (q_d - q) + d * v_d + u_ff)) / (m + H * (c + d + H * p))
    plant.ExecuteForcedEvents(context)
    np.testing.assert_allclose(plant.GetVelocities(context), v_next, rtol=1e-12)
    np.testing.assert_allclose(plant.GetPositions(context), q + H * v_next, rtol=1e-12)
    effort = -p * (q + H * v_next - q_d) - d * (v_next - v_d) + u_ff
    # Effort is what is left of large terms.
    np.testing.assert_allclose(net_actuation(plant, context), effort, rtol=0.0, atol=1e-15 * (p + d) + 1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_active_limit_is_a_constant_force(sign):
    m, limit = 2.0, 3.0
    plant = slider(H, 100.0, 1.0, limit, mass=m)
    context = plant.CreateDefaultContext()
    command(plant, context, [sign * 5.0], [0.0], [0.0])
    plant.ExecuteForcedEvents(context)
    assert plant.GetVelocities(context) == pytest.approx([sign * H * limit / m], rel=1e-14)
    assert net_actuation(plant, context) == pytest.approx([sign * limit], rel=1e-14)


def test_stiff_controllers_are_stable_where_explicit_ones_are_not():
    plant = slider(H, 1e8, 1e3)
    simulator = Simulator(plant)
    command(plant, simulator.get_mutable_context(), [0.5], [0.0])
    simulator.AdvanceTo(1.0)
    assert plant.GetPositions(simulator.get_context()) == pytest.approx([0.5], abs=1e-9)


def test_a_continuous_plant_takes_them_as_forces():
    m, p, d, q, v = 2.0, 50.0, 3.0, 0.3, -0.4
    for limit, expected in ((INF, p * 0.6 + d * 0.6 + 1.5), (7.0, 7.0)):
        plant = slider(0.0, p, d, limit, mass=m)
        context = plant.CreateDefaultContext()
        plant.SetPositionsAndVelocities(context, [q, v])
        command(plant, context, [0.9], [0.2], [1.5])
        assert net_actuation(plant, context) == pytest.approx([expected], rel=1e-14)
        assert plant.EvalTimeDerivatives(context).CopyToVector()[1] == pytest.approx(expected / m, rel=1e-14)


# -- many degrees of freedom: identities ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p, d, scale", [(100.0, 10.0, 1.0), (1e5, 10.0, 1.0), (3.0, 0.1, 20.0)])
def test_efforts_follow_the_law_at_the_end_of_the_step_and_move_the_arm(seed, p, d, scale):
    """u = clamp(...) at q + h v+ and v+; and the plain plant with actuation u takes the same step."""
    limits = np.array([4.0, 9.0, INF, 2.0])
    plant, plain = arm(p=p, d=d, limits=limits), arm(num_controlled=0)
    context, q_d, v_d, u_ff = commanded(plant, seed, scale)
    u = net_actuation(plant, context)
    q, v = next_state(plant, context)
    law = np.clip(-p * (q - q_d) - d * (v - v_d) + u_ff, -limits, limits)
    np.testing.assert_allclose(u, law, rtol=0.0, atol=1e-13 * (p + d) * 10.0)
    plain_context = plain.CreateDefaultContext()
    plain.SetPositionsAndVelocities(plain_context, plant.GetPositionsAndVelocities(context))
    plain.get_actuation_input_port().FixValue(plain_context, u)
    np.testing.assert_allclose(next_state(plain, plain_context), (q, v), rtol=1e-9, atol=1e-9)


def test_limits_that_a_step_leaves_or_reaches_are_found():
    """Fast motion, stiff gains, tight limits: efforts before the step mislead, and Newton's method alone cycles."""
    limits = np.array([500.0, 300.0, 40.0, 2000.0])
    plant = arm(p=1e4, d=1e3, limits=limits)
    num_misleading = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        context = plant.CreateDefaultContext()
        q_0, v_0, v_d = rng.normal(size=4), 30.0 * rng.normal(size=4), rng.normal(size=4)
        q_d = q_0 + 0.1 * rng.normal(size=4)
        plant.SetPositionsAndVelocities(context, np.concatenate([q_0, v_0]))
        command(plant, context, q_d, v_d)
        q, v = next_state(plant, context)
        law = np.clip(-1e4 * (q - q_d) - 1e3 * (v - v_d), -limits, limits)
        np.testing.assert_allclose(net_actuation(plant, context), law, rtol=0.0, atol=1e-6)
        guess = np.abs(1e4 * (q_0 + H * v_0 - q_d) + 1e3 * (v_0 - v_d)) > limits
        num_misleading += (guess != (np.abs(law) == limits)).any()
    assert num_misleading > 20


def test_limits_out_of_reach_change_nothing():
    free, limited = arm(), arm(limits=(1e6,) * 4)
    states = [next_state(plant, commanded(plant, 3)[0]) for plant in (free, limited)]
    np.testing.assert_array_equal(states[0], states[1])


def test_two_controlled_actuators_on_one_joint_add_up():
    plant = MultibodyPlant(H)
    box = plant.AddRigidBody("box", box_inertia(2.0))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), box.body_frame(), [1, 0, 0]))
    for name, limit in (("weak", 1.0), ("strong", INF)):
        motor = plant.AddJointActuator(name, rail, limit)
        motor.set_controller_gains(PdControllerGains(p=100.0, d=1.0))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    command(plant, context, [3.0, 0.5], [0.0, 0.0])
    plant.ExecuteForcedEvents(context)
    q, v = plant.GetPositionsAndVelocities(context)
    u = net_actuation(plant, context)
    assert u == pytest.approx([1.0, -100.0 * (q - 0.5) - v], rel=1e-12)
    assert v == pytest.approx(H * u.sum() / 2.0, rel=1e-12)


def test_controllers_of_locked_joints_are_ignored():
    plant = arm(limits=(INF, 1.0, INF, INF))
    context, q_d, v_d, u_ff = commanded(plant, 2, scale=5.0)
    for name in ("joint_1", "joint_2"):
        plant.GetJointByName(name).Lock(context)
    u = net_actuation(plant, context)
    assert u[1:3] == pytest.approx([np.clip(u_ff[1], -1, 1), u_ff[2]])
    q, v = next_state(plant, context)
    assert not v[1:3].any()
    assert u[0] == pytest.approx(-100 * (q[0] - q_d[0]) - 10 * (v[0] - v_d[0]) + u_ff[0])


# -- ports -------------------------------------------------------------------------------------------


def test_efforts_without_controllers_are_limited_too():
    for time_step in (0.0, H):
        plant = arm(time_step, limits=(1.0, INF, 0.5, 2.0), num_controlled=0)
        context = plant.CreateDefaultContext()
        plant.get_actuation_input_port().FixValue(context, [3.0, -4.0, -5.0, 1.5])
        np.testing.assert_array_equal(net_actuation(plant, context), [1.0, -4.0, -0.5, 1.5])
        limited = next_state(plant, context) if time_step else plant.EvalTimeDerivatives(context).CopyToVector()
        plant.get_actuation_input_port().FixValue(context, [1.0, -4.0, -0.5, 1.5])
        same = next_state(plant, context) if time_step else plant.EvalTimeDerivatives(context).CopyToVector()
        np.testing.assert_array_equal(limited, same)


def test_feedforward_is_not_required_with_controllers(caplog):
    plant = arm()
    context = plant.CreateDefaultContext()
    command(plant, context, np.ones(4), np.zeros(4))
    without = next_state(plant, context)
    plant.get_actuation_input_port().FixValue(context, np.zeros(4))
    np.testing.assert_array_equal(next_state(plant, context), without)
    assert not caplog.records


@pytest.mark.parametrize("time_step", [0.0, H])
def test_controllers_without_desired_state_are_disarmed_and_leave_the_feedforward(time_step):
    plant = arm(time_step, limits=(1.0, INF, 0.5, 2.0))
    free = arm(time_step, limits=(1.0, INF, 0.5, 2.0), num_controlled=0)
    for u in (None, [3.0, -4.0, -5.0, 1.5]):
        results = []
        for each in (plant, free):
            context = each.CreateDefaultContext()
            if u is not None:
                each.get_actuation_input_port().FixValue(context, u)
            dynamics = next_state(each, context) if time_step else each.EvalTimeDerivatives(context).CopyToVector()
            results.append((*np.ravel(dynamics), *net_actuation(each, context)))
        np.testing.assert_array_equal(results[0], results[1])


def test_feedforward_through_both_ports_adds_up():
    plant = arm()
    instance = plant.GetModelInstanceByName("arm")
    context, _, _, u_ff = commanded(plant)
    expected = next_state(plant, context)
    plant.get_actuation_input_port().FixValue(context, u_ff - 1.0)
    plant.get_actuation_input_port(instance).FixValue(context, np.ones(4))
    np.testing.assert_allclose(next_state(plant, context), expected, rtol=1e-12)


def test_actuators_without_controllers_exert_their_feedforward():
    plant = arm(num_controlled=2)
    context, q_d, v_d, u_ff = commanded(plant)
    u = net_actuation(plant, context)
    q, v = next_state(plant, context)
    np.testing.assert_array_equal(u[2:], u_ff[2:])
    motors = [plant.GetJointActuatorByName(f"motor_{i}") for i in range(2)]
    p, d = np.array([[m.get_controller_gains().p, m.get_controller_gains().d] for m in motors]).T
    np.testing.assert_allclose(u[:2], (-p * (q[:2] - q_d[:2]) - d * (v[:2] - v_d[:2]) + u_ff[:2]), rtol=1e-9)


def test_gains_and_limits_may_change_after_finalize():
    plant = slider(H)
    context = plant.CreateDefaultContext()
    command(plant, context, [1.0], [0.0], [0.0])
    assert not next_state(plant, context)[1].any()
    motor = plant.GetJointActuatorByName("motor")
    motor.set_controller_gains(PdControllerGains(p=100.0, d=0.0))
    fast = next_state(plant, context)[1]
    motor.set_effort_limit(5.0)
    assert fast > next_state(plant, context)[1] == pytest.approx([H * 5.0 / 2.0])


def test_a_desired_state_that_is_not_finite_is_an_error_of_its_port():
    for time_step in (0.0, H):
        plant = arm(time_step)
        context, *_ = commanded(plant)
        command(plant, context, np.full(4, np.nan), np.zeros(4))
        with pytest.raises(RuntimeError, match="'arm_desired_state'"):
            net_actuation(plant, context)


def test_only_controlled_instances_need_desired_states_and_these_are_independent():
    plant = MultibodyPlant(H)
    for name, p in (("free", 0.0), ("left", 50.0), ("right", 80.0)):
        instance = plant.AddModelInstance(name)
        box = plant.AddRigidBody("box", instance, box_inertia(2.0))
        rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), box.body_frame(), [1, 0, 0]))
        plant.AddJointActuator("motor", rail).set_controller_gains(PdControllerGains(p=p))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    free, left, right = (plant.GetModelInstanceByName(name) for name in ("free", "left", "right"))
    plant.get_actuation_input_port(free).FixValue(context, [1.0])
    plant.get_desired_state_input_port(left).FixValue(context, [1.0, 0.0])
    plant.get_desired_state_input_port(right).FixValue(context, [-1.0, 0.0])
    plant.ExecuteForcedEvents(context)
    expected = [1.0, *(p * x / (1 + H * H * p / 2.0) for p, x in ((50.0, 1.0), (80.0, -1.0)))]
    np.testing.assert_allclose(net_actuation(plant, context), expected, rtol=1e-13)
    for instance, value in zip((free, left, right), expected):
        port = plant.get_net_actuation_output_port(instance)
        assert port.size() == 1 and port.Eval(context) == pytest.approx([value])


def test_plants_without_actuators_have_empty_ports():
    plant, _ = free_box(H)
    context = plant.CreateDefaultContext()
    plant.ExecuteForcedEvents(context)
    assert net_actuation(plant, context).shape == (0,)
    default = plant.GetModelInstanceByName("DefaultModelInstance")
    assert plant.get_desired_state_input_port(default).size() == 0


# -- derivatives ---------------------------------------------------------------------------------------


def test_complex_step_through_saturated_and_free_controllers_equals_differences():
    plant = arm(limits=(4.0, 9.0, INF, 2.0))
    context, *_ = commanded(plant, 5)
    saturated = np.abs(net_actuation(plant, context)) >= [4.0, 9.0, INF, 2.0]
    assert saturated.any() and not saturated.all()
    x = plant.GetPositionsAndVelocities(context)
    direction = np.random.default_rng(1).normal(size=8)

    def step(at, scalar=float):
        here = plant.CreateDefaultContext() if scalar is float else plant._make_context(scalar)
        plant.SetDefaultContext(here)
        for port in (plant.get_actuation_input_port(), plant.GetInputPort("arm_desired_state")):
            port.FixValue(here, port.Eval(context))
        plant.SetPositionsAndVelocities(here, at)
        plant.ExecuteForcedEvents(here)
        return plant.GetPositionsAndVelocities(here)

    exact = step(x + 1e-100j * direction, np.complex128).imag / 1e-100
    differences = (step(x + 1e-6 * direction) - step(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(exact, differences, rtol=0.0, atol=1e-7 * np.abs(exact).max())


# -- the same with and without contact ----------------------------------------------------------------


def arm_beside_a_ball(height, rate, gains):
    """An arm that turns at a rate, with drives of some gains, and a ball above the ground that it does not touch."""
    lib = contact_library("ours")

    def fill(lib, plant):
        parent = plant.world_frame()
        for i in range(3):
            body = plant.AddRigidBody(f"link{i}", lib.SpatialInertia.SolidBoxWithMass(1.0 + i, 0.1, 0.1, 0.3))
            frame = plant.AddFrame(lib.FixedOffsetFrame(f"F{i}", parent, lib.RigidTransform([0.1, 0.0, 0.2])))
            joint = plant.AddJoint(lib.RevoluteJoint(f"joint{i}", frame, body.body_frame(), [0.3, 1.0, i]))
            motor = plant.AddJointActuator(f"motor{i}", joint, 1e3 if i == 1 else INF)
            motor.set_controller_gains(lib.PdControllerGains(p=gains[0], d=gains[1]))
            parent = body.body_frame()
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib))
        add_ground(lib, plant, material(lib))

    scene = Scene(lib, H, fill)
    plant, context = scene.plant, scene.context
    command(plant, context, [0.5, -0.2, 0.1], [1.0, 0.0, -1.0], [3.0, -2.0, 1.0])
    plant.SetFreeBodyPose(context, plant.GetBodyByName("ball"), RigidTransform([5.0, 0.0, height]))
    for i in range(3):
        joint = plant.GetJointByName(f"joint{i}")
        joint.set_angle(context, 0.3 * i)
        joint.set_angular_rate(context, rate * (1.0 + 0.2 * i))
    return scene


@pytest.mark.parametrize("gains", [(100.0, 10.0), (1e7, 1e5)])
@pytest.mark.parametrize("rate", [1.0, 60.0])
def test_an_arm_steps_the_same_whether_or_not_something_unrelated_touches(rate, gains):
    joints = [f"joint{i}" for i in range(3)]
    after = []
    for height in (0.099, 0.5):
        scene = arm_beside_a_ball(height, rate, gains)
        scene.run(1)
        assert len(scene.contacts()) == (height < 0.1)
        angles = [scene.plant.GetJointByName(name).get_angle(scene.context) for name in joints]
        rates = [scene.plant.GetJointByName(name).get_angular_rate(scene.context) for name in joints]
        after.append([*angles, *rates, *scene.plant.get_net_actuation_output_port().Eval(scene.context)])
    np.testing.assert_allclose(*after, rtol=1e-7, atol=1e-7)

