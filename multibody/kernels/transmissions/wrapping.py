"""The shortest line between two points around a sphere or a cylinder, outside of it or along its inside.

In a plane, with the centre O of a circle of radius r, points P and Q outside of it, and a side S, if one is given:

- Around the outside: the line leaves the circle at tangent points A and B, of which there are two pairs,

      A = (r^2 P -+ r sqrt(|P|^2 - r^2) P') / |P|^2,   P' = P turned by a quarter                         (1)

  and B with the other sign. It goes the shorter way, unless that passes behind the circle as seen from S, over the half
  line from O away from S: then the longer one. None is needed where the straight line misses the circle and does not
  pass behind it.
- Along the inside, where S is within the circle: the line touches it at one point A = B, where it is reflected. With
  the angle G between P and Q, a = r/|P| and b = r/|Q|, the angle phi between it and OA has

      f(phi) = asin(a sin phi) + asin(b sin phi) - 2 phi + G = 0                                          (2)

  and A is at the angle phi - asin(a sin phi) from P, towards Q. f is concave and falls, and is negative at a right
  angle, where the line just touches: so Newton's method from there converges.

Around a sphere the plane is that of P, O and Q. Around a cylinder the path is a helix: its projection along the axis is
that in the plane, and heights grow evenly along it, so that it is straight where the cylinder is unrolled. Both are
geodesics. As the tangent points make the length stationary, moment arms are those of the straight parts with the
tangent points fixed to the surface (spatial.py).

Decisions are taken on values alone, so that derivatives go through. Sources: rules for which way a line takes, and
(2), from the documentation and results of MuJoCo (computation: tendons); B. Garner, M. Pandy, The Obstacle-Set Method
for Representing Muscle Paths (2000), for the circle.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.scalars import arctangent, real_part
from merganser.multibody.kernels.spatial import Array, Vector3, add, cross, dot, scaled, subtract
from merganser.multibody.kernels.transmissions.arms import node_axis, node_point
from merganser.multibody.kernels.transmissions.records import SPHERE, Node

Point: TypeAlias = tuple[Any, Any]  # in the plane
Path: TypeAlias = tuple[bool, Any, Vector3, Vector3]  # whether it wraps, the length of its arc, and where that is

_SMALLEST = 1e-15
_ANGLE_MARGIN = 1e-9  # of the angle of an arc
_MOST_STEPS = 60


@device
def wrap(surface: Node, position_in: Array, p_WP: Vector3, p_WQ: Vector3) -> Path:
    """Whether the line from P to Q wraps around a surface; the length of its arc, and the ends of that in W."""
    p_WO, r, has_side = node_point(surface, position_in), surface["number"], surface["side_mobod"] >= 0
    P, Q, S = subtract(p_WP, p_WO), subtract(p_WQ, p_WO), subtract(p_WP, p_WO)
    if has_side:
        S = subtract(_side_point(surface, position_in), p_WO)
    no_path = False, 0.0 * P[0], p_WP, p_WQ
    if not (real_part(dot(P, P)) > _SMALLEST and real_part(dot(Q, Q)) > _SMALLEST and r > _SMALLEST):
        return no_path
    x, y, z = node_axis(surface, position_in, 0), node_axis(surface, position_in, 1), node_axis(surface, position_in, 2)
    if surface["what"] == SPHERE:
        x, y = _plane_of(P, Q, x, y, z)
    p, q, s = (dot(P, x), dot(P, y)), (dot(Q, x), dot(Q, y)), (dot(S, x), dot(S, y))
    if has_side and real_part(dot(S, S)) < r * r:
        wraps, arc, a, b = _wrap_inside(p, q, r)
    else:
        wraps, arc, a, b = _wrap_outside(p, q, has_side, s, r)
    if not wraps:
        return no_path
    A, B = add(scaled(a[0], x), scaled(a[1], y)), add(scaled(b[0], x), scaled(b[1], y))
    if surface["what"] != SPHERE:  # heights grow evenly along the projection
        before, after = _distance(p, a), _distance(q, b)
        low, high = dot(P, z), dot(Q, z)
        slope = (high - low) / (before + arc + after)
        A, B = add(A, scaled(low + slope * before, z)), add(B, scaled(low + slope * (before + arc), z))
        arc = arc * np.sqrt(1.0 + slope * slope)
    return True, arc, add(p_WO, A), add(p_WO, B)


@device
def _side_point(surface: Node, position_in: Array) -> Vector3:
    """p_WS of the side site."""
    body, p = position_in[surface["side_mobod"]], surface["p_BS"]
    R, o = body["R_WB"], body["p_WoBo_W"]
    return (
        o[0] + R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2],
        o[1] + R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2],
        o[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2],
    )


@device
def _plane_of(P: Vector3, Q: Vector3, x: Vector3, y: Vector3, z: Vector3) -> tuple[Vector3, Vector3]:
    """Unit vectors along P, and at a right angle to it in the plane of P and Q; in any plane if they are in line."""
    u, n = scaled(1.0 / np.sqrt(dot(P, P)), P), cross(P, Q)
    if not real_part(dot(n, n)) > _SMALLEST * _SMALLEST:
        shares = abs(real_part(dot(u, x))), abs(real_part(dot(u, y))), abs(real_part(dot(u, z)))
        if shares[0] >= shares[1] and shares[0] >= shares[2]:
            n = cross(u, add(y, z))
        elif shares[1] >= shares[2]:
            n = cross(u, add(x, z))
        else:
            n = cross(u, add(x, y))
    t = cross(n, u)
    return u, scaled(1.0 / np.sqrt(dot(t, t)), t)


@device
def _inner(a: Point, b: Point) -> Any:
    return a[0] * b[0] + a[1] * b[1]


@device
def _outer(a: Point, b: Point) -> Any:
    return a[0] * b[1] - a[1] * b[0]


@device
def _distance(a: Point, b: Point) -> Any:
    d = a[0] - b[0], a[1] - b[1]
    square = _inner(d, d)
    return np.sqrt(square) if real_part(square) > 0.0 else 0.0 * square


@device
def _nearest(p: Point, q: Point) -> Point:
    """The point of the line from p to q that is nearest to the centre."""
    d = q[0] - p[0], q[1] - p[1]
    square = real_part(_inner(d, d))
    share = -real_part(_inner(d, p)) / square if square > 0.0 else 0.0
    share = min(1.0, max(0.0, share))
    return p[0] + share * d[0], p[1] + share * d[1]


@device
def _passes_behind(p: Point, q: Point, side: Point) -> bool:
    """Whether the line from p to q crosses the half line from the centre away from the side."""
    left, right = real_part(_outer(side, p)), real_part(_outer(side, q))
    if left * right > 0.0 or left == right:
        return False
    share = left / (left - right)
    return (1.0 - share) * real_part(_inner(side, p)) + share * real_part(_inner(side, q)) < 0.0


@device
def _wrap_outside(p: Point, q: Point, has_side: bool, side: Point, r: float) -> tuple[bool, Any, Point, Point]:
    """Whether the line wraps around the circle; the length of its arc, and its tangent points (1)."""
    none, pp, qq = (False, 0.0 * p[0], p, q), _inner(p, p), _inner(q, q)
    if real_part(pp) < r * r or real_part(qq) < r * r or real_part(_distance(p, q)) ** 2 < _SMALLEST:
        return none
    near, goes_behind = _nearest(p, q), has_side and _passes_behind(p, q, side)
    if real_part(_inner(near, near)) > r * r and not goes_behind:
        return none
    # The shorter way, unless that passes behind; it leaves p turned by 1 with the clock, and -1 against it.
    turn = -1.0 if (real_part(_outer(p, q)) > 0.0) != goes_behind else 1.0
    along_p, along_q = turn * r * np.sqrt(pp - r * r) / pp, turn * r * np.sqrt(qq - r * r) / qq
    a = r * r / pp * p[0] + along_p * p[1], r * r / pp * p[1] - along_p * p[0]
    b = r * r / qq * q[0] - along_q * q[1], r * r / qq * q[1] + along_q * q[0]
    angle = arctangent(-turn * _outer(a, b), _inner(a, b))
    if real_part(angle) < -_ANGLE_MARGIN:
        angle += 2.0 * math.pi
    return True, r * angle, a, b


@device
def _wrap_inside(p: Point, q: Point, r: float) -> tuple[bool, Any, Point, Point]:
    """Whether the line is kept within the circle; no arc, and where it touches that (2)."""
    none, pp, qq = (False, 0.0 * p[0], p, q), _inner(p, p), _inner(q, q)
    near = _nearest(p, q)
    if real_part(pp) <= r * r or real_part(qq) <= r * r or real_part(_inner(near, near)) <= r * r:
        return none
    cosine, sine = _inner(p, q), _outer(p, q)
    forward = real_part(sine) > 0.0
    G = arctangent(sine if forward else -sine, cosine)
    a, b, phi = r / np.sqrt(pp), r / np.sqrt(qq), 0.5 * math.pi + 0.0 * pp
    is_last = False
    for _ in range(_MOST_STEPS):
        sine = np.sin(phi)
        f = _arcsine(a * sine) + _arcsine(b * sine) - 2.0 * phi + G
        slope = np.cos(phi) * (a / _cosine_of(a * sine) + b / _cosine_of(b * sine)) - 2.0
        phi = phi - f / slope
        if is_last:
            break
        is_last = abs(real_part(f)) < 1e-13  # one more step leaves the derivatives exact
    # From p towards q where that is the way round, else from q towards p.
    start, scale = (p, a) if forward else (q, b)
    angle = phi - _arcsine(scale * np.sin(phi))
    c, s = np.cos(angle), np.sin(angle)
    touch = scale * (c * start[0] - s * start[1]), scale * (s * start[0] + c * start[1])
    return True, 0.0 * pp, touch, touch


@device
def _cosine_of(sine: Any) -> Any:
    return np.sqrt(1.0 - sine * sine)


@device
def _arcsine(z: Any) -> Any:
    rest = 1.0 - z * z
    return arctangent(z, np.sqrt(rest) if real_part(rest) > 0.0 else 0.0 * rest)
