"""Representations as arrays, for kernels: records of geometries, and all their meshes one after the other.

A mesh that several geometries have in common stands here once. Its elements, triangles of rigid surfaces and tetrahedra
of compliant volumes, are in the order in which the leaves of its tree have them.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.records_of_arrays import FLOAT, INTEGER, ArrayOf
from merganser.geometry.hydroelastic.representation import (
    CompliantHalfSpace,
    CompliantVolume,
    Representation,
    RigidHalfSpace,
    RigidSurface,
    Volume,
)
from merganser.geometry.meshes.volume_mesh import FACES
from merganser.geometry.proximity.mesh_distance import LEAF, make_box_tree

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

NOTHING, RIGID_SURFACE, COMPLIANT_VOLUME, RIGID_HALF_SPACE, COMPLIANT_HALF_SPACE = range(5)
COMPLIANT_KINDS = COMPLIANT_VOLUME, COMPLIANT_HALF_SPACE
_SLACK = 0.05  # of the size of elements, see candidates.py
_FEW = 4  # elements in a leaf: twice as fast as one for spheres

body_dtype = np.dtype(
    [
        ("kind", np.int64),  # one of the above
        ("root", np.int64),  # node of its tree
        ("stiffness", np.float64),  # modulus of a compliant volume [Pa], pressure by depth of a half space [Pa/m]
        ("radius", np.float64),  # within which all of its mesh is, from Go [m]
        ("slack", np.float64),  # by which boxes may be larger, see candidates.py [m]
    ]
)


Bodies = Annotated[NDArray[Any], ArrayOf(body_dtype)]  # as kernels take them


class Meshes(NamedTuple):
    """All meshes, in the frames G of their geometries.

    Attributes:
        vertices: [m], shape [num_vertices, 3].
        elements: vertices of each one; the last one of a triangle is -1; shape [num_elements, 4].
        planes: of a tetrahedron its faces, as unit normals n inwards and offsets d, n . p + d >= 0 inside; of a
            triangle the first one is its own, with n outwards; shape [num_elements, 4, 4].
        fields: extent in a tetrahedron: gradient g, value at Go and |g|; shape [num_elements, 5].
        boxes: around the nodes of the trees, centers and half sizes, shape [num_nodes, 6].
        tree: see proximity/mesh_distance.py, shape [num_nodes, 3].
    """

    vertices: Annotated[Array, ArrayOf(FLOAT, 2)]
    elements: Annotated[Integers, ArrayOf(INTEGER, 2)]
    planes: Annotated[Array, ArrayOf(FLOAT, 3)]
    fields: Annotated[Array, ArrayOf(FLOAT, 2)]
    boxes: Annotated[Array, ArrayOf(FLOAT, 2)]
    tree: Annotated[Integers, ArrayOf(INTEGER, 2)]


def make_layout(representations: Sequence[Representation | None]) -> tuple[NDArray[np.void], Meshes]:
    """Returns the records of geometries, of body_dtype, and their meshes."""
    bodies = np.zeros(len(representations), body_dtype)
    bodies["slack"] = math.inf
    parts = [_none()]
    roots: dict[int, int] = {}
    sizes = np.zeros(3, np.int64)  # vertices, elements and nodes so far
    for body, representation in zip(bodies, representations):
        body["kind"] = _KINDS[type(representation)]
        source: RigidSurface | Volume
        if isinstance(representation, CompliantHalfSpace):
            body["stiffness"] = representation.pressure_per_depth
            continue
        if isinstance(representation, CompliantVolume):
            source, body["stiffness"] = representation.volume, representation.modulus
        elif isinstance(representation, RigidSurface):
            source = representation
        else:
            continue
        if source not in _parts:
            _parts[source] = _of_surface(source) if isinstance(source, RigidSurface) else _of_volume(source)
        part = _parts[source]
        body["radius"] = math.sqrt((part.vertices**2).sum(axis=1).max())
        lengths = np.ptp(_corners(part.vertices, part.elements), axis=1).max(axis=1)  # of elements, along an axis [m]
        body["slack"] = _SLACK * lengths.mean()
        if id(source) not in roots:
            roots[id(source)] = int(sizes[2])
            parts.append(_moved(part, *sizes.tolist()))
            sizes += len(part.vertices), len(part.elements), len(part.boxes)
        body["root"] = roots[id(source)]
    return bodies, Meshes(*(np.concatenate(arrays) for arrays in zip(*parts)))


_KINDS = {
    type(None): NOTHING,
    RigidSurface: RIGID_SURFACE,
    CompliantVolume: COMPLIANT_VOLUME,
    RigidHalfSpace: RIGID_HALF_SPACE,
    CompliantHalfSpace: COMPLIANT_HALF_SPACE,
}


_parts: weakref.WeakKeyDictionary[RigidSurface | Volume, Meshes] = weakref.WeakKeyDictionary()


def _none() -> Meshes:
    return Meshes(
        np.zeros((0, 3)), np.zeros((0, 4), np.int64), np.zeros((0, 4, 4)), np.zeros((0, 5)), np.zeros((0, 6)),
        np.zeros((0, 3), np.int64),
    )  # fmt: skip


def _moved(part: Meshes, first_vertex: int, first_element: int, first_node: int) -> Meshes:
    """The same mesh where others stand before it."""
    elements = np.where(part.elements >= 0, part.elements + first_vertex, -1)
    is_leaf = part.tree[:, :1] == LEAF
    children = part.tree + np.array([first_node, first_node, 0])
    ends = part.tree + np.array([0, first_element, first_element])
    return part._replace(elements=elements, tree=np.where(is_leaf, ends, children))


def _of_surface(surface: RigidSurface) -> Meshes:
    vertices, triangles = surface.mesh.vertex_array(), surface.mesh.triangle_array()
    elements = np.full((len(triangles), 4), -1, np.int64)
    elements[:, :3] = triangles
    planes = np.zeros((len(triangles), 4, 4))
    p0, p1, p2 = (vertices[triangles[:, i]] for i in range(3))
    planes[:, 0] = _planes(p0, p1, p2)
    keep = planes[:, 0, :3].any(axis=1)  # triangles without area take no part
    return _with_tree(vertices, elements[keep], planes[keep], np.zeros((int(keep.sum()), 5)))


def _of_volume(volume: Volume) -> Meshes:
    vertices, tetrahedra = volume.mesh.vertex_array(), volume.mesh.tetrahedron_array()
    planes = np.zeros((len(tetrahedra), 4, 4))
    for f, (a, b, c) in enumerate(FACES):
        planes[:, f] = _planes(*(vertices[tetrahedra[:, i]] for i in (a, c, b)))
    p, e = vertices[tetrahedra], volume.extent[tetrahedra]
    fields = np.zeros((len(tetrahedra), 5))
    fields[:, :3] = np.linalg.solve(p[:, 1:] - p[:, :1], (e[:, 1:] - e[:, :1])[..., None])[..., 0]
    fields[:, 3] = e[:, 0] - np.einsum("ti,ti->t", fields[:, :3], p[:, 0])
    fields[:, 4] = np.linalg.norm(fields[:, :3], axis=1)
    return _with_tree(vertices, tetrahedra, planes, fields)


def _planes(a: Array, b: Array, c: Array) -> Array:
    """Unit normals and offsets of the planes through three points each, seen counter-clockwise; zero if on a line."""
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)[:, None]
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    return np.column_stack([normals, -np.einsum("ti,ti->t", normals, a)])


def _with_tree(vertices: Array, elements: Integers, planes: Array, fields: Array) -> Meshes:
    corners = _corners(vertices, elements)
    order, boxes, tree = make_box_tree(corners.min(axis=1), corners.max(axis=1), _FEW)
    low, high = boxes[:, :3], boxes[:, 3:]
    centered = np.column_stack([(low + high) / 2.0, (high - low) / 2.0])
    return Meshes(vertices, elements[order], planes[order], fields[order], centered, tree)


def _corners(vertices: Array, elements: Integers) -> Array:
    """Of all elements, those of triangles with one twice; shape [num_elements, 4, 3]."""
    corners: Array = vertices[np.where(elements >= 0, elements, elements[:, :1])]
    return corners
