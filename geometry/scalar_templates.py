"""The templates `Foo_` of the classes of this package that hold poses: `SceneGraph_[AutoDiffXd]`."""

from __future__ import annotations

from merganser.framework.core.templates import SystemTemplate, ValueTemplate
from merganser.geometry.frame_pose_vector import FramePoseVector
from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.geometry.inspector import SceneGraphInspector
from merganser.geometry.query_object import QueryObject
from merganser.geometry.query_results import PenetrationAsPointPair, SignedDistancePair, SignedDistanceToPoint
from merganser.geometry.scene_graph import SceneGraph

__all__ = [
    "ContactSurface_",
    "FramePoseVector_",
    "PenetrationAsPointPair_",
    "QueryObject_",
    "SceneGraphInspector_",
    "SceneGraph_",
    "SignedDistancePair_",
    "SignedDistanceToPoint_",
]

SceneGraph_ = SystemTemplate(SceneGraph)
FramePoseVector_ = ValueTemplate(FramePoseVector)
ContactSurface_ = ValueTemplate(ContactSurface)
QueryObject_ = ValueTemplate(QueryObject)
SceneGraphInspector_ = ValueTemplate(SceneGraphInspector)
PenetrationAsPointPair_ = ValueTemplate(PenetrationAsPointPair)
SignedDistancePair_ = ValueTemplate(SignedDistancePair)
SignedDistanceToPoint_ = ValueTemplate(SignedDistanceToPoint)
