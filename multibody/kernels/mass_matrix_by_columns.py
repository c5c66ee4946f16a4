"""The mass matrix column by column, by inverse dynamics: slow, but independent of composite bodies.

At rest, without gravity and applied forces, the forces of inverse dynamics are tau = M vdot. So

    M[:, k] = tau  for vdot = e_k, v = 0                                            (1)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.spatial import Array

__all__ = ["calc_mass_matrix_by_columns", "mass_matrix_by_columns"]


@device
def calc_mass_matrix_by_columns(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    zero_gravity_in: Array,  # zeros, shape [3]
    zero_forces_in: Array,  # zeros, shape [num_mobods, 6]
    # Work:
    velocity_work: Array,  # shape [num_mobods]
    scratch_work: Array,  # shape [num_mobods]
    vdot_work: Array,  # shape [num_v]
    tau_work: Array,  # shape [num_v]
    # Out:
    M_out: Array,  # shape [num_v, num_v]
) -> None:
    """Computes the mass matrix, equation (1)."""
    num_v = vdot_work.shape[0]
    for k in range(num_v):
        vdot_work[k] = 0.0
    for i in range(topology.shape[0]):  # v = 0
        for j in range(6):
            velocity_work[i]["V_PB_W"][j] = 0.0
            velocity_work[i]["V_WB_W"][j] = 0.0
            velocity_work[i]["Ab_WB_W"][j] = 0.0
            velocity_work[i]["Fb_Bo_W"][j] = 0.0
    for k in range(num_v):
        vdot_work[k] = 1.0
        calc_inverse_dynamics(
            topology, parameters, zero_gravity_in, position_in, velocity_work, vdot_work, zero_forces_in,
            scratch_work, tau_work,
        )  # fmt: skip
        vdot_work[k] = 0.0
        for r in range(num_v):
            M_out[r, k] = tau_work[r]


mass_matrix_by_columns = kernel(calc_mass_matrix_by_columns)
