"""A region that grows: polyhedra and ellipsoids by turns.

An ellipsoid E = {x: |W (x - c)| <= 1} gives a polyhedron P: where E, made larger or smaller around c, touches an
obstacle first, at p, its tangent becomes a face:

    a'x <= a'p - margin,    a = W'W (p - c) / |W'W (p - c)|                                             (1)

and P gives the next ellipsoid, the greatest in it. The ellipsoids grow, so both come to an end (Deits and Tedrake,
Computing large convex regions of obstacle-free space through semidefinite programming, 2014).
"""

from __future__ import annotations

__all__ = ["EllipsoidGrowth", "Face", "GrowingRegion", "ball_around", "in_ellipsoid", "tangent"]

import math
from typing import NamedTuple

import numpy as np

from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid

FIRST_RADIUS = 1e-2  # of the ball to begin with


class Face(NamedTuple):
    """a'x <= b with |a| = 1; a has the shape [n]."""

    a: Array
    b: float

    def excess(self, x: Array) -> float:
        """How far x, shape [n], is on the wrong side."""
        return float(self.a @ x) - self.b


class GrowingRegion:
    """A polyhedron that gets more faces.

    Attributes:
        A: shape [m, n].
        b: shape [m].
    """

    def __init__(self, domain: HPolyhedron) -> None:
        self.A, self.b = domain.A(), domain.b()

    def cut(self, face: Face) -> None:
        """Takes away what is beyond a face."""
        self.A, self.b = np.vstack((self.A, face.a)), np.append(self.b, face.b)

    def contains(self, x: Array, tol: float = 0.0) -> bool:
        """Whether x, shape [n], is in the region."""
        return bool((self.A @ x <= self.b + tol).all())

    def polyhedron(self) -> HPolyhedron:
        """The region as it is now."""
        return HPolyhedron(self.A, self.b)


def ball_around(sample: Array) -> Hyperellipsoid:
    """The ellipsoid that growth begins with, if no other one is given."""
    return Hyperellipsoid.MakeHypersphere(FIRST_RADIUS, sample)


def tangent(ellipsoid: Hyperellipsoid, p: Array, margin: float = 0.0) -> Face | None:
    """(1); None if p, shape [n], is so near to the center that it has no direction."""
    W, offset = ellipsoid.A(), p - ellipsoid.center()
    normal = W.T @ (W @ offset)
    length = float(np.linalg.norm(normal))
    if not length > 1e-9 * float(np.linalg.norm(W)) ** 2 * FIRST_RADIUS:
        return None
    a = normal / length
    return Face(a, float(a @ p) - margin)


def in_ellipsoid(polyhedron: HPolyhedron) -> Hyperellipsoid | None:
    """The greatest ellipsoid in a bounded polyhedron; None if the polyhedron has no inside.

    Raises:
        RuntimeError: the polyhedron is empty.
    """
    try:
        return polyhedron.MaximumVolumeInscribedEllipsoid()
    except (RuntimeError, np.linalg.LinAlgError):
        if polyhedron.IsEmpty():
            raise
        return None


class EllipsoidGrowth:
    """Whether the volume of ellipsoids still grows.

    Args:
        absolute: growth ends where the volume grows by this at most; negative: never.
        relative: the same in parts of the greatest volume up to then.
        first: the ellipsoid to begin with.
    """

    def __init__(self, absolute: float, relative: float, first: Hyperellipsoid) -> None:
        self._absolute, self._relative = absolute, relative
        self._best = first.CalcVolume()

    def has_ended(self, ellipsoid: Hyperellipsoid) -> bool:
        """Whether it ends with this ellipsoid, the next one."""
        volume = ellipsoid.CalcVolume()
        if not (math.isfinite(volume) and math.isfinite(self._best)):
            return True
        growth = volume - self._best
        is_end = growth <= self._absolute or growth <= self._relative * self._best
        self._best = max(volume, self._best)
        return is_end
