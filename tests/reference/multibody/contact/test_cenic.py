"""CenicIntegrator beside that of pydrake: fixed steps, and how errors and steps follow the accuracy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import Scene, add_free_body, add_ground, contact_library, hydroelastic, material

pytest.importorskip("pydrake", reason="pydrake is not installed")

OURS, THEIRS = contact_library("ours"), contact_library("theirs")


def ball(lib: SimpleNamespace, plant: Any) -> None:
    add_ground(lib, plant, material(lib, 0.5, point_stiffness=1e5, dissipation=0.3))
    add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib, 0.5, point_stiffness=1e4, dissipation=0.2))


def soft_ball(lib: SimpleNamespace, plant: Any) -> None:
    plant.set_contact_surface_representation(lib.HydroelasticContactRepresentation.kPolygon)
    add_ground(lib, plant, hydroelastic(lib, None), -0.5, lib.Box(2.0, 2.0, 1.0))
    add_free_body(lib, plant, "ball", lib.Sphere(0.1), hydroelastic(lib, 1e5, 0.05, dissipation=0.5))


def two_balls(lib: SimpleNamespace, plant: Any) -> None:
    ball(lib, plant)
    add_free_body(lib, plant, "other", lib.Sphere(0.08), material(lib, 0.3, point_stiffness=3e4, dissipation=1.0))


START = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.11, 1.0, 2.0, 0.3, 0.7, 0.0, -0.5])
ABOVE = np.array([1.0, 0.0, 0.0, 0.0, 0.03, 0.0, 0.31, 0.5, -1.0, 0.0, 0.0, 0.0, -1.0])


def _simulate(
    lib: SimpleNamespace, fill: Any, start: Any, time: float, *, accuracy: float | None = None, h: float = 0.1
) -> tuple[np.ndarray, int]:
    scene = Scene(lib, 0.0, fill, contact_model="kHydroelasticWithFallback")
    scene.plant.SetPositionsAndVelocities(scene.context, start)
    config = lib.SimulatorConfig()
    config.integration_scheme, config.max_step_size = "cenic", h
    config.use_error_control, config.accuracy = accuracy is not None, accuracy or 1e-3
    lib.ApplySimulatorConfig(config, scene.simulator)
    scene.simulator.Initialize()
    scene.simulator.AdvanceTo(time)
    return scene.state, scene.simulator.get_integrator().get_num_steps_taken()


def _both(fill: Any) -> np.ndarray:
    return START if fill is not two_balls else np.concatenate([START[:7], ABOVE[:7], START[7:], ABOVE[7:]])


STRAIGHT = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.11, 0.0, 0.0, 0.3, 0.0, 0.0, -0.5])


@pytest.mark.parametrize(
    ("fill", "start", "tolerance"),
    [
        (ball, STRAIGHT, 1e-9),
        (soft_ball, STRAIGHT, 1e-7),
        (ball, START, 1e-5),  # friction is the one of discrete plants, of pydrake's too; that of pydrake's CENIC is not
    ],
    ids=["ball", "soft ball", "ball that slips"],
)
def test_fixed_steps_are_those_of_pydrake(fill: Any, start: Any, tolerance: float) -> None:
    h = 2e-3
    ours, _ = _simulate(OURS, fill, start, 50 * h, h=h)
    theirs, _ = _simulate(THEIRS, fill, start, 50 * h, h=h)
    assert ours[6] < 0.12  # it has come down
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("fill", [ball, two_balls], ids=lambda fill: fill.__name__)
def test_errors_are_half_of_those_of_pydrake_with_no_more_steps(fill: Any) -> None:
    time, errors, steps = 0.2, [], []
    for lib in (OURS, THEIRS):
        exact, _ = _simulate(lib, fill, _both(fill), time, accuracy=1e-7)
        runs = [_simulate(lib, fill, _both(fill), time, accuracy=accuracy) for accuracy in (1e-4, 1e-5)]
        num_q = len(exact) // 13 * 7
        errors.append([np.abs(x - exact)[:num_q].max() for x, _ in runs])
        steps.append(sum(count for _, count in runs))
    assert all(ours < 0.5 * theirs for ours, theirs in zip(*errors))
    assert steps[0] <= 1.2 * steps[1]
