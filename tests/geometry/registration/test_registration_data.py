"""Ids, frames, geometry instances and pose vectors: what sources hand to a SceneGraph."""

import copy
import math
import pickle

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    FilterId,
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    SourceId,
    Sphere,
)


@pytest.mark.parametrize("cls", [SourceId, FrameId, GeometryId, FilterId])
def test_new_ids_are_valid_distinct_and_ordered(cls: type) -> None:
    ids = [cls.get_new_id() for _ in range(3)]
    assert all(id.is_valid() for id in ids)
    assert len(set(ids)) == 3
    assert sorted([ids[2], ids[0], ids[1]]) == ids
    assert [id.get_value() for id in ids] == sorted(id.get_value() for id in ids)


def test_id_equals_its_copies_and_no_id_of_another_type() -> None:
    id = FrameId.get_new_id()
    for same in (copy.copy(id), copy.deepcopy(id), pickle.loads(pickle.dumps(id))):
        assert same == id
        assert hash(same) == hash(id)
    assert id != GeometryId._from_value(id.get_value())
    with pytest.raises(TypeError):
        id < SourceId.get_new_id()  # noqa: B015


def test_id_that_comes_from_another_process_is_not_made_again() -> None:
    foreign = FrameId._from_value(FrameId.get_new_id().get_value() + 1000)
    pickle.loads(pickle.dumps(foreign))
    assert FrameId.get_new_id().get_value() > foreign.get_value()


def test_default_id_is_invalid_and_has_no_value() -> None:
    assert not FrameId().is_valid()
    assert FrameId() == FrameId()
    with pytest.raises(RuntimeError, match=r"FrameId is invalid and has no value. FrameId.get_new_id\(\)"):
        FrameId().get_value()


def test_frame_keeps_name_group_and_id() -> None:
    frame = GeometryFrame("link", frame_group_id=3)
    assert (frame.name(), frame.frame_group()) == ("link", 3)
    assert copy.copy(frame).id() == copy.deepcopy(frame).id() == frame.id()
    assert GeometryFrame("link").id() != frame.id()
    assert GeometryFrame("link").frame_group() == 0


def test_frame_refuses_a_negative_group_and_a_name_that_is_no_text() -> None:
    with pytest.raises(RuntimeError, match="group of frame 'link' must not be negative; given -1"):
        GeometryFrame("link", -1)
    with pytest.raises(TypeError, match="must be a string"):
        GeometryFrame(3)


def test_instance_trims_its_name() -> None:
    geometry = GeometryInstance(X_PG=RigidTransform(), shape=Sphere(1), name=" \tthe ball \t")
    assert geometry.name() == "the ball"
    geometry.set_name(" box ")
    assert geometry.name() == "box"
    for bad in ("", "  \t"):
        with pytest.raises(RuntimeError, match="A geometry needs a name"):
            geometry.set_name(bad)


def test_instance_does_not_share_its_pose_with_the_caller() -> None:
    X_PG = RigidTransform([1.0, 2.0, 3.0])
    geometry = GeometryInstance(X_PG, Sphere(1), "ball")
    X_PG.set_translation([9.0, 9.0, 9.0])
    assert geometry.pose().translation().tolist() == [1.0, 2.0, 3.0]
    geometry.set_pose(RigidTransform([4.0, 5.0, 6.0]))
    assert geometry.pose().translation().tolist() == [4.0, 5.0, 6.0]


def test_instance_refuses_wrong_types_and_poses_that_are_not_finite() -> None:
    with pytest.raises(TypeError, match="shape of geometry 'ball' must be a Shape"):
        GeometryInstance(RigidTransform(), "sphere", "ball")
    with pytest.raises(TypeError, match="pose of geometry 'ball' must be a RigidTransform"):
        GeometryInstance(np.eye(4), Sphere(1), "ball")
    nan_pose = RigidTransform.MakeUnchecked(np.full((3, 4), math.nan))
    with pytest.raises(ValueError, match="pose of geometry 'ball' must be finite"):
        GeometryInstance(nan_pose, Sphere(1), "ball")


