"""Derivatives of Jacobians of frames and points by positions, in closed form.

Notation: see jacobians.py and about_one_point.py. Positions change along velocities: the derivative along velocity c is
that for qdot = N(q) e_c. All motions S_k = [w_k; v_k] are about the place in W where the point Q of body B is at the
moment, so that v_k is column k of the Jacobian of the velocity of Q. Velocity c *moves* velocity k, dS_k/dc =
S_c x S_k = [w_ck; v_ck], if the mobilizer of k is outboard of that of c, or the same and c carries k there; it moves
all points of bodies that are outboard of c, and Q with v_c. So the columns of the Jacobians change by

    d(v_k)/dc = (v_ck if c moves k) + (w_k x v_c if B is outboard of c)                                       (1)
    dw_k/dc   = (w_ck if c moves k)                                                                           (2)

and, as frame E turns with its body D, what is expressed in it as well

    da_E/dc = R_WE^T da_W/dc - (R_WE^T w_c x a_E if D is outboard of c),     a_E = R_WE^T a_W                 (3)

Nothing changes by velocities that are inboard of none of the bodies A, B and D, so that nothing is computed for these.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.about_one_point import carries, cross_motion, motion_of_row
from merganser.multibody.kernels.frames import Axes, axes_of, express, locate, point
from merganser.multibody.kernels.jacobians import calc_jacobian
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
    calc_jacobian(topology, position_in, mobod_B, X_BF_in, points_in, mobod_A, mobod_D, X_DE_in, J_out)
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for j in range(-1, points_in.shape[0] // 3):
        p_WoQ_W = vector(position_in[0]["p_WoBo_W"])
        if j >= 0:
            p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        for i in range(1, topology.shape[0]):
            moves_B = _is_in(topology, i, mobod_B)
            if moves_B == _is_in(topology, i, mobod_A):  # both or none of them: J has zeros
                continue
            for k in range(topology[i]["num_v"]):
                _set_derivatives(
                    topology, position_in, i, k, 1.0 if moves_B else -1.0, j >= 0, mobod_B, p_WoQ_W, mobod_D, axes_W,
                    3 + 3 * j, first_column, J_out, dJ_io,
                )  # fmt: skip


@device
def _set_derivatives(
    topology: Array, position_in: Array, i: int, k: int, sign: float, is_point: bool, mobod_B: int, p_WoQ_W: Vector3,
    mobod_D: int, axes_W: Axes, row: int, first_column: int, J_in: Array, dJ_io: Array,
) -> None:  # fmt: skip
    """The derivatives of three rows of J in the column of velocity k of mobod i."""
    num_v, column = J_in.shape[1], topology[i]["v_start"] + k
    a_E = J_in[row, column], J_in[row + 1, column], J_in[row + 2, column]
    w_k, v_k = _motion_about(p_WoQ_W, position_in[i], k)
    for m in range(1, topology.shape[0]):
        moves_B, moves_E, moves_i = _is_in(topology, m, mobod_B), _is_in(topology, m, mobod_D), _is_in(topology, m, i)
        if not (moves_B or moves_E or moves_i):
            continue
        for c in range(topology[m]["num_v"]):
            w_c, v_c = _motion_about(p_WoQ_W, position_in[m], c)
            change_W = scaled(0.0, w_c)
            if moves_i and (m != i or carries(topology[i], c, k)):
                w_ck, v_ck = cross_motion(w_c, v_c, w_k, v_k)
                change_W = v_ck if is_point else w_ck
            if is_point and moves_B:
                change_W = add(change_W, cross(w_k, v_c))
            change_E = express(axes_W, scaled(sign, change_W))
            if moves_E:
                change_E = subtract(change_E, cross(express(axes_W, w_c), a_E))
            for r in range(3):
                dJ_io[(row + r) * num_v + column, first_column + topology[m]["v_start"] + c] = change_E[r]


@device
def _motion_about(p_WoQ_W: Vector3, body: Array, k: int) -> tuple[Vector3, Vector3]:
    """S_k about Q."""
    return motion_of_row(body, k, subtract(vector(body["p_WoBo_W"]), p_WoQ_W))


@device
def _is_in(topology: Array, m: int, i: int) -> bool:
    """Whether mobod i is in the subtree of mobod m."""
    return m <= i and i < topology[m]["subtree_end"]


jacobian_derivatives = kernel(calc_jacobian_derivatives)
