"""Patches: elements that change their volume together, so that bodies which hardly change it can bend.

A linear tetrahedron whose volume is kept can hardly move, as there are five or six of them for each node: it locks.
Where all elements of a patch p have the mean growth of its volume (assembly.py, equation (4)), there is about one such
condition a node. The energy is

    sum_e V_e [Psi(F_e) - lambda / 2 theta_e^2] + sum_p V_p lambda / 2 theta_p^2          (1)

so forces and the symmetric tangent matrix are its derivatives, and where the deformation is uniform nothing changes.

Patches are disjoint, and each has at most MOST_PATCH_NODES nodes, all of which feel each other: the tangent matrix has
more blocks than without. They grow from element to neighbour, such that they stay round; cells of six tetrahedra become
one patch each.

Sources: E. de Souza Neto, F. Andrade Pires, D. Owen, F-bar-based Linear Triangles and Tetrahedra for Finite Strain
Analysis of Nearly Incompressible Solids, Part I (2005) (patches); J. Nagtegaal, D. Parks, J. Rice, On Numerically
Accurate Finite Element Solutions in the Fully Plastic Range (1974) (mean dilatation as an energy).
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from merganser.framework.native.memory.hinted_types import FloatTable, Integers
from merganser.multibody.fem.layout import MOST_PATCH_NODES, Elements, Patches, patch_dtype

_FULL = 8  # nodes that a patch has when it stops growing
_FEW = 3  # elements of a patch that joins another one


def make_patches(elements: Elements, p_WV: FloatTable, averages_volume: bool) -> Patches:
    """Returns records of patch_dtype, but for their places; none unless volumes are to be averaged.

    Args:
        elements: records of element_dtype, of which `patch` and `seat` are written.
        p_WV: vertices at rest [m], shape [num_nodes, 3].
        averages_volume: whether there are to be patches.
    """
    if not averages_volume:
        elements["patch"] = -1
        return np.zeros(0, patch_dtype)
    members = _grown(elements["nodes"], p_WV)
    patches = np.zeros(len(members), patch_dtype)
    patches["nodes"] = -1
    for k, (patch, own) in enumerate(zip(patches, members, strict=True)):
        nodes, seats = np.unique(elements["nodes"][own], return_inverse=True)
        patch["num_nodes"], patch["volume"] = len(nodes), elements["volume"][own].sum()
        patch["nodes"][: len(nodes)] = nodes
        elements["patch"][own], elements["seat"][own] = k, seats.reshape(-1, 4)
    return patches


def _grown(corners: Integers, p_WV: FloatTable) -> list[list[int]]:
    """The elements of each patch: those with the fewest free neighbours begin one, so that few are left alone."""
    neighbours, nodes = _neighbours(corners), [frozenset(row) for row in corners.tolist()]
    points: list[list[float]] = p_WV.tolist()
    is_free, members = [True] * len(nodes), []
    waiting = [(sum(f >= 0 for f in row), e) for e, row in enumerate(neighbours)]
    heapq.heapify(waiting)
    while waiting:
        _, seed = heapq.heappop(waiting)
        if not is_free[seed]:
            continue
        own, around = [seed], nodes[seed]
        is_free[seed] = False
        while True:
            beside = {f for e in own for f in neighbours[e] if f >= 0 and is_free[f]}
            fitting = [f for f in sorted(beside) if len(around | nodes[f]) <= _FULL]
            if not fitting:
                break
            middle = [sum(points[v][i] for v in around) / len(around) for i in range(3)]
            reach = [max((math.dist(middle, points[v]) for v in nodes[f] - around), default=0.0) for f in fitting]
            best = fitting[reach.index(min(reach))]
            own.append(best)
            around |= nodes[best]
            is_free[best] = False
        members.append(own)
        for f in {f for e in own for f in neighbours[e] if f >= 0 and is_free[f]}:
            heapq.heappush(waiting, (sum(g >= 0 and is_free[g] for g in neighbours[f]), f))
    return _without_small_ones(members, neighbours, nodes)


def _without_small_ones(
    members: list[list[int]], neighbours: list[list[int]], nodes: list[frozenset[int]]
) -> list[list[int]]:
    """Patches of few elements join the neighbour with which they have the fewest nodes, where these are few enough."""
    patch_of = {e: k for k, own in enumerate(members) for e in own}
    around = [frozenset().union(*(nodes[e] for e in own)) for own in members]
    for k in sorted(range(len(members)), key=lambda k: len(members[k])):
        if len(members[k]) >= _FEW:
            break
        beside = {patch_of[f] for e in members[k] for f in neighbours[e] if f >= 0} - {k}
        joined = [(len(around[k] | around[m]), m) for m in beside]
        if joined and min(joined)[0] <= MOST_PATCH_NODES:
            m = min(joined)[1]
            members[m] += members[k]
            around[m] |= around[k]
            patch_of.update(dict.fromkeys(members[k], m))
            members[k] = []
    return [own for own in members if own]


def _neighbours(corners: Integers) -> list[list[int]]:
    """Which elements share the face opposite of each corner; -1 for none; shape [num_elements, 4]."""
    faces = np.sort(corners[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]].reshape(-1, 3), axis=1)
    order = np.lexsort(faces.T)
    same = np.flatnonzero((faces[order[1:]] == faces[order[:-1]]).all(axis=1))
    first, second = order[same], order[same + 1]
    neighbours = np.full(len(faces), -1, np.int64)
    neighbours[first], neighbours[second] = second // 4, first // 4
    found: list[list[int]] = neighbours.reshape(-1, 4).tolist()
    return found
