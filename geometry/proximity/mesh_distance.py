"""Signed distance of points to a closed triangle mesh, which need not be convex.

The nearest point lies on a triangle, an edge or a vertex; the side of the surface on which the query point is gives the
angle-weighted pseudonormal there (Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted
pseudonormal). Triangles are found through a tree of boxes.

Trees of boxes around the elements of a mesh, which halve them along the longest side again and again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import Given, bind, device, kernel
from merganser.geometry.meshes.arrays import merged
from merganser.geometry.proximity.vectors import Vector3, dot, subtract, sum_scaled

Array = NDArray[Any]

DEEPEST = 64  # levels of a tree; halving needs no more than 32
# Columns of a tree: the children of a node; of a leaf LEAF and the first of its elements, and where these end.
LEFT, RIGHT, END = range(3)
LEAF = -1


def make_box_tree(low: Array, high: Array, few: int) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Makes a tree of boxes around elements.

    Args:
        low: lower corner of the box around each element, shape [num_elements, 3].
        high: upper corner, shape [num_elements, 3].
        few: elements that a leaf may have.

    Returns:
        The order in which the leaves have the elements; the box of each node, [low, high], shape [num_nodes, 6]; and
        the tree, shape [num_nodes, 3], see above. The first node is the root.
    """
    order = np.arange(len(low))
    boxes: list[list[float]] = []
    tree: list[list[int]] = []
    waiting = [(0, len(low), -1, 0)]  # elements from, to, the parent and which child of it
    while waiting:
        start, end, parent, side = waiting.pop()
        here = order[start:end]
        if parent >= 0:
            tree[parent][side] = len(tree)
        boxes.append([*low[here].min(axis=0).tolist(), *high[here].max(axis=0).tolist()])
        if end - start <= few:
            tree.append([LEAF, start, end])
            continue
        middles = low[here] + high[here]
        along = int(np.ptp(middles, axis=0).argmax())
        half = (end - start) // 2
        order[start:end] = here[np.argpartition(middles[:, along], half)]
        waiting += [(start + half, end, len(tree), RIGHT), (start, start + half, len(tree), LEFT)]
        tree.append([0, 0, 0])
    return order, np.array(boxes), np.array(tree, np.int64)


_FEW = 4  # triangles in a leaf of the tree
# Parts of a triangle: inside, the edges from corner 0, 1, 2, and the corners.
_INSIDE, _EDGE, _CORNER = 0, 1, 4
_NUM_PARTS = 7


class MeshDistance:
    """Signed distances to one mesh.

    Args:
        vertices: positions in M [m], shape [num_vertices, 3].
        triangles: vertices of each triangle, counter-clockwise seen from outside, shape [num_triangles, 3].

    Raises:
        RuntimeError: there are no triangles, or all of them are without area.
    """

    def __init__(self, vertices: Array, triangles: Array) -> None:
        vertices, triangles = np.asarray(vertices, np.float64), np.asarray(triangles, np.int64)
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1)
        keep = lengths > 0.0
        if not keep.any():
            raise RuntimeError(f"A mesh of {len(triangles)} triangles, none of which has an area, has no inside.")
        order, boxes, tree = make_box_tree(corners[keep].min(axis=1), corners[keep].max(axis=1), _FEW)
        self._corners = np.ascontiguousarray(corners[keep][order])
        self._normals = (normals[keep] / lengths[keep, None])[order]
        self._set_pseudonormals(merged(vertices)[triangles[keep][order]])
        given = Given(np.zeros(3)), Given(np.zeros(DEEPEST, np.int64)), Given(np.zeros(3))
        self._find = bind(nearest_on_mesh, boxes, tree, self._corners, *given)

    def _set_pseudonormals(self, triangles: Array) -> None:
        """Sums normals over the triangles around each edge and, weighted by angles, around each vertex."""
        around_vertex = np.zeros((triangles.max() + 1, 3))
        edges: dict[tuple[int, int], Array] = {}
        for c in range(3):
            u = self._corners[:, (c + 1) % 3] - self._corners[:, c]
            v = self._corners[:, (c + 2) % 3] - self._corners[:, c]
            angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ni,ni->n", u, v))
            np.add.at(around_vertex, triangles[:, c], angle[:, None] * self._normals)
        keys = [[_edge(triangle, c) for c in range(3)] for triangle in triangles.tolist()]
        for key, normal in zip(keys, self._normals):
            for edge in key:
                edges[edge] = edges.get(edge, 0.0) + normal
        self._at_vertex = around_vertex[triangles]
        self._at_edge = np.array([[edges[edge] for edge in key] for key in keys])

    def __call__(self, p_MQ: Array) -> tuple[float, Array, Array]:
        """Returns the signed distance of a point Q [m], its gradient and the nearest point N, both in M, shape [3]."""
        p_MN = np.zeros(3)
        found = self._find(np.ascontiguousarray(p_MQ, np.float64), np.empty(DEEPEST, np.int64), p_MN)
        t, part = divmod(found, _NUM_PARTS)
        normal, v = self._pseudonormal(t, part), p_MQ - p_MN
        distance = math.sqrt(v @ v)
        side = 1.0 if v @ normal >= 0.0 else -1.0
        gradient = side * v / distance if distance > 0.0 else normal / np.linalg.norm(normal)
        return side * distance, gradient, p_MN

    def _pseudonormal(self, t: int, part: int) -> Array:
        if part == _INSIDE:
            return np.asarray(self._normals[t])
        return np.asarray(self._at_edge[t, part - _EDGE] if part < _CORNER else self._at_vertex[t, part - _CORNER])


