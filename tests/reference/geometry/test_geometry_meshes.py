"""Hulls, boxes, volumes and meshes of the same files and points in pydrake."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
import pydrake.geometry as drake  # noqa: E402
import pydrake.math as drake_math  # noqa: E402
from pydrake.common import MemoryFile as DrakeFile  # noqa: E402

import merganser.framework.math as our_math  # noqa: E402
import merganser.geometry as ours  # noqa: E402

pytestmark = pytest.mark.reference

LIBRARIES = (ours, drake)


def write_surface(path: Path, seed: int) -> Path:
    """The boundary of a random hull, its polygons whole."""
    points = np.random.default_rng(seed).normal(size=(3, 40))
    hull = ours.Convex(points, "points").GetConvexHull()
    lines = ["v {!r} {!r} {!r}".format(*hull.vertex(v).tolist()) for v in range(hull.num_vertices())]
    for f in range(hull.num_faces()):
        polygon = hull.element(f)
        lines.append("f " + " ".join(str(polygon.vertex(i) + 1) for i in range(polygon.num_vertices())))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("seed", range(3))
def test_hulls_and_volumes_of_files_agree(seed: int, tmp_path: Path) -> None:
    path = write_surface(tmp_path / "hull.obj", seed)
    scale3 = np.random.default_rng(seed).uniform(-2, 2, 3)
    hulls = [library.Mesh(str(path), scale3=scale3).GetConvexHull() for library in LIBRARIES]
    assert hulls[0].num_faces() == hulls[1].num_faces()
    vertices = [sorted(hull.vertex(v).tolist() for v in range(hull.num_vertices())) for hull in hulls]
    np.testing.assert_allclose(vertices[0], vertices[1], rtol=0, atol=1e-14)
    assert hulls[0].total_area() == pytest.approx(hulls[1].total_area(), rel=1e-12)
    np.testing.assert_allclose(hulls[0].centroid(), hulls[1].centroid(), rtol=0, atol=1e-12)
    for kind in ("Mesh", "Convex"):
        volumes = [library.CalcVolume(getattr(library, kind)(str(path), scale3=scale3)) for library in LIBRARIES]
        assert volumes[0] == pytest.approx(volumes[1], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_around_meshes_are_not_larger(seed: int, tmp_path: Path) -> None:
    """Both libraries look for a small box, in different ways; ours was never the larger one on any file tried."""
    path = write_surface(tmp_path / "hull.obj", seed)
    boxes = [library.CalcObb(library.Mesh(str(path))) for library in LIBRARIES]
    assert boxes[0].CalcVolume() <= boxes[1].CalcVolume() * 1.02


@pytest.mark.parametrize("name", ["Sphere", "Box", "Cylinder", "Capsule", "Ellipsoid", "MeshcatCone"])
def test_boxes_around_primitives_agree(name: str) -> None:
    measures = np.random.default_rng(0).uniform(0.1, 2, {"Sphere": 1, "Cylinder": 2, "Capsule": 2}.get(name, 3))
    boxes = [library.CalcObb(getattr(library, name)(*measures)) for library in LIBRARIES]
    np.testing.assert_allclose(boxes[0].half_width(), boxes[1].half_width(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(boxes[0].pose().GetAsMatrix4(), boxes[1].pose().GetAsMatrix4(), rtol=0, atol=1e-15)


def test_overlaps_of_boxes_agree() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        numbers = rng.uniform(-1.5, 1.5, (4, 6))
        answers = []
        for library, math in ((ours, our_math), (drake, drake_math)):
            X = [math.RigidTransform(math.RollPitchYaw(row[:3]), row[3:]) for row in numbers]
            half = np.abs(numbers[:2, :3])
            a, b = library.Obb(X[0], half[0]), library.Obb(X[1], half[1])
            c, d = library.Aabb(numbers[0, 3:], half[0]), library.Aabb(numbers[1, 3:], half[1])
            plane = library.Plane(numbers[3, :3], numbers[3, 3:])
            answers.append(
                [
                    library.Obb.HasOverlap(a, b, X[2]),
                    library.Obb.HasOverlap(a, d, X[2]),
                    library.Aabb.HasOverlap(c, d, X[2]),
                    library.Aabb.HasOverlap(c, b, X[2]),
                    library.Obb.HasOverlap(a, library.HalfSpace(), X[2]),
                    library.Aabb.HasOverlap(c, library.HalfSpace(), X[2]),
                    library.Obb.HasOverlap(a, plane, X[2]),
                    library.Aabb.HasOverlap(c, plane, X[2]),
                ]
            )
        assert answers[0] == answers[1]


def test_triangle_meshes_agree(tmp_path: Path) -> None:
    path = write_surface(tmp_path / "hull.obj", 5)
    meshes = [library.ReadObjToTriangleSurfaceMesh(str(path), scale=2.0) for library in LIBRARIES]
    triangles = [[[t.vertex(i) for i in range(3)] for t in mesh.triangles()] for mesh in meshes]
    assert triangles[0] == triangles[1]
    np.testing.assert_array_equal(meshes[0].vertices(), meshes[1].vertices())
    p_MQ = np.array([0.1, 0.2, 0.3])
    for function, *arguments in (
        ("total_area",),
        ("centroid",),
        ("area", 3),
        ("face_normal", 3),
        ("element_centroid", 3),
        ("CalcBarycentric", p_MQ, 3),
        ("CalcCartesianFromBarycentric", 3, [0.2, 0.3, 0.5]),
        ("CalcBoundingBox",),
    ):
        values = [np.array(getattr(mesh, function)(*arguments)) for mesh in meshes]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-12, atol=1e-13)
    chosen = {0, 2, 5}
    for function in ("ComputeAabbForTriangleMesh", "ComputeObbForTriangleMesh"):
        boxes = [getattr(library, function)(mesh, chosen) for library, mesh in zip(LIBRARIES, meshes)]
        assert boxes[0].CalcVolume() <= boxes[1].CalcVolume() + 1e-11


def random_tetrahedra(library: Any, seed: int) -> Any:
    from scipy.spatial import Delaunay

    points = np.random.default_rng(seed).uniform(size=(12, 3))
    elements = []
    for corners in Delaunay(points).simplices.tolist():
        p = points[corners]
        if np.linalg.det(p[1:] - p[0]) < 0:
            corners[:2] = corners[1::-1]
        elements.append(library.VolumeElement(*corners))
    return library.VolumeMesh(elements, list(points))


@pytest.mark.parametrize("seed", range(4))
def test_volume_meshes_and_their_refinements_agree(seed: int) -> None:
    meshes = [random_tetrahedra(library, seed) for library in LIBRARIES]
    refined = [library.RefineVolumeMesh(mesh) for library, mesh in zip(LIBRARIES, meshes)]
    assert refined[0].num_vertices() == refined[1].num_vertices()
    assert refined[0].num_elements() == refined[1].num_elements()
    for pair in (meshes, refined):
        surfaces = [library.ConvertVolumeToSurfaceMesh(mesh) for library, mesh in zip(LIBRARIES, pair)]
        assert surfaces[0].num_triangles() == surfaces[1].num_triangles()
        assert surfaces[0].num_vertices() == surfaces[1].num_vertices()
        assert surfaces[0].total_area() == pytest.approx(surfaces[1].total_area(), rel=1e-12)
        np.testing.assert_allclose(surfaces[0].centroid(), surfaces[1].centroid(), rtol=0, atol=1e-12)
        assert pair[0].CalcVolume() == pytest.approx(pair[1].CalcVolume(), rel=1e-12)
    for f in range(4):
        normals = [mesh.inward_normal(1, f) for mesh in meshes]
        np.testing.assert_allclose(normals[0], normals[1], rtol=0, atol=1e-13)
    for function, *arguments in (("CalcBarycentric", [0.1, 0.2, 0.3], 1), ("edge_vector", 1, 0, 2)):
        values = [getattr(mesh, function)(*arguments) for mesh in meshes]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-11)


def test_meshes_in_memory_agree(tmp_path: Path) -> None:
    path = write_surface(tmp_path / "hull.obj", 6)
    facts = []
    for library, file in ((ours, ours.MemoryFile), (drake, DrakeFile)):
        data = library.InMemoryMesh(mesh_file=file(path.read_text(), ".OBJ", "hull"))
        source = library.MeshSource(data)
        facts.append(
            (
                source.is_in_memory(),
                source.is_path(),
                source.extension(),
                source.description(),
                source.in_memory().mesh_file.sha256().to_string(),
                pytest.approx(library.CalcVolume(library.Mesh(data, 2.0))),
                library.Convex(np.eye(3), "corner").source().description(),
                library.Convex(np.eye(3), "corner").extension(),
            )
        )
    assert facts[0] == facts[1]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", ("Mesh", "Convex")),
        ("v 0 0 0\nv 1 0 0\n", ("Mesh", "Convex")),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", ("Convex",)),
        (None, ("Mesh", "Convex")),
    ],
)
def test_both_refuse_the_same_files(text: str | None, kinds: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "bad.obj"
    if text is not None:
        path.write_text(text)
    for library in LIBRARIES:
        for kind in kinds:
            with pytest.raises(RuntimeError):
                library.CalcVolume(getattr(library, kind)(str(path)))
