"""Variables, of which expressions are made."""

from __future__ import annotations

__all__ = [
    "MakeMatrixBinaryVariable",
    "MakeMatrixBooleanVariable",
    "MakeMatrixContinuousVariable",
    "MakeMatrixVariable",
    "MakeVectorBinaryVariable",
    "MakeVectorBooleanVariable",
    "MakeVectorContinuousVariable",
    "MakeVectorVariable",
    "Variable",
]

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic.expression import Term
from merganser.framework.symbolic.nodes import SYMBOLS, Symbol, new_number, new_symbol


class VariableType(Enumeration):
    """What values a variable takes. Evaluation does not enforce it."""

    CONTINUOUS = 0
    INTEGER = 1
    BINARY = 2
    BOOLEAN = 3
    RANDOM_UNIFORM = 4
    RANDOM_GAUSSIAN = 5
    RANDOM_EXPONENTIAL = 6


class Variable(Term):
    """A real variable. Two variables are the same only if they are the same object; names need not differ.

    Copying gives the variable itself, and so does unpickling in the process where it was made: so variables serve
    as keys of dictionaries, although `==` makes a formula.
    """

    __slots__ = ("_index", "_name", "_symbol", "_type")
    _symbol: Symbol | None
    _type: VariableType
    Type = VariableType

    def __init__(self, name: str, type: VariableType = VariableType.CONTINUOUS) -> None:
        """Makes a new variable.

        Raises:
            TypeError: the name is no string, or the type no Variable.Type.
        """
        if not isinstance(name, str) or not isinstance(type, VariableType):
            raise TypeError(f"Variable: expected a name and a Variable.Type, got {name!r} and {type!r}.")
        self._setup(name, type, None)

    def _setup(self, name: str, type: VariableType, index: int | None) -> None:
        self._name, self._type, self._symbol = name, type, None
        self._index = new_number(type.value) if index is None else index

    @property
    def _node(self) -> Symbol:
        # Made when it is first used: it takes 40 us, and programs have thousands of variables that no expression has.
        if self._symbol is None:
            self._symbol = new_symbol(self._name, self._index)
            self._symbol.variable = self
        return self._symbol

    @classmethod
    def _restored(cls, name: str, type: VariableType, index: int) -> Variable:
        """A variable pickled in another process, with its number there."""
        self = cls.__new__(cls)
        self._setup(name, type, index)
        return self

    def get_id(self) -> int:
        """The number of the variable, different for all variables; variables are in its order: by type, then by age."""
        return self._index

    def get_name(self) -> str:
        """The name."""
        return self._name

    def get_type(self) -> VariableType:
        """The type."""
        return self._type

    def is_dummy(self) -> bool:
        """Whether the variable stands for nothing: never."""
        return False

    def EqualTo(self, other: Variable) -> bool:
        """Whether this is the same variable."""
        if not isinstance(other, Variable):
            raise TypeError(f"Variable.EqualTo: expected a Variable, got {type(other).__name__}.")
        return self is other

    def __hash__(self) -> int:
        return hash(self._index)

    def __str__(self) -> str:
        return self.get_name()

    def __repr__(self) -> str:
        return f"Variable('{self}', {self._type.name.replace('_', ' ').title()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.get_name(), self._type, self.get_id())


def _unpickled(name: str, type: VariableType, index: int) -> Any:
    found = SYMBOLS.get(index)
    return Variable._restored(name, type, index) if found is None else found.variable


def MakeMatrixVariable(
    rows: int, cols: int, name: str, type: VariableType = VariableType.CONTINUOUS
) -> npt.NDArray[Any]:
    """A matrix of new variables called name(i, j), shape [rows, cols]."""
    result = np.empty((rows, cols), dtype=object)
    for i, j in np.ndindex(rows, cols):
        result[i, j] = Variable(f"{name}({i}, {j})", type)
    return result


def MakeMatrixContinuousVariable(rows: int, cols: int, name: str) -> npt.NDArray[Any]:
    """A matrix of new continuous variables called name(i, j), shape [rows, cols]."""
    return MakeMatrixVariable(rows, cols, name)


def MakeMatrixBinaryVariable(rows: int, cols: int, name: str) -> npt.NDArray[Any]:
    """A matrix of new binary variables called name(i, j), shape [rows, cols]."""
    return MakeMatrixVariable(rows, cols, name, VariableType.BINARY)


def MakeMatrixBooleanVariable(rows: int, cols: int, name: str) -> npt.NDArray[Any]:
    """A matrix of new Boolean variables called name(i, j), shape [rows, cols]."""
    return MakeMatrixVariable(rows, cols, name, VariableType.BOOLEAN)


def MakeVectorVariable(rows: int, name: str, type: VariableType = VariableType.CONTINUOUS) -> npt.NDArray[Any]:
    """A vector of new variables called name(i), shape [rows]."""
    result = np.empty(rows, dtype=object)
    for i in range(rows):
        result[i] = Variable(f"{name}({i})", type)
    return result


def MakeVectorContinuousVariable(rows: int, name: str) -> npt.NDArray[Any]:
    """A vector of new continuous variables called name(i), shape [rows]."""
    return MakeVectorVariable(rows, name)


def MakeVectorBinaryVariable(rows: int, name: str) -> npt.NDArray[Any]:
    """A vector of new binary variables called name(i), shape [rows]."""
    return MakeVectorVariable(rows, name, VariableType.BINARY)


def MakeVectorBooleanVariable(rows: int, name: str) -> npt.NDArray[Any]:
    """A vector of new Boolean variables called name(i), shape [rows]."""
    return MakeVectorVariable(rows, name, VariableType.BOOLEAN)
