"""Bodies that are put exactly onto each other: symmetric scenes stay symmetric, and nothing acts at a distance."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Scene, add_free_body, contact_library, free_state, material

from merganser.analysis import BatchSimulator
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff

pytest_plugins = ["compile_policy"]

LIB = contact_library("ours")
G, H = 9.81, 1e-3
SHAPES = {
    "cylinder": LIB.Cylinder(0.1, 0.3),
    "capsule": LIB.Capsule(0.1, 0.3),
    "box": LIB.Box(0.2, 0.2, 0.3),
}
CORNERS = np.array([[x, y, z] for x in (-9.0, 9.0) for y in (-9.0, 9.0) for z in (-0.5, 0.5)])
GROUNDS = {
    "half space": (LIB.HalfSpace(), 0.0),
    "box": (LIB.Box(20.0, 20.0, 1.0), -0.5),
    "mesh": (LIB.Convex(points=CORNERS.T, label="slab"), -0.5),
}


def lying(shape: Any, ground: Any, height: float) -> Any:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "body", shape, material(lib, 0.3))
        X_WG = lib.RigidTransform([0.0, 0.0, height])
        plant.RegisterCollisionGeometry(plant.world_body(), X_WG, ground, "ground", material(lib, 0.3))

    return fill


def on_its_side(turn: float, yaw: float, speed: float, height: float = 0.1) -> Any:
    """A state with the axis across the way it goes, at a height; turned by a quarter up to rounding."""
    R_WB = LIB.RotationMatrix.MakeZRotation(yaw) @ LIB.RotationMatrix.MakeXRotation(turn)
    state = free_state([0.0, 0.0, height])
    state[:4] = R_WB.ToQuaternion().wxyz()
    state[10:12] = speed * math.cos(yaw), speed * math.sin(yaw)
    return state


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_what_lies_on_its_side_goes_straight_on(approximation: str, ground: str) -> None:
    for name, shape in SHAPES.items():
        for h in (1e-3, 1e-2):
            scene = Scene(LIB, h, lying(shape, *GROUNDS[ground]), approximation)
            # SAP takes diag(A) for A, as pydrake does, which turns a box askew that slides however firmly it rests.
            yawed = 0.0 if approximation == "kSap" else 0.3
            quarter = 0.5 * math.pi
            for turn, yaw, speed in ((quarter, 0.0, 2.0), (-quarter, yawed, 2.0), (quarter, 0.3, 0.0)):
                states = scene.run(5, on_its_side(turn, yaw, speed))
                along, w_z = states[:, 7] * math.cos(yaw) + states[:, 8] * math.sin(yaw), states[:, 9]
                across = states[:, 11] * math.cos(yaw) - states[:, 10] * math.sin(yaw)
                strayed = np.abs([along, w_z, across]).max()
                assert strayed < 1e-6, (name, h, turn, yaw, speed)


def test_a_floor_a_little_askew_is_met_at_both_ends_in_one_step() -> None:
    """1.5708 for pi / 2 in a file leaves one end of a rod a micrometre above the floor."""
    scene = Scene(LIB, H, lying(LIB.Cylinder(0.1, 0.6), *GROUNDS["half space"]))
    state = on_its_side(1.5708, 0.0, 2.0, 0.1 + 0.3 * (1.5708 - 0.5 * math.pi))
    states = scene.run(50, state)
    assert np.abs(states[:, 9]).max() < 1e-3


def ball_and_wall(gravity: float, wall: Any = None, X_WG: Any = None) -> Any:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "ball", lib.Box(0.2, 0.2, 0.2), material(lib, 0.5))
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
        if wall is not None:
            plant.RegisterCollisionGeometry(plant.world_body(), X_WG, wall, "wall", material(lib, 0.5))

    return fill


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_nothing_acts_on_what_flies_past(approximation: str) -> None:
    past_wall = LIB.Box(1.0, 4.0, 4.0), LIB.RigidTransform([-0.6 - 1e-9, 0.0, 0.0])
    over_floor = LIB.HalfSpace(), LIB.RigidTransform([0.0, 0.0, -0.1 - 1e-9])
    for (wall, X_WG), gravity, v in (
        (past_wall, G, [0.0, 0.3, 0.0]),
        (over_floor, 0.0, [2.0, 0.0, 0.0]),
        (over_floor, G, [2.0, 0.0, 0.5]),  # thrown up
    ):
        start = free_state([0.0, 0.0, 0.0])
        start[10:] = v
        near, free = (
            Scene(LIB, H, ball_and_wall(gravity, *given), approximation) for given in ((wall, X_WG), ())
        )
        np.testing.assert_array_equal(near.run(20, start), free.run(20, start))
        assert not near.contacts()


@pytest.mark.parametrize("approximation", ["kTamsi", "kSimilar", "kLagged"])
def test_a_gap_is_closed_by_the_law_of_the_end_of_the_step(approximation: str) -> None:
    """m (v+ - v*) = h k (-phi - h v+), where phi = 4 um would be left behind by a fall of g h^2 = 10 um."""
    k, mass, gap = 2e4, 1.0, 4e-6

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib, 0.0, dissipation=0.0, point_stiffness=k)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), properties, mass)
        plant.RegisterCollisionGeometry(plant.world_body(), lib.RigidTransform(), lib.HalfSpace(), "floor", properties)

    scene = Scene(LIB, H, fill, approximation)
    state = scene.run(1, free_state([0.0, 0.0, 0.1 + gap]))[-1]
    half = 0.5 * k  # two materials of k
    expected = (-mass * G * H - H * half * gap) / (mass + H * H * half)
    assert state[12] == pytest.approx(expected, rel=1e-6)
    (contact,) = scene.contacts()
    assert abs(contact.contact_force()[2]) == pytest.approx(mass * (expected + G * H) / H, rel=1e-5)
    assert contact.point_pair().depth == pytest.approx(-gap, rel=1e-6)
    scene.run(1, free_state([0.0, 0.0, 0.1 + 9.9e-6]))
    assert not scene.contacts()

    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant = diagram.GetSubsystemByName(scene.plant.get_name())
    context = diagram.CreateDefaultContext()
    own = plant.GetMyMutableContextFromRoot(context)
    z = InitializeAutoDiff([0.1 + gap]).ravel()[0]
    plant.SetPositionsAndVelocities(own, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, z, *np.zeros(6)])
    diagram.ExecuteForcedEvents(context)
    slope = ExtractGradient(np.array([plant.GetVelocities(own)[5]]))
    assert slope[0, 0] == pytest.approx(-H * half / (mass + H * H * half), rel=1e-6)


@pytest.mark.usefixtures("compile_at_once")
def test_steps_that_begin_with_a_touch_are_the_same_in_the_plan_and_in_batches() -> None:
    states = []
    for is_native in (False, True):
        scene = Scene(LIB, H, lying(SHAPES["cylinder"], *GROUNDS["half space"]))
        scene.simulator.set_use_native_plan(is_native, at_once=True)
        if not is_native:
            scene.plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
        scene.plant.SetPositionsAndVelocities(scene.context, on_its_side(0.5 * math.pi, 0.3, 2.0))
        start = scene.simulator.get_context().Clone()
        scene.simulator.AdvanceTo(0.1)
        states.append(scene.state)
    np.testing.assert_array_equal(states[1], states[0])
    x = scene.plant.GetPositionsAndVelocities(scene.plant.GetMyContextFromRoot(start))
    batch = BatchSimulator(scene.simulator.get_system(), start, parallelize=False)
    found = batch.simulate(np.stack([x, x], axis=1), 0.1).states
    np.testing.assert_array_equal(found[:, 1], states[0])
