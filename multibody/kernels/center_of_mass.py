"""The centre of mass of a set S of bodies.

Notation: see layout.py. From poses alone, with sums over the bodies of S:

    p_WoScm_W = sum m (p_WoBo_W + R_WB p_BoBcm_B) / mass,   mass = sum m            (1)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.scalars import equals
from merganser.multibody.kernels.spatial import Array, add, rotate, scaled, set_vector, vector

__all__ = ["calc_center_of_mass", "center_of_mass"]


@device
def calc_center_of_mass(
    # Model:
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # position records, of which only the poses count, shape [num_mobods]
    members: Array,  # numbers of the mobods in S
    # Out:
    p_and_mass_out: Array,  # p_WoScm_W [m], 0 if there is no mass, and mass [kg], shape [4]
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
