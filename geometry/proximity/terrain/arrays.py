"""The arrays of a terrain mesh, from its vertices and triangles; see meshes.py for what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes.arrays import merged
from merganser.geometry.proximity.mesh_distance import LEAF, LEFT, RIGHT, make_box_tree
from merganser.geometry.proximity.terrain.meshes import BORDER, CONVEX, FIRST, FIRST_VERTEX, OWN, SKIP
from merganser.geometry.proximity.terrain.touches import SHARP

Array = NDArray[Any]

_FEW = 4  # triangles in a leaf of the tree


class Terrain:
    """A terrain mesh: its triangles in the order of the tree, with vertices at one place merged.

    Args:
        vertices: positions in F [m], shape [num_vertices, 3].
        triangles: vertices of each triangle, shape [num_triangles, 3]; some have an area.

    Attributes:
        vertices, triangles: without double vertices and triangles without an area.
        nodes: the tree, shape [num_nodes, 9].
        edges: three rows for each triangle, planes counted within this terrain, shape [3 num_triangles, 4].
        is_closed: whether each edge is one of two triangles, which run through it in opposite directions.
        size: of a triangle [m]: the median of the lengths of edges.
    """

    def __init__(self, vertices: Array, triangles: Array) -> None:
        numbers = merged(vertices)
        _, first = np.unique(numbers, return_index=True)
        self.vertices, triangles = np.ascontiguousarray(vertices[first]), numbers[triangles]
        a, b, c = (self.vertices[triangles[:, k]] for k in range(3))
        kept = np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0
        corners = self.vertices[triangles[kept]]
        order, boxes, tree = make_box_tree(corners.min(axis=1), corners.max(axis=1), _FEW)
        self.triangles = triangles[kept][order]
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        self.normals = normals / np.linalg.norm(normals, axis=1)[:, None]
        self.nodes = _nodes(boxes, tree)
        self.edges = self._edges()
        self.is_closed = not np.any(self.edges[:, 1] & BORDER)
        self.size = float(np.median(np.linalg.norm(np.concatenate([b - a, c - b, a - c]), axis=1)))

    def _edges(self) -> NDArray[np.int64]:
        """The corner beyond each edge, its marks, and the triangle there, twice; see meshes.py."""
        n, t = len(self.vertices), np.repeat(np.arange(len(self.triangles)), 3)
        i, j, k = (np.roll(self.triangles, -s, axis=1).ravel() for s in range(3))
        there, back = i * n + j, j * n + i
        keys, where, count = np.unique(there, return_index=True, return_counts=True)
        place = np.searchsorted(keys, back).clip(max=len(keys) - 1)
        own = count[np.searchsorted(keys, there)]
        has_other = (keys[place] == back) & (count[place] == 1) & (own == 1)
        other = np.where(has_other, where[place], np.arange(len(t)))
        beyond = k[other]
        r = self.vertices[beyond] - self.vertices[i]
        height = np.einsum("ni,ni->n", self.normals[t], r)
        is_convex = ~has_other | (height < -SHARP * np.linalg.norm(r, axis=1))
        marks = CONVEX * is_convex + OWN * (~has_other | (t < t[other])) + BORDER * ~has_other
        at = np.unique(self.triangles.ravel(), return_index=True)[1]
        np.add.at(marks, 3 * (at // 3), FIRST_VERTEX << at % 3)
        return np.column_stack([beyond, marks, t[other], t[other]]).astype(np.int64)

    def hull(self) -> tuple[Array, ...]:
        """What a hull has, see `Hulls`: vertices, neighbors, planes, corners and edges."""
        n, triangles = len(self.vertices), self.triangles
        i, j = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
        around = np.unique(np.concatenate([i * n + j, j * n + i]))
        offsets = np.einsum("ni,ni->n", self.normals, self.vertices[triangles[:, 0]])
        planes = np.column_stack([self.normals, offsets])
        at_vertices = np.column_stack([self._normals_of_vertices(), np.zeros(n)])
        num_corners = np.concatenate([np.full(len(triangles), 3), np.zeros(n, np.int64)])
        return (
            self.vertices, np.bincount(around // n, minlength=n), around % n, np.vstack([planes, at_vertices]),
            num_corners, triangles.ravel(), self.edges,
        )  # fmt: skip

    def _normals_of_vertices(self) -> Array:
        """Sums of normals of the triangles around, weighted by angles."""
        total = np.zeros_like(self.vertices)
        for c in range(3):
            a, b, d = (self.vertices[self.triangles[:, (c + k) % 3]] for k in range(3))
            u, v = b - a, d - a
            angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ni,ni->n", u, v))
            np.add.at(total, self.triangles[:, c], angle[:, None] * self.normals)
        lengths = np.linalg.norm(total, axis=1)[:, None]
        return total / np.where(lengths > 0.0, lengths, 1.0)


def _nodes(boxes: Array, tree: NDArray[np.int64]) -> Array:
    """The rows of the tree, in which a node comes before those below it, left ones first."""
    nodes = np.zeros((len(tree), 9))
    nodes[:, :6] = boxes
    for k in range(len(tree) - 1, -1, -1):
        if tree[k, LEFT] == LEAF:
            nodes[k, SKIP], nodes[k, FIRST:] = k + 1, tree[k, 1:]
        else:
            nodes[k, SKIP] = nodes[tree[k, RIGHT], SKIP]
    return nodes
