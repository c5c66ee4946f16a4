"""GeometrySet: geometries, named one by one or by the frames that they are fixed to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from merganser.geometry.ids import FrameId, GeometryId

__all__ = ["GeometrySet"]


class GeometrySet:
    """A set of GeometryIds and FrameIds; a frame stands for the geometries fixed to it when the set is used.

    Args:
        geometry_id: a geometry, or `geometry_ids`: several.
        frame_id: a frame, or `frame_ids`: several.

    Geometries come first by position, and either may stand alone: `GeometrySet(frame_id)`,
    `GeometrySet([id1, id2])`, `GeometrySet(geometry_ids, frame_ids)`.

    Raises:
        TypeError: something else is given, or geometries and frames in one list.
    """

    __slots__ = ("_frame_ids", "_geometry_ids")

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, geometry_id: GeometryId) -> None: ...
    @overload
    def __init__(self, frame_id: FrameId) -> None: ...
    @overload
    def __init__(self, geometry_ids: Iterable[GeometryId]) -> None: ...
    @overload
    def __init__(self, frame_ids: Iterable[FrameId]) -> None: ...
    @overload
    def __init__(self, geometry_ids: Iterable[GeometryId], frame_ids: Iterable[FrameId]) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Dictionaries without values: sets that keep the order.
        self._geometry_ids: dict[GeometryId, None] = {}
        self._frame_ids: dict[FrameId, None] = {}
        if args or kwargs:
            self.Add(*args, **kwargs)

    @overload
    def Add(self, geometry_id: GeometryId) -> None: ...
    @overload
    def Add(self, frame_id: FrameId) -> None: ...
    @overload
    def Add(self, geometry_ids: Iterable[GeometryId]) -> None: ...
    @overload
    def Add(self, frame_ids: Iterable[FrameId]) -> None: ...
    @overload
    def Add(self, geometry_ids: Iterable[GeometryId], frame_ids: Iterable[FrameId]) -> None: ...
    def Add(self, *args: Any, **kwargs: Any) -> None:
        """Adds geometries and frames, given as for the constructor; what is there already stays there once.

        Raises:
            TypeError: as for the constructor; then nothing is added.
        """
        for name in kwargs:
            if name not in ("geometry_id", "geometry_ids", "frame_id", "frame_ids"):
                raise TypeError(f"GeometrySet has no argument '{name}'; it takes geometry_ids and frame_ids.")
        if len(args) > 2:
            raise TypeError(f"GeometrySet takes geometry_ids and frame_ids; given {len(args)} arguments.")
        geometry_ids = [_ids(value, GeometryId) for name, value in kwargs.items() if name.startswith("geometry")]
        frame_ids = [_ids(value, FrameId) for name, value in kwargs.items() if name.startswith("frame")]
        if len(args) == 2:
            geometry_ids.append(_ids(args[0], GeometryId))
            frame_ids.append(_ids(args[1], FrameId))
        elif args:
            given = _ids(args[0])
            frame_ids.append([id for id in given if isinstance(id, FrameId)])
            geometry_ids.append([id for id in given if isinstance(id, GeometryId)])
        self._geometry_ids.update((id, None) for ids in geometry_ids for id in ids)
        self._frame_ids.update((id, None) for ids in frame_ids for id in ids)

    def geometry_ids(self) -> list[GeometryId]:
        """The geometries that were named themselves, in order."""
        return list(self._geometry_ids)

    def frame_ids(self) -> list[FrameId]:
        """The frames that were named, in order."""
        return list(self._frame_ids)

    def __copy__(self) -> GeometrySet:
        return GeometrySet(self._geometry_ids, self._frame_ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometrySet:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"GeometrySet({self.geometry_ids()}, {self.frame_ids()})"


def _ids(given: Any, *expected: type) -> list[Any]:
    """One id, or the ids in an iterable; all of the expected kind, or else all of the same kind."""
    ids = [given] if isinstance(given, (GeometryId, FrameId)) else given
    if not isinstance(ids, Iterable) or isinstance(ids, str):
        raise TypeError(f"GeometrySet takes GeometryIds and FrameIds; given {given!r}.")
    ids = list(ids)
    kinds = expected or (type(ids[0]) if ids else GeometryId,)
    for id in ids:
        if not isinstance(id, (GeometryId, FrameId)) or not isinstance(id, kinds):
            wanted = expected[0].__name__ if expected else "ids of one kind, GeometryId or FrameId"
            raise TypeError(f"GeometrySet expected {wanted} in {given!r}; {id!r} is none.")
    return ids
