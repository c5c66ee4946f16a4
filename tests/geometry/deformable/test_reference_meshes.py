"""Tetrahedra of deformable geometries at rest."""

import sys

import numpy as np
import pytest

from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    MeshcatCone,
    Sphere,
)
from merganser.geometry.deformable.moving_meshes import make_reference_mesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles, first_flaw


def edge_lengths(mesh):
    p = mesh.vertex_array()[mesh.tetrahedron_array()]
    return np.array([np.linalg.norm(p[:, a] - p[:, b], axis=1) for a in range(4) for b in range(a)])


@pytest.mark.parametrize(("hint", "counts"), [(5.0, (7, 8)), (0.3, (129, 512)), (0.15, (833, 4096))])
def test_balls_are_divided_until_edges_are_as_short_as_the_hint(hint, counts):
    mesh = make_reference_mesh(Sphere(0.5), hint)
    assert (mesh.num_vertices(), mesh.num_elements()) == counts
    assert first_flaw(mesh) == ""
    surface = np.unique(boundary_triangles(mesh))
    assert np.linalg.norm(mesh.vertex_array()[surface], axis=1) == pytest.approx(0.5)
    assert edge_lengths(mesh).max() < 1.5 * max(hint, 0.3)


def test_finer_balls_have_ever_more_of_the_volume():
    exact = 4.0 / 3.0 * np.pi
    missing = [1.0 - make_reference_mesh(Sphere(1.0), hint).CalcVolume() / exact for hint in (1.0, 0.5, 0.25)]
    assert missing[0] / missing[1] > 3.0 and missing[1] / missing[2] > 3.5


def test_ellipsoids_are_balls_that_are_stretched():
    mesh, ball = make_reference_mesh(Ellipsoid(0.1, 0.2, 0.3), 0.1), make_reference_mesh(Sphere(0.3), 0.1)
    assert mesh.vertex_array() == pytest.approx(ball.vertex_array() / 0.3 * [0.1, 0.2, 0.3])
    assert first_flaw(mesh) == ""


def test_boxes_are_grids_of_cells_as_large_as_the_hint():
    mesh = make_reference_mesh(Box(0.3, 0.2, 0.1), 0.1)
    assert (mesh.num_vertices(), mesh.num_elements()) == (4 * 3 * 2, 6 * 6)
    assert mesh.CalcVolume() == pytest.approx(0.006)
    assert first_flaw(mesh) == ""
    assert len(boundary_triangles(mesh)) == 2 * 2 * (6 + 3 + 2)  # cells fit together
    assert edge_lengths(mesh).max() == pytest.approx(np.sqrt(3) * 0.1)
    assert make_reference_mesh(Box(0.3, 0.2, 0.1), 5.0).num_elements() == 6


def distances_from_axis(p, half):
    """Of points from the segment from -half to half on Gz."""
    return np.linalg.norm(p - np.clip(p[:, 2:], -half, half) * [0.0, 0.0, 1.0], axis=1)


@pytest.mark.parametrize(
    "shape", [Cylinder(0.1, 0.3), Capsule(0.1, 0.3), Capsule(0.1, 1e-3), Cylinder(0.3, 1e-2)], ids=repr
)
def test_cylinders_and_capsules_are_rounded_grids_whose_tetrahedra_fit_together(shape):
    missing = []
    for hint in (0.1, 0.05, 0.025):
        mesh = make_reference_mesh(shape, hint)
        p, t = mesh.vertex_array(), mesh.tetrahedron_array()
        assert first_flaw(mesh) == ""
        surface = boundary_triangles(mesh)
        edges = np.sort(surface[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # the surface has no gap
        assert len(np.unique(edges)) - len(edges) // 2 + len(surface) == 2  # and is one piece without holes
        assert not np.isin(t, np.unique(surface)).all(axis=1).any()  # each tetrahedron has a vertex below it
        assert edge_lengths(mesh).max() < 1.7 * hint
        round_ones = surface[np.ptp(p[surface, 2], axis=1) > 1e-12] if isinstance(shape, Cylinder) else surface
        half = 0.5 * shape.length() if isinstance(shape, Capsule) else np.inf
        assert distances_from_axis(p[np.unique(round_ones)], half) == pytest.approx(shape.radius(), rel=1e-12)
        assert p.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
        missing.append(1.0 - mesh.CalcVolume() / CalcVolume(shape))
    assert missing[0] > 3.5 * missing[1] > 12.0 * missing[2] > 0.0


TWO = """# vtk DataFile Version 3.0
two tetrahedra
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 5 double
0 0 0 1 0 0 0 1 0 0 0 1 1 1 1
CELLS 2 10
4 0 1 2 3
4 1 2 3 4
CELL_TYPES 2
10 10
"""


def of_file(text, scale=1.0):
    return Mesh(InMemoryMesh(mesh_file=MemoryFile(text, ".vtk", "two.vtk")), scale)


def test_files_are_taken_as_they_are_and_scaled():
    mesh = make_reference_mesh(of_file(TWO, 2.0), 0.001)
    assert mesh.tetrahedron_array().tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert mesh.vertex_array()[4].tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"two.vtk.* tetrahedron 1, .* inside out"):
        make_reference_mesh(of_file(TWO.replace("4 1 2 3 4", "4 2 1 3 4")), 1.0)


def test_what_has_no_tetrahedra_is_refused_by_name():
    for shape in (MeshcatCone(0.1, 0.2, 0.2), HalfSpace()):
        with pytest.raises(RuntimeError, match=f"deformable {type(shape).__name__}.*Box, Capsule, Cylinder, Ell"):
            make_reference_mesh(shape, 0.1)
    for hint in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match=r"resolution hint .* must be positive"):
            make_reference_mesh(Sphere(1.0), hint)
    for shape in (Box(1.0, 1.0, 1.0), Sphere(1.0)):
        with pytest.raises(RuntimeError, match="Take a greater hint"):
            make_reference_mesh(shape, 1e-3)


def test_surfaces_need_the_package_that_fills_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "tetgen", None)
    with pytest.raises(RuntimeError, match=r"surface 'corner' need the package tetgen, .* pip install tetgen"):
        make_reference_mesh(Convex(np.eye(3, 4), "corner"), 0.1)
