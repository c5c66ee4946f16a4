"""Derivatives of forward dynamics by positions, velocities and generalized forces, in closed form.

vdot(q, v, tau) is what makes ID(q, v, vdot) = tau. Deriving that, with the derivatives of inverse dynamics (ID) at the
the current vdot,

    dvdot/dtau = M^-1                                                 (1)
    dvdot/dq   = - M^-1 dID/dq                                        (2)
    dvdot/dv   = - M^-1 dID/dv                                        (3)

with dq along the velocities, as in inverse_dynamics_derivatives.py. M^-1 is applied by the factors of mass_matrix.py.

Velocities of locked mobilizers do not change, whatever the forces: their rows of the derivatives are zero, and the
others move as if the rows and columns of the locked ones were not in M.

Source: J. Carpentier and N. Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms, Robotics: Science and
Systems (2018), section V.

Products with matrices of derivatives, most of whose elements are zero.

Variables mostly are elements of q, v, vdot and tau themselves, so that the rows of a matrix D of derivatives are those
of an identity matrix, or zero, or have a few elements: of every row, only what lies between its first and its last
nonzero element is used. Comparing with zero needs numbers, so these functions take floats only.

Inverse and forward dynamics with derivatives by variables that everything depends on, in one call each.

With D_y the derivatives of y by these variables, one row an element, and D_s = N+(q) D_q those of q along the
velocities:

    D_tau  = dtau/dq D_s + dtau/dv D_v + M D_vdot                                           (1)
    D_vdot = dvdot/dq D_s + dvdot/dv D_v + M^-1 D_tau                                       (2)

with the factors in closed form, see inverse_dynamics_derivatives.py and above.

They serve floats only, as the products with D_y do, see below.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.forward_dynamics import num_free
from merganser.multibody.kernels.inverse_dynamics_derivatives import calc_inverse_dynamics_derivatives
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.mass_matrix import factorize, multiply_by_inverse
from merganser.multibody.kernels.position import calc_position_kinematics
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.step import calc_state_derivatives


@device
def calc_forward_dynamics_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In and out:
    M_io: FloatTable,  # in: mass matrix, not singular; out: its factors; shape [num_v, num_v]
    dq_io: FloatTable,  # in: dID/dq at vdot; out: dvdot/dq; shape [num_v, num_v]
    dv_io: FloatTable,  # in: dID/dv; out: dvdot/dv; shape [num_v, num_v]
    # Out:
    dvdot_dtau_out: FloatTable,  # shape [num_v, num_v]
) -> None:
    """Computes the derivatives of vdot from those of inverse dynamics, equations (1) to (3)."""
    num_v = M_io.shape[0]
    for r in range(num_v):
        for c in range(num_v):
            dvdot_dtau_out[r, c] = 1.0 if r == c else 0.0
    for i in range(1, topology.shape[0]):
        for k in range(num_free(topology[i], parameters[i]), topology[i]["num_v"]):
            _lock(topology[i]["v_start"] + k, M_io, dq_io, dv_io, dvdot_dtau_out)
    factorize(topology, M_io)
    multiply_by_inverse(topology, M_io, -1.0, dq_io)
    multiply_by_inverse(topology, M_io, -1.0, dv_io)
    multiply_by_inverse(topology, M_io, 1.0, dvdot_dtau_out)


@device
def _lock(k: int, M_io: Array, dq_io: Array, dv_io: Array, dtau_io: Array) -> None:
    """Replaces the equation of velocity k by vdot_k = 0."""
    for c in range(M_io.shape[0]):
        M_io[k, c] = 1.0 if k == c else 0.0
        M_io[c, k] = M_io[k, c]
        dq_io[k, c] = 0.0
        dv_io[k, c] = 0.0
        dtau_io[k, c] = 0.0


@device
def calc_state_forward_dynamics_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    tau_work: Floats,  # shape [num_v]
    # Out:
    xdot_out: Floats,  # [qdot; vdot], shape [num_q + num_v]
    dvdot_dq_out: FloatTable,  # derivatives of vdot along the velocities, shape [num_v, num_v]
    dvdot_dv_out: FloatTable,  # derivatives of vdot by v, shape [num_v, num_v]
    M_out: FloatTable,  # factors of the mass matrix, shape [num_v, num_v]
    dvdot_dtau_out: FloatTable,  # derivatives of vdot by tau, shape [num_v, num_v]
) -> int:
    """Computes xdot and the derivatives of vdot, all in one call.

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; nothing is then computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    status = calc_state_derivatives(
        topology, parameters, gravity_in, x_in, tau_in, F_applied_in, position_work, velocity_work, scratch_work,
        xdot_out,
    )  # fmt: skip
    if status != 0:
        return status
    calc_inverse_dynamics_derivatives(
        topology, parameters, gravity_in, position_work, x_in[num_q:], xdot_out[num_q:], F_applied_in,
        sensitivity_work, tau_work, dvdot_dq_out, dvdot_dv_out, M_out,
    )  # fmt: skip
    calc_forward_dynamics_derivatives(topology, parameters, M_out, dvdot_dq_out, dvdot_dv_out, dvdot_dtau_out)
    return 0


