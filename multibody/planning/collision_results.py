"""What collision checkers answer: kinds of collision, clearances, how far an edge is free."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.optimization.arrays import vector
from merganser.multibody.tree import BodyIndex

__all__ = ["EdgeMeasure", "RobotClearance", "RobotCollisionType"]

Array = NDArray[Any]


class RobotCollisionType(enum.IntEnum):
    """With what a body of the robot collides."""

    kNoCollision = 0
    kEnvironmentCollision = 1
    kSelfCollision = 2
    kEnvironmentAndSelfCollision = 3

    def MakeUpdated(
        self, *, in_environment_collision: bool | None = None, in_self_collision: bool | None = None
    ) -> RobotCollisionType:
        """Returns the value with what is given in place of what it says itself."""
        environment, itself = bool(self & 1), bool(self & 2)
        environment = environment if in_environment_collision is None else in_environment_collision
        itself = itself if in_self_collision is None else in_self_collision
        return RobotCollisionType(environment + 2 * itself)


class RobotClearance:
    """Distances between bodies R of a robot and other bodies O, less the padding of each pair.

    Where they are positive the bodies are apart. The derivative by q counts positions of the robot only.

    Args:
        num_positions: of the plant; or
        other: a clearance that is copied.
    """

    _num_positions: int
    _rows: list[tuple[BodyIndex, BodyIndex, RobotCollisionType, float]]
    _jacobians: list[Array]

    def __init__(self, num_positions: int | RobotClearance | None = None, other: RobotClearance | None = None) -> None:
        source = num_positions if isinstance(num_positions, RobotClearance) else other
        if source is not None:
            self._num_positions = source._num_positions
            self._rows, self._jacobians = list(source._rows), list(map(np.copy, source._jacobians))
            return
        if not isinstance(num_positions, (int, np.integer)) or num_positions < 0:
            raise ValueError(f"RobotClearance(): num_positions must not be negative, got {num_positions!r}.")
        self._num_positions = int(num_positions)
        self._rows, self._jacobians = [], []

    def size(self) -> int:
        """How many distances there are."""
        return len(self._rows)

    def num_positions(self) -> int:
        """How many columns the Jacobians have."""
        return self._num_positions

    def robot_indices(self) -> list[BodyIndex]:
        """The bodies R."""
        return [row[0] for row in self._rows]

    def other_indices(self) -> list[BodyIndex]:
        """The bodies O, of the environment or of the robot."""
        return [row[1] for row in self._rows]

    def collision_types(self) -> list[RobotCollisionType]:
        """kSelfCollision where O is a body of the robot, else kEnvironmentCollision."""
        return [row[2] for row in self._rows]

    def distances(self) -> Array:
        """Distances [m], shape [size]."""
        return np.array([row[3] for row in self._rows])

    def jacobians(self) -> Array:
        """Derivatives of the distances by q, shape [size, num_positions]; a copy."""
        return np.array(self._jacobians).reshape(-1, self._num_positions)

    def mutable_jacobians(self) -> Array:
        """The same array that the clearance keeps."""
        kept = self.jacobians()
        self._jacobians = list(kept)
        return kept

    def Reserve(self, size: int) -> None:
        """Does nothing; lists grow by themselves."""

    def Append(
        self,
        robot_index: BodyIndex,
        other_index: BodyIndex,
        collision_type: RobotCollisionType,
        distance: float,
        jacobian: ArrayLike,
    ) -> None:
        """Adds a distance.

        Raises:
            ValueError: the Jacobian has another size than num_positions.
        """
        gradient = vector(jacobian, "RobotClearance.Append()", "jacobian", self._num_positions)
        self._rows.append((robot_index, other_index, RobotCollisionType(collision_type), float(distance)))
        self._jacobians.append(gradient.copy())


class EdgeMeasure:
    """How far an edge from q1 to q2 is free of collisions.

    Args:
        distance: its length in the measure of the checker, not negative; or another EdgeMeasure.
        alpha: share of it that is free from q1 on, 0 to 1; negative if q1 is in collision.
    """

    _distance: float
    _alpha: float

    def __init__(
        self, distance: float | EdgeMeasure | None = None, alpha: float | None = None, other: EdgeMeasure | None = None
    ) -> None:
        source = distance if isinstance(distance, EdgeMeasure) else other
        if source is not None:
            self._distance, self._alpha = source._distance, source._alpha
            return
        if isinstance(distance, EdgeMeasure) or distance is None or alpha is None or not distance >= 0.0 or alpha > 1.0:
            raise ValueError(
                "EdgeMeasure() takes a distance that is not negative and an alpha of 1 at most, got "
                f"{distance} and {alpha}."
            )
        self._distance, self._alpha = float(distance), float(alpha)

    def completely_free(self) -> bool:
        """Whether no sample of the edge is in collision."""
        return self._alpha == 1.0

    def partially_free(self) -> bool:
        """Whether q1 is free."""
        return self._alpha >= 0.0

    def distance(self) -> float:
        """Length of the edge."""
        return self._distance

    def alpha(self) -> float:
        """Share of the edge that is free, from q1 on.

        Raises:
            RuntimeError: q1 is in collision.
        """
        if not self.partially_free():
            raise RuntimeError("EdgeMeasure.alpha(): the edge begins in collision; see partially_free() or alpha_or().")
        return self._alpha

    def alpha_or(self, default_value: float) -> float:
        """The same, or a default if q1 is in collision."""
        return self._alpha if self.partially_free() else float(default_value)

    def __repr__(self) -> str:
        return f"EdgeMeasure(distance={self._distance}, alpha={self._alpha})"
