"""The queries of a QueryObject: what they report, what they leave out, what they refuse."""

import copy

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    HalfSpace,
    Mesh,
    PenetrationAsPointPair,
    ProximityProperties,
    QueryObject,
    SceneGraph,
    Sphere,
)


class Scene:
    """Geometries, each on a frame of its own, or anchored where there is no position."""

    def __init__(self, shapes, positions):
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("source")
        self.ids, self.frames = [], []
        for i, (shape, p) in enumerate(zip(shapes, positions)):
            instance = GeometryInstance(RigidTransform(), shape, f"geometry{i}")
            instance.set_proximity_properties(ProximityProperties())
            if p is None:
                self.ids.append(self.graph.RegisterAnchoredGeometry(self.source, instance))
                continue
            self.frames.append((self.graph.RegisterFrame(self.source, GeometryFrame(f"frame{i}")), p))
            self.ids.append(self.graph.RegisterGeometry(self.source, self.frames[-1][0], instance))
        self.context = self.graph.CreateDefaultContext()
        self.move([p for _, p in self.frames])

    def move(self, positions):
        poses = FramePoseVector()
        for (frame, _), p in zip(self.frames, positions):
            poses.set_value(frame, RigidTransform(np.array(p, float)))
        self.graph.get_source_pose_port(self.source).FixValue(self.context, poses)

    def query(self):
        return self.graph.get_query_output_port().Eval(self.context)


def test_a_penetration_obeys_its_definition():
    scene = Scene([Sphere(0.1), Box(0.2, 0.2, 0.2)], [[0.0, 0.0, 0.19], [0.0, 0.0, 0.0]])
    (pair,) = scene.query().ComputePointPairPenetration()
    assert (pair.id_A, pair.id_B) == tuple(scene.ids)
    assert pair.depth == pytest.approx(0.01)
    assert pair.depth == pytest.approx((pair.p_WCb - pair.p_WCa) @ pair.nhat_BA_W)
    np.testing.assert_allclose(pair.nhat_BA_W, [0.0, 0.0, 1.0])


def test_touching_spheres_are_reported_and_spheres_apart_are_not():
    scene = Scene([Sphere(0.1), Sphere(0.1)], [[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]])
    assert scene.query().ComputePointPairPenetration()[0].depth == 0.0
    scene.move([[0.0, 0.0, 0.0], [0.2 + 1e-9, 0.0, 0.0]])
    assert scene.query().ComputePointPairPenetration() == []
    assert not scene.query().HasCollisions()


def test_answers_follow_poses_and_geometries_of_the_context():
    scene = Scene([Sphere(0.1), Sphere(0.1), Sphere(0.1)], [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [1.0, 0.0, 0.0]])
    query = scene.query()
    assert len(query.ComputeSignedDistancePairwiseClosestPoints()) == 3
    snapshot = copy.copy(query)
    scene.move([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert not scene.query().HasCollisions()
    assert snapshot.HasCollisions()
    scene.graph.RemoveGeometry(scene.context, scene.source, scene.ids[0])
    (pair,) = scene.query().ComputeSignedDistancePairwiseClosestPoints()
    assert (pair.id_A, pair.id_B) == (scene.ids[1], scene.ids[2])
    assert pair.distance == pytest.approx(3.8)


def test_max_distance_leaves_out_what_is_farther():
    scene = Scene([Sphere(0.1), Sphere(0.1), Sphere(0.1)], [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [3.0, 0.0, 0.0]])
    distances = [pair.distance for pair in scene.query().ComputeSignedDistancePairwiseClosestPoints(0.4)]
    np.testing.assert_allclose(distances, [0.3])


def test_anchored_geometries_do_not_meet_each_other():
    scene = Scene([HalfSpace(), Box(1.0, 1.0, 1.0), Sphere(0.1)], [None, None, [5.0, 0.0, 0.05]])
    query = scene.query()
    assert query.FindCollisionCandidates() == [(scene.ids[0], scene.ids[2])]
    assert len(query.ComputePointPairPenetration()) == 1
    # One pair can be asked for all the same.
    pair = query.ComputeSignedDistancePairClosestPoints(scene.ids[2], scene.ids[0])
    assert (pair.id_A, pair.distance) == (scene.ids[0], pytest.approx(-0.05))


def test_a_mesh_is_its_surface_for_points(tmp_path):
    # An L of two boxes: the notch is outside of the mesh, and inside of its hull.
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    vertices = [[*p, z] for z in (0.0, 1.0) for p in outline]
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(i, k, j) for i, j, k in caps] + [(6 + i, 6 + j, 6 + k) for i, j, k in caps]
    faces += [t for i in range(6) for j in [(i + 1) % 6] for t in ((i, j, 6 + j), (i, 6 + j, 6 + i))]
    path = tmp_path / "notched.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {i + 1} {j + 1} {k + 1}" for i, j, k in faces]
    path.write_text("\n".join(lines))
    query = Scene([Mesh(str(path))], [[10.0, 0.0, 0.0]]).query()
    for p_GQ, distance, gradient in [
        ([1.5, 1.25, 0.5], 0.25, [0, 1, 0]),
        ([0.5, 0.5, 0.9], -0.1, [0, 0, 1]),
        ([0.9, 0.9, 0.5], -0.1 * 2**0.5, [0.5**0.5, 0.5**0.5, 0]),
    ]:
        (found,) = query.ComputeSignedDistanceToPoint(np.add(p_GQ, [10.0, 0.0, 0.0]))
        assert found.distance == pytest.approx(distance)
        np.testing.assert_allclose(found.grad_W, gradient, atol=1e-12)


