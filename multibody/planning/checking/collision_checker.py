"""CollisionChecker: whether configurations and edges of a robot are free of collisions."""

from __future__ import annotations

import abc
import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, Parallelism
from merganser.framework.common.keywords import also_named
from merganser.framework.math import RigidTransform
from merganser.framework.optimization.arrays import vector
from merganser.geometry import Shape
from merganser.multibody.planning.checking.body_pairs import BodyPairs
from merganser.multibody.planning.checking.distance_and_interpolation import (
    DistanceAndInterpolationProvider,
    FunctionsProvider,
    LinearDistanceAndInterpolationProvider,
)
from merganser.multibody.planning.checking.edge_checks import (
    ContextProbe,
    Probe,
    for_all_edges,
    is_edge_free,
    many_probes,
    measure_edge,
    rows_of,
)
from merganser.multibody.planning.checking.records import (
    BodyShapeDescription,
    CollisionCheckerContext,
    CollisionCheckerParams,
    EdgeMeasure,
    RobotClearance,
    RobotCollisionType,
    checked_instances,
)
from merganser.multibody.planning.limits import positive_number
from merganser.multibody.planning.robot_diagram import RobotDiagram
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, Frame, ModelInstanceIndex, RigidBody

Array = NDArray[Any]
Body = RigidBody | BodyIndex | int
Edge = tuple[ArrayLike, ArrayLike]

# Functions take an index in place of a body.
_by_index, _by_indices = also_named(body_index="body"), also_named(bodyA_index="bodyA", bodyB_index="bodyB")