def _edge(triangle: list[int], c: int) -> tuple[int, int]:
    i, j = triangle[c], triangle[(c + 1) % 3]
    return (i, j) if i < j else (j, i)


# ---------------------------------------------------------------------- the search


@device
def _square_to_box(box: Array, p: Vector3) -> float:
    """The squared distance of a point from a box, zero inside."""
    square = 0.0
    for i in range(3):
        gap = max(box[i] - p[i], p[i] - box[3 + i], 0.0)
        square += gap * gap
    return square


@device
def nearest_on_triangle(a: Vector3, b: Vector3, c: Vector3, p: Vector3) -> tuple[int, Vector3]:
    """On which part of a triangle the point nearest to another one lies, and where (Ericson 2005, sec. 5.1.5)."""
    ab, ac, bc = subtract(b, a), subtract(c, a), subtract(c, b)
    ap, bp, cp = subtract(p, a), subtract(p, b), subtract(p, c)
    d1, d2, d3, d4, d5, d6 = dot(ab, ap), dot(ac, ap), dot(ab, bp), dot(ac, bp), dot(ab, cp), dot(ac, cp)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        return _CORNER, a
    if d3 >= 0.0 and d4 <= d3:
        return _CORNER + 1, b
    if d6 >= 0.0 and d5 <= d6:
        return _CORNER + 2, c
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return _EDGE, sum_scaled(a, ab, d1 / (d1 - d3))
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return _EDGE + 2, sum_scaled(a, ac, d2 / (d2 - d6))
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return _EDGE + 1, sum_scaled(b, bc, (d4 - d3) / ((d4 - d3) + (d5 - d6)))
    total = va + vb + vc
    return _INSIDE, sum_scaled(sum_scaled(a, ab, vb / total), ac, vc / total)


@kernel
def nearest_on_mesh(
    # Model:
    boxes: Array,  # of the nodes, [low, high], shape [num_nodes, 6]
    tree: NDArray[np.int64],  # see mesh_distance.py, shape [num_nodes, 3]
    corners: Array,  # of the triangles, in the order of the tree, shape [num_triangles, 3, 3]
    # In:
    p_MQ_in: Array,  # shape [3]
    # Work:
    nodes_work: NDArray[np.int64],  # nodes to be looked at, shape [DEEPEST]
    # Out:
    p_MN_out: Array,  # the nearest point of the surface, shape [3]
) -> int:
    """Finds the point of a mesh nearest to Q; returns the number of its triangle, times 7, plus that of its part."""
    p = p_MQ_in[0], p_MQ_in[1], p_MQ_in[2]
    best, found, num_nodes = math.inf, 0, 1
    nodes_work[0] = 0
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes_work[num_nodes]
        if _square_to_box(boxes[node], p) >= best:
            continue
        if tree[node, LEFT] == LEAF:
            for t in range(tree[node, RIGHT], tree[node, END]):
                a = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
                b = corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2]
                c = corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2]
                part, nearest = nearest_on_triangle(a, b, c, p)
                v = subtract(p, nearest)
                if dot(v, v) < best:
                    best, found = dot(v, v), _NUM_PARTS * t + part
                    p_MN_out[0], p_MN_out[1], p_MN_out[2] = nearest[0], nearest[1], nearest[2]
            continue
        left, right = tree[node, LEFT], tree[node, RIGHT]
        if _square_to_box(boxes[left], p) < _square_to_box(boxes[right], p):
            left, right = right, left  # the nearer one comes next
        nodes_work[num_nodes], nodes_work[num_nodes + 1] = left, right
        num_nodes += 2
    return found
