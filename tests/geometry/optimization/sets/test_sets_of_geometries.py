"""Sets of geometries of a SceneGraph have the points whose distance to the geometry is at most 0."""

from __future__ import annotations

import numpy as np
import pytest
from shapes_of_users import Lens

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.geometry.optimization import (
    CartesianProduct,
    HPolyhedron,
    Hyperellipsoid,
    MinkowskiSum,
    Point,
    VPolytope,
)

TETRAHEDRON = Convex(points=np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), label="tetrahedron")
CASES = [
    (HPolyhedron, Box(1.0, 2.0, 3.0)),
    (HPolyhedron, HalfSpace()),
    (HPolyhedron, TETRAHEDRON),
    (VPolytope, Box(1.0, 2.0, 3.0)),
    (VPolytope, TETRAHEDRON),
    (HPolyhedron, Lens(1.0, 0.8)),
    (VPolytope, Lens(1.0, 0.8)),
    (Hyperellipsoid, Sphere(1.2)),
    (Hyperellipsoid, Ellipsoid(0.5, 1.0, 1.5)),
    (MinkowskiSum, Capsule(0.7, 1.0)),
    (CartesianProduct, Cylinder(0.8, 2.0)),
]
X_WF = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.3, 0.2, 0.1])
X_FG = RigidTransform(RollPitchYaw(1.0, 0.5, -0.5), [0.1, -0.2, 0.3])
X_WE = RigidTransform(RollPitchYaw(-0.4, 0.2, 1.3), [1.0, 0.0, -1.0])


def scene(shape):
    graph = SceneGraph()
    source = graph.RegisterSource("s")
    F, E = (graph.RegisterFrame(source, GeometryFrame(name)) for name in "FE")
    G = graph.RegisterGeometry(source, F, GeometryInstance(X_FG, shape, "G"))
    graph.AssignRole(source, G, ProximityProperties())
    context = graph.CreateDefaultContext()
    poses = FramePoseVector()
    poses.set_value(F, X_WF)
    poses.set_value(E, X_WE)
    graph.get_source_pose_port(source).FixValue(context, poses)
    return graph.get_query_output_port().Eval(context), G, E


@pytest.mark.parametrize("case", range(len(CASES)))
def test_sets_of_geometries(case):
    kind, shape = CASES[case]
    query, G, E = scene(shape)
    in_world, in_E = kind(query, G), kind(query, G, E)
    points_W = X_WF.translation()[:, np.newaxis] + np.random.RandomState(0).randn(3, 12)
    for p_W in points_W.T:
        # a Convex has no distances to points
        wanted = (
            ((X_WF @ X_FG).inverse() @ p_W).min() >= 0.0 and ((X_WF @ X_FG).inverse() @ p_W).sum() <= 1.0
            if shape is TETRAHEDRON
            else query.ComputeSignedDistanceToPoint(p_W)[0].distance <= 0.0
        )
        assert in_world.PointInSet(p_W) == wanted
        assert in_E.PointInSet(X_WE.inverse() @ p_W) == wanted


def test_points_are_of_small_spheres():
    query, G, _ = scene(Sphere(0.1))
    point = Point(query, G, maximum_allowable_radius=0.2)
    np.testing.assert_allclose(point.x(), (X_WF @ X_FG).translation())
    with pytest.raises(RuntimeError, match=r"radius of 0\.1"):
        Point(query, G)


def test_other_shapes_are_refused():
    query, G, _ = scene(Sphere(0.1))
    for kind in (HPolyhedron, VPolytope, CartesianProduct, MinkowskiSum):
        with pytest.raises(RuntimeError, match=f"{kind.__name__}: geometry 'G' is a Sphere; expected"):
            kind(query, G)
