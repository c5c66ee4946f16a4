"""Kernels with bound arguments."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from merganser.framework.native import Given, Result, bind, kernel
from merganser.framework.native.compiler import entry_points

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="numba does not compile")


@kernel
def scale(factor: float, values_in: Any, first: int, scaled_out: Any) -> None:
    for i in range(first, values_in.shape[0]):
        scaled_out[i] = factor * values_in[i]


@kernel
def split(values_in: Any, low_out: Any, high_out: Any) -> int:
    for i in range(values_in.shape[0]):
        low_out[i] = min(values_in[i], 0.0)
        high_out[0, i] = max(values_in[i], 0.0)
    return values_in.shape[0]


@kernel
def is_positive(value: float) -> bool:
    return value > 0.0


@kernel
def negated(value: bool) -> bool:
    return not value


@kernel
def add_all(table_in: Any) -> float:
    total = 0.0
    for i in range(table_in.shape[0]):
        for j in range(table_in.shape[1]):
            total += table_in[i, j]
    return total


@kernel
def add_field(records_in: Any) -> float:
    total = 0.0
    for i in range(records_in.shape[0]):
        total += records_in[i]["mass"]
    return total


@kernel
def field_of(record_in: Any) -> float:
    return record_in["mass"]


class Weights(NamedTuple):
    scale: float
    values: Any


@kernel
def weigh(weights: Weights, values_in: Any) -> float:
    total = 0.0
    for i in range(values_in.shape[0]):
        total += weights.values[i] * values_in[i]
    return weights.scale * total


@pytest.fixture(params=["builtin", "python"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The builtin, and its replacement where objects have another layout."""
    if request.param == "python":
        monkeypatch.setattr(entry_points, "_is_layout_known", lambda: False)
    return request.param


def test_bound_arrays_are_read_and_written_where_they_are(form: str) -> None:
    values, out = np.arange(4.0), np.zeros(4)
    run: Callable[..., Any] = bind(scale, 2.0, values, 1, out)
    assert run() is None
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]
    values[:] = 5.0
    run()
    assert out.tolist() == [0.0, 10.0, 10.0, 10.0]


def test_given_arguments_come_in_their_order(form: str) -> None:
    values, out = np.arange(3.0), np.zeros(3)
    run = bind(scale, Given(1.0), values, Given(0), Given(out))
    run(3, np.int64(1), out)
    assert out.tolist() == [0.0, 3.0, 6.0]
    run(-0.5, 0, out)
    assert out.tolist() == [0.0, -0.5, -1.0]


def test_given_arrays_may_have_strides(form: str) -> None:
    run = bind(add_all, Given(np.zeros((4, 4))[::2, ::2]))
    assert run(np.arange(12.0).reshape(3, 4)) == 66.0
    assert run(np.arange(12.0).reshape(3, 4)[:, ::3]) == 0.0 + 3.0 + 4.0 + 7.0 + 8.0 + 11.0


def test_records_can_be_bound(form: str) -> None:
    records = np.zeros(3, [("name", np.int64), ("mass", np.float64)])
    records["mass"] = [1.0, 2.0, 4.0]
    assert bind(add_field, records[1:])() == 6.0
    assert bind(field_of, records[2])() == 4.0
    assert bind(field_of, Given(records[0]))(records[1]) == 2.0


def test_named_tuples_can_be_bound(form: str) -> None:
    weights = Weights(0.5, np.array([1.0, 2.0]))
    run = bind(weigh, weights, Given(np.zeros(2)))
    weights.values[0] = 3.0
    del weights
    assert run(np.array([10.0, 1.0])) == 16.0


def test_tuples_can_be_given(form: str) -> None:
    run = bind(weigh, Given(Weights(0.5, np.ones(2))), Given(np.zeros(2)))
    assert run(Weights(2.0, np.array([1.0, 3.0])), np.array([10.0, 1.0])) == 26.0


@needs_compiler
def test_tuples_of_other_sizes_are_type_errors() -> None:
    run = bind(weigh, Given(Weights(0.5, np.ones(2))), Given(np.zeros(2)))
    for wrong in ((1.0,), [2.0, np.ones(2)], None, (1.0, 2.0)):
        with pytest.raises(TypeError):
            run(wrong, np.ones(2))


def test_results_are_new_arrays_beside_what_the_kernel_returns(form: str) -> None:
    run = bind(split, Given(np.zeros(3)), Result((3,)), Result((1, 3)))
    count, low, high = run(np.array([-1.0, 2.0, -3.0]))
    other = run(np.zeros(3))
    assert count == 3
    assert low.tolist() == [-1.0, 0.0, -3.0]
    assert high.tolist() == [[0.0, 2.0, 0.0]]
    assert not any(np.shares_memory(a, b) for a, b in zip((low, high), other[1:]))


def test_one_result_comes_alone(form: str) -> None:
    doubled = bind(scale, 2.0, Given(np.zeros(2)), 0, Result((2,)))(np.array([1.0, 2.0]))
    assert doubled.tolist() == [2.0, 4.0] and doubled.flags.owndata and doubled.flags.writeable


