"""Ports: what they are called, what comes in and adds up, what goes out, and errors that name them."""

import numpy as np
import pytest
from explicit_products import as_pydrake
from plants import BOX_MASS, arm_and_box, box_inertia, driven, free_box, no_actuation, set_random_state

from merganser.analysis import Simulator
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant
from merganser.multibody.tree import BodyIndex, MultibodyForces, RevoluteJoint

# Output of either kind of plant: the time derivatives, or the state after one step.
TIME_STEPS = pytest.mark.parametrize("time_step", [0.0, 1e-3], ids=["continuous", "discrete"])


def response(plant, context):
    """The quantity that inputs change: vdot of a continuous plant, v+ of a discrete one."""
    if not plant.is_discrete():
        return plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :]
    after = context.Clone()
    plant.ExecuteForcedEvents(after)
    return plant.GetVelocities(after)


def test_names_sizes_and_order():
    """Those of pydrake (see tests/reference/multibody/test_plant.py)."""
    plant = arm_and_box(0.0)
    inputs = [plant.get_input_port(i) for i in range(plant.num_input_ports())]
    assert [(port.get_name(), port.size()) for port in inputs] == [
        ("geometry_query", 0), ("actuation", 2),
        ("applied_generalized_force", 8), ("applied_spatial_force", 0),
        ("WorldModelInstance_actuation", 0), ("WorldModelInstance_desired_state", 0),
        ("DefaultModelInstance_actuation", 0), ("DefaultModelInstance_desired_state", 0),
        ("arm_actuation", 2), ("arm_desired_state", 4),
        ("thing_actuation", 0), ("thing_desired_state", 0),
    ]  # fmt: skip
    outputs = [plant.get_output_port(i) for i in range(plant.num_output_ports())]
    assert [(port.get_name(), port.size()) for port in outputs] == [
        ("geometry_pose", 0), ("deformable_body_configuration", 0), ("state", 17), ("body_poses", 0),
        ("body_spatial_velocities", 0), ("body_spatial_accelerations", 0), ("generalized_acceleration", 8),
        ("net_actuation", 2),
        ("reaction_forces", 0), ("contact_results", 0),
        ("WorldModelInstance_state", 0), ("WorldModelInstance_generalized_acceleration", 0),
        ("WorldModelInstance_generalized_contact_forces", 0),
        ("WorldModelInstance_net_actuation", 0),
        ("DefaultModelInstance_state", 0), ("DefaultModelInstance_generalized_acceleration", 0),
        ("DefaultModelInstance_generalized_contact_forces", 0),
        ("DefaultModelInstance_net_actuation", 0),
        ("arm_state", 4), ("arm_generalized_acceleration", 2), ("arm_generalized_contact_forces", 2),
        ("arm_net_actuation", 2),
        ("thing_state", 13), ("thing_generalized_acceleration", 6), ("thing_generalized_contact_forces", 6),
        ("thing_net_actuation", 0),
    ]  # fmt: skip


def test_getters_give_the_ports_of_these_names():
    plant = arm_and_box(0.0)
    arm = plant.GetModelInstanceByName("arm")
    for port, name in (
        (plant.get_geometry_query_input_port(), "geometry_query"),
        (plant.get_actuation_input_port(), "actuation"),
        (plant.get_actuation_input_port(arm), "arm_actuation"),
        (plant.get_actuation_input_port(model_instance=arm), "arm_actuation"),
        (plant.get_desired_state_input_port(arm), "arm_desired_state"),
        (plant.get_applied_generalized_force_input_port(), "applied_generalized_force"),
        (plant.get_applied_spatial_force_input_port(), "applied_spatial_force"),
    ):
        assert port is plant.GetInputPort(name)
    for port, name in (
        (plant.get_geometry_pose_output_port(), "geometry_pose"),
        (plant.get_state_output_port(), "state"),
        (plant.get_state_output_port(arm), "arm_state"),
        (plant.get_body_poses_output_port(), "body_poses"),
        (plant.get_body_spatial_velocities_output_port(), "body_spatial_velocities"),
        (plant.get_body_spatial_accelerations_output_port(), "body_spatial_accelerations"),
        (plant.get_generalized_acceleration_output_port(), "generalized_acceleration"),
        (plant.get_generalized_acceleration_output_port(arm), "arm_generalized_acceleration"),
        (plant.get_net_actuation_output_port(), "net_actuation"),
        (plant.get_net_actuation_output_port(model_instance=arm), "arm_net_actuation"),
        (plant.get_reaction_forces_output_port(), "reaction_forces"),
    ):
        assert port is plant.GetOutputPort(name)
    for getter in (
        plant.get_actuation_input_port, plant.get_desired_state_input_port, plant.get_state_output_port,
        plant.get_generalized_acceleration_output_port, plant.get_net_actuation_output_port,
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="no model instance with index 17"):
            getter(17)


