"""Enumerations whose members can be asked for their numbers, without being numbers: int(member), list[member]."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["Enumeration"]


class Enumeration(enum.Enum):
    """Members compare only with each other; they stand for an integer where one is asked for."""

    def __int__(self) -> Any:
        return self.value

    __index__ = __int__
