"""Vectors in three dimensions and spatial algebra, for the kernels of this package.

Three-vectors are tuples (a_0, a_1, a_2): they need no storage, so they live in registers when compiled, and
in every scalar type alike. So are 3x3 matrices where it pays, as tuples of rows. Spatial vectors and other
matrices live in arrays, which the functions whose names begin with `set_` and `add_` write.

Spatial velocities and accelerations are [w; v] with v at a point Bo, spatial forces [t; f] with the moment t
taken about Bo; all are expressed in one frame.

Spatial vectors and inertias of several bodies about one point O, which add up without shifts.

Notation: see layout.py. O does not move in W. Numbers about O lose digits with the square of the distance to it. So for
a body B, and for all that is outboard of it, O is where the origin of a body is at the moment: that of the body next to
the world among B and the bodies inboard of it that have velocities. Bodies about different points never add up: nothing
moves them both.

S_k is row k of the hinge matrix of a mobilizer as a motion about O; X x Y is the cross product of motions, X x* F that
of a motion and a force:

    S_k = [w; v + p_OBo x w],   [w; v] = H_PB_W[k]                                  (1)
    X x Y  = [w_x x w_y; w_x x v_y + v_x x w_y]                                     (2)
    X x* F = [w_x x t + v_x x f; w_x x f]                                           (3)

Within a mobilizer, velocity l *carries* velocity k if S_k moves along S_l: dS_k/dl = S_l x S_k. (Translations carry
rotations, as the axes of the latter go through Mo; the first axis of a universal mobilizer carries the second.) Others
do not move each other, and all are carried by what is inboard of the mobilizer. Which carry which is part of the kind
of mobilizer (mobilizers/kind.py).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.layout import MAX_VELOCITIES
from merganser.multibody.kernels.scalars import equals

Array: TypeAlias = Any  # an array or a record of any scalar type
Vector3: TypeAlias = tuple[Any, Any, Any]
Matrix3: TypeAlias = tuple[Vector3, Vector3, Vector3]  # rows


@inlined
def vector(a: Array) -> Vector3:
    """The three-vector in an array of shape [3]."""
    return a[0], a[1], a[2]


@inlined
def rotational(V: Array) -> Vector3:
    """The upper half of the spatial vector V: angular velocity, angular acceleration or moment."""
    return V[0], V[1], V[2]


@inlined
def translational(V: Array) -> Vector3:
    """The lower half of the spatial vector V: velocity, acceleration or force."""
    return V[3], V[4], V[5]


@inlined
def set_vector(out: Array, a: Vector3) -> None:
    """out = a, shape [3]."""
    out[0], out[1], out[2] = a[0], a[1], a[2]


@inlined
def set_spatial(out: Array, w: Vector3, v: Vector3) -> None:
    """out = [w; v], shape [6]."""
    out[0], out[1], out[2] = w[0], w[1], w[2]
    out[3], out[4], out[5] = v[0], v[1], v[2]


@inlined
def add_spatial(out: Array, w: Vector3, v: Vector3) -> None:
    """out += [w; v], shape [6]."""
    out[0] += w[0]
    out[1] += w[1]
    out[2] += w[2]
    out[3] += v[0]
    out[4] += v[1]
    out[5] += v[2]


@inlined
def add(a: Vector3, b: Vector3) -> Vector3:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def subtract(a: Vector3, b: Vector3) -> Vector3:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scaled(s: Any, a: Vector3) -> Vector3:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@inlined
def dot(a: Vector3, b: Vector3) -> Any:
    """a . b, without complex conjugation, so that the complex step goes through."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vector3, b: Vector3) -> Vector3:
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def rotate(R: Array, a: Vector3) -> Vector3:
    """R a, for a 3x3 matrix R: p_W = R_WB p_B."""
    return (
        R[0, 0] * a[0] + R[0, 1] * a[1] + R[0, 2] * a[2],
        R[1, 0] * a[0] + R[1, 1] * a[1] + R[1, 2] * a[2],
        R[2, 0] * a[0] + R[2, 1] * a[1] + R[2, 2] * a[2],
    )


@inlined
def matrix(A: Array) -> Matrix3:
    """The rows of the matrix in an array of shape [3, 3]."""
    return vector(A[0]), vector(A[1]), vector(A[2])


@inlined
def column(A: Array, k: int) -> Vector3:
    """Column k of a 3x3 matrix."""
    return A[0, k], A[1, k], A[2, k]


@inlined
def transform(A: Matrix3, a: Vector3) -> Vector3:
    """A a, as rotate(), for a matrix that is a tuple of rows."""
    return dot(A[0], a), dot(A[1], a), dot(A[2], a)


@inlined
def row_times(a: Vector3, B: Array) -> Vector3:
    """a B, for a row a and a 3x3 matrix B."""
    return dot(a, column(B, 0)), dot(a, column(B, 1)), dot(a, column(B, 2))


