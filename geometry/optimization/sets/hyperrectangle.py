"""Boxes along the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets import set_programs
from merganser.geometry.optimization.sets.arguments import Array, finite_vector, same_dimension
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
    from merganser.geometry.shapes import Shape


class Hyperrectangle(ConvexSet):
    """The vectors x with lb <= x <= ub.

    Args:
        lb, ub: shape [n], finite; by default of dimension 0.

    Raises:
        ValueError: sizes differ, a bound is not finite, or a lower one is above the upper one.
    """

    def __init__(self, lb: Any = (), ub: Any = ()) -> None:
        self._lb = finite_vector(lb, "Hyperrectangle", "lb")
        self._ub = finite_vector(ub, "Hyperrectangle", "ub", self._lb.size)
        above = np.flatnonzero(self._lb > self._ub)
        if above.size:
            i = above[0]
            raise ValueError(f"Hyperrectangle: expected lb <= ub, got {self._lb[i]} > {self._ub[i]} at index {i}.")
        super().__init__(self._lb.size)

    def lb(self) -> Array:
        """The lower bounds, shape [n]."""
        return self._lb.copy()

    def ub(self) -> Array:
        """The upper bounds, shape [n]."""
        return self._ub.copy()

    def Center(self) -> Array:
        """The middle, shape [n]."""
        return np.asarray(0.5 * (self._lb + self._ub))

    def UniformSample(self, generator: RandomGenerator) -> Array:
        """A random vector of the box, each as probable as another, shape [n]."""
        numbers = np.array([generator.uniform() for _ in range(self._dimension)])
        return np.asarray(self._lb + numbers * (self._ub - self._lb))

    def MaybeGetIntersection(self, arg0: Hyperrectangle) -> Hyperrectangle | None:
        """The box of what is in this one and in another; None if nothing is.

        Raises:
            RuntimeError: the ambient dimensions differ.
        """
        same_dimension(self._where("MaybeGetIntersection"), self._dimension, arg0)
        lb, ub = np.maximum(self._lb, arg0._lb), np.minimum(self._ub, arg0._ub)
        return Hyperrectangle(lb, ub) if (lb <= ub).all() else None

    def MakeHPolyhedron(self) -> HPolyhedron:
        """This box as a polyhedron of 2n rows."""
        from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron

        return HPolyhedron.MakeBox(self._lb, self._ub)

    @staticmethod
    def MaybeCalcAxisAlignedBoundingBox(set: ConvexSet) -> Hyperrectangle | None:
        """The smallest box around a set, by 2n programs unless it is a box; None if it is empty or unbounded.

        Raises:
            RuntimeError: the solver did not converge.
        """
        where = "Hyperrectangle.MaybeCalcAxisAlignedBoundingBox"
        if isinstance(set, Hyperrectangle):
            return set
        n = set.ambient_dimension()
        if n == 0:
            return None if set.IsEmpty() else Hyperrectangle()
        known = set._axis_aligned_bounds()
        if known is not None and (known[0] <= known[1]).all():
            return Hyperrectangle(*known) if np.isfinite(known).all() else None
        values: list[float] = []
        try:
            for extreme in set_programs.extremes(set, (*-np.eye(n), *np.eye(n)), where):
                if not np.isfinite(extreme.value):
                    return None
                values.append(extreme.value)
        except RuntimeError:
            if set.IsBounded():
                raise
            return None
        bounds = np.array([-np.array(values[:n]), values[n:]])
        bounds.sort(axis=0)  # of what is flat, the two may cross by rounding
        return Hyperrectangle(*bounds)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # s lb <= y <= s ub
        eye = np.eye(self._dimension)
        rows = place.add_at_most_zero(prog, np.vstack((eye, -eye)), np.concatenate((-self._ub, self._lb)))
        return np.empty(0, object), rows

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return True

    def _only_point(self) -> Array | None:
        return self.lb() if (self._lb == self._ub).all() else None

    def _feasible_point(self) -> Array | None:
        return self.Center()

    def _contains(self, x: Array, tol: float) -> bool:
        return bool((x >= self._lb - tol).all() and (x <= self._ub + tol).all())

    def _nearest(self, x: Array) -> Array | None:
        return np.clip(x, self._lb, self._ub)

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: the product of the lengths."""
        return True

    def _exact_volume(self) -> float:
        return float(np.prod(self._ub - self._lb))

    def _affine_hull(self, tol: float | None) -> Flat:
        long = self._ub - self._lb > (1e-12 if tol is None else tol)
        return Flat(np.eye(self._dimension)[:, long], self.lb())

    def _shape_with_pose(self) -> tuple[Shape, RigidTransform]:
        from merganser.framework.math.rotations.rigid_transform import RigidTransform
        from merganser.geometry.shapes import Box

        return Box(*(self._ub - self._lb)), RigidTransform(self.Center())