class CollisionChecker(abc.ABC):
    """Checks for motion planners of a robot and its environment.

    Two bodies collide if they are nearer than their padding, or touch at padding 0. Some Contexts belong to the checker
    (`model_context(number)`); for threads of your own make more (`MakeStandaloneModelContext`), one for each thread.

    Derived classes say in `_is_free`, `_clearance`, `_classify`, `_most_distances`, `_add_shape`, `_remove_shapes` and
    `_apply_filters` how geometry is asked.

    Args:
        params: what the checker is made of.
        is_parallel: whether checks in several threads at once are possible.

    Raises:
        ValueError: there is no model, or no instance of the robot; the step of edges is not positive; both a provider
            and a function of distances are given.
    """

    def __init__(self, params: CollisionCheckerParams, is_parallel: bool) -> None:
        name = type(self).__name__
        if not isinstance(params.model, RobotDiagram):
            raise ValueError(f"{name}: params.model must be a RobotDiagram, got {type(params.model).__name__}.")
        self._model, self._is_parallel = params.model, is_parallel
        self._robots = checked_instances(name, self._model.plant(), params.robot_model_instances)
        self.set_edge_step_size(params.edge_step_size)
        self._linear = LinearDistanceAndInterpolationProvider(self.plant())
        self._provider = self._choose_provider(name, params)
        self._pairs = BodyPairs(self.plant(), self._robots)
        self._groups: dict[str, list[BodyShapeDescription]] = {}
        count = params.implicit_context_parallelism.num_threads() if is_parallel else 1
        self._contexts = [CollisionCheckerContext(self._model) for _ in range(count)]
        self._standalone: weakref.WeakSet[CollisionCheckerContext] = weakref.WeakSet()
        self._numbers, self._lock = threading.local(), threading.Lock()
        self._num_threads = 0
        self._pairs.set_nominal(self._welded_pairs() | self._filtered_by_model())
        self.SetPaddingAllRobotEnvironmentPairs(params.env_collision_padding)
        self.SetPaddingAllRobotRobotPairs(params.self_collision_padding)
        self._apply_filters()

    def _choose_provider(self, name: str, params: CollisionCheckerParams) -> DistanceAndInterpolationProvider:
        provider, distance = params.distance_and_interpolation_provider, params.configuration_distance_function
        if provider is not None and distance is not None:
            raise ValueError(
                f"{name}: params have both distance_and_interpolation_provider and configuration_distance_function; "
                "give one."
            )
        if provider is None:
            return self._linear if distance is None else FunctionsProvider(self._linear, distance, None)
        return provider

    # ------------------------------------------------------------------ what geometry says

    @abc.abstractmethod
    def _is_free(self, context: CollisionCheckerContext) -> bool:
        """Whether nothing collides at the positions in a Context."""

    @abc.abstractmethod
    def _clearance(self, context: CollisionCheckerContext, influence_distance: float) -> RobotClearance:
        """Distances up to this at the positions in a Context."""

    @abc.abstractmethod
    def _classify(self, context: CollisionCheckerContext) -> list[RobotCollisionType]:
        """With what each body collides."""

    @abc.abstractmethod
    def _most_distances(self, context: CollisionCheckerContext) -> int:
        """The largest number of distances of a clearance."""

    @abc.abstractmethod
    def _add_shape(self, group_name: str, description: BodyShapeDescription, body: RigidBody) -> bool:
        """Adds a shape to all Contexts; returns whether that is possible."""

    @abc.abstractmethod
    def _remove_shapes(self, group_name: str) -> None:
        """Removes the shapes of a group from all Contexts."""

    @abc.abstractmethod
    def _apply_filters(self) -> None:
        """Applies the filters in all Contexts."""

    def _probes(self, context: CollisionCheckerContext, count: int) -> list[Probe]:
        """Probes that check many configurations in parallel, one a thread; between 1 and `count` of them."""
        return [ContextProbe(self, context)]

    def _filtered_by_model(self) -> Array:
        """Which pairs of bodies the model filters, shape [num_bodies, num_bodies]."""
        n = self.plant().num_bodies()
        return np.zeros((n, n), bool)

    def _welded_pairs(self) -> Array:
        plant, n = self.plant(), self.plant().num_bodies()
        welded = np.zeros((n, n), bool)
        for i in range(n):
            for body in plant.GetBodiesWeldedTo(plant.get_body(BodyIndex(i))):
                welded[i, int(body.index())] = True
        return welded

    # ------------------------------------------------------------------ the model and its Contexts

    def model(self) -> RobotDiagram:
        """The robot and its environment."""
        return self._model

    def plant(self) -> MultibodyPlant:
        """The plant of the model."""
        return self._model.plant()

    def get_body(self, body_index: BodyIndex) -> RigidBody:
        """A body of the plant."""
        return self.plant().get_body(BodyIndex(self._pairs.index_of(body_index, "get_body")))

    def robot_model_instances(self) -> list[ModelInstanceIndex]:
        """The model instances of the robot, sorted."""
        return list(self._robots)

    @_by_index
    def IsPartOfRobot(self, body: Body) -> bool:
        """Whether a body is one of the robot."""
        return bool(self._pairs.is_robot[self._pairs.index_of(body, "IsPartOfRobot")])

    def GetZeroConfiguration(self) -> Array:
        """Zero positions, shape [nq]; not of length 1 where there are quaternions."""
        return np.zeros(self.plant().num_positions())

    def SupportsParallelChecking(self) -> bool:
        """Whether several threads may check at once, each with a Context of its own."""
        return self._is_parallel

    def num_allocated_contexts(self) -> int:
        """How many Contexts belong to the checker."""
        return len(self._contexts)

    def model_context(self, context_number: int | None = None) -> CollisionCheckerContext:
        """A Context of the checker; by default that of this thread.

        Raises:
            ValueError: there is no Context of this number.
            RuntimeError: more threads ask than there are Contexts.
        """
        if context_number is not None:
            if not 0 <= context_number < len(self._contexts):
                raise ValueError(
                    f"{type(self).__name__}: there is no context {context_number}; there are {len(self._contexts)}."
                )
            return self._contexts[context_number]
        number = getattr(self._numbers, "value", None)
        if number is None:
            number = self._number_of_thread()
        return self._contexts[number]

    def _number_of_thread(self) -> int:
        with self._lock:
            number, self._num_threads = self._num_threads, self._num_threads + 1
        if number >= len(self._contexts):
            raise RuntimeError(
                f"{type(self).__name__} has {len(self._contexts)} contexts, and another thread asks for one. Set "
                "implicit_context_parallelism, or call MakeStandaloneModelContext() in each thread."
            )
        self._numbers.value = number
        return number

    def plant_context(self, context_number: int | None = None) -> Context:
        """The plant's part of a Context."""
        return self.model_context(context_number).plant_context()

    def MakeStandaloneModelContext(self) -> CollisionCheckerContext:
        """A new Context as those of the checker are; filters and shapes that change later change there, too."""
        context = self._contexts[0].Clone()
        self._standalone.add(context)
        return context

    def PerformOperationAgainstAllModelContexts(
        self, operation: Callable[[RobotDiagram, CollisionCheckerContext], None]
    ) -> None:
        """Calls a function with the model and each of its Contexts, standalone ones among them."""
        for context in self._all_contexts():
            operation(self._model, context)

    def _all_contexts(self) -> list[CollisionCheckerContext]:
        return [*self._contexts, *self._standalone]

    def UpdatePositions(self, q: ArrayLike, context_number: int | None = None) -> Context:
        """Sets the positions in a Context of the checker; returns the plant's part of it."""
        return self.UpdateContextPositions(self.model_context(context_number), q)

    def UpdateContextPositions(self, model_context: CollisionCheckerContext, q: ArrayLike) -> Context:
        """Sets the positions in a Context; returns the plant's part of it.

        Raises:
            ValueError: q has another size, or is not finite.
        """
        context, plant = _checked_context(model_context).plant_context(), self.plant()
        try:
            plant.SetPositions(context, q)
        except (TypeError, ValueError):
            positions = vector(q, type(self).__name__, "q", plant.num_positions())
            if not np.isfinite(positions).all():
                raise ValueError(f"{type(self).__name__}: q must be finite, got {positions.tolist()}.") from None
            plant.SetPositions(context, positions)
        return context

    def Clone(self) -> CollisionChecker:
        """An independent checker of the same model, with the same shapes, filters and paddings."""
        clone = copy.copy(self)
        clone._pairs = copy.deepcopy(self._pairs, {id(self.plant()): self.plant()})
        clone._groups = {name: list(shapes) for name, shapes in self._groups.items()}
        clone._contexts = [context.Clone() for context in self._contexts]
        clone._standalone, clone._numbers, clone._lock = weakref.WeakSet(), threading.local(), threading.Lock()
        clone._num_threads = 0
        clone._after_clone()
        return clone

    def _after_clone(self) -> None:  # noqa: B027 (few have anything more)
        """Makes the parts that a clone does not share."""

    # ------------------------------------------------------------------ shapes

    def AddCollisionShape(self, group_name: str, description: BodyShapeDescription) -> bool:
        """Adds a shape to a body, as one of a group; returns whether that was possible.

        Raises:
            RuntimeError: the plant has no such body.
        """
        plant = self.plant()
        instance = plant.GetModelInstanceByName(description.model_instance_name())
        body = plant.GetBodyByName(description.body_name(), instance)
        name = str(group_name)
        is_added = self._add_shape(name, description, body)
        if is_added:
            self._groups.setdefault(name, []).append(description)
        return is_added

    @overload
    def AddCollisionShapes(self, group_name: str, descriptions: Sequence[BodyShapeDescription]) -> int: ...
    @overload
    def AddCollisionShapes(self, geometry_groups: Mapping[str, Sequence[BodyShapeDescription]]) -> dict[str, int]: ...
    def AddCollisionShapes(self, *args: Any, **kwargs: Any) -> Any:
        """Adds shapes to one group, or to several; returns how many were added, by group if there are several."""
        groups = kwargs.get("geometry_groups", args[0] if args and isinstance(args[0], Mapping) else None)
        if groups is not None:
            return {name: self.AddCollisionShapes(name, shapes) for name, shapes in groups.items()}
        group_name = kwargs["group_name"] if "group_name" in kwargs else args[0]
        descriptions = kwargs["descriptions"] if "descriptions" in kwargs else args[-1]
        return sum(self.AddCollisionShape(group_name, description) for description in descriptions)

    def AddCollisionShapeToFrame(self, group_name: str, frameA: Frame, shape: Shape, X_AG: RigidTransform) -> bool:
        """Adds a shape at X_AG in a frame A of a body."""
        body = frameA.body()
        X_BG = frameA.GetFixedPoseInBodyFrame() @ X_AG
        return self.AddCollisionShapeToBody(group_name, body, shape, X_BG)

    def AddCollisionShapeToBody(self, group_name: str, bodyA: RigidBody, shape: Shape, X_AG: RigidTransform) -> bool:
        """Adds a shape at X_AG in the frame of a body A."""
        instance = self.plant().GetModelInstanceName(bodyA.model_instance())
        return self.AddCollisionShape(group_name, BodyShapeDescription(shape, X_AG, instance, bodyA.name()))

    def GetAllAddedCollisionShapes(self) -> dict[str, list[BodyShapeDescription]]:
        """The shapes that were added, by group."""
        return {name: list(shapes) for name, shapes in self._groups.items()}

    def RemoveAllAddedCollisionShapes(self, group_name: str | None = None) -> None:
        """Removes the shapes of a group, or of all."""
        for name in list(self._groups) if group_name is None else [group_name]:
            if name in self._groups:
                self._remove_shapes(name)
                del self._groups[name]

    # ------------------------------------------------------------------ padding

    @_by_indices
    def GetPaddingBetween(self, bodyA: Body, bodyB: Body) -> float:
        """The padding of two bodies [m]."""
        return float(self._pairs.padding[self._two(bodyA, bodyB, "GetPaddingBetween")])

    @_by_indices
    def SetPaddingBetween(self, bodyA: Body, bodyB: Body, padding: float) -> None:
        """Sets the padding of two bodies [m], which must not both belong to the environment."""
        self._pairs.set_padding(*self._two(bodyA, bodyB, "SetPaddingBetween"), padding)

    def GetPaddingMatrix(self) -> Array:
        """All paddings, by BodyIndex [m]."""
        return self._pairs.padding.copy()

    def SetPaddingMatrix(self, collision_padding: ArrayLike) -> None:
        """Sets all paddings [m]: a symmetric matrix, 0 on the diagonal and for two bodies of the environment."""
        self._pairs.set_padding_matrix(collision_padding)

    def SetPaddingOneRobotBodyAllEnvironmentPairs(self, body_index: BodyIndex, padding: float) -> None:
        """Sets the padding of a body of the robot with all of the environment [m]."""
        caller = "SetPaddingOneRobotBodyAllEnvironmentPairs()"
        self._pairs.set_paddings(False, padding, caller, self._pairs.index_of(body_index, caller[:-2]))

    def SetPaddingAllRobotEnvironmentPairs(self, padding: float) -> None:
        """Sets the padding of all bodies of the robot with all of the environment [m]."""
        self._pairs.set_paddings(False, padding, "SetPaddingAllRobotEnvironmentPairs()")

    def SetPaddingAllRobotRobotPairs(self, padding: float) -> None:
        """Sets the padding of all bodies of the robot with each other [m]."""
        self._pairs.set_paddings(True, padding, "SetPaddingAllRobotRobotPairs()")

    def GetLargestPadding(self) -> float:
        """The largest padding [m]."""
        return self._pairs.largest_padding()

    def MaybeGetUniformRobotEnvironmentPadding(self) -> float | None:
        """The padding of the robot with its environment, if it is one [m]."""
        return self._pairs.uniform_padding(False)

    def MaybeGetUniformRobotRobotPadding(self) -> float | None:
        """The padding of the robot with itself, if it is one [m]."""
        return self._pairs.uniform_padding(True)

    # ------------------------------------------------------------------ filters

    def GetNominalFilteredCollisionMatrix(self) -> Array:
        """The filters of the model: what is welded together, and what its SceneGraph filters."""
        return self._pairs.nominal.copy()

    def GetFilteredCollisionMatrix(self) -> Array:
        """The filters in use, by BodyIndex: 1 for filtered pairs, 0 for others, -1 for those that never count."""
        return self._pairs.filtered.copy()

    def SetCollisionFilterMatrix(self, filter_matrix: ArrayLike) -> None:
        """Replaces the filters by a matrix of the same form."""
        self._pairs.set_filter_matrix(filter_matrix)
        self._apply_filters()

    @_by_indices
    def IsCollisionFilteredBetween(self, bodyA: Body, bodyB: Body) -> bool:
        """Whether two bodies are not checked; two bodies of the environment never are."""
        return self._pairs.is_filtered(*self._two(bodyA, bodyB, "IsCollisionFilteredBetween"))

    @_by_indices
    def SetCollisionFilteredBetween(self, bodyA: Body, bodyB: Body, filter_collision: bool) -> None:
        """Filters two bodies, or not."""
        self._pairs.set_filtered(*self._two(bodyA, bodyB, "SetCollisionFilteredBetween"), filter_collision)
        self._apply_filters()

    @_by_index
    def SetCollisionFilteredWithAllBodies(self, body: Body) -> None:
        """Filters a body of the robot with all others."""
        self._pairs.filter_all(self._pairs.index_of(body, "SetCollisionFilteredWithAllBodies"))
        self._apply_filters()

    def _two(self, bodyA: Body, bodyB: Body, caller: str) -> tuple[int, int]:
        return self._pairs.index_of(bodyA, caller), self._pairs.index_of(bodyB, caller)

    # ------------------------------------------------------------------ configurations

    def CheckConfigCollisionFree(self, q: ArrayLike, context_number: int | None = None) -> bool:
        """Whether nothing collides at q."""
        return self.CheckContextConfigCollisionFree(self.model_context(context_number), q)

    def CheckContextConfigCollisionFree(self, model_context: CollisionCheckerContext, q: ArrayLike) -> bool:
        """The same with a Context of the caller."""
        self.UpdateContextPositions(model_context, q)
        return self._is_free(model_context)

    def CheckConfigsCollisionFree(
        self, configs: Iterable[ArrayLike], parallelize: Parallelism | bool = True
    ) -> list[int]:
        """Of each configuration 1 if nothing collides there, else 0.

        Args:
            configs: the configurations.
            parallelize: how many threads to use.

        Raises:
            ValueError: one has another size, or is not finite.
        """
        are_free = many_probes(self, self.model_context(), parallelize).are_free(rows_of(self, configs))
        found: list[int] = are_free.astype(int).tolist()
        return found

    def CalcRobotClearance(
        self, q: ArrayLike, influence_distance: float, context_number: int | None = None
    ) -> RobotClearance:
        """Distances at q, less paddings, of all pairs that are not filtered and no farther apart than this [m].

        Raises:
            ValueError: q has another size or is not finite; the distance is negative or not finite.
        """
        return self.CalcContextRobotClearance(self.model_context(context_number), q, influence_distance)

    def CalcContextRobotClearance(
        self, model_context: CollisionCheckerContext, q: ArrayLike, influence_distance: float
    ) -> RobotClearance:
        """The same with a Context of the caller."""
        if not 0.0 <= influence_distance < np.inf:
            raise ValueError(
                f"CalcRobotClearance(): influence_distance must be finite and not negative, got {influence_distance}."
            )
        self.UpdateContextPositions(model_context, q)
        return self._clearance(model_context, float(influence_distance))

    def CalcRobotClearances(
        self, configs: Iterable[ArrayLike], influence_distance: float, parallelize: Parallelism | bool = True
    ) -> list[RobotClearance]:
        """`CalcRobotClearance` of each configuration, one after the other: `parallelize` is not used."""
        rows = rows_of(self, configs)
        if not np.isfinite(rows).all():
            bad = np.argmin(np.isfinite(rows).all(1))
            raise ValueError(f"CalcRobotClearances(): configuration {bad} is not finite.")
        return [self.CalcRobotClearance(q, influence_distance) for q in rows]

    def MaxNumDistances(self, context_number: int | None = None) -> int:
        """The largest number of distances of a clearance."""
        return self._most_distances(self.model_context(context_number))

    def MaxContextNumDistances(self, model_context: CollisionCheckerContext) -> int:
        """The same with a Context of the caller."""
        return self._most_distances(_checked_context(model_context))

    def ClassifyBodyCollisions(self, q: ArrayLike, context_number: int | None = None) -> list[RobotCollisionType]:
        """With what each body of the robot collides at q, by BodyIndex; of others kNoCollision."""
        return self.ClassifyContextBodyCollisions(self.model_context(context_number), q)

    def ClassifyContextBodyCollisions(
        self, model_context: CollisionCheckerContext, q: ArrayLike
    ) -> list[RobotCollisionType]:
        """The same with a Context of the caller."""
        self.UpdateContextPositions(model_context, q)
        return self._classify(model_context)

    # ------------------------------------------------------------------ distances and ways

    def distance_and_interpolation_provider(self) -> DistanceAndInterpolationProvider:
        """The distance and interpolation of configurations."""
        return self._provider

    def SetDistanceAndInterpolationProvider(self, provider: DistanceAndInterpolationProvider) -> None:
        """Replaces distance and interpolation."""
        if not isinstance(provider, DistanceAndInterpolationProvider):
            raise TypeError(
                "SetDistanceAndInterpolationProvider() takes a DistanceAndInterpolationProvider, got "
                f"{type(provider).__name__}."
            )
        self._provider = provider

    def SetConfigurationDistanceFunction(self, distance_function: Callable[[Array, Array], float]) -> None:
        """Replaces the distance by a function of (q1, q2).

        Raises:
            RuntimeError: the checker has a provider of its own for both.
        """
        self._provider = self._functions("SetConfigurationDistanceFunction").with_distance(distance_function)

    def SetConfigurationInterpolationFunction(
        self, interpolation_function: Callable[[Array, Array, float], Array] | None
    ) -> None:
        """Replaces the interpolation by a function of (q1, q2, ratio), or by the linear one.

        Raises:
            RuntimeError: the checker has a provider of its own for both.
        """
        provider = self._functions("SetConfigurationInterpolationFunction")
        self._provider = provider.with_interpolation(interpolation_function)

    def _functions(self, caller: str) -> FunctionsProvider:
        if isinstance(self._provider, FunctionsProvider):
            return self._provider
        if self._provider is self._linear:
            return FunctionsProvider(self._linear, None, None)
        raise RuntimeError(
            f"{caller}(): the checker has a {type(self._provider).__name__} for distances and interpolation; use "
            "SetDistanceAndInterpolationProvider()."
        )

    def ComputeConfigurationDistance(self, q1: ArrayLike, q2: ArrayLike) -> float:
        """How far two configurations are apart."""
        return self._provider.ComputeConfigurationDistance(q1, q2)

    def MakeStandaloneConfigurationDistanceFunction(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """The same as a function."""
        return self.ComputeConfigurationDistance

    def InterpolateBetweenConfigurations(self, q1: ArrayLike, q2: ArrayLike, ratio: float) -> Array:
        """The configuration at a fraction of the path from q1 to q2."""
        return self._provider.InterpolateBetweenConfigurations(q1, q2, ratio)

    def MakeStandaloneConfigurationInterpolationFunction(self) -> Callable[[ArrayLike, ArrayLike, float], Array]:
        """The same as a function."""
        return self.InterpolateBetweenConfigurations

    def edge_step_size(self) -> float:
        """How far apart samples of edges are."""
        return self._edge_step_size

    def set_edge_step_size(self, edge_step_size: float) -> None:
        """Sets how far apart samples of edges are, in the measure of configurations; positive."""
        self._edge_step_size = positive_number(edge_step_size, f"{type(self).__name__}: edge_step_size")

    # ------------------------------------------------------------------ edges

    def CheckEdgeCollisionFree(self, q1: ArrayLike, q2: ArrayLike, context_number: int | None = None) -> bool:
        """Whether no sample of the edge from q1 to q2 is in collision."""
        return self.CheckContextEdgeCollisionFree(self.model_context(context_number), q1, q2)

    def CheckContextEdgeCollisionFree(
        self, model_context: CollisionCheckerContext, q1: ArrayLike, q2: ArrayLike
    ) -> bool:
        """The same with a Context of the caller."""
        return is_edge_free(self, many_probes(self, _checked_context(model_context)), q1, q2)

    def CheckEdgeCollisionFreeParallel(
        self, q1: ArrayLike, q2: ArrayLike, parallelize: Parallelism | bool = True
    ) -> bool:
        """The same, in several threads."""
        return is_edge_free(self, many_probes(self, self.model_context(), parallelize), q1, q2)

    def CheckEdgesCollisionFree(self, edges: Iterable[Edge], parallelize: Parallelism | bool = True) -> list[int]:
        """Of each edge 1 if it is free, else 0."""
        return [int(found) for found in for_all_edges(is_edge_free, self, list(edges), parallelize)]

    def MeasureEdgeCollisionFree(
        self, q1: ArrayLike, q2: ArrayLike, context_number: int | None = None
    ) -> EdgeMeasure:
        """How far the edge from q1 to q2 is free."""
        return self.MeasureContextEdgeCollisionFree(self.model_context(context_number), q1, q2)

    def MeasureContextEdgeCollisionFree(
        self, model_context: CollisionCheckerContext, q1: ArrayLike, q2: ArrayLike
    ) -> EdgeMeasure:
        """The same with a Context of the caller."""
        return measure_edge(self, many_probes(self, _checked_context(model_context)), q1, q2)

    def MeasureEdgeCollisionFreeParallel(
        self, q1: ArrayLike, q2: ArrayLike, parallelize: Parallelism | bool = True
    ) -> EdgeMeasure:
        """The same, in several threads."""
        return measure_edge(self, many_probes(self, self.model_context(), parallelize), q1, q2)

    def MeasureEdgesCollisionFree(
        self, edges: Iterable[Edge], parallelize: Parallelism | bool = True
    ) -> list[EdgeMeasure]:
        """How far each edge is free."""
        return for_all_edges(measure_edge, self, list(edges), parallelize)


def _checked_context(context: Any) -> CollisionCheckerContext:
    if not isinstance(context, CollisionCheckerContext):
        raise TypeError(f"Expected a CollisionCheckerContext, got {type(context).__name__}.")
    return context
