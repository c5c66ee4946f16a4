"""The tetrahedra of a deformable geometry at rest: of a shape by a resolution hint, or of a file.

Primitive shapes are filled as their kinds say (shapes/filled_meshes.py).

What a closed surface holds, of a Mesh or a Convex, is filled by TetGen (H. Si, ACM Trans. Math. Software 41, 2015), if
the package tetgen is installed, under its own license (AGPL). It keeps the surface, and divides its triangles.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.geometry.hydroelastic.mesh_shapes import checked_volume, is_closed, shape_surface
from merganser.geometry.meshes.volume_mesh import VolumeMesh
from merganser.geometry.shapes import SHAPES, Mesh, Shape
from merganser.geometry.shapes.filled_meshes import check_count
from merganser.geometry.shapes.measures import CalcVolume, is_surface_known, name_of


def make_reference_mesh(shape: Shape, resolution_hint: float) -> VolumeMesh:
    """Returns the tetrahedra of a shape, in its frame G.

    Args:
        shape: a Sphere, Ellipsoid, Box, Cylinder or Capsule; a Mesh of a .vtk file, whose tetrahedra are taken as they
            are; or a Convex or another Mesh with a closed surface, which the package tetgen fills. (pydrake has Sphere
            and Mesh of a .vtk file.)
        resolution_hint: about the length of edges, of an ellipsoid on its longest axis [m]; of no effect on a Mesh.

    Raises:
        RuntimeError: the hint is not positive and finite, or so small that there were more than MOST_TETRAHEDRA; there
            are no tetrahedra of such a shape; the file cannot be read or has a tetrahedron that is flat or inside out;
            or a surface is not closed, cannot be filled, or tetgen is not installed.
    """
    if not 0.0 < resolution_hint < math.inf:
        raise RuntimeError(f"The resolution hint of a deformable {shape} must be positive; given {resolution_hint}.")
    if isinstance(shape, Mesh) and shape.extension() == ".vtk":
        return checked_volume(shape)
    if shape.kind.tetrahedra is None and is_surface_known(shape):
        return _filled(shape, resolution_hint)
    if shape.kind.tetrahedra is None:
        known = ", ".join(sorted(each.__name__ for each in SHAPES if each.kind.tetrahedra is not None))
        raise RuntimeError(
            f"There are no tetrahedra for a deformable {shape}. Take one of these shapes: {known}; or a Mesh of a .vtk "
            "file of tetrahedra, or of a closed surface."
        )
    return shape.kind.tetrahedra(shape, resolution_hint)


def _filled(shape: Shape, hint: float) -> VolumeMesh:
    """Tetrahedra in a closed surface, no larger, about, than a regular one with edges as long as the hint."""
    surface, name = shape_surface(shape), name_of(shape)
    if not is_closed(surface):
        raise RuntimeError(
            f"The surface in '{name}' is not closed: some edge does not have one triangle on each side. Close it, or "
            "make the shape a Convex, which stands for the convex hull."
        )
    most = hint**3 / (6.0 * math.sqrt(2.0))  # a regular tetrahedron's volume
    check_count(abs(CalcVolume(shape)) / most if most > 0.0 else math.inf, hint)
    try:
        import tetgen
    except ImportError:
        raise RuntimeError(
            f"The tetrahedra in the surface '{name}' need the package tetgen, which is not installed: pip install "
            "tetgen; or give the tetrahedra as a .vtk file."
        ) from None
    vertices, triangles = surface.vertex_array(), surface.triangle_array()
    mesher = tetgen.TetGen(np.ascontiguousarray(vertices), triangles.astype(np.int32))
    try:
        nodes, tetrahedra, *_ = mesher.tetrahedralize(fixedvolume=True, maxvolume=most, quiet=True)
    except RuntimeError as error:
        raise RuntimeError(f"The surface in '{name}' cannot be filled with tetrahedra: {error}") from error
    return VolumeMesh(np.array(tetrahedra, np.int64), np.asarray(nodes, np.float64))
