"""Surfaces of triangles and polygons, volumes of tetrahedra, and functions on them."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from merganser.geometry import (
    ConvertVolumeToSurfaceMesh,
    MeshSource,
    PolygonSurfaceMesh,
    PolygonSurfaceMeshFieldLinear,
    RefineVolumeMesh,
    RefineVolumeMeshIntoVtkFileContents,
    SurfaceTriangle,
    TriangleSurfaceMesh,
    TriangleSurfaceMeshFieldLinear,
    VolumeElement,
    VolumeMesh,
)
from merganser.geometry.meshes import read_volume_mesh
from merganser.geometry.shapes.measures import enclosed_volume

SQUARE = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])


def square_of_triangles() -> TriangleSurfaceMesh:
    return TriangleSurfaceMesh([SurfaceTriangle(0, 1, 2), SurfaceTriangle(0, 2, 3)], SQUARE)


def cube_of_tetrahedra(cells: int = 1, seed: int | None = None) -> VolumeMesh:
    """A cube of cells, each of six tetrahedra around a diagonal; the inner vertices perhaps moved at random."""
    n = cells + 1
    grid = np.array(list(itertools.product(range(n), repeat=3)))
    vertices = grid / cells
    if seed is not None:
        inner = ((grid > 0) & (grid < cells)).all(axis=1)
        vertices[inner] += np.random.default_rng(seed).uniform(-0.1, 0.1, (inner.sum(), 3)) / cells
    tetrahedra = []
    for corner in itertools.product(range(cells), repeat=3):
        for order in itertools.permutations(range(3)):
            path = [np.array(corner)]
            for axis in order:
                path.append(path[-1] + np.eye(3, dtype=int)[axis])
            indices = [int(p @ (n * n, n, 1)) for p in path]
            is_even = np.linalg.det(np.eye(3)[list(order)]) > 0
            if not is_even:
                indices[1:3] = indices[2:0:-1]
            tetrahedra.append(VolumeElement(*indices))
    return VolumeMesh(tetrahedra, vertices)


def test_areas_normals_and_centroids_of_triangles_are_those_of_the_closed_forms() -> None:
    mesh = square_of_triangles()
    assert (mesh.num_triangles(), mesh.num_elements(), mesh.num_vertices()) == (2, 2, 4)
    assert mesh.area(0) == mesh.area(1) == 2.0
    assert mesh.total_area() == 4.0
    assert mesh.face_normal(1).tolist() == [0, 0, 1]
    assert mesh.centroid() == pytest.approx([1, 1, 0])
    assert mesh.element_centroid(0) == pytest.approx([4 / 3, 2 / 3, 0])
    assert [mesh.element(1).vertex(i) for i in range(mesh.element(1).num_vertices())] == [0, 2, 3]
    center, size = mesh.CalcBoundingBox()
    assert (center.tolist(), size.tolist()) == ([1, 1, 0], [2, 2, 0])
    assert mesh.Equal(square_of_triangles())
    assert not mesh.Equal(TriangleSurfaceMesh(mesh.triangles(), 2 * SQUARE))


def test_triangle_without_area_has_no_normal() -> None:
    mesh = TriangleSurfaceMesh([SurfaceTriangle(0, 1, 1)], SQUARE)
    assert mesh.face_normal(0).tolist() == [0, 0, 0]
    assert mesh.centroid().tolist() == [0, 0, 0]


def test_barycentric_coordinates_there_and_back() -> None:
    rng = np.random.default_rng(0)
    surface = TriangleSurfaceMesh([SurfaceTriangle(0, 1, 2)], rng.normal(size=(3, 3)))
    volume = VolumeMesh([VolumeElement(0, 1, 2, 3)], rng.normal(size=(4, 3)))
    for _ in range(5):
        b = rng.dirichlet(np.ones(3))
        p_MQ = surface.CalcCartesianFromBarycentric(0, b)
        above = p_MQ + 0.7 * surface.face_normal(0)
        assert surface.CalcBarycentric(above, 0) == pytest.approx(b, abs=1e-12)
        b = rng.dirichlet(np.ones(4))
        assert volume.CalcBarycentric(b @ volume.vertices(), 0) == pytest.approx(b, abs=1e-12)


def test_polygons_measure_the_same_as_the_triangles_they_are_cut_into() -> None:
    rng = np.random.default_rng(1)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 7))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    vertices = np.stack([np.cos(angles), 2 * np.sin(angles), np.full(7, 3.0)], axis=1) @ axes
    polygons = PolygonSurfaceMesh([7, *range(7)], vertices)
    triangles = TriangleSurfaceMesh(polygons.triangle_array(), vertices)
    assert polygons.area(0) == pytest.approx(triangles.total_area())
    assert polygons.element_centroid(0) == pytest.approx(triangles.centroid())
    assert polygons.centroid() == pytest.approx(triangles.centroid())
    assert polygons.face_normal(0) == pytest.approx(triangles.face_normal(0))
    assert polygons.face_data() == [7, *range(7)]
    assert polygons.element(0).num_vertices() == 7
    assert PolygonSurfaceMesh().num_faces() == 0


def test_linear_functions_are_reproduced_by_fields() -> None:
    rng = np.random.default_rng(2)
    gradient = np.array([1.0, -2.0, 0.0])
    values = SQUARE @ gradient + 5.0
    p_MQ = np.array([*rng.uniform(0, 2, 2), 0.3])
    triangles = TriangleSurfaceMeshFieldLinear(values, square_of_triangles())
    polygons = PolygonSurfaceMeshFieldLinear(values, PolygonSurfaceMesh([4, 0, 1, 2, 3], SQUARE))
    for field in (triangles, polygons):
        assert field.EvaluateCartesian(0, p_MQ) == pytest.approx(p_MQ @ gradient + 5.0)
        assert field.EvaluateAtVertex(2) == values[2]
    assert triangles.Evaluate(0, [0.2, 0.3, 0.5]) == pytest.approx([0.2, 0.3, 0.5] @ values[:3])
    assert polygons.EvaluateGradient(0) == pytest.approx(gradient)
    with pytest.raises(ValueError, match="a value for each of 4 vertices; given 3"):
        TriangleSurfaceMeshFieldLinear(values[:3], square_of_triangles())


def test_volume_of_tetrahedra_is_that_within_their_surface() -> None:
    mesh = cube_of_tetrahedra(2, seed=3)
    assert mesh.CalcVolume() == pytest.approx(1.0)
    assert sum(mesh.CalcTetrahedronVolume(e) for e in range(mesh.num_elements())) == pytest.approx(1.0)
    surface = ConvertVolumeToSurfaceMesh(mesh)
    assert surface.total_area() == pytest.approx(6.0)
    assert surface.num_vertices() == 26  # all but the one in the middle
    assert enclosed_volume(surface.vertex_array(), surface.triangle_array()) == pytest.approx(1.0)
    edges = np.concatenate([surface.triangle_array()[:, [i, (i + 1) % 3]] for i in range(3)])
    assert sorted(map(tuple, edges.tolist())) == sorted(map(tuple, edges[:, ::-1].tolist()))


def test_inward_normals_point_to_the_opposite_vertex() -> None:
    mesh = cube_of_tetrahedra(1)
    for e, f in itertools.product(range(mesh.num_elements()), range(4)):
        a, b = f, (f + 1) % 4
        towards = mesh.edge_vector(e, b, a)
        assert mesh.inward_normal(e, f) @ towards > 0
        assert np.linalg.norm(mesh.inward_normal(e, f)) == pytest.approx(1.0)
    assert mesh.Equal(cube_of_tetrahedra(1))
    moved = VolumeMesh(mesh.tetrahedra(), mesh.vertex_array() + 1e-3)
    assert not mesh.Equal(moved)
    assert mesh.Equal(moved, vertex_tolerance=2e-3)


@pytest.mark.parametrize("cells", [1, 2])
def test_refined_mesh_has_the_volume_and_no_inner_simplex_between_surface_vertices(cells: int) -> None:
    mesh = cube_of_tetrahedra(cells)
    refined = RefineVolumeMesh(mesh)
    assert refined.CalcVolume() == pytest.approx(1.0)
    assert all(refined.CalcTetrahedronVolume(e) > 0 for e in range(refined.num_elements()))
    surface = ConvertVolumeToSurfaceMesh(refined)
    assert surface.num_triangles() == ConvertVolumeToSurfaceMesh(mesh).num_triangles()
    on_surface = {tuple(p) for p in surface.vertex_array().tolist()}
    outside = {
        frozenset(map(tuple, surface.vertex_array()[list(part)].tolist()))
        for triangle in surface.triangle_array().tolist()
        for size in (2, 3)
        for part in itertools.combinations(triangle, size)
    }
    for corners in refined.tetrahedron_array():
        points = [tuple(p) for p in refined.vertex_array()[corners].tolist()]
        for size in (2, 3, 4):
            for part in itertools.combinations(points, size):
                assert not on_surface.issuperset(part) or frozenset(part) in outside
    assert RefineVolumeMesh(refined).Equal(refined)


def test_refined_file_is_a_vtk_file_again(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "tetrahedron.vtk"
    path.write_text(
        "# vtk DataFile Version 3.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0\n0 1 0 0 0 1\n"
        "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n"
    )
    refined = RefineVolumeMesh(read_volume_mesh(MeshSource(path)))
    assert (refined.num_elements(), refined.num_vertices()) == (4, 5)
    path.write_text(RefineVolumeMeshIntoVtkFileContents(MeshSource(path)))
    assert read_volume_mesh(MeshSource(path)).Equal(refined)


@pytest.mark.parametrize(
    ("error", "message", "act"),
    [
        (RuntimeError, "at least one triangle", lambda: TriangleSurfaceMesh([], SQUARE)),
        (RuntimeError, "triangle 0 has", lambda: TriangleSurfaceMesh(np.array([[0, 1, 4]]), SQUARE)),
        (RuntimeError, "at least one tetrahedron", lambda: VolumeMesh([], SQUARE)),
        (RuntimeError, "must not be negative", lambda: SurfaceTriangle(0, -1, 2)),
        (RuntimeError, "must not be negative", lambda: VolumeElement(0, 1, 2, -3)),
        (ValueError, r"must have shape \[n, 3\]", lambda: TriangleSurfaceMesh([SurfaceTriangle(0, 1, 2)], np.eye(2))),
        (RuntimeError, "polygon 0 has 4 vertices .* 3 follow", lambda: PolygonSurfaceMesh([4, 0, 1, 2], SQUARE)),
        (RuntimeError, "polygon 0 has the vertices", lambda: PolygonSurfaceMesh([3, 0, 1, 9], SQUARE)),
        (IndexError, "no vertex 4 .* has 4", lambda: square_of_triangles().vertex(4)),
        (IndexError, "no triangle -1", lambda: square_of_triangles().area(-1)),
        (IndexError, "no vertex 3", lambda: SurfaceTriangle(0, 1, 2).vertex(3)),
        (TypeError, "takes a VolumeMesh", lambda: ConvertVolumeToSurfaceMesh(square_of_triangles())),
        (TypeError, "takes a VolumeMesh", lambda: RefineVolumeMesh(square_of_triangles())),
        (TypeError, "takes a MeshSource", lambda: RefineVolumeMeshIntoVtkFileContents("a.vtk")),
    ],
)
def test_bad_meshes_are_refused(error: type[Exception], message: str, act: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        act()
