"""The short way from Python to LLVM's instructions: it makes what numba makes."""

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
        numbers_in[i] += 1
    record_in["rows"][0, 0] = 7.0
    total_out[0] = total
    total_out[-1] += total**3
    return numbers_in[-1]


def _assembly(monkeypatch: pytest.MonkeyPatch, package: str, scalar: type, order: str) -> str:
    """The assembly of the function, with names that do not depend on how often it was compiled."""
    monkeypatch.setattr(compilers, "package_of", lambda function: package)
    compiler._dispatcher.cache_clear()
    values = np.asarray(np.ones((3, 4), scalar), order=order)[:: 1 if order != "A" else 2]
    arguments = np.zeros(1, _RECORD)[0], values, np.arange(2), np.zeros(2, scalar)
    library = compiler.compile_kernel(_mixed, compiler.types_of(arguments))[0].owner
    assembly = library._codegen._tm.emit_assembly(library._final_module)
    return re.sub(r"_ZN\w+|\.const\.[\w$.]+", "NAME", assembly)


@pytest.mark.parametrize("scalar", [float, complex])
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_machine_code_is_the_same_as_by_all_steps_of_numba(
    monkeypatch: pytest.MonkeyPatch, scalar: type, order: str
) -> None:
    ours = _assembly(monkeypatch, "framework", scalar, order)
    assert ours == _assembly(monkeypatch, "", scalar, order)
    assert len(ours.splitlines()) > 50


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
