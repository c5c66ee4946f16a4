"""The parameters of a plant as print(context) shows them: a group for each element that has some, as pydrake's are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.tree import (
    Joint,
    LinearBushingRollPitchYaw,
    MultibodyTree,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    WeldJoint,
)

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["printed_parameters"]

Array = NDArray[Any]


def printed_parameters(tree: MultibodyTree, context: Context) -> tuple[list[Array], int]:
    """The numbers of joints, actuators, bodies, frames and force elements, in this order, as in Drake.

    Args:
        tree: finalized.
        context: of its plant.

    Returns:
        The groups, and how many parameters there are that are no numbers: whether each mobilized body is locked,
        which constraints are active, and what distance constraints prescribe.
    """
    groups = [*_of_joints(tree, context), *_of_bodies(tree, context), *_of_force_elements(tree, context)]
    return groups, len(tree.topology) + 2


def _of_joints(tree: MultibodyTree, context: Context) -> Iterator[Array]:
    for joint in tree.joints:
        yield np.array(joint.GetDampingVector(context))
    for actuator in tree.actuators:
        yield np.array([actuator.rotor_inertia(context)])
        yield np.array([actuator.gear_ratio(context)])


def _of_bodies(tree: MultibodyTree, context: Context) -> Iterator[Array]:
    yield np.full(10, np.nan)  # the world
    for body in list(tree.bodies)[1:]:
        M_BBo_B = body.CalcSpatialInertiaInBodyFrame(context)
        G_BBo_B = M_BBo_B.get_unit_inertia()
        p_BoBcm_B, moments, products = M_BBo_B.get_com(), G_BBo_B.get_moments(), G_BBo_B.get_products()
        yield np.concatenate([[M_BBo_B.get_mass()], p_BoBcm_B, moments, products])
    for frame in tree._offset_frames:
        yield _numbers_of(frame.GetPoseInParentFrame(context))
    for joint in sorted(tree.joints, key=lambda joint: int(tree.mobod_of_joint[joint.index()])):
        yield from map(_numbers_of, _poses_made_by(tree, joint))


def _poses_made_by(tree: MultibodyTree, joint: Joint) -> list[RigidTransform]:
    """The poses of frames that Drake adds since its mobilizers know no poses, and no axes but +x, +y and +z."""
    is_reversed = tree.mobod_of_body[joint.child_body().index()] != tree.mobod_of_joint[joint.index()]
    if isinstance(joint, WeldJoint):
        X_FM = joint.X_FM().inverse() if is_reversed else joint.X_FM()
        return [] if X_FM.IsExactlyIdentity() else [X_FM]
    if isinstance(joint, RevoluteJoint | PrismaticJoint):
        axis = joint.revolute_axis() if isinstance(joint, RevoluteJoint) else joint.translation_axis()
        axis = -axis if is_reversed else axis
        if not any(np.array_equal(axis, along) for along in np.eye(3)):
            return 2 * [RigidTransform(RotationMatrix.MakeFromOneVector(axis, 2))]
    return []


def _numbers_of(X: RigidTransform) -> Array:
    """[R p] by columns, shape [12]."""
    numbers: Array = X.GetAsMatrix34().T.ravel()
    return numbers


def _of_force_elements(tree: MultibodyTree, context: Context) -> Iterator[Array]:
    for element in tree.force_elements:
        if isinstance(element, LinearBushingRollPitchYaw):
            yield np.array(element.GetTorqueStiffnessConstants(context))
            yield np.array(element.GetTorqueDampingConstants(context))
            yield np.array(element.GetForceStiffnessConstants(context))
            yield np.array(element.GetForceDampingConstants(context))
        elif isinstance(element, RevoluteSpring):
            yield np.array([element.GetStiffness(context), element.GetNominalAngle(context)])
