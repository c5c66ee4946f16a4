"""IcfSolverParameters."""

from __future__ import annotations

import dataclasses

__all__ = ["IcfSolverParameters"]


@dataclasses.dataclass(eq=False)
class IcfSolverParameters:
    """x"""

    def check(self) -> None:
        pass
