"""Larger polytopes whose planes keep the multipliers of known certificates: programs, their options and results.

With the l of (1) in separation_certificates.py fixed, its equations are linear in C, d and the coefficients of the
planes. Of all such polytopes that contain an ellipsoid {Q u + c: |u| <= 1}, the one whose faces are far away from it is

    maximize the geometric mean of delta_i + epsilon, or the sum of delta_i
    subject to |Q C_i'| <= d_i - delta_i - C_i c,  |C_i| <= 1,  delta >= 0                              (2)

Source: Dai, Amice, Werner, Zhang and Tedrake 2023, section V.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization import (
    ClarabelSolver,
    MakeSolver,
    MathematicalProgram,
    SolverId,
    SolverOptions,
)
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.multibody.planning.regions.separating_planes import SidePolynomial
from merganser.multibody.planning.regions.separation_certificates import (
    PARTS,
    FindSeparationCertificateGivenPolytopeOptions,
    Region,
    SeparationCertificateResult,
)
from merganser.multibody.planning.regions.sums_of_squares import Equations, Numbers, Objects, code_of, new_squares

Array = NDArray[np.float64]


class EllipsoidMarginCost(Enumeration):
    """The objective of (2)."""

    kSum = 0
    kGeometricMean = 1


@dataclass
class FindPolytopeGivenLagrangianOptions:
    """How a larger polytope is searched for.

    Attributes:
        backoff_scale: after the optimum, any polytope is taken whose objective is at least 1 - backoff_scale of it; by
            default the optimum itself, which may be at the edge of what can be certified.
        ellipsoid_margin_epsilon: epsilon of (2).
        solver_id: the solver, by default Clarabel.
        solver_options: for the solver.
        s_inner_pts: points that stay in the polytope, shape [n, k].
        search_s_bounds_lagrangians: whether l_lower and l_upper may change.
        ellipsoid_margin_cost: what is maximized.
    """

    backoff_scale: float | None = None
    ellipsoid_margin_epsilon: float = 1e-5
    solver_id: SolverId = field(default_factory=ClarabelSolver.id)
    solver_options: SolverOptions | None = None
    s_inner_pts: Any = None
    search_s_bounds_lagrangians: bool = True
    ellipsoid_margin_cost: EllipsoidMarginCost = EllipsoidMarginCost.kGeometricMean


@dataclass
class BilinearAlternationOptions:
    """Options of the alternation between certificates and polytopes.

    Attributes:
        max_iter: largest number of iterations; not negative.
        convergence_tol: it ends when det Q of the greatest ellipsoid in the polytope grows by no more; not negative.
        find_polytope_options: for polytopes.
        find_lagrangian_options: for certificates.
        ellipsoid_scaling: the next polytope contains the greatest ellipsoid, scaled so; from above 0 to 1.
    """

    max_iter: int = 10
    convergence_tol: float = 1e-3
    find_polytope_options: FindPolytopeGivenLagrangianOptions = field(
        default_factory=FindPolytopeGivenLagrangianOptions
    )
    find_lagrangian_options: FindSeparationCertificateGivenPolytopeOptions = field(
        default_factory=FindSeparationCertificateGivenPolytopeOptions
    )
    ellipsoid_scaling: float = 0.99


@dataclass
class BinarySearchOptions:
    """Between which scales of a polytope is searched.

    Attributes:
        scale_max: the greatest scale; not less than scale_min.
        scale_min: the least.
        max_iter: largest number of scales that are tried.
        convergence_tol: it ends when the scale is known so well.
        find_lagrangian_options: for certificates.
    """

    scale_max: float = 1.0
    scale_min: float = 0.01
    max_iter: int = 10
    convergence_tol: float = 1e-3
    find_lagrangian_options: FindSeparationCertificateGivenPolytopeOptions = field(
        default_factory=FindSeparationCertificateGivenPolytopeOptions
    )


class SearchResult:
    """A polytope that is certified to be free, and the planes that certify it; an empty one by default."""

    def __init__(self) -> None:
        self._region: Region | None = None
        self._planes: dict[int, Any] = {}  # (a, b), or what gives them
        self._num_iter = 0

    def C(self) -> Array:
        """C of {s: C s <= d, s_lower <= s <= s_upper}, shape [m, n]."""
        return np.zeros((0, 0)) if self._region is None else self._region.C.copy()

    def d(self) -> Array:
        """d, shape [m]."""
        return np.zeros(0) if self._region is None else self._region.d.copy()

    def certified_polytope(self) -> HPolyhedron:
        """The polytope: rows of C, then upper and lower bounds of s.

        Raises:
            RuntimeError: no region has been found.
        """
        if self._region is None:
            raise RuntimeError("SearchResult.certified_polytope: this result is empty; searches give results.")
        return self._region.polyhedron()

    def num_iter(self) -> int:
        """How many iterations came before."""
        return self._num_iter

    def a(self) -> dict[int, Objects]:
        """a of the planes {x: a'x + b = 0}, polynomials in s, shape [3], by places of planes."""
        return {index: plane()[0] for index, plane in self._planes.items()}

    def b(self) -> dict[int, Any]:
        """b of the planes, polynomials in s, by places of planes."""
        return {index: plane()[1] for index, plane in self._planes.items()}

    def update(self, region: Region, planes: dict[int, Any], num_iter: int) -> None:
        """Sets a polytope and, by indices, functions that give (a, b) of its planes. An addition to pydrake's names."""
        self._region, self._planes, self._num_iter = region, dict(planes), num_iter

    def count(self, num_iter: int) -> None:
        """Sets the number of iterations. An addition to pydrake's names."""
        self._num_iter = num_iter


class PlaneToKeep(NamedTuple):
    """The terms of one plane in (1).

    Attributes:
        variables: of the plane.
        sides: polynomials of the positive and the negative side.
        certificate: with the l that are kept.
    """

    variables: Objects
    sides: tuple[list[SidePolynomial], list[SidePolynomial]]
    certificate: SeparationCertificateResult


def find_polytope(
    planes: list[PlaneToKeep],
    region: Region,
    ellipsoid: Hyperellipsoid,
    options: FindPolytopeGivenLagrangianOptions,
    bounds: tuple[Array, Array],
) -> tuple[Region, Any] | None:
    """The polytope of (2), and the result with the variables of the planes; None if none is found.

    Rows that no certificate uses are unchanged.

    Args:
        planes: the planes with their certificates.
        region: the polytope that the certificates are for.
        ellipsoid: that the polytope is to contain.
        options: how.
        bounds: s_lower and s_upper, shape [n] each.
    """
    prog = MathematicalProgram()
    num_rows, n = region.C.shape
    C, d = prog.NewContinuousVariables(num_rows, n, "C"), prog.NewContinuousVariables(num_rows, "d")
    used = np.zeros(num_rows, dtype=bool)
    for plane in planes:
        prog.AddDecisionVariables(plane.variables)
        _add_certificate(prog, plane, region, (C, d), used, options.search_s_bounds_lagrangians)
    for i in np.flatnonzero(~used).tolist():
        prog.AddBoundingBoxConstraint(region.C[i], region.C[i], C[i])
        prog.AddBoundingBoxConstraint(region.d[i], region.d[i], d[i : i + 1])
    cost, optimum_is = _add_margins(prog, C, d, ellipsoid, options)
    if options.s_inner_pts is not None:
        for point in np.asarray(options.s_inner_pts, dtype=np.float64).T:
            for row, right in zip(C, d):
                prog.AddLinearConstraint(np.array([[*point, -1.0]]), [-np.inf], [0.0], np.array([*row, right]))
    solver = MakeSolver(options.solver_id)
    result = solver.Solve(prog, None, options.solver_options)
    if result.is_success() and options.backoff_scale:
        prog.RemoveCost(cost)
        least = (1.0 - options.backoff_scale) * -result.get_optimal_cost()
        prog.AddLinearConstraint(np.ones((1, optimum_is.size)), [least], [np.inf], optimum_is)
        result = solver.Solve(prog, None, options.solver_options)
    if not result.is_success():
        return None
    return Region(result.GetSolution(C), result.GetSolution(d), *bounds), result


def _add_certificate(
    prog: MathematicalProgram,
    plane: PlaneToKeep,
    region: Region,
    unknown: tuple[Objects, Objects],
    used: Any,
    search: bool,
) -> None:
    """Adds (1) for all polynomials of a plane, and notes which rows of C it uses."""
    C, d = unknown
    factors, finite = region.factors(), region.all_finite()
    certificate = plane.certificate
    known = (certificate.positive_side_rational_lagrangians, certificate.negative_side_rational_lagrangians)
    for polynomials, all_lagrangians in zip(plane.sides, known):
        for p, lagrangians in zip(polynomials, all_lagrangians):
            equations = Equations()
            equations.add(p.codes, p.values, p.variables(plane.variables))
            equations.add(p.constant.codes, p.constant.coefficients, None)
            for i, kept in enumerate(lagrangians.numbers("polytope")):
                if kept is not None:
                    used[i] = True
                    _subtract_row(equations, kept, C[i], d[i])
            for part in PARTS[1:]:
                for kept, factor, is_finite in zip(lagrangians.numbers(part), factors[part], finite[part]):
                    if search and is_finite:
                        equations.add_product(new_squares(prog, p.bases), factor, -1.0)
                    elif kept is not None:
                        for code, c in zip(factor.codes, factor.coefficients):
                            equations.add(kept.codes + code, -c * kept.coefficients, None)
            rest = new_squares(prog, p.bases)
            equations.add(rest.codes, -rest.factors, rest.variables)
            equations.close(prog)


def _subtract_row(equations: Equations, kept: Numbers, C_i: Objects, d_i: Any) -> None:
    """Subtracts l_i (d_i - C_i s) with l_i known."""
    equations.add(kept.codes, -kept.coefficients, np.full(len(kept.codes), d_i, dtype=object))
    for j, entry in enumerate(C_i):
        variables = np.full(len(kept.codes), entry, dtype=object)
        equations.add(kept.codes + code_of([(j, 1)]), kept.coefficients, variables)


def _add_margins(
    prog: MathematicalProgram,
    C: Objects,
    d: Objects,
    ellipsoid: Hyperellipsoid,
    options: FindPolytopeGivenLagrangianOptions,
) -> tuple[Any, Objects]:
    """Adds (2); returns the cost, and the variables whose sum is the objective."""
    Q, center = np.linalg.inv(ellipsoid.A()), ellipsoid.center()
    num_rows, n = C.shape
    delta = prog.NewContinuousVariables(num_rows, "delta")
    prog.AddBoundingBoxConstraint(0.0, np.inf, delta)
    in_ball = np.vstack((np.zeros((1, n)), np.eye(n)))
    touching = np.zeros((n + 1, n + 2))  # of (C_i, d_i, delta_i)
    touching[0] = [*-center, 1.0, -1.0]
    touching[1:, :n] = Q.T
    for row, right, margin in zip(C, d, delta):
        prog.AddLorentzConeConstraint(in_ball, np.eye(n + 1)[0], row)
        prog.AddLorentzConeConstraint(touching, np.zeros(n + 1), np.array([*row, right, margin], dtype=object))
    if options.ellipsoid_margin_cost is EllipsoidMarginCost.kSum:
        return prog.AddLinearCost(-np.ones(num_rows), delta), delta
    shift = np.full(num_rows, options.ellipsoid_margin_epsilon)
    cost = prog.AddMaximizeGeometricMeanCost(np.eye(num_rows), shift, delta)
    return cost, cost.variables()
