"""Meshes of surfaces and volumes, functions on them, their files and their convex hulls."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.geometry.meshes.convex_hull import convex_hull, convex_pieces, kept_hull
    from merganser.geometry.meshes.files import (
        ReadObjToTriangleSurfaceMesh,
        read_named_surface_mesh,
        read_parts,
        read_surface_mesh,
        read_vertices,
        read_volume_mesh,
        wavefront_text,
    )
    from merganser.geometry.meshes.refinement import RefineVolumeMesh, RefineVolumeMeshIntoVtkFileContents
    from merganser.geometry.meshes.triangle_surface_mesh import (
        PolygonSurfaceMesh,
        PolygonSurfaceMeshFieldLinear,
        SurfacePolygon,
        SurfaceTriangle,
        TriangleSurfaceMesh,
        TriangleSurfaceMeshFieldLinear,
    )
    from merganser.geometry.meshes.volume_mesh import ConvertVolumeToSurfaceMesh, VolumeElement, VolumeMesh
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "ConvertVolumeToSurfaceMesh",
    "PolygonSurfaceMesh",
    "PolygonSurfaceMeshFieldLinear",
    "ReadObjToTriangleSurfaceMesh",
    "RefineVolumeMesh",
    "RefineVolumeMeshIntoVtkFileContents",
    "SurfacePolygon",
    "SurfaceTriangle",
    "TriangleSurfaceMesh",
    "TriangleSurfaceMeshFieldLinear",
    "VolumeElement",
    "VolumeMesh",
    "convex_hull",
    "convex_pieces",
    "kept_hull",
    "read_named_surface_mesh",
    "read_parts",
    "read_surface_mesh",
    "read_vertices",
    "read_volume_mesh",
    "wavefront_text",
]
