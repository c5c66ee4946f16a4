"""The motion across one joint as records of the kernels (kernels/layout.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers import MOBILIZERS, set_kind

if TYPE_CHECKING:
    from merganser.multibody.tree.joints.joint import Joint

Array = npt.NDArray[Any]


def make_records(joint: Joint, is_reversed: bool = False) -> tuple[Array, Array]:
    """Returns topology and parameter records of the world and one body, with P = F = W and M = B, that moves as M does.

    Args:
        joint: whose motion.
        is_reversed: whether F is the joint's frame on the child.
    """
    segments = joint._mobilizer_path()
    topology = np.zeros(2, layout.topology_dtype)
    topology["parent"] = -1, 0
    set_kind(topology[0], MOBILIZERS[layout.WELD])
    set_kind(topology[1], joint.kind)
    topology["subtree_end"] = 2
    topology["path_start"], topology["path_end"] = 2, (2, 2 + len(segments))
    parameters = np.zeros(2 + len(segments), layout.parameter_dtype())
    parameters["R_PF"] = parameters["R_MB"] = np.eye(3)
    write_motion(parameters[1], joint, is_reversed)
    write_segments(parameters[2:], joint)
    return topology, parameters


def write_motion(record: Any, joint: Joint, is_reversed: bool) -> None:
    """Writes the numbers that the mobilizer of a joint has beside its frames into its parameter record."""
    record["axis_F"] = -joint._mobilizer_axis() if is_reversed else joint._mobilizer_axis()
    record["pitch"] = joint._mobilizer_pitch()
    constants = joint._mobilizer_constants()
    record["constants"][: len(constants)] = constants


def write_segments(records: Array, joint: Joint) -> None:
    """Writes the segments of the path of a joint into as many parameter records."""
    for record, segment in zip(records, joint._mobilizer_path()):
        record["arc_start"], record["turning_rate"] = segment.arc_start, segment.turning_rate
        record["R_PF"], record["p_PoFo_P"] = segment.X_FM.rotation().matrix(), segment.X_FM.translation()


def calc_X_FM(joint: Joint, q: Array) -> RigidTransform:
    """Returns the pose of M in F at positions q of the joint, of any scalar type, shape [num_positions]."""
    topology, parameters = make_records(joint)
    R_FM, p_FoMo_F = np.empty((3, 3), q.dtype), np.empty(3, q.dtype)
    joint.kind.set_pose(topology[1], parameters[1], parameters, q, R_FM, p_FoMo_F)
    return joint._mobilizer_X_FM() @ rigid_transform(R_FM, p_FoMo_F)
