"""Meshes of deformable geometries: their tetrahedra at rest, and as they move among pressure fields, as arrays for
kernels.

Primitive shapes are filled as their kinds say (shapes/tetrahedra.py).

What a closed surface holds, of a Mesh or a Convex, is filled by TetGen (H. Si, ACM Trans. Math. Software 41, 2015), if
the package tetgen is installed, under its own license (AGPL). It keeps the surface, and divides its triangles.

The kernels of hydroelastic contact (../hydroelastic/surfaces.py) find where they touch. To these

- the surface of a deformable geometry D is a rigid surface,
- its volume is a compliant one, whose field e is the distance from the surface at rest, in D's mesh as it is now,
- a rigid geometry R is a compliant volume, whatever its hydroelastic type: its pressure is that of its modulus, and its
  margin does not count.

Frames of deformable meshes are the world's. Vertices, planes, fields and boxes are rewritten before each call. Rows are
those of rigid geometries, then the surfaces, then the volumes. So of a pair (R, D) M is R, N is D, and normals point
out of D into R; of two volumes, on which both fields are equal, out of the second one into the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, Integers, Poses
from merganser.framework.native.memory.records_of_arrays import ArrayOf
from merganser.geometry.hydroelastic.layout import Meshes, make_layout
from merganser.geometry.hydroelastic.mesh_shapes import checked_volume, is_closed, shape_surface
from merganser.geometry.hydroelastic.representation import (
    CompliantVolume,
    Representation,
    RigidSurface,
    Volume,
    depths_of_vertices,
    make_representation,
)
from merganser.geometry.meshes import TriangleSurfaceMesh
from merganser.geometry.meshes.volume_mesh import FACES, VolumeMesh, boundary_triangles
from merganser.geometry.proximity.mesh_distance import END, LEAF, LEFT, RIGHT
from merganser.geometry.proximity.vectors import Vector3, cross, dot, scaled, subtract
from merganser.geometry.registration.materials import HydroelasticType
from merganser.geometry.registration.properties import ProximityProperties
from merganser.geometry.shapes import SHAPES, Mesh, Shape
from merganser.geometry.shapes.measures import CalcVolume, is_surface_known, name_of
from merganser.geometry.shapes.tetrahedra import check_count


def make_reference_mesh(shape: Shape, resolution_hint: float) -> VolumeMesh:
    """Returns the tetrahedra of a shape, in its frame G.

    Args:
        shape: a Sphere, Ellipsoid, Box, Cylinder or Capsule; a Mesh of a .vtk file, whose tetrahedra are taken as they
            are; or a Convex or another Mesh with a closed surface, which the package tetgen fills. (pydrake has Sphere
            and Mesh of a .vtk file.)
        resolution_hint: about the length of edges, of an ellipsoid on its longest axis [m]; of no effect on a Mesh.

    Raises:
        RuntimeError: the hint is not positive and finite, or so small that there were more than MOST_TETRAHEDRA; there
            are no tetrahedra of such a shape; the file cannot be read or has a tetrahedron that is flat or inside out;
            or a surface is not closed, cannot be filled, or tetgen is not installed.
    """
    if not 0.0 < resolution_hint < math.inf:
        raise RuntimeError(f"The resolution hint of a deformable {shape} must be positive; given {resolution_hint}.")
    if isinstance(shape, Mesh) and shape.extension() == ".vtk":
        return checked_volume(shape)
    if shape.kind.tetrahedra is None and is_surface_known(shape):
        return _filled(shape, resolution_hint)
    if shape.kind.tetrahedra is None:
        known = ", ".join(sorted(each.__name__ for each in SHAPES if each.kind.tetrahedra is not None))
        raise RuntimeError(
            f"There are no tetrahedra for a deformable {shape}. Take one of these shapes: {known}; or a Mesh of a .vtk "
            "file of tetrahedra, or of a closed surface."
        )
    return shape.kind.tetrahedra(shape, resolution_hint)


def _filled(shape: Shape, hint: float) -> VolumeMesh:
    """Tetrahedra in a closed surface, no larger, about, than a regular one with edges as long as the hint."""
    surface, name = shape_surface(shape), name_of(shape)
    if not is_closed(surface):
        raise RuntimeError(
            f"The surface in '{name}' is not closed: some edge does not have one triangle on each side. Close it, or "
            "make the shape a Convex, which stands for the convex hull."
        )
    most = hint**3 / (6.0 * math.sqrt(2.0))  # a regular tetrahedron's volume
    check_count(abs(CalcVolume(shape)) / most if most > 0.0 else math.inf, hint)
    try:
        import tetgen
    except ImportError:
        raise RuntimeError(
            f"The tetrahedra in the surface '{name}' need the package tetgen, which is not installed: pip install "
            "tetgen; or give the tetrahedra as a .vtk file."
        ) from None
    vertices, triangles = surface.vertex_array(), surface.triangle_array()
    mesher = tetgen.TetGen(np.ascontiguousarray(vertices), triangles.astype(np.int32))
    try:
        nodes, tetrahedra, *_ = mesher.tetrahedralize(fixedvolume=True, maxvolume=most, quiet=True)
    except RuntimeError as error:
        raise RuntimeError(f"The surface in '{name}' cannot be filled with tetrahedra: {error}") from error
    return VolumeMesh(np.array(tetrahedra, np.int64), np.asarray(nodes, np.float64))


Array = NDArray[Any]

# Where the surface or the volume of a deformable geometry is in Meshes.
mesh_part_dtype = np.dtype(
    [
        ("is_volume", np.int64),
        ("first_vertex", np.int64),
        ("num_vertices", np.int64),
        ("first_element", np.int64),
        ("num_elements", np.int64),
        ("first_node", np.int64),  # of its tree
        ("num_nodes", np.int64),
    ]
)


MeshParts = Annotated[NDArray[Any], ArrayOf(mesh_part_dtype)]  # as kernels take them


class MovingMeshes(NamedTuple):
    """Rigid geometries, and surfaces and volumes of deformable ones.

    Attributes:
        bodies: records of body_dtype, in rows as above.
        meshes: of all of them; those of the deformable ones are written by put_meshes().
        parts: of the surfaces and volumes, records of mesh_part_dtype.
        opposite: of each triangle, the vertex of its tetrahedron that is not its own; -1 of tetrahedra; shape
            [num_elements].
        extent: e of each vertex of a volume [m], shape [num_vertices].
    """

    bodies: Array
    meshes: Meshes
    parts: Array
    opposite: NDArray[np.int64]
    extent: Array


def pressure_field_of(shape: Shape, properties: ProximityProperties, name: str) -> Representation | None:
    """Returns the pressure field that deformable geometries feel of a rigid one.

    Args:
        shape: of the rigid geometry.
        properties: its proximity properties. Without a hydroelastic modulus and a resolution hint it takes no part.
        name: what messages call it.

    Returns:
        The field; None if the geometry takes no part, as half spaces and cones do not.

    Raises:
        RuntimeError: a property is out of its range, or the geometry's file cannot be read.
    """
    if shape.kind.medial is None and not is_surface_known(shape):
        return None
    compliant = ProximityProperties()
    for key in ("hydroelastic_modulus", "resolution_hint"):
        if not properties.HasProperty("hydroelastic", key):
            return None
        compliant.AddProperty("hydroelastic", key, properties.GetProperty("hydroelastic", key))
    compliant.AddProperty("hydroelastic", "compliance_type", HydroelasticType.kCompliant)
    return make_representation(shape, compliant, name)


def make_moving_meshes(
    fields: Sequence[Representation | None], meshes: Sequence[VolumeMesh], has_volumes: bool
) -> MovingMeshes:
    """Returns the arrays of rigid geometries and of deformable ones.

    Args:
        fields: of the rigid geometries.
        meshes: of the deformable ones at rest.
        has_volumes: whether the deformable ones have rows for their volumes, too.
    """
    surfaces = [RigidSurface(TriangleSurfaceMesh(boundary_triangles(m), m.vertex_array())) for m in meshes]
    volumes = [CompliantVolume(Volume(m, depths_of_vertices(m)), 1.0) for m in meshes] if has_volumes else []
    bodies, arrays = make_layout([*fields, *surfaces, *volumes])
    bodies["slack"] = 0.0  # boxes are refitted: there is no slack that motion could use up
    opposite, extent = np.full(len(arrays.elements), -1, np.int64), np.zeros(len(arrays.vertices))
    parts = np.zeros(len(surfaces) + len(volumes), mesh_part_dtype)
    for k, (part, body) in enumerate(zip(parts, bodies[len(fields) :])):
        mesh, part["is_volume"] = meshes[k % len(meshes)], k >= len(meshes)
        part["first_node"], part["num_vertices"] = body["root"], mesh.num_vertices()
        first, end, end_of_nodes = _leaves(arrays.tree, int(body["root"]))
        part["num_nodes"] = end_of_nodes - part["first_node"]
        part["first_element"], part["num_elements"] = first, end - first
        corners = arrays.elements[first:end]
        if part["is_volume"]:  # all vertices belong to tetrahedra
            part["first_vertex"] = corners.min()
            extent[part["first_vertex"] :][: mesh.num_vertices()] = volumes[k - len(meshes)].volume.extent
        else:  # whose triangles are those of the surface, in another order
            part["first_vertex"] = corners[:, :3].min() - boundary_triangles(mesh).min()
            opposite[first:end] = _opposite(mesh, corners[:, :3] - part["first_vertex"]) + part["first_vertex"]
    return MovingMeshes(bodies, arrays, parts, opposite, extent)


def _leaves(tree: Array, root: int) -> tuple[int, int, int]:
    """The first element below a node, where these end, and where the nodes below it end."""
    waiting, first, end, last = [root], len(tree) ** 2 * 64, 0, root
    while waiting:
        node = waiting.pop()
        last = max(last, node)
        if tree[node, LEFT] == LEAF:
            first, end = min(first, int(tree[node, RIGHT])), max(end, int(tree[node, END]))
        else:
            waiting += [int(tree[node, LEFT]), int(tree[node, RIGHT])]
    return first, end, last + 1


def _opposite(mesh: VolumeMesh, triangles: Array) -> Array:
    """Of triangles on the surface of a mesh, the vertex of their tetrahedron that is not their own, shape [n]."""
    tetrahedra = mesh.tetrahedron_array()
    others = {tuple(sorted(np.delete(t, k).tolist())): int(t[k]) for t in tetrahedra for k in range(4)}
    return np.array([others[tuple(sorted(corners))] for corners in triangles.tolist()], np.int64)


# ---------------------------------------------------------------------- motion


@kernel
def put_meshes(
    parts: MeshParts,
    first_vertices: Integers,
    ahead: float,
    q_in: Floats,
    v_in: Floats,
    extent_in: Floats,
    X_WR_in: Poses,
    meshes: Meshes,
    X_WG_out: Poses,
) -> None:
    """Puts the vertices of surfaces and volumes where they are now, or soon, and the rigid geometries.

    Args:
        parts: the surfaces and volumes.
        first_vertices: where those of each part start in q_in, shape [num_parts].
        ahead: for how long vertices go on with v_in from q_in [s].
        q_in, v_in: positions [m] and velocities [m/s] of vertices in W, three numbers each.
        extent_in: of all vertices of meshes.
        X_WR_in: of the rigid geometries, shape [num_rigid, 4, 4].
        meshes: of the parts, vertices, planes, fields and boxes are written.
        X_WG_out: of all geometries; the first are written.
    """
    for r in range(X_WR_in.shape[0]):
        for i in range(4):
            for j in range(4):
                X_WG_out[r, i, j] = X_WR_in[r, i, j]
    for k in range(parts.shape[0]):
        _put_mesh(parts[k], first_vertices[k], ahead, q_in, v_in, extent_in, meshes)


@device
def _put_mesh(
    part: Array, first_in: int, ahead: float, q_in: Array, v_in: Array, extent_in: Array, meshes: Meshes
) -> None:
    first, vertices = part["first_vertex"], meshes.vertices
    for v in range(part["num_vertices"]):
        for c in range(3):
            at = 3 * (first_in + v) + c
            vertices[first + v, c] = q_in[at] + ahead * v_in[at]
    for e in range(part["first_element"], part["first_element"] + part["num_elements"]):
        corners, planes = meshes.elements[e], meshes.planes[e]
        if part["is_volume"]:
            _set_tetrahedron(vertices, corners, extent_in, planes, meshes.fields[e])
        else:
            p = _point(vertices, corners[0])
            _set_plane(p, _point(vertices, corners[1]), _point(vertices, corners[2]), planes[0])
    for k in range(part["num_nodes"]):  # children stand behind their parents
        _refit(part["first_node"] + part["num_nodes"] - 1 - k, meshes)


@device
def _point(vertices: Array, v: int) -> Vector3:
    return vertices[v, 0], vertices[v, 1], vertices[v, 2]


@device
def _set_plane(a: Vector3, b: Vector3, c: Vector3, plane_out: Array) -> None:
    """Unit normal and offset of the plane through three points, seen counter-clockwise; zero if they are on a line."""
    n = cross(subtract(b, a), subtract(c, a))
    length = math.sqrt(dot(n, n))
    n = scaled(n, 1.0 / length if length > 0.0 else 0.0)
    plane_out[0], plane_out[1], plane_out[2], plane_out[3] = n[0], n[1], n[2], -dot(n, a)


@device
def _set_tetrahedron(vertices: Array, corners: Array, extent: Array, planes_out: Array, field_out: Array) -> None:
    """Planes of the faces and the field; of a tetrahedron without volume, or less, all is outside of its planes."""
    origin = _point(vertices, corners[0])
    u, v = subtract(_point(vertices, corners[1]), origin), subtract(_point(vertices, corners[2]), origin)
    w = subtract(_point(vertices, corners[3]), origin)
    volume = dot(u, cross(v, w))
    for f in range(4):
        a, b, c = corners[FACES[f, 0]], corners[FACES[f, 2]], corners[FACES[f, 1]]
        _set_plane(_point(vertices, a), _point(vertices, b), _point(vertices, c), planes_out[f])
        if not volume > 0.0:
            planes_out[f, 0], planes_out[f, 1], planes_out[f, 2], planes_out[f, 3] = 0.0, 0.0, 0.0, -1.0
    # The gradient g has g . u = e_1 - e_0 and so on.
    e, scale = extent[corners[0]], 1.0 / volume if volume > 0.0 else 0.0
    gu, gv, gw = cross(v, w), cross(w, u), cross(u, v)
    square, at_origin = 0.0, e
    for c in range(3):
        g = (extent[corners[1]] - e) * gu[c] + (extent[corners[2]] - e) * gv[c] + (extent[corners[3]] - e) * gw[c]
        field_out[c] = g * scale
        square += field_out[c] * field_out[c]
        at_origin -= field_out[c] * origin[c]
    field_out[3], field_out[4] = at_origin, math.sqrt(square)


@device
def _refit(node: int, meshes: Meshes) -> None:
    """The box of a node around its elements, or around the boxes of its children."""
    tree, boxes = meshes.tree, meshes.boxes
    for c in range(3):
        low, high = math.inf, -math.inf
        if tree[node, LEFT] == LEAF:
            for e in range(tree[node, RIGHT], tree[node, END]):
                for i in range(4):
                    v = meshes.elements[e, i]
                    if v >= 0:
                        low, high = min(low, meshes.vertices[v, c]), max(high, meshes.vertices[v, c])
        else:
            left, right = boxes[tree[node, LEFT]], boxes[tree[node, RIGHT]]
            low = min(left[c] - left[c + 3], right[c] - right[c + 3])
            high = max(left[c] + left[c + 3], right[c] + right[c + 3])
        boxes[node, c], boxes[node, c + 3] = 0.5 * (low + high), 0.5 * (high - low)
