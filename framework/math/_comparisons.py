"""Comparisons and choices that hold for scalars of any type: of expressions, they are formulas.

A formula is an object with methods `logical_and` and `if_then_else`; its class is not known here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from merganser.framework.math import elementwise
from merganser.framework.math._scalars import Array


def has_symbols(array: Array) -> bool:
    """Whether entries are expressions, on whose values nothing may branch."""
    return array.dtype.kind == "O" and any(hasattr(entry, "EvaluatePartial") for entry in array.ravel().tolist())


def all_hold(conditions: Iterable[Any]) -> Any:
    """Whether all conditions hold: a truth value, or a formula if one of them is a formula."""
    formulas = []
    for condition in conditions:
        if not isinstance(condition, (bool, np.bool_)):
            formulas.append(condition)
        elif not condition:
            return False
    return formulas[0].logical_and(*formulas[1:]) if formulas else True


def choice(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; if it is a formula, an expression."""
    if isinstance(condition, (bool, np.bool_)):
        return a if condition else b
    return condition.if_then_else(a, b)


def all_equal(A: Array, B: Array) -> Any:
    """Whether all entries of two arrays of one shape are equal."""
    if A.dtype.kind != "O" and B.dtype.kind != "O":
        return np.array_equal(A, B)
    return all_hold(a == b for a, b in zip(A.ravel().tolist(), B.ravel().tolist()))


def largest_difference(A: Array, B: Array) -> Any:
    """The largest |a - b| of two arrays of one shape; a number, or a scalar of their type."""
    if A.dtype.kind != "O" and B.dtype.kind != "O":
        return float(np.abs(A - B).max())
    return functools.reduce(elementwise.max, (elementwise.abs(a - b) for a, b in zip(A.ravel(), B.ravel())))
