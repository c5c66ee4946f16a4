"""The algorithms by their identities: equations of motion, power, momentum, and the same results as the plant's."""

import numpy as np
import pytest
from plants import arm_and_box, off_centre_inertia, set_random_state

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.algorithms import (
    DynamicsResult,
    MechanismState,
    PDGains,
    SE3PDGains,
    center_of_mass,
    default_constraint_stabilization_gains,
    dynamics,
    dynamics_bias,
    geometric_jacobian,
    inverse_dynamics,
    mass,
    mass_matrix,
    momentum_matrix,
    path,
    point_jacobian,
    subtree_mass,
)
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BallRpyJoint, FixedOffsetFrame, RevoluteJoint

TOLERANCE = 1e-11  # rounding in sums of some hundred terms of order 10


@pytest.fixture(scope="module")
def plant():
    return arm_and_box(0.0)


@pytest.fixture
def state(plant):
    state = MechanismState(plant)
    set_random_state(plant, state.context, 4)
    return state


def body(state, name):
    return state.mechanism.GetBodyByName(name)


def some_wrenches(state):
    rng = np.random.default_rng(9)
    return {body(state, "lower"): rng.normal(size=6), body(state, "box"): SpatialForce(rng.normal(size=6))}


def twists(state):
    """[w; v at Wo] of all bodies, shape [num_bodies, 6]."""
    plant, rows = state.mechanism, []
    for index in plant.GetBodyIndices():
        X = plant.EvalBodyPoseInWorld(state.context, plant.get_body(index))
        V = plant.EvalBodySpatialVelocityInWorld(state.context, plant.get_body(index))
        w = V.rotational()
        rows.append(np.concatenate([w, V.translational() - np.cross(w, X.translation())]))
    return np.array(rows)


def along_motion(state, qdot, vdot, function):
    """Time derivative of a function of the state, by a central difference."""
    q, v = state.configuration(), state.velocity()
    h = 1e-6

    def at(h):
        state.set_configuration(q + h * qdot)
        state.set_velocity(v + h * vdot)
        return function(state)

    derivative = (at(h) - at(-h)) / (2.0 * h)
    at(0.0)
    return derivative


def sliding_loop():
    """Two arms on the world, joined by a ball, with a third loop joint that follows from it."""
    plant = MultibodyPlant(0.0)
    ends = []
    for k, axis in enumerate(([0, 0, 1], [0, 1, 0])):
        arm = plant.AddRigidBody(f"arm{k}", off_centre_inertia())
        plant.AddJoint(RevoluteJoint(f"base{k}", plant.world_frame(), arm.body_frame(), axis))
        hand = plant.AddRigidBody(f"hand{k}", off_centre_inertia())
        X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.5, 0.1, 0.0])
        elbow = plant.AddFrame(FixedOffsetFrame(f"elbow{k}", arm.body_frame(), X))
        plant.AddJoint(BallRpyJoint(f"wrist{k}", elbow, hand.body_frame()))
        X = RigidTransform([0.4, 0.0, 0.1])
        ends.append(plant.AddFrame(FixedOffsetFrame(f"end{k}", hand.body_frame(), X)))
    plant.AddLoopJoint(BallRpyJoint("closure", *ends))
    plant.AddLoopJoint(BallRpyJoint("again", *ends))
    plant.Finalize()
    state = MechanismState(plant)
    rng = np.random.default_rng(3)
    state.set_configuration(0.5 * rng.normal(size=plant.num_positions()))
    state.set_velocity(rng.normal(size=plant.num_velocities()))
    return state


# -- dynamics ------------------------------------------------------------------------------------------------


