"""Regions whose freedom is tested by samples, as IrisZo and IrisNp2 make them.

A region P is accepted if at most (1 - tau) epsilon of N random points of it are in collision, where

    N = 2 log(1 / delta_ik) / (epsilon tau^2),    delta_ik = 36 delta / (pi^4 (i + 1)^2 (k + 1)^2)          (1)

for the k-th test of the i-th region. If more than epsilon of the volume of P is in collision, that happens with
probability delta_ik at most (a Chernoff bound); all delta_ik add up to less than delta.

Otherwise, and as long as it is not accepted, points in collision lead to points p where collisions begin, and their
tangents to the ellipsoid become faces (`iris.py`).

Source: Werner, Cohn, Jiang, Seyde, Simchowitz, Tedrake and Rus, Faster algorithms for growing collision-free convex
polytopes in robot configuration space, 2024.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.geometry.optimization.iris import (
    EllipsoidGrowth,
    Face,
    GrowingRegion,
    in_ellipsoid,
    tangent,
)
from merganser.geometry.optimization.sets.arguments import points_of
from merganser.geometry.optimization.sets.inscribed import RegionSampler
from merganser.geometry.optimization.sets.set_programs import nearest_in_hull
from merganser.multibody.planning.regions.counterexamples import AdditionalConstraints
from merganser.multibody.planning.regions.iris_options import CommonSampledIrisOptions, IrisParameterizationFunction

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Search = Callable[[Array, Bools, GrowingRegion, Hyperellipsoid], Iterable[Array]]

_logger = logging.getLogger("merganser.planning")


class FreeSpace:
    """Checks which points of the space of a region are free.

    Args:
        checker: checks positions for collisions.
        parameterization: of positions by points.
        options: with constraints and threads.
        where: for errors.

    Attributes:
        dimension: m, the size of points.
        additional: the constraints.

    Raises:
        RuntimeError: the constraints have another number of variables.
    """

    def __init__(
        self,
        checker: Any,
        parameterization: IrisParameterizationFunction,
        options: CommonSampledIrisOptions,
        where: str,
    ) -> None:
        given = parameterization.get_parameterization_dimension()
        self._num_positions = checker.plant().num_positions()
        self.dimension: int = self._num_positions if given is None else given
        self.additional = AdditionalConstraints(options.prog_with_additional_constraints, self.dimension, where)
        self._checker, self._where = checker, where
        self._function = None if given is None else parameterization.get_parameterization_double()
        self._threads = options.parallelism

    def positions(self, points: Array) -> Array:
        """Positions, shape [N, n], at points in columns, shape [m, N].

        Raises:
            RuntimeError: the parameterization gives another number of positions.
        """
        if self._function is None:
            return np.ascontiguousarray(points.T)
        found = [self._function(point) for point in points.T]
        if found and found[0].size != self._num_positions:
            raise RuntimeError(
                f"{self._where}: expected {self._num_positions} positions from the parameterization, got "
                f"{found[0].size}."
            )
        return np.array(found).reshape(-1, self._num_positions)

    def has(self, points: Array) -> Bools:
        """Mask of the free points, shape [N], of points in columns, shape [m, N]."""
        if not points.shape[1]:
            return np.zeros(0, bool)
        is_free = self._checker.CheckConfigsCollisionFree(list(self.positions(points)), parallelize=self._threads)
        free = np.array(is_free, dtype=bool)
        for i in np.flatnonzero(free):
            free[i] = self.additional.hold_at(points[:, i])
        return free


class SampledGrowth:
    """One region as it grows.

    Args:
        space: what is free.
        ellipsoid: to begin with; its center is free.
        domain: bounded.
        options: how to grow.
        where: for errors.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: sizes differ; the domain is unbounded; or the center is outside of it or in collision, or not in
            the hull of the containment points.
    """

    def __init__(
        self,
        space: FreeSpace,
        ellipsoid: Hyperellipsoid,
        domain: HPolyhedron,
        options: CommonSampledIrisOptions,
        where: str,
    ) -> None:
        self._space, self._options, self._where = space, options, where
        _check_numbers(options, where)
        self._first, self._domain = ellipsoid, domain
        self._contained: Array | None = None
        self._check_begin()
        self._sampler = RegionSampler(options.random_seed, options.mixing_steps)

    def _check_begin(self) -> None:
        where, n = self._where, self._space.dimension
        for name, each in (("starting_ellipsoid", self._first), ("domain", self._domain)):
            if each.ambient_dimension() != n:
                raise RuntimeError(f"{where}: expected {name} of dimension {n}, got {each.ambient_dimension()}.")
        if not self._domain.IsBounded():
            raise RuntimeError(f"{where}: expected a bounded domain; this one has no end in a direction.")
        center = self._first.center()
        if not self._domain.PointInSet(center, 1e-9):
            raise RuntimeError(f"{where}: the center {center} of starting_ellipsoid is outside of the domain.")
        if not self._space.has(center[:, np.newaxis])[0]:
            raise RuntimeError(
                f"{where}: the center {center} of starting_ellipsoid is in collision, or violates a constraint of "
                "prog_with_additional_constraints. Choose another one."
            )
        if self._options.containment_points is not None:
            self._contained = points_of(self._options.containment_points, where, "containment_points", n)
            nearest = nearest_in_hull(self._contained, np.eye(n), center)
            if nearest is None or np.linalg.norm(nearest - center) > 1e-6:
                raise RuntimeError(
                    f"{where}: expected the center {center} of starting_ellipsoid in the hull of containment_points."
                )
            if not all(self._domain.PointInSet(point, 1e-9) for point in self._contained.T):
                raise RuntimeError(f"{where}: a point of containment_points is outside of the domain.")

    def region(self, search: Search) -> HPolyhedron:
        """The region after the last turn.

        Args:
            search: given random points of the region in columns, which of them are free, the region and the ellipsoid,
                finds points where collisions begin, shape [n] each, those that are nearest in the ellipsoid's measure
                first. It may look at how the region has changed from one to the next.
        """
        options = self._options
        ellipsoid = self._first
        growth = EllipsoidGrowth(options.termination_threshold, options.relative_termination_threshold, ellipsoid)
        bounds = self._space.additional.within(self._domain)
        last: HPolyhedron | None = None
        for i in range(options.max_iterations):
            region = GrowingRegion(bounds)
            self._cut_collisions(region, ellipsoid, search, i)
            keeps = not options.require_sample_point_is_contained or region.contains(self._first.center(), 1e-9)
            if last is not None and not keeps:
                break
            last = region.polyhedron()
            following = in_ellipsoid(last) if i + 1 < options.max_iterations else None
            if following is None or growth.has_ended(following) or not self._is_free(following.center()):
                break
            ellipsoid = following
        assert last is not None
        return last

    def _is_free(self, point: Array) -> bool:
        return bool(self._space.has(point[:, np.newaxis])[0])

    def _cut_collisions(self, region: GrowingRegion, ellipsoid: Hyperellipsoid, search: Search, i: int) -> None:
        """Adds faces until the region is accepted, or as often as the options allow."""
        options = self._options
        for k in range(options.max_iterations_separating_planes):
            is_accepted, points, is_free = self._test(region, ellipsoid.center(), i, k)
            if options.verbose:
                _logger.info(
                    "%s: region %d, test %d: %d collisions, %s, %d faces.", self._where, i, k, (~is_free).sum(),
                    "accepted" if is_accepted else "rejected", region.b.size,
                )  # fmt: skip
            if not is_accepted or options.remove_all_collisions_possible:
                self._add_faces(region, ellipsoid, search(points, is_free, region, ellipsoid))
            if is_accepted:
                return
        _logger.warning(
            "%s: region %d was not accepted after max_iterations_separating_planes = %d tests.", self._where, i,
            options.max_iterations_separating_planes,
        )  # fmt: skip

    def _test(self, region: GrowingRegion, center: Array, i: int, k: int) -> tuple[bool, Array, Bools]:
        """Whether the region is accepted; random points in columns, and which of them are free.

        Points are drawn and checked as many as there are particles at a time: once too many are in collision, the
        others do not matter.
        """
        options = self._options
        delta = 36.0 * options.delta / (math.pi**4 * (i + 1) ** 2 * (k + 1) ** 2)
        needed = math.ceil(2.0 * math.log(1.0 / delta) / (options.epsilon * options.tau**2))  # (1)
        total = max(needed, options.num_particles)
        allowed = (1.0 - options.tau) * options.epsilon * total
        found: list[Array] = []
        free: list[Bools] = []
        num_checked = num_hit = 0
        while num_checked < total and num_hit <= allowed:
            count = min(options.num_particles, total - num_checked)
            found.append(self._sampler.draw(region.A, region.b, center, count))
            free.append(self._space.has(found[-1]))
            num_checked += count
            num_hit += int((~free[-1]).sum())
        return num_hit <= allowed, np.hstack(found), np.concatenate(free)

    def _add_faces(self, region: GrowingRegion, ellipsoid: Hyperellipsoid, begins: Iterable[Array]) -> None:
        most, count = self._options.max_separating_planes_per_iteration, 0
        for p in begins:
            if 0 <= most <= count:
                break
            if region.contains(p):
                face = self._face(ellipsoid, p)
                if face is not None:
                    region.cut(face)
                    count += 1

    def _face(self, ellipsoid: Hyperellipsoid, p: Array) -> Face | None:
        """The face for a point where a collision begins; None if each would cut off what is to be contained.

        Raises:
            RuntimeError: it would cut off the center of the ellipsoid.
        """
        margin = self._options.configuration_space_margin
        face = tangent(ellipsoid, p)
        if self._contained is not None:
            return self._face_beside_hull(ellipsoid, p, face, margin)
        room = 0.0 if face is None else -face.excess(ellipsoid.center())
        if face is None or room <= 0.0 or (room <= margin and not self._options.relax_margin):
            raise RuntimeError(
                f"{self._where}: a collision is within configuration_space_margin = {margin} of the center "
                f"{ellipsoid.center()}. Choose a smaller margin, or a center with more room, or set relax_margin."
            )
        while room <= margin:
            margin *= 0.5
        return Face(face.a, face.b - margin)

    def _face_beside_hull(self, ellipsoid: Hyperellipsoid, p: Array, face: Face | None, margin: float) -> Face | None:
        """A face between p and the hull of the containment points, the tangent where that is one."""
        assert self._contained is not None
        if face is None or (face.a @ self._contained).max() > face.b:
            nearest = nearest_in_hull(self._contained, ellipsoid.A(), p)
            face = None if nearest is None else tangent(Hyperellipsoid(ellipsoid.A(), nearest), p)
        if face is None:  # p is in the hull
            return None
        reach = float((face.a @ self._contained).max())
        return Face(face.a, max(face.b - margin, min(reach, face.b)))


def _check_numbers(options: CommonSampledIrisOptions, where: str) -> None:
    for name in ("tau", "delta", "epsilon"):
        value = getattr(options, name)
        if not 0.0 < value < 1.0:
            raise ValueError(f"{where}: expected {name} between 0 and 1, got {value}.")
    for name in ("num_particles", "max_iterations", "max_iterations_separating_planes", "mixing_steps"):
        value = getattr(options, name)
        if not value >= 1:
            raise ValueError(f"{where}: expected {name} of at least 1, got {value}.")
    if not 0.0 <= options.configuration_space_margin < math.inf:
        raise ValueError(
            f"{where}: expected configuration_space_margin of at least 0, got {options.configuration_space_margin}."
        )
    if options.max_separating_planes_per_iteration < -1 or options.max_separating_planes_per_iteration == 0:
        raise ValueError(
            f"{where}: expected max_separating_planes_per_iteration of at least 1, or -1 for no limit; got "
            f"{options.max_separating_planes_per_iteration}."
        )