@inlined
def is_zero(a: Vector3) -> bool:
    """Whether a is exactly 0."""
    return equals(a[0], 0.0) and equals(a[1], 0.0) and equals(a[2], 0.0)


@inlined
def is_identity(A: Array) -> bool:
    """Whether the 3x3 matrix A is exactly 1."""
    return (
        equals(A[0, 1], 0.0)
        and equals(A[0, 2], 0.0)
        and equals(A[1, 0], 0.0)
        and equals(A[1, 2], 0.0)
        and equals(A[2, 0], 0.0)
        and equals(A[2, 1], 0.0)
        and equals(A[0, 0], 1.0)
        and equals(A[1, 1], 1.0)
        and equals(A[2, 2], 1.0)
    )


@inlined
def power(H: Array, k: int, t: Vector3, f: Vector3) -> Any:
    """H_k . [t; f]: the generalized force along row k of H that the spatial force [t; f] exerts."""
    return H[k, 0] * t[0] + H[k, 1] * t[1] + H[k, 2] * t[2] + H[k, 3] * f[0] + H[k, 4] * f[1] + H[k, 5] * f[2]


def composite_fields(scalar: Any) -> list[Any]:
    """Fields of a record of one mobod, in W."""
    return [
        ("p_OBo_W", scalar, (3,)),
        ("S", scalar, (MAX_VELOCITIES, 6)),  # about O, one row a velocity of the mobilizer
        # Inertia about O, of B and then of all bodies outboard of it, too.
        ("mass", scalar),
        ("mc", scalar, (3,)),  # mass times p_OCcm_W
        ("I", scalar, (3, 3)),
    ]


@device
def set_places(topology: Array, position_in: Array, works: Array) -> None:
    """p_OBo of all mobods but the world, without a way through Wo."""
    end = 0  # of the subtree of the last body next to the world that has velocities
    for i in range(1, topology.shape[0]):
        if i < end:
            p_OPo_W = vector(works[topology[i]["parent"]]["p_OBo_W"])
            set_vector(works[i]["p_OBo_W"], add(p_OPo_W, vector(position_in[i]["p_PoBo_W"])))
            continue
        set_vector(works[i]["p_OBo_W"], (0.0, 0.0, 0.0))
        if topology[i]["num_v"] > 0:
            end = topology[i]["subtree_end"]


@device
def carries(node: Array, l: int, k: int) -> bool:
    """Whether S_k moves along S_l, for two velocities of one mobilizer."""
    return (node["carries"] >> (6 * l + k)) & 1 != 0


@device
def motion_of_row(body: Array, k: int, p_OBo_W: Vector3) -> tuple[Vector3, Vector3]:
    """S_k about any point O, equation (1)."""
    w = rotational(body["H_PB_W"][k])
    return w, add(translational(body["H_PB_W"][k]), cross(p_OBo_W, w))


@device
def set_rows(node: Array, body: Array, work: Array) -> None:
    """S of one mobod, whose place is set."""
    for k in range(node["num_v"]):
        w, v = motion_of_row(body, k, vector(work["p_OBo_W"]))
        set_spatial(work["S"][k], w, v)


@device
def cross_motion(w_x: Vector3, v_x: Vector3, w_y: Vector3, v_y: Vector3) -> tuple[Vector3, Vector3]:
    """X x Y, equation (2)."""
    return cross(w_x, w_y), add(cross(w_x, v_y), cross(v_x, w_y))


@device
def cross_force(w_x: Vector3, v_x: Vector3, t: Vector3, f: Vector3) -> tuple[Vector3, Vector3]:
    """X x* [t; f], equation (3)."""
    return add(cross(w_x, t), cross(v_x, f)), cross(w_x, f)


@device
def set_inertia(body: Array, work: Array) -> None:
    """Mass, first moment and inertia of one body about O; its place is set."""
    m = body["mass"]
    p = vector(work["p_OBo_W"])
    h = scaled(m, vector(body["p_BoBcm_W"]))
    mc = add(h, scaled(m, p))
    work["mass"] = m
    set_vector(work["mc"], mc)
    diagonal = dot(p, add(h, mc))
    for r in range(3):
        for c in range(3):
            work["I"][r, c] = body["I_BBo_W"][r, c] - p[r] * h[c] - mc[r] * p[c]
        work["I"][r, r] += diagonal


@device
def add_inertia(work: Array, parent: Array) -> None:
    """Adds the inertia of a mobod to that of its parent.

    A parent without velocities inboard may collect inertias about several points; its sum is not used.
    """
    parent["mass"] += work["mass"]
    for r in range(3):
        parent["mc"][r] += work["mc"][r]
        for c in range(3):
            parent["I"][r, c] += work["I"][r, c]


@device
def times_inertia(work: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """[I w + m c x v; m v - m c x w], the inertia in a record times a motion about O."""
    mc = vector(work["mc"])
    return add(rotate(work["I"], w), cross(mc, v)), subtract(scaled(work["mass"], v), cross(mc, w))
