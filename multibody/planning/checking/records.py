"""Parts of collision checkers: CollisionCheckerParams and CollisionCheckerContext.

BodyShapeDescription: a shape on a body of a plant, identified by names.

Results of collision checkers: kinds of collision, clearances, how far an edge is free.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, Parallelism
from merganser.framework.common.records import settings
from merganser.framework.math import RigidTransform
from merganser.framework.optimization.arrays import vector
from merganser.geometry import GeometryId, QueryObject, Shape
from merganser.multibody.planning.checking.distance_and_interpolation import DistanceAndInterpolationProvider
from merganser.multibody.planning.robot_diagram import RobotDiagram
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, ModelInstanceIndex


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class CollisionCheckerParams:
    """Parameters of a collision checker.

    Attributes:
        model: the robot and its environment.
        robot_model_instances: of the robot.
        distance_and_interpolation_provider: measure and ways; by default linear.
        configuration_distance_function: of (q1, q2), in place of the measure of a provider.
        edge_step_size: how far apart samples of edges are, in that measure; positive.
        env_collision_padding: distance of the robot and its environment that counts as collision [m].
        self_collision_padding: the same of two bodies of the robot [m].
        implicit_context_parallelism: how many Contexts the checker keeps.
    """

    model: RobotDiagram | None = None
    robot_model_instances: Sequence[ModelInstanceIndex] = ()
    distance_and_interpolation_provider: DistanceAndInterpolationProvider | None = None
    configuration_distance_function: Callable[[NDArray[Any], NDArray[Any]], float] | None = None
    edge_step_size: float = 0.0
    env_collision_padding: float = 0.0
    self_collision_padding: float = 0.0
    implicit_context_parallelism: Parallelism = dataclasses.field(default_factory=Parallelism.Max)


class CollisionCheckerContext:
    """A Context of the model of a collision checker.

    Args:
        model: the model.
        context: of it; by default a new one.
    """

    def __init__(self, model: RobotDiagram, context: Context | None = None) -> None:
        self._model = model
        self._context = model.CreateDefaultContext() if context is None else context
        self._plant_context = model.mutable_plant_context(self._context)

    def model_context(self) -> Context:
        """The Context of the model."""
        return self._context

    def plant_context(self) -> Context:
        """That of the plant."""
        context: Context = self._plant_context
        return context

    def scene_graph_context(self) -> Context:
        """That of the SceneGraph."""
        context: Context = self._model.mutable_scene_graph_context(self._context)
        return context

    def GetQueryObject(self) -> QueryObject:
        """The query object of the geometries."""
        query: QueryObject = self._model.plant().get_geometry_query_input_port().Eval(self._plant_context)
        return query

    def Clone(self) -> CollisionCheckerContext:
        """An independent copy."""
        return CollisionCheckerContext(self._model, self._context.Clone())


def checked_instances(
    name: str, plant: MultibodyPlant, instances: Sequence[ModelInstanceIndex]
) -> list[ModelInstanceIndex]:
    """The model instances of the robot, in order; refuses those that are not in the plant."""
    robots = sorted(set(map(int, instances)))
    if not robots or robots[0] < 1 or robots[-1] >= plant.num_model_instances():
        raise ValueError(
            f"{name}: robot_model_instances must name model instances of the robot, at least one, and not that of the "
            f"world; got {robots} of {plant.num_model_instances()}."
        )
    return [ModelInstanceIndex(index) for index in robots]


class BodyShapeDescription:
    """A shape S that is fixed to a body B.

    Args:
        shape: S; or another BodyShapeDescription.
        X_BS: its pose in the frame of the body.
        model_instance_name, body_name: of the body.
    """

    _shape: Shape
    _X_BS: RigidTransform
    _model_instance_name: str
    _body_name: str

    def __init__(
        self,
        shape: Shape | BodyShapeDescription | None = None,
        X_BS: RigidTransform | None = None,
        model_instance_name: str = "",
        body_name: str = "",
        *,
        other: BodyShapeDescription | None = None,
    ) -> None:
        source = shape if isinstance(shape, BodyShapeDescription) else other
        if source is not None:
            shape, X_BS = source._shape, source._X_BS
            model_instance_name, body_name = source._model_instance_name, source._body_name
        if not isinstance(shape, Shape) or not isinstance(X_BS, RigidTransform):
            raise TypeError(
                "BodyShapeDescription() takes a Shape, a RigidTransform and two names; got "
                f"{type(shape).__name__} and {type(X_BS).__name__}."
            )
        self._shape, self._X_BS = shape, X_BS
        self._model_instance_name, self._body_name = str(model_instance_name), str(body_name)

    def shape(self) -> Shape:
        """The shape."""
        return self._shape

    def pose_in_body(self) -> RigidTransform:
        """X_BS."""
        return self._X_BS

    def model_instance_name(self) -> str:
        """The name of the model instance of the body."""
        return self._model_instance_name

    def body_name(self) -> str:
        """The name of the body."""
        return self._body_name

    def __repr__(self) -> str:
        return (
            f"BodyShapeDescription({self._shape!r}, {self._X_BS!r}, {self._model_instance_name!r}, {self._body_name!r})"
        )


def MakeBodyShapeDescription(
    plant: MultibodyPlant, plant_context: Context, geometry_id: GeometryId
) -> BodyShapeDescription:
    """Describes a geometry of a plant that is connected to a SceneGraph.

    Raises:
        RuntimeError: there is no such geometry, or it is not fixed to a body of the plant.
    """
    query: QueryObject = plant.get_geometry_query_input_port().Eval(plant_context)
    inspector = query.inspector()
    body = plant.GetBodyFromFrameId(inspector.GetFrameId(geometry_id))
    if body is None:
        raise RuntimeError(
            f"MakeBodyShapeDescription(): geometry '{inspector.GetName(geometry_id)}' is not fixed to a body of plant "
            f"'{plant.GetSystemPathname()}'."
        )
    return BodyShapeDescription(
        inspector.GetShape(geometry_id), inspector.GetPoseInFrame(geometry_id),
        plant.GetModelInstanceName(body.model_instance()), body.name(),
    )  # fmt: skip


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
