"""Frames that are fixed to bodies: where their points are, and how to express vectors in them.

A frame F fixed to a body B is given by the number of the mobod and the matrix X_BF = [R_BF p_BoFo_B], shape [3, 4],
with

    p_WoQ_W = p_WoBo_W + R_WB (p_BoFo_B + R_BF p_FoQ_F)                             (1)
    a_F = R_WF^T a_W,   R_WF = R_WB R_BF                                            (2)

Positions p_FoQi_F of n points come as one vector of 3 n numbers: all x, then all y, then all z.
"""

from __future__ import annotations

from typing import TypeAlias

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import Array, Vector3, add, dot, rotate, vector

__all__ = ["Axes", "axes_of", "express", "locate", "point"]

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
def point(points: Array, i: int) -> Vector3:
    """p_FoQi_F."""
    n = points.shape[0] // 3
    return points[i], points[n + i], points[2 * n + i]


@device
def locate(body: Array, X_BF: Array, p_FoQ_F: Vector3) -> Vector3:
    """p_WoQ_W, equation (1)."""
    p_BoQ_B = add((X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]), rotate(X_BF, p_FoQ_F))
    return add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], p_BoQ_B))
