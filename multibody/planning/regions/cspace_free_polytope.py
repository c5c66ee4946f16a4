"""Polytopes of s = tan((q - q*) / 2) that are certified to be free of collisions.

Source: Dai, Amice, Werner, Zhang and Tedrake, Certified polyhedral decompositions of collision-free configuration
space, 2023; Amice, Dai, Werner, Zhang and Tedrake, Finding and optimizing certified, collision-free regions in
configuration space for robot manipulators, 2022.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization import MakeSolver, SolveInParallel
from merganser.geometry import GeometryId, SceneGraph
from merganser.geometry.optimization import Hyperellipsoid
from merganser.multibody.planning.regions import cspace_polytope_search as searches
from merganser.multibody.planning.regions import separation_certificates as certificates
from merganser.multibody.planning.regions.separating_planes import (
    CIrisGeometryType,
    CSpaceSeparatingPlane,
    PlaneSide,
    SeparatingPlaneOrder,
    SidePolynomial,
    find_planes,
    plane_polynomials,
    side_polynomials,
)
from merganser.multibody.planning.regions.sums_of_squares import MAX_VARIABLES
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.rational import RationalForwardKinematics

Array = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]
Pair = tuple[GeometryId, GeometryId]
Certificates = dict[Pair, certificates.SeparationCertificateResult]


@dataclass
class _Options:
    """Options of CspaceFreePolytope.

    Attributes:
        with_cross_y: whether Gram matrices of curved geometries have products of different y. They are larger then, and
            certify more.
    """

    with_cross_y: bool = False

    def __repr__(self) -> str:
        return f"Options(with_cross_y={self.with_cross_y})"


class CspaceFreePolytopeBase:
    """The planes between geometries of a robot; `CspaceFreePolytope` makes them."""

    Options = _Options

    _planes: list[CSpaceSeparatingPlane]
    _places: dict[Pair, int]
    _y: Objects

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} has no constructor; make a CspaceFreePolytope.")

    def separating_planes(self) -> list[CSpaceSeparatingPlane]:
        """The plane of each pair of geometries."""
        return list(self._planes)

    def map_geometries_to_separating_planes(self) -> dict[Pair, int]:
        """The place of each plane in separating_planes(), by pairs of geometries, the lower id first."""
        return dict(self._places)

    def y_slack(self) -> Objects:
        """The variables y of polynomials for curved geometries, shape [3]."""
        return self._y.copy()


class CspaceFreePolytope(CspaceFreePolytopeBase):
    """Finds polytopes {s: C s <= d, s_lower <= s <= s_upper} of positions without collisions, and proves it.

    s is q - q* of prismatic and tan((q - q*) / 2) of revolute joints (`RationalForwardKinematics`), s_lower and s_upper
    are the limits of the joints. For each pair of geometries, a plane that depends on s separates the two everywhere in
    the polytope, and sums of squares prove that it does, up to the tolerance of the solver.

    Args:
        plant: finalized, with weld, revolute and prismatic joints only.
        scene_graph: with which the plant is registered; collision filters are those that it has now.
        plane_order: the degree of planes in s.
        q_star: nominal positions q*, shape [n].
        options: see `CspaceFreePolytope.Options`.

    Raises:
        RuntimeError: the plant is not registered with scene_graph, or has joints, or geometries, of other kinds.
        ValueError: q* has another size, or there are more than 18 positions.

    Source: Dai et al. 2023.
    """

    BilinearAlternationOptions: TypeAlias = searches.BilinearAlternationOptions
    BinarySearchOptions: TypeAlias = searches.BinarySearchOptions
    EllipsoidMarginCost: TypeAlias = searches.EllipsoidMarginCost
    FindPolytopeGivenLagrangianOptions: TypeAlias = searches.FindPolytopeGivenLagrangianOptions
    FindSeparationCertificateGivenPolytopeOptions: TypeAlias = (
        certificates.FindSeparationCertificateGivenPolytopeOptions
    )
    SearchResult: TypeAlias = searches.SearchResult
    SeparatingPlaneLagrangians: TypeAlias = certificates.SeparatingPlaneLagrangians
    SeparationCertificate: TypeAlias = certificates.SeparationCertificate
    SeparationCertificateProgram: TypeAlias = certificates.SeparationCertificateProgram
    SeparationCertificateResult: TypeAlias = certificates.SeparationCertificateResult

    def __init__(
        self,
        plant: MultibodyPlant,
        scene_graph: SceneGraph,
        plane_order: SeparatingPlaneOrder,
        q_star: npt.ArrayLike,
        options: _Options | None = None,
    ) -> None:
        from merganser.framework.symbolic import Variable

        SeparatingPlaneOrder(plane_order)
        if not plant.geometry_source_is_registered():
            raise RuntimeError(
                "CspaceFreePolytope: the plant is not registered with a SceneGraph. Build both with "
                "AddMultibodyPlantSceneGraph()."
            )
        self._options = options or _Options()
        self._kinematics = RationalForwardKinematics(plant)
        self._q_star: Array = np.array(q_star, dtype=np.float64).reshape(-1)
        if self._q_star.size + 3 > MAX_VARIABLES:
            raise ValueError(
                f"CspaceFreePolytope: the plant has {self._q_star.size} positions; up to {MAX_VARIABLES - 3} are "
                "supported. Weld joints that do not matter."
            )
        limits = (plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits())
        self._s_lower, self._s_upper = (
            self._kinematics.ComputeSValue(q, self._q_star, angles_wrap_to_inf=True) for q in limits
        )
        self._y = np.array([Variable(f"y{k}") for k in range(3)], dtype=object)
        inspector = scene_graph.model_inspector()
        self._planes, self._places = find_planes(plant, inspector, self._kinematics)
        self._names = {id: inspector.GetName(id) for pair in self._places for id in pair}

    @functools.cached_property
    def _sides(self) -> list[tuple[list[SidePolynomial], list[SidePolynomial]]]:
        """The polynomials of both sides of each plane."""
        found = []
        for plane in self._planes:
            sides = (plane.positive_side_geometry, plane.negative_side_geometry)
            curved = all(each.type() is not CIrisGeometryType.kPolytope for each in sides)
            positive, negative = (
                side_polynomials(
                    geometry, side, plane.expressed_body, self._kinematics, self._q_star, with_margin,
                    self._options.with_cross_y,
                )
                for geometry, side, with_margin in zip(sides, PlaneSide, (curved, False))
            )  # fmt: skip
            found.append((positive, negative))
        return found

    def _region(self, C: Any, d: Any) -> certificates.Region:
        return certificates.Region(C, d, self._s_lower, self._s_upper)

    # -- certificates of a polytope -----------------------------------------------------------------------------------

    def MakeIsGeometrySeparableProgram(
        self, geometry_pair: Pair, C: npt.ArrayLike, d: npt.ArrayLike
    ) -> certificates.SeparationCertificateProgram:
        """The program for a plane between two geometries, for all s of {s: C s <= d, s_lower <= s <= s_upper}.

        Args:
            geometry_pair: two geometries.
            C: shape [m, n].
            d: shape [m].

        Raises:
            RuntimeError: this pair has no plane: it cannot collide, or is filtered.
            ValueError: sizes do not fit.
        """
        pair = _in_order(geometry_pair)
        if pair not in self._places:
            raise RuntimeError(
                f"MakeIsGeometrySeparableProgram: geometries {pair[0].get_value()} and {pair[1].get_value()} need no "
                "plane: they are filtered, unknown, or not moved against each other."
            )
        region = self._region(C, d)
        return self._program(pair, region, region.needed(ignore_redundant_C=True))

    def _program(
        self, pair: Pair, region: certificates.Region, needed: dict[str, list[bool]]
    ) -> certificates.SeparationCertificateProgram:
        index = self._places[pair]
        variables = [*self._kinematics.s(), *self._y]
        plane = self._planes[index].decision_variables
        return certificates.make_program(index, plane, self._sides[index], region, needed, variables)

    def SolveSeparationCertificateProgram(
        self,
        certificate_program: certificates.SeparationCertificateProgram,
        options: certificates.FindSeparationCertificateGivenPolytopeOptions,
    ) -> certificates.SeparationCertificateResult | None:
        """Solves the program of MakeIsGeometrySeparableProgram(); None if it has no solution."""
        solver = MakeSolver(options.solver_id)
        result = solver.Solve(certificate_program.prog(), None, options.solver_options)
        return self._solution(certificate_program, result)

    def _solution(
        self, program: certificates.SeparationCertificateProgram, result: Any
    ) -> certificates.SeparationCertificateResult | None:
        if not result.is_success():
            return None
        plane = self._planes[program.plane_index]
        return program.certificate.GetSolution(program.plane_index, plane.a, plane.b, plane.decision_variables, result)

    def FindSeparationCertificateGivenPolytope(
        self,
        C: npt.ArrayLike,
        d: npt.ArrayLike,
        ignored_collision_pairs: Iterable[Pair],
        options: certificates.FindSeparationCertificateGivenPolytopeOptions,
    ) -> tuple[bool, Certificates]:
        """Certificates that {s: C s <= d, s_lower <= s <= s_upper} is free of collisions.

        Args:
            C: shape [m, n].
            d: shape [m].
            ignored_collision_pairs: pairs of geometries that may collide.
            options: how.

        Returns:
            Whether all pairs have a certificate, and those that were found. Without a certificate the polytope may
            still be free.

        Raises:
            ValueError: sizes do not fit.
        """
        found = self._certified(self._region(C, d), ignored_collision_pairs, options)
        return None not in found.values(), {pair: each for pair, each in found.items() if each is not None}

    def _certified(
        self,
        region: certificates.Region,
        ignored: Iterable[Pair],
        options: certificates.FindSeparationCertificateGivenPolytopeOptions,
    ) -> dict[Pair, certificates.SeparationCertificateResult | None]:
        """The certificate of each pair, or None; of some pairs only, where one has none and that is the end."""
        needed = region.needed(options.ignore_redundant_C)
        left_out = {_in_order(pair) for pair in ignored}
        pairs = [pair for pair in self._places if pair not in left_out]
        found: dict[Pair, certificates.SeparationCertificateResult | None] = {}
        for group in _groups(pairs, options.parallelism.num_threads()):
            programs = [self._program(pair, region, needed) for pair in group]
            results = SolveInParallel(
                [each.prog() for each in programs],
                solver_options=options.solver_options,
                solver_id=options.solver_id,
                parallelism=len(group),
            )
            for pair, program, result in zip(group, programs, results):
                found[pair] = self._solution(program, result)
                if found[pair] is None and options.verbose:
                    names = " and ".join(f"'{self._names[id]}'" for id in pair)
                    print(f"CspaceFreePolytope: no certificate for geometries {names}.")
            if options.terminate_at_failure and None in found.values():
                break
        return found

    def _planes_of(self, found: dict[Pair, Any], result: Any = None) -> dict[int, Any]:
        """By places of planes, functions that give (a, b), of certificates, or with values of another result."""
        s, functions = self._kinematics.s(), {}
        for each in found.values():
            values = each.plane_decision_var_vals
            if result is not None:
                values = result.GetSolution(self._planes[each.plane_index].decision_variables)
            functions[each.plane_index] = functools.partial(plane_polynomials, values, s)
        return functions

    # -- searches -----------------------------------------------------------------------------------------------------

    def BinarySearch(
        self,
        ignored_collision_pairs: Iterable[Pair],
        C: npt.ArrayLike,
        d: npt.ArrayLike,
        s_center: npt.ArrayLike,
        options: searches.BinarySearchOptions,
    ) -> searches.SearchResult | None:
        """The greatest polytope with a certificate among those that scale a given one about a point.

        Args:
            ignored_collision_pairs: pairs of geometries that may collide.
            C: shape [m, n].
            d: shape [m], for the scale 1.
            s_center: a point of the polytope, shape [n].
            options: between which scales, and how.

        Returns:
            The polytope C s <= scale d + (1 - scale) C s_center; None if that of the least scale has no certificate.

        Raises:
            ValueError: sizes do not fit, s_center is not in the polytope, or scale_min is above scale_max.
        """
        given, center = self._region(C, d), np.asarray(s_center, dtype=np.float64).reshape(-1)
        if center.size != self._q_star.size or not given.polyhedron().PointInSet(center, 0.0):
            raise ValueError(f"BinarySearch: s_center = {center} is not in {{s: C s <= d}} within the limits of s.")
        if options.scale_min > options.scale_max:
            raise ValueError(f"BinarySearch: scale_min = {options.scale_min} is above scale_max = {options.scale_max}.")
        at_center = given.C @ center
        best = searches.SearchResult()

        def is_free(scale: float, num_iter: int) -> bool:
            region = self._region(given.C, scale * given.d + (1.0 - scale) * at_center)
            found = self._certified(region, ignored_collision_pairs, options.find_lagrangian_options)
            if None in found.values():
                return False
            best.update(region, self._planes_of(found), num_iter)
            return True

        low, high = options.scale_min, options.scale_max
        if is_free(high, 0):
            return best
        if not is_free(low, 0):
            return None
        num_iter = 0
        while num_iter < options.max_iter and high - low > options.convergence_tol:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if is_free(middle, num_iter) else (low, middle)
            num_iter += 1
        best.count(num_iter)
        return best

    def SearchWithBilinearAlternation(
        self,
        ignored_collision_pairs: Iterable[Pair],
        C_init: npt.ArrayLike,
        d_init: npt.ArrayLike,
        options: searches.BilinearAlternationOptions,
    ) -> list[searches.SearchResult]:
        """Polytopes that grow: certificates of one, then a larger one with the multipliers of these, and so on.

        Args:
            ignored_collision_pairs: pairs of geometries that may collide.
            C_init: shape [m, n].
            d_init: shape [m].
            options: how, and how long.

        Returns:
            The polytopes in turn, all certified; none if the first has no certificate.

        Raises:
            ValueError: sizes do not fit, or an option is out of its range.
        """
        _check(options)
        ignored = list(ignored_collision_pairs)
        region = self._region(C_init, d_init)
        results: list[searches.SearchResult] = []
        size = -np.inf
        for num_iter in range(options.max_iter):
            found: dict[Pair, Any] = self._certified(region, ignored, options.find_lagrangian_options)
            if None in found.values():
                break
            results.append(searches.SearchResult())
            results[-1].update(region, self._planes_of(found), num_iter)
            ellipsoid = region.polyhedron().MaximumVolumeInscribedEllipsoid()
            new_size = 1.0 / abs(np.linalg.det(ellipsoid.A()))
            if new_size - size <= options.convergence_tol:
                break
            size = new_size
            scaled = Hyperellipsoid(ellipsoid.A() / options.ellipsoid_scaling, ellipsoid.center())
            bounds = (self._s_lower, self._s_upper)
            planes = []
            for pair, certificate in found.items():
                index = self._places[pair]
                plane, sides = self._planes[index].decision_variables, self._sides[index]
                planes.append(searches.PlaneToKeep(plane, sides, certificate))
            larger = searches.find_polytope(planes, region, scaled, options.find_polytope_options, bounds)
            if larger is None:
                break
            region, result = larger
            results[-1].update(region, self._planes_of(found, result), num_iter)
        return results


def _in_order(pair: Iterable[GeometryId]) -> Pair:
    first, second = sorted(pair, key=lambda id: id.get_value())
    return first, second


def _groups(pairs: list[Pair], size: int) -> Iterator[list[Pair]]:
    for start in range(0, len(pairs), size):
        yield pairs[start : start + size]


def _check(options: searches.BilinearAlternationOptions) -> None:
    for name in ("max_iter", "convergence_tol"):
        if getattr(options, name) < 0:
            raise ValueError(f"SearchWithBilinearAlternation: options.{name} must not be negative.")
    if not 0.0 < options.ellipsoid_scaling <= 1.0:
        raise ValueError(
            f"SearchWithBilinearAlternation: options.ellipsoid_scaling = {options.ellipsoid_scaling} is not above 0 "
            "and at most 1."
        )
