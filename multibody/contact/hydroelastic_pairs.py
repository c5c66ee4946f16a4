"""Contact pairs of hydroelastic contact surfaces: one for each face, at its centroid.

A face of area A and pressure p presses with f_0 = A p. If the bodies move towards each other by x along its normal n,
each gives way like a spring of which the pressure grows by g, the gradient of its pressure along n:

    g_M = n . grad e_M,   g_N = -n . grad e_N,   1 / g = 1 / g_M + 1 / g_N                                        (1)
    f(x) = A (p + g x):   f_0 = A p,   k = A g,   phi = -p / g                                                   (2)

where a rigid body has no gradient, and 1 / g_M = 0. A face whose pressure does not grow along n on both sides is no
pair. Materials combine as those of points do, equation (1) of contact_pairs.py, with moduli in place of stiffnesses.

Source: J. Masterjohn, D. Guoy, J. Shepherd, A. Castro (2022), Velocity level approximation of pressure field contact
patches, section IV.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, GRAD_N, NORMAL, PRESSURE
from merganser.multibody.contact.contact_pairs import combine_dissipation, combine_friction
from merganser.multibody.contact.layout import Array

__all__ = ["make_hydroelastic_pairs"]

_LEAST_AREA = 1e-14  # [m²], as in pydrake
_LEAST_GRADIENT = 1e-14  # [Pa/m]


@kernel
def make_hydroelastic_pairs(
    # Model:
    materials: Array,  # of the geometries, of material_dtype; their stiffness is not looked at
    moduli: Array,  # hydroelastic modulus of each geometry, infinite if it is rigid [Pa]
    tree_of_mobod: Array,  # -1 of what cannot move
    # In:
    candidates_in: NDArray[np.int64],  # pairs of geometries M, N; shape [num_candidates, 2]
    faces_in: Array,  # numbers of the faces, see geometry/hydroelastic/face_columns.py, shape [num_faces, ..]
    owners_in: NDArray[np.int64],  # row of the pair first, shape [num_faces, ..]
    # Out:
    contact_pairs_out: Array,  # of contact_pair_dtype, as long as faces_in or longer
) -> int:
    """Writes the contact pairs, A is M and B is N; returns how many there are. Their source is the row of the face.

    Two bodies of which neither can move are none.
    """
    count = 0
    for i in range(faces_in.shape[0]):
        m, n = candidates_in[owners_in[i, 0], 0], candidates_in[owners_in[i, 0], 1]
        M, N, face = materials[m], materials[n], faces_in[i]
        if tree_of_mobod[M["mobod"]] < 0 and tree_of_mobod[N["mobod"]] < 0:
            continue
        g = _gradient(face, moduli[m] == math.inf, moduli[n] == math.inf)
        if not (face[AREA] > _LEAST_AREA and g > 0.0):
            continue
        pair = contact_pairs_out[count]
        pair["mobod_A"], pair["mobod_B"], pair["source"] = M["mobod"], N["mobod"], i
        for c in range(3):
            pair["p_WC"][c], pair["nhat_BA_W"][c] = face[CENTROID + c], face[NORMAL + c]
        # (2)
        pair["phi"] = -face[PRESSURE] / g
        pair["stiffness"], pair["elastic_force"] = face[AREA] * g, face[AREA] * face[PRESSURE]
        pair["dissipation"] = combine_dissipation(moduli[m], M["dissipation"], moduli[n], N["dissipation"])
        pair["relaxation_time"] = M["relaxation_time"] + N["relaxation_time"]
        pair["static_friction"] = combine_friction(M["static_friction"], N["static_friction"])
        pair["dynamic_friction"] = combine_friction(M["dynamic_friction"], N["dynamic_friction"])
        count += 1
    return count


@device
def _gradient(face: Array, M_is_rigid: bool, N_is_rigid: bool) -> float:
    """g of equation (1); zero if the pressure of either does not grow along the normal."""
    g_M, g_N = _along_normal(face, GRAD_M), -_along_normal(face, GRAD_N)
    if M_is_rigid:
        return g_N if g_N > _LEAST_GRADIENT else 0.0
    if N_is_rigid:
        return g_M if g_M > _LEAST_GRADIENT else 0.0
    return g_M * g_N / (g_M + g_N) if g_M > _LEAST_GRADIENT and g_N > _LEAST_GRADIENT else 0.0


@device
def _along_normal(face: Array, gradient: int) -> float:
    """n . grad e, with the gradient that begins in a column."""
    return face[NORMAL] * face[gradient] + face[NORMAL + 1] * face[gradient + 1] + face[NORMAL + 2] * face[gradient + 2]
