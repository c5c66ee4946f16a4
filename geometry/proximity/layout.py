"""The records on which the kernels of this package work.

A *core* is what remains of a shape without its rounding: a sphere is a point with a rounding radius, a capsule a
segment with one; all others have none. Frame A is the frame of the first geometry of a pair, B that of the second.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.by_value import of_scalar
from merganser.framework.native.memory.records_of_arrays import FLOAT, INTEGER, ArrayOf, RecordOf
from merganser.framework.native.memory.simd import varying

# Kinds of core, and what their measures size_0, size_1, size_2 mean.
POINT = 0  # nothing
SEGMENT = 1  # size_2: half length along z
BOX = 2  # half extents
CYLINDER = 3  # size_0: radius; size_2: half length along z
ELLIPSOID = 4  # semi-axes
CONE = 5  # size_0, size_1: semi-axes of the base at z = size_2; the tip is at the origin
HULL = 6  # vertices in the hulls
HALF_SPACE = 7  # z <= 0
HEIGHT_FIELD = 8  # size_0, size_1: extents of a cell; size_2: z of the bottom; num_faces rows of num_edges heights
TERRAIN_MESH = 9  # size_0, size_1: size of a triangle; size_2: 1 if it is closed, else 0; see terrain/meshes.py

TERRAIN = "terrain"  # what functions are for that only the last two need

# Status of a pair.
SOLVED = 0
INEXACT = 1  # an upper bound of the depth, not known to be the least
UNBOUNDED = 2  # two half spaces
UNSOLVED = -1  # what has been computed so far is only where to start from

MAX_VERTICES = 320  # of the expanding polytope
MAX_FACES = 2 * MAX_VERTICES + 64
FROZEN = -1  # in place of a piece: a point
MAX_BUNDLE = 8  # pieces of A - B that refine.py looks at
MAX_MINIMA = 16  # of one pair that are kept apart
MAX_CONTACTS = 8  # of one pair
MAX_TOUCHES = 256  # places at which a body may touch a height field


def _records(fields: list[Any]) -> np.dtype[Any]:
    """The dtype of records whose fields are attributes in Python too, as they are in compiled code."""
    return np.dtype((np.record, fields))


geometry_dtype = _records(
    [
        ("kind", np.int64),
        ("radius", np.float64),  # rounding radius
        ("size_0", np.float64),
        ("size_1", np.float64),
        ("size_2", np.float64),
        ("center_0", np.float64),  # center of the bounding box in G
        ("center_1", np.float64),
        ("center_2", np.float64),
        ("half_0", np.float64),  # half extents of the bounding box along the axes of G
        ("half_1", np.float64),
        ("half_2", np.float64),
        ("bound", np.float64),  # radius of a ball around the center; infinite for half spaces
        ("first_vertex", np.int64),
        ("num_vertices", np.int64),
        ("first_face", np.int64),
        ("num_faces", np.int64),
        ("first_edge", np.int64),
        ("num_edges", np.int64),
        ("first_node", np.int64),  # of a terrain mesh
    ]
)

distance_dtype = _records(
    [
        ("distance", np.float64),
        ("nhat_BA_W", np.float64, 3),
        ("p_WCa", np.float64, 3),
        ("p_WCb", np.float64, 3),
        ("p_ACa", np.float64, 3),
        ("p_BCb", np.float64, 3),
        ("row_a", np.int64),  # of the geometries
        ("row_b", np.int64),
        ("status", np.int64),
    ]
)

contact_dtype = _records(
    [
        ("pair", np.int64),
        ("p_WC", np.float64, 3),
        ("nhat_BA_W", np.float64, 3),
        ("depth", np.float64),
        ("share", np.float64),  # of all that the pair can carry, see manifolds.py
    ]
)
varying(contact_dtype)

MAX_CORNERS = 32  # of a face
MAX_CLIPPED = 2 * MAX_CORNERS  # while it is clipped: each edge of the other face adds one at most

work_dtype = _records(
    [
        ("X_AB", np.float64, 12),  # R_AB row by row, then p_AB
        ("X_BA", np.float64, 12),
        # A solution, in frame A: nhat (outward of A - B), value h(nhat), witness points on the cores.
        ("normal", np.float64, 3),
        ("value", np.float64),
        ("p_ACa", np.float64, 3),
        ("p_ACb", np.float64, 3),
        # The bundle of refine.py.
        ("bundle", np.int64),  # how many pieces are in it
        ("piece_a", np.int64, MAX_BUNDLE),
        ("piece_b", np.int64, MAX_BUNDLE),
        ("cut_a", np.float64, (MAX_BUNDLE, 3)),
        ("cut_b", np.float64, (MAX_BUNDLE, 3)),
        ("gradient", np.float64, (MAX_BUNDLE, 3)),
        ("weight", np.float64, MAX_BUNDLE),
        # The expanding polytope.
        ("vertex", np.float64, (MAX_VERTICES, 3)),
        # Outward normal m, its product with points of the face, and 1 / |m|.
        ("face_plane", np.float64, (MAX_FACES, 5)),
        # The distance of the plane, squared with its sign; infinite if the face needs no more care.
        ("face_key", np.float64, MAX_FACES),
        ("face_vertex", np.int64, (MAX_FACES, 3)),
        ("horizon", np.int64, (MAX_FACES, 2)),
        ("vertex_piece_a", np.int64, MAX_VERTICES),
        ("vertex_piece_b", np.int64, MAX_VERTICES),
        ("minimum", np.float64, (MAX_MINIMA, 3)),
        ("minimum_count", np.int64, MAX_MINIMA),
        ("minimum_piece_a", np.int64, (MAX_MINIMA, MAX_BUNDLE)),
        ("minimum_piece_b", np.int64, (MAX_MINIMA, MAX_BUNDLE)),
        # Faces to clip.
        ("polygon_a", np.float64, (MAX_CLIPPED, 3)),
        ("polygon_b", np.float64, (MAX_CLIPPED, 3)),
        ("clipped", np.float64, (MAX_CLIPPED, 3)),
        ("depth", np.float64, MAX_CLIPPED),
        ("share", np.float64, MAX_CLIPPED),
        ("area_share", np.float64, MAX_CLIPPED),
        ("waiting", np.float64, MAX_CLIPPED),  # depths of those that have not handed on, see shares.py
        ("spacing", np.float64, MAX_CLIPPED),
        # A body G on a height field F, all in F: see terrain/touches.py.
        ("X_FG", np.float64, 12),
        ("down", np.float64, 3),  # the normal for which the three below are known
        ("lowest", np.float64, 3),
        ("num_lowest", np.int64),  # corners of what is lowest along it, in polygon_b; -1 if they are not known
        ("num_touches", np.int64),
        ("touch_point", np.float64, (MAX_TOUCHES, 3)),
        ("touch_normal", np.float64, (MAX_TOUCHES, 3)),
        ("touch_depth", np.float64, MAX_TOUCHES),
        ("touch_group", np.int64, MAX_TOUCHES),
        ("field_point", np.float64, (MAX_CLIPPED, 3)),
        ("field_normal", np.float64, (MAX_CLIPPED, 3)),
        ("field_depth", np.float64, MAX_CLIPPED),
        ("field_share", np.float64, MAX_CLIPPED),
    ]
)

_OF_POINTS = (
    "X_AB", "X_BA", "normal", "value", "p_ACa", "p_ACb",
    "polygon_a", "polygon_b", "clipped", "depth", "share", "area_share", "waiting", "spacing",
)  # fmt: skip


# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
Geometries = Annotated[NDArray[Any], ArrayOf(geometry_dtype)]
Contacts = Annotated[NDArray[Any], ArrayOf(contact_dtype)]
SearchWork = Annotated[NDArray[Any], ArrayOf(work_dtype)]
Shape = Annotated[Any, RecordOf(geometry_dtype)]
ShapeWork = Annotated[Any, RecordOf(work_dtype)]
Pose = Annotated[NDArray[Any], ArrayOf(FLOAT)]  # a rotation row by row, then a position, shape [12]


class Hulls(NamedTuple):
    """Convex hulls, each one after the other; a geometry's record says where its own begins.

    Attributes:
        vertices: in the frame of the geometry [m], shape [num_vertices, 3].
        neighbor_start: where the neighbors of each vertex begin, shape [num_vertices + 1].
        neighbors: vertices that share an edge with a vertex, counted within their hull.
        planes: outward unit normal and distance from the origin of each face, shape [num_faces, 4].
        corner_start: where the corners of each face begin, shape [num_faces + 1].
        corners: vertices around each face, counter-clockwise seen from outside, counted within their hull.
        edges: of each edge both vertices, counted within their hull, and the rows of `planes` of both faces: the one
            to the left of the edge, seen from outside, and the one to the right; shape [num_edges, 4].
        heights: of all height fields, row by row [m].
        nodes: trees of boxes of all terrain meshes, see terrain/meshes.py, shape [num_nodes, 9].
        point: the record of a point.
    """

    vertices: Annotated[NDArray[np.float64], ArrayOf(FLOAT, 2)]
    neighbor_start: Annotated[NDArray[np.int64], ArrayOf(INTEGER)]
    neighbors: Annotated[NDArray[np.int64], ArrayOf(INTEGER)]
    planes: Annotated[NDArray[np.float64], ArrayOf(FLOAT, 2)]
    corner_start: Annotated[NDArray[np.int64], ArrayOf(INTEGER)]
    corners: Annotated[NDArray[np.int64], ArrayOf(INTEGER)]
    edges: Annotated[NDArray[np.int64], ArrayOf(INTEGER, 2)]
    heights: Annotated[NDArray[np.float64], ArrayOf(FLOAT)]
    nodes: Annotated[NDArray[np.float64], ArrayOf(FLOAT, 2)]
    point: Geometries


def points_work_dtype(scalar: type[Any]) -> np.dtype[Any]:
    """What contact points of a pair take of work_dtype once its solution is known."""
    return of_scalar(work_dtype, scalar, _OF_POINTS)
