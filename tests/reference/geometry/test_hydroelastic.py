"""Meshes and contact surfaces of hydroelastic geometries in pydrake."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
import pydrake.geometry as drake  # noqa: E402
import pydrake.math as drake_math  # noqa: E402
from hydroelastic_scenes import SHAPES, Scene, make_properties, make_shape, random_pose, resultant  # noqa: E402

import merganser.geometry as ours  # noqa: E402

pytestmark = pytest.mark.reference

MODULI = 1e5, 3e5


def both(names: tuple[str, ...], kinds: tuple[str, ...], folder: Path, hint: float = 0.05) -> tuple[Scene, Scene]:
    scenes = []
    for library, pose in ((ours, None), (drake, drake_math.RigidTransform)):
        shapes = [make_shape(library, name, folder) for name in names]
        properties = [make_properties(library, s, k, E, hint) for s, k, E in zip(shapes, kinds, MODULI)]
        items = list(zip(shapes, properties))
        scenes.append(Scene(items) if pose is None else Scene(items, library, pose))
    return scenes[0], scenes[1]


def elements(mesh: Any) -> set[frozenset[tuple[float, ...]]]:
    """The elements of a mesh, each as the set of its corners."""
    corners = [tuple((np.round(mesh.vertex(v), 9) + 0.0).tolist()) for v in range(mesh.num_vertices())]
    kind = mesh.tetrahedra() if hasattr(mesh, "tetrahedra") else mesh.triangles()
    return {frozenset(corners[e.vertex(i)] for i in range(e.num_vertices())) for e in kind}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("hint", [0.2, 0.05, 0.013])
def test_compliant_shapes_have_the_same_tetrahedra(name: str, hint: float, tmp_path: Path) -> None:
    meshes = [
        scene.query.inspector().maybe_get_hydroelastic_mesh(scene.ids[0])
        for scene in both((name,), ("compliant",), tmp_path, hint)
    ]
    assert elements(meshes[0]) == elements(meshes[1])


@pytest.mark.parametrize("name", SHAPES)
def test_rigid_shapes_have_the_same_surface(name: str, tmp_path: Path) -> None:
    meshes = [
        scene.query.inspector().maybe_get_hydroelastic_mesh(scene.ids[0])
        for scene in both((name,), ("rigid",), tmp_path)
    ]
    assert meshes[0].num_triangles() == meshes[1].num_triangles()
    assert meshes[0].total_area() == pytest.approx(meshes[1].total_area(), rel=1e-12)
    np.testing.assert_allclose(meshes[0].centroid(), meshes[1].centroid(), rtol=0, atol=1e-12)


PAIRS = [*itertools.combinations_with_replacement(SHAPES, 2), *((name, "half_space") for name in SHAPES)]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_contact_surfaces_agree(names: tuple[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for kinds in (("compliant", "rigid"), ("rigid", "compliant"), ("compliant", "compliant")):
        if "half_space" in names and "rigid" not in kinds:
            continue
        compared = 0
        our_scene, drake_scene = both(names, kinds, tmp_path)
        for _ in range(20):
            X_WF = [random_pose(rng, 0.06) for _ in names]
            found, expected = our_scene.surfaces(X_WF), drake_scene.surfaces(X_WF)
            small = sum(s.total_area() for s in (*found, *expected)) < 1e-9
            if small:
                continue
            compared += 1
            assert_same(found[0], expected[0])
        assert compared >= 10


def assert_same(found: Any, expected: Any) -> None:
    """Same forces and moments, though sums of thousands of faces of which some are slivers, 1e-18 m² small."""
    f, m, area, centroid = resultant(found)
    drake_f, drake_m, drake_area, drake_centroid = resultant(expected)
    size = np.linalg.norm(drake_f) + 1e-3 * np.linalg.norm(MODULI) * drake_area
    np.testing.assert_allclose(f, drake_f, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(m, drake_m, rtol=0, atol=1e-9 * size)
    assert area == pytest.approx(drake_area, rel=1e-9)
    np.testing.assert_allclose(centroid, drake_centroid, rtol=0, atol=1e-9)
    assert (found.HasGradE_M(), found.HasGradE_N()) == (expected.HasGradE_M(), expected.HasGradE_N())


def test_triangles_and_gradients_agree(tmp_path: Path) -> None:
    X_WF = [random_pose(np.random.default_rng(4), 0.02) for _ in range(2)]
    scenes = both(("sphere", "box"), ("compliant", "compliant"), tmp_path)
    for representation in ("kPolygon", "kTriangle"):
        found, expected = (scene.surfaces(X_WF, representation)[0] for scene in scenes)
        assert found.num_faces() == expected.num_faces()
        assert found.num_vertices() == expected.num_vertices()
        for f, g in enumerate(_order(found, expected)):
            assert found.area(f) == pytest.approx(expected.area(g), rel=1e-6, abs=1e-12)
            for name in ("face_normal", "EvaluateGradE_M_W", "EvaluateGradE_N_W"):
                np.testing.assert_allclose(getattr(found, name)(f), getattr(expected, name)(g), rtol=1e-9, atol=1e-3)
    polygons = [scene.surfaces(X_WF)[0] for scene in scenes]
    order = _order(*polygons)
    gradients = [p.poly_e_MN().EvaluateGradient(f) for p, f in zip(polygons, (0, order[0]))]
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-3)


def _order(found: Any, expected: Any) -> list[int]:
    """For each face of ours the one of pydrake's with the same centroid."""
    centroids = np.array([expected.centroid(f) for f in range(expected.num_faces())])
    return [int(np.linalg.norm(centroids - found.centroid(f), axis=1).argmin()) for f in range(found.num_faces())]


