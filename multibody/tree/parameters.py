"""The parameter records that a new Context starts with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels import layout
from merganser.multibody.tree.actuator import Actuator
from merganser.multibody.tree.force_elements import ForceElement
from merganser.multibody.tree.forest import ForestEdge
from merganser.multibody.tree.frame import FixedOffsetFrame
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.joint_parts import write_motion, write_segments
from merganser.multibody.tree.rigid_body import RigidBody


def make_default_parameters(
    bodies: Sequence[RigidBody],
    mobilizers: Sequence[ForestEdge],
    joints: Sequence[Joint],
    scalar: Any,
) -> npt.NDArray[Any]:
    """Returns one parameter record a mobilized body, the world first, then one a path segment, from the defaults.

    What can be changed after Finalize() is left at zero, see `write_adjustable_defaults`.

    Args:
        bodies: all bodies, by index.
        mobilizers: in depth-first order.
        joints: the joint of each mobilizer.
        scalar: type of all fields: float64, complex128 or object.
    """
    sizes = [len(joint._mobilizer_path()) for joint in joints]
    parameters = np.zeros(len(mobilizers) + 1 + sum(sizes), dtype=layout.parameter_dtype(scalar))
    parameters["R_PF"] = parameters["R_MB"] = np.eye(3)
    _write_inertia(parameters[0], bodies[0])
    for mobod, (mobilizer, joint) in enumerate(zip(mobilizers, joints), start=1):
        record = parameters[mobod]
        _write_inertia(record, bodies[mobilizer.outboard])
        write_joint_frames(
            record,
            joint,
            mobilizer.is_reversed,
            joint.frame_on_parent().GetFixedPoseInBodyFrame(),
            joint.frame_on_child().GetFixedPoseInBodyFrame(),
        )
        write_motion(record, joint, mobilizer.is_reversed)
    end = len(mobilizers) + 1
    for joint, size in zip(joints, sizes):
        write_segments(parameters[end : end + size], joint)
        end += size
    return parameters


def write_adjustable_defaults(
    parameters: npt.NDArray[Any], joints: Sequence[Joint], actuators: Sequence[Actuator]
) -> None:
    """Writes damping, friction and armature of joints, and reflected inertia of actuators; their defaults may change.

    Args:
        parameters: the records.
        joints: the joint of each mobilizer.
        actuators: all actuators.
    """
    damping, inertia = parameters["damping"], parameters["reflected_inertia"]
    mobods: dict[Joint, int] = {}
    for mobod, joint in enumerate(joints, start=1):
        mobods[joint] = mobod
        damping[mobod, : joint.num_velocities()] = joint._default_damping
        parameters["friction"][mobod, : joint.num_velocities()] = joint._default_friction
        inertia[mobod] = joint._default_armature
    for actuator in actuators:  # rotors add up; a joint that closes a loop has no record
        if actuator.transmission() is None and actuator.joint() in mobods:
            inertia[mobods[actuator.joint()]] += actuator.default_reflected_inertia()


def make_default_frames(frames: Sequence[FixedOffsetFrame], scalar: Any) -> npt.NDArray[Any]:
    """Returns one record of poses an offset frame, see layout.frame_dtype."""
    records = np.zeros(len(frames), dtype=layout.frame_dtype(scalar))
    for record, frame in zip(records, frames):
        record["X_PF"] = frame._X_PF.GetAsMatrix34()
        record["X_BF"] = frame.GetFixedPoseInBodyFrame().GetAsMatrix34()
    return records


def make_default_constants(elements: Sequence[ForceElement], scalar: Any) -> npt.NDArray[Any]:
    """Returns one record of constants a force element, see layout.constant_dtype."""
    records = np.zeros(len(elements), dtype=layout.constant_dtype(scalar))
    for record, element in zip(records, elements):
        element._write_constants(record)
    return records


def _write_inertia(record: Any, body: RigidBody) -> None:
    record["mass"] = body.default_mass()
    record["p_BoBcm_B"] = body.default_com()
    record["G_BBo_B"] = body.default_unit_inertia().CopyToFullMatrix3()


def write_joint_frames(
    record: Any, joint: Joint, is_reversed: bool, X_PF: RigidTransform, X_BM: RigidTransform
) -> None:
    """Writes the frames F (on the inboard body) and M (on the outboard body) of the mobilizer.

    Args:
        record: the parameter record of the mobilizer.
        joint: the joint that it is made of.
        is_reversed: whether the parent body of the joint is the outboard one.
        X_PF: pose of the joint's frame on its parent body.
        X_BM: pose of the joint's frame on its child body.

    The constant pose of a weld goes into X_PF. A reversed joint has its F on the outboard body: there the
    roles of the frames are swapped, the constant pose is inverted and the axis negated (`write_motion`), so that q
    keeps its meaning: X_MF(q) of a rotation or translation about `axis` is X_FM(q) of one about `-axis`.
    """
    X_FM = joint._mobilizer_X_FM()
    if is_reversed:
        X_PF, X_BM, X_FM = X_BM, X_PF, X_FM.inverse()
    _write_pose(record, "R_PF", "p_PoFo_P", X_PF @ X_FM)
    _write_pose(record, "R_MB", "p_MoBo_M", X_BM.inverse())


def _write_pose(record: Any, rotation: str, translation: str, X: RigidTransform) -> None:
    record[rotation] = X.rotation().matrix()
    record[translation] = X.translation()
