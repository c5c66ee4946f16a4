"""Certificates that a plane separates two geometries for all s of a polytope: programs for them, and what they find.

For each polynomial p of separating_planes.py, with sums of squares l,

    p(s, y) = l_0 + l'(d - C s) + l_lower'(s - s_lower) + l_upper'(s_upper - s)                          (1)

so that p >= 0 wherever C s <= d and s_lower <= s <= s_upper.

Source: Dai, Amice, Werner, Zhang and Tedrake 2023, section IV.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Parallelism
from merganser.framework.optimization import ClarabelSolver, MathematicalProgram, SolverId, SolverOptions
from merganser.geometry.optimization import HPolyhedron
from merganser.multibody.planning.regions.separating_planes import SidePolynomial
from merganser.multibody.planning.regions.sums_of_squares import (
    Equations,
    Numbers,
    Objects,
    Squares,
    code_of,
    new_squares,
    to_polynomial,
)

Array = NDArray[np.float64]
Part = list[Any]  # of Squares, Numbers or None
PARTS = ("polytope", "s_lower", "s_upper")


@dataclass(eq=False)
class FindSeparationCertificateOptions:
    """How certificates are searched for.

    Attributes:
        parallelism: how many pairs of geometries at a time.
        verbose: whether to print which pairs have none.
        solver_id: the solver, by default Clarabel; pydrake's default, Mosek, is not available here.
        terminate_at_failure: whether to stop at the first pair without a certificate.
        solver_options: for the solver.
    """

    parallelism: Parallelism = field(default_factory=Parallelism.Max)
    verbose: bool = False
    solver_id: SolverId = field(default_factory=ClarabelSolver.id)
    terminate_at_failure: bool = True
    solver_options: SolverOptions | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        is_count = name == "parallelism" and not isinstance(value, Parallelism)
        super().__setattr__(name, Parallelism(value) if is_count else value)


@dataclass(eq=False)
class FindSeparationCertificateGivenPolytopeOptions(FindSeparationCertificateOptions):
    """How certificates are searched for in a given polytope.

    Attributes:
        ignore_redundant_C: whether rows of C s <= d that follow from others take no part.
    """

    ignore_redundant_C: bool = False


class Region:
    """The polytope {s: C s <= d, s_lower <= s <= s_upper} by the factors of (1).

    Args:
        C: shape [m, n].
        d: shape [m].
        s_lower: shape [n]; entries may be infinite.
        s_upper: shape [n]; entries may be infinite.

    Raises:
        ValueError: sizes do not fit.
    """

    def __init__(self, C: Any, d: Any, s_lower: Array, s_upper: Array) -> None:
        self.C, self.d = np.array(C, dtype=np.float64), np.array(d, dtype=np.float64).reshape(-1)
        n = s_lower.size
        if self.C.shape != (self.d.size, n):
            raise ValueError(
                f"CspaceFreePolytope: expected C of shape [{self.d.size}, {n}], as many rows as d has entries and as "
                f"many columns as the plant has positions; got {list(self.C.shape)}."
            )
        rows = {"polytope": (self.C, self.d), "s_lower": (-np.eye(n), -s_lower), "s_upper": (np.eye(n), s_upper)}
        self._rows: dict[str, tuple[Array, Array]] = rows
        self._n = n

    def factors(self) -> dict[str, list[Numbers]]:
        """The polynomials right of the l in (1), by parts."""
        codes = np.array([0, *(code_of([(i, 1)]) for i in range(self._n))], dtype=np.int64)
        return {
            part: [Numbers(codes, np.array([b, *-a])) for a, b in zip(A, right)]
            for part, (A, right) in self._rows.items()
        }

    def polyhedron(self) -> HPolyhedron:
        """The polytope; rows of C first, then upper and lower bounds that are finite."""
        parts = [self._rows[part] for part in ("polytope", "s_upper", "s_lower")]
        A, b = np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        return HPolyhedron(A[np.isfinite(b)], b[np.isfinite(b)])

    def needed(self, ignore_redundant_C: bool) -> dict[str, list[bool]]:
        """Mask of the rows to use: bounds not implied by other rows, and rows of C, or only those not implied."""
        order = ("s_lower", "s_upper", "polytope")
        A = np.vstack([self._rows[part][0] for part in order])
        b = np.concatenate([self._rows[part][1] for part in order])
        finite = np.flatnonzero(np.isfinite(b))
        keep = np.isfinite(b)
        keep[finite[sorted(HPolyhedron(A[finite], b[finite]).FindRedundant())]] = False
        if not ignore_redundant_C:
            keep[2 * self._n :] = True
        lower, upper, polytope = np.split(keep, [self._n, 2 * self._n])
        return {"polytope": polytope.tolist(), "s_lower": lower.tolist(), "s_upper": upper.tolist()}

    def all_finite(self) -> dict[str, list[bool]]:
        """All rows, but for infinite bounds."""
        return {part: np.isfinite(b).tolist() for part, (_, b) in self._rows.items()}


class SeparatingPlaneLagrangians:
    """The l of (1) of one polynomial; 0 where a row takes no part.

    Args:
        C_rows: how many rows C has.
        s_size: how many s there are.
    """

    def __init__(self, C_rows: int, s_size: int) -> None:
        self._parts: dict[str, Part] = {
            part: [None] * size for part, size in zip(PARTS, (int(C_rows), int(s_size), int(s_size)))
        }
        self._variables: list[Any] = []

    def polytope(self) -> Objects:
        """l, polynomials, shape [C_rows]."""
        return self._polynomials("polytope")

    def s_lower(self) -> Objects:
        """l_lower, polynomials, shape [s_size]."""
        return self._polynomials("s_lower")

    def s_upper(self) -> Objects:
        """l_upper, polynomials, shape [s_size]."""
        return self._polynomials("s_upper")

    def _polynomials(self, part: str) -> Objects:
        result = np.empty(len(self._parts[part]), dtype=object)
        result[:] = [to_polynomial(each, self._variables) for each in self._parts[part]]
        return result

    def numbers(self, part: str) -> list[Numbers | None]:
        """The polynomials of a part of a solution, by the names of this class's functions."""
        return self._parts[part]

    def GetSolution(self, result: Any) -> SeparatingPlaneLagrangians:
        """The same with the values of a result."""
        solution = SeparatingPlaneLagrangians(0, 0)
        solution._variables = self._variables
        for part, entries in self._parts.items():
            solution._parts[part] = [each.at(result) if isinstance(each, Squares) else each for each in entries]
        return solution


