"""SceneGraphCollisionChecker: what a SceneGraph says of collisions; UnimplementedCollisionChecker."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import (
    CollisionFilterDeclaration,
    GeometryId,
    GeometryInstance,
    GeometrySet,
    ProximityProperties,
    Role,
    SourceId,
)
from merganser.geometry.scene.collision_filters import places_of
from merganser.multibody.planning.checking.collision_checker import CollisionChecker
from merganser.multibody.planning.checking.configuration_sweep import SweepProbe, Sweeps, SweptGeometry
from merganser.multibody.planning.checking.edge_checks import Probe
from merganser.multibody.planning.checking.records import (
    BodyShapeDescription,
    CollisionCheckerContext,
    CollisionCheckerParams,
    RobotClearance,
    RobotCollisionType,
)
from merganser.multibody.tree import BodyIndex, RigidBody

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[Any]


class SceneGraphCollisionChecker(CollisionChecker):
    """A checker whose distances are those of the SceneGraph of its model.

    Args:
        params: what it is made of; or the same by keywords, of which `model` is one.

    Raises:
        ValueError: as CollisionChecker; a SceneGraph filters some geometries of two bodies, and others not.
    """

    def __init__(self, params: CollisionCheckerParams | None = None, **kwargs: Any) -> None:
        self._added: dict[str, list[GeometryId]] = {}
        self._swept: weakref.WeakKeyDictionary[Any, SweptGeometry] = weakref.WeakKeyDictionary()
        self._sweeps: weakref.WeakKeyDictionary[CollisionCheckerContext, Sweeps] = weakref.WeakKeyDictionary()
        super().__init__(CollisionCheckerParams(**kwargs) if params is None else params, is_parallel=True)

    # ------------------------------------------------------------------ bodies and geometries

    def _geometry(self, context: CollisionCheckerContext) -> SweptGeometry:
        """The geometries that may collide in a Context, and where they are fixed."""
        query = context.GetQueryObject()
        layout = query.proximity_queries().layout
        found = self._swept.get(layout)
        if found is None:
            inspector, plant = query.inspector(), self.plant()
            ids = layout.geometry_ids
            fixed_to = [plant.GetBodyFromFrameId(inspector.GetFrameId(id)) for id in ids]
            bodies = np.array([-1 if body is None else int(body.index()) for body in fixed_to], np.int64)
            X_BG = np.array([inspector.GetPoseInFrame(id).GetAsMatrix4() for id in ids]).reshape(-1, 4, 4)
            mobods = plant._tree.mobod_of_body[bodies].astype(np.int64)
            found = self._swept[layout] = SweptGeometry(bodies, mobods, X_BG)
        return found

    @staticmethod
    def _queries(context: CollisionCheckerContext) -> Any:
        return context.GetQueryObject().proximity_queries()

    def _geometries(self) -> list[list[GeometryId]]:
        """The geometries of each body, added ones among them."""
        plant, inspector = self.plant(), self._contexts[0].GetQueryObject().inspector()
        frames = [plant.GetBodyFrameIdIfExists(BodyIndex(i)) for i in range(plant.num_bodies())]
        return [[] if frame is None else inspector.GetGeometries(frame, Role.kProximity) for frame in frames]

    def _filtered_by_model(self) -> Array:
        layout = self._queries(self._contexts[0]).layout
        places = [[layout.index[id] for id in ids if id in layout.index] for ids in self._geometries()]
        counts, body_of = np.array(list(map(len, places))), np.full(len(layout.geometry_ids), -1)
        for body, of_body in enumerate(places):
            body_of[of_body] = body
        # How many pairs of their geometries are filtered, for each two bodies, and how many there are.
        filtered, all_of_them = np.zeros((counts.size, counts.size), np.int64), np.outer(counts, counts)
        for body, excluded in zip(body_of.tolist(), layout.excluded):
            others = body_of[places_of(excluded)]
            if body >= 0:
                filtered[body] += np.bincount(others[others >= 0], minlength=counts.size)
        partly = (filtered > 0) & (filtered < all_of_them) & (self._pairs.filtered == 0)
        for a, b in np.argwhere(np.triu(partly, 1)).tolist():
            raise ValueError(
                f"SceneGraphCollisionChecker: the SceneGraph filters some pairs of geometries of bodies "
                f"{self._pairs.name_of(a)} and {self._pairs.name_of(b)}, and others not. Filter all or none."
            )
        return (filtered == all_of_them) & (all_of_them > 0) & ~np.eye(counts.size, dtype=bool)

    def _apply_filters(self) -> None:
        declaration, geometries = CollisionFilterDeclaration(), self._geometries()
        for a, ids in enumerate(geometries):
            filters = self._pairs.filtered[a, a + 1 :] != 0
            for say, which in ((declaration.ExcludeBetween, filters), (declaration.AllowBetween, ~filters)):
                others = [id for b in np.flatnonzero(which).tolist() for id in geometries[a + 1 + b]]
                if ids and others:
                    say(GeometrySet(ids), GeometrySet(others))
        scene_graph = self.model().scene_graph()
        for context in self._all_contexts():
            scene_graph.collision_filter_manager(context.scene_graph_context()).Apply(declaration)

    def _add_shape(self, group_name: str, description: BodyShapeDescription, body: RigidBody) -> bool:
        plant, scene_graph = self.plant(), self.model().mutable_scene_graph()
        frame_id, source_id = plant.GetBodyFrameIdOrThrow(body.index()), self._source_id()
        number = sum(map(len, self._added.values()))
        name = f"added shape {number} of {body.scoped_name()}"
        instance = GeometryInstance(description.pose_in_body(), description.shape(), name)
        instance.set_proximity_properties(ProximityProperties())
        for context in self._all_contexts():
            scene_graph.RegisterGeometry(context.scene_graph_context(), source_id, frame_id, instance.__copy__())
        self._added.setdefault(group_name, []).append(instance.id())
        self._apply_filters()
        return True

    def _remove_shapes(self, group_name: str) -> None:
        scene_graph, source_id = self.model().mutable_scene_graph(), self._source_id()
        for context in self._all_contexts():
            for geometry_id in self._added[group_name]:
                scene_graph.RemoveGeometry(context.scene_graph_context(), source_id, geometry_id)
        del self._added[group_name]

    def _source_id(self) -> SourceId:
        source_id = self.plant().get_source_id()
        assert source_id is not None, "a RobotDiagram has a SceneGraph"
        return source_id

    def _after_clone(self) -> None:
        self._added = {name: list(ids) for name, ids in self._added.items()}
        self._sweeps = weakref.WeakKeyDictionary()

    # ------------------------------------------------------------------ compiled checks

    def _sweeps_of(self, context: CollisionCheckerContext) -> Sweeps | None:
        """The compiled check of configurations; None if poses come from other systems than the plant."""
        plant, query = self.plant(), context.GetQueryObject()
        plant_context: Any = context.plant_context()  # that of a leaf system
        w, registration = plant._views.workspace(plant_context), plant._geometry
        slot = plant_context.slots[registration.pose_port.cache_entry().cache_index()]
        if not w.is_float or not query.takes_poses_from(self._source_id(), slot):
            return None
        layout, found = query.proximity_queries().layout, self._sweeps.get(context)
        if found is None or found.workspace is not w or found.proximity is not layout:
            geometry = self._geometry(context)
            if (geometry.bodies < 0).any():
                return None
            found = self._sweeps[context] = Sweeps(w, layout, geometry)
        return found

    def _probes(self, context: CollisionCheckerContext, count: int) -> list[Probe]:
        sweeps = self._sweeps_of(context)
        return super()._probes(context, count) if sweeps is None else [SweepProbe(sweeps, self._pairs)] * count

    # ------------------------------------------------------------------ queries

    def _near(self, context: CollisionCheckerContext, distance: float) -> tuple[Array, Array, Array]:
        """Results of pairs up to a distance apart, less their paddings, and their bodies A and B."""
        query = context.GetQueryObject()
        queries = query.proximity_queries()
        X_WG, most = queries.layout.world_poses(query.world_poses()), distance + self._pairs.largest_padding()
        engine = queries.engine
        found = engine.signed_distances(X_WG, engine.find_candidates(X_WG, max(most, 0.0)), most)
        if not len(found):  # as most of the time
            return found, found["row_a"], found["row_b"]
        bodies = self._geometry(context).bodies
        A, B = bodies[found["row_a"]], bodies[found["row_b"]]
        counts = (A >= 0) & (B >= 0) & (self._pairs.filtered[A, B] == 0)
        counts &= found["distance"] - self._pairs.padding[A, B] <= distance
        return found[counts], A[counts], B[counts]

    def _is_free(self, context: CollisionCheckerContext) -> bool:
        sweeps = self._sweeps_of(context)
        if sweeps is not None:
            sweep = sweeps.take()
            is_free = sweep.is_free_here(self._pairs.least_distances())
            sweeps.give_back(sweep)
            if is_free is not None:
                return is_free
        return len(self._near(context, 0.0)[0]) == 0

    def _clearance(self, context: CollisionCheckerContext, influence_distance: float) -> RobotClearance:
        plant, pairs, plant_context = self.plant(), self._pairs, context.plant_context()
        found, A, B = self._near(context, influence_distance)
        clearance = RobotClearance(plant.num_positions())
        if not len(found):
            return clearance
        nhat_BA_W, kinds = found["nhat_BA_W"], RobotCollisionType
        slopes = self._speeds_along(plant_context, A, found["p_WCa"], nhat_BA_W)
        slopes -= self._speeds_along(plant_context, B, found["p_WCb"], nhat_BA_W)
        if not plant.IsVelocityEqualToQDot():
            slopes = slopes @ plant.MakeQDotToVelocityMap(plant_context)
        slopes[:, np.isin(np.arange(plant.num_positions()), self._robot_positions(), invert=True)] = 0.0
        distances = (found["distance"] - pairs.padding[A, B]).tolist()
        for a, b, distance, slope in zip(A.tolist(), B.tolist(), distances, slopes):
            is_self = pairs.is_robot[a] and pairs.is_robot[b]
            robot, other = (a, b) if pairs.is_robot[a] else (b, a)
            kind = kinds.kSelfCollision if is_self else kinds.kEnvironmentCollision
            clearance.Append(BodyIndex(robot), BodyIndex(other), kind, distance, slope)
        return clearance

    def _speeds_along(self, context: Context, bodies: Array, p_WP: Array, direction_W: Array) -> Array:
        """Derivatives by v of the velocities of points of bodies along directions, shape [num_points, nv]."""
        plant = self.plant()
        J, p_WBo = plant.CalcBodyJacobiansInWorld(context)[bodies], plant.EvalBodyPosesInWorld(context)[bodies, :3, 3]
        # n . v_WP = n . (v_WBo + w_WB x p_BoP) = (p_BoP x n) . w_WB + n . v_WBo
        moment = np.cross(p_WP - p_WBo, direction_W)
        return np.asarray(np.einsum("ki,kij->kj", np.hstack((moment, direction_W)), J))

    def _robot_positions(self) -> list[int]:
        plant = self.plant()
        joints = [joint for index in self.robot_model_instances() for joint in plant.GetJointIndices(index)]
        found: list[int] = []
        for joint in map(plant.get_joint, joints):
            found += range(joint.position_start(), joint.position_start() + joint.num_positions())
        return found

    def _classify(self, context: CollisionCheckerContext) -> list[RobotCollisionType]:
        kinds, pairs = [RobotCollisionType.kNoCollision] * self.plant().num_bodies(), self._pairs
        _, A, B = self._near(context, 0.0)
        for a, b in zip(A.tolist(), B.tolist()):
            for body, other in ((a, b), (b, a)):
                if pairs.is_robot[body] and pairs.is_robot[other]:
                    kinds[body] = kinds[body].MakeUpdated(in_self_collision=True)
                elif pairs.is_robot[body]:
                    kinds[body] = kinds[body].MakeUpdated(in_environment_collision=True)
        return kinds

    def _most_distances(self, context: CollisionCheckerContext) -> int:
        rows, bodies = self._queries(context).engine.all_pairs(), self._geometry(context).bodies
        A, B = bodies[rows[:, 0]], bodies[rows[:, 1]]
        return int(((A >= 0) & (B >= 0) & (self._pairs.filtered[A, B] == 0)).sum())


class UnimplementedCollisionChecker(CollisionChecker):
    """A checker that cannot check: for tests, or to derive one from it that does so in part.

    Args:
        params: what it is made of; or the same by keywords, of which `model` is one.
        supports_parallel_checking: what `SupportsParallelChecking()` says.
    """

    def __init__(
        self,
        params: CollisionCheckerParams | None = None,
        supports_parallel_checking: bool = False,
        **kwargs: Any,
    ) -> None:
        given = CollisionCheckerParams(**kwargs) if params is None else params
        super().__init__(given, is_parallel=supports_parallel_checking)

    def _refuse(self) -> NoReturn:
        raise RuntimeError(f"{type(self).__name__} cannot check anything; derive a class that does, or use another.")

    def _is_free(self, context: CollisionCheckerContext) -> bool:
        self._refuse()

    def _clearance(self, context: CollisionCheckerContext, influence_distance: float) -> RobotClearance:
        self._refuse()

    def _classify(self, context: CollisionCheckerContext) -> list[RobotCollisionType]:
        self._refuse()

    def _most_distances(self, context: CollisionCheckerContext) -> int:
        self._refuse()

    def _add_shape(self, group_name: str, description: BodyShapeDescription, body: RigidBody) -> bool:
        self._refuse()

    def _remove_shapes(self, group_name: str) -> None:
        self._refuse()

    def _apply_filters(self) -> None:
        pass
