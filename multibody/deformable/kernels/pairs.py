"""Contact pairs of deformable bodies, whose ends are points of triangles and tetrahedra instead of bodies.

A face of area A and pressure p, in which a triangle of a deformable body D lies in the pressure field of a rigid body
R (../../geometry/deformable/moving_meshes.py), presses with f_0 = A p at its centroid C. The field gives way like a
spring of its pressure gradient g_R along the normal n, out of D into R, and the surface of D like one of C_D:

    g_R = n . grad p_R,   1 / g_D = 1 / g_R + 1 / C_D,   k = A g,   phi = -p / g                                  (1)

A face whose pressure does not grow along n is no pair. A face of two deformable bodies, in which both are by the same e
below their surfaces at rest, has

    k = A C_D,   phi = -e                                                                                         (2)

No pair are faces of tetrahedra that are inside out. C moves with the vertices of its triangle or tetrahedron,

    v_C = sum_a w_a v_a,   p_C = sum_a w_a p_a,   sum_a w_a = 1                                                   (3)

Drake takes g = g_D. But the mesh does not know that its surface gives way: as it moves, p grows by g_R, so that a step
whose law has the gradient g finds r = g_R / g times the force that it has counted on. Of one vertex on stiff ground, a
step leaves the share 1 - r of the depth by the laws of Hunt and Crossley, 1 - r h / (h + tau) by that of SAP. Where it
is more than one in size, the vertex rattles without end, or flies away. So

    g = max(g_D, g_R min(1, 4 h / (h + tau))),   with tau = 0 for Hunt and Crossley: g = g_R                      (4)

is the true one there. For SAP it is g_D, until the share of several vertices would come near 0.

Materials combine as those of points do, equation (1) of contact_pairs.py, with g_D of (1) and C_D as stiffnesses.

Sources: X. Han, J. Masterjohn, A. Castro (2023), A Convex Formulation of Frictional Contact between Rigid and
Deformable Bodies, section V; C_D, (2) and g in place of g_R for dissipations as Drake has them.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import FloatTable, Integers, IntegerTable, Poses
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.layout import Meshes
from merganser.multibody.contact.contact_pairs import (
    LEAST_AREA,
    LEAST_GRADIENT,
    OF_FACE,
    ContactPairs,
    Materials,
    combine_dissipation,
    combine_materials,
    set_surface_velocity,
)
from merganser.multibody.contact.layout import SAP, Count
from merganser.multibody.kernels.spatial import Vector3, cross, dot, set_vector, subtract, vector

SURFACE_STIFFNESS = 1e8  # C_D [Pa/m]
MOST_NODES = 4  # that an end hangs on

# What an end of a pair hangs on, where that is no rigid body.
end_dtype = np.dtype(
    [
        ("body", np.int64),  # number of the deformable body; -1 for a rigid one, which the pair names
        ("nodes", np.int64, (MOST_NODES,)),  # vertices of its mesh; -1 for none
        ("weights", np.float64, (MOST_NODES,)),  # w of equation (3)
    ]
)

# What a row of moving_meshes.py is.
row_dtype = np.dtype(
    [
        ("body", np.int64),  # number of the deformable body; -1 of rigid geometries
        ("first_vertex", np.int64),  # of its mesh
    ]
)


End = Annotated[Any, RecordOf(end_dtype)]
Ends = Annotated[NDArray[Any], ArrayOf(end_dtype, 2)]  # of the two sides of each pair
MeshRow = Annotated[Any, RecordOf(row_dtype)]
MeshRows = Annotated[NDArray[Any], ArrayOf(row_dtype)]


@kernel
def make_deformable_pairs(
    # Model:
    time_step: float,  # h [s]
    approximation: int,  # of contact
    materials: Materials,  # of all rows
    mesh_rows: MeshRows,
    opposite: Integers,  # see moving_meshes.py
    meshes: Meshes,
    # In:
    X_WG_in: Poses,  # shape [num_rows, 4, 4]
    candidates_in: IntegerTable,  # pairs of rows: rigid and surface, or two volumes; shape [num_candidates, 2]
    faces_in: FloatTable,  # numbers of the faces, see face_columns.py
    owners_in: IntegerTable,  # row of the candidate, number of corners, elements of the first and the second row
    # Out:
    pairs_out: ContactPairs,  # A is the first row, B the second; as long as faces_in or longer
    ends_out: Ends,  # of A and B, shape [.., 2]
) -> Count:
    """Writes the pairs; returns how many there are. Their source is the row of the face."""
    count, vertices, elements = 0, meshes.vertices, meshes.elements
    for i in range(faces_in.shape[0]):
        face, e, f = faces_in[i], owners_in[i, 2], owners_in[i, 3]
        m, n = candidates_in[owners_in[i, 0], 0], candidates_in[owners_in[i, 0], 1]
        M, N, pair = materials[m], materials[n], pairs_out[count]
        if not face[AREA] > LEAST_AREA:
            continue
        p_WC = vector(face[CENTROID:])
        if mesh_rows[m]["body"] < 0:
            growth = dot(vector(face[NORMAL:]), vector(face[GRAD_M:]))
            if not growth > LEAST_GRADIENT:
                continue
            volume = _volume(vertices, opposite[f], elements[f, 0], elements[f, 1], elements[f, 2])
            if not volume > 0.0:
                continue
            stiffness_M = growth * SURFACE_STIFFNESS / (growth + SURFACE_STIFFNESS)
            tau = M["relaxation_time"] + N["relaxation_time"] if approximation == SAP else 0.0
            g = max(stiffness_M, growth * min(1.0, 4.0 * time_step / (time_step + tau)))  # (4)
            gap = -face[PRESSURE] / g
            ends_out[count, 0]["body"] = -1
            _set_end_of_triangle(mesh_rows[n], vertices, elements[f], p_WC, ends_out[count, 1])
        else:
            g, stiffness_M, gap = SURFACE_STIFFNESS, SURFACE_STIFFNESS, -face[PRESSURE]
            if not _set_end_of_tetrahedron(mesh_rows[m], vertices, elements[e], p_WC, ends_out[count, 0]):
                continue
            if not _set_end_of_tetrahedron(mesh_rows[n], vertices, elements[f], p_WC, ends_out[count, 1]):
                continue
        combine_materials(M, N, pair)
        pair["dissipation"] = combine_dissipation(stiffness_M, M["dissipation"], SURFACE_STIFFNESS, N["dissipation"])
        pair["origin"], pair["source"] = OF_FACE, i
        set_vector(pair["p_WC"], p_WC)
        set_vector(pair["nhat_BA_W"], vector(face[NORMAL:]))
        set_surface_velocity(M, N, X_WG_in[m], X_WG_in[n], pair)
        pair["stiffness"], pair["phi"] = face[AREA] * g, gap
        pair["elastic_force"] = -pair["stiffness"] * gap
        count += 1
    return count


@device
def _volume(vertices: FloatTable, a: int, b: int, c: int, d: int) -> float:
    """Six times the volume of a tetrahedron, positive if b, c, d are clockwise seen from a."""
    p = vector(vertices[a])
    u, v, w = (
        subtract(vector(vertices[b]), p), subtract(vector(vertices[c]), p), subtract(vector(vertices[d]), p)
    )  # fmt: skip
    return dot(u, cross(v, w))


@device
def _set_end_of_triangle(row: MeshRow, vertices: FloatTable, triangle: Integers, p_WC: Vector3, end_out: Any) -> None:
    """The end at a point of a triangle, with the weights of equation (3)."""
    a, b, c = vector(vertices[triangle[0]]), vector(vertices[triangle[1]]), vector(vertices[triangle[2]])
    n = cross(subtract(b, a), subtract(c, a))
    scale, weights = 1.0 / dot(n, n), end_out["weights"]
    end_out["body"] = row["body"]
    for k in range(3):
        end_out["nodes"][k] = triangle[k] - row["first_vertex"]
    weights[0] = scale * dot(n, cross(subtract(c, b), subtract(p_WC, b)))
    weights[1] = scale * dot(n, cross(subtract(a, c), subtract(p_WC, c)))
    weights[2] = 1.0 - weights[0] - weights[1]
    end_out["nodes"][3], weights[3] = -1, 0.0


@device
def _set_end_of_tetrahedron(row: MeshRow, vertices: FloatTable, corners: Integers, p_WC: Vector3, end_out: Any) -> bool:
    """The end at a point of a tetrahedron, with the weights of equation (3); False if it is inside out."""
    volume = _volume(vertices, corners[0], corners[1], corners[2], corners[3])
    if not volume > 0.0:
        return False
    weights, origin = end_out["weights"], vector(vertices[corners[0]])
    u, v = subtract(vector(vertices[corners[1]]), origin), subtract(vector(vertices[corners[2]]), origin)
    w, r = subtract(vector(vertices[corners[3]]), origin), subtract(p_WC, origin)
    end_out["body"] = row["body"]
    for k in range(4):
        end_out["nodes"][k] = corners[k] - row["first_vertex"]
    weights[1], weights[2] = dot(r, cross(v, w)) / volume, dot(r, cross(w, u)) / volume
    weights[3] = dot(r, cross(u, v)) / volume
    weights[0] = 1.0 - weights[1] - weights[2] - weights[3]
    return True