# -- actuation ---------------------------------------------------------------------------------------


@TIME_STEPS
def test_actuation_of_plant_and_of_instances_adds_up(time_step):
    plant = arm_and_box(time_step)
    arm = plant.GetModelInstanceByName("arm")
    u, part = np.array([1.0, -2.0]), np.array([0.5, 4.0])
    responses = []
    for whole, instance in ((u + part, None), (None, u + part), (u, part)):
        context = plant.CreateDefaultContext()
        set_random_state(plant, context, 1)
        if whole is not None:
            plant.get_actuation_input_port().FixValue(context, whole)
        if instance is not None:
            plant.get_actuation_input_port(arm).FixValue(context, instance)
        responses.append(response(plant, context))
    np.testing.assert_array_equal(responses[1], responses[0])
    np.testing.assert_array_equal(responses[2], responses[0])


def test_actuation_and_applied_generalized_force_act_alike():
    plant = arm_and_box(0.0)
    u = np.array([1.0, -2.0])
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 1)
    plant.get_actuation_input_port().FixValue(context, u)
    expected = response(plant, context)
    no_actuation(plant, context)
    assert np.abs(response(plant, context) - expected).max() > 0.1
    plant.get_applied_generalized_force_input_port().FixValue(context, plant.MakeActuationMatrix() @ u)
    np.testing.assert_array_equal(response(plant, context), expected)


@TIME_STEPS
def test_unconnected_actuation_is_zero_and_logged_once_with_the_names_of_both_ports(time_step, caplog):
    plant = arm_and_box(time_step)
    plant.set_name(f"robot_of_{time_step}")
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 1)
    without = [response(plant, context) for _ in range(2)]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("merganser.multibody.plant", "WARNING")
    for part in ("'arm_actuation'", "'actuation'", f"'::robot_of_{time_step}'", "'arm'", "exert nothing"):
        assert part in record.getMessage()
    set_random_state(plant, context, 1)
    no_actuation(plant, context)
    np.testing.assert_array_equal(without, [response(plant, context)] * 2)


@TIME_STEPS
def test_plant_without_actuators_needs_no_input(time_step):
    plant, _ = free_box(time_step)
    h = time_step if plant.is_discrete() else 1.0
    expected = [0, 0, 0, 0, 0, -9.81 * h]
    np.testing.assert_allclose(response(plant, plant.CreateDefaultContext()), expected, atol=1e-15)


@pytest.mark.parametrize("port, size", [("actuation", 2), ("arm_actuation", 2), ("applied_generalized_force", 8)])
def test_values_of_wrong_size_are_refused(port, size):
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    with pytest.raises(ValueError, match=f"'{port}'.*has size {size}"):
        plant.GetInputPort(port).FixValue(context, np.zeros(size + 1))


def test_desired_state_is_not_read_without_controllers():
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    expected = response(plant, context)
    arm = plant.GetModelInstanceByName("arm")
    plant.get_desired_state_input_port(arm).FixValue(context, np.ones(4))
    np.testing.assert_array_equal(response(plant, context), expected)


# -- spatial forces ----------------------------------------------------------------------------------


def spatial_force(body, p_BoBq_B, F_Bq_W):
    return ExternallyAppliedSpatialForce(body.index(), np.array(p_BoBq_B), SpatialForce(F_Bq_W))


