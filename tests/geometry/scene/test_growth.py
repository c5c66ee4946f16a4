"""Registering geometries takes work in proportion to their number: calls are counted, not time."""

from __future__ import annotations

import pytest
from call_counts import num_calls

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    GeometryFrame,
    GeometryInstance,
    IllustrationProperties,
    ProximityProperties,
    Role,
    SceneGraph,
    Sphere,
)


class Scene:
    """A SceneGraph with geometries of two roles on one frame, or in the world."""

    def __init__(self, num_geometries: int, is_anchored: bool = False) -> None:
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("source")
        self.frame = self.graph.world_frame_id()
        if not is_anchored:
            self.frame = self.graph.RegisterFrame(self.source, GeometryFrame("frame"))
        self.instances = []
        for i in range(num_geometries):
            instance = GeometryInstance(RigidTransform(), Sphere(0.1), f"geometry {i}")
            instance.set_proximity_properties(ProximityProperties())
            instance.set_illustration_properties(IllustrationProperties())
            self.instances.append(instance)

    def register(self) -> None:
        for instance in self.instances:
            self.graph.RegisterGeometry(self.source, self.frame, instance)

    def assign(self) -> None:
        for i in range(len(self.instances)):
            id = self.graph.RegisterGeometry(
                self.source, self.frame, GeometryInstance(RigidTransform(), Sphere(0.1), f"other {i}")
            )
            self.graph.AssignRole(self.source, id, ProximityProperties())

    def look_up(self) -> None:
        inspector = self.graph.model_inspector()
        for id in inspector.GetAllGeometryIds(Role.kProximity):
            name = inspector.GetName(id)
            assert inspector.GetGeometryIdByName(inspector.GetFrameId(id), Role.kProximity, name) == id

    def rename(self) -> None:
        for id in self.graph.model_inspector().GetAllGeometryIds():
            self.graph.RenameGeometry(id, f"new {id.get_value()}")

    def remove(self) -> None:
        for id in self.graph.model_inspector().GetAllGeometryIds():
            self.graph.RemoveGeometry(self.source, id)

    def make_context(self) -> None:
        self.graph.CreateDefaultContext()


@pytest.mark.parametrize("is_anchored", [False, True], ids=["of a frame", "of the world"])
def test_work_grows_with_the_number_of_geometries(is_anchored: bool) -> None:
    calls: dict[str, list[int]] = {}
    for n in (1, 40, 80):  # the first one makes what is made once
        scene = Scene(n, is_anchored)
        for name in ("register", "assign", "look_up", "make_context", "rename", "remove"):
            calls.setdefault(name, []).append(num_calls(getattr(scene, name)))
    for name, (_, few, many) in calls.items():
        assert many < 2.2 * few, f"{name}: {few} calls for 40 geometries, {many} for 80"


def test_names_stay_unique_through_all_changes() -> None:
    scene = Scene(2)
    scene.register()
    graph, inspector = scene.graph, scene.graph.model_inspector()
    first, second = inspector.GetAllGeometryIds()
    find = inspector.GetGeometryIdByName
    with pytest.raises(RuntimeError, match="already has a geometry named 'geometry 1'"):
        graph.RenameGeometry(first, "geometry 1")
    graph.RenameGeometry(first, "a")
    assert find(scene.frame, Role.kProximity, "a") == find(scene.frame, Role.kIllustration, "a") == first
    with pytest.raises(RuntimeError, match="no geometries named 'geometry 0'"):
        find(scene.frame, Role.kProximity, "geometry 0")
    graph.RemoveRole(scene.source, second, Role.kProximity)
    graph.RenameGeometry(first, "b")
    context = graph.CreateDefaultContext()
    graph.RemoveGeometry(scene.source, first)
    with pytest.raises(RuntimeError, match="no geometries named 'b'"):
        find(scene.frame, Role.kProximity, "b")
    of_context = graph.get_query_output_port().Eval(context).inspector()
    assert of_context.GetGeometryIdByName(scene.frame, Role.kProximity, "b") == first
    graph.AssignRole(scene.source, second, ProximityProperties())
    assert find(scene.frame, Role.kProximity, "geometry 1") == second
