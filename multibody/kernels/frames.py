"""Frames that are fixed to bodies: where their points are, and how to express vectors in them.

A frame F fixed to a body B is given by the number of the mobod and the matrix X_BF = [R_BF p_BoFo_B], shape [3, 4],
with

    p_WoQ_W = p_WoBo_W + R_WB (p_BoFo_B + R_BF p_FoQ_F)                             (1)
    a_F = R_WF^T a_W,   R_WF = R_WB R_BF                                            (2)

The rotation from F to G is one by theta about the unit vector a, over the axes c of both

    a sin theta = 1/2 sum_c F_c x G_c,   1 + 2 cos theta = sum_c F_c . G_c          (3)

Positions p_FoQi_F of n points come as one vector of 3 n numbers: all x, then all y, then all z.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import Array, Vector3, add, cross, dot, rotate, scaled, vector

__all__ = ["Axes", "axes_of", "combine", "express", "locate", "point", "rotation_vector"]

Axes: TypeAlias = tuple[Vector3, Vector3, Vector3]


@device
def axes_of(body: Array, X_BF: Array) -> Axes:
    """The axes of frame F, expressed in W: the columns of R_WF."""
    R_WB = body["R_WB"]
    return (
        rotate(R_WB, (X_BF[0, 0], X_BF[1, 0], X_BF[2, 0])),
        rotate(R_WB, (X_BF[0, 1], X_BF[1, 1], X_BF[2, 1])),
        rotate(R_WB, (X_BF[0, 2], X_BF[1, 2], X_BF[2, 2])),
    )


@device
def express(axes: Axes, a_W: Vector3) -> Vector3:
    """a_F, equation (2), for the axes of F."""
    return dot(axes[0], a_W), dot(axes[1], a_W), dot(axes[2], a_W)


@device
def combine(axes: Axes, a_A: Vector3) -> Vector3:
    """a_W of a vector expressed in A."""
    return add(add(scaled(a_A[0], axes[0]), scaled(a_A[1], axes[1])), scaled(a_A[2], axes[2]))


@device
def point(points: Array, i: int) -> Vector3:
    """p_FoQi_F."""
    n = points.shape[0] // 3
    return points[i], points[n + i], points[2 * n + i]


@device
def locate(body: Array, X_BF: Array, p_FoQ_F: Vector3) -> Vector3:
    """p_WoQ_W, equation (1)."""
    p_BoQ_B = add((X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]), rotate(X_BF, p_FoQ_F))
    return add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], p_BoQ_B))


@device
def rotation_vector(F: Axes, G: Axes) -> Vector3:
    """a theta in W, equations (3), for 0 <= theta <= pi; at pi, where there are two of them, it is zero."""
    total = add(add(cross(F[0], G[0]), cross(F[1], G[1])), cross(F[2], G[2]))
    trace = dot(F[0], G[0]) + dot(F[1], G[1]) + dot(F[2], G[2])
    square = 0.25 * dot(total, total)
    if not exceeds(square, 1e-18):
        return scaled(0.5, total)
    sine = np.sqrt(square)
    return scaled(0.5 * arctangent(sine, 0.5 * (trace - 1.0)) / sine, total)
