"""Geometries on one side of a plane, as polynomials in s that are to be nonnegative.

The plane {x: a'x + b = 0} is expressed in a body A; a and b are affine in s. With the homogeneous matrix N(s) / D(s) of
X_AB (see multibody/rational/multilinear_pose.py), a point p_B of the body is on the side with sign +1 or -1 if

    q = sign (a'; b) N (p_B; 1) - m D >= 0                        with a margin m = 1, or 0             (1)

and a ball of radius r around it, by the Schur complement of |r D a| <= q, if for all y

    q + 2 r D a'y + q y'y >= 0                                                                          (2)

Of a cylinder the two circles are on that side: (2) with the entries of a along the two axes of the circle only.

Source: Dai, Amice, Werner, Zhang and Tedrake, Certified polyhedral decompositions of collision-free configuration
space, 2023, section IV.
"""

from __future__ import annotations

__all__ = ["CIrisCollisionGeometry", "CIrisGeometryType", "PlaneSide", "SideCondition", "collision_geometry"]

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Capsule, Convex, Cylinder, GeometryId, Mesh, Shape, Sphere
from merganser.multibody.tree import BodyIndex

Array = NDArray[np.float64]


class PlaneSide(Enumeration):
    """The side of a plane: a'x + b is positive there, or negative."""

    kPositive = 0
    kNegative = 1


class CIrisGeometryType(Enumeration):
    """What a geometry is told apart by: points alone, or what is around them."""

    kSphere = 0
    kPolytope = 1
    kCylinder = 2
    kCapsule = 3


class SideCondition(NamedTuple):
    """One polynomial that is to be nonnegative.

    Attributes:
        point: (p_B; 1), shape [4].
        margin: m of (1).
        radius: r of (2); 0 for (1).
        axes: directions in B of the y of (2), shape [k, 3]; None where y goes along all axes of A.
    """

    point: Array
    margin: float
    radius: float = 0.0
    axes: Array | None = None

    def num_y(self) -> int:
        """How many y the polynomial has."""
        if not self.radius:
            return 0
        return 3 if self.axes is None else len(self.axes)


class CIrisCollisionGeometry:
    """A geometry G on a body B, and what makes it lie on one side of a plane; `CspaceFreePolytope` makes it."""

    def __init__(
        self, geometry: Shape, body_index: BodyIndex, id: GeometryId, X_BG: RigidTransform, where: str
    ) -> None:
        self._geometry, self._body_index, self._id, self._X_BG = geometry, body_index, id, X_BG
        self._type, points = _described(geometry, where)
        homogeneous = np.column_stack((points, np.ones(len(points))))
        self._points: Array = homogeneous @ X_BG.GetAsMatrix4().T

    def type(self) -> CIrisGeometryType:
        """What the geometry is told apart by."""
        return self._type

    def geometry(self) -> Shape:
        """The shape."""
        return self._geometry

    def body_index(self) -> BodyIndex:
        """The body B."""
        return self._body_index

    def id(self) -> GeometryId:
        """The geometry."""
        return self._id

    def X_BG(self) -> RigidTransform:
        """The pose of the geometry in B."""
        return self._X_BG

    def num_rationals(self) -> int:
        """How many rational functions are nonnegative where the geometry is on one side, with the margin of (1)."""
        return len(self._points) + (self._type is not CIrisGeometryType.kPolytope)

    def conditions(self, with_margin: bool) -> list[SideCondition]:
        """What is to be nonnegative; curved geometries have a margin, at their center, if they are asked for it."""
        if self._type is CIrisGeometryType.kPolytope:
            return [SideCondition(point, 1.0) for point in self._points]
        shape: Any = self._geometry
        axes = self._X_BG.rotation().matrix().T[:2] if self._type is CIrisGeometryType.kCylinder else None
        around = [SideCondition(point, 0.0, float(shape.radius()), axes) for point in self._points]
        return around + [SideCondition(self._points.mean(axis=0), 1.0)] * with_margin


def _described(shape: Shape, where: str) -> tuple[CIrisGeometryType, Array]:
    """The type of a shape, and its points in G: vertices, or centers of balls or circles, shape [k, 3]."""
    if isinstance(shape, Box):
        corners = list(itertools.product((-0.5, 0.5), repeat=3))
        return CIrisGeometryType.kPolytope, np.array(corners) * shape.size()
    if isinstance(shape, (Mesh, Convex)):
        hull = shape.GetConvexHull()
        return CIrisGeometryType.kPolytope, np.array([hull.vertex(i) for i in range(hull.num_vertices())])
    if isinstance(shape, Sphere):
        return CIrisGeometryType.kSphere, np.zeros((1, 3))
    if isinstance(shape, (Capsule, Cylinder)):
        kind = CIrisGeometryType.kCapsule if isinstance(shape, Capsule) else CIrisGeometryType.kCylinder
        return kind, np.array([[0.0, 0.0, z * shape.length()] for z in (0.5, -0.5)])
    raise RuntimeError(
        f"{where} is of the shape {type(shape).__name__}; planes are found for boxes, spheres, capsules, cylinders and "
        "hulls of meshes. Replace it, or leave it out of collisions."
    )


def collision_geometry(inspector: Any, id: GeometryId, body_index: BodyIndex) -> CIrisCollisionGeometry:
    """A geometry of a SceneGraph that belongs to a body.

    Raises:
        RuntimeError: its shape is one that no plane is found for.
    """
    where = f"CspaceFreePolytope: geometry '{inspector.GetName(id)}'"
    return CIrisCollisionGeometry(inspector.GetShape(id), body_index, id, inspector.GetPoseInFrame(id), where)
