"""Which elements of two geometries may meet, found by their trees, and remembered while the two hardly move.

Trees show which leaves overlap. Between geometries that move fast all elements of these are looked at, each time. Where
they have moved little since the last call, elements are listed that come nearer to each other than a slack: these are
all that can meet until a point of one geometry has moved by more than the slack, seen from the other. With poses R, p
in the frame of V, points of O within a distance r of Oo have moved by no more than

    |p - p_0| + |R - R_0|_F r                                                                                    (1)

and points of a mesh against the plane n . x + d = 0 of a half space by the same with n and d in place of R and p. As
elements are looked at in the order of the trees, faces are the same whether or not they were remembered.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.layout import Meshes
from merganser.geometry.hydroelastic.trees import box_across_plane, boxes_overlap
from merganser.geometry.proximity.mesh_distance import END, LEAF, LEFT, RIGHT
from merganser.geometry.proximity.vectors import Vector3

Array = NDArray[Any]

_MOTION_MARGIN = 1e-9  # of the bound of a motion
_AT_ITS_END = 1.3  # slacks that things have moved when a list ends that has served in three calls
_IN_ONE_CALL = 0.3  # slacks in one call, with which a list would


@device
def begin_call(buffers: Buffers) -> int:
    """Turns to the other half of the memory; returns how many pairs the last call has left."""
    counts = buffers.counts[0]
    num_known: int = counts["num_known"]
    counts["half"] = 1 - counts["half"]
    counts["num_known"], counts["wanted_pairs"], counts["wanted_elements"] = 0, 0, 0
    return num_known


@device
def recall(a: int, b: int, start: int, num_known: int, buffers: Buffers) -> int:
    """The place of a pair in the memory of the last call, searched from `start` on; -1 if it is not there."""
    known = buffers.known[1 - buffers.counts[0]["half"]]
    for k in range(num_known):
        at = start + k
        if at >= num_known:
            at -= num_known
        if known[at]["a"] == a and known[at]["b"] == b:
            return at
    return -1


@device
def motion_since(entry: Array, radius: float, buffers: Buffers) -> float:
    """How far points may have moved since an entry of the memory was written, bound (1) [m]."""
    place, before = buffers.place, entry["place"]
    turned, moved = 0.0, 0.0
    for i in range(9):
        turned += (place[i] - before[i]) ** 2
    for i in range(9, 12):
        moved += (place[i] - before[i]) ** 2
    return (math.sqrt(moved) + math.sqrt(turned) * radius) * (1.0 + _MOTION_MARGIN)


@device
def may_remember(entry: Array, motion: float, slack: float) -> bool:
    """Whether a list of elements that come nearer than the slack is likely to serve in several calls.

    It is if one such list has just come to its end, after some calls, or if there has been little motion in one call.
    """
    return motion <= (_AT_ITS_END if entry["slack"] > 0.0 else _IN_ONE_CALL) * slack


@device
def keep(before: Array, top: int, buffers: Buffers) -> int:
    """Takes a pair over from the memory of the last call, as it is; returns where the list of elements ends now."""
    counts, begin = buffers.counts[0], before["begin"]
    count = before["end"] - begin
    counts["wanted_pairs"] += 1
    counts["wanted_elements"] += count
    known, elements = buffers.known[counts["half"]], buffers.elements[counts["half"]]
    if counts["num_known"] == known.shape[0] or top + count > elements.shape[0]:
        return top
    old = buffers.elements[1 - counts["half"]]
    for k in range(count):
        elements[top + k, 0], elements[top + k, 1] = old[begin + k, 0], old[begin + k, 1]
    _write(before["a"], before["b"], before["slack"], before["place"], top, top + count, known[counts["num_known"]])
    counts["num_known"] += 1
    return top + count


@device
def remember(a: int, b: int, slack: float, begin: int, top: int, buffers: Buffers) -> int:
    """Adds a pair whose elements stand at the end of the list; returns where the list ends now."""
    counts = buffers.counts[0]
    known = buffers.known[counts["half"]]
    counts["wanted_pairs"] += 1
    if counts["num_known"] == known.shape[0]:
        return begin
    _write(a, b, slack, buffers.place, begin, top, known[counts["num_known"]])
    counts["num_known"] += 1
    return top


@device
def forget(buffers: Buffers) -> int:
    """Drops what this call has remembered, for which there are too few places; returns where lists end."""
    counts = buffers.counts[0]
    counts["num_known"] = 0
    counts["wanted_elements"] += buffers.elements.shape[1] + 1
    return 0


@device
def _write(a: int, b: int, slack: float, place: Array, begin: int, end: int, entry: Array) -> None:
    entry["a"], entry["b"], entry["begin"], entry["end"], entry["slack"] = a, b, begin, end, slack
    for i in range(12):
        entry["place"][i] = place[i]


@device
def gather_of_meshes(size: int, top: int, slack: float, meshes: Meshes, buffers: Buffers) -> tuple[int, int]:
    """Adds elements of two meshes that may meet to the list of this call.

    Args:
        size: pairs of nodes in `Buffers.stack` that are to be looked at.
        top: where the list ends.
        slack: how near to each other elements of the list come; if it is zero, the list has all elements of leaves
            that overlap.
        meshes: of both.
        buffers: with the pose.

    Returns:
        How many pairs of nodes are left for when the list has been emptied, and where it ends now.
    """
    tree, stack, elements = meshes.tree, buffers.stack, buffers.elements[buffers.counts[0]["half"]]
    while size > 0:
        v, o = stack[size - 1, 0], stack[size - 1, 1]
        if not boxes_overlap(meshes.boxes[v], meshes.boxes[o], slack, buffers.pose):
            size -= 1
            continue
        v_is_leaf, o_is_leaf = tree[v, LEFT] == LEAF, tree[o, LEFT] == LEAF
        if v_is_leaf and o_is_leaf:
            most = (tree[v, END] - tree[v, RIGHT]) * (tree[o, END] - tree[o, RIGHT])
            if top + most > elements.shape[0]:
                return size, top
            for f in range(tree[o, RIGHT], tree[o, END]):
                num_planes = _place_element(f, meshes, buffers) if slack > 0.0 else 0
                for e in range(tree[v, RIGHT], tree[v, END]):
                    if slack == 0.0 or not _are_apart(e, num_planes, slack, meshes, buffers.element):
                        elements[top, 0], elements[top, 1] = e, f
                        top += 1
            size -= 1
        elif o_is_leaf or (not v_is_leaf and _extent(meshes.boxes[v]) > _extent(meshes.boxes[o])):
            stack[size - 1, 0], stack[size - 1, 1] = tree[v, RIGHT], o
            stack[size, 0], stack[size, 1] = tree[v, LEFT], o
            size += 1
        else:
            stack[size - 1, 0], stack[size - 1, 1] = v, tree[o, RIGHT]
            stack[size, 0], stack[size, 1] = v, tree[o, LEFT]
            size += 1
    return 0, top


@device
def gather_across_plane(
    size: int, top: int, n: Vector3, d: Any, slack: float, is_below_wanted: bool, meshes: Meshes, buffers: Buffers
) -> tuple[int, int]:
    """Adds elements of a mesh that a plane may cut, and those below it if these are wanted, as gather_of_meshes()."""
    tree, stack, elements = meshes.tree, buffers.stack, buffers.elements[buffers.counts[0]["half"]]
    lowest = -1 if is_below_wanted else 0
    while size > 0:
        v = stack[size - 1, 0]
        side = box_across_plane(meshes.boxes[v], n, d, slack)
        if side > 0 or side < lowest:
            size -= 1
            continue
        if tree[v, LEFT] != LEAF:
            stack[size - 1, 0], stack[size, 0] = tree[v, RIGHT], tree[v, LEFT]
            size += 1
            continue
        if top + tree[v, END] - tree[v, RIGHT] > elements.shape[0]:
            return size, top
        for e in range(tree[v, RIGHT], tree[v, END]):
            side = _side_of_plane(e, n, d, slack, meshes)
            if lowest <= side <= 0:
                elements[top, 0], elements[top, 1] = e, e
                top += 1
        size -= 1
    return 0, top


@device
def _place_element(f: int, meshes: Meshes, buffers: Buffers) -> int:
    """Puts corners and planes of an element of O into `Buffers.element`, in V; returns how many planes it has."""
    pose, element = buffers.pose, buffers.element
    num_planes = 4 if meshes.elements[f, 3] >= 0 else 1
    for i in range(4):
        p = meshes.vertices[meshes.elements[f, i] if meshes.elements[f, i] >= 0 else meshes.elements[f, 0]]
        for c in range(3):
            row = pose[3 * c : 3 * c + 3]
            element[i, c] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + pose[9 + c]
    for k in range(num_planes):
        plane, offset = meshes.planes[f, k], meshes.planes[f, k, 3]
        for c in range(3):
            normal = pose[3 * c] * plane[0] + pose[3 * c + 1] * plane[1] + pose[3 * c + 2] * plane[2]
            element[4 + k, c] = normal
            offset -= normal * pose[9 + c]
        element[4 + k, 3] = offset
    return num_planes


@device
def _are_apart(e: int, num_planes: int, slack: float, meshes: Meshes, element: Array) -> bool:
    """Whether a plane of tetrahedron e, or of the placed element, has the other one on its outer side, by the slack.

    A triangle's plane has two such sides.
    """
    for k in range(4):
        if _highest(meshes.planes[e, k], element[0], element[1], element[2], element[3]) < -slack:
            return True
    vertices, corners = meshes.vertices, meshes.elements[e]
    p, q, r, s = vertices[corners[0]], vertices[corners[1]], vertices[corners[2]], vertices[corners[3]]
    for k in range(num_planes):
        if _highest(element[4 + k], p, q, r, s) < -slack:
            return True
    return num_planes == 1 and _lowest(element[4], p, q, r, s) > slack


@device
def _height(plane: Array, p: Array) -> float:
    height: float = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] + plane[3]
    return height


@device
def _highest(plane: Array, p: Array, q: Array, r: Array, s: Array) -> float:
    """The largest distance of four points from a plane."""
    return max(max(_height(plane, p), _height(plane, q)), max(_height(plane, r), _height(plane, s)))


@device
def _lowest(plane: Array, p: Array, q: Array, r: Array, s: Array) -> float:
    """The smallest distance of four points from a plane."""
    return min(min(_height(plane, p), _height(plane, q)), min(_height(plane, r), _height(plane, s)))


@device
def _side_of_plane(e: int, n: Vector3, d: Any, slack: float, meshes: Meshes) -> int:
    """As box_across_plane(), of an element."""
    low, high = math.inf, -math.inf
    for i in range(4):
        v = meshes.elements[e, i]
        if v >= 0:
            p = meshes.vertices[v]
            height = n[0].real * p[0] + n[1].real * p[1] + n[2].real * p[2] + d.real
            low, high = min(low, height), max(high, height)
    if low > slack:
        return 1
    return -1 if high < -slack else 0


@device
def _extent(box: Array) -> float:
    """How large a box is."""
    return box[3] * box[3] + box[4] * box[4] + box[5] * box[5]
