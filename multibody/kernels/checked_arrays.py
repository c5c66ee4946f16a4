"""Copies and short checked operations of floats, which take numpy calls two or three times as long.

A vector is finite if the sum of its elements times zero is zero. These are not laws of mechanics and have no complex or
symbolic form: plants of other scalars check their vectors in Python.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.kernels.spatial import Array


@device
def _is_finite(values: Array) -> bool:
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k] * 0.0
    return total == 0.0


@kernel
def is_finite(values_in: Floats) -> bool:
    """Whether all elements are finite numbers."""
    return _is_finite(values_in)


@kernel
def copy_pose(R_AB_in: Array, p_AoBo_A_in: Array, R_AB_out: Array, p_AoBo_A_out: Array) -> None:
    """Copies an orientation, shape [3, 3], and a position, shape [3]."""
    for r in range(3):
        for c in range(3):
            R_AB_out[r, c] = R_AB_in[r, c]
        p_AoBo_A_out[r] = p_AoBo_A_in[r]


@kernel
def write_checked(
    quaternion_starts: Array,  # where in `given` quaternions start
    buffers_out: Array,
    given_in: Array,  # as long as buffers_out
) -> bool:
    """Writes a vector of coordinates, unless it is not finite or a quaternion is zero: then nothing is written.

    Returns:
        Whether it was written.
    """
    if not _is_finite(given_in):
        return False
    for k in range(quaternion_starts.shape[0]):
        s = quaternion_starts[k]
        if given_in[s] == 0.0 and given_in[s + 1] == 0.0 and given_in[s + 2] == 0.0 and given_in[s + 3] == 0.0:
            return False
    for k in range(buffers_out.shape[0]):
        buffers_out[k] = given_in[k]
    return True


@kernel
def subtract_checked(values_out: Array, other_in: Array) -> bool:
    """Subtracts a vector from another in place; returns whether the result is finite."""
    for k in range(values_out.shape[0]):
        values_out[k] -= other_in[k]
    return _is_finite(values_out)
