"""The queries of a QueryObject: what they report, what they leave out, what they refuse."""

import copy
import time

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
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
    SignedDistancePair,
    SignedDistanceToPoint,
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


@pytest.mark.parametrize("shape", [Sphere(0.5), Box(1, 1, 1), Capsule(0.5, 1), Cylinder(0.5, 1)], ids=repr)
def test_at_its_center_a_shape_has_the_gradient_of_x(shape):
    scene = Scene([shape], [[0.3, 0.2, 0.1]])
    (found,) = scene.query().ComputeSignedDistanceToPoint([0.3, 0.2, 0.1])
    assert found.distance == pytest.approx(-0.5)
    np.testing.assert_array_equal(found.grad_W, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(found.p_GN, [0.5, 0.0, 0.0], atol=1e-15)
    assert not np.signbit(found.grad_W).any()


def test_depths_of_shapes_that_touch_have_no_sign():
    scene = Scene([Sphere(0.5), Sphere(0.5)], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    (pair,) = scene.query().ComputePointPairPenetration()
    (distance,) = scene.query().ComputeSignedDistancePairwiseClosestPoints()
    assert pair.depth == distance.distance == 0.0
    assert not np.signbit([pair.depth, distance.distance, *pair.nhat_BA_W[1:]]).any()


@pytest.mark.parametrize("threshold", [-0.01, 0.0, 0.02, 0.5, np.inf])
def test_distances_to_a_point_within_a_threshold_are_those_of_all(threshold):
    vertices = np.random.default_rng(2).normal(size=(30, 3))
    hull = Convex(0.1 * (vertices / np.linalg.norm(vertices, axis=1)[:, None]).T, "hull")
    shapes = [Sphere(0.1), Box(0.1, 0.2, 0.3), Capsule(0.05, 0.2), Cylinder(0.1, 0.2), Ellipsoid(0.1, 0.2, 0.05), hull]
    rng = np.random.default_rng(5)
    scene = Scene([*shapes * 8, HalfSpace()], [*rng.uniform(-0.5, 0.5, (48, 3)), [0.0, 0.0, -3.0]])
    query, near = scene.query(), 0
    for point in rng.uniform(-0.5, 0.5, (20, 3)):
        found = query.ComputeSignedDistanceToPoint(point, threshold)
        all_of_them = query.ComputeSignedDistanceToPoint(point)
        expected = [each for each in all_of_them if each.distance <= threshold]
        assert [each.id_G for each in found] == [each.id_G for each in expected]
        for a, b in zip(found, expected):
            np.testing.assert_array_equal([a.distance, *a.grad_W, *a.p_GN], [b.distance, *b.grad_W, *b.p_GN])
        near += len(found)
    assert near > 0


def test_geometries_beyond_the_threshold_are_not_searched():
    vertices = np.random.default_rng(2).normal(size=(50, 3))
    hull = Convex((vertices / np.linalg.norm(vertices, axis=1)[:, None]).T, "hull")
    scene = Scene([hull] * 200, [[5.0 + 3.0 * k, 0.3 * k, 0.0] for k in range(200)])
    query = scene.query()

    def seconds(threshold):
        times = []
        for _ in range(10):
            start = time.thread_time()
            query.ComputeSignedDistanceToPoint([0.0, 0.0, 0.0], threshold)
            times.append(time.thread_time() - start)
        return min(times)

    assert query.ComputeSignedDistanceToPoint([0.0, 0.0, 0.0], 0.1) == []
    assert len(query.ComputeSignedDistanceToPoint([0.0, 0.0, 0.0])) == 200
    assert 4.0 * seconds(0.1) < seconds(np.inf)


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


def test_a_context_of_an_equal_scene_graph_gives_geometries_but_not_identifiers():
    shapes, places = [Sphere(0.5), Box(1, 1, 1)], [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    scene, other, third = (Scene(shapes, places) for _ in range(3))
    other.graph.ChangeShape(other.context, other.source, other.ids[0], Sphere(0.7))
    scene.context.SetTimeStateAndParametersFrom(other.context)
    found = scene.query().ComputeSignedDistanceToPoint([0.0, 0.0, 0.0])
    assert [each.id_G for each in found] == scene.ids
    assert [each.distance for each in found] == pytest.approx([-0.7, 1.5])
    scene.graph.RegisterSource("more")
    context = scene.graph.CreateDefaultContext()
    with pytest.raises(ValueError, match=r"sources \['source'\]; expected \['source', 'more'\]"):
        context.SetTimeStateAndParametersFrom(third.context)


def test_results_of_no_query_have_invalid_identifiers():
    for pair in (PenetrationAsPointPair(), SignedDistancePair()):
        assert type(pair.id_A) is type(pair.id_B) is GeometryId and not (pair.id_A.is_valid() or pair.id_B.is_valid())
    to_point = SignedDistanceToPoint()
    assert type(to_point.id_G) is GeometryId and not to_point.id_G.is_valid()
    assert not np.signbit(to_point.grad_W).any()
