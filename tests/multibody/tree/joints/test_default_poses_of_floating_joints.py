"""Where a body starts that a floating joint of the user connects to the world: what was set last counts."""

from __future__ import annotations

import numpy as np
import pytest
from plants import off_centre_inertia

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, QuaternionFloatingJoint, RpyFloatingJoint

KINDS = [QuaternionFloatingJoint, RpyFloatingJoint]
X_1 = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
X_2 = RigidTransform(RollPitchYaw(-0.4, 0.5, 0.6), [4.0, 5.0, 6.0])


def start(kind, act, F=None, M=None, after_finalize=None):
    """Default pose of a body after act(plant, body, add): add() adds the joint, and returns it."""
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", off_centre_inertia())
    frames = plant.world_frame(), body.body_frame()
    if F is not None:
        frames = (
            plant.AddFrame(FixedOffsetFrame("F", plant.world_frame(), F)),
            plant.AddFrame(FixedOffsetFrame("M", body.body_frame(), M or RigidTransform())),
        )
    act(plant, body, lambda: plant.AddJoint(kind("j", *frames)))
    plant.Finalize()
    if after_finalize:
        after_finalize(plant, body)
    pose = plant.EvalBodyPoseInWorld(plant.CreateDefaultContext(), body)
    np.testing.assert_allclose(
        plant.GetDefaultFloatingBaseBodyPose(body).GetAsMatrix4(), pose.GetAsMatrix4(), atol=1e-14
    )
    return pose.GetAsMatrix4()


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_poses_of_body_and_joint_the_last_one_counts(kind):
    def body_last(plant, body, add):
        add().SetDefaultPose(X_1)
        plant.SetDefaultFloatingBaseBodyPose(body, X_2)

    def joint_last(plant, body, add):
        joint = add()
        plant.SetDefaultFloatingBaseBodyPose(body, X_2)
        joint.SetDefaultPose(X_1)

    def joint_added_last(plant, body, add):
        plant.SetDefaultFloatingBaseBodyPose(body, X_2)
        add()

    np.testing.assert_allclose(start(kind, body_last), X_2.GetAsMatrix4(), atol=1e-15)
    np.testing.assert_allclose(start(kind, joint_last), X_1.GetAsMatrix4(), atol=1e-15)
    np.testing.assert_allclose(start(kind, joint_added_last), X_2.GetAsMatrix4(), atol=1e-15)
    np.testing.assert_allclose(start(kind, lambda plant, body, add: add()), np.eye(4), atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_finalized", [False, True])
def test_the_pose_of_a_body_in_the_world_does_not_depend_on_the_frames_of_its_joint(kind, is_finalized):
    F, M = RigidTransform(RollPitchYaw(0.5, -0.3, 0.2), [1.0, 0.0, 0.5]), RigidTransform([0.0, 0.2, 0.0])

    def set_pose(plant, body):
        plant.SetDefaultFloatingBaseBodyPose(body, X_1)

    def act(plant, body, add):
        add()
        if not is_finalized:
            set_pose(plant, body)

    pose = start(kind, act, F, M, set_pose if is_finalized else None)
    np.testing.assert_allclose(pose, X_1.GetAsMatrix4(), atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_at_its_own_frame_starts_there_and_not_at_the_pose_of_the_file(kind):
    F = RigidTransform([1.0, 0.0, 0.5])

    def joint_added_last(plant, body, add):
        plant.SetDefaultFloatingBaseBodyPose(body, X_2)
        add()

    np.testing.assert_allclose(start(kind, joint_added_last, F), F.GetAsMatrix4(), atol=1e-15)
