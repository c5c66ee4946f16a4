"""Derivatives of distances, normals and points by poses, against differences of the float queries."""

import itertools

import numpy as np
import pytest
from proximity_shapes import KINDS, random_poses, random_shape

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RigidTransform_, RollPitchYaw, RollPitchYaw_
from merganser.framework.symbolic import Expression
from merganser.geometry import (
    Box,
    Capsule,
    FramePoseVector,
    FramePoseVector_,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    Mesh,
    ProximityProperties,
    SceneGraph,
    Sphere,
)

STEP = 1e-5
KINDS_WITH_HALF_SPACE = (*KINDS, "half space")


class Pair:
    """Two geometries whose poses are roll, pitch, yaw and position of each, 12 variables."""

    def __init__(self, shapes):
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("source")
        self.frames, self.ids = [], []
        for i, shape in enumerate(shapes):
            self.frames.append(self.graph.RegisterFrame(self.source, GeometryFrame(f"frame{i}")))
            instance = GeometryInstance(RigidTransform(), shape, f"geometry{i}")
            instance.set_proximity_properties(ProximityProperties())
            self.ids.append(self.graph.RegisterGeometry(self.source, self.frames[-1], instance))
        self.graph_of = {float: self.graph, AutoDiffXd: self.graph.ToAutoDiffXd()}

    def query(self, x, T=float):
        graph = self.graph_of[T]
        poses = FramePoseVector() if T is float else FramePoseVector_[T]()
        for i, frame in enumerate(self.frames):
            turn, p = x[6 * i : 6 * i + 3], x[6 * i + 3 : 6 * i + 6]
            if T is float:
                poses.set_value(frame, RigidTransform(RollPitchYaw(turn), p))
            else:
                poses.set_value(frame, RigidTransform_[T](RollPitchYaw_[T](turn).ToRotationMatrix(), p))
        context = graph.CreateDefaultContext()
        graph.get_source_pose_port(self.source).FixValue(context, poses)
        return graph.get_query_output_port().Eval(context)

    def derivatives(self, x):
        return self.query(InitializeAutoDiff(x).ravel(), AutoDiffXd)


def variables(X_WG):
    return np.concatenate([[*RigidTransform(X).rotation().ToRollPitchYaw().vector(), *X[:3, 3]] for X in X_WG])


def numbers(record, names):
    return np.concatenate([np.atleast_1d(getattr(record, name)) for name in names])


def check(ask, pair, x, names, tolerance):
    """Compares with central differences, unless these cross a kink."""
    found = numbers(ask(pair.derivatives(x)), names)
    np.testing.assert_allclose(ExtractValue(found).ravel(), numbers(ask(pair.query(x)), names), atol=1e-14)

    def differences(step):
        columns = []
        for k in range(12):
            d = step * np.eye(12)[k]
            ahead, behind = (numbers(ask(pair.query(y)), names) for y in (x + d, x - d))
            columns.append((ahead - behind) / (2.0 * step))
        return np.array(columns).T

    coarse, fine = differences(STEP), differences(STEP / 2)
    if not np.allclose(coarse, fine, atol=tolerance):  # a kink, or a normal that turns very fast
        return False
    np.testing.assert_allclose(ExtractGradient(found), fine, atol=tolerance)
    return True


@pytest.mark.parametrize(
    ("kind_a", "kind_b"), list(itertools.combinations_with_replacement(KINDS_WITH_HALF_SPACE, 2))[:-1]
)
def test_signed_distances_follow_poses(kind_a, kind_b, tmp_path):
    rng = np.random.default_rng(KINDS_WITH_HALF_SPACE.index(kind_a) * 10 + KINDS_WITH_HALF_SPACE.index(kind_b))
    num_checked = 0
    for spread in (0.25, 0.08):
        kinds = (kind_a, kind_b)
        pair = Pair([HalfSpace() if kind == "half space" else random_shape(kind, rng, tmp_path) for kind in kinds])
        x = variables(random_poses(2, rng, spread))
        num_checked += check(
            lambda query, pair=pair: query.ComputeSignedDistancePairClosestPoints(*pair.ids),
            pair,
            x,
            ("distance", "nhat_BA_W", "p_ACa", "p_BCb"),
            2e-5,
        )
    assert num_checked > 0


