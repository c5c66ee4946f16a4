"""Kernels over many columns of positions and velocities, as many at a time as there are lanes (simd.py).

A block of columns is copied into lanes, the algorithms of ../kernels run on these as they do on numbers, and results
are copied back. Where lanes part, the kernel returns before that block: its columns are computed one by one, by the
same source compiled for numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.simd import forget_leave, has_left
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.mass_matrix import calc_mass_matrix
from merganser.multibody.kernels.position import calc_poses, calc_position_kinematics
from merganser.multibody.kernels.velocity import calc_kinematics

Array = NDArray[Any]


class Room(NamedTuple):
    """Work arrays of lanes, or of numbers.

    Attributes:
        numbers: of q, v, vdot and tau, and of M, in lanes; shape [num_q + 3 num_v + num_v^2, number of lanes].
        q, v, vdot, tau, M: the same memory as lanes.
        F: no forces, shape [num_mobods, 6].
        position, velocity, scratch: records of the bodies.
        poses: numbers of `position`, shape [num_mobods, numbers of a record, number of lanes].
    """

    numbers: Array
    q: Array
    v: Array
    vdot: Array
    tau: Array
    M: Array
    F: Array
    position: Array
    velocity: Array
    scratch: Array
    poses: Array


@kernel
def inverse_dynamics_columns(
    # Model:
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    # In:
    first: int,  # column
    end: int,  # the one behind the last
    q_in: Array,  # shape [num_q, N]
    v_in: Array,  # shape [num_v, N]
    vdot_in: Array,  # shape [num_v, N]
    # Work:
    work: Room,
    # Out:
    tau_out: Array,  # shape [num_v, N]
) -> int:
    """Computes the forces that produce vdot; returns the first column that has none yet."""
    num_q, num_v, width, numbers = q_in.shape[0], v_in.shape[0], work.numbers.shape[1], work.numbers
    for start in range(first, end, width):
        _load(start, end, q_in, 0, numbers)
        _load(start, end, v_in, num_q, numbers)
        _load(start, end, vdot_in, num_q + num_v, numbers)
        forget_leave()
        calc_kinematics(topology, parameters, work.q, work.v, work.position, work.velocity)
        calc_inverse_dynamics(
            topology, parameters, gravity_in, work.position, work.velocity, work.vdot, work.F, work.scratch, work.tau
        )
        if width > 1 and has_left():
            return start
        for k in range(min(width, end - start)):
            for j in range(num_v):
                tau_out[j, start + k] = numbers[num_q + 2 * num_v + j, k]
    return end


@kernel
def mass_matrix_columns(
    # Model:
    topology: Array,
    parameters: Array,
    # In:
    first: int,
    end: int,
    q_in: Array,  # shape [num_q, N]
    # Work:
    work: Room,
    # Out:
    M_out: Array,  # shape [N, num_v, num_v]
) -> int:
    """Computes mass matrices; returns the first column that has none yet."""
    num_q, num_v, width, numbers = q_in.shape[0], work.tau.shape[0], work.numbers.shape[1], work.numbers
    for start in range(first, end, width):
        _load(start, end, q_in, 0, numbers)
        forget_leave()
        calc_position_kinematics(topology, parameters, work.q, work.position)
        calc_mass_matrix(topology, parameters, work.position, work.scratch, work.M)
        if width > 1 and has_left():
            return start
        for k in range(min(width, end - start)):
            for i in range(num_v):
                for j in range(num_v):
                    M_out[start + k, i, j] = numbers[num_q + 3 * num_v + num_v * i + j, k]
    return end


@kernel
def pose_columns(
    # Model:
    topology: Array,
    parameters: Array,
    mobods: Array,  # of the bodies
    # In:
    first: int,
    end: int,
    q_in: Array,  # shape [num_q, N]
    # Work:
    work: Room,
    # Out:
    X_WB_out: Array,  # [R_WB p_WoBo_W], shape [N, num_bodies, 3, 4]
) -> int:
    """Computes poses; returns the first column that has none yet."""
    width, numbers, poses = work.numbers.shape[1], work.numbers, work.poses
    for start in range(first, end, width):
        _load(start, end, q_in, 0, numbers)
        forget_leave()
        calc_poses(topology, parameters, work.q, work.position)
        if width > 1 and has_left():
            return start
        for k in range(min(width, end - start)):
            for n in range(mobods.shape[0]):
                for i in range(3):
                    for j in range(3):
                        X_WB_out[start + k, n, i, j] = poses[mobods[n], 3 * i + j, k]
                    X_WB_out[start + k, n, i, 3] = poses[mobods[n], 9 + i, k]
    return end


@device
def _load(start: int, end: int, columns: Array, row: int, numbers: Array) -> None:
    """Copies a block of columns; where there are fewer than lanes, the last one several times."""
    for k in range(numbers.shape[1]):
        column = min(start + k, end - 1)
        for j in range(columns.shape[0]):
            numbers[row + j, k] = columns[j, column]
