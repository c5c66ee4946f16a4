"""Elements that may meet are remembered from one call to the next, which changes nothing but the time it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import make_properties, make_shape, random_pose

import merganser.geometry as geometry
from merganser.framework.math import RotationMatrix
from merganser.geometry import Sphere
from merganser.geometry.hydroelastic.buffers import make_buffers
from merganser.geometry.hydroelastic.engine import HydroelasticArrays, HydroelasticEngine
from merganser.geometry.hydroelastic.representation import make_representation

PAIRS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
SCENES = {
    "compliant": [("sphere", "compliant"), ("box", "compliant"), ("capsule", "compliant"), ("half_space", "rigid")],
    "mixed": [("ellipsoid", "compliant"), ("rod", "rigid"), ("vtk", "compliant"), ("slab", "rigid")],
    "slab": [("sphere", "rigid"), ("box", "rigid"), ("convex", "rigid"), ("half_space", "compliant")],
}


def arrays_of(items: list[tuple[str, str]], folder: Path, hint: float = 0.04) -> HydroelasticArrays:
    shapes = [make_shape(geometry, name, folder) for name, _ in items]
    properties = [make_properties(geometry, shape, kind, 1e5, hint) for shape, (_, kind) in zip(shapes, items)]
    return HydroelasticArrays([make_representation(s, p, "Geometry 'g'") for s, p in zip(shapes, properties)])


def moved(X_WG: Any, rng: np.random.Generator, step: float) -> Any:
    """Poses that are some steps [m, rad] further."""
    X = X_WG.copy()
    for pose in X:
        pose[:3, :3] = pose[:3, :3] @ RotationMatrix.MakeZRotation(step * rng.normal()).matrix()
        pose[:3, 3] += step * rng.normal(size=3)
    return X


@pytest.mark.parametrize("scene", SCENES)
def test_faces_are_those_of_a_first_call_bit_for_bit(scene: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    arrays = arrays_of(SCENES[scene], tmp_path)
    engine = HydroelasticEngine(arrays)
    num_remembered = 0
    for _ in range(4):
        X_WG = np.array([random_pose(rng, 0.03) for _ in range(4)])
        for step in (1e-5, 1e-5, 1e-5, 3e-4, 3e-4, 1e-3, 1e-2, 1e-5, 0.0):
            X_WG = moved(X_WG, rng, step)
            pairs = PAIRS[rng.permutation(6)[: rng.integers(3, 7)]]
            found, expected = (of.contact_surfaces(X_WG, pairs) for of in (engine, HydroelasticEngine(arrays)))
            np.testing.assert_array_equal(found.numbers, expected.numbers)
            np.testing.assert_array_equal(found.owners, expected.owners)
            is_used = np.arange(found.corners.shape[1]) < found.owners[:, 1:2]
            np.testing.assert_array_equal(found.corners[is_used], expected.corners[is_used])
            num_remembered += int((engine._buffers.known["slack"] > 0.0).sum())
    assert num_remembered > 20


def test_memory_grows_to_what_is_wanted(tmp_path: Path) -> None:
    num = 30
    properties = make_properties(geometry, Sphere(0.1), "compliant", 1e5, 0.05)
    arrays = HydroelasticArrays([make_representation(Sphere(0.1), properties, "Geometry 'g'")] * num)
    engine, X_WG = HydroelasticEngine(arrays), np.tile(np.eye(4), (num, 1, 1))
    X_WG[:, 0, 3] = 0.18 * np.arange(num)
    pairs = np.array([[k, k + 1] for k in range(num - 1)])
    for _ in range(4):
        engine.contact_surfaces(X_WG, pairs)
    buffers = engine._buffers
    assert buffers.counts[0]["num_known"] == num - 1
    assert (buffers.known[buffers.counts[0]["half"], : num - 1]["slack"] > 0.0).all()


def test_a_full_memory_is_given_up_and_grows(tmp_path: Path) -> None:
    arrays = arrays_of(SCENES["compliant"], tmp_path)
    rng = np.random.default_rng(1)
    X_WG = np.array([random_pose(rng, 0.03) for _ in range(4)])
    expected = HydroelasticEngine(arrays).contact_surfaces(X_WG, PAIRS)
    for num_places in (16, 24, 40, 64, 100, 160, 400, 1000):  # 16 are what two leaves may have together
        engine = HydroelasticEngine(arrays)
        engine._buffers = make_buffers()._replace(elements=np.zeros((2, num_places, 2), np.int64))
        for _ in range(4):
            found = engine.contact_surfaces(X_WG, PAIRS)
            np.testing.assert_array_equal(found.numbers, expected.numbers)
            np.testing.assert_array_equal(found.owners, expected.owners)
        assert engine._buffers.elements.shape[1] > num_places
        assert engine._buffers.counts[0]["num_known"] == len(PAIRS)


def test_poses_that_are_no_numbers_are_not_remembered(tmp_path: Path) -> None:
    arrays = arrays_of([("sphere", "compliant"), ("box", "compliant")], tmp_path)
    engine, pairs = HydroelasticEngine(arrays), np.array([[0, 1]])
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[0, :3, 3] = 0.0, 0.0, 0.19
    expected = engine.contact_surfaces(X_WG, pairs).numbers.copy()
    for _ in range(3):
        engine.contact_surfaces(np.where(np.eye(4) == 1.0, np.nan, X_WG), pairs)
        np.testing.assert_array_equal(engine.contact_surfaces(X_WG, pairs).numbers, expected)
