"""What sources give a SceneGraph, as queries read it, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from merganser.framework import AbstractValue, InputPort
from merganser.geometry.registration.ids import FrameId, GeometryId, SourceId
from merganser.geometry.scene.geometry_state import Geometry, GeometryState
from merganser.geometry.scene.pose_layout import PoseBuffers, WorldPoses
from merganser.geometry.scene.source_values import GeometryConfigurationVector

if TYPE_CHECKING:
    from merganser.geometry.scene.scene_graph import SceneGraph


class QuerySource:
    """What the QueryObject of a Context asks.

    It answers inside the computations of *other* systems. These depend on the query port, through which they got it,
    and so on all that is read here; what is read here is not theirs to depend on directly, so it goes unnoticed.
    """

    __slots__ = ("_box", "_graph", "_slot", "_store", "context")

    def __init__(self, graph: SceneGraph, context: Any) -> None:
        self.context = context
        self._graph = graph
        self._store = context.store
        self._slot = context.slots[graph._world_poses.cache_index()]
        self._box: AbstractValue = context.peek_parameters().get_abstract_parameter(graph._state_index)

    def state(self) -> GeometryState:
        """The geometries."""
        state: GeometryState = self._box.get_value()
        return state

    def poses(self) -> WorldPoses:
        """Where they are."""
        slot = self._slot
        if self._store.invalid & slot.bit:
            slot.compute()
        found: Any = slot.value.get_value()
        return found.poses if type(found) is PoseBuffers else found

    def configuration(self, geometry_id: GeometryId) -> NDArray[Any]:
        """Where the vertices of a deformable geometry are."""
        geometry = self.state().geometry(geometry_id)
        return read_configuration(self._graph._configuration_ports[geometry.source_id], self.context, geometry)

    def of_port(self, source_id: SourceId) -> Any:
        """What feeds the pose port of a source."""
        return self.context.sources[self._graph._pose_ports[source_id].get_index()]


def read_configuration(port: InputPort, context: Any, geometry: Geometry) -> NDArray[Any]:
    """The vertices that a source gives through its port for a deformable geometry, in W, shape [3 num_vertices]."""
    what = f"deformable geometry '{geometry.name}' ({geometry.id!r})"
    if not port.HasValue(context):
        raise RuntimeError(
            f"{port.GetFullDescription()} is not connected, so the vertices of {what} are unknown. Connect it, or "
            "call port.FixValue(context, value)."
        )
    vector: GeometryConfigurationVector = port.Eval(context)
    if not vector.has_id(geometry.id):
        raise RuntimeError(f"{port.GetFullDescription()}: the configuration of {what} is missing.")
    q = vector.value(geometry.id)
    assert geometry.reference_mesh is not None
    size = 3 * geometry.reference_mesh.num_vertices()
    if q.shape != (size,):
        raise RuntimeError(
            f"{port.GetFullDescription()}: the configuration of {what} must have {size} numbers; it has {q.size}."
        )
    return q


def wrong_frames(port: InputPort, state: GeometryState, expected: list[FrameId], given: list[FrameId]) -> Exception:
    """The error about poses that are missing, or that belong to the frames of another source."""
    problems = []
    missing = [f"'{state.frames[frame_id].name}' ({frame_id!r})" for frame_id in expected if frame_id not in given]
    if missing:
        problems.append(f"the poses of these frames are missing: {', '.join(missing)}")
    for frame_id in given:
        if frame_id in expected:
            continue
        frame = state.frames.get(frame_id)
        if frame is None:
            problems.append(f"{frame_id!r} is not a frame of this SceneGraph")
        else:
            owner = state.sources[frame.source_id].name
            problems.append(f"frame '{frame.name}' ({frame_id!r}) belongs to source '{owner}'")
    return RuntimeError(
        f"{port.GetFullDescription()} must get the pose of each frame of its source, and no others: "
        + "; ".join(problems)
        + "."
    )
