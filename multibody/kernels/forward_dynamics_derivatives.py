"""Derivatives of forward dynamics by positions, velocities and generalized forces, in closed form.

vdot(q, v, tau) is what makes ID(q, v, vdot) = tau. Deriving that, with the derivatives of inverse dynamics (ID) at the
vdot of the moment,

    dvdot/dtau = M^-1                                                 (1)
    dvdot/dq   = - M^-1 dID/dq                                        (2)
    dvdot/dv   = - M^-1 dID/dv                                        (3)

with dq along the velocities, as in inverse_dynamics_derivatives.py. With M = L Delta L^T, L unit lower triangular,

    X = M^-1 Y:   L Z = Y,   L^T X = Delta^-1 Z                       (4)

Velocities of locked mobilizers do not change, whatever the forces: their rows of the derivatives are zero, and the
others move as if the rows and columns of the locked ones were not in M.

Source: J. Carpentier and N. Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms, Robotics: Science and
Systems (2018), section V; (4): G. Golub and C. Van Loan, Matrix Computations (2013), section 4.1.2.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.hinge import num_free
from merganser.multibody.kernels.spatial import Array

__all__ = ["calc_forward_dynamics_derivatives", "forward_dynamics_derivatives"]


@device
def calc_forward_dynamics_derivatives(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In and out:
    M_io: Array,  # in: mass matrix, not singular; out: its factors; shape [num_v, num_v]
    dq_io: Array,  # in: dID/dq at vdot; out: dvdot/dq; shape [num_v, num_v]
    dv_io: Array,  # in: dID/dv; out: dvdot/dv; shape [num_v, num_v]
    # Out:
    dvdot_dtau_out: Array,  # shape [num_v, num_v]
) -> None:
    """Computes the derivatives of vdot from those of inverse dynamics, equations (1) to (4)."""
    num_v = M_io.shape[0]
    for r in range(num_v):
        for c in range(num_v):
            dq_io[r, c] = -dq_io[r, c]
            dv_io[r, c] = -dv_io[r, c]
            dvdot_dtau_out[r, c] = 1.0 if r == c else 0.0
    for i in range(1, topology.shape[0]):
        for k in range(num_free(topology[i], parameters[i]), topology[i]["num_v"]):
            _lock(topology[i]["v_start"] + k, M_io, dq_io, dv_io, dvdot_dtau_out)
    _factorize(M_io)
    _solve(M_io, dq_io)
    _solve(M_io, dv_io)
    _solve(M_io, dvdot_dtau_out)


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
def _factorize(M_io: Array) -> None:
    """Replaces the lower triangle of M by L, and its diagonal by Delta^-1."""
    for r in range(M_io.shape[0]):
        for c in range(r):
            for j in range(c):
                M_io[r, c] -= M_io[r, j] * M_io[c, j]  # so far row r holds L Delta
        for c in range(r):
            L_rc = M_io[r, c] * M_io[c, c]
            M_io[r, r] -= M_io[r, c] * L_rc
            M_io[r, c] = L_rc
        M_io[r, r] = 1.0 / M_io[r, r]


@device
def _solve(L_in: Array, X_io: Array) -> None:
    """Replaces Y by M^-1 Y, equation (4)."""
    n = X_io.shape[0]
    for r in range(n):
        for j in range(r):
            for c in range(n):
                X_io[r, c] -= L_in[r, j] * X_io[j, c]
    for r in range(n - 1, -1, -1):
        for c in range(n):
            X_io[r, c] *= L_in[r, r]
        for j in range(r + 1, n):
            for c in range(n):
                X_io[r, c] -= L_in[j, r] * X_io[j, c]


forward_dynamics_derivatives = kernel(calc_forward_dynamics_derivatives)
