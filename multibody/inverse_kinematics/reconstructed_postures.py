"""Postures that a mixed-integer program tries before it searches, and those with the orientations that it has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import AngleAxis, RigidTransform, RotationMatrix
from merganser.framework.optimization import MathematicalProgram
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Joint, RevoluteJoint

Array = NDArray[np.float64]

_MARGIN = 1e-5  # [m], by which searches for postures stay inside


class ProgramWithPostures(MathematicalProgram):
    """A program that searches for an initial guess if none was set.

    Args:
        find_guess: returns values of all variables, or None.
    """

    def __init__(self, find_guess: Callable[[], Array | None]) -> None:
        super().__init__()
        self._find_guess = find_guess

    def _guess_to_begin_with(self) -> Array:
        guess = self.initial_guess()
        if not np.isnan(guess).all() or self.GetAllCosts():
            return guess
        found = self._find_guess()
        return guess if found is None else found


def inside_of(low: Any, high: Any) -> tuple[Array, Array]:
    """A box a little inside of another one [m], where that has an inside."""
    low, high = (np.asarray(each, dtype=np.float64).ravel() for each in (low, high))
    margin = np.minimum(_MARGIN, 0.25 * (high - low))
    return low + margin, high - margin


def postures_to_start_from(plant: MultibodyPlant, count: int) -> Iterator[Array]:
    """The default positions, and others within the limits of joints, by a fixed seed."""
    default = plant.GetPositions(plant.CreateDefaultContext())
    yield default
    low, high = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    is_limited, rng = np.isfinite(high - low), np.random.default_rng(0)
    low, high = (np.where(is_limited, each, default) for each in (low, high))
    for _ in range(1, count):
        yield rng.uniform(low, high)


def reconstructed_positions(
    plant: MultibodyPlant, joints: Mapping[int, Joint], R_WB: Mapping[int, Array], p_WBo: Mapping[int, Array]
) -> Array:
    """Positions whose bodies have about these orientations, from the root on.

    Args:
        plant: the plant.
        joints: the joint of each body, revolute, weld or quaternion_floating, by the index of the body.
        R_WB: about a rotation, shape [3, 3], by the index of the body.
        p_WBo: where bodies that float are [m], shape [3].

    Returns:
        q, shape [num_positions].
    """
    q = plant.GetPositions(plant.CreateDefaultContext())
    exact: dict[int, Array] = {0: np.eye(3)}
    p_W = {0: np.zeros(3), **p_WBo}
    waiting = dict(joints)
    while waiting:
        index, joint = next(each for each in waiting.items() if int(each[1].parent_body().index()) in exact)
        del waiting[index]
        R_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame().rotation().matrix()
        R_BM = joint.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
        parent = int(joint.parent_body().index())
        R_WF = exact[parent] @ R_PF
        start = joint.position_start()
        if isinstance(joint, RevoluteJoint):
            q[start] = _angle(joint, R_WF.T @ R_WB[index] @ R_BM)
            R_FM = RotationMatrix(AngleAxis(angle=q[start], axis=joint.revolute_axis())).matrix()
        elif joint.num_positions():
            R_FM = RotationMatrix.ProjectToRotationMatrix(R_WF.T @ R_WB[index] @ R_BM).matrix()
            X_WB = RigidTransform(RotationMatrix(R_WF @ R_FM @ R_BM.T), p_W[index])
            X_WP = RigidTransform(RotationMatrix(exact[parent]), p_W[parent])
            p_FM = _place(joint, X_WP.inverse() @ X_WB)
            q[start : start + 7] = np.concatenate((RotationMatrix(R_FM).ToQuaternion().wxyz(), p_FM))
        else:
            weld: Any = joint
            R_FM = weld.X_FM().rotation().matrix()
        exact[index] = R_WF @ R_FM @ R_BM.T
    return q


def _place(joint: Any, X_PB: RigidTransform) -> Array:
    """p_FM of a joint between bodies P and B [m]."""
    X_BM, X_PF = joint.frame_on_child().GetFixedPoseInBodyFrame(), joint.frame_on_parent().GetFixedPoseInBodyFrame()
    return np.asarray((X_PF.inverse() @ X_PB @ X_BM).translation())


def _angle(joint: RevoluteJoint, M: Array) -> float:
    """The angle theta within the limits for which R(a, theta) is nearest to M.

    trace(R' M) = a'M a (1 - cos) + trace(M) cos + (a . m) sin with the axial vector m of M is greatest there.
    """
    a = joint.revolute_axis()
    m = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
    angle = float(np.arctan2(a @ m, np.trace(M) - a @ M @ a))
    low, high = joint.position_lower_limits()[0], joint.position_upper_limits()[0]
    turns = angle + 2.0 * np.pi * np.arange(-2, 3)
    within = turns[(turns >= low) & (turns <= high)]
    if within.size:
        return float(within[np.abs(within - np.clip(0.0, low, high)).argmin()])
    return float(min((low, high), key=lambda bound: 1.0 - np.cos(bound - angle)))
