"""MultibodyPlant.DifferentiateStep gives the derivatives that pydrake's plants of AutoDiffXd have of the same step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from contact_scenes import APPROXIMATIONS, Scene, add_ground, contact_library, material
from pydrake.autodiffutils import ExtractGradient, ExtractValue, InitializeAutoDiff

pytestmark = pytest.mark.reference

H = 2e-3
Array = np.ndarray


class Slopes(NamedTuple):
    """x+, and its derivatives by [x; u]."""

    x_next: Array
    by_state_and_input: Array


def our_step(scene: Scene, x: Array, u: Array) -> Slopes:
    scene.plant.SetPositionsAndVelocities(scene.context, x)
    scene.plant.get_actuation_input_port().FixValue(scene.context, u)
    found = scene.plant.DifferentiateStep(scene.context)
    return Slopes(found.x_next, np.hstack([found.A, found.B]))


def their_step(scene: Scene, x: Array, u: Array) -> Slopes:
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant, context = diagram.GetSubsystemByName(scene.plant.get_name()), diagram.CreateDefaultContext()
    mine, z = plant.GetMyMutableContextFromRoot(context), InitializeAutoDiff(np.concatenate([x, u]))[:, 0]
    plant.SetPositionsAndVelocities(mine, z[: len(x)])
    plant.get_actuation_input_port().FixValue(mine, z[len(x) :])
    diagram.ExecuteForcedEvents(context)
    after = plant.GetPositionsAndVelocities(mine)
    return Slopes(ExtractValue(after).ravel(), ExtractGradient(after))


def add_arm(lib: SimpleNamespace, plant: Any, damping: float = 0.1) -> None:
    """Three joints in different directions, each with a motor."""
    parent = plant.world_body()
    for i, axis in enumerate(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])):
        link = plant.AddRigidBody(f"link{i}", lib.SpatialInertia.SolidBoxWithMass(1.0 + i, 0.06, 0.05, 0.28))
        below, above = lib.RigidTransform([0.0, 0.0, -0.15]), lib.RigidTransform([0.0, 0.0, 0.15])
        frames = (
            plant.AddFrame(lib.FixedOffsetFrame(f"{name}{i}", body.body_frame(), X))
            for name, body, X in (("inboard", parent, below), ("outboard", link, above))
        )
        joint = plant.AddJoint(lib.RevoluteJoint(f"joint{i}", *frames, axis, damping))
        plant.AddJointActuator(f"motor{i}", joint)
        parent = link


def add_box_on_points(lib: SimpleNamespace, plant: Any) -> None:
    """A box that touches the ground by small balls at its corners, as pydrake knows one contact point for a box."""
    properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
    add_ground(lib, plant, properties)
    box = plant.AddRigidBody("box", lib.SpatialInertia.SolidBoxWithMass(1.3, 0.4, 0.3, 0.2))
    for i, (x, y) in enumerate(((0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15))):
        X_BG = lib.RigidTransform([x, y, -0.1])
        plant.RegisterCollisionGeometry(box, X_BG, lib.Sphere(0.01), f"corner{i}", properties)


def compare(fill: Any, approximation: str, x: Array, u: Any = ()) -> tuple[float, float]:
    """The greatest differences of x+ [m, rad, and by s], and of its derivatives, relative to the greatest of these."""
    u = np.array(u, float)
    ours, theirs = (Scene(contact_library(name), H, fill, approximation) for name in ("ours", "theirs"))
    mine, other = our_step(ours, x, u), their_step(theirs, x, u)
    assert mine.by_state_and_input.shape == other.by_state_and_input.shape == (len(x), len(x) + len(u))
    scale = np.abs(other.by_state_and_input).max()
    differences = np.abs(mine.x_next - other.x_next), np.abs(mine.by_state_and_input - other.by_state_and_input)
    return differences[0].max(), differences[1].max() / scale


def test_an_arm_with_motors_has_the_derivatives_of_pydrake() -> None:
    x, u = np.array([0.3, -0.7, 1.1, 1.5, -2.0, 0.7]), [0.4, -0.5, 0.6]
    assert max(compare(add_arm, "kLagged", x, u)) < 1e-12


POSES = {
    "lies": [1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.109],
    "tilts": [0.9887, 0.004, -0.003, 0.1498, 0.1, 0.2, 0.1092],
}
AT_REST, MOVING = np.zeros(6), np.array([0.02, 0.01, 0.3, 1.0, 0.5, -0.1])


@pytest.mark.parametrize("approximation", ["kSap", "kSimilar", "kLagged"])
def test_a_box_at_rest_has_the_derivatives_of_pydrake(approximation: str) -> None:
    """Solvers find a solution to the last digits where the velocities hardly change."""
    x = np.concatenate([POSES["lies"], AT_REST])
    assert max(compare(add_box_on_points, approximation, x)) < 1e-9


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_box_that_slides_has_the_derivatives_of_pydrake(approximation: str, pose: str) -> None:
    x = np.concatenate([POSES[pose], MOVING])
    # TAMSI solves a slide to the last digits. The others end within 1e-6 of the momentum, where pydrake takes
    # derivatives, and DifferentiateStep() goes on.
    tolerance = 1e-9 if approximation == "kTamsi" else 1e-5
    assert max(compare(add_box_on_points, approximation, x)) < tolerance


def test_a_box_that_rests_by_tamsi_has_nearly_the_derivatives_of_pydrake() -> None:
    """Slips have no direction at rest, and TAMSI of pydrake takes their norms as somewhat more than zero there."""
    x = np.concatenate([POSES["lies"], AT_REST])
    assert max(compare(add_box_on_points, "kTamsi", x)) < 1e-4
