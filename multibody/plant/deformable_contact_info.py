"""DeformableContactInfo: where a deformable body touches another geometry, and what that exerts on it."""

from __future__ import annotations

from merganser.geometry import GeometryId, PolygonSurfaceMesh
from merganser.multibody.math import SpatialForce

__all__ = ["DeformableContactInfo"]


class DeformableContactInfo:
    """The contact of the geometry A of a deformable body with a geometry B, on a surface of polygons.

    Args:
        id_A: of the deformable body.
        id_B: of the other one, which may be deformable, too.
        contact_mesh: the surface in W, with normals out of A into B.
        F_Ac_W: spatial force on the deformable body [N m, N], at the centroid C of the surface, in W.
    """

    def __init__(
        self, id_A: GeometryId, id_B: GeometryId, contact_mesh: PolygonSurfaceMesh, F_Ac_W: SpatialForce
    ) -> None:
        self._ids, self._contact_mesh, self._F_Ac_W = (id_A, id_B), contact_mesh, F_Ac_W

    def id_A(self) -> GeometryId:
        """Returns the geometry of the deformable body."""
        return self._ids[0]

    def id_B(self) -> GeometryId:
        """Returns the other geometry."""
        return self._ids[1]

    def contact_mesh(self) -> PolygonSurfaceMesh:
        """Returns the surface in W [m]."""
        return self._contact_mesh

    def F_Ac_W(self) -> SpatialForce:
        """Returns the spatial force on the deformable body, at the centroid of the surface, in W."""
        return self._F_Ac_W

    def __repr__(self) -> str:
        return (
            f"DeformableContactInfo(id_A={self._ids[0]!r}, id_B={self._ids[1]!r}, contact_mesh={self._contact_mesh!r}, "
            f"F_Ac_W={self._F_Ac_W!r})"
        )
