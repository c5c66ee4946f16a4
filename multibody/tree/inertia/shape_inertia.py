"""Mass properties of homogeneous shapes."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

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
from merganser.multibody.tree.inertia.mesh_inertia import (
    inertia_of_mesh,
    inertia_of_tetrahedra,
    inertia_of_triangles,
)
from merganser.multibody.tree.inertia.spatial_inertia import SpatialInertia
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