@TIME_STEPS
def test_spatial_force_acts_where_it_is_applied(time_step):
    """Two forces on one body and one on the world, against J^T F by inverse dynamics."""
    plant = arm_and_box(time_step, 0.0, as_pydrake(MultibodyPlant(time_step)))
    tool = plant.GetBodyByName("tool")
    context = plant.CreateDefaultContext()
    rng = set_random_state(plant, context, 1)
    no_actuation(plant, context)
    free = response(plant, context)
    F1, F2, p1, p2 = rng.normal(size=6), rng.normal(size=6), rng.normal(size=3), rng.normal(size=3)
    plant.get_applied_spatial_force_input_port().FixValue(
        context,
        [spatial_force(tool, p1, F1), spatial_force(tool, p2, F2), spatial_force(plant.world_body(), p1, F2)],
    )
    forces = MultibodyForces(plant)
    for F, p in ((F1, p1), (F2, p2)):
        p_BoBq_W = plant.EvalBodyPoseInWorld(context, tool).rotation().matrix() @ p
        F_Bo_W = SpatialForce(F[:3] + np.cross(p_BoBq_W, F[3:]), F[3:])
        tool.AddInForceInWorld(context, F_Bo_W, forces)
    still = np.zeros(8)
    tau = plant.CalcBiasTerm(context) - plant.CalcInverseDynamics(context, still, forces)
    h = time_step if plant.is_discrete() else 1.0
    expected = free + h * np.linalg.solve(plant.CalcMassMatrix(context), tau)
    np.testing.assert_allclose(response(plant, context), expected, rtol=1e-11, atol=1e-11)


@TIME_STEPS
def test_spatial_force_works_as_input_of_a_free_body(time_step):
    plant, body = free_box(time_step)
    context = plant.CreateDefaultContext()
    port = plant.get_applied_spatial_force_input_port()
    weight = body.default_mass() * 9.81
    port.FixValue(context, [spatial_force(body, [0, 0, 0.3], [0, 0, 0, 0, 0, weight])])
    np.testing.assert_allclose(response(plant, context), 0.0, atol=1e-15)


@TIME_STEPS
def test_bad_spatial_forces_are_errors_that_name_port_and_time(time_step):
    plant, body = free_box(time_step)
    context = plant.CreateDefaultContext()
    context.SetTime(2.5)
    port = plant.get_applied_spatial_force_input_port()
    stray = ExternallyAppliedSpatialForce(BodyIndex(7), np.zeros(3), SpatialForce.Zero())
    for bad, error, message in (
        ([stray], RuntimeError, "body 7, but the plant has 2 bodies"),
        ([ExternallyAppliedSpatialForce()], RuntimeError, "body_index"),
        ([SpatialForce.Zero()], TypeError, "SpatialForce in place of"),
        ([spatial_force(body, [0, 0], np.zeros(6))], ValueError, r"shape \(2,\)"),
        ([spatial_force(body, [0, 0, 0], [0, 0, 0, np.nan, 0, 0])], RuntimeError, "'box' that is not finite"),
    ):
        port.FixValue(context, bad)
        with pytest.raises(error, match=f"'applied_spatial_force'.*{message}|{message}.*2.5 s"):
            response(plant, context)
    with pytest.raises(TypeError, match="list"):
        port.FixValue(context, body)


# -- values that are not finite ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@TIME_STEPS
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_value_of_a_controller_is_one_error_that_names_both_ends_and_the_time(time_step, bad):
    plant = arm_and_box(time_step)
    diagram, _ = driven(plant, lambda t: [1.0, bad if t >= 0.05 else 0.0])
    diagram.set_name("robot")
    simulator = Simulator(diagram)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(1e-2)
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    set_random_state(plant, context, 1)
    with pytest.raises(RuntimeError) as caught:
        simulator.AdvanceTo(1.0)
    message = str(caught.value)
    for part in ("'actuation'", "'::robot::plant'", "'command'", "'::robot::controller'", "0.05", str(bad)):
        assert part in message, message
    # The context is as it was before the step that failed.
    time, x = root.get_time(), plant.GetPositionsAndVelocities(context)
    assert 0.03 < time < 0.06 and np.isfinite(x).all()
    with pytest.raises(RuntimeError):
        simulator.AdvanceTo(1.0)
    assert root.get_time() == time
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), x)


def test_bad_value_of_a_controller_stops_an_error_controlled_integrator_too():
    plant = arm_and_box(0.0)
    diagram, _ = driven(plant, lambda t: [1.0, np.nan if t > 0.05 else 0.0])
    simulator = Simulator(diagram)
    with pytest.raises(RuntimeError, match=r"'actuation'.*'command'"):
        simulator.AdvanceTo(1.0)
    assert simulator.get_context().get_time() <= 0.05


