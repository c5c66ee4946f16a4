"""Kinetic and potential energy.

Notation: see layout.py. With c = p_BoBcm_W and sums over all bodies,

    kinetic   = 1/2 sum (w . I_BBo_W w + 2 mass v . (w x c) + mass v . v + reflected_inertia v_k^2)   (1)
    potential = - sum mass g . (p_WoBo_W + c)                                                         (2)

where w = w_WB, v = v_WBo. (1) equals 1/2 v^T M v. (2) is zero for a mass at the origin of the world, and leaves out
bodies on which gravity does not act.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.13.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.armature import square_of_rates
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    translational,
    vector,
)

__all__ = ["calc_energies", "energies"]


@device
def calc_energies(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    # Out:
    energy_out: Array,  # kinetic and potential energy [J], shape [2]
) -> None:
    """Computes the energies of the tree, equations (1) and (2)."""
    g_W = vector(gravity_in)
    energy_out[0] = 0.0
    energy_out[1] = 0.0
    for i in range(1, topology.shape[0]):
        body = position_in[i]
        w = rotational(velocity_in[i]["V_WB_W"])
        v = translational(velocity_in[i]["V_WB_W"])
        mass, c = body["mass"], vector(body["p_BoBcm_W"])
        # kinetic  (1)
        twice = dot(w, rotate(body["I_BBo_W"], w))
        twice += mass * dot(v, add(v, scaled(2.0, cross(w, c))))
        if topology[i]["num_v"] > 0:
            r, V_PB_W = parameters[i]["reflected_inertia"], velocity_in[i]["V_PB_W"]
            twice += r * square_of_rates(topology[i], body, V_PB_W)
        energy_out[0] += 0.5 * twice
        # potential  (2)
        if not topology[i]["is_weightless"]:
            energy_out[1] -= mass * dot(g_W, add(vector(body["p_WoBo_W"]), c))


energies = kernel(calc_energies)
