"""Where Python, numpy or numba are not as expected inside, the same comes out to the last bit, in more time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework.native import Given, Result, bind, device, inlined, kernel, specialize
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.shared_code import shared
from merganser.framework.native.memory.simd import set_six, six_at, square_root, where

needs_compiler = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


@inlined
def _root(x: Any) -> Any:
    return square_root(where(x > 0.0, x, 0.1 * x * x))


@device
def _series(x: Any, n: int) -> Any:
    total = x
    for k in range(1, n):
        total = total + np.sin(total) / k
    return total


@shared(int)
def _count_above(values: Floats, start: int) -> int:
    count = start
    for i in range(values.shape[0]):
        if values[i] > 0.3:
            count += 1
    return count


@kernel
def nothing(x_in: Any, factor: float, y_out: Any) -> None:
    for i in range(x_in.shape[0]):
        y_out[i] = factor * _series(x_in[i], 9)


@kernel
def constant(x_in: Any, y_out: Any) -> int:
    y_out[0] = _series(x_in[0], 5)
    return 0


@kernel
def number(x_in: Any, n: int) -> float:
    return float(_series(x_in[0], n) / 3.0)


@kernel
def integer(x_in: Any, n: int) -> int:
    return _count_above(x_in, n)


@kernel
def truth(x: float) -> bool:
    return x > 0.25


@kernel
def imaginary(x: complex, y_in: Any) -> complex:
    return complex(_series(x * y_in[0], 7))


@kernel
def on_six(x_in: Any, y_out: Any) -> int:
    set_six(y_out, 0, _root(six_at(x_in, 0)) * 1.1)
    return 0


@kernel
def of_tuple(pair: Any, record_in: Any) -> float:
    return float(pair[0] * pair[1][0] + record_in["mass"])


def results() -> list[Any]:
    """Results and outputs of kernels of every kind."""
    x, out, one = np.random.default_rng(0).normal(size=8), np.zeros(8), np.zeros(1)
    record = np.array([(2.5,)], [("mass", np.float64)])[0]
    found: list[Any] = [bind(nothing, Given(x), 1.5, out)(x), out.copy(), bind(nothing, Given(x), 0.5, Result((8,)))(x)]
    found += [constant(x, one), one.copy(), number(x, 6), integer(x, 4), truth(x[0]), truth(0.3), truth(0.2)]
    found += [imaginary(0.3 + 1e-100j, x), imaginary(1j, x), specialize(on_six, x, np.zeros(8))(x, x)]
    found += [x, of_tuple((2.0, x), record), bind(of_tuple, Given((0.0, x)), record)((3.0, x))]
    return found


_SCRIPT = """
import sys
{change}
sys.path.insert(0, {folder!r})
from merganser.framework.native.compiler import entry_points
if {without_layout}:
    entry_points._is_layout_known = lambda: False
import test_fallbacks
import numpy as np
for result in test_fallbacks.results():
    print(result.tobytes().hex() if isinstance(result, np.ndarray) else repr(result))
call = entry_points.bind(test_fallbacks.number, entry_points.Given(np.zeros(2)), entry_points.Given(2))
for wrong in ((np.zeros((2, 2)), 2), (np.zeros(2), "six"), (np.zeros(2),), (np.zeros(4)[::2], 2)):
    try:
        call(*wrong)
    except TypeError:
        print("refused")
print(type(entry_points.bind(test_fallbacks.truth, entry_points.Given(1.0))).__name__, file=sys.stderr)
"""


def _run(cache: Path, change: str = "", without_layout: bool = False) -> tuple[str, str]:
    code = _SCRIPT.format(change=change, folder=str(Path(__file__).parent), without_layout=without_layout)
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@needs_compiler
def test_kernels_of_every_kind_do_the_same_where_objects_or_compilers_are_others(tmp_path: Path) -> None:
    expected, said = _run(tmp_path / "usual")
    assert "builtin_function_or_method" in said
    plain, said = _run(tmp_path / "usual", without_layout=True)
    assert plain == expected and "function" in said and "builtin" not in said
    missing = "sys.modules['merganser.framework.native.compiler.lean_compilers'] = None"
    slow, said = _run(tmp_path / "slow", missing)
    assert "is not as expected" in said
    assert slow == expected


@needs_compiler
def test_a_kernel_whose_result_python_cannot_take_is_refused() -> None:
    @kernel
    def two(x: float) -> Any:
        return x, 2.0 * x

    with pytest.raises(TypeError, match="which only compiled code can take"):
        two(1.0)
