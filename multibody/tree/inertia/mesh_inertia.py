"""Mass properties of homogeneous bodies given by triangles or tetrahedra.

The divergence theorem turns integrals over a closed body into integrals over its surface (Mirtich 1996, Fast and
accurate computation of polyhedral mass properties, J. Graphics Tools 1). For polyhedra this is the sum over the
triangles (a, b, c) of the tetrahedra (0, a, b, c), whose volumes are signed: positive where the triangle's outward
normal points away from the origin. Over a tetrahedron of volume V with vertices p_i and s = sum p_i

    integral of x = V s / 4                                                  (1)
    integral of x x^T = V (sum p_i p_i^T + s s^T) / 20                       (2)

(Lasserre and Avrachenkov 2001, Amer. Math. Monthly 108).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.tree.inertia.spatial_inertia import SpatialInertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia, inertia_of_second_moment
from merganser.multibody.tree.inertia.validity import check_positive

Array = npt.NDArray[Any]

# A volume smaller than this share of the cube around the mesh is rounding error.
_SMALLEST_VOLUME = 1e-14


def inertia_of_mesh(mesh: Any, density: float) -> SpatialInertia:
    """Returns M_MMo_M of the body in a mesh object, in the mesh's frame M.

    Args:
        mesh: a triangle surface mesh or a tetrahedral volume mesh with pydrake's methods vertices() and
            triangles() or tetrahedra(), or a trimesh.Trimesh.
        density: mass per volume [kg/m^3].

    Raises:
        TypeError: if `mesh` is none of these.
        ValueError: if the volume is not positive.
        RuntimeError: if the density is not positive and finite, or the result is not physically valid.
    """
    name = f"the {type(mesh).__name__}"
    if hasattr(mesh, "faces"):
        return inertia_of_triangles(np.asarray(mesh.vertices)[np.asarray(mesh.faces)], density, name)
    for elements, num_corners, integrate in (
        ("triangles", 3, inertia_of_triangles),
        ("tetrahedra", 4, inertia_of_tetrahedra),
    ):
        if hasattr(mesh, elements):
            vertices = np.asarray(mesh.vertices(), dtype=np.float64).reshape(-1, 3)
            corners = [[e.vertex(i) for i in range(num_corners)] for e in getattr(mesh, elements)()]
            return integrate(vertices[np.array(corners, dtype=np.int64).reshape(-1, num_corners)], density, name)
    raise TypeError(
        "CalcSpatialInertia() takes a Shape, a mesh with vertices() and triangles() or tetrahedra(), or a "
        f"trimesh.Trimesh; not a {type(mesh).__name__}."
    )


def inertia_of_triangles(triangles: Array, density: float, name: str) -> SpatialInertia:
    """Returns the inertia about the origin of the body within a closed surface.

    Args:
        triangles: corners, counter-clockwise seen from outside [m], shape [n, 3, 3].
        density: mass per volume [kg/m^3].
        name: what error messages call the mesh.

    Raises:
        ValueError: if the volume is not positive: the surface is flat, open, or wound inside out.
        RuntimeError: if the density is not positive and finite, or the result is not physically valid.
    """
    volumes = np.linalg.det(triangles) / 6.0
    remedy = "Each triangle's corners must be counter-clockwise seen from outside, and the surface must be closed."
    return _inertia(volumes, triangles, density, name, remedy)


def inertia_of_tetrahedra(tetrahedra: Array, density: float, name: str) -> SpatialInertia:
    """Returns the inertia about the origin of a body made of tetrahedra.

    Args:
        tetrahedra: corners, in any order [m], shape [n, 4, 3].
        density: mass per volume [kg/m^3].
        name: what error messages call the mesh.

    Raises:
        ValueError: if all tetrahedra are flat.
        RuntimeError: if the density is not positive and finite.
    """
    volumes = abs(np.linalg.det(tetrahedra[:, 1:] - tetrahedra[:, :1])) / 6.0
    return _inertia(volumes, tetrahedra, density, name, "All its tetrahedra are flat.")


def _inertia(volumes: Array, corners: Array, density: float, name: str, remedy: str) -> SpatialInertia:
    """Sums (1) and (2); a corner at the origin may be left out, shape [n, 3 or 4, 3]."""
    check_positive("CalcSpatialInertia", "density", density)
    volume = volumes.sum()
    extent = np.ptp(corners.reshape(-1, 3), axis=0).max(initial=0.0) if len(corners) else 0.0
    if not volume > _SMALLEST_VOLUME * extent**3:
        raise ValueError(
            f"CalcSpatialInertia(): the volume in {name} must be positive, but is {volume:.6g} m^3. {remedy}"
        )
    s = corners.sum(axis=1)
    first_moment = volumes @ s / 4.0
    second_moment = (np.einsum("n,nki,nkj", volumes, corners, corners) + np.einsum("n,ni,nj", volumes, s, s)) / 20.0
    G_MMo_M = UnitInertia._from_matrix(inertia_of_second_moment(second_moment / volume))
    return SpatialInertia(float(density * volume), first_moment / volume, G_MMo_M)
