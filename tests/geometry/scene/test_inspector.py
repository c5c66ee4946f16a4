"""Registration in a SceneGraph, seen through its inspector."""

from collections.abc import Callable

import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    FrameId,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    GeometryVersion,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Role,
    RoleAssign,
    SceneGraph,
    SceneGraphInspector,
    SourceId,
    Sphere,
)


class Scene:
    """Two sources; arm has frames link and hand (below link) with three geometries and one anchored one."""

    def __init__(self) -> None:
        self.graph = SceneGraph()
        self.arm = self.graph.RegisterSource("arm")
        self.other = self.graph.RegisterSource("other")
        self.link = self.graph.RegisterFrame(self.arm, GeometryFrame("link", 2))
        self.hand = self.graph.RegisterFrame(self.arm, self.link, GeometryFrame("hand"))
        self.other_link = self.graph.RegisterFrame(self.other, GeometryFrame("link"))
        self.ball = self.add(self.link, "ball")
        self.ball2 = self.add(self.link, "ball")
        self.tip = self.add(self.hand, "tip")
        self.floor = self.graph.RegisterAnchoredGeometry(self.arm, instance("floor"))

    def add(self, frame_id: FrameId, name: str) -> GeometryId:
        return self.graph.RegisterGeometry(self.arm, frame_id, instance(name))

    @property
    def inspector(self) -> SceneGraphInspector:
        return self.graph.model_inspector()


def instance(name: str) -> GeometryInstance:
    return GeometryInstance(RigidTransform([1.0, 2.0, 3.0]), Sphere(0.5), name)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_empty_scene_graph_has_the_world_frame_and_itself_as_source() -> None:
    inspector = SceneGraph().model_inspector()
    world = SceneGraph.world_frame_id()
    assert (inspector.num_sources(), inspector.num_frames(), inspector.num_geometries()) == (1, 1, 0)
    assert inspector.GetAllFrameIds() == inspector.GetFrameIds() == [world]
    assert inspector.world_frame_id() == world
    assert inspector.GetName(world) == "world"
    assert inspector.GetParentFrame(world) == world
    assert inspector.GetOwningSourceName(world) == "SceneGraphInternal"


def test_inspector_counts_and_lists_what_is_registered(scene: Scene) -> None:
    inspector = scene.inspector
    assert (inspector.num_sources(), inspector.num_frames(), inspector.num_geometries()) == (3, 4, 4)
    assert inspector.GetAllSourceIds()[1:] == [scene.arm, scene.other]
    assert inspector.GetAllFrameIds()[1:] == [scene.link, scene.hand, scene.other_link]
    assert inspector.GetAllGeometryIds() == [scene.ball, scene.ball2, scene.tip, scene.floor]
    assert inspector.FramesForSource(scene.arm) == {scene.link, scene.hand}
    assert inspector.NumFramesForSource(scene.arm) == 2
    assert inspector.NumGeometriesForFrame(scene.link) == 2
    assert inspector.GetGeometries(scene.link) == [scene.ball, scene.ball2]
    assert (inspector.NumDynamicGeometries(), inspector.NumAnchoredGeometries()) == (3, 1)
    assert inspector.SourceIsRegistered(scene.arm)
    assert not inspector.SourceIsRegistered(SourceId.get_new_id())
    assert scene.graph.SourceIsRegistered(scene.arm)


def test_inspector_knows_frames_and_their_owners(scene: Scene) -> None:
    inspector = scene.inspector
    assert inspector.GetName(scene.arm) == inspector.GetName(source_id=scene.arm) == "arm"
    assert inspector.GetName(scene.hand) == inspector.GetName(frame_id=scene.hand) == "hand"
    assert inspector.GetFrameGroup(scene.link) == 2
    assert inspector.GetParentFrame(scene.hand) == scene.link
    assert inspector.GetOwningSourceName(scene.hand) == "arm"
    assert inspector.BelongsToSource(scene.link, scene.arm)
    assert not inspector.BelongsToSource(frame_id=scene.link, source_id=scene.other)
    assert not inspector.BelongsToSource(SceneGraph.world_frame_id(), scene.arm)


def test_inspector_knows_geometries(scene: Scene) -> None:
    inspector = scene.inspector
    assert inspector.GetName(scene.ball) == inspector.GetName(geometry_id=scene.ball) == "ball"
    assert inspector.GetShape(scene.ball) == Sphere(0.5)
    assert inspector.GetFrameId(scene.tip) == scene.hand
    assert inspector.GetFrameId(scene.floor) == SceneGraph.world_frame_id()
    assert inspector.GetPoseInFrame(scene.tip).translation().tolist() == [1.0, 2.0, 3.0]
    assert inspector.GetOwningSourceName(geometry_id=scene.floor) == "arm"
    assert inspector.BelongsToSource(geometry_id=scene.floor, source_id=scene.arm)
    assert inspector.GetProperties(scene.ball, Role.kProximity) is None


