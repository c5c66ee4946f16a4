"""What expressions are made of inside: sympy's trees, and a few kinds of nodes of our own.

sympy brings sums, products, powers and functions in a canonical form. Maximum, minimum and choice are our own:
sympy's own forms of them try to decide inequalities while they are built, which takes long in large expressions.
"""

from __future__ import annotations

__all__ = [
    "SYMBOLS",
    "Bound",
    "ForAll",
    "IfThenElse",
    "IsNan",
    "Maximum",
    "Minimum",
    "PositiveSemidefinite",
    "Symbol",
    "is_number",
    "is_uninterpreted",
    "is_zero",
    "new_number",
    "new_symbol",
    "number",
]

import itertools
import math
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from merganser.framework.symbolic._sympy import sympy

_LARGEST_EXACT_INTEGER = 2.0**53  # every integer up to here is a float


class Symbol(sympy.Dummy):
    """A variable in a tree; it knows the Variable that it stands for. Symbols of equal names differ."""

    __slots__ = ("__weakref__", "variable")
    variable: Any

    def is_truth(self) -> bool:
        """Whether it stands for a condition, that is, a variable of type BOOLEAN."""
        return bool(self.variable.get_type().name == "BOOLEAN")

    def __reduce__(self) -> tuple[Any, ...]:
        return restored_symbol, (self.name, self.dummy_index, type(self.variable), self.variable.get_type())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()


#: All symbols in use, by their numbers: unpickling in the same process finds the same variable.
SYMBOLS: WeakValueDictionary[int, Symbol] = WeakValueDictionary()


_NUMBERS = itertools.count(sympy.Dummy._base_dummy_index)  # of this process; those of others begin elsewhere
_BITS_OF_NUMBERS = 56


def new_number(rank: int) -> int:
    """The number of a new variable; those of lesser rank come before it in order."""
    return rank << _BITS_OF_NUMBERS | next(_NUMBERS)


def new_symbol(name: str, index: int) -> Symbol:
    """A symbol for a real variable of a name and a number."""
    symbol = Symbol(name, dummy_index=index, real=True)
    SYMBOLS[symbol.dummy_index] = symbol
    return symbol


def restored_symbol(name: str, index: int, variable_class: Any, variable_type: Any) -> Symbol:
    """The symbol that was pickled: the one in use in this process, or a new one."""
    found = SYMBOLS.get(index)
    return variable_class._restored(name, variable_type, index)._node if found is None else found


class _RealNode(sympy.Expr):
    """A node of our own; its value is real."""

    is_commutative = True
    is_extended_real = True


class Maximum(_RealNode):
    """The greater of two expressions."""

    def __new__(cls, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return _extreme(cls, a, b, max)


class Minimum(_RealNode):
    """The lesser of two expressions."""

    def __new__(cls, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return _extreme(cls, a, b, min)


def _extreme(cls: Any, a: sympy.Expr, b: sympy.Expr, of_numbers: Any) -> sympy.Expr:
    if a == b:
        return a
    if a.is_Number and b.is_Number:
        return number(of_numbers(float(a), float(b)))
    return sympy.Expr.__new__(cls, a, b)


class IfThenElse(_RealNode):
    """The second argument where the condition (the first) holds, the third elsewhere."""

    def __new__(cls, condition: Any, then: sympy.Expr, otherwise: sympy.Expr) -> sympy.Expr:
        if condition == sympy.true:
            return then
        if condition == sympy.false:
            return otherwise
        return then if then == otherwise else sympy.Expr.__new__(cls, condition, then, otherwise)


class IsNan(sympy.logic.boolalg.BooleanFunction):
    """Whether an expression is NaN: true only of NaN itself, since no evaluation goes through one."""

    @classmethod
    def eval(cls, argument: sympy.Expr) -> Any:
        return sympy.S(argument is sympy.nan) if argument.is_Number else None


class Bound(sympy.Dummy):
    """A symbol inside of the formula that it is bound by; it is not free there, nor replaced by substitutions."""

    __slots__ = ("variable",)
    variable: Any

    @staticmethod
    def of(symbol: Symbol) -> Bound:
        """The bound symbol that stands for a variable."""
        bound = Bound(symbol.name, dummy_index=symbol.dummy_index, real=True)
        bound.variable = symbol.variable
        return bound

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Bound.of, (self.variable._node,)


class ForAll(sympy.logic.boolalg.BooleanFunction):
    """Whether a condition (the first argument) holds whatever the values of bound symbols (the others)."""


class PositiveSemidefinite(sympy.logic.boolalg.BooleanFunction):
    """Whether a symmetric matrix, its size and then its entries row by row, has no negative eigenvalue."""

    def matrix(self, entry: Any) -> Any:
        """The matrix, a function being applied to each of its entries."""
        size, entries = int(self.args[0]), self.args[1:]
        result = np.empty((size, size), dtype=object)
        result.ravel()[:] = [entry(each) for each in entries]
        return result


def is_uninterpreted(node: Any) -> bool:
    """Whether a tree is a function of which only the name is known."""
    return isinstance(node, sympy.core.function.AppliedUndef)


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or numpy number, which expressions take as a constant."""
    return isinstance(value, (float, int, np.floating, np.integer))


def is_zero(node: sympy.Expr) -> bool:
    """Whether a tree is the constant zero; sympy's own question searches the whole tree."""
    return bool(node.is_Number and node == 0)


def number(value: float) -> sympy.Expr:
    """A constant; integral floats become integers, so that 2.0 x and 2 x are one expression."""
    value = float(value)
    if value.is_integer() and abs(value) < _LARGEST_EXACT_INTEGER:
        return sympy.Integer(int(value))
    if math.isnan(value):
        return sympy.nan
    if math.isinf(value):
        return sympy.oo if value > 0 else -sympy.oo
    return sympy.Float(value)
