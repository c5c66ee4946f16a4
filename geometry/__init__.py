"""Shapes, their properties, and the SceneGraph that knows where they are.

The names of merganser.geometry.rendering and merganser.geometry.visualizers are here, too; they are loaded when one of
them is asked for.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.framework.core.scalars.scalars import numeric_scalars as _numeric_scalars
from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
from merganser.geometry.hydroelastic.contact_surface import ContactSurface
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
from merganser.geometry.meshes.mesh_source import InMemoryMesh, MemoryFile, MeshSource, Sha256
from merganser.geometry.registration.colors import RenderLabel, Rgba
from merganser.geometry.registration.ids import FilterId, FrameId, GeometryId, SourceId
from merganser.geometry.registration.materials import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddContactMaterial,
    AddHydroelasticPressureLaw,
    AddRigidHydroelasticProperties,
    HydroelasticContactRepresentation,
    MakePhongIllustrationProperties,
)
from merganser.geometry.registration.properties import (
    GeometryProperties,
    GeometryVersion,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Role,
    RoleAssign,
)
from merganser.geometry.registration.query_results import (
    PenetrationAsPointPair,
    SignedDistancePair,
    SignedDistanceToPoint,
)
from merganser.geometry.registration.registered import GeometryFrame, GeometryInstance
from merganser.geometry.scene.collision_filters import (
    CollisionFilterDeclaration,
    CollisionFilterManager,
    CollisionFilterScope,
    GeometrySet,
)
from merganser.geometry.scene.inspector import SceneGraphInspector
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.scene.scene_graph_config import DefaultProximityProperties, SceneGraphConfig
from merganser.geometry.scene.source_values import FramePoseVector, GeometryConfigurationVector
from merganser.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightField,
    Mesh,
    MeshcatCone,
    Shape,
    ShapeKind,
    Sphere,
    TerrainMesh,
)
from merganser.geometry.shapes.bounding_boxes import (
    Aabb,
    CalcObb,
    ComputeAabbForTriangleMesh,
    ComputeAabbForVolumeMesh,
    ComputeObbForTriangleMesh,
    ComputeObbForVolumeMesh,
    Obb,
    Plane,
)
from merganser.geometry.shapes.measures import CalcVolume

ContactSurface_ = _ValueTemplate(ContactSurface)
FramePoseVector_ = _ValueTemplate(FramePoseVector)
GeometryConfigurationVector_ = _ValueTemplate(GeometryConfigurationVector)
PenetrationAsPointPair_ = _ValueTemplate(PenetrationAsPointPair)
Plane_ = _ValueTemplate(Plane, _numeric_scalars)
PolygonSurfaceMesh_ = _ValueTemplate(PolygonSurfaceMesh, _numeric_scalars)
PolygonSurfaceMeshFieldLinear_ = _ValueTemplate(PolygonSurfaceMeshFieldLinear, _numeric_scalars)
QueryObject_ = _ValueTemplate(QueryObject)
SceneGraph_ = _SystemTemplate(SceneGraph)
SceneGraphInspector_ = _ValueTemplate(SceneGraphInspector)
SignedDistancePair_ = _ValueTemplate(SignedDistancePair)
SignedDistanceToPoint_ = _ValueTemplate(SignedDistanceToPoint)
TriangleSurfaceMesh_ = _ValueTemplate(TriangleSurfaceMesh, _numeric_scalars)
TriangleSurfaceMeshFieldLinear_ = _ValueTemplate(TriangleSurfaceMeshFieldLinear, _numeric_scalars)
VolumeMesh_ = _ValueTemplate(VolumeMesh, _numeric_scalars)


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
        MeshcatSignalPlot,
        MeshcatVisualizer,
        MeshcatVisualizer_,
        MeshcatVisualizerParams,
        MeshcatVisualizerSurfaceVelocityData,
        PlanarSceneGraphVisualizer,
        PyPlotVisualizer,
        RerunVisualizer,
        StartMeshcat,
        ViserVisualizer,
        save_video,
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
    "HeightField",
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
    "MeshcatSignalPlot",
    "MeshcatVisualizer",
    "MeshcatVisualizerParams",
    "MeshcatVisualizerSurfaceVelocityData",
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
    "RerunVisualizer",
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
    "ShapeKind",
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
    "TerrainMesh",
    "TriangleSurfaceMesh",
    "TriangleSurfaceMeshFieldLinear",
    "TriangleSurfaceMeshFieldLinear_",
    "TriangleSurfaceMesh_",
    "ViserVisualizer",
    "VolumeElement",
    "VolumeMesh",
    "VolumeMesh_",
    "kHasRenderEngineGl",
    "kHasRenderEngineGltfClient",
    "kHasRenderEngineVtk",
    "save_video",
]
