"""Expressions as functions of numbers that are evaluated many times, and of other scalars: ExpressionVector."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.matrices import Evaluate, nodes_of

Array = npt.NDArray[np.float64]


def numeric_function(expressions: npt.NDArray[Any], variables: npt.NDArray[Any]) -> Callable[[Array], Array]:
    """A function of the values of the variables, shape [n], that returns those of the expressions, shape [m].

    It is a function of Python in which what is common to several expressions is computed once. Where that cannot be
    (choices, uninterpreted functions), or fails, the trees are evaluated, with their errors.
    """
    known = list(variables)

    def walk(x: Array) -> Array:
        return np.asarray(Evaluate(expressions, dict(zip(known, x.tolist())))).ravel()

    if not len(expressions):
        return lambda x: np.zeros(0)
    roots, symbols = (nodes_of(each, "numeric_function").ravel().tolist() for each in (expressions, variables))
    function = python_function(roots, symbols)
    if function is None:
        return walk

    def compute(x: Array) -> Array:
        try:
            values = np.array(function(*x.tolist()), dtype=np.float64)
        except (ArithmeticError, ValueError):
            return walk(x)
        return walk(x) if np.isnan(values).any() else values

    return compute


_CALLS = {kind: name for name, kind in n.KIND_OF.items()} | {
    n.Atan2: "atan2",
    n.Power: "pow",
    n.Abs: "abs",
    n.Maximum: "max",
    n.Minimum: "min",
}
_OF_NUMBERS = {name: getattr(math, name, None) or getattr(builtins, name) for name in _CALLS.values()}
_OTHER_NAMES = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "pow": np.power, "max": np.maximum,
    "min": np.minimum,
}  # fmt: skip
_OF_ARRAYS = {name: _OTHER_NAMES.get(name) or getattr(np, name) for name in _CALLS.values()}


def array_function(
    expressions: npt.NDArray[Any], variables: npt.NDArray[Any]
) -> Callable[[Array], Array] | None:
    """The function of numeric_function for many values at once, shape [N, n] to shape [N, m]; None where it cannot be.

    Values are NaN or infinite where an expression is not defined.
    """
    roots, symbols = (nodes_of(each, "array_function").ravel().tolist() for each in (expressions, variables))
    function = python_function(roots, symbols, _OF_ARRAYS)
    if function is None:
        return None

    def compute(x: Array) -> Array:
        result = np.empty((len(x), len(roots)))
        with np.errstate(all="ignore"):
            for i, column in enumerate(function(*x.T)):
                result[:, i] = column
        return result

    return compute


def has_kinks(expressions: npt.NDArray[Any]) -> bool:
    """Whether expressions have functions that change abruptly, or that are not known."""
    smooth = (_CALLS.keys() - {n.Abs, n.Maximum, n.Minimum}) | {n.Number, n.Symbol, n.Sum, n.Product, n.Reciprocal}
    roots = nodes_of(expressions, "has_kinks").ravel().tolist()
    return not all(type(node) in smooth for root in roots for node in n.postorder(root, {}, lazy=False))


def python_function(roots: Sequence[Any], symbols: Sequence[Any], known: dict[str, Any] = _OF_NUMBERS) -> Any:
    """A function of the values of symbols that returns a tuple of the values of trees; None where it cannot be."""
    names: dict[Any, str] = {symbol: f"x{i}" for i, symbol in enumerate(symbols)}
    lines: list[str] = []
    for root in roots:
        for node in n.postorder(root, names, lazy=False):
            text = _written(node, names)
            if text is None:
                return None
            if node.parts:
                lines.append(f" v{len(lines)} = {text}")
                text = f"v{len(lines) - 1}"
            names[node] = text
    arguments, results = ", ".join(f"x{i}" for i in range(len(symbols))), "".join(f"{names[root]}, " for root in roots)
    found: dict[str, Any] = {}
    exec("\n".join([f"def function({arguments}):", *lines, f" return ({results})"]), dict(known), found)
    return found["function"]


def _written(node: Any, names: dict[Any, str]) -> str | None:
    """The text of a node whose parts have names; None if it has no value that could be computed so."""
    kind = type(node)
    if kind is n.Number:
        return repr(float(node.value)) if math.isfinite(node.value) else None
    if kind is n.Sum:
        if not all(math.isfinite(c) for c in node.terms.values()):
            return None
        terms = [names[term] if c == 1 else f"{float(c)!r}*{names[term]}" for term, c in node.terms.items()]
        return " + ".join([repr(float(node.constant)), *terms] if node.constant else terms)
    if kind is n.Product:
        return "*".join(names[base] if e == 1 else f"pow({names[base]}, {e})" for base, e in node.factors.items())
    if kind is n.Reciprocal:
        return f"1.0/{names[node.parts[0]]}"
    arguments = ", ".join(names[part] for part in node.parts)
    return f"{_CALLS[kind]}({arguments})" if kind in _CALLS else None


class ExpressionVector:
    """Expressions, with the order of the variables that they are functions of.

    Args:
        expressions: shape [m].
        variables: n Variables, in the order in which values are given.

    Attributes:
        occurring: identifiers of the variables that occur.
    """

    def __init__(self, expressions: npt.NDArray[Any], variables: Sequence[Any]) -> None:
        self._expressions, self._variables = expressions, list(variables)
        self.occurring = {variable.get_id() for e in expressions for variable in e.GetVariables()}
        self._slopes: npt.NDArray[Any] | None = None  # partial derivatives, shape [m, n]

    def evaluate(self, values: Sequence[Any]) -> npt.NDArray[Any]:
        """The values of the expressions, shape [m].

        Args:
            values: of the variables, shape [n]; those of variables that do not occur are not looked at.
        """
        expressions, occurring = self._expressions, self.occurring
        pairs = [(v, x) for v, x in zip(self._variables, values, strict=True) if v.get_id() in occurring]
        if any(type(x).__name__ == "Expression" for _, x in pairs):
            return np.array([e.Substitute(dict(pairs)) for e in expressions], dtype=object)
        env = {v: x.value() if hasattr(x, "derivatives") else float(x) for v, x in pairs}
        numbers = np.array([e.Evaluate(env) for e in expressions])
        if not any(hasattr(x, "derivatives") for _, x in pairs):
            return numbers
        # The chain rule: f(x) + sum_j df/dx_j (x_j - value of x_j), in which only the derivatives of x_j are left.
        if self._slopes is None:
            rows = [[e.Differentiate(v) for v in self._variables] for e in expressions]
            self._slopes = np.array(rows, dtype=object).reshape(len(expressions), len(self._variables))
        total = numbers.astype(object)
        for number, (v, x) in enumerate(zip(self._variables, values)):
            if v.get_id() in occurring and hasattr(x, "derivatives"):
                total = total + np.array([e.Evaluate(env) for e in self._slopes[:, number]]) * (x - x.value())
        return total
