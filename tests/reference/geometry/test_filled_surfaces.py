"""Deformable bodies in the closed surfaces of mesh files, which TetGen fills."""

import numpy as np
import pytest

from merganser.geometry import Convex, InMemoryMesh, MemoryFile, Mesh
from merganser.geometry.deformable.moving_meshes import make_reference_mesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles, first_flaw

pytest.importorskip("tetgen", reason="the package tetgen is not installed")

_CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
_TRIANGLES = "124 143 578 586 156 162 348 387 137 175 268 284"  # of a cube, counterclockwise from outside


def cube(*origins, num_triangles=12):
    """Cubes of side 1 with these first corners as a file."""
    lines = [f"v {x} {y} {z}" for origin in origins for x, y, z in _CORNERS + origin]
    for k in range(len(origins)):
        for triangle in _TRIANGLES.split()[:num_triangles]:
            lines.append("f " + " ".join(str(int(vertex) + 8 * k) for vertex in triangle))
    return InMemoryMesh(mesh_file=MemoryFile("\n".join(lines), ".obj", "cube.obj"))


@pytest.mark.parametrize("kind", [Mesh, Convex])
def test_closed_surfaces_are_filled_with_tetrahedra_as_small_as_the_hint(kind):
    counts = []
    for hint in (0.3, 0.15, 0.075):
        mesh = make_reference_mesh(kind(cube(0.0), 0.3), hint)
        assert first_flaw(mesh) == ""
        assert mesh.CalcVolume() == pytest.approx(0.027)
        volumes = [mesh.CalcTetrahedronVolume(e) for e in range(mesh.num_elements())]
        assert max(volumes) < 2.0 * hint**3 / (6.0 * np.sqrt(2.0))  # TetGen takes the bound for a wish
        surface = mesh.vertex_array()[np.unique(boundary_triangles(mesh))]
        assert np.abs(surface / 0.3 - 0.5).max(axis=1) == pytest.approx(0.5)  # on a face of the cube
        counts.append(mesh.num_elements())
    assert counts[0] < counts[1] < counts[2]


def test_surfaces_that_hold_nothing_are_refused_by_name():
    for source, words in (
        (cube(0.0, num_triangles=11), "surface in 'cube.obj' is not closed"),
        (cube(0.0, 0.5), "surface in 'cube.obj' cannot be filled with tetrahedra: .*self-intersections"),
    ):
        with pytest.raises(RuntimeError, match=words):
            make_reference_mesh(Mesh(source), 0.5)
    for scale in ([1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]):  # the mirrored surface is inside out
        with pytest.raises(RuntimeError, match=r"resolution hint of 0.0001 m, .* tetrahedra, more than"):
            make_reference_mesh(Mesh(cube(0.0), scale), 1e-4)
