"""Bodies that roll and slide: closed forms of their accelerations, and no direction that is better than another."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Scene, add_free_body, add_ground, contact_library, free_state, material

LIB = contact_library("ours")
G, H = 9.81, 1e-3
RADIUS, ANGLE = 0.1, 0.2
K, DISSIPATION, FRICTION = 4e4, 2.0, 0.4
KINDS = [*APPROXIMATIONS, "continuous"]
# On its side: the axis of a cylinder is along y.
LYING = LIB.RollPitchYaw(0.5 * math.pi, 0.0, 0.0)


def make_scene(kind: str, fill: Any) -> Scene:
    """Of a discrete plant with that approximation, or of a continuous one."""
    return Scene(LIB, 0.0, fill) if kind == "continuous" else Scene(LIB, H, fill, kind)


def properties(lib: SimpleNamespace) -> Any:
    return material(lib, FRICTION, 0.01, point_stiffness=K, dissipation=DISSIPATION)


def advance(scene: Scene, time: float) -> Any:
    if scene.time_step > 0.0:
        return scene.run(round(time / scene.time_step))[-1]
    scene.simulator.AdvanceTo(scene.simulator.get_context().get_time() + time)
    return scene.state


def rolling_inertia(name: str) -> Any:
    """m r^2 times 1/2, 2/5 or 1 about the axis along which the body rolls."""
    if name == "cylinder":
        return LIB.SpatialInertia.SolidCylinderWithMass(1.0, RADIUS, 0.2, [0.0, 0.0, 1.0])
    if name == "sphere":
        return LIB.SpatialInertia.SolidSphereWithMass(1.0, RADIUS)
    return LIB.SpatialInertia(1.0, np.zeros(3), LIB.UnitInertia(*(RADIUS**2 * np.array([0.5, 0.5, 1.0]))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "share"), [("cylinder", 2 / 3), ("sphere", 5 / 7), ("hoop", 1 / 2)])
def test_bodies_roll_down_with_their_share_of_g(name: str, share: float, kind: str) -> None:
    """g sin(angle) / (1 + I / (m r^2)); friction does no work, and turns the body so that it does not slip.

    They roll on a radius that is smaller by half the overlap.
    """
    depth = G * math.cos(ANGLE) / (0.5 * K)
    radius = RADIUS - 0.5 * depth
    inertia = (1.0 / share - 1.0) * RADIUS**2
    shape = LIB.Sphere(RADIUS) if name == "sphere" else LIB.Cylinder(RADIUS, 0.2)

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "body", shape, properties(lib), inertia=rolling_inertia(name))
        add_ground(lib, plant, properties(lib))
        plant.mutable_gravity_field().set_gravity_vector([G * math.sin(ANGLE), 0.0, -G * math.cos(ANGLE)])

    scene = make_scene(kind, fill)
    start = free_state([0.0, 0.0, RADIUS - depth])
    start[:4] = LYING.ToQuaternion().wxyz()
    scene.run(0, start)
    before = advance(scene, 0.1)
    after = advance(scene, 0.2)
    acceleration = G * math.sin(ANGLE) / (1.0 + inertia / radius**2)
    assert acceleration == pytest.approx(share * G * math.sin(ANGLE), rel=3e-3)
    tolerance = 2e-4  # of slip in friction that is made smooth
    assert (after[10] - before[10]) / 0.2 == pytest.approx(acceleration, rel=tolerance)
    assert after[8] - before[8] == pytest.approx((after[10] - before[10]) / radius, rel=tolerance)
    np.testing.assert_allclose(after[[7, 9, 11]], 0.0, atol=2e-5)
    work = G * math.sin(ANGLE) * (after[4] - before[4])
    energy = [0.5 * x[10] ** 2 + 0.5 * inertia * x[8] ** 2 for x in (before, after)]
    assert energy[1] - energy[0] == pytest.approx(work, rel=0.01)


# ---------------------------------------------------------------------- no direction is better than another


def throw(kind: str, shape: Any, X_WV: Any) -> Scene:
    """A body that slides and spins on the ground, in a world that is turned as a whole by X_WV."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "body", shape, properties(lib), 2.0)
        plant.RegisterCollisionGeometry(plant.world_body(), X_WV, lib.HalfSpace(), "ground", properties(lib))
        plant.mutable_gravity_field().set_gravity_vector(X_WV.rotation() @ np.array([0.0, 0.0, -G]))

    scene = make_scene(kind, fill)
    plant, context, body = scene.plant, scene.context, scene.plant.GetBodyByName("body")
    X_VB = LIB.RigidTransform(LIB.RollPitchYaw(0.0, 0.0, 0.3), [0.2, -0.1, 0.1 - 2.0 * G / (0.5 * K)])
    V_VB_V = LIB.SpatialVelocity(np.array([0.4, -0.3, 2.0]), np.array([1.0, 0.3, -0.02]))
    plant.SetFreeBodyPose(context, body, X_WV @ X_VB)
    plant.SetFreeBodySpatialVelocity(body, V_VB_V.Rotate(X_WV.rotation()), context)
    return scene


