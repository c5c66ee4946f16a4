"""Named tuples of arrays that compiled code hands on by their address."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.references import by_reference


class Table(NamedTuple):
    rows: Any
    weights: Any
    counts: Any


@device
def _total(table: Table, depth: float) -> float:
    total = depth * table.counts[0]
    for k in range(table.rows.shape[0]):
        total += table.rows[k, 0] + 10.0 * table.rows[k, 2] * table.weights[k]
    return total


@kernel
def _total_by_reference(table: Table) -> float:
    table = by_reference(table)
    total = 0.0
    for k in range(3):
        total += _total(table, 1.0 * k)
    return total


def test_compiled_code_reads_the_arrays_behind_the_address() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 4, 9):
        table = Table(rng.normal(size=(n, 3)), rng.normal(size=n), np.array([7, n]))
        expected = sum(_total(table, 1.0 * k) for k in range(3))
        np.testing.assert_allclose(_total_by_reference(table), expected, rtol=1e-14)


def test_python_gets_the_tuple_itself() -> None:
    table = Table(np.zeros((1, 3)), np.zeros(1), np.zeros(1, np.int64))
    assert by_reference(table) is table
