"""Momentum and inertia of a set S of bodies, about one point.

Notation: see layout.py. With c = p_BoBcm_W, r = p_PBo_W for a point P, and sums over the bodies of S,

    h_Bo = I_BBo_W w + mass c x v,   l = mass (v + w x c),   w = w_WB, v = v_WBo    (1)
    L_WSP_W = [sum (h_Bo + r x l); sum l]                                           (2)

and the inertia about P of S, as one rigid body in the current pose, is what add_composite() in mass_matrix.py adds up.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.13, 2.14.

The momentum matrix: total momentum of the tree as a linear function of its velocities.

Notation: see layout.py. C is B and everything outboard of it as one rigid body, with mass m_C, first moment h_C and
inertia I_C about Bo. From rest, the unit velocity [w; v] = H_PB_W[k] gives C, and so the tree, the momentum

    L_Bo_W = [I_C w + h_C x v;  m_C v - h_C x w]                                      (1)

about Bo. About the origin of the world it is column k of the matrix A of L_Wo_W = A v:

    A_k = [h + p_WoBo x l;  l],   [h; l] = L_Bo_W                                     (2)

Source: D. Orin and A. Goswami, Centroidal Momentum Matrix of a Humanoid Robot, IROS (2008).

The centre of mass of a set S of bodies.

Notation: see layout.py. From poses alone, with sums over the bodies of S:

    p_WoScm_W = sum m (p_WoBo_W + R_WB p_BoBcm_B) / mass,   mass = sum m            (1)

Kinetic and potential energy.

Notation: see layout.py. With c = p_BoBcm_W and sums over all bodies,

    kinetic   = 1/2 sum (w . I_BBo_W w + 2 mass v . (w x c) + mass v . v + reflected_inertia v_k^2)   (1)
    potential = - sum mass g . (p_WoBo_W + c)                                                         (2)

where w = w_WB, v = v_WBo. (1) equals 1/2 v^T M v. (2) is zero for a mass at the origin of the world, and leaves out
bodies on which gravity does not act.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.13.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.mass_matrix import add_composite, square_of_rates, start_composite
from merganser.multibody.kernels.scalars import equals
from merganser.multibody.kernels.spatial import (
    add,
    add_spatial,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    translational,
    vector,
)


@device
def calc_momentum(
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    members: Integers,  # numbers of the mobods in S
    p_WoP_W_in: Floats,  # the point P [m], shape [3]
    # Out:
    L_WSP_W_out: Floats,  # [N m s, N s], and the mass of S [kg], shape [7]
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
    position_in: Positions,  # position records, shape [num_mobods]
    members: Integers,  # numbers of the mobods in S
    p_WoP_W_in: Floats,  # the point P [m], shape [3]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    mp_PScm_W_out: Floats,  # first moment about P [kg m], and mass [kg], shape [4]
    I_SP_W_out: FloatTable,  # rotational inertia about P [kg m^2], shape [3, 3]
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


@device
def calc_momentum_matrix(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    A_out: FloatTable,  # about Wo in W [N m s, N s per unit of velocity], shape [6, num_v]
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


@device
def calc_center_of_mass(
    # Model:
    parameters: Parameters,  # shape [num_mobods]
    # In:
    position_in: Positions,  # position records, of which only the poses count, shape [num_mobods]
    members: Integers,  # numbers of the mobods in S
    # Out:
    p_and_mass_out: Floats,  # p_WoScm_W [m], 0 if there is no mass, and mass [kg], shape [4]
) -> None:
    """Computes the centre of mass and the mass of S, equation (1)."""
    mass = 0.0 * parameters[0]["mass"]  # of the scalar type
    mp = mass, mass, mass
    for j in range(members.shape[0]):
        fixed, body = parameters[members[j]], position_in[members[j]]
        p_WoBcm_W = add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], vector(fixed["p_BoBcm_B"])))
        mp = add(mp, scaled(fixed["mass"], p_WoBcm_W))
        mass = mass + fixed["mass"]
    set_vector(p_and_mass_out, mp if equals(mass, 0.0) else scaled(1.0 / mass, mp))
    p_and_mass_out[3] = mass


center_of_mass = kernel(calc_center_of_mass)


@device
def calc_energies(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    # Out:
    energy_out: Floats,  # kinetic and potential energy [J], shape [2]
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