Lagrangians = list[SeparatingPlaneLagrangians]


class SeparationCertificateResultBase:
    """The plane {x: a'x + b = 0} that separates two geometries; of no constructor.

    Attributes:
        a: polynomials in s, shape [3].
        b: polynomial in s.
        plane_decision_var_vals: their coefficients.
        result: of the program.
    """

    plane_decision_var_vals: Array
    result: Any
    _plane: Callable[[], tuple[Objects, Any]]

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} has no constructor; programs for certificates give it.")

    @functools.cached_property
    def _polynomials(self) -> tuple[Objects, Any]:
        return self._plane()

    @property
    def a(self) -> Objects:
        """Polynomials in s, shape [3]."""
        return self._polynomials[0]

    @property
    def b(self) -> Any:
        """Polynomial in s."""
        return self._polynomials[1]


class SeparationCertificateResult(SeparationCertificateResultBase):
    """A plane, and the l of (1) that certify it.

    Attributes:
        plane_index: place of the plane.
        positive_side_rational_lagrangians: for each polynomial of the geometry on the positive side.
        negative_side_rational_lagrangians: for those on the negative side.
    """

    plane_index: int
    positive_side_rational_lagrangians: Lagrangians
    negative_side_rational_lagrangians: Lagrangians


class SeparationCertificate:
    """The l of (1) of a program that searches for them; of no constructor.

    Attributes:
        positive_side_rational_lagrangians: for each polynomial of the geometry on the positive side.
        negative_side_rational_lagrangians: for those on the negative side.
    """

    positive_side_rational_lagrangians: Lagrangians
    negative_side_rational_lagrangians: Lagrangians

    def __init__(self) -> None:
        raise TypeError("SeparationCertificate has no constructor; MakeIsGeometrySeparableProgram() makes one.")

    def GetSolution(
        self, plane_index: int, a: Objects, b: Any, plane_decision_vars: Objects, result: Any
    ) -> SeparationCertificateResult:
        """The solution for a plane with these polynomials and variables."""
        found = SeparationCertificateResult.__new__(SeparationCertificateResult)
        found.plane_index, found.result = plane_index, result
        found.plane_decision_var_vals = result.GetSolution(plane_decision_vars)
        found._plane = lambda: (np.array([result.GetSolution(each) for each in a], dtype=object), result.GetSolution(b))
        for name in ("positive_side_rational_lagrangians", "negative_side_rational_lagrangians"):
            setattr(found, name, [each.GetSolution(result) for each in getattr(self, name)])
        return found


