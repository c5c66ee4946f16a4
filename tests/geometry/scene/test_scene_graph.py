"""SceneGraph as a system: poses in, QueryObject out."""

import copy
import math
from typing import Any

import numpy as np
import pytest

from merganser.framework import Context, Diagram, DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryId,
    GeometryInstance,
    ProximityProperties,
    QueryObject,
    Role,
    SceneGraph,
    Sphere,
)
from merganser.geometry.scene.pose_layout import PoseBuffers


def random_pose(rng: np.random.Generator) -> RigidTransform:
    return RigidTransform(RollPitchYaw(rng.uniform(-3, 3, 3)), rng.normal(size=3))


def pose_vector(poses: dict[FrameId, RigidTransform]) -> FramePoseVector:
    vector = FramePoseVector()
    for id, X_PF in poses.items():
        vector.set_value(id, X_PF)
    return vector


def ball(name: str = "ball") -> GeometryInstance:
    return GeometryInstance(RigidTransform([0.0, 0.0, 1.0]), Sphere(0.5), name)


class Arm:
    """A SceneGraph whose source 'arm' has a frame 'link' with a geometry, and a Context that has its pose."""

    def __init__(self) -> None:
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("arm")
        self.link = self.graph.RegisterFrame(self.source, GeometryFrame("link"))
        self.ball = self.graph.RegisterGeometry(self.source, self.link, ball())
        self.context = self.graph.CreateDefaultContext()
        self.move(1.0)

    def move(self, x: float) -> None:
        poses = pose_vector({self.link: RigidTransform([x, 0.0, 0.0])})
        self.graph.get_source_pose_port(self.source).FixValue(self.context, poses)

    def query(self) -> QueryObject:
        return self.graph.get_query_output_port().Eval(self.context)


@pytest.fixture
def arm() -> Arm:
    return Arm()


