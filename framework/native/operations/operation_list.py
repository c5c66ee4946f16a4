"""Lists of operations, and how to run them: what compiled code has to know of a list stands in an array of integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.kernels import device, kernel, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.tape import SUCCEEDED, call_operation, integers_at, no_failure, raise_kept

__all__ = ["OperationList", "run_all", "run_operations", "run_part", "values_of"]

_number = itertools.count()
NUM_OPERATIONS = next(_number)
ADDRESSES = next(_number)  # address of the addresses of the operations
STARTS = next(_number)  # address of the addresses of their lists of integers
VALUES = next(_number)  # address of the flat array of the Context
NUMBERS = next(_number)  # address of the constants
FAILURE = next(_number)  # address of what operations set that do not succeed, see no_failure()
AT = next(_number)  # number of the operation that did not succeed
NUM_FIELDS = next(_number)


@device
def run_part(operations: int, begin: int, end: int) -> int:
    """Runs some of a list, up to one that does not succeed: returns what that has come to, and notes which."""
    i = integers_at(operations)
    addresses, starts, failure = integers_at(i[ADDRESSES]), integers_at(i[STARTS]), integers_at(i[FAILURE])
    values, numbers = i[VALUES], i[NUMBERS]
    for n in range(begin, end):
        call_operation(addresses[n], values, numbers, starts[n])
        if failure[0] != SUCCEEDED:
            status = failure[0]
            failure[0] = SUCCEEDED
            i[AT] = n
            return status
    return SUCCEEDED


@device
def run_all(operations: int) -> int:
    """Runs a list of operations."""
    return run_part(operations, 0, integers_at(operations)[NUM_OPERATIONS])


@device
def values_of(operations: int) -> int:
    """Address of the flat array of the Context."""
    return integers_at(operations)[VALUES]


@kernel
def run_operations(operations: int, begin: int, end: int) -> int:
    """See `run_part`."""
    return run_part(operations, begin, end)


class OperationList:
    """Operations on the flat array of one Context, and all that must be kept for them.

    Args:
        values: the flat array.

    Attributes:
        address: by which compiled code knows the list.
        failure: what operations that do not succeed have come to, see no_failure().
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.failure = no_failure()
        self._fields: NDArray[np.int64] = np.zeros(NUM_FIELDS, dtype=np.int64)
        self._fields[VALUES], self._fields[FAILURE] = address_of_array(values), address_of_array(self.failure)
        self._values = values
        self._arrays: tuple[NDArray[Any], ...] = ()
        self.address: int = address_of_array(self._fields)
        self._run: Any = None

    def set(
        self, addresses: NDArray[Any], starts: NDArray[Any], integers: NDArray[Any], numbers: NDArray[Any]
    ) -> None:
        """Sets what it consists of, see Assembly.finish()."""
        self._arrays = addresses, starts, integers, numbers
        fields = self._fields
        fields[NUM_OPERATIONS] = len(addresses)
        fields[ADDRESSES], fields[STARTS], fields[NUMBERS] = map(address_of_array, (addresses, starts, numbers))

    def __len__(self) -> int:
        return self._fields.item(NUM_OPERATIONS)

    @property
    def integers(self) -> NDArray[Any]:
        """The lists of integers of all operations."""
        return self._arrays[2]

    def at(self) -> int:
        """The number of the operation that did not succeed."""
        return self._fields.item(AT)

    def run(self, begin: int = 0, end: int | None = None) -> int:
        """Runs it, or a part of it, up to an operation that does not succeed: returns what that has come to."""
        if self._run is None:
            self._run = specialize(run_operations, self.address, 0, 0)
        status: int = self._run(self.address, begin, len(self) if end is None else end)
        return status

    def raise_kept(self) -> None:
        """Raises what an operation that calls Python has raised."""
        raise_kept(self.failure)
