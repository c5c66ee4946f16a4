"""Derivatives of contact points, normals, depths and shares by the poses, against differences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Shape, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine, manifold_derivatives
from merganser.geometry.proximity.manifold_derivatives import differentiate_manifolds

STEP = 1e-170
PLATE, BRICK = Box(2.0, 2.0, 0.5), Box(0.4, 0.3, 0.2)
TILTED = [0.012, -0.007, 0.3]
# Shapes A and B, and how B is turned and where it is in A.
PAIRS: dict[str, tuple[Shape, Shape, list[float], list[float]]] = {
    "faces": (PLATE, BRICK, TILTED, [0.1, 0.2, 0.34]),
    "faces that stick out": (PLATE, BRICK, TILTED, [0.95, 0.2, 0.34]),
    "face on a half space": (HalfSpace(), BRICK, TILTED, [0.1, 0.2, 0.09]),
    "corner": (PLATE, BRICK, [0.5, 0.6, 0.3], [0.1, 0.2, 0.47]),
    "sphere": (PLATE, Sphere(0.1), [0.0, 0.0, 0.0], [0.1, 0.2, 0.347]),
    "ellipsoid": (PLATE, Ellipsoid(0.1, 0.2, 0.3), [0.5, 0.6, 0.3], [0.1, 0.2, 0.42]),
    "cylinder on its face": (PLATE, Cylinder(0.1, 0.3), [0.003, 0.004, 0.0], [0.1, 0.2, 0.397]),
    "cylinder on its side": (PLATE, Cylinder(0.1, 0.3), [np.pi / 2 + 0.003, 0.004, 0.2], [0.1, 0.2, 0.347]),
    "cone on its base": (PLATE, MeshcatCone(0.2, 0.1, 0.15), [np.pi + 0.003, 0.004, 0.2], [0.1, 0.2, 0.447]),
    "capsule on a face": (PLATE, Capsule(0.1, 0.3), [np.pi / 2 + 0.003, 0.004, 0.2], [0.1, 0.2, 0.347]),
    "capsules side by side": (Capsule(0.1, 0.5), Capsule(0.1, 0.3), [0.003, 0.004, 0.2], [0.1, 0.15, 0.03]),
}


def poses_of(z: Any, X_AB: np.ndarray) -> np.ndarray:
    """X_WA and X_WB, which 12 numbers turn and move."""
    moved = [RigidTransform(RollPitchYaw(*part[:3]), part[3:]).GetAsMatrix4() for part in (z[:6], z[6:])]
    return np.array([moved[0], moved[0] @ X_AB @ moved[1]])


def differences(f: Any, z: np.ndarray, h: float) -> np.ndarray:
    """Central differences of fourth order, the variables last."""
    near, far = (
        np.stack([(f(z + s * e) - f(z - s * e)) / (2.0 * s) for e in np.eye(len(z))], -1) for s in (h, 2.0 * h)
    )
    return (4.0 * near - far) / 3.0


def lanes_of(X: np.ndarray, dX: np.ndarray) -> np.ndarray:
    """Poses that carry derivatives."""
    return np.ascontiguousarray(X + 1j * STEP * np.moveaxis(dX, -1, 0))


@pytest.mark.parametrize("is_compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("name", PAIRS)
def test_contacts_follow_the_poses(name: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifold_derivatives, "may_use_compiled", lambda *_: is_compiled)
    A, B, rpy, p = PAIRS[name]
    X_AB = RigidTransform(RollPitchYaw(*rpy), p).GetAsMatrix4()
    engine = ProximityEngine(ProximityArrays([A, B], [1, 2]))
    z = np.array([0.02, -0.01, 0.5, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def contacts(field: str, numbers: np.ndarray) -> np.ndarray:
        return engine.contact_manifolds(poses_of(numbers, X_AB))[1][field].copy()

    X_WG = poses_of(z, X_AB)
    X_lanes = lanes_of(X_WG, differences(lambda numbers: poses_of(numbers, X_AB), z, 1e-3))
    pairs, found = (array.copy() for array in engine.contact_manifolds(X_WG))
    assert len(found)
    lanes = differentiate_manifolds(engine, X_WG, X_lanes, pairs, found)
    for field in ("p_WC", "nhat_BA_W", "depth", "share"):
        np.testing.assert_allclose(lanes[field].real, np.broadcast_to(found[field], lanes[field].shape), atol=1e-15)
        expected = np.moveaxis(differences(functools.partial(contacts, field), z, 1e-6), -1, 0)
        derivatives = lanes[field].imag / STEP
        np.testing.assert_allclose(derivatives, expected, atol=1e-7 * max(1.0, np.abs(expected).max()), err_msg=field)


def test_bodies_face_on_face_have_derivatives_though_the_normal_of_the_pair_jumps() -> None:
    X_AB = RigidTransform([0.0, 0.0, 0.34]).GetAsMatrix4()
    engine = ProximityEngine(ProximityArrays([PLATE, BRICK], [1, 2]))
    z = np.zeros(12)
    X_WG = poses_of(z, X_AB)
    X_lanes = lanes_of(X_WG, differences(lambda numbers: poses_of(numbers, X_AB), z, 1e-3))
    pairs, found = (array.copy() for array in engine.contact_manifolds(X_WG))
    lanes = differentiate_manifolds(engine, X_WG, X_lanes, pairs, found)
    depth = lanes["depth"].imag / STEP
    np.testing.assert_allclose(depth[11], -1.0)  # a step up lifts all four corners
    np.testing.assert_allclose(np.abs(depth[6]), 0.15)  # a turn those on one side
    np.testing.assert_allclose(depth[6].sum(), 0.0, atol=1e-12)


def test_no_derivatives_where_the_normal_jumps() -> None:
    engine = ProximityEngine(ProximityArrays([Sphere(0.1), Sphere(0.2)], [1, 2]))
    X_WG = np.array([np.eye(4), np.eye(4)])
    pairs, found = (array.copy() for array in engine.contact_manifolds(X_WG))
    with pytest.raises(LookupError):
        differentiate_manifolds(engine, X_WG, lanes_of(X_WG, np.zeros((2, 4, 4, 1))), pairs, found)
