"""Masks of degrees of freedom, and limits of joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.planning import DofMask, GetContinuousRevoluteJointIndices, JointLimits
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PlanarJoint, PrismaticJoint, RevoluteJoint, RpyFloatingJoint, SpatialInertia

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"


@pytest.fixture(scope="module")
def robot() -> MultibodyPlant:
    """An arm of seven joints, and a gripper of two beside it."""
    plant = MultibodyPlant(0.0)
    for name in ("arm7.urdf", "parallel_gripper.sdf"):
        Parser(plant).AddModels(str(MODELS / name))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("body"))
    plant.Finalize()
    return plant


def test_masks_are_sets() -> None:
    a, b = DofMask([True, True, False, False]), DofMask([True, False, True, False])
    assert a.Union(b) == DofMask([True, True, True, False]) and a.Intersect(b) == DofMask([True, False, False, False])
    assert a.Subtract(b) == DofMask([False, True, False, False])
    assert a.Complement() == DofMask([False, False, True, True])
    assert a.Union(a.Complement()) == DofMask(4, True) and a.Intersect(a.Complement()) == DofMask(size=4, value=False)
    assert (a.size(), a.count(), a[1], a[2]) == (4, 2, True, False) and DofMask().size() == 0
    assert a != b and a != "a" and repr(DofMask([True])) == "DofMask([True])"
    with pytest.raises(ValueError, match=r"Union\(\): masks must have one size; got 4 and 2"):
        a.Union(DofMask(2, True))
    for empty in ([], (), np.zeros(0, bool)):
        assert DofMask(empty).size() == 0
    for wrong in (set(), None, True):
        with pytest.raises(TypeError, match="expected a sequence of bools"):
            DofMask(values=wrong)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_masks_select_elements() -> None:
    mask = DofMask([False, True, False, True])
    assert mask.GetSelectedToFullIndex() == [1, 3] and mask.GetFullToSelectedIndex() == [None, 0, None, 1]
    q = np.array([5.0, 6.0, 7.0, 8.0])
    selected = mask.GetFromArray(q)
    assert selected.tolist() == [6.0, 8.0]
    assert all(q[i] == selected[place] for place, i in enumerate(mask.GetSelectedToFullIndex()))
    with pytest.raises(ValueError, match="expected 4 elements, got 3"):
        mask.GetFromArray(q[:3])


def test_masks_of_models(robot: MultibodyPlant) -> None:
    arm, gripper = robot.GetModelInstanceByName("arm7"), "parallel_gripper"
    mask = DofMask.MakeFromModel(robot, arm)
    assert mask.GetSelectedToFullIndex() == list(range(7))
    assert DofMask.MakeFromModel(robot, model_name=gripper) == mask.Complement()
    assert DofMask.MakeFromModel(robot, gripper) == mask.Complement()
    names = [robot.get_joint(index).name() for index in mask.Complement().GetJoints(robot)]
    assert names == ["left_finger_slide", "right_finger_slide"]
    with pytest.raises(RuntimeError, match="no model instance named 'missing'"):
        DofMask.MakeFromModel(robot, "missing")
    with pytest.raises(TypeError, match="an index or a name"):
        DofMask.MakeFromModel(robot)
    with pytest.raises(ValueError, match="the mask is for 2 positions, not for the 9"):
        DofMask(2, True).GetJoints(robot)


def test_masks_are_for_joints_whose_velocities_are_rates() -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    with pytest.raises(RuntimeError, match="must be the rate of position i"):
        DofMask.MakeFromModel(plant, body.model_instance())


def test_limits_are_those_of_the_joints(robot: MultibodyPlant) -> None:
    every, mask = JointLimits(robot), DofMask.MakeFromModel(robot, "arm7")
    assert every.position_lower().tolist() == robot.GetPositionLowerLimits().tolist()
    assert every.acceleration_upper().tolist() == robot.GetAccelerationUpperLimits().tolist()
    assert (every.num_positions(), every.num_velocities(), every.num_accelerations()) == (9, 9, 9)
    for some in (JointLimits(robot, mask), JointLimits(every, mask), JointLimits(other=every, active_dof=mask)):
        assert some.velocity_upper().tolist() == robot.GetVelocityUpperLimits()[:7].tolist()
        assert some.num_positions() == 7
    assert JointLimits().num_positions() == 0
    JointLimits(robot, mask, require_finite_velocities=True, require_finite_accelerations=True)
    for flag, kind in (("require_finite_velocities", "Velocity"), ("require_finite_accelerations", "Acceleration")):
        with pytest.raises(RuntimeError, match=f"{kind} limits are not finite"):
            JointLimits(robot, **{flag: True})
    with pytest.raises(ValueError, match="expected 3 elements, got 9"):
        JointLimits(every, DofMask(3, True))
    with pytest.raises(TypeError, match="require_finite_positions must be True or False"):
        JointLimits(robot, [True] * 9)  # type: ignore[call-overload]
    with pytest.raises(RuntimeError, match="Finalize"):
        JointLimits(MultibodyPlant(0.0))


def test_what_is_within_limits() -> None:
    low, high = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    limits = JointLimits(low, high, 2 * low, 2 * high, 3 * low, 3 * high)
    assert limits.CheckInPositionLimits([1.0, -2.0]) and not limits.CheckInPositionLimits([1.1, 0.0])
    assert limits.CheckInPositionLimits([1.1, 0.0], tolerance=0.2)
    assert limits.CheckInVelocityLimits([2.0, 4.0]) and not limits.CheckInVelocityLimits([0.0, -4.1])
    assert limits.CheckInAccelerationLimits([3.0, 6.0]) and not limits.CheckInAccelerationLimits([3.1, 0.0])
    for call, message in (
        (lambda: limits.CheckInPositionLimits([0.0]), "a position of 2 numbers"),
        (lambda: limits.CheckInVelocityLimits([0.0, np.nan]), "a velocity of 2 numbers"),
        (lambda: limits.CheckInAccelerationLimits([0.0, 0.0], -1.0), "must not be negative, got -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"acceleration_upper": np.ones(3)}, "Acceleration limits must have the same size; got 2 and 3"),
        ({"position_lower": np.full(2, 2.0)}, "Position limits must be ordered"),
        ({"velocity_upper": np.array([1.0, np.nan])}, "Velocity limits must be ordered"),
    ],
)
def test_limits_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    good = {f"{kind}_lower": -np.ones(2) for kind in ("position", "velocity", "acceleration")}
    good |= {f"{kind}_upper": np.ones(2) for kind in ("position", "velocity", "acceleration")}
    with pytest.raises(RuntimeError, match=message):
        JointLimits(**(good | change))


def test_angles_without_limits_are_found() -> None:
    plant = MultibodyPlant(0.0)
    world, z = plant.world_frame(), [0.0, 0.0, 1.0]
    for name, make in (
        ("turning", lambda frame: RevoluteJoint("turning", world, frame, z)),
        ("limited", lambda frame: RevoluteJoint("limited", world, frame, z, -1.0, np.inf)),
        ("sliding", lambda frame: PrismaticJoint("sliding", world, frame, z)),
        ("planar", lambda frame: PlanarJoint("planar", world, frame)),
        ("floating", lambda frame: RpyFloatingJoint("floating", world, frame)),
    ):
        body = plant.AddRigidBody(name, SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.AddJoint(make(body.body_frame()))
    plant.Finalize()
    assert GetContinuousRevoluteJointIndices(plant) == [0, 5, 6, 7, 8]
