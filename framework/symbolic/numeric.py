"""Expressions as functions of numbers, for those who evaluate them many times."""

from __future__ import annotations

__all__ = ["numeric_function"]

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.symbolic._sympy import sympy
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
    nodes = list(nodes_of(expressions, "numeric_function").ravel())
    symbols = list(nodes_of(variables, "numeric_function").ravel()) if known else []
    try:
        function = sympy.lambdify(symbols, nodes, modules="math", cse=True)
    except NotImplementedError:
        return walk

    def compute(x: Array) -> Array:
        try:
            values = np.array(function(*x.tolist()), dtype=np.float64)
        except (ArithmeticError, ValueError, NameError, TypeError):
            return walk(x)
        return walk(x) if np.isnan(values).any() else values

    return compute
