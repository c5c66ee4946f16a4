"""Jacobians, bias accelerations and relative motion through the plant: identities among them, and what they refuse."""

import numpy as np
import pytest
from plants import arm_and_box, free_box, set_random_state

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    BodyIndex,
    FixedOffsetFrame,
    JacobianWrtVariable,
    MultibodyForces,
    SpatialInertia,
)

V, QDOT = JacobianWrtVariable.kV, JacobianWrtVariable.kQDot
POINTS = np.arange(6.0).reshape(3, 2) / 7.0


def make_plant(time_step: float = 0.0) -> MultibodyPlant:
    """An arm, a free box, and frames at an offset on a link of the arm and on the box."""
    plant = MultibodyPlant(time_step)
    thing = plant.AddModelInstance("ball")
    ball = plant.AddRigidBody("ball", thing, SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.2, 0.3))
    X_WP = RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [1.0, 2.0, 3.0])
    on_world = plant.AddFrame(FixedOffsetFrame("on_world", plant.world_frame(), X_WP))
    on_ball = plant.AddFrame(FixedOffsetFrame("on_ball", ball, RigidTransform([0.1, 0.2, 0.3])))
    plant.AddJoint(BallRpyJoint("socket", on_world, on_ball))
    return arm_and_box(time_step, plant=plant)


@pytest.fixture(params=[0.0, 1e-3], ids=["continuous", "discrete"])
def plant(request):
    return make_plant(request.param)


@pytest.fixture
def context(plant):
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 4)
    return context


def frames(plant):
    """B, A and E."""
    return plant.GetFrameByName("tool"), plant.GetFrameByName("on_ball"), plant.GetFrameByName("box")


def test_arrays_of_all_bodies_are_those_of_each_and_belong_to_the_caller(plant, context):
    X_WB, J = plant.EvalBodyPosesInWorld(context), plant.CalcBodyJacobiansInWorld(context)
    kept = X_WB.copy(), J.copy()
    assert len(X_WB) == len(J) == plant.num_bodies()
    W = plant.world_frame()
    for index in range(plant.num_bodies()):
        body = plant.get_body(BodyIndex(index))
        np.testing.assert_array_equal(X_WB[index], plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4())
        expected = plant.CalcJacobianSpatialVelocity(context, V, body.body_frame(), np.zeros(3), W, W)
        np.testing.assert_array_equal(J[index], expected)
    plant.SetPositions(context, plant.GetPositions(context) + 0.1)
    assert not np.array_equal(plant.EvalBodyPosesInWorld(context), kept[0])
    assert not np.array_equal(plant.CalcBodyJacobiansInWorld(context), kept[1])
    np.testing.assert_array_equal(X_WB, kept[0])
    np.testing.assert_array_equal(J, kept[1])


def test_the_dynamics_of_a_manipulator_in_one_call_are_those_of_three(plant, context):
    M, Cv, tau_g = plant.CalcManipulatorDynamics(context)
    np.testing.assert_array_equal(M, plant.CalcMassMatrix(context))
    np.testing.assert_array_equal(Cv, plant.CalcBiasTerm(context))
    np.testing.assert_array_equal(tau_g, plant.CalcGravityGeneralizedForces(context))


