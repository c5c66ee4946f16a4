"""The momentum matrix: total momentum of the tree as a linear function of its velocities.

Notation: see layout.py. C is B and everything outboard of it as one rigid body, with mass m_C, first moment h_C and
inertia I_C about Bo. From rest, the unit velocity [w; v] = H_PB_W[k] gives C, and so the tree, the momentum

    L_Bo_W = [I_C w + h_C x v;  m_C v - h_C x w]                                      (1)

about Bo. About the origin of the world it is column k of the matrix A of L_Wo_W = A v:

    A_k = [h + p_WoBo x l;  l],   [h; l] = L_Bo_W                                     (2)

Source: D. Orin and A. Goswami, Centroidal Momentum Matrix of a Humanoid Robot, IROS (2008).
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.mass_matrix import add_composite, start_composite
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    cross,
    rotate,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)

__all__ = ["momentum_matrix"]


@device
def calc_momentum_matrix(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    A_out: Array,  # about Wo in W [N m s, N s per unit of velocity], shape [6, num_v]
) -> None:
    """Computes the momentum matrix, equations (1) and (2)."""
    for i in range(1, topology.shape[0]):
        start_composite(position_in[i], scratch_work[i])
    for i in range(topology.shape[0] - 1, 0, -1):
        node, body, work = topology[i], position_in[i], scratch_work[i]
        h_C = vector(work["mp_C_W"])
        for k in range(node["num_v"]):
            w, v = rotational(body["H_PB_W"][k]), translational(body["H_PB_W"][k])
            l = subtract(scaled(work["mass_C"], v), cross(h_C, w))
            h = add(rotate(work["I_C_W"], w), cross(h_C, v))
            h = add(h, cross(vector(body["p_WoBo_W"]), l))
            for j in range(3):
                A_out[j, node["v_start"] + k] = h[j]
                A_out[j + 3, node["v_start"] + k] = l[j]
        if node["parent"] > 0:
            add_composite(work, vector(body["p_PoBo_W"]), scratch_work[node["parent"]])


momentum_matrix = kernel(calc_momentum_matrix)