KINDS = ("undefined", "rigid", "compliant")


@pytest.mark.parametrize("kinds", [*itertools.product(KINDS, KINDS)], ids="-".join)
@pytest.mark.parametrize("names", [("sphere", "box"), ("box", "half_space")], ids="-".join)
def test_which_pairs_have_surfaces_and_which_points(names: tuple[str, str], kinds: Any, tmp_path: Path) -> None:
    """Both refuse the same pairs without a fallback, and take the same way with one."""
    X_WF = [np.eye(4), np.eye(4)]
    X_WF[1][:3, 3] = 0.0, 0.01, -0.05
    answers, refused = [], []
    for scene in both(names, kinds, tmp_path):
        query = scene.place(X_WF)
        polygons = scene.library.HydroelasticContactRepresentation.kPolygon
        surfaces, points = query.ComputeContactSurfacesWithFallback(polygons)
        answers.append((len(surfaces), len(points)))
        try:
            query.ComputeContactSurfaces(polygons)
            refused.append(False)
        except RuntimeError:
            refused.append(True)
    assert answers[0] == answers[1]
    assert refused[0] == refused[1]


@pytest.mark.parametrize("name", ["sphere", "box", "rod", "capsule", "ellipsoid", "convex", "vtk"])
def test_margins_inflate_compliant_shapes_alike(name: str, tmp_path: Path) -> None:
    meshes = []
    for library, pose in ((ours, None), (drake, drake_math.RigidTransform)):
        shape = make_shape(library, name, tmp_path)
        properties = make_properties(library, shape, "compliant")
        properties.AddProperty("hydroelastic", "margin", 0.004)
        floor = library.HalfSpace()
        items = [(shape, properties), (floor, make_properties(library, floor, "rigid"))]
        scene = Scene(items) if pose is None else Scene(items, library, pose)
        low = np.eye(4)
        low[2, 3] = -0.03
        mesh = scene.query.inspector().maybe_get_hydroelastic_mesh(scene.ids[0])
        meshes.append((mesh, scene.surfaces([np.eye(4), low])))
    (mine, surfaces), (drakes, drake_surfaces) = meshes
    volume = sum(drakes.CalcTetrahedronVolume(e) for e in range(drakes.num_elements()))
    assert mine.CalcVolume() == pytest.approx(volume, rel=1e-6)
    found, expected = resultant(surfaces[0]), resultant(drake_surfaces[0])
    # Flat polygons of hulls are cut into other triangles; inner vertices of files have other pressures.
    tolerance = {"convex": 1e-7, "vtk": 0.02}.get(name, 1e-9)
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance, atol=1e-7)
    assert found[2] == pytest.approx(expected[2], rel=tolerance)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-2 * abs(expected[0][2]) * 0.1)
