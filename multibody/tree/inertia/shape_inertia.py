"""Mass properties of homogeneous shapes, and of bodies given by triangles or tetrahedra.

The divergence theorem turns integrals over a closed body into integrals over its surface (Mirtich 1996, Fast and
accurate computation of polyhedral mass properties, J. Graphics Tools 1). For polyhedra this is the sum over the
triangles (a, b, c) of the tetrahedra (0, a, b, c), whose volumes are signed: positive where the triangle's outward
normal points away from the origin. Over a tetrahedron of volume V with vertices p_i and s = sum p_i

    integral of x = V s / 4                                                  (1)
    integral of x x^T = V (sum p_i p_i^T + s s^T) / 20                       (2)

(Lasserre and Avrachenkov 2001, Amer. Math. Monthly 108).
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from merganser.geometry import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)
from merganser.geometry.meshes import read_surface_mesh, read_volume_mesh
from merganser.geometry.shapes.measures import is_surface_known, triangles_of
from merganser.multibody.tree.inertia.spatial_inertia import SpatialInertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia, inertia_of_second_moment
from merganser.multibody.tree.inertia.validity import check_positive

_Z = np.array([0.0, 0.0, 1.0])  # the axis of cylinders and capsules


@overload
def CalcSpatialInertia(shape: Shape, density: float) -> SpatialInertia: ...
@overload
def CalcSpatialInertia(shape: Any, density: float) -> SpatialInertia: ...
@overload
def CalcSpatialInertia(*, mesh: Any, density: float) -> SpatialInertia: ...
def CalcSpatialInertia(shape: Any = None, density: float | None = None, *, mesh: Any = None) -> SpatialInertia:
    """Returns M_SSo_S, the spatial inertia of a homogeneous body, about the origin So and in the frame S of its shape.

    A mesh must be closed and its triangles counter-clockwise seen from outside. Whether it is, is not checked: an
    inertia that no body has is refused, but an open mesh may also give one that looks right.

    Args:
        shape: a Shape; a Mesh or Convex may come from an .obj file, a .vtk file of tetrahedra, or any other file that
            trimesh reads. Or a mesh object, as `mesh`.
        density: mass per volume [kg/m^3].
        mesh: by name, instead of `shape`: a mesh with vertices() and triangles() or tetrahedra(), or a
            trimesh.Trimesh.

    Raises:
        TypeError: if `shape` is neither a Shape nor a mesh, or an argument is missing.
        ValueError: if the shape is a HalfSpace or a MeshcatCone, or a mesh has no positive volume.
        RuntimeError: if the density or a dimension is not positive and finite, a file cannot be read, or the
            result is not physically valid.
    """
    body = mesh if shape is None else shape
    if body is None or density is None or (shape is not None and mesh is not None):
        raise TypeError("CalcSpatialInertia() takes (shape, density) or (mesh, density).")
    return _inertia(body, density)


def _inertia(body: Any, density: float) -> SpatialInertia:
    if not isinstance(body, Shape):
        return inertia_of_mesh(body, density)
    match body:
        case Sphere():
            return SpatialInertia.SolidSphereWithDensity(density, body.radius())
        case Box():
            return SpatialInertia.SolidBoxWithDensity(density, body.width(), body.depth(), body.height())
        case Cylinder():
            return SpatialInertia.SolidCylinderWithDensity(density, body.radius(), body.length(), _Z)
        case Capsule():
            return SpatialInertia.SolidCapsuleWithDensity(density, body.radius(), body.length(), _Z)
        case Ellipsoid():
            return SpatialInertia.SolidEllipsoidWithDensity(density, body.a(), body.b(), body.c())
        case HalfSpace() | MeshcatCone():
            raise ValueError(f"CalcSpatialInertia() does not offer a {type(body).__name__}: no body has this shape.")
    if not is_surface_known(body):
        raise TypeError(
            f"CalcSpatialInertia() does not know the shape {body!r}: the ShapeKind of its class has no support, hull "
            "or triangles."
        )
    check_positive("CalcSpatialInertia", "density", density)
    if isinstance(body, Mesh):
        return _of_mesh(body, density)
    vertices, triangles = triangles_of(body)
    return inertia_of_triangles(vertices[triangles], density, repr(body))


def _of_mesh(shape: Mesh, density: float) -> SpatialInertia:
    source, scale = shape.source(), shape.scale3()
    if shape.extension() == ".vtk":
        volume = read_volume_mesh(source)
        tetrahedra = volume.vertex_array()[volume.tetrahedron_array()]
        return inertia_of_tetrahedra(tetrahedra * scale, density, repr(shape))
    surface = read_surface_mesh(source)
    triangles = surface.vertex_array()[surface.triangle_array()] * scale
    if scale.prod() < 0.0:  # a mirror turns the triangles inside out
        triangles = triangles[:, ::-1]
    return inertia_of_triangles(triangles, density, repr(shape))


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
    return _inertia_of_integrals(volumes, triangles, density, name, remedy)


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
    return _inertia_of_integrals(volumes, tetrahedra, density, name, "All its tetrahedra are flat.")


def _inertia_of_integrals(volumes: Array, corners: Array, density: float, name: str, remedy: str) -> SpatialInertia:
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
