"""How contact points, their normals, depths and shares follow the poses of the geometries.

The solution of a pair has derivatives in closed form (derivatives.py). What manifolds.py makes of it, cutting faces and
sharing out what the pair can carry, is run once more with complex numbers that carry them: one lane a derivative, the
imaginary part of each number a tiny step times its derivative (Squire and Trapp 1998). So there is one text for points
and for their derivatives.

Where bodies rest face on face, the normal of the manifold is that of the reference face, on which the other stands, and
the normal of the pair follows the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.by_value import of_scalar
from merganser.geometry.proximity.derivatives import PoseDifferential
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import contact_dtype, points_work_dtype, solution_dtype
from merganser.geometry.proximity.manifolds import follow_manifold

__all__ = ["contact_lanes_dtype", "differentiate_manifolds"]

Array = NDArray[Any]

contact_lanes_dtype = of_scalar(contact_dtype, np.complex128)
_WORK, _SOLUTION = points_work_dtype(np.complex128), solution_dtype(np.complex128)


def differentiate_manifolds(
    engine: ProximityEngine,
    X_WG: Array,
    dX_WG: Array,
    pairs: Array,
    contacts: Array,
    step: float,
    may_compile: Callable[..., bool],
    margin: float = 0.0,
) -> Array:
    """Returns contacts with their derivatives by k variables.

    Args:
        engine: which found the contacts.
        X_WG: pose of each geometry, shape [n, 4, 4].
        dX_WG: their derivatives, shape [n, 4, 4, k].
        pairs: rows of geometries, shape [num_pairs, 2].
        contacts: of contact_dtype, as they were found of these pairs.
        step: what derivatives are multiplied by in the imaginary parts.
        may_compile: whether a kernel is to be called compiled, told the kernel and its arguments.
        margin: at which they were found [m].

    Returns:
        Records of contact_lanes_dtype, shape [k, num_contacts].

    Raises:
        LookupError: a pair has no derivatives, as its normal jumps; its argument is the row of the pair.
    """
    num_lanes = dX_WG.shape[-1]
    lanes = np.zeros((num_lanes, len(contacts)), contact_lanes_dtype)
    lanes["pair"] = contacts["pair"]
    first = 0
    while first < len(contacts):
        row = int(contacts[first]["pair"])
        end = first + 1
        while end < len(contacts) and contacts[end]["pair"] == row:
            end += 1
        pair = int(pairs[row, 0]), int(pairs[row, 1])
        given = _pair_lanes(engine, X_WG, dX_WG, pair, step)
        if given is None or not _follow(engine, pair, *given, margin, lanes[:, first:end], may_compile):
            raise LookupError(row)
        first = end
    return lanes


def _pair_lanes(
    engine: ProximityEngine, X_WG: Array, dX_WG: Array, pair: tuple[int, int], step: float
) -> tuple[Array, Array] | None:
    """Poses and solution of a pair, as lanes; None where there are no derivatives."""
    geometries = engine.arrays.geometries
    A, B = (PoseDifferential.of(X_WG[row], dX_WG[row]) for row in pair)
    result = engine.signed_distances(X_WG, np.array([pair]))[0].copy()
    d = engine.differentiate(geometries, pair, result, A, B)
    if d is None:
        return None
    rows = list(pair)
    X = X_WG[rows] + 1j * step * np.moveaxis(dX_WG[rows], -1, 0)
    n_W = (result["nhat_BA_W"][:, None] + 1j * step * d.nhat_BA_W).T
    p_WCa = (result["p_WCa"][:, None] + 1j * step * d.p_WCa).T
    p_WCb = (result["p_WCb"][:, None] + 1j * step * d.p_WCb).T
    radius_A, radius_B = (float(geometries[row]["radius"]) for row in pair)
    R_AW, p_WA = X[:, 0, :3, :3].swapaxes(1, 2), X[:, 0, :3, 3]
    solutions = np.zeros((len(X), 1), _SOLUTION)
    normal = -_rotate(R_AW, n_W)
    solutions["normal"][:, 0] = normal
    solutions["value"][:, 0] = -(result["distance"] + 1j * step * d.distance) - radius_A - radius_B
    solutions["p_ACa"][:, 0] = _rotate(R_AW, p_WCa - p_WA) - radius_A * normal
    solutions["p_ACb"][:, 0] = _rotate(R_AW, p_WCb - p_WA) + radius_B * normal
    return np.ascontiguousarray(X), solutions


def _rotate(R: Array, v: Array) -> Array:
    """R v in each lane."""
    return np.einsum("lij,lj->li", R, v)


def _follow(
    engine: ProximityEngine, pair: tuple[int, int], X: Array, solutions: Array, margin: float, out: Array,
    may_compile: Callable[..., bool],
) -> bool:  # fmt: skip
    """Writes the contacts of a pair; returns whether all lanes have as many."""
    arrays = engine.arrays
    contacts = np.zeros(out.shape, contact_lanes_dtype)
    contacts["pair"] = out["pair"]
    records = arrays.geometries[list(pair)], solutions, np.zeros(1, _WORK), contacts
    arguments = (records[0], arrays.hulls, X, records[1], margin, records[2], records[3])
    if may_compile(follow_manifold, *arguments):
        count = follow_manifold(*arguments)
    else:
        geometries, solutions, work, room = (array.view(np.recarray) for array in records)
        count = follow_manifold.interpreted(geometries, arrays.hulls, X, solutions, margin, work, room)
    out[...] = contacts
    return bool(count == len(out))