def test_inverse_dynamics_undoes_dynamics(state):
    tau = np.random.default_rng(1).normal(size=8)
    wrenches = some_wrenches(state)
    result = dynamics(state, tau, wrenches)
    np.testing.assert_allclose(inverse_dynamics(state, result.vdot, wrenches), tau, atol=TOLERANCE)
    np.testing.assert_allclose(result.massmatrix @ result.vdot + result.dynamicsbias, tau, atol=TOLERANCE)
    np.testing.assert_array_equal(result.dynamicsbias, dynamics_bias(state, wrenches))
    assert result.lambda_.shape == (0,) and result.constraintjacobian.shape == (0, 8)


def test_mass_matrix_and_bias_are_those_of_the_plant(state):
    plant, context = state.mechanism, state.context
    np.testing.assert_array_equal(mass_matrix(state), plant.CalcMassMatrix(context))
    expected = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
    np.testing.assert_allclose(dynamics_bias(state), expected, atol=TOLERANCE)


def test_external_wrenches_act_at_the_origin_of_the_world(state):
    """Their power is that of the twists of the bodies."""
    wrenches = some_wrenches(state)
    v = state.velocity()
    power = sum(twists(state)[b.index()] @ getattr(F, "get_coeffs", lambda F=F: F)() for b, F in wrenches.items())
    assert v @ (dynamics_bias(state) - dynamics_bias(state, wrenches)) == pytest.approx(power, abs=TOLERANCE)


def test_accelerations_are_the_rates_of_the_twists(state):
    result = dynamics(state, np.ones(8), some_wrenches(state))
    rates = along_motion(state, result.qdot, result.vdot, twists)
    np.testing.assert_allclose(result.accelerations, rates, atol=1e-7)
    accelerations = np.full((5, 6), np.nan)
    inverse_dynamics(state, result.vdot, accelerations_out=accelerations)
    np.testing.assert_allclose(accelerations, result.accelerations, atol=TOLERANCE)


def test_joint_wrenches_gravity_and_external_wrenches_change_the_momentum(state):
    wrenches = some_wrenches(state)
    result = dynamics(state, np.ones(8), wrenches)
    momentum_rate = along_motion(state, result.qdot, result.vdot, lambda s: momentum_matrix(s) @ s.velocity())
    weight = mass(state) * state.mechanism.gravity_field().gravity_vector()
    total = np.concatenate([np.cross(center_of_mass(state), weight), weight])
    total += sum(getattr(F, "get_coeffs", lambda F=F: F)() for F in wrenches.values())
    for name in ("upper", "box"):  # their inboard joints are on the world
        total = total + result.jointwrenches[body(state, name).index()]
    np.testing.assert_allclose(total, momentum_rate, atol=1e-6)


def test_torques_are_what_joint_wrenches_do_along_joints(state):
    vdot = np.random.default_rng(2).normal(size=8)
    wrenches = np.full((5, 6), np.nan)
    tau = inverse_dynamics(state, vdot, jointwrenches_out=wrenches)
    plant = state.mechanism
    slide = plant.GetJointByName("slide")
    route = path(plant, body(state, "upper"), body(state, "lower"))
    J = geometric_jacobian(state, route)[:, slide.velocity_start()]
    assert J @ wrenches[body(state, "lower").index()] == pytest.approx(tau[slide.velocity_start()], abs=TOLERANCE)


def test_dynamics_takes_and_gives_the_vectors_of_integrators(state):
    plant = state.mechanism
    x = np.concatenate([state.configuration(), state.velocity()])
    xdot = np.full(len(x), np.nan)
    other = MechanismState(plant)
    result = dynamics(other, x=x, xdot_out=xdot)
    np.testing.assert_array_equal(xdot, np.concatenate([result.qdot, result.vdot]))
    np.testing.assert_array_equal(result.vdot, dynamics(state).vdot)
    np.testing.assert_allclose(result.qdot, plant.MapVelocityToQDot(state.context, state.velocity()), atol=TOLERANCE)


