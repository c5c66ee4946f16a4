"""How contact surfaces follow the poses of the geometries.

The faces that were found with values are made once more for each derivative, with complex poses that carry it in their
imaginary parts, a tiny step times the derivative (Squire and Trapp 1998). Which faces there are, and which corner lies
on which side of which plane, is decided by the values alone: each face is cut with real numbers first, and the complex
one follows (`Buffers.levels`). Where the set of elements that meet changes, derivatives are those of one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import kernel
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.geometry.hydroelastic.buffers import Buffers, make_buffers, make_followers
from merganser.geometry.hydroelastic.engine import HydroelasticArrays
from merganser.geometry.hydroelastic.layout import Meshes
from merganser.geometry.hydroelastic.surfaces import add_faces, order_pair, place_half_space
from merganser.geometry.hydroelastic.trees import set_poses

Array = NDArray[Any]


@kernel
def follow_faces(
    # Model:
    bodies: Array,  # of body_dtype, shape [n]
    meshes: Meshes,
    # In:
    owners_in: NDArray[np.int64],  # of the faces, see surfaces.py, shape [num_faces, 4]
    pairs_in: NDArray[np.int64],  # rows a < b, shape [.., 2]
    X_WG_in: Array,  # with which they were found, shape [n, 4, 4]
    X_lanes_in: Array,  # the same with derivatives, shape [num_lanes, n, 4, 4]
    # Work:
    values: Buffers,
    followers: Buffers,
    face_work: tuple[Array, Array, NDArray[np.int64]],  # places for one face
    # Out:
    corners_out: Array,  # shape [num_lanes, num_faces, MOST_CORNERS, 4]
    faces_out: Array,  # shape [num_lanes, num_faces, FACE_NUMBERS]
    owners_work: NDArray[np.int64],  # shape [num_faces, 4]
) -> int:
    """Writes faces that are known once more, with derivatives; returns how many."""
    count = owners_in.shape[0]
    for k in range(count):
        pair, listed = owners_in[k, 0], owners_in[k : k + 1, 2:4]
        a, b = pairs_in[pair, 0], pairs_in[pair, 1]
        v, o, sign = order_pair(a, b, bodies[a]["kind"], bodies[b]["kind"])
        V, O = bodies[v], bodies[o]
        set_poses(X_WG_in[v], X_WG_in[o], values)
        n, d = place_half_space(V["kind"], O["kind"], values)
        add_faces(V, O, n, d, listed, meshes, values, sign, pair, 0, face_work)
        for lane in range(X_lanes_in.shape[0]):
            set_poses(X_lanes_in[lane, v], X_lanes_in[lane, o], followers)
            m, c = place_half_space(V["kind"], O["kind"], followers)
            outputs = corners_out[lane], faces_out[lane], owners_work
            add_faces(V, O, m, c, listed, meshes, followers, sign, pair, k, outputs)
    return count


def differentiate_surfaces(
    arrays: HydroelasticArrays,
    X_WG: Array,
    dX_WG: Array,
    pairs: NDArray[np.int64],
    faces: tuple[Array, Array, NDArray[np.int64]],
    step: float,
) -> tuple[Array, Array]:
    """Returns corners and numbers of faces with their derivatives by k variables.

    Args:
        arrays: of the geometries.
        X_WG: pose of each geometry, shape [n, 4, 4].
        dX_WG: their derivatives, shape [n, 4, 4, k].
        pairs: rows of geometries, shape [num_pairs, 2].
        faces: corners, numbers and owners, as they were found of these pairs.
        step: what derivatives are multiplied by in the imaginary parts.

    Returns:
        Complex numbers, shapes [k, num_faces, ..] of corners and of numbers. Real parts are those of the faces.
    """
    num_lanes, lanes, owners = dX_WG.shape[-1], [], np.ascontiguousarray(faces[2])
    for given in faces[:2]:
        lanes.append(np.empty((num_lanes, *given.shape), np.complex128))
        lanes[-1][:] = given
    X_lanes = np.ascontiguousarray(X_WG + 1j * step * np.moveaxis(dX_WG, -1, 0))
    values = make_buffers()
    followers, face_work = make_followers(values), tuple(np.zeros_like(given[:1]) for given in faces)
    for buffers in (values, followers):
        buffers.counts[0]["follows"] = 1
    arguments = (
        arrays.bodies, arrays.meshes, owners, pairs, X_WG, X_lanes, values, followers, face_work, *lanes, owners.copy()
    )  # fmt: skip
    is_compiled = may_use_compiled(follow_faces, len(owners) * num_lanes, *arguments)
    run = follow_faces if is_compiled else follow_faces.interpreted
    run(*arguments)
    corners, numbers = lanes
    corners.real[:], numbers.real[:] = faces[0], faces[1]
    return corners, numbers
