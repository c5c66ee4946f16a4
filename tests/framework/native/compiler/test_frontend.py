"""The short way from Python to LLVM's instructions: what it makes computes what numba's does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.postproc import VariableLifetime

from merganser.framework.native import kernel
from merganser.framework.native.compiler import lean_compilers as compilers
from merganser.framework.native.compiler import numba_front as compiler
from merganser.framework.native.compiler.plain_calls import plain_call

Array = np.ndarray
_RECORD = np.dtype([("length", np.float64), ("kind", np.int64), ("rows", np.float64, (3, 2))], align=True)


def _mixed(record_in, values_in, numbers_in, total_out):
    """A little of all that kernels do."""
    pair = values_in[0, 0], record_in["length"]
    total = 0.0 * pair[0]
    for i in range(numbers_in.shape[0]):
        j = numbers_in[i]
        if j != 1 and record_in["kind"] > 0:
            total += values_in[i, j] * pair[1] ** 2 - record_in["rows"][i, 1]
        else:
            total -= values_in[-1, j] / 2
        row, part = values_in[i, 1:], numbers_in[i : i + 1]
        total += row[0] * part[0] + values_in[i][:j].shape[0]
        numbers_in[i] += 1
    record_in["rows"][0, 0] = 7.0
    total_out[0] = total
    total_out[-1] += total**3
    return numbers_in[-1]


def _assembly(monkeypatch: pytest.MonkeyPatch, package: str, scalar: type, order: str) -> str:
    """The assembly of the function, with names that do not depend on how often it was compiled."""
    compiler.prepare()  # before helpers of other tests seem to be of this package, which then check no indices
    monkeypatch.setattr(compilers, "package_of", lambda function: package)
    compiler._dispatcher.cache_clear()
    values = np.asarray(np.ones((3, 4), scalar), order=order)[:: 1 if order != "A" else 2]
    arguments = np.zeros(1, _RECORD)[0], values, np.arange(2), np.zeros(2, scalar)
    library = compiler.compile_kernel(_mixed, compiler.types_of(arguments))[0].owner
    assembly = library._codegen._tm.emit_assembly(library._final_module)
    return re.sub(r"_ZN\w+|\.const\.[\w$.]+", "NAME", assembly)


def _results(monkeypatch: pytest.MonkeyPatch, function: Any, package: str, *arguments: Any) -> None:
    """Calls a function, compiled as one of a package is."""
    compiler.prepare()  # as above
    monkeypatch.setattr(compilers, "package_of", lambda function: package)
    monkeypatch.setattr(compiler, "package_of", lambda function: package)
    compiler._dispatcher.cache_clear()
    code = compiler.compile_kernel(function, compiler.types_of(arguments))[0]
    plain_call(function.__name__, code, arguments, releases_lock=False)(*arguments)


@pytest.mark.parametrize("scalar", [float, complex])
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_results_are_the_same_as_by_all_steps_of_numba(
    monkeypatch: pytest.MonkeyPatch, scalar: type, order: str
) -> None:
    found = []
    for package in ("framework", ""):
        record, numbers, total = np.ones(1, _RECORD)[0], np.array([1, 0, 2]), np.zeros(2, scalar)
        values = np.asarray(np.random.default_rng(1).normal(size=(6, 4)).astype(scalar), order=order)
        _results(monkeypatch, _mixed, package, record, values[:: 1 if order != "A" else 2], numbers, total)
        found.append((total.tobytes(), numbers.tobytes(), record.tobytes()))
    assert found[0] == found[1]


def _parts(values_in, table_in, first, sizes_out, numbers_out):
    """All kinds of parts of arrays that kernels take."""
    sizes_out[0], sizes_out[1] = values_in[first:].shape[0], values_in[:first].shape[0]
    sizes_out[2], sizes_out[3] = values_in[first:100].shape[0], values_in[3:first].shape[0]
    sizes_out[4], sizes_out[5] = values_in[:-1].shape[0], values_in[1:4:2].shape[0]
    sizes_out[6], sizes_out[7] = table_in[0:2, 1:3].shape[1], table_in[first].shape[0]
    sizes_out[8] = values_in[99:100].shape[0]
    numbers_out[0], numbers_out[1] = values_in[first:][0], values_in[-2:][0]
    numbers_out[2], numbers_out[3] = table_in[:, first][2], table_in[0:2, 1:3][1, 1]
    numbers_out[4], numbers_out[5] = table_in[1:-1, -2][0], table_in[-1, -1]
    numbers_out[6] = table_in[first][-1]
    numbers_out[7], numbers_out[8] = values_in[first : first + 2][0], values_in[first : first + 2][1]


def test_parts_of_arrays_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    values, table = np.arange(1.0, 6.0), np.arange(12.0).reshape(3, 4)
    sizes, numbers = np.full(9, -1), np.full(9, np.nan)
    _results(monkeypatch, _parts, "framework", values, table, 1, sizes, numbers)
    expected = np.full(9, -1), np.full(9, np.nan)
    _parts(values, table, 1, *expected)
    np.testing.assert_array_equal(sizes, expected[0])
    np.testing.assert_array_equal(numbers, expected[1])


def _at(values_in, index, total_out):
    total_out[0] = values_in[index]


def _from(values_in, index, total_out):
    total_out[0] = values_in[index:].shape[0]


@pytest.mark.parametrize("function", [_at, _from])
def test_a_computed_negative_index_is_an_error_where_numba_looks(
    monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    """Kernels do not count from the end by it; a function of a user does."""
    monkeypatch.setattr("numba.core.config.BOUNDSCHECK", 1)
    total = np.zeros(1)
    _results(monkeypatch, function, "framework", np.arange(3.0), 1, total)
    with pytest.raises(IndexError, match="was ended by an exception, such as an index that is out of bounds"):
        _results(monkeypatch, function, "framework", np.arange(3.0), -1, total)
    _results(monkeypatch, function, "", np.arange(3.0), -1, total)
    assert total == (2.0 if function is _at else 1.0)


def test_lifetimes_of_variables_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(processor: Any) -> None:
        raise AssertionError("a kernel counts no references")

    assert _assembly(monkeypatch, "framework", float, "C")  # and numba's own functions, of which they are
    monkeypatch.setattr(VariableLifetime, "deadmaps", property(fail))
    assert _assembly(monkeypatch, "framework", float, "C")


def test_steps_that_kernels_do_not_need_are_for_functions_of_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def double_all(values_in: Array) -> float:
        def double(value: float) -> float:
            return 2.0 * value

        return double(values_in[0]) + double(values_in[1])

    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    assert kernel(double_all)(np.array([1.0, 2.0])) == 6.0
