"""Regions of blocks with corners, and memories of blocks that have one, at both ends of a step.

Blocks whose law has corners (PiecewiseBlock of framework/primitives) keep their regions for a whole step. They are
those of the inputs where the step begins; at a border, those of the point next to it along the derivatives that these
regions give. Where no regions lead to a point in them, the motion leads back to the border from either side: the
simulation ends, with the name of the block.

One source serves Python and compiled loops, see watch_state.py. Functions return SUCCEEDED, or why the step is not
taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.analysis.integrators.problem import step_of, time_of
from merganser.analysis.simulation.watch_parts import (
    come_back,
    compute_ends,
    go_near,
    hold,
    measure_memories,
    note_rates,
    read_regions,
    read_signals,
    record_memories,
    release,
    values_of,
)
from merganser.analysis.simulation.watch_state import INNER, MOST_TRIALS, OUTER
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED

_SHARE = 2.0**-20  # of a step, over which one looks ahead
_NOISE = 16.0 * 2.0**-52  # changes of a signal by this share of it are rounding
_RESOLUTION = 1e-13  # times that differ by this share are one


@device
def begin_regions(w: Any, target: float) -> int:
    """Decides in which regions the next step begins, and keeps these constant; notes when it must end.

    Args:
        w: the watch.
        target: when the step must end in any case [s].
    """
    now, time = w.now, time_of(w.step)
    now.shift = _SHARE * min(target - time, step_of(w.step).max_step_size)
    status = _measure(w)
    if status == SUCCEEDED:
        status = record_memories(w)
    if status == SUCCEEDED:
        status = read_regions(w, w.regions)
    num_tried, is_found = 0, False
    while status == SUCCEEDED and not is_found and num_tried < MOST_TRIALS and not _is_known(w, num_tried):
        for k in range(len(w.regions)):
            w.tried[num_tried, k] = w.regions[k]
        num_tried += 1
        hold(w, w.regions)
        status = read_values(w, w.values)
        if status == SUCCEEDED and not _find_borders(w):
            is_found = True
        elif status == SUCCEEDED:
            status = _look_ahead(w)
    if status == SUCCEEDED and not is_found:
        for k in range(len(w.regions)):
            if w.regions[k] != w.tried[num_tried - 1, k] and not now.chattering:
                now.chattering = 1 + int(w.block_of_region[k])
    if status == SUCCEEDED:
        status = compute_ends(w)
        # A clock that strikes just after the end would be passed over.
        if now.region_end >= target - _RESOLUTION * max(abs(time), abs(target)):
            now.region_end = target
    return status


@device
def _is_known(w: Any, num_tried: int) -> bool:
    """Whether the regions have been tried."""
    for n in range(num_tried):
        is_same = True
        for k in range(len(w.regions)):
            is_same = is_same and w.tried[n, k] == w.regions[k]
        if is_same:
            return True
    return False


@device
def _find_borders(w: Any) -> bool:
    """Notes which blocks are at the border of their regions; returns whether any is."""
    is_any = False
    for b in range(w.now.num_blocks):
        w.at_border[b] = 0
    for i in range(w.now.num_witnesses):
        if w.block[i] >= 0 and w.values[i] <= w.zero_band[i]:
            w.at_border[w.block[i]], is_any = 1, True
    return is_any


@device
def _look_ahead(w: Any) -> int:
    """Takes, for blocks at a border, the regions of the point next to it."""
    status: int = go_near(w, OUTER, w.now.shift, False)
    if status == SUCCEEDED and w.is_near[OUTER]:
        status = read_regions(w, w.regions_ahead)
        come_back(w, OUTER)
        for k in range(len(w.regions)):
            if w.at_border[w.block_of_region[k]]:
                w.regions[k] = w.regions_ahead[k]
    return status


@device
def end_regions(w: Any) -> int:
    """Brings memories up to date with what was just before the end of the step, as inputs may jump there.

    Then regions follow from the inputs.
    """
    now, time = w.now, time_of(w.step)
    now.shift = -now.shift
    status = go_near(w, OUTER, float(np.nextafter(time, -math.inf)) - time, False)
    if status == SUCCEEDED:
        status = _measure(w)
        come_back(w, OUTER)
    if status == SUCCEEDED:
        status = record_memories(w)
        release(w)
    return status


@device
def _measure(w: Any) -> int:
    status = measure_rates(w)
    if status == SUCCEEDED:
        status = measure_memories(w)
    return status


@device
def measure_rates(w: Any) -> int:
    """The rates of change of signals along the motion [1/s]; 0 where that is lost in rounding."""
    now = w.now
    if not now.num_signals:
        return SUCCEEDED
    status = read_signals(w, w.signals)
    if status == SUCCEEDED:
        status = go_near(w, INNER, now.shift, False)
    if status != SUCCEEDED:
        return status
    if w.is_near[INNER]:
        status = read_signals(w, w.signals_ahead)
        come_back(w, INNER)
    for k in range(len(w.signals)):
        here, ahead = w.signals[k], w.signals_ahead[k] if w.is_near[INNER] else w.signals[k]
        is_noise = abs(ahead - here) <= _NOISE * max(abs(ahead), abs(here))
        w.rates[k] = 0.0 if is_noise else (ahead - here) / now.shift
    if status == SUCCEEDED:
        note_rates(w)
    return status


@device
def read_values(w: Any, out: Any) -> int:
    """How far each witness function is from its level now."""
    status = measure_rates(w)
    if status == SUCCEEDED:
        status = values_of(w, out)
    return status
