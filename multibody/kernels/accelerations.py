"""Accelerations of all bodies that follow from given generalized accelerations.

Notation: see layout.py. From base to tips, with A_W0_W the acceleration that the world is given,

    A_WB_W = Phi(A_WP_W) + Ab_WB_W + sum_k H_PB_W[k] vdot_k                         (1)

where Phi shifts from Po to Bo: a += alpha x p_PoBo_W. With vdot = 0 this is the bias acceleration of B.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    cross,
    rotational,
    scaled,
    set_spatial,
    translational,
    vector,
)

__all__ = ["calc_spatial_accelerations", "spatial_accelerations"]


@device
def calc_spatial_accelerations(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    vdot_in: Array,  # generalized accelerations, shape [num_v]
    # Out:
    A_WB_W_out: Array,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
) -> None:
    """Computes A_WB_W of all mobods, equation (1), with a world at rest."""
    set_spatial(A_WB_W_out[0], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(1, topology.shape[0]):
        node, body = topology[i], position_in[i]
        A_WP_W, Ab_WB_W = A_WB_W_out[node["parent"]], velocity_in[i]["Ab_WB_W"]
        # Inverse dynamics has this recursion, too: as a function of its own it would cost that a quarter more time.
        alpha = add(rotational(A_WP_W), rotational(Ab_WB_W))
        a_shifted = add(translational(A_WP_W), cross(rotational(A_WP_W), vector(body["p_PoBo_W"])))
        a = add(a_shifted, translational(Ab_WB_W))
        for k in range(node["num_v"]):
            vdot_k = vdot_in[node["v_start"] + k]
            alpha = add(alpha, scaled(vdot_k, rotational(body["H_PB_W"][k])))
            a = add(a, scaled(vdot_k, translational(body["H_PB_W"][k])))
        set_spatial(A_WB_W_out[i], alpha, a)


spatial_accelerations = kernel(calc_spatial_accelerations)
