"""The surfaces of deformable geometries in a Meshcat, drawn again whenever a scene is drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.ids import GeometryId
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.query_object import QueryObject
from merganser.geometry.rgba import Rgba
from merganser.geometry.visualizers.meshcat import Meshcat

__all__ = ["DeformableDrawing"]


class _Surface(NamedTuple):
    """What stands at a path.

    Attributes:
        geometry_id: whose surface it is.
        triangles: by index of vertices, shape [3, num_triangles].
        vertices: which of the mesh these are, shape [num_vertices].
        color: of all.
    """

    geometry_id: GeometryId
    triangles: NDArray[np.int64]
    vertices: NDArray[np.int64]
    color: Rgba


class DeformableDrawing:
    """Draws surfaces of deformable geometries.

    Args:
        meshcat: where.
    """

    def __init__(self, meshcat: Meshcat) -> None:
        self._meshcat = meshcat
        self._surfaces: dict[str, _Surface] = {}  # by path

    def forget(self) -> None:
        """Nothing has been drawn."""
        self._surfaces = {}

    def set_geometries(self, inspector: Any, found: dict[str, tuple[GeometryId, Rgba]]) -> None:
        """Says which geometries are drawn from now on, by paths, and in which colors; others disappear."""
        for path in self._surfaces.keys() - found.keys():
            self._meshcat.Delete(path)
        self._surfaces = {}
        for path, (geometry_id, color) in found.items():
            vertices, triangles = np.unique(
                boundary_triangles(inspector.GetReferenceMesh(geometry_id)), return_inverse=True
            )
            self._surfaces[path] = _Surface(geometry_id, triangles.reshape(-1, 3).T, vertices, color)

    def update(self, query: QueryObject, time: float) -> None:
        """Draws all where they are.

        Args:
            query: of the SceneGraph.
            time: simulated time, for recordings [s].
        """
        for path, surface in self._surfaces.items():
            p_WV = query.GetConfigurationsInWorld(surface.geometry_id).reshape(-1, 3)[surface.vertices]
            self._meshcat.SetTriangleMesh(path, p_WV.T, surface.triangles, surface.color, time_in_recording=time)
