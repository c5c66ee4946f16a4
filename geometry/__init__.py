"""Shapes, their properties, and the SceneGraph that knows where they are."""

from merganser.geometry.bounding_boxes import Aabb, Obb
from merganser.geometry.collision_filter_manager import CollisionFilterManager
from merganser.geometry.collision_filters import CollisionFilterDeclaration, CollisionFilterScope
from merganser.geometry.frame_pose_vector import FramePoseVector
from merganser.geometry.geometry_configuration_vector import GeometryConfigurationVector
from merganser.geometry.geometry_frame import GeometryFrame
from merganser.geometry.geometry_instance import GeometryInstance
from merganser.geometry.geometry_set import GeometrySet
from merganser.geometry.geometry_version import GeometryVersion
from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.geometry.ids import FilterId, FrameId, GeometryId, SourceId
from merganser.geometry.inspector import SceneGraphInspector
from merganser.geometry.materials import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    HydroelasticContactRepresentation,
    MakePhongIllustrationProperties,
)
from merganser.geometry.memory_file import MemoryFile
from merganser.geometry.mesh_source import InMemoryMesh, MeshSource
from merganser.geometry.meshes import (
    ConvertVolumeToSurfaceMesh,
    PolygonSurfaceMesh,
    PolygonSurfaceMeshFieldLinear,
    ReadObjToTriangleSurfaceMesh,
    RefineVolumeMesh,
    RefineVolumeMeshIntoVtkFileContents,
    SurfacePolygon,
    SurfaceTriangle,
    TriangleSurfaceMesh,
    TriangleSurfaceMeshFieldLinear,
    VolumeElement,
    VolumeMesh,
)
from merganser.geometry.obb_fit import (
    CalcObb,
    ComputeAabbForTriangleMesh,
    ComputeAabbForVolumeMesh,
    ComputeObbForTriangleMesh,
    ComputeObbForVolumeMesh,
)
from merganser.geometry.plane import Plane
from merganser.geometry.properties import (
    GeometryProperties,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
)
from merganser.geometry.query_object import QueryObject
from merganser.geometry.query_results import (
    PenetrationAsPointPair,
    SignedDistancePair,
    SignedDistanceToPoint,
)
from merganser.geometry.rgba import Rgba
from merganser.geometry.roles import Role, RoleAssign
from merganser.geometry.scalar_templates import (
    ContactSurface_,
    FramePoseVector_,
    GeometryConfigurationVector_,
    PenetrationAsPointPair_,
    Plane_,
    PolygonSurfaceMesh_,
    PolygonSurfaceMeshFieldLinear_,
    QueryObject_,
    SceneGraph_,
    SceneGraphInspector_,
    SignedDistancePair_,
    SignedDistanceToPoint_,
    TriangleSurfaceMesh_,
    TriangleSurfaceMeshFieldLinear_,
    VolumeMesh_,
)
from merganser.geometry.scene_graph import SceneGraph
from merganser.geometry.scene_graph_config import DefaultProximityProperties, SceneGraphConfig
from merganser.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)
from merganser.geometry.volume import CalcVolume

__all__ = [
    "Aabb",
    "AddCompliantHydroelasticProperties",
    "AddCompliantHydroelasticPropertiesForHalfSpace",
    "AddContactMaterial",
    "AddRigidHydroelasticProperties",
    "Box",
    "CalcObb",
    "CalcVolume",
    "Capsule",
    "CollisionFilterDeclaration",
    "CollisionFilterManager",
    "CollisionFilterScope",
    "ComputeAabbForTriangleMesh",
    "ComputeAabbForVolumeMesh",
    "ComputeObbForTriangleMesh",
    "ComputeObbForVolumeMesh",
    "ContactSurface",
    "ContactSurface_",
    "ConvertVolumeToSurfaceMesh",
    "Convex",
    "Cylinder",
    "DefaultProximityProperties",
    "Ellipsoid",
    "FilterId",
    "FrameId",
    "FramePoseVector",
    "FramePoseVector_",
    "GeometryConfigurationVector",
    "GeometryConfigurationVector_",
    "GeometryFrame",
    "GeometryId",
    "GeometryInstance",
    "GeometryProperties",
    "GeometrySet",
    "GeometryVersion",
    "HalfSpace",
    "HydroelasticContactRepresentation",
    "IllustrationProperties",
    "InMemoryMesh",
    "MakePhongIllustrationProperties",
    "MemoryFile",
    "Mesh",
    "MeshSource",
    "MeshcatCone",
    "Obb",
    "PenetrationAsPointPair",
    "PenetrationAsPointPair_",
    "PerceptionProperties",
    "Plane",
    "Plane_",
    "PolygonSurfaceMesh",
    "PolygonSurfaceMeshFieldLinear",
    "PolygonSurfaceMeshFieldLinear_",
    "PolygonSurfaceMesh_",
    "ProximityProperties",
    "QueryObject",
    "QueryObject_",
    "ReadObjToTriangleSurfaceMesh",
    "RefineVolumeMesh",
    "RefineVolumeMeshIntoVtkFileContents",
    "Rgba",
    "Role",
    "RoleAssign",
    "SceneGraph",
    "SceneGraphConfig",
    "SceneGraphInspector",
    "SceneGraphInspector_",
    "SceneGraph_",
    "Shape",
    "SignedDistancePair",
    "SignedDistancePair_",
    "SignedDistanceToPoint",
    "SignedDistanceToPoint_",
    "SourceId",
    "Sphere",
    "SurfacePolygon",
    "SurfaceTriangle",
    "TriangleSurfaceMesh",
    "TriangleSurfaceMeshFieldLinear",
    "TriangleSurfaceMeshFieldLinear_",
    "TriangleSurfaceMesh_",
    "VolumeElement",
    "VolumeMesh",
    "VolumeMesh_",
]
