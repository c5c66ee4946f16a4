"""QueryObject: geometric questions whose answers depend on where the frames are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from merganser.framework.math import RigidTransform
from merganser.geometry.geometry_state import GeometryState
from merganser.geometry.ids import FrameId, GeometryId
from merganser.geometry.inspector import SceneGraphInspector
from merganser.geometry.pose_layout import WorldPoses

__all__ = ["QueryObject"]


class QueryObject:
    """Answers for one Context of a SceneGraph, as that Context is when asked; see
    `SceneGraph.get_query_output_port`.

    `QueryObject()` belongs to no Context and answers nothing: it serves as model value of a port. A copy of
    another one keeps the answers of the moment.
    """

    __slots__ = ("_get_poses", "_get_state")

    def __init__(self) -> None:
        self._get_state: Callable[[], GeometryState] | None = None
        self._get_poses: Callable[[], WorldPoses] | None = None

    def bind(self, get_state: Callable[[], GeometryState], get_poses: Callable[[], WorldPoses]) -> None:
        """Makes this answer from what the two functions return; called by the SceneGraph."""
        self._get_state = get_state
        self._get_poses = get_poses

    def inspector(self) -> SceneGraphInspector:
        """Returns the inspector of the sources, frames and geometries in the Context.

        Raises:
            RuntimeError: this QueryObject belongs to no Context.
        """
        if self._get_state is None:
            raise _not_bound("inspector")
        return SceneGraphInspector(self._get_state)

    def GetPoseInWorld(
        self, frame_id: FrameId | GeometryId | None = None, *, geometry_id: GeometryId | None = None
    ) -> RigidTransform:
        """Returns the pose X_WF of a frame, or X_WG of a geometry, in the world.

        Raises:
            TypeError: the argument is neither a FrameId nor a GeometryId.
            RuntimeError: the id is not registered; a source does not tell where its frames are; this
                QueryObject belongs to no Context.
        """
        item_id: Any = frame_id if geometry_id is None else geometry_id
        poses = self._poses("GetPoseInWorld")
        if isinstance(item_id, GeometryId):
            row = poses.layout.geometry_rows.get(item_id)
            return _pose(poses.X_WG, self._known_row(row, item_id))
        row = poses.layout.frame_rows.get(item_id)
        return _pose(poses.X_WF, self._known_row(row, item_id))

    def GetPoseInParent(self, frame_id: FrameId) -> RigidTransform:
        """Returns the pose X_PF of frame F in its parent frame P.

        Raises:
            TypeError: the argument is not a FrameId.
            RuntimeError: as for `GetPoseInWorld`.
        """
        poses = self._poses("GetPoseInParent")
        row = poses.layout.frame_rows.get(frame_id)
        return _pose(poses.X_PF, self._known_row(row, frame_id))

    def world_poses(self) -> WorldPoses:
        """Returns all poses as arrays, to be read only.

        Raises:
            RuntimeError: as for `GetPoseInWorld`.
        """
        return self._poses("world_poses")

    def _poses(self, function: str) -> WorldPoses:
        if self._get_poses is None:
            raise _not_bound(function)
        return self._get_poses()

    def _known_row(self, row: int | None, item_id: Any) -> int:
        """The row, unless the id is unknown: then the error about it."""
        if row is None:
            assert self._get_state is not None
            state = self._get_state()
            if isinstance(item_id, GeometryId):
                state.geometry(item_id)
            state.frame(item_id)
        return row  # type: ignore[return-value]

    def __copy__(self) -> QueryObject:
        snapshot = QueryObject()
        if self._get_state is not None and self._get_poses is not None:
            state, poses = copy.deepcopy(self._get_state()), self._get_poses()
            snapshot.bind(lambda: state, lambda: poses)
        return snapshot

    def __deepcopy__(self, memo: dict[int, Any]) -> QueryObject:
        return self.__copy__()


def _pose(X: Any, row: int) -> RigidTransform:
    return RigidTransform.MakeUnchecked(X[row, :3])


def _not_bound(function: str) -> RuntimeError:
    return RuntimeError(
        f"QueryObject.{function}(): this QueryObject belongs to no Context and can answer nothing. Get one "
        "from scene_graph.get_query_output_port().Eval(context), or from an input port that is connected to "
        "that port."
    )
