"""Semidefinite programs as files in the sparse format of SDPA (Yamashita, Fujisawa et al. 2012).

A file has C, A_i and a_i of

    max tr(C X)  so that  tr(A_i X) = a_i,  X >= 0 in diagonal blocks,                                            (1)

and of its dual, min a'y so that sum_i y_i A_i - C >= 0. A program in conic form, minimize q'x so that A x + s = b with
s in cones, has s in the blocks of X, and free variables x beside:

    max tr(C X) + d'x  so that  tr(A_i X) + B_i x = a_i,    with C = 0, d = -q.                                   (2)

A Lorentz cone is a matrix [s0 s1'; s1 s0 I] that is positive semidefinite; equations keep its zeros and its diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.conic_form import ConicForm
from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.framework.optimization.programs.program import MathematicalProgram

_A = ProgramAttribute
_TAKEN = {
    _A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint, _A.kLorentzConeConstraint,
    _A.kRotatedLorentzConeConstraint, _A.kPositiveSemidefiniteConstraint, _A.kQuadraticConstraint, _A.kL2NormCost,
}  # fmt: skip


class RemoveFreeVariableMethod(Enumeration):
    """How free variables of (2) are removed, of which the format has none."""

    kTwoSlackVariables = 1
    """x = p - q with p, q >= 0."""
    kNullspace = 2
    """By the dual, whose equations B'y = d have the solutions y = y0 + N t."""
    kLorentzConeSlack = 3
    """t >= |x| in a Lorentz cone, with a new t."""


Entry = tuple[int, int, int, float]  # block, row, column (upper triangle), value


@dataclass
class _Problem:
    """(2): sizes of blocks, negative for diagonal ones; the matrices by their entries."""

    blocks: list[int] = field(default_factory=list)
    C: list[Entry] = field(default_factory=list)
    A: list[list[Entry]] = field(default_factory=list)
    a: list[float] = field(default_factory=list)

    def add_block(self, size: int) -> int:
        """A new block of X, and its number."""
        self.blocks.append(size)
        return len(self.blocks)

    def add_row(self, entries: Iterable[Entry], right: float) -> None:
        """An equation of X."""
        self.A.append(list(entries))
        self.a.append(right)

    def add_arrow(self, block: int, size: int) -> None:
        """Keeps a block at the form of a Lorentz cone."""
        for j in range(2, size + 1):
            self.add_row([(block, 1, 1, -1.0), (block, j, j, 1.0)], 0.0)
            for i in range(2, j):
                self.add_row([(block, i, j, 0.5)], 0.0)


def GenerateSDPA(
    prog: MathematicalProgram,
    file_name: str,
    method: RemoveFreeVariableMethod = RemoveFreeVariableMethod.kNullspace,
) -> bool:
    """Writes a program as a file of SDPA's format, whose greatest value is minus the least cost of the program.

    Constants of the cost are not in the format; where there are, the first line, a comment, says what to add to minus
    the value.

    Args:
        prog: a program with linear costs and linear, Lorentz cone and positive semidefinite constraints.
        file_name: name of the file, to which `.dat-s` is added.
        method: how free variables are removed.

    Returns:
        Whether the file could be written.

    Raises:
        ValueError: the program has costs or constraints of other kinds, or equations of the dual have no solution.
    """
    others = sorted(each.name.removeprefix("k") for each in prog.required_capabilities() - _TAKEN)
    if others or any(not binding.evaluator().is_convex() for binding in prog.quadratic_constraints()):
        kinds = ", ".join(others) or "quadratic constraints that are not convex"
        raise ValueError(
            f"GenerateSDPA: the program has {kinds}; expected linear costs, and linear, Lorentz cone and positive "
            "semidefinite constraints."
        )
    form = ConicForm.of(prog)
    problem = _rows_of(form)
    constant = sum(binding.evaluator().b() for binding in prog.linear_costs())
    B, d = form.A.toarray(), -form.q
    if method is RemoveFreeVariableMethod.kNullspace:
        problem, gained = _by_null_space(problem, B, d)
        constant -= gained
    elif method is RemoveFreeVariableMethod.kTwoSlackVariables:
        _split(problem, B, d)
    else:
        _bound(problem, B, d)
    try:
        with open(f"{file_name}.dat-s", "w", encoding="ascii") as file:
            file.write(_text(problem, constant))
    except OSError:
        return False
    return True