forward_dynamics_derivatives = kernel(calc_forward_dynamics_derivatives)
state_forward_dynamics_derivatives = kernel(calc_state_forward_dynamics_derivatives)


@device
def calc_product(
    # In:
    A_in: FloatTable,  # shape [num_rows, num_velocities]
    D_in: FloatTable,  # shape [num_velocities, num_variables]
    # In and out:
    product_io: FloatTable,  # in: 0; out: A D, shape [num_rows, num_variables]
) -> None:
    """Computes A D."""
    add_product(A_in, D_in, product_io)


@device
def add_product(A: Array, D: Array, out: Array) -> None:
    """out += A D."""
    for j in range(D.shape[0]):
        first, end = 0, D.shape[1]
        while first < end and D[j, first] == 0.0:
            first += 1
        while end > first and D[j, end - 1] == 0.0:
            end -= 1
        for r in range(out.shape[0]):
            for c in range(first, end):
                out[r, c] += A[r, j] * D[j, c]


product = kernel(calc_product)


@device
def calc_inverse_dynamics_gradient(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    D_s_in: FloatTable,  # shape [num_v, num_variables], or without rows, which counts as zero; so are the next two
    D_v_in: Array,
    D_vdot_in: Array,
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    factors_work: Array,  # shape [4, num_v, num_v]
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
    D_tau_out: FloatTable,  # shape [num_v, num_variables]
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
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    D_s_in: FloatTable,  # shape [num_v, num_variables], or without rows, which counts as zero; so are the next two
    D_v_in: Array,
    D_tau_in: Array,
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    tau_work: Floats,  # shape [num_v]
    factors_work: Array,  # shape [4, num_v, num_v]
    # Out:
    xdot_out: Floats,  # [qdot; vdot], shape [num_q + num_v]
    D_vdot_out: FloatTable,  # shape [num_v, num_variables]
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


@device
def calc_forward_dynamics_slopes(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    x_in: FloatTable,  # states [q; v], shape [N, num_q + num_v]
    tau_in: FloatTable,  # generalized forces but damping, shape [N, num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Positions,  # shape [num_mobods]
    velocity_work: Velocities,  # shape [num_mobods]
    scratch_work: Scratch,  # shape [num_mobods]
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    tau_work: Floats,  # shape [num_v]
    # Out:
    xdot_out: FloatTable,  # [qdot; vdot], shape [N, num_q + num_v]
    factors_out: Array,  # dvdot/dq, dvdot/dv, factors of M, dvdot/dtau; shape [N, 4, num_v, num_v]
) -> int:
    """Computes equations (1) to (3) for many states; returns 0, or the number of a mobod as for one."""
    for k in range(x_in.shape[0]):
        dvdot_dq, dvdot_dv, M, dvdot_dtau = factors_out[k, 0], factors_out[k, 1], factors_out[k, 2], factors_out[k, 3]
        status = calc_state_forward_dynamics_derivatives(
            topology, parameters, gravity_in, x_in[k], tau_in[k], F_applied_in, position_work, velocity_work,
            scratch_work, sensitivity_work, tau_work, xdot_out[k], dvdot_dq, dvdot_dv, M, dvdot_dtau,
        )  # fmt: skip
        if status != 0:
            return status
    return 0


inverse_dynamics_gradient = kernel(calc_inverse_dynamics_gradient)
forward_dynamics_slopes = kernel(calc_forward_dynamics_slopes)
forward_dynamics_gradient = kernel(calc_forward_dynamics_gradient)