def test_geometry_is_a_copy_of_the_instance(scene: Scene) -> None:
    geometry = instance("cup")
    geometry.set_proximity_properties(ProximityProperties())
    id = scene.graph.RegisterGeometry(source_id=scene.arm, frame_id=scene.hand, geometry=geometry)
    assert id == geometry.id()
    geometry.mutable_proximity_properties().AddProperty("g", "a", 1)
    geometry.set_name("mug")
    assert not scene.inspector.GetProximityProperties(id).HasGroup("g")
    assert scene.inspector.GetName(id) == "cup"


def test_clone_of_a_geometry_can_be_registered_again(scene: Scene) -> None:
    scene.graph.AssignRole(scene.arm, scene.ball, ProximityProperties())
    clone = scene.inspector.CloneGeometryInstance(scene.ball)
    again = scene.graph.RegisterGeometry(scene.arm, scene.hand, clone)
    assert again != scene.ball
    assert scene.inspector.GetShape(again) == Sphere(0.5)
    assert scene.inspector.GetProximityProperties(again) is not None


def test_sources_are_named_uniquely_and_by_default_after_their_id() -> None:
    graph = SceneGraph()
    unnamed = graph.RegisterSource()
    assert graph.model_inspector().GetName(unnamed) == f"Source_{unnamed.get_value()}"
    graph.RegisterSource("arm")
    with pytest.raises(RuntimeError, match="source named 'arm' is registered already"):
        graph.RegisterSource("arm")
    assert graph.num_input_ports() == 4  # poses and configurations of each


UNKNOWN = {
    SourceId: SourceId.get_new_id(),
    FrameId: FrameId.get_new_id(),
    GeometryId: GeometryId.get_new_id(),
}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda s: s.graph.RegisterFrame(UNKNOWN[SourceId], GeometryFrame("f")),
            "There is no source with id",
        ),
        (
            lambda s: s.graph.RegisterFrame(s.arm, UNKNOWN[FrameId], GeometryFrame("f")),
            "There is no frame with",
        ),
        (
            lambda s: s.graph.RegisterFrame(s.other, s.link, GeometryFrame("f")),
            "belongs to source 'arm', not",
        ),
        (lambda s: s.graph.RegisterFrame(s.arm, GeometryFrame("link")), "already has a frame named 'link'"),
        (
            lambda s: s.graph.RegisterGeometry(s.other, s.link, instance("g")),
            "belongs to source 'arm', not to",
        ),
        (
            lambda s: s.graph.RegisterGeometry(s.arm, UNKNOWN[FrameId], instance("g")),
            "There is no frame with id",
        ),
        (lambda s: s.graph.RenameFrame(s.hand, "link"), "already has a frame named 'link'"),
        (
            lambda s: s.graph.RemoveGeometry(s.other, s.ball),
            "Geometry 'ball' .* belongs to source 'arm', not",
        ),
        (lambda s: s.graph.RemoveGeometry(s.arm, UNKNOWN[GeometryId]), "There is no geometry with id"),
        (lambda s: s.graph.AssignRole(s.other, s.ball, ProximityProperties()), "belongs to source 'arm'"),
        (lambda s: s.graph.ChangeShape(s.other, s.ball, Box(1, 1, 1)), "belongs to source 'arm'"),
        (lambda s: s.graph.RemoveRole(s.other, s.link, Role.kProximity), "belongs to source 'arm'"),
        (lambda s: s.graph.get_source_pose_port(UNKNOWN[SourceId]), "There is no source with id"),
        (lambda s: s.inspector.GetName(UNKNOWN[GeometryId]), "There is no geometry with id"),
        (lambda s: s.inspector.GetGeometries(UNKNOWN[FrameId]), "There is no frame with id"),
        (lambda s: s.inspector.BelongsToSource(s.link, UNKNOWN[SourceId]), "There is no source with id"),
    ],
)
def test_wrong_ids_are_refused_and_change_nothing(scene: Scene, act: Callable[[Scene], object], message: str) -> None:
    version = GeometryVersion(scene.inspector.geometry_version())
    with pytest.raises(RuntimeError, match=message):
        act(scene)
    assert (scene.inspector.num_frames(), scene.inspector.num_geometries()) == (4, 4)
    assert scene.inspector.GetName(scene.hand) == "hand"
    assert scene.inspector.geometry_version().IsSameAs(version, Role.kProximity)


