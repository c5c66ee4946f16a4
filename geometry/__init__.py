"""Shapes, their properties, and the SceneGraph that knows where they are.

The names of merganser.geometry.rendering and merganser.geometry.visualizers are here, too; they are loaded when one of
them is asked for.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
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
    AddHydroelasticPressureLaw,
    AddRigidHydroelasticProperties,
    HydroelasticContactRepresentation,
    MakePhongIllustrationProperties,
)
from merganser.geometry.memory_file import MemoryFile, Sha256
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
from merganser.geometry.render_label import RenderLabel
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

if _TYPE_CHECKING:
    from merganser.geometry.rendering import (
        ClippingRange,
        ColorRenderCamera,
        DepthRange,
        DepthRenderCamera,
        EnvironmentMap,
        EquirectangularMap,
        GltfExtension,
        LightParameter,
        MakeRenderEngineGl,
        MakeRenderEngineGltfClient,
        MakeRenderEngineVtk,
        NullTexture,
        RenderCameraCore,
        RenderEngine,
        RenderEngineGlParams,
        RenderEngineGltfClientParams,
        RenderEngineVtkParams,
        SsaoParameter,
        kHasRenderEngineGl,
        kHasRenderEngineGltfClient,
        kHasRenderEngineVtk,
    )
    from merganser.geometry.visualizers import (
        ConnectPlanarSceneGraphVisualizer,
        DrakeVisualizer,
        DrakeVisualizer_,
        DrakeVisualizerParams,
        Meshcat,
        MeshcatAnimation,
        MeshcatParams,
        MeshcatPointCloudVisualizer,
        MeshcatPointCloudVisualizer_,
        MeshcatPoseSliders,
        MeshcatPoseSliders_,
        MeshcatVisualizer,
        MeshcatVisualizer_,
        MeshcatVisualizerParams,
        PlanarSceneGraphVisualizer,
        PyPlotVisualizer,
        StartMeshcat,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "Aabb",
    "AddCompliantHydroelasticProperties",
    "AddCompliantHydroelasticPropertiesForHalfSpace",
    "AddContactMaterial",
    "AddHydroelasticPressureLaw",
    "AddRigidHydroelasticProperties",
    "Box",
    "CalcObb",
    "CalcVolume",
    "Capsule",
    "ClippingRange",
    "CollisionFilterDeclaration",
    "CollisionFilterManager",
    "CollisionFilterScope",
    "ColorRenderCamera",
    "ComputeAabbForTriangleMesh",
    "ComputeAabbForVolumeMesh",
    "ComputeObbForTriangleMesh",
    "ComputeObbForVolumeMesh",
    "ConnectPlanarSceneGraphVisualizer",
    "ContactSurface",
    "ContactSurface_",
    "ConvertVolumeToSurfaceMesh",
    "Convex",
    "Cylinder",
    "DefaultProximityProperties",
    "DepthRange",
    "DepthRenderCamera",
    "DrakeVisualizer",
    "DrakeVisualizerParams",
    "DrakeVisualizer_",
    "Ellipsoid",
    "EnvironmentMap",
    "EquirectangularMap",
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
    "GltfExtension",
    "HalfSpace",
    "HydroelasticContactRepresentation",
    "IllustrationProperties",
    "InMemoryMesh",
    "LightParameter",
    "MakePhongIllustrationProperties",
    "MakeRenderEngineGl",
    "MakeRenderEngineGltfClient",
    "MakeRenderEngineVtk",
    "MemoryFile",
    "Mesh",
    "MeshSource",
    "Meshcat",
    "MeshcatAnimation",
    "MeshcatCone",
    "MeshcatParams",
    "MeshcatPointCloudVisualizer",
    "MeshcatPointCloudVisualizer_",
    "MeshcatPoseSliders",
    "MeshcatPoseSliders_",
    "MeshcatVisualizer",
    "MeshcatVisualizerParams",
    "MeshcatVisualizer_",
    "NullTexture",
    "Obb",
    "PenetrationAsPointPair",
    "PenetrationAsPointPair_",
    "PerceptionProperties",
    "PlanarSceneGraphVisualizer",
    "Plane",
    "Plane_",
    "PolygonSurfaceMesh",
    "PolygonSurfaceMeshFieldLinear",
    "PolygonSurfaceMeshFieldLinear_",
    "PolygonSurfaceMesh_",
    "ProximityProperties",
    "PyPlotVisualizer",
    "QueryObject",
    "QueryObject_",
    "ReadObjToTriangleSurfaceMesh",
    "RefineVolumeMesh",
    "RefineVolumeMeshIntoVtkFileContents",
    "RenderCameraCore",
    "RenderEngine",
    "RenderEngineGlParams",
    "RenderEngineGltfClientParams",
    "RenderEngineVtkParams",
    "RenderLabel",
    "Rgba",
    "Role",
    "RoleAssign",
    "SceneGraph",
    "SceneGraphConfig",
    "SceneGraphInspector",
    "SceneGraphInspector_",
    "SceneGraph_",
    "Sha256",
    "Shape",
    "SignedDistancePair",
    "SignedDistancePair_",
    "SignedDistanceToPoint",
    "SignedDistanceToPoint_",
    "SourceId",
    "Sphere",
    "SsaoParameter",
    "StartMeshcat",
    "SurfacePolygon",
    "SurfaceTriangle",
    "TriangleSurfaceMesh",
    "TriangleSurfaceMeshFieldLinear",
    "TriangleSurfaceMeshFieldLinear_",
    "TriangleSurfaceMesh_",
    "VolumeElement",
    "VolumeMesh",
    "VolumeMesh_",
    "kHasRenderEngineGl",
    "kHasRenderEngineGltfClient",
    "kHasRenderEngineVtk",
]
