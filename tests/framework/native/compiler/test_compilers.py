"""Compilation of helpers: once for all that call them, with no machine code of their own."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.codegen import JITCodeLibrary

from merganser.framework.native import device, inlined, kernel

Array = np.ndarray


@device
def _last(x: Array) -> float:
    return float(x[len(x) - 1])


@device
def _by_helper(x: Array) -> float:
    return _last(x) + 1.0


@inlined
def _by_inlined(x: Array) -> float:
    return _last(x) + 2.0


def _by_all(x: Array) -> float:
    return _last(x) + _by_helper(x) + _by_inlined(x)


@device
def _third(x: Array) -> float:
    return float(x[2])


@device
def _second_and_third(x: Array) -> float:
    return float(x[1]) + _third(x)


def _sum_of_three(x: Array) -> float:
    return float(x[0]) + _second_and_third(x)


@device
def _fails(x: Array) -> float:
    return float(x.no_such_attribute)


def _calls_what_fails(x: Array) -> float:
    return _fails(x)


class _Counter(event.Listener):
    """How often each function was compiled; requests that are met at once have no events of passes."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()

    def on_start(self, event: event.Event) -> None:
        name = str(event.data["name"])
        if "native_lowering" in name:
            self.numbers[str(event.data["qualname"])] += 1

    def on_end(self, event: event.Event) -> None:
        pass


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))


def test_a_helper_is_compiled_once_for_a_kernel_a_helper_and_an_inlined_one() -> None:
    counter = _Counter()
    with event.install_listener("numba:run_pass", counter):
        assert kernel(_by_all)(np.array([5.0, 7.0])) == 7.0 + 8.0 + 9.0
    of_helper = [n for name, n in counter.numbers.items() if name.endswith("_last")]
    assert of_helper == [1]


def test_only_the_kernel_becomes_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    finalize = JITCodeLibrary._finalize_specific

    def note(library: JITCodeLibrary) -> None:
        made.append(library.name)
        finalize(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", note)
    assert kernel(_sum_of_three)(np.array([1.0, 2.0, 4.0])) == 7.0
    assert [name for name in made if "sum" in name or "third" in name] == ["_sum_of_three"]


def test_garbage_is_collected_again_after_a_compilation_that_failed() -> None:
    with pytest.raises(Exception, match="no_such_attribute"):
        kernel(_calls_what_fails)(np.zeros(1))
    assert gc.isenabled()


@device
def _turn(y: float, x: Array, scale: float, offset: float) -> float:
    y += np.sin(y * scale + offset) * np.exp(-scale * offset)
    if y > 7.0 * scale:
        y = np.cos(y) + x[0]
    y += np.sin(y * 2.5 + scale) * np.exp(-2.0 * offset)
    if y > 14.0 * scale:
        y = np.cos(y) + x[1]
    return y


@device
def _long(x: Array, unused: int, scale: float, offset: float, out: Array) -> int:
    """So long that it stays a function of its own."""
    y = 0.0
    for i in range(x.shape[0]):
        y = _turn(_turn(_turn(y, x, scale, offset), x, 2.0 * scale, offset), x, 3.0 * scale, offset)
        y = _turn(_turn(_turn(y, x, 4.0 * scale, offset), x, 5.0 * scale, offset), x, 6.0 * scale, offset)
        y = _turn(_turn(_turn(y, x, 7.0 * scale, offset), x, 8.0 * scale, offset), x, 9.0 * scale, offset)
        out[i] = y
    return 0


@device
def _calls_long(x: Array, scale: float, other: float, out: Array) -> None:
    _long(x, 3, scale, x[0], out)
    _long(out, 3, scale, x[1], x)
    _long(x, 3, other, x[2], out)
    _long(out, 3, other, x[2], x)


def _with_ones(x: Array, out: Array) -> None:
    _calls_long(x, 1.0, 1.0, out)


def _with_others(x: Array, out: Array) -> None:
    _calls_long(x, 2.0, 3.0, out)


@device
def _by_third(x: Array) -> float:
    return _third(x) + 1.0


def _first_is_left_out(x: Array) -> float:
    total = 0.0
    if 0 * len(x) > 0:  # LLVM finds out that this is never so
        total += _second_and_third(x)
    return total + _by_third(x)


def _last_is_left_out(x: Array) -> float:
    total = _by_third(x)
    if 0 * len(x) > 0:  # LLVM finds out that this is never so
        total += _second_and_third(x)
    return total


@pytest.mark.parametrize("function", [_first_is_left_out, _last_is_left_out])
@pytest.mark.filterwarnings("error")
def test_a_helper_is_there_though_another_that_calls_it_was_left_out(function: Callable[[Array], float]) -> None:
    assert kernel(function)(np.array([1.0, 2.0, 4.0])) == 5.0


def test_helpers_changed_for_one_kernel_are_not_used_by_other_code() -> None:
    """LLVM has one table of names for all that numba compiles, and the kernel's helper has lost its unused argument."""
    results = [np.array([0.1, 0.2, 0.3]) for _ in range(4)]
    kernel(_with_ones)(results[0].copy(), results[1].copy())
    numba.njit(_with_others, nogil=True, error_model="numpy", _nrt=False)(*results[:2])
    _with_others(*results[2:])
    np.testing.assert_allclose(results[:2], results[2:], rtol=1e-12)
