"""Arguments of sets: which form of a constructor is meant, and numbers that are checked where they come in.

Geometries of a SceneGraph, for sets that are made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import finite, vector
from merganser.geometry.shapes.measures import has_hull

Array = npt.NDArray[np.float64]


class Form(NamedTuple):
    """One way to call a constructor.

    Attributes:
        names: its arguments, in order.
        fits: whether the first argument is of the right kind.
        num_optional: how many of the last arguments may be left out.
    """

    names: tuple[str, ...] = ()
    fits: Callable[[Any], bool] = lambda first: True
    num_optional: int = 0

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments by name, or None if they are not those of this form."""
        given = {**dict(zip(self.names, args)), **kwargs}
        needed = self.names[: len(self.names) - self.num_optional]
        if len(args) + len(kwargs) != len(given) or not set(needed) <= given.keys() <= set(self.names):
            return None
        return given if not self.names or self.fits(given[self.names[0]]) else None


def choose(
    where: str, args: tuple[Any, ...], kwargs: dict[str, Any], forms: dict[str, Form]
) -> tuple[str, dict[str, Any]]:
    """The form that arguments have, and the arguments by name.

    Raises:
        TypeError: they have none of the forms.
    """
    for key, form in forms.items():
        values = form.values(args, kwargs)
        if values is not None:
            return key, values
    got = [type(each).__name__ for each in args] + [f"{name}={type(each).__name__}" for name, each in kwargs.items()]
    wanted = " or ".join(f"({', '.join(form.names)})" for form in forms.values())
    raise TypeError(f"{where}: expected {wanted}; got ({', '.join(got)}).")


def finite_vector(values: Any, where: str, name: str, size: int | None = None) -> Array:
    """A new vector of finite floats.

    Raises:
        ValueError: a value is not finite, or there are not `size` values.
    """
    return finite(vector(values, where, name, size), where, name)


def points_of(values: Any, where: str, name: str, rows: int | None = None) -> Array:
    """A new matrix of finite floats whose columns are points, shape [rows, num_points]; a vector is one point.

    Raises:
        ValueError: a value is not finite, or the points do not have `rows` coordinates.
    """
    result = np.array(values, dtype=np.float64)
    if result.ndim == 1:
        result = result[:, np.newaxis]
    if result.ndim != 2 or rows not in (None, result.shape[0]):
        raise ValueError(
            f"{where}: expected {name} of shape ({'any' if rows is None else rows}, any), a point in each column; "
            f"got {result.shape}."
        )
    return finite(result, where, name)


def size_of(value: Any, where: str, name: str) -> int:
    """A whole number that is not negative.

    Raises:
        ValueError: it is another number.
    """
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{where}: expected {name} to be a whole number of at least 0, got {value!r}.")
    return int(value)


def same_dimension(where: str, expected: int, other: Any) -> None:
    """Checks that another set is one, in a space of the same dimension.

    Raises:
        TypeError: it is no convex set.
        RuntimeError: its dimension differs.
    """
    if not hasattr(other, "ambient_dimension"):
        raise TypeError(f"{where}: expected a convex set, got {type(other).__name__}.")
    if other.ambient_dimension() != expected:
        raise RuntimeError(
            f"{where}: expected a set of ambient dimension {expected}, got {type(other).__name__} of "
            f"{other.ambient_dimension()}."
        )


OF_SCENE = ("query_object", "geometry_id", "reference_frame")  # of constructors; the last may be left out


def is_query_object(value: Any) -> bool:
    """Whether this asks a SceneGraph."""
    return hasattr(value, "inspector") and hasattr(value, "GetPoseInWorld")


def shape_in_frame(where: str, given: dict[str, Any], *kinds: str) -> tuple[Any, Any]:
    """The shape of a geometry G, and its pose X_EG in the reference frame E; by default E is the world.

    Args:
        where: for errors.
        given: values by the names OF_SCENE.
        kinds: names of classes of shapes that are expected; a Convex stands for all that contact takes for their hulls.

    Raises:
        RuntimeError: the shape is another one, or an id is not registered.
    """
    query, geometry_id = given["query_object"], given["geometry_id"]
    frame = given.get("reference_frame")
    shape = query.inspector().GetShape(geometry_id)
    kind = type(shape).__name__
    if kind not in kinds and not ("Convex" in kinds and has_hull(shape)):
        raise RuntimeError(
            f"{where}: geometry '{query.inspector().GetName(geometry_id)}' is a {kind}; expected {' or '.join(kinds)}."
        )
    X_WG = query.GetPoseInWorld(geometry_id)
    return shape, X_WG if frame is None else query.GetPoseInWorld(frame).inverse() @ X_WG
