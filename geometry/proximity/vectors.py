"""Three-vectors as tuples, which live in registers when compiled."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from merganser.framework.native import inlined

Array: TypeAlias = Any  # an array or a record of float64
Vector3: TypeAlias = tuple[float, float, float]

_TINY = 1e-300


@inlined
def add(a: Vector3, b: Vector3) -> Vector3:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def subtract(a: Vector3, b: Vector3) -> Vector3:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def negated(a: Vector3) -> Vector3:
    """-a."""
    return -a[0], -a[1], -a[2]


@inlined
def scaled(a: Vector3, s: float) -> Vector3:
    """s a."""
    return a[0] * s, a[1] * s, a[2] * s


@inlined
def sum_scaled(a: Vector3, b: Vector3, s: float) -> Vector3:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inlined
def dot(a: Vector3, b: Vector3) -> float:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vector3, b: Vector3) -> Vector3:
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def norm(a: Vector3) -> float:
    """|a|."""
    length: float = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    return length


@inlined
def unit(a: Vector3) -> Vector3:
    """a / |a|, or ez if a is zero."""
    length = norm(a)
    if length.real < _TINY:
        return 0.0, 0.0, 1.0
    inverse = 1.0 / length
    return a[0] * inverse, a[1] * inverse, a[2] * inverse


@inlined
def unit_axis(i: int) -> Vector3:
    """ex, ey or ez."""
    return (1.0 if i == 0 else 0.0), (1.0 if i == 1 else 0.0), (1.0 if i == 2 else 0.0)


@inlined
def axis(X_AB: Array, i: int) -> Vector3:
    """Axis i of frame B, in A: column i of the rotation matrix in rows 0..8 of X_AB."""
    return X_AB[i], X_AB[3 + i], X_AB[6 + i]


@inlined
def rotated(X_AB: Array, v_B: Vector3) -> Vector3:
    """v_A = R_AB v_B, with R_AB row by row in X_AB[:9]."""
    return (
        X_AB[0] * v_B[0] + X_AB[1] * v_B[1] + X_AB[2] * v_B[2],
        X_AB[3] * v_B[0] + X_AB[4] * v_B[1] + X_AB[5] * v_B[2],
        X_AB[6] * v_B[0] + X_AB[7] * v_B[1] + X_AB[8] * v_B[2],
    )


@inlined
def rotated_back(X_AB: Array, v_A: Vector3) -> Vector3:
    """v_B = R_AB^T v_A."""
    return (
        X_AB[0] * v_A[0] + X_AB[3] * v_A[1] + X_AB[6] * v_A[2],
        X_AB[1] * v_A[0] + X_AB[4] * v_A[1] + X_AB[7] * v_A[2],
        X_AB[2] * v_A[0] + X_AB[5] * v_A[1] + X_AB[8] * v_A[2],
    )


@inlined
def turned_back(X_WG: Array, v_W: Vector3) -> Vector3:
    """v_G = R_WG^T v_W, with X_WG of shape [4, 4]."""
    return (
        X_WG[0, 0] * v_W[0] + X_WG[1, 0] * v_W[1] + X_WG[2, 0] * v_W[2],
        X_WG[0, 1] * v_W[0] + X_WG[1, 1] * v_W[1] + X_WG[2, 1] * v_W[2],
        X_WG[0, 2] * v_W[0] + X_WG[1, 2] * v_W[1] + X_WG[2, 2] * v_W[2],
    )


@inlined
def tangents(n: Vector3) -> tuple[Vector3, Vector3]:
    """Two unit vectors e1, e2 with e1 x e2 = n, for a unit vector n (Duff et al. 2017, JCGT 6)."""
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (b, sign + n[1] * n[1] * a, -n[1])
