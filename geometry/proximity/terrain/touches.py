"""Where a convex body G touches a surface of triangles, feature by feature.

A surface that is not convex touches a convex body wherever their distance has a local minimum. There the normal n, out
of the surface, is one of the surface (in its Voronoi region) and -n is one of the body:

    a triangle      n is its own                              the lowest points of G along n lie over it         (1)
    a convex edge   across it, between those of both faces    the point of G nearest to the edge is beside it    (2)
    a peak          in the cone that its faces leave          the vertex lies in G, or is nearest to it          (3)

Concave edges and valleys touch nothing, as one of their faces comes first, nor do edges between faces in one plane:
what rolls over them does not feel them. Each place where both touch is a *touch*: a point midway between the
surfaces, n and a depth. Touches whose normals differ by less than 2.6 degrees form a group, which together is worth
what a pair is (shares.py): what stands on a plane of many triangles stands on it as on a half space.

What is round fills the valley between two of its groups more and more until they are one, when one of them comes to
the bottom of the valley. Let x_i be the lowest points of the body along normals n_i, and r the radius of the ball for
which x_i - x_j = r (n_j - n_i). With the height h_i = r - d_i of its middle over touch i, d_i deep, and t_ij from there
to the line in which the planes of i and j meet, the ball is a_ij less deep there, e_ij deep, and group i is worth s_i:

    a_ij = sqrt(h_i^2 + t_ij^2) - h_i,   e_ij = max(0, d_i - a_ij)
    s_i = 1 / (1 + sum_j (a_ji / a_ij) e_ij / (e_ij + a_ij + a_ji))                      (4)

That is 1 for what does not reach the bottom, and for boxes and hulls. Of a ball each touch is a group.

A corner k of a group's polygon leaves to the deepest touch, 0, what it does not keep of its share, the more the less
deep it is and the more its normal leans, so that it need not keep much where a surface is curved and it comes or goes:

    f_k = fade(2 sin(n_0, n_k) (d_0 - d_k) / (sin(theta_0) d_0)),  with fade and theta_0 of shares.py            (5)

and, where touch 0 lies inside of the polygon, times fade(tan(theta_0k) / sin(theta_0)), by the drop from 0 to k.

All is in the frame F of the surface; X_FG of the work record says where the body is.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Integers
from merganser.geometry.proximity.features import face_of, has_line_only, line_of, support_point, to_frame_A
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    MAX_CLIPPED,
    POINT,
    Hulls,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.mesh_distance import nearest_on_triangle
from merganser.geometry.proximity.points import point_to_core
from merganser.geometry.proximity.search import search
from merganser.geometry.proximity.shares import (
    ALIGNED,
    NO_SHARE,
    STEEP,
    corner,
    fade,
    keep_deep,
    set_corner,
    set_shares,
)
from merganser.geometry.proximity.vectors import (
    Vector3,
    add,
    cross,
    dot,
    negated,
    norm,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    unit,
)

SHARP = 1e-9  # sine of the angle from which on an edge or a peak is one
_SAME = 1e-9  # of a cell: touches so near to each other, with one normal, are one
_SAME_NORMAL = 1e-10
_PARALLEL = 0.02  # sine of the angle between lines that run side by side
IN_PLACE = -2  # group of a touch that took the place of a shallower one, as there were too many
_FLAT = 1e-6  # of the size of a body: where it is not as deep, nothing fades faster
_MOST_STEPS = 60
_SAME_PLACE = 1e-13  # of the size: points so near to each other are one
_BESIDE = 1e-9  # of a line's length: rounding where it meets a triangle
_SHORTEST = 1e-13  # share of an edge that is over a face


@device
def lowest_point(g: Shape, hulls: Hulls, work: ShapeWork, n: Vector3) -> Vector3:
    """The point of the core of G that is lowest along n."""
    X = work.X_FG
    return add(rotated(X, support_point(g, hulls, negated(rotated_back(X, n)))), (X[9], X[10], X[11]))


@device
def look_down(g: Shape, hulls: Hulls, work: ShapeWork, n: Vector3) -> Vector3:
    """Makes n the direction for which `lowest` of work is known; returns it."""
    if not (work.down[0] == n[0] and work.down[1] == n[1] and work.down[2] == n[2]):
        p = lowest_point(g, hulls, work, n)
        for c in range(3):
            work.down[c], work.lowest[c] = n[c], p[c]
        work.num_lowest = -1
    return work.lowest[0], work.lowest[1], work.lowest[2]


@device
def set_lowest(g: Shape, hulls: Hulls, work: ShapeWork, n: Vector3) -> int:
    """Writes the corners of the face, line or point of the core that is lowest along n into `polygon_b`, in F.

    Returns:
        How many there are. Three or more are counter-clockwise seen from outside of G.
    """
    p = look_down(g, hulls, work, n)
    if work.num_lowest >= 0:
        return int(work.num_lowest)
    d = negated(rotated_back(work.X_FG, n))
    count, normal = face_of(g, hulls, d, work.polygon_b)
    aligned = dot(normal, d) if count > 0 else -1.0
    if has_line_only(g, aligned):
        count = line_of(g, hulls, d, work.polygon_b)
    to_frame_A(work.X_FG, work.polygon_b, count)
    least = math.inf
    for i in range(count):
        least = min(least, dot(n, corner(work.polygon_b, i)))
    if count == 0 or (g.kind == HULL and least - dot(n, p) > _SAME_PLACE * g.bound):
        set_corner(work.polygon_b, 0, p)  # of a hull, the face nearest to n need not have the lowest point
        count = 1
    work.num_lowest = count
    return count


@device
def way_through(
    g: Shape, hulls: Hulls, work: ShapeWork, x: Vector3, corners: tuple[Vector3, Vector3, Vector3], m: Vector3,
    n: Vector3, limit: float, is_edge: bool,
) -> float:  # fmt: skip
    """How far X, a point of G, is from a triangle through which G may have come to X; or the limit.

    Upwards, along z, if the triangle is above X. And to S, the nearest point of one of another normal m than n, if X is
    among the lowest points along m, or if G is around S and X not below an edge, on whose own faces it is so as well.
    """
    a, b, c = corners
    s = nearest_on_triangle(a, b, c, x)[1]
    away = norm(subtract(s, x))
    if away >= limit:
        return limit
    if dot(m, n) <= 1.0 - SHARP:
        if dot(m, subtract(x, lowest_point(g, hulls, work, m))) + g.radius <= limit:
            return away
        if not is_edge and distance_to_body(g, hulls, work, s)[0] <= g.radius:
            return away
    if m[2] > 0.0:
        up = dot(m, subtract(a, x)) / m[2]
        y = x[0], x[1], x[2] + up
        beside = subtract(nearest_on_triangle(a, b, c, y)[1], y)
        if 0.0 < up < limit and dot(beside, beside) <= (_BESIDE * up) ** 2:
            return up
    return limit


# ---------------------------------------------------------------------- touches


@device
def add_touch(work: ShapeWork, p: Vector3, n: Vector3, depth: float, size: float) -> None:
    """Adds a touch, unless it is known; of too many the shallowest is dropped.

    Args:
        work: with those that are known.
        p: midway between the surfaces.
        n: out of the surface.
        depth: of the overlap.
        size: of the triangles around.
    """
    shallowest = 0
    for k in range(work.num_touches):
        away = subtract(p, corner(work.touch_point, k))
        if dot(away, away) <= (_SAME * size) ** 2 and dot(n, corner(work.touch_normal, k)) > 1.0 - _SAME_NORMAL:
            work.touch_depth[k] = max(work.touch_depth[k], depth)
            return
        if work.touch_depth[k] < work.touch_depth[shallowest]:
            shallowest = k
    k = work.num_touches
    if k < work.touch_depth.shape[0]:
        work.num_touches = k + 1
        work.touch_group[k] = -1
    elif depth > work.touch_depth[shallowest]:
        k = shallowest
        work.touch_group[k] = IN_PLACE
    else:
        return
    set_corner(work.touch_point, k, p)
    set_corner(work.touch_normal, k, n)
    work.touch_depth[k] = depth


@device
def cut_edge(g: Shape, work: ShapeWork, p: Vector3, q: Vector3, n: Vector3, reach: float, size: float) -> None:
    """Adds the touches of an edge from P to Q with what is lowest along n, a face or a line in `polygon_b`.

    An edge below a face touches it where it comes in and where it goes out; one that crosses a line, there.
    """
    count, edge = work.num_lowest, subtract(q, p)
    first = corner(work.polygon_b, 0)
    if count == 2:
        last, across = corner(work.polygon_b, 1), cross(n, edge)
        at_first, at_last = dot(across, subtract(first, p)), dot(across, subtract(last, p))
        if at_first * at_last < 0.0:
            y = sum_scaled(first, subtract(last, first), at_first / (at_first - at_last))
            along, height = dot(subtract(y, p), edge), dot(n, subtract(y, p))
            if 0.0 <= along <= dot(edge, edge) and g.radius - height >= -reach:
                add_touch(work, sum_scaled(y, n, -0.5 * (height + g.radius)), n, g.radius - height, size)
        return
    out = unit(cross(subtract(corner(work.polygon_b, 1), first), subtract(corner(work.polygon_b, 2), first)))
    if -dot(out, n) < ALIGNED:
        return
    start, end = 0.0, 1.0
    for i in range(count):
        w = corner(work.polygon_b, i)
        inward = cross(out, subtract(corner(work.polygon_b, (i + 1) % count), w))
        at_p, at_q = dot(inward, subtract(p, w)), dot(inward, subtract(q, w))
        if at_p < 0.0 and at_q < 0.0:
            return
        if at_p < 0.0:
            start = max(start, at_p / (at_p - at_q))
        elif at_q < 0.0:
            end = min(end, at_p / (at_p - at_q))
    if end - start <= _SHORTEST:
        return
    for turn in range(2):
        x = sum_scaled(p, edge, start if turn == 0 else end)
        height = dot(out, subtract(first, x)) / dot(out, n)
        if g.radius - height >= -reach:
            add_touch(work, sum_scaled(x, n, 0.5 * (height - g.radius)), n, g.radius - height, size)


@device
def touch_edge(
    g: Shape, hulls: Hulls, work: ShapeWork, p: Vector3, q: Vector3, n1: Vector3, n2: Vector3, reach: float, size: float
) -> tuple[bool, Vector3, Vector3]:
    """Looks for the normal of equation (2): across the edge from P to Q, between the normals of its faces.

    Along it G is the highest above the edge. Of the lowest points x(n) of G, t(n) . (x(n) - p) is the derivative of
    that height by the angle of n, with t across n and the edge, towards n2; at the normal it changes its sign.

    Returns:
        Whether there is such a normal, it, and the point of the core of G nearest to the line.
    """
    nowhere, edge, X = (False, n1, p), subtract(q, p), work.X_FG
    length = norm(edge)
    to_center = subtract(add(rotated(X, (g.center_0, g.center_1, g.center_2)), (X[9], X[10], X[11])), p)
    beyond = abs(dot(to_center, edge) - 0.5 * length * length)  # the middle of the edge, times its length
    if beyond > length * ((0.5 + SHARP) * length + (1.0 + SHARP) * g.bound):
        return nowhere
    middle = unit(add(n1, n2))
    z = lowest_point(g, hulls, work, middle)
    at_middle = dot(middle, subtract(z, p))
    if at_middle - g.radius > reach:
        return nowhere
    t1 = unit(sum_scaled(n2, n1, -dot(n1, n2)))
    x, y = lowest_point(g, hulls, work, n1), lowest_point(g, hulls, work, n2)
    low, high = 0.0, math.atan2(dot(n2, t1), dot(n2, n1))
    t2 = sum_scaled(scaled(t1, math.cos(high)), n1, -math.sin(high))
    height_x, height_y = dot(n1, subtract(x, p)), dot(n2, subtract(y, p))
    is_beyond_1 = height_x >= at_middle and dot(t1, subtract(x, p)) <= 0.0
    is_beyond_2 = height_y >= at_middle and dot(t2, subtract(y, p)) >= 0.0
    if is_beyond_1 or is_beyond_2:
        return nowhere
    n, little, at_x, at_y = middle, _SAME_PLACE * (size + g.bound), 0.0, 0.0
    for _ in range(_MOST_STEPS):
        # The normal of the chord from x to y; of one point, towards it.
        u, v = dot(n1, subtract(y, x)), dot(t1, subtract(y, x))
        angle = math.atan2(u, -v)
        if u * u + v * v <= little * little:
            u, v = dot(n1, subtract(x, p)), dot(t1, subtract(x, p))
            angle = math.atan2(v, u)
        if not low < angle < high:
            angle = 0.5 * (low + high)
        c, s = math.cos(angle), math.sin(angle)
        n, t = sum_scaled(scaled(n1, c), t1, s), sum_scaled(scaled(t1, c), n1, -s)
        z = lowest_point(g, hulls, work, n)
        at_x, at_y, at_z = dot(t, subtract(x, p)), dot(t, subtract(y, p)), dot(t, subtract(z, p))
        gain, height = max(dot(n, x), dot(n, y)) - dot(n, z), dot(n, subtract(z, p))
        if gain <= little and at_x >= -little and at_y <= little:
            break
        # Where faces stand steeply, t . (x - p) may turn again far off: the height along n says on which side it is.
        if (at_z > 0.0 and height >= height_x) or (at_z <= 0.0 and height < height_y):
            low, x, height_x = angle, z, height
        else:
            high, y, height_y = angle, z, height
        if high - low <= 1e-15:
            break
    at_x = max(at_x, 0.0)
    share = at_x / (at_x - min(at_y, 0.0)) if at_x - min(at_y, 0.0) > 0.0 else 0.0
    return True, n, sum_scaled(x, subtract(y, x), share)


@device
def add_edge(
    g: Shape, hulls: Hulls, work: ShapeWork, p: Vector3, q: Vector3, n: Vector3, x: Vector3, reach: float, size: float
) -> None:
    """Adds the touches of an edge from P to Q along its normal n, where x is the nearest point of the core of G."""
    edge, count = subtract(q, p), set_lowest(g, hulls, work, n)
    square = dot(edge, edge)
    if count >= 3:
        first = corner(work.polygon_b, 0)
        out = unit(cross(subtract(corner(work.polygon_b, 1), first), subtract(corner(work.polygon_b, 2), first)))
        if -dot(out, n) >= ALIGNED:
            cut_edge(g, work, p, q, n, reach, size)
    if count == 2:
        first, last = corner(work.polygon_b, 0), corner(work.polygon_b, 1)
        line = subtract(last, first)
        turn = cross(line, edge)
        if dot(turn, turn) <= _PARALLEL * _PARALLEL * square * dot(line, line):
            at_first, at_last = dot(subtract(first, p), edge) / square, dot(subtract(last, p), edge) / square
            low, high = max(0.0, min(at_first, at_last)), min(1.0, max(at_first, at_last))
            if high > low:
                for end in range(2):
                    y = sum_scaled(first, line, ((low if end == 0 else high) - at_first) / (at_last - at_first))
                    height = dot(n, subtract(y, p))
                    if g.radius - height >= -reach:
                        add_touch(work, sum_scaled(y, n, -0.5 * (height + g.radius)), n, g.radius - height, size)
    along, height = dot(subtract(x, p), edge) / square, dot(n, subtract(x, p))
    if -SHARP <= along <= 1.0 + SHARP and g.radius - height >= -reach:
        add_touch(work, sum_scaled(x, n, -0.5 * (height + g.radius)), n, g.radius - height, size)


@device
def distance_to_body(g: Shape, hulls: Hulls, work: ShapeWork, v: Vector3) -> tuple[float, Vector3]:
    """How far a point is from the core of G, negative inside, and the unit vector out of the point into G."""
    X = work.X_FG
    to_G = subtract(v, (X[9], X[10], X[11]))
    if g.kind <= ELLIPSOID:
        distance, m, _ = point_to_core(g, rotated_back(X, to_G))
        return distance, negated(rotated(X, m))
    for i in range(9):
        work.X_AB[i] = X[i]
    work.X_AB[9], work.X_AB[10], work.X_AB[11] = -to_G[0], -to_G[1], -to_G[2]
    search(hulls.point[0], g, hulls, work)
    return -work.value, (work.normal[0], work.normal[1], work.normal[2])


# ---------------------------------------------------------------------- groups


@device
def share_touches(g: Shape, work: ShapeWork, margin: float) -> int:
    """Gives all touches their shares, group by group, and keeps those that count in `field_..` of work.

    A group rests on the corners of the polygon around its touches, and on its deepest touch, which may be inside.

    Returns:
        How many are kept.
    """
    total, num_groups = 0, _form_groups(g, work, margin)
    most = 8 if g.kind == CYLINDER or g.kind == CONE else 4
    for group in range(num_groups):
        n, rest = corner(work.touch_normal, group), 0.0
        worth = 1.0 if g.kind == BOX or g.kind == HULL else _worth(work, group, num_groups)
        count, is_inner = _set_polygon(work, group, n)
        set_shares(work, count, n, n, STEEP)
        for i in range(count):
            part = _kept_part(work, group, _touch_at(work, group, corner(work.clipped, i)), is_inner, g.bound)
            rest += work.share[i] * (1.0 - part)
            work.share[i] *= part
        count = keep_deep(work, count, margin, most)
        for i in range(count + 1):
            if total == work.field_depth.shape[0]:
                return total
            if i < count:
                p = corner(work.clipped, i)
                k = _touch_at(work, group, p)
                _keep_touch(work, total, k, p, work.depth[i], (work.share[i] + (rest if k == group else 0.0)) * worth)
                rest, total = 0.0 if k == group else rest, total + 1
            elif rest > NO_SHARE:
                p = corner(work.touch_point, group)
                _keep_touch(work, total, group, p, work.touch_depth[group], rest * worth)
                total += 1
    for k in range(total):
        set_corner(work.clipped, k, corner(work.field_point, k))
        work.depth[k], work.share[k] = work.field_depth[k], work.field_share[k]
    return total


@device
def _form_groups(g: Shape, work: ShapeWork, margin: float) -> int:
    """Numbers groups from that of the deepest touch on, which comes to the place of that number; how many there are."""
    for k in range(work.num_touches):
        work.touch_group[k] = -1
    for group in range(work.num_touches):
        seed = -1
        for k in range(group, work.num_touches):
            if work.touch_group[k] < 0 and (seed < 0 or work.touch_depth[k] > work.touch_depth[seed]):
                seed = k
        if seed < 0 or work.touch_depth[seed] < -margin:
            return group
        _swap_touches(work, group, seed)
        n = corner(work.touch_normal, group)
        for k in range(group, work.num_touches):
            is_aligned = g.kind != POINT and dot(corner(work.touch_normal, k), n) >= ALIGNED
            if work.touch_group[k] < 0 and (k == group or is_aligned):
                work.touch_group[k] = group
    return int(work.num_touches)


@device
def _swap_touches(work: ShapeWork, i: int, j: int) -> None:
    p, q = corner(work.touch_point, i), corner(work.touch_point, j)
    n, m = corner(work.touch_normal, i), corner(work.touch_normal, j)
    set_corner(work.touch_point, i, q)
    set_corner(work.touch_point, j, p)
    set_corner(work.touch_normal, i, m)
    set_corner(work.touch_normal, j, n)
    depth, group = work.touch_depth[i], work.touch_group[i]
    work.touch_depth[i], work.touch_group[i] = work.touch_depth[j], work.touch_group[j]
    work.touch_depth[j], work.touch_group[j] = depth, group


@device
def _worth(work: ShapeWork, i: int, num_groups: int) -> float:
    """s_i of equation (4)."""
    others = 0.0
    for j in range(num_groups):
        a_i, a_j = _rise(work, i, j), _rise(work, j, i)
        e = min(work.touch_depth[i] - a_i, work.touch_depth[j] - a_j)
        if e > 0.0:
            others += (a_j / a_i if a_i > 0.0 else math.inf if a_j > 0.0 else 1.0) * e / (e + a_i + a_j)
    return 1.0 / (1.0 + others)


@device
def _rise(work: ShapeWork, i: int, j: int) -> float:
    """a_ij of equation (4); infinite where there is no valley between i and j."""
    n_i, n_j, d_i, d_j = (
        corner(work.touch_normal, i), corner(work.touch_normal, j), work.touch_depth[i], work.touch_depth[j]
    )  # fmt: skip
    sine, turn = norm(cross(n_i, n_j)), subtract(n_i, n_j)
    if not sine > 0.0:
        return math.inf
    p_ji = subtract(corner(work.touch_point, i), corner(work.touch_point, j))
    half = sum_scaled(scaled(n_i, 0.5 * d_i), n_j, -0.5 * d_j)
    height = -dot(subtract(p_ji, half), turn) / dot(turn, turn) - d_i
    if not height > 0.0:
        return math.inf
    t = dot(n_j, add(p_ji, half)) / sine
    return t * t / (math.sqrt(height * height + t * t) + height)


@device
def _keep_touch(work: ShapeWork, i: int, k: int, p: Vector3, depth: float, share: float) -> None:
    set_corner(work.field_point, i, p)
    set_corner(work.field_normal, i, corner(work.touch_normal, k))
    work.field_depth[i], work.field_share[i] = depth, share


@device
def _touch_at(work: ShapeWork, group: int, p: Vector3) -> int:
    """The touch of a group at a place."""
    for k in range(work.num_touches):
        away = subtract(corner(work.touch_point, k), p)
        if work.touch_group[k] == group and dot(away, away) == 0.0:
            return k
    return 0


@device
def _kept_part(work: ShapeWork, group: int, k: int, is_inner: bool, size: float) -> float:
    """f_k of equation (5), for a touch k of a group, whose deepest one is inside of its polygon or not."""
    drop = work.touch_depth[group] - work.touch_depth[k]
    turn = cross(corner(work.touch_normal, group), corner(work.touch_normal, k))
    rise = 2.0 * drop / (STEEP * max(work.touch_depth[group], _FLAT * size))
    part = fade(dot(turn, turn) * rise * rise)
    away = subtract(corner(work.touch_point, k), corner(work.touch_point, group))
    return part * fade(drop * drop / (dot(away, away) * STEEP * STEEP)) if is_inner and drop > 0.0 else part


@device
def _set_polygon(work: ShapeWork, group: int, n: Vector3) -> tuple[int, bool]:
    """Writes the convex polygon around the touches of a group, with normals near n, into `clipped` and `depth` of work.

    Andrew's monotone chain (1979), with plane coordinates in `vertex` of work, which nothing else needs now.

    Returns:
        How many corners it has, and whether the deepest touch is inside.
    """
    e1, e2 = tangents(n)
    order, chain, flat, count = work.vertex_piece_a, work.vertex_piece_b, work.vertex, 0
    size = 0.0
    for k in range(work.num_touches):
        if work.touch_group[k] != group:
            continue
        p = corner(work.touch_point, k)
        flat[k, 0], flat[k, 1] = dot(e1, p), dot(e2, p)
        i = count
        while i > 0 and _is_before(flat[k, 0], flat[k, 1], flat[order[i - 1], 0], flat[order[i - 1], 1]):
            order[i] = order[i - 1]
            i -= 1
        order[i] = k
        count += 1
    for i in range(count):
        size = max(size, abs(flat[order[i], 0] - flat[order[0], 0]), abs(flat[order[i], 1] - flat[order[0], 1]))
    length = 0
    for turn in range(2):
        start = length
        for m in range(count):
            k = order[m] if turn == 0 else order[count - 1 - m]
            while length >= start + 2 and _turn(flat, chain[length - 2], chain[length - 1], k) <= 1e-12 * size * size:
                length -= 1
            chain[length] = k
            length += 1
        length -= 1  # the last of each chain is the first of the next one
    if length <= 0:
        chain[0], length = order[0], 1
    length = _coarse(chain, length)
    is_inner = True
    for m in range(length):
        is_inner = is_inner and chain[m] != group
        set_corner(work.clipped, m, corner(work.touch_point, chain[m]))
        work.depth[m] = work.touch_depth[chain[m]]
    return length, is_inner


@inlined
def _is_before(x: float, y: float, u: float, v: float) -> bool:
    return x < u or (x == u and y < v)


@inlined
def _turn(flat: Any, i: int, j: int, k: int) -> float:
    """Twice the area of a triangle, positive if it is counter-clockwise."""
    x, y = flat[j, 0] - flat[i, 0], flat[j, 1] - flat[i, 1]
    return x * (flat[k, 1] - flat[i, 1]) - y * (flat[k, 0] - flat[i, 0])


@device
def _coarse(chain: Integers, length: int) -> int:
    """Leaves out corners of a polygon that has too many to work with, evenly."""
    stride = (length + MAX_CLIPPED - 1) // MAX_CLIPPED
    kept = 0
    for m in range(0, length, max(stride, 1)):
        chain[kept] = chain[m]
        kept += 1
    return kept
