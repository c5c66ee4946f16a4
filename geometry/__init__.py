"""Shapes, their properties, and the SceneGraph that knows where they are."""

from merganser.geometry.frame_pose_vector import FramePoseVector
from merganser.geometry.geometry_frame import GeometryFrame
from merganser.geometry.geometry_instance import GeometryInstance
from merganser.geometry.geometry_version import GeometryVersion
from merganser.geometry.ids import FilterId, FrameId, GeometryId, SourceId
from merganser.geometry.inspector import SceneGraphInspector
from merganser.geometry.materials import AddContactMaterial, MakePhongIllustrationProperties
from merganser.geometry.mesh_source import MeshSource
from merganser.geometry.properties import (
    GeometryProperties,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
)
from merganser.geometry.query_object import QueryObject
from merganser.geometry.rgba import Rgba
from merganser.geometry.roles import Role, RoleAssign
from merganser.geometry.scalar_templates import (
    FramePoseVector_,
    QueryObject_,
    SceneGraph_,
    SceneGraphInspector_,
)
from merganser.geometry.scene_graph import SceneGraph
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
    "AddContactMaterial",
    "Box",
    "CalcVolume",
    "Capsule",
    "Convex",
    "Cylinder",
    "Ellipsoid",
    "FilterId",
    "FrameId",
    "FramePoseVector",
    "FramePoseVector_",
    "GeometryFrame",
    "GeometryId",
    "GeometryInstance",
    "GeometryProperties",
    "GeometryVersion",
    "HalfSpace",
    "IllustrationProperties",
    "MakePhongIllustrationProperties",
    "Mesh",
    "MeshSource",
    "MeshcatCone",
    "PerceptionProperties",
    "ProximityProperties",
    "QueryObject",
    "QueryObject_",
    "Rgba",
    "Role",
    "RoleAssign",
    "SceneGraph",
    "SceneGraphInspector",
    "SceneGraphInspector_",
    "SceneGraph_",
    "Shape",
    "SourceId",
    "Sphere",
]
