"""Plants far from the origin of the world compute with derivatives what they compute on floats, and as well."""

from __future__ import annotations

import numpy as np
import pytest
from plants import off_centre_inertia

from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.algorithms import inverse_dynamics_derivatives
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace
from merganser.multibody.tree import (
    FixedOffsetFrame,
    JacobianWrtVariable,
    LinearSpringDamper,
    MultibodyForces,
    RevoluteJoint,
)

BY_V = JacobianWrtVariable.kV
STEP = 1e-100
DISTANCES = [1e5, 6.4e6]  # [m]; of the latter, the radius of the earth, positions in W are rounded to 1e-9 m


def two_arms_and_a_box(distance: float) -> MultibodyPlant:
    """Arms on a ground that is welded to the world, and a free box with a spring to the first arm.

    One arm stands `distance` [m] from Wo, the other one as far away on the other side: no one point is near to both.
    """
    plant = MultibodyPlant(0.0)
    ground = plant.AddRigidBody("ground", off_centre_inertia())
    plant.WeldFrames(plant.world_frame(), ground.body_frame())
    for name, place in (("near", distance), ("opposite", -distance)):
        X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [place, 0.0, 0.2])
        parent = plant.AddFrame(FixedOffsetFrame(name, ground, X))
        for number, axis in enumerate(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0])):
            link = plant.AddRigidBody(f"{name} {number}", off_centre_inertia())
            plant.AddJoint(RevoluteJoint(f"{name} joint {number}", parent, link.body_frame(), axis))
            X_BF = RigidTransform(RollPitchYaw(0.3, -0.2, 0.1), [0.1, 0.2, 0.4])
            parent = plant.AddFrame(FixedOffsetFrame(f"end of {name} {number}", link, X_BF))
    box, hand = plant.AddRigidBody("box", off_centre_inertia()), plant.GetBodyByName("near 2")
    plant.AddForceElement(LinearSpringDamper(hand, [0.1, 0.0, 0.2], box, [0.0, 0.1, 0.0], 0.4, 3.0, 0.2))
    plant.Finalize()
    return plant


def state(plant: MultibodyPlant, distance: float) -> np.ndarray:
    """Any, with the box beside the first arm."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-0.9, 0.9, plant.num_multibody_states())
    start = plant.GetBodyByName("box").floating_positions_start()
    x[start : start + 4] = [0.8, 0.0, 0.6, 0.0]
    x[start + 4] += distance + 1.0
    return x


def quantities(plant, x) -> dict[str, np.ndarray]:
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, x)
    W, tip, other = plant.world_frame(), plant.GetFrameByName("end of near 2"), plant.GetFrameByName("end of near 0")
    point = np.array([0.1, -0.2, 0.3])
    return {
        "mass matrix": plant.CalcMassMatrix(context),
        "bias term": plant.CalcBiasTerm(context),
        "Jacobian": plant.CalcJacobianSpatialVelocity(context, BY_V, tip, point, W, W),
        "Jacobian between frames": plant.CalcJacobianSpatialVelocity(context, BY_V, tip, point, other, other),
        "rates": plant.EvalTimeDerivatives(context).CopyToVector(),
    }


def assert_close(actual, expected, what: str) -> None:
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("distance", DISTANCES)
def test_values_and_derivatives_lose_no_digits(distance, monkeypatch):
    floats = two_arms_and_a_box(distance)
    plant, x = floats.ToAutoDiffXd(), state(floats, distance)
    variables = InitializeAutoDiff(x).ravel()
    ours = quantities(plant, variables)
    with monkeypatch.context() as patch:
        patch.setattr(AutoDiffWorkspace, "_call_position_rule", lambda *_: False)
        patch.setattr(AutoDiffWorkspace, "_call_rule", lambda *_: None)
        by_complex_step = quantities(plant, variables)
    for what, expected in quantities(floats, x).items():
        result, reference = (q[what].reshape(-1, 1) for q in (ours, by_complex_step))
        assert_close(ExtractValue(result).ravel(), expected.ravel(), what)
        assert_close(ExtractGradient(result), ExtractGradient(reference), f"derivatives of the {what}")


@pytest.mark.parametrize("distance", DISTANCES)
def test_derivatives_of_the_forces_of_elements_lose_no_digits(distance):
    plant = two_arms_and_a_box(distance)
    x, num_q = state(plant, distance), plant.num_positions()
    vdot = np.linspace(-1.0, 1.0, plant.num_velocities())
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, x)
    dtau_dq, dtau_dv, _ = inverse_dynamics_derivatives(plant, context, vdot)
    moved, columns = plant._make_context(np.complex128), []
    plant.SetDefaultContext(moved)
    for direction in np.eye(len(x)):
        plant.SetPositionsAndVelocities(moved, x + 1j * STEP * direction)
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(moved, forces)
        columns.append(plant.CalcInverseDynamics(moved, vdot, forces).imag / STEP)
    expected = np.array(columns).T
    assert_close(dtau_dq, expected[:, :num_q], "by positions")
    assert_close(dtau_dv, expected[:, num_q:], "by velocities")