@pytest.fixture
def pose_computations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one element with every computation of world poses."""
    calls: list[int] = []
    original = PoseBuffers.__init__

    def counting(self: PoseBuffers, layout: Any) -> None:
        original(self, layout)
        update = self.update
        self.update = lambda: (calls.append(len(self.poses.X_WF)), update())

    monkeypatch.setattr(PoseBuffers, "__init__", counting)
    return calls


def test_ports_are_named_after_their_sources() -> None:
    graph = SceneGraph()
    arm, unnamed = graph.RegisterSource("arm"), graph.RegisterSource()
    assert graph.get_source_pose_port(arm).get_name() == "arm_pose"
    assert graph.get_source_pose_port(unnamed).get_name() == f"Source_{unnamed.get_value()}_pose"
    assert graph.get_query_output_port().get_name() == "query"


def test_poses_of_a_random_frame_tree_are_the_products_along_its_branches() -> None:
    rng = np.random.default_rng(7)
    graph = SceneGraph()
    sources = [graph.RegisterSource(name) for name in ("a", "b")]
    X_WF = {graph.world_frame_id(): RigidTransform()}
    X_WG: dict[GeometryId, RigidTransform] = {}
    poses: list[dict[FrameId, RigidTransform]] = [{}, {}]
    for i in range(40):
        which = i % 2
        parents = [graph.world_frame_id(), *poses[which]]
        parent = parents[rng.integers(len(parents))]
        frame = graph.RegisterFrame(sources[which], parent, GeometryFrame(f"f{i}"))
        poses[which][frame] = random_pose(rng)
        X_WF[frame] = X_WF[parent] @ poses[which][frame]  # X_WF = X_WP X_PF
        X_FG = random_pose(rng)
        geometry = graph.RegisterGeometry(sources[which], frame, GeometryInstance(X_FG, Sphere(1), f"g{i}"))
        X_WG[geometry] = X_WF[frame] @ X_FG
    anchored = graph.RegisterAnchoredGeometry(sources[0], ball())
    context = graph.CreateDefaultContext()
    for source, given in zip(sources, poses):
        shuffled = {id: given[id] for id in rng.permutation(list(given))}
        graph.get_source_pose_port(source).FixValue(context, pose_vector(shuffled))
    query = graph.get_query_output_port().Eval(context)
    tolerance = 1e-13  # up to ten products of poses of size 1
    for frame, expected in X_WF.items():
        assert query.GetPoseInWorld(frame).IsNearlyEqualTo(expected, tolerance)
        assert query.GetPoseInWorld(frame_id=frame).rotation().IsValid()
    for geometry, expected in X_WG.items():
        assert query.GetPoseInWorld(geometry).IsNearlyEqualTo(expected, tolerance)
        assert query.GetPoseInWorld(geometry_id=geometry).IsNearlyEqualTo(expected, tolerance)
    for frame, X_PF in (poses[0] | poses[1]).items():
        assert query.GetPoseInParent(frame).IsExactlyEqualTo(X_PF)
    assert query.GetPoseInWorld(anchored).translation().tolist() == [0.0, 0.0, 1.0]
    assert query.GetPoseInParent(graph.world_frame_id()).IsExactlyIdentity()


def test_query_object_follows_its_context(arm: Arm) -> None:
    query = arm.query()
    assert query.GetPoseInWorld(arm.ball).translation().tolist() == [1.0, 0.0, 1.0]
    arm.move(2.0)
    assert query.GetPoseInWorld(arm.ball).translation().tolist() == [2.0, 0.0, 1.0]


def test_each_context_has_its_own_query_object(arm: Arm) -> None:
    clone = arm.context.Clone()
    query, other = arm.query(), arm.graph.get_query_output_port().Eval(clone)
    arm.move(5.0)
    assert query.GetPoseInWorld(arm.link).translation()[0] == 5.0
    assert other.GetPoseInWorld(arm.link).translation()[0] == 1.0


def test_copy_of_a_query_object_keeps_the_answers_of_the_moment(arm: Arm) -> None:
    snapshot = copy.deepcopy(arm.query())
    arm.move(5.0)
    arm.graph.RemoveGeometry(arm.context, arm.source, arm.ball)
    assert snapshot.GetPoseInWorld(arm.ball).translation().tolist() == [1.0, 0.0, 1.0]
    assert snapshot.inspector().num_geometries() == 1


def test_poses_are_computed_once_per_change(arm: Arm, pose_computations: list[int]) -> None:
    query = arm.query()
    assert pose_computations == []  # only when asked for
    for _ in range(3):
        query.GetPoseInWorld(arm.ball)
        query.GetPoseInParent(arm.link)
        arm.query().GetPoseInWorld(arm.link)
    assert len(pose_computations) == 1
    arm.context.SetTime(3.0)
    query.GetPoseInWorld(arm.ball)
    assert len(pose_computations) == 1
    arm.move(2.0)
    query.GetPoseInWorld(arm.ball)
    assert len(pose_computations) == 2


@pytest.mark.parametrize("query", [QueryObject(), copy.deepcopy(QueryObject())], ids=["made", "copied"])
def test_default_query_object_says_that_it_is_bound_to_nothing(arm: Arm, query: QueryObject) -> None:
    for use in (
        query.inspector,
        lambda: query.GetPoseInWorld(arm.link),
        lambda: query.GetPoseInParent(arm.link),
    ):
        with pytest.raises(RuntimeError, match="belongs to no Context and can answer nothing"):
            use()


def test_unknown_ids_are_refused(arm: Arm) -> None:
    query = arm.query()
    with pytest.raises(RuntimeError, match="There is no geometry with id"):
        query.GetPoseInWorld(GeometryId.get_new_id())
    with pytest.raises(RuntimeError, match="There is no frame with id"):
        query.GetPoseInWorld(FrameId.get_new_id())
    with pytest.raises(RuntimeError, match="There is no frame with id"):
        query.GetPoseInParent(FrameId.get_new_id())
    with pytest.raises(TypeError, match="A FrameId was expected; given 'link'"):
        query.GetPoseInWorld("link")


def in_a_diagram(graph: SceneGraph) -> tuple[Diagram, Context]:
    builder = DiagramBuilder()
    builder.AddNamedSystem("scene", graph)
    diagram = builder.Build()
    diagram.set_name("robot")
    root = diagram.CreateDefaultContext()
    return diagram, graph.GetMyContextFromRoot(root)


def test_unconnected_pose_port_names_port_and_system_once_poses_are_needed() -> None:
    graph = SceneGraph()
    source = graph.RegisterSource("arm")
    _, context = in_a_diagram(graph)
    query = graph.get_query_output_port().Eval(context)
    assert query.GetPoseInWorld(graph.world_frame_id()).IsExactlyIdentity()  # no frames: no poses needed
    graph = SceneGraph()
    source = graph.RegisterSource("arm")
    link = graph.RegisterFrame(source, GeometryFrame("link"))
    _, context = in_a_diagram(graph)
    query = graph.get_query_output_port().Eval(context)
    assert query.inspector().GetName(link) == "link"
    with pytest.raises(RuntimeError, match=r"'arm_pose' \(index 0\) of system '::robot::scene' is not connected"):
        query.GetPoseInWorld(link)


def test_missing_foreign_and_unknown_poses_are_named(arm: Arm) -> None:
    graph = arm.graph
    other = graph.RegisterSource("other")
    other_link = graph.RegisterFrame(other, GeometryFrame("elbow"))
    unknown = FrameId.get_new_id()
    context = graph.CreateDefaultContext()
    query = graph.get_query_output_port().Eval(context)
    port, X = graph.get_source_pose_port(arm.source), RigidTransform()
    cases = {
        f"poses of these frames are missing: 'link' \\(<FrameId value={arm.link.get_value()}>\\)": {},
        "frame 'elbow' .* belongs to source 'other'": {arm.link: X, other_link: X},
        f"<FrameId value={unknown.get_value()}> is not a frame of this SceneGraph": {arm.link: X, unknown: X},
        "missing: 'link' .*; frame 'elbow'": {other_link: X},
    }
    for message, poses in cases.items():
        port.FixValue(context, pose_vector(poses))
        with pytest.raises(RuntimeError, match=f"Input port 'arm_pose'.*{message}"):
            query.GetPoseInWorld(arm.link)


def test_pose_that_is_not_finite_names_port_and_frame(arm: Arm) -> None:
    vector = FramePoseVector()
    vector.set_poses([arm.link], np.full((1, 4, 4), math.nan))
    arm.graph.get_source_pose_port(arm.source).FixValue(arm.context, vector)
    with pytest.raises(RuntimeError, match=r"Input port 'arm_pose'.*poses of frames \['link'\] are not finite"):
        arm.query().GetPoseInWorld(arm.link)


def test_pose_port_takes_only_pose_vectors(arm: Arm) -> None:
    with pytest.raises(TypeError, match="FramePoseVector"):
        arm.graph.get_source_pose_port(arm.source).FixValue(arm.context, Value("elsewhere"))


def test_context_has_its_own_copy_of_the_model(arm: Arm) -> None:
    added = arm.graph.RegisterAnchoredGeometry(arm.source, ball("late"))
    assert arm.query().inspector().num_geometries() == 1
    later = arm.graph.get_query_output_port().Eval(arm.graph.CreateDefaultContext())
    assert later.inspector().GetName(added) == "late"


def test_change_in_a_context_leaves_the_model_alone(arm: Arm, pose_computations: list[int]) -> None:
    graph, query, model = arm.graph, arm.query(), arm.graph.model_inspector()
    query.GetPoseInWorld(arm.ball)
    extra = graph.RegisterGeometry(arm.context, arm.source, arm.link, ball("extra"))
    assert query.GetPoseInWorld(extra).translation().tolist() == [1.0, 0.0, 1.0]
    assert len(pose_computations) == 2
    graph.AssignRole(arm.context, arm.source, extra, ProximityProperties())
    graph.ChangeShape(arm.context, arm.source, extra, Sphere(3), RigidTransform())
    assert query.inspector().GetShape(extra) == Sphere(3)
    assert query.GetPoseInWorld(extra).translation().tolist() == [1.0, 0.0, 0.0]
    assert graph.RemoveRole(arm.context, arm.source, extra, Role.kProximity) == 1
    graph.RemoveGeometry(context=arm.context, source_id=arm.source, geometry_id=arm.ball)
    assert query.inspector().GetAllGeometryIds() == [extra]
    assert model.GetAllGeometryIds() == [arm.ball]


def test_cloned_context_keeps_its_changes(arm: Arm) -> None:
    extra = arm.graph.RegisterGeometry(arm.context, arm.source, arm.link, ball("extra"))
    clone = arm.context.Clone()
    arm.graph.RemoveGeometry(arm.context, arm.source, extra)
    query = arm.graph.get_query_output_port().Eval(clone)
    assert query.GetPoseInWorld(extra).translation().tolist() == [1.0, 0.0, 1.0]


def test_change_in_the_context_of_another_system_is_refused(arm: Arm) -> None:
    foreign = SceneGraph().CreateDefaultContext()
    with pytest.raises(ValueError, match="was given the context of system"):
        arm.graph.RemoveGeometry(foreign, arm.source, arm.ball)
    assert arm.graph.model_inspector().num_geometries() == 1


class Elevator(LeafSystem):
    """Outputs a pose whose height is its state."""

    def __init__(self, frame_id: FrameId) -> None:
        super().__init__()
        self.frame_id = frame_id
        self.DeclareDiscreteState([1.0])
        self.DeclareAbstractOutputPort("pose", lambda: Value(FramePoseVector()), self.calc_pose)

    def calc_pose(self, context: Context, output: Any) -> None:
        height = context.get_discrete_state_vector()[0]
        output.get_mutable_value().set_value(self.frame_id, RigidTransform([0.0, 0.0, height]))


class HeightMeter(LeafSystem):
    """Gives the height of a frame; its second input is not read."""

    def __init__(self, frame_id: FrameId) -> None:
        super().__init__()
        self.frame_id = frame_id
        self.computations = 0
        self.DeclareAbstractInputPort("query", Value(QueryObject()))
        self.DeclareVectorInputPort("unread", 1)
        self.DeclareVectorOutputPort("height", 1, self.calc_height)

    def calc_height(self, context: Context, output: Any) -> None:
        self.computations += 1
        query = self.GetInputPort("query").Eval(context)
        output.SetAtIndex(0, query.GetPoseInWorld(self.frame_id).translation()[2])


def test_what_reads_the_query_object_depends_on_poses_and_on_nothing_else() -> None:
    builder = DiagramBuilder()
    graph = builder.AddSystem(SceneGraph())
    source = graph.RegisterSource("elevator")
    frame = graph.RegisterFrame(source, GeometryFrame("cabin"))
    elevator, meter = builder.AddSystem(Elevator(frame)), builder.AddSystem(HeightMeter(frame))
    builder.Connect(elevator.get_output_port(), graph.get_source_pose_port(source))
    builder.Connect(graph.get_query_output_port(), meter.GetInputPort("query"))
    root = builder.Build().CreateDefaultContext()
    meter_context, elevator_context = meter.GetMyContextFromRoot(root), elevator.GetMyContextFromRoot(root)
    unread = meter.GetInputPort("unread")
    unread.FixValue(meter_context, [0.0])

    def height() -> float:
        return float(meter.get_output_port().Eval(meter_context)[0])

    assert height() == 1.0
    unread.FixValue(meter_context, [1.0])
    root.SetTime(1.0)
    assert height() == 1.0
    assert meter.computations == 1
    elevator_context.SetDiscreteState([2.0])
    assert height() == 2.0
    graph.RegisterGeometry(graph.GetMyContextFromRoot(root), source, frame, ball())
    assert height() == 2.0
    assert meter.computations == 3


class Hopper(LeafSystem):
    """Outputs its pose and reads its height back from the QueryObject: a loop of wires, not of computations."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareDiscreteState([1.5])
        self.DeclareAbstractInputPort("query", Value(QueryObject()))
        self.DeclareAbstractOutputPort("pose", lambda: Value(FramePoseVector()), self.calc_pose)
        self.DeclareVectorOutputPort("height", 1, self.calc_height)
        self.frame_id = FrameId()

    def calc_pose(self, context: Context, output: Any) -> None:
        height = context.get_discrete_state_vector()[0]
        output.get_mutable_value().set_value(self.frame_id, RigidTransform([0.0, 0.0, height]))

    def calc_height(self, context: Context, output: Any) -> None:
        query = self.get_input_port().Eval(context)
        output.SetAtIndex(0, query.GetPoseInWorld(self.frame_id).translation()[2])


