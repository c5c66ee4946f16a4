"""Lists of operations, and how to run them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from merganser.framework.native.compiler.kernels import PreparedKernel, device, kernel, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import (
    Integers,
    address_of_record,
    new_record,
    place_arrays,
    record_at_address,
)
from merganser.framework.native.memory.tape import SUCCEEDED, call_operation, no_failure, raise_kept


class Operations(NamedTuple):
    """A list of operations, as compiled code knows it.

    Attributes:
        addresses: of the operations.
        starts: addresses of their lists of integers.
        values: address of the flat array of the Context.
        numbers: address of the constants.
        failure: what operations set that do not succeed, see no_failure().
        at: number of the operation that did not succeed.
    """

    addresses: Integers
    starts: Integers
    values: int
    numbers: int
    failure: Integers
    at: int


operations_at = record_at_address(Operations)


@device
def run_part(operations: int, begin: int, end: int) -> int:
    """Runs some of a list, up to one that does not succeed: returns what that has come to, and notes which."""
    given = operations_at(operations)
    addresses, starts, failure = given.addresses, given.starts, given.failure
    values, numbers = given.values, given.numbers
    for n in range(begin, end):
        call_operation(addresses[n], values, numbers, starts[n])
        if failure[0] != SUCCEEDED:
            status = failure[0]
            failure[0] = SUCCEEDED
            given.at = n
            return status
    return SUCCEEDED


@device
def run_all(operations: int) -> int:
    """Runs a list of operations."""
    return run_part(operations, 0, len(operations_at(operations).addresses))


@kernel
def run_operations(operations: int, begin: int, end: int) -> int:
    """See `run_part`."""
    return run_part(operations, begin, end)


RUN = PreparedKernel(run_operations, 0, 0, 0)


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
        self._record = new_record(Operations)
        self._record.values = address_of_array(values)
        place_arrays(self._record, failure=self.failure)
        self._values = values
        self._arrays: tuple[NDArray[Any], ...] = ()
        self.address: int = address_of_record(self._record)
        self._run: Any = None

    def set(
        self, addresses: NDArray[Any], starts: NDArray[Any], integers: NDArray[Any], numbers: NDArray[Any]
    ) -> None:
        """Sets what it consists of, see Assembly.finish()."""
        self._arrays = addresses, starts, integers, numbers
        place_arrays(self._record, addresses=addresses, starts=starts)
        self._record.numbers = address_of_array(numbers)

    def __len__(self) -> int:
        return len(self._arrays[0]) if self._arrays else 0

    @property
    def integers(self) -> NDArray[Any]:
        """The lists of integers of all operations."""
        return self._arrays[2]

    @property
    def values(self) -> NDArray[Any]:
        """The flat array that they work on."""
        return self._values

    def at(self) -> int:
        """The number of the operation that did not succeed."""
        number: int = self._record.at
        return number

    def run(self, begin: int = 0, end: int | None = None) -> int:
        """Runs it, or a part of it, up to an operation that does not succeed: returns what that has come to."""
        if self._run is None:
            self._run = specialize(run_operations, self.address, 0, 0)
        status: int = self._run(self.address, begin, len(self) if end is None else end)
        return status

    def raise_kept(self) -> None:
        """Raises what an operation that calls Python has raised."""
        raise_kept(self.failure)
