"""Contact pairs of deformable bodies, whose ends are points of triangles instead of bodies.

A face of area A and pressure p, in which a triangle of a deformable body D lies in the pressure field of a rigid body
R (../../geometry/deformable/moving_surfaces.py), presses with f_0 = A p at its centroid C. The field gives way like a
spring of its pressure gradient g_R along the normal n, out of D into R, and the surface of D like one of C_D:

    g_R = n . grad p_R,   1 / g = 1 / g_R + 1 / C_D,   k = A g,   phi = -p / g                                    (1)

A face whose pressure does not grow along n, and one of a tetrahedron that is inside out, is no pair. C moves with the
triangle's vertices,

    v_C = sum_a w_a v_a,   p_C = sum_a w_a p_a,   sum_a w_a = 1                                                   (2)

Materials combine as those of points do, equation (1) of contact_pairs.py.

Sources: X. Han, J. Masterjohn, A. Castro (2023), A Convex Formulation of Frictional Contact between Rigid and
Deformable Bodies, section V; C_D as Drake has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.layout import Meshes
from merganser.multibody.contact.contact_pairs import (
    OF_FACE,
    combine_dissipation,
    combine_materials,
    set_surface_velocity,
)
from merganser.multibody.contact.layout import Array, Count
from merganser.multibody.kernels.spatial import Vector3, cross, dot, set_vector, subtract, vector

__all__ = ["MOST_NODES", "SURFACE_STIFFNESS", "end_dtype", "make_deformable_pairs"]

SURFACE_STIFFNESS = 1e8  # C_D [Pa/m]
MOST_NODES = 4  # that an end hangs on
_LEAST_AREA = 1e-14  # [m²], as of other faces
_LEAST_GRADIENT = 1e-14  # [Pa/m]

# What an end of a pair hangs on, where that is no rigid body.
end_dtype = np.dtype(
    [
        ("body", np.int64),  # number of the deformable body; -1 for a rigid one, which the pair names
        ("nodes", np.int64, (MOST_NODES,)),  # vertices of its mesh; -1 for none
        ("weights", np.float64, (MOST_NODES,)),  # w of equation (2)
    ]
)


@device
def calc_make_deformable_pairs(
    # Model:
    materials: Array,  # of rigid and then of deformable geometries, records of material_dtype
    bodies: Array,  # of each row the number of the deformable body, -1 of rigid geometries
    first_vertices: Array,  # of each row, where its vertices start
    opposite: Array,  # see moving_surfaces.py
    meshes: Meshes,
    # In:
    X_WG_in: Array,  # shape [num_rows, 4, 4]
    candidates_in: Array,  # pairs of rows, the rigid geometry first, shape [num_candidates, 2]
    faces_in: Array,  # numbers of the faces, see face_columns.py
    owners_in: Array,  # row of the candidate, number of corners, tetrahedron of R, triangle of D
    # Out:
    pairs_out: Array,  # of contact_pair_dtype: A is R, B is D; as long as faces_in or longer
    ends_out: Array,  # of A and B, records of end_dtype, shape [.., 2]
) -> Count:
    """Writes the pairs; returns how many there are. Their source is the row of the face."""
    count = 0
    for i in range(faces_in.shape[0]):
        face, triangle = faces_in[i], owners_in[i, 3]
        r, d = candidates_in[owners_in[i, 0], 0], candidates_in[owners_in[i, 0], 1]
        R, D = materials[r], materials[d]
        n, p_WC = vector(face[NORMAL:]), vector(face[CENTROID:])
        growth = dot(n, vector(face[GRAD_M:]))
        if not growth > _LEAST_GRADIENT or not face[AREA] > _LEAST_AREA:
            continue
        if _is_inside_out(meshes.vertices, meshes.elements[triangle], opposite[triangle]):
            continue
        g = growth * SURFACE_STIFFNESS / (growth + SURFACE_STIFFNESS)
        pair = pairs_out[count]
        combine_materials(R, D, pair)
        set_surface_velocity(R, D, X_WG_in[r], X_WG_in[d], pair)
        pair["dissipation"] = combine_dissipation(g, R["dissipation"], SURFACE_STIFFNESS, D["dissipation"])
        pair["origin"], pair["source"] = OF_FACE, i
        set_vector(pair["p_WC"], p_WC)
        set_vector(pair["nhat_BA_W"], n)
        pair["stiffness"], pair["elastic_force"] = face[AREA] * g, face[AREA] * face[PRESSURE]
        pair["phi"] = -face[PRESSURE] / g
        ends_out[count, 0]["body"] = -1
        _set_end(bodies[d], first_vertices[d], meshes.vertices, meshes.elements[triangle], p_WC, ends_out[count, 1])
        count += 1
    return count


make_deformable_pairs = kernel(calc_make_deformable_pairs)


@device
def _is_inside_out(vertices: Array, triangle: Array, opposite: int) -> bool:
    """Whether the tetrahedron of a triangle and the vertex opposite to it has no volume, or less."""
    a, b, c = vector(vertices[triangle[0]]), vector(vertices[triangle[1]]), vector(vertices[triangle[2]])
    n = cross(subtract(b, a), subtract(c, a))
    return not dot(n, subtract(vector(vertices[opposite]), a)) < 0.0


@device
def _set_end(body: int, first_vertex: int, vertices: Array, triangle: Array, p_WC: Vector3, end_out: Any) -> None:
    """The end at a point of a triangle, with the weights of equation (2)."""
    a, b, c = vector(vertices[triangle[0]]), vector(vertices[triangle[1]]), vector(vertices[triangle[2]])
    n = cross(subtract(b, a), subtract(c, a))
    scale = 1.0 / dot(n, n)
    end_out["body"] = body
    for k in range(3):
        end_out["nodes"][k] = triangle[k] - first_vertex
    end_out["weights"][0] = scale * dot(n, cross(subtract(c, b), subtract(p_WC, b)))
    end_out["weights"][1] = scale * dot(n, cross(subtract(a, c), subtract(p_WC, c)))
    end_out["weights"][2] = 1.0 - end_out["weights"][0] - end_out["weights"][1]
    end_out["nodes"][3], end_out["weights"][3] = -1, 0.0
