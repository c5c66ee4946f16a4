"""Accelerations of bodies and frames in discrete plants: all that a step holds takes part in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Fill, Scene, add_free_body, add_ground, contact_library, free_state, material

LIB = contact_library("ours")
H = 1e-3


def resting_box(lib: SimpleNamespace, plant: Any) -> None:
    properties = material(lib, point_stiffness=2e5, dissipation=1.0)
    add_free_body(lib, plant, "body", lib.Box(0.1, 0.2, 0.3), properties, mass=2.0)
    add_ground(lib, plant, properties)


def hanging_weight(lib: SimpleNamespace, plant: Any) -> None:
    """On a rail, at its lower limit."""
    body = plant.AddRigidBody("body", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(lib.PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [0, 0, 1], 0.0, 1.0))


def welded_body(lib: SimpleNamespace, plant: Any) -> None:
    body = plant.AddRigidBody("body", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    X_AP = lib.RigidTransform([0.0, 0.0, 0.5])
    plant.AddWeldConstraint(plant.world_body(), X_AP, body, lib.RigidTransform())


def spinning_arm(lib: SimpleNamespace, plant: Any) -> None:
    """Which turns by radians in a step."""
    last = plant.world_frame()
    for i in range(3):
        inertia = lib.SpatialInertia.SolidBoxWithMass(1.0, 0.3, 0.1, 0.1)
        body = plant.AddRigidBody(f"body{i}" if i < 2 else "body", inertia)
        frame = plant.AddFrame(lib.FixedOffsetFrame(f"F{i}", last, lib.RigidTransform([0.2, 0.0, 0.1])))
        plant.AddJoint(lib.RevoluteJoint(f"joint{i}", frame, body.body_frame(), [0, 1, 0] if i % 2 else [1, 0, 1]))
        last = body.body_frame()


def accelerations(scene: Scene) -> list[np.ndarray]:
    """Of the body, by all functions that return it."""
    plant, context = scene.plant, scene.context
    body = plant.GetBodyByName("body")
    frame, world = body.body_frame(), plant.world_frame()
    return [
        plant.EvalBodySpatialAccelerationInWorld(context, body).get_coeffs(),
        frame.CalcSpatialAccelerationInWorld(context).get_coeffs(),
        frame.CalcSpatialAcceleration(context, world, world).get_coeffs(),
    ]


@pytest.mark.parametrize("use_sampled", [True, False])
@pytest.mark.parametrize(
    ("fill", "start"),
    [
        (resting_box, free_state([0.0, 0.0, 0.15 - 2.0 * 9.81 / (4.0 * 1e5)])),
        (hanging_weight, [0.0, 0.0]),
        (welded_body, free_state([0.0, 0.0, 0.5])),
    ],
)
def test_what_is_held_at_rest_does_not_accelerate(fill: Fill, start: Any, use_sampled: bool) -> None:
    def build(lib: SimpleNamespace, plant: Any) -> None:
        plant.SetUseSampledOutputPorts(use_sampled)
        fill(lib, plant)

    scene = Scene(LIB, H, build)
    scene.run(400, start)
    for A_WB_W in accelerations(scene):
        np.testing.assert_allclose(A_WB_W, 0.0, atol=1e-3)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("fill", [resting_box, spinning_arm])
def test_they_are_those_of_the_next_step(fill: Fill, approximation: str) -> None:
    """The port of a sampled plant shows them after the step, that of a live one at once."""
    rng = np.random.default_rng(2)
    scenes = []
    for use_sampled in (True, False):

        def build(lib: SimpleNamespace, plant: Any, use_sampled: bool = use_sampled) -> None:
            plant.SetUseSampledOutputPorts(use_sampled)
            fill(lib, plant)

        scenes.append(Scene(LIB, H, build, approximation))
    sampled, live = scenes
    if fill is resting_box:
        start = free_state([0.0, 0.0, 0.1499])
        start[7:] = rng.normal(size=6)
    else:
        start = np.concatenate([rng.normal(size=3), 1500.0 * rng.normal(size=3)])
    for scene in scenes:
        scene.run(0, start)
    body = live.plant.GetBodyByName("body").index()
    shown = live.plant.get_body_spatial_accelerations_output_port().Eval(live.context)[body].get_coeffs()
    for scene in scenes:
        for A_WB_W in accelerations(scene):
            np.testing.assert_allclose(A_WB_W, shown, rtol=1e-12, atol=1e-9)
    sampled.run(1)
    after = sampled.plant.get_body_spatial_accelerations_output_port().Eval(sampled.context)[body].get_coeffs()
    np.testing.assert_allclose(after, shown, rtol=1e-9, atol=1e-9)
    before = np.array(start)
    # They explain the change of the velocity of the body in the step.
    if fill is resting_box:
        np.testing.assert_allclose((sampled.state - before)[7:] / H, shown, rtol=1e-9, atol=1e-6)


def test_they_follow_what_is_set_in_a_context() -> None:
    scene = Scene(LIB, H, hanging_weight)
    scene.run(0, [0.5, 0.0])
    falling = accelerations(scene)[0][5]
    scene.run(0, [0.0, 0.0])
    held = accelerations(scene)[0][5]
    assert falling == pytest.approx(-9.81)
    assert held == pytest.approx(0.0, abs=1e-2)  # the limit is a very stiff spring