def test_id_of_the_wrong_kind_is_a_type_error(scene: Scene) -> None:
    with pytest.raises(TypeError, match="A GeometryId was expected; given <FrameId"):
        scene.inspector.GetShape(scene.link)
    with pytest.raises(TypeError, match="A SourceId was expected; given 'arm'"):
        scene.graph.RegisterFrame("arm", GeometryFrame("f"))
    with pytest.raises(TypeError, match="takes a GeometryFrame; given 'f'"):
        scene.graph.RegisterFrame(scene.arm, scene.link, "f")
    with pytest.raises(TypeError, match="A GeometryInstance was expected"):
        scene.graph.RegisterAnchoredGeometry(scene.arm, Sphere(1))
    with pytest.raises(TypeError, match="takes GeometryProperties"):
        scene.graph.AssignRole(scene.arm, scene.ball, {})


def test_frame_and_geometry_are_registered_only_once(scene: Scene) -> None:
    frame, geometry = GeometryFrame("f"), instance("g")
    scene.graph.RegisterFrame(scene.arm, frame=frame)
    scene.graph.RegisterAnchoredGeometry(scene.arm, geometry)
    with pytest.raises(RuntimeError, match=r"Frame 'f' .* is registered already"):
        scene.graph.RegisterFrame(scene.arm, frame)
    with pytest.raises(RuntimeError, match=r"Geometry 'g' .* is registered already"):
        scene.graph.RegisterGeometry(scene.arm, scene.link, geometry)


def test_role_is_assigned_once_and_then_replaced(scene: Scene) -> None:
    graph, inspector = scene.graph, scene.inspector
    properties = ProximityProperties()
    with pytest.raises(RuntimeError, match=r"proximity role of geometry 'ball' .* no properties to replace"):
        graph.AssignRole(scene.arm, scene.ball, properties, RoleAssign.kReplace)
    graph.AssignRole(scene.arm, scene.ball, properties)
    with pytest.raises(RuntimeError, match=r"assigned already. Pass RoleAssign.kReplace"):
        graph.AssignRole(scene.arm, scene.ball, properties)
    properties.AddProperty("g", "a", 1)
    assert not inspector.GetProximityProperties(scene.ball).HasGroup("g")
    graph.AssignRole(scene.arm, scene.ball, properties, assign=RoleAssign.kReplace)
    assert inspector.GetProximityProperties(scene.ball).GetProperty("g", "a") == 1


def test_each_kind_of_properties_gives_its_own_role(scene: Scene) -> None:
    graph, inspector = scene.graph, scene.inspector
    assert inspector.NumGeometriesWithRole(Role.kUnassigned) == 4
    graph.AssignRole(scene.arm, scene.ball, ProximityProperties())
    graph.AssignRole(scene.arm, scene.ball, IllustrationProperties())
    graph.AssignRole(scene.arm, scene.tip, PerceptionProperties())
    assert inspector.GetAllGeometryIds(Role.kProximity) == [scene.ball]
    assert inspector.GetAllGeometryIds(Role.kIllustration) == [scene.ball]
    assert inspector.GetAllGeometryIds(Role.kPerception) == [scene.tip]
    assert inspector.NumGeometriesWithRole(Role.kUnassigned) == 2
    assert inspector.NumGeometriesForFrameWithRole(scene.link, Role.kProximity) == 1
    assert inspector.GetGeometries(scene.link, Role.kUnassigned) == [scene.ball2]
    assert isinstance(inspector.GetIllustrationProperties(scene.ball), IllustrationProperties)
    assert isinstance(inspector.GetPerceptionProperties(scene.tip), PerceptionProperties)


def test_names_are_unique_only_within_a_frame_and_role(scene: Scene) -> None:
    graph = scene.graph
    graph.AssignRole(scene.arm, scene.ball, ProximityProperties())
    graph.AssignRole(scene.arm, scene.ball2, IllustrationProperties())
    with pytest.raises(RuntimeError, match="already has a geometry named 'ball' with the proximity role"):
        graph.AssignRole(scene.arm, scene.ball2, ProximityProperties())
    clashing = instance("ball")
    clashing.set_proximity_properties(ProximityProperties())
    with pytest.raises(RuntimeError, match="already has a geometry named 'ball'"):
        graph.RegisterGeometry(scene.arm, scene.link, clashing)
    assert scene.inspector.num_geometries() == 4
    graph.RenameGeometry(scene.ball2, " ball two ")
    graph.AssignRole(scene.arm, scene.ball2, ProximityProperties())
    with pytest.raises(RuntimeError, match="already has a geometry named 'ball'"):
        graph.RenameGeometry(scene.ball2, "ball")
    assert scene.inspector.GetName(scene.ball2) == "ball two"


