"""The point of an ellipsoid that is nearest to another one, by one equation."""

from __future__ import annotations

__all__ = ["nearest_in_ellipsoid"]

import numpy as np

from merganser.geometry.optimization.arguments import Array


def nearest_in_ellipsoid(axes: Array, radii: Array, offset: Array) -> Array:
    """The p with sum((axes'p / radii)^2) <= 1 of the least |p - offset|, around the center; shape [n].

    Along the axes, with w = axes'offset, the conditions of a least square are

        p_i = r_i^2 w_i / (r_i^2 + l),    |u(l)| = 1 for u_i = r_i w_i / (r_i^2 + l)     (1)

    with one l > 0, unless the offset is inside. 1/|u(l)| is nearly a line, and Newton's method on it goes up to the
    solution from l = 0 (Conn, Gould, Toint, Trust-region methods, 2000, section 7.3).

    Args:
        axes: orthonormal columns, shape [n, n].
        radii: shape [n], 0 and infinity among them.
        offset: shape [n].
    """
    w = axes.T @ offset
    p = np.where(np.isinf(radii), w, 0.0)
    real = np.isfinite(radii) & (radii > 0.0)
    r, w = radii[real], w[real]
    p[real] = w
    u = w / r
    length = float(np.linalg.norm(u))
    if length > 1.0:
        multiplier = 0.0
        for _ in range(100):
            slope = float(u @ (u / (r * r + multiplier)))  # -|u| d|u|/dl
            step = (length - 1.0) * length * length / slope
            multiplier += step
            u = r * w / (r * r + multiplier)
            length = float(np.linalg.norm(u))
            if step <= 1e-16 * multiplier or length <= 1.0:
                break
        p[real] = r * u / max(length, 1e-300)  # to the boundary, against rounding
    return np.asarray(axes @ p)
