"""Vectors in three dimensions and spatial algebra, for the kernels of this package.

Three-vectors are tuples (a_0, a_1, a_2): they need no storage, so they live in registers when compiled, and
in every scalar type alike. So are 3x3 matrices where it pays, as tuples of rows. Spatial vectors and other
matrices live in arrays, which the functions whose names begin with `set_` and `add_` write.

Spatial velocities and accelerations are [w; v] with v at a point Bo, spatial forces [t; f] with the moment t
taken about Bo; all are expressed in one frame.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from merganser.framework.native import inlined
from merganser.multibody.kernels.scalars import equals

__all__ = [
    "Array",
    "Matrix3",
    "Vector3",
    "add",
    "add_spatial",
    "column",
    "cross",
    "dot",
    "is_identity",
    "is_zero",
    "matrix",
    "power",
    "rotate",
    "rotational",
    "row_times",
    "scaled",
    "set_spatial",
    "set_vector",
    "subtract",
    "transform",
    "translational",
    "vector",
]

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
