"""A Context of complex numbers gives exact derivatives of everything the plant computes.

f(x + i h d) = f(x) + i h f'(x) d + O(h^2): with h = 1e-100 the imaginary part holds the derivative along d to
rounding. W. Squire and G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions (1998).
"""

import numpy as np
import pytest
from plants import arm_and_box, pendulum, set_random_state

from merganser.framework.math import RigidTransform
from merganser.framework.native.compiler import when_to_compile
from merganser.multibody.tree import MultibodyForces

STEP = 1e-100
DIFFERENCE = 1e-6


def complex_context(plant):
    context = plant._make_context(np.complex128)
    plant.SetDefaultContext(context)
    return context


def time_derivatives(plant, context):
    return plant.EvalTimeDerivatives(context).CopyToVector()


def discrete_step(plant, context):
    copy = context.Clone()
    plant.ExecuteForcedEvents(copy)
    return plant.GetPositionsAndVelocities(copy)


def inverse_dynamics(plant, context):
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    return plant.CalcInverseDynamics(context, np.ones(plant.num_velocities()), forces)


QUANTITIES = {
    "time derivatives": time_derivatives,
    "inverse dynamics with gravity and damping": inverse_dynamics,
    "mass matrix": lambda plant, context: plant.CalcMassMatrix(context),
    "bias": lambda plant, context: plant.CalcBiasTerm(context),
    "gravity": lambda plant, context: plant.CalcGravityGeneralizedForces(context),
    "energies": lambda plant, context: np.array([plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)]),
    "centre of mass": lambda plant, context: plant.CalcCenterOfMassPositionInWorld(context),
    "pose": lambda plant, context: plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("tool")).GetAsMatrix34(),
    "velocity": lambda plant, context: plant.EvalBodySpatialVelocityInWorld(
        context, plant.GetBodyByName("tool")
    ).get_coeffs(),
    "state port": lambda plant, context: plant.get_state_output_port().Eval(context),
}


def directional_derivatives(plant, quantity, seed):
    """Of quantity(q, v, u, mass of the box) along a random direction: exact, and by differences."""
    rng = np.random.default_rng(seed)
    num_x, num_u = plant.num_multibody_states(), plant.num_actuated_dofs()
    x, dx, u, du = (rng.normal(size=n) for n in (num_x, num_x, num_u, num_u))

    def evaluate(context, step):
        plant.SetPositionsAndVelocities(context, x + step * dx)
        plant.get_actuation_input_port().FixValue(context, u + step * du)
        plant.GetBodyByName("box").SetMass(context, 2.0 + step)
        return quantity(plant, context)

    exact = evaluate(complex_context(plant), 1j * STEP)
    assert exact.dtype == np.complex128
    context = plant.CreateDefaultContext()
    real = evaluate(context, 0.0)
    np.testing.assert_allclose(exact.real, real, rtol=1e-11, atol=1e-12)
    above, below = evaluate(context, DIFFERENCE).copy(), evaluate(context, -DIFFERENCE)
    return exact.imag / STEP, (above - below) / (2.0 * DIFFERENCE)


@pytest.mark.parametrize("name", QUANTITIES)
def test_complex_step_equals_central_differences(name):
    exact, differences = directional_derivatives(arm_and_box(0.0), QUANTITIES[name], 1)
    scale = max(1.0, np.abs(exact).max())
    assert np.abs(exact).max() > 1e-3
    np.testing.assert_allclose(exact / scale, differences / scale, rtol=0.0, atol=1e-7)


def test_complex_step_of_a_discrete_update_equals_central_differences():
    exact, differences = directional_derivatives(arm_and_box(1e-2), discrete_step, 1)
    np.testing.assert_allclose(exact, differences, rtol=0.0, atol=1e-7 * np.abs(exact).max())


def test_derivatives_of_a_pendulum_are_exact():
    """d/dq of vdot = -(g / l) sin q."""
    length, q = 0.7, 0.4
    plant = pendulum(0.0, length)
    context = complex_context(plant)
    plant.SetPositions(context, [q + 1j * STEP])
    xdot = time_derivatives(plant, context)
    assert xdot[1].imag / STEP == pytest.approx(-9.81 / length * np.cos(q), rel=1e-14)


def test_compiled_and_interpreted_kernels_give_the_same_derivatives(monkeypatch):
    """One kernel suffices: all are compared in tests/multibody/kernels."""
    plant = pendulum(0.0)
    results = []
    for is_compiled in (False, True):
        monkeypatch.setattr(when_to_compile, "may_use_compiled", lambda *_, answer=is_compiled: answer)
        context = complex_context(plant)
        plant.SetPositions(context, [0.4 + 1j * STEP])
        results.append(plant.MapVelocityToQDot(context, [1.0 + 2j * STEP]))
        results.append(plant.CalcGravityGeneralizedForces(context))
    np.testing.assert_allclose(results[2], results[0], rtol=1e-14)
    np.testing.assert_allclose(results[3].real, results[1].real, rtol=1e-14)
    np.testing.assert_allclose(results[3].imag, results[1].imag, rtol=1e-14)


def test_geometry_poses_and_free_bodies_in_a_complex_context():
    plant = arm_and_box(0.0)
    context = complex_context(plant)
    set_random_state(plant, context, 1)
    box = plant.GetBodyByName("box")
    X_WB = RigidTransform([1.0, 2.0, 3.0])
    plant.SetFreeBodyPose(context, box, X_WB)
    np.testing.assert_array_equal(plant.EvalBodyPoseInWorld(context, box).translation().real, [1, 2, 3])
    assert plant.get_geometry_pose_output_port().Eval(context).size() == 0  # no SceneGraph
    with pytest.raises(ValueError, match="finite"):
        plant.SetPositions(context, np.full(9, np.nan))