def test_derivatives_of_all_poses_are_those_of_each():
    plant = make_plant().ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, InitializeAutoDiff(np.linspace(0.3, 0.9, plant.num_positions())).ravel())
    body = plant.GetBodyByName("box")
    found = plant.EvalBodyPosesInWorld(context)[body.index()][:3]
    expected = plant.EvalBodyPoseInWorld(context, body).GetAsMatrix34()
    found, expected = (ExtractGradient(X.reshape(-1, 1)) for X in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    W = plant.world_frame()
    J = plant.CalcBodyJacobiansInWorld(context)[body.index()].reshape(-1, 1)
    expected = plant.CalcJacobianSpatialVelocity(context, V, body.body_frame(), np.zeros(3), W, W).reshape(-1, 1)
    np.testing.assert_allclose(ExtractGradient(J), ExtractGradient(expected), rtol=0, atol=1e-14)


def test_jacobians_agree_with_each_other(plant, context):
    B, A, E = frames(plant)
    J_w = plant.CalcJacobianAngularVelocity(context, V, B, A, E)
    J_v = plant.CalcJacobianTranslationalVelocity(context, V, B, POINTS, A, E)
    for i in range(2):
        J_V = plant.CalcJacobianSpatialVelocity(
            context=context, with_respect_to=V, frame_B=B, p_BoBp_B=POINTS[:, i], frame_A=A, frame_E=E
        )
        np.testing.assert_allclose(J_V, np.vstack([J_w, J_v[3 * i : 3 * i + 3]]), rtol=0, atol=1e-14)
    J_q = plant.CalcJacobianPositionVector(context=context, frame_B=B, p_BoBi_B=POINTS, frame_A=A, frame_E=E)
    np.testing.assert_array_equal(J_q, plant.CalcJacobianTranslationalVelocity(context, QDOT, B, POINTS, A, E))
    N_plus = plant.MakeQDotToVelocityMap(context).toarray()
    np.testing.assert_allclose(J_q, J_v @ N_plus, rtol=0, atol=1e-14)
    assert J_q.shape == (6, plant.num_positions())


def test_jacobian_times_velocities_is_the_velocity_of_frames_and_points(plant, context):
    B, A, E = frames(plant)
    v = plant.GetVelocities(context)
    J_V = plant.CalcJacobianSpatialVelocity(context, V, B, [0.0, 0.0, 0.0], A, E)
    V_AB_E = B.CalcSpatialVelocity(context, A, E).get_coeffs()
    np.testing.assert_allclose(J_V @ v, V_AB_E, rtol=0, atol=1e-13)
    v_AQi_E = plant.CalcPointsVelocities(context=context, frame_B=B, p_BQi=POINTS, frame_A=A, frame_E=E)
    J_v = plant.CalcJacobianTranslationalVelocity(context, V, B, POINTS, A, E)
    np.testing.assert_allclose((J_v @ v).reshape(2, 3).T, v_AQi_E, rtol=0, atol=1e-13)


def test_bias_accelerations_are_what_frames_have_without_accelerations_of_the_joints(plant, context):
    B, A, E = frames(plant)
    plant.get_actuation_input_port().FixValue(context, [0.7, -0.3])
    _, vdot = plant._dynamics.calc_vdot(context)
    J_V = plant.CalcJacobianSpatialVelocity(context, V, B, np.zeros(3), A, E)
    bias = plant.CalcBiasSpatialAcceleration(context, V, B, np.zeros(3), A, E).get_coeffs()
    A_AB_E = B.CalcSpatialAcceleration(context, A, E).get_coeffs()
    np.testing.assert_allclose(bias + J_V @ vdot, A_AB_E, rtol=0, atol=1e-10)
    a = plant.CalcBiasTranslationalAcceleration(context, V, B, POINTS, A, E)
    for i in range(2):
        spatial = plant.CalcBiasSpatialAcceleration(context, V, B, POINTS[:, i], A, E)
        np.testing.assert_allclose(a[:, i], spatial.translational(), rtol=0, atol=1e-12)


def test_accelerations_from_vdot_are_those_of_the_dynamics(plant, context):
    plant.get_actuation_input_port().FixValue(context, [0.7, -0.3])
    _, vdot = plant._dynamics.calc_vdot(context)
    accelerations = plant.CalcSpatialAccelerationsFromVdot(context=context, known_vdot=vdot)
    assert len(accelerations) == plant.num_bodies()
    for i, A_WB_W in enumerate(accelerations):
        expected = plant.EvalBodySpatialAccelerationInWorld(context, plant.get_body(i)).get_coeffs()
        np.testing.assert_allclose(A_WB_W.get_coeffs(), expected, rtol=0, atol=1e-10)


def test_jacobian_in_the_frame_itself_is_zero_and_changes_sign_with_the_frames(plant, context):
    B, A, E = frames(plant)
    other = plant.GetFrameByName("on_ball")
    assert not plant.CalcJacobianSpatialVelocity(context, V, other, [1, 2, 3], other.body().body_frame(), E).any()
    J_w = plant.CalcJacobianAngularVelocity(context, V, B, A, E)
    np.testing.assert_array_equal(plant.CalcJacobianAngularVelocity(context, V, A, B, E), -J_w)


def test_relative_rotation_is_that_of_the_relative_transform(plant, context):
    B, A, _ = frames(plant)
    X_AB = plant.CalcRelativeTransform(context, A, B)
    R_AB = plant.CalcRelativeRotationMatrix(context=context, frame_A=A, frame_B=B)
    np.testing.assert_array_equal(R_AB.matrix(), X_AB.rotation().matrix())
    assert B.CalcPose(context, A).IsNearlyEqualTo(X_AB, 1e-14)


def test_maps_as_matrices_do_what_they_do_as_functions(plant, context):
    rng = np.random.default_rng(0)
    N, N_plus = plant.MakeVelocityToQDotMap(context), plant.MakeQDotToVelocityMap(context)
    v, qdot = rng.normal(size=plant.num_velocities()), rng.normal(size=plant.num_positions())
    np.testing.assert_allclose(N @ v, plant.MapVelocityToQDot(context, v), rtol=1e-13)
    np.testing.assert_allclose(N_plus @ qdot, plant.MapQDotToVelocity(context, qdot), rtol=1e-13)
    np.testing.assert_allclose((N_plus @ N).toarray(), np.eye(len(v)), rtol=0, atol=1e-14)
    assert N.nnz < 40  # blocks, not a full matrix


def test_generalized_forces_of_gravity_are_those_of_its_forces_on_bodies(plant, context):
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    forces.mutable_generalized_forces()[:] = 0.0
    tau = plant.CalcGeneralizedForces(context=context, forces=forces)
    np.testing.assert_allclose(tau, plant.CalcGravityGeneralizedForces(context), rtol=0, atol=1e-12)
    forces.mutable_generalized_forces()[1] = 5.0
    assert plant.CalcGeneralizedForces(context, forces)[1] == pytest.approx(tau[1] + 5.0, rel=1e-14)


def test_mass_matrix_by_inverse_dynamics_leaves_the_kinematics_right(plant, context):
    v = plant.EvalBodySpatialVelocityInWorld(context, plant.GetBodyByName("tool")).get_coeffs()
    M = plant.CalcMassMatrixViaInverseDynamics(context)
    np.testing.assert_allclose(M, plant.CalcMassMatrix(context), rtol=0, atol=1e-13)
    again = plant.EvalBodySpatialVelocityInWorld(context, plant.GetBodyByName("tool")).get_coeffs()
    np.testing.assert_array_equal(v, again)


def test_frames_that_move_in_their_bodies_move_the_jacobian(plant, context):
    frame = plant.GetFrameByName("on_ball")
    W = plant.world_frame()
    plant.CalcJacobianSpatialVelocity(context, V, frame, np.zeros(3), W, W)
    frame.SetPoseInParentFrame(context, RigidTransform([0.0, 0.5, 0.0]))
    J = plant.CalcJacobianSpatialVelocity(context, V, frame, np.zeros(3), W, W)
    V_WF_W = frame.CalcSpatialVelocityInWorld(context).get_coeffs()
    np.testing.assert_allclose(J @ plant.GetVelocities(context), V_WF_W, rtol=0, atol=1e-13)


def test_jacobian_follows_the_state(plant, context):
    B, A, E = frames(plant)
    before = plant.CalcJacobianSpatialVelocity(context, V, B, np.zeros(3), A, E)
    kept = before.copy()
    plant.SetPositions(context, plant.GetPositions(context) + 0.1)
    after = plant.CalcJacobianSpatialVelocity(context, V, B, np.zeros(3), A, E)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_array_equal(before, kept)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((V, "B", np.zeros(4), "A", "E"), ValueError, r"CalcJacobianSpatialVelocity\(\): p_BoBp_B .*\(4,\)"),
        ((V, "B", np.zeros((3, 2)), "A", "E"), ValueError, r"p_BoBp_B must be one point.*\(3, 2\)"),
        ((V, "B", [0, np.nan, 0], "A", "E"), ValueError, "p_BoBp_B must be finite"),
        ((V, "B", ["x", "y", "z"], "A", "E"), TypeError, "numbers"),
        (("kV", "B", np.zeros(3), "A", "E"), TypeError, "with_respect_to must be JacobianWrtVariable"),
        ((V, "stranger", np.zeros(3), "A", "E"), RuntimeError, r"CalcJacobianSpatialVelocity\(\).*another plant"),
        ((V, "B", np.zeros(3), "loose", "E"), RuntimeError, "no plant yet"),
        ((V, "B", np.zeros(3), "A", "body"), TypeError, r"takes frames, got a RigidBody.*body_frame\(\)"),
        ((V, "B", np.zeros(3), "A", "array"), TypeError, "takes frames, got a ndarray"),
    ],
)
def test_wrong_arguments_of_jacobians_are_refused(plant, context, arguments, error, message):
    named = dict(zip("BAE", frames(plant)))
    named["stranger"] = free_box(0.0)[1].body_frame()
    named["loose"] = FixedOffsetFrame("loose", plant.world_frame(), RigidTransform())
    named["body"] = plant.GetBodyByName("tool")
    named["array"] = np.zeros(3)
    given = [named.get(a, a) if isinstance(a, str) else a for a in arguments]
    with pytest.raises(error, match=message):
        plant.CalcJacobianSpatialVelocity(context, *given)


