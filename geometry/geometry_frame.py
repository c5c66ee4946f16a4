"""What a source registers: a frame, to which geometries may be fixed."""

from __future__ import annotations

import copy
from typing import Any

from merganser.geometry.ids import FrameId

__all__ = ["GeometryFrame"]


class GeometryFrame:
    """A frame to be registered with a SceneGraph; copies keep its id.

    Args:
        frame_name: name, to be unique among the frames of its source.
        frame_group_id: number by which a source may group its frames; a multibody plant writes its model
            instance.

    Raises:
        TypeError: the name is not a string.
        RuntimeError: the group is negative.
    """

    __slots__ = ("_group", "_id", "_name")

    def __init__(self, frame_name: str, frame_group_id: int = 0) -> None:
        if not isinstance(frame_name, str):
            raise TypeError(f"The name of a GeometryFrame must be a string; given {frame_name!r}.")
        if frame_group_id < 0:
            raise RuntimeError(f"The group of frame '{frame_name}' must not be negative; given {frame_group_id}.")
        self._name = frame_name
        self._group = int(frame_group_id)
        self._id = FrameId.get_new_id()

    def id(self) -> FrameId:
        """The id that the frame will have in a SceneGraph."""
        return self._id

    def name(self) -> str:
        """The name."""
        return self._name

    def frame_group(self) -> int:
        """The number of the group."""
        return self._group

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometryFrame:
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"<GeometryFrame '{self._name}' {self._id!r}>"
