"""Cones of matrices between which that of positive semidefinite ones lies, and which are cheaper.

Source: Ahmadi and Majumdar, DSOS and SDSOS Optimization, 2019.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program_costs import ProgramCosts


class ProgramMatrices(ProgramCosts):
    """The part of MathematicalProgram that knows diagonally dominant matrices and their dual cones."""

    def AddPositiveDiagonallyDominantMatrixConstraint(self, X: Any) -> Objects:
        """Adds X_ii >= sum of |X_ij|, j != i, of a symmetric matrix of expressions.

        Returns:
            Y with Y_ij >= |X_ij|, new variables off the diagonal, shape [n, n].
        """
        entries = np.asarray(X, dtype=object)
        size = entries.shape[0]
        Y = entries.copy()
        for i, j in itertools.combinations(range(size), 2):
            Y[i, j] = Y[j, i] = self.NewContinuousVariables(1, f"Y{i}{j}")[0]
            both = np.array([Y[i, j] - entries[i, j], Y[i, j] + entries[i, j]], dtype=object)
            self.AddLinearConstraint(both, np.zeros(2), np.full(2, np.inf))
        for i in range(size):
            row = entries[i, i] - sum(Y[i, j] for j in range(size) if j != i)
            self.AddLinearConstraint(row, 0.0, np.inf)
        return Y

    def AddScaledDiagonallyDominantMatrixConstraint(self, X: Any) -> list[list[Objects]]:
        """Adds that a symmetric matrix is a sum of positive semidefinite ones that have 2 x 2 entries that are not 0.

        Returns:
            M with M[i][j], shape [2, 2], the part at rows and columns i < j.
        """
        entries = np.asarray(X, dtype=object)
        size = entries.shape[0]
        if size == 1:
            self.AddLinearConstraint(entries[0, 0] + 0.0, 0.0, np.inf)
        M: list[list[Objects]] = [[np.zeros((2, 2), dtype=object) for _ in range(size)] for _ in range(size)]
        diagonal: list[Any] = [0.0] * size
        for i, j in itertools.combinations(range(size), 2):
            a, b = self.NewContinuousVariables(2, f"M{i}{j}")
            M[i][j] = np.array([[a, entries[i, j]], [entries[i, j], b]], dtype=object)
            self.AddRotatedLorentzConeConstraint([a, b, entries[i, j]])
            diagonal[i], diagonal[j] = diagonal[i] + a, diagonal[j] + b
        if size > 1:
            rest = np.array([entries[i, i] - diagonal[i] for i in range(size)], dtype=object)
            self.AddLinearEqualityConstraint(rest, np.zeros(size))
        return M

    def AddPositiveDiagonallyDominantDualConeMatrixConstraint(self, X: Any) -> Binding:
        """Adds X_ii >= 0 and X_ii + X_jj >= 2 |X_ij| of a symmetric matrix of affine expressions."""
        entries = np.asarray(X, dtype=object)
        rows = [entries[i, i] + 0.0 for i in range(entries.shape[0])]
        for i, j in itertools.combinations(range(entries.shape[0]), 2):
            rows += [entries[i, i] + entries[j, j] + sign * 2.0 * entries[i, j] for sign in (1.0, -1.0)]
        count = len(rows)
        return self.AddLinearConstraint(np.array(rows, dtype=object), np.zeros(count), np.full(count, np.inf))

    def AddScaledDiagonallyDominantDualConeMatrixConstraint(self, X: Any) -> list[Binding]:
        """Adds X_ii X_jj >= X_ij^2 and X_ii >= 0 for all i and j of a symmetric matrix of affine expressions."""
        entries = np.asarray(X, dtype=object)
        return [
            self.AddRotatedLorentzConeConstraint(np.array([entries[i, i], entries[j, j], entries[i, j]], dtype=object))
            for i, j in itertools.combinations(range(entries.shape[0]), 2)
        ]

    def _taken(self, constraint: Binding) -> Objects:
        """Removes a positive semidefinite matrix, and returns it.

        Raises:
            ValueError: it is not of this program.
        """
        if self.RemoveConstraint(constraint) == 0:
            raise ValueError(f"MathematicalProgram: {constraint.brief()} is not of this program.")
        rows = constraint.evaluator().matrix_rows()
        return constraint.variables().reshape(rows, rows, order="F")

    def TightenPsdConstraintToDd(self, constraint: Binding) -> Any:
        """Replaces a positive semidefinite matrix by a diagonally dominant one; returns what adding that returns."""
        X = self._taken(constraint)
        return self.AddPositiveDiagonallyDominantMatrixConstraint(X)

    def TightenPsdConstraintToSdd(self, constraint: Binding) -> Any:
        """Replaces a positive semidefinite matrix by a scaled diagonally dominant one; returns what that returns."""
        X = self._taken(constraint)
        return self.AddScaledDiagonallyDominantMatrixConstraint(X)

    def RelaxPsdConstraintToDdDualCone(self, constraint: Binding) -> Binding:
        """Replaces a positive semidefinite matrix by one in the dual cone of the diagonally dominant ones."""
        return self.AddPositiveDiagonallyDominantDualConeMatrixConstraint(self._taken(constraint))

    def RelaxPsdConstraintToSddDualCone(self, constraint: Binding) -> list[Binding]:
        """Replaces a positive semidefinite matrix by one in the dual cone of the scaled diagonally dominant ones."""
        return self.AddScaledDiagonallyDominantDualConeMatrixConstraint(self._taken(constraint))
