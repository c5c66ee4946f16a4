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
    Vector3,
    add,
    cross,
    rotational,
    scaled,
    set_spatial,
    translational,
    vector,
)

__all__ = ["acceleration_of", "calc_spatial_accelerations", "spatial_accelerations"]


@device
def acceleration_of(
    node: Array, body: Array, bias: Array, A_WP_W: Array, vdot_in: Array
) -> tuple[Vector3, Vector3]:
    """Both parts of A_WB_W, equation (1), from the records of B and the acceleration of its parent."""
    alpha_WP = rotational(A_WP_W)
    a_shifted = add(translational(A_WP_W), cross(alpha_WP, vector(body["p_PoBo_W"])))
    alpha = add(alpha_WP, rotational(bias["Ab_WB_W"]))
    a = add(a_shifted, translational(bias["Ab_WB_W"]))
    for k in range(node["num_v"]):
        vdot_k = vdot_in[node["v_start"] + k]
        H_k = body["H_PB_W"][k]
        alpha = add(alpha, scaled(vdot_k, rotational(H_k)))
        a = add(a, scaled(vdot_k, translational(H_k)))
    return alpha, a


@device
def calc_spatial_accelerations(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    vdot_in: Array,  # generalized accelerations, shape [num_v]
    # Out:
    scratch_out: Array,  # shape [num_mobods]; of it, A_WB_W
) -> None:
    """Computes A_WB_W of all mobods, equation (1), with a world at rest."""
    set_spatial(scratch_out[0]["A_WB_W"], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(1, topology.shape[0]):
        node = topology[i]
        A_WP_W = scratch_out[node["parent"]]["A_WB_W"]
        alpha, a = acceleration_of(node, position_in[i], velocity_in[i], A_WP_W, vdot_in)
        set_spatial(scratch_out[i]["A_WB_W"], alpha, a)


spatial_accelerations = kernel(calc_spatial_accelerations)
