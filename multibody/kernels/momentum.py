"""Momentum and inertia of a set S of bodies, about one point.

Notation: see layout.py. With c = p_BoBcm_W, r = p_PBo_W for a point P, and sums over the bodies of S,

    h_Bo = I_BBo_W w + mass c x v,   l = mass (v + w x c),   w = w_WB, v = v_WBo    (1)
    L_WSP_W = [sum (h_Bo + r x l); sum l]                                           (2)

and the inertia about P of S, as one rigid body in the pose at hand, is what add_composite() in mass_matrix.py adds up.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.13, 2.14.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.mass_matrix import add_composite, start_composite
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    add_spatial,
    cross,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    translational,
    vector,
)

__all__ = ["calc_momentum", "calc_total_inertia", "momentum", "total_inertia"]


@device
def calc_momentum(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    members: Array,  # numbers of the mobods in S
    p_WoP_W_in: Array,  # the point P [m], shape [3]
    # Out:
    L_WSP_W_out: Array,  # [N m s, N s], and the mass of S [kg], shape [7]
) -> None:
    """Computes the spatial momentum of S about P, equations (1) and (2)."""
    set_spatial(L_WSP_W_out, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    L_WSP_W_out[6] = 0.0
    for j in range(members.shape[0]):
        body = position_in[members[j]]
        V_WB_W = velocity_in[members[j]]["V_WB_W"]
        w, v = rotational(V_WB_W), translational(V_WB_W)
        mass, c = body["mass"], vector(body["p_BoBcm_W"])
        p_PBo_W = subtract(vector(body["p_WoBo_W"]), vector(p_WoP_W_in))
        # h_Bo, l  (1)
        h = add(rotate(body["I_BBo_W"], w), scaled(mass, cross(c, v)))
        l = scaled(mass, add(v, cross(w, c)))
        # L_WSP_W += [h_Bo + p_PBo x l; l]  (2)
        add_spatial(L_WSP_W_out, add(h, cross(p_PBo_W, l)), l)
        L_WSP_W_out[6] += mass


@device
def calc_total_inertia(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    members: Array,  # numbers of the mobods in S
    p_WoP_W_in: Array,  # the point P [m], shape [3]
    # Work:
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    mp_PScm_W_out: Array,  # first moment about P [kg m], and mass [kg], shape [4]
    I_SP_W_out: Array,  # rotational inertia about P [kg m^2], shape [3, 3]
) -> None:
    """Computes mass, first moment and inertia of S about P."""
    total = scratch_work[0]
    total["mass_C"] = 0.0
    set_vector(total["mp_C_W"], (0.0, 0.0, 0.0))
    for r in range(3):
        set_vector(total["I_C_W"][r], (0.0, 0.0, 0.0))
    for j in range(members.shape[0]):
        i = members[j]
        start_composite(position_in[i], scratch_work[i])
        p_PBo_W = subtract(vector(position_in[i]["p_WoBo_W"]), vector(p_WoP_W_in))
        add_composite(scratch_work[i], p_PBo_W, total)
    set_vector(mp_PScm_W_out, vector(total["mp_C_W"]))
    mp_PScm_W_out[3] = total["mass_C"]
    for r in range(3):
        set_vector(I_SP_W_out[r], vector(total["I_C_W"][r]))


momentum = kernel(calc_momentum)
total_inertia = kernel(calc_total_inertia)
