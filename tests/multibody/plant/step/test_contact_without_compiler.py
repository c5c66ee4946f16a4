"""Contact is the same without a compiler: shapes of all kinds on the ground and against each other, a few steps."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import sys
from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from merganser.multibody.tree import SpatialInertia

corners = [[0.05, -0.05, 0.0, 0.0], [0.0, 0.0, 0.06, 0.0], [-0.04, -0.04, -0.04, 0.06]]
shapes = [
    Box(0.1, 0.1, 0.08), Sphere(0.04), Capsule(0.03, 0.06), Cylinder(0.04, 0.08), Ellipsoid(0.05, 0.04, 0.04),
    Convex(corners, "hull"),
]
builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, sys.argv[1]))
rough = CoulombFriction(0.5, 0.5)
plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
for i, shape in enumerate(shapes):
    body = plant.AddRigidBody(f"body {i}", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "shape", rough)
    turn = RollPitchYaw(0.1 * i, 0.05, 0.3 * i)
    plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform(turn, [0.078 * (i % 3), 0.076 * (i // 3), 0.037]))
plant.Finalize()
simulator = Simulator(builder.Build())
simulator.AdvanceTo(0.006)
context = plant.GetMyContextFromRoot(simulator.get_context())
results = plant.get_contact_results_output_port().Eval(context)
print(results.num_point_pair_contacts(), *plant.GetPositionsAndVelocities(context))
"""


@pytest.mark.parametrize("approximation", ["kSap", "kLagged", "kTamsi"])
def test_steps_with_contact_are_those_of_compiled_code(approximation: str) -> None:
    def run(**settings: str) -> np.ndarray:
        command = [sys.executable, "-c", PROGRAM, approximation]
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
        return np.array(done.stdout.split(), dtype=float)

    interpreted, compiled = run(NUMBA_DISABLE_JIT="1"), run(NUMBA_DISABLE_JIT="0")
    assert compiled[0] > 6
    np.testing.assert_allclose(interpreted, compiled, rtol=0.0, atol=1e-9)