def motion(scene: Scene, X_WV: Any) -> Any:
    """Pose and velocity of the body, seen in the frame V, shape [18]."""
    plant, context, body = scene.plant, scene.context, scene.plant.GetBodyByName("body")
    X_VB = X_WV.inverse() @ plant.EvalBodyPoseInWorld(context, body)
    V_VB_V = plant.EvalBodySpatialVelocityInWorld(context, body).Rotate(X_WV.rotation().inverse())
    return np.concatenate([X_VB.GetAsMatrix34().ravel(), V_VB_V.get_coeffs()])


TURNS = {
    "heading": LIB.RigidTransform(LIB.RollPitchYaw(0.0, 0.0, 1.1), [0.0, 0.0, 0.0]),
    "half turn": LIB.RigidTransform(LIB.RollPitchYaw(0.0, 0.0, math.pi), [0.0, 0.0, 0.0]),
    "wall": LIB.RigidTransform(LIB.RollPitchYaw(0.0, 0.5 * math.pi, 0.0), [0.0, 0.0, 0.0]),
    "ceiling": LIB.RigidTransform(LIB.RollPitchYaw(math.pi, 0.0, 0.4), [0.3, 0.0, 1.0]),
    "askew": LIB.RigidTransform(LIB.RollPitchYaw(0.7, -0.9, 2.0), [-0.2, 0.5, 0.3]),
}
SHAPES = {"sphere": LIB.Sphere(0.1), "box": LIB.Box(0.3, 0.2, 0.2)}


@pytest.mark.parametrize("kind", APPROXIMATIONS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_step_knows_no_directions(name: str, kind: str) -> None:
    """A world that is turned as a whole moves as before: 50 steps of sliding, spinning and coming to roll."""
    upright = LIB.RigidTransform()
    scene = throw(kind, SHAPES[name], upright)
    scene.run(50)
    expected = motion(scene, upright)
    assert np.hypot(*expected[15:17]) < 0.95  # of a speed of 1.04: friction has acted
    for turn in TURNS.values():
        scene = throw(kind, SHAPES[name], turn)
        scene.run(50)
        # A step ends at a residual of 1e-6 of the momentum, which stands still only where the body sticks.
        np.testing.assert_allclose(motion(scene, turn), expected, atol=2e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_continuous_contact_knows_no_directions(name: str) -> None:
    upright = LIB.RigidTransform()
    accelerations = []
    for turn in (upright, *TURNS.values()):
        scene = throw("continuous", SHAPES[name], turn)
        A_WB_W = scene.plant.EvalBodySpatialAccelerationInWorld(scene.context, scene.plant.GetBodyByName("body"))
        accelerations.append(A_WB_W.Rotate(turn.rotation().inverse()).get_coeffs())
    assert np.linalg.norm(accelerations[0][3:5]) > 0.3 * FRICTION * G
    np.testing.assert_allclose(accelerations, np.tile(accelerations[0], (len(accelerations), 1)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("heading", [0.0, 0.7, 2.5, -1.9])
def test_a_continuous_block_slows_down_at_mu_g_whatever_its_heading(heading: float) -> None:
    """Its way is v0^2 / (2 mu g); without spin it stays on its line."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "body", lib.Box(0.2, 0.2, 0.1), properties(lib), 2.0)
        add_ground(lib, plant, properties(lib))

    scene = make_scene("continuous", fill)
    scene.simulator.get_mutable_integrator().set_target_accuracy(1e-5)
    along, speed = np.array([math.cos(heading), math.sin(heading)]), 1.0
    start = free_state([0.0, 0.0, 0.05 - 2.0 * G / (0.5 * K)])
    start[10:12] = speed * along
    scene.run(0, start)
    before, after = (advance(scene, 0.05)[10:12] for _ in range(2))
    np.testing.assert_allclose((after - before) / 0.05, -FRICTION * G * along, rtol=1e-3, atol=1e-3)
    way = advance(scene, 0.3)[4:6]
    np.testing.assert_allclose(way, speed**2 / (2.0 * FRICTION * G) * along, atol=2e-3 * speed**2 / (FRICTION * G))
