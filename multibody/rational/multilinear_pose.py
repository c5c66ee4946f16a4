"""Poses along a path of joints, as sums of products with one factor for each joint, in numbers.

Notation: F and M are the frames of a joint on its parent P and its child C; a is its axis, q* its nominal position.

    R_FM = a a' + cos(q) (1 - a a') + sin(q) [a]x                       a revolute joint turns         (1)
    cos(q) = cos(q*) cos(d) - sin(q*) sin(d),  sin(q) = sin(q*) cos(d) + cos(q*) sin(d),  d = q - q*   (2)
    p_FM = a (q* + s),  s = q - q*                                      a prismatic joint slides       (3)
    X_PC = X_PF X_FM X_CM^-1                                                                           (4)
    cos(d) = (1 - s^2) / (1 + s^2),  sin(d) = 2 s / (1 + s^2),  s = tan(d / 2)                         (5)

A pose is {factors: matrix, shape [4, 4]}, whose homogeneous matrix is the sum of all matrix * product of factors;
factors is a tuple of (place in s, kind), in the order of the path.

Source: Amice, Dai, Werner, Zhang and Tedrake, Finding and optimizing certified, collision-free regions in configuration
space for robot manipulators, 2022, section III.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Factors = tuple[tuple[int, str], ...]
MultilinearPose = dict[Factors, Array]
Powers = tuple[tuple[int, int], ...]  # (place in s, power), places in order

COS, SIN, SHIFT = "cos", "sin", "shift"
_LEAST_ENTRY = 1e-14  # entries of rotations, and of positions in meters, are not smaller but by rounding


class Joint(NamedTuple):
    """The data of a joint in (1) to (4).

    Attributes:
        X_PF: pose of F in the body P that is nearer to the world, shape [4, 4].
        X_MC: pose of C in M, shape [4, 4].
        axis: a, shape [3]; None of a weld.
        turns: whether it is revolute.
        backward: whether P has the frame M of the joint, and C its frame F; the two are exchanged here.
        s_index: its place in s; -1 of a weld.
        q_index: its place in q; -1 of a weld.
    """

    X_PF: Array
    X_MC: Array
    axis: Array | None
    turns: bool
    backward: bool
    s_index: int
    q_index: int


def across(joint: Joint, q_star: float, outward: bool) -> MultilinearPose:
    """X_PC, or X_CP if not `outward`, by (4).

    Args:
        joint: between P and C.
        q_star: nominal position of the joint [rad or m].
        outward: from P to C.
    """
    X_FM = _motion(joint, q_star, joint.backward == outward)
    if outward:
        return {factors: joint.X_PF @ M @ joint.X_MC for factors, M in X_FM.items()}
    X_CM, X_FP = np.linalg.inv(joint.X_MC), np.linalg.inv(joint.X_PF)
    return {factors: X_CM @ M @ X_FP for factors, M in X_FM.items()}


def _motion(joint: Joint, q_star: float, inverse: bool) -> MultilinearPose:
    """X_FM by (1) to (3), or its inverse, which is that for -a and the same q."""
    if joint.axis is None:
        return {(): np.eye(4)}
    axis = -joint.axis if inverse else joint.axis
    fixed = np.eye(4)
    if not joint.turns:
        slide = np.zeros((4, 4))
        slide[:3, 3] = axis
        fixed[:3, 3] = axis * q_star
        return {(): fixed, ((joint.s_index, SHIFT),): slide}
    along = np.outer(axis, axis)
    fixed[:3, :3] = along
    cross = np.cross(np.eye(3), axis)  # [a]x
    c, s = np.cos(q_star), np.sin(q_star)
    cosine, sine = np.zeros((4, 4)), np.zeros((4, 4))
    cosine[:3, :3] = c * (np.eye(3) - along) + s * cross
    sine[:3, :3] = c * cross - s * (np.eye(3) - along)
    return {(): fixed, ((joint.s_index, COS),): cosine, ((joint.s_index, SIN),): sine}


def compose(X_AB: MultilinearPose, X_BC: MultilinearPose) -> MultilinearPose:
    """X_AC = X_AB X_BC, of paths that have no joint in common."""
    return {first + then: A @ B for first, A in X_AB.items() for then, B in X_BC.items()}


def clean(pose: MultilinearPose) -> MultilinearPose:
    """The pose with entries that only rounding has left set to 0, and without factors of nothing."""
    rounded = {factors: np.where(np.abs(M) < _LEAST_ENTRY, 0.0, M) for factors, M in pose.items()}
    return {factors: M for factors, M in rounded.items() if M.any()}


_IN_S = {  # by (5), times 1 + s^2: {power: coefficient}
    COS: {0: 1.0, 2: -1.0},
    SIN: {1: 2.0},
    SHIFT: {1: 1.0},
}


def numerator(pose: MultilinearPose, turning: list[int]) -> dict[Powers, Array]:
    """The homogeneous matrix times the common denominator, as a polynomial in s, by (5).

    Args:
        pose: the pose.
        turning: places in s of the revolute joints of the path; the denominator is the product of their 1 + s_i^2.

    Returns:
        {powers of s: coefficient, shape [4, 4]}. Entry [3, 3] is the denominator itself.
    """
    result: dict[Powers, Array] = {}
    for factors, M in pose.items():
        kinds = dict(factors)
        partial: dict[Powers, float] = {(): 1.0}
        for i in sorted({*turning, *kinds}):
            choices = _IN_S[kinds[i]] if i in kinds else {0: 1.0, 2: 1.0}
            partial = {
                powers + (((i, power),) if power else ()): value * coefficient
                for powers, value in partial.items()
                for power, coefficient in choices.items()
            }
        for powers, value in partial.items():
            result[powers] = result.get(powers, 0.0) + value * M
    return result
