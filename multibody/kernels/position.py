"""Position kinematics: poses, hinge matrices and inertias of all mobods, in the world frame.

Notation: see layout.py. The poses, and what else belongs to the way from P to B: see poses.py; the hinge matrix H_PB_W
of each kind of mobilizer: see mobilizers/.

Inertia about Bo, with R = R_WB, that is rotated in fewer multiplications through its parts:

    I_BBo_B = mass G_BBo_B = L + [u]x + d 1,    u = mass [-G_yz, G_xz, 0],  d = mass G_zz
    I_BBo_W = R I_BBo_B R^T = (R L) R^T + [R u]x + d 1                (1)

The third column of L is zero, and the trace of R L R^T is that of L.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.multibody.kernels.mobilizers.dispatch import set_axes
from merganser.multibody.kernels.poses import calc_poses
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    column,
    rotate,
    scaled,
    set_vector,
    subtract,
    vector,
)

__all__ = ["calc_hinges_and_inertias", "calc_position_kinematics", "hinges_and_inertias", "position_kinematics"]


@device
def calc_position_kinematics(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    # Out:
    position_out: Array,  # shape [num_mobods]
) -> None:
    """Computes the position records of all mobods from q."""
    calc_poses(topology, parameters, q_in, position_out)
    calc_hinges_and_inertias(topology, parameters, q_in, position_out)


@device
def calc_hinges_and_inertias(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    # In and out:
    position_io: Array,  # shape [num_mobods]; in: the poses of q_in; out: all
) -> None:
    """Completes position records in which only the poses are valid, equation (1)."""
    _leave_world_empty(position_io[0])
    for i in range(1, topology.shape[0]):
        set_axes(topology[i], parameters[i], parameters, q_in, position_io[i])
        _set_inertia(parameters[i], position_io[i])


@device
def _leave_world_empty(world: Array) -> None:
    for r in range(3):
        for c in range(3):
            world["I_BBo_W"][r, c] = 0.0
        world["p_BoBcm_W"][r] = 0.0
    world["mass"] = 0.0


@inlined
def _set_inertia(fixed: Array, body: Array) -> None:
    """Mass, centre of mass and equation (1)."""
    mass, G, R_WB = fixed["mass"], fixed["G_BBo_B"], body["R_WB"]
    body["mass"] = mass
    set_vector(body["p_BoBcm_W"], rotate(R_WB, vector(fixed["p_BoBcm_B"])))
    B_x, B_y, B_z = column(R_WB, 0), column(R_WB, 1), column(R_WB, 2)
    d = mass * G[2, 2]
    L_xx, L_yy, L_xy = mass * G[0, 0] - d, mass * G[1, 1] - d, mass * G[1, 0]
    I_xz, I_yz = mass * G[2, 0], mass * G[2, 1]
    # The columns of R L, of which the last row of L has 2 I_xz and 2 I_yz; and R u.
    x = add(add(scaled(L_xx, B_x), scaled(L_xy, B_y)), scaled(I_xz + I_xz, B_z))
    y = add(add(scaled(L_xy, B_x), scaled(L_yy, B_y)), scaled(I_yz + I_yz, B_z))
    u = subtract(scaled(I_xz, B_y), scaled(I_yz, B_x))
    # I_BBo_W = (R L) R^T + [R u]x + d 1  (1)
    I_BBo_W = body["I_BBo_W"]
    xx, yy = x[0] * B_x[0] + y[0] * B_y[0], x[1] * B_x[1] + y[1] * B_y[1]
    yx = x[1] * B_x[0] + y[1] * B_y[0] + u[2]
    zx = x[2] * B_x[0] + y[2] * B_y[0] - u[1]
    zy = x[2] * B_x[1] + y[2] * B_y[1] + u[0]
    set_vector(I_BBo_W[0], (xx + d, yx, zx))
    set_vector(I_BBo_W[1], (yx, yy + d, zy))
    set_vector(I_BBo_W[2], (zx, zy, L_xx + L_yy - xx - yy + d))


position_kinematics = kernel(calc_position_kinematics)
hinges_and_inertias = kernel(calc_hinges_and_inertias)
