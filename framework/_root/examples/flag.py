"""A truth value among the abstract state of a plant, as a number that native functions read."""

from __future__ import annotations

import functools
from typing import Any

from merganser.framework import AbstractStateIndex, BasicVector, CacheEntry, LeafSystem
from merganser.framework.core.inside import declare_vector_entry

__all__ = ["declare_flag"]


def declare_flag(system: LeafSystem, index: AbstractStateIndex, description: str) -> CacheEntry:
    """Declares a computation that gives 1 where an abstract state variable is True, otherwise 0.

    Args:
        system: that has the state.
        index: of the variable, whose value is a bool.
        description: what is true, for messages.
    """
    calc = functools.partial(_write_flag, index)
    return declare_vector_entry(system, description, BasicVector(1), calc, [system.abstract_state_ticket(index)])


def _write_flag(index: AbstractStateIndex, context: Any, output: Any) -> None:
    output[0] = 1.0 if context.get_abstract_state(index).get_value() else 0.0
