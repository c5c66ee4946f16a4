"""Generalized forces of uniform gravity.

Notation: see layout.py. All bodies outboard of a hinge weigh on it as one rigid body C, with mass m_C and
first moment h_C = m_C p_BoCcm_W. From tips to base, with p = p_PoBo_W, B adds to the composite of its parent

    m_C,   h_C + m_C p                                                (1)

and gravity exerts on the hinge

    tau_g_k = H_PB_W[k] . [h_C x g; m_C g]                            (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2 (composite bodies).
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology
from merganser.multibody.kernels.spatial import add, cross, power, scaled, set_vector, vector

__all__ = ["calc_gravity_forces", "gravity_forces"]


@device
def calc_gravity_forces(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]; not read: everything needed is in position_in
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    tau_g_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes tau_g(q), equations (1) and (2)."""
    g_W = vector(gravity_in)
    for i in range(1, topology.shape[0]):
        body = position_in[i]
        # What gravity does not act on counts as if it had no mass.
        mass = 0.0 * body["mass"] if topology[i]["is_weightless"] else 1.0 * body["mass"]
        scratch_work[i]["mass_C"] = mass
        set_vector(scratch_work[i]["mp_C_W"], scaled(mass, vector(body["p_BoBcm_W"])))
    for i in range(topology.shape[0] - 1, 0, -1):
        node = topology[i]
        body = position_in[i]
        m_C = scratch_work[i]["mass_C"]
        h_C = vector(scratch_work[i]["mp_C_W"])
        # tau_g_k = H_PB_W[k] . [h_C x g; m_C g]  (2)
        moment, force = cross(h_C, g_W), scaled(m_C, g_W)
        for k in range(node["num_v"]):
            tau_g_out[node["v_start"] + k] = power(body["H_PB_W"], k, moment, force)
        # The composite of the parent grows by m_C and h_C + m_C p  (1)
        if node["parent"] > 0:
            parent = scratch_work[node["parent"]]
            parent["mass_C"] += m_C
            h_P = add(vector(parent["mp_C_W"]), add(h_C, scaled(m_C, vector(body["p_PoBo_W"]))))
            set_vector(parent["mp_C_W"], h_P)


gravity_forces = kernel(calc_gravity_forces)
