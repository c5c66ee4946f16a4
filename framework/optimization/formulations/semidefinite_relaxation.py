"""Semidefinite relaxations of quadratic programs (Shor 1987), and what tightens them.

With the decision variables y of a program there is a symmetric matrix

    X = [Y  y ]    in place of  [y y'  y]
        [y' 1 ]                 [y'    1]                                                                        (1)

that is positive semidefinite. Quadratic forms of y are linear in X: y'Qy = tr(Q Y). What follows from linear
constraints is linear in X, too (Sherali and Adams 1990):

    a'y = b  gives  a'Y = b y',        A y <= b  gives  (b - A y)(b - A y)' >= 0 in each entry                   (2)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, objects
from merganser.framework.optimization.evaluators.costs import LinearCost, QuadraticCost
from merganser.framework.optimization.evaluators.linear_constraints import LinearConstraint, LinearEqualityConstraint
from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram

_A = ProgramAttribute
_RELAXED = {
    _A.kLinearCost, _A.kQuadraticCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint, _A.kQuadraticConstraint,
}  # fmt: skip


@dataclass(eq=False)
class SemidefiniteRelaxationOptions:
    """Which constraints that follow from linear ones are added: (2), of equations and of inequalities."""

    add_implied_linear_equality_constraints: bool = True
    add_implied_linear_constraints: bool = True

    def set_to_strongest(self) -> None:
        """Adds all: the tightest relaxation, and the longest solution."""
        self.add_implied_linear_equality_constraints = self.add_implied_linear_constraints = True

    def set_to_weakest(self) -> None:
        """Adds none: Shor's relaxation."""
        self.add_implied_linear_equality_constraints = self.add_implied_linear_constraints = False


class _Group:
    """Variables y of a program and their Y: forms of y become rows of the entries of Y and of y."""

    def __init__(self, relaxed: MathematicalProgram, variables: Objects, one: Any, name: str) -> None:
        n = variables.size
        self.places = {variable.get_id(): i for i, variable in enumerate(variables.tolist())}
        self.Y = relaxed.NewSymmetricContinuousVariables(n, name)
        corner = np.empty((n + 1, n + 1), dtype=object)
        corner[:n, :n], corner[:n, n], corner[n, :n], corner[n, n] = self.Y, variables, variables, one
        relaxed.AddPositiveSemidefiniteConstraint(corner)
        self._lower = np.tril_indices(n)
        self._lifted = np.concatenate((self.Y[self._lower], variables))

    def has(self, binding: Binding) -> bool:
        """Whether all variables of a binding are of this group."""
        return all(variable.get_id() in self.places for variable in binding._variables.tolist())

    def lifted(self, Q: Array, b: Array, variables: Objects) -> tuple[Array, Objects]:
        """A row a and entries of X with y'Qy + b'y = a . entries, for some of y and symmetric Q."""
        n, places = len(self.places), [self.places[variable.get_id()] for variable in variables.tolist()]
        form, slope = np.zeros((n, n)), np.zeros(n)
        np.add.at(form, np.ix_(places, places), Q)
        np.add.at(slope, places, b)
        i, j = self._lower
        row = np.concatenate((np.where(i == j, 1.0, 2.0) * form[self._lower], slope))
        used = row != 0.0
        if not used.any():
            used[-1] = True
        return row[used], self._lifted[used]

    def spread(self, binding: Binding) -> Array:
        """The matrix of a linear constraint with a column for each variable of the group."""
        places = [self.places[variable.get_id()] for variable in binding._variables.tolist()]
        A = np.zeros((binding.evaluator().num_constraints(), len(self.places)))
        np.add.at(A.T, places, binding.evaluator().GetDenseA().T)
        return A


def MakeSemidefiniteRelaxation(
    prog: MathematicalProgram,
    variable_groups: Sequence[Any] | SemidefiniteRelaxationOptions | None = None,
    options: SemidefiniteRelaxationOptions | None = None,
) -> MathematicalProgram:
    """A convex program whose least cost is at most that of a program with linear and quadratic costs and constraints.

    The variables of the program are variables of the relaxation as well. Where X has rank 1 at its solution, they solve
    the program.

    Args:
        prog: the program; it stays as it is.
        variable_groups: sets of variables, as Variables. Each has a matrix of its own, for the costs and constraints
            that have no other variables; entries that several matrices have are equal. What belongs to no group is
            added as it is. By default, one group of all variables. The options can be given here as well.
        options: what is added to tighten the relaxation.

    Raises:
        RuntimeError: the program has other costs or constraints, or some that are not convex and belong to no group.
    """
    if isinstance(variable_groups, SemidefiniteRelaxationOptions):
        variable_groups, options = None, variable_groups
    others = sorted(each.name.removeprefix("k") for each in prog.required_capabilities() - _RELAXED)
    if others:
        raise RuntimeError(
            f"MakeSemidefiniteRelaxation: the program has {', '.join(others)}; expected linear and quadratic costs and "
            "constraints of real variables."
        )
    from merganser.framework.symbolic import Variable

    relaxed = MathematicalProgram()
    one = Variable("one")
    relaxed.AddDecisionVariables(prog.decision_variables())
    relaxed.AddDecisionVariables([one])
    relaxed.AddLinearEqualityConstraint(np.ones((1, 1)), [1.0], [one])
    for binding in prog.linear_costs() + prog.GetLinearConstraints() + prog.bounding_box_constraints():
        relaxed._add(binding)
    if variable_groups is None:
        groups = [_Group(relaxed, prog.decision_variables(), one, "Y")]
    else:
        parts = [_in_order(prog, part) for part in variable_groups]
        groups = [_Group(relaxed, part, one, f"Y{k}") for k, part in enumerate(parts)]
    _relax_quadratic(relaxed, prog, groups)
    for group in groups:
        _tighten(relaxed, prog, group, options or SemidefiniteRelaxationOptions())
    _join(relaxed, groups)
    return relaxed


