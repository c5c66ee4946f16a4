"""The templates `Foo_` of the classes of this package that hold poses: `SceneGraph_[AutoDiffXd]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.geometry.meshes import (
    PolygonSurfaceMesh,
    PolygonSurfaceMeshFieldLinear,
    TriangleSurfaceMesh,
    TriangleSurfaceMeshFieldLinear,
    VolumeMesh,
)
from merganser.geometry.registration.query_results import (
    PenetrationAsPointPair,
    SignedDistancePair,
    SignedDistanceToPoint,
)
from merganser.geometry.scene.inspector import SceneGraphInspector
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.scene.source_values import FramePoseVector, GeometryConfigurationVector
from merganser.geometry.shapes.bounding_boxes import Plane


def _numbers() -> Sequence[type[Any]]:
    """Scalar types of meshes, which have no symbols."""
    from merganser.framework.autodiff import AutoDiffXd

    return float, AutoDiffXd


SceneGraph_ = SystemTemplate(SceneGraph)
FramePoseVector_ = ValueTemplate(FramePoseVector)
ContactSurface_ = ValueTemplate(ContactSurface)
QueryObject_ = ValueTemplate(QueryObject)
SceneGraphInspector_ = ValueTemplate(SceneGraphInspector)
PenetrationAsPointPair_ = ValueTemplate(PenetrationAsPointPair)
SignedDistancePair_ = ValueTemplate(SignedDistancePair)
SignedDistanceToPoint_ = ValueTemplate(SignedDistanceToPoint)
GeometryConfigurationVector_ = ValueTemplate(GeometryConfigurationVector)
Plane_ = ValueTemplate(Plane, scalars=_numbers)
PolygonSurfaceMesh_ = ValueTemplate(PolygonSurfaceMesh, scalars=_numbers)
TriangleSurfaceMesh_ = ValueTemplate(TriangleSurfaceMesh, scalars=_numbers)
VolumeMesh_ = ValueTemplate(VolumeMesh, scalars=_numbers)
PolygonSurfaceMeshFieldLinear_ = ValueTemplate(PolygonSurfaceMeshFieldLinear, scalars=_numbers)
TriangleSurfaceMeshFieldLinear_ = ValueTemplate(TriangleSurfaceMeshFieldLinear, scalars=_numbers)
