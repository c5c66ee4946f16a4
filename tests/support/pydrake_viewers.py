"""Meshcats of pydrake that last as long as the process.

Their destructor ends the process unless it runs in the thread that made them. The garbage collector runs in any thread
that allocates, so in that of one of our servers, too.
"""

from __future__ import annotations

from typing import Any

_alive: list[Any] = []


def kept(meshcat: Any) -> Any:
    """`meshcat`, which nothing destroys before the process ends."""
    _alive.append(meshcat)
    return meshcat
