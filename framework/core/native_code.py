"""How a block says that one of its computations is also a compiled operation on numbers of the Context."""

from __future__ import annotations

import dataclasses
from typing import Any

from numpy.typing import NDArray

__all__ = ["CONTINUOUS_STATE", "OUTPUT", "InputOf", "NativeCode", "ParameterOf"]


@dataclasses.dataclass(frozen=True)
class InputOf:
    """Stands for the place where the value of a vector input port of the block is found."""

    port_index: int


@dataclasses.dataclass(frozen=True)
class ParameterOf:
    """Stands for the place of a group of numeric parameters of the block."""

    index: int


class _Place:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name  # a copy is the same place


OUTPUT = _Place("OUTPUT")  # where the result of the computation goes
CONTINUOUS_STATE = _Place("CONTINUOUS_STATE")  # where the continuous state of the block is found


@dataclasses.dataclass(frozen=True)
class NativeCode:
    """A computation as an operation of framework/native/operations.py.

    Attributes:
        operation: the operation's name.
        arguments: what the operation finds in its list of integers, one after the other: an integer stands for
            itself, an array of constants for the place of its first element, and `OUTPUT`, `CONTINUOUS_STATE`,
            `InputOf(port_index)` and `ParameterOf(index)` for places in the flat array of the Context.
    """

    operation: str
    arguments: tuple[int | NDArray[Any] | InputOf | ParameterOf | _Place, ...]