@pytest.mark.parametrize(
    "given",
    [[1.0, 2.0], np.zeros(3), np.zeros((2, 1)), np.zeros(4)[::2], np.zeros(2, np.float32), np.zeros(2, object), None],
    ids=["a list", "too long", "two dimensions", "strided", "float32", "objects", "None"],
)
def test_a_checked_array_that_does_not_fit_leaves_the_kernel_uncalled(form: str, given: Any) -> None:
    out = np.ones(2)
    run = bind(scale, 2.0, Given(np.zeros(2), is_checked=True), 0, out)
    assert run(given) is None
    assert out.tolist() == [1.0, 1.0]
    run(np.array([1.0, 2.0]))
    assert out.tolist() == [2.0, 4.0]


@needs_compiler
def test_objects_are_laid_out_as_expected() -> None:
    """If this fails, all still works, in more time."""
    assert entry_points._is_layout_known()


@needs_compiler
def test_wrong_arguments_are_type_errors() -> None:
    run = bind(scale, Given(1.0), Given(np.zeros(2)), 0, np.zeros(2))
    with pytest.raises(TypeError, match=r"scale\(\) takes 2 arguments"):
        run(1.0)
    with pytest.raises(TypeError, match="takes an array of 1 dimensions"):
        run(1.0, [1.0, 2.0])
    with pytest.raises(TypeError, match="takes an array of 1 dimensions"):
        run(1.0, np.zeros((2, 2)))
    with pytest.raises(TypeError, match="takes a contiguous array"):
        run(1.0, np.zeros(4)[::2])
    with pytest.raises(TypeError, match="takes a contiguous array"):
        run(1.0, np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="takes a record"):
        bind(field_of, Given(np.zeros(1, [("mass", np.float64)])[0]))(1.0)
    with pytest.raises(TypeError, match="must be real number"):
        run("1", np.zeros(2))


def test_numbers_and_truths_are_returned(form: str) -> None:
    run = bind(is_positive, Given(0.0))
    assert run(1.0) is True and run(-1.0) is False


@needs_compiler
def test_bound_arrays_live_as_long_as_the_function() -> None:
    out = np.zeros(2)
    watch = weakref.ref(out)
    run: Any = bind(scale, 1.0, np.ones(2), 0, out)
    del out
    gc.collect()
    assert watch() is not None
    run()
    assert watch().tolist() == [1.0, 1.0]  # type: ignore[union-attr]
    del run
    gc.collect()
    assert watch() is None


@needs_compiler
def test_no_reference_is_lost_or_kept() -> None:
    given = np.ones(2)
    run = bind(split, Given(np.zeros(2)), Result((2,)), Result((1, 2)))
    before = sys.getrefcount(given), sys.getrefcount(None), sys.getrefcount(np.float64)
    for _ in range(100):
        _, low, high = run(given)
    assert sys.getrefcount(low) == sys.getrefcount(high) == 2
    after = sys.getrefcount(given), sys.getrefcount(None), sys.getrefcount(np.float64)
    assert all(abs(b - a) < 50 for a, b in zip(before, after))


@needs_compiler
def test_threads_that_bind_at_the_same_time_share_one_code() -> None:
    @kernel
    def negate(value_in: Any, negated_out: Any) -> None:
        negated_out[0] = -value_in[0]

    start = threading.Barrier(4)

    def work(i: int) -> Any:
        start.wait()
        return bind(negate, np.full(1, float(i)), Result((1,)))

    with ThreadPoolExecutor(4) as pool:
        functions = list(pool.map(work, range(4)))
    codes = {id(function.__self__[-1]) for function in functions}
    assert len(codes) == 1 and [function()[0] for function in functions] == [0.0, -1.0, -2.0, -3.0]


@needs_compiler
def test_a_function_keeps_its_code_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "_compiled", {})
    function = bind(add_all, np.ones((2, 3)))
    (code,) = entry_points._compiled.values()
    reference = weakref.ref(code)
    del code
    entry_points._compiled.clear()
    gc.collect()  # looks into the function's definition
    assert reference() is not None and function.__name__ == "add_all" and function() == 6.0


_SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from merganser.framework.native import Given, bind
from merganser.framework.native.compiler import entry_points
from merganser.multibody.kernels.checked_arrays import is_finite

entry_points.cache_directory = lambda _package: Path(sys.argv[1])
if sys.argv[2:]:
    sys.modules["merganser.framework.native.compiler.entry_point_writer"] = None
call = bind(is_finite, Given(np.zeros(3)))
print(call(np.ones(3)), call(np.full(3, np.nan)))
"""


@needs_compiler
def test_machine_code_is_kept_for_other_processes_and_rewritten_if_damaged(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", _SCRIPT, str(tmp_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run() == "True False\n"
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    assert run("nothing can be written") == "True False\n"
    file.write_bytes(content[: len(content) // 2])
    assert run() == "True False\n"
    assert len(file.read_bytes()) > len(content) // 2


def test_truths_of_numpy_are_taken_like_those_of_python(form: str) -> None:
    negate = bind(negated, Given(True))
    assert [negate(value) for value in (True, np.True_, False, np.False_)] == [False, False, True, True]
    assert bind(negated, np.False_)() is True and negated(np.True_) is False
    with pytest.raises((ValueError, TypeError)):
        negate(np.ones(2))
