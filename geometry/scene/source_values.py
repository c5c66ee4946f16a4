"""Frame poses from a geometry source to a SceneGraph, and how queries read them.

Configurations of deformable geometries on their way to a SceneGraph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import AbstractValue, InputPort
from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import FrameId, GeometryId, SourceId
from merganser.geometry.scene.geometry_state import Geometry, GeometryState
from merganser.geometry.scene.pose_layout import PoseBuffers, WorldPoses

if TYPE_CHECKING:
    from merganser.geometry.scene.scene_graph import SceneGraph


class FramePoseVector:
    """The pose X_PF of each frame F of one source in its parent frame P, by FrameId.

    Poses are kept as one array of homogeneous matrices, which is what a SceneGraph computes with. A source
    with many frames may hand over such an array at once, with `set_poses`.
    """

    __slots__ = ("_X_PF", "_frame_ids", "_rows")

    def __init__(self) -> None:
        self._frame_ids: list[FrameId] = []
        self._rows: dict[FrameId, int] = {}
        self._X_PF = np.empty((0, 4, 4))

    def set_value(self, id: FrameId, value: RigidTransform) -> None:
        """Sets the pose X_PF of a frame; a copy is kept.

        Raises:
            TypeError: `id` is not a FrameId, or `value` is not a RigidTransform.
            ValueError: `id` is invalid, or the pose has an element that is not finite.
        """
        if not isinstance(id, FrameId):
            raise TypeError(f"FramePoseVector.set_value() takes a FrameId; given {id!r}.")
        if not isinstance(value, RigidTransform):
            raise TypeError(f"The pose of {id!r} must be a RigidTransform; given {type(value).__name__}.")
        X_PF = value.GetAsMatrix4()
        if not id.is_valid():
            raise ValueError("FramePoseVector.set_value() was given an invalid FrameId.")
        if X_PF.dtype == object:
            self._X_PF = self._X_PF.astype(object)
        elif not np.isfinite(X_PF).all():
            raise ValueError(f"The pose of {id!r} must be finite; given {X_PF[:3].tolist()}.")
        row = self._rows.get(id)
        if row is None:
            row = self._append(id)
        self._X_PF[row] = X_PF

    def value(self, id: FrameId) -> RigidTransform:
        """Returns the pose X_PF of a frame.

        Raises:
            RuntimeError: the vector has no pose for this frame.
        """
        row = self._rows.get(id)
        if row is None:
            raise RuntimeError(f"This FramePoseVector has no pose for {id!r}; it has poses for {self._frame_ids}.")
        return RigidTransform.MakeUnchecked(self._X_PF[row, :3])

    def has_id(self, id: FrameId) -> bool:
        """Whether the vector has a pose for this frame."""
        return id in self._rows

    def ids(self) -> list[FrameId]:
        """The frames that have a pose, in the order in which they were first set."""
        return list(self._frame_ids)

    frame_ids = ids

    def size(self) -> int:
        """The number of frames that have a pose."""
        return len(self._frame_ids)

    def clear(self) -> None:
        """Forgets all poses."""
        self._frame_ids = []
        self._rows = {}

    def set_poses(self, frame_ids: Sequence[FrameId], X_PF: NDArray[Any]) -> None:
        """Replaces all poses at once; they are checked by the SceneGraph that receives them.

        Args:
            frame_ids: the frames, each one once.
            X_PF: their poses as homogeneous matrices of floats, AutoDiffXd or Expression, copied; shape
                [len(frame_ids), 4, 4].

        Raises:
            ValueError: the array has another shape, or a frame comes twice.
        """
        X_PF = np.array(X_PF, dtype=object if X_PF.dtype == object else np.float64, order="C")
        if X_PF.shape != (len(frame_ids), 4, 4):
            raise ValueError(f"Expected poses of shape ({len(frame_ids)}, 4, 4); given {X_PF.shape}.")
        if list(frame_ids) != self._frame_ids:
            rows = {frame_id: row for row, frame_id in enumerate(frame_ids)}
            if len(rows) != len(frame_ids):
                raise ValueError(f"A frame comes twice in {list(frame_ids)}.")
            self._frame_ids, self._rows = list(frame_ids), rows
        self._X_PF = X_PF

    def poses(self) -> NDArray[Any]:
        """All poses X_PF, in the order of `ids()`, as an array to be read only; shape [size, 4, 4]."""
        X_PF, size = self._X_PF, len(self._frame_ids)
        return X_PF if len(X_PF) == size else X_PF[:size]

    def poses_of(self, frame_ids: list[FrameId]) -> NDArray[Any] | None:
        """The poses as `poses()` gives them, if these are the frames that have one, in this order; None if not."""
        if self._frame_ids != frame_ids:
            return None
        X_PF = self._X_PF
        return X_PF if len(X_PF) == len(frame_ids) else X_PF[: len(frame_ids)]

    def rows(self, frame_ids: Sequence[FrameId]) -> list[int]:
        """The positions of these frames, all of which must have a pose, in `poses()`."""
        return [self._rows[frame_id] for frame_id in frame_ids]

    def _append(self, id: FrameId) -> int:
        """Makes room for one more pose; the array doubles when it is full."""
        row = len(self._frame_ids)
        if row == len(self._X_PF):
            self._X_PF = np.concatenate([self._X_PF, np.zeros((max(row, 4), 4, 4))])
        self._frame_ids.append(id)
        self._rows[id] = row
        return row

    def __repr__(self) -> str:
        return f"<FramePoseVector of {self.size()} frames>"


class GeometryConfigurationVector:
    """The positions of all vertices of each deformable geometry of one source, by GeometryId."""

    __slots__ = ("_configurations",)

    def __init__(self) -> None:
        self._configurations: dict[GeometryId, NDArray[Any]] = {}

    def set_value(self, id: GeometryId, value: ArrayLike) -> None:
        """Sets the configuration of a geometry; a copy is kept.

        Args:
            id: the geometry.
            value: coordinates of its vertices, one after the other, of any scalar type, shape [3 num_vertices].

        Raises:
            TypeError: `id` is not a GeometryId, or the value does not consist of numbers.
            ValueError: `id` is invalid, or the value is no vector.
        """
        if not isinstance(id, GeometryId):
            raise TypeError(f"GeometryConfigurationVector.set_value() takes a GeometryId; given {id!r}.")
        if not id.is_valid():
            raise ValueError("GeometryConfigurationVector.set_value() was given an invalid GeometryId.")
        q = np.array(value)
        q = q if q.dtype == object else q.astype(np.float64)
        if q.ndim == 2 and q.shape[1] == 1:
            q = q.ravel()
        if q.ndim != 1:
            raise ValueError(f"The configuration of {id!r} must be a vector; given an array of shape {q.shape}.")
        self._configurations[id] = q

    def value(self, id: GeometryId) -> NDArray[Any]:
        """Returns a copy of the configuration of a geometry.

        Raises:
            RuntimeError: the vector has none for this geometry.
        """
        if id not in self._configurations:
            raise RuntimeError(
                f"This GeometryConfigurationVector has no configuration for {id!r}; it has some for {self.ids()}."
            )
        return self._configurations[id].copy()

    def has_id(self, id: GeometryId) -> bool:
        """Whether the vector has a configuration for this geometry."""
        return id in self._configurations

    def ids(self) -> list[GeometryId]:
        """The geometries that have a configuration, in the order in which they were first set."""
        return list(self._configurations)

    def size(self) -> int:
        """The number of geometries that have a configuration."""
        return len(self._configurations)

    def clear(self) -> None:
        """Forgets all configurations."""
        self._configurations.clear()

    def __repr__(self) -> str:
        return f"<GeometryConfigurationVector of {self.size()} geometries>"


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
