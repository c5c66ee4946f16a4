"""What collision checkers are made of: CollisionCheckerParams and CollisionCheckerContext."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from merganser.framework import Context, Parallelism
from merganser.framework.common.records import settings
from merganser.geometry import QueryObject
from merganser.multibody.planning.distance_and_interpolation import DistanceAndInterpolationProvider
from merganser.multibody.planning.robot_diagram import RobotDiagram
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import ModelInstanceIndex

__all__ = ["CollisionCheckerContext", "CollisionCheckerParams", "checked_instances"]


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class CollisionCheckerParams:
    """What a collision checker is made of.

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
        """What answers queries on the geometries."""
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
