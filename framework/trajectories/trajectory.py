"""Trajectory: a matrix that is a function of a scalar, called time."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from merganser.framework.trajectories._scalars import Array, derivative_order_of


class Trajectory:
    """A matrix that is a function of time; base of all trajectories.

    A class of one's own overrides `do_value`, `do_rows`, `do_cols`, `do_start_time`, `do_end_time`, and, if it has
    derivatives, `do_has_derivative`, `DoEvalDerivative` and `DoMakeDerivative`. Methods of the public names may be
    overridden instead.
    """

    def value(self, t: Any) -> Array:
        """Returns the value at time t, shape [rows, cols]."""
        return self.do_value(t)

    def vector_values(self, t: Iterable[Any]) -> Array:
        """Returns values at several times, if there is one column (or one row).

        Args:
            t: n times.

        Returns:
            A matrix with the value at time i as column i, shape [rows, n]; or, if there are several columns but only
            one row, as row i, shape [n, cols].

        Raises:
            RuntimeError: there are several rows and columns.
        """
        rows, cols = self.rows(), self.cols()
        if 1 not in (rows, cols):
            raise RuntimeError(
                f"{self._name}.vector_values() is for vectors only, but values have shape ({rows}, {cols}); "
                "call value()."
            )
        values = [self.value(time).reshape(-1) for time in t]
        if cols == 1:
            return np.array(values).T if values else np.zeros((rows, 0))
        return np.array(values) if values else np.zeros((0, cols))

    def has_derivative(self) -> bool:
        """Returns whether there are derivatives, of all orders and at all times."""
        return self.do_has_derivative()

    def EvalDerivative(self, t: Any, derivative_order: int = 1) -> Array:
        """Returns a derivative at time t; the value itself for order 0.

        Raises:
            ValueError: the order is negative.
            RuntimeError: there are no derivatives.
        """
        order = derivative_order_of(derivative_order, f"{self._name}.EvalDerivative()")
        return self.value(t) if order == 0 else self.DoEvalDerivative(t, order)

    def MakeDerivative(self, derivative_order: int = 1) -> Trajectory:
        """Returns the trajectory of a derivative; a copy of this one for order 0.

        Raises:
            ValueError: the order is negative.
            RuntimeError: there are no derivatives.
        """
        order = derivative_order_of(derivative_order, f"{self._name}.MakeDerivative()")
        return self.Clone() if order == 0 else self.DoMakeDerivative(order)

    def rows(self) -> int:
        """Returns the number of rows of value()."""
        return self.do_rows()

    def cols(self) -> int:
        """Returns the number of columns of value()."""
        return self.do_cols()

    def start_time(self) -> Any:
        """Returns the time where the trajectory starts."""
        return self.do_start_time()

    def end_time(self) -> Any:
        """Returns the time where the trajectory ends."""
        return self.do_end_time()

    def Clone(self) -> Self:
        """Returns a copy that shares nothing that can change."""
        return copy.deepcopy(self)

    def __copy__(self) -> Any:
        return self.Clone()

    # ------------------------------------------------------------------ for derived classes

    def do_value(self, t: Any) -> Array:
        """Override: see value()."""
        raise self._missing("do_value")

    def do_rows(self) -> int:
        """Override: see rows()."""
        raise self._missing("do_rows")

    def do_cols(self) -> int:
        """Override: see cols()."""
        raise self._missing("do_cols")

    def do_start_time(self) -> Any:
        """Override: see start_time()."""
        raise self._missing("do_start_time")

    def do_end_time(self) -> Any:
        """Override: see end_time()."""
        raise self._missing("do_end_time")

    def do_has_derivative(self) -> bool:
        """Override: see has_derivative(). False by default."""
        return False

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        """Override: see EvalDerivative(); the order is positive."""
        raise self._missing("DoEvalDerivative") if self.has_derivative() else self._without_derivatives()

    def DoMakeDerivative(self, derivative_order: int) -> Trajectory:
        """Override: see MakeDerivative(); the order is positive."""
        raise self._missing("DoMakeDerivative") if self.has_derivative() else self._without_derivatives()

    def _breaks_to_look_at(self) -> list[float]:
        """Times at which the value or a derivative may jump, the ends among them; any of them may be smooth, too."""
        return []

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _missing(self, method: str) -> RuntimeError:
        return RuntimeError(f"{self._name} is a Trajectory without a method {method}(); the class must define it.")

    def _without_derivatives(self) -> RuntimeError:
        return RuntimeError(f"{self._name} does not support derivatives.")

    def _scalar_type(self) -> Any:
        """The scalar type of the numbers that the trajectory holds; None if it computes with any."""
        return float

    def _cast(self, T: Any) -> Any:
        """The trajectory with its numbers as scalars of type T; itself if it holds none of its own."""
        return self
