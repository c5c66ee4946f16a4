"""Generalized forces that do the same work as spatial forces on the bodies: tau = J^T F.

Notation: see layout.py. From tips to base, with p = p_PoBo_W, every hinge feels what acts outboard of it:

    F_Bo_W += sum_children Phi^T(F_Co_W),   Phi^T: t += p x f                       (1)
    tau_k = H_PB_W[k] . F_Bo_W                                                      (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import Positions, Topology
from merganser.multibody.kernels.spatial import (
    add,
    add_spatial,
    cross,
    power,
    rotational,
    translational,
    vector,
)

__all__ = ["calc_generalized_forces", "generalized_forces"]


@device
def calc_generalized_forces(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    F_Bo_W_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    F_work: FloatTable,  # shape [num_mobods, 6]
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes tau = J^T F, equations (1) and (2)."""
    for i in range(topology.shape[0]):
        for j in range(6):
            F_work[i, j] = F_Bo_W_in[i, j]
    for i in range(topology.shape[0] - 1, 0, -1):
        node, body = topology[i], position_in[i]
        moment, force = rotational(F_work[i]), translational(F_work[i])
        for k in range(node["num_v"]):
            tau_out[node["v_start"] + k] = power(body["H_PB_W"], k, moment, force)
        add_spatial(F_work[node["parent"]], add(moment, cross(vector(body["p_PoBo_W"]), force)), force)


generalized_forces = kernel(calc_generalized_forces)
