"""The contact solver against pydrake's, on scenes whose contact problem can be written down by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from contact_problem import ContactProblem
from numpy.typing import NDArray

from merganser.multibody.contact import LAGGED, SAP, SIMILAR, TAMSI

pydrake = pytest.importorskip("pydrake", reason="pydrake is the reference (extra `reference`)")
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere  # noqa: E402
from pydrake.math import RigidTransform  # noqa: E402
from pydrake.multibody.plant import (  # noqa: E402
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia  # noqa: E402
from pydrake.systems.analysis import Simulator  # noqa: E402
from pydrake.systems.framework import DiagramBuilder  # noqa: E402

pytestmark = pytest.mark.reference

Array = NDArray[np.float64]
APPROXIMATIONS = [TAMSI, SAP, SIMILAR, LAGGED]
H, G, MASS, RADIUS = 1e-2, 9.81, 2.0, 0.1
STIFFNESS, DISSIPATION, RELAXATION_TIME, FRICTION, STICTION_TOLERANCE = 1e4, 5.0, 0.03, 0.4, 1e-3
STEPS = 40


def material() -> Any:
    """Of each of two bodies that touch: stiffness halves, and relaxation times and dissipations add or average."""
    properties = ProximityProperties()
    friction = CoulombFriction(FRICTION, FRICTION)
    AddContactMaterial(
        dissipation=DISSIPATION, point_stiffness=2.0 * STIFFNESS, friction=friction, properties=properties
    )
    properties.AddProperty("material", "relaxation_time", RELAXATION_TIME / 2.0)
    return properties


def drake_sphere(approximation: int, beta: float, v: Array, z: float) -> Array:
    """[v, z] after each step of a sphere on a half space, shape [STEPS + 1, 7]."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation(approximation))
    plant.set_contact_model(ContactModel.kPoint)
    plant.set_stiction_tolerance(STICTION_TOLERANCE)
    plant.set_sap_near_rigid_threshold(beta)
    body = plant.AddRigidBody("sphere", SpatialInertia.SolidSphereWithMass(MASS, RADIUS))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(RADIUS), "sphere", material())
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material())
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, z])
    plant.SetVelocities(context, v)
    states = [np.append(v, z)]
    for i in range(STEPS):
        simulator.AdvanceTo((i + 1) * H)
        states.append(np.append(plant.GetVelocities(context), plant.GetPositions(context)[6]))
    return np.array(states)


def sphere_step(approximation: int, beta: float, state: Array) -> Array:
    """The next [v, z] of that sphere; the contact point lies in the middle of the overlap."""
    v, z = state[:6], state[6]
    phi = z - RADIUS
    arm = -RADIUS - phi / 2.0
    problem = ContactProblem([6], H, approximation, stiction_tolerance=STICTION_TOLERANCE, relative_tolerance=1e-12)
    if phi < 0.0:
        J = np.array([[0, arm, 0, 1, 0, 0], [-arm, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]], float)
        problem.add_contact(
            {0: J}, friction=FRICTION, stiffness=STIFFNESS, phi=phi, dissipation=DISSIPATION,
            relaxation_time=RELAXATION_TIME, beta=beta,
        )  # fmt: skip
    A = np.diag([0.4 * MASS * RADIUS**2] * 3 + [MASS] * 3)
    v_next = problem.solve([A], v, v - [0, 0, 0, 0, 0, G * H]).v
    return np.append(v_next, z + H * v_next[5])


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("beta", [0.1, 10.0])
def test_sphere_bounces_slides_and_rolls_like_in_pydrake(approximation: int, beta: float) -> None:
    expected = drake_sphere(approximation, beta, np.array([0.0, 3.0, 0.0, 1.0, 0.5, -0.2]), RADIUS - 1e-3)
    state, states = expected[0], [expected[0]]
    for before, after in pairwise(expected):
        # pydrake ends its iterations at a momentum residual of 1e-6.
        np.testing.assert_allclose(sphere_step(approximation, beta, before), after, atol=3e-6)
        state = sphere_step(approximation, beta, state)
        states.append(state)
    np.testing.assert_allclose(states, expected, atol=2e-5)


def test_joint_limits_stop_like_in_pydrake() -> None:
    plant = MultibodyPlant(H)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector([G, 0.0, 0.0])
    body = plant.AddRigidBody("cart", SpatialInertia.SolidSphereWithMass(MASS, RADIUS))
    world, frame = plant.world_frame(), body.body_frame()
    plant.AddJoint(PrismaticJoint("rail", world, frame, [1, 0, 0], -1.0, 0.5, 0.3))
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    q, v = 0.4, 0.0
    plant.SetPositions(context, [q])
    A = MASS + H * 0.3
    for i in range(60):
        simulator.AdvanceTo((i + 1) * H)
        v_star = v + H * (MASS * G - 0.3 * v) / A
        problem = ContactProblem([1], H, SAP, relative_tolerance=1e-12)
        problem.add_limit(0, 0, 0.5 - q, is_upper=True)
        v = problem.solve([[[A]]], [v], [v_star]).v[0]
        q += H * v
        assert q == pytest.approx(plant.GetPositions(context)[0], abs=1e-6)
        assert v == pytest.approx(plant.GetVelocities(context)[0], abs=1e-6)
    assert abs(v) < 1e-6
