"""Derivatives of dynamics in closed form, of plants: compiled, with forces, by positions and along velocities."""

from __future__ import annotations

import numpy as np
import pytest
from plants import arm_and_box, pendulum, set_random_state

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.algorithms import forward_dynamics_derivatives, inverse_dynamics_derivatives
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    DoorHinge,
    DoorHingeConfig,
    FixedOffsetFrame,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    MultibodyForces,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
)

STEP = 1e-100


@pytest.fixture(scope="module")
def plant():
    return arm_and_box(0.0)


@pytest.fixture
def forces(plant):
    forces = MultibodyForces(plant)
    rng = np.random.default_rng(2)
    forces._F_Bo_W[1:] = rng.normal(size=(plant.num_bodies() - 1, 6))
    forces.mutable_generalized_forces()[:] = rng.normal(size=plant.num_velocities())
    return forces


def random_state(plant):
    rng = np.random.default_rng(3)
    return rng.normal(size=plant.num_positions()), rng.normal(size=plant.num_velocities())


def inverse_dynamics(plant, q, v, vdot, forces):
    """tau with gravity and damping, in a context of complex numbers."""
    context = plant._make_context(np.complex128)
    plant.SetDefaultContext(context)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    all_forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, all_forces)
    all_forces.AddInForces(forces)
    return plant.CalcInverseDynamics(context, vdot, all_forces)


def columns(function, x):
    return np.array([function(x + 1j * STEP * e).imag / STEP for e in np.eye(len(x))]).T


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_inverse_dynamics_derivatives_equal_the_complex_step(plant, forces):
    q, v = random_state(plant)
    vdot = np.linspace(-1.0, 1.0, len(v))
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    dtau_dq, dtau_dv, M = inverse_dynamics_derivatives(plant, context, vdot, forces)
    assert_close(dtau_dq, columns(lambda q: inverse_dynamics(plant, q, v, vdot, forces), q))
    assert_close(dtau_dv, columns(lambda v: inverse_dynamics(plant, q, v, vdot, forces), v))
    assert_close(M, plant.CalcMassMatrix(context))

    along = inverse_dynamics_derivatives(plant, context, vdot, forces, along_velocities=True).dtau_dq
    assert along.shape == (len(v), len(v))
    assert_close(along @ plant.MakeQDotToVelocityMap(context), dtau_dq)


def test_forward_dynamics_derivatives_invert_those_of_inverse_dynamics(plant, forces):
    q, v = random_state(plant)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    vdot, dvdot_dq, dvdot_dv, dvdot_dtau = forward_dynamics_derivatives(plant, context, forces)
    # No generalized force is missing at this vdot; and dvdot = -M^-1 dtau.
    assert_close(inverse_dynamics(plant, q, v, vdot, forces).real + forces._tau, forces._tau)
    dtau_dq, dtau_dv, M = inverse_dynamics_derivatives(plant, context, vdot, forces)
    assert_close(dvdot_dtau @ M, np.eye(len(v)))
    assert_close(M @ dvdot_dq, -dtau_dq)
    assert_close(M @ dvdot_dv, -dtau_dv)


def test_derivatives_of_a_pendulum():
    """vdot = -(g sin q) / l + tau / (m l^2)."""
    length, mass, q = 0.7, 1.3, 0.4
    plant = pendulum(0.0, length, mass)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [q])
    result = forward_dynamics_derivatives(plant, context)
    assert result.vdot == pytest.approx(-9.81 / length * np.sin(q))
    assert result.dvdot_dq == pytest.approx(-9.81 / length * np.cos(q))
    assert result.dvdot_dtau == pytest.approx(1.0 / (mass * length**2))


def test_locked_joints_have_no_derivatives(plant):
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 5)
    shoulder = plant.GetJointByName("shoulder")
    shoulder.Lock(context)
    vdot, dvdot_dq, _, dvdot_dtau = forward_dynamics_derivatives(plant, context)
    row = shoulder.velocity_start()
    assert vdot[row] == 0.0 and not dvdot_dq[row].any() and not dvdot_dtau[row].any()


def arm_with_all_force_elements():
    """A floating base with an arm of two links, a slider, and one force element of every kind."""
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia.SolidBoxWithMass(1.5, 0.2, 0.3, 0.4)
    base, upper, lower, slider = (plant.AddRigidBody(name, inertia) for name in ("base", "upper", "lower", "slider"))
    X = RigidTransform(RollPitchYaw(0.2, -0.4, 0.3), [0.1, 0.2, 0.3])
    hinge = plant.AddJoint(RevoluteJoint("hinge", base.body_frame(), upper.body_frame(), [0, 1, 0], damping=0.2))
    mount = plant.AddFrame(FixedOffsetFrame("mount", upper, X))
    elbow = plant.AddJoint(RevoluteJoint("elbow", mount, lower.body_frame(), [0.6, 0.0, 0.8]))
    rail = plant.AddJoint(PrismaticJoint("rail", base.body_frame(), slider.body_frame(), [1, 0, 0]))
    plant.AddForceElement(RevoluteSpring(elbow, 0.3, 5.0))
    plant.AddForceElement(PrismaticSpring(rail, 0.1, 20.0))
    config = DoorHingeConfig()
    config.static_friction_torque = 0.3
    plant.AddForceElement(DoorHinge(hinge, config))
    plant.AddForceElement(LinearSpringDamper(lower, [0.1, 0, 0.2], slider, [0, 0.1, 0], 0.4, 30.0, 2.0))
    plant.AddForceElement(LinearSpringDamper(plant.world_body(), [1.0, 0, 0], upper, [0, 0, 0.1], 0.2, 10.0, 1.0))
    frames = mount, plant.AddFrame(FixedOffsetFrame("bush", slider, X.inverse()))
    plant.AddForceElement(LinearBushingRollPitchYaw(*frames, [3, 2, 1], [0.3, 0.2, 0.1], [40, 50, 60], [4, 5, 6]))
    plant.Finalize()
    return plant


def test_force_elements_take_part_in_the_derivatives():
    plant = arm_with_all_force_elements()
    forces = MultibodyForces(plant)
    forces._F_Bo_W[1:] = np.random.default_rng(2).normal(size=(plant.num_bodies() - 1, 6))
    q, v = random_state(plant)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    vdot, dvdot_dq, dvdot_dv, _ = forward_dynamics_derivatives(plant, context, forces)
    dtau_dq, dtau_dv, M = inverse_dynamics_derivatives(plant, context, vdot, forces)
    assert_close(dtau_dq, columns(lambda q: inverse_dynamics(plant, q, v, vdot, forces), q))
    assert_close(dtau_dv, columns(lambda v: inverse_dynamics(plant, q, v, vdot, forces), v))
    np.testing.assert_allclose(inverse_dynamics(plant, q, v, vdot, forces).real, 0.0, atol=1e-11)
    assert_close(M @ dvdot_dq, -dtau_dq)
    assert_close(M @ dvdot_dv, -dtau_dv)


def test_force_elements_in_a_plant_of_autodiff_are_refused():
    plant = arm_with_all_force_elements().ToAutoDiffXd()
    with pytest.raises(RuntimeError, match=r"force elements other than gravity.*only of floats"):
        inverse_dynamics_derivatives(plant, plant.CreateDefaultContext(), np.zeros(9))


def test_sizes_are_checked(plant):
    context = plant.CreateDefaultContext()
    with pytest.raises(ValueError, match=r"inverse_dynamics_derivatives.*size 8"):
        inverse_dynamics_derivatives(plant, context, np.zeros(7))
