"""VectorLog: samples of a vector over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.primitives._arguments import checked_size

__all__ = ["VectorLog"]

Array = NDArray[Any]


class VectorLog:
    """A growing table of samples, one column each, with their times.

    Room for samples doubles whenever it is used up, so that adding n samples takes time proportional to n.

    Args:
        input_size: number of elements of a sample.
    """

    kDefaultCapacity = 1000
    # Counts what happens to any log outside compiled code, which looks here whether it knows all logs as they are.
    num_edits = 0

    def __init__(self, input_size: int) -> None:
        size = checked_size(input_size, "VectorLog: input_size")
        self._count = np.zeros(1)  # an array, so that compiled code can count too
        self._times: Array = np.empty(self.kDefaultCapacity)
        self._data: Array = np.empty((size, self.kDefaultCapacity), order="F")

    def num_samples(self) -> int:
        """Number of samples added since the log was made or cleared."""
        return int(self._count.item(0))

    def get_input_size(self) -> int:
        """Number of elements of a sample."""
        return len(self._data)

    def sample_times(self) -> Array:
        """Returns the times of the samples [s], shape [num_samples]; a view, valid until the next sample."""
        return self._times[: self.num_samples()]

    def data(self) -> Array:
        """Returns the samples, shape [input_size, num_samples]; a view, valid until the next sample."""
        return self._data[:, : self.num_samples()]

    def AddData(self, time: float, sample: ArrayLike) -> None:
        """Adds a sample at the end.

        Args:
            time: its time [s]; times need not increase.
            sample: shape [input_size].

        Raises:
            ValueError: `sample` has the wrong size.
        """
        values = np.asarray(sample)
        if values.size != len(self._data):
            raise ValueError(f"VectorLog: samples have {len(self._data)} elements, got shape {values.shape}.")
        if values.dtype.kind not in "biufcO":
            raise TypeError(f"VectorLog: samples are numbers, got elements of type {values.dtype}.")
        number = self.num_samples()
        VectorLog.num_edits += 1
        dtype = np.result_type(values.dtype, self._data.dtype)
        if dtype.kind in "cO" and dtype != self._data.dtype:
            self._take_arrays(len(self._times), dtype)
        if number == len(self._times):
            self._take_arrays(2 * number, self._data.dtype)
        self._times[number] = time
        self._data[:, number] = values.reshape(-1)
        self._count[0] = number + 1  # last, so that an interrupt before leaves no sample

    def _plain_state(self) -> list[Array]:
        return [self.sample_times(), self.data()]

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        times, data = state  # compiled code will write to them
        if not all(isinstance(array, np.ndarray) and array.dtype in (float, loading.scalar) for array in state):
            raise ValueError(f"times and samples of a log are arrays of {loading.scalar}")
        if times.dtype != data.dtype or times.ndim != 1 or data.shape != (len(self._data), len(times)):
            raise ValueError(
                f"a log of {len(self._data)} elements has as many rows and a column for each time; got "
                f"{data.dtype}{data.shape} for times {times.dtype}{times.shape}"
            )
        self._set_samples(times, data)

    def _set_samples(self, times: Array, data: Array) -> None:
        """Replaces all samples, and the type of their scalars."""
        self.Reserve(len(times))
        self._times, self._data = self._times.astype(times.dtype), self._data.astype(data.dtype, order="F")
        self._times[: len(times)] = times
        self._data[:, : len(times)] = data
        self._count[0] = len(times)
        VectorLog.num_edits += 1

    def Reserve(self, capacity: int) -> None:
        """Makes room for at least `capacity` samples in all."""
        if capacity <= len(self._times):
            return
        VectorLog.num_edits += 1
        self._take_arrays(capacity, self._data.dtype)

    def _take_arrays(self, capacity: int, dtype: Any) -> None:
        """Moves the samples to larger arrays, or to those of another type of numbers."""
        times = np.empty(capacity, dtype)
        data = np.empty((len(self._data), capacity), dtype, order="F")
        times[: self.num_samples()] = self.sample_times()
        data[:, : self.num_samples()] = self.data()
        self._times, self._data = times, data

    def Clear(self) -> None:
        """Forgets all samples."""
        self.keep_first(0)

    def keep_first(self, number: int) -> None:
        """Forgets all samples but the first ones."""
        self._count[0] = number
        VectorLog.num_edits += 1

    def native_arrays(self) -> tuple[Array, Array, Array] | None:
        """Times, data and number of samples, for compiled code to write to; None if they are no floats."""
        if not self._times.dtype == self._data.dtype == np.float64:
            return None
        return self._times, self._data, self._count
