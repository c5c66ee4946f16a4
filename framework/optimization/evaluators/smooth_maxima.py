"""Smooth bounds on the least of several values: penalties of small ones, and a smooth maximum of these.

A value v counts below an influence value v_i; its penalty is 0 there and 1 at the bound b,

    p(v) = phi((v - v_i) / (v_i - b)) / phi(-1),   phi(x) = 0 for x >= 0, x^2 / 2 down to -1, -1/2 - x below     (1)

and the greatest of penalties is replaced by a smooth function of them that is never below it, or never above:

    over:  log(sum exp(a p)) / a,        under:  sum p exp(a p) / sum exp(a p)                                   (2)

(as pydrake documents its minimum-value constraints).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array

Penalty = Callable[[float, bool], Any]

_SHARPNESS = 100.0  # a of (2)


def smoothed_hinge(x: float, compute_grad: bool) -> tuple[float, float]:
    """phi of (1), and its derivative."""
    if x >= 0.0:
        return 0.0, 0.0
    return (0.5 * x * x, x) if x > -1.0 else (-0.5 - x, -1.0)


def maximum_from_above(penalties: Array) -> tuple[float, Array]:
    """The function over the greatest penalty (2), and its derivatives by the penalties, shape [n], n > 0."""
    highest = float(penalties.max())
    weights = np.exp(_SHARPNESS * (penalties - highest))
    return highest + float(np.log(weights.sum())) / _SHARPNESS, weights / weights.sum()


def maximum_from_below(penalties: Array) -> tuple[float, Array]:
    """The function under the greatest penalty (2), and its derivatives by the penalties, shape [n], n > 0."""
    weights = np.exp(_SHARPNESS * (penalties - penalties.max()))
    weights /= weights.sum()
    mean = float(weights @ penalties)
    return mean, weights * (1.0 + _SHARPNESS * (penalties - mean))
