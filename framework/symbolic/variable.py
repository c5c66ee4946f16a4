"""Variables, of which expressions are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic.expression import Term
from merganser.framework.symbolic.nodes import Symbol, known, new_number


class VariableType(Enumeration):
    """The type of values of a variable. Evaluation does not enforce it."""

    CONTINUOUS = 0
    INTEGER = 1
    BINARY = 2
    BOOLEAN = 3
    RANDOM_UNIFORM = 4
    RANDOM_GAUSSIAN = 5
    RANDOM_EXPONENTIAL = 6


class Variable(Term):
    """A real variable. Two variables are the same only if their numbers are equal; names need not differ.

    Copying gives the variable itself, and so does unpickling as long as it is in use in the process.
    """

    __slots__ = ("__weakref__", "_index", "_name", "_symbol", "_type")
    _type: VariableType
    _symbol: Any
    Type = VariableType

    def __init__(self, name: str, type: VariableType = VariableType.CONTINUOUS) -> None:
        """Makes a new variable.

        Raises:
            TypeError: the name is not a string, or the type not a Variable.Type.
        """
        if not isinstance(name, str) or not isinstance(type, VariableType):
            raise TypeError(f"Variable: expected a name and a Variable.Type, got {name!r} and {type!r}.")
        self._setup(name, type, None)

    def _setup(self, name: str, type: VariableType, index: int | None) -> None:
        self._name, self._type, self._symbol = name, type, None
        self._index = new_number(type._value_) if index is None else index

    @property
    def _node(self) -> Any:
        """The symbol, made when a formula or a pickle first needs it: a program of matrices has variables without."""
        if self._symbol is None:
            symbol = Symbol(self, self._index)
            self._symbol = known(self._index) or symbol  # that of another thread, if it was first
        return self._symbol

    @classmethod
    def _restored(cls, name: str, type: VariableType, index: int) -> Variable:
        """The variable that was pickled: the one in use in this process, or a new one with its number."""
        symbol = known(index)
        if symbol is not None:
            return symbol.variable
        self = cls.__new__(cls)
        self._setup(name, type, index)
        restored: Variable = self._node.variable  # of another thread, if it was first
        return restored

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
        """Always False: there are no dummy variables."""
        return False

    def EqualTo(self, other: Variable) -> bool:
        """Whether this is the same variable."""
        if not isinstance(other, Variable):
            raise TypeError(f"Variable.EqualTo: expected a Variable, got {type(other).__name__}.")
        return self._index == other._index

    __hash__ = object.__hash__  # one object has a number

    def __str__(self) -> str:
        return self.get_name()

    def __repr__(self) -> str:
        return f"Variable('{self}', {self._type.name.replace('_', ' ').title()})"

    def __reduce__(self) -> tuple[Any, ...]:
        _ = self._node  # by which it is found when it is unpickled
        return Variable._restored, (self._name, self._type, self._index)


def MakeMatrixVariable(
    rows: int, cols: int, name: str, type: VariableType = VariableType.CONTINUOUS
) -> npt.NDArray[Any]:
    """A matrix of new variables called name(i, j), shape [rows, cols]."""
    result = np.empty((rows, cols), dtype=object)
    for i, j in np.ndindex(rows, cols):
        result[i, j] = Variable(f"{name}({i}, {j})", type)
    return result


def MakeVectorVariable(rows: int, name: str, type: VariableType = VariableType.CONTINUOUS) -> npt.NDArray[Any]:
    """A vector of new variables called name(i), shape [rows]."""
    result = np.empty(rows, dtype=object)
    for i in range(rows):
        result[i] = Variable(f"{name}({i})", type)
    return result


def _of_type(make: Callable[..., npt.NDArray[Any]], type: VariableType) -> Callable[..., npt.NDArray[Any]]:
    def function(*args: Any, **kwargs: Any) -> npt.NDArray[Any]:
        return make(*args, **kwargs, type=type)

    function.__doc__ = f"As {make.__name__}, of variables of the type {type.name}."
    return function


MakeMatrixContinuousVariable = _of_type(MakeMatrixVariable, VariableType.CONTINUOUS)
MakeMatrixBinaryVariable = _of_type(MakeMatrixVariable, VariableType.BINARY)
MakeMatrixBooleanVariable = _of_type(MakeMatrixVariable, VariableType.BOOLEAN)
MakeVectorContinuousVariable = _of_type(MakeVectorVariable, VariableType.CONTINUOUS)
MakeVectorBinaryVariable = _of_type(MakeVectorVariable, VariableType.BINARY)
MakeVectorBooleanVariable = _of_type(MakeVectorVariable, VariableType.BOOLEAN)
