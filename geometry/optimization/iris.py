"""Large convex regions that obstacles leave free.

Source: Deits and Tedrake, Computing large convex regions of obstacle-free space through semidefinite programming, 2014;
the functions named below have the equations.

Options of Iris and IrisNp; files of regions.

Geometries of a SceneGraph as obstacles.

A region that grows: polyhedra and ellipsoids by turns.

An ellipsoid E = {x: |W (x - c)| <= 1} gives a polyhedron P: where E, made larger or smaller around c, touches an
obstacle first, at p, its tangent becomes a face:

    a'x <= a'p - margin,    a = W'W (p - c) / |W'W (p - c)|                                             (1)

and P gives the next ellipsoid, the greatest in it. The ellipsoids grow, so both converge (Deits and Tedrake,
Computing large convex regions of obstacle-free space through semidefinite programming, 2014).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.framework.common.records import settings
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed
from merganser.geometry.optimization.sets.affine_subspace import Point
from merganser.geometry.optimization.sets.arguments import Array, finite_vector, same_dimension
from merganser.geometry.optimization.sets.composed import CartesianProduct, MinkowskiSum
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.ellipsoids import Hyperellipsoid
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.sets.set_programs import extremes
from merganser.geometry.optimization.sets.vpolytope import VPolytope
from merganser.geometry.registration.properties import Role
from merganser.geometry.shapes.measures import has_hull

if TYPE_CHECKING:
    from merganser.geometry.registration.ids import FrameId
    from merganser.geometry.scene.query_object import QueryObject


@settings
@dataclass(eq=False, kw_only=True)
class IrisOptions:
    """How regions grow, and when they are large enough.

    Attributes:
        require_sample_point_is_contained: whether to stop with the last region that has the sample, where the next one
            would lose it.
        iteration_limit: how many regions are made, each from the ellipsoid in the last; one at least.
        termination_threshold: growth ends if the volume of the ellipsoid grows by this at most; negative: never.
        relative_termination_threshold: the same in parts of the volume; negative: never.
        configuration_space_margin: IrisNp: how far the faces stay away from collisions, in units of positions; at
            least 1e-5.
        num_collision_infeasible_samples: IrisNp: so many searches in a row have to find no collision of a pair.
        configuration_obstacles: IrisNp: sets of positions to stay out of, beside collisions.
        starting_ellipse: whose tangents are the faces of the first region; by default a ball of radius 0.01 around the
            sample.
        bounding_region: the region stays in this, and in the domain.
        verify_domain_boundedness: whether to check that these are bounded together.
        num_additional_constraint_infeasible_samples: IrisNp: so many searches in a row have to find no violation of a
            constraint.
        prog_with_additional_constraints: IrisNp: a program of the positions, whose constraints hold in the region; its
            costs do not matter.
        random_seed: IrisNp: of where searches start.
        mixing_steps: IrisNp: steps of hit and run between two starts.
        solver_options: IrisNp: for the searches.
        termination_func: given a new region, shape of HPolyhedron, says whether to end with it. pydrake has this in C++
            only.
    """

    require_sample_point_is_contained: bool = False
    iteration_limit: int = 100
    termination_threshold: float = 2e-2
    relative_termination_threshold: float = 1e-3
    configuration_space_margin: float = 1e-2
    num_collision_infeasible_samples: int = 5
    configuration_obstacles: list[ConvexSet] = field(default_factory=list)
    starting_ellipse: Hyperellipsoid | None = None
    bounding_region: HPolyhedron | None = None
    verify_domain_boundedness: bool = True
    num_additional_constraint_infeasible_samples: int = 5
    prog_with_additional_constraints: MathematicalProgram | None = None
    random_seed: int = 1234
    mixing_steps: int = 10
    solver_options: SolverOptions | None = None
    termination_func: Callable[[HPolyhedron], bool] | None = None


_SETS: dict[str, Any] = {
    "Box": HPolyhedron,
    "Capsule": MinkowskiSum,
    "Convex": VPolytope,
    "Cylinder": CartesianProduct,
    "Ellipsoid": Hyperellipsoid,
    "HalfSpace": HPolyhedron,
    "Mesh": VPolytope,
    "Sphere": Hyperellipsoid,
}


def MakeIrisObstacles(query_object: QueryObject, reference_frame: FrameId | None = None) -> list[ConvexSet]:
    """All geometries with the proximity role as sets, where they are now; meshes as their convex hulls.

    Args:
        query_object: of the SceneGraph.
        reference_frame: in which the sets are; by default the world.

    Returns:
        A set of dimension 3 for each geometry, in the order of their ids.

    Raises:
        RuntimeError: there is no set for a shape; the message names its geometry.
    """
    inspector = query_object.inspector()
    obstacles: list[ConvexSet] = []
    for id in sorted(inspector.GetAllGeometryIds(Role.kProximity), key=lambda each: each.get_value()):
        shape: Any = inspector.GetShape(id)
        kind = type(shape).__name__
        if kind not in _SETS and not has_hull(shape):
            raise RuntimeError(
                f"MakeIrisObstacles: geometry '{inspector.GetName(id)}' is a {kind}; there are sets for "
                f"{', '.join(_SETS)}. Remove its proximity role, or give it another shape."
            )
        make = Point if kind == "Sphere" and shape.radius() == 0.0 else _SETS.get(kind, VPolytope)
        obstacles.append(make(query_object, id, reference_frame))
    return obstacles


FIRST_RADIUS = 1e-2  # of the ball to begin with


class Face(NamedTuple):
    """a'x <= b with |a| = 1; a has the shape [n]."""

    a: Array
    b: float

    def excess(self, x: Array) -> float:
        """How far x, shape [n], is on the wrong side."""
        return float(self.a @ x) - self.b


