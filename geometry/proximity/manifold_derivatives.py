"""How contact points, their normals, depths and shares follow the poses of the geometries.

The solution of a pair has derivatives in closed form (derivatives.py). What manifolds.py makes of it, cutting faces and
sharing out what the pair can carry, is run once more with complex numbers that carry them: one lane a derivative, the
imaginary part of each number a tiny step times its derivative (Squire and Trapp 1998). So points and their
derivatives have one source.

Contacts with terrain follow by differences, see terrain/differences.py.

Where bodies rest face on face, the normal of the manifold is that of the reference face, on which the other stands, and
the normal of the pair follows the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, inlined, kernel, specialize
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.framework.native.memory.by_value import of_scalar
from merganser.geometry.proximity.derivatives import follow_pair, slopes_of_pair
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import HEIGHT_FIELD, Hulls, contact_dtype, points_work_dtype
from merganser.geometry.proximity.manifolds import find_points, write_point
from merganser.geometry.proximity.narrow_phase import set_relative_pose
from merganser.geometry.proximity.terrain.differences import differences_of_contacts
from merganser.geometry.proximity.vectors import Vector3, scaled, subtract, sum_scaled, turned_back

Array = NDArray[Any]

contact_lanes_dtype = of_scalar(contact_dtype, np.complex128)
_WORK = points_work_dtype(np.complex128)
_ALL = -1  # pairs have derivatives
_EFFORT = 10  # of one lane of a pair, see when_to_compile.py


def differentiate_manifolds(
    engine: ProximityEngine, X_WG: Array, X_lanes: Array, pairs: Array, contacts: Array, margin: float = 0.0,
    moves_first: bool = False,
) -> Array:  # fmt: skip
    """Returns contacts with their derivatives by k variables.

    Args:
        engine: which found the contacts.
        X_WG: pose of each geometry, shape [n, 4, 4].
        X_lanes: the same with a derivative in the imaginary parts of each lane, shape [k, n, 4, 4].
        pairs: rows of geometries, shape [num_pairs, 2].
        contacts: of contact_dtype, as they were found of these pairs.
        margin: at which they were found [m].
        moves_first: whether of each pair the first geometry moves alone, and the other stays where it is.

    Returns:
        Records of contact_lanes_dtype, shape [k, num_contacts].

    Raises:
        LookupError: a pair has no derivatives, as its normal jumps; its argument is the row of the pair.
    """
    X_WG, X_lanes, pairs, contacts = map(np.ascontiguousarray, (X_WG, X_lanes, pairs, contacts))
    lanes = np.zeros((len(X_lanes), len(contacts)), contact_lanes_dtype)
    on_terrain = (engine.arrays.geometries["kind"][pairs].max(axis=1, initial=0) >= HEIGHT_FIELD)[contacts["pair"]]
    if on_terrain.any():
        poses = X_WG, X_lanes, pairs
        lanes[:, on_terrain] = _differentiate_on_terrain(engine, *poses, contacts[on_terrain], margin, moves_first)
        if not on_terrain.all():
            lanes[:, ~on_terrain] = differentiate_manifolds(engine, *poses, contacts[~on_terrain], margin, moves_first)
        return lanes
    touching = pairs[sorted(set(contacts["pair"].tolist()))]
    results = engine.signed_distances(X_WG, touching)
    arrays, work = engine.arrays, np.zeros(1, _WORK)
    X_pair = np.zeros((2, 4, 4), np.complex128)
    moving = margin, int(moves_first), X_pair, work
    arguments = arrays.geometries, arrays.hulls, X_WG, X_lanes, pairs, results, contacts, *moving, lanes
    if engine.follow_manifolds is None:
        effort = _EFFORT * len(touching) * len(X_lanes)
        if may_use_compiled(follow_manifolds, effort, *arguments):
            engine.follow_manifolds = specialize(follow_manifolds, *arguments)
    row = (engine.follow_manifolds or follow_manifolds.interpreted)(*arguments)
    if row != _ALL:
        raise LookupError(row)
    return lanes


def _differentiate_on_terrain(
    engine: ProximityEngine, X_WG: Array, X_lanes: Array, pairs: Array, contacts: Array, margin: float,
    moves_first: bool,
) -> Array:  # fmt: skip
    """Contacts with terrain in lanes, by differences; arguments as differentiate_manifolds() has."""
    lanes = np.zeros((len(X_lanes), len(contacts)), contact_lanes_dtype)
    lanes["pair"] = contacts["pair"]
    rows, dX_WG = np.unique(contacts["pair"]), X_lanes.imag
    for together in rows[:, np.newaxis] if moves_first else [rows]:
        moving = np.isin(np.arange(len(X_WG)), pairs[together, 0]) if moves_first else np.ones(len(X_WG), bool)
        mine = np.isin(contacts["pair"], together)

        def find(X: Array, margin: float, together: Array = together) -> Array:
            found = engine.contact_manifolds(X, margin, pairs[together])[1].copy()
            found["pair"] = together[found["pair"]]
            return found

        size, dX = engine.size_of(pairs[together].ravel()), dX_WG * moving[:, np.newaxis, np.newaxis]
        derivatives = differences_of_contacts(find, X_WG, dX, contacts[mine], size, margin)
        for name in ("p_WC", "nhat_BA_W", "depth", "share"):
            lanes[name][:, mine] = contacts[name][mine] + 1j * derivatives[name]
    return lanes


@kernel
def follow_manifolds(
    # Model:
    geometries: Array,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Array,  # shape [num_geometries, 4, 4]
    X_lanes_in: Array,  # complex, shape [num_lanes, num_geometries, 4, 4]
    pairs: Array,  # rows of geometries, shape [.., 2]
    results_in: Array,  # distance_dtype, of each pair that has contacts
    contacts_in: Array,  # contact_dtype, pair by pair, shape [num_contacts]
    margin: float,  # at which they were found [m]
    moves_first: int,  # whether of each pair the first moves alone
    # Work:
    X_pair_work: Array,  # complex, shape [2, 4, 4]
    work: Array,  # of points_work_dtype, shape [1]
    # Out:
    contacts_out: Array,  # contact_dtype, shape [num_lanes, num_contacts]
) -> int:
    """Computes contacts as complex numbers that carry derivatives; returns -1, or the row of a pair that has none."""
    first, k, w = 0, 0, work[0]
    while first < contacts_in.shape[0]:
        row, end = contacts_in[first].pair, first + 1
        while end < contacts_in.shape[0] and contacts_in[end].pair == row:
            end += 1
        i, j = pairs[row, 0], pairs[row, 1]
        a, b = geometries[i], geometries[j]
        is_regular, slopes = slopes_of_pair(a, b, hulls, results_in[k], X_WG[i], X_WG[j])
        if not is_regular:
            return int(row)
        for lane in range(X_lanes_in.shape[0]):
            X = X_pair_work
            for r in range(4):
                for c in range(4):
                    X[0, r, c] = X_lanes_in[lane, i, r, c]
                    X[1, r, c] = complex(X_WG[j, r, c], 0.0) if moves_first else X_lanes_in[lane, j, r, c]
            set_relative_pose(X, 0, 1, w.X_AB)
            derivatives = follow_pair(slopes, _twist(X[0]), _twist(X[1]))
            _set_solution(a, b, X[0], results_in[k], derivatives, w)
            num_points, normal = find_points(a, b, hulls, w, margin)
            if num_points != end - first:
                return int(row)
            for m in range(num_points):
                out = contacts_out[lane, first + m]
                out.pair = row
                write_point(X, 0, w, m, normal, out)
        first, k = end, k + 1
    return _ALL


@device
def _twist(X: Array) -> tuple[Vector3, Vector3]:
    """Angular velocity and that of the origin, as the imaginary parts of a pose have them: dR R^T = [w]x."""
    x, y, z = 0.0, 0.0, 0.0
    for c in range(3):
        x += 0.5 * (X[2, c].imag * X[1, c].real - X[1, c].imag * X[2, c].real)
        y += 0.5 * (X[0, c].imag * X[2, c].real - X[2, c].imag * X[0, c].real)
        z += 0.5 * (X[1, c].imag * X[0, c].real - X[0, c].imag * X[1, c].real)
    return (x, y, z), (X[0, 3].imag, X[1, 3].imag, X[2, 3].imag)


@device
def _set_solution(
    a: Any, b: Any, X_WA: Array, result: Any, derivatives: tuple[float, Vector3, Vector3, Vector3], work: Any
) -> None:
    """Writes the solution of a pair, in frame A, with a derivative in its imaginary parts."""
    d_distance, dn, dp_a, dp_b = derivatives
    p_WA = X_WA[0, 3], X_WA[1, 3], X_WA[2, 3]
    normal = scaled(turned_back(X_WA, _with(result.nhat_BA_W, dn)), -1.0)
    p_ACa = sum_scaled(turned_back(X_WA, subtract(_with(result.p_WCa, dp_a), p_WA)), normal, -a.radius)
    p_ACb = sum_scaled(turned_back(X_WA, subtract(_with(result.p_WCb, dp_b), p_WA)), normal, b.radius)
    work.value = -complex(result.distance, d_distance) - a.radius - b.radius
    for c in range(3):
        work.normal[c], work.p_ACa[c], work.p_ACb[c] = normal[c], p_ACa[c], p_ACb[c]


@inlined
def _with(values: Any, derivatives: Any) -> Any:
    """A vector of complex numbers."""
    return (
        complex(values[0], derivatives[0]),
        complex(values[1], derivatives[1]),
        complex(values[2], derivatives[2]),
    )
