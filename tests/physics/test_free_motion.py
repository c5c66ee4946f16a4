"""A free body: closed forms of falling and turning, conservation of momentum."""

import numpy as np
import pytest
import scipy.special
from plants import free_box, off_centre_inertia

from merganser.analysis import (
    ImplicitEulerIntegrator,
    RadauIntegrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    SemiExplicitEulerIntegrator,
    Simulator,
)
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import SpatialInertia, UnitInertia

G = 9.81
X_START = RigidTransform(RollPitchYaw(0.1, -0.4, 2.0), [1.0, 2.0, 30.0])


def simulate(plant, body, V_WB_W, duration, accuracy=1e-8):
    simulator = Simulator(plant)
    simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    context = simulator.get_mutable_context()
    plant.SetFreeBodyPose(context, body, X_START)
    plant.SetFreeBodySpatialVelocity(context, body, V_WB_W)
    simulator.AdvanceTo(duration)
    return context


def momentum(plant, context, body):
    """Linear momentum, and angular momentum about the centre of mass, in W [kg m/s, kg m^2/s]."""
    M_BBo_B = body.default_spatial_inertia()
    R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
    V_WB_W = plant.EvalBodySpatialVelocityInWorld(context, body)
    I_BBcm_B = M_BBo_B.Shift(M_BBo_B.get_com()).CopyToFullMatrix6()[:3, :3]
    V_WBcm_W = V_WB_W.Shift(R_WB @ M_BBo_B.get_com())
    return np.concatenate(
        [M_BBo_B.get_mass() * V_WBcm_W.translational(), R_WB @ I_BBcm_B @ R_WB.T @ V_WB_W.rotational()]
    )


def test_continuous_fall_is_a_parabola():
    """RungeKutta3 is exact for it, up to rounding."""
    plant, body = free_box(0.0)
    context = simulate(plant, body, SpatialVelocity([0, 0, 0], [3.0, -1.0, 5.0]), 2.0)
    X_WB = plant.EvalBodyPoseInWorld(context, body)
    np.testing.assert_allclose(X_WB.translation(), [1 + 3 * 2, 2 - 1 * 2, 30 + 5 * 2 - G * 2**2 / 2], atol=1e-12)
    np.testing.assert_allclose(X_WB.rotation().matrix(), X_START.rotation().matrix(), atol=1e-12)
    np.testing.assert_allclose(plant.GetVelocities(context), [0, 0, 0, 3, -1, 5 - 2 * G], atol=1e-12)


def test_discrete_fall_is_the_sum_of_its_steps():
    """v_n = v_0 - n h g, and z_n = z_0 + n h v_0 - h^2 g n (n + 1) / 2."""
    h, n = 1e-2, 200
    plant, body = free_box(h)
    context = simulate(plant, body, SpatialVelocity([0, 0, 0], [3.0, -1.0, 5.0]), n * h)
    p_WoBo_W = plant.EvalBodyPoseInWorld(context, body).translation()
    z = 30 + 5 * n * h - h**2 * G * n * (n + 1) / 2
    np.testing.assert_allclose(p_WoBo_W, [1 + 3 * n * h, 2 - n * h, z], atol=1e-12)
    np.testing.assert_allclose(plant.GetVelocities(context)[5], 5 - n * h * G, rtol=1e-12)


def test_momentum_is_conserved_without_gravity():
    plant, body = free_box(0.0, off_centre_inertia())
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    V_WB_W = SpatialVelocity([2.0, -3.0, 1.0], [0.5, 0.1, -0.2])
    start = simulate(plant, body, V_WB_W, 0.0)
    end = simulate(plant, body, V_WB_W, 3.0)
    assert np.abs(plant.GetVelocities(end) - plant.GetVelocities(start)).max() > 0.1
    np.testing.assert_allclose(momentum(plant, end, body), momentum(plant, start, body), rtol=0.0, atol=1e-6)


def test_gravity_changes_linear_momentum_by_m_g_t_and_angular_momentum_not_at_all():
    plant, body = free_box(0.0, off_centre_inertia())
    V_WB_W = SpatialVelocity([2.0, -3.0, 1.0], [0.5, 0.1, -0.2])
    start = momentum(plant, simulate(plant, body, V_WB_W, 0.0), body)
    end = momentum(plant, simulate(plant, body, V_WB_W, 2.0), body)
    impulse = [0, 0, -body.default_mass() * G * 2.0, 0, 0, 0]
    np.testing.assert_allclose(end - start, impulse, rtol=0.0, atol=1e-6)


