"""How distance, normal and nearest points of a pair follow its poses.

The nearest points p_A, p_B of the cores, the normal n from A to B and the value t of refine.py, (1) there, obey

    p_A - p_B = t n                                                                          (1)

all in W. Bodies move with velocities V_WA and V_WB; each point moves with its body, turns along its surface with the
radii of curvature M, and slides along the flat directions U of the feature on which it lies (supports.py):

    dp_A = v_A(p_A) + M_A (dn - w_A x n) + U_A a,   dp_B = v_B(p_B) + M_B (w_B x n - dn) + U_B b   (2)

while n stays across these features:

    U_A^T dn = U_A^T (w_A x n),   U_B^T dn = U_B^T (w_B x n)                                 (3)

With P the projection across n, the differential of (1) is

    (M_A + M_B - t) dn + U_A a - U_B b = P (v_B - v_A) + M_A (w_A x n) + M_B (w_B x n)       (4)
    dt = n . (v_A(p_A) - v_B(p_B))                                                           (5)

(3) and (4) are solved for dn, a and b. They are singular where the normal jumps, as between two points in one place:
there are no derivatives. Features and not only the points decide: a foot in the middle of a face, or on its diagonal,
is on a face. At the border of a feature the larger one counts.

Where two features are parallel (3) contradicts itself: faces, or lines, that lie on each other come apart as one body
turns. Along a direction that is flat on both sides, n follows the one that reaches beyond the other both ways: what
stands on a plate stands on its normal. If none does, n follows another feature to each side, and here the one of more
dimensions, A's if both have as many. The point of the other body stays where it is on it. (5) holds there too: it is
what those nearest points do that were returned, and lies between the derivatives to both sides (J. Danskin 1967, The
Theory of Max-Min, on derivatives of a maximum).

All of this lies across n but the bodies' own motion, so that it is written in two tangents of n.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.framework.native.memory.hinted_types import FloatTable, Poses
from merganser.framework.native.memory.records_of_arrays import ArrayOf
from merganser.geometry.proximity.layout import Geometries, Hulls, distance_dtype
from merganser.geometry.proximity.supports import reach_along, support_feature
from merganser.geometry.proximity.vectors import (
    Vector3,
    add,
    cross,
    dot,
    negated,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    turned_back,
)

Array = NDArray[Any]
Vector2 = tuple[float, float]
Distances = Annotated[NDArray[Any], ArrayOf(distance_dtype)]
NUM_DERIVATIVES = 10  # of a pair: distance, nhat_BA_W, p_WCa, p_WCb

_SINGULAR = 1e-9  # least curvature of h at a minimum, of the size of the pair
_PARALLEL = 1e-7  # sine of the angle between edges that span no face, as in boxes.py
_PREFERENCE = 1e-12  # by how much, of the size, a feature must reach beyond another to count as longer
_UNSOLVED = 1e-6  # what is left of (1) where no minimum was found, of the size of the pair


class PoseDifferential(NamedTuple):
    """A pose and its derivatives by k variables.

    Attributes:
        X: homogeneous matrix, shape [4, 4].
        dp: of the position, shape [3, k].
        w: angular velocities, shape [3, k].
    """

    X: Array
    dp: Array
    w: Array

    @classmethod
    def of(cls, X: Array, dX: Array) -> PoseDifferential:
        """Of a pose, shape [4, 4], and its derivatives, shape [4, 4, k]."""
        turn = np.einsum("ijk,lj->ilk", dX[:3, :3], X[:3, :3])  # dR R^T = [w]x
        turn = 0.5 * (turn - turn.transpose(1, 0, 2))
        return cls(X, dX[:3, 3], np.array([turn[2, 1], turn[0, 2], turn[1, 0]]))

    def move(self, p_WP: Array) -> Array:
        """Derivatives of a point that is fixed to the body, shape [3, k]."""
        return self.dp + np.cross(self.w, (p_WP - self.X[:3, 3])[:, None], axis=0)


class PairDifferential(NamedTuple):
    """Derivatives of the result of a pair by k variables.

    Attributes:
        distance: shape [k].
        nhat_BA_W: shape [3, k].
        p_WCa, p_WCb: of the nearest points in W, shape [3, k].
    """

    distance: Array
    nhat_BA_W: Array
    p_WCa: Array
    p_WCb: Array


def differentiate_pair(
    geometries: Array, hulls: Hulls, pair: tuple[int, int], result: Any, A: PoseDifferential, B: PoseDifferential
) -> PairDifferential | None:
    """Differentiates the result of a pair.

    Args:
        geometries: geometry_dtype, shape [n].
        hulls: vertices of hulls.
        pair: rows of A and B.
        result: record of distance_dtype.
        A: the pose of A and its derivatives.
        B: the pose of B and its derivatives.

    Returns:
        The derivatives, or None where the normal jumps.
    """
    num_derivatives = A.dp.shape[1]
    twists = np.empty((2, num_derivatives, 6))
    for row, pose in enumerate((A, B)):
        twists[row, :, :3], twists[row, :, 3:] = pose.w.T, pose.dp.T
    results, derivatives = np.array([result], distance_dtype), np.empty((num_derivatives, NUM_DERIVATIVES))
    arguments = geometries[list(pair)], hulls, results, np.array([A.X, B.X]), twists, derivatives
    is_compiled = may_use_compiled(pair_derivatives, num_derivatives, *arguments)
    has_derivatives = (pair_derivatives if is_compiled else pair_derivatives.interpreted)(*arguments)
    d = derivatives.T
    return PairDifferential(d[0], d[1:4], d[4:7], d[7:]) if has_derivatives else None


@kernel
def pair_derivatives(
    # Model:
    geometries: Geometries,  # A and B
    hulls: Hulls,
    # In:
    results: Distances,  # one
    X_WG: Poses,  # of A and B
    twists_in: Poses,  # velocities of A and B, in W at their origins, along each variable; shape [2, k, 6]
    # Out:
    derivatives_out: FloatTable,  # shape [k, NUM_DERIVATIVES]
) -> bool:
    """Computes the derivatives of the result of a pair; returns whether there are any."""
    a, b = geometries[0], geometries[1]
    is_regular, slopes = slopes_of_pair(a, b, hulls, results[0], X_WG[0], X_WG[1])
    if is_regular:
        for k in range(derivatives_out.shape[0]):
            d_distance, dn, dp_a, dp_b = follow_pair(slopes, _twist(twists_in[0, k]), _twist(twists_in[1, k]))
            out = derivatives_out[k]
            out[0] = d_distance
            for i in range(3):
                out[1 + i], out[4 + i], out[7 + i] = dn[i], dp_a[i], dp_b[i]
    return is_regular


@inlined
def _twist(numbers: Array) -> tuple[Vector3, Vector3]:
    return (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])


# ---------------------------------------------------------------------- one pair


class _Side(NamedTuple):
    """The feature of one geometry, in the tangents of n.

    Attributes:
        num_flat: in how many directions its point may slide, 0 to 2.
        flat_0, flat_1: these.
        radii: (uu, uv, vv) of M.
        arm: from the origin of the body to the point, in W.
    """

    num_flat: int
    flat_0: Vector2
    flat_1: Vector2
    radii: Vector3
    arm: Vector3


class Slopes(NamedTuple):
    """What (2) to (5) need of a pair.

    Attributes:
        n, u, v: the normal, from A to B, and two tangents, in W.
        A, B: both sides.
        num_flat: how many directions (3) covers.
        flat_0, flat_1: these, in the tangents.
        is_of_A_0, is_of_A_1: whether it is A that n follows there.
        H: (uu, uv, vv) of M_A + M_B - t.
        radius_A, radius_B: of the rounding.
    """

    n: Vector3
    u: Vector3
    v: Vector3
    A: _Side
    B: _Side
    num_flat: int
    flat_0: Vector2
    flat_1: Vector2
    is_of_A_0: bool
    is_of_A_1: bool
    H: Vector3
    radius_A: float
    radius_B: float


@device
def slopes_of_pair(a: Any, b: Any, hulls: Hulls, result: Any, X_WA: Array, X_WB: Array) -> tuple[bool, Slopes]:
    """What the derivatives of a pair follow from, and whether it has any: the normal does not jump.

    Args:
        a, b: records of geometry_dtype.
        hulls: vertices of hulls.
        result: record of distance_dtype.
        X_WA, X_WB: poses, shape [4, 4].
    """
    size = 0.0
    for length in (a.bound, b.bound, a.radius, b.radius):
        if length < np.inf:
            size += length
    n = -result.nhat_BA_W[0], -result.nhat_BA_W[1], -result.nhat_BA_W[2]
    t = -result.distance - a.radius - b.radius
    p_a = sum_scaled(_point(result.p_WCa), n, -a.radius)
    p_b = sum_scaled(_point(result.p_WCb), n, b.radius)
    rest = subtract(subtract(p_a, p_b), scaled(n, t))
    is_solved = max(abs(rest[0]), max(abs(rest[1]), abs(rest[2]))) <= _UNSOLVED * max(size, abs(t))
    u, v = tangents(n)
    A, B = _side(a, hulls, X_WA, p_a, n, 1.0, u, v), _side(b, hulls, X_WB, p_b, n, -1.0, u, v)
    num_flat, flat_0, is_of_A_0, flat_1, is_of_A_1 = _flat_directions(
        a, b, hulls, X_WA, X_WB, A, B, u, v, _PREFERENCE * size
    )
    H = A.radii[0] + B.radii[0] - t, A.radii[1] + B.radii[1], A.radii[2] + B.radii[2] - t
    slopes = Slopes(n, u, v, A, B, num_flat, flat_0, flat_1, is_of_A_0, is_of_A_1, H, a.radius, b.radius)
    return is_solved and _least_curvature(slopes) > _SINGULAR * size, slopes


@inlined
def _point(numbers: Array) -> Vector3:
    return numbers[0], numbers[1], numbers[2]


@device
def _side(g: Any, hulls: Hulls, X_WG: Array, p: Vector3, n: Vector3, out: float, u: Vector3, v: Vector3) -> _Side:
    """The side of a geometry; n points out of its core if `out` is 1, into it if that is -1."""
    arm = p[0] - X_WG[0, 3], p[1] - X_WG[1, 3], p[2] - X_WG[2, 3]
    u_G, v_G = turned_back(X_WG, u), turned_back(X_WG, v)
    p_G, n_G = turned_back(X_WG, arm), turned_back(X_WG, scaled(n, out))
    feature = support_feature(g, hulls, n_G, p_G, u_G, v_G)
    flat_0 = dot(u_G, feature.flat_0), dot(v_G, feature.flat_0)
    flat_1 = dot(u_G, feature.flat_1), dot(v_G, feature.flat_1)
    return _Side(feature.num_flat, flat_0, flat_1, feature.radii, arm)


@device
def _flat_directions(
    a: Any, b: Any, hulls: Hulls, X_WA: Array, X_WB: Array, A: _Side, B: _Side, u: Vector3, v: Vector3,
    tolerance: float,
) -> tuple[int, Vector2, bool, Vector2, bool]:  # fmt: skip
    """Directions along which (3) says how the normal turns, and whether it follows A there; two at most."""
    count, first, second = 2, A.flat_0, A.flat_1
    if A.num_flat < 2 and B.num_flat < 2:
        if A.num_flat + B.num_flat == 0:
            return 0, first, True, second, True
        if A.num_flat == 1 and B.num_flat == 1 and not _is_flat(B, A.flat_0):  # two edges
            return 2, A.flat_0, True, B.flat_0, False
        count, first = 1, A.flat_0 if A.num_flat == 1 else B.flat_0
    elif A.num_flat + B.num_flat == 3:  # a line on a face
        first = B.flat_0 if A.num_flat == 2 else A.flat_0
        second = (-first[1], first[0])
    elif B.num_flat == 2 and A.num_flat == 0:
        first, second = B.flat_0, B.flat_1
    along = add(scaled(u, first[0]), scaled(v, first[1]))
    is_of_A_0, is_of_A_1 = _follows_A(a, b, hulls, X_WA, X_WB, A, B, along, first, tolerance), True
    if count == 2:
        along = add(scaled(u, second[0]), scaled(v, second[1]))
        is_of_A_1 = _follows_A(a, b, hulls, X_WA, X_WB, A, B, along, second, tolerance)
    return count, first, is_of_A_0, second, is_of_A_1


@device
def _follows_A(
    a: Any, b: Any, hulls: Hulls, X_WA: Array, X_WB: Array, A: _Side, B: _Side, along: Vector3, flat: Vector2,
    tolerance: float,
) -> bool:  # fmt: skip
    """Whether the normal follows A along a direction: of two flat sides it follows the one that goes on beyond."""
    if not (_is_flat(A, flat) and _is_flat(B, flat)):
        return _is_flat(A, flat)
    low_A, high_A = reach_along(a, hulls, turned_back(X_WA, A.arm), turned_back(X_WA, along))
    low_B, high_B = reach_along(b, hulls, turned_back(X_WB, B.arm), turned_back(X_WB, along))
    if low_A <= low_B + tolerance and high_B - tolerance <= high_A:
        return True
    if low_B <= low_A + tolerance and high_A - tolerance <= high_B:
        return False
    return A.num_flat >= B.num_flat


@inlined
def _is_flat(side: _Side, flat: Vector2) -> bool:
    """Whether the point of a side may slide in a direction."""
    across = abs(side.flat_0[0] * flat[1] - side.flat_0[1] * flat[0])
    return side.num_flat == 2 or (side.num_flat == 1 and across <= _PARALLEL)


@inlined
def _times(M: Vector3, x: Vector2) -> Vector2:
    """The product of a symmetric matrix (uu, uv, vv) with a vector."""
    return M[0] * x[0] + M[1] * x[1], M[1] * x[0] + M[2] * x[1]


@device
def _least_curvature(slopes: Slopes) -> float:
    """The least curvature of h where (3) leaves the normal free; infinity if it leaves nothing."""
    H, flat = slopes.H, slopes.flat_0
    if slopes.num_flat == 2:
        return np.inf
    if slopes.num_flat == 1:
        across = (-flat[1], flat[0])
        product = _times(H, across)
        return across[0] * product[0] + across[1] * product[1]
    middle, half = 0.5 * (H[0] + H[2]), 0.5 * (H[0] - H[2])
    return middle - np.sqrt(half * half + H[1] * H[1])


@device
def follow_pair(
    slopes: Slopes, twist_A: tuple[Vector3, Vector3], twist_B: tuple[Vector3, Vector3]
) -> tuple[float, Vector3, Vector3, Vector3]:
    """Derivatives of distance, nhat_BA_W, p_WCa and p_WCb along a motion of both bodies, (2) to (5).

    Args:
        slopes: of the pair.
        twist_A, twist_B: angular velocity and that of the origin, in W.
    """
    u, v, A, B = slopes.u, slopes.v, slopes.A, slopes.B
    w_n_A, w_n_B = cross(twist_A[0], slopes.n), cross(twist_B[0], slopes.n)
    dp_A, dp_B = add(twist_A[1], cross(twist_A[0], A.arm)), add(twist_B[1], cross(twist_B[0], B.arm))
    turn_A, turn_B = (dot(u, w_n_A), dot(v, w_n_A)), (dot(u, w_n_B), dot(v, w_n_B))
    apart, bend_A, bend_B = subtract(dp_B, dp_A), _times(A.radii, turn_A), _times(B.radii, turn_B)
    right = dot(u, apart) + bend_A[0] + bend_B[0], dot(v, apart) + bend_A[1] + bend_B[1]
    dn, slide_0, slide_1 = _turn_and_slides(slopes, turn_A, turn_B, right)
    slide_A, slide_B = (0.0 * slide_0, 0.0 * slide_0), (0.0 * slide_0, 0.0 * slide_0)
    if slopes.num_flat > 0:
        slid = slide_0 * slopes.flat_0[0], slide_0 * slopes.flat_0[1]
        if slopes.is_of_A_0:
            slide_A = slid
        else:
            slide_B = (-slid[0], -slid[1])
    if slopes.num_flat > 1:
        slid = slide_1 * slopes.flat_1[0], slide_1 * slopes.flat_1[1]
        if slopes.is_of_A_1:
            slide_A = slide_A[0] + slid[0], slide_A[1] + slid[1]
        else:
            slide_B = slide_B[0] - slid[0], slide_B[1] - slid[1]
    bend_A = _times(A.radii, (dn[0] - turn_A[0], dn[1] - turn_A[1]))
    bend_B = _times(B.radii, (dn[0] - turn_B[0], dn[1] - turn_B[1]))
    dn_W = add(scaled(u, dn[0]), scaled(v, dn[1]))
    moved_A = add(scaled(u, bend_A[0] + slide_A[0]), scaled(v, bend_A[1] + slide_A[1]))
    moved_B = add(scaled(u, slide_B[0] - bend_B[0]), scaled(v, slide_B[1] - bend_B[1]))
    p_a = sum_scaled(add(dp_A, moved_A), dn_W, slopes.radius_A)
    p_b = sum_scaled(add(dp_B, moved_B), dn_W, -slopes.radius_B)
    return dot(slopes.n, apart), negated(dn_W), p_a, p_b


@device
def _turn_and_slides(
    slopes: Slopes, turn_A: Vector2, turn_B: Vector2, right: Vector2
) -> tuple[Vector2, float, float]:
    """dn of (3) and (4), and how far the points slide along the flat directions."""
    H, c, d = slopes.H, slopes.flat_0, slopes.flat_1
    if slopes.num_flat == 0:
        determinant = H[0] * H[2] - H[1] * H[1]
        x = (H[2] * right[0] - H[1] * right[1]) / determinant
        y = (H[0] * right[1] - H[1] * right[0]) / determinant
        return (x, y), 0.0 * x, 0.0 * x
    turn = turn_A if slopes.is_of_A_0 else turn_B
    rate = c[0] * turn[0] + c[1] * turn[1]
    if slopes.num_flat == 1:  # across the edge n is free
        across = (-c[1], c[0])
        dn = c[0] * rate, c[1] * rate
        bent, curved = _times(H, dn), _times(H, across)
        free = across[0] * (right[0] - bent[0]) + across[1] * (right[1] - bent[1])
        free = free / (across[0] * curved[0] + across[1] * curved[1])
        dn = dn[0] + across[0] * free, dn[1] + across[1] * free
        bent = _times(H, dn)
        slide = c[0] * (right[0] - bent[0]) + c[1] * (right[1] - bent[1])
        return dn, slide, 0.0 * slide
    turn = turn_A if slopes.is_of_A_1 else turn_B
    other = d[0] * turn[0] + d[1] * turn[1]
    determinant = c[0] * d[1] - c[1] * d[0]
    dn = (d[1] * rate - c[1] * other) / determinant, (c[0] * other - d[0] * rate) / determinant
    bent = _times(H, dn)
    x, y = right[0] - bent[0], right[1] - bent[1]
    return dn, (d[1] * x - d[0] * y) / determinant, (c[0] * y - c[1] * x) / determinant
