"""What watched steps consist of, in Python; plan/watching.py has the compiled forms.

`w` is the WitnessWatch. What fails raises an exception here; all return SUCCEEDED.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.problem import time_of
from merganser.framework.native.memory.tape import SUCCEEDED

if TYPE_CHECKING:
    from merganser.analysis.simulation.witness_watch import WitnessWatch
    from merganser.framework import Context, System

Array = NDArray[Any]


def values_of(w: WitnessWatch, out: Array) -> int:
    """How far each witness function is from its level now; 1 for those that do not count."""
    w.margins.update()
    for i, (context, witness) in enumerate(w.active):
        out[i] = witness.CalcWitnessValue(context) - w.level[i] if w.direction[i] else 1.0
    return SUCCEEDED


def value_of(w: WitnessWatch, i: int, out: Array) -> int:
    """The same of one of them."""
    context, witness = w.active[i]
    out[i] = witness.CalcWitnessValue(context) - w.level[i]
    return SUCCEEDED


def values_nearby(w: WitnessWatch, out: Array) -> int:
    """The same of those that are chosen; nan where that fails, since the simulation may never come there."""
    with _undefined():
        w.margins.update()
    for i, chosen in enumerate(w.is_chosen.tolist()):
        if chosen:
            out[i] = math.nan
            with _undefined():
                value_of(w, i, out)
    return SUCCEEDED


@contextlib.contextmanager
def _undefined() -> Iterator[None]:
    """Passes over errors of functions that are not defined at a place; a lack of memory is none of these."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        pass


def step_towards(w: WitnessWatch, target: float) -> int:
    """Takes a step of the integrator."""
    w.step._step_towards(time_of(w.step), float(target))
    return SUCCEEDED


# ---------------------------------------------------------------------- the place next to this one


def go_near(w: WitnessWatch, level: int, shift: float, may_fail: bool) -> int:
    """Goes to where the context would be after `shift` [s] along its derivatives, until `come_back`.

    Notes in `is_near` whether it is there: not by less than time can resolve, or where derivatives fail and may.
    """
    w.places[level] = place = PlaceNearby(w.system, w.context, w.step._x, shift, may_fail)
    w.is_near[level] = place.enter()
    return SUCCEEDED


def come_back(w: WitnessWatch, level: int) -> None:
    """Puts everything back as it was, what was current included."""
    w.places[level].leave()


class PlaceNearby:
    """Puts a context further on along its derivatives; then it is as it was before.

    An error or interrupt may leave the context there; who takes the step restores time and state then.
    """

    def __init__(self, system: System, context: Context, x: Array, shift: float, may_fail: bool) -> None:
        self._system, self._context, self._x, self._shift, self._may_fail = system, context, x, shift, may_fail

    def enter(self) -> bool:
        """Goes there; returns whether it is there."""
        store, down = self._context.store, self._context.layout.down
        self._time, self._x_here = store.flat.item(0).real, np.array(self._x)
        if self._time + self._shift == self._time:
            return False
        try:
            step = self._shift * self._system.EvalTimeDerivatives(self._context).get_vector().value()
        except Exception as error:
            if self._may_fail and not isinstance(error, MemoryError):
                return False
            raise
        self._moved, self._before = down["time"] | down["xc"], store.invalid
        store.invalid |= self._moved
        store.flat[0] = self._time + self._shift
        self._x += step
        return True

    def leave(self) -> None:
        """Comes back."""
        store, down = self._context.store, self._context.layout.down
        moved = self._moved | down["time"] | down["xc"]  # what was computed may have been seen to depend on more
        computed = (self._before | moved) & ~store.invalid
        store.invalid = (self._before & ~computed) | (computed & moved)
        store.flat[0] = self._time
        self._x[:] = self._x_here


# ---------------------------------------------------------------------- blocks with regions or memory


def read_signals(w: WitnessWatch, out: Array) -> int:
    """The inputs of blocks whose rates of change are wanted, as plain numbers."""
    inputs = [np.array(block.get_input_port(block._sys_signal_index).Eval(context)) for context, block in w.moving]
    out[:] = [value.real for values in inputs for value in values]
    if out is w.signals:
        w.inputs = inputs
    return SUCCEEDED


def note_rates(w: WitnessWatch) -> None:
    """Gives blocks their inputs, of the place where `signals` have been read, and their rates of change."""
    k = 0
    for (context, block), values in zip(w.moving, w.inputs):
        block.note_rate(context, values, w.rates[k : k + len(values)])
        k += len(values)


def measure_memories(w: WitnessWatch) -> int:
    """What the memories of blocks are to have of this moment."""
    w.region_evaluator.update()
    w.measured = [block.measure(context) for context, block in w.blocks]
    return SUCCEEDED


def record_memories(w: WitnessWatch) -> int:
    """Brings the memories up to date with that."""
    for (context, block), values in zip(w.blocks, w.measured):
        block.record(context, values)
    return SUCCEEDED


def read_regions(w: WitnessWatch, out: Array) -> int:
    """The regions that the present inputs ask for."""
    w.region_evaluator.update()
    out[:] = np.concatenate([block.regions(context) for context, block in w.blocks])
    return SUCCEEDED


def hold(w: WitnessWatch, regions: Array) -> None:
    """Keeps regions constant from now on."""
    for n, (context, block) in enumerate(w.blocks):
        block.hold(context, regions[w.block_of_region == n])


def release(w: WitnessWatch) -> None:
    """Lets regions follow from the inputs."""
    for context, block in w.blocks:
        block.hold(context, None)


def compute_ends(w: WitnessWatch) -> int:
    """Notes when the step must end, as blocks say."""
    found = [block.end_of_step(context) for context, block in w.blocks]
    w.now.region_end = min(found, default=math.inf)
    return SUCCEEDED


# ---------------------------------------------------------------------- undoing a step


def keep(w: WitnessWatch) -> None:
    """Keeps what a step changes, beside what `take_watched_step` keeps, for `undo`."""
    w.kept = w.step._keep()
    w.memories = [
        [np.array(context.get_discrete_state(index).value()) for index, _ in block._sys_memory]
        for context, block in w.blocks
    ]


def undo(w: WitnessWatch) -> None:
    """Undoes a step, but for what `take_watched_step` keeps."""
    w.step._return_to(w.kept)
    for (context, block), before in zip(w.blocks, w.memories):
        for (index, _), values in zip(block._sys_memory, before):
            context.SetDiscreteState(index, values)
    release(w)
