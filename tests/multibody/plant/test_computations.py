"""Kinematics and dynamics as functions: identities among them, and what they refuse."""

import numpy as np
import pytest
from plants import arm_and_box, box_inertia, free_box, set_random_state

from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, MultibodyForces, RevoluteJoint


@pytest.fixture(params=[0.0, 1e-3], ids=["continuous", "discrete"])
def plant(request):
    return arm_and_box(request.param)


@pytest.fixture
def context(plant):
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 4)
    return context


def inverse_dynamics(plant, context, vdot):
    """Without external forces: M vdot + C v."""
    return plant.CalcInverseDynamics(context, vdot, MultibodyForces(plant))


def test_inverse_dynamics_is_mass_matrix_and_bias(plant, context):
    vdot = np.random.default_rng(0).normal(size=8)
    expected = plant.CalcMassMatrix(context) @ vdot + plant.CalcBiasTerm(context)
    np.testing.assert_allclose(inverse_dynamics(plant, context, vdot), expected, rtol=1e-12)


def test_what_is_computed_does_not_depend_on_what_was_asked_for_before(plant, context):
    def everything(context):
        return plant.EvalBodyPoseInWorld(context, tool).GetAsMatrix34(), plant.CalcMassMatrix(context)

    tool, other = plant.GetBodyByName("tool"), plant.CreateDefaultContext()
    for seed in range(3):
        set_random_state(plant, context, seed)
        plant.SetPositions(other, plant.GetPositions(context))
        M = plant.CalcMassMatrix(other)  # before the pose; in `context` after it
        X_WB = plant.EvalBodyPoseInWorld(other, tool).GetAsMatrix34()
        for clone in (context.Clone(), context):
            for ours, expected in zip(everything(clone), (X_WB, M), strict=True):
                np.testing.assert_array_equal(ours, expected)


def test_pose_is_a_copy(plant, context):
    tool = plant.GetBodyByName("tool")
    X_WB = plant.EvalBodyPoseInWorld(context, tool)
    before = X_WB.GetAsMatrix34()
    set_random_state(plant, context, 5)
    assert not np.array_equal(plant.EvalBodyPoseInWorld(context, tool).GetAsMatrix34(), before)
    np.testing.assert_array_equal(X_WB.GetAsMatrix34(), before)


def test_mass_matrix_is_the_hessian_of_kinetic_energy_and_holds_the_rotor(plant, context):
    M = plant.CalcMassMatrix(context)
    v = plant.GetVelocities(context)
    np.testing.assert_allclose(M, M.T, rtol=0.0, atol=1e-15)
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert plant.CalcKineticEnergy(context) == pytest.approx(v @ M @ v / 2, rel=1e-14)
    motor = plant.GetJointActuatorByName("motor")
    motor.set_default_rotor_inertia(0.0)
    other = plant.CreateDefaultContext()
    plant.SetPositions(other, plant.GetPositions(context))
    difference = M - plant.CalcMassMatrix(other)
    assert difference[0, 0] == pytest.approx(3.0**2 * 0.01)
    difference[0, 0] = 0.0
    np.testing.assert_allclose(difference, 0.0, atol=1e-15)


def test_gravity_forces_are_the_gradient_of_potential_energy(plant, context):
    """Along every velocity: d/dt potential energy = -tau_g . v, by central differences."""
    tau_g, q = plant.CalcGravityGeneralizedForces(context), plant.GetPositions(context)
    for k in range(8):
        qdot = plant.MapVelocityToQDot(context, np.eye(8)[k])
        energy = []
        for h in (1e-6, -1e-6):
            other = context.Clone()
            plant.SetPositions(other, q + h * qdot)
            energy.append(plant.CalcPotentialEnergy(other))
        assert (energy[0] - energy[1]) / 2e-6 == pytest.approx(-tau_g[k], abs=1e-7)


