"""One point."""

from __future__ import annotations

__all__ = ["Point"]

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_hull import Flat
from merganser.geometry.optimization.arguments import Array, Form, choose, finite_vector
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.placement import Placement
from merganser.geometry.optimization.scene_shapes import OF_SCENE, is_query_object, shape_in_frame

if TYPE_CHECKING:
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.shapes import Shape

_FORMS = {
    "empty": Form(),
    "scene": Form((*OF_SCENE, "maximum_allowable_radius"), is_query_object, num_optional=2),
    "x": Form(("x",)),
}


class Point(ConvexSet):
    """The set {x} of one vector.

    Point(): that of dimension 0. Point(x): of a vector, shape [n]. Point(query_object, geometry_id,
    reference_frame=None, maximum_allowable_radius=0.0): the center of a sphere of the SceneGraph that is no larger [m],
    in the reference frame; by default in the world.

    Raises:
        ValueError: x is not finite.
        RuntimeError: the geometry is no sphere, or a larger one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("Point", args, kwargs, _FORMS)
        if form == "scene":
            largest = float(given.pop("maximum_allowable_radius", 0.0))
            shape, X_EG = shape_in_frame("Point", given, "Sphere")
            if shape.radius() > largest:
                raise RuntimeError(
                    f"Point: the sphere has a radius of {shape.radius()}, expected at most maximum_allowable_radius = "
                    f"{largest}."
                )
            given = {"x": X_EG.translation()}
        self._x = finite_vector(given.get("x", ()), "Point", "x")
        super().__init__(self._x.size)

    def x(self) -> Array:
        """The vector, shape [n]."""
        return self._x.copy()

    def set_x(self, x: Any) -> None:
        """Sets the vector, of the same size.

        Raises:
            ValueError: it has another size, or values that are not finite.
        """
        self._x = finite_vector(x, self._where("set_x"), "x", self._dimension)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = s x
        return np.empty(0, object), place.add_zero(prog, np.eye(self._dimension), -self._x)

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return True

    def _only_point(self) -> Array | None:
        return self.x()

    def _contains(self, x: Array, tol: float) -> bool:
        return bool(np.abs(x - self._x).max() <= tol)

    def _nearest(self, x: Array) -> Array | None:
        return self.x()

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: it is 0."""
        return True

    def _exact_volume(self) -> float:
        return 0.0

    def _affine_hull(self, tol: float | None) -> Flat:
        return Flat(np.zeros((self._dimension, 0)), self.x())

    def _shape_with_pose(self) -> tuple[Shape, RigidTransform]:
        from merganser.framework.math.rotations.rigid_transform import RigidTransform
        from merganser.geometry.shapes import Sphere

        return Sphere(0.0), RigidTransform(self._x)
