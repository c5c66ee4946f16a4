"""What a source registers: a frame, to which geometries may be fixed.

What a source registers: a shape at a pose, with a name and the properties of its roles.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import FrameId, GeometryId
from merganser.geometry.registration.properties import (
    GeometryProperties,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Role,
)
from merganser.geometry.shapes import Shape


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


class GeometryInstance:
    """A geometry G to be registered with a SceneGraph; copies keep its id.

    Args:
        X_PG: pose of G in the frame P to which it will be fixed; copied.
        shape: its shape.
        name: its name, without the spaces and tabs around it; to be unique among the geometries that have the
            same frame and role.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the pose is not finite.
        RuntimeError: the name is empty.
    """

    __slots__ = ("_X_PG", "_id", "_name", "_properties", "_shape")

    def __init__(self, X_PG: RigidTransform, shape: Shape, name: str) -> None:
        self._name = canonical_name(name)
        self._shape = checked_shape(self._name, shape)
        self._X_PG = checked_pose(self._name, X_PG)
        self._id = GeometryId.get_new_id()
        self._properties: dict[Role, GeometryProperties] = {}

    def id(self) -> GeometryId:
        """The id that the geometry will have in a SceneGraph."""
        return self._id

    def name(self) -> str:
        """The name, without the spaces and tabs around it."""
        return self._name

    def set_name(self, name: str) -> None:
        """Changes the name.

        Raises:
            RuntimeError: the name is empty.
        """
        self._name = canonical_name(name)

    def pose(self) -> RigidTransform:
        """The pose X_PG of the geometry in its parent frame."""
        return self._X_PG

    def set_pose(self, X_PG: RigidTransform) -> None:
        """Changes the pose of the geometry in its parent frame."""
        self._X_PG = checked_pose(self._name, X_PG)

    def shape(self) -> Shape:
        """The shape."""
        return self._shape

    def properties(self) -> dict[Role, GeometryProperties]:
        """The properties of all roles that have some."""
        return dict(self._properties)

    def set_properties(self, properties: GeometryProperties) -> None:
        """Gives the geometry the role of the properties, of which a copy is kept."""
        self._set_properties(GeometryProperties, properties)

    def set_proximity_properties(self, properties: ProximityProperties) -> None:
        """Gives the geometry the proximity role; a copy of the properties is kept."""
        self._set_properties(ProximityProperties, properties)

    def set_illustration_properties(self, properties: IllustrationProperties) -> None:
        """Gives the geometry the illustration role; a copy of the properties is kept."""
        self._set_properties(IllustrationProperties, properties)

    def set_perception_properties(self, properties: PerceptionProperties) -> None:
        """Gives the geometry the perception role; a copy of the properties is kept."""
        self._set_properties(PerceptionProperties, properties)

    def proximity_properties(self) -> ProximityProperties | None:
        """The proximity properties, if there are some."""
        return self._properties.get(Role.kProximity)  # type: ignore[return-value]

    def illustration_properties(self) -> IllustrationProperties | None:
        """The illustration properties, if there are some."""
        return self._properties.get(Role.kIllustration)  # type: ignore[return-value]

    def perception_properties(self) -> PerceptionProperties | None:
        """The perception properties, if there are some."""
        return self._properties.get(Role.kPerception)  # type: ignore[return-value]

    def mutable_proximity_properties(self) -> ProximityProperties | None:
        """The proximity properties, if there are some, for changing them in place."""
        return self.proximity_properties()

    def mutable_illustration_properties(self) -> IllustrationProperties | None:
        """The illustration properties, if there are some, for changing them in place."""
        return self.illustration_properties()

    def mutable_perception_properties(self) -> PerceptionProperties | None:
        """The perception properties, if there are some, for changing them in place."""
        return self.perception_properties()

    def _set_properties(self, expected: type[GeometryProperties], properties: GeometryProperties) -> None:
        if not isinstance(properties, expected):
            raise TypeError(f"Geometry '{self._name}' expected {expected.__name__}; given {properties!r}.")
        self._properties[properties.role] = type(properties)(properties)

    def __copy__(self) -> GeometryInstance:
        clone = object.__new__(GeometryInstance)
        clone._id = self._id
        clone._name = self._name
        clone._shape = self._shape
        clone._X_PG = checked_pose(self._name, self._X_PG)
        clone._properties = {role: type(value)(value) for role, value in self._properties.items()}
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometryInstance:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"<GeometryInstance '{self._name}' {self._shape!r}>"


def canonical_name(name: str) -> str:
    """Returns a geometry's name without the spaces and tabs around it.

    Raises:
        TypeError: `name` is not a string.
        RuntimeError: nothing is left of it.
    """
    if not isinstance(name, str):
        raise TypeError(f"The name of a geometry must be a string; given {name!r}.")
    stripped = name.strip(" \t")
    if not stripped:
        raise RuntimeError(f"A geometry needs a name; given {name!r}, of which nothing is left without its spaces.")
    return stripped


def checked_shape(name: str, shape: Shape) -> Shape:
    """Returns `shape`, or raises a TypeError that names the geometry."""
    if not isinstance(shape, Shape):
        raise TypeError(f"The shape of geometry '{name}' must be a Shape; given {shape!r}.")
    return shape


def checked_pose(name: str, X_PG: RigidTransform) -> RigidTransform:
    """Returns a copy of `X_PG`, or raises a TypeError or ValueError that names the geometry."""
    if not isinstance(X_PG, RigidTransform):
        raise TypeError(f"The pose of geometry '{name}' must be a RigidTransform; given {X_PG!r}.")
    if not np.isfinite(X_PG.GetAsMatrix4()).all():
        raise ValueError(f"The pose of geometry '{name}' must be finite; given {X_PG.GetAsMatrix4()[:3].tolist()}.")
    return RigidTransform(X_PG)
