"""AbstractLog: samples of values of any type over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.plain_values import Unplain
from merganser.framework.core.values.values import AbstractValue

__all__ = ["AbstractLog"]


class AbstractLog:
    """A growing list of values with their times; each value is a copy of its own."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[Any] = []

    def num_samples(self) -> int:
        """Number of samples added since the log was made or cleared."""
        return len(self._times)

    def sample_times(self) -> NDArray[np.float64]:
        """Returns the times of the samples [s], shape [num_samples]."""
        return np.array(self._times, dtype=np.float64)

    def data(self) -> list[Any]:
        """Returns the values, in a new list; they are those that the log keeps, not copies of them."""
        return list(self._values)

    def AddData(self, time: float, sample: AbstractValue) -> None:
        """Adds a copy of a value at the end.

        Args:
            time: its time [s]; times need not increase.
            sample: the value in its box.

        Raises:
            TypeError: `sample` is no AbstractValue.
        """
        if not isinstance(sample, AbstractValue):
            raise TypeError(f"AbstractLog: a sample must be a Value, got {type(sample).__name__}; write Value(...).")
        value = sample.Clone().get_value()
        self._times.append(float(time))
        self._values.append(value)

    def Clear(self) -> None:
        """Forgets all samples."""
        self.keep_first(0)

    def keep_first(self, number: int) -> None:
        """Forgets all samples but the first ones."""
        del self._times[number:]
        del self._values[number:]

    def _plain_state(self) -> list[Any]:
        for value in self._values:
            if hasattr(value, "_plain_state"):  # could not be made again without an object to put it into
                raise Unplain(f"a log of objects of type {type(value).__name__}")
        return [list(self._times), list(self._values)]

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        times, values = state
        if not (isinstance(times, list) and isinstance(values, list) and len(times) == len(values)):
            raise ValueError("a log has a list of times, and one of as many samples")
        if not all(isinstance(time, float) for time in times):
            raise ValueError("the times of a log are floats")
        self._times, self._values = times, values
