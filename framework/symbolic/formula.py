"""Conditions on variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from merganser.framework.common.keywords import also_named
from merganser.framework.core.system.random_values import RandomDistribution, RandomGenerator, draw
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic import printing
from merganser.framework.symbolic.kinds import FormulaKind, formula_kind, taken_apart
from merganser.framework.symbolic.trees import evaluated, substituted
from merganser.framework.symbolic.variables import Variables

_DISTRIBUTIONS = {  # by the names of the types of variables
    "RANDOM_UNIFORM": RandomDistribution.kUniform,
    "RANDOM_GAUSSIAN": RandomDistribution.kGaussian,
    "RANDOM_EXPONENTIAL": RandomDistribution.kExponential,
}


class Tree:
    """What expressions and formulas have in common: they wrap a tree of nodes, and do not change."""

    __slots__ = ()
    _node: Any

    @classmethod
    def _of(cls, node: Any) -> Self:
        """Wraps a tree."""
        self = cls.__new__(cls)
        self._node = node
        return self

    def GetFreeVariables(self) -> Variables:
        """The variables in it, without those that are bound."""
        return Variables(symbol.variable for symbol in n.symbols_of(self._node))

    @also_named(s="var")
    def Substitute(self, var: Any, e: Any = None) -> Self:
        """The same with e for the variable `var`; or with all of a dict {Variable: expression}, at once.

        Raises:
            TypeError: `var` is not a variable, or `e` not an expression.
            RuntimeError: the result divides by zero.
        """
        return self._of(substituted(self._node, replacements_of(var, e), {}))

    def Unapply(self) -> tuple[Any, list[Any]]:
        """A function and the list of arguments that give this: of a sum, its constant and its terms."""
        return taken_apart(self)

    def to_string(self) -> str:
        """The text."""
        return printing.text(self._node)

    __str__ = to_string

    def __repr__(self) -> str:
        return f'<{type(self).__name__} "{self}">'

    def __copy__(self, memo: Any = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of, (self._node,)


class Formula(Tree):
    """A condition: a relation of expressions, or formulas joined by logical_and, logical_or and logical_not.

    What is decided whatever the values, such as x < x, is True_() or False_(). Only these have a truth value in
    Python: `if x < y` raises.
    """

    __slots__ = ("_node",)
    _node: Any

    @also_named(var="value")
    def __init__(self, value: Any = False) -> None:
        """Makes the formula that is always true, or always false; or that a Variable of type BOOLEAN is.

        Raises:
            TypeError: value is neither a bool nor such a variable.
        """
        symbol = getattr(value, "_node", None)
        if not isinstance(value, bool) and not (isinstance(symbol, n.Symbol) and symbol.is_truth()):
            raise TypeError(f"Formula: expected a bool or a variable of type BOOLEAN, got {value!r}.")
        self._node = n.truth(value) if isinstance(value, bool) else symbol

    @staticmethod
    def True_() -> Formula:
        """The formula that always holds."""
        return Formula(True)

    @staticmethod
    def False_() -> Formula:
        """The formula that never holds."""
        return Formula(False)

    def Evaluate(self, env: Mapping[Any, float] | None = None) -> bool:
        """Whether the formula holds for the values in `env`, {Variable: number}.

        Raises:
            RuntimeError: a variable without a value, a NaN, or a division by zero.
            ValueError: an argument outside of the domain of a function.
        """
        return bool(evaluated(self._node, values_of(env), {}))

    def logical_and(self, *others: Formula) -> Formula:
        """The formula that holds if this one and the others do; what math calls, which does not know the class."""
        return logical_and(self, *others)

    def if_then_else(self, e_then: Any, e_else: Any) -> Any:
        """The expression that is one or the other; what math calls, which does not know the class."""
        from merganser.framework.symbolic.functions import if_then_else

        return if_then_else(self, e_then, e_else)

    def EqualTo(self, other: Formula) -> bool:
        """Whether both formulas have the same structure."""
        return bool(self._node == condition_of(other, "Formula.EqualTo"))

    def __eq__(self, other: object) -> bool:
        return self.EqualTo(other) if isinstance(other, Formula) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._node)

    def __bool__(self) -> bool:
        if self._node is n.TRUE or self._node is n.FALSE:
            return self._node is n.TRUE
        raise RuntimeError(
            f"The truth of the formula {self} is not known: it depends on values. Use Formula.Evaluate(env), "
            "if_then_else or logical_and/or/not; EqualTo to compare structure; and numpy.less(a, b, dtype=object) "
            "and its companions to compare arrays."
        )

    def get_kind(self) -> FormulaKind:
        """The kind of the top node: a relation, a conjunction, ..."""
        return formula_kind(self._node)


def values_of(
    env: Mapping[Any, float] | RandomGenerator | None,
    generator: RandomGenerator | None = None,
    nodes: Iterable[Any] = (),
) -> dict[n.Symbol, float]:
    """Values by symbols, of an environment given by variables.

    Args:
        env: {Variable: number}; or only a generator.
        generator: what draws values of random variables that have none in `env`, if it is given.
        nodes: the trees that have such variables.

    Raises:
        TypeError: a key is no Variable, or a value no number.
        RuntimeError: a value is NaN.
    """
    if isinstance(env, RandomGenerator):  # alone
        env, generator = None, env
    values: dict[n.Symbol, float] = {}
    for variable, value in (env or {}).items():
        symbol = getattr(variable, "_node", None)
        if not isinstance(symbol, n.Symbol) or not n.is_number(value):
            raise TypeError(
                f"Environment: expected {{Variable: number}}, got {type(variable).__name__}: {type(value).__name__}."
            )
        values[symbol] = float(value)
    refuse_nan(env or {})
    if generator is None:
        return values
    for symbol in n.symbols_of(*nodes):
        distribution = _DISTRIBUTIONS.get(symbol.variable.get_type().name)
        if distribution is not None and symbol not in values:
            values[symbol] = float(draw(distribution, 1, generator)[0])
    return values


def refuse_nan(env: Mapping[Any, float]) -> None:
    """Raises a RuntimeError if a value of an environment {Variable: number} is NaN."""
    for variable, value in env.items():
        if value != value:
            raise RuntimeError(f"Environment: the value of variable {variable} is NaN.")


def replacements_of(var: Any, e: Any) -> dict[n.Symbol, Any]:
    """Trees by symbols, of the arguments of a Substitute method; variables of type BOOLEAN stay what they are.

    Raises:
        TypeError: other than a Variable and an expression, or a dict of them.
    """
    pairs = var if isinstance(var, Mapping) else {var: e}
    result = {}
    for variable, replacement in pairs.items():
        symbol, node = getattr(variable, "_node", None), getattr(replacement, "_node", None)
        node = n.number(replacement) if n.is_number(replacement) else node
        if not isinstance(symbol, n.Symbol) or node is None or isinstance(node, n.Condition):
            raise TypeError(
                "Substitute: expected a Variable and an Expression, or a dict of them, got "
                f"{type(variable).__name__} and {type(replacement).__name__}."
            )
        if not symbol.is_truth():
            result[symbol] = node
    return result


def condition_of(formula: Any, where: str) -> Any:
    """The tree of a formula, a variable of type BOOLEAN, or a truth value.

    Raises:
        TypeError: it is something else.
    """
    symbol = getattr(formula, "_node", None)
    if isinstance(formula, Formula) or (isinstance(symbol, n.Symbol) and symbol.is_truth()):
        return symbol
    if not isinstance(formula, (bool, np.bool_)):
        raise TypeError(f"{where}: expected formulas, got {type(formula).__name__}.")
    return n.truth(formula)


def _nodes(formulas: tuple[Any, ...], where: str) -> list[Any]:
    if not formulas:
        raise TypeError(f"{where}: expected at least one formula.")
    return [condition_of(formula, where) for formula in formulas]


def logical_and(*formulas: Formula) -> Formula:
    """The formula that holds if all of the given ones do."""
    return Formula._of(n.joined(n.And, _nodes(formulas, "logical_and")))


def logical_or(*formulas: Formula) -> Formula:
    """The formula that holds if any of the given ones does."""
    return Formula._of(n.joined(n.Or, _nodes(formulas, "logical_or")))


def logical_not(formula: Formula) -> Formula:
    """The formula that holds if the given one does not."""
    return Formula._of(n.negated(_nodes((formula,), "logical_not")[0]))
