"""Terrain meshes: contact with the true surface, distances, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightField,
    MeshcatCone,
    Shape,
    Sphere,
    TerrainMesh,
)
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.mesh_distance import MeshDistance

RNG = np.random.default_rng(3)
FIELD = HeightField(0.3 * RNG.random((9, 8)), 2.1, 1.6, base=0.5)
BODIES = [
    Sphere(0.15), Box(0.2, 0.3, 0.25), Capsule(0.1, 0.3), Cylinder(0.1, 0.2), Ellipsoid(0.1, 0.2, 0.15),
    MeshcatCone(0.2, 0.1, 0.15), Convex(0.1 * RNG.normal(size=(3, 12)), "hull"),
]  # fmt: skip
# A block with a pit: outer and inner square, at the top and half way down.
PIT = TerrainMesh(
    [[x, y, 1.0] for x, y in ((-2, -2), (2, -2), (2, 2), (-2, 2), (-1, -1), (1, -1), (1, 1), (-1, 1))]
    + [[x, y, 0.5] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    + [[x, y, 0.0] for x, y in ((-2, -2), (2, -2), (2, 2), (-2, 2))],
    [[k, (k + 1) % 4, 4 + (k + 1) % 4] for k in range(4)] + [[k, 4 + (k + 1) % 4, 4 + k] for k in range(4)]
    + [[4 + k, 4 + (k + 1) % 4, 8 + (k + 1) % 4] for k in range(4)]
    + [[4 + k, 8 + (k + 1) % 4, 8 + k] for k in range(4)]
    + [[8, 9, 10], [8, 10, 11], [12, 14, 13], [12, 15, 14]]
    + [[12 + k, 12 + (k + 1) % 4, (k + 1) % 4] for k in range(4)] + [[12 + k, (k + 1) % 4, k] for k in range(4)],
)  # fmt: skip


def sheet(heights: Any, size: float) -> TerrainMesh:
    """The upper surface of a height field on a square."""
    rows, columns = np.shape(heights)
    field = HeightField(heights, size, size)
    vertices, triangles = field.kind.triangles(field)
    return TerrainMesh(vertices[: rows * columns], triangles[: 2 * (rows - 1) * (columns - 1)])


def engine(ground: Shape, body: Shape) -> ProximityEngine:
    return ProximityEngine(ProximityArrays([ground, body], [0, 1]))


def at(R: RotationMatrix, p: Any) -> np.ndarray:
    X = np.tile(np.eye(4), (2, 1, 1))
    X[1] = RigidTransform(R, p).GetAsMatrix4()
    return X


PAIR = np.array([[0, 1]])


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_contact_is_that_of_a_height_field_with_the_same_triangles(body: Shape) -> None:
    """Bodies that overlap by 3 mm, in the same points, with the same depths, normals and shares."""
    rng, count = np.random.default_rng(5), 0
    known, found = engine(FIELD, body), engine(TerrainMesh(*FIELD.kind.triangles(FIELD)), body)
    for _ in range(40):
        R = RotationMatrix.ProjectToRotationMatrix(_proper(rng))
        X = at(R, rng.uniform([-0.7, -0.5, 0.1], [0.7, 0.5, 0.6]))
        for _ in range(3):
            nearest = known.signed_distances(X, PAIR)[0]
            X[1, :3, 3] += (nearest["distance"] + 0.003) * nearest["nhat_BA_W"]
        if abs(known.signed_distances(X, PAIR)[0]["distance"] + 0.003) > 1e-6:
            continue
        a, b = (each.contact_manifolds(X, 0.0, PAIR)[1].copy() for each in (known, found))
        assert len(a) == len(b)
        a, b = (c[np.lexsort(np.round(c["p_WC"], 6).T)] for c in (a, b))
        for name in ("p_WC", "nhat_BA_W", "depth", "share"):
            np.testing.assert_allclose(a[name], b[name], atol=2e-6)
        assert found.signed_distances(X, PAIR)[0]["distance"] == pytest.approx(-0.003, abs=2e-6)
        count += len(a)
    assert count > 30


def _proper(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def test_distances_of_points_are_those_of_the_closed_mesh() -> None:
    exact = MeshDistance(PIT.vertices(), PIT.triangles())
    found = ProximityEngine(ProximityArrays([PIT], [0]))
    for p in np.random.default_rng(1).uniform([-2.5, -2.5, -0.5], [2.5, 2.5, 1.5], size=(200, 3)):
        record = found.distances_to_point(np.eye(4)[None], p)[0]
        distance, _, nearest = exact(p)
        assert record["distance"] == pytest.approx(distance, abs=1e-14)
        np.testing.assert_allclose(record["p_ACa"], nearest, atol=1e-14)


def test_inner_edges_and_rims_of_a_pit_touch_as_planes_and_edges_do() -> None:
    """A ball on the floor of the pit, which its hull would cover, at its wall, in its corner, and on the rim."""
    ball, zero = engine(PIT, Sphere(0.2)), RotationMatrix()
    for p, expected in (
        ([0.1, 0.2, 0.69], {(0, 0, -1): 0.01}),
        ([0.0, 0.0, 0.69], {(0, 0, -1): 0.01}),  # above a vertex of the floor's diagonal
        ([0.81, 0.2, 0.75], {(-1, 0, 0): 0.01}),
        ([0.81, 0.82, 0.69], {(0, 0, -1): 0.01, (1, 0, 0): 0.01, (0, 1, 0): 0.02}),
        ([1.5, 0.0, 1.19], {(0, 0, -1): 0.01}),
        ([0.0, 0.0, 0.75], {}),
    ):
        contacts = ball.contact_manifolds(at(zero, p), 0.0, PAIR)[1]
        found = {tuple(np.round(np.abs(c["nhat_BA_W"]) * [1, 1, -1], 9) + 0.0): c["depth"] for c in contacts}
        wanted = {tuple(np.abs(n) * np.array([1, 1, -1]) + 0.0): depth for n, depth in expected.items()}
        assert found == pytest.approx(wanted, abs=1e-12), p
    (rim,) = ball.contact_manifolds(at(zero, [0.9, 0.0, 1.15]), 0.0, PAIR)[1]
    gap = np.array([-0.1, 0.0, 0.15])
    np.testing.assert_allclose(rim["nhat_BA_W"], -gap / np.linalg.norm(gap), atol=1e-12)
    assert rim["depth"] == pytest.approx(0.2 - np.linalg.norm(gap))


def test_what_moves_over_a_plane_of_triangles_feels_no_edge() -> None:
    rng = np.random.default_rng(2)
    flat = sheet(np.zeros((30, 30)), 3.0)
    for body in (Sphere(0.1), Box(0.3, 0.2, 0.1), Cylinder(0.1, 0.05)):
        known, found = engine(HalfSpace(), body), engine(flat, body)
        for k in range(30):
            R = RotationMatrix.MakeZRotation(0.3 * k) if k % 2 else RotationMatrix.ProjectToRotationMatrix(_proper(rng))
            X = at(R, rng.uniform([-0.5, -0.5, 0.0], [0.5, 0.5, 0.1]))
            X[1, 2, 3] -= known.signed_distances(X, PAIR)[0]["distance"] + 0.002
            a, b = (each.contact_manifolds(X, 0.0, PAIR)[1].copy() for each in (known, found))
            assert b["depth"].max() == pytest.approx(0.002, abs=1e-12)
            np.testing.assert_allclose(b["nhat_BA_W"], np.tile([0.0, 0.0, -1.0], (len(b), 1)), atol=1e-12)
            if k % 2:  # on its face
                means = [np.average(c["p_WC"], axis=0, weights=c["share"] * c["depth"]) for c in (a, b)]
                np.testing.assert_allclose(*means, atol=1e-9)
                assert b["share"] @ b["depth"] == pytest.approx(a["share"] @ a["depth"], rel=1e-9)


@pytest.mark.parametrize("is_mesh", [False, True])
def test_what_is_larger_than_the_ground_lies_on_its_top_alone(is_mesh: bool) -> None:
    """Edges below the whole length of a plank are not pushed to its ends: it rests 10 mm deep on a block of 1 m."""
    block = HeightField(np.zeros((2, 2)), 1.0, 1.0)
    plank = engine(TerrainMesh(*block.kind.triangles(block)) if is_mesh else block, Box(3.0, 3.0, 0.2))
    for p in ([0.0, 0.0, 0.09], [0.9, 0.9, 0.09], [0.2, -0.7, 0.09]):
        contacts = plank.contact_manifolds(at(RotationMatrix(), p), 0.0, PAIR)[1]
        np.testing.assert_allclose(contacts["depth"], 0.01, atol=1e-12)
        np.testing.assert_allclose(contacts["nhat_BA_W"], np.tile([0.0, 0.0, -1.0], (len(contacts), 1)), atol=1e-12)
        assert contacts["share"].sum() == pytest.approx(1.0)
        assert plank.signed_distances(at(RotationMatrix(), p), PAIR)[0]["distance"] == pytest.approx(-0.01)


def test_a_sheet_pushes_what_crosses_it_and_nothing_behind_it() -> None:
    ball = engine(sheet(np.zeros((3, 3)), 2.0), Sphere(0.1))
    for z, depth in ((0.05, 0.05), (-0.05, 0.15), (-0.11, None), (-0.5, None), (0.11, None)):
        contacts = ball.contact_manifolds(at(RotationMatrix(), [0.1, 0.3, z]), 0.0, PAIR)[1]
        assert [c["depth"] for c in contacts] == ([] if depth is None else [pytest.approx(depth, abs=1e-12)])


def test_volume_and_equality_are_those_of_the_triangles() -> None:
    assert CalcVolume(PIT) == pytest.approx(16.0 - 4.0 * 0.5)
    again = TerrainMesh(PIT.vertices(), PIT.triangles())
    assert again == PIT and hash(again) == hash(PIT) and "<16 vertices>" in repr(PIT)


@pytest.mark.parametrize(
    ("vertices", "triangles", "words"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], r"vertices of a TerrainMesh must have shape \[n, 3\]; given shape \[3, 2\]"),
        (np.eye(3), [0, 1, 2], r"triangles of a TerrainMesh must have shape \[n, 3\]; given shape \[3\]"),
        ([[0, 0, 0], [1, np.nan, 0], [0, 1, 0]], [[0, 1, 2]], r"must be finite; vertex 1 is \[1.0, nan, 0.0\]"),
        (np.eye(3), [[0, 1, 2], [0, 1, 3]], r"Triangle 1 of a TerrainMesh has the vertices \[0, 1, 3\], but .* are 3"),
        (np.eye(3), [[0, 1, 1]], "None of the 1 triangles of a TerrainMesh has an area"),
        (np.eye(3), np.zeros((0, 3)), "None of the 0 triangles of a TerrainMesh has an area"),
    ],
)
def test_what_is_no_mesh_is_refused(vertices: Any, triangles: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TerrainMesh(vertices, triangles)