class GrowingRegion:
    """A polyhedron that gets more faces.

    Attributes:
        A: shape [m, n].
        b: shape [m].
    """

    def __init__(self, domain: HPolyhedron) -> None:
        self.A, self.b = domain.A(), domain.b()

    def cut(self, face: Face) -> None:
        """Takes away what is beyond a face."""
        self.A, self.b = np.vstack((self.A, face.a)), np.append(self.b, face.b)

    def contains(self, x: Array, tol: float = 0.0) -> bool:
        """Whether x, shape [n], is in the region."""
        return bool((self.A @ x <= self.b + tol).all())

    def polyhedron(self) -> HPolyhedron:
        """The region as it is now."""
        return HPolyhedron(self.A, self.b)


def ball_around(sample: Array) -> Hyperellipsoid:
    """The ellipsoid that growth begins with, if no other one is given."""
    return Hyperellipsoid.MakeHypersphere(FIRST_RADIUS, sample)


def tangent(ellipsoid: Hyperellipsoid, p: Array, margin: float = 0.0) -> Face | None:
    """(1); None if p, shape [n], is so near to the center that it has no direction."""
    W, offset = ellipsoid.A(), p - ellipsoid.center()
    normal = W.T @ (W @ offset)
    length = float(np.linalg.norm(normal))
    if not length > 1e-9 * float(np.linalg.norm(W)) ** 2 * FIRST_RADIUS:
        return None
    a = normal / length
    return Face(a, float(a @ p) - margin)


def in_ellipsoid(polyhedron: HPolyhedron) -> Hyperellipsoid | None:
    """The greatest ellipsoid in a bounded polyhedron; None if the polyhedron has no inside.

    Raises:
        RuntimeError: the polyhedron is empty.
    """
    try:
        return polyhedron.MaximumVolumeInscribedEllipsoid()
    except (RuntimeError, np.linalg.LinAlgError):
        if polyhedron.IsEmpty():
            raise
        return None


class EllipsoidGrowth:
    """Whether the volume of ellipsoids still grows.

    Args:
        absolute: growth ends where the volume grows by this at most; negative: never.
        relative: the same in parts of the greatest volume up to then.
        first: the ellipsoid to begin with.
    """

    def __init__(self, absolute: float, relative: float, first: Hyperellipsoid) -> None:
        self._absolute, self._relative = absolute, relative
        self._best = first.CalcVolume()

    def has_ended(self, ellipsoid: Hyperellipsoid) -> bool:
        """Whether it ends with this ellipsoid, the next one."""
        volume = ellipsoid.CalcVolume()
        if not (math.isfinite(volume) and math.isfinite(self._best)):
            return True
        growth = volume - self._best
        is_end = growth <= self._absolute or growth <= self._relative * self._best
        self._best = max(volume, self._best)
        return is_end


_CONTAINED = 1e-6  # how far a sample that is touched by an obstacle may be beyond a face, for rounding
_NEAR = 1e-2  # of the size of the ellipsoid; nearer points give directions that are to be checked


