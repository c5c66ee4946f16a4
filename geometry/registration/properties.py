"""Properties: named values, in groups, that say how a geometry behaves in one of its roles.

What a geometry is used for.

Versions: a cheap way to notice that the geometries of a role have changed.

A geometry with a ProximityProperties takes part in distance and contact queries, one with an
IllustrationProperties is drawn, one with a PerceptionProperties is seen by sensors. The values are whatever
the reader of a property expects; this file only stores them.
"""

from __future__ import annotations

import copy
import enum
import itertools
from typing import Any

from merganser.framework import Value


class Role(enum.IntEnum):
    """The part a geometry plays; it may play several."""

    kUnassigned = 0
    kProximity = 1
    kIllustration = 2
    kPerception = 4

    def label(self) -> str:
        """The role's name in messages: 'proximity', 'illustration', ..."""
        return self.name[1:].lower()

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


class RoleAssign(enum.IntEnum):
    """Whether `SceneGraph.AssignRole` gives a role for the first time or replaces its properties."""

    kNew = 0
    kReplace = 1

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


_numbers = itertools.count()


class GeometryVersion:
    """One number for each role, replaced by a new one whenever the geometries of that role change.

    Two versions are the same for a role only if one is a copy of the other and nothing has changed since;
    copies of a model that are changed apart never come to the same number again.

    Args:
        other: the version to copy.
    """

    __slots__ = ("_numbers",)

    def __init__(self, other: GeometryVersion | None = None) -> None:
        if other is None:
            roles = (Role.kProximity, Role.kIllustration, Role.kPerception)
            self._numbers: dict[Role, int] = {role: next(_numbers) for role in roles}
        else:
            self._numbers = dict(other._numbers)

    def IsSameAs(self, other: GeometryVersion, role: Role) -> bool:
        """Whether both describe the same geometries of this role.

        Raises:
            RuntimeError: the role is kUnassigned, which has no version.
        """
        if role == Role.kUnassigned:
            raise RuntimeError("GeometryVersion.IsSameAs() compares geometries of a role; given Role.kUnassigned.")
        return self._numbers[role] == other._numbers[role]

    def note_change(self, role: Role) -> None:
        """Something about the geometries of this role has changed."""
        self._numbers[role] = next(_numbers)

    def __copy__(self) -> GeometryVersion:
        return GeometryVersion(self)


_DEFAULT_GROUP = "__default__"


class GeometryProperties:
    """Values by group and name. Make one of the three derived types.

    Args:
        other: properties, of any role, to start from; copied.
    """

    __slots__ = ("_groups",)
    role = Role.kUnassigned

    def __init__(self, other: GeometryProperties | None = None) -> None:
        if type(self) is GeometryProperties:
            raise TypeError(
                "GeometryProperties belong to a role: make ProximityProperties, IllustrationProperties or "
                "PerceptionProperties."
            )
        if not isinstance(other, (GeometryProperties, type(None))):
            raise TypeError(f"{type(self).__name__} can be made from GeometryProperties; given {other!r}.")
        self._groups: dict[str, dict[str, Any]] = {_DEFAULT_GROUP: {}}
        if other is not None:
            self._groups = {
                group: {name: copy.deepcopy(value) for name, value in values.items()}
                for group, values in other._groups.items()
            }

    @staticmethod
    def default_group_name() -> str:
        """The name of the group that always exists."""
        return _DEFAULT_GROUP

    def HasGroup(self, group_name: str) -> bool:
        """Whether there is a group of this name."""
        return group_name in self._groups

    def num_groups(self) -> int:
        """The number of groups, with the default group."""
        return len(self._groups)

    def GetGroupNames(self) -> set[str]:
        """The names of all groups."""
        return set(self._groups)

    def GetPropertiesInGroup(self, group_name: str) -> dict[str, Value]:
        """Returns the properties of one group, by name, each in its box.

        Raises:
            RuntimeError: there is no such group.
        """
        return {name: Value(value) for name, value in self._group("GetPropertiesInGroup", group_name).items()}

    def AddProperty(self, group_name: str, name: str, value: Any) -> None:
        """Adds a property, and its group if that is missing; keeps a copy of the value.

        Raises:
            RuntimeError: the property exists.
        """
        if self.HasProperty(group_name, name):
            raise RuntimeError(
                f"AddProperty(): property ('{group_name}', '{name}') exists, with value "
                f"{self._groups[group_name][name]!r}. Use UpdateProperty() to change it."
            )
        self._groups.setdefault(group_name, {})[name] = copy.deepcopy(value)

    def UpdateProperty(self, group_name: str, name: str, value: Any) -> None:
        """Changes a property to a value of the same type, or adds it; keeps a copy of the value.

        Raises:
            RuntimeError: the property exists and its value is of another type.
        """
        if self.HasProperty(group_name, name):
            old, new = type(self._groups[group_name][name]), type(value)
            if old is not new:
                raise RuntimeError(
                    f"UpdateProperty(): property ('{group_name}', '{name}') is of type {old.__name__}; it "
                    f"cannot take a value of type {new.__name__}. RemoveProperty() first to change the type."
                )
        self._groups.setdefault(group_name, {})[name] = copy.deepcopy(value)

    def HasProperty(self, group_name: str, name: str) -> bool:
        """Whether the group exists and has a property of this name."""
        return name in self._groups.get(group_name, {})

    def GetProperty(self, group_name: str, name: str) -> Any:
        """Returns the value of a property.

        Raises:
            RuntimeError: there is no such group or no such property.
        """
        group = self._group("GetProperty", group_name)
        if name not in group:
            raise RuntimeError(
                f"GetProperty(): there is no property ('{group_name}', '{name}'); {_there_are(group, 'property')}."
            )
        return group[name]

    def GetPropertyOrDefault(self, group_name: str, name: str, default_value: Any) -> Any:
        """Returns the value of a property if there is one, else `default_value`."""
        return self._groups.get(group_name, {}).get(name, default_value)

    def RemoveProperty(self, group_name: str, name: str) -> bool:
        """Removes a property, and returns whether there was one. Its group stays."""
        exists = self.HasProperty(group_name, name)
        if exists:
            del self._groups[group_name][name]
        return exists

    def _group(self, caller: str, group_name: str) -> dict[str, Any]:
        if group_name not in self._groups:
            groups = _there_are(self._groups, "group")
            raise RuntimeError(f"{caller}(): there is no property group '{group_name}'; {groups}.")
        return self._groups[group_name]

    def __copy__(self) -> GeometryProperties:
        return type(self)(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometryProperties:
        return type(self)(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._groups}>"

    def __str__(self) -> str:
        return "\n".join(
            line
            for group, values in self._groups.items()
            for line in (f"[{group}]", *(f"  {name}: {value!r}" for name, value in values.items()))
        )


class ProximityProperties(GeometryProperties):
    """How a geometry takes part in distance and contact queries; see `AddContactMaterial`."""

    __slots__ = ()
    role = Role.kProximity


class IllustrationProperties(GeometryProperties):
    """How a geometry is drawn; see `MakePhongIllustrationProperties`."""

    __slots__ = ()
    role = Role.kIllustration


class PerceptionProperties(GeometryProperties):
    """How sensors see a geometry."""

    __slots__ = ()
    role = Role.kPerception


def _there_are(known: dict[str, Any], kind: str) -> str:
    names = ", ".join(f"'{name}'" for name in known)
    return f"known: {names}" if names else f"there is no {kind} at all"
