"""Enumerations whose members can be asked for their numbers, without being numbers: int(member), list[member]."""

from __future__ import annotations

import enum
from typing import Any


def names_of(kind: type[enum.Enum]) -> str:
    """The expected members, for messages: a RandomDistribution (kUniform, kGaussian or kExponential)."""
    *others, last = (member.name for member in kind)
    return f"a {kind.__name__} ({', '.join(others)} or {last})"


class Enumeration(enum.Enum):
    """Members compare only with each other; they convert to an integer where one is needed."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        """Refuses a value of no member, with a list of members."""
        members = ", ".join(f"{member.name} = {member.value!r}" for member in cls)
        raise ValueError(f"{cls.__name__} has no member with the value {value!r}; there are {members}.")

    def __int__(self) -> Any:
        return self.value

    __index__ = __int__