# -- loops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gains", ["default", None, "first"])
def test_loops_satisfy_the_equations_of_motion_and_of_the_constraints(gains):
    state = sliding_loop()
    plant = state.mechanism
    joint = plant.GetLoopJointByName("closure")
    mine = SE3PDGains(PDGains(5.0, 3.0), PDGains(7.0, 2.0))
    given = {"default": default_constraint_stabilization_gains(), None: None, "first": {joint: mine}}[gains]
    if gains == "first":
        state.mechanism.CloseLoops(state.context)  # else the two joints, of different gains, contradict each other
    tau = np.random.default_rng(8).normal(size=8)
    result = dynamics(state, tau, stabilization_gains=given)
    K, lambda_ = result.constraintjacobian, result.lambda_
    assert K.shape == (6, 8) and result.constraintrowranges == [slice(0, 3), slice(3, 6)]
    forces = tau - K.T @ lambda_
    np.testing.assert_allclose(result.massmatrix @ result.vdot + result.dynamicsbias, forces, atol=1e-10)
    np.testing.assert_allclose(K @ result.vdot, -result.constraintbias, atol=1e-10)
    k, d = {"default": (100.0, 20.0), None: (0.0, 0.0), "first": (7.0, 2.0)}[gains]
    g, gdot = plant.CalcLoopJointErrors(state.context), K @ state.velocity()

    def rates(s):
        return plant.CalcLoopJointJacobian(s.context) @ s.velocity()

    rate = along_motion(state, result.qdot, result.vdot, rates)
    np.testing.assert_allclose(rate, -k * g - d * gdot, atol=1e-6)


def test_default_gains_give_the_motion_of_the_plant():
    state = sliding_loop()
    xdot = state.mechanism.EvalTimeDerivatives(state.context).CopyToVector()
    np.testing.assert_allclose(dynamics(state).vdot, xdot[-8:], atol=1e-10)


def test_inverse_dynamics_refuses_loops_and_dynamics_wrong_gains():
    state = sliding_loop()
    with pytest.raises(RuntimeError, match=r"inverse_dynamics\(\): plant '.*' has loop joints \('closure'\)"):
        inverse_dynamics(state, np.zeros(8))
    gains = {state.mechanism.GetJointByName("base0"): default_constraint_stabilization_gains()}
    with pytest.raises(RuntimeError, match="not a loop joint"):
        dynamics(state, stabilization_gains=gains)
    with pytest.raises(TypeError, match="stabilization_gains must be"):
        dynamics(state, stabilization_gains=3.0)


# -- Jacobians and momentum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), [("world", "tool"), ("box", "tool"), ("tool", "upper"), ("box", "box")])
def test_a_geometric_jacobian_maps_velocities_to_the_relative_twist(state, source, target):
    route = path(state.mechanism, body(state, source), body(state, target))
    difference = twists(state)[route.target.index()] - twists(state)[route.source.index()]
    J = geometric_jacobian(state, route)
    np.testing.assert_allclose(J @ state.velocity(), difference, atol=TOLERANCE)
    X_DW = RigidTransform(RollPitchYaw(0.3, 0.1, -0.2), [1.0, 2.0, 3.0])
    R, p = X_DW.rotation().matrix(), X_DW.translation()
    moved = np.concatenate([R @ difference[:3], R @ difference[3:] + np.cross(p, R @ difference[:3])])
    np.testing.assert_allclose(geometric_jacobian(state, route, X_DW) @ state.velocity(), moved, atol=TOLERANCE)
    np.testing.assert_array_equal(geometric_jacobian(state, route, lambda columns: 2.0 * columns), 2.0 * J)


def test_a_path_names_joints_and_directions(state):
    plant = state.mechanism
    route = path(plant, body(state, "lower"), body(state, "box"))
    assert [joint.name() for joint in route.joints] == ["slide", "shoulder", "box"]
    assert route.directions == (-1, -1, 1)