def test_force_elements_are_gravity_and_damping(plant, context):
    forces = MultibodyForces(plant)
    forces.mutable_generalized_forces()[:] = 7.0  # overwritten
    plant.CalcForceElementsContribution(context, forces)
    tau = -plant.CalcInverseDynamics(context, np.zeros(8), forces) + plant.CalcBiasTerm(context)
    damping = [0.3, 0, 0, 0, 0, 0, 0, 0]
    expected = plant.CalcGravityGeneralizedForces(context) - damping * plant.GetVelocities(context)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-13)


def test_forward_dynamics_inverts_inverse_dynamics():
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    rng = set_random_state(plant, context, 4)
    u, tau = rng.normal(size=2), rng.normal(size=8)
    plant.get_actuation_input_port().FixValue(context, u)
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    forces.mutable_generalized_forces()[:] += tau
    np.testing.assert_allclose(
        plant.CalcInverseDynamics(context=context, known_vdot=xdot[9:], external_forces=forces),
        plant.MakeActuationMatrix() @ u,
        rtol=1e-11,
        atol=1e-11,
    )
    np.testing.assert_array_equal(xdot[:9], plant.MapVelocityToQDot(context, plant.GetVelocities(context)))


def test_velocity_is_the_derivative_of_pose(plant, context):
    qdot = plant.MapVelocityToQDot(context, plant.GetVelocities(context))
    np.testing.assert_allclose(plant.MapQDotToVelocity(context, qdot), plant.GetVelocities(context), rtol=1e-13)
    tool = plant.GetBodyByName("tool")
    V_WB_W = plant.EvalBodySpatialVelocityInWorld(context, tool)
    h, poses = 1e-6, []
    for sign in (1, -1):
        other = context.Clone()
        plant.SetPositions(other, plant.GetPositions(context) + sign * h * qdot)
        poses.append(plant.EvalBodyPoseInWorld(other, tool).GetAsMatrix4())
    derivative = (poses[0] - poses[1]) / (2 * h)
    np.testing.assert_allclose(derivative[:3, 3], V_WB_W.translational(), atol=1e-8)
    w_x = derivative[:3, :3] @ plant.EvalBodyPoseInWorld(context, tool).rotation().matrix().T
    np.testing.assert_allclose([w_x[2, 1], w_x[0, 2], w_x[1, 0]], V_WB_W.rotational(), atol=1e-8)


def test_relative_transforms_and_points():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", box_inertia())
    plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    X_BF = RigidTransform([1.0, 0.0, 0.5])
    frame = plant.AddFrame(FixedOffsetFrame("f", body.body_frame(), X_BF))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [np.pi / 2])
    X_WF = plant.CalcRelativeTransform(context, plant.world_frame(), frame)
    np.testing.assert_allclose(X_WF.translation(), [0, 1, 0.5], atol=1e-15)
    X_FW = plant.CalcRelativeTransform(context, frame_A=frame, frame_B=plant.world_frame())
    assert (X_FW @ X_WF).IsNearlyIdentity(1e-15)
    p_WQ = plant.CalcPointsPositions(context, frame, [1.0, 0.0, 0.0], plant.world_frame())
    np.testing.assert_allclose(p_WQ, [[0], [2], [0.5]], atol=1e-15)
    points = np.arange(12.0).reshape(3, 4)
    p_WQ = plant.CalcPointsPositions(context, frame_B=frame, p_BQi=points, frame_A=plant.world_frame())
    np.testing.assert_allclose(p_WQ, X_WF.multiply(points), atol=1e-14)
    for bad in (np.zeros(4), np.zeros((4, 3)), np.zeros((3, 2, 2))):
        with pytest.raises(ValueError, match=r"\[3, n\]"):
            plant.CalcPointsPositions(context, frame, bad, plant.world_frame())
    with pytest.raises(TypeError, match=r"frames.*body_frame\(\)"):
        plant.CalcRelativeTransform(context, body, frame)


