"""Surfaces that move and deform, in the pressure fields of rigid geometries, as arrays for kernels.

To the kernels of hydroelastic contact (../hydroelastic/surfaces.py) the surface of a deformable geometry D is a rigid
surface whose frame is the world's, and whose vertices are rewritten before each call, together with the planes of its
triangles and the boxes of its tree. A rigid geometry R is a compliant volume, whatever its hydroelastic type: its
pressure is that of its modulus, and its margin does not count.

Rows of rigid geometries come first, so that of a pair (R, D) M is R, N is D, and normals point out of D into R.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.geometry.hydroelastic.layout import Meshes, make_layout
from merganser.geometry.hydroelastic.representation import Representation, RigidSurface, make_representation
from merganser.geometry.materials import HydroelasticType
from merganser.geometry.meshes import TriangleSurfaceMesh, VolumeMesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.properties import ProximityProperties
from merganser.geometry.proximity.box_tree import END, LEAF, LEFT, RIGHT
from merganser.geometry.shapes import HalfSpace, MeshcatCone, Shape

__all__ = ["MovingSurfaces", "make_moving_surfaces", "move_surface", "pressure_field_of", "surface_part_dtype"]

Array = NDArray[Any]

# Where the surface of a deformable geometry stands in Meshes.
surface_part_dtype = np.dtype(
    [
        ("first_vertex", np.int64),
        ("num_vertices", np.int64),
        ("first_element", np.int64),
        ("num_elements", np.int64),
        ("first_node", np.int64),  # of its tree
        ("num_nodes", np.int64),
    ]
)


class MovingSurfaces(NamedTuple):
    """Rigid geometries and surfaces of deformable ones.

    Attributes:
        bodies: records of body_dtype, of the rigid geometries and then of the deformable ones.
        meshes: of all of them; those of the deformable ones are written by move_surface().
        parts: of the deformable ones, records of surface_part_dtype.
        opposite: of each triangle, the vertex of its tetrahedron that is not its own; -1 of tetrahedra of rigid
            geometries; shape [num_elements].
    """

    bodies: Array
    meshes: Meshes
    parts: Array
    opposite: NDArray[np.int64]

    def copy(self) -> MovingSurfaces:
        """The same with meshes of its own."""
        return self._replace(meshes=Meshes(*(array.copy() for array in self.meshes)))


def pressure_field_of(shape: Shape, properties: ProximityProperties, name: str) -> Representation | None:
    """Returns the pressure field that deformable geometries feel of a rigid one.

    Args:
        shape: of the rigid geometry.
        properties: its proximity properties. Without a hydroelastic modulus or, but for meshes, a resolution hint it
            takes no part.
        name: what messages call it.

    Returns:
        The field; None if the geometry takes no part, as half spaces do not.

    Raises:
        RuntimeError: a property is out of its range, or the geometry's file cannot be read.
    """
    if isinstance(shape, (HalfSpace, MeshcatCone)):
        return None
    compliant = ProximityProperties()
    for key in ("hydroelastic_modulus", "resolution_hint"):
        if not properties.HasProperty("hydroelastic", key):
            return None
        compliant.AddProperty("hydroelastic", key, properties.GetProperty("hydroelastic", key))
    compliant.AddProperty("hydroelastic", "compliance_type", HydroelasticType.kCompliant)
    return make_representation(shape, compliant, name)


def make_moving_surfaces(fields: Sequence[Representation | None], meshes: Sequence[VolumeMesh]) -> MovingSurfaces:
    """Returns the arrays of rigid geometries, by their pressure fields, and of deformable ones, by meshes at rest."""
    triangles = [boundary_triangles(mesh) for mesh in meshes]
    surfaces = [
        RigidSurface(TriangleSurfaceMesh(faces, mesh.vertex_array())) for faces, mesh in zip(triangles, meshes)
    ]
    bodies, arrays = make_layout([*fields, *surfaces])
    bodies["slack"] = 0.0  # boxes are refitted: there is no slack that motion could use up
    opposite = np.full(len(arrays.elements), -1, np.int64)
    parts = np.zeros(len(meshes), surface_part_dtype)
    for part, body, mesh, faces in zip(parts, bodies[len(fields) :], meshes, triangles):
        part["first_node"] = root = int(body["root"])
        leaves = _leaves(arrays.tree, root)
        part["num_nodes"] = leaves[2] - root
        part["first_element"], part["num_elements"] = leaves[0], leaves[1] - leaves[0]
        corners = arrays.elements[leaves[0] : leaves[1], :3]
        # The first vertex of the mesh: triangles are those of `faces` in another order.
        part["first_vertex"] = corners.min() - faces.min()
        part["num_vertices"] = mesh.num_vertices()
        opposite[leaves[0] : leaves[1]] = _opposite(mesh, corners - part["first_vertex"]) + part["first_vertex"]
    return MovingSurfaces(bodies, arrays, parts, opposite)


def _leaves(tree: Array, root: int) -> tuple[int, int, int]:
    """The first element below a node, where these end, and where the nodes below it end."""
    waiting, first, end, last = [root], math.inf, 0, root
    while waiting:
        node = waiting.pop()
        last = max(last, node)
        if tree[node, LEFT] == LEAF:
            first, end = min(first, int(tree[node, RIGHT])), max(end, int(tree[node, END]))
        else:
            waiting += [int(tree[node, LEFT]), int(tree[node, RIGHT])]
    return int(first), end, last + 1


def _opposite(mesh: VolumeMesh, triangles: Array) -> Array:
    """Of triangles on the surface of a mesh, the vertex of their tetrahedron that is not their own, shape [n]."""
    tetrahedra = mesh.tetrahedron_array()
    others = {tuple(sorted(np.delete(t, k).tolist())): int(t[k]) for t in tetrahedra for k in range(4)}
    return np.array([others[tuple(sorted(corners))] for corners in triangles.tolist()], np.int64)


@device
def calc_move_surface(part: Array, q_in: Array, meshes: Meshes) -> None:
    """Puts the vertices of a surface where they are now.

    Args:
        part: record of surface_part_dtype.
        q_in: positions of the vertices in W [m], shape [3 num_vertices].
        meshes: its vertices, planes and boxes are written.
    """
    first, vertices = part["first_vertex"], meshes.vertices
    for v in range(part["num_vertices"]):
        for c in range(3):
            vertices[first + v, c] = q_in[3 * v + c]
    for e in range(part["first_element"], part["first_element"] + part["num_elements"]):
        _set_plane(vertices, meshes.elements[e], meshes.planes[e, 0])
    for k in range(part["num_nodes"]):  # children stand behind their parents
        _refit(part["first_node"] + part["num_nodes"] - 1 - k, meshes)


move_surface = kernel(calc_move_surface)


@device
def _set_plane(vertices: Array, corners: Array, plane_out: Array) -> None:
    """The unit normal and the offset of the plane of a triangle; zero if its vertices are on a line."""
    a, b, c = vertices[corners[0]], vertices[corners[1]], vertices[corners[2]]
    u, v = (b[0] - a[0], b[1] - a[1], b[2] - a[2]), (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    n = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    scale = 1.0 / length if length > 0.0 else 0.0
    plane_out[3] = 0.0
    for i in range(3):
        plane_out[i] = scale * n[i]
        plane_out[3] -= plane_out[i] * a[i]


@device
def _refit(node: int, meshes: Meshes) -> None:
    """The box of a node around its triangles, or around the boxes of its children."""
    tree, boxes = meshes.tree, meshes.boxes
    for c in range(3):
        low, high = math.inf, -math.inf
        if tree[node, LEFT] == LEAF:
            for e in range(tree[node, RIGHT], tree[node, END]):
                for i in range(3):
                    x = meshes.vertices[meshes.elements[e, i], c]
                    low, high = min(low, x), max(high, x)
        else:
            left, right = boxes[tree[node, LEFT]], boxes[tree[node, RIGHT]]
            low = min(left[c] - left[c + 3], right[c] - right[c + 3])
            high = max(left[c] + left[c + 3], right[c] + right[c + 3])
        boxes[node, c], boxes[node, c + 3] = 0.5 * (low + high), 0.5 * (high - low)
