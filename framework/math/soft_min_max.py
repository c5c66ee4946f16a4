"""Smooth bounds of the largest and the smallest of some numbers.

With S the logarithm of the sum of exponentials and W the mean weighted by exponentials,

    S(x) = log(sum_i exp(alpha x_i)) / alpha  >= max(x),        (1)
    W(x) = sum_i x_i exp(alpha x_i) / sum_i exp(alpha x_i) <= max(x),   (2)

both tend to max(x) as alpha grows, and with -alpha to min(x). Exponents are taken relative to the extreme element, so
that they do not overflow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merganser.framework.math.elementwise import exp, log


def SoftOverMax(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere less than max(x): (1).

    Args:
        x: at least one number, or AutoDiffXd.
        alpha: positive and finite; the larger, the nearer to max(x).

    Raises:
        ValueError: `x` is empty, or `alpha` out of its range.
    """
    largest, weights = _weights("SoftOverMax", x, alpha, 1.0)
    return largest + log(_sum(weights)) / alpha


def SoftUnderMax(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere more than max(x): (2). The arguments are those of `SoftOverMax`."""
    _, weights = _weights("SoftUnderMax", x, alpha, 1.0)
    return _mean(x, weights)


def SoftOverMin(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere less than min(x): (2) with -alpha. The arguments are those of `SoftOverMax`."""
    _, weights = _weights("SoftOverMin", x, alpha, -1.0)
    return _mean(x, weights)


def SoftUnderMin(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere more than min(x): (1) with -alpha. The arguments are those of `SoftOverMax`."""
    smallest, weights = _weights("SoftUnderMin", x, alpha, -1.0)
    return smallest - log(_sum(weights)) / alpha


def _weights(function: str, x: Sequence[Any], alpha: float, sign: float) -> tuple[Any, list[Any]]:
    """The largest (sign 1) or smallest (sign -1) element, and exp(sign alpha (x_i - that)), none above 1."""
    if len(x) == 0:
        raise ValueError(f"{function}: x must have at least one element.")
    if not 0.0 < alpha < math.inf:
        raise ValueError(f"{function}: alpha must be positive and finite, got {alpha}.")
    extreme = x[0]
    for element in x[1:]:
        if sign * (element - extreme) > 0:
            extreme = element
    return extreme, [exp(sign * alpha * (element - extreme)) for element in x]


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _mean(x: Sequence[Any], weights: Sequence[Any]) -> Any:
    return _sum([element * weight for element, weight in zip(x, weights)]) / _sum(weights)
