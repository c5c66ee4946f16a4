"""Which geometries never meet: implicit rules, declarations, histories, models and Contexts."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from merganser.framework.core.context.context_values import LoadContext
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    CollisionFilterDeclaration,
    CollisionFilterManager,
    CollisionFilterScope,
    FilterId,
    FrameId,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    GeometrySet,
    GeometryVersion,
    ProximityProperties,
    Role,
    RoleAssign,
    SceneGraph,
    SceneGraphInspector,
    Sphere,
)
from merganser.geometry.scene.collision_filters import CollisionFilters, Statement


class Scene:
    """Frames 0 to 3 with one ball each, frame 0 with a second one, two balls in the world, one without a role."""

    def __init__(self) -> None:
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("s")
        self.frames = [self.graph.RegisterFrame(self.source, GeometryFrame(f"f{i}")) for i in range(4)]
        self.balls = [self.add(frame, f"g{i}") for i, frame in enumerate(self.frames)]
        self.second = self.add(self.frames[0], "g0b")
        self.walls = [self.add(SceneGraph.world_frame_id(), name) for name in ("w1", "w2")]
        self.ghost = self.add(self.frames[1], "ghost", has_role=False)

    def add(self, frame: FrameId, name: str, has_role: bool = True) -> GeometryId:
        instance = GeometryInstance(RigidTransform(), Sphere(1.0), name)
        if has_role:
            instance.set_proximity_properties(ProximityProperties())
        return self.graph.RegisterGeometry(self.source, frame, instance)

    @property
    def manager(self) -> CollisionFilterManager:
        return self.graph.collision_filter_manager()

    @property
    def inspector(self) -> SceneGraphInspector:
        return self.graph.model_inspector()

    def num_candidates(self) -> int:
        return len(self.inspector.GetCollisionCandidates())


@pytest.fixture
def scene() -> Scene:
    return Scene()


def exclude(*ids: FrameId | GeometryId) -> CollisionFilterDeclaration:
    within = GeometrySet()
    for id in ids:
        within.Add(id)
    return CollisionFilterDeclaration().ExcludeWithin(within)


def test_geometries_of_one_frame_and_anchored_ones_never_meet(scene: Scene) -> None:
    candidates = scene.inspector.GetCollisionCandidates()
    # 7 geometries have the role: 21 pairs, less one in frame 0 and one in the world.
    assert len(candidates) == 19
    assert all(a < b for a, b in candidates)
    for pair in ((scene.balls[0], scene.second), tuple(scene.walls), (scene.balls[0], scene.balls[0])):
        assert scene.inspector.CollisionFiltered(*pair)
        scene.manager.Apply(CollisionFilterDeclaration().AllowWithin(GeometrySet(list(pair))))
        assert scene.inspector.CollisionFiltered(*pair)
    assert not scene.inspector.CollisionFiltered(scene.balls[0], scene.walls[0])


def test_later_statements_override_earlier_ones(scene: Scene) -> None:
    f0, f1, f2, _ = (GeometrySet(frame) for frame in scene.frames)
    declaration = CollisionFilterDeclaration(CollisionFilterScope.kAll)
    chained = declaration.ExcludeWithin(GeometrySet(scene.frames)).AllowBetween(f0, f1).ExcludeBetween(f1, f0)
    assert chained is declaration
    scene.manager.Apply(declaration)
    assert scene.num_candidates() == 19 - 9
    scene.manager.Apply(CollisionFilterDeclaration().AllowBetween(f0, f2))
    assert scene.num_candidates() == 19 - 9 + 2
    scene.manager.Apply(CollisionFilterDeclaration().AllowWithin(GeometrySet(scene.frames)))
    assert scene.num_candidates() == 19


def test_sets_of_a_declaration_are_those_of_the_moment_it_was_written(scene: Scene) -> None:
    within = GeometrySet(scene.balls[1])
    declaration = CollisionFilterDeclaration().ExcludeWithin(within)
    within.Add(scene.balls[2])
    scene.manager.Apply(declaration)
    assert scene.num_candidates() == 19


def test_a_role_given_later_is_not_filtered(scene: Scene) -> None:
    scene.manager.Apply(exclude(scene.frames[0], scene.frames[1]))
    scene.graph.AssignRole(scene.source, scene.ghost, ProximityProperties())
    assert scene.inspector.CollisionFiltered(scene.balls[0], scene.balls[1])
    assert not scene.inspector.CollisionFiltered(scene.balls[0], scene.ghost)


def test_filters_stay_with_a_changed_geometry_and_go_with_its_role(scene: Scene) -> None:
    a, b = scene.balls[1], scene.balls[2]
    scene.manager.Apply(exclude(a, b))
    scene.graph.ChangeShape(scene.source, a, Box(1, 1, 1))
    scene.graph.AssignRole(scene.source, b, ProximityProperties(), RoleAssign.kReplace)
    assert scene.inspector.CollisionFiltered(a, b)
    scene.graph.RemoveRole(scene.source, a, Role.kProximity)
    scene.graph.AssignRole(scene.source, a, ProximityProperties())
    assert not scene.inspector.CollisionFiltered(a, b)


def test_transient_declarations_are_taken_away_in_any_order(scene: Scene) -> None:
    manager = scene.manager
    manager.Apply(exclude(scene.balls[0], scene.balls[1]))
    first = manager.ApplyTransient(exclude(*scene.frames))
    second = manager.ApplyTransient(
        CollisionFilterDeclaration().AllowBetween(GeometrySet(scene.frames[0]), GeometrySet(scene.frames[1]))
    )
    assert manager.has_transient_history()
    assert manager.IsActive(first)
    assert scene.num_candidates() == 19 - 9 + 2
    assert manager.RemoveDeclaration(first)
    assert not manager.RemoveDeclaration(first)
    assert not manager.IsActive(first)
    assert scene.num_candidates() == 19
    assert manager.RemoveDeclaration(second)
    assert scene.inspector.CollisionFiltered(scene.balls[0], scene.balls[1])
    assert scene.num_candidates() == 18
    assert not manager.has_transient_history()


def test_transient_declarations_lock_the_persistent_ones(scene: Scene) -> None:
    filter_id = scene.manager.ApplyTransient(exclude(*scene.frames))
    for change in (
        lambda: scene.manager.Apply(exclude(scene.frames[0])),
        lambda: scene.add(scene.frames[3], "late"),
        lambda: scene.graph.AssignRole(scene.source, scene.ghost, ProximityProperties()),
    ):
        with pytest.raises(RuntimeError, match=r"transient collision filters are active.*RemoveDeclaration"):
            change()
    assert scene.inspector.num_geometries() == 8
    scene.graph.RemoveGeometry(scene.source, scene.balls[3])
    assert scene.manager.RemoveDeclaration(filter_id)
    scene.add(scene.frames[3], "late")
    assert scene.num_candidates() == 19


def test_context_has_filters_of_its_own(scene: Scene) -> None:
    context = scene.graph.CreateDefaultContext()
    query_inspector = scene.graph.get_query_output_port().Eval(context).inspector()
    before = GeometryVersion(query_inspector.geometry_version())
    scene.graph.collision_filter_manager(context).Apply(exclude(*scene.frames))
    assert len(query_inspector.GetCollisionCandidates()) == 10
    assert scene.num_candidates() == 19
    after = query_inspector.geometry_version()
    assert not after.IsSameAs(before, Role.kProximity)
    assert after.IsSameAs(before, Role.kIllustration)
    clone = context.Clone()
    scene.graph.collision_filter_manager(clone).ApplyTransient(exclude(*scene.frames, *scene.walls))
    assert len(query_inspector.GetCollisionCandidates()) == 10


def test_bad_declarations_are_refused_and_change_nothing(scene: Scene) -> None:
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (RuntimeError, "no geometry with id", lambda: scene.manager.Apply(exclude(GeometryId.get_new_id()))),
        (RuntimeError, "no frame with id", lambda: scene.manager.ApplyTransient(exclude(FrameId.get_new_id()))),
        (TypeError, "takes a CollisionFilterDeclaration", lambda: scene.manager.Apply(GeometrySet())),
        (TypeError, "takes GeometrySets", lambda: CollisionFilterDeclaration().ExcludeWithin(scene.frames)),
        (TypeError, "CollisionFilterScope", lambda: CollisionFilterDeclaration(1)),
        (TypeError, "A FilterId was expected", lambda: scene.manager.IsActive(scene.balls[0])),
        (RuntimeError, "'ghost'.*proximity role", lambda: scene.inspector.CollisionFiltered(scene.ghost, scene.ghost)),
    ]
    for error, message, act in refused:
        with pytest.raises(error, match=message):
            act()
    assert scene.num_candidates() == 19
    assert not scene.manager.IsActive(FilterId.get_new_id())
    assert not scene.manager.RemoveDeclaration(FilterId.get_new_id())


def test_geometry_set_takes_ids_one_by_one_and_in_lists(scene: Scene) -> None:
    inspector = scene.inspector
    f0, f1 = scene.frames[:2]
    assert inspector.GetGeometryIds(GeometrySet(f0)) == {scene.balls[0], scene.second}
    assert inspector.GetGeometryIds(GeometrySet([f0, f1]), Role.kProximity) == {*scene.balls[:2], scene.second}
    assert inspector.GetGeometryIds(GeometrySet([scene.ghost], [f0])) == {scene.ghost, scene.balls[0], scene.second}
    assert inspector.GetGeometryIds(GeometrySet(geometry_ids=[scene.ghost]), Role.kProximity) == set()
    assert inspector.GetGeometryIds(GeometrySet(frame_id=f1), Role.kUnassigned) == {scene.ghost}
    assert inspector.GetGeometryIds(GeometrySet()) == set()
    for bad in (3, "f0", [f0, scene.ghost], [3]):
        with pytest.raises(TypeError, match="GeometrySet"):
            GeometrySet(bad)
    with pytest.raises(RuntimeError, match="no geometry with id"):
        inspector.GetGeometryIds(GeometrySet(GeometryId.get_new_id()))


def test_matrix_agrees_with_a_set_of_pairs_through_random_changes() -> None:
    """The model: a set of frozensets, on which each operation is one line."""
    rng = np.random.default_rng(5)
    filters, excluded = CollisionFilters(), set()
    frames = [FrameId.get_new_id() for _ in range(4)]
    frame_of: dict[GeometryId, FrameId] = {}
    for _ in range(300):
        ids = list(frame_of)
        action = rng.integers(4)
        if action == 0 or len(ids) < 3:
            new = GeometryId.get_new_id()
            frame_of[new] = frames[rng.integers(4)]
            filters.add(new, frame_of[new])
        elif action == 1:
            gone = ids[rng.integers(len(ids))]
            del frame_of[gone]
            filters.remove(gone)
            excluded = {pair for pair in excluded if gone not in pair}
        else:
            ids_A, ids_B = ([ids[i] for i in rng.integers(len(ids), size=2)] for _ in range(2))
            pairs = {frozenset((a, b)) for a in ids_A for b in ids_B}
            excluded = excluded | pairs if action == 2 else excluded - pairs
            filters.apply([Statement(ids_A, ids_B, action == 2)])
        if rng.random() < 0.1:
            filters = copy.deepcopy(filters)
        ids = list(frame_of)
        shuffled = [ids[k] for k in rng.permutation(len(ids))]
        rows = filters.excluded(shuffled)
        expected = [[frozenset((a, b)) in excluded for b in shuffled] for a in shuffled]
        assert [[bool(row >> k & 1) for k in range(len(ids))] for row in rows] == expected
        a, b = (ids[i] for i in rng.integers(len(ids), size=2))
        assert filters.filtered(a, b) == (frozenset((a, b)) in excluded or frame_of[a] == frame_of[b])


def test_inactive_geometries_meet_nothing_whatever_is_declared(scene: Scene) -> None:
    """Activity is no declaration: those made meanwhile are in force when geometries are active again."""
    scene.manager.Deactivate(GeometrySet(scene.balls[0]))
    scene.manager.Deactivate(GeometrySet([scene.balls[0], scene.ghost]))
    assert scene.inspector.CollisionFiltered(scene.balls[0], scene.balls[1])
    assert not any(scene.balls[0] in pair for pair in scene.inspector.GetCollisionCandidates())
    assert scene.num_candidates() == 19 - 6 + 1
    scene.manager.ApplyTransient(exclude(scene.frames[1], scene.frames[2]))
    scene.manager.Activate(GeometrySet(scene.frames))
    assert scene.num_candidates() == 19 - 1
    with pytest.raises(RuntimeError, match="no geometry with id"):
        scene.manager.Deactivate(GeometrySet(GeometryId.get_new_id()))


def test_contexts_have_activity_of_their_own_and_save_it(scene: Scene, tmp_path: Path) -> None:
    context = scene.graph.CreateDefaultContext()
    scene.graph.collision_filter_manager(context).Deactivate(GeometrySet(scene.balls[0]))
    context.Save(tmp_path / "scene.npz")
    loaded = LoadContext(scene.graph, tmp_path / "scene.npz")
    for each, count in ((context, 14), (context.Clone(), 14), (loaded, 14), (scene.graph.CreateDefaultContext(), 19)):
        inspector = scene.graph.get_query_output_port().Eval(each).inspector()
        assert len(inspector.GetCollisionCandidates()) == count
    assert scene.num_candidates() == 19


def test_layout_for_engines_is_ordered_by_id_and_lives_until_something_changes(scene: Scene) -> None:
    state = scene.graph._model
    layout = state.proximity_layout()
    assert layout.geometry_ids == sorted([*scene.balls, scene.second, *scene.walls])
    assert layout.frames[[layout.index[wall] for wall in scene.walls]].tolist() == [0, 0]
    assert layout.excluded == [0] * 7
    copied = copy.deepcopy(state)
    assert copied.proximity_layout() is layout
    copied.apply_filters(exclude(*scene.frames))
    assert copied.proximity_layout() is not layout
    places = [layout.index[id] for id in (*scene.balls, scene.second)]
    assert copied.proximity_layout().excluded[places[0]] == sum(1 << place for place in places)
    assert state.proximity_layout() is layout
    assert copied.pose_layout() is state.pose_layout()


def test_slots_that_are_given_back_are_used_again_and_know_nothing() -> None:
    filters, frame = CollisionFilters(), FrameId.get_new_id()
    stays = GeometryId.get_new_id()
    filters.add(stays, frame)
    for _ in range(100):
        comes = GeometryId.get_new_id()
        filters.add(comes, FrameId.get_new_id())
        assert filters.excluded([stays, comes]) == [0, 0]
        filters.apply([Statement([stays], [comes], True)])
        assert filters.excluded([comes, stays]) == [0b10, 0b01]
        filters.remove(comes)
    assert filters.excluded([stays]) == [0]
    assert len(filters._declared) == 2


def test_filters_come_along_when_a_scene_graph_is_converted_or_pickled(scene: Scene) -> None:
    scene.manager.Apply(exclude(*scene.frames))
    for other in (scene.graph.ToAutoDiffXd(), pickle.loads(pickle.dumps(scene.graph))):
        assert other.model_inspector().GetCollisionCandidates() == scene.inspector.GetCollisionCandidates()
        other.collision_filter_manager().Apply(CollisionFilterDeclaration().AllowWithin(GeometrySet(scene.frames)))
        assert len(other.model_inspector().GetCollisionCandidates()) == 19
    assert scene.num_candidates() == 10
