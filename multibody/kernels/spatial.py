"""Vectors in three dimensions and spatial algebra, for the kernels of this package.

Three-vectors are tuples (a_0, a_1, a_2): they need no storage, so they live in registers when compiled, and
in every scalar type alike. Spatial vectors and matrices live in arrays, which the functions whose names begin
with `set_` and `add_` write.

Spatial velocities and accelerations are [w; v] with v at a point Bo, spatial forces [t; f] with the moment t
taken about Bo; all are expressed in one frame.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from merganser.framework.native import device

__all__ = [
    "Array",
    "Vector3",
    "add",
    "add_spatial",
    "cross",
    "dot",
    "power",
    "rotate",
    "rotational",
    "scaled",
    "set_spatial",
    "set_vector",
    "subtract",
    "translational",
    "vector",
]

Array: TypeAlias = Any  # an array or a record of any scalar type
Vector3: TypeAlias = tuple[Any, Any, Any]


@device
def vector(a: Array) -> Vector3:
    """The three-vector in an array of shape [3]."""
    return a[0], a[1], a[2]


@device
def rotational(V: Array) -> Vector3:
    """The upper half of the spatial vector V: angular velocity, angular acceleration or moment."""
    return V[0], V[1], V[2]


@device
def translational(V: Array) -> Vector3:
    """The lower half of the spatial vector V: velocity, acceleration or force."""
    return V[3], V[4], V[5]


@device
def set_vector(out: Array, a: Vector3) -> None:
    """out = a, shape [3]."""
    out[0], out[1], out[2] = a[0], a[1], a[2]


@device
def set_spatial(out: Array, w: Vector3, v: Vector3) -> None:
    """out = [w; v], shape [6]."""
    out[0], out[1], out[2] = w[0], w[1], w[2]
    out[3], out[4], out[5] = v[0], v[1], v[2]


@device
def add_spatial(out: Array, w: Vector3, v: Vector3) -> None:
    """out += [w; v], shape [6]."""
    out[0] += w[0]
    out[1] += w[1]
    out[2] += w[2]
    out[3] += v[0]
    out[4] += v[1]
    out[5] += v[2]


@device
def add(a: Vector3, b: Vector3) -> Vector3:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@device
def subtract(a: Vector3, b: Vector3) -> Vector3:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@device
def scaled(s: Any, a: Vector3) -> Vector3:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@device
def dot(a: Vector3, b: Vector3) -> Any:
    """a . b, without complex conjugation, so that the complex step goes through."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@device
def cross(a: Vector3, b: Vector3) -> Vector3:
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@device
def rotate(R: Array, a: Vector3) -> Vector3:
    """R a, for a 3x3 matrix R: p_W = R_WB p_B."""
    return (
        R[0, 0] * a[0] + R[0, 1] * a[1] + R[0, 2] * a[2],
        R[1, 0] * a[0] + R[1, 1] * a[1] + R[1, 2] * a[2],
        R[2, 0] * a[0] + R[2, 1] * a[1] + R[2, 2] * a[2],
    )


@device
def power(H: Array, k: int, t: Vector3, f: Vector3) -> Any:
    """H_k . [t; f]: the generalized force along row k of H that the spatial force [t; f] exerts."""
    return H[k, 0] * t[0] + H[k, 1] * t[1] + H[k, 2] * t[2] + H[k, 3] * f[0] + H[k, 4] * f[1] + H[k, 5] * f[2]