@pytest.mark.parametrize("port", ["actuation", "arm_actuation", "applied_generalized_force"])
def test_fixed_value_that_is_not_finite_names_the_port(port):
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    value = np.zeros(plant.GetInputPort(port).size())
    value[1] = np.nan
    plant.GetInputPort(port).FixValue(context, value)
    with pytest.raises(RuntimeError, match=rf"Input port '{port}'.*nan.* at time 0.0 s"):
        response(plant, context)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@TIME_STEPS
def test_velocities_that_overflow_the_result_are_reported_with_coordinates(time_step):
    plant = arm_and_box(time_step)
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    plant.SetVelocities(context, [1e200, 1e200, *np.zeros(6)])
    with pytest.raises(RuntimeError, match=r"is not finite in .*arm_slide_v"):
        response(plant, context)


# -- outputs -----------------------------------------------------------------------------------------


@TIME_STEPS
def test_state_ports_give_the_state(time_step):
    plant = arm_and_box(time_step)
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 1)
    x = plant.GetPositionsAndVelocities(context)
    np.testing.assert_array_equal(plant.get_state_output_port().Eval(context), x)
    for name in ("arm", "thing", "WorldModelInstance"):
        instance = plant.GetModelInstanceByName(name)
        np.testing.assert_array_equal(
            plant.get_state_output_port(instance).Eval(context),
            plant.GetPositionsAndVelocities(context, instance),
        )
    plant.SetVelocities(context, np.zeros(8))
    assert not plant.get_state_output_port().Eval(context)[9:].any()


@TIME_STEPS
def test_body_ports_give_poses_and_velocities_by_body_index(time_step):
    plant = arm_and_box(time_step)
    context = plant.CreateDefaultContext()
    for seed in (1, 2):
        set_random_state(plant, context, seed)
        poses = plant.get_body_poses_output_port().Eval(context)
        velocities = plant.get_body_spatial_velocities_output_port().Eval(context)
        assert len(poses) == len(velocities) == plant.num_bodies()
        for index, (X_WB, V_WB_W) in enumerate(zip(poses, velocities)):
            body = plant.get_body(BodyIndex(index))
            assert X_WB.IsExactlyEqualTo(plant.EvalBodyPoseInWorld(context, body))
            expected = plant.EvalBodySpatialVelocityInWorld(context, body).get_coeffs()
            np.testing.assert_array_equal(V_WB_W.get_coeffs(), expected)
    assert poses[0].IsExactlyIdentity() and not velocities[0].get_coeffs().any()


# -- a state that was set behind the plant's back ----------------------------------------------------


def set_raw_state(plant, context, x):
    if plant.is_discrete():
        context.SetDiscreteState(x)
    else:
        context.SetContinuousState(x)


@TIME_STEPS
def test_state_that_is_not_finite_is_reported_with_coordinates(time_step):
    plant = arm_and_box(time_step)
    plant.set_name("robot")
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    x = plant.GetPositionsAndVelocities(context)
    x[[1, 10]] = np.nan
    set_raw_state(plant, context, x)
    with pytest.raises(RuntimeError, match=r"'::robot' at time 0.0 s is not finite in .*arm_slide"):
        response(plant, context)


@TIME_STEPS
def test_zero_quaternion_is_reported_with_its_joint(time_step):
    plant = arm_and_box(time_step)
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    set_raw_state(plant, context, np.zeros(17))
    with pytest.raises(RuntimeError, match=r"quaternion of joint 'box'.*zero at time 0.0 s"):
        response(plant, context)


def test_actuators_of_one_joint_add_up():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", box_inertia())
    pin = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    for name in ("first", "second"):
        plant.AddJointActuator(name, pin).set_default_rotor_inertia(0.5)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [1.0, 2.0])
    assert plant.CalcMassMatrix(context)[0, 0] == pytest.approx(BOX_MASS * (0.1**2 + 0.2**2) / 12 + 1.0)
    assert response(plant, context)[0] * plant.CalcMassMatrix(context)[0, 0] == pytest.approx(3.0)
