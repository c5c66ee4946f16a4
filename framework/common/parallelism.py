"""How many threads a function may use."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


class Parallelism:
    """How many threads a function may use; one by default.

    Args:
        parallelize: False for one thread, True for as many as there are processors; or how many.
        num_threads: how many.

    Raises:
        TypeError: neither a truth value nor an integer.
        RuntimeError: `num_threads` is less than 1.
    """

    __slots__ = ("_num_threads",)

    def __init__(self, parallelize: bool | int = False, *, num_threads: int | None = None) -> None:
        wanted: Any = parallelize if num_threads is None else num_threads
        if not isinstance(wanted, (int, np.integer, np.bool_)):
            raise TypeError(f"Parallelism: expected True, False or a number of threads, got {wanted!r}.")
        if isinstance(wanted, (bool, np.bool_)):
            wanted = _num_processors() if wanted else 1
        if wanted < 1:
            raise RuntimeError(f"Parallelism: the number of threads must be at least 1, got {wanted}.")
        self._num_threads = int(wanted)

    @staticmethod
    def Max() -> Parallelism:
        """Returns as many threads as there are processors."""
        return Parallelism(True)

    def num_threads(self) -> int:
        """Returns the number of threads, at least 1."""
        return self._num_threads

    def __repr__(self) -> str:
        return f"Parallelism(num_threads={self._num_threads})"


def _num_processors() -> int:
    """As many as there are, or as DRAKE_NUM_THREADS says, if that is fewer."""
    available = os.cpu_count() or 1
    wanted = os.environ.get("DRAKE_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", ""))
    return min(int(wanted), available) if wanted.isdigit() and int(wanted) > 0 else available
