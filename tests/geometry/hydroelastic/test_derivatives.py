"""Derivatives of contact surfaces at any pose: none fails, and where forces are smooth they are those of differences.

Along the axes, corners, edges and faces of two shapes coincide: which side of a plane they lie on is decided by
rounding, once, by the values.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import make_properties, make_shape, random_pose

import merganser.geometry as geometry
from merganser.framework.math import RollPitchYaw, RotationMatrix
from merganser.geometry.hydroelastic import derivatives
from merganser.geometry.hydroelastic.derivatives import differentiate_surfaces
from merganser.geometry.hydroelastic.engine import HydroelasticArrays, HydroelasticEngine
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.representation import make_representation

NAMES = ("cube", "sphere", "rod", "capsule", "ellipsoid", "vtk")
KINDS = (("rigid", "compliant"), ("compliant", "compliant"), ("compliant", "rigid"))
STEP = 1e-170
PAIR = np.array([[0, 1]])


def pose(p: Any = (0.0, 0.0, 0.0), yaw: float = 0.0, roll: float = 0.0) -> Any:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = RotationMatrix(RollPitchYaw(roll, 0.0, yaw)).matrix(), p
    return X


ALIGNED = {
    "deep": pose((0.0, 0.0, 0.1)),
    "face in face": pose((0.0, 0.0, 0.15)),
    "same pose": pose(),
    "half in, turned by an eighth": pose((0.0, 0.0, 0.1), yaw=np.pi / 4.0),
    "on its side": pose((0.0, 0.0, 0.12), roll=np.pi / 2.0),
    "resting": pose((0.0, 0.0, 0.149)),
    "aside": pose((0.05, 0.03, 0.13)),
    "in the plane of an edge": pose((0.075, 0.0, 0.075)),
}


class Contact:
    """Two geometries, of which the second one has all poses that are asked for."""

    def __init__(self, names: tuple[str, str], kinds: tuple[str, str], folder: Path) -> None:
        shapes = [make_shape(geometry, name, folder) for name in names]
        properties = [make_properties(geometry, shape, kind) for shape, kind in zip(shapes, kinds)]
        given = zip(shapes, properties)
        self.arrays = HydroelasticArrays([make_representation(shape, of, "g") for shape, of in given])
        self.engine = HydroelasticEngine(self.arrays)

    def faces(self, X: Any) -> tuple[Any, Any, Any]:
        corners, numbers, owners = self.engine.contact_surfaces(np.array([np.eye(4), X]), PAIR)
        return corners.copy(), numbers.copy(), owners.copy()

    def differentiate(self, X: Any, dX: Any) -> Any:
        """The derivatives of the wrench in directions, shape [6, k]; dX has shape [4, 4, k]."""
        given = self.faces(X)
        lanes = differentiate_surfaces(
            self.arrays, np.array([np.eye(4), X]), np.array([0.0 * dX, dX]), PAIR, given, STEP
        )
        for found, expected in zip(lanes, given):
            np.testing.assert_array_equal(found.real, np.broadcast_to(expected, found.shape))
            assert np.isfinite(found.imag).all()
        return np.array([wrench_of(numbers).imag / STEP for numbers in lanes[1]]).T


def wrench_of(numbers: Any) -> Any:
    """Force on M, and its moment about Wo where the pressure acts at centroids."""
    forces = (numbers[:, AREA] * numbers[:, PRESSURE])[:, None] * numbers[:, NORMAL : NORMAL + 3]
    return np.concatenate([forces.sum(axis=0), np.cross(numbers[:, CENTROID : CENTROID + 3], forces).sum(axis=0)])


def directions(X: Any) -> Any:
    """How a pose changes as the body turns about Wo's axes, and moves along them; shape [4, 4, 6]."""
    dX = np.zeros((4, 4, 6))
    for i in range(3):
        dX[:3, :3, i] = np.cross(np.eye(3)[i], X[:3, :3].T).T
        dX[i, 3, 3 + i] = 1.0
    return dX


def moved(X: Any, direction: int, by: float) -> Any:
    axis = np.eye(3)[direction % 3] * by
    result = X.copy()
    if direction < 3:
        angle = np.cross(np.eye(3), axis)
        result[:3, :3] = (
            RotationMatrix.ProjectToRotationMatrix(np.eye(3) + angle + angle @ angle / 2.0).matrix() @ X[:3, :3]
        )
    else:
        result[:3, 3] += axis
    return result


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivatives, "may_use_compiled", lambda *_: True)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_no_pose_fails_and_derivatives_are_those_of_differences(kinds: tuple[str, str], tmp_path: Path) -> None:
    """Of the force and its moment, wherever the same elements meet on both sides."""
    rng, h = np.random.default_rng(3), 1e-6
    num_poses = num_smooth = num_aligned = 0
    for names in itertools.combinations_with_replacement(NAMES, 2):
        contact = Contact(names, kinds, tmp_path)
        poses = {**ALIGNED, **{f"random {i}": random_pose(rng, 0.06) for i in range(3)}}
        for name, X in poses.items():
            slopes = contact.differentiate(X, directions(X))
            num_poses += 1
            for i in range(6):
                ahead, behind = (contact.faces(moved(X, i, by)) for by in (h, -h))
                if len({elements_of(faces) for faces in (ahead, behind, contact.faces(X))}) > 1:
                    continue
                num_smooth += 1
                num_aligned += name in ALIGNED
                expected = (wrench_of(ahead[1]) - wrench_of(behind[1])) / (2.0 * h)
                error = np.abs(slopes[:, i] - expected).max()
                assert error < 1e-4 * np.abs(expected).max() + 0.1, f"{names} {kinds} {name}, direction {i}"
    assert num_poses > 200 and num_aligned > 200 and num_smooth > 500


def elements_of(faces: Any) -> frozenset[tuple[int, int]]:
    return frozenset(map(tuple, faces[2][:, 2:].tolist()))


def test_kernels_of_derivatives_are_the_same_in_python(tmp_path: Path) -> None:
    for names, kinds in ((("cube", "vtk"), KINDS[1]), (("vtk", "half_space"), KINDS[2])):
        contact = Contact(names, kinds, tmp_path)
        X = ALIGNED["in the plane of an edge"] if names[1] == "vtk" else pose((0.0, 0.0, -0.05))
        found = contact.differentiate(X, directions(X))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(derivatives, "may_use_compiled", lambda *_: False)
            in_python = contact.differentiate(X, directions(X))
        assert np.abs(found).max() > 1.0
        np.testing.assert_allclose(found, in_python, rtol=1e-9, atol=1e-6)