def test_instance_has_properties_of_the_roles_it_was_given() -> None:
    geometry = GeometryInstance(RigidTransform(), Sphere(1), "ball")
    assert geometry.proximity_properties() is None
    assert geometry.illustration_properties() is None
    assert geometry.perception_properties() is None
    geometry.set_proximity_properties(ProximityProperties())
    geometry.set_illustration_properties(IllustrationProperties())
    geometry.set_perception_properties(PerceptionProperties())
    geometry.mutable_proximity_properties().AddProperty("g", "a", 1)
    assert geometry.proximity_properties().GetProperty("g", "a") == 1
    assert isinstance(geometry.mutable_illustration_properties(), IllustrationProperties)
    assert isinstance(geometry.mutable_perception_properties(), PerceptionProperties)
    with pytest.raises(TypeError, match="Geometry 'ball' expected ProximityProperties"):
        geometry.set_proximity_properties(IllustrationProperties())


def test_copy_of_an_instance_is_independent_and_keeps_the_id() -> None:
    geometry = GeometryInstance(RigidTransform(), Sphere(1), "ball")
    geometry.set_proximity_properties(ProximityProperties())
    other = copy.deepcopy(geometry)
    assert other.id() == geometry.id()
    other.mutable_proximity_properties().AddProperty("g", "a", 1)
    other.set_name("other")
    assert geometry.name() == "ball"
    assert not geometry.proximity_properties().HasGroup("g")


def random_pose(rng: np.random.Generator) -> RigidTransform:
    return RigidTransform(RollPitchYaw(rng.uniform(-3, 3, 3)), rng.normal(size=3))


def test_pose_vector_returns_what_was_set() -> None:
    rng = np.random.default_rng(0)
    poses = {FrameId.get_new_id(): random_pose(rng) for _ in range(10)}
    vector = FramePoseVector()
    for id, X_PF in poses.items():
        vector.set_value(id, RigidTransform())
        vector.set_value(id=id, value=X_PF)
    assert vector.size() == 10
    assert vector.ids() == list(poses)
    for id, X_PF in poses.items():
        assert vector.has_id(id)
        assert vector.value(id).IsExactlyEqualTo(X_PF)


def test_cleared_pose_vector_is_empty() -> None:
    id = FrameId.get_new_id()
    vector = FramePoseVector()
    vector.set_value(id, RigidTransform())
    vector.clear()
    assert vector.size() == 0
    assert not vector.has_id(id)
    with pytest.raises(RuntimeError, match=f"no pose for <FrameId value={id.get_value()}>"):
        vector.value(id)


def test_pose_vector_refuses_what_is_not_a_pose_of_a_frame() -> None:
    vector, id = FramePoseVector(), FrameId.get_new_id()
    with pytest.raises(ValueError, match=f"pose of <FrameId value={id.get_value()}> must be finite"):
        vector.set_value(id, RigidTransform.MakeUnchecked(np.full((3, 4), math.nan)))
    with pytest.raises(TypeError, match="must be a RigidTransform; given list"):
        vector.set_value(id, [0, 0, 0])
    with pytest.raises(TypeError, match="takes a FrameId"):
        vector.set_value(GeometryId.get_new_id(), RigidTransform())
    with pytest.raises(ValueError, match="invalid FrameId"):
        vector.set_value(FrameId(), RigidTransform())
    assert vector.size() == 0


def test_copy_of_a_pose_vector_is_independent() -> None:
    id = FrameId.get_new_id()
    vector = FramePoseVector()
    vector.set_value(id, RigidTransform())
    other = copy.deepcopy(vector)
    other.set_value(id, RigidTransform([1, 2, 3]))
    other.set_value(FrameId.get_new_id(), RigidTransform())
    assert vector.size() == 1
    assert vector.value(id).IsExactlyIdentity()


def test_all_poses_may_be_set_at_once() -> None:
    rng = np.random.default_rng(0)
    ids = [FrameId.get_new_id() for _ in range(3)]
    X_PF = [random_pose(rng) for _ in ids]
    matrices = np.array([X.GetAsMatrix4() for X in X_PF])
    vector = FramePoseVector()
    vector.set_value(FrameId.get_new_id(), RigidTransform())
    vector.set_poses(ids, matrices)
    matrices[:] = math.nan
    assert vector.ids() == ids
    assert all(vector.value(id).IsExactlyEqualTo(X) for id, X in zip(ids, X_PF))
    with pytest.raises(ValueError, match=r"shape \(2, 4, 4\); given \(3, 4, 4\)"):
        vector.set_poses(ids[:2], matrices)
    with pytest.raises(ValueError, match="comes twice"):
        vector.set_poses([ids[0]] * 3, matrices)