def test_geometry_is_found_by_frame_role_and_name(scene: Scene) -> None:
    scene.graph.AssignRole(scene.arm, scene.ball2, ProximityProperties())
    inspector = scene.inspector
    assert inspector.GetGeometryIdByName(scene.link, Role.kProximity, " ball ") == scene.ball2
    with pytest.raises(RuntimeError, match=r"no geometries named 'cup' with the role proximity; .*: 'ball'"):
        inspector.GetGeometryIdByName(scene.link, Role.kProximity, "cup")
    with pytest.raises(RuntimeError, match=r"no geometries named 'ball' with the role perception; .*: none"):
        inspector.GetGeometryIdByName(scene.link, Role.kPerception, "ball")


def test_ambiguous_name_is_refused(scene: Scene) -> None:
    with pytest.raises(RuntimeError, match="has 2 geometries named 'ball'"):
        scene.inspector.GetGeometryIdByName(scene.link, Role.kUnassigned, "ball")


def test_removed_role_and_geometry_are_gone(scene: Scene) -> None:
    graph, inspector = scene.graph, scene.inspector
    graph.RenameGeometry(scene.ball2, "ball2")
    for id in (scene.ball, scene.ball2, scene.tip):
        graph.AssignRole(scene.arm, id, ProximityProperties())
    assert graph.RemoveRole(scene.arm, scene.link, Role.kProximity) == 2
    assert graph.RemoveRole(scene.arm, frame_id=scene.link, role=Role.kProximity) == 0
    assert graph.RemoveRole(scene.arm, geometry_id=scene.tip, role=Role.kProximity) == 1
    assert inspector.NumGeometriesWithRole(Role.kProximity) == 0
    graph.RemoveGeometry(scene.arm, scene.ball)
    assert inspector.GetGeometries(scene.link) == [scene.ball2]
    with pytest.raises(RuntimeError, match="There is no geometry with id"):
        inspector.GetShape(scene.ball)


def test_removing_a_role_from_the_world_frame_spares_other_sources(scene: Scene) -> None:
    wall = scene.graph.RegisterAnchoredGeometry(scene.other, instance("wall"))
    for source, id in ((scene.arm, scene.floor), (scene.other, wall)):
        scene.graph.AssignRole(source, id, ProximityProperties())
    assert scene.graph.RemoveRole(scene.arm, SceneGraph.world_frame_id(), Role.kProximity) == 1
    assert scene.inspector.GetAllGeometryIds(Role.kProximity) == [wall]


def test_shape_and_pose_can_be_changed(scene: Scene) -> None:
    scene.graph.ChangeShape(scene.arm, scene.ball, Box(1, 2, 3))
    assert scene.inspector.GetShape(scene.ball) == Box(1, 2, 3)
    assert scene.inspector.GetPoseInFrame(scene.ball).translation().tolist() == [1.0, 2.0, 3.0]
    scene.graph.ChangeShape(scene.arm, scene.ball, Sphere(1), X_FG=RigidTransform([4.0, 5.0, 6.0]))
    assert scene.inspector.GetPoseInFrame(scene.ball).translation().tolist() == [4.0, 5.0, 6.0]


def test_frame_can_be_renamed(scene: Scene) -> None:
    scene.graph.RenameFrame(scene.hand, "gripper")
    scene.graph.RenameFrame(scene.hand, "gripper")
    assert scene.inspector.GetName(scene.hand) == "gripper"


def test_version_changes_for_the_roles_concerned_and_no_others(scene: Scene) -> None:
    graph, current = scene.graph, scene.inspector.geometry_version()
    graph.AssignRole(scene.arm, scene.ball, ProximityProperties())
    steps = [
        lambda: graph.AssignRole(scene.arm, scene.ball, ProximityProperties(), RoleAssign.kReplace),
        lambda: graph.ChangeShape(scene.arm, scene.ball, Box(1, 2, 3)),
        lambda: graph.RemoveGeometry(scene.arm, scene.ball),
    ]
    for step in steps:
        before = GeometryVersion(current)
        step()
        assert not current.IsSameAs(before, Role.kProximity)
        assert current.IsSameAs(before, Role.kIllustration)
    before = GeometryVersion(current)
    graph.RegisterAnchoredGeometry(scene.arm, instance("without role"))
    assert all(current.IsSameAs(before, role) for role in Role if role != Role.kUnassigned)
    with pytest.raises(RuntimeError, match=r"given Role.kUnassigned"):
        current.IsSameAs(before, Role.kUnassigned)
