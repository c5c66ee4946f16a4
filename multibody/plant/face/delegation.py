"""Functions of the plant that are functions of its parts (framework/common/delegation.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from merganser.framework.common.delegation import Delegated

P = ParamSpec("P")
R = TypeVar("R")


def from_part(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function that calls one of a part; an annotation of the class says where that is."""
    return Delegated(method, "MultibodyPlant")  # type: ignore[return-value]  # which the class replaces by a function


def from_tree(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function that calls one of the tree."""
    return Delegated(method, "MultibodyPlant", "_tree")  # type: ignore[return-value]
