"""The functions of merganser.multibody.algorithms equal what pydrake's plant computes of the same model."""

from __future__ import annotations

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from plants import EXAMPLE_MODELS  # noqa: E402
from pydrake.multibody.tree import BodyIndex, JacobianWrtVariable  # noqa: E402
from pydrake.multibody.tree import MultibodyForces as DrakeForces  # noqa: E402
from reference_plants import load_both  # noqa: E402

from merganser.multibody.algorithms import (  # noqa: E402
    MechanismState,
    center_of_mass,
    dynamics,
    dynamics_bias,
    geometric_jacobian,
    inverse_dynamics,
    mass_matrix,
    momentum_matrix,
    path,
)

pytestmark = pytest.mark.reference
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(scope="module")
def pair():
    """An arm and a free box, in a random state."""
    pair = load_both([EXAMPLE_MODELS / "arm7.urdf", EXAMPLE_MODELS / "free_box.sdf"])
    pair.set_random_state(np.random.default_rng(6))
    return pair


def test_system_matrices_and_dynamics(pair):
    state, theirs, context = MechanismState(pair.ours, pair.context), pair.theirs, pair.their_context
    np.testing.assert_allclose(mass_matrix(state), theirs.CalcMassMatrix(context), **TOLERANCE)
    bias = theirs.CalcBiasTerm(context) - theirs.CalcGravityGeneralizedForces(context)
    np.testing.assert_allclose(dynamics_bias(state), bias, **TOLERANCE)
    vdot = np.random.default_rng(1).normal(size=theirs.num_velocities())
    tau = theirs.CalcInverseDynamics(context, vdot, DrakeForces(theirs))
    tau -= theirs.CalcGravityGeneralizedForces(context)
    np.testing.assert_allclose(inverse_dynamics(state, vdot), tau, **TOLERANCE)
    np.testing.assert_allclose(dynamics(state, tau).vdot, vdot, rtol=1e-9, atol=1e-9)


def test_momentum_and_centre_of_mass(pair):
    state, theirs, context = MechanismState(pair.ours, pair.context), pair.theirs, pair.their_context
    momentum = theirs.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).get_coeffs()
    np.testing.assert_allclose(momentum_matrix(state) @ state.velocity(), momentum, **TOLERANCE)
    np.testing.assert_allclose(center_of_mass(state), theirs.CalcCenterOfMassPositionInWorld(context), **TOLERANCE)


def test_geometric_jacobians_between_all_bodies(pair):
    state, theirs, context = MechanismState(pair.ours, pair.context), pair.theirs, pair.their_context
    world = theirs.world_frame()
    for a in range(theirs.num_bodies()):
        for b in range(theirs.num_bodies()):
            frames = [theirs.get_body(BodyIndex(i)).body_frame() for i in (a, b)]
            p_BoWo_B = theirs.EvalBodyPoseInWorld(context, theirs.get_body(BodyIndex(b))).inverse().translation()
            expected = theirs.CalcJacobianSpatialVelocity(
                context, JacobianWrtVariable.kV, frames[1], p_BoWo_B, frames[0], world
            )
            route = path(pair.ours, pair.ours.get_body(a), pair.ours.get_body(b))
            np.testing.assert_allclose(geometric_jacobian(state, route), expected, **TOLERANCE)
