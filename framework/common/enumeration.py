"""Enumerations whose members can be asked for their numbers, without being numbers: int(member), list[member]."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["Enumeration"]


class Enumeration(enum.Enum):
    """Members compare only with each other; they stand for an integer where one is asked for."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        """Refuses what is no value of a member, and says which there are."""
        members = ", ".join(f"{member.name} = {member.value!r}" for member in cls)
        raise ValueError(f"{cls.__name__} has no member with the value {value!r}; there are {members}.")

    def __int__(self) -> Any:
        return self.value

    __index__ = __int__
