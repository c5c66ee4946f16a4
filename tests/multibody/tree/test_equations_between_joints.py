"""Equations between positions of joints: polynomials of one, and sums of many, in continuous and discrete time."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody.kernels.constraints.linear import LINEAR
from merganser.multibody.kernels.constraints.polynomial import POLYNOMIAL
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia

REFERENCES = np.array([0.2, -0.1])
COEFFICIENTS = np.array([0.1, 0.5, 0.3, -0.2, 0.4])
SUM = np.array([0.3, 2.0, 1.5, -3.0, 0.7])  # b, then of j, of the other tree's m, of k and l


def make_plant(kind: str, time_step: float = 0.0) -> MultibodyPlant:
    """A chain of a hinge j, a hinge k and a slide l, and beside it a hinge m."""
    plant = MultibodyPlant(time_step)
    if time_step:
        plant.SetUseSampledOutputPorts(False)
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.1, 0.3)
    parent, joints = plant.world_frame(), {}
    axes = {"j": [0, 1, 0], "k": [0, 1, 0.2], "l": [1, 0, 1]}
    for name, cls in (("j", RevoluteJoint), ("k", RevoluteJoint), ("l", PrismaticJoint)):
        body = plant.AddRigidBody(name, inertia)
        joints[name] = plant.AddJoint(cls(name, parent, body.body_frame(), axes[name]))
        parent = body.body_frame()
    beside = plant.AddRigidBody("m", inertia)
    joints["m"] = plant.AddJoint(RevoluteJoint("m", plant.world_frame(), beside.body_frame(), [1, 0, 0]))
    j, k, m, last = (joints[name] for name in "jkml")
    if kind == "lock":
        plant.AddConstraint(POLYNOMIAL, k, constants=[0.25, 0, 0, 0, 0, 0, 0])
    elif kind == "polynomial":
        plant.AddConstraint(POLYNOMIAL, j, m, constants=[*COEFFICIENTS, *REFERENCES])
    else:
        plant.AddConstraint(LINEAR, j, m, k, last, constants=SUM)
    plant.Finalize()
    return plant


def error(kind: str, q) -> float:
    j, k, last, m = q
    if kind == "lock":
        return k - 0.25
    if kind == "polynomial":
        return j - REFERENCES[0] - np.polyval(COEFFICIENTS[::-1], m - REFERENCES[1])
    return SUM[1:] @ [j, m, k, last] - SUM[0]


def start(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities that fulfil the equation."""
    q, v = np.array([0.3, -0.4, 0.2, 0.5]), np.array([0.6, -1.0, 0.4, 1.1])
    slopes = np.array([(error(kind, q + 1e-20j * e)).imag / 1e-20 for e in np.eye(4)])
    v -= slopes * (slopes @ v) / (slopes @ slopes)
    index = 1 if kind == "lock" else 0
    q[index] -= error(kind, q) / slopes[index]
    return q, v


KINDS = ["lock", "polynomial", "sum"]


@pytest.mark.parametrize("kind", KINDS)
def test_in_continuous_time_the_equation_holds_and_no_energy_is_lost(kind):
    plant = make_plant(kind)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    q, v = start(kind)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    simulator.AdvanceTo(0.5)
    assert abs(error(kind, plant.GetPositions(context))) < 1e-6
    assert plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context) == pytest.approx(energy, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_in_discrete_time_the_equation_holds(kind):
    plant = make_plant(kind, 0.002)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    q, v = start(kind)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    simulator.AdvanceTo(0.5)
    assert np.abs(plant.GetPositions(context) - q).max() > 0.1
    assert abs(error(kind, plant.GetPositions(context))) < 2e-4


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_differences(kind, time_step):
    plant = make_plant(kind, time_step)
    x = np.concatenate(start(kind))

    def advanced(plant, x):
        context = plant.CreateDefaultContext()
        plant.SetPositionsAndVelocities(context, x)
        if time_step == 0.0:
            return plant.EvalTimeDerivatives(context).CopyToVector()
        return plant.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()

    found = advanced(plant.ToAutoDiffXd(), InitializeAutoDiff(x).ravel())
    np.testing.assert_allclose(ExtractValue(found).ravel(), advanced(plant, x), atol=1e-9)
    h = 1e-6
    columns = [(advanced(plant, x + h * e) - advanced(plant, x - h * e)) / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(columns), rtol=1e-5, atol=1e-4)


def test_joints_of_a_third_tree_and_more_than_eight_joints_are_refused():
    plant = MultibodyPlant(0.01)
    joints = []
    for number in range(9):
        body = plant.AddRigidBody(f"b{number}", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
        joints.append(plant.AddJoint(RevoluteJoint(f"j{number}", plant.world_frame(), body.body_frame(), [0, 0, 1])))
    with pytest.raises(ValueError, match="is given 9 joints; there may be up to 8"):
        plant.AddConstraint(LINEAR, *joints)
    plant.AddConstraint(LINEAR, *joints[:3], constants=[0, 1, 1, 1])
    with pytest.raises(RuntimeError, match="has joint 'j2', which no bodies connect to the first two but the world"):
        plant.Finalize()