def test_masses_and_centres(plant, context):
    arm, thing = (plant.GetModelInstanceByName(name) for name in ("arm", "thing"))
    assert plant.CalcTotalMass(context) == pytest.approx(1.5 + 0.7 + 1.5 + 1.5)
    assert plant.CalcTotalMass(context, [thing]) == 1.5
    assert plant.CalcTotalMass(context=context, model_instances=[arm, thing, thing]) == pytest.approx(5.2)
    assert plant.CalcTotalMass(context, []) == 0.0
    X_WB = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("box"))
    p_WoBcm_W = X_WB.multiply(np.array([0.1, -0.2, 0.3]))
    p_WoTcm_W = plant.CalcCenterOfMassPositionInWorld(context, model_instances=[thing])
    np.testing.assert_allclose(p_WoTcm_W, p_WoBcm_W, atol=1e-14)
    p_WoAcm_W = plant.CalcCenterOfMassPositionInWorld(context, [arm])
    p_WoScm_W = plant.CalcCenterOfMassPositionInWorld(context)
    np.testing.assert_allclose(5.2 * p_WoScm_W, 1.5 * p_WoTcm_W + 3.7 * p_WoAcm_W, atol=1e-13)
    # Gravity sees the whole mass at the centre of mass.
    assert plant.CalcPotentialEnergy(context) == pytest.approx(5.2 * 9.81 * p_WoScm_W[2])
    for instances in ([], [0]):
        with pytest.raises(RuntimeError, match="have no bodies"):
            plant.CalcCenterOfMassPositionInWorld(context, instances)
    with pytest.raises(RuntimeError, match="no model instance with index 17"):
        plant.CalcTotalMass(context, [17])


def test_wrong_arguments_are_refused(plant, context):
    forces, vdot = MultibodyForces(plant), np.zeros(8)
    other_plant, other_body = free_box(0.0)
    with pytest.raises(ValueError, match=r"CalcInverseDynamics\(\).* size 8"):
        plant.CalcInverseDynamics(context, np.zeros(7), forces)
    with pytest.raises(ValueError, match="element 0"):
        plant.CalcInverseDynamics(context, vdot + np.nan, forces)
    with pytest.raises(ValueError, match=r"2 bodies and 6 velocities.*has 5 and 8"):
        plant.CalcInverseDynamics(context, vdot, MultibodyForces(other_plant))
    with pytest.raises(ValueError, match="2 bodies and 6 velocities"):
        plant.CalcForceElementsContribution(context, MultibodyForces(other_plant))
    for call in (lambda: plant.CalcInverseDynamics(context, vdot, vdot),
                 lambda: plant.CalcForceElementsContribution(context, vdot)):  # fmt: skip
        with pytest.raises(TypeError, match="MultibodyForces"):
            call()
    bad = MultibodyForces(plant)
    bad.mutable_generalized_forces()[2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        plant.CalcInverseDynamics(context, vdot, bad)
    bad = MultibodyForces(plant)
    plant.GetBodyByName("tool").AddInForceInWorld(context, SpatialForce([np.inf] * 6), bad)
    with pytest.raises(ValueError, match="finite"):
        plant.CalcInverseDynamics(context, vdot, bad)
    with pytest.raises(ValueError, match=r"MapVelocityToQDot\(\).* size 8"):
        plant.MapVelocityToQDot(context, np.zeros(9))
    with pytest.raises(ValueError, match=r"MapQDotToVelocity\(\).* size 9"):
        plant.MapQDotToVelocity(context, np.zeros(8))
    with pytest.raises(RuntimeError, match="another plant"):
        plant.EvalBodyPoseInWorld(context, other_body)
    with pytest.raises(RuntimeError, match="another plant"):
        plant.CalcRelativeTransform(context, plant.world_frame(), other_body.body_frame())
    with pytest.raises(TypeError, match="RigidBody"):
        plant.EvalBodyPoseInWorld(context, "tool")


def test_velocity_equals_qdot_without_quaternions():
    assert not arm_and_box(0.0).IsVelocityEqualToQDot()
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", box_inertia())
    plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    plant.Finalize()
    assert plant.IsVelocityEqualToQDot()