def _rows_of(form: ConicForm) -> _Problem:
    """(2) without the free variables: an equation for each row of A x + s = b, and those of arrows behind."""
    problem, arrows = _Problem(), []
    for right in form.b[: form.linear.num_equations]:
        problem.add_row([], right)
    count = form.linear.num_inequalities
    rest = iter(form.b[form.linear.num_equations :])
    block = problem.add_block(-count) if count else 0
    for i in range(1, count + 1):
        problem.add_row([(block, i, i, 1.0)], next(rest))
    for cone in form.cones:
        block = problem.add_block(cone.size)
        if cone.kind == "matrix":
            for j in range(1, cone.size + 1):
                for i in range(1, j + 1):  # entries off the diagonal have the weight sqrt(2), and occur twice
                    problem.add_row([(block, i, j, 1.0 if i == j else np.sqrt(0.5))], next(rest))
            continue
        for j in range(1, cone.size + 1):
            problem.add_row([(block, 1, j, 1.0 if j == 1 else 0.5)], next(rest))
        arrows.append((block, cone.size))
    for block, size in arrows:
        problem.add_arrow(block, size)
    return problem


def _split(problem: _Problem, B: Array, d: Array) -> None:
    """x = p - q, a diagonal block of p and q."""
    n = d.size
    block = problem.add_block(-2 * n)
    for k in range(n):
        problem.C += [(block, k + 1, k + 1, d[k]), (block, n + k + 1, n + k + 1, -d[k])]
        for i in np.flatnonzero(B[:, k]):
            problem.A[i] += [(block, k + 1, k + 1, B[i, k]), (block, n + k + 1, n + k + 1, -B[i, k])]


def _bound(problem: _Problem, B: Array, d: Array) -> None:
    """t >= |x|, a block of the form of a Lorentz cone."""
    block = problem.add_block(d.size + 1)
    for k in range(d.size):
        problem.C.append((block, 1, k + 2, 0.5 * d[k]))
        for i in np.flatnonzero(B[:, k]):
            problem.A[i].append((block, 1, k + 2, 0.5 * B[i, k]))
    problem.add_arrow(block, d.size + 1)


def _by_null_space(problem: _Problem, B: Array, d: Array) -> tuple[_Problem, float]:
    """(1) whose dual has the variables t of y = y0 + N t; and the constant a'y0 of its value."""
    a = np.array(problem.a)
    whole = np.vstack((B, np.zeros((a.size - len(B), d.size))))
    found = np.linalg.lstsq(whole.T, d, rcond=None)
    y0: Any = found[0]
    rank = int(found[2])
    if np.abs(whole.T @ y0 - d).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(d).max(initial=0.0))):
        raise ValueError(
            "GenerateSDPA: the dual of the program has no solution, so its cost falls without end if it has a solution "
            "itself. Use another method, or bound the variables."
        )
    N: Any = np.linalg.svd(whole.T)[2][rank:].T if d.size else np.eye(a.size)
    reduced = _Problem(blocks=list(problem.blocks))
    reduced.C = _sum(problem.A, -y0)
    for column in N.T:
        reduced.add_row(_sum(problem.A, column), float(column @ a))
    return reduced, float(a @ y0)


def _sum(matrices: list[list[Entry]], weights: Array) -> list[Entry]:
    total: dict[tuple[int, int, int], float] = {}
    for entries, weight in zip(matrices, weights):
        if abs(weight) > 1e-14:
            for block, i, j, value in entries:
                total[block, i, j] = total.get((block, i, j), 0.0) + weight * value
    return [(*place, value) for place, value in sorted(total.items())]


def _text(problem: _Problem, constant: float) -> str:
    lines = [f'"Add {float(constant)!r} to minus the value.'] if constant else []
    lines += [str(len(problem.A)), str(len(problem.blocks)), " ".join(map(str, problem.blocks))]
    lines.append(" ".join(repr(float(each)) for each in problem.a))
    matrices: list[list[Any]] = [problem.C, *problem.A]
    for number, entries in enumerate(matrices):
        lines += [f"{number} {block} {i} {j} {float(value)!r}" for block, i, j, value in entries]
    return "\n".join(lines) + "\n"
