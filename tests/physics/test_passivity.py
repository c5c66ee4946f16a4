"""Contact gives no energy: scenes that nothing drives lose what they have, whatever shapes collide and spin.

Elastic energy is never negative, so that kinetic and potential energy may not exceed what they were at any earlier
moment at which nothing touched. Two things of a discrete step are explicit, and may give back a little: forces of
velocities, (h^2 / 2) (C v)^T M^-1 (C v) in a step, which is added up, and the directions of contacts that turn while
the step is taken.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Scene, add_free_body, add_ground, contact_library, free_state, material
from proximity_shapes import random_shape, write_obj

LIB = contact_library("ours")
K = 2e4  # of each geometry [N/m]
NUM_BODIES = 4
SHAPES = ("box", "capsule", "cylinder", "convex", "ellipsoid", "sphere")
TURNING = 1e-3  # of the energy at the start: what contacts give that turn by a tenth of a radian in a step


def centred_shape(rng: np.random.Generator, kind: str, folder: Path) -> Any:
    """With its centre of mass in the origin."""
    if kind == "convex":
        half = rng.normal(size=(6, 3))
        half *= 0.07 / np.linalg.norm(half, axis=1)[:, None]
        return LIB.Convex(write_obj(np.concatenate([half, -half]), folder / f"hull_{rng.integers(1 << 30)}.obj"))
    return random_shape(kind, rng, folder)


def throw(
    rng: np.random.Generator, kinds: Any, time_step: float, approximation: str, dissipation: float, folder: Path
) -> Scene:
    """Bodies above each other, and above the ground, that fall and spin."""
    shapes = [centred_shape(rng, str(kind), folder) for kind in kinds]
    frictions = rng.uniform(0.0, 1.0, len(shapes) + 1)

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        plant.set_sap_near_rigid_threshold(0.01)  # as soft as the materials say
        for i, shape in enumerate(shapes):
            properties = material(lib, frictions[i], 0.0, point_stiffness=K, dissipation=dissipation)
            add_free_body(lib, plant, f"body{i}", shape, properties)
        add_ground(lib, plant, material(lib, frictions[-1], 0.0, point_stiffness=K, dissipation=dissipation))

    scene, n = Scene(LIB, time_step, fill, approximation), len(shapes)
    start = free_state(*(np.append(0.03 * rng.normal(size=2), 0.2 + 0.3 * i) for i in range(n)))
    for i in range(n):
        quaternion = rng.normal(size=4)
        start[7 * i : 7 * i + 4] = quaternion / np.linalg.norm(quaternion)
    start[7 * n :] = (rng.normal(size=(n, 6)) * [3.0, 3.0, 3.0, 0.5, 0.5, 0.5]).ravel()
    scene.run(0, start)
    return scene


def energy(scene: Scene) -> float:
    return float(scene.plant.CalcKineticEnergy(scene.context) + scene.plant.CalcPotentialEnergy(scene.context))


def explicit_gain(scene: Scene) -> float:
    """The energy that explicit forces of velocities may add in the next step [J]."""
    bias = scene.plant.CalcBiasTerm(scene.context)
    rate = np.linalg.solve(scene.plant.CalcMassMatrix(scene.context), bias)
    return float(0.5 * scene.time_step**2 * bias @ rate)


@pytest.mark.parametrize("dissipation", [0.0, 0.5])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_bodies_that_collide_have_no_more_energy_than_before(
    approximation: str, dissipation: float, tmp_path: Path
) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        kinds = rng.permutation(SHAPES)[:NUM_BODIES]
        scene = throw(rng, kinds, 1e-3, approximation, dissipation, tmp_path)
        start = bound = energy(scene)
        num_contacts = 0
        for _ in range(400):
            before = energy(scene)
            assert before <= bound + TURNING * start
            gain = explicit_gain(scene)
            scene.run(1)
            num_contacts += len(scene.contacts())
            bound += gain
            if not scene.contacts():  # nor had the state before
                bound = min(bound, before + gain)
        assert num_contacts > 50
        assert energy(scene) < 0.95 * start


def test_continuous_contact_gives_no_energy(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    kinds = rng.permutation(SHAPES)[:2]
    scene = throw(rng, kinds, 0.0, "", 0.5, tmp_path)
    start = bound = energy(scene)
    num_contacts = 0
    for k in range(150):
        scene.simulator.AdvanceTo(2e-3 * (k + 1))
        assert energy(scene) <= bound + 1e-3 * start  # the accuracy of the integrator
        num_contacts += len(scene.contacts())
        if not scene.contacts():
            bound = min(bound, energy(scene))
    assert num_contacts > 5
    assert energy(scene) < 0.95 * start


@pytest.mark.parametrize("approximation", ["kTamsi", "kLagged"])
@pytest.mark.parametrize("kind", ["sphere", "ellipsoid"])
def test_with_its_elastic_part_energy_rises_by_the_second_order_of_the_step(
    kind: str, approximation: str, tmp_path: Path
) -> None:
    """Of bodies that touch at one point, k x^2 / 2 is known. The point turns in a step, which is explicit."""
    rises = []
    for time_step in (1e-3, 2.5e-4):
        worst = 0.0
        for seed in range(4):
            scene = throw(np.random.default_rng(seed), [kind] * 2, time_step, approximation, 0.0, tmp_path)
            start = least = energy(scene)
            for _ in range(round(0.3 / time_step)):
                total = energy(scene)
                scene.run(1)
                total += sum(0.25 * K * info.point_pair().depth ** 2 for info in scene.contacts())
                worst, least = max(worst, (total - least) / start), min(least, total)
        rises.append(worst)
    assert rises[0] < 4e-3
    assert rises[1] < rises[0] / 4.0
