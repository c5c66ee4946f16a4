"""Public functions called with every kind of argument that does not fit.

    python tests/support/bad_arguments.py ["WORD ..." ...]

Each function gets, in the place of each of its arguments, values of other types, sizes, strides and contents. It has
to raise an error of Python's ordinary kinds, or to take the value for what it is worth; the process must live on, the
value must not change, and the function must afterwards return what it returned before.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from fresh_processes import chosen, get_ready, run_each
from public_calls import Call, Scene, flattened, plant_calls, query_calls

_GOOD_ERRORS = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, MemoryError)
_HUGE = 1e308


def like(value: Any) -> dict[str, Any]:
    """Arrays equal to one, in other forms: functions must give the same result for each."""
    array = np.asarray(value, dtype=float)
    strided = np.zeros((*array.shape[:-1], 3 * array.shape[-1]))[..., ::3]
    strided[...] = array
    backwards = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    read_only = array.copy()
    read_only.flags.writeable = False
    shifted = np.zeros(array.nbytes + 1, np.uint8)[1:].view(float).reshape(array.shape)
    shifted[...] = array
    return {
        "list": array.tolist(),
        "in the order of Fortran": np.asfortranarray(array),
        "strided": strided,
        "backwards": backwards,
        "read-only": read_only,
        "not aligned": shifted,
        "of other bytes": array.astype(array.dtype.newbyteorder()),
        "of long doubles": array.astype(np.longdouble),
    }


def unlike(value: Any) -> dict[str, Any]:
    """Values that do not fit where an array goes."""
    array = np.asarray(value, dtype=float)
    bad: dict[str, Any] = {
        f"with {number}": np.where(np.arange(array.size).reshape(array.shape) == array.size - 1, number, array)
        for number in (math.nan, math.inf, -math.inf, _HUGE)
    }
    return bad | {
        "None": None,
        "text": "abc",
        "a number": 1.0,
        "empty": np.zeros(0),
        "too long": np.zeros(2 * array.size + 1),
        "too short": array.ravel()[:-1],
        "of too many dimensions": array.reshape(1, 1, 1, *array.shape),
        "a row of rows": np.zeros((1, array.size + 7)),
        "complex": array + 1j,
        "text in an array": np.full(array.shape, "a"),
        "objects": np.full(array.shape, None, dtype=object),
        "dates": np.zeros(array.shape, "datetime64[s]"),
        "a structured array": np.zeros(array.shape, [("x", float)]),
        "a ragged list": [[1.0], [1.0, 2.0]],
        "a dictionary": {"x": 1.0},
        "bytes": b"12345678",
        "huge dimensions": np.lib.stride_tricks.as_strided(np.zeros(1), (2**40,), (0,)),
    }


def strangers(name: str, scene: Scene) -> dict[str, Any]:
    """Wrong values for a frame, a body, a Context or forces."""
    other = Scene("float", scene.time_step, scene.shapes)
    bad: dict[str, Any] = {"None": None, "text": "abc", "a number": 7, "an array": np.zeros(3), "a class": Scene}
    bad["the same of another plant"] = other.argument(name)
    if name == "context":
        bad["the Context of a diagram"] = other.context
    return bad


def all_cases() -> Iterator[tuple[str, Callable[[], None]]]:
    """Names and cases."""
    for time_step in (0.0, 0.01):
        queries = () if time_step else query_calls("float", ("sphere", "hull"))
        for call in (*plant_calls("float", time_step), *queries):
            yield str(call), _attack(call)


def _attack(call: Call) -> Callable[[], None]:
    """Calls a function with everything that fits and does not fit; complains of all that went wrong together."""

    def run() -> None:
        scene = call.scene()
        expected = flattened(call.run(scene))
        complaints: list[str] = []
        for name in call.arguments:
            value = scene.argument(name)
            is_array = isinstance(value, np.ndarray)
            equals = like(value) if is_array else {}
            for kind, given in (equals | (unlike(value) if is_array else strangers(name, scene))).items():
                scene.move(0)
                before = repr(given)[:1000]
                try:
                    result = flattened(call.run(scene, **{name: given}))
                    if kind in equals and not _agree(result, expected):
                        complaints.append(f"{name} {kind}: {result[:9]} for {expected[:9]}")
                except BaseException as error:
                    if not _is_for_users(error):
                        complaints.append(f"{name} {kind}: {type(error).__name__}: {str(error)[:200]}")
                if repr(given)[:1000] != before:
                    complaints.append(f"{name} {kind}: was written to")
            scene.move(0)
            if not _agree(flattened(call.run(scene)), expected):
                complaints.append(f"{name}: after bad values the result is another")
        if complaints:
            raise AssertionError("\n".join(complaints))

    return run


def _is_for_users(error: BaseException) -> bool:
    is_from_inside = isinstance(error, (numba.core.errors.NumbaError, RecursionError, np.exceptions.AxisError))
    return isinstance(error, _GOOD_ERRORS) and not is_from_inside and bool(str(error))


def _agree(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    pairs = zip(a, b)
    return all(
        x == y or (isinstance(x, float) and np.isclose(x, y, rtol=1e-6, atol=1e-9, equal_nan=True)) for x, y in pairs
    )


def main(texts: list[str]) -> int:
    """Runs the cases that were chosen; prints those that fail, and returns how many."""
    get_ready()
    outcomes = run_each(chosen(all_cases(), texts))
    failures = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failures:
        print(f"{outcome.name}: {outcome.status}\n{outcome.output}")
    print(f"bad arguments: {len(outcomes) - len(failures)} passed, {len(failures)} failed")
    return len(failures)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
