"""Large convex regions that obstacles leave free.

Source: Deits and Tedrake, Computing large convex regions of obstacle-free space through semidefinite programming, 2014;
`growing_region.py` has the equations.
"""

from __future__ import annotations

__all__ = ["Iris", "bounded_domain", "cut_obstacles", "starting_ellipsoid"]

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.geometry.optimization.arguments import Array, finite_vector, same_dimension
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.growing_region import (
    EllipsoidGrowth,
    Face,
    GrowingRegion,
    ball_around,
    in_ellipsoid,
    tangent,
)
from merganser.geometry.optimization.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid
from merganser.geometry.optimization.iris_options import IrisOptions
from merganser.geometry.optimization.set_programs import extreme
from merganser.geometry.optimization.vpolytope import VPolytope

_CONTAINED = 1e-6  # how far a sample that is touched by an obstacle may be beyond a face, for rounding
_NEAR = 1e-2  # of the size of the ellipsoid; nearer points give directions that are to be checked


def Iris(
    obstacles: Sequence[ConvexSet], sample: Any, domain: HPolyhedron, options: IrisOptions | None = None
) -> HPolyhedron:
    """A region of a domain without obstacles, which grows from a sample.

    The region has no point inside an obstacle. If the sample is in one, the region is beside it, and does not contain
    the sample.

    Args:
        obstacles: convex sets of dimension n.
        sample: where to begin, shape [n].
        domain: what the region stays in, of dimension n. The domain, or its intersection with the bounding region of
            the options, has to be bounded.
        options: by default IrisOptions().

    Returns:
        The rows of the domain, of the bounding region, and of the faces. If the obstacles leave no room, the region may
        be flat.

    Raises:
        ValueError: the sample is not finite or has another size, or the options have a number out of its range.
        TypeError: an obstacle or the domain is no convex set.
        RuntimeError: dimensions differ; the domain is unbounded or empty; an obstacle is empty, or leaves nothing of
            the domain; the sample has to be contained, and cannot be; or a solver comes to no end.

    Source: Deits and Tedrake 2014.
    """
    options = options or IrisOptions()
    where = "Iris"
    seed = finite_vector(sample, where, "sample")
    for each in (domain, *obstacles):
        same_dimension(where, seed.size, each)
    if not isinstance(domain, HPolyhedron):
        raise TypeError(f"{where}: expected an HPolyhedron as domain, got {type(domain).__name__}.")
    bounds = bounded_domain(domain, options, where)
    ellipsoid = starting_ellipsoid(options, seed, where)
    growth = EllipsoidGrowth(options.termination_threshold, options.relative_termination_threshold, ellipsoid)
    region: HPolyhedron | None = None
    for iteration in range(max(options.iteration_limit, 1)):
        growing = GrowingRegion(bounds)
        cut_obstacles(growing, obstacles, ellipsoid, where)
        if options.require_sample_point_is_contained and not growing.contains(seed, _CONTAINED):
            if region is None:
                raise RuntimeError(
                    f"{where}: the first region does not contain the sample {seed}: it is in an obstacle or outside of "
                    "the domain, or the tangents of starting_ellipse cut it off. Choose another sample or ellipse, or "
                    "set require_sample_point_is_contained to False."
                )
            return region
        region = growing.polyhedron()
        if options.termination_func is not None and options.termination_func(region):
            return region
        if iteration + 1 >= options.iteration_limit:
            break
        following = _next_ellipsoid(region, where)
        if following is None or growth.has_ended(following):
            break
        ellipsoid = following
    assert region is not None
    return region


def bounded_domain(domain: HPolyhedron, options: IrisOptions, where: str) -> HPolyhedron:
    """The domain, intersected with the bounding region of the options.

    Raises:
        RuntimeError: the result is unbounded, or dimensions differ.
    """
    bounds = domain
    if options.bounding_region is not None:
        same_dimension(where, domain.ambient_dimension(), options.bounding_region)
        bounds = domain.Intersection(options.bounding_region)
    if options.verify_domain_boundedness and not bounds.IsBounded():
        raise RuntimeError(
            f"{where}: expected a bounded domain; this one has no end in a direction. Give options.bounding_region."
        )
    return bounds


def starting_ellipsoid(options: IrisOptions, seed: Array, where: str) -> Hyperellipsoid:
    """The ellipsoid to begin with; the numbers of the options are checked, too.

    Raises:
        ValueError: a number is out of its range.
        RuntimeError: the ellipse of the options has another dimension.
    """
    for name in ("termination_threshold", "relative_termination_threshold", "iteration_limit"):
        value = getattr(options, name)
        if np.isnan(value):
            raise ValueError(f"{where}: expected a number as options.{name}, got {value}.")
    if options.starting_ellipse is None:
        return ball_around(seed)
    same_dimension(where, seed.size, options.starting_ellipse)
    return options.starting_ellipse