def test_a_point_jacobian_maps_velocities_to_the_velocity_of_the_point(state):
    plant = state.mechanism
    tool = body(state, "tool")
    route = path(plant, plant.world_body(), tool)
    p_BQ = np.array([0.3, -0.1, 0.2])
    xdot = plant.MapVelocityToQDot(state.context, state.velocity())

    def place(s):
        return plant.EvalBodyPoseInWorld(s.context, tool).multiply(p_BQ)

    v_WQ = along_motion(state, xdot, 0.0, place)
    np.testing.assert_allclose(point_jacobian(state, route, place(state)) @ state.velocity(), v_WQ, atol=1e-8)
    R_WB = plant.EvalBodyPoseInWorld(state.context, tool).rotation().matrix()
    in_body = point_jacobian(state, route, p_BQ, tool.body_frame())
    np.testing.assert_allclose(in_body @ state.velocity(), R_WB.T @ v_WQ, atol=1e-8)


def test_the_momentum_matrix_maps_velocities_to_the_momentum_of_all_bodies(state):
    plant = state.mechanism
    total = np.zeros(6)
    for index in plant.GetBodyIndices():
        b = plant.get_body(index)
        if index == 0:
            continue
        X, V = plant.EvalBodyPoseInWorld(state.context, b), plant.EvalBodySpatialVelocityInWorld(state.context, b)
        R, inertia = X.rotation().matrix(), b.CalcSpatialInertiaInBodyFrame(state.context)
        w, v = R.T @ V.rotational(), R.T @ V.translational()
        c, m = inertia.get_com(), inertia.get_mass()
        l = R @ (m * (v + np.cross(w, c)))
        h = R @ (m * inertia.get_unit_inertia().CopyToFullMatrix3() @ w + m * np.cross(c, v))
        total += np.concatenate([h + np.cross(X.translation(), l), l])
    A = momentum_matrix(state)
    np.testing.assert_allclose(A @ state.velocity(), total, atol=TOLERANCE)
    centre = center_of_mass(state)
    centroidal = momentum_matrix(state, RigidTransform(-centre)) @ state.velocity()
    moment = total[:3] - np.cross(centre, total[3:])
    np.testing.assert_allclose(centroidal, [*moment, *total[3:]], atol=TOLERANCE)


def test_masses_and_centres_of_mass(state):
    plant = state.mechanism
    bodies = [plant.get_body(i) for i in plant.GetBodyIndices()]
    assert mass(plant) == mass(state) == plant.CalcTotalMass(state.context) == subtree_mass(plant.world_body(), plant)
    assert subtree_mass(body(state, "lower"), plant) == pytest.approx(0.7 + 1.5)
    expected = plant.CalcCenterOfMassPositionInWorld(state.context)
    np.testing.assert_allclose(center_of_mass(state), expected, atol=TOLERANCE)
    np.testing.assert_allclose(center_of_mass(state, bodies), expected, atol=TOLERANCE)
    body(state, "box").SetMass(state.context, 100.0)
    assert subtree_mass(body(state, "box"), state) == 100.0
    assert np.abs(center_of_mass(state) - expected).max() > 0.1
    with pytest.raises(RuntimeError, match="total mass is zero"):
        center_of_mass(state, [plant.world_body()])


# -- outputs and scalars -------------------------------------------------------------------------------------


