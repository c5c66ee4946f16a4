"""Boxes along the axes, and what linear and semidefinite constraints allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.kinds import ProgramAttribute
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


_TAKEN = {
    ProgramAttribute.kLinearCost,
    ProgramAttribute.kLinearConstraint,
    ProgramAttribute.kLinearEqualityConstraint,
    ProgramAttribute.kPositiveSemidefiniteConstraint,
}


class Spectrahedron(ConvexSet):
    """The values of the decision variables of a program that its constraints allow; costs do not count.

    It is {x : G x <= g, E x = e, F0 + x1 F1 + ... + xn Fn positive semidefinite for each of some lists of matrices}.

    Args:
        prog: a program of linear constraints, positive semidefinite matrices and linear matrix inequalities, which is
            read once; by default that of dimension 0.

    Raises:
        RuntimeError: the program has other constraints, or variables that are not continuous.
    """

    def __init__(self, prog: MathematicalProgram | None = None) -> None:
        super().__init__(0 if prog is None else prog.num_vars())
        n = self._dimension
        others = set() if prog is None else prog.required_capabilities() - _TAKEN
        if others:
            names = ", ".join(sorted(each.name for each in others))
            raise RuntimeError(
                f"Spectrahedron: expected linear and positive semidefinite constraints; this program has {names}."
            )
        self._G, self._g = np.zeros((0, n)), np.zeros(0)
        self._E, self._e = np.zeros((0, n)), np.zeros(0)
        self._matrices: list[Array] = []  # F0, F1, ..., each list of shape [n + 1, rows, rows]
        if prog is not None:
            self._read_rows(prog)
            self._read_matrices(prog)

    def _read_rows(self, prog: MathematicalProgram) -> None:
        for binding in prog.GetLinearConstraints() + prog.bounding_box_constraints():
            constraint = binding.evaluator()
            rows = np.zeros((constraint.num_constraints(), self._dimension))
            np.add.at(rows.T, prog.FindDecisionVariableIndices(binding.variables()), constraint.GetDenseA().T)
            low, high = constraint.lower_bound(), constraint.upper_bound()
            equal = low == high
            self._E, self._e = np.vstack((self._E, rows[equal])), np.append(self._e, low[equal])
            for sign, bound in ((1.0, high), (-1.0, low)):
                kept = np.isfinite(bound) & ~equal
                self._G, self._g = np.vstack((self._G, sign * rows[kept])), np.append(self._g, sign * bound[kept])

    def _read_matrices(self, prog: MathematicalProgram) -> None:
        n = self._dimension
        for binding in prog.positive_semidefinite_constraints():
            rows = binding.evaluator().matrix_rows()
            F = np.zeros((n + 1, rows, rows))
            for k, index in enumerate(prog.FindDecisionVariableIndices(binding.variables())):
                F[1 + index, k % rows, k // rows] += 1.0
            self._matrices.append(F)
        for binding in prog.linear_matrix_inequality_constraints():
            given = binding.evaluator().F()
            F = np.zeros((n + 1, *given[0].shape))
            F[0] = given[0]
            for index, each in zip(prog.FindDecisionVariableIndices(binding.variables()), given[1:]):
                F[1 + index] += each
            self._matrices.append(F)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # G y <= g s, E y = e s, F0 s + y1 F1 + ... positive semidefinite
        added = place.add_at_most_zero(prog, self._G, -self._g) + place.add_zero(prog, self._E, -self._e)
        for F in self._matrices:
            constant = place.d * F[0] + np.tensordot(place.b, F[1:], 1)
            slopes = np.tensordot(np.column_stack((place.c, place.A.T)), F, 1)
            added.append(prog.AddLinearMatrixInequalityConstraint([constant, *slopes], place.variables))
        return np.empty(0, object), added

    def _contains(self, x: Array, tol: float) -> bool:
        values = np.append(1.0, x)
        return bool(
            (self._G @ x <= self._g + tol).all()
            and (np.abs(self._E @ x - self._e) <= tol).all()
            and all(np.linalg.eigvalsh(np.tensordot(values, F, 1)).min() >= -tol for F in self._matrices)
        )