class SeparationCertificateProgramBase:
    """A program for a certificate; of no constructor.

    Attributes:
        plane_index: place of the plane.
    """

    plane_index: int = -1
    _prog: MathematicalProgram

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} has no constructor.")

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog


class SeparationCertificateProgram(SeparationCertificateProgramBase):
    """A program for a certificate in a polytope.

    Attributes:
        certificate: the l of (1) that it chooses.
    """

    certificate: SeparationCertificate

    def __init__(self) -> None:
        self._prog = MathematicalProgram()
        self.certificate = SeparationCertificate.__new__(SeparationCertificate)
        self.certificate.positive_side_rational_lagrangians = []
        self.certificate.negative_side_rational_lagrangians = []


def make_program(
    plane_index: int,
    plane: Objects,
    sides: tuple[list[SidePolynomial], list[SidePolynomial]],
    region: Region,
    needed: dict[str, list[bool]],
    variables: list[Any],
) -> SeparationCertificateProgram:
    """The program of (1) for all polynomials of both sides of a plane.

    Args:
        plane_index: place of the plane.
        plane: its variables.
        sides: polynomials of the geometries on the positive and the negative side.
        region: the polytope.
        needed: mask of the rows that are used.
        variables: s and y.
    """
    made = SeparationCertificateProgram()
    made.plane_index = plane_index
    num_y = max(each.num_y for side in sides for each in side)
    num_s = region.C.shape[1]
    made.prog().AddIndeterminates(np.array(variables[: num_s + 3 * bool(num_y)], dtype=object))
    made.prog().AddDecisionVariables(plane)
    factors = region.factors()
    certificate = made.certificate
    for polynomials, found in zip(
        sides, (certificate.positive_side_rational_lagrangians, certificate.negative_side_rational_lagrangians)
    ):
        for p in polynomials:
            found.append(_add_certificate(made.prog(), p, plane, factors, needed, variables))
    return made


def _add_certificate(
    prog: MathematicalProgram,
    p: SidePolynomial,
    plane: Objects,
    factors: dict[str, list[Numbers]],
    needed: dict[str, list[bool]],
    variables: list[Any],
) -> SeparatingPlaneLagrangians:
    """Adds (1) for one polynomial to a program."""
    lagrangians = SeparatingPlaneLagrangians(0, 0)
    lagrangians._variables = variables
    equations = Equations()
    equations.add(p.codes, p.values, p.variables(plane))
    equations.add(p.constant.codes, p.constant.coefficients, None)
    for part in PARTS:
        lagrangians._parts[part] = [new_squares(prog, p.bases) if wanted else None for wanted in needed[part]]
        for squares, factor in zip(lagrangians._parts[part], factors[part]):
            if squares is not None:
                equations.add_product(squares, factor, -1.0)
    rest = new_squares(prog, p.bases)
    equations.add(rest.codes, -rest.factors, rest.variables)
    equations.close(prog)
    return lagrangians
