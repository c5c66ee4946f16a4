"""Parameters of a distance constraint, which a Context may change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.indices import BodyIndex

Vector = npt.NDArray[np.float64]


class DistanceConstraintParams:
    """A rod between a point P of body A and a point Q of body B, rigid or as a spring and damper.

        f = -stiffness (d(q) - distance) - damping ddot,   d = |p_PQ|

    The object does not change. Without arguments it is a placeholder that no plant accepts.

    Args:
        bodyA: index of body A.
        p_AP: P in A [m], shape [3].
        bodyB: index of body B.
        p_BQ: Q in B [m], shape [3].
        distance: free length, positive [m].
        stiffness: positive, infinite for a rigid rod [N/m].
        damping: not negative [N s/m].

    Raises:
        RuntimeError: an index is invalid, the two are equal, or a number is out of range.
        ValueError: a point has not three numbers, or they are not finite.
    """

    __slots__ = ("_bodyA", "_bodyB", "_damping", "_distance", "_p_AP", "_p_BQ", "_stiffness")

    def __init__(
        self,
        bodyA: int | None = None,
        p_AP: npt.ArrayLike | None = None,
        bodyB: int | None = None,
        p_BQ: npt.ArrayLike | None = None,
        distance: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        given = (bodyA, p_AP, bodyB, p_BQ, distance, stiffness, damping)
        if all(argument is None for argument in given):
            self._bodyA = self._bodyB = BodyIndex()
            self._p_AP, self._p_BQ = _point([0.0, 0.0, 0.0], "p_AP"), _point([0.0, 0.0, 0.0], "p_BQ")
            self._distance = self._stiffness = self._damping = 0.0
            return
        if bodyA is None or p_AP is None or bodyB is None or p_BQ is None:
            raise TypeError("DistanceConstraintParams() takes all of its seven arguments, or none.")
        if distance is None or stiffness is None or damping is None:
            raise TypeError("DistanceConstraintParams() takes all of its seven arguments, or none.")
        self._bodyA, self._bodyB = BodyIndex(bodyA), BodyIndex(bodyB)
        self._p_AP, self._p_BQ = _point(p_AP, "p_AP"), _point(p_BQ, "p_BQ")
        self._distance, self._stiffness, self._damping = float(distance), float(stiffness), float(damping)
        self._check()

    def _check(self) -> None:
        for body, index in (("A", self._bodyA), ("B", self._bodyB)):
            if not index.is_valid():
                raise RuntimeError(f"DistanceConstraintParams: the index {int(index)} of body {body} is invalid.")
        if self._bodyA == self._bodyB:
            raise RuntimeError(
                f"DistanceConstraintParams: bodies A and B are the same, body {int(self._bodyA)}; points of one body "
                "keep their distance anyway."
            )
        if not (self._distance > 0.0 and math.isfinite(self._distance)):
            raise RuntimeError(f"DistanceConstraintParams: the distance must be positive, but is {self._distance}.")
        if not self._stiffness > 0.0:
            raise RuntimeError(
                f"DistanceConstraintParams: the stiffness must be positive (infinite for a rigid rod), but is "
                f"{self._stiffness}."
            )
        if not (self._damping >= 0.0 and math.isfinite(self._damping)):
            raise RuntimeError(
                f"DistanceConstraintParams: the damping must be positive or zero, but is {self._damping}."
            )

    def bodyA(self) -> BodyIndex:
        """Returns the index of body A."""
        return self._bodyA

    def bodyB(self) -> BodyIndex:
        """Returns the index of body B."""
        return self._bodyB

    def p_AP(self) -> Vector:
        """Returns the point P in A [m], shape [3], read-only."""
        return self._p_AP

    def p_BQ(self) -> Vector:
        """Returns the point Q in B [m], shape [3], read-only."""
        return self._p_BQ

    def distance(self) -> float:
        """Returns the free length [m]."""
        return self._distance

    def stiffness(self) -> float:
        """Returns the stiffness [N/m], infinite for a rigid rod."""
        return self._stiffness

    def damping(self) -> float:
        """Returns the damping [N s/m]."""
        return self._damping

    def __copy__(self) -> DistanceConstraintParams:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DistanceConstraintParams:
        return self

    def __repr__(self) -> str:
        return (
            f"DistanceConstraintParams(bodyA={self._bodyA!r}, p_AP={self._p_AP.tolist()}, bodyB={self._bodyB!r}, "
            f"p_BQ={self._p_BQ.tolist()}, distance={self._distance}, stiffness={self._stiffness}, "
            f"damping={self._damping})"
        )


def _point(values: npt.ArrayLike, name: str) -> Vector:
    point: Vector = as_vector(values, 3, f"DistanceConstraintParams: {name}")
    if not np.isfinite(point).all():
        raise ValueError(f"DistanceConstraintParams: {name} must be finite, but is {point.tolist()}.")
    point.setflags(write=False)
    return point