def _in_order(prog: MathematicalProgram, variables: Iterable[Any]) -> Objects:
    """Variables in the order of the program."""
    given = list(variables)
    places = prog.FindDecisionVariableIndices(given)
    return objects([given[k] for k in np.argsort(places)])


def _relax_quadratic(relaxed: MathematicalProgram, prog: MathematicalProgram, groups: list[_Group]) -> None:
    """Adds quadratic costs, to the first group that has them, and quadratic constraints, to all of these."""
    for binding in prog.quadratic_costs() + prog.quadratic_constraints():
        evaluator, having = binding.evaluator(), [group for group in groups if group.has(binding)]
        if not having:
            if not evaluator.is_convex():
                raise RuntimeError(
                    f"MakeSemidefiniteRelaxation: {binding.brief()} is not convex, and no group has all of its "
                    "variables. Add a group that has them."
                )
            relaxed._add(binding)
            continue
        is_cost = isinstance(evaluator, QuadraticCost)
        for group in having[:1] if is_cost else having:
            row, entries = group.lifted(0.5 * evaluator._Q, evaluator._b, binding._variables)
            new: Any = (
                LinearCost(row, evaluator.c())
                if is_cost
                else LinearConstraint(row[np.newaxis], evaluator._lower, evaluator._upper)
            )
            new.set_description(evaluator.get_description())
            relaxed._add(Binding(new, entries))


def _tighten(
    relaxed: MathematicalProgram, prog: MathematicalProgram, group: _Group, options: SemidefiniteRelaxationOptions
) -> None:
    """Adds what follows from linear constraints: (2)."""
    n = len(group.places)
    y = group._lifted[-n:]
    if options.add_implied_linear_equality_constraints:
        for binding in filter(group.has, prog.linear_equality_constraints()):
            A, b = group.spread(binding), binding.evaluator()._lower
            for j in range(n):
                rows = np.column_stack((A, -b))
                relaxed._add(Binding(LinearEqualityConstraint(rows, np.zeros(b.size)), np.append(group.Y[:, j], y[j])))
    if not options.add_implied_linear_constraints:
        return
    pairs: list[Array] = []  # (a, b) with b - a'y >= 0
    for binding in filter(group.has, prog.linear_constraints() + prog.bounding_box_constraints()):
        A, low, high = group.spread(binding), binding.evaluator()._lower, binding.evaluator()._upper
        for row, least, most in zip(A, low, high):
            pairs += [np.append(row, most)] if np.isfinite(most) else []
            pairs += [np.append(-row, -least)] if np.isfinite(least) else []
    if pairs:
        relaxed._add(_products(group, np.array(pairs)))


def _products(group: _Group, rows: Array) -> Binding:
    """Products of all pairs of b - a'y >= 0: a'Y c - (b c + d a)'y + b d >= 0, for (a, b) and (c, d)."""
    k, m = np.tril_indices(len(rows))
    (a, b), (c, d) = ((rows[each, :-1], rows[each, -1:]) for each in (k, m))
    i, j = group._lower
    of_Y = np.where(i == j, 0.5, 1.0) * (a[:, i] * c[:, j] + a[:, j] * c[:, i])
    slopes = np.hstack((of_Y, -(b * c + d * a)))
    used = slopes.any(axis=0)
    return Binding(LinearConstraint(slopes[:, used], -(b * d)[:, 0], np.full(k.size, np.inf)), group._lifted[used])


def _join(relaxed: MathematicalProgram, groups: list[_Group]) -> None:
    """Adds that entries of Y for the same two variables are equal in all groups."""
    for k, first in enumerate(groups):
        for second in groups[k + 1 :]:
            common = [(i, second.places[key]) for key, i in first.places.items() if key in second.places]
            pairs = [(first.Y[i, j], second.Y[p, q]) for n, (i, p) in enumerate(common) for j, q in common[: n + 1]]
            if pairs:
                A = np.hstack((np.eye(len(pairs)), -np.eye(len(pairs))))
                variables = objects([one for one, _ in pairs] + [other for _, other in pairs])
                relaxed._add(Binding(LinearEqualityConstraint(A, np.zeros(len(pairs))), variables))
