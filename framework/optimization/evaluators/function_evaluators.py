"""Costs and constraints given by expressions, and by functions of a user's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from merganser.framework.autodiff.blocks import chained
from merganser.framework.autodiff.many_points import ManyPoints
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.framework.optimization.arrays import Array, Objects, objects
from merganser.framework.optimization.evaluators.evaluators import (
    AdjustableConstraint,
    Constraint,
    Cost,
    EvaluatorBase,
)


class _Function:
    """A function of variables that returns values and then their derivatives, row by row, as one vector.

    Args:
        everything: the expressions and their derivatives, shape [m + m n].
        variables: shape [n].
    """

    def __init__(self, everything: Objects, variables: Objects) -> None:
        from merganser.framework.symbolic import numeric

        self._parts, self._numeric = (everything, variables), numeric
        self.of_one: Callable[[Array], Array] = numeric.numeric_function(everything, variables)

    @functools.cached_property
    def of_many(self) -> Callable[[Array], Array] | None:
        """The same for rows of arrays, if available."""
        return self._numeric.array_function(*self._parts)

    @functools.cached_property
    def curvature(self) -> Callable[[Array], Array] | None:
        """Second derivatives of all values at many points, shape [N, m n^2], if available and not too many."""
        everything, variables = self._parts
        n = len(variables)
        slopes = everything[len(everything) // (1 + n) :]
        if slopes.size * n > _MOST_SECOND:
            return None
        from merganser.framework.symbolic import Jacobian

        return self._numeric.array_function(Jacobian(slopes, variables), variables) if n else None

    @functools.cached_property
    def is_smooth(self) -> bool:
        """Whether all derivatives are defined wherever the values are."""
        return not self._numeric.has_kinks(self._parts[0])


def _as_function(expressions: Objects, variables: Objects) -> _Function:
    """Values and derivatives of expressions as functions of numbers.

    Costs and constraints at all times of a motion are the same but for their variables, and share one function.
    """
    from merganser.framework.symbolic import Expression, Jacobian, Variable
    from merganser.framework.symbolic.matrices import nodes_of

    count = len(variables)
    while len(_places) < count:
        _places.append(Variable(f"x{len(_places)}"))
    places = np.array(_places[:count], dtype=object)
    if count:
        replacements = dict(zip(variables, map(Expression, places)))
        expressions = np.array([e.Substitute(replacements) for e in expressions], dtype=object)
    key = count, tuple(nodes_of(expressions, "functions of expressions").ravel().tolist())
    function = _functions.get(key)
    if function is None:
        slopes = Jacobian(expressions, places).ravel() if count else np.empty(0, dtype=object)
        if len(_functions) >= _MOST_FUNCTIONS:
            _functions.clear()
        everything = np.array([Expression(e) for e in (*expressions, *slopes)], dtype=object)
        _functions[key] = function = _Function(everything, places)
    return function


_places: list[Any] = []  # placeholders for the first, second, ... variable
_functions: dict[Any, _Function] = {}
_MOST_FUNCTIONS = 256
_MOST_SECOND = 300  # second derivatives that are found as expressions
_MANY = 8  # points for which arrays take less time than numbers


class _OfExpressions(EvaluatorBase):
    """Expressions as functions of numbers, of AutoDiffXd and of expressions: what costs and constraints share."""

    def _set_expressions(self, expressions: Sequence[Any]) -> None:
        from merganser.framework.symbolic import Expression, ExtractVariablesFromExpression

        self._expressions = np.array([Expression(e) for e in expressions], dtype=object)
        self._variables: Objects = ExtractVariablesFromExpression(self._expressions)[0]
        self._made: _Function | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": None}  # which cannot be pickled

    def vars(self) -> Objects:
        """The variables, in the order of x."""
        return self._variables.copy()

    def _stack_key(self) -> _Function:
        """Values and derivatives; made when they are first asked for."""
        if self._made is None:
            self._made = _as_function(self._expressions, self._variables)
        return self._made

    def _has_curvature(self) -> bool:
        return self._stack_key().is_smooth

    def _curvature(self, x: Array, weights: Array) -> Array:
        second = self._stack_key().curvature
        if second is None:
            return super()._curvature(x, weights)
        with np.errstate(invalid="ignore"):
            H = weights[:, np.newaxis] @ np.nan_to_num(second(x), posinf=0.0, neginf=0.0).reshape(*weights.shape, -1)
        return H.reshape(len(x), x.shape[1], -1)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        try:
            return self._split(x)
        except (ArithmeticError, RuntimeError, ValueError):
            from merganser.framework.symbolic import Evaluate, Jacobian

            names = dict(zip(self._variables, x.tolist()))
            Evaluate(self._expressions, names)  # which raises the same, with the names of these variables
            Evaluate(Jacobian(self._expressions, self._variables), names)
            raise

    def _value_or_nan(self, x: Array, may_be_nan: bool) -> tuple[Array, Array]:
        if not may_be_nan:
            return self._value_and_jacobian(x)
        try:
            return self._split(x)
        except (ArithmeticError, RuntimeError, ValueError):
            return np.full(self._num_outputs, np.nan), np.full((self._num_outputs, x.size), np.nan)

    def _split(self, x: Array) -> tuple[Array, Array]:
        count, flat = self._num_outputs, self._stack_key().of_one(x)
        return flat[:count], flat[count:].reshape(count, x.size)

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        """Values and derivatives for many x at once; NaN where an expression is not defined."""
        count, of_many = self._num_outputs, self._stack_key().of_many
        if of_many is None or len(x) < _MANY:
            values, jacobians = zip(*(self._value_or_nan(each, True) for each in x))
            return np.array(values), np.array(jacobians)
        flat = of_many(x)
        return flat[:, :count], flat[:, count:].reshape(len(x), count, -1)

    def _eval(self, x: Objects) -> Any:
        if x.dtype != object:
            return self._value_and_jacobian(x)[0]
        if any(isinstance(each, AutoDiffXd) for each in x):
            return chained(self._value_and_jacobian, x.tolist())
        replacements = dict(zip(self._variables, x))
        return np.array([e.Substitute(replacements) if replacements else e for e in self._expressions], dtype=object)

    def is_thread_safe(self) -> bool:
        """No: functions of equal expressions are made once, when they are first needed, for all."""
        return False


class ExpressionCost(_OfExpressions, Cost):
    """A cost that an expression gives."""

    def __init__(self, e: Any) -> None:
        self._set_expressions([e])
        super().__init__(self._variables.size)

    def expression(self) -> Any:
        """The expression."""
        return self._expressions[0]


class ExpressionConstraint(_OfExpressions, Constraint):
    """Bounds on expressions."""

    def __init__(self, v: Any, lb: Any, ub: Any) -> None:
        """Makes the constraint: expressions of shape [m] and bounds of shape [m]."""
        self._set_expressions(list(objects(v)))
        super().__init__(self._variables.size, lb, ub)
        if self._lower.size != len(self._expressions):
            raise ValueError(f"{self._where()}: {len(self._expressions)} expressions and {self._lower.size} bounds.")

    def expressions(self) -> Objects:
        """The expressions, shape [m]."""
        return self._expressions.copy()


def _checked_function(func: Callable[[Any], Any], where: str) -> Callable[[Any], Any]:
    """A function that can be called with one argument, the values of all variables.

    Raises:
        TypeError: it cannot.
    """
    if isinstance(func, FunctionType) and func.__code__.co_argcount == 1 and not func.__code__.co_kwonlyargcount:
        return func  # most are; inspect takes 8 us, more than all else that it takes to add one
    try:
        inspect.signature(func).bind(None)
    except ValueError:  # a function of C may not say what it takes
        pass
    except TypeError as error:
        name = getattr(func, "__qualname__", type(func).__name__)
        raise TypeError(
            f"{where}: the function {name}{inspect.signature(func)} cannot be called with one argument, the array of "
            f"the values of all variables: {error}."
        ) from None
    return func


class _OfFunction(EvaluatorBase):
    """The part of PyFunctionCost and PyFunctionConstraint that evaluates."""

    _function: Callable[[Any], Any]

    @functools.cached_property
    def _at_many(self) -> ManyPoints:
        return ManyPoints(self._function)

    def _eval(self, x: Objects) -> Any:
        return self._function(x)

    def _stack_key(self) -> Any:
        is_same = type(self._function) in (FunctionType, MethodType)
        return (self._function, self._num_outputs) if is_same else None

    def _is_fast_without_slopes(self, count: int) -> bool:
        return count == 1 or self._at_many.is_refused

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        return self._at_many.at(x, self._value_and_jacobian) or super()._stacked(x)

    def _values(self, x: Array) -> Array:
        try:
            return super()._values(x)
        except AttributeError:  # of floats, which have no value(): a function of AutoDiffXd only
            return self._value_and_jacobian(x)[0]

    def is_thread_safe(self) -> bool:
        """No: the function may do anything."""
        return False


class PyFunctionCost(_OfFunction, Cost):
    """A cost that a function of a user's gives: f(x) returns one number for x of floats, or of AutoDiffXd."""

    def __init__(self, num_vars: int, func: Callable[[Any], Any], description: str = "") -> None:
        super().__init__(num_vars, description)
        self._function = _checked_function(func, self._where())


class PyFunctionConstraint(_OfFunction, AdjustableConstraint):
    """Bounds on what a function of a user's returns for x of floats, or of AutoDiffXd."""

    def __init__(self, num_vars: int, func: Callable[[Any], Any], lb: Any, ub: Any, description: str = "") -> None:
        super().__init__(num_vars, lb, ub, description)
        self._function = _checked_function(func, self._where())

    def set_bounds(self, lower_bound: Any, upper_bound: Any) -> None:
        """Sets both bounds, shape [num_constraints] each."""
        super().set_bounds(lower_bound, upper_bound)
