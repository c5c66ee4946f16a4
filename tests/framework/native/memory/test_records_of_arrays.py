"""Named tuples of arrays: one text over them, run by Python and compiled."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from merganser.framework.native import device, kernel, kernel_address
from merganser.framework.native.compiler.fingerprints import fingerprint
from merganser.framework.native.memory.records_of_arrays import (
    FLOAT,
    INTEGER,
    ONE_VALUE,
    ArrayOf,
    Code,
    Placed,
    RecordOf,
    address_of_record,
    clear_record,
    integers_of,
    new_record,
    numbers_of,
    record_at,
    record_at_address,
)
from merganser.framework.native.memory.tape import call_kernel, doubles_at, integers_at
from merganser.framework.native.operations.operations import CompiledOperation, caller_of

Array = np.ndarray[Any, Any]
ITEM = np.dtype([("count", np.int64), ("point", np.float64, (3,))])


class Pair(NamedTuple):
    first: Annotated[Array, ArrayOf(FLOAT)]
    second: Annotated[Array, ArrayOf(FLOAT, 2)]


class Part(NamedTuple):
    places: Annotated[Array, ArrayOf(INTEGER)]
    values: Annotated[Any, ArrayOf(FLOAT, 1, True)]


class Inner(NamedTuple):
    scale: float
    items: Annotated[Array, ArrayOf(ITEM)]


class Whole(NamedTuple):
    inner: Inner
    one: Annotated[Any, RecordOf(ITEM)]
    size: int
    pair: Annotated[Pair, ONE_VALUE]
    x: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    parts: tuple[Part, ...]
    add: Code
    out: Annotated[Array, ArrayOf(FLOAT)]


@kernel
def add_all(pair: Pair, x_in: Array, size: int) -> int:
    total = float(size)
    for i in range(pair.second.shape[0]):
        for j in range(pair.second.shape[1]):
            total += pair.second[i, j]
    for k in range(x_in.shape[0]):
        total += x_in[k]
    return int(total)


@device
def text(whole: Whole) -> None:
    for n in range(len(whole.parts)):
        part = whole.parts[n]
        for i in range(part.places.shape[0]):
            whole.out[part.places[i]] += part.values[i]
    whole.out[0] += whole.inner.items[1]["point"][2] + whole.one["count"] + whole.inner.scale * whole.size
    whole.out[1] += call_kernel(whole.add, (whole.pair, whole.x[1:], whole.size))
    first, second = whole.pair
    whole.out[2] += first[0] + second.shape[1]


whole_at = record_at(Whole)


def run_text(values: Any, numbers: Any, integers: Any) -> None:
    text(whole_at(values, integers))


VALUES = np.arange(20.0)


def make(is_compiled: bool, **changes: Any) -> Whole:
    items, one = np.zeros(3, ITEM), np.zeros(1, ITEM)
    items["point"], one["count"] = 7.0, 3
    pair = Pair(np.full(2, 0.5), np.arange(6.0).reshape(2, 3))

    def of_context(start: int, size: int, shift: int = 0) -> Any:
        return Placed(start - shift, (size,), shift) if is_compiled else VALUES[start : start + size]

    parts = Part(np.array([2, 0]), of_context(3, 2)), Part(np.array([1]), of_context(9, 1, 4))
    add = kernel_address(add_all, pair, VALUES, 1) if is_compiled else add_all.interpreted
    whole = Whole(Inner(0.25, items), one[0], 2, pair, of_context(5, 4, 1), parts, add, np.zeros(3))
    return whole._replace(**changes)


def test_python_and_compiled_code_read_the_same() -> None:
    python, compiled = make(False), make(True)
    text(python)
    integers = np.array(integers_of(compiled), np.int64)
    caller_of(CompiledOperation(run_text), VALUES, integers)()
    np.testing.assert_array_equal(compiled.out, python.out)
    assert python.out.tolist() == [4.0 + 7.0 + 3.0 + 0.5, 9.0 + 2.0 + 15.0 + 21.0, 3.0 + 0.5 + 3.0]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"out": np.zeros((3, 1))}, "Whole.out"),
        ({"out": np.zeros(3, np.float32)}, "Whole.out"),
        ({"out": np.zeros(6)[::2]}, "Whole.out"),
        ({"x": np.zeros(3)}, "Whole.x"),
        ({"one": np.zeros(1, [("other", np.int64)])[0]}, "Whole.one"),
        ({"inner": (0.25, np.zeros(3, ITEM))}, "Whole.inner"),
        ({"pair": Pair(np.zeros(2), np.zeros(6))}, "Pair.second"),
        ({"size": 2.0}, "Whole.size"),
        ({"add": add_all}, "Whole.add"),
    ],
)
def test_what_is_not_as_the_hints_say_is_refused(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(TypeError, match=name):
        integers_of(make(True, **changes))


def test_a_field_needs_a_hint_that_compiled_code_knows() -> None:
    class Vague(NamedTuple):
        x: Array

    with pytest.raises(TypeError, match=r"Vague\.x"):
        integers_of(Vague(np.zeros(1)))


class Clock(NamedTuple):
    ticks: int
    period: float
    is_late: int


clock_at = record_at(Clock)


@device
def tick(clock: Any, factor: float) -> None:
    clock.ticks += 1
    clock.period *= factor
    clock.is_late = clock.period > 1.0
    clock.ticks, clock.period = clock.ticks + clock.is_late, clock.period + clock.ticks


@kernel
def tick_compiled(address: int, factor: float) -> None:
    tick(clock_at(doubles_at(address), integers_at(address)), factor)


def test_python_and_compiled_code_change_the_same_record() -> None:
    both = []
    for is_compiled in (False, True):
        clock = new_record(Clock)
        assert not numbers_of(clock).any()
        clock.ticks, clock.period = 40, 0.75
        for factor in (0.5, 0.1):
            if is_compiled:
                tick_compiled(address_of_record(clock), factor)
            else:
                tick(clock, factor)
        both.append([clock.ticks, clock.period, clock.is_late])
        clear_record(clock)
        assert not numbers_of(clock).any()
    assert both[0] == both[1] == [43, pytest.approx(4.1375 + 42), 1]


def test_code_that_reads_a_record_is_kept_for_records_with_the_same_fields_only() -> None:
    def fingerprint_for(fields: list[tuple[str, Any]], inner: list[tuple[str, Any]]) -> str | None:
        point = NamedTuple("Point", inner)  # type: ignore[misc]
        point_at = record_at_address(NamedTuple("Line", [*fields, ("start", point)]))  # type: ignore[misc]

        def read(address: int) -> Any:
            return point_at(address).x

        return fingerprint(read)

    fields, swapped = [("x", int), ("y", float)], [("y", float), ("x", int)]
    prints = [fingerprint_for(*each) for each in ((fields, fields), (swapped, fields), (fields, swapped))]
    assert None not in prints and len(set(prints)) == 3
    assert fingerprint_for(fields, fields) == prints[0]
