"""Hydroelastic contact of plants against integrals of the pressure over the patch."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import (
    APPROXIMATIONS,
    Fill,
    Scene,
    add_free_body,
    add_ground,
    contact_library,
    free_state,
    hydroelastic,
)
from scipy.integrate import quad

LIB = contact_library("ours")
G, H = 9.81, 1e-3
E, RADIUS, MASS = 1e5, 0.1, 2.0
MODELS = [*((name, H) for name in APPROXIMATIONS), ("continuous", 0.0)]


def rigid(friction: float = 0.5) -> Any:
    return hydroelastic(LIB, None, friction=friction, relaxation_time=0.0)


def compliant(modulus: float = E, dissipation: float = 10.0, **others: Any) -> Any:
    """With the damping of all approximations, which SAP takes from the relaxation time."""
    return hydroelastic(LIB, modulus, relaxation_time=H * dissipation, dissipation=dissipation, **others)


def scene_of(fill: Fill, approximation: str, time_step: float = H) -> Scene:
    name = "kLagged" if approximation == "continuous" else approximation
    return Scene(LIB, time_step, fill, name, "kHydroelastic")


def ball(
    hint: float = RADIUS / 17, friction: float = 0.5, angle: float = 0.0, modulus: float = E, dissipation: float = 10.0
) -> Fill:
    """A compliant ball on a rigid half space that is inclined towards x."""

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        soft = compliant(modulus, dissipation, hint=hint, friction=friction)
        add_free_body(lib, plant, "ball", lib.Sphere(RADIUS), soft, MASS)
        add_ground(lib, plant, rigid(friction))
        plant.mutable_gravity_field().set_gravity_vector([G * math.sin(angle), 0.0, -G * math.cos(angle)])

    return fill


def force_of_ball(depth: float) -> float:
    h = RADIUS - depth
    return 2 * math.pi * E * ((RADIUS**2 - h**2) / 2 - (RADIUS**3 - h**3) / (3 * RADIUS))


def force_of_cube(depth: float, side: float = 0.2) -> float:
    """The pressure of a cube grows with the distance to the nearest side, and is E in its middle."""
    return E / (side / 2) * (side**3 - (side - 2 * depth) ** 3) / 6


def depth_of(force: Callable[[float], float], weight: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda depth: force(depth) - weight, 0.0, 0.09))


@pytest.mark.parametrize(("approximation", "time_step"), MODELS)
def test_a_ball_rests_at_the_depth_of_the_integral(approximation: str, time_step: float) -> None:
    scene = scene_of(ball(), approximation, time_step)
    depth = depth_of(force_of_ball, MASS * G)
    state = free_state([0.0, 0.0, RADIUS - depth])
    if time_step == 0.0:
        scene.plant.SetPositionsAndVelocities(scene.context, state)
        scene.simulator.AdvanceTo(0.05)
        end = scene.state
    else:
        end = scene.run(200, state)[-1]
    assert force_of_ball(RADIUS - end[6]) == pytest.approx(MASS * G, rel=0.02)
    (info,) = scene.surfaces()
    assert abs(info.F_Ac_W().translational()[2]) == pytest.approx(MASS * G, rel=0.01)


def test_finer_meshes_come_closer_to_the_integral() -> None:
    errors = []
    for hint in (RADIUS / 4, RADIUS / 8, RADIUS / 17):
        scene = scene_of(ball(hint), "kLagged")
        end = scene.run(100, free_state([0.0, 0.0, RADIUS - depth_of(force_of_ball, MASS * G)]))[-1]
        errors.append(abs(force_of_ball(RADIUS - end[6]) / (MASS * G) - 1.0))
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_box_rests_at_the_depth_of_the_integral(approximation: str) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "box", lib.Box(0.2, 0.2, 0.2), compliant(), 8.0)
        add_ground(lib, plant, rigid())

    depth = depth_of(force_of_cube, 8.0 * G)
    end = scene_of(fill, approximation).run(200, free_state([0.0, 0.0, 0.1 - 0.5 * depth]))[-1]
    assert 0.1 - end[6] == pytest.approx(depth, rel=0.02)  # the sides of the box press on nothing


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_rigid_box_rests_in_a_slab_at_the_depth_of_its_pressure(approximation: str) -> None:
    slab, area = 0.05, 0.2 * 0.3

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "box", lib.Box(0.2, 0.3, 0.1), rigid(), 8.0)
        add_ground(lib, plant, compliant(slab=slab))

    end = scene_of(fill, approximation).run(200, free_state([0.0, 0.0, 0.05]))[-1]
    assert 0.05 - end[6] == pytest.approx(8.0 * G * slab / (E * area), rel=1e-3)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_ball_rolls_down_an_incline_with_five_sevenths_of_the_slope(approximation: str) -> None:
    angle = math.radians(10.0)
    scene = scene_of(ball(angle=angle, modulus=100.0 * E, dissipation=0.0), approximation)
    start = scene.run(50, free_state([0.0, 0.0, 0.9915 * RADIUS]))[-1]
    end = scene.run(200)[-1]
    acceleration = (end[10] - start[10]) / (200 * H)
    assert acceleration == pytest.approx(5.0 / 7.0 * G * math.sin(angle), rel=0.02)
    assert end[10] == pytest.approx(end[8] * RADIUS, rel=0.02)


@pytest.mark.parametrize("approximation", ["kLagged", "kTamsi"])
def test_a_top_that_spins_on_its_patch_is_slowed_by_the_friction_of_all_of_it(approximation: str) -> None:
    friction, num_steps = 0.3, 60
    scene = scene_of(ball(friction=friction), approximation)
    state = scene.run(200, free_state([0.0, 0.0, RADIUS - depth_of(force_of_ball, MASS * G)]))[-1]
    h = state[6]
    a = math.sqrt(RADIUS**2 - h**2)
    moment = quad(lambda r: friction * 2 * math.pi * r**2 * E * (1 - math.hypot(r, h) / RADIUS), 0.0, a)[0]
    inertia = 0.4 * MASS * RADIUS**2
    state[9] = 2.0 * num_steps * H * moment / inertia
    end = scene.run(num_steps, state)[-1]
    assert end[9] == pytest.approx(state[9] - num_steps * H * moment / inertia, rel=0.04)


@pytest.mark.parametrize(("approximation", "time_step"), MODELS)
def test_what_lies_on_a_belt_takes_on_its_velocity(approximation: str, time_step: float) -> None:
    speed, friction = 0.2, 0.5

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        box = compliant(friction=friction)
        add_free_body(lib, plant, "box", lib.Box(0.2, 0.2, 0.1), box, MASS)
        belt = rigid(friction)
        belt.AddProperty("material", "surface_velocity", np.array([speed, 0.0, 0.0]))
        add_ground(lib, plant, belt, shape=lib.Box(2.0, 1.0, 0.2), height=-0.1)

    scene = scene_of(fill, approximation, time_step)
    scene.plant.SetPositionsAndVelocities(scene.context, free_state([0.0, 0.0, 0.05 - 0.000245]))
    scene.simulator.AdvanceTo(0.02)
    assert scene.state[10] == pytest.approx(friction * G * 0.02, rel=0.2)  # it slips at first
    scene.simulator.AdvanceTo(0.2)
    assert scene.state[10] == pytest.approx(speed, rel=5e-3)