def test_source_that_reads_the_query_object_itself_makes_no_algebraic_loop() -> None:
    builder = DiagramBuilder()
    graph, hopper = builder.AddSystem(SceneGraph()), builder.AddSystem(Hopper())
    source = graph.RegisterSource("hopper")
    hopper.frame_id = graph.RegisterFrame(source, GeometryFrame("foot"))
    builder.Connect(hopper.GetOutputPort("pose"), graph.get_source_pose_port(source))
    builder.Connect(graph.get_query_output_port(), hopper.get_input_port())
    root = builder.Build().CreateDefaultContext()
    context = hopper.GetMyContextFromRoot(root)
    assert graph.HasDirectFeedthrough(graph.get_source_pose_port(source).get_index(), 0)
    assert hopper.GetOutputPort("height").Eval(context)[0] == 1.5
    context.SetDiscreteState([2.5])
    assert hopper.GetOutputPort("height").Eval(context)[0] == 2.5


def test_compiled_and_symbolic_passes_over_a_deep_tree_agree() -> None:
    """A chain with side branches: floats in one compiled pass, other scalars depth by depth."""
    rng = np.random.default_rng(4)
    graph = SceneGraph()
    source = graph.RegisterSource("tree")
    frames = [SceneGraph.world_frame_id()]
    for i in range(30):
        parent = frames[-1] if i % 3 else frames[rng.integers(len(frames))]
        frames.append(graph.RegisterFrame(source, parent, GeometryFrame(f"f{i}")))
        graph.RegisterGeometry(source, frames[-1], GeometryInstance(random_pose(rng), Sphere(0.1), "g"))
    layout = graph._model.pose_layout()
    X_PF = np.array([np.eye(4), *(random_pose(rng).GetAsMatrix4() for _ in range(30))])
    fast, general = (layout.calc_world_poses(X) for X in (X_PF, X_PF.astype(object)))
    np.testing.assert_allclose(fast.X_WF, general.X_WF.astype(float), rtol=0, atol=1e-13)
    np.testing.assert_allclose(fast.X_WG, general.X_WG.astype(float), rtol=0, atol=1e-13)
    inspector = graph.model_inspector()
    for id, row in layout.frame_rows.items():
        X_WP = fast.X_WF[layout.frame_rows[inspector.GetParentFrame(id)]]
        np.testing.assert_allclose(fast.X_WF[row], X_WP @ X_PF[row] if row else np.eye(4), rtol=0, atol=1e-13)