def test_results_are_written_to_out(state):
    plant = state.mechanism
    route = path(plant, plant.world_body(), body(state, "tool"))
    calls = [
        (mass_matrix, (), (8, 8)),
        (dynamics_bias, (), (8,)),
        (inverse_dynamics, (np.ones(8),), (8,)),
        (geometric_jacobian, (route,), (6, 8)),
        (point_jacobian, (route, [1.0, 2.0, 3.0]), (3, 8)),
        (momentum_matrix, (), (6, 8)),
    ]
    for function, arguments, shape in calls:
        out = np.full(shape, np.nan)
        assert function(state, *arguments, out=out) is out
        np.testing.assert_array_equal(out, function(state, *arguments))
        with pytest.raises(ValueError, match=rf"{function.__name__}\(\): out must be"):
            function(state, *arguments, out=np.zeros(7))
        with pytest.raises(TypeError, match="float32"):
            function(state, *arguments, out=np.zeros(shape, np.float32))
        flat = bytes(np.zeros(shape))
        read_only = np.frombuffer(flat).reshape(shape)
        with pytest.raises(ValueError, match=rf"{function.__name__}\(\): out must be .* read-only"):
            function(state, *arguments, out=read_only)
        assert flat == bytes(np.zeros(shape)), "it was written to"
        shifted = np.zeros(8 * read_only.size + 1, np.uint8)[1:].view(np.float64).reshape(shape)
        with pytest.raises(ValueError, match="not aligned"):
            function(state, *arguments, out=shifted)
        size = read_only.size
        inside = state.context.store.flat[:size].reshape(shape)
        with pytest.raises(ValueError, match="must not share memory with the context"):
            function(state, *arguments, out=inside)
    result = DynamicsResult(state)
    assert dynamics(state, out=result) is result
    with pytest.raises(RuntimeError, match="another mechanism"):
        dynamics(sliding_loop(), out=result)


def test_outputs_that_share_memory_or_were_replaced_are_refused_by_name(state):
    vdot, wrenches = np.ones(8), np.zeros((len(state.mechanism._tree.topology), 6))
    with pytest.raises(ValueError, match=r"inverse_dynamics\(\): out must not share memory with vdot"):
        inverse_dynamics(state, vdot, out=vdot)
    with pytest.raises(ValueError, match="accelerations_out must not share memory with jointwrenches_out"):
        inverse_dynamics(state, vdot, jointwrenches_out=wrenches, accelerations_out=wrenches)
    result = DynamicsResult(state)
    size = len(state.configuration()) + 8
    with pytest.raises(ValueError, match=r"xdot_out must not share memory with out.massmatrix"):
        dynamics(state, out=result, xdot_out=result.massmatrix.ravel()[:size])
    result.vdot = np.zeros(3)
    with pytest.raises(ValueError, match=r"dynamics\(\): out.vdot must be a contiguous array of shape \(8,\)"):
        dynamics(state, out=result)


def test_torques_may_be_an_array_of_the_result():
    state = sliding_loop()
    result = dynamics(state)
    expected = dynamics(state, result.dynamicsbias.copy()).vdot
    np.testing.assert_array_equal(dynamics(state, result.dynamicsbias, out=result).vdot, expected)


def test_a_complex_context_differentiates_the_dynamics():
    state = sliding_loop()
    plant = state.mechanism
    context = plant._make_context(np.complex128)
    plant.SetDefaultContext(context)
    direction = np.random.default_rng(0).normal(size=len(state.configuration()))
    context.SetContinuousState(np.concatenate([state.configuration() + 1e-100j * direction, state.velocity()]))
    exact = dynamics(MechanismState(plant, context)).lambda_.imag / 1e-100
    difference = along_motion(state, direction, 0.0, lambda s: dynamics(s).lambda_)
    np.testing.assert_allclose(exact, difference, atol=1e-5 * np.abs(exact).max())


def test_bad_arguments_are_refused(state):
    with pytest.raises(TypeError, match="takes a MultibodyPlant"):
        MechanismState(state.context)
    with pytest.raises(RuntimeError, match="Finalize"):
        MechanismState(MultibodyPlant(0.0))
    with pytest.raises(ValueError, match="dynamics: torques"):
        dynamics(state, np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        inverse_dynamics(state, np.full(8, np.nan))
    stranger = sliding_loop().mechanism.GetBodyByName("arm0")
    with pytest.raises(RuntimeError, match="arm0"):
        dynamics(state, None, {stranger: np.zeros(6)})
    with pytest.raises(TypeError, match="root_to_desired must be"):
        momentum_matrix(state, 3.0)
