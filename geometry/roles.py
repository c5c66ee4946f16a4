"""What a geometry is used for."""

from __future__ import annotations

import enum

__all__ = ["Role", "RoleAssign"]


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
