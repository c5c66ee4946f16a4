"""Functions of the plant that are functions of its tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["from_tree"]

P = ParamSpec("P")
R = TypeVar("R")


def from_tree(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that calls the same method of `self._tree`."""

    @functools.wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._tree, *args, **kwargs)

    return call
