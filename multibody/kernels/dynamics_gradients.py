"""Inverse and forward dynamics with derivatives by variables that everything depends on, in one call each.

With D_y the derivatives of y by these variables, one row an element, and D_s = N+(q) D_q those of q along the
velocities:

    D_tau  = dtau/dq D_s + dtau/dv D_v + M D_vdot                                           (1)
    D_vdot = dvdot/dq D_s + dvdot/dv D_v + M^-1 D_tau                                       (2)

with the factors in closed form, see inverse_dynamics_derivatives.py and forward_dynamics_derivatives.py.

They serve floats only, as the products with D_y do, see sparse_product.py.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.forward_dynamics_derivatives import calc_state_forward_dynamics_derivatives
from merganser.multibody.kernels.inverse_dynamics_derivatives import calc_inverse_dynamics_derivatives
from merganser.multibody.kernels.position import calc_position_kinematics
from merganser.multibody.kernels.sparse_product import add_product
from merganser.multibody.kernels.spatial import Array

__all__ = [
    "calc_forward_dynamics_gradient",
    "calc_inverse_dynamics_gradient",
    "forward_dynamics_gradient",
    "inverse_dynamics_gradient",
]


@device
def calc_inverse_dynamics_gradient(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Array,  # state [q; v], shape [num_q + num_v]
    vdot_in: Array,  # generalized accelerations, shape [num_v]
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    D_s_in: Array,  # shape [num_v, num_variables], or without rows, which counts as zero; so are the next two
    D_v_in: Array,
    D_vdot_in: Array,
    # Work:
    position_work: Array,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    factors_work: Array,  # shape [4, num_v, num_v]
    # Out:
    tau_out: Array,  # generalized forces, shape [num_v]
    D_tau_out: Array,  # shape [num_v, num_variables]
) -> None:
    """Computes tau, damping included, and equation (1)."""
    num_v = vdot_in.shape[0]
    num_q = x_in.shape[0] - num_v
    calc_position_kinematics(topology, parameters, x_in[:num_q], position_work)
    dtau_dq, dtau_dv, M = factors_work[0], factors_work[1], factors_work[2]
    calc_inverse_dynamics_derivatives(
        topology, parameters, gravity_in, position_work, x_in[num_q:], vdot_in, F_applied_in, sensitivity_work,
        tau_out, dtau_dq, dtau_dv, M,
    )  # fmt: skip
    _set_to_zero(D_tau_out)
    add_product(dtau_dq, D_s_in, D_tau_out)
    add_product(dtau_dv, D_v_in, D_tau_out)
    add_product(M, D_vdot_in, D_tau_out)


@device
def calc_forward_dynamics_gradient(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Array,  # state [q; v], shape [num_q + num_v]
    tau_in: Array,  # generalized forces but damping, shape [num_v]
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    D_s_in: Array,  # shape [num_v, num_variables], or without rows, which counts as zero; so are the next two
    D_v_in: Array,
    D_tau_in: Array,
    # Work:
    position_work: Array,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Array,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Array,  # shape [num_mobods]
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    tau_work: Array,  # shape [num_v]
    factors_work: Array,  # shape [4, num_v, num_v]
    # Out:
    xdot_out: Array,  # [qdot; vdot], shape [num_q + num_v]
    D_vdot_out: Array,  # shape [num_v, num_variables]
) -> int:
    """Computes xdot and equation (2).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; nothing is then computed.
    """
    dvdot_dq, dvdot_dv, M, dvdot_dtau = factors_work[0], factors_work[1], factors_work[2], factors_work[3]
    status = calc_state_forward_dynamics_derivatives(
        topology, parameters, gravity_in, x_in, tau_in, F_applied_in, position_work, velocity_work, scratch_work,
        sensitivity_work, tau_work, xdot_out, dvdot_dq, dvdot_dv, M, dvdot_dtau,
    )  # fmt: skip
    if status != 0:
        return status
    _set_to_zero(D_vdot_out)
    add_product(dvdot_dq, D_s_in, D_vdot_out)
    add_product(dvdot_dv, D_v_in, D_vdot_out)
    add_product(dvdot_dtau, D_tau_in, D_vdot_out)
    return 0


@device
def _set_to_zero(out: Array) -> None:
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 0.0


inverse_dynamics_gradient = kernel(calc_inverse_dynamics_gradient)
forward_dynamics_gradient = kernel(calc_forward_dynamics_gradient)
