"""What the source of a Kalman filter works on and says: its numbers, and the model with its derivatives.

The source of a filter (extended_filter.py, unscented_filter.py) takes one argument p and works on one array of floats,
r, whose sections begin where an array of integers, f, says. Matrices are there by rows. Compiled, p is the address of
f; where there is no compiler, it is the FilterWorkspace that has both. Whatever p is, `evaluate`, `complex_slopes` and
`careful_slopes` ask the model: compiled code runs its operations, or calls Python where it has none.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan.model_tape import (
    ModelTape,
    complex_tape_at,
    move_complex_model,
    move_model,
    run_model,
    take_results,
    take_slopes,
    tape_at,
)
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import compiled_form, device, kernel_address
from merganser.framework.native.memory.addresses import address_of_array, place_at
from merganser.framework.native.memory.records_of_arrays import FLOAT, ArrayOf, record_at
from merganser.framework.native.memory.tape import (
    FAILED,
    RAISED,
    SUCCEEDED,
    call_kernel,
    call_python,
    doubles_at,
    integers_at,
    no_failure,
    raise_kept,
)
from merganser.framework.native.operations.operations import CompiledOperation

if TYPE_CHECKING:
    from merganser.analysis.estimators.observed_model import ObservedModel

__all__ = [
    "KALMAN_FILTER", "FilterOperation", "FilterWorkspace", "careful_slopes", "complex_slopes", "evaluate", "fields_of",
    "reals_of",
]  # fmt: skip

Array = NDArray[Any]
F, G = range(2)  # the functions of the model: dynamics and output

_number = itertools.count()
N = next(_number)  # state variables
P = next(_number)  # measured outputs
M = next(_number)  # inputs
IS_DISCRETE = next(_number)
REALS = next(_number)  # address of r
FAILURE = next(_number)  # where an exception goes that Python has raised
ANSWER = next(_number)  # function of Python that does what operations do not; 0 if it is not to be called
TAPES = next(_number)  # addresses of the tapes (model_tape.py) of F and G; 0 where there are none
_ = next(_number)
COMPLEX_TAPES = next(_number)  # and of those for complex numbers
_ = next(_number)
WORD = next(_number)  # what Python is asked for: which of WORDS, for which function, and the offsets x and target
FUNCTION = next(_number)
STATE_PLACE = next(_number)
TARGET = next(_number)
# Sections of r, with their sizes; those of the filters follow:
TIME = next(_number)  # 1
INPUT = next(_number)  # u: m
STATE = next(_number)  # xhat: n, then its covariance: n n
MEASURED = next(_number)  # y: p
RESULT = next(_number)  # next xhat or its rate: n, then that of the covariance: n n
PROCESS_NOISE = next(_number)  # W: n n
SENSOR_NOISE = next(_number)  # V: p p
NUM_FIELDS = next(_number)


class FilterWorkspace:
    """The arrays of one filter, and its model.

    Args:
        text: the module of the filter: `update`, and the sizes of its own sections.
        model: the model, which owns the room; None if Python is not to be called for what operations do not do.
        noises: the covariances W, shape [n, n], and V, shape [p, p].
        num_inputs: of the model.
        is_discrete: whether it is a model in discrete time.
        tapes: of F and G, then both for complex numbers; fewer where there are none.

    Attributes:
        reals: r.
        fields: f.
        has_tapes: whether there are any.
        model: gives the model.
    """

    def __init__(
        self,
        text: Any,
        model: ObservedModel | None,
        noises: tuple[Array, Array],
        num_inputs: int,
        is_discrete: bool,
        tapes: Sequence[ModelTape],
    ) -> None:
        (W, V), n, p = noises, len(noises[0]), len(noises[1])
        sizes = [1, num_inputs, n + n * n, p, n + n * n, n * n, p * p, *text.section_sizes(n, p)]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.reals = np.zeros(offsets[-1])
        self.fields: NDArray[np.int64] = np.zeros(TIME + len(sizes), dtype=np.int64)
        self._update = text.update
        integers: Any = self.fields
        self._integers = memoryview(integers)  # the same, faster for single ones
        self._failure = no_failure()
        self.has_tapes = len(tapes) > 0
        self._tapes = tuple(tapes)  # kept here, as only their addresses are passed on
        self.model: Any = None if model is None else weakref.ref(model)
        f = self.fields
        f[N], f[P], f[M], f[IS_DISCRETE] = n, p, num_inputs, is_discrete
        f[REALS], f[FAILURE] = address_of_array(self.reals), address_of_array(self._failure)
        f[ANSWER] = 0 if model is None else id(self)
        f[TAPES : TAPES + len(tapes)] = [tape.address for tape in tapes]
        f[TIME:] = offsets[:-1]
        self._address = address_of_array(f)
        self.put(PROCESS_NOISE, W)
        self.put(SENSOR_NOISE, V)

    def put(self, section: int, values: Array) -> None:
        """Puts values into a section."""
        offset = self._integers[section]
        self.reals[offset : offset + values.size] = values.ravel()

    def address_of_update(self) -> int:
        """The address of the compiled source."""
        return kernel_address(self._update, self._address)

    def run(self, time: float, state: Array, y: Array, u: Array | None) -> Array:
        """What a filter makes of its state, measurement and input: the next state, or its rate.

        Args:
            time: [s].
            state: the estimate, then its covariance by rows, shape [n + n n].
            y: the measurement, shape [p].
            u: the input; None if the model has none.
        """
        self.reals[self._integers[TIME]] = time
        self.put(STATE, state)
        self.put(MEASURED, y)
        if u is not None:
            self.put(INPUT, u)
        outcome = self._update(self._address) if may_compile() else self._update.interpreted(self)
        if outcome == RAISED:
            raise_kept(self._failure)
        offset = self._integers[RESULT]
        return self.reals[offset : offset + len(state)]

    def __call__(self) -> int:
        """Does what compiled code asks for."""
        f = self._integers
        return _WORDS[f[WORD]](self, f[FUNCTION], f[STATE_PLACE], f[TARGET])

    def point(self, x: int) -> tuple[float, Array, Array]:
        """Time, the state at an offset in r, and input."""
        r, f = self.reals, self._integers
        return r.item(f[TIME]), r[x : x + f[N]], r[f[INPUT] : f[INPUT] + f[M]]


def fields_of(p: FilterWorkspace) -> Any:
    """The array f."""
    return p.fields


@compiled_form(fields_of)
def _fields_of(p: int) -> Any:
    return integers_at(p)


def reals_of(p: FilterWorkspace) -> Any:
    """The array r."""
    return p.reals


@compiled_form(reals_of)
def _reals_of(p: int) -> Any:
    return doubles_at(integers_at(p)[REALS])


@device
def _ask_python(p: int, word: int, function: int, x: int, target: int) -> int:
    """Has Python do it, if that is allowed."""
    f = integers_at(p)
    if f[ANSWER] == 0:
        return FAILED
    f[WORD], f[FUNCTION], f[STATE_PLACE], f[TARGET] = word, function, x, target
    return call_python(f[ANSWER], f[FAILURE])


# ---------------------------------------------------------------------- words: all return what operations come to


def evaluate(p: FilterWorkspace, function: int, x: int, target: int) -> int:
    """Puts what a function of the model gives at the state at x to `target`."""
    values = p.model().values(function, *p.point(x))
    p.reals[target : target + len(values)] = values
    return SUCCEEDED


@compiled_form(evaluate)
def _evaluate(p: int, function: int, x: int, target: int) -> int:
    f = integers_at(p)
    r = doubles_at(f[REALS])
    if f[TAPES + function] != 0:
        tape = tape_at(f[TAPES + function])
        move_model(tape, r[f[TIME]], r, x, r, f[INPUT])
        if run_model(tape):
            take_results(tape, r, target)
            return SUCCEEDED
    return _ask_python(p, 0, function, x, target)  # which may do better, or says why not


def complex_slopes(p: FilterWorkspace, function: int, x: int, target: int) -> int:
    """Puts the Jacobian by the complex step at the state at x to `target`, by rows; fails if there is none."""
    try:
        slopes = p.model().complex_jacobian(function, *p.point(x))
    except Exception:  # some callback takes no complex numbers
        return FAILED
    p.reals[target : target + slopes.size] = slopes.ravel()
    return SUCCEEDED


@compiled_form(complex_slopes)
def _complex_slopes(p: int, function: int, x: int, target: int) -> int:
    f = integers_at(p)
    r = doubles_at(f[REALS])
    if f[COMPLEX_TAPES + function] == 0:
        return _ask_python(p, 1, function, x, target)
    tape = complex_tape_at(f[COMPLEX_TAPES + function])
    for j in range(f[N]):
        move_complex_model(tape, r[f[TIME]], r, x, r, f[INPUT], j)
        if not run_model(tape):
            return _ask_python(p, 1, function, x, target)
        take_slopes(tape, r, target + j, f[N])
    return SUCCEEDED


def careful_slopes(p: FilterWorkspace, function: int, x: int, target: int) -> int:
    """Puts the Jacobian of a function that may be none of complex numbers to `target`."""
    slopes = p.model().careful_jacobian(function, *p.point(x))
    p.reals[target : target + slopes.size] = slopes.ravel()
    return SUCCEEDED


@compiled_form(careful_slopes)
def _careful_slopes(p: int, function: int, x: int, target: int) -> int:
    return _ask_python(p, 2, function, x, target)


_WORDS: tuple[Callable[..., int], ...] = evaluate, complex_slopes, careful_slopes

# ---------------------------------------------------------------------- filters as operations


class FilterOperation(NamedTuple):
    """What the operation finds in its list of integers, after the address of where it notes a failure.

    Attributes:
        fields: address of f.
        update: address of the source of the filter, which takes seconds to compile.
        state, y, u, result: in the flat array: xhat and covariance, the measurement, the input, what comes out.
    """

    fields: int
    update: int
    state: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    y: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    u: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    result: Annotated[Any, ArrayOf(FLOAT, 1, True)]


_operation_at = record_at(FilterOperation)


@device
def _put(r: Any, offset: int, values_in: Array) -> None:
    for i in range(len(values_in)):
        r[offset + i] = values_in[i]


def kalman_filter(values: Any, numbers: Any, integers: Any) -> None:
    """The next state of a filter, or its rate; integers: where to note a failure, then a FilterOperation."""
    op = _operation_at(values, integers_at(place_at(integers, 1)))
    f, result = integers_at(op.fields), op.result
    r = doubles_at(f[REALS])
    r[f[TIME]] = values[0]
    _put(r, f[STATE], op.state)
    _put(r, f[MEASURED], op.y)
    _put(r, f[INPUT], op.u)
    outcome, total = call_kernel(op.update, (op.fields,)), 0.0
    if outcome == SUCCEEDED and f[IS_DISCRETE] != 0:
        for i in range(len(result)):
            total += r[f[RESULT] + i] * 0.0
    if outcome != SUCCEEDED or total != 0.0:  # Python finds another way, or says why there is none
        integers_at(integers[0])[0] = FAILED
        return
    for i in range(len(result)):
        result[i] = r[f[RESULT] + i]


KALMAN_FILTER = CompiledOperation(kalman_filter)