def _next_ellipsoid(region: HPolyhedron, where: str) -> Hyperellipsoid | None:
    try:
        return in_ellipsoid(region)
    except RuntimeError as error:
        raise RuntimeError(f"{where}: nothing of the domain is left by the obstacles, or it is empty.") from error


# ---------------------------------------------------------------------------------------------- faces for obstacles


def cut_obstacles(
    region: GrowingRegion,
    obstacles: Sequence[ConvexSet],
    ellipsoid: Hyperellipsoid,
    where: str,
    margin: float = 0.0,
) -> None:
    """Adds faces until no obstacle is in the region, the obstacle that the ellipsoid touches first before others.

    Raises:
        RuntimeError: an obstacle is empty, or covers all around the ellipsoid; or a solver comes to no end.
    """
    touched = [(*_touch(obstacle, ellipsoid, where), obstacle) for obstacle in obstacles]
    for scale, point, obstacle in sorted(touched, key=lambda each: each[0]):
        if _is_cut_off(region, point, obstacle):
            continue
        region.cut(_face(obstacle, ellipsoid, scale, point, margin, where))


def _touch(obstacle: ConvexSet, ellipsoid: Hyperellipsoid, where: str) -> tuple[float, Array]:
    if obstacle.IsEmpty():
        kind = type(obstacle).__name__
        raise RuntimeError(f"{where}: expected obstacles that are not empty; a {kind} is.")
    return ellipsoid.MinimumUniformScalingToTouch(obstacle)


def _is_cut_off(region: GrowingRegion, point: Array, obstacle: ConvexSet) -> bool:
    """Whether no point of an obstacle, of which one is given, is in the region."""
    if region.contains(point):
        return False
    if isinstance(obstacle, VPolytope) and (
        (region.A @ obstacle.vertices()).min(axis=1) > region.b + 1e-9 * (1.0 + np.abs(region.b))
    ).any():
        return True
    try:
        return not region.polyhedron().IntersectsWith(obstacle)
    except RuntimeError:  # they touch, or nearly so, and the solver cannot tell: another face does no harm
        return False


def _face(
    obstacle: ConvexSet, ellipsoid: Hyperellipsoid, scale: float, point: Array, margin: float, where: str
) -> Face:
    face = tangent(ellipsoid, point)
    if face is not None and scale < _NEAR:
        face = Face(face.a, min(face.b, -extreme(obstacle, -face.a, where).value))
    if face is None or (scale < _NEAR and face.excess(ellipsoid.center()) > _CONTAINED):
        face = _face_beside(obstacle, ellipsoid, where)
    return Face(face.a, face.b - margin)


def _face_beside(obstacle: ConvexSet, ellipsoid: Hyperellipsoid, where: str) -> Face:
    """A face for an obstacle with the center c of the ellipsoid in it, or on its boundary.

    Points c + s d outside of the obstacle, |W d| = 1, have tangents of their own, where they are nearest to it, at p.
    The one counts that leaves c the least far behind: of axes d of the ellipsoid, and then of d along c + s d - p,
    which tends to the direction in which c itself is nearest to the boundary.
    """
    c, W = ellipsoid.center(), ellipsoid.A()
    axes = np.linalg.pinv(W)
    for size in 2.0 ** np.arange(40):
        found = [_tangent_from(obstacle, W, c, size * d) for d in np.hstack((axes, -axes)).T]
        best = min((each for each in found if each is not None), key=lambda each: each[0].excess(c), default=None)
        if best is not None:
            break
    else:
        raise RuntimeError(f"{where}: a {type(obstacle).__name__} around {c} covers the whole space.")
    for _ in range(8):
        again = _tangent_from(obstacle, W, c, best[1] * (size / float(np.linalg.norm(W @ best[1]))))
        if again is None or again[0].excess(c) > best[0].excess(c) - 1e-9:
            break
        best = again
    return best[0]


def _tangent_from(obstacle: ConvexSet, W: Array, c: Array, step: Array) -> tuple[Face, Array] | None:
    """The face between c + step and an obstacle, and the way from that, shape [n]; None if c + step is inside of it."""
    around = Hyperellipsoid(W, c + step)
    gap, point = around.MinimumUniformScalingToTouch(obstacle)
    face = tangent(around, point) if gap > 0.1 else None
    return None if face is None else (face, c + step - point)