def Iris(
    obstacles: Sequence[ConvexSet], sample: Any, domain: HPolyhedron, options: IrisOptions | None = None
) -> HPolyhedron:
    """A region of a domain without obstacles, which grows from a sample.

    The region has no point inside an obstacle.

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
            the domain; the sample is in an obstacle or outside of the domain; it has to be contained, and cannot be;
            or a solver did not converge.

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
        is_contained = growing.contains(seed, _CONTAINED)
        if region is None and not is_contained:
            _check_sample(seed, bounds, obstacles, where)
        if options.require_sample_point_is_contained and not is_contained:
            if region is None:
                raise RuntimeError(
                    f"{where}: the first region does not contain the sample {seed}: the tangents of starting_ellipse "
                    "cut it off. Choose another ellipse, or set require_sample_point_is_contained to False."
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


def _check_sample(seed: Array, bounds: HPolyhedron, obstacles: Sequence[ConvexSet], where: str) -> None:
    """Refuses a sample that no region without obstacles contains.

    Raises:
        RuntimeError: it is outside of the domain, or in an obstacle.
    """
    if not bounds.PointInSet(seed, _CONTAINED) and not bounds.IsEmpty():
        raise RuntimeError(f"{where}: the sample {seed} is outside of the domain. Choose one inside.")
    for i, obstacle in enumerate(obstacles):
        if obstacle.PointInSet(seed):
            raise RuntimeError(
                f"{where}: the sample {seed} is in obstacle {i}, a {type(obstacle).__name__}, so that no free region "
                "contains it. Choose a sample that is free."
            )


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
        RuntimeError: an obstacle is empty, or covers all around the ellipsoid; or a solver did not converge.
    """
    touched = [(*_touch(obstacle, ellipsoid, where), obstacle) for obstacle in obstacles]
    for scale, point, obstacle in sorted(touched, key=lambda each: each[0]):
        if _is_cut_off(region, point, obstacle):
            continue
        region.cut(_face(obstacle, ellipsoid, scale, point, margin, where))


def _touch(obstacle: ConvexSet, ellipsoid: Hyperellipsoid, where: str) -> tuple[float, Array]:
    try:
        return ellipsoid.MinimumUniformScalingToTouch(obstacle)
    except RuntimeError:
        if obstacle.IsEmpty():
            kind = type(obstacle).__name__
            raise RuntimeError(f"{where}: expected obstacles that are not empty; a {kind} is.") from None
        raise


def _is_cut_off(region: GrowingRegion, point: Array, obstacle: ConvexSet) -> bool:
    """Whether no point of an obstacle, of which one is given, is in the region."""
    if region.contains(point):
        return False
    if (
        isinstance(obstacle, VPolytope)
        and ((region.A @ obstacle.vertices()).min(axis=1) > region.b + 1e-9 * (1.0 + np.abs(region.b))).any()
    ):
        return True
    try:
        return not region.polyhedron().IntersectsWith(obstacle)
    except RuntimeError:  # they touch, or nearly so, and the solver cannot decide: another face does no harm
        return False


def _face(
    obstacle: ConvexSet, ellipsoid: Hyperellipsoid, scale: float, point: Array, margin: float, where: str
) -> Face:
    face = tangent(ellipsoid, point)
    if face is not None and scale < _NEAR:
        face = Face(face.a, min(face.b, -next(extremes(obstacle, [-face.a], where)).value))
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


@dataclass
class _Rows:
    """A polyhedron as it is written.

    Attributes:
        ambient_dimension: n.
        A: shape [m, n].
        b: shape [m].
    """

    ambient_dimension: int = 0
    A: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    b: np.ndarray = field(default_factory=lambda: np.zeros(0))


def SaveIrisRegionsYamlFile(
    filename: str | os.PathLike[str], regions: dict[str, HPolyhedron], child_name: str | None = None
) -> None:
    """Writes regions into a file, in ascending order of their names.

    Args:
        filename: of the file.
        regions: by names.
        child_name: puts them below an entry of this name.

    Raises:
        TypeError: a region is no HPolyhedron.
        OSError: the file cannot be written.
    """
    for name, region in regions.items():
        if not isinstance(region, HPolyhedron):
            raise TypeError(
                f"SaveIrisRegionsYamlFile: expected region '{name}' to be an HPolyhedron, got {type(region).__name__}."
            )
    rows = {name: _Rows(each.ambient_dimension(), each.A(), each.b()) for name, each in regions.items()}
    yaml_dump_typed(rows, filename=filename, schema=dict[str, _Rows], child_name=child_name)


def LoadIrisRegionsYamlFile(filename: str | os.PathLike[str], child_name: str | None = None) -> dict[str, HPolyhedron]:
    """Reads the regions of a file, by names.

    Args:
        filename: of the file.
        child_name: of the entry that has them; by default they are the document.

    Raises:
        RuntimeError: the file or entry is missing, or does not fit; the message says where.
    """
    found = yaml_load_typed(schema=dict[str, _Rows], filename=filename, child_name=child_name)
    where = f"LoadIrisRegionsYamlFile: {filename}"
    return {name: _polyhedron(rows, f"{where}: region '{name}'") for name, rows in found.items()}


def _polyhedron(rows: _Rows, where: str) -> HPolyhedron:
    n, m = rows.ambient_dimension, rows.b.size
    A = rows.A.reshape(0, max(n, 0)) if rows.A.size == 0 else rows.A
    if A.ndim != 2 or rows.b.ndim != 1 or A.shape != (m, n):
        raise RuntimeError(
            f"{where}: expected an A of shape ({m}, {n}), after {m} numbers in b and an ambient_dimension of {n}; got "
            f"{A.shape}."
        )
    return HPolyhedron(A, rows.b)
