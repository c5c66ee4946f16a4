"""The codes by which compiled code knows what the arguments of an operation are, and finds them by its integers."""

from __future__ import annotations

from typing import NamedTuple


class WireCode(NamedTuple):
    """How the argument of an operation is written down.

    Attributes:
        meaning: what it is.
        integers: the names of the integers for it, in order. A `place` is an offset among the numbers of the Context
            for what changes, and among the constants of the operation for what does not; `first` is how much further on
            a part of a vector begins; `list_at` is where among the integers of the operation a list stands.
        fetch: what compiled code makes of them, see native/memory/wire_arrays.py.
    """

    meaning: str
    integers: str
    fetch: str


WIRE_CODES = {
    "w": WireCode(
        "a vector among the numbers of the Context",
        "place first size",
        "vector_at(further(values, {place} + {first}), {size})",
    ),
    "r": WireCode(
        "a matrix among them, by rows",
        "place first rows columns",
        "matrix_at(further(values, {place} + {first}), {rows}, {columns})",
    ),
    "k": WireCode(
        "a matrix among them, by columns",
        "place first rows columns",
        "matrix_by_columns_at(further(values, {place} + {first}), {rows}, {columns})",
    ),
    "t": WireCode("the time", "place", "values[{place}]"),
    "l": WireCode(
        "several vectors; the list has place, first and size of each",
        "size list_at",
        "arrays_at(values, further(integers, {list_at}), {size})",
    ),
    "c": WireCode("a constant vector", "place size", "vector_at(further(numbers, {place}), {size})"),
    "m": WireCode("a constant matrix", "place rows columns", "matrix_at(further(numbers, {place}), {rows}, {columns})"),
    "f": WireCode("a constant number", "place", "numbers[{place}]"),
    "n": WireCode("a vector of integers", "size list_at", "vector_at(further(integers, {list_at}), {size})"),
    "i": WireCode("an integer", "itself", "{itself}"),
    "g": WireCode(  # no wire, for operations made by hand
        "a generator of random numbers, see native/operations/native_operations.py",
        "a b c d e f",
        "generator_at({a}, {b}, {c}, {d}, {e}, {f})",
    ),
}