def test_penetrations_follow_poses():
    pair = Pair([Box(0.2, 0.3, 0.4), Capsule(0.05, 0.2)])
    x = np.array([0.3, 0.2, 0.1, 0.0, 0.0, 0.0, -0.4, 0.7, 0.2, 0.05, 0.06, 0.23])
    assert check(
        lambda query: query.ComputePointPairPenetration()[0], pair, x, ("depth", "nhat_BA_W", "p_WCa", "p_WCb"), 1e-7
    )


def test_distances_to_a_point_follow_poses_and_the_point():
    pair = Pair([Box(0.2, 0.3, 0.4), Capsule(0.05, 0.2)])
    x = np.array([0.3, 0.2, 0.1, 0.0, 0.0, 0.0, -0.4, 0.7, 0.2, 0.5, 0.6, 0.23])
    p_WQ = np.array([0.3, 0.35, -0.1])
    names = ("distance", "grad_W", "p_GN")
    for i in range(2):
        assert check(lambda query, i=i: query.ComputeSignedDistanceToPoint(p_WQ)[i], pair, x, names, 1e-7)
    # If everything moves with the point, nothing changes.
    both = InitializeAutoDiff(np.zeros(3)).ravel()
    moved = [value + both[i % 6 - 3] if i % 6 > 2 else value for i, value in enumerate(x)]
    for found in pair.query(np.array(moved), AutoDiffXd).ComputeSignedDistanceToPoint(p_WQ + both):
        np.testing.assert_allclose(ExtractGradient(numbers(found, names)), 0.0, atol=1e-14)
        np.testing.assert_allclose(found.distance.derivatives(), np.zeros(3), atol=1e-14)


def test_poses_without_derivatives_give_results_without_derivatives():
    pair = Pair([Sphere(0.1), Box(0.2, 0.2, 0.2)])
    x = np.zeros(12)
    x[3] = 0.5
    found = pair.query(np.array([AutoDiffXd(value) for value in x]), AutoDiffXd)
    result = found.ComputeSignedDistancePairClosestPoints(*pair.ids)
    assert result.distance.value() == pytest.approx(0.3) and result.distance.derivatives().size == 0
    assert not found.HasCollisions() and found.FindCollisionCandidates() == []


def test_where_the_normal_jumps_the_pair_is_named():
    pair = Pair([Sphere(0.1), Sphere(0.2)])
    query = pair.derivatives(np.zeros(12))
    with pytest.raises(RuntimeError, match=r"no derivatives for geometry 'geometry0'.*Sphere.*'geometry1'.*-0.3 m"):
        query.ComputeSignedDistancePairClosestPoints(*pair.ids)
    with pytest.raises(RuntimeError, match=r"ComputeSignedDistanceToPoint\(\): there are no derivatives.*the point"):
        query.ComputeSignedDistanceToPoint(np.zeros(3))


def test_meshes_have_no_derivatives_of_distances_to_points(tmp_path):
    from proximity_shapes import write_obj

    cube = write_obj(np.array(list(itertools.product((-0.1, 0.1), repeat=3))), tmp_path / "cube.obj")
    pair = Pair([Sphere(0.1), Mesh(str(cube))])
    (found,) = pair.derivatives(np.arange(12.0)).ComputeSignedDistanceToPoint(np.zeros(3))
    assert found.id_G == pair.ids[0]


def test_expressions_are_refused():
    pair = Pair([Sphere(0.1), Sphere(0.2)])
    graph = pair.graph.ToSymbolic()
    poses = FramePoseVector_[Expression]()
    for frame in pair.frames:
        poses.set_value(frame, RigidTransform_[Expression]())
    context = graph.CreateDefaultContext()
    graph.get_source_pose_port(pair.source).FixValue(context, poses)
    with pytest.raises(RuntimeError, match="float64 and AutoDiffXd; these hold Expression"):
        graph.get_query_output_port().Eval(context).HasCollisions()