def test_bias_accelerations_are_defined_for_velocities_only(plant, context):
    B, A, E = frames(plant)
    for call in (
        lambda s: plant.CalcBiasSpatialAcceleration(context, s, B, np.zeros(3), A, E),
        lambda s: plant.CalcBiasTranslationalAcceleration(context, s, B, POINTS, A, E),
        lambda s: plant.CalcBiasCenterOfMassTranslationalAcceleration(context, s, A, E),
    ):
        with pytest.raises(RuntimeError, match=r"CalcBias\w+\(\).*kV only"):
            call(QDOT)
        with pytest.raises(TypeError, match="with_respect_to"):
            call(1)


def test_wrong_vectors_of_points_and_accelerations_are_refused(plant, context):
    B, A, E = frames(plant)
    with pytest.raises(ValueError, match=r"CalcPointsVelocities\(\): p_BQi .*\[3, n\].*\(2, 3\)"):
        plant.CalcPointsVelocities(context, B, np.zeros((2, 3)), A, E)
    with pytest.raises(ValueError, match=r"CalcSpatialAccelerationsFromVdot\(\).* size 11"):
        plant.CalcSpatialAccelerationsFromVdot(context, np.zeros(8))
    with pytest.raises(ValueError, match="2 bodies and 6 velocities"):
        plant.CalcGeneralizedForces(context, MultibodyForces(free_box(0.0)[0]))
    forces = MultibodyForces(plant)
    forces.mutable_generalized_forces()[0] = np.inf
    with pytest.raises(ValueError, match="finite"):
        plant.CalcGeneralizedForces(context, forces)
