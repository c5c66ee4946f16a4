"""Which pairs of bodies a collision checker looks at, and how far apart they are to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.arguments import checked_number
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, ModelInstanceIndex, RigidBody

Array = NDArray[Any]
_NEVER = -1  # of a body with itself, and of two bodies of the environment


class BodyPairs:
    """The filter matrix and the padding matrix of a checker, by BodyIndex.

    Args:
        plant: of the checker.
        robot_model_instances: of the robot; all other bodies are its environment.

    Attributes:
        is_robot: of each body.
        filtered: -1 for pairs that are never checked, 1 for those that are filtered, 0 for all others.
        padding: [m].
    """

    def __init__(self, plant: MultibodyPlant, robot_model_instances: Iterable[ModelInstanceIndex]) -> None:
        self._plant, robots = plant, set(map(int, robot_model_instances))
        bodies = [plant.get_body(BodyIndex(i)) for i in range(plant.num_bodies())]
        self.is_robot: Array = np.array([int(body.model_instance()) in robots for body in bodies])
        n = len(bodies)
        self.filtered: Array = np.zeros((n, n), np.int32)
        self.padding: Array = np.zeros((n, n))
        self._largest: float | None = None
        self._least: Array | None = None
        outside = np.logical_or.outer(self.is_robot, self.is_robot)
        self.filtered[~outside] = _NEVER
        np.fill_diagonal(self.filtered, _NEVER)
        self.nominal = self.filtered

    def index_of(self, body: RigidBody | BodyIndex | int, caller: str) -> int:
        """The index of a body of the plant.

        Raises:
            ValueError: there is no such body.
        """
        index = int(body.index()) if isinstance(body, RigidBody) else int(body)
        if not 0 <= index < len(self.is_robot):
            raise ValueError(f"{caller}(): there is no body {index}; the plant has {len(self.is_robot)} bodies.")
        return index

    def name_of(self, index: int) -> str:
        """The name of a body, for messages."""
        return f"'{self._plant.get_body(BodyIndex(index)).scoped_name()}'"

    # ------------------------------------------------------------------ filters

    def set_nominal(self, filtered: Array) -> None:
        """Sets the initially filtered pairs, a symmetric matrix of truth values."""
        self.filtered[(self.filtered != _NEVER) & filtered] = 1
        self._least = None
        self.nominal = self.filtered.copy()

    def is_filtered(self, a: int, b: int) -> bool:
        """Whether a pair is not checked."""
        return bool(self.filtered[a, b])

    def set_filtered(self, a: int, b: int, is_filtered: bool) -> None:
        """Filters a pair, or not.

        Raises:
            ValueError: the pair is never checked.
        """
        self._require_pair(a, b, "SetCollisionFilteredBetween")
        self.filtered[a, b] = self.filtered[b, a] = int(is_filtered)
        self._least = None

    def filter_all(self, a: int) -> None:
        """Filters all pairs of a body of the robot."""
        if not self.is_robot[a]:
            raise ValueError(
                f"SetCollisionFilteredWithAllBodies(): body {self.name_of(a)} belongs to the environment, whose bodies "
                "are filtered with each other anyway. Give a body of the robot."
            )
        others = np.arange(len(self.is_robot)) != a
        self.filtered[a, others] = self.filtered[others, a] = 1
        self._least = None

    def set_filter_matrix(self, matrix: ArrayLike) -> None:
        """Replaces the filter matrix.

        Raises:
            ValueError: it has another shape, is not symmetric, or not -1 where this is.
        """
        given, caller = np.asarray(matrix), "SetCollisionFilterMatrix()"
        self._require_square(given, caller)
        never = self.filtered == _NEVER
        if (given[never] != _NEVER).any() or not np.isin(given[~never], (0, 1)).all():
            raise ValueError(
                f"{caller}: the matrix must be -1 on the diagonal and between bodies of the environment, and 0 or 1 "
                "elsewhere."
            )
        self.filtered[:], self._least = given, None

    # ------------------------------------------------------------------ padding

    def set_padding(self, a: int, b: int, padding: float) -> None:
        """Sets the padding of a pair [m].

        Raises:
            ValueError: the pair is never checked; the padding is not finite.
        """
        self._require_pair(a, b, "SetPaddingBetween")
        self.padding[a, b] = self.padding[b, a] = _finite(padding, "SetPaddingBetween()")
        self._largest = self._least = None

    def set_paddings(self, is_self: bool, padding: float, caller: str, body: int | None = None) -> None:
        """Sets the padding of all pairs of two bodies of the robot, or of one with the environment."""
        value, r = _finite(padding, caller), self.is_robot
        chosen = np.logical_and.outer(r, r) if is_self else np.logical_xor.outer(r, r)
        np.fill_diagonal(chosen, False)
        if body is not None:
            if not r[body]:
                raise ValueError(f"{caller}: body {self.name_of(body)} is not one of the robot.")
            of_body = np.zeros_like(chosen)
            of_body[body], of_body[:, body] = True, True
            chosen &= of_body
        self.padding[chosen], self._largest, self._least = value, None, None

    def set_padding_matrix(self, matrix: ArrayLike) -> None:
        """Replaces the padding matrix.

        Raises:
            ValueError: it has another shape, is not symmetric or not finite, or not 0 where no padding counts.
        """
        given, caller = np.asarray(matrix, dtype=float), "SetPaddingMatrix()"
        self._require_square(given, caller)
        if not np.isfinite(given).all():
            raise ValueError(f"{caller}: all paddings must be finite.")
        if given[self.filtered == _NEVER].any():
            raise ValueError(f"{caller}: the matrix must be 0 on the diagonal and between bodies of the environment.")
        self.padding[:], self._largest, self._least = given, None, None

    def largest_padding(self) -> float:
        """The largest of all pairs that may be checked [m]."""
        if self._largest is None:
            counted = self.padding[self.filtered != _NEVER]
            self._largest = float(counted.max()) if counted.size else 0.0
        return self._largest

    def least_distances(self) -> Array:
        """The signed distance of each pair that counts as collision, -infinity if none does.

        The array is another one after each change of filters and paddings.
        """
        if self._least is None:
            self._least = np.where(self.filtered == 0, self.padding, -np.inf)
        return self._least

    def uniform_padding(self, is_self: bool) -> float | None:
        """The one padding of two bodies of the robot, or of one with the environment; None if there are several."""
        r = self.is_robot
        chosen = np.logical_and.outer(r, r) if is_self else np.logical_xor.outer(r, r)
        np.fill_diagonal(chosen, False)
        values = self.padding[chosen]
        if not values.size:
            return 0.0
        return float(values[0]) if (values == values[0]).all() else None

    # ------------------------------------------------------------------ checks

    def _require_pair(self, a: int, b: int, caller: str) -> None:
        if a == b:
            raise ValueError(f"{caller}() takes two bodies, given {self.name_of(a)} twice.")
        if not (self.is_robot[a] or self.is_robot[b]):
            raise ValueError(
                f"{caller}(): bodies {self.name_of(a)} and {self.name_of(b)} both belong to the environment; one must "
                "be of the robot."
            )

    def _require_square(self, given: Array, caller: str) -> None:
        n = len(self.is_robot)
        if given.shape != (n, n):
            raise ValueError(f"{caller}: the matrix has shape {given.shape}, expected {(n, n)}, one row for each body.")
        if (given != given.T).any():
            a, b = np.argwhere(given != given.T)[0].tolist()
            raise ValueError(
                f"{caller}: the matrix is not symmetric: {given[a, b]} and {given[b, a]} for bodies {self.name_of(a)} "
                f"and {self.name_of(b)}."
            )


def _finite(padding: Any, caller: str) -> float:
    number = checked_number(padding, f"{caller}: padding [m]")
    if not np.isfinite(number):
        raise ValueError(f"{caller}: the padding must be finite, got {number}.")
    return number
