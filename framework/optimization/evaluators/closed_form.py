"""Evaluators whose derivatives are known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.autodiff.blocks import chained
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.evaluators.evaluators import EvaluatorBase


class ClosedFormEvaluator(EvaluatorBase):
    """A function that a subclass defines by `_value_and_jacobian`; of AutoDiffXd it follows by the chain rule."""

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def _eval(self, x: Any) -> Any:
        if x.dtype != object:
            return self._value_and_jacobian(x)[0]
        if not all(isinstance(each, (AutoDiffXd, float, int)) for each in x):
            raise TypeError(f"{type(self).__name__} has no symbolic form: it is a function of numbers.")
        return chained(self._value_and_jacobian, x.tolist())


class StackedEvaluator(ClosedFormEvaluator):
    """One that a subclass defines by `_stacked` and `_stack_key`, for many x at once."""

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        values, jacobians = self._stacked(x[np.newaxis])
        return values[0], jacobians[0]

    def _has_curvature(self) -> bool:
        return True

    def is_thread_safe(self) -> bool:
        """No: evaluators of one key share what they compute with."""
        return False
