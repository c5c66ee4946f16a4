"""Isometry3, the pose that can be changed."""

import copy

import numpy as np
import pytest

from merganser.framework import RandomGenerator
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import Isometry3, RigidTransform, UniformlyRandomRotationMatrix

R = UniformlyRandomRotationMatrix(RandomGenerator(1))
S = UniformlyRandomRotationMatrix(RandomGenerator(2))
p, q = [1.0, 2.0, 3.0], [-0.5, 0.25, 4.0]


def test_every_way_to_make_one():
    X = Isometry3(rotation=R.matrix(), translation=p)
    for other in (
        Isometry3(X.matrix()),
        Isometry3(R.ToQuaternion(), p),
        Isometry3(quaternion=R.ToQuaternion(), translation=p),
        Isometry3(X),
        copy.deepcopy(X),
        RigidTransform(R, p).GetAsIsometry3(),
    ):
        np.testing.assert_allclose(other.matrix(), RigidTransform(R, p).GetAsMatrix4(), rtol=0, atol=1e-15)
    assert (Isometry3().matrix() == np.eye(4)).all() and (Isometry3.Identity().matrix() == np.eye(4)).all()


def test_poses_compose_and_move_points():
    X, Y = Isometry3(R.matrix(), p), Isometry3(S.matrix(), q)
    expected = RigidTransform(R, p) @ RigidTransform(S, q)
    np.testing.assert_allclose((X @ Y).matrix(), expected.GetAsMatrix4(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(X.multiply(X.inverse()).matrix(), np.eye(4), rtol=0, atol=1e-15)
    points = np.random.default_rng(3).normal(size=(3, 5))
    np.testing.assert_allclose(X.multiply(points), RigidTransform(R, p) @ points, rtol=0, atol=1e-15)
    np.testing.assert_allclose(X @ points[:, 0], RigidTransform(R, p) @ points[:, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(X.quaternion().rotation(), R.matrix(), rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match=r"points of shape \(3,\) or \(3, n\)"):
        X.multiply(np.ones(4))


def test_a_change_of_one_leaves_its_copies_alone():
    X = Isometry3(R.matrix(), p)
    Y = Isometry3(X)
    X.set_rotation(S.matrix())
    X.set_translation(q)
    assert (Y.rotation() == R.matrix()).all() and Y.translation().tolist() == p
    assert (X.rotation() == S.matrix()).all() and X.translation().tolist() == q
    X.set_quaternion(R.ToQuaternion())
    np.testing.assert_allclose(X.rotation(), R.matrix(), rtol=0, atol=1e-15)
    X.set_matrix(np.eye(4))
    assert (X.matrix() == np.eye(4)).all()


def test_rigid_transforms_and_isometries_convert():
    X = RigidTransform()
    X.SetFromIsometry3(Isometry3(R.matrix(), p))
    assert X.IsExactlyEqualTo(RigidTransform(R, p))
    assert RigidTransform(pose=Isometry3(R.matrix(), p)).IsExactlyEqualTo(X)


def test_casts_keep_derivatives():
    X = Isometry3(R.matrix(), p).cast[AutoDiffXd]()
    moved = X @ np.array([AutoDiffXd(1.0, [1.0]), AutoDiffXd(0.0), AutoDiffXd(0.0)])
    assert [entry.derivatives().tolist() for entry in moved] == [[value] for value in R.matrix()[:, 0]]
    assert (X.cast[float]().matrix() == Isometry3(R.matrix(), p).matrix()).all()


def test_poses_without_sense_are_refused():
    X = Isometry3(R.matrix(), p)
    for wrong in (np.ones((4, 4)), np.eye(3), 2.0 * np.eye(4)):
        with pytest.raises((ValueError, RuntimeError)):
            X.set_matrix(wrong)
    with pytest.raises(RuntimeError):
        X.set_rotation(2.0 * np.eye(3))
    with pytest.raises(ValueError):
        X.set_translation([1.0])
    assert (X.rotation() == R.matrix()).all() and X.translation().tolist() == p
    for arguments, keywords in (((R.matrix(), p, 1), {}), ((), {"place": p})):
        with pytest.raises(TypeError, match="Isometry3"):
            Isometry3(*arguments, **keywords)
