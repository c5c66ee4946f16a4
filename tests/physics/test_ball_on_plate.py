"""A motor tilts a plate on which a ball rolls: the linear plant and its regulator at the plate's centre, by hand.

The ball, held in the plane of x and z, rests at the centre of the upper face, where everything is symmetric. Point
contact does not resist slip to first order at rest, so that with the tilt a about y, the normal (sin a, 0, cos a), and
the height h of the ball's centre above the axis

    (m + m_s) x'' = m g a,   I a'' = u + m g (x - h a),   m z'' = -k (z + ..) - m g d z'

for the mass m of the ball, m_s of the slide that holds it, stiffness k and dissipation d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import Linearize
from merganser.geometry import (
    AddContactMaterial,
    Box,
    Cylinder,
    MeshcatCone,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia

G, MASS, SLIDE, INERTIA, RADIUS, HALF = 9.81, 0.4, 0.1, 0.02, 0.05, 0.01
STIFFNESS, DISSIPATION = 2e4, 1.0  # of the pair
DEPTH = MASS * G / STIFFNESS
HEIGHT = HALF + RADIUS - DEPTH


def material() -> ProximityProperties:
    properties = ProximityProperties()
    # Two springs in a row; the dissipation of a pair is the mean of both by their compliance.
    AddContactMaterial(DISSIPATION, 2.0 * STIFFNESS, CoulombFriction(0.8, 0.6), properties)
    return properties


def ball_on_plate(shape: Any, is_ball_first: bool) -> tuple[Any, Any]:
    """A diagram with the motor as its input, and a Context with the ball at rest at the centre."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    plate = plant.AddRigidBody("plate", SpatialInertia(1.0, np.zeros(3), UnitInertia(INERTIA, INERTIA, INERTIA)))
    slide = plant.AddRigidBody("slide", SpatialInertia.SolidSphereWithMass(SLIDE, 0.02))
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(MASS, RADIUS))
    tilt = plant.AddJoint(RevoluteJoint("tilt", plant.world_frame(), plate.body_frame(), [0.0, 1.0, 0.0]))
    plant.AddJoint(PrismaticJoint("along", plant.world_frame(), slide.body_frame(), [1.0, 0.0, 0.0]))
    lift = plant.AddJoint(PrismaticJoint("lift", slide.body_frame(), ball.body_frame(), [0.0, 0.0, 1.0]))
    geometries = [(plate, shape), (ball, Sphere(RADIUS))]
    # Shapes with the upper face at HALF: cones stand on their tips.
    for body, geometry in geometries[::-1] if is_ball_first else geometries:
        X_BG = RigidTransform([0.0, 0.0, HALF - geometry.height()]) if isinstance(geometry, MeshcatCone) else None
        plant.RegisterCollisionGeometry(body, X_BG or RigidTransform(), geometry, body.name(), material())
    plant.AddJointActuator("motor", tilt)
    plant.Finalize()
    builder.ExportInput(plant.get_actuation_input_port(), "u")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    lift.set_translation(plant.GetMyMutableContextFromRoot(context), HEIGHT)
    diagram.get_input_port(0).FixValue(context, [0.0])
    return diagram, context


PLATES = [Box(0.4, 0.3, 2.0 * HALF), Cylinder(0.2, 2.0 * HALF), MeshcatCone(0.05, 0.2, 0.3)]


def by_hand() -> tuple[Any, Any]:
    """A and B for the state [a, x, z, a', x', z']."""
    A, B = np.zeros((6, 6)), np.zeros((6, 1))
    A[:3, 3:] = np.eye(3)
    A[3, 0], A[3, 1] = -MASS * G * HEIGHT / INERTIA, MASS * G / INERTIA
    A[4, 0] = MASS * G / (MASS + SLIDE)
    A[5, 2], A[5, 5] = -STIFFNESS / MASS, -G * DISSIPATION
    B[3, 0] = 1.0 / INERTIA
    return A, B


@pytest.mark.parametrize("is_ball_first", [False, True], ids=["plate first", "ball first"])
@pytest.mark.parametrize("shape", PLATES, ids=["box", "cylinder", "cone"])
def test_a_ball_at_the_centre_of_a_plate_has_the_linear_plant_of_its_equations(shape: Any, is_ball_first: bool) -> None:
    diagram, context = ball_on_plate(shape, is_ball_first)
    found = Linearize(diagram, context)
    A, B = by_hand()
    np.testing.assert_allclose(found.A(), A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.B(), B, rtol=1e-9, atol=1e-9)
    Q, R = np.diag([1.0, 100.0, 1.0, 1.0, 10.0, 1.0]), np.array([[1.0]])
    expected = LinearQuadraticRegulator(A, B, Q, R)[0]
    np.testing.assert_allclose(LinearQuadraticRegulator(found.A(), found.B(), Q, R)[0], expected, rtol=1e-6, atol=1e-6)