def test_a_mesh_whose_hull_is_beyond_the_threshold_is_not_searched(tmp_path, monkeypatch):
    path = tmp_path / "corner.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4")
    query = Scene([Mesh(str(path)), Sphere(0.1)], [[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]).query()
    point = np.array([4.0, 0.0, 0.0])
    near, far = query.ComputeSignedDistanceToPoint(point)
    assert (near.distance, far.distance) == (pytest.approx(3.0), pytest.approx(0.9))
    monkeypatch.setattr("merganser.geometry.proximity.queries._mesh_distance", None)
    (found,) = query.ComputeSignedDistanceToPoint(point, 1.0)
    assert found.distance == far.distance


def test_boxes_around_geometries():
    scene = Scene([Ellipsoid(1.0, 2.0, 3.0), HalfSpace()], [[1.0, 0.0, 0.0], None])
    query = scene.query()
    obb = query.ComputeObbInWorld(scene.ids[0])
    np.testing.assert_allclose(obb.half_width(), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(obb.center(), [1.0, 0.0, 0.0])
    assert query.ComputeObbInWorld(scene.ids[1]) is None
    assert query.ComputeAabbInWorld(scene.ids[0]) is None


def test_what_cannot_be_answered_is_refused():
    scene = Scene([Sphere(0.1), HalfSpace(), HalfSpace()], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], None])
    query = scene.query()
    with pytest.raises(RuntimeError, match=r"two half spaces.*'geometry1'.*'geometry2'"):
        query.ComputePointPairPenetration()
    with pytest.raises(RuntimeError, match="There is no geometry with id"):
        query.ComputeSignedDistancePairClosestPoints(scene.ids[0], GeometryId.get_new_id())
    with pytest.raises(RuntimeError, match="takes two geometries; given geometry 'geometry0'"):
        query.ComputeSignedDistancePairClosestPoints(scene.ids[0], scene.ids[0])
    with pytest.raises(RuntimeError, match="p_WQ must be three finite numbers"):
        query.ComputeSignedDistanceToPoint([0.0, np.nan, 0.0])
    with pytest.raises(RuntimeError, match="margin must be finite and not negative"):
        query.ComputeContactManifolds(-1.0)
    with pytest.raises(RuntimeError, match="belongs to no Context"):
        QueryObject().HasCollisions()
    with pytest.raises(AttributeError, match="has no field 'deepness'"):
        PenetrationAsPointPair(deepness=1.0)
    scene.graph.RemoveRole(scene.context, scene.source, scene.ids[0], ProximityProperties().role)
    with pytest.raises(RuntimeError, match=r"'geometry0'.*does not have the proximity role"):
        scene.query().ComputeSignedDistancePairClosestPoints(scene.ids[0], scene.ids[1])