def test_only_rotation_about_the_intermediate_axis_tips_over():
    """The tennis racket theorem: solid box, edges along the axes, moments I_x > I_y > I_z."""
    plant, body = free_box(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    for axis, expected in ((0, 1.0), (1, -1.0), (2, 1.0)):
        w_WB_B = np.full(3, 0.01)
        w_WB_B[axis] = 8.0
        w_WB_W = X_START.rotation().matrix() @ w_WB_B
        simulator = Simulator(plant)
        simulator.get_mutable_integrator().set_target_accuracy(1e-6)
        context = simulator.get_mutable_context()
        plant.SetFreeBodyPose(context, body, X_START)
        plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity(w_WB_W, np.zeros(3)))
        lowest = 1.0
        while context.get_time() < 5.0:
            simulator.AdvanceTo(context.get_time() + 0.1)
            R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
            w_WB_B = R_WB.T @ plant.EvalBodySpatialVelocityInWorld(context, body).rotational()
            lowest = min(lowest, w_WB_B[axis] / 8.0)
        assert lowest == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_length_of_the_quaternion_has_no_effect(time_step):
    plant, body = free_box(time_step, off_centre_inertia())
    poses = []
    for length in (1.0, 2.5):
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
        simulator.get_mutable_integrator().set_maximum_step_size(1e-2)
        plant.SetPositions(context, [0.5 * length, -0.5 * length, 0.5 * length, 0.5 * length, 1, 2, 3])
        plant.SetVelocities(context, [2.0, -3.0, 1.0, 0.5, 0.1, -0.2])
        simulator.AdvanceTo(0.5)
        poses.append(plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4())
    np.testing.assert_allclose(poses[1], poses[0], rtol=0.0, atol=1e-12)


def test_turning_about_a_principal_axis_is_uniform():
    plant, body = free_box(0.0)
    w = 3.0
    context = simulate(plant, body, SpatialVelocity(X_START.rotation().matrix() @ [0, 0, w], np.zeros(3)), 2.0, 1e-10)
    R_expected = X_START.rotation() @ RollPitchYaw(0, 0, w * 2.0).ToRotationMatrix()
    R_WB = plant.EvalBodyPoseInWorld(context, body).rotation()
    np.testing.assert_allclose(R_WB.matrix(), R_expected.matrix(), rtol=0.0, atol=1e-7)


def test_body_that_flips_about_its_intermediate_axis_follows_the_elliptic_functions():
    """Landau and Lifshitz, Mechanics (1976), section 37: torque-free motion with M^2 > 2 E I_2, starting on sn = 0."""
    I_1, I_2, I_3 = 1.0, 2.0, 3.0
    M, twice_E = 4.0, 16.0 / 2.01  # close to turning about the second axis alone
    k_squared = (I_2 - I_1) * (twice_E * I_3 - M**2) / ((I_3 - I_2) * (M**2 - twice_E * I_1))
    rate = np.sqrt((I_3 - I_2) * (M**2 - twice_E * I_1) / (I_1 * I_2 * I_3))
    amplitudes = np.sqrt(
        [
            (twice_E * I_3 - M**2) / (I_1 * (I_3 - I_1)),
            (twice_E * I_3 - M**2) / (I_2 * (I_3 - I_2)),
            (M**2 - twice_E * I_1) / (I_3 * (I_3 - I_1)),
        ]
    )

    def w_WB_B(t):
        sn, cn, dn, _ = scipy.special.ellipj(rate * t, k_squared)
        return amplitudes * [cn, sn, dn]

    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia(1.0, [0, 0, 0], UnitInertia(I_1, I_2, I_3))
    body = plant.AddRigidBody("body", inertia)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    integrator = simulator.reset_integrator(RungeKutta5Integrator(plant, context))
    integrator.set_target_accuracy(1e-10)
    plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity(w_WB_B(0.0), [0, 0, 0]))
    M_W = np.diag([I_1, I_2, I_3]) @ w_WB_B(0.0)
    flips = 0
    for t in np.arange(1.0, 20.5, 1.0):
        simulator.AdvanceTo(t)
        R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
        w_W = plant.EvalBodySpatialVelocityInWorld(context, body).rotational()
        np.testing.assert_allclose(R_WB.T @ w_W, w_WB_B(t), atol=1e-8)
        np.testing.assert_allclose(R_WB @ np.diag([I_1, I_2, I_3]) @ w_WB_B(t), M_W, atol=4e-8)
        q = plant.GetPositions(context)[:4]
        assert abs(q @ q - 1.0) < 1e-15 * 4
        flips += w_WB_B(t)[1] * w_WB_B(t - 1.0)[1] < 0.0
    assert flips >= 3


@pytest.mark.parametrize(
    "make",
    [
        lambda plant, context: RungeKutta2Integrator(plant, 0.05, context),
        lambda plant, context: RungeKutta3Integrator(plant, context),
        lambda plant, context: RadauIntegrator(plant, context),
        lambda plant, context: SemiExplicitEulerIntegrator(plant, 0.05, context),
        lambda plant, context: ImplicitEulerIntegrator(plant, context),
    ],
)
def test_quaternions_keep_their_length_with_any_integrator(make):
    states = []
    for use_plan in (True, False):
        plant, body = free_box(0.0, off_centre_inertia())
        simulator = Simulator(plant)
        simulator.set_use_native_plan(use_plan, at_once=True)
        context = simulator.get_mutable_context()
        simulator.reset_integrator(make(plant, context)).set_maximum_step_size(0.05)
        plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity([2.0, -3.0, 1.0], [0.5, 0.1, -0.2]))
        simulator.AdvanceTo(1.0)
        q = plant.GetPositions(context)[:4]
        assert abs(q @ q - 1.0) < 1e-15 * 4
        states.append(context.get_continuous_state_vector().CopyToVector().tolist())
    assert states[0] == states[1]
