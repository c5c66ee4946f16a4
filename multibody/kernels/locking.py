"""Locked mobilizers."""

from __future__ import annotations

from merganser.framework.native import inlined
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.kernels.spatial import Array

__all__ = ["num_free"]


@inlined
def num_free(node: Array, fixed: Array) -> int:
    """How many velocities of the mobilizer forces can change: all, or none if it is locked."""
    return 0 if is_set(fixed["is_locked"]) else node["num_v"]
