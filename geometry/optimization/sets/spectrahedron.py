"""What linear and semidefinite constraints allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram

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
