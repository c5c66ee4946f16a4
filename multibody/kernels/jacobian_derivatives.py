"""Derivatives of Jacobians of frames and points by positions, in closed form.

Notation: see jacobians.py and about_origin.py. Positions change along velocities: the derivative along velocity c is
that for qdot = N(q) e_c. Velocity c *moves* velocity k, dS_k/dc = S_c x S_k = [w_ck; v_ck], if the mobilizer of k is
outboard of that of c, or the same and c carries k there; it moves all points of bodies that are outboard of c. So, with
u_c = v_c + w_c x p_WoQ the velocity of the point Q of body B, column k of the Jacobian of the velocity of Q changes by

    d(v_k + w_k x p_WoQ)/dc = (v_ck + w_ck x p_WoQ if c moves k) + (w_k x u_c if B is outboard of c)         (1)
    dw_k/dc                 = (w_ck if c moves k)                                                             (2)

and, as frame E turns with its body D, what is expressed in it as well

    d(R_WE^T a_W)/dc = R_WE^T (da_W/dc - (w_c x a_W if D is outboard of c))                                   (3)

Nothing changes by velocities that are inboard of none of the bodies A, B and D, so that nothing is computed for these.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.about_origin import carries, cross_motion, motion_of_row
from merganser.multibody.kernels.frames import Axes, axes_of, express, locate, point
from merganser.multibody.kernels.spatial import Array, Vector3, add, cross, scaled, subtract, vector

__all__ = ["calc_jacobian_derivatives", "jacobian_derivatives"]


@device
def calc_jacobian_derivatives(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: Array,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Array,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which velocities are expressed, shape [3, 4]
    first_column: int,  # where the derivatives begin among the columns of dJ_io
    # Out:
    J_out: Array,  # as calc_jacobian() writes it, shape [3 + 3 num_points, num_v]
    # In and out:
    dJ_io: Array,  # in: 0; out: its derivatives along the velocities, shape [(3 + 3 num_points) num_v, ...]
) -> None:
    """Computes Jacobians as calc_jacobian() does, and their derivatives, equations (1) to (3)."""
    for r in range(J_out.shape[0]):
        for c in range(J_out.shape[1]):
            J_out[r, c] = 0.0
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for j in range(-1, points_in.shape[0] // 3):
        is_point = j >= 0
        p_WoQ_W = vector(position_in[0]["p_WoBo_W"])
        if is_point:
            p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        # Up both paths to where they meet; a mobod has a greater number than its parent.
        b, a = mobod_B, mobod_A
        while b != a:
            i = b if b > a else a
            sign = 1.0 if i == b else -1.0
            for k in range(topology[i]["num_v"]):
                w_k, v_k = motion_of_row(position_in[i], k)
                column_W = scaled(sign, add(v_k, cross(w_k, p_WoQ_W)) if is_point else w_k)
                row, column = 3 + 3 * j, topology[i]["v_start"] + k
                _write_column(express(axes_W, column_W), row, column, J_out)
                _add_derivatives(
                    topology, position_in, i, k, sign, is_point, mobod_B, p_WoQ_W, mobod_D, axes_W, column_W,
                    row * J_out.shape[1] + column, J_out.shape[1], first_column, dJ_io,
                )  # fmt: skip
            if i == b:
                b = topology[i]["parent"]
            else:
                a = topology[i]["parent"]


@device
def _write_column(a: Vector3, row: int, column: int, J: Array) -> None:
    """J[row : row + 3, column] = a."""
    J[row, column], J[row + 1, column], J[row + 2, column] = a[0], a[1], a[2]


@device
def _add_derivatives(
    topology: Array, position_in: Array, i: int, k: int, sign: float, is_point: bool, mobod_B: int, p_WoQ_W: Vector3,
    mobod_D: int, axes_W: Axes, column_W: Vector3, row: int, stride: int, first_column: int, dJ_io: Array,
) -> None:  # fmt: skip
    """The derivatives of the column of velocity k of mobod i, in three rows of dJ that are `stride` apart."""
    w_k, v_k = motion_of_row(position_in[i], k)
    for m in range(1, topology.shape[0]):
        moves_B, moves_E, moves_i = _is_in(topology, m, mobod_B), _is_in(topology, m, mobod_D), _is_in(topology, m, i)
        if not (moves_B or moves_E or moves_i):
            continue
        for c in range(topology[m]["num_v"]):
            w_c, v_c = motion_of_row(position_in[m], c)
            change = scaled(0.0, w_c)
            if moves_i and (m != i or carries(topology[i]["mobilizer"], c, k)):
                w_ck, v_ck = cross_motion(w_c, v_c, w_k, v_k)
                change = add(v_ck, cross(w_ck, p_WoQ_W)) if is_point else w_ck
            if is_point and moves_B:
                change = add(change, cross(w_k, add(v_c, cross(w_c, p_WoQ_W))))
            change = scaled(sign, change)
            if moves_E:
                change = subtract(change, cross(w_c, column_W))
            a = express(axes_W, change)
            column = first_column + topology[m]["v_start"] + c
            for r in range(3):
                dJ_io[row + r * stride, column] = a[r]


@device
def _is_in(topology: Array, m: int, i: int) -> bool:
    """Whether mobod i is in the subtree of mobod m."""
    return m <= i and i < topology[m]["subtree_end"]


jacobian_derivatives = kernel(calc_jacobian_derivatives)
