"""What every convex set can be asked for, and what a set defines."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix, objects, scalar
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets import set_programs
from merganser.geometry.optimization.sets.arguments import Array, Form, choose, finite_vector, points_of, same_dimension
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, affine_hull_by_programs

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.optimization.sets.inscribed import SampledVolume
    from merganser.geometry.shapes import Shape

_SCALINGS = {
    "point": Form(("prog", "x", "t")),
    "affine": Form(("prog", "A", "b", "c", "d", "x", "t")),
}


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if isinstance(value, ConvexSet):
        return value.Clone()
    return value if isinstance(value, (np.ndarray, int, float, type(None))) else copy.deepcopy(value)


class ConvexSet(ABC):
    """A closed convex set in the space of vectors of a size n, its ambient dimension.

    Sets do not change, but for `Point.set_x`. In the space of dimension 0 there are two: the empty one, and that of the
    one vector that there is.

    A subclass calls `super().__init__(n)` and defines `_add`: its constraints in a program. All other functions have
    definitions by programs here, which it replaces where it knows a closed form. Those get arguments that have been
    checked, of sets of n > 0.
    """

    def __init__(self, ambient_dimension: int) -> None:
        self._dimension = ambient_dimension

    # -- what a set defines -----------------------------------------------------------------------------------------

    @abstractmethod
    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        """Adds that A v + b is in (c'v + d) S, where c'v + d >= 0 is known; returns new variables and constraints."""

    def _is_empty(self) -> bool:
        return self._dimension > 0 and set_programs.feasible_point(self, self._where("IsEmpty")) is None

    def _is_bounded(self) -> bool:
        # An unbounded closed convex set has a ray (Rockafellar, Convex Analysis, theorem 8.4), so one of 2n programs
        # has no bound. A program may not converge where another one then shows the ray.
        where, error = self._where("IsBounded"), None
        for axis in np.eye(self._dimension):
            for direction in (axis, -axis):
                try:
                    if next(set_programs.extremes(self, (direction,), where)).value == np.inf:
                        return False
                except RuntimeError as raised:
                    error = raised
        if error is not None:
            raise error
        return True

    def _only_point(self) -> Array | None:
        return None

    def _axis_aligned_bounds(self) -> Array | None:
        """Lower and upper bounds of a set that is a box, shape [2, n]; None of others."""
        return None

    def _feasible_point(self) -> Array | None:
        return set_programs.feasible_point(self, self._where("MaybeGetFeasiblePoint"))

    def _meets(self, other: ConvexSet, where: str) -> bool | None:
        """Whether a vector is in both sets; None of kinds that one program for both decides as fast."""
        return None

    def _contains(self, x: Array, tol: float) -> bool:
        return set_programs.distance_to(self, x, self._where("PointInSet")) <= tol

    def _nearest(self, x: Array) -> Array | None:
        if self._contains(x, 0.0):
            return x
        return self._nearest_by(np.eye(x.size), x, self._where("Projection"))

    def _nearest_by(self, W: Array, target: Array, where: str) -> Array | None:
        """The x with the least |W (x - target)|, shape [n]; None if the set is empty."""
        return set_programs.nearest_point(self, W, target, where)

    def _exact_volume(self) -> float:
        raise NotImplementedError  # of sets with has_exact_volume()

    def _affine_hull(self, tol: float | None) -> Flat:
        """The smallest flat around a set that is not empty; lengths up to tol count as 0."""
        return affine_hull_by_programs(self, 1e-12 if tol is None else tol)

    def _shape_with_pose(self) -> tuple[Shape, RigidTransform]:
        name = type(self).__name__
        raise RuntimeError(f"{name}.ToShapeWithPose is not implemented yet for {name}: there is no Shape of that kind.")

    def _where(self, function: str = "") -> str:
        return f"{type(self).__name__}.{function}" if function else type(self).__name__

    # -- questions --------------------------------------------------------------------------------------------------

    def ambient_dimension(self) -> int:
        """The size n of the vectors in this set."""
        return self._dimension

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form or a triangulation for this set."""
        return False

    def IsEmpty(self) -> bool:
        """Whether no vector is in this set; by one program, if there is no closed form.

        Raises:
            RuntimeError: the solver did not converge.
        """
        return self._is_empty()

    def IsBounded(self, parallelism: Any = None) -> bool:
        """Whether all entries of the vectors of this set have bounds; by 2n programs, if there is no closed form.

        Args:
            parallelism: how many threads may be used; the programs are small, and are solved one after the other.

        Raises:
            RuntimeError: the solver did not converge.
        """
        return self._dimension == 0 or self._is_bounded()

    def MaybeGetPoint(self) -> Array | None:
        """The one vector of this set, shape [n], if its data say at once that there is just one; else None."""
        if self._dimension == 0:
            return None if self._is_empty() else np.zeros(0)
        return self._only_point()

    def MaybeGetFeasiblePoint(self) -> Array | None:
        """Some vector of this set, shape [n]; None if it is empty.

        Raises:
            RuntimeError: the solver did not converge.
        """
        point = self.MaybeGetPoint()
        return point if point is not None or self._dimension == 0 else self._feasible_point()

    def IntersectsWith(self, other: ConvexSet) -> bool:
        """Whether a vector is in this set and in another one.

        Raises:
            RuntimeError: the ambient dimensions differ, or the solver did not converge.
        """
        where = self._where("IntersectsWith")
        same_dimension(where, self._dimension, other)
        if self._dimension == 0:
            return not self.IsEmpty() and not other.IsEmpty()
        for a, b in ((self, other), (other, self)):
            meets = a._meets(b, where)
            if meets is not None:
                return meets
        return set_programs.feasible_point(self, where, other) is not None

    def PointInSet(self, x: Any, tol: float = 1e-8) -> bool:
        """Whether a vector is in this set, within a tolerance.

        Args:
            x: shape [n].
            tol: by how much constraints may be violated; where membership is found by a program, how far from the set x
                may be in each entry.

        Raises:
            ValueError: x has another size, or values that are not finite.
            RuntimeError: the solver did not converge.
        """
        where = self._where("PointInSet")
        point = finite_vector(x, where, "x", self._dimension)
        return not self._is_empty() if self._dimension == 0 else self._contains(point, scalar(tol, where, "tol"))

    def Projection(self, points: Any) -> tuple[list[float], Array] | None:
        """The vectors of this set that are nearest to given ones, in Euclidean length.

        Args:
            points: one in each column, shape [n, m]; or one, shape [n].

        Returns:
            The distances, and the nearest vectors in columns, shape [n, m]; None if this set is empty.

        Raises:
            ValueError: points have another size, or values that are not finite.
            RuntimeError: the solver did not converge.
        """
        given = points_of(points, self._where("Projection"), "points", self._dimension)
        if self._dimension == 0:
            return None if self._is_empty() else ([0.0] * given.shape[1], given)
        found: list[Array] = []
        for x in given.T:
            nearest = self._nearest(x)
            if nearest is None:
                return None
            found.append(nearest)
        nearest_points = np.array(found).reshape(-1, self._dimension).T
        return [float(np.linalg.norm(each)) for each in (nearest_points - given).T], nearest_points

    # -- constraints ------------------------------------------------------------------------------------------------

    def AddPointInSetConstraints(self, prog: MathematicalProgram, vars: Any) -> tuple[Objects, list[Binding]]:
        """Adds to a program that variables are in this set.

        Args:
            prog: the program.
            vars: variables of it, shape [n].

        Returns:
            New variables that constraints needed, and the constraints.

        Raises:
            ValueError: there are not n variables.
            RuntimeError: the ambient dimension is 0.
        """
        where = self._where("AddPointInSetConstraints")
        self._require_space(where)
        return self._add(prog, Placement.of_point(self._variables(vars, where, "vars", self._dimension)))

    def AddPointInNonnegativeScalingConstraints(self, *args: Any, **kwargs: Any) -> list[Binding]:
        """Adds to a program that a point is in a multiple of this set S, where the factor is at least 0.

        (prog, x, t): x in t S, t >= 0, for variables x of shape [n] and one variable t.
        (prog, A, b, c, d, x, t): A x + b in (c't + d) S, c't + d >= 0, for A of shape [n, m], b of [n], c of [p], a
        number d, and variables x of shape [m] and t of [p].

        Where the factor is 0, the point is in the recession cone of S: the directions in which S has no end. If S is
        bounded that leaves 0.

        Raises:
            ValueError: sizes do not fit.
            RuntimeError: the ambient dimension is 0.
        """
        where, n = self._where("AddPointInNonnegativeScalingConstraints"), self._dimension
        form, given = choose(where, args, kwargs, _SCALINGS)
        self._require_space(where)
        if form == "point":
            given.update(A=np.eye(n), b=np.zeros(n), c=np.ones(1), d=0.0)
        x = self._variables(given["x"], where, "x", n if form == "point" else None)
        t = self._variables([given["t"]] if np.ndim(given["t"]) == 0 else given["t"], where, "t")
        A = matrix(given["A"], where, "A", n, x.size)
        c = finite_vector(given["c"], where, "c", t.size)
        place = Placement(
            np.hstack((A, np.zeros((n, t.size)))),
            finite_vector(given["b"], where, "b", n),
            np.concatenate((np.zeros(x.size), c)),
            float(finite_vector([given["d"]], where, "d")[0]),
            np.concatenate((x, t)),
        )
        prog: MathematicalProgram = given["prog"]
        at_least_zero = prog.AddLinearConstraint(c[np.newaxis], [-place.d], [np.inf], t)
        return [at_least_zero, *self._add(prog, place)[1]]

    def _variables(self, values: Any, where: str, name: str, size: int | None = None) -> Objects:
        result = objects(values)
        if size not in (None, result.size):
            raise ValueError(f"{where}: expected {size} variables in {name}, got {result.size}.")
        return result

    def _require_space(self, where: str) -> None:
        if self._dimension == 0:
            raise RuntimeError(f"{where}: the ambient dimension is 0; expected at least 1.")

    # -- volume and shape -------------------------------------------------------------------------------------------

    def CalcVolume(self) -> float:
        """The volume of this set; infinity if it has no end in n directions, 0 if it is flat.

        Raises:
            RuntimeError: has_exact_volume() is False, or the ambient dimension is 0.
        """
        where = self._where("CalcVolume")
        self._require_space(where)
        if not self.has_exact_volume():
            raise RuntimeError(f"{where}: the volume of this set has no closed form. Use CalcVolumeViaSampling.")
        return float(self._exact_volume())

    def CalcVolumeViaSampling(
        self, generator: RandomGenerator, desired_rel_accuracy: float = 0.01, max_num_samples: float = 10_000
    ) -> SampledVolume:
        """An estimate of the volume of this set: how many points of the box around it are in it.

        Args:
            generator: where randomness comes from.
            desired_rel_accuracy: the standard deviation of the estimate, relative to it, at which to stop; 0 to 1.
            max_num_samples: how many points at most.

        Raises:
            ValueError: the accuracy is not from 0 to 1, or there are no samples.
            RuntimeError: the set is empty or unbounded, or the ambient dimension is 0.
        """
        from merganser.geometry.optimization.sets.inscribed import sampled_volume

        where = self._where("CalcVolumeViaSampling")
        self._require_space(where)
        if not 0.0 <= desired_rel_accuracy <= 1.0:
            raise ValueError(f"{where}: expected desired_rel_accuracy from 0 to 1, got {desired_rel_accuracy}.")
        if not 1 <= max_num_samples < math.inf:
            raise ValueError(f"{where}: expected max_num_samples of at least 1, got {max_num_samples}.")
        return sampled_volume(self, generator, float(desired_rel_accuracy), int(max_num_samples), where)

    def ToShapeWithPose(self) -> tuple[Shape, RigidTransform]:
        """This set as a shape G of the SceneGraph, and its pose X_WG, if it has one.

        Raises:
            RuntimeError: the ambient dimension is not 3, or there is no such shape.
        """
        if self._dimension != 3:
            raise RuntimeError(
                f"{self._where('ToShapeWithPose')}: expected an ambient dimension of 3, got {self._dimension}."
            )
        return self._shape_with_pose()

    # -- copies -----------------------------------------------------------------------------------------------------

    def Clone(self) -> ConvexSet:
        """A copy of this set, with copies of the sets that it is made of; arrays are shared, as they do not change."""
        clone = object.__new__(type(self))
        vars(clone).update({name: _copied(value) for name, value in vars(self).items()})
        return clone

    def __copy__(self) -> ConvexSet:
        return self.Clone()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of ambient dimension {self._dimension}>"
