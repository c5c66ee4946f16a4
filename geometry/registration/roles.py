"""What a geometry is used for.

Versions: a cheap way to notice that the geometries of a role have changed.
"""

from __future__ import annotations

import enum
import itertools


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
