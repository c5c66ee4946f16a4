"""ExpressionVector: expressions as a function of numbers, of AutoDiffXd, or of other expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class ExpressionVector:
    """Expressions, with the order of the variables that they are functions of.

    Args:
        expressions: shape [m].
        variables: n Variables, in the order in which values are given.

    Attributes:
        occurring: identifiers of the variables that occur.
    """

    def __init__(self, expressions: Array, variables: Sequence[Any]) -> None:
        self._expressions, self._variables = expressions, list(variables)
        self.occurring = {variable.get_id() for e in expressions for variable in e.GetVariables()}
        self._slopes: Array | None = None  # partial derivatives, shape [m, n]

    def evaluate(self, values: Sequence[Any]) -> Array:
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
